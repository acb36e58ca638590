"""Where it broke: every cell as a funnel, and by family, tier and hazard."""

from collections.abc import Iterator, Mapping, Sequence

from crosspath.analysis import breakdowns as groups
from crosspath.analysis.funnels import Passage, funnel
from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import Breakdown, CellRow, Funnel, PlannedCell


def funnels(index: FactIndex) -> tuple[Funnel, ...]:
    """One per candidate and cell, controls left out."""
    return tuple(funnel(cell, _passages(index, cell, rows)) for cells in _candidates(index) for cell, rows in cells.values())


def breakdowns(index: FactIndex) -> tuple[Breakdown, ...]:
    """Every group of every cell, controls left out."""
    hazards = {task.id: task.hazards for task in index.facts.tasks}
    return tuple(
        one
        for cells in _candidates(index)
        for cell, rows in cells.values()
        for one in groups.breakdowns(cell, rows, _on_reference(cells, cell), hazards)
    )


_Cells = Mapping[str, tuple[PlannedCell, Sequence[CellRow]]]
"""``RR``, ``RN``, ... -> the cell and its rows, unstable ones marked."""


def _candidates(index: FactIndex) -> Iterator[_Cells]:
    for candidate in index.facts.lock.candidates:
        cells = index.cells_of(candidate.name)
        yield {name: (cell, index.rows_compared(cell)) for name, cell in cells.items() if not cell.control}


def _passages(index: FactIndex, cell: PlannedCell, rows: Sequence[CellRow]) -> Iterator[Passage]:
    for (_, _, key), row in zip(index.keys(cell), rows, strict=True):
        trial = index.trial_of(key)
        yield Passage(row, replied=trial is not None and trial.reply is not None)


def _on_reference(cells: _Cells, cell: PlannedCell) -> Sequence[CellRow] | None:
    found = cells.get(cell.told + "R") if cell.done == "N" else None
    return found[1] if found else None
