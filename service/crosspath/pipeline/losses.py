"""What became of each candidate's trials as deployed: where they were lost."""

from collections.abc import Mapping, Sequence

from crosspath.analysis.losses import Seen, losses_of, matched, matched_with
from crosspath.pipeline.clean_ups import Alternative
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.format_damage import right_otherwise
from crosspath.pipeline.plan import matched_cell
from crosspath.types import CellRow, Losses


def losses(index: FactIndex, alternatives: Sequence[Alternative] = (), together: int | None = None) -> tuple[Losses, ...]:
    """One record per candidate that has a cell, in the order of the candidates.

    ``alternatives``: the other clean-up of replies per candidate, where it was replayed; ``index`` has to hold those scores.
    ``together``: over so many candidates the intervals hold together; None: over those of the index.
    """
    cleaned = {one.cell.candidate: right_otherwise(index, one) for one in alternatives}
    names = [one.name for one in index.facts.lock.candidates if index.cells_of(one.name)]
    return tuple(_losses(index, name, cleaned.get(name, {}), together or len(names)) for name in names)


def _losses(index: FactIndex, candidate: str, cleaned: Mapping[tuple[str, int], bool], together: int) -> Losses:
    cells, own = index.cells_of(candidate), matched_cell(index.facts.cells, candidate)
    _, unstable = index.control(cells)

    def rows(name: str) -> tuple[CellRow, ...]:
        cell = cells.get(name)
        return index.rows(cell, unstable.get(cell.generation.digest, ())) if cell else ()

    reference = _passed(rows(own.told + "R"))
    plain = matched(rows("RR"), rows("R" + own.done))
    trials = (
        Seen(row, reference.get(key), matched_with(plain, row), cleaned.get(key, False))
        for row in rows(own.name)
        for key in ((row.task, row.index),)
    )
    return losses_of(candidate, own.told, own.done, trials, together)


def _passed(rows: Sequence[CellRow]) -> Mapping[tuple[str, int], bool | None]:
    return {(row.task, row.index): None if row.unstable else row.passed for row in rows}
