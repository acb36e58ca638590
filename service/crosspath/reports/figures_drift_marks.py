"""What is marked on the time axis of a drift report: changes of configuration, toolchain and served model, and drift found."""

from collections.abc import Iterator
from dataclasses import dataclass

from crosspath.analysis.drift_naming import cut, field_words
from crosspath.analysis.drift_programs import program_change, telling
from crosspath.dates import day_of
from crosspath.escaping import one_line
from crosspath.reports.figures_dates import place_of, place_of_day
from crosspath.types.drift import Bearing, ConfigurationChange, Drift
from crosspath.types.explaining import FieldDifference

LANES: tuple[tuple[str, str, str], ...] = (
    ("configuration", "#d55e00", "s"),
    ("toolchain", "#0072b2", "D"),
    ("served model", "#cc79a7", "^"),
    ("drift found", "#222222", "*"),
)
"""Name, colour and marker of each kind, from the top."""
_LANE_OF: dict[Bearing, str] = {"breaking": "configuration", "replayed": "toolchain", "provider": "served model"}
_MOST_FIELDS = 2
_LONGEST = 120


@dataclass(frozen=True)
class Mark:
    """Everything of one kind at one moment."""

    lane: str
    place: float
    """Days since 1970."""
    label: str


def marks(drift: Drift) -> tuple[Mark, ...]:
    """Oldest first; fields that change nothing are not marked."""
    return tuple(sorted([*_changes(drift), *_found(drift)], key=lambda mark: mark.place))


def _changes(drift: Drift) -> Iterator[Mark]:
    grouped: dict[tuple[float, str], list[ConfigurationChange]] = {}
    for change in drift.configuration.timeline:
        if lane := _LANE_OF.get(change.bearing):
            grouped.setdefault((change.at, lane), []).append(change)
    for (at, lane), changes in grouped.items():
        differences = telling([change.difference for change in changes])
        named = [_words(lane, one) for one in differences[:_MOST_FIELDS]]
        more = f" and {len(differences) - _MOST_FIELDS} more" if len(differences) > _MOST_FIELDS else ""
        yield Mark(lane, place_of(at), cut(f"{day_of(at)}  {lane}: {', '.join(named)}{more}", _LONGEST))


def _words(lane: str, difference: FieldDifference) -> str:
    return program_change(difference) if lane == "toolchain" else field_words(difference)


def _found(drift: Drift) -> Iterator[Mark]:
    lane = LANES[-1][0]
    provider = drift.provider
    if provider.status == "drift" and provider.found_on and (place := place_of_day(provider.found_on)) is not None:
        yield Mark(lane, place, f"{provider.found_on}  drift found: the provider answers {provider.direction or 'otherwise'}")
    if drift.toolchain.status == "drift":
        flips = f"{len(drift.toolchain.flips)} of {drift.toolchain.compared} frozen replies come out otherwise"
        yield Mark(lane, place_of(drift.created_at), one_line(f"{day_of(drift.created_at)}  drift found: {flips}"))
