"""How often a candidate is right each time."""

from crosspath.analysis.reliability import Distinct, Repeated, reliability_of
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.types import PlannedCell, Reliability, Reply


def reliability(index: FactIndex) -> tuple[Reliability, ...]:
    """Of each candidate the reference cell and the candidate as deployed; empty where each task has one trial."""
    if index.facts.lock.trials < 2:
        return ()
    return tuple(
        reliability_of(_repeated(index, cell))
        for candidate in index.facts.lock.candidates
        for cell in _shown(index, candidate.name)
    )


def _shown(index: FactIndex, candidate: str) -> tuple[PlannedCell, ...]:
    cells = index.cells_of(candidate)
    names = {"RR", matched_cell(index.facts.cells, candidate).name} if cells else set[str]()
    return tuple(cells[name] for name in ("RR", "RN", "NR", "NN") if name in names & cells.keys())


def _repeated(index: FactIndex, cell: PlannedCell) -> Repeated:
    replies: dict[str, list[Distinct]] = {}
    for task, _, key in index.keys(cell):
        trial = index.trial_of(key)
        if trial is not None and trial.reply is not None:
            replies.setdefault(task.id, []).append(distinct(trial.reply))
    return Repeated(cell.candidate, cell.told, cell.done, index.facts.lock.trials, index.rows_compared(cell), replies)


def distinct(reply: Reply) -> Distinct:
    """What tells one reply from another, to the byte; ids of calls are drawn anew by each server and play no part."""
    return reply.text, tuple((call.name, call.arguments) for call in reply.tool_calls)
