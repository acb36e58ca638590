"""One reply that somebody else generated: executed through a path and through the reference, and judged, without a ledger."""

from dataclasses import dataclass

from crosspath.pipeline.plan import Plan, matched_cell
from crosspath.pipeline.scores import score_with
from crosspath.ports import Sandbox, Validator
from crosspath.transports import Path
from crosspath.types import (
    Delivery,
    Execution,
    Fault,
    PlannedCell,
    Replay,
    ReplayJob,
    ReplayKey,
    Reply,
    Score,
    Task,
    Text,
    TrialKey,
)

_GENERATION = "scored elsewhere"


@dataclass(frozen=True)
class ScoredReply:
    """What became of the same reply on the path, and on the reference path."""

    own: Score | Fault
    reference: Score | Fault

    @property
    def damage(self) -> int | None:
        """-1: the path broke it, 1: it mended it, 0: no difference; None where one of the two was not observed."""
        if isinstance(self.own, Fault) or isinstance(self.reference, Fault):
            return None
        return int(self.own.passed) - int(self.reference.passed)


class ReplyScorer:
    """Scores replies as those of the only candidate of a plan. May be used by several threads where its ports may be."""

    def __init__(self, plan: Plan, suite: Text, sandbox: Sandbox, validator: Validator) -> None:
        self._plan, self._suite, self._sandbox, self._validator = plan, suite, sandbox, validator
        own = matched_cell(plan.cells, plan.candidates[0].name)
        self._own, self._reference = plan.paths[own.path], plan.paths[_reference(plan, own).path]

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(self._plan.tasks)

    @property
    def paths(self) -> tuple[str, str]:
        """Names of the path, and of the reference path."""
        return self._own.name, self._reference.name

    def score(self, task: str, reply: Reply) -> ScoredReply:
        """Execute and judge a reply to a task.

        Raises:
            KeyError: there is no such task.
            SandboxError: there is no sandbox.
            ValidatorError: the suite could not be carried out.
        """
        found = self._plan.tasks[task]
        paths = [self._own] if self._own.digest == self._reference.digest else [self._own, self._reference]
        deliveries = [path.deliver(reply) for path in paths]
        jobs = [
            ReplayJob(key=_key(path, task), task=found, commands=tuple(action.command for action in delivery.actions))
            for path, delivery in zip(paths, deliveries, strict=True)
        ]
        results = self._sandbox.run(jobs)
        scores = [
            self._judged(path, found, delivery, result) for path, delivery, result in zip(paths, deliveries, results, strict=True)
        ]
        return ScoredReply(scores[0], scores[-1])

    def _judged(self, path: Path, task: Task, delivery: Delivery, result: Execution | Fault) -> Score | Fault:
        if isinstance(result, Fault):
            return result
        if result.setup_failed is not None:
            return Fault(boundary="sandbox", type="setup_failed", message=result.setup_failed)
        replay = Replay(key=_key(path, task.id), transport=path.name, delivery=delivery, execution=result)
        return score_with(self._suite, [replay], {task.id: task}, self._validator)[0]


def _key(path: Path, task: str) -> ReplayKey:
    return ReplayKey(trial=TrialKey(generation=_GENERATION, task=task, index=0), path=path.digest)


def _reference(plan: Plan, own: PlannedCell) -> PlannedCell:
    """The cell that was told the same and runs on the reference path."""
    return next(cell for cell in plan.cells if cell.told == own.told and cell.done == "R" and not cell.control)
