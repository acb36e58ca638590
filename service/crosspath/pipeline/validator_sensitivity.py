"""Which verdicts hang on the validator: the stored final states of each candidate as deployed, judged by one more shipped suite.

The verdicts of an evaluation stay those of its own validator. Only what the other suite asks beyond it is validated: a few
expectations. What further suites say is a question for ``validate``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath import catalogue
from crosspath.analysis.verdict_sensitivity import DependingVerdict, Judged, verdict_sensitivity
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.ports import Validator
from crosspath.scoring import build_tables, load_suite, score
from crosspath.scoring.suite_differences import suite_difference
from crosspath.types import PlannedCell, Replay, Score, Task, Text, ValidatorSensitivity

STRICT, LAX = "exact", "content"
"""``exact`` is compared with ``content``, for which new files are fine; any other suite with ``exact``."""


def validator_sensitivity(index: FactIndex, validator: Validator) -> tuple[ValidatorSensitivity, ...]:
    """One for each candidate that has a cell, in the order of the candidates.

    Raises:
        ConfigError: the suites that ship can't be read.
        ValidatorError: a suite could not be carried out.
    """
    facts = index.facts
    own = [matched_cell(facts.cells, name) for one in facts.lock.candidates if index.cells_of(name := one.name)]
    beside = [cell.model_copy(update={"validator": _other(cell.validator)}) for cell in own]
    names = sorted({cell.validator for cell in own})
    scores = [found for name in names for found in _scores(index, name, [c for c in own if c.validator == name], validator)]
    found = verdict_sensitivity([Judged("own", own, index.scores), Judged("other", beside, scores)])
    return tuple(
        _sensitivity(cell, other.validator, compared.scored, [one for one in found.verdicts if one.candidate == cell.candidate])
        for cell, other, compared in zip(own, beside, found.cells, strict=True)
    )


def _other(validator: str) -> str:
    return LAX if validator == STRICT else STRICT


@dataclass(frozen=True)
class _Known:
    """A replay with its verdict by its own validator."""

    task: Task
    replay: Replay
    score: Score


def _scores(index: FactIndex, name: str, cells: Sequence[PlannedCell], validator: Validator) -> list[Score]:
    """Verdicts on the first replays of ``cells``, judged by the validator ``name``, by the suite that it is compared with."""
    known = list({one.replay.key.to_json(): one for cell in cells for one in _known(index, cell)}.values())
    if not known:
        return []
    difference = suite_difference(_suite(index, name), catalogue.suite_text(_other(name)))
    tasks = {one.task.id: one.task for one in known}
    tables = build_tables(tasks, [one.replay for one in known], load_suite(difference.further).columns)
    further = validator.validate(difference.further, tables)
    return [
        score(
            one.replay,
            one.task,
            [*(check for check in one.score.checks if check.expectation in difference.shared), *further[number]],
        ).model_copy(update={"validator": _other(name)})
        for number, one in enumerate(known)
    ]


def _known(index: FactIndex, cell: PlannedCell) -> Iterator[_Known]:
    """Tasks that can't be done are left out."""
    for task, _, key in index.keys(cell):
        replay, found = index.replay_of(cell, key), index.score_of(cell, key)
        if replay and replay.execution and found:
            yield _Known(task, replay, found)


def _suite(index: FactIndex, name: str) -> Text:
    return next(suite for suite in index.facts.suites if suite.name == name)


def _sensitivity(cell: PlannedCell, other: str, compared: int, verdicts: Sequence[DependingVerdict]) -> ValidatorSensitivity:
    return ValidatorSensitivity(
        candidate=cell.candidate,
        told=cell.told,
        done=cell.done,
        own=cell.validator,
        other=other,
        compared=compared,
        own_only=sum(one.passed["own"] for one in verdicts),
        other_only=sum(one.passed["other"] for one in verdicts),
        tasks=tuple(dict.fromkeys(one.task for one in verdicts)),
    )
