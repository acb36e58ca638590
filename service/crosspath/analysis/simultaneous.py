"""Estimates whose intervals hold together: with 95 % confidence none of them misses.

**Intervals** by Bonferroni: each at alpha / m (Dunn 1961, Multiple comparisons among means, JASA 56). It asks nothing of how the
estimates depend on each other; these do, because a matched gap is the sum of damage and compensation, and candidates share tasks.
The greatest of correlated t statistics (max-t) would be 3 to 4 % narrower for 4 to 24 effects over 14 to 28 families.
**p-values** by Holm (1979, A simple sequentially rejective multiple test procedure, Scand. J. Statist. 6), which never rejects
less than Bonferroni. The two may disagree where a p-value is near 5 %, because they are different tests.
"""

from collections.abc import Sequence

from crosspath.analysis.effects import Contrast
from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.stats import ALPHA
from crosspath.types import Estimate


def jointly(contrasts: Sequence[Contrast], alone: Sequence[Estimate]) -> list[Estimate]:
    """The effects on the task population with intervals that hold together, in the order given.

    ``alone``: each effect by itself (``effects.population``). Only those count that have an interval: two families at least.
    """
    number = sum(estimate.low is not None for estimate in alone)
    if number < 2:
        return list(alone)
    adjusted = iter(holm([estimate.p_value for estimate in alone if estimate.p_value is not None]))
    return [
        _widened(contrast, estimate, next(adjusted), number) if estimate.p_value is not None else estimate
        for contrast, estimate in zip(contrasts, alone, strict=True)
    ]


def _widened(contrast: Contrast, estimate: Estimate, p_value: float, number: int) -> Estimate:
    low, high, method = family_interval(contrast.by_family, -1, 1, ALPHA / number)
    words = f"{method}; Bonferroni over {number}; sign-flip p over families, adjusted by Holm"
    return estimate.model_copy(update={"low": low, "high": high, "p_value": p_value, "method": words})


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given: an effect with one of at most 5 % differs, with 5 % risk over all of them.

    Not by statsmodels' ``multipletests``, which collects all garbage at each call: seconds where many replays are in memory.
    """
    adjusted, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = largest
    return adjusted
