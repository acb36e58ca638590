"""Intervals and tests for exactly these tasks, as small functions of numbers.

Methods come from SciPy and statsmodels where they have them, each with its source; what a judgement asks again and again is kept,
because a call of theirs takes up to a millisecond. Means are ``Fraction`` so that ties are ties, and the order of the input never
changes a result. Both libraries are imported only when they are needed. Nothing returns NaN or infinity.
"""

# statsmodels and parts of SciPy carry no types.
# pyright: reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownMemberType=false
from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

ALPHA = 0.05
"""All intervals are 95 % intervals."""
_EXACT_SUMS = 100_000
"""Sign flips are enumerated exactly as long as there are at most this many different sums."""
_RANDOM_FLIPS = 20_000
_FEW = 14
"""Below so many trials the Agresti-Coull interval may cover less than 93 %: 87 % for 4 trials, 92.5 % for 10."""
_KEPT = 4096


class Interval(NamedTuple):
    """Lower and upper end, and the words that say how they were found. None: there is no interval, and the method says why."""

    low: float | None
    high: float | None
    method: str


class Ends(NamedTuple):
    """Lower and upper end, and the name of the method."""

    low: float
    high: float
    method: str


def mean(values: Sequence[Fraction]) -> Fraction:
    """The exact mean of at least one number, added up as integers: many times faster than fraction by fraction."""
    scale = math.lcm(*(value.denominator for value in values))
    return Fraction(sum(value.numerator * (scale // value.denominator) for value in values), scale * len(values))


def share(outcomes: Iterable[bool]) -> Fraction:
    """The exact share of true outcomes among at least one."""
    listed = tuple(outcomes)
    return Fraction(sum(listed), len(listed))


@lru_cache(_KEPT)
def share_interval(rate: float, n: float) -> Ends:
    """Interval for ``rate`` seen in ``n`` > 0 independent trials: Agresti-Coull (1998), below 14 trials Clopper-Pearson (1934).

    Agresti-Coull has the centre of Wilson's interval (1927) and is nowhere narrower. Wilson's own falls to 83 % coverage where
    all trials have the same chance near 0 or 100 %, this one never below 93 % (``docs/statistics.md``). ``n`` may be fractional:
    an effective number of trials. For trials of unequal chances the interval is too wide, not too narrow, because their variance
    is at most the binomial one.
    """
    from statsmodels.stats.proportion import proportion_confint

    few = n < _FEW
    ends: Any = proportion_confint(min(n, rate * n), n, ALPHA, "beta" if few else "agresti_coull")
    name = "Clopper-Pearson" if few else "Agresti-Coull"
    return Ends(max(0.0, min(rate, float(ends[0]))), min(1.0, max(rate, float(ends[1]))), name)


@lru_cache(_KEPT)
def difference_interval(first: float, n_first: float, second: float, n_second: float) -> tuple[float, float]:
    """Interval for ``first - second`` of two independent rates: Agresti and Caffo (2000), a success and a failure added to each.

    Newcombe's (1998, method 10) is wider on average and falls to 86 % coverage with 24 trials a side near 0 or 100 %; this one
    to 92.5 %.
    """
    from statsmodels.stats.proportion import confint_proportions_2indep

    counts = (min(n_first, first * n_first), n_first, min(n_second, second * n_second), n_second)
    ends: Any = confint_proportions_2indep(*counts, method="agresti-caffo", compare="diff", alpha=ALPHA)
    return max(-1.0, min(first - second, float(ends[0]))), min(1.0, max(first - second, float(ends[1])))


@lru_cache(_KEPT)
def t_quantile(degrees: float, alpha: float = ALPHA) -> float:
    """The two-sided quantile of Student's t distribution, by default for 95 %."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, 1 - alpha / 2))


def sign_flip_p(differences: Sequence[Fraction]) -> float | None:
    """Two-sided p of the sign-flip test (Fisher's randomisation test) that family differences are symmetric about zero.

    All 2^G sign patterns are counted exactly by adding up integers; where more than 100,000 different sums arise, 20,000
    patterns are drawn with a fixed seed and p = (1 + hits) / (1 + draws). None for fewer than two families.
    """
    if len(differences) < 2:
        return None
    scale = math.lcm(*(value.denominator for value in differences))
    sizes = sorted(abs(int(value * scale)) for value in differences)
    observed = abs(int(sum(differences, Fraction(0)) * scale))
    sums: Counter[int] = Counter({0: 1})
    for size in sizes:
        flipped: Counter[int] = Counter()
        for total, ways in sums.items():
            flipped[total + size] += ways
            flipped[total - size] += ways
        if len(flipped) > _EXACT_SUMS:
            return _random_flips(sizes, observed)
        sums = flipped
    hits = sum(ways for total, ways in sums.items() if abs(total) >= observed)
    return float(Fraction(hits, 2 ** len(sizes)))


def _random_flips(sizes: Sequence[int], observed: int) -> float:
    draws = random.Random(0)
    hits = 0
    for _ in range(_RANDOM_FLIPS):
        signs = draws.getrandbits(len(sizes))
        total = sum(size if signs >> place & 1 else -size for place, size in enumerate(sizes))
        hits += abs(total) >= observed
    return (1 + hits) / (1 + _RANDOM_FLIPS)


@lru_cache(_KEPT)
def mcnemar_p(lost: int, gained: int) -> float:
    """McNemar's exact two-sided p (1947): of the pairs that differ, each direction has a chance of one half."""
    if not lost + gained:
        return 1.0
    from scipy.stats import binomtest

    return float(binomtest(lost, lost + gained).pvalue)


def difference_on_these_tasks(first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]) -> Interval:
    """Interval for the mean difference of two independent generations on exactly these tasks.

    ``first`` and ``second`` hold the outcomes of each task's trials, in the same order of tasks. Tasks are fixed here; only
    trials vary. Agresti-Caffo, which takes all trials of a side as alike and so is too wide rather than too narrow; with two or
    more trials everywhere, where that is narrower: the variance within tasks, and t with Welch's (1947) degrees.
    """
    low, high = difference_interval(*_rate_and_n(first), *_rate_and_n(second))
    if all(len(trials) == 1 for side in (first, second) for trials in side):
        return Interval(low, high, "Agresti-Caffo; one trial a task, so variation within tasks was not seen")
    variances = [part for side in (first, second) for trials in side if (part := _variance_of_mean(trials)) is not None]
    if len(variances) == len(first) + len(second) and any(part for part, _ in variances):
        half = _half_width_within(len(first), variances)
        if 2 * half < high - low:
            centre = _rate_and_n(first)[0] - _rate_and_n(second)[0]
            return Interval(max(-1.0, centre - half), min(1.0, centre + half), "variance between trials of the same task, t")
    return Interval(low, high, "Agresti-Caffo; too few trials disagree within their task for a variance")


def _variance_of_mean(trials: Sequence[bool]) -> tuple[Fraction, int] | None:
    """Estimated variance of a task's mean, and its degrees of freedom; None for a single trial."""
    n = len(trials)
    if n < 2:
        return None
    rate = share(trials)
    return rate * (1 - rate) / (n - 1), n - 1


def _half_width_within(tasks: int, variances: Sequence[tuple[Fraction, int]]) -> float:
    total = sum((part for part, _ in variances), Fraction(0))
    degrees = float(total * total / sum((part * part / free for part, free in variances), Fraction(0)))
    return t_quantile(degrees) * math.sqrt(total) / tasks


def _rate_and_n(tasks: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """Mean of task means, and the number of trials that would give its variance (tasks² / sum of 1/trials)."""
    rate = float(mean([share(trials) for trials in tasks]))
    return rate, float(len(tasks) ** 2 / sum((Fraction(1, len(trials)) for trials in tasks), Fraction(0)))
