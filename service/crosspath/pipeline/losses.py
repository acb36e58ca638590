"""What became of each candidate's trials as deployed: where they were lost."""

from collections.abc import Mapping

from crosspath.analysis.losses import Seen, losses_of, matched, matched_with
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.types import CellRow, Losses


def losses(index: FactIndex) -> tuple[Losses, ...]:
    """One record per candidate that has a cell, in the order of the candidates."""
    return tuple(_losses(index, name) for one in index.facts.lock.candidates if index.cells_of(name := one.name))


def _losses(index: FactIndex, candidate: str) -> Losses:
    cells, own = index.cells_of(candidate), matched_cell(index.facts.cells, candidate)
    _, unstable = index.control(cells)

    def rows(name: str) -> tuple[CellRow, ...]:
        cell = cells.get(name)
        return index.rows(cell, unstable.get(cell.generation.digest, ())) if cell else ()

    reference = _passed(rows(own.told + "R"))
    plain = matched(rows("RR"), rows("R" + own.done))
    return losses_of(
        candidate,
        own.told,
        own.done,
        (Seen(row, reference.get((row.task, row.index)), matched_with(plain, row)) for row in rows(own.name)),
    )


def _passed(rows: tuple[CellRow, ...]) -> Mapping[tuple[str, int], bool | None]:
    return {(row.task, row.index): None if row.unstable else row.passed for row in rows}
