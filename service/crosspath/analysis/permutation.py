"""An exact test that one item of each group is better than its like: which one is marked is permuted within the groups.

It asks nothing of how outcomes are distributed, so it holds where the t interval does not: near 0 and 100 %, where differences
are few and lopsided.
"""

import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

_EXACT_SUMS = 100_000
"""Markings are enumerated exactly as long as there are at most this many different sums."""
_RANDOM_MARKINGS = 10_000

Group = Sequence[Fraction]
"""The marked item first, then at least one like it."""


def marked_is_better_p(families: Sequence[Sequence[Group]]) -> float | None:
    """One-sided p of: in each group any item is as likely as the others to be the marked one (Fisher's randomisation test).

    The statistic is the mean over families of the mean over their groups of (marked - mean of the others). All markings are
    counted exactly by adding up integers; where more than 100,000 different sums arise, 10,000 are drawn with a fixed seed and
    p = (1 + hits) / (1 + draws). None where there is no group.
    """
    groups = [(group, len(family)) for family in families for group in family]
    if not groups:
        return None
    changes = [[change / size for change in _changes(group)] for group, size in groups]
    scale = math.lcm(*(change.denominator for one in changes for change in one))
    observed = sum(int(one[0] * scale) for one in changes)
    moving = sorted(sorted(int(change * scale) for change in one) for one in changes if any(one))  # in one order: draws repeat
    exact = _exact(moving, observed)
    return _drawn(moving, observed) if exact is None else exact


def _changes(group: Group) -> list[Fraction]:
    """What each item would contribute as the marked one: nothing where all are equal."""
    total = sum(group, Fraction(0))
    return [item - (total - item) / (len(group) - 1) for item in group]


def _exact(moving: Sequence[Sequence[int]], observed: int) -> float | None:
    sums: Counter[int] = Counter({0: 1})
    for group in moving:
        ways, added = Counter(group), Counter[int]()
        for total, count in sums.items():
            for change, times in ways.items():
                added[total + change] += count * times
        if len(added) > _EXACT_SUMS:
            return None
        sums = added
    hits = sum(count for total, count in sums.items() if total >= observed)
    return float(Fraction(hits, math.prod(len(group) for group in moving)))


def _drawn(moving: Sequence[Sequence[int]], observed: int) -> float:
    draws = random.Random(0)
    hits = sum(sum(draws.choice(group) for group in moving) >= observed for _ in range(_RANDOM_MARKINGS))
    return (1 + hits) / (1 + _RANDOM_MARKINGS)
