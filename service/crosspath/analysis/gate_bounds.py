"""A one-sided test, and its bound, for the mean of a population of bounded values, of which a sample is there.

A gate asks one thing of each rule: whether a mean is above (below) a number, with a stated risk of saying so wrongly. The
two-sided intervals of reports are no good answer to that: where a path is broken in a few families that the sample happens not
to hold, all families that are seen look fine, and a one-sided end at 5 % misses far too often (``docs/gate-statistics.md``).

So a gate uses Gaffke's test (2005, Three test statistics for a nonparametric one-sided hypothesis on the mean of a nonnegative
variable, Mathematical Methods of Statistics 14; as a confidence bound: Learned-Miller and Thomas 2019, arXiv:1905.06208). With
values x_1..x_n of at least ``lowest``, and E_0..E_n independent and exponential,

    p = P( E_0 (lowest - m) + sum of E_i (x_i - m)  <=  0 )

is the chance that a random reweighting of the sample, and of one unseen value at the worst end of the range, has a mean of m or
less. It knows nothing of the shape of the population. Where all values are at two ends of the range it *is* the exact binomial
test (and its bound the one of Clopper and Pearson 1934), so unseen families are allowed for exactly as far as they have to be;
where many values vary it comes close to the t test. That it holds for every bounded population is proved for two values, and a
conjecture otherwise; ``benchmarks/gate_errors.py`` tries to refute it.

Values that are independent but not alike (trials of different tasks) make it hold all the more, as for sums of unequal Bernoulli
trials (Hoeffding 1956, On the distribution of the number of successes in independent trials).
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

_EXACT_STEPS = 4_000
"""Up to so many steps the chance is computed exactly; beyond that by a saddlepoint, which then errs by less than 1 % of it."""
_BISECTIONS = 40


@dataclass(frozen=True)
class Sample:
    """Independent values, from ``lowest`` to ``highest``."""

    counts: Mapping[float, float]
    """Value -> how many have it, in ascending order."""
    lowest: float
    highest: float

    @classmethod
    def of(cls, values: Iterable[float], lowest: float, highest: float) -> "Sample":
        """The order of ``values`` plays no part."""
        counts = Counter(float(value) for value in values)
        return cls({value: counts[value] for value in sorted(counts)}, lowest, highest)

    @cached_property
    def size(self) -> float:
        return sum(self.counts.values())

    @cached_property
    def mean(self) -> float:
        return math.fsum(value * count for value, count in self.counts.items()) / self.size

    @cached_property
    def mirrored(self) -> "Sample":
        """The values with their sign turned."""
        return Sample({-value: count for value, count in reversed([*self.counts.items()])}, -self.highest, -self.lowest)

    def grown(self, factor: float) -> "Sample":
        """As if there were so many times the values, spread in the same way."""
        return Sample({value: factor * count for value, count in self.counts.items()}, self.lowest, self.highest)

    def drawn_in(self, factor: float) -> "Sample":
        """As if the values were spread around their mean by so much less."""
        counts: dict[float, float] = {}
        for value, count in self.counts.items():
            near = self.mean + factor * (value - self.mean)
            counts[near] = counts.get(near, 0) + count
        return Sample(counts, self.lowest, self.highest)

    def p_not_above(self, threshold: float) -> float:
        """Of the hypothesis that the population's mean is ``threshold`` or less."""
        if not self.counts or threshold >= self.highest:
            return 1.0
        if threshold <= self.lowest:
            return 0.0
        above = {value - threshold: count for value, count in self.counts.items() if value > threshold}
        below = {threshold - value: count for value, count in self.counts.items() if value < threshold}
        below[threshold - self.lowest] = below.get(threshold - self.lowest, 0) + 1
        return chance_of_at_most(above, below) if above else 1.0

    def p_not_below(self, threshold: float) -> float:
        """Of the hypothesis that the population's mean is ``threshold`` or more."""
        return self.mirrored.p_not_above(-threshold)

    def low(self, alpha: float) -> float:
        """The lower one-sided end: the population's mean is below it with a chance of at most ``alpha``."""
        bottom, top = float(self.lowest), float(self.highest)
        for _ in range(_BISECTIONS):
            middle = (bottom + top) / 2
            bottom, top = (middle, top) if self.p_not_above(middle) <= alpha else (bottom, middle)
        return bottom

    def high(self, alpha: float) -> float:
        """The upper one-sided end."""
        return -self.mirrored.low(alpha)


def chance_of_at_most(above: Mapping[float, float], below: Mapping[float, float]) -> float:
    """The chance that the first of two sums of weighted exponential variables is at most the second; weight -> how many."""
    if len(above) == len(below) == 1:
        from scipy.special import betainc  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

        ((weight, count),), ((other, against),) = above.items(), below.items()
        return float(betainc(count, against, other / (weight + other)))  # pyright: ignore[reportUnknownArgumentType]
    sizes = [*above.values(), *below.values()]
    if all(size == int(size) for size in sizes) and sum(above.values()) * sum(below.values()) <= _EXACT_STEPS:
        return _exactly(above, below)
    return _by_saddlepoint({**above, **{-weight: count for weight, count in below.items()}})


def _exactly(above: Mapping[float, float], below: Mapping[float, float]) -> float:
    """By running both sums against each other: the part that does not end first starts anew, because it has no memory.

    ``chances[j]``: that the first sum ends first with j parts of the second left, for a growing number of parts of the first.
    """
    first, second = ([weight for weight in sorted(side) for _ in range(int(side[weight]))] for side in (above, below))
    chances = [0.0, *(1.0 for _ in second)]
    for weight in first:
        before = chances
        chances = [0.0]
        for place, other in enumerate(second):
            ends_first = other / (weight + other)
            chances.append(ends_first * before[place + 1] + (1 - ends_first) * chances[place])
    return chances[-1]


def _by_saddlepoint(weights: Mapping[float, float]) -> float:
    """Lugannani and Rice (1980): that the sum of gamma variables with these weights is at most 0."""
    shift = _saddlepoint(weights)
    second = math.fsum(n * (w / (1 - w * shift)) ** 2 for w, n in weights.items())
    root = math.copysign(math.sqrt(max(0.0, 2 * math.fsum(n * math.log1p(-w * shift) for w, n in weights.items()))), shift)
    if abs(root) < 1e-4:
        third = 2 * math.fsum(n * w**3 for w, n in weights.items())
        return 0.5 + third / (6 * math.sqrt(2 * math.pi) * second**1.5)
    slope = shift * math.sqrt(second)
    density = math.exp(-(root**2) / 2) / math.sqrt(2 * math.pi)
    return min(1.0, max(0.0, math.erfc(-root / math.sqrt(2)) / 2 + density * (1 / root - 1 / slope)))


def _saddlepoint(weights: Mapping[float, float]) -> float:
    """Where the derivative of the cumulant function is 0; it rises from one end of its range to the other."""
    low, high = 1 / min(weights), 1 / max(weights)
    for _ in range(100):
        middle = (low + high) / 2
        rising = math.fsum(n * w / (1 - w * middle) for w, n in weights.items()) > 0
        low, high = (low, middle) if rising else (middle, high)
    return (low + high) / 2
