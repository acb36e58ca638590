"""Intervals and tests, as small functions of numbers.

Everything here is exact in its inputs: means are ``Fraction`` so that ties are ties, and the order of the input never changes a
result. SciPy is imported only when a t quantile is needed. Nothing returns NaN or infinity.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

ALPHA = 0.05
"""All intervals are 95 % intervals."""
_EXACT_SUMS = 100_000
"""Sign flips are enumerated exactly as long as there are at most this many different sums."""
_RANDOM_FLIPS = 20_000


class Interval(NamedTuple):
    """Lower and upper end, and the words that say how they were found. None: there is no interval, and the method says why."""

    low: float | None
    high: float | None
    method: str


def mean(values: Sequence[Fraction]) -> Fraction:
    """The exact mean of at least one number."""
    return sum(values, Fraction(0)) / len(values)


def share(outcomes: Iterable[bool]) -> Fraction:
    """The exact share of true outcomes among at least one."""
    listed = tuple(outcomes)
    return Fraction(sum(listed), len(listed))


def wilson(rate: float, n: float) -> tuple[float, float]:
    """Wilson's score interval for ``rate`` seen in ``n`` > 0 independent trials (Wilson 1927, without continuity correction).

    ``n`` may be fractional: an effective number of trials. For trials of unequal chances the interval is too wide, not too
    narrow, because their variance is at most the binomial one.
    """
    z = NormalDist().inv_cdf(1 - ALPHA / 2)
    scale = 1 + z * z / n
    centre = (rate + z * z / (2 * n)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return max(0.0, min(rate, centre - half)), min(1.0, max(rate, centre + half))


def newcombe(first: float, n_first: float, second: float, n_second: float) -> tuple[float, float]:
    """Interval for ``first - second`` of two independent rates: Newcombe 1998, method 10, from two Wilson intervals."""
    first_low, first_high = wilson(first, n_first)
    second_low, second_high = wilson(second, n_second)
    difference = first - second
    below = math.hypot(first - first_low, second_high - second)
    above = math.hypot(first_high - first, second - second_low)
    return max(-1.0, difference - below), min(1.0, difference + above)


def t_quantile(degrees: float, alpha: float = ALPHA) -> float:
    """The two-sided quantile of Student's t distribution, by default for 95 %."""
    from scipy.special import stdtrit  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    return float(stdtrit(degrees, 1 - alpha / 2))  # pyright: ignore[reportUnknownArgumentType]


def family_interval(families: Sequence[Fraction], lowest: int, highest: int, alpha: float = ALPHA) -> Interval:
    """Interval for the mean over the population of families that these family means were drawn from.

    Student's t with G-1 degrees of freedom, cut to ``lowest``..``highest``; :func:`tie_interval` where all means are equal.
    ``alpha``: how often it may miss; less than 5 % for one of several intervals that are to hold together.
    """
    groups = len(families)
    if groups == 0:
        return Interval(None, None, "nothing was scored")
    if groups == 1:
        return Interval(None, None, "no interval: one family says nothing about how families differ")
    if len(set(families)) == 1:
        return tie_interval(families[0], groups, lowest, highest, alpha)
    centre = float(mean(families))
    spread = math.sqrt(math.fsum((float(value) - centre) ** 2 for value in families) / (groups - 1))
    half = t_quantile(groups - 1, alpha) * spread / math.sqrt(groups)
    return Interval(max(lowest, centre - half), min(highest, centre + half), f"t on {groups} family means")


def tie_interval(value: Fraction, groups: int, lowest: int, highest: int, alpha: float = ALPHA) -> Interval:
    """Exact bound where all ``groups`` family means equal ``value``: never zero width.

    With confidence 1 - ``alpha`` at most a share q = 1 - :func:`tie_share` of all families has another value, anywhere
    between ``lowest`` and ``highest``: value - q (value - lowest) .. value + q (highest - value).
    """
    different = 1 - tie_share(groups, alpha)
    tied = float(value)
    low = tied - different * (tied - lowest)
    high = tied + different * (highest - tied)
    return Interval(low, high, f"exact bound, all {groups} family means are equal")


def tie_share(groups: int, alpha: float = ALPHA) -> float:
    """The least share c of the population that must hold a value on which ``groups`` > 1 families all agree (by default 95 %).

    If no value has more than a share c, G families agree on *any* value with a chance of at most k c^G + (1 - k c)^G, where
    k = floor(1/c): a convex sum is largest at a corner. c is where that reaches ``alpha``. This is the Clopper-Pearson bound for
    0 of G (c = alpha^(1/G)), made to hold although the value was not named in advance.
    """
    low, high = 0.0, 1.0
    for _ in range(60):
        share_ = (low + high) / 2
        whole = math.floor(1 / share_)
        reached = whole * share_**groups + max(0.0, 1 - whole * share_) ** groups > alpha
        low, high = (low, share_) if reached else (share_, high)
    return low


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


def mcnemar_p(lost: int, gained: int) -> float:
    """McNemar's exact two-sided p: of the pairs that differ, each direction has a chance of one half."""
    pairs = lost + gained
    tail = sum(math.comb(pairs, count) for count in range(min(lost, gained) + 1))
    return min(1.0, float(Fraction(2 * tail, 2**pairs)))


def difference_on_these_tasks(first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]) -> Interval:
    """Interval for the mean difference of two independent generations on exactly these tasks.

    ``first`` and ``second`` hold the outcomes of each task's trials, in the same order of tasks. Tasks are fixed here; only
    trials vary. With two or more trials everywhere: the variance within tasks, and t with Welch's (1947) degrees. Otherwise, and
    where no trial disagrees within its task: Newcombe's interval, which is too wide rather than too narrow.
    """
    variances = [part for side in (first, second) for trials in side if (part := _variance_of_mean(trials)) is not None]
    if len(variances) == len(first) + len(second) and any(part for part, _ in variances):
        return _within_tasks(first, second, variances)
    low, high = newcombe(*_rate_and_n(first), *_rate_and_n(second))
    if all(len(trials) == 1 for side in (first, second) for trials in side):
        return Interval(low, high, "Newcombe; one trial a task, so variation within tasks was not seen")
    return Interval(low, high, "Newcombe; too few trials disagree within their task for a variance")


def _variance_of_mean(trials: Sequence[bool]) -> tuple[Fraction, int] | None:
    """Estimated variance of a task's mean, and its degrees of freedom; None for a single trial."""
    n = len(trials)
    if n < 2:
        return None
    rate = share(trials)
    return rate * (1 - rate) / (n - 1), n - 1


def _within_tasks(
    first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]], variances: Sequence[tuple[Fraction, int]]
) -> Interval:
    tasks = len(first)
    total = sum((part for part, _ in variances), Fraction(0))
    degrees = float(total * total / sum((part * part / free for part, free in variances), Fraction(0)))
    half = t_quantile(degrees) * math.sqrt(total) / tasks
    centre = _rate_and_n(first)[0] - _rate_and_n(second)[0]
    return Interval(max(-1.0, centre - half), min(1.0, centre + half), "variance between trials of the same task, t")


def _rate_and_n(tasks: Sequence[Sequence[bool]]) -> tuple[float, float]:
    """Mean of task means, and the number of trials that would give its variance (tasks² / sum of 1/trials)."""
    rate = float(mean([share(trials) for trials in tasks]))
    return rate, float(len(tasks) ** 2 / sum((Fraction(1, len(trials)) for trials in tasks), Fraction(0)))
