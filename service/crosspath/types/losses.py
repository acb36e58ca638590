"""What became of a candidate's trials as deployed: kept, or lost to the path, the model, the format or the infrastructure."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.results import Side

Loss = Literal["path", "model", "format", "infrastructure"]
"""Where a trial was lost, each to exactly one place; see ``crosspath.analysis.losses`` for the rule."""


class Losses(Record):
    """Every planned trial of the cell that is the candidate as deployed, in one place: ``kept + sum(lost) = attempted``."""

    candidate: str
    told: Side
    done: Side
    attempted: int
    kept: int
    """Right."""
    lost: dict[Loss, int]
    """All four places, also those that lost none."""
    kinds: dict[Loss, dict[str, int]] = Field(default_factory=dict[Loss, dict[str, int]])
    """Place -> cause, ``fault:TYPE`` or ``unstable`` -> how many."""
    tasks: dict[Loss, tuple[str, ...]] = Field(default_factory=dict[Loss, tuple[str, ...]])
    """Place -> the tasks that lost a trial there, in the order of the tasks."""

    @property
    def cell(self) -> str:
        return self.told + self.done
