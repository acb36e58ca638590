"""Phase one: generate each reply once, store it, replay it through every path that is planned, store the facts.

The ledger is written before a request is sent and before a reply is replayed, so a killed evaluation goes on where it was. How a
request comes to its reply, with its retries, is :mod:`crosspath.pipeline.asking`.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from crosspath.pipeline.asking import USUAL_RETRIES, Asker, Retries, over_budget
from crosspath.pipeline.budget import Amount, Budget, worst_case
from crosspath.pipeline.clean_ups import Owed
from crosspath.pipeline.faults import is_final
from crosspath.pipeline.journal import Journal
from crosspath.pipeline.plan import Plan
from crosspath.ports import Executor
from crosspath.store.ledger import Ledger
from crosspath.transports import Path
from crosspath.types import (
    Delivery,
    Execution,
    Facts,
    Fault,
    Replay,
    ReplayJob,
    ReplayKey,
    Reply,
    Request,
    Task,
    Trial,
    TrialKey,
)

_T = TypeVar("_T")

MOST_TOGETHER = 32
"""Replays of one reply that are stored together: so many at most are lost by a kill, and progress is seen as often."""


@dataclass
class Progress:
    """Live counts; ``changed`` is called after every step, ``began`` with the name of each stage."""

    trials: int = 0
    trials_done: int = 0
    replays_done: int = 0
    reused: int = 0
    retries: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    changed: Callable[["Progress"], None] = lambda _: None
    began: Callable[[str], None] = lambda _: None

    def note(self, *, trial: int = 0, replays: int = 0, retry: int = 0, fault: Fault | None = None) -> None:
        """Add to the counts and tell whoever watches."""
        self.trials_done += trial
        self.replays_done += replays
        self.retries += retry
        if fault is not None:
            self.faults[fault.type] = self.faults.get(fault.type, 0) + 1
        self.changed(self)


class Evaluator:
    """One session of one evaluation: asks, replays and stores until all of the plan has facts or a fault."""

    def __init__(
        self,
        plan: Plan,
        ledger: Ledger,
        evaluation: str,
        session: int,
        executor: Executor,
        budget: Budget,
        *,
        worst_of: Callable[[Request], Amount] = worst_case,
        retries: Retries = USUAL_RETRIES,
        concurrency: int = 16,
        replay_concurrency: int = 4,
        progress: Progress | None = None,
    ) -> None:
        self._plan = plan
        self._paths: dict[str, Path] = dict(plan.paths)
        self._journal = Journal(ledger, evaluation)
        self._executor = executor
        self._budget = budget
        self._progress = progress or Progress()
        self._asker = Asker(
            executor.generate,
            budget,
            session,
            worst_of=worst_of,
            retries=retries,
            retried=lambda: self._progress.note(retry=1),
        )
        self._workers = concurrency + replay_concurrency
        self._asking = asyncio.Semaphore(concurrency)
        self._replaying = asyncio.Semaphore(replay_concurrency)
        self._done: set[ReplayKey] = set()

    async def run(self, known: Facts, *, generate: bool = True) -> None:
        """Do all that ``known`` does not hold yet; without ``generate`` no request is made, whatever is missing."""
        self._asker.remember(known.attempts)
        self._done.update(replay.key for replay in known.replays if _has_facts(replay))
        trials = {trial.key: trial for trial in known.trials if not generate or _is_settled(trial)}
        todo = [request for request in self._plan.requests if generate or request.trial in trials]
        self._progress.trials = len(todo)
        self._progress.reused = len(trials)
        await self._each(todo, lambda request: self._trial(request, trials.get(request.trial)))

    async def repeat(self, trials: Iterable[Trial], keys: Callable[[TrialKey], Sequence[ReplayKey]]) -> None:
        """Replay again what a control found to differ."""
        await self._each(trials, lambda trial: self._replay(trial, keys(trial.key)))

    async def replay_beside(self, trials: Iterable[Trial], owed: Owed) -> None:
        """Replay what is owed beside the plan, where that was not done."""
        self._paths |= owed.paths
        await self._each(trials, lambda trial: self._replay(trial, owed.keys.get(trial.key, ())))

    async def _each(self, items: Iterable[_T], work: Callable[[_T], Awaitable[None]]) -> None:
        """Enough at once to keep all workers busy, and no more."""
        pending = iter(items)

        async def drain() -> None:
            for item in pending:
                await work(item)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(drain())

    async def _trial(self, request: Request, known: Trial | None) -> None:
        trial = known or await self._generate(request)
        self._progress.note(trial=1, fault=trial.fault)
        await self._replay(trial, [key for _, key in self._plan.replay_keys(trial.key)])

    # -- generation ----------------------------------------------------------------------------------------------------

    async def _generate(self, request: Request) -> Trial:
        """A reply, or the last fault; the trial is in the ledger when this returns."""
        await self._asking.acquire()
        trial = await self._asker.ask(request, self._journal.write)
        # Only now: where a reply could not be kept the session ends, and nothing more may be sent and paid for in its place.
        self._asking.release()
        return trial

    # -- replays -------------------------------------------------------------------------------------------------------

    async def _replay(self, trial: Trial, planned: Iterable[ReplayKey]) -> None:
        """Execute one trial's reply through the given paths, where that was not done."""
        keys = [key for key in planned if key not in self._done]
        if trial.reply is None:
            return
        for first in range(0, len(keys), MOST_TOGETHER):
            await self._replay_together(trial, trial.reply, keys[first : first + MOST_TOGETHER])

    async def _replay_together(self, trial: Trial, reply: Reply, keys: Sequence[ReplayKey]) -> None:
        """Some replays of one reply, whose facts are stored together."""
        deliveries = {key: self._paths[key.path].deliver(reply, encoded=key.encoded) for key in keys}
        task = self._plan.tasks[trial.key.task]
        jobs = [
            ReplayJob(key=key, task=task, commands=tuple(action.command for action in delivery.actions))
            for key, delivery in deliveries.items()
        ]
        async with self._replaying:
            results = await self._execute(jobs)
        replays = [self._record(job.key, deliveries[job.key], result) for job, result in zip(jobs, results, strict=True)]
        await self._journal.write(*replays)
        self._done.update(replay.key for replay in replays if _has_facts(replay))
        self._progress.note(replays=len(replays))
        for replay in replays:
            if replay.fault:
                self._progress.note(fault=replay.fault)

    async def _execute(self, jobs: Sequence[ReplayJob]) -> Sequence[Execution | Fault]:
        """The replays, given up at the end of the wall time: they can be done again and cost nothing."""
        remaining_s = self._budget.remaining_s()
        if remaining_s == 0.0:
            return [over_budget("max_wall_s")] * len(jobs)
        try:
            async with asyncio.timeout(None if math.isinf(remaining_s) else remaining_s):
                return await self._executor.replay(jobs)
        except TimeoutError:
            return [over_budget("max_wall_s")] * len(jobs)

    def _record(self, key: ReplayKey, delivery: Delivery, result: Execution | Fault) -> Replay:
        name = self._paths[key.path].name
        if not isinstance(result, Fault) and result.setup_failed is not None:
            # The task's own preparation failed: the reply was never run, so there is nothing to judge.
            result = Fault(boundary="sandbox", type="setup_failed", message=result.setup_failed)
        if isinstance(result, Fault):
            return Replay(key=key, transport=name, delivery=delivery, fault=result)
        execution = _lighter(result, self._plan.tasks[key.trial.task])
        return Replay(key=key, transport=name, delivery=delivery, execution=execution)


def _is_settled(trial: Trial) -> bool:
    return trial.fault is None or is_final(trial.fault)


def _has_facts(replay: Replay) -> bool:
    """Facts, or a fault that would come again."""
    return replay.fault is None or is_final(replay.fault)


def _lighter(execution: Execution, task: Task) -> Execution:
    """Without the contents of paths that are not compared (their digests stay): a git repository would fill the ledger.

    Where the task plants a secret all contents stay, because it may have got into any of them.
    """
    if not task.ignore or task.secrets:
        return execution
    entries = tuple(
        entry.model_copy(update={"content": None}) if task.ignores(entry.path) else entry for entry in execution.state.entries
    )
    return execution.model_copy(update={"state": execution.state.model_copy(update={"entries": entries})})
