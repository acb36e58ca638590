"""How often a candidate is right each time: several trials of the same task."""

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.results import Estimate, Side


class Reliability(Record):
    """Repeated trials of one cell. Tasks that can't be done are in none of it."""

    candidate: str
    told: Side
    done: Side
    trials: int
    """Planned trials a task."""
    pass_hat: dict[int, Estimate] = Field(default_factory=dict[int, Estimate])
    """k -> pass^k: the chance that k trials of a task all pass, unbiased, averaged over tasks within families. ``n`` counts the
    trials of the tasks that can give it; ``worst`` and ``best`` are over all planned trials."""
    tasks: dict[int, int] = Field(default_factory=dict[int, int])
    """k -> tasks with a verdict on at least k trials: ``pass_hat`` is over these."""
    first: Estimate
    """Pass rate of first trials alone."""
    every: Estimate
    """Pass rate of all trials; equals pass^1."""
    first_minus_every: Estimate
    """The difference, paired by task; trials that are alike but for chance give 0."""
    by_trial: dict[int, tuple[int, int]] = Field(default_factory=dict[int, tuple[int, int]])
    """Trial index -> passed, scored: what an evaluation of that trial alone would have counted."""
    always: int
    """Tasks (with a verdict on every planned trial) that pass each time."""
    sometimes: int
    never: int
    incomplete: int = 0
    """Tasks that lack a verdict on some trial; they count in ``pass_hat`` as far as their trials go."""
    unsteady: dict[str, tuple[int, int]] = Field(default_factory=dict[str, tuple[int, int]])
    """Task -> passed, scored, of those that passed and failed (``incomplete`` ones, too)."""
    distinct: dict[int, int] = Field(default_factory=dict[int, int])
    """Number of distinct replies -> tasks, of tasks with at least two replies. Replies are equal where text, names and arguments
    of tool calls are the same to the byte; the ids of calls play no part."""
    distinct_mean: float | None = None
    """Mean number of distinct replies of those tasks; None without any."""

    @property
    def cell(self) -> str:
        return self.told + self.done
