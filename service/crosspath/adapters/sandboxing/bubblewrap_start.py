"""One start of ``bwrap``, from before its first instruction until its first process is known dead.

``bwrap`` blocks its first process after all mounts are made; meanwhile we take a pidfd of that process and move it into the
control group. Only then the command starts. The first process of a process namespace dies last: when the pidfd is
readable, nothing of the command is alive. (That ``bwrap`` itself has returned does not mean that.)

The exit status is what the first process says through a socket of its own: ``bwrap``'s own first process would report it, but
a command can write into that one's memory. Ours is a shell whose program file nobody inside may read, which makes the kernel
close its memory and descriptors to all.
"""

import contextlib
import json
import os
import select
import signal
import socket
import time
from collections.abc import Sequence

from crosspath.adapters.sandboxing.capture import Capture, Pumped, pump
from crosspath.adapters.sandboxing.cgroups import Cgroup
from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.adapters.sandboxing.jobs import Start
from crosspath.adapters.sandboxing.spawning import Spawner
from crosspath.types import ExecResult, SandboxLimits

STATUS_FD, BLOCK_FD, MARK_FD, HOLD_FD, FILTER_FD = 3, 4, 5, 6, 7
"""Descriptor numbers in ``bwrap``."""
FIRST_PROCESS = (
    f'exec 7>&2 2>/dev/null; command -v "$1" >/dev/null || {{ echo missing >&{MARK_FD}; exit; }}; '
    f'(exec "$@" 2>&7 7>&- {MARK_FD}>&- {HOLD_FD}<&-); '
    f"echo $? >&{MARK_FD}; exec {MARK_FD}>&- 7>&-; read -r _ <&{HOLD_FD}"
)
"""Shell text of process 1, which the command can't kill: says how the command ended, then stays until it is killed."""
_START_DEADLINE_S = 30.0
_DEATH_DEADLINE_S = 30.0
_GREATEST_STATUS = 255


class Running:
    """A context manager: inside it the command may be alive, after it the command and all it started are dead."""

    def __init__(
        self,
        spawner: Spawner,
        cgroup: Cgroup | None,
        argv: Sequence[bytes],
        start: Start,
        limits: SandboxLimits,
        filter_: bytes | None,
    ) -> None:
        self._spawner, self._cgroup, self._argv, self._start, self._limits = spawner, cgroup, argv, start, limits
        self._filter = filter_
        self._pid, self._pidfd = 0, -1
        self._status = self._mark = b""

    def __enter__(self) -> "Running":
        with contextlib.ExitStack() as ours, contextlib.ExitStack() as theirs:
            self._spawn(ours, theirs)
            self._ours = ours.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._ours:
            self._kill_and_wait()

    def _spawn(self, ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> None:
        stdin_read, stdin = _pipe() if self._start.stdin else (_dev_null(), None)
        (stdout, stdout_write), (stderr, stderr_write) = _pipe(), _pipe()
        self._capture = Capture(stdin, self._start.stdin, stdout, stderr, self._limits.output_bytes)
        ours.callback(self._capture.close)
        self._open_controls(ours, theirs, [stdin_read, stdout_write, stderr_write])

    def _open_controls(self, ours: contextlib.ExitStack, theirs: contextlib.ExitStack, streams: Sequence[int]) -> None:
        """Open what else is between us and ``bwrap``, and start it with ``streams`` as its first three descriptors."""
        self._status_fd, status_write = _pipe()
        block_read, self._block_fd = _pipe()
        # Sockets, because a pipe could be opened a second time through /proc.
        (self._mark_fd, mark), (hold, held) = _sockets(), _sockets()
        given = [*streams, status_write, block_read, mark, held]
        if self._filter is not None:
            given.append(_pipe_with(self._filter))
        for stack, fds in ((ours, (self._status_fd, self._block_fd, self._mark_fd, hold)), (theirs, set(given))):
            for fd in fds:
                stack.callback(os.close, fd)
        self._spawner.spawn(self._argv, given)

    def finish(self) -> ExecResult:
        """Let the command run, and say what happened.

        Raises:
            JobFailure: it did not start, or does not die.
        """
        self._hold_first_process()
        started = time.monotonic()
        with contextlib.suppress(BrokenPipeError):  # it died while being set up: no exit status will be reported
            os.write(self._block_fd, b"x")
        self._capture.watch(self._mark_fd)
        pumped = pump(self._capture, self._has_ended, started + self._start.timeout_s, self._limits.output_total_bytes)
        duration_s = time.monotonic() - started
        self._capture.unwatch(self._mark_fd)
        leftovers = None
        if self._start.settle_s and not _killed(pumped):
            deadline = time.monotonic() + self._start.settle_s
            after = pump(self._capture, self._is_dead, deadline, self._limits.output_total_bytes)
            pumped = Pumped(timed_out=False, too_much_output=after.too_much_output)
            leftovers = self._cgroup.count_processes({self._pid}) if self._cgroup else None
        self._kill_and_wait()
        return self._result(pumped, None if _killed(pumped) else self._exit_status(), duration_s, leftovers)

    def _has_ended(self, ready: set[int]) -> bool:
        if self._mark_fd in ready:
            self._mark = os.read(self._mark_fd, 16)
            return True
        return self._is_dead(ready)

    def _result(self, pumped: Pumped, exit_code: int | None, duration_s: float, leftovers: int | None = None) -> ExecResult:
        self._capture.drain()
        return ExecResult(
            exit_code=exit_code,
            stdout=self._capture.stdout,
            stderr=self._capture.stderr,
            duration_s=duration_s,
            timed_out=pumped.timed_out,
            limits_hit=("time",) if pumped.timed_out else ("output",) if pumped.too_much_output else (),
            leftover_processes=leftovers,
        )

    def _is_dead(self, ready: set[int]) -> bool:
        return self._pidfd in ready

    def _hold_first_process(self) -> None:
        deadline = time.monotonic() + _START_DEADLINE_S
        while b"\n" not in self._status:
            if not self._read_status(deadline):
                raise self._not_started()
        self._pid = json.loads(self._status.split(b"\n", 1)[0])["child-pid"]
        try:
            self._pidfd = os.pidfd_open(self._pid)
            self._ours.callback(os.close, self._pidfd)
            if self._cgroup is not None:
                self._cgroup.add(self._pid)
        except ProcessLookupError as error:
            raise self._not_started() from error
        self._capture.watch(self._pidfd)

    def _not_started(self) -> JobFailure:
        self._capture.drain()
        said = self._capture.stderr.data[-300:].decode(errors="replace").strip()
        return JobFailure("start_failed", said or "bwrap ended without a word")

    def _exit_status(self) -> int:
        """What process 1 said; it is dead."""
        text = self._mark.strip()
        if text.isdigit() and len(text) <= 3 and int(text) <= _GREATEST_STATUS:
            return int(text)
        if text == b"missing":
            raise JobFailure("start_failed", f"there is no program {self._start.program!r}")
        if text:
            raise JobFailure("start_failed", f"process 1 said {text!r}")
        # It was killed before it could speak, for lack of memory or together with the spawner, or it never was.
        deadline = time.monotonic() + _DEATH_DEADLINE_S
        while self._read_status(deadline):
            pass
        for line in self._status.splitlines()[1:]:
            if 128 < (status := json.loads(line)["exit-code"]) <= _GREATEST_STATUS:
                return status
        raise self._not_started()

    def _read_status(self, deadline: float) -> bool:
        """Read more of the status document; False at its end."""
        poll = select.poll()
        poll.register(self._status_fd, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise JobFailure("start_failed", "bwrap does not answer", retryable=True)
        chunk = os.read(self._status_fd, 4096)
        self._status += chunk
        return bool(chunk)

    def _kill_and_wait(self) -> None:
        if self._pidfd < 0:
            return
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        poll = select.poll()
        poll.register(self._pidfd, select.POLLIN)
        if not poll.poll(_DEATH_DEADLINE_S * 1000):
            raise JobFailure("not_dead", f"processes are alive {_DEATH_DEADLINE_S:.0f} s after they were killed")


def _killed(pumped: Pumped) -> bool:
    return pumped.timed_out or pumped.too_much_output


def _pipe() -> tuple[int, int]:
    return os.pipe2(os.O_CLOEXEC)


def _sockets() -> tuple[int, int]:
    one, other = socket.socketpair()
    return one.detach(), other.detach()


def _pipe_with(data: bytes) -> int:
    """A pipe that holds ``data`` and then ends; less than a page."""
    reader, writer = _pipe()
    os.write(writer, data)
    os.close(writer)
    return reader


def _dev_null() -> int:
    return os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
