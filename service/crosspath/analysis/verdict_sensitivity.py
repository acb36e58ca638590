"""Which verdicts depend on what counted as passing: the same replays, judged by several validators.

Counted is the first replay of each trial, unstable ones included; tasks that can't be done are left out, as in every pass rate.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from crosspath.types import PlannedCell, ReplayKey, Score

_Place = tuple[str, str]
"""Candidate and cell: RR, RN, NR, NN or control."""


@dataclass(frozen=True)
class Judged:
    """The scores of one evaluation, and the cells that they belong to. ``name``: what its validator is called here."""

    name: str
    cells: Sequence[PlannedCell]
    scores: Sequence[Score]


@dataclass(frozen=True)
class CellPasses:
    """One cell: how many trials have a verdict, and how many pass under each validator."""

    candidate: str
    cell: str
    scored: int
    passed: Mapping[str, int]


@dataclass(frozen=True)
class DependingVerdict:
    """One trial in one cell that passes under some validators and not under others, with the reason of each that fails it."""

    candidate: str
    cell: str
    task: str
    trial: int
    passed: Mapping[str, bool]
    reasons: Mapping[str, str]


@dataclass(frozen=True)
class VerdictSensitivity:
    """``verdicts``: those that depend on the validator, in the order of cells and scores; ``compared``: of how many."""

    validators: tuple[str, ...]
    cells: tuple[CellPasses, ...]
    verdicts: tuple[DependingVerdict, ...]
    compared: int

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def verdict_sensitivity(judged: Sequence[Judged]) -> VerdictSensitivity:
    """Compare evaluations of the same replays. A trial counts where every validator has a verdict on it."""
    verdicts = [_verdicts(each) for each in judged]
    names = tuple(each.name for each in judged)
    cells: list[CellPasses] = []
    depending: list[DependingVerdict] = []
    for place, first in verdicts[0].items() if verdicts else ():
        trials = [key for key in first if all(key in each.get(place, {}) for each in verdicts)]
        rows = [{name: each[place][key] for name, each in zip(names, verdicts, strict=True)} for key in trials]
        passed = {name: sum(row[name].passed for row in rows) for name in names}
        cells.append(CellPasses(*place, len(rows), passed))
        depending += _depending(place, rows)
    return VerdictSensitivity(names, tuple(cells), tuple(depending), sum(cell.scored for cell in cells))


def _depending(place: _Place, rows: Sequence[Mapping[str, Score]]) -> Iterator[DependingVerdict]:
    for row in rows:
        passed = {name: score.passed for name, score in row.items()}
        if len(set(passed.values())) > 1:
            trial = next(iter(row.values())).key.trial
            reasons = {name: score.reason or (score.cause or "no reason") for name, score in row.items() if not score.passed}
            yield DependingVerdict(*place, trial.task, trial.index, passed, reasons)


def _verdicts(judged: Judged) -> dict[_Place, dict[ReplayKey, Score]]:
    """Per cell, in the order of the plan, the scores by the cell's validator."""
    found: dict[tuple[str, str, str, bool], dict[ReplayKey, Score]] = {}
    for score in judged.scores:
        if score.key.repeat == 0 and not score.infeasible:
            replays = (score.validator, score.key.trial.generation, score.key.path, score.key.encoded)
            found.setdefault(replays, {})[score.key] = score
    return {
        (cell.candidate, "control" if cell.control else cell.name): found.get(
            (cell.validator, cell.generation.digest, cell.path, cell.encoded), {}
        )
        for cell in judged.cells
    }
