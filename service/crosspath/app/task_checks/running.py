"""Carries the trials out: a few at a time on every processor, in the sandbox, judged by a validator."""

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence

from crosspath.app import adapters
from crosspath.app.interruption import interruptible, run_interruptibly
from crosspath.app.task_checks.trials import Trial
from crosspath.errors import SandboxError
from crosspath.ports import Executor, Validator
from crosspath.scoring import build_tables, scorable, score
from crosspath.scoring.suites import load_suite
from crosspath.spec import Spec
from crosspath.spec.sections import ExecutorSection
from crosspath.types import Delivery, Execution, Fault, Replay, ReplayJob, ReplayKey, Reply, Score, Task, Text, TrialKey

Notify = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""
WORKERS_PER_PROCESSOR = 2
"""Half of a start of a sandbox is waiting."""
BATCH = 8
"""Trials that one worker takes at once."""


def execute(trials: Sequence[Trial], notify: Notify) -> list[Replay]:
    """Replays of all trials, in order.

    Raises:
        SandboxError: not one could be executed, for there is no sandbox on this machine.
        KeyboardInterrupt: it was interrupted; nothing is left running.
    """
    prepared = [_prepared(number, trial) for number, trial in enumerate(trials)]
    jobs = [
        ReplayJob(key=key, task=trial.executed or trial.task, commands=tuple(action.command for action in delivery.actions))
        for trial, (key, delivery) in zip(trials, prepared, strict=True)
    ]
    spec = Spec(executor=ExecutorSection(replay_workers=WORKERS_PER_PROCESSOR * len(os.sched_getaffinity(0))))
    with interruptible(), adapters.make_executor("local", spec, {}) as executor:
        results = run_interruptibly(_run(executor, jobs, notify))
    _require_one(results)
    return [
        Replay(
            key=key,
            transport=trial.route.name,
            delivery=delivery,
            execution=result if isinstance(result, Execution) else None,
            fault=result if isinstance(result, Fault) else None,
        )
        for trial, (key, delivery), result in zip(trials, prepared, results, strict=True)
    ]


async def _run(executor: Executor, jobs: Sequence[ReplayJob], notify: Notify) -> list[Execution | Fault]:
    done = 0

    async def batch(first: int) -> tuple[Execution | Fault, ...]:
        nonlocal done
        results = await executor.replay(jobs[first : first + BATCH])
        done += len(results)
        notify("trials", done, len(jobs))
        return results

    notify("trials", 0, len(jobs))
    batches = await asyncio.gather(*(batch(first) for first in range(0, len(jobs), BATCH)))
    return [result for results in batches for result in results]


def _require_one(results: Sequence[Execution | Fault]) -> None:
    """Where not one was executed, it is the sandbox that lacks."""
    faults = [result for result in results if isinstance(result, Fault)]
    if faults and len(faults) == len(results):
        raise SandboxError(faults[0].message)


def _prepared(number: int, trial: Trial) -> tuple[ReplayKey, Delivery]:
    key = TrialKey(generation="check", task=trial.task.id, index=number)
    delivery = trial.route.deliver(Reply(text=trial.command), encoded=trial.encoded)
    return ReplayKey(trial=key, path=trial.route.digest, encoded=trial.encoded), delivery


def judged(validator: Validator, suite: Text, tasks: Mapping[str, Task], replays: Sequence[Replay]) -> list[Score | None]:
    """A score per replay, by position; None where it could not be observed.

    Raises:
        ConfigError: the suite is not acceptable.
        ValidatorError: it could not be carried out.
    """
    executed = [replay for replay in replays if scorable(replay)]
    with_rows = [replay for replay in executed if replay.execution is not None]
    checks = validator.validate(suite, build_tables(tasks, with_rows, load_suite(suite).columns)) if with_rows else {}
    found = {id(replay): checks[row] for row, replay in enumerate(with_rows)}
    return [
        score(replay, tasks[replay.key.trial.task], found.get(id(replay), ())) if scorable(replay) else None for replay in replays
    ]
