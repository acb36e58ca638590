"""The tables of a drift report, in the order in which they are read; each says what it leaves out."""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from crosspath.analysis.drift_naming import cut, signal_value
from crosspath.analysis.drift_programs import program_value
from crosspath.analysis.wording import NONE, percent, points, with_interval
from crosspath.dates import day_of
from crosspath.escaping import one_line
from crosspath.reports.drift_texts import text_block
from crosspath.reports.drift_words import BEARING_WORDS
from crosspath.reports.explanation import Block
from crosspath.types.drift import Drift, Flip, SeriesPoint, Signal, TaskChange, WatchDay

MOST_CHANGES, MOST_FLIPS, MOST_DAYS, MOST_TASKS, MOST_APART, MOST_EFFECTS, MOST_UNREADABLE = 20, 15, 14, 10, 8, 7, 5
"""Rows of each table; JSON has all of them."""
LEAST_TASK_TRIALS = 5
"""A task with fewer recent trials moves by 25 points and more with a single reply."""
_LONGEST_REASON = 80


def drift_blocks(drift: Drift) -> tuple[Block, ...]:
    """All tables; those without content are left out."""
    blocks = (_timeline(drift), text_block(drift), _flips(drift), _days(drift), _tasks(drift), _signals(drift), _apart(drift))
    return tuple(block for block in (*blocks, _effects(drift), _cost(drift), _unreadable(drift)) if block.lines or block.rows)


def _more(all_rows: int, shown: int, words: str) -> tuple[str, ...]:
    return (f"not shown: {all_rows - shown} {words}",) if all_rows > shown else ()


# -- what changed --------------------------------------------------------------------------------------------------------


def _timeline(drift: Drift) -> Block:
    every = drift.configuration.timeline
    mattering = [change for change in every if change.bearing != "none"]
    shown = mattering[-MOST_CHANGES:]
    rows = tuple(
        (
            day_of(change.at),
            cut(one_line(change.difference.field)),
            program_value(change.difference.field, change.difference.a),
            program_value(change.difference.field, change.difference.b),
            BEARING_WORDS[change.bearing],
        )
        for change in shown
    )
    idle = _more(len(every), len(mattering), "that no score depends on") if mattering else ()
    lines = (*_more(len(mattering), len(shown), "earlier"), *idle)
    return Block("Changes of the configuration", lines, ("date", "field", "before", "after", "means"), rows)


def _flips(drift: Drift) -> Block:
    part = drift.toolchain
    tasks = [task for task, _ in Counter(flip.task for flip in part.flips).most_common()]
    alike: dict[tuple[str, ...], list[Flip]] = {}
    for flip in sorted(part.flips, key=lambda one: tasks.index(one.task)):
        alike.setdefault((flip.task, *_outcomes(flip)), []).append(flip)
    shown = set(tasks[:MOST_FLIPS])
    replies = Counter(task for task, _ in {(one.task, one.index) for one in part.evidence})
    rows = tuple(_flip_row(flips, replies[flips[0].task]) for flips in alike.values() if flips[0].task in shown)
    often = (f"each was executed at least {min(flip.times for flip in part.flips)} times now, each time so",) if rows else ()
    columns = ("task", "replies", "before", "now", "what is said of it", "e.g.")
    lines = (*often, *_more(len(tasks), len(shown), "more tasks"))
    return Block("Frozen replies that come out otherwise", lines, columns, rows)


def _flip_row(flips: Sequence[Flip], replies: int) -> tuple[str, ...]:
    """Flips of one task from one outcome to one other. ``replies``: of that task; 0: not known."""
    first = min(flips, key=lambda flip: flip.index)
    count = f"{len(flips)} of {replies}" if replies >= len(flips) else str(len(flips))
    reason = cut(one_line(first.reason), _LONGEST_REASON) or NONE
    return one_line(first.task), count, *_outcomes(first), reason, f"reply {first.index + 1}"


def _outcomes(flip: Flip) -> tuple[str, str]:
    return _outcome(flip.passed_before, flip.cause_before), _outcome(flip.passed_now, flip.cause_now)


def _outcome(passed: bool, cause: str | None) -> str:
    return "right" if passed else f"wrong ({cause.replace('_', ' ')})" if cause else "wrong"


# -- the watch -----------------------------------------------------------------------------------------------------------


def _days(drift: Drift) -> Block:
    part = drift.provider
    shown = part.days[-MOST_DAYS:]
    window = f"change over {part.window_days} days, 95 %" if part.window_days > 1 else "change, 95 %"
    star = any(day.day == part.found_on for day in shown)
    found = (f"* found on this day: p, adjusted for all looks of the watch, is at most {part.alpha:g}",) if star else ()
    lines = (*found, *_more(len(part.days), len(shown), "earlier"))
    columns = ("day", "trials", "pass rate, 95 %", window, "p", "used as a measurement")
    return Block("Days of the watch", lines, columns, tuple(_day_row(day, part.found_on) for day in shown))


def _day_row(day: WatchDay, found_on: str | None) -> tuple[str, ...]:
    chances = [chance for chance in (day.p_drop, day.p_rise) if chance is not None]
    return (
        day.day + (" *" if day.day == found_on else ""),
        f"{day.scored} of {day.planned} scored",
        with_interval(day.rate, signed=False) if day.rate else NONE,
        with_interval(day.change, signed=True) if day.change else NONE,
        _chance(min(chances) if chances else None),
        "yes" if day.used else f"no: {cut(one_line(day.why_not), _LONGEST_REASON) or 'no reason is given'}",
    )


def _chance(value: float | None) -> str:
    if value is None:
        return NONE
    return "< 0.001" if value < 0.001 else f"{min(value, 1):.3f}"


def _tasks(drift: Drift) -> Block:
    enough = [one for one in drift.provider.task_changes if one.recent_trials >= LEAST_TASK_TRIALS]
    few = len(drift.provider.task_changes) - len(enough)
    changed = [one for one in enough if one.recent != one.reference]
    shown = changed[:MOST_TASKS]
    left_out = (f"left out: {few} with fewer than {LEAST_TASK_TRIALS} recent trials",) if few else ()
    return Block(
        "Tasks that changed most",
        (*_more(len(changed), len(shown), "more"), *left_out),
        ("task", "reference", "recent", "change"),
        tuple(map(_task_row, shown)),
    )


def _task_row(one: TaskChange) -> tuple[str, ...]:
    return (
        one_line(one.task),
        f"{percent(one.reference)} of {one.reference_trials}",
        f"{percent(one.recent)} of {one.recent_trials}",
        points(one.recent - one.reference),
    )


def _signals(drift: Drift) -> Block:
    columns = ("signal", "reference", "recent", "p", "changed")
    rows = tuple(
        (one.name, signal_value(one, one.reference), signal_value(one, one.recent), _chance(one.p_value), _changed(one))
        for one in drift.provider.signals
    )
    return Block("What needs no score", (), columns, rows)


def _changed(signal: Signal) -> str:
    if signal.changed:
        return "YES"
    return "not measured" if signal.p_value is None else "no"


def _apart(drift: Drift) -> Block:
    apart = sorted(drift.provider.set_apart.items())
    shown = apart[:MOST_APART]
    rows = tuple((one_line(task), cut(one_line(why), _LONGEST_REASON)) for task, why in shown)
    lines = _more(len(apart), len(shown), "more")
    return Block("Tasks that are set apart", lines, ("task", "why"), rows)


def _effects(drift: Drift) -> Block:
    having = [point for point in drift.points if point.effects]
    shown = having[-MOST_EFFECTS:]
    names = tuple(dict.fromkeys(effect.effect for point in shown for effect in point.effects))
    rows = tuple(_effect_row(point, names) for point in shown)
    lines = _more(len(having), len(shown), "earlier")
    return Block("Effects, in points", lines, ("date", *(name.replace("_", " ") for name in names)), rows)


def _effect_row(point: SeriesPoint, names: Sequence[str]) -> tuple[str, ...]:
    found = {effect.effect: with_interval(effect.estimate, signed=True) for effect in point.effects}
    return (day_of(point.created_at), *(found.get(name, NONE) for name in names))


# -- cost ----------------------------------------------------------------------------------------------------------------


def _cost(drift: Drift) -> Block:
    kinds = (("reference", "references"), ("day", "days"))
    found = [(label, [point for point in drift.points if point.role == role]) for role, label in kinds]
    rows = tuple(_cost_row(label, some) for label, some in found if some)
    return Block("What it took", (), ("evaluations", "number", "requests", "each, median", "USD"), rows)


def _cost_row(label: str, some: Sequence[SeriesPoint]) -> tuple[str, ...]:
    requests = [point.requests for point in some]
    return label, str(len(some)), str(sum(requests)), f"{median(requests):g}", _usd(some)


def _usd(some: Sequence[SeriesPoint]) -> str:
    known = [point.cost_usd for point in some if point.cost_usd is not None]
    if not known:
        return "unknown"
    unknown = len(some) - len(known)
    return f"{sum(known):.4f}" + (f", unknown for {unknown}" if unknown else "")


def _unreadable(drift: Drift) -> Block:
    shown = drift.unreadable[:MOST_UNREADABLE]
    lines = [*_unreadable_lines(drift), *_more(len(drift.unreadable), len(shown), "more")]
    return Block("Evaluations that are left out", tuple(lines))


def _unreadable_lines(drift: Drift) -> Iterator[str]:
    for one in drift.unreadable[:MOST_UNREADABLE]:
        yield f"{one_line(one.evaluation) or 'unknown'} (run {one_line(one.run)}): {one_line(one.problem)}"
