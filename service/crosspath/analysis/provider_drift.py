"""The same configuration sampled again: does it pass as often as in the reference, beyond what chance does?

Each used day of a watch is tested against the reference by ``analysis.sequential``: the tasks are matched, the reference's own
sampling variance is carried, and a look on every day keeps the stated rate of false alarms. What was found once stays found
until a new reference is measured; the sentence says what the last days show by themselves.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crosspath.analysis.drift_chance import ASKED_DROP, chance_found
from crosspath.analysis.drift_change import change_of, day_rate, mean_rate
from crosspath.analysis.drift_signals import RECENT_DAYS, signals
from crosspath.analysis.sequential import Look, Split, Tails, looks, spent, tails
from crosspath.analysis.watch_counts import Day as Day
from crosspath.analysis.watch_counts import Watch
from crosspath.analysis.wording import percent, points
from crosspath.types import Estimate
from crosspath.types.drift import ProviderDrift, SeriesEntry, Signal, TaskChange, WatchDay

ENOUGH = 0.5
"""Where such a drop is overlooked more likely than found, that nothing was found says too little."""

Direction = Literal["worse", "better"]


@dataclass(frozen=True)
class _Crossing:
    day: str
    direction: Direction


def provider_drift(reference: SeriesEntry, days: Sequence[Day], set_apart: Mapping[str, str]) -> ProviderDrift:
    """Whether the days since ``reference`` pass as often as it does; the rules are those of the reference.

    The entries of ``days`` have the tasks that are compared on their day; ``set_apart``: task -> why it is not compared on the
    newest one. The status is ``drift``, ``no drift`` or ``not enough``.
    """
    watch = Watch.of(reference, days)
    apart = {**watch.set_apart, **set_apart}
    shown = _days(watch)
    found = _found(shown, watch.reference.rules.alpha)
    last = len(watch.used) - 1
    splits = watch.splits(watch.start_of(last, RECENT_DAYS), last) if watch.used else {}
    change = next((day.change for day in reversed(shown) if day.change is not None), None)
    chance = chance_found(watch) if watch.used else 0.0
    status = "drift" if found else "no drift" if chance >= ENOUGH else "not enough"
    sizes = _sizes(change, splits, next((day for day in reversed(shown) if day.change is not None), None))
    too_little = status == "not enough" and bool(watch.used and watch.tasks)
    return ProviderDrift(
        status=status,
        sentence=_found_words(found, change, sizes) if found else _not_found_words(watch, sizes, chance),
        why="too little" if too_little else "",
        reference=reference.evaluation,
        reference_at=reference.created_at,
        reference_trials=reference.planned_trials,
        tasks=len(reference.tasks.keys() - apart.keys()),
        set_apart=apart,
        alpha=watch.reference.rules.alpha,
        horizon_days=watch.reference.rules.horizon_days,
        window_days=RECENT_DAYS,
        change=change,
        found_on=found.day if found else None,
        direction=found.direction if found else None,
        days=tuple(shown),
        signals=_signals(watch),
        task_changes=_task_changes(splits),
    )


# -- days ----------------------------------------------------------------------------------------------------------------


def _days(watch: Watch) -> list[WatchDay]:
    smallest = _smallest(watch)
    places = {day.day: at for at, day in enumerate(watch.used)}
    return [_day(watch, day, places.get(day.day), smallest) for day in watch.days]


def _day(watch: Watch, day: Day, at: int | None, smallest: Mapping[int, Tails]) -> WatchDay:
    entries = watch.recent(day)
    counts = watch.counts(entries)
    scored = int(counts.scored.sum())
    compared = at is not None and scored > 0
    seen = dict(zip(watch.tasks, zip(counts.passed.tolist(), counts.scored.tolist(), strict=True), strict=True))
    return WatchDay(
        day=day.day,
        evaluations=tuple(entry.evaluation for entry in day.entries),
        evaluated_at=tuple(entry.created_at for entry in day.entries),
        planned=int(counts.planned.sum()),
        scored=scored,
        rate=day_rate(seen, watch.lost(counts)),
        change=_change(watch, at) if at is not None and compared else None,
        p_drop=smallest[at].low if at is not None and compared else None,
        p_rise=smallest[at].high if at is not None and compared else None,
        used=day.used,
        why_not=day.why_not,
    )


def _change(watch: Watch, at: int) -> Estimate:
    start = watch.start_of(at, RECENT_DAYS)
    return change_of(watch.splits(start, at), watch.lost(watch.over(start, at)))


def _smallest(watch: Watch) -> dict[int, Tails]:
    """Place of a used day -> the smallest p-values of its looks, times what they may spend."""
    found: dict[int, Tails] = {}
    for look in looks(watch.ordinals):
        now = _looked(watch, look)
        before = found.get(look.at, now)
        found[look.at] = Tails(min(now.low, before.low), min(now.high, before.high))
    return found


def _looked(watch: Watch, look: Look) -> Tails:
    return spent(tails(list(watch.splits(look.start, look.at).values())), look.window, watch.reference.rules.horizon_days)


def _found(days: Sequence[WatchDay], alpha: float) -> _Crossing | None:
    """The first day on which a drop was found; without one, the first with a rise."""
    drop = next((day.day for day in days if day.p_drop is not None and day.p_drop <= alpha), None)
    rise = next((day.day for day in days if day.p_rise is not None and day.p_rise <= alpha), None)
    if drop is not None:
        return _Crossing(drop, "worse")
    return _Crossing(rise, "better") if rise is not None else None


# -- signals and tasks ---------------------------------------------------------------------------------------------------


def _signals(watch: Watch) -> tuple[Signal, ...]:
    if not watch.used:
        return ()
    last = len(watch.used) - 1
    recent = [entry for day in watch.used[watch.start_of(last, RECENT_DAYS) :] for entry in watch.recent(day)]
    return signals(watch.trials([watch.reference]), watch.trials(recent), watch.reference.rules)


def _task_changes(splits: Mapping[str, Split]) -> tuple[TaskChange, ...]:
    changes = [
        TaskChange(
            task=task,
            reference=split.before / split.before_trials,
            recent=split.recent / split.recent_trials,
            reference_trials=split.before_trials,
            recent_trials=split.recent_trials,
        )
        for task, split in splits.items()
        if split.recent_trials
    ]
    return tuple(sorted(changes, key=lambda one: (-abs(one.recent - one.reference), one.task)))


# -- words ---------------------------------------------------------------------------------------------------------------


def _sizes(change: Estimate | None, splits: Mapping[str, Split], newest: WatchDay | None) -> str:
    """The window beside the reference, and the newest day by itself: a mean over a week says little of today's outage."""
    both = [split for split in splits.values() if split.before_trials and split.recent_trials]
    if change is None or change.value is None or not both:
        return "nothing was compared over the last days"
    recent, before = percent(mean_rate(both, "recent")), percent(mean_rate(both, "before"))
    itself = f" ({percent(newest.rate.value)} on {newest.day})" if newest and newest.rate else ""
    return (
        f"pass rate {recent} over the last {RECENT_DAYS} days{itself}, {before} in the reference:"
        f" {points(change.value)} points [{points(change.low)}, {points(change.high)}] on {len(both)}"
        f" task{'s' * (len(both) != 1)}"
    )


def _found_words(found: _Crossing, change: Estimate | None, sizes: str) -> str:
    gone = change is not None and change.low is not None and change.high is not None and change.low <= 0 <= change.high
    by_itself = "; those days by themselves don't show it" if gone else ""
    return f"the provider answers {found.direction} since the reference, found on {found.day}; {sizes}{by_itself}"


def _not_found_words(watch: Watch, sizes: str, chance: float) -> str:
    if not watch.tasks:
        return "no task is left that can be compared with the reference"
    if not watch.used:
        why = next((f": {day.day}: {day.why_not}" for day in reversed(watch.days) if day.why_not), "")
        return f"no day since the reference can be used{why}"
    drop = f"a drop of {100 * ASKED_DROP:.0f} points in every task, in all of these days, would be found with a chance of"
    if chance < ENOUGH:
        return (
            f"no change found, and too little was observed: {drop} about {100 * chance:.0f} %, {100 * ENOUGH:.0f} % is asked for;"
            f" {sizes}"
        )
    return f"no change found; {sizes}; {drop} about {100 * chance:.0f} %"
