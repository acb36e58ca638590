"""Two configurations beside each other: what differs, whether they can be compared, and what each difference is worth.

All values are differences of shares (-1 to 1), ``b`` - ``a``.
"""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.results import Comparison, Estimate

Axis = Literal[
    "model", "served model", "contract", "transport", "operating point", "harness", "request style", "validator", "tools",
    "tasks", "reference", "toolchain", "packages", "names and code",
]  # fmt: skip
Comparability = Literal["comparable", "not_enough_evidence", "not_comparable"]


class FieldDifference(Record):
    """One field of the configuration in which the two differ."""

    axis: Axis
    field: str
    a: str
    b: str
    inert: bool = False
    """It can't affect a reply or a replay."""
    why: str = ""
    """Why it can't; or how the comparison deals with it."""


class ComparedSide(Record):
    """One side, and the cell that it is as deployed."""

    evaluation: str
    candidate: str
    cell: str
    label: str
    """What it is called beside the other one."""


class IdentifiedEffect(Record):
    """An effect that the cells of one side give."""

    side: str
    effect: str
    cells: str
    """``RN - RR``."""
    estimate: Estimate
    """For the population of task families."""


class PartStep(Record):
    """One step from a cell to another one that differs in the part's axes only."""

    before: str
    after: str
    value: float
    same_replies: bool


class Part(Record):
    """What one axis explains of the difference; or several that no cell separates."""

    axes: tuple[Axis, ...] = Field(min_length=1)
    estimate: Estimate
    """Mean over the orders in which the axes can be changed, family means averaged; all parts add up to ``explained``."""
    these_tasks: float
    """The same as a mean over exactly these tasks; with ``same_replies`` it has no sampling error."""
    same_replies: bool
    """Every step compares the same replies."""
    least: float
    """Over the orders: the smallest value of ``estimate``, and the largest."""
    most: float
    steps: tuple[PartStep, ...]

    @property
    def confounded(self) -> bool:
        return len(self.axes) > 1


class Explanation(Record):
    """``b`` beside ``a``."""

    a: ComparedSide
    b: ComparedSide
    differences: tuple[FieldDifference, ...]
    status: Comparability
    reasons: tuple[str, ...] = ()
    """Why they are not comparable, or why the evidence is not enough."""
    tasks: tuple[str, ...] = ()
    """Ids of the tasks that both have with the same digest and that can be done: these are compared."""
    only_a: int = 0
    """Tasks of ``a`` alone."""
    only_b: int = 0
    changed_tasks: tuple[str, ...] = ()
    """Tasks of the same id whose digests differ: other tasks."""
    comparison: Comparison | None = None
    """As deployed, paired by task; None where they are not comparable."""
    effects: tuple[IdentifiedEffect, ...] = ()
    unidentified: tuple[str, ...] = ()
    """Sentences: which effects no cell gives, and why."""
    parts: tuple[Part, ...] = ()
    explained: float | None = None
    """``b`` - ``a`` over ``explained_tasks``: what the parts add up to."""
    explained_tasks: int = 0
    """Tasks with a verdict in every cell on the way."""
    orders: int = 0
    """In how many orders the cells allow the axes to be changed."""
    every_order: bool = False
    """All orders there are, so that each mean is a Shapley value."""
    left_out: tuple[str, ...] = ()
    """Cells that could have been on the way, and why they are not."""
    next_steps: tuple[str, ...] = ()
    """What to run to separate what is confounded, or to make the two comparable."""

    def __str__(self) -> str:
        """A few lines for a person: whether they are comparable, the difference, and what each axis explains of it."""
        lines = [f"{self.status.replace('_', ' ')}{': ' if self.reasons else ''}{'; '.join(self.reasons)}"]
        if self.comparison:
            lines.append(str(self.comparison))
        lines += [f"{' with '.join(part.axes)}: {_points(part)}" for part in self.parts]
        return "\n".join([*lines, *self.next_steps])

    __repr__ = __str__


def _points(part: Part) -> str:
    value = part.estimate.value or 0.0
    varies = f", {100 * part.least:+.1f} to {100 * part.most:+.1f} over the orders" if part.least != part.most else ""
    return f"{100 * value:+.1f} points{varies}{' (confounded)' if part.confounded else ''}"
