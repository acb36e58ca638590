"""How likely a watch would have found a drop: what its finding nothing is worth.

The reference stays as it was drawn. The number of recent passes after a drop is a sum of binomial numbers, whose chances are
exact given the tasks' rates; these are taken from both sides together. The test finds a drop where so few pass, or fewer, as
have a p-value of at most what the look may spend; that limit depends a little on whose passes they are, and is taken where they
fall on tasks as the rates say.
"""

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from crosspath.analysis.sequential import DROPS, WINDOWS, Chances, Split, summed, tails
from crosspath.analysis.watch_counts import Watch

ASKED_DROP = 0.15
"""A drop of so much, of every task, is what a watch is made to find."""


def chance_found(watch: Watch) -> float:
    """How likely a drop of 15 points of every task, in all of its days, is found by the best window that ends today."""
    at, rules = len(watch.used) - 1, watch.reference.rules
    return max(
        chance_of_finding(
            list(watch.splits(watch.start_of(at, window.days), at).values()),
            rules.alpha * DROPS * window.part(rules.horizon_days),
        )
        for window in WINDOWS
    )


def chance_of_finding(splits: Sequence[Split], level: float, drop: float = ASKED_DROP) -> float:
    """How likely so many recent trials show a drop at ``level`` (one-sided), if tasks passed as both sides say and pass less now.

    A task that passes in less than ``drop`` loses what it has.
    """
    both = [split for split in splits if split.before_trials and split.recent_trials]
    dropped = [max(0.0, rate - drop) for rate in _rates(both)]
    fewest = _largest_found(both, dropped, level)
    laws = [_binomial(split.recent_trials, rate) for split, rate in zip(both, dropped, strict=True)]
    return min(1.0, float(summed(laws)[: fewest + 1].sum())) if fewest >= 0 else 0.0


def _rates(splits: Sequence[Split]) -> list[float]:
    """Of both sides together, one trial added that comes out as all tasks do: tasks that always passed are not taken at 1."""
    passed = sum(one.before + one.recent for one in splits)
    usual = (passed + 0.5) / (sum(one.before_trials + one.recent_trials for one in splits) + 1)
    return [(one.before + one.recent + usual) / (one.before_trials + one.recent_trials + 1) for one in splits]


def _largest_found(splits: Sequence[Split], rates: Sequence[float], level: float) -> int:
    """The most recent passes that are still found to be a drop; -1: not even none are."""
    low, high = -1, sum(split.recent_trials for split in splits)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _p_drop(splits, rates, middle) <= level else (low, middle)
    return low


def _p_drop(splits: Sequence[Split], rates: Sequence[float], passes: int) -> float:
    recent = _shared([split.recent_trials for split in splits], rates, passes)
    return tails([split._replace(recent=number) for split, number in zip(splits, recent, strict=True)]).low


def _shared(trials: Sequence[int], rates: Sequence[float], passes: int) -> list[int]:
    """So many passes over tasks, as their rates say: where there are more than expected, what does not pass falls as they fail.
    A task that can't pass never does."""
    expected = [number * rate for number, rate in zip(trials, rates, strict=True)]
    if passes <= math.fsum(expected):
        return _rounded(expected, passes)
    never = [number if not rate else 0 for number, rate in zip(trials, rates, strict=True)]
    others = [number - one - lost for number, one, lost in zip(trials, expected, never, strict=True)]
    failed = _rounded(others, max(0, sum(trials) - passes - sum(never)))
    return [number - lost - more for number, lost, more in zip(trials, never, failed, strict=True)]


def _rounded(parts: Sequence[float], total: int) -> list[int]:
    """Whole numbers in the proportion of ``parts`` that add up to ``total``."""
    whole = math.fsum(parts)
    ends = [math.floor(total * end / whole + 0.5) for end in np.cumsum(parts).tolist()] if whole else [0] * len(parts)
    return [end - start for start, end in zip([0, *ends], ends, strict=False)]


@lru_cache(10_000)
def _binomial(trials: int, rate: float) -> Chances:
    from scipy.special import gammaln, xlog1py, xlogy  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    passed = np.arange(trials + 1)
    failed = trials - passed
    ways = gammaln(trials + 1) - gammaln(passed + 1) - gammaln(failed + 1)
    return np.asarray(np.exp(ways + xlogy(passed, rate) + xlog1py(failed, -rate)), dtype=np.float64)
