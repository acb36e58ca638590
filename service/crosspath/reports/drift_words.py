"""Words that every form of a drift report shares."""

from collections.abc import Iterator
from datetime import UTC, datetime

from crosspath.analysis.wording import false_rate, percent
from crosspath.dates import day_of
from crosspath.types.drift import Alarm, Bearing, Drift, PartStatus, SeriesPoint, ToolchainDrift

STATE_WORDS: dict[PartStatus, str] = {
    "no drift": "NO DRIFT",
    "drift": "DRIFT",
    "not enough": "NOT ENOUGH",
    "could not measure": "COULD NOT MEASURE",
}
BEARING_WORDS: dict[Bearing, str] = {
    "breaking": "breaking: a difference of scores across it is no change of the provider's",
    "replayed": "judged by the frozen replies",
    "provider": "judged by new replies",
    "none": "no reply depends on it",
}
LEVEL_WORDS = {"alarm": "ALARM", "unmeasured": "NO ANSWER", "notice": "notice"}
NOTHING = "nothing to act on"


def headline(drift: Drift) -> str:
    """``DRIFT (toolchain, provider): support-bot, looked at 2026-12-01 06:00 UTC``."""
    named = [name for name, status, _ in parts(drift) if status == drift.status]
    where = f" ({', '.join(named)})" if drift.status != "no drift" else ""
    return f"{STATE_WORDS[drift.status]}{where}: {drift.deployment}, looked at {minute(drift.created_at)}"


def about(drift: Drift) -> str:
    """Who is watched, since when, and against what."""
    days = [day_of(point.created_at) for point in drift.points]
    count = f"{len(days)} evaluation{'s' * (len(days) != 1)}"
    span = f"{count} from {days[0]} to {days[-1]}" if len(set(days)) > 1 else f"{count} on {days[0]}" if days else "no evaluation"
    return f"candidate {drift.candidate}; {span}; {_against(drift, drift.reference_point)}"


def _against(drift: Drift, reference: SeriesPoint | None) -> str:
    """The reference; where it stands in place of another one, both with their pass rates: that is what was accepted."""
    name, trials = drift.provider.reference, f"{drift.provider.reference_trials} trials a task"
    if not name:
        return "no reference"
    if reference is None:
        known = trials if drift.provider.reference_trials else "which can't be read"
        return f"reference {name} ({known})"
    earlier = [one for one in drift.points if one.role == "reference" and one.created_at < reference.created_at]
    if not earlier:
        return f"reference {name} ({trials}, {day_of(reference.created_at)})"
    return f"reference {_rated(reference, f', {trials}')}, in place of {_rated(earlier[-1])}"


def _rated(point: SeriesPoint, more: str = "") -> str:
    rate = "no pass rate" if point.rate.value is None else percent(point.rate.value)
    return f"{point.evaluation} of {day_of(point.created_at)} ({rate}{more})"


def parts(drift: Drift) -> tuple[tuple[str, PartStatus, str], ...]:
    """Name, status and sentence of the three parts, in the order in which they are read; no sentence is said twice."""
    said = {alarm.cause for alarm in drift.alarms if alarm.level == "unmeasured"}
    # Beside a finding it says only that nothing is known of today.
    unmeasured = said - {"provider"} if drift.provider.status == "drift" else said
    provider = "see above" if "provider" in unmeasured else drift.provider.sentence.rstrip(".")
    return (
        ("configuration", drift.configuration.status, drift.configuration.sentence.rstrip(".")),
        ("toolchain", drift.toolchain.status, "see above" if "toolchain" in unmeasured else _toolchain(drift.toolchain)),
        ("provider", drift.provider.status, _and(provider, false_alarms(drift))),
    )


def _toolchain(part: ToolchainDrift) -> str:
    """Its sentence says that nothing was sent; what was sent all the same is counted."""
    sent = f"{part.requests} request{'s' * (part.requests != 1)} sent for it" if part.requests else ""
    return _and(part.sentence.rstrip("."), sent)


def false_alarms(drift: Drift) -> str:
    """How often the provider's part is wrong; empty where nothing was tested."""
    part = drift.provider
    if all(day.p_drop is None and day.p_rise is None for day in part.days):
        return ""
    return f"{false_rate(part.alpha, part.horizon_days)} raise a false alarm, looked at every day"


def _and(*sentences: str) -> str:
    return "; ".join(sentence for sentence in sentences if sentence)


def alarm_lines(alarm: Alarm) -> Iterator[str]:
    """The sentence, and the next step."""
    yield alarm.sentence
    yield f"next: {alarm.next_step}"


def minute(at: float) -> str:
    """``2026-12-01 06:00 UTC``."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")
