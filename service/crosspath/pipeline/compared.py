"""Sides of a comparison: a candidate of some evaluation as deployed, with all that its evaluation knows."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cached_property

from crosspath.pipeline.axes import CellFields, Configurations
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.types import CellRow, Decomposition, Facts, Judgement, PlannedCell, digest


@dataclass(frozen=True)
class Judged:
    """One evaluation with its judgement."""

    facts: Facts
    judgement: Judgement

    @cached_property
    def index(self) -> FactIndex:
        return FactIndex(self.facts, self.judgement.scores)

    @cached_property
    def configurations(self) -> Configurations:
        return Configurations(self.facts)

    @cached_property
    def controls(self) -> dict[str, str]:
        """Candidate -> status of its control."""
        return {one.candidate: one.control.status for one in self.judgement.decompositions}

    @cached_property
    def _replies(self) -> dict[str, dict[tuple[str, int], str]]:
        """Generation -> task and trial -> digest of the reply: found once, because many cells share a generation."""
        found: dict[str, dict[tuple[str, int], str]] = {}
        for trial in self.facts.trials:
            if trial.reply:
                said = trial.reply.model_dump(mode="json", include={"text", "tool_calls"})
                found.setdefault(trial.key.generation, {})[trial.key.task, trial.key.index] = digest(said)
        return found

    def replies(self, cell: PlannedCell, tasks: Collection[str]) -> str:
        """Equal for two cells that replay the same replies to these tasks."""
        generation = cell.generation.digest
        known = self._replies.get(generation, {})
        return digest([generation, sorted([task, index, said] for (task, index), said in known.items() if task in tasks)])


@dataclass(frozen=True)
class Side:
    """One of the two: a candidate of an evaluation, as deployed."""

    judged: Judged
    candidate: str

    @cached_property
    def cell(self) -> PlannedCell:
        return matched_cell(self.judged.facts.cells, self.candidate)

    @cached_property
    def fields(self) -> CellFields:
        return self.judged.configurations.of(self.cell)

    @cached_property
    def decomposition(self) -> Decomposition:
        return next(one for one in self.judged.judgement.decompositions if one.candidate == self.candidate)

    @property
    def evaluation(self) -> str:
        return self.judged.facts.head.id

    @property
    def name(self) -> str:
        return f"{self.evaluation}:{self.candidate}"


def rows_of(judged: Judged, cell: PlannedCell, tasks: Iterable[str]) -> tuple[CellRow, ...]:
    """The rows of a cell for these tasks; trials that are unstable on any path of its candidate are marked."""
    wanted = set(tasks)
    return tuple(row for row in judged.index.rows_compared(cell) if row.task in wanted)
