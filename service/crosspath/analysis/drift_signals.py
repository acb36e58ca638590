"""What replies say without any score: length, refusals, truncation, replies never given before, latency.

Each is tested like the pass rates: given everything that was seen of a task in both samples together, the trials that are the
recent ones may be any of them. So no law of lengths or texts has to be assumed, and the tests are exact.

- Refusals and truncated replies are shares: the test of pass rates.
- Length and latency: how many recent trials are above the task's median *of both samples* (Mood 1950, stratified by task).
- New replies: how many recent trials have a text that the reference has not. Of a text that was given c times in all, it takes
  all c to be recent; the chances of each number are counted exactly.

All of them together have their own alpha, apart from that of scores, over all signals and days. They look at the last 7 days.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Literal

import numpy as np

from crosspath.analysis.sequential import Chances, Split, Tails, tails, tails_of
from crosspath.analysis.wording import percent
from crosspath.types.drift import EntryTrial, Signal, WatchRules

SIGNAL_DAYS = 7
_SIGNALS = 5
MATERIAL_LATENCY = 1.25
"""A latency by less than this factor is no change: that of one endpoint varies with the hour, whatever a test of trials says."""

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


def _two_sided(found: Tails, rules: WatchRules) -> float:
    return adjusted(min(found), 2, rules)


# -- shares --------------------------------------------------------------------------------------------------------------


def _share_signal(name: Name, of: Callable[[EntryTrial], bool], sides: _Sides, rules: WatchRules) -> Signal:
    splits = [_split([of(trial) for trial in first], [of(trial) for trial in second]) for first, second in _both(sides)]
    values = [_share(splits, place) for place in (0, 2)]
    p_value = _two_sided(tails(splits), rules) if splits else None
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
    splits = [_above(first, second) for first, second in pairs]
    before, recent = (median(value for pair in pairs for value in pair[side]) for side in (0, 1))
    return _signal(name, unit, before, recent, _two_sided(tails(splits), rules), rules)


def _known(trials: Sequence[EntryTrial], of: Callable[[EntryTrial], float | None]) -> list[float]:
    return [value for trial in trials if (value := of(trial)) is not None]


def _above(before: Sequence[float], recent: Sequence[float]) -> Split:
    """How many are above the median of both together: it is the same whichever trials are the recent ones."""
    middle = median([*before, *recent])
    return _split([value > middle for value in before], [value > middle for value in recent])


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
    if name == "latency" and changed and reference and recent:
        changed = max(reference / recent, recent / reference) >= MATERIAL_LATENCY
    return Signal(
        name=name, unit=unit, reference=reference, recent=recent, p_value=p_value, changed=changed,
        sentence=_sentence(name, unit, reference, recent, p_value, changed),
    )  # fmt: skip


def _sentence(name: Name, unit: Unit, reference: float | None, recent: float | None, p_value: float | None, changed: bool) -> str:
    if reference is None or recent is None or p_value is None:
        return f"{name}: nothing to compare"
    verdict = "changed" if changed else "no change found"
    of = "median " if unit != "share" else ""
    least = "of replies that no other trial of the reference gave" if name == "new replies" else "in the reference"
    size = f"{of}{_amount(recent, unit)} over the last {SIGNAL_DAYS} days, {_amount(reference, unit)} {least}"
    return f"{name}: {verdict}; {size} (adjusted p {'< 0.001' if p_value < 0.001 else f'= {p_value:.3f}'})"


def _amount(value: float, unit: Unit) -> str:
    if unit == "share":
        return percent(value)
    return f"{value:.0f} characters" if unit == "characters" else f"{value:.2f} s"
