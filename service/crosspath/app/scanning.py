"""``crosspath scan``: logged commands through paths, to a recorder in place of the innermost program."""

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from crosspath.analysis.arrivals import Change, change, same_words, wrapped_wrongly
from crosspath.app.adapters import make_executor
from crosspath.app.interruption import interruptible, run_interruptibly
from crosspath.app.resolve import Own
from crosspath.app.scan_lanes import Arrival, ChainLane, HarnessLane, lane_of, probe_of, unseen
from crosspath.app.scan_sources import Commands, Logged
from crosspath.errors import SandboxError
from crosspath.ports import Executor
from crosspath.transports import Path, assemble, find_path
from crosspath.transports.arrivals import parse_command, trouble
from crosspath.transports.layers import UndeliverableError
from crosspath.types import Command, ExecResult, Execution, Fault, ReplayJob, ReplayKey, Task, TrialKey

Status = Literal["same", "same words", "changed", "undeliverable", "unknown"]
Notify = Callable[[str, int, int], None]
"""Told the path, how many of its commands are done, and how many there are."""
WORKERS_PER_PROCESSOR = 2
"""Half of a start of a sandbox is waiting."""
TIMEOUT_S = 30.0
"""Of one command: more than what types a text into a terminal takes."""


@dataclass(frozen=True)
class Scanned:
    """One command on one path."""

    command: Logged
    status: Status
    intended: str
    """What should have arrived: the command, with the path's wrapper around it."""
    arrived: tuple[str, ...] = ()
    change: Change | None = None
    reason: str = ""
    """Of ``undeliverable`` and ``unknown``."""


@dataclass
class PathScan:
    """All commands on one path."""

    path: Path
    results: list[Scanned] = field(default_factory=list[Scanned])
    wrapper: str | None = None
    unseen: tuple[str, ...] = ()
    why_not: str = ""
    """Why it could not be scanned; empty: it was."""
    computed: bool = True
    """Whether every text was followed without a sandbox, because nothing on the path interprets it."""

    def count(self, *statuses: Status) -> int:
        """Commands, equal ones as often as they were logged."""
        return sum(one.command.times for one in self.results if one.status in statuses)


@dataclass
class Scan:
    """A file's commands on all paths."""

    commands: Commands
    chosen: tuple[Logged, ...]
    """Those that were to be scanned."""
    paths: list[PathScan] = field(default_factory=list[PathScan])
    interrupted: bool = False


def scan(commands: Commands, names: Sequence[str], own: Own, *, limit: int | None, notify: Notify) -> Scan:
    """Follow each different command along each path. A scan that was interrupted holds what was done by then.

    Raises:
        ConfigError: there is no such path.
        SandboxError: the sandbox could not be started.
    """
    specs = own.path_specs()
    paths = [assemble(find_path(name, specs), None, "none") for name in names]
    found = Scan(commands, _chosen(list(commands.different.values()), limit))
    workers = WORKERS_PER_PROCESSOR * len(os.sched_getaffinity(0))
    spec = own.spec.model_copy(update={"executor": own.spec.executor.model_copy(update={"replay_workers": workers})})
    try:
        with interruptible(), make_executor("local", spec, {}) as executor:
            for path in paths:
                scanner = _Scanner(executor, path, workers, notify)
                found.paths.append(scanner.found)
                run_interruptibly(scanner.all(found.chosen))
    except KeyboardInterrupt:
        found.interrupted = True
    return found


def _chosen(different: Sequence[Logged], limit: int | None) -> tuple[Logged, ...]:
    """All, or so many that are evenly spread over the file."""
    if limit is None or limit >= len(different):
        return tuple(different)
    return tuple(different[number * len(different) // limit] for number in range(limit))


class _Scanner:
    """One path and the sandboxes that it is tried in."""

    def __init__(self, executor: Executor, path: Path, workers: int, notify: Notify) -> None:
        self.found = PathScan(path, unseen=unseen(path))
        self._executor = executor
        self._lane: ChainLane | HarnessLane = lane_of(path)
        self._workers = workers
        self._notify = notify

    async def all(self, chosen: Sequence[Logged]) -> None:
        """Every command, in any order; the results are in the file's order."""
        if isinstance(self._lane, HarnessLane) and chosen:
            await self._probe(self._lane, chosen[0])
        self.found.wrapper = self._lane.wrapper.words if self._lane.wrapper else None
        self._notify(self.found.path.name, 0, len(chosen))
        if not self.found.why_not:
            waiting = iter(chosen)
            await asyncio.gather(*(self._work(waiting, len(chosen)) for _ in range(self._workers)))
        order = {one.text: number for number, one in enumerate(chosen)}
        self.found.results.sort(key=lambda one: order[one.command.text])

    async def _probe(self, lane: HarnessLane, one: Logged) -> None:
        why_not: str | None = None
        while why_not is None:
            result = await self._run(lane, (lane.command(probe_of(one)),))
            if isinstance(result, Fault):
                raise SandboxError(result.message)
            why_not = lane.learn(lane.read(result.results[0]))
        self.found.why_not = why_not

    async def _work(self, waiting: Iterable[Logged], total: int) -> None:
        for one in waiting:
            if self.found.why_not:
                return
            scanned = await self._one(one)
            if scanned is not None:
                self.found.results.append(scanned)
            self._notify(self.found.path.name, len(self.found.results), total)
            await asyncio.sleep(0)  # a path that needs no sandbox can be interrupted, too

    async def _one(self, one: Logged) -> Scanned | None:
        """None: the path can't be scanned here at all."""
        wrapper = self._lane.wrapper
        intended = wrapper.wrap(one.text) if wrapper else one.text
        try:
            known = self._lane.known(one)
            commands = (() if known else (self._lane.command(one),)) + ((parse_command(wrapper, one.text),) if wrapper else ())
        except UndeliverableError as error:
            return Scanned(one, "undeliverable", intended, reason=str(error))
        results = list[ExecResult]()
        if commands:
            execution = await self._run(self._lane, commands)
            if isinstance(execution, Fault):
                return None if self.found.why_not else Scanned(one, "unknown", intended, reason=execution.message)
            results = list(execution.results)
        self.found.computed = self.found.computed and known is not None
        arrival = known or self._lane.read(results[0])
        parsed = results[-1].stdout.data if wrapper and not results[-1].timed_out else None
        return self._scanned(one, intended, arrival, parsed)

    def _scanned(self, one: Logged, intended: str, arrival: Arrival, parsed: bytes | None) -> Scanned:
        if not arrival.known:
            return Scanned(one, "unknown", intended, reason="the recorder's account is lost")
        found = change(intended, arrival.texts, refused=arrival.refused, said=arrival.said, ended=arrival.ended)
        if found is None and parsed is not None and self._lane.wrapper is not None:
            wrong = trouble(self._lane.wrapper, one.text, parsed)
            found = wrapped_wrongly(wrong[0], intended, wrong[1]) if wrong else None
        if found is None:
            return Scanned(one, "same", intended, arrival.texts)
        status: Status = "same words" if same_words(intended, arrival.texts) else "changed"
        return Scanned(one, status, intended, arrival.texts, found)

    async def _run(self, lane: ChainLane | HarnessLane, commands: tuple[Command, ...]) -> Execution | Fault:
        """In a fresh sandbox; once more where that failed.

        Raises:
            SandboxError: no sandbox can be started.
        """
        key = ReplayKey(trial=TrialKey(generation="scan", task="scan", index=0), path=self.found.path.digest)
        task = Task(id="scan", family="scan", programs=lane.programs, timeout_s=TIMEOUT_S)
        result: Execution | Fault | None = None
        for _ in range(2):
            (result,) = await self._executor.replay([ReplayJob(key=key, task=task, commands=commands)])
            if isinstance(result, Execution):
                return result
            if result.type == "missing_program":
                self.found.why_not = result.message
                return result
        assert isinstance(result, Fault)
        if result.type == "start_failed":
            raise SandboxError(result.message)
        return result
