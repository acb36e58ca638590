"""A spec as a test suite: one item per task and candidate as deployed. The evaluation is made when the first outcome is asked."""

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from crosspath.app.costs import cost_sentence
from crosspath.app.evaluation import Evaluation
from crosspath.app.once import evaluate_once
from crosspath.app.readiness import resolved_spec
from crosspath.app.resolve import Resolved
from crosspath.errors import ConfigError, CrosspathError
from crosspath.escaping import one_line
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.reports.plain_story import plain_story
from crosspath.types import CellRow, PlannedCell, Score, Task

Kind = Literal["passed", "failed", "unobserved", "skipped"]
"""``unobserved``: a fault, an unstable trial or a broken control; it is no failure of the reply."""


@dataclass(frozen=True)
class Outcome:
    """What became of one item, and why."""

    kind: Kind
    text: str = ""


class Suite:
    """The items of one spec."""

    def __init__(
        self,
        spec: Path,
        *,
        candidates: Sequence[str] = (),
        store: str | None = None,
        executor: str = "local",
        track: bool = False,
        session: str | None = None,
        notify: Callable[[str], None] = lambda _: None,
    ) -> None:
        """``candidates``: those that have items; none: all. The whole spec is evaluated in any case. ``session``: what processes
        share that carry out these items together.

        Raises:
            ConfigError: the spec is wrong, or there is no such candidate.
        """
        self._spec, self._store, self._executor, self._track, self._notify = spec, store, executor, track, notify
        self._session = session
        self._resolved: Resolved = resolved_spec(spec)
        known = [candidate.name for candidate in self._resolved.plan.candidates]
        for name in candidates:
            if name not in known:
                raise ConfigError(
                    f"{name!r} is not a candidate of {spec}; it has: {', '.join(known)}", field="--crosspath-candidate"
                )
        self.candidates = tuple(name for name in known if not candidates or name in candidates)
        self._failure: CrosspathError | None = None

    @property
    def tasks(self) -> tuple[str, ...]:
        """Ids, in the order of the spec; those that can't be done as well: they are to be declined."""
        return tuple(self._resolved.plan.tasks)

    @property
    def about(self) -> str:
        """How much there is to do, and what it costs at worst, in one line."""
        plan = self._resolved.plan
        cost = cost_sentence(self._resolved) or "no request to any endpoint"
        return (
            f"{len(plan.candidates)} candidates, {len(plan.tasks)} tasks, trials of each: {plan.trials}; "
            f"{cost}; nothing where the store holds it already"
        )

    def outcome(self, candidate: str, task: str) -> Outcome:
        """What became of one item.

        Raises:
            CrosspathError: the evaluation could not be made.
        """
        return self._outcomes.of(candidate, task)

    @cached_property
    def _outcomes(self) -> "Outcomes":
        """Made once; what failed once is not tried again for every item."""
        if self._failure is not None:
            raise self._failure
        try:
            made = evaluate_once(
                self._spec,
                self._resolved,
                store=self._store,
                executor=self._executor,
                track=self._track,
                session=self._session,
                notify=self._notify,
            )
        except CrosspathError as error:
            self._failure = error
            raise
        return Outcomes(made, self._store)


class Outcomes:
    """The outcomes of a finished evaluation, item by item."""

    def __init__(self, evaluation: Evaluation, store: str | None = None) -> None:
        """``store``: named in the commands that show more."""
        self._evaluation, self._store = evaluation, store
        self._tasks = {task.id: task for task in evaluation.facts.tasks}
        self._contracts = {contract.name: contract for contract in evaluation.facts.contract_specs}

    def of(self, candidate: str, task: str) -> Outcome:
        """What became of one item: all trials of the task as deployed have to pass, or to decline where it can't be done."""
        control = self._evaluation.decomposition(candidate).control
        if control.status == "broken":
            return Outcome("unobserved", f"the control of {candidate} is broken, so no verdict is given: {control.reason}")
        cell, found = matched_cell(self._evaluation.facts.cells, candidate), self._tasks[task]
        return self._declined(cell, found) if found.infeasible is not None else self._passed(cell, found)

    @cached_property
    def _index(self) -> FactIndex:
        return FactIndex(self._evaluation.facts, self._evaluation.judgement.scores)

    # -- a task that can be done -------------------------------------------------------------------------------------------

    def _passed(self, cell: PlannedCell, task: Task) -> Outcome:
        rows = [row for row in self._rows(cell) if row.task == task.id]
        failed = [row for row in rows if row.passed is False and not row.unstable]
        if failed:
            return Outcome("failed", self._story(cell.candidate, task.id) or _row_words(cell.candidate, failed[0]))
        lost = [row for row in rows if row.passed is None or row.unstable]
        if lost or not rows:
            return Outcome("unobserved", f"{len(lost)} of {len(rows)} trials have no verdict: {_causes(lost)}")
        return Outcome("passed")

    def _rows(self, cell: PlannedCell) -> tuple[CellRow, ...]:
        return self._index.rows_compared(cell)

    def _story(self, candidate: str, task: str) -> str:
        story = next((one for one in self._evaluation.stories if (one.candidate, one.task) == (candidate, task)), None)
        return f"{plain_story(story)}{self._in_store}" if story else ""

    @property
    def _in_store(self) -> str:
        """What the command that shows all of it needs beside its name."""
        return f" --store {shlex.quote(self._store)}" if self._store else ""

    # -- a task that can't be done -----------------------------------------------------------------------------------------

    def _declined(self, cell: PlannedCell, task: Task) -> Outcome:
        contract = self._contracts.get(cell.contract)
        if contract is None or contract.abstain is None:
            return Outcome("skipped", f"this task can't be done, and contract {cell.contract} states no form of declining")
        keys = [key for found, _, key in self._index.keys(cell, infeasible=True) if found.id == task.id]
        scores = [self._index.score_of(cell, key) for key in keys]
        wrong = [score for score in scores if score is not None and not score.passed]
        if wrong:
            return Outcome("failed", self._not_declined(cell, task, wrong))
        lost = sum(1 for score in scores if score is None)
        if lost or not scores:
            return Outcome("unobserved", f"{lost} of {len(scores)} trials have no verdict")
        return Outcome("passed")

    def _not_declined(self, cell: PlannedCell, task: Task, wrong: Sequence[Score]) -> str:
        why = one_line(wrong[0].reason or "it was not declined in the contract's form")
        shown = shlex.join(["crosspath", "show", self._evaluation.id, task.id, "--candidate", cell.candidate])
        told = f"{cell.candidate} should have declined {task.id} ({one_line(str(task.infeasible))}): {why}"
        return f"{told}\nall of it: {shown}{self._in_store}"


def _row_words(candidate: str, row: CellRow) -> str:
    return f"{candidate} fails {row.task}: {row.cause or row.false_alarm or 'unknown'}"


def _causes(rows: Sequence[CellRow]) -> str:
    named = ["unstable" if row.unstable else str(row.cause) for row in rows]
    return ", ".join(dict.fromkeys(named)) or "nothing was planned"
