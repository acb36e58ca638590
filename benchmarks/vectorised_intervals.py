"""The product's intervals over many samples at once, and plain Student's t beside them. ``interval_coverage.py`` checks them."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv, ndtri, stdtrit

from crosspath.analysis.family_intervals import likelihood_loss, tie_share

Numbers = NDArray[np.float64]
_HALVINGS = 34
_SMALL = 1e-12


class Ends(NamedTuple):
    """Lower and upper ends, one per sample."""

    low: Numbers
    high: Numbers

    def covers(self, truth: float | Numbers) -> Numbers:
        return (self.low <= truth + 1e-9) & (truth - 1e-9 <= self.high)

    @property
    def width(self) -> Numbers:
        return self.high - self.low


def _tied(x: Numbers, lowest: int, highest: int, alpha: float, ends: Ends) -> Ends:
    different, centre, tied = 1 - tie_share(x.shape[1], alpha), x.mean(axis=1), np.ptp(x, axis=1) < _SMALL
    low = np.where(tied, centre - different * (centre - lowest), ends.low)
    high = np.where(tied, centre + different * (highest - centre), ends.high)
    return Ends(np.maximum(lowest, low), np.minimum(highest, high))


def plain_t(x: Numbers, lowest: int, highest: int, alpha: float = 0.05) -> Ends:
    """Student's t on family means (samples x families), the exact bound at ties: the product's interval before."""
    groups, centre = x.shape[1], x.mean(axis=1)
    half = stdtrit(groups - 1, 1 - alpha / 2) * x.std(axis=1, ddof=1) / np.sqrt(groups)
    return _tied(x, lowest, highest, alpha, Ends(centre - half, centre + half))


def family_ends(x: Numbers, lowest: int, highest: int, alpha: float = 0.05) -> Ends:
    """``family_interval`` of every row of ``x`` (samples x families)."""
    groups = x.shape[1]
    loss = likelihood_loss(float(stdtrit(groups - 1, 1 - alpha / 2)), groups)
    t = plain_t(x, lowest, highest, alpha)
    signed = 0.5 ** (np.abs(x) > _SMALL).sum(axis=1) <= alpha
    bottom = np.where(signed & (x.min(axis=1) >= -_SMALL), max(lowest, 0), lowest).astype(float)
    top = np.where(signed & (x.max(axis=1) <= _SMALL), min(highest, 0), highest).astype(float)
    low, high = bottom + _least_means(x - bottom[:, None], loss), top - _least_means(top[:, None] - x, loss)
    return _tied(x, lowest, highest, alpha, Ends(np.minimum(t.low, low), np.maximum(t.high, high)))


def _least_means(distances: Numbers, loss: float) -> Numbers:
    """``least_mean`` of every row."""
    distances, size = np.maximum(distances, 0.0), distances.shape[1]

    def tilted(log_shift: Numbers) -> tuple[Numbers, Numbers]:
        inverse = 1 / (np.exp(log_shift)[:, None] + distances)
        weight = inverse.sum(axis=1)
        lost = 2 * (size * np.log(weight / size) - np.log(inverse).sum(axis=1))
        return lost, (inverse * distances).sum(axis=1) / weight

    below, above = np.full(len(distances), -25.0), np.full(len(distances), 5.0)
    nearest, centre = tilted(below)
    for _ in range(_HALVINGS):
        middle = (below + above) / 2
        near = tilted(middle)[0] > loss
        below, above = np.where(near, middle, below), np.where(near, above, middle)
    unseen = -np.expm1(-np.maximum(0.0, loss - nearest) / 2 / size)
    return np.where(nearest <= loss, (1 - unseen) * centre, tilted(above)[1])


def share_ends(passed: Numbers, n: int, alpha: float = 0.05) -> Ends:
    """``share_interval`` of counts of ``n``."""
    if n < 14:
        low, high = betaincinv(passed, n - passed + 1, alpha / 2), betaincinv(passed + 1, n - passed, 1 - alpha / 2)
        return Ends(np.where(passed == 0, 0.0, low), np.where(passed == n, 1.0, high))
    z = ndtri(1 - alpha / 2)
    centre = (passed + z * z / 2) / (n + z * z)
    half = z * np.sqrt(centre * (1 - centre) / (n + z * z))
    return Ends(np.maximum(0.0, centre - half), np.minimum(1.0, centre + half))


def wilson_ends(passed: Numbers, n: int) -> Ends:
    """Wilson's interval, the product's before."""
    z, rate = ndtri(0.975), passed / n
    centre, scale = (rate + z * z / 2 / n) / (1 + z * z / n), z / (1 + z * z / n)
    half = scale * np.sqrt(rate * (1 - rate) / n + z * z / 4 / n / n)
    return Ends(centre - half, centre + half)


def newcombe_ends(first: Numbers, second: Numbers, n: int) -> Ends:
    """Newcombe's interval of the difference of two counts of ``n``, the product's before."""
    one, other = wilson_ends(first, n), wilson_ends(second, n)
    p, q = first / n, second / n
    return Ends(p - q - np.hypot(p - one.low, other.high - q), p - q + np.hypot(one.high - p, q - other.low))


def difference_ends(first: Numbers, second: Numbers, trials: int) -> Ends:
    """``difference_on_these_tasks``: passed trials (samples x tasks) of two generations, of ``trials`` each."""
    tasks = first.shape[1]
    n = tasks * trials
    p, q = (first.sum(axis=1) + 1) / (n + 2), (second.sum(axis=1) + 1) / (n + 2)
    half = ndtri(0.975) * np.sqrt((p * (1 - p) + q * (1 - q)) / (n + 2))
    pooled = Ends(np.maximum(-1.0, p - q - half), np.minimum(1.0, p - q + half))
    if trials == 1:
        return pooled
    means = np.concatenate([first, second], axis=1) / trials
    variances = means * (1 - means) / (trials - 1)
    total = variances.sum(axis=1)
    usable = total > 0
    degrees = np.where(usable, total**2 / np.where(usable, (variances**2).sum(axis=1) / (trials - 1), 1.0), 1.0)
    half = stdtrit(degrees, 0.975) * np.sqrt(total) / tasks
    centre = (first.sum(axis=1) - second.sum(axis=1)) / n
    inside = usable & (2 * half < pooled.width)
    low, high = np.maximum(-1.0, centre - half), np.minimum(1.0, centre + half)
    return Ends(np.where(inside, low, pooled.low), np.where(inside, high, pooled.high))
