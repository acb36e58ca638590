"""Interval for a mean over the population of families that a sample of families was drawn from.

Student's t on family means is the textbook answer, and short of its promise where it matters here: most families lose nothing on
a path and a few lose all, so that family means are lopsided and nearly tied. It then covers the truth in as few as 65 % of
samples instead of 95 % (``docs/statistics.md``). So the interval reaches as far as the wider of two, at each end:

- Student's t with G-1 degrees of freedom;
- the empirical likelihood interval over *all* distributions on the possible range (Owen 1988, Empirical likelihood ratio
  confidence intervals for a single functional, Biometrika 75): every mean m for which some distribution with mean m gives the
  sample at least exp(-c/2) of its highest likelihood. Such a distribution may hold values that no family showed, so that a share
  of unseen families is allowed for, as in the bound of Cappe, Garivier, Maillard, Munos and Stoltz (2013, Kullback-Leibler
  upper confidence bounds, Annals of Statistics 41). It follows skewness, and turns into the likelihood interval of a proportion
  where families are all or nothing.

Both have the same calibration: c = G log(1 + t^2 / (G-1)) G / (G-1), the likelihood ratio of normal samples at the ends of the
t interval, times G / (G-1) because empirical likelihood takes the variance with G in its divisor.

**One direction.** Where all families that differ from zero do so in one direction, and so many that the sign test (one-sided, at
alpha) finds that, an unseen family is given no effect at most, and not the opposite one: then t decides about zero. **Ties.**
Where all families are equal an exact bound stands in place of both.
"""

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from crosspath.analysis.stats import ALPHA, Interval, mean, t_quantile

_NEAREST = -230.0
"""Natural logarithm of 1e-100: so near, the end of the range is reached."""

_Sample = Sequence[tuple[float, int]]
"""Different distances from the end of the range, in ascending order, and how many families are at each."""


def family_interval(families: Sequence[Fraction], lowest: int, highest: int, alpha: float = ALPHA) -> Interval:
    """Interval for the mean over the population of families that these family means were drawn from.

    The wider of Student's t and bounded empirical likelihood, inside ``lowest``..``highest``; :func:`tie_interval` where all
    means are equal. ``alpha``: how often it may miss; less than 5 % for one of several intervals that are to hold together.
    """
    groups = len(families)
    if groups == 0:
        return Interval(None, None, "nothing was scored")
    if groups == 1:
        return Interval(None, None, "no interval: one family says nothing about how families differ")
    if len(set(families)) == 1:
        return tie_interval(families[0], groups, lowest, highest, alpha)
    means, centre = [float(value) for value in families], float(mean(families))
    quantile = t_quantile(groups - 1, alpha)
    spread = math.sqrt(math.fsum((value - centre) ** 2 for value in means) / (groups - 1))
    half = quantile * spread / math.sqrt(groups)
    loss = likelihood_loss(quantile, groups)
    bottom, top = _ends_of_unseen(means, lowest, highest, alpha)
    low = min(centre - half, bottom + least_mean([value - bottom for value in means], loss))
    high = max(centre + half, top - least_mean([top - value for value in means], loss))
    return Interval(max(lowest, low), min(highest, high), f"t and empirical likelihood on {groups} family means")


def likelihood_loss(t: float, groups: int) -> float:
    """The loss of empirical likelihood (-2 log R) that stands for a value of Student's t on ``groups`` families."""
    return groups * math.log1p(t**2 / (groups - 1)) * groups / (groups - 1)


def _ends_of_unseen(means: Sequence[float], lowest: int, highest: int, alpha: float) -> tuple[int, int]:
    """Between which values a family may lie that was not seen: see the module."""
    if 0.5 ** sum(value != 0 for value in means) > alpha:
        return lowest, highest
    return max(lowest, 0) if min(means) >= 0 else lowest, min(highest, 0) if max(means) <= 0 else highest


def least_mean(distances: Sequence[float], loss: float) -> float:
    """The least mean of a distribution on [0, infinity) under which the sample loses at most ``loss`` = -2 log R of likelihood.

    ``distances``: a sample from it, at least one above 0. The solution is known but for one number: weights of the sample that go
    as 1 / (shift + distance), and where even shift 0 loses less than ``loss``, a mass at 0 that no observation stands for.
    """
    sample, size = sorted(Counter(distances).items()), len(distances)
    if sample[0][0] > 0:
        nearest, centre = _tilted(sample, size, 0.0)
        if nearest <= loss:
            unseen = -math.expm1(-(loss - nearest) / 2 / size)
            return (1 - unseen) * centre
    return _tilted(sample, size, _shift(sample, size, loss))[1]


def _tilted(sample: _Sample, size: int, shift: float) -> tuple[float, float]:
    """Loss of likelihood (-2 log R) and mean of the distribution whose weights go as 1 / (shift + distance)."""
    weight = logs = 0.0
    for distance, count in sample:
        weight += count / (shift + distance)
        logs += count * math.log(shift + distance)
    return 2 * (logs + size * math.log(weight / size)), (size - shift * weight) / weight


def _shift(sample: _Sample, size: int, loss: float) -> float:
    """The shift whose weights lose ``loss``: far away nothing is lost, at the end of the range more than that."""
    from scipy.optimize import brentq  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    above = math.log(sample[-1][0] * (2 + 2 * math.sqrt(size / loss)))
    below = above - 2.0
    while _tilted(sample, size, math.exp(below))[0] <= loss:
        if below < _NEAREST:
            return math.exp(below)
        above, below = below, below - 2 * (above - below)
    found = brentq(lambda log_shift: _tilted(sample, size, math.exp(log_shift))[0] - loss, below, above, xtol=1e-9)  # pyright: ignore
    return math.exp(float(found))  # pyright: ignore[reportUnknownArgumentType, reportArgumentType]


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
