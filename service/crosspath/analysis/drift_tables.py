"""A look as rows for data frames: one per day, per change of the configuration, per flip and per signal."""

from crosspath.types import Estimate
from crosspath.types.drift import Drift, WatchDay

DAY_COLUMNS = (
    "day", "used", "why_not", "planned", "scored", "rate", "rate_low", "rate_high", "change", "change_low", "change_high",
    "p_drop", "p_rise",
)  # fmt: skip
CHANGE_COLUMNS = ("at", "evaluation", "axis", "field", "before", "after", "bearing")
FLIP_COLUMNS = ("task", "index", "passed_before", "passed_now", "cause_before", "cause_now", "reason", "times")
SIGNAL_COLUMNS = ("name", "unit", "reference", "recent", "p_value", "changed", "sentence")

Rows = list[dict[str, object]]


def day_rows(drift: Drift) -> Rows:
    """Days of the watch: shares from 0 to 1, changes from -1 to 1."""
    return [_day(day) for day in drift.provider.days]


def _day(day: WatchDay) -> dict[str, object]:
    shared = day.model_dump(include={"day", "used", "why_not", "planned", "scored", "p_drop", "p_rise"})
    found = shared | _ends("rate", day.rate) | _ends("change", day.change)
    return {name: found[name] for name in DAY_COLUMNS}


def _ends(name: str, estimate: Estimate | None) -> dict[str, object]:
    value, low, high = (estimate.value, estimate.low, estimate.high) if estimate else (None, None, None)
    return {name: value, f"{name}_low": low, f"{name}_high": high}


def change_rows(drift: Drift) -> Rows:
    """Changed fields of the configuration, oldest first; ``at`` in seconds since 1970."""
    return [
        {
            "at": one.at,
            "evaluation": one.evaluation,
            "axis": one.difference.axis,
            "field": one.difference.field,
            "before": one.difference.a,
            "after": one.difference.b,
            "bearing": one.bearing,
        }
        for one in drift.configuration.timeline
    ]


def flip_rows(drift: Drift) -> Rows:
    """Frozen replies that come out otherwise each time."""
    return [flip.model_dump() for flip in drift.toolchain.flips]


def signal_rows(drift: Drift) -> Rows:
    """What needs no score."""
    return [signal.model_dump() for signal in drift.provider.signals]
