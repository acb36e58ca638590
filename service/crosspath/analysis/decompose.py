"""The decomposition of a candidate's score: four cells, four effects, one control.

    damage          = RN - RR     the same replies, paired by reply
    compensation    = NN - RN     another generation, paired by task (means of trials)
    matched gap     = NN - RR     = damage + compensation
    contract effect = NR - RR     what telling does to the reference path

**One common set.** Damage, compensation and matched gap are taken over the same trials, so that the identity holds exactly and
not only nearly: replies that count in RR *and* RN, in tasks that also count in NN. A cell in which nothing counts takes no part
(its effects have no value, and it does not empty the others). What the common set leaves out is in each effect's ``missing``,
``unstable``, ``worst`` and ``best``. The contract effect is no part of the identity and has its own set (NR and RR).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crosspath.analysis.effects import (
    Contrast,
    changed,
    population,
    population_rate,
    rate_of,
    these_replies,
    these_tasks,
)
from crosspath.analysis.outcomes import Outcomes, Used, arrange
from crosspath.analysis.simultaneous import jointly
from crosspath.analysis.variance import Trials, variance_sources
from crosspath.types import Cell, CellRow, Control, Decomposition, Effect, Estimate, Side

EffectName = Literal["damage", "compensation", "matched_gap", "contract_effect"]
_ORDER = ("RR", "RN", "NR", "NN")
_SIDES: Mapping[EffectName, tuple[str, str]] = {
    "damage": ("RN", "RR"),
    "compensation": ("NN", "RN"),
    "matched_gap": ("NN", "RR"),
    "contract_effect": ("NR", "RR"),
}
"""Effect -> minuend and subtrahend."""


@dataclass(frozen=True)
class CellInput:
    """One cell's rows: every planned trial, also those that could not be observed."""

    told: Side
    done: Side
    contract: str
    transport: str
    rows: tuple[CellRow, ...]

    @property
    def name(self) -> str:
        """``RR``, ``RN``, ``NR`` or ``NN``: told, then done."""
        return self.told + self.done


@dataclass(frozen=True)
class CandidateInput:
    """One candidate's cells and control.

    ``not_applicable``: cell name -> why it has no number; its effects are left out.
    """

    candidate: str
    cells: Sequence[CellInput]
    control: Control
    not_applicable: Mapping[str, str] = field(default_factory=dict[str, str])


def decompose(
    candidate: str, cells: Sequence[CellInput], control: Control, not_applicable: Mapping[str, str] | None = None
) -> Decomposition:
    """Cells, effects and control of one candidate, by itself.

    ``not_applicable``: cell name -> why it has no number; its effects are left out.

    Raises:
        ValueError: a cell is given twice, or two rows of a cell are the same trial.
    """
    return _decomposed(CandidateInput(candidate, cells, control, not_applicable or {}))[0]


def decompose_together(candidates: Sequence[CandidateInput]) -> tuple[Decomposition, ...]:
    """The candidates of one evaluation, in the order given. Each effect also has an interval that holds together with the others.

    Effects that may not be used count for nothing in it: those of a broken control, and those that can't be seen
    (``Decomposition.blind``).

    Raises:
        ValueError: a cell is given twice, or two rows of a cell are the same trial.
    """
    alone = [_decomposed(candidate) for candidate in candidates]
    usable: list[tuple[int, EffectName]] = [
        (place, name) for place, (found, contrasts) in enumerate(alone) for name in contrasts if may_be_used(found, name)
    ]
    contrasts = [alone[place][1][name] for place, name in usable]
    singles = [effect.population for place, name in usable if (effect := alone[place][0].effect(name))]
    joint = dict(zip(usable, jointly(contrasts, singles), strict=True))
    return tuple(
        found.model_copy(
            update={"effects": tuple(e.model_copy(update={"together": joint.get((place, e.name))}) for e in found.effects)}
        )
        for place, (found, _) in enumerate(alone)
    )


def may_be_used(decomposition: Decomposition, effect: EffectName) -> bool:
    """Whether an effect is a finding: the control is not broken, and there was something that the path could break."""
    blind = decomposition.blind and effect != "contract_effect"
    return decomposition.control.status != "broken" and not blind


def _decomposed(given: CandidateInput) -> tuple[Decomposition, dict[EffectName, Contrast]]:
    cells = {cell.name: cell for cell in given.cells}
    if len(cells) != len(given.cells):
        raise ValueError(f"{given.candidate}: a cell is given twice")
    outcomes = {name: arrange(cell.rows) for name, cell in cells.items()}
    contrasts = _contrasts(cells, outcomes)
    found = Decomposition(
        candidate=given.candidate,
        cells=tuple(_cell(cells[name], outcomes[name]) for name in _ORDER if name in cells),
        not_applicable=dict(given.not_applicable),
        effects=tuple(_effect(name, contrast, cells) for name, contrast in contrasts.items()),
        control=given.control,
    )
    return found, contrasts


def as_deployed(decomposition: Decomposition) -> Cell | None:
    """The cell of the candidate told and executed its own way; the reference cell where that is its own way."""
    names = [cell.name for cell in decomposition.cells]
    beside = [name for name in ("RN", "NR") if name in names]
    own = "NN" if "NN" in names else beside[0] if len(beside) == 1 and "NN" not in decomposition.not_applicable else "RR"
    return decomposition.cell(own)


def _cell(cell: CellInput, outcomes: Outcomes) -> Cell:
    scored = [row for row in cell.rows if row.passed is not None and not row.unstable]
    faults = [row for row in cell.rows if row.passed is None and not row.unstable]
    wrong = [row for row in scored if not row.passed]
    return Cell(
        told=cell.told,
        done=cell.done,
        contract=cell.contract,
        transport=cell.transport,
        planned=len(cell.rows),
        scored=len(scored),
        passed=len(scored) - len(wrong),
        faults=len(faults),
        unstable=len(outcomes.unstable),
        rate=rate_of(outcomes),
        population=population_rate(outcomes),
        silent_wrong=rate_of(arrange(cell.rows, "silent_wrong"), bad=True),
        false_alarm=rate_of(arrange(cell.rows, "false_alarm"), bad=True),
        causes=_tally(wrong, "unknown") | _tally(faults, "fault:unknown"),
        silent_causes=_tally([row for row in wrong if row.silent_wrong], "unknown"),
        alarm_kinds=dict(sorted(Counter(row.false_alarm for row in scored if row.false_alarm).items())),
        tiers=_tiers(scored),
    )


def _tally(rows: Sequence[CellRow], unnamed: str) -> dict[str, int]:
    return dict(sorted(Counter(row.cause or row.false_alarm or unnamed for row in rows).items()))


def _tiers(rows: Sequence[CellRow]) -> dict[str, tuple[int, int]]:
    tiers = sorted({row.tier for row in rows if row.tier is not None})
    return {str(tier): _passed_of([row for row in rows if row.tier == tier]) for tier in tiers}


def _passed_of(rows: Sequence[CellRow]) -> tuple[int, int]:
    return sum(bool(row.passed) for row in rows), len(rows)


def _contrasts(cells: Mapping[str, CellInput], outcomes: Mapping[str, Outcomes]) -> dict[EffectName, Contrast]:
    """The two sides of every effect whose cells there are."""
    identity = _common([cells[name] for name in ("RR", "RN", "NN") if name in cells], outcomes)
    contract = _common([cells[name] for name in ("RR", "NR") if name in cells], outcomes)
    contrasts: dict[EffectName, Contrast] = {}
    for name, (minuend, subtrahend) in _SIDES.items():
        if minuend in cells and subtrahend in cells:
            used = contract if name == "contract_effect" else identity
            contrasts[name] = Contrast(outcomes[minuend], outcomes[subtrahend], *_both(used[minuend], used[subtrahend]))
    return contrasts


def _both(minuend: Used, subtrahend: Used) -> tuple[Used, Used]:
    """The two sides, or nothing on both where one is empty."""
    return (minuend, subtrahend) if minuend and subtrahend else ({}, {})


def _effect(name: EffectName, contrast: Contrast, cells: Mapping[str, CellInput]) -> Effect:
    minuend, subtrahend = (cells[side] for side in _SIDES[name])
    same_replies = minuend.contract == subtrahend.contract
    these: Callable[[Contrast], Estimate] = these_replies if same_replies else these_tasks
    lost, gained = changed(contrast) if same_replies else (None, None)
    return Effect(
        name=name, minuend=minuend.name, subtrahend=subtrahend.name,
        these=these(contrast), population=population(contrast), lost=lost, gained=gained,
        sources=variance_sources(_generations(contrast, same_replies), contrast.families, contrast.minuend.tiers),
    )  # fmt: skip


def _generations(contrast: Contrast, same_replies: bool) -> list[Trials]:
    """What was drawn independently: the differences of the same replies, or each side by itself."""
    first, second = contrast.used_minuend, contrast.used_subtrahend
    if same_replies:
        return [{task: [a - b for a, b in zip(first[task], second[task], strict=True)] for task in first}]
    return [
        {task: [float(passed) for passed in trials] for task, trials in first.items()},
        {task: [-float(passed) for passed in trials] for task, trials in second.items()},
    ]


def _common(cells: Sequence[CellInput], outcomes: Mapping[str, Outcomes]) -> dict[str, Used]:
    """Cell -> the trials of the common set: the same replies within a contract, the same tasks everywhere."""
    filled = [cell for cell in cells if outcomes[cell.name].used()]
    indices = {cell.name: _shared_replies(cell, filled, outcomes) for cell in filled}
    tasks = {task for picked in indices.values() for task in picked}
    common = {task for task in tasks if all(picked.get(task) for picked in indices.values())}
    used: dict[str, Used] = {cell.name: {} for cell in cells}
    for name, picked in indices.items():
        used[name] = outcomes[name].picked({task: picked[task] for task in common})
    return used


def _shared_replies(cell: CellInput, cells: Sequence[CellInput], outcomes: Mapping[str, Outcomes]) -> dict[str, frozenset[int]]:
    """Task -> the trials whose reply counts in every cell that was told the same contract."""
    alike = [outcomes[other.name] for other in cells if other.contract == cell.contract]
    return {task: frozenset[int].intersection(*(other.counting(task) for other in alike)) for task in outcomes[cell.name].trials}
