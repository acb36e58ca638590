"""A shell for a person in a job's room: everything is as a command would find it, and no command was run.

On a terminal the shell gets a pseudo-terminal of its own: it has job control, and what runs in it can't push characters into
the terminal of whoever looks. Without a terminal it reads its lines from standard input to the end.
"""

import contextlib
import fcntl
import os
import select
import sys
import termios
import tty
from collections.abc import Iterator

from crosspath.adapters.sandboxing.bubblewrap_room import BubblewrapRoom
from crosspath.adapters.sandboxing.bubblewrap_start import Running
from crosspath.adapters.sandboxing.capture import Capture
from crosspath.adapters.sandboxing.environment import command_environment, environment
from crosspath.adapters.sandboxing.jobs import Start
from crosspath.errors import SandboxError
from crosspath.types import Command, ReplayJob, Task

_LONGEST_S = 86_400.0
_INTERACTIVE = (b"setsid", b"-c", b"-w", b"bash", b"--norc", b"--noprofile", b"-i")
_SCRIPTED = (b"bash", b"--norc", b"--noprofile", b"-s")


def open_shell(room: BubblewrapRoom, job: ReplayJob) -> int:
    """Set the task up, open the shell, and return its exit status.

    Raises:
        SandboxError: the setup line failed, or the shell could not be started.
    """
    _set_up(room, job.task)
    command = job.commands[0] if job.commands else Command(argv=())
    room.hand_in(command)
    if sys.stdin.isatty():
        with _terminal_of(room, _start(room, job.task, command, _INTERACTIVE)) as shell:
            return shell.interact()
    start = _start(room, job.task, command, _SCRIPTED, sys.stdin.buffer.read())
    result = room.start(start)
    for stream, output in ((sys.stdout, result.stdout), (sys.stderr, result.stderr)):
        stream.buffer.write(output.data)
        stream.flush()
    return 1 if result.exit_code is None else result.exit_code


def _set_up(room: BubblewrapRoom, task: Task) -> None:
    if task.setup is None:
        return
    argv = (b"bash", b"-c", task.setup.encode("utf-8", "surrogateescape"))
    result = room.start(Start(argv, environment(room.places, task.env), timeout_s=60))
    if result.exit_code != 0:
        raise SandboxError(f"the setup line ended with {result.exit_code}")


def _start(room: BubblewrapRoom, task: Task, command: Command, argv: tuple[bytes, ...], stdin: bytes = b"") -> Start:
    env = command_environment(room.places, task, command)
    env |= {"TERM": os.environ.get("TERM", "dumb"), "PS1": "before the command $ ", "HISTFILE": ""}
    return Start(
        argv, env, _LONGEST_S, stdin=stdin, binds=command.binds, packages=command.packages, files=bool(command.files), out=True
    )


@contextlib.contextmanager
def _terminal_of(room: BubblewrapRoom, start: Start) -> "Iterator[_Shell]":
    argv = room._argv(start, [(room._reachable(bind), bind) for bind in start.binds])
    with _Shell(room.cage.spawner, room.cage.cgroup, argv, start, room.limits, room.cage.filter) as shell:
        yield shell


class _Shell(Running):
    """A start whose three streams are one pseudo-terminal."""

    def __enter__(self) -> "_Shell":
        super().__enter__()
        return self

    def _spawn(self, ours: contextlib.ExitStack, theirs: contextlib.ExitStack) -> None:
        self._terminal, slave = os.openpty()
        size = fcntl.ioctl(sys.stdin, termios.TIOCGWINSZ, b"\0" * 8)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, size)
        self._capture = Capture(None, b"", *_ended_pipes(), 0)
        ours.callback(self._capture.close)
        ours.callback(os.close, self._terminal)
        theirs.callback(os.close, slave)
        self._open_controls(ours, theirs, [slave, slave, slave])

    def interact(self) -> int:
        """Connect the person with the shell until it ends; returns its exit status."""
        self._hold_first_process()
        os.write(self._block_fd, b"x")
        before = termios.tcgetattr(sys.stdin)
        tty.setraw(sys.stdin)
        try:
            self._relay()
        finally:
            termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
        self._kill_and_wait()
        return self._exit_status()

    def _relay(self) -> None:
        here = sys.stdin.fileno()
        while True:
            ready, _, _ = select.select([here, self._terminal, self._mark_fd, self._pidfd], [], [])
            if self._terminal in ready:
                if not (chunk := _read(self._terminal)):
                    return
                os.write(sys.stdout.fileno(), chunk)
            elif self._has_ended(set(ready)):
                return
            if here in ready:
                os.write(self._terminal, os.read(here, 4096))


def _read(terminal: int) -> bytes:
    """What the shell wrote; nothing once it has gone (Linux says EIO)."""
    try:
        return os.read(terminal, 65_536)
    except OSError:
        return b""


def _ended_pipes() -> tuple[int, int]:
    """Two streams on which nothing comes."""
    readers: list[int] = []
    for _ in range(2):
        reader, writer = os.pipe()
        os.close(writer)
        readers.append(reader)
    return readers[0], readers[1]
