"""Probes in the sandbox: each on the reference path and on another, in fresh work directories, a few at a time."""

import asyncio
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crosspath.app import adapters
from crosspath.app.interruption import interruptible, run_interruptibly
from crosspath.errors import SandboxError
from crosspath.escaping import escape
from crosspath.ports import Executor
from crosspath.scoring.reported import last_error_line, reported_exit, timed_out
from crosspath.spec import Spec
from crosspath.transports import Path, express
from crosspath.transports.outcomes import Outcome
from crosspath.transports.probes import Probe
from crosspath.types import Contract, Delivery, Execution, Fault, ReplayJob, ReplayKey, StateEntry, Task, TrialKey

Notify = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is."""
Encode = Callable[[str], str]
WORKERS_PER_PROCESSOR = 2
"""Half of a start of a sandbox is waiting."""
_TEMPORARY = re.compile(r"/tmp/[A-Za-z]*[._-]?[A-Za-z0-9_]{6,}")
"""Names that are others each time."""
TIMEOUT_S = 10.0
"""Of one probe: far more than any takes under ``bash -c``."""


@dataclass(frozen=True)
class Shot:
    """One probe on one path."""

    probe: Probe
    path: Path
    encode: Encode = str
    """What is done to the command before it is sent."""
    encoded: bool = False
    """Whether the path's own encoding is used."""


@dataclass
class Bench:
    """An open sandbox and the contract in whose shape probes are sent."""

    executor: Executor
    contract: Contract
    notify: Notify
    workers: int
    """Probes that run at once."""
    shots: int = field(default=0, init=False)

    def outcomes(self, shots: Sequence[Shot], what: str) -> list[Outcome]:
        """One per shot, in order.

        Raises:
            SandboxError: one of them could not be observed, twice.
            KeyboardInterrupt: it was interrupted.
        """
        self.shots += len(shots)
        return run_interruptibly(self._all(shots, what)) if shots else []

    async def _all(self, shots: Sequence[Shot], what: str) -> list[Outcome]:
        done = 0

        async def one(shot: Shot) -> Outcome:
            nonlocal done
            found = await self._observed(shot)
            done += 1
            self.notify(what, done, len(shots))
            return found

        self.notify(what, 0, len(shots))
        return list(await asyncio.gather(*map(one, shots)))

    async def _observed(self, shot: Shot) -> Outcome:
        delivery = shot.path.deliver(express(self.contract, shot.encode(shot.probe.command)), encoded=shot.encoded)
        job = _job(shot, delivery)
        (result,) = await self.executor.replay([job])
        if isinstance(result, Fault):
            (result,) = await self.executor.replay([job])
        if isinstance(result, Fault):
            raise SandboxError(result.message)
        return outcome(delivery, result)


@contextmanager
def bench(spec: Spec, contract: Contract, notify: Notify) -> Iterator[Bench]:
    """The sandbox that ``spec`` asks for, open.

    Raises:
        KeyboardInterrupt: it was interrupted; nothing is left running.
    """
    workers = WORKERS_PER_PROCESSOR * len(os.sched_getaffinity(0))
    executing = spec.model_copy(update={"executor": spec.executor.model_copy(update={"replay_workers": workers})})
    with interruptible(), adapters.make_executor("local", executing, {}) as executor:
        yield Bench(executor, contract, notify, workers)


def _job(shot: Shot, delivery: Delivery) -> ReplayJob:
    key = ReplayKey(trial=TrialKey(generation="diagnose", task="probe", index=0), path=shot.path.digest, encoded=shot.encoded)
    task = Task(id="probe", family="probe", settle_s=shot.probe.settle_s, timeout_s=TIMEOUT_S)
    return ReplayJob(key=key, task=task, commands=tuple(action.command for action in delivery.actions))


def outcome(delivery: Delivery, execution: Execution) -> Outcome:
    """What an execution left and told."""
    late = any(map(timed_out, execution.results))
    told = None if delivery.problem or late else reported_exit(execution)
    error = delivery.reason or ("the time limit ended it" if late else last_error_line(execution))
    return Outcome(
        files=dict(map(_entry, execution.state.entries)),
        told=told,
        error=_TEMPORARY.sub("/tmp/...", error),
        timed_out=late,
        duration_s=sum(result.duration_s for result in execution.results),
    )


def _entry(entry: StateEntry) -> tuple[str, bytes | None]:
    name = escape(entry.path)
    if entry.kind == "file":
        return name, entry.content if entry.content is not None else entry.sha256.encode()
    return (f"{name}/", None) if entry.kind == "directory" else (name, f"({entry.kind}) {escape(entry.target)}".encode())
