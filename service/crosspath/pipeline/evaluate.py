"""Phase one: generate each reply once, store it, replay it through every path that is planned, store the facts.

The ledger is written before a request is sent and before a reply is replayed, so a killed evaluation goes on where it was. The
only retries of the program are here: for retryable faults, before a reply exists.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from tenacity import AsyncRetrying, RetryCallState, retry_if_result, stop_after_attempt, wait_exponential_jitter
from tenacity.wait import wait_base

from crosspath.pipeline.answers import provider
from crosspath.pipeline.budget import Amount, Budget, failed, settled, worst_case
from crosspath.pipeline.plan import Plan
from crosspath.ports import Executor
from crosspath.store.ledger import Ledger
from crosspath.types import (
    Attempt,
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


@dataclass(frozen=True)
class Retries:
    """How often, and how long at most between two attempts."""

    max_attempts: int = 5
    max_wait_s: float = 60.0


@dataclass
class Progress:
    """Live counts; ``changed`` is called after every step."""

    trials: int = 0
    trials_done: int = 0
    replays_done: int = 0
    reused: int = 0
    retries: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    changed: Callable[["Progress"], None] = lambda _: None

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
        retries: Retries = Retries(),
        concurrency: int = 16,
        replay_concurrency: int = 4,
        progress: Progress | None = None,
    ) -> None:
        self._plan = plan
        self._ledger = ledger
        self._evaluation = evaluation
        self._session = session
        self._executor = executor
        self._budget = budget
        self._worst_of = worst_of
        self._retries = retries
        self._concurrency = concurrency
        self._replaying = asyncio.Semaphore(replay_concurrency)
        self._progress = progress or Progress()

    async def run(self, known: Facts, *, generate: bool = True) -> None:
        """Do all that ``known`` does not hold yet; without ``generate`` no request is made, whatever is missing."""
        replies = {trial.key: trial for trial in known.trials if trial.reply is not None or not generate}
        done = {replay.key for replay in known.replays if replay.execution is not None}
        self._progress.trials = len(self._plan.requests)
        self._progress.reused = len(replies)
        pending = (request for request in self._plan.requests if generate or request.trial in replies)

        async def work() -> None:
            for request in pending:
                await self._trial(request, replies.get(request.trial), done)

        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(work())

    async def _trial(self, request: Request, known: Trial | None, done: set[ReplayKey]) -> None:
        trial = known or await self._generate(request)
        self._progress.note(trial=1, fault=trial.fault)
        if trial.reply is None:
            return
        owed = [key for _, key in self._plan.replay_keys(trial.key) if key not in done]
        await self.replay(trial, owed)

    # -- generation ----------------------------------------------------------------------------------------------------

    async def _generate(self, request: Request) -> Trial:
        """A reply, or the last fault; the trial is in the ledger when this returns."""
        retrying = AsyncRetrying(
            retry=retry_if_result(lambda trial: trial.fault is not None and trial.fault.retryable),
            stop=stop_after_attempt(self._retries.max_attempts),
            wait=_WaitAsTold(self._retries.max_wait_s),
            retry_error_callback=lambda state: state.outcome.result() if state.outcome else None,
        )
        number = 0

        async def attempt() -> Trial:
            nonlocal number
            number += 1
            if number > 1:
                self._progress.note(retry=1)
            return await self._attempt(request, number, last=number == self._retries.max_attempts)

        return await retrying(attempt)

    async def _attempt(self, request: Request, tries: int, *, last: bool) -> Trial:
        local = provider(request.model) is not None
        worst = Amount() if local else self._worst_of(request)
        if limit := await self._budget.reserve(worst):
            trial = Trial(key=request.trial, request=request, fault=_over_budget(limit, tries - 1))
            self._ledger.write_trial(self._evaluation, trial)
            return trial
        row = Attempt(
            request_key=request.key,
            number=self._ledger.next_attempt(self._evaluation, request.key),
            session=self._session,
            started_at=time.time(),
            local=local,
        )
        self._ledger.write_attempt(self._evaluation, row)
        spent = worst
        try:
            outcome = await self._executor.generate(request)
            if not local:
                spent = settled(worst, outcome) if isinstance(outcome, Reply) else failed(worst, outcome)
        finally:
            await self._budget.settle(worst, spent)
        return self._settle(request, row, outcome, tries, last=last)

    def _settle(self, request: Request, row: Attempt, outcome: Reply | Fault, tries: int, *, last: bool) -> Trial:
        """Write the end of the attempt and, if it settles the trial, the trial in the same transaction."""
        if isinstance(outcome, Fault):
            fault = outcome.model_copy(update={"attempts": tries})
            trial = Trial(key=request.trial, request=request, fault=fault)
            ended = row.model_copy(update={"ended_at": time.time(), "fault": fault})
            final = last or not fault.retryable
            self._ledger.end_attempt(self._evaluation, ended, trial if final else None)
            return trial
        reply = _with_gpu_cost(request, outcome)
        trial = Trial(key=request.trial, request=request, reply=reply)
        ended = row.model_copy(
            update={
                "ended_at": time.time(),
                "usage": reply.usage,
                "cost_usd": reply.cost_usd,
                "served_model": reply.served_model,
            }
        )
        self._ledger.end_attempt(self._evaluation, ended, trial)
        return trial

    # -- replays -------------------------------------------------------------------------------------------------------

    async def replay(self, trial: Trial, keys: Sequence[ReplayKey]) -> None:
        """Execute one trial's reply through the given paths and store the facts together."""
        if not keys or trial.reply is None:
            return
        deliveries = {key: self._deliver(trial.reply, key) for key in keys}
        task = self._plan.tasks[trial.key.task]
        jobs = [
            ReplayJob(key=key, task=task, commands=tuple(action.command for action in delivery.actions))
            for key, delivery in deliveries.items()
        ]
        async with self._replaying:
            results = await self._executor.replay(jobs)
        replays = [self._record(job.key, deliveries[job.key], result) for job, result in zip(jobs, results, strict=True)]
        self._ledger.write_replays(self._evaluation, replays)
        self._progress.note(replays=len(replays))
        for replay in replays:
            if replay.fault:
                self._progress.note(fault=replay.fault)

    def _deliver(self, reply: Reply, key: ReplayKey) -> Delivery:
        return self._plan.paths[key.path].deliver(reply, encoded=key.encoded)

    def _record(self, key: ReplayKey, delivery: Delivery, result: Execution | Fault) -> Replay:
        name = self._plan.paths[key.path].name
        if isinstance(result, Fault):
            return Replay(key=key, transport=name, delivery=delivery, fault=result)
        execution = _lighter(result, self._plan.tasks[key.trial.task])
        return Replay(key=key, transport=name, delivery=delivery, execution=execution)

    async def repeat(self, trials: Iterable[Trial], keys: Callable[[TrialKey], Sequence[ReplayKey]]) -> None:
        """Replay again what a control found to differ."""
        async with asyncio.TaskGroup() as group:
            for trial in trials:
                group.create_task(self.replay(trial, keys(trial.key)))


def _lighter(execution: Execution, task: Task) -> Execution:
    """Without the contents of paths that are not compared (their digests stay): a git repository would fill the ledger."""
    if not task.ignore:
        return execution
    entries = tuple(
        entry.model_copy(update={"content": None}) if task.ignores(entry.path) else entry for entry in execution.state.entries
    )
    return execution.model_copy(update={"state": execution.state.model_copy(update={"entries": entries})})


class _WaitAsTold(wait_base):
    """Exponential backoff with jitter, but never shorter than the server's own Retry-After, both bounded."""

    def __init__(self, longest_s: float) -> None:
        self._longest_s = longest_s
        self._backoff = wait_exponential_jitter(initial=0.5, max=longest_s, jitter=0.5)

    def __call__(self, retry_state: RetryCallState) -> float:
        trial: Trial | None = retry_state.outcome.result() if retry_state.outcome else None
        told = trial.fault.retry_after_s if trial and trial.fault else None
        return min(max(told or 0.0, self._backoff(retry_state)), self._longest_s)


def _over_budget(limit: str, attempts: int) -> Fault:
    return Fault(boundary="budget", type="budget", message=f"limit {limit} reached", attempts=attempts)


def _with_gpu_cost(request: Request, reply: Reply) -> Reply:
    """The cost of a model that is paid by the hour: its latency at the machine's price, as if it served one request at a time."""
    if request.gpu_usd_per_hour is None or reply.latency_s is None:
        return reply
    return reply.model_copy(update={"cost_usd": reply.latency_s * request.gpu_usd_per_hour / 3600})
