"""Rankings of models before and after a path, from counts of passed tasks.

Tau-a and tau-b are given side by side, because they differ as soon as two models tie; published figures and libraries don't agree
on which one they mean.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations


@dataclass(frozen=True)
class RankRow:
    """One model's passed tasks in two cells, of the same number of tasks for every model."""

    name: str
    first: int
    second: int


@dataclass(frozen=True)
class Reversal:
    """Two models whose order changes. ``unambiguous``: by more than one task on both sides."""

    a: str
    b: str
    unambiguous: bool


@dataclass(frozen=True)
class Rankings:
    """How two rankings of the same models agree. A pair is comparable when neither cell ties it.

    ``tau_a``, ``tau_b``: None for fewer than two models, ``tau_b`` also where one ranking ties all of them.
    """

    models: int
    comparable_pairs: int
    reversals: tuple[Reversal, ...]
    tau_a: float | None
    tau_b: float | None

    @property
    def unambiguous(self) -> int:
        return sum(reversal.unambiguous for reversal in self.reversals)


def rank(rows: Sequence[RankRow]) -> Rankings:
    """Agreement of the two rankings.

    Kendall (1938): tau-a = (C - D) / (n (n-1) / 2). Kendall (1945): tau-b = (C - D) / sqrt((P - T1) (P - T2)), where P is the
    number of pairs and T1, T2 count the pairs that tie in the first and in the second cell.
    """
    pairs = [(a, b, a.first - b.first, a.second - b.second) for a, b in combinations(rows, 2)]
    reversals = tuple(
        Reversal(a.name, b.name, min(abs(first), abs(second)) > 1) for a, b, first, second in pairs if first * second < 0
    )
    comparable = sum(first * second != 0 for _, _, first, second in pairs)
    surplus = comparable - 2 * len(reversals)
    untied = [sum(pair[side] != 0 for pair in pairs) for side in (2, 3)]
    return Rankings(
        models=len(rows),
        comparable_pairs=comparable,
        reversals=reversals,
        tau_a=surplus / len(pairs) if pairs else None,
        tau_b=surplus / math.sqrt(untied[0] * untied[1]) if all(untied) else None,
    )
