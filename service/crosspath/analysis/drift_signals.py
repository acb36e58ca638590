"""What replies say without any score: length, refusals, truncation, replies never given before, latency.

Each is tested like the pass rates: given everything that was seen of a task in both samples together, the trials that are the
recent ones may be any of them. So no law of lengths or texts has to be assumed, and the tests are exact.

- Refusals and truncated replies are shares: the test of pass rates.
- Length and latency: how many recent trials are above the task's median *of both samples*, and how many are below it (Mood 1950,
  stratified by task). Both are tested: where most values are alike the median is that value, and only one side of it is filled.
- New replies: how many recent trials have a text that the reference has not. Of a text that was given c times in all, it takes
  all c to be recent; the chances of each number are counted exactly.

All of them together have their own alpha, apart from that of scores, over all signals and days. They look at the last 7 days.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median, median_high, median_low
from typing import Literal

import numpy as np

from crosspath.analysis.sequential import Chances, Split, Tails, tails, tails_of
from crosspath.analysis.wording import percent
from crosspath.types.drift import EntryTrial, Signal, WatchRules

RECENT_DAYS = 7
"""Days of what is shown as recent: signals, and the change of the pass rate, whose tests look at more windows."""
_SIGNALS = 5
LATENCY_FACTOR = 1.5
"""A latency by less than this factor is no change: the reference is one session, and an endpoint's latency varies with the hour
and with how much is asked at once, whatever a test of trials says."""
LATENCY_SECONDS = 0.25
"""A latency that differs by less is no change either: where replies take milliseconds, the load of the machine that asks is a
factor of twenty, and nobody who waits for a reply sees it."""
LATENCY_DEPENDS = "latency depends on how much is asked at once"

Name = Literal["reply length", "refusals", "truncated replies", "new replies", "latency"]
Unit = Literal["characters", "share", "seconds"]
Trials = Mapping[str, Sequence[EntryTrial]]
"""Task -> its trials that have a reply."""


@dataclass(frozen=True)
class _Sides:
    """Both samples, of the tasks that both have."""

    before: Trials
    recent: Trials

    @property
    def tasks(self) -> list[str]:
        return sorted(self.before.keys() & self.recent.keys())


def signals(before: Sequence[EntryTrial], recent: Sequence[EntryTrial], rules: WatchRules) -> tuple[Signal, ...]:
    """Of the trials of compared tasks; ``recent``: those of the last days."""
    sides = _Sides(_replied(before), _replied(recent))
    lengths = _median_signal("reply length", "characters", lambda trial: trial.length, sides, rules)
    latency = _median_signal("latency", "seconds", lambda trial: trial.latency_s, sides, rules)
    refused = _share_signal("refusals", lambda trial: trial.refused, sides, rules)
    cut = _share_signal("truncated replies", lambda trial: trial.truncated, sides, rules)
    return (lengths, refused, cut, _new_signal(sides, rules), latency)


def _replied(trials: Sequence[EntryTrial]) -> Trials:
    found: dict[str, list[EntryTrial]] = {}
    for trial in trials:
        if trial.reply:
            found.setdefault(trial.task, []).append(trial)
    return found


def adjusted(tail: float, sides: int, rules: WatchRules) -> float:
    """A p-value of one look, times all that share its alpha: signals, days of the horizon, and sides."""
    return min(1.0, tail * _SIGNALS * rules.horizon_days * sides)


def _either_way(found: Sequence[Tails], rules: WatchRules) -> float:
    """The smallest of all tails, times how many they are."""
    return adjusted(min(map(min, found)), 2 * len(found), rules)


# -- shares --------------------------------------------------------------------------------------------------------------


def _share_signal(name: Name, of: Callable[[EntryTrial], bool], sides: _Sides, rules: WatchRules) -> Signal:
    splits = [_split([of(trial) for trial in first], [of(trial) for trial in second]) for first, second in _both(sides)]
    values = [_share(splits, place) for place in (0, 2)]
    p_value = _either_way([tails(splits)], rules) if splits else None
    return _signal(name, "share", values[0], values[1], p_value, rules)


def _both(sides: _Sides) -> Iterator[tuple[Sequence[EntryTrial], Sequence[EntryTrial]]]:
    for task in sides.tasks:
        yield sides.before[task], sides.recent[task]


def _split(before: Sequence[bool], recent: Sequence[bool]) -> Split:
    return Split(sum(before), len(before), sum(recent), len(recent))


def _share(splits: Sequence[Split], place: int) -> float | None:
    trials = sum(split[place + 1] for split in splits)
    return sum(split[place] for split in splits) / trials if trials else None


# -- medians -------------------------------------------------------------------------------------------------------------


def _median_signal(name: Name, unit: Unit, of: Callable[[EntryTrial], float | None], sides: _Sides, rules: WatchRules) -> Signal:
    pairs = [(_known(first, of), _known(second, of)) for first, second in _both(sides)]
    pairs = [(first, second) for first, second in pairs if first and second]
    if not pairs:
        return _signal(name, unit, None, None, None, rules)
    before, recent = (median(value for pair in pairs for value in pair[side]) for side in (0, 1))
    return _signal(name, unit, before, recent, _either_way(median_tails(pairs), rules), rules)


def _known(trials: Sequence[EntryTrial], of: Callable[[EntryTrial], float | None]) -> list[float]:
    return [value for trial in trials if (value := of(trial)) is not None]


def median_tails(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> tuple[Tails, Tails]:
    """Of how many recent values are above their task's median, and of how many are below it.

    ``pairs``: of each task the values before and the recent ones; no side is empty. A value at the median is neither above nor
    below. Values alike on one side and shorter on the other fill only what is below: so neither number says what the other does.
    """
    above, below = zip(*(_about_the_median(before, recent) for before, recent in pairs), strict=True)
    return tails(above), tails(below)


def _about_the_median(before: Sequence[float], recent: Sequence[float]) -> tuple[Split, Split]:
    """Of the median of both together: it is the same whichever trials are the recent ones."""
    both = [*before, *recent]
    # Between the two middle values there is none: so no mean of them is needed, and none is rounded onto one of them.
    low, high = median_low(both), median_high(both)
    above = _split([value > low for value in before], [value > low for value in recent])
    return above, _split([value < high for value in before], [value < high for value in recent])


# -- new replies ---------------------------------------------------------------------------------------------------------


def _new_signal(sides: _Sides, rules: WatchRules) -> Signal:
    pairs = [([trial.reply for trial in first], [trial.reply for trial in second]) for first, second in _both(sides)]
    if not pairs:
        return _signal("new replies", "share", None, None, None, rules)
    new = sum(reply not in set(first) for first, second in pairs for reply in second)
    laws = [new_reply_chances(first, second) for first, second in pairs]
    p_value = adjusted(tails_of(laws, new).high, 1, rules)
    alone = sum(count == 1 for first, _ in pairs for count in Counter(first).values())
    usual = alone / sum(len(first) for first, _ in pairs)
    return _signal("new replies", "share", usual, new / sum(len(second) for _, second in pairs), p_value, rules)


def new_reply_chances(before: Sequence[str], recent: Sequence[str]) -> Chances:
    """Of 0, 1, ... recent replies with a text that is in none before, if any of all may be the recent ones."""
    copies = sorted(Counter([*before, *recent]).values())
    return _new_chances(tuple(copies), len(recent))


@lru_cache(10_000)
def _new_chances(copies: tuple[int, ...], recent: int) -> Chances:
    """``ways[r][k]``: ways to have r recent trials, k of them new, among the texts so far; texts with as many copies at once."""
    ways: list[list[int]] = [[1]]
    for count in copies:
        ways = _with_text(ways, count, recent)
    whole = math.comb(sum(copies), recent)
    return np.array([way / whole for way in [*ways[recent], *([0] * (recent + 1 - len(ways[recent])))]])


def _with_text(ways: list[list[int]], count: int, recent: int) -> list[list[int]]:
    longest = min(recent, len(ways) - 1 + count)
    grown = [[0] * (there + 1) for there in range(longest + 1)]
    for there, row in enumerate(ways):
        for taken in range(min(count, longest - there) + 1):
            new, chosen = (count if taken == count else 0), math.comb(count, taken)
            target = grown[there + taken]
            for number, way in enumerate(row):
                target[number + new] += way * chosen
    return grown


# -- words ---------------------------------------------------------------------------------------------------------------


def _signal(
    name: Name, unit: Unit, reference: float | None, recent: float | None, p_value: float | None, rules: WatchRules
) -> Signal:
    changed = p_value is not None and p_value <= rules.alpha
    if name == "latency" and reference is not None and recent is not None:
        changed = changed and _material(reference, recent)
    return Signal(
        name=name, unit=unit, reference=reference, recent=recent, p_value=p_value, changed=changed,
        sentence=_sentence(name, unit, reference, recent, p_value, changed),
    )  # fmt: skip


def _material(reference: float, recent: float) -> bool:
    low, high = sorted((reference, recent))
    return high >= LATENCY_FACTOR * low and high - low >= LATENCY_SECONDS


def _sentence(name: Name, unit: Unit, reference: float | None, recent: float | None, p_value: float | None, changed: bool) -> str:
    if reference is None or recent is None or p_value is None:
        return f"{name}: nothing to compare"
    verdict = "changed" if changed else "no change found"
    of = "median " if unit != "share" else ""
    where = "of replies that no other trial of the reference gave" if name == "new replies" else "in the reference"
    size = f"{of}{_amount(recent, unit)} over the last {RECENT_DAYS} days, {_amount(reference, unit)} {where}"
    least_change = f"a factor of {LATENCY_FACTOR:g} and {LATENCY_SECONDS:g} s is the least that counts"
    caution = f"; {LATENCY_DEPENDS}, {least_change}" if name == "latency" else ""
    return f"{name}: {verdict}; {size} (adjusted p {'< 0.001' if p_value < 0.001 else f'= {p_value:.3f}'}){caution}"


def _amount(value: float, unit: Unit) -> str:
    if unit == "share":
        return percent(value)
    return f"{value:.0f} characters" if unit == "characters" else f"{value:.4g} s"
