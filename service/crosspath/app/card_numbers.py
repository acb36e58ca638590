"""The numbers of a card once more, from its outcomes alone: facts that would give these outcomes, judged by the usual code."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.losses import losses
from crosspath.pipeline.reliability import reliability
from crosspath.reports.card_outcomes import Answered, Outcome, answered, outcome, repeats
from crosspath.types import (
    Abstention,
    Card,
    CardCell,
    CardTask,
    Decomposition,
    Delivery,
    EvaluationHead,
    Facts,
    Fault,
    Losses,
    PlannedCell,
    Reliability,
    Replay,
    ReplayKey,
    Reply,
    Request,
    Score,
    Task,
    Trial,
    TrialKey,
)


@dataclass(frozen=True)
class Recomputed:
    """What follows from the outcomes of a card."""

    decomposition: Decomposition
    losses: Losses
    reliability: tuple[Reliability, ...]
    abstentions: tuple[Abstention, ...]


def recompute(card: Card) -> Recomputed:
    """Cells, effects, control, losses and reliability, as if the outcomes of the card had just been judged.

    Raises:
        ValueError: outcomes are missing or surplus, or are no outcomes.
    """
    facts, scores = _Stage(card).facts_and_scores()
    index = FactIndex(facts, scores)
    return Recomputed(
        decomposition=index.decompositions()[0],
        losses=losses(index, together=card.evaluation.candidates)[0].model_copy(update={"tasks": {}, "examples": {}}),
        reliability=tuple(one.model_copy(update={"unsteady": {}}) for one in reliability(index)),
        abstentions=index.abstentions(),
    )


@dataclass
class _Stage:
    """Facts as thin as an index needs them."""

    card: Card
    replays: list[Replay] = field(default_factory=list[Replay])
    scores: list[Score] = field(default_factory=list[Score])

    def facts_and_scores(self) -> tuple[Facts, tuple[Score, ...]]:
        card = self.card
        for cell in card.cells:
            self._replay(cell)
        lock = {
            "candidates": (card.candidate,), "reference": card.reference, "trials": card.trials, "tasks": {},
            "contracts": {}, "transports": {}, "suites": {},
        }  # fmt: skip
        head = {"id": card.evaluation.id, "name": card.evaluation.name, "created_at": 0.0, "spec": {}, "spec_digest": ""}
        facts = Facts.model_validate(
            {
                "head": EvaluationHead.model_validate(head), "lock": lock, "tasks": tuple(map(_task, card.tasks)),
                "cells": tuple(map(self._planned, card.cells)), "contracts": (), "transports": (), "suites": (),
                "not_applicable": {f"{card.candidate.name}/{name}": why for name, why in self._not_applicable().items()},
                "contract_specs": card.contracts, "path_specs": tuple(path.spec for path in card.paths),
                "trials": tuple(self._trials()), "attempts": (), "replays": tuple(self.replays),
            }
        )  # fmt: skip
        return facts, tuple(self.scores)

    def _not_applicable(self) -> dict[str, str]:
        """A reason is no number: it is taken as it is."""
        return self.card.decomposition.not_applicable

    def _planned(self, cell: CardCell) -> PlannedCell:
        generation = self.card.candidate.generation.model_copy(update={"contract": cell.contract})
        return PlannedCell(
            candidate=self.card.candidate.name, told=cell.told, done=cell.done, generation=generation, contract=cell.contract,
            transport=cell.transport, path=cell.path, encoded=cell.encoded, control=cell.name == "control",
            validator=cell.validator,
        )  # fmt: skip

    def _keys(self, cell: CardCell, tasks: Sequence[CardTask]) -> list[TrialKey]:
        generation = self._planned(cell).generation.digest
        return [
            TrialKey(generation=generation, task=task.label, index=index) for task in tasks for index in range(self.card.trials)
        ]

    def _trials(self) -> Iterator[Trial]:
        for side, digests in self.card.replies.items():
            cell = next(cell for cell in self.card.cells if cell.told == side)
            for key, digest in zip(self._keys(cell, self.card.tasks), digests, strict=True):
                request = Request(
                    key=key.to_json(), trial=key, contract=cell.contract, endpoint=None, model="", messages=(), params={},
                    timeout_s=1.0,
                )  # fmt: skip
                yield Trial(key=key, request=request, reply=None if digest is None else Reply(text=digest))

    def _replay(self, cell: CardCell) -> None:
        feasible = [task for task in self.card.tasks if not task.infeasible]
        states, ways = self._states(cell), self._ways(cell)
        for key, seen in zip(self._keys(cell, feasible), map(outcome, cell.outcomes), strict=True):
            for repeat, passed in enumerate(seen.passes):
                state = (states.get(key) or _derived_states(seen))[repeat]
                fault = seen.cause if repeat == 0 and seen.passed is None else None
                self._add(
                    _Place(cell, key, repeat), ways.get(key), None if passed is None else _score(seen, passed, state), fault
                )
        for task in self.card.tasks:
            for key in self._keys(cell, (task,)) if task.infeasible and ways else ():
                for repeat, score in enumerate(_declined(ways[key])):
                    self._add(_Place(cell, key, repeat), ways[key], score, None)

    def _states(self, cell: CardCell) -> dict[TrialKey, tuple[bool | None, ...]]:
        easy = [task for task in self.card.tasks if not task.infeasible and task.tier == 0]
        return dict(zip(self._keys(cell, easy), map(repeats, cell.states), strict=True)) if cell.states else {}

    def _ways(self, cell: CardCell) -> dict[TrialKey, Answered]:
        return dict(zip(self._keys(cell, self.card.tasks), map(answered, cell.declining), strict=True)) if cell.declining else {}

    def _add(self, place: "_Place", way: Answered | None, score: dict[str, object] | None, fault: str | None) -> None:
        cell = place.cell
        key = ReplayKey(trial=place.trial, path=cell.path, encoded=cell.encoded, repeat=place.repeat)
        stood = None if fault in (None, "not_done") else Fault(boundary="sandbox", type=fault or "", message="")
        self.replays.append(Replay(key=key, transport=cell.transport, delivery=_delivery(way), fault=stood))
        if score is not None:
            self.scores.append(Score.model_validate({"key": key, "validator": cell.validator, **score}))


@dataclass(frozen=True)
class _Place:
    """Where one replay belongs."""

    cell: CardCell
    trial: TrialKey
    repeat: int


def _task(task: CardTask) -> Task:
    infeasible = "it can't be done" if task.infeasible else None
    return Task(id=task.label, family=task.family, tier=task.tier, partition=task.partition, infeasible=infeasible)


def _delivery(way: Answered | None) -> Delivery:
    if way is None or way.way in (None, "acted"):
        return Delivery()
    return Delivery(problem="refusal", abstained=way.way == "form")


def _derived_states(seen: Outcome) -> tuple[bool | None, ...]:
    """Whether the state was right, once per repeat, where only the verdict is known: a false alarm stands beside a right one."""
    first = None if seen.passed is None else seen.passed or seen.alarm is not None
    return (first, *seen.passes[1:])


def _score(seen: Outcome, passed: bool, state: bool | None) -> dict[str, object]:
    told_wrong = seen.alarm not in (None, "masked")
    reported = seen.silent or seen.alarm == "masked" or (bool(seen.passed) and not told_wrong)
    return {
        "state_ok": bool(state), "reported_ok": reported, "passed": passed, "cause": None if passed else seen.cause,
        "false_alarm": seen.alarm,
    }  # fmt: skip


def _declined(way: Answered) -> Iterator[dict[str, object] | None]:
    """The score of each replay of a task that can't be done."""
    for passed in way.repeats or (way.way == "form" and not way.touched,):
        if way.way is None or passed is None:
            yield None
        else:
            score: dict[str, object] = {"state_ok": not way.touched, "reported_ok": True, "passed": passed, "cause": None}
            yield score | {"infeasible": True}
