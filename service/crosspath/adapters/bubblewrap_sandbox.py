"""The default sandbox on Linux: bubblewrap, everything unshared, on a work directory that the trusted side holds open.

For a command the work directory is ``/run/crosspath/work``. It lies on a tmpfs per job that is bounded in bytes and inodes and
also holds home, ``/tmp``, ``/dev/shm`` and ``OUT``: whatever a command can write is within those bounds. All else is read-only.
"""

import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from crosspath.adapters.sandboxing.bubblewrap_room import BubblewrapRoom, Cage, open_room
from crosspath.adapters.sandboxing.cgroups import open_cgroup
from crosspath.adapters.sandboxing.environment import environment
from crosspath.adapters.sandboxing.jobs import Start, run_job
from crosspath.adapters.sandboxing.seccomp import filter_program
from crosspath.adapters.sandboxing.shell import open_shell
from crosspath.adapters.sandboxing.spawning import Spawner, SpawnerGone, unprivileged_uid
from crosspath.adapters.sandboxing.system_view import system_arguments, write_system
from crosspath.adapters.sandboxing.toolchain import toolchain
from crosspath.errors import SandboxError
from crosspath.types import Execution, Fault, ReplayJob, SandboxLimits, Task, Toolchain

INSTALL_HINT = (
    "bubblewrap is not installed; run: sudo apt-get install -y bubblewrap (dnf, apk and pacman call it bubblewrap, too)"
)

ANSWERS_IN_S = 10.0
"""So long bubblewrap may take to say its version."""
_FILTERING = Path("/proc/sys/kernel/seccomp/actions_avail")
"""Is there where the kernel can filter system calls."""


class BubblewrapSandbox:
    """Executes hostile commands, each in its own start of ``bwrap``. One job at a time: build one per worker.

    Can be pickled before and after use; what it opened stays with the process that opened it.
    """

    def __init__(self, limits: SandboxLimits | None = None, *, program: str = "bwrap") -> None:
        self.limits = limits or SandboxLimits()
        self.program = program
        self._cage: Cage | None = None
        self._lock = threading.Lock()
        self._lost = False
        self._closing = False

    def __reduce__(self) -> tuple[object, ...]:
        return _build, (self.limits, self.program)

    def run(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        """One result per job, in order.

        Raises:
            SandboxError: bubblewrap is missing or can't work on this machine, or the sandbox was closed meanwhile.
        """
        with self._lock:
            self._open()
            results = tuple(self._run(job) for job in jobs)
            self._require_open()
            return results

    def _run(self, job: ReplayJob) -> Execution | Fault:
        """One job; once more where the spawner was killed under it, for a job begins from nothing each time."""
        self._lost = False
        result = run_job(job, self.limits, self._room)
        return run_job(job, self.limits, self._room) if self._lost else result

    def describe(self) -> Toolchain:
        """The bounds in force here, and the programs inside.

        Raises:
            SandboxError: bubblewrap is missing or can't work on this machine.
        """
        with self._lock:
            cage = self._open()
            return toolchain(cage.version, cage.enforced, cage.missing, self._probe)

    def enter(self, job: ReplayJob) -> int:
        """A shell for a person, the task set up and no command run yet; returns the shell's exit status.

        Raises:
            SandboxError: bubblewrap is missing or can't work on this machine, or the setup line failed.
        """
        with self._lock:
            self._open()
            with self._room(job.task) as room:
                return open_shell(room, job)

    def close(self) -> None:
        """End what runs, by whichever thread, then the spawner and the control groups; the next use starts anew."""
        self._closing = True
        try:
            if (cage := self._cage) is not None:
                cage.spawner.end_programs()
            with self._lock:
                self._discard()
        finally:
            self._closing = False

    def _require_open(self) -> None:
        if self._closing:
            raise SandboxError("the sandbox was closed while it was in use")

    def _open(self) -> Cage:
        self._require_open()
        if self._cage is None:
            self._cage = _open_cage(self.program, self.limits)
            try:
                self._probe("exit 0")
            except SandboxError:
                self._discard()
                raise
        return self._cage

    def _discard(self) -> None:
        if self._cage is not None:
            self._cage.close()
            self._cage = None

    @contextmanager
    def _room(self, task: Task) -> Iterator[BubblewrapRoom]:
        cage = self._open()
        try:
            with open_room(cage, self.limits, task) as room:
                yield room
        except (SandboxError, OSError) as error:
            # Without its spawner a room fails in many ways, and what is left of it can't be taken down.
            try:
                cage.spawner.require_alive()
            except SpawnerGone as gone:
                self._lost = True
                self._discard()
                raise gone from error
            raise

    def _probe(self, text: str) -> bytes:
        with self._room(Task(id="probe", family="probe")) as room:
            start = Start((b"bash", b"-c", text.encode()), environment(room.places), timeout_s=30)
            result = room.start(start)
        if result.exit_code != 0:
            raise SandboxError(f"bubblewrap can't start a shell here: {result.stderr.data[:300].decode(errors='replace')}")
        return result.stdout.data


def _build(limits: SandboxLimits, program: str) -> BubblewrapSandbox:
    return BubblewrapSandbox(limits, program=program)


def _open_cage(program: str, limits: SandboxLimits) -> Cage:
    path = shutil.which(program)
    if path is None:
        raise SandboxError(INSTALL_HINT)
    cgroup = open_cgroup(limits)
    rlimits = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": 2 * limits.disk_bytes}  # only sparse files meet it
    if cgroup is None:
        rlimits |= {"RLIMIT_DATA": limits.memory_bytes}
        if _counts_processes_per_namespace():
            rlimits |= {"RLIMIT_NPROC": limits.processes}
    spawner = Spawner(unprivileged_uid(), rlimits)
    write_system(spawner.open(spawner.base))
    jobs = spawner.open(f"{spawner.base}/job")
    calls = filter_program(os.uname().machine) if _FILTERING.exists() else None
    enforced, missing = _limits(cgroup.limits if cgroup else (), rlimits, calls)
    version = _version_of(path)
    return Cage(spawner, cgroup, os.fsencode(path), system_arguments(spawner.base), version, jobs, calls, enforced, missing)


def _version_of(program: str) -> str:
    """What the program calls itself.

    Raises:
        SandboxError: it can't be started, fails, or does not end.
    """
    try:
        done = subprocess.run([program, "--version"], capture_output=True, errors="backslashreplace", timeout=ANSWERS_IN_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SandboxError(f"{program} --version does not answer: {error}") from error
    if done.returncode:
        said = " ".join(f"{done.stdout} {done.stderr}".split())[:200] or "without a word"
        raise SandboxError(f"{program} --version ended with {done.returncode}: {said}")
    return done.stdout.strip()


def _counts_processes_per_namespace() -> bool:
    """Since Linux 5.14 RLIMIT_NPROC counts within a user namespace; before, all of the user's own processes."""
    found = re.match(r"(\d+)\.(\d+)", os.uname().release)
    return found is not None and (int(found[1]), int(found[2])) >= (5, 14)


def _limits(by_cgroup: Sequence[str], rlimits: dict[str, int], calls: bytes | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """What is in force and what is not, in the words of ``Limit``."""
    enforced = ["time", "output", "disk", "entries", "network", "files"]
    missing: list[str] = []
    for name in ("memory", "processes"):
        in_force = name in by_cgroup or (name == "processes" and "RLIMIT_NPROC" in rlimits)
        (enforced if in_force else missing).append(name)
    (missing if calls is None else enforced).append("syscalls")
    if "memory" in missing and "RLIMIT_DATA" in rlimits:
        enforced.append("memory per process")
    return tuple(enforced), tuple(missing)
