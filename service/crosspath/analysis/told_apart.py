"""Which models can be told apart in an arrangement, and whose order is sure to be kept or reversed in another one.

Each pair by its mean over families, two-sided: the 95 % interval of its difference has to leave out zero (``mean_tests``), and
its p by Student's t has to be at most 5 % when adjusted over all pairs by Holm (1979, A simple sequentially rejective multiple
test procedure, Scand. J. Statist. 6). With fewer than 14 families the interval's own p is adjusted, too: else up to 10 % of
evaluations of many models make a false claim where few families decide. To adjust it always would leave little to say about many
models, because it allows anew for families that nobody has seen with each pair.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from crosspath.analysis.mean_tests import p_values, student_p_values
from crosspath.analysis.shared_tasks import Numbers, SharedTasks
from crosspath.analysis.stats import ALPHA
from crosspath.types import Sureness

ENOUGH = 14
"""From so many families on Student's t alone is adjusted over pairs."""


@dataclass(frozen=True)
class PairTests:
    """p-values of each pair in both arrangements (2 x pairs), not adjusted: of the interval, and of t alone."""

    interval: Numbers
    student: Numbers
    families: int

    @classmethod
    def of(cls, differences: Numbers) -> "PairTests | None":
        """``differences``: families x 2 x pairs; None for fewer than two families."""
        if len(differences) < 2:
            return None
        return cls(p_values(differences), student_p_values(differences), len(differences))

    def apart(self, side: int) -> list[bool]:
        """Per pair whether the two models are told apart on one side, with 95 % confidence over all pairs together."""
        return self._apart(self.interval[side], self.student[side])

    def apart_on_both(self) -> list[bool]:
        """The same for both sides at once: the larger p counts (Berger 1982, Multiparameter hypothesis testing and acceptance
        sampling, Technometrics 24), so that a claim about a pair is false only where one side errs in its sign."""
        return self._apart(self.interval.max(axis=0), self.student.max(axis=0))

    def _apart(self, interval: Numbers, student: Numbers) -> list[bool]:
        if self.families < ENOUGH:
            return (_holm(interval) <= ALPHA).tolist()
        return (np.maximum(interval, _holm(student)) <= ALPHA).tolist()


def sure(order: Numbers, tests: PairTests | None) -> list[Sureness | None]:
    """Per pair whether its order is kept or reversed, where that is sure with 95 % confidence over all pairs together.

    ``order``: 2 x pairs of signs.
    """
    if tests is None:
        return [None] * order.shape[1]
    same = (order.prod(axis=0) > 0).tolist()
    return [("kept" if kept else "reversed") if apart else None for kept, apart in zip(same, tests.apart_on_both(), strict=True)]


def tied_sets(shared: SharedTasks, side: int, tests: PairTests | None) -> tuple[tuple[str, ...], ...]:
    """Groups of models that can't be told apart on one side, best first; every two models that can't are in one group together.

    Where tests can tell nothing (fewer than two families) all models are in one group. Groups by insertion and absorption
    (Piepho 2004, An algorithm for a letter-based representation of all-pairwise comparisons, J. Comput. Graph. Statist. 13).
    """
    count = len(shared.models)
    told = tests.apart(side) if tests else [False] * (count * (count - 1) // 2)
    apart = [pair for pair, is_apart in zip(combinations(range(count), 2), told, strict=True) if is_apart]
    order = sorted(range(count), key=lambda model: (-sum(shared.rates[model][side]), model))
    place = {model: rank for rank, model in enumerate(order)}
    groups = [sorted(group, key=place.__getitem__) for group in _groups(count, apart) if len(group) > 1]
    return tuple(tuple(shared.models[model] for model in group) for group in sorted(groups, key=lambda g: [place[m] for m in g]))


def _holm(p: Numbers) -> Numbers:
    """Adjusted p-values, in the order given. Not by statsmodels, which collects garbage at each call: seconds on a large heap."""
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return adjusted


def _groups(count: int, apart: Sequence[tuple[int, int]]) -> list[frozenset[int]]:
    groups = [frozenset(range(count))]
    for one, other in apart:
        split = [part for group in groups for part in ([group - {one}, group - {other}] if {one, other} <= group else [group])]
        groups = [group for group in dict.fromkeys(split) if not any(group < larger for larger in split)]
    return groups
