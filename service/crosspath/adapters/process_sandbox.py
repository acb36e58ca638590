"""``none``: no sandbox at all, an explicit choice. Fresh directories, a process group, a deadline, and little else.

Replies run as the user who runs Crosspath: they can read what that user can read, use the network and fill the disk. What is
missing is listed by ``describe`` and recorded with every evaluation.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from crosspath.adapters.sandboxing.capture import Capture, Pumped, pump
from crosspath.adapters.sandboxing.environment import Places, environment
from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.adapters.sandboxing.jobs import Start, run_job
from crosspath.adapters.sandboxing.leftovers import left_behind, own_prefix
from crosspath.adapters.sandboxing.packages import package_files
from crosspath.adapters.sandboxing.toolchain import toolchain
from crosspath.adapters.sandboxing.workdir import remove_tree, write_entries
from crosspath.errors import SandboxError
from crosspath.types import Command, ExecResult, Execution, Fault, FileEntry, Package, ReplayJob, SandboxLimits, Task, Toolchain

ENFORCED = ("time", "output")
MISSING = ("disk", "entries", "memory", "processes", "network", "files", "syscalls", "background processes")
_PARTS = ("work", "in", "out", "home", "bin", "lib")
_DEATH_DEADLINE_S = 10.0
_LOOKS_AGAIN_S = 0.05


def _keep_from_ignoring_for_others() -> None:
    """A shell starts ``crosspath run ... &`` with an ignored interrupt, and whatever we start would inherit it: replies that set
    a trap would do otherwise than in a terminal. A handler that does nothing is the same for us, and ends with ``exec``."""
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda _number, _frame: None)


class ProcessSandbox:
    """Executes commands as plain processes. Can be pickled."""

    def __init__(self, limits: SandboxLimits | None = None) -> None:
        self.limits = limits or SandboxLimits()
        self._used: _ProcessRoom | None = None
        self._copies = _Copies()
        self._lock = threading.Lock()
        self._closing = False
        self._looked = False
        _keep_from_ignoring_for_others()

    def __reduce__(self) -> tuple[object, ...]:
        return ProcessSandbox, (self.limits,)

    def run(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        """One result per job, in order.

        Raises:
            SandboxError: not on Linux, or the sandbox was closed meanwhile.
        """
        if not hasattr(os, "pidfd_open"):
            raise SandboxError("the sandbox 'none' needs Linux 5.3 or newer")
        with self._lock:
            self._remove_stale()
            results = tuple(run_job(job, self.limits, self._room) for job in jobs)
            if self._closing:
                raise SandboxError("the sandbox was closed while it was in use")
            return results

    def _remove_stale(self) -> None:
        """Directories of workers that were killed; once."""
        if not self._looked:
            self._looked = True
            for path in left_behind(Path(tempfile.gettempdir()).glob("crosspath-*")):
                with contextlib.suppress(OSError, SandboxError):  # somebody else's, or something still writes into it
                    _remove(str(path))

    def close(self) -> None:
        """End what runs, by whichever thread; the sandbox stays usable."""
        self._closing = True
        try:
            while not self._lock.acquire(timeout=_LOOKS_AGAIN_S):
                if (room := self._used) is not None:
                    room.end_programs()
            self._copies.remove()
            self._lock.release()
        finally:
            self._closing = False

    def describe(self) -> Toolchain:
        """Honest about what is missing."""
        return toolchain("none", ENFORCED, MISSING, self._probe)

    @contextmanager
    def _room(self, task: Task) -> Iterator["_ProcessRoom"]:
        base = tempfile.mkdtemp(prefix=own_prefix())
        with contextlib.ExitStack() as cleanup:
            cleanup.callback(_remove, base)
            for part in _PARTS:
                Path(base, part).mkdir()
            opened = {part: os.open(Path(base, part), os.O_RDONLY | os.O_DIRECTORY) for part in _PARTS}
            for fd in opened.values():
                cleanup.callback(os.close, fd)
            places = Places(*(f"{base}/{part}" for part in _PARTS))
            write_entries(opened["work"], task.fixture)
            write_entries(opened["bin"], [_program(entry, places) for entry in task.programs])
            room = _ProcessRoom(places, opened["work"], opened["out"], opened["in"], opened["lib"], self._copies, self.limits)
            if self._closing:
                raise JobFailure("closed", "the sandbox was closed", retryable=True)
            self._used = room
            cleanup.callback(setattr, self, "_used", None)
            yield room

    def _probe(self, text: str) -> bytes:
        with self._room(Task(id="probe", family="probe")) as room:
            start = Start((b"bash", b"-c", text.encode()), environment(room.places), timeout_s=30)
            return room.start(start).stdout.data


class _Copies:
    """Packages that commands read: one copy for all jobs of a sandbox, in a directory that is made when one is asked for."""

    def __init__(self) -> None:
        self._base: str | None = None
        self._made: set[Package] = set()
        self._end: Callable[[], object] = _nothing

    def place(self, name: Package) -> str:
        """The directory of a package."""
        if self._base is None:
            self._base = tempfile.mkdtemp(prefix=own_prefix())
            self._end = weakref.finalize(self, _remove_own, self._base, os.getpid())
        if name not in self._made:
            root = os.open(self._base, os.O_RDONLY | os.O_DIRECTORY)
            try:
                write_entries(root, package_files(name))
            finally:
                os.close(root)
            self._made.add(name)
        return f"{self._base}/{name}"

    def remove(self) -> None:
        """Take the directory away; the next use makes another."""
        self._end()
        self._base, self._made, self._end = None, set(), _nothing


@dataclass
class _ProcessRoom:
    """Temporary directories of one job; implements ``jobs.Room``."""

    places: Places
    work: int
    out: int
    files: int
    lib: int
    copies: _Copies
    limits: SandboxLimits

    def hand_in(self, command: Command) -> None:
        """Replace the content of ``IN``; empty ``OUT``; show the packages that the command names, and no others."""
        for fd in (self.files, self.out, self.lib):
            for name in os.listdir(fd):  # noqa: PTH208 - of a descriptor
                remove_tree(os.fsencode(name), fd)
        write_entries(self.files, command.files)
        for name in set(command.packages):
            os.symlink(self.copies.place(name), name, dir_fd=self.lib)

    def end_programs(self) -> None:
        """Kill all that can be found of the job, from any thread."""
        for pid in _processes_of(self.places.work):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)

    def start(self, start: Start) -> ExecResult:
        """Run one program in its own process group, then kill all that can be found of it."""
        started = time.monotonic()
        process = self._spawn(start)
        assert process.stdout is not None
        assert process.stderr is not None
        stdin = os.dup(process.stdin.fileno()) if process.stdin is not None else None
        capture = Capture(
            stdin, start.stdin, os.dup(process.stdout.fileno()), os.dup(process.stderr.fileno()), self.limits.output_bytes
        )
        for stream in (process.stdin, process.stdout, process.stderr):
            if stream is not None:
                stream.close()
        try:
            return self._finish(process, capture, start, started)
        finally:
            capture.close()

    def _spawn(self, start: Start) -> "subprocess.Popen[bytes]":
        program = os.fsdecode(start.argv[0]) if start.argv else ""
        try:
            found = shutil.which(program, path=start.env["PATH"])
            if found is None:
                raise JobFailure("start_failed", f"there is no program {program!r}")
            return subprocess.Popen(
                start.argv,
                executable=found,
                stdin=subprocess.PIPE if start.stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=self.places.work,
                env={name: value.encode("utf-8", "surrogateescape") for name, value in start.env.items()},
                umask=0o022,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise JobFailure("start_failed", f"{program}: {error}") from error

    def _finish(self, process: "subprocess.Popen[bytes]", capture: Capture, start: Start, started: float) -> ExecResult:
        ending = os.pidfd_open(process.pid)
        capture.watch(ending)
        try:
            deadline = started + start.timeout_s
            pumped = pump(capture, lambda ready: ending in ready, deadline, self.limits.output_total_bytes)
        finally:
            capture.unwatch(ending)
            os.close(ending)
        duration_s = time.monotonic() - started
        killed = pumped.timed_out or pumped.too_much_output
        if start.settle_s and not killed:
            until = time.monotonic() + start.settle_s
            after = pump(capture, lambda _: False, until, self.limits.output_total_bytes)
            pumped = Pumped(timed_out=False, too_much_output=after.too_much_output)
        leftovers = self._kill(process)
        capture.drain()
        code = process.returncode
        return ExecResult(
            exit_code=None if killed else 128 - code if code < 0 else code,
            stdout=capture.stdout,
            stderr=capture.stderr,
            duration_s=duration_s,
            timed_out=pumped.timed_out,
            limits_hit=("time",) if pumped.timed_out else ("output",) if pumped.too_much_output else (),
            leftover_processes=None if killed else leftovers,
        )

    def _kill(self, process: "subprocess.Popen[bytes]") -> int | None:
        """Kill the group and whatever else still names this job's directories; returns how many outlived the command."""
        deadline = time.monotonic() + _DEATH_DEADLINE_S
        outlived = len(_processes_of(self.places.work) - {process.pid})
        while time.monotonic() < deadline:
            # The command itself is not reaped before its group is killed, so that the number can't have been given away.
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.poll()
            alive = _processes_of(self.places.work) - {process.pid}
            if not alive and process.returncode is not None:
                return outlived if Path("/proc/self/environ").exists() else None
            self.end_programs()
            time.sleep(0.002)
        raise JobFailure("not_dead", "processes of the command can't be killed")


def _processes_of(work: str) -> set[int]:
    """Living processes that have ``work`` in their environment or as their directory (Linux)."""
    mark, found = f"WORK={work}\0".encode(), set[int]()
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            directory = os.readlink(entry / "cwd")  # noqa: PTH115 - may be text that is no path: "... (deleted)"
            inside = re.sub(r" \(deleted\)$", "", directory)
            if inside == work or inside.startswith(work + "/") or mark in (entry / "environ").read_bytes():
                found.add(int(entry.name))
    return found


def _program(entry: FileEntry, places: Places) -> FileEntry:
    return entry.model_copy(update={"content": places.expand_program(entry.content), "mode": 0o755})


def _nothing() -> None:
    """There is no directory."""


def _remove_own(base: str, owner: int) -> None:
    if os.getpid() == owner:  # else a fork of the worker ends: the directory is the worker's
        _remove(base)


def _remove(base: str) -> None:
    parent = os.open(Path(base).parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        remove_tree(os.fsencode(Path(base).name), parent)
    finally:
        os.close(parent)
