"""Whether many means over families are zero, all at once: the p-values that belong to the intervals of ``family_intervals``.

A mean is told from zero where both methods of that interval do, so each p-value is the larger of two: Student's t with G - 1
degrees, and bounded empirical likelihood (Owen 1988; see ``family_intervals``) with the same calibration: a loss L of likelihood
stands for t^2 = (G - 1) (exp(L (G - 1) / G^2) - 1). Where all families that differ do so in one direction, the likelihood leaves
no room for zero as soon as the one-sided sign test finds that. Where all families tie the exact bound is turned around: with
c = 1 / (1 + size of the mean), p = c^G + (1 - c)^G.
"""

import numpy as np

from crosspath.analysis.shared_tasks import NOTHING, Numbers

_HALVINGS = 60
_FAR = 230.0
"""Natural logarithm of 1e100."""


def p_values(differences: Numbers) -> Numbers:
    """Two-sided p of each column of ``differences``: families (two at least) x ..., each from -1 to 1."""
    families = len(differences)
    flat = differences.reshape(families, -1)
    mean = flat.mean(axis=0)
    towards_zero = flat * np.where(mean < 0, -1.0, 1.0)
    likelihood = _of_likelihood(1 + towards_zero)
    one_sided = np.where((towards_zero > -NOTHING).all(axis=0), 0.5 ** (np.abs(flat) > NOTHING).sum(axis=0), 1.0)
    p, tied = _student(flat)
    return np.where(tied, p, np.maximum(p, np.minimum(likelihood, one_sided))).reshape(differences.shape[1:])


def student_p_values(differences: Numbers) -> Numbers:
    """The same by Student's t alone; the exact bound where all families tie."""
    return _student(differences.reshape(len(differences), -1))[0].reshape(differences.shape[1:])


def _student(flat: Numbers) -> tuple[Numbers, Numbers]:
    """p of each column, and where all families tie."""
    families = len(flat)
    size, spread = np.abs(flat.mean(axis=0)), flat.std(axis=0, ddof=1)
    tied = spread < NOTHING
    share = 1 / (1 + np.minimum(size, 1))
    bound = np.minimum(1, share**families + (1 - share) ** families)
    return np.where(tied, bound, _of_t(size * np.sqrt(families) / np.where(tied, 1.0, spread), families)), tied


def _of_t(t: Numbers, families: int) -> Numbers:
    from scipy.special import stdtr  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    return 2 * np.asarray(stdtr(families - 1, -t))


def _of_likelihood(distances: Numbers) -> Numbers:
    """p that each column has a mean of 1, which is at most the observed one; ``distances`` are from the end of the range at 0.

    Weights of the least favourable distribution go as 1 / (shift + distance); where even shift 0 leaves the mean above 1, a mass
    at 0 takes the rest.
    """
    families = len(distances)
    low, high = np.full(distances.shape[1], -_FAR), np.full(distances.shape[1], _FAR)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        above = _tilted(distances, np.exp(middle))[1] > 1
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    loss, mean = _tilted(distances, np.exp(low))
    loss = loss - 2 * families * np.log(np.minimum(1, 1 / np.maximum(mean, 1e-300)))
    return _of_t(np.sqrt((families - 1) * np.expm1(np.maximum(loss, 0) * (families - 1) / families**2)), families)


def _tilted(distances: Numbers, shift: Numbers) -> tuple[Numbers, Numbers]:
    """Loss of likelihood (-2 log R) and mean of the distribution whose weights go as 1 / (shift + distance)."""
    families = len(distances)
    moved = np.maximum(shift + distances, 1e-300)
    weight = (1 / moved).sum(axis=0)
    return 2 * (np.log(moved).sum(axis=0) + families * np.log(weight / families)), (families - shift * weight) / weight
