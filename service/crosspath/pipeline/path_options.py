"""Which paths the replies of an evaluation went through: one option per generation and path, whichever candidate asked for it."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from crosspath.analysis.path_costs import PathOption
from crosspath.types import CellRow, Control, Facts, PlannedCell

Rows = Callable[[PlannedCell], tuple[CellRow, ...]]
"""A cell's rows, one per planned trial; unstable ones are marked."""
_NEEDS_NONE = Control(kind="none", status="holds", compared=0, reason="the path is the reference")


class PathOptions:
    """The options of one evaluation."""

    def __init__(self, facts: Facts, rows: Rows, controls: Mapping[str, Control]) -> None:
        """``controls``: candidate -> its control."""
        self._facts = facts
        self._rows = rows
        self._controls = controls
        self._clean_ups = {candidate.name: candidate.harness for candidate in facts.lock.candidates}
        self._known: dict[tuple[str, str, str, str], tuple[CellRow, ...]] = {}
        self._missing = {
            replay.key.path: replay.fault.message
            for replay in facts.replays
            if replay.fault and replay.fault.type == "missing_program"
        }

    def by_generation(self) -> tuple[tuple[str, tuple[PathOption, ...]], ...]:
        """(model, options) of each generation and validator whose replies went through two paths beside the reference."""
        groups: dict[tuple[str, str], list[PlannedCell]] = {}
        for cell in self.cells():
            groups.setdefault((cell.generation.digest, cell.validator), []).append(cell)
        return tuple(
            (cells[0].generation.model.name, self.options(cells))
            for cells in groups.values()
            if sum(cell.done == "N" for cell in cells) > 1
        )

    def cells(self) -> tuple[PlannedCell, ...]:
        """Every told x done combination once: candidates may share a cell, as those of one generation share the reference."""
        found: dict[tuple[str, str, str, str], PlannedCell] = {}
        for cell in self._facts.cells:
            if not cell.control:
                found.setdefault(_identity(cell), cell)
        return tuple(found.values())

    def options(self, cells: Sequence[PlannedCell]) -> tuple[PathOption, ...]:
        """The same as inputs for a ranking."""
        return tuple(map(self._option, cells))

    def _option(self, cell: PlannedCell) -> PathOption:
        reference = next(self._on_reference(cell), None)
        clean_up = self._clean_ups.get(cell.candidate, "none")
        return PathOption(
            path=cell.transport if clean_up == "none" else f"{cell.transport} after {clean_up}",
            candidate=cell.candidate,
            told=cell.told,
            done=cell.done,
            contract=cell.contract,
            generation=cell.generation.digest,
            rows=self._rows_once(cell),
            on_reference=self._rows_once(reference) if reference and cell.done == "N" else None,
            control=self._controls[cell.candidate] if cell.done == "N" else _NEEDS_NONE,
            reference=cell.done == "R",
            needs=self._missing.get(cell.path, ""),
        )

    def _on_reference(self, cell: PlannedCell) -> Iterator[PlannedCell]:
        """The cell of the same candidate and the same replies on the reference path."""
        for other in self._facts.cells:
            if (other.candidate, other.told, other.done) == (cell.candidate, cell.told, "R") and not other.control:
                yield other

    def _rows_once(self, cell: PlannedCell) -> tuple[CellRow, ...]:
        key = _identity(cell)
        if key not in self._known:
            self._known[key] = self._rows(cell)
        return self._known[key]


def _identity(cell: PlannedCell) -> tuple[str, str, str, str]:
    return cell.generation.digest, cell.path, cell.transport, cell.validator  # one chain may have two names
