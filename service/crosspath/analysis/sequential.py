"""A test of one sample against a reference, task by task, that may be looked at every day.

The hypothesis: within each task, the trials of the reference and those of the days are exchangeable. Then, of each task's passes,
any of its trials may be those that hold them: given how many passes there are in both together, the number among the recent
trials is hypergeometric, and their sum over tasks is a sum of independent such numbers. Its tails are exact: they carry the
sampling variance of the reference, whatever the tasks' rates are, with any number of trials on either side of any task (Cochran
1954; Mantel and Haenszel 1959; the exact form: Mehta, Patel and Gray 1985). One task: Fisher's exact test, one-sided.

Several windows are looked at, again and again. Each look may spend a part of alpha, and all parts of any ``horizon_days`` days
together are alpha (Bonferroni's inequality): whatever looks have to do with one another, the chance that any of them is a false
alarm is at most alpha. After the horizon the same parts are spent on, so that the rate is one per horizon.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

DROPS = 0.8
"""Share of alpha that is spent on drops; the rest is spent on rises."""

Chances = NDArray[np.float64]


class Split(NamedTuple):
    """One task's trials: those before, and the recent ones that are tested against them."""

    before: int
    """Of these trials so many passed."""
    before_trials: int
    recent: int
    recent_trials: int


class Tails(NamedTuple):
    """One-sided p-values."""

    low: float
    """That there are so few among the recent trials, or fewer."""
    high: float
    """That there are so many, or more."""


@dataclass(frozen=True)
class Window:
    """The last ``days`` days, looked at once in ``every`` days at most, with ``share`` of alpha."""

    days: int
    every: int
    share: float

    def part(self, horizon_days: int) -> float:
        """Share of alpha that one look may spend: any ``horizon_days`` days in a row hold no more looks than this counts."""
        return self.share / math.ceil(horizon_days / self.every)


WINDOWS = (Window(1, 1, 0.05), Window(3, 1, 0.10), Window(7, 2, 0.15), Window(14, 2, 0.60), Window(28, 7, 0.10))
"""A collapse is found on the day itself, a drop of 15 points within 14 days, something smaller later. Shares add up to 1."""


@dataclass(frozen=True)
class Look:
    """One window on one day."""

    at: int
    """Place of the day among those that are used; it is the window's last."""
    start: int
    """Place of the window's first day."""
    window: Window


def looks(days: Sequence[int], windows: Sequence[Window] = WINDOWS) -> Iterator[Look]:
    """Which windows are looked at when; ``days``: ordinals of the days that are used, ascending.

    It depends on the days alone, never on what came out.
    """
    last: dict[Window, int] = {}
    for at, day in enumerate(days):
        for window in windows:
            if window not in last or day - last[window] >= window.every:
                last[window] = day
                start = next(place for place in range(at + 1) if days[place] > day - window.days)
                yield Look(at, start, window)


def spent(tails: Tails, window: Window, horizon_days: int) -> Tails:
    """The p-values of a look, times what it may spend: at most alpha is an alarm. At most 1."""
    part = window.part(horizon_days)
    return Tails(min(1.0, tails.low / (DROPS * part)), min(1.0, tails.high / ((1 - DROPS) * part)))


def tails(splits: Sequence[Split]) -> Tails:
    """Of the sum of recent passes over all tasks, given each task's passes. Tasks that can't vary play no part."""
    varying = [split for split in splits if can_vary(split)]
    laws = [_law(one.before + one.recent, one.before_trials + one.recent_trials, one.recent_trials) for one in varying]
    least = [max(0, one.before + one.recent - one.before_trials) for one in varying]
    return tails_of(laws, sum(one.recent for one in varying) - sum(least))


def can_vary(split: Split) -> bool:
    """Whether its passes could have fallen otherwise: both sides have trials, and neither all nor none passed."""
    passed = split.before + split.recent
    return bool(split.before_trials and split.recent_trials) and 0 < passed < split.before_trials + split.recent_trials


def tails_of(laws: Sequence[Chances], observed: int) -> Tails:
    """Of a sum of independent whole numbers from 0, each with its own chances of 0, 1, ..."""
    chances = summed(laws)
    return Tails(min(1.0, float(chances[: observed + 1].sum())), min(1.0, float(chances[observed:].sum())))


def summed(laws: Sequence[Chances]) -> Chances:
    """Chances of the sum, added pair by pair: that is faster than one by one."""
    waiting: list[Chances] = sorted(laws, key=len)
    while len(waiting) > 1:
        odd = waiting[-1:] if len(waiting) % 2 else []
        waiting = [*map(_added, waiting[0::2], waiting[1::2]), *odd]
    return waiting[0] if waiting else np.ones(1)


def _added(first: Chances, second: Chances) -> Chances:
    return np.asarray(np.convolve(first, second), dtype=np.float64)


@lru_cache(100_000)
def _law(passed: int, trials: int, recent_trials: int) -> Chances:
    """Chances of the least number of passes among the recent trials, of one more, and so on (hypergeometric)."""
    others = trials - recent_trials
    ways = [
        math.comb(recent_trials, number) * math.comb(others, passed - number)
        for number in range(max(0, passed - others), min(passed, recent_trials) + 1)
    ]
    whole = math.comb(trials, passed)
    return np.array([way / whole for way in ways])
