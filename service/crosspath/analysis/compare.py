"""Two candidates' matched cells, compared task by task.

Only tasks that count on both sides are compared: what one side lacks can neither help nor harm the other. How many trials were
attempted, and how many of them were observed in both, is part of the estimate.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from crosspath.analysis.effects import Contrast, population
from crosspath.analysis.outcomes import arrange
from crosspath.analysis.simultaneous import jointly
from crosspath.analysis.stats import ALPHA
from crosspath.types import CellRow, Comparison, Estimate


@dataclass(frozen=True)
class Pair:
    """Two candidates, the rows of their matched cells, and the configuration fields in which they differ."""

    a: str
    b: str
    rows_a: Sequence[CellRow]
    rows_b: Sequence[CellRow]
    changed: Sequence[tuple[str, str, str]] = ()


def compare(
    a: str, b: str, rows_a: Sequence[CellRow], rows_b: Sequence[CellRow], changed: Sequence[tuple[str, str, str]] = ()
) -> Comparison:
    """``b`` - ``a`` over the tasks that count in both, for the population of families.

    A candidate never wins by what it lacks: trials that one side is missing give a ``warning`` with the worst and best case.

    Raises:
        ValueError: two rows of one side are the same trial, or the sides disagree about a task's family.
    """
    contrast = _contrast(rows_b, rows_a)
    difference = population(contrast)
    warning = _warning(a, b, difference, contrast.whole_plan(contrast.families))
    return Comparison(a=a, b=b, difference=difference, changed=tuple(changed), warning=warning)


def compare_together(pairs: Sequence[Pair]) -> tuple[Comparison, ...]:
    """Every pair as :func:`compare` does, and with intervals that hold together over all of them.

    Raises:
        ValueError: as for :func:`compare`.
    """
    alone = [compare(pair.a, pair.b, pair.rows_a, pair.rows_b, pair.changed) for pair in pairs]
    contrasts = [_contrast(pair.rows_b, pair.rows_a) for pair in pairs]
    joint = jointly(contrasts, [one.difference for one in alone])
    return tuple(one.model_copy(update={"together": estimate}) for one, estimate in zip(alone, joint, strict=True))


def paired(rows: Sequence[CellRow], others: Sequence[CellRow], alpha: float = ALPHA) -> Estimate:
    """The rate of ``rows`` - that of ``others``, over the tasks that count in both, for the task population.

    ``alpha``: how often the interval may miss.

    Raises:
        ValueError: two rows of one side are the same trial, or the sides disagree about a task's family.
    """
    return population(_contrast(rows, others), alpha)


def _contrast(rows: Sequence[CellRow], others: Sequence[CellRow]) -> Contrast:
    first, second = arrange(rows), arrange(others)
    for task, family in first.families.items():
        if second.families.get(task, family) != family:
            raise ValueError(f"the two sides disagree about the family of task {task}: {family}, {second.families[task]}")
    used, used_others = first.used(), second.used()
    tasks = sorted(used.keys() & used_others.keys())
    return Contrast(first, second, {task: used[task] for task in tasks}, {task: used_others[task] for task in tasks})


def _warning(a: str, b: str, difference: Estimate, ends: tuple[Fraction, Fraction] | None) -> str:
    """``ends``: least and greatest difference over everything that was planned."""
    lost = difference.missing + difference.unstable
    if not lost:
        return ""
    planned = difference.n + lost
    if ends is None or difference.value is None:
        return f"{lost} of {planned} trials are not scored in both: {a} and {b} can't be compared"
    span = f"{100 * float(ends[0]):+.1f} to {100 * float(ends[1]):+.1f} points"
    if ends[0] <= 0 <= ends[1]:
        return f"{lost} of {planned} trials are not scored in both: over all of them {b} - {a} is {span}, so neither ranks above"
    return f"{lost} of {planned} trials are not scored in both: over all of them {b} - {a} is {span}"
