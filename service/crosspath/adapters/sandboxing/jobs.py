"""One job, the same for every adapter: fixture, setup, commands, state, observers."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from crosspath.adapters.sandboxing.environment import Places, command_argv, command_environment, environment
from crosspath.adapters.sandboxing.failures import fault_of
from crosspath.adapters.sandboxing.final_state import HASHED_BYTES_PER_DISK, read_report, read_state
from crosspath.adapters.sandboxing.observing import observer_argv, observer_environment, pack_check
from crosspath.adapters.sandboxing.packages import require_programs
from crosspath.adapters.sandboxing.repositories import Untrustworthy, disarm_repositories
from crosspath.errors import SandboxError, boundary
from crosspath.types import (
    Command,
    ExecResult,
    Execution,
    Fault,
    FinalState,
    Observation,
    Observer,
    Package,
    ReplayJob,
    SandboxLimits,
    Task,
)

REPORT_CAP_BYTES = 4 * 1024 * 1024
"""Of ``Command.report``; it holds the path's own account of one command, output included."""
_SETUP_TIMEOUT_S = 60.0
NOT_STARTED = ExecResult(exit_code=None, duration_s=0.0, timed_out=True, limits_hit=("time",))
"""Of a command that did not get its turn."""


@dataclass(frozen=True)
class Start:
    """One start of a program in a room."""

    argv: Sequence[bytes]
    env: Mapping[str, str]
    timeout_s: float
    stdin: bytes = b""
    settle_s: float = 0.0
    """How long what it left behind stays alive after its end."""
    binds: Sequence[str] = ()
    files: bool = False
    """Whether the directory of ``IN`` is needed."""
    out: bool = False
    """Whether the directory of ``OUT`` is needed."""
    packages: Sequence[Package] = ()
    """Those that are visible."""
    observing: bool = False
    """The work directory is read-only, home and temporary directory are fresh."""

    @property
    def program(self) -> str:
        """The first word, for messages."""
        return self.argv[0].decode(errors="replace") if self.argv else ""


class Room(Protocol):
    """The fresh directories of one job, and a way to start programs in them."""

    places: Places
    work: int
    """The work directory, open."""
    out: int

    def hand_in(self, command: Command) -> None:
        """Make ``command.files`` the content of the directory of ``IN``, and nothing else; empty ``OUT``."""
        ...

    def start(self, start: Start) -> ExecResult:
        """Run a program; when this returns, everything that it started is known dead.

        Raises:
            SandboxError: it could not be started, or not be observed.
        """
        ...


class _Counting:
    """Counts the starts of one job."""

    def __init__(self, room: Room) -> None:
        self._room = room
        self.starts = 0

    def start(self, start: Start) -> ExecResult:
        self.starts += 1
        return self._room.start(start)


def run_job(
    job: ReplayJob, limits: SandboxLimits, open_room: Callable[[Task], AbstractContextManager[Room]]
) -> Execution | Fault:
    """Everything about one job; what goes wrong with the sandbox becomes a fault."""
    try:
        with boundary(SandboxError, "the sandbox failed"), open_room(job.task) as room:
            return _run(job, limits, room)
    except SandboxError as error:
        return fault_of(error)


def _run(job: ReplayJob, limits: SandboxLimits, room: Room) -> Execution:
    require_programs(job.commands)
    counting = _Counting(room)
    failed = _set_up(job.task, room, counting)
    results: tuple[ExecResult, ...] = ()
    if failed is None:
        results = tuple(_run_commands(job, limits, room, counting))
    state = read_state(room.work, entries=limits.inodes, disk_bytes=limits.disk_bytes, file_cap_bytes=limits.file_cap_bytes)
    if job.task.observers and failed is None:
        state = _observed(job.task, state, limits, room, counting)
    return Execution(key=job.key, results=results, state=state, setup_failed=failed, starts=counting.starts)


def _set_up(task: Task, room: Room, counting: _Counting) -> str | None:
    if task.setup is None:
        return None
    argv = (b"bash", b"-c", task.setup.encode("utf-8", "surrogateescape"))
    done = counting.start(Start(argv, environment(room.places, task.env), timeout_s=_SETUP_TIMEOUT_S))
    if done.exit_code == 0:
        return None
    return f"the setup line ended with {done.exit_code}: {done.stderr.data[-300:].decode(errors='replace')}"


def _run_commands(job: ReplayJob, limits: SandboxLimits, room: Room, counting: _Counting) -> Iterator[ExecResult]:
    """One after the other, until the time of all of them together is over; what does not get its turn is not started."""
    left_s, last = job.task.timeout_s, min(len(job.commands), limits.commands) - 1
    for number, command in enumerate(job.commands):
        if number > last or left_s <= 0:
            yield NOT_STARTED
            continue
        settle_s = job.task.settle_s if number == last else 0.0
        result = _run_command(job.task, command, room, counting, timeout_s=left_s, settle_s=settle_s)
        left_s = 0.0 if result.timed_out else left_s - result.duration_s
        yield result


def _run_command(
    task: Task, command: Command, room: Room, counting: _Counting, *, timeout_s: float, settle_s: float
) -> ExecResult:
    room.hand_in(command)
    start = Start(
        command_argv(room.places, command),
        command_environment(room.places, task, command),
        timeout_s=timeout_s,
        stdin=command.stdin,
        settle_s=settle_s,
        binds=command.binds,
        packages=command.packages,
        files=bool(command.files),
        out=command.report is not None or any("{out}" in value for _, value in command.env),
    )
    result = counting.start(start)
    if command.report is None:
        return result
    return result.model_copy(update={"report": read_report(room.out, command.report, REPORT_CAP_BYTES)})


def _observed(task: Task, state: FinalState, limits: SandboxLimits, room: Room, counting: _Counting) -> FinalState:
    try:
        packs = disarm_repositories(room.work, state, limits.disk_bytes * HASHED_BYTES_PER_DISK)
        trusted = not packs or _succeeds(task, pack_check(packs), room, counting)
    except Untrustworthy:
        trusted = False
    if trusted:
        observations = tuple(_observe(task, observer, room, counting) for observer in task.observers)
    else:
        observations = tuple(Observation(name=observer.name, exit_code=None, output=b"") for observer in task.observers)
    return state.model_copy(update={"observations": observations})


def _succeeds(task: Task, argv: Sequence[bytes], room: Room, counting: _Counting) -> bool:
    start = Start(argv, observer_environment(room.places, task), timeout_s=task.timeout_s, observing=True)
    return counting.start(start).exit_code == 0


def _observe(task: Task, observer: Observer, room: Room, counting: _Counting) -> Observation:
    env = observer_environment(room.places, task)
    result = counting.start(Start(observer_argv(observer), env, timeout_s=task.timeout_s, observing=True))
    return Observation(
        name=observer.name, exit_code=result.exit_code, output=result.stdout.data, truncated=result.stdout.truncated
    )
