"""How much of the difference between two cells each changed axis explains, from the cells that lie between them.

A cell is a point: for each axis in which the two ends differ it has the value of the first or of the second. A walk from the
first to the second goes through cells and changes one axis after the other; what a step changes in the pass rate is that axis'
effect in this order. Where there are several orders, an axis explains the mean over them: its Shapley value (Shapley 1953, A
value for n-person games) where there are all. Axes that no cell separates take one step together: they are confounded. Every walk
ends where it has to, so the parts add up to the whole difference, on the tasks that count in every cell that is used.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from crosspath.analysis.effects import Families
from crosspath.analysis.family_intervals import family_interval
from crosspath.analysis.outcomes import Outcomes, arrange, average, family_means, task_means
from crosspath.analysis.stats import sign_flip_p
from crosspath.types import CellRow, Estimate

Axes = frozenset[str]
_Partition = tuple[tuple[str, ...], ...]
MOST_PARTITIONS = 500
"""So many ways to bundle axes are looked at for one cell; those that come first in the alphabet."""


@dataclass(frozen=True)
class Point:
    """A cell between the two ends."""

    changed: Axes
    """The axes that have the value of the second end."""
    rows: Sequence[CellRow]
    replies: str
    """Equal for cells that replay the same replies."""
    label: str


@dataclass(frozen=True)
class Walked:
    """One step of a walk."""

    before: Point
    after: Point
    weight: Fraction
    """Share of the orders that take it."""
    value: Fraction

    @property
    def same_replies(self) -> bool:
        return self.before.replies == self.after.replies


@dataclass(frozen=True)
class Share:
    """What some axes explain together; most often it is one."""

    axes: tuple[str, ...]
    estimate: Estimate
    value: Fraction
    """``estimate.value``, exactly."""
    these_tasks: Fraction
    walked: tuple[Walked, ...]


@dataclass(frozen=True)
class Attribution:
    """The difference, taken apart."""

    shares: tuple[Share, ...]
    total: Fraction
    """What the shares add up to: last - first, family means averaged."""
    tasks: int
    orders: int
    every_order: bool


def attribute(axes: Sequence[str], points: Sequence[Point]) -> Attribution | None:
    """The shares of ``axes``, in their order, from ``points``: one per set of changed axes, both ends among them.

    None where no task counts in all cells that are used.

    Raises:
        ValueError: an end is missing, or two points are the same.
    """
    cells = {point.changed: point for point in points}
    if len(cells) != len(points) or not {frozenset[str](), frozenset(axes)} <= cells.keys():
        raise ValueError("each point once, and both ends")
    blocks = _blocks(frozenset(axes), cells.keys())
    lattice = _Lattice(blocks, cells)
    values = _values([cells[place] for place in lattice.places])
    if not values.tasks:
        return None
    ordered = sorted(blocks, key=lambda block: axes.index(min(block, key=axes.index)))
    shares = tuple(_share(tuple(sorted(block, key=axes.index)), lattice.edges(block), values) for block in ordered)
    last, first = values.means[frozenset(axes)], values.means[frozenset()]
    total = values.weighed({task: last[task] - first[task] for task in values.tasks})
    complete = all(len(block) == 1 for block in blocks) and lattice.orders == math.factorial(len(blocks))
    return Attribution(shares, total, len(values.tasks), lattice.orders, complete)


def _share(axes: tuple[str, ...], edges: Sequence[tuple[Point, Point, Fraction]], values: "_Values") -> Share:
    steps = [values.step(before, after) for before, after, _ in edges]
    walked = tuple(Walked(*edge, values.weighed(step)) for edge, step in zip(edges, steps, strict=True))
    weighted = [(weight, step) for (_, _, weight), step in zip(edges, steps, strict=True)]
    mean = {task: sum((weight * step[task] for weight, step in weighted), Fraction(0)) for task in values.tasks}
    families = family_means(mean, values.families)
    interval = family_interval(families, -1, 1)
    estimate = Estimate(
        value=float(values.weighed(mean)), low=interval.low, high=interval.high, n=len(values.tasks),
        estimand="task_population", method=f"{interval.method}; n counts tasks", p_value=sign_flip_p(families),
    )  # fmt: skip
    return Share(axes, estimate, values.weighed(mean), average(mean, None), walked)


# -- which axes can be told apart ------------------------------------------------------------------------------------------


def _blocks(end: Axes, places: Iterable[Axes]) -> tuple[Axes, ...]:
    """The steps of a walk with as many steps as there can be. Of several bundles the first one in the alphabet: so the way back
    has the same."""
    found: dict[Axes, set[_Partition]] = {frozenset(): {()}}
    for place in sorted(set(places) - {frozenset()}, key=lambda one: (len(one), sorted(one))):
        longest: set[_Partition] = set()
        for below, partitions in found.items():
            if below < place:
                longest |= {tuple(sorted((*partition, tuple(sorted(place - below))))) for partition in partitions}
        most = max(map(len, longest))
        found[place] = set(sorted(one for one in longest if len(one) == most)[:MOST_PARTITIONS])
    return tuple(frozenset(block) for block in min(found[end]))


class _Lattice:
    """The cells that change whole blocks, and how many walks from end to end go through each step from one to the next."""

    def __init__(self, blocks: Sequence[Axes], cells: Mapping[Axes, Point]) -> None:
        self._blocks = blocks
        self._cells = cells
        self._end = frozenset[str]().union(*blocks)
        self._up = self._walks(frozenset(), lambda place, block: place | block if not place & block else None)
        self._down = self._walks(self._end, lambda place, block: place - block if block <= place else None)

    def _walks(self, start: Axes, step: Callable[[Axes, Axes], Axes | None]) -> dict[Axes, int]:
        """Cell -> in how many ways it is reached from ``start``, a block at a time."""
        counts, level = {start: 1}, {start: 1}
        while level:
            reached: dict[Axes, int] = {}
            for place, ways in level.items():
                for block in self._blocks:
                    other = step(place, block)
                    if other is not None and other in self._cells:
                        reached[other] = reached.get(other, 0) + ways
            counts |= reached
            level = reached
        return counts

    @cached_property
    def places(self) -> tuple[Axes, ...]:
        """Those on a walk from end to end."""
        return tuple(place for place in self._up if place in self._down)

    @property
    def orders(self) -> int:
        return self._up[self._end]

    def edges(self, block: Axes) -> list[tuple[Point, Point, Fraction]]:
        """Every step that changes ``block``, with the share of the walks that take it."""
        return [
            (self._cells[place], self._cells[place | block], Fraction(self._up[place] * self._down[place | block], self.orders))
            for place in self.places
            if not place & block and place | block in self.places
        ]


# -- rates on the tasks that all have --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Values:
    """Rates of all cells on the common tasks."""

    means: Mapping[Axes, Mapping[str, Fraction]]
    families: Families
    tasks: tuple[str, ...]

    def step(self, before: Point, after: Point) -> dict[str, Fraction]:
        first, second = self.means[before.changed], self.means[after.changed]
        return {task: second[task] - first[task] for task in self.tasks}

    def weighed(self, tasks: Mapping[str, Fraction]) -> Fraction:
        """The mean of family means."""
        return average(tasks, self.families)


def _values(points: Sequence[Point]) -> _Values:
    """Cells with the same replies are compared reply by reply, the others by the means of each task."""
    outcomes = {point.changed: arrange(point.rows) for point in points}
    common = set[str].intersection(*(set(one.trials) for one in outcomes.values()))
    picked = {point.changed: _counting(point, points, outcomes, common) for point in points}
    tasks = tuple(sorted(task for task in common if all(one[task] for one in picked.values())))
    means = {place: task_means(outcomes[place].picked({task: one[task] for task in tasks})) for place, one in picked.items()}
    families = {task: family for one in outcomes.values() for task, family in one.families.items()}
    return _Values(means, families, tasks)


def _counting(
    point: Point, points: Sequence[Point], outcomes: Mapping[Axes, Outcomes], tasks: Iterable[str]
) -> dict[str, frozenset[int]]:
    """Task -> the trials whose reply counts in every cell that replays it."""
    alike = [outcomes[other.changed] for other in points if other.replies == point.replies]
    return {task: frozenset[int].intersection(*(one.counting(task) for one in alike)) for task in tasks}
