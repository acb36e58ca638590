"""Which models can be told apart in an arrangement, and whose order is sure to be kept or reversed in another one.

Each pair by its mean over families (``mean_tests``), two-sided, adjusted over all pairs by Holm (1979, A simple sequentially
rejective multiple test procedure, Scand. J. Statist. 6).
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from crosspath.analysis.mean_tests import p_values
from crosspath.analysis.shared_tasks import Numbers, SharedTasks
from crosspath.analysis.stats import ALPHA
from crosspath.types import Sureness


def pair_p_values(shared: SharedTasks) -> Numbers | None:
    """2 x pairs, not adjusted; None for fewer than two families."""
    return p_values(shared.differences) if shared.families > 1 else None


def sure(order: Numbers, p: Numbers | None) -> list[Sureness | None]:
    """Per pair whether its order is kept or reversed, where that is sure with 95 % confidence over all pairs together.

    ``order``: 2 x pairs of signs. The larger p of both arrangements counts: a claim is false only where one of them errs in its
    sign (Berger 1982, Multiparameter hypothesis testing and acceptance sampling, Technometrics 24).
    """
    if p is None:
        return [None] * order.shape[1]
    adjusted = holm_adjusted(p.max(axis=0))
    same = (order.prod(axis=0) > 0).tolist()
    return [("kept" if kept else "reversed") if value <= ALPHA else None for kept, value in zip(same, adjusted, strict=True)]


def tied_sets(shared: SharedTasks, side: int, p: Numbers | None) -> tuple[tuple[str, ...], ...]:
    """Groups of models that can't be told apart on one side, best first; every two models that can't are in one group together.

    Where tests can tell nothing (fewer than two families) all models are in one group. Groups by insertion and absorption
    (Piepho 2004, An algorithm for a letter-based representation of all-pairwise comparisons, J. Comput. Graph. Statist. 13).
    """
    count = len(shared.models)
    adjusted = [1.0] * (count * (count - 1) // 2) if p is None else holm_adjusted(p[side])
    apart = [pair for pair, value in zip(combinations(range(count), 2), adjusted, strict=True) if value <= ALPHA]
    order = sorted(range(count), key=lambda model: (-sum(shared.rates[model][side]), model))
    place = {model: rank for rank, model in enumerate(order)}
    groups = [sorted(group, key=place.__getitem__) for group in _groups(count, apart) if len(group) > 1]
    return tuple(tuple(shared.models[model] for model in group) for group in sorted(groups, key=lambda g: [place[m] for m in g]))


def holm_adjusted(p: Numbers) -> list[float]:
    """Adjusted p-values, in the order given. Not by statsmodels, which collects garbage at each call: seconds on a large heap."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted.tolist()


def _groups(count: int, apart: Sequence[tuple[int, int]]) -> list[frozenset[int]]:
    groups = [frozenset(range(count))]
    for one, other in apart:
        split = [part for group in groups for part in ([group - {one}, group - {other}] if {one, other} <= group else [group])]
        groups = [group for group in dict.fromkeys(split) if not any(group < larger for larger in split)]
    return groups
