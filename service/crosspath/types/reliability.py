"""How often a candidate is right each time: several trials of the same task."""

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.results import Estimate, Side


class Reliability(Record):
    """Repeated trials of one cell."""

    candidate: str
    told: Side
    done: Side
    trials: int
    """Planned trials a task."""
    pass_hat: dict[int, Estimate] = Field(default_factory=dict[int, Estimate])
    """k -> pass^k: the chance that k trials of a task all pass, unbiased, averaged over tasks within families."""
    first: Estimate
    """Pass rate of first trials alone."""
    every: Estimate
    """Pass rate of all trials."""
    always: int
    """Tasks (with a verdict on every planned trial) that pass each time."""
    sometimes: int
    never: int
    incomplete: int = 0
    """Tasks that lack a verdict on some trial; they count in ``pass_hat`` as far as their trials go."""
    distinct: dict[int, int] = Field(default_factory=dict[int, int])
    """Number of distinct replies -> tasks."""
    distinct_mean: float | None = None
    """Mean number of distinct replies a task; None without replies."""

    @property
    def cell(self) -> str:
        return self.told + self.done
