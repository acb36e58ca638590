"""How likely a watch finds a drop: histories are drawn from stated rates and looked at day by day with the test of a watch."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
from numpy.typing import NDArray

from crosspath.analysis.sequential import DROPS, Look, Split, Window, looks, spent, tails
from crosspath.types.drift import WatchRules

SEED = 20_261_201
DROP = 0.15
WITHIN_DAYS = 14
_SIMULATED = 200
MARGIN = 0.8
"""A sum of independent Bernoulli variables, as a hypergeometric one is, has no tail so much below the normal one."""

Counts = NDArray[np.int64]
Rates = NDArray[np.float64]


@dataclass(frozen=True)
class Counted:
    """A watch as counts: one row a day, one column a task."""

    before: Counts
    """Passes of each task in the reference."""
    before_trials: Counts
    passed: Counts
    trials: Counts
    """Trials with a verdict of each day and task."""

    @cached_property
    def sums(self) -> tuple[Counts, Counts]:
        """Passes and trials over the first 0, 1, ... days."""
        return _sums(self.passed), _sums(self.trials)

    def splits(self, look: Look) -> list[Split]:
        passed, trials = (one[look.at + 1] - one[look.start] for one in self.sums)
        columns = (self.before, self.before_trials, passed, trials)
        return [Split(*row) for row in zip(*(column.tolist() for column in columns), strict=True)]

    def score(self, look: Look) -> float:
        """Recent passes less those expected given all, in standard deviations."""
        passed, recent = (one[look.at + 1] - one[look.start] for one in self.sums)
        whole, seen = self.before + passed, self.before_trials + recent
        expected = (recent * whole / np.maximum(seen, 1)).sum()
        variance = recent * self.before_trials * whole * (seen - whole) / np.maximum(seen * seen * (seen - 1.0), 1.0)
        return float((passed.sum() - expected) / math.sqrt(max(float(variance.sum()), 1e-12)))


def _sums(counts: Counts) -> Counts:
    return np.concatenate([np.zeros((1, counts.shape[1]), dtype=np.int64), np.cumsum(counts, axis=0)])


@dataclass(frozen=True)
class Found:
    """The first day on which something was found, as its place, and what."""

    at: int
    worse: bool


def first_found(counted: Counted, rules: WatchRules, since: int = 0, margin: float = MARGIN) -> Found | None:
    """As ``provider_drift`` finds it. ``since``: looks before that day don't count.

    ``margin``: by how many standard deviations the normal score of a look may fall short of what it needs before its exact tail
    is left out; infinity: it never is.
    """
    for look in _looks(len(counted.passed)):
        if look.at < since:
            continue
        if abs(counted.score(look)) < _least_score(look.window, rules.alpha, rules.horizon_days) - margin:
            continue
        found = spent(tails(counted.splits(look)), look.window, rules.horizon_days)
        if min(found) <= rules.alpha:
            return Found(look.at, found.low <= rules.alpha)
    return None


@cache
def _looks(days: int) -> tuple[Look, ...]:
    return tuple(looks(range(days)))


@cache
def _least_score(window: Window, alpha: float, horizon_days: int) -> float:
    from scipy.special import ndtri  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    level = alpha * DROPS * window.part(horizon_days)
    return -float(ndtri(level))  # pyright: ignore[reportUnknownArgumentType]


@dataclass(frozen=True)
class Power:
    """Of simulated watches with a drop."""

    found: float
    """Share in which it is found within 14 days."""
    simulated: int


def power(
    rates: Sequence[float],
    trials: int,
    reference_trials: int,
    rules: WatchRules,
    drop: float = DROP,
    simulated: int = _SIMULATED,
    seed: int = SEED,
) -> Power:
    """How often a drop by ``drop`` of every task's rate (down to 0 at most) is found within 14 days; each has its own trials.

    It begins on a random day of the horizon; ``trials``: a task and day. The same seed draws the same watches.
    """
    random = np.random.default_rng([seed, trials, reference_trials])
    before = np.asarray(rates, dtype=np.float64)
    hits = sum(_finds(before, np.maximum(before - drop, 0.0), trials, reference_trials, rules, random) for _ in range(simulated))
    return Power(hits / simulated, simulated)


def _finds(
    before: Rates, after: Rates, trials: int, reference_trials: int, rules: WatchRules, random: np.random.Generator
) -> bool:
    onset = int(random.integers(0, max(1, rules.horizon_days - WITHIN_DAYS + 1)))
    counted = drawn(before, after, onset, onset + WITHIN_DAYS, trials, reference_trials, random)
    found = first_found(counted, rules, since=onset)
    return found is not None and found.worse


def drawn(
    before: Rates, after: Rates, onset: int, days: int, trials: int, reference_trials: int, random: np.random.Generator
) -> Counted:
    """A watch whose rates are ``before`` up to the day ``onset``, and ``after`` from it on."""
    rates = np.where(np.arange(days)[:, None] >= onset, after, before)
    reference = random.binomial(reference_trials, before)
    each = np.full(len(before), reference_trials, dtype=np.int64)
    return Counted(reference, each, random.binomial(trials, rates), np.full(rates.shape, trials, dtype=np.int64))
