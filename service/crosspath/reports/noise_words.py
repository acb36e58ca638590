"""The noise floor in words and as a table."""

from crosspath.analysis.wording import NONE, percent, span
from crosspath.types.costs import Usages
from crosspath.types.noise import NoiseExample, NoiseFloor, NoiseLevel, NoiseReport

COLUMNS = ("at once", "asked", "replies", "no reply", "distinct", "differ from the most frequent", "95 % interval")
AROUND = 24
"""Characters shown on either side of the first difference."""


def floor_title(floor: NoiseFloor) -> str:
    """Who, and what was found."""
    asked = "temperature not set" if floor.temperature is None else f"temperature {floor.temperature:g}"
    tasks = floor.tasks[0] if len(floor.tasks) == 1 else f"{len(floor.tasks)} tasks"
    return f"{', '.join(floor.candidates)} ({floor.model} told {floor.contract}, {tasks}, {asked}): {floor.flag}"


def floor_rows(floor: NoiseFloor) -> list[tuple[str, ...]]:
    """One row per load."""
    return [_row(level) for level in (floor.alone, floor.together)]


def _row(level: NoiseLevel) -> tuple[str, ...]:
    lost = ", ".join(f"{number} {kind}" for kind, number in level.faults.items())
    share, interval = level.share, span(level.share.low, level.share.high, signed=False)
    differing = f"{level.differing} ({percent(share.value)})" if level.replies else NONE
    counts = (level.concurrency, level.asked, level.replies)
    return (*map(str, counts), lost or "0", str(level.distinct), differing, interval)


def floor_lines(floor: NoiseFloor) -> list[str]:
    """What follows from it, and what does not."""
    return [*_verdict(floor), *_example(floor.example), *_remarks(floor)]


def _verdict(floor: NoiseFloor) -> list[str]:
    alone, together = floor.alone, floor.together
    seen = f"{_of(alone)} alone, {_of(together)} with {together.concurrency} at once"
    if floor.flag == "not measured":
        why = f": {floor.trouble}" if floor.trouble else ""
        return [f"too few replies came ({alone.replies} alone, {together.replies} with {together.concurrency} at once){why}"]
    if floor.flag == "no difference seen":
        limits = f"{percent(alone.unseen)} of replies alone, and {percent(together.unseen)} with {together.concurrency} at once"
        return [
            f"all replies to a request are the same: {seen}. Up to {limits}, could differ and still go unseen in so many "
            "repeats (95 %)."
        ]
    if floor.flag == "non-deterministic under load":
        words = f"more replies differ under load: {seen} (exact test, {_p(floor.p_value)})."
    else:
        words = f"replies differ: {seen}. {_no_influence(floor)}"
    return [words, _reading(floor)]


def _of(level: NoiseLevel) -> str:
    return f"{level.differing} of {level.replies}"


def _p(value: float | None) -> str:
    if value is None:
        return "no p"
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _no_influence(floor: NoiseFloor) -> str:
    tested = f"(exact test, {_p(floor.p_value)})"
    if floor.alone.differing or floor.p_value is None or len(floor.tasks) > 1:
        return f"That load makes more of them differ is not shown {tested}."
    if floor.needed is None:
        return f"So few repeats can't show whether load is the reason {tested}; give more."
    enough = f"with so many repeats at least {floor.needed} of {floor.together.replies} must differ under load"
    return f"Whether load is the reason is not shown {tested}: {enough}."


def _reading(floor: NoiseFloor) -> str:
    worse = max((floor.alone, floor.together), key=lambda level: level.share.value or 0.0).share
    seen = f"{percent(worse.value)} of replies (95 %: up to {percent(worse.high)})"
    return (
        f"Noise floor: with nothing changed {seen} are not the usual one, and as many verdicts may change. Don't read a "
        "difference between configurations that is no larger as theirs."
    )


def _example(example: NoiseExample | None) -> list[str]:
    if example is None:
        return []
    usual, other = (_around(text, example.at) for text in (example.usual, example.other))
    return [f"for instance {example.task}, from character {example.at + 1} on: {usual} became {other}"]


def _around(text: str, at: int) -> str:
    start, end = max(0, at - AROUND), at + AROUND
    return f"{'...' if start else ''}{text[start:end]!r}{'...' if end < len(text) else ''}"


def _remarks(floor: NoiseFloor) -> list[str]:
    found: list[str] = []
    if floor.temperature != 0 and floor.flag not in ("no difference seen", "not measured"):
        found.append("replies are drawn here, so they are meant to differ; what the endpoint itself adds shows at temperature 0.")
    for names, what in ((floor.served_models, "models"), (floor.fingerprints, "fingerprints")):
        if len(names) > 1:
            found.append(f"replies came from several {what} ({', '.join(names)}): differences may be theirs.")
    if floor.bodies > 1:
        found.append(f"{floor.bodies} different bodies were sent for one request: its replies can't be compared.")
    most, at_once = floor.together.most_in_flight, floor.together.concurrency
    if floor.together.replies and most < at_once:
        found.append(f"only {most} requests were in flight at once: give at least {at_once} repeats.")
    return found


def taken(report: NoiseReport) -> str:
    """What the probe took, over all its starts."""
    failed = f" ({report.failed} failed)" if report.failed else ""
    starts = f" in {report.sessions} starts" if report.sessions > 1 else ""
    what = f"{_tokens(report.usages)}, {_cost(report.usages)}"
    return f"took {report.requests} requests{failed}{starts}, {what}; {report.duration_s:.1f} s"


def _tokens(usages: Usages) -> str:
    if usages.prompt_tokens is None and usages.completion_tokens is None:
        return "tokens unknown"
    inward, outward = (NONE if count is None else f"{count:,}" for count in (usages.prompt_tokens, usages.completion_tokens))
    unknown = f" (unknown for {usages.unknown_usage})" if usages.unknown_usage else ""
    return f"{inward} tokens in, {outward} out{unknown}"


def _cost(usages: Usages) -> str:
    if not usages.unknown_cost and usages.cost_usd is not None:
        return f"{usages.cost_usd:.4f} USD"
    return f"cost unknown for {usages.unknown_cost} of them (known part {usages.cost_usd or 0.0:.4f} USD)"
