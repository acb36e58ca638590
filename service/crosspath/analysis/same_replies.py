"""The same replies treated in two ways, paired trial by trial."""

from collections.abc import Sequence

from crosspath.analysis.effects import Contrast
from crosspath.analysis.outcomes import arrange
from crosspath.types import CellRow


def same_replies(minuend: Sequence[CellRow], subtrahend: Sequence[CellRow]) -> Contrast:
    """``minuend`` - ``subtrahend`` over the trials that count on both sides: exact for these replies.

    Raises:
        ValueError: two rows of one side are the same trial, or a task is in two families.
    """
    first, second = arrange(minuend), arrange(subtrahend)
    both = {task: first.counting(task) & second.counting(task) for task in first.trials}
    return Contrast(first, second, first.picked(both), second.picked(both))
