"""One job's directories on a bounded tmpfs, and single starts of ``bwrap`` in them."""

import contextlib
import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from crosspath.adapters.sandboxing.bubblewrap_start import BLOCK_FD, FILTER_FD, FIRST_PROCESS, STATUS_FD, Running
from crosspath.adapters.sandboxing.cgroups import Cgroup
from crosspath.adapters.sandboxing.environment import Places
from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.adapters.sandboxing.jobs import Start
from crosspath.adapters.sandboxing.packages import package_files
from crosspath.adapters.sandboxing.spawning import Spawner
from crosspath.adapters.sandboxing.system_view import FIRST_PROGRAM, INSIDE
from crosspath.adapters.sandboxing.workdir import make_directory, remove_tree, write_entries
from crosspath.types import Command, ExecResult, FileEntry, Limit, Package, SandboxLimits, Task

PLACES = Places(
    work=f"{INSIDE}/work",
    files=f"{INSIDE}/in",
    out=f"{INSIDE}/out",
    home=f"{INSIDE}/home",
    programs=f"{INSIDE}/bin",
    packages=f"{INSIDE}/lib",
)
_DISK = ("work", "home", "tmp", "shm", "out")
_number = itertools.count()


@dataclass
class Cage:
    """What lives as long as a sandbox: spawner, control group and the constant arguments."""

    spawner: Spawner
    cgroup: Cgroup | None
    program: bytes
    system: Sequence[str]
    version: str
    jobs: int
    """The directory of all jobs, open."""
    filter: bytes | None
    """Of system calls."""
    enforced: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    packages: set[Package] = field(default_factory=set[Package])
    """Those that were copied to where a start can show them."""

    def package(self, name: Package) -> str:
        """The directory of a package in the spawner's mount namespace; copied there when it is first asked for."""
        place = f"{self.spawner.base}/lib"
        if name not in self.packages:
            with contextlib.ExitStack() as cleanup:
                write_entries(_keep(self.spawner.open(place), cleanup), package_files(name))
            self.packages.add(name)
        return f"{place}/{name}"

    def close(self) -> None:
        """End everything."""
        os.close(self.jobs)
        self.spawner.close()
        if self.cgroup is not None:
            self.cgroup.close()


@dataclass
class BubblewrapRoom:
    """The directories of one job; implements ``jobs.Room``."""

    cage: Cage
    limits: SandboxLimits
    path: str
    """Of the job in the spawner's mount namespace."""
    job: int
    disk: int
    work: int
    out: int
    has_programs: bool
    places: Places = field(default=PLACES)
    bound: dict[str, str] = field(default_factory=dict)

    def hand_in(self, command: Command) -> None:
        """Replace the content of ``IN``; empty ``OUT``."""
        if command.files:
            remove_tree(b"in", self.job)
            make_directory("in", 0o755, self.job)
            write_entries(self.job, [entry.model_copy(update={"path": b"in/" + entry.path}) for entry in command.files])
        if command.report is not None:
            with contextlib.suppress(ValueError, OSError):
                remove_tree(os.fsencode(command.report), self.out)

    def start(self, start: Start) -> ExecResult:
        """Run one program in its own ``bwrap``; when this returns its first process, and so all of them, are dead."""
        argv = self._argv(start, [(self._reachable(bind), bind) for bind in start.binds])
        with Running(self.cage.spawner, self.cage.cgroup, argv, start, self.limits, self.cage.filter) as running:
            result = running.finish()
        return result.model_copy(update={"limits_hit": (*result.limits_hit, *self._limits_hit())})

    def _limits_hit(self) -> Iterator[Limit]:
        if self.cage.cgroup is not None:
            yield from self.cage.cgroup.hits()
        disk = os.fstatvfs(self.disk)
        if disk.f_bavail == 0:
            yield "disk"
        if disk.f_ffree == 0:
            yield "entries"

    def _argv(self, start: Start, binds: Sequence[tuple[str, str]]) -> list[bytes]:
        words = [*self.cage.system, *self._mounts(start, binds), "--chdir", self.places.work]
        for name, value in start.env.items():
            words += ["--setenv", name, value]
        words += ["--json-status-fd", str(STATUS_FD), "--block-fd", str(BLOCK_FD)]
        if self.cage.filter is not None:
            words += ["--seccomp", str(FILTER_FD)]
        words += ["--as-pid-1", "--", FIRST_PROGRAM, "-c", FIRST_PROCESS, "sh"]
        return [self.cage.program, *(word.encode("utf-8", "surrogateescape") for word in words), *start.argv]

    def _reachable(self, bind: str) -> str:
        """The host path ``bind`` where the unprivileged uid can get at it."""
        if not os.path.isabs(bind) or not os.path.exists(bind):  # noqa: PTH117, PTH110 - may be any text
            raise JobFailure("start_failed", f"the path {bind!r} that should be visible does not exist")
        if not self.cage.spawner.uid:
            return bind
        if bind not in self.bound:
            name = f"bind{len(self.bound)}"
            kind = "directory" if os.path.isdir(bind) else "file"  # noqa: PTH112
            write_entries(self.job, [FileEntry(path=name.encode(), kind=kind)])
            self.cage.spawner.bind(bind, f"{self.path}/{name}")
            self.bound[bind] = f"{self.path}/{name}"
        return self.bound[bind]

    def release(self) -> None:
        """Undo the binds, so that nothing below them is ever taken for a part of the room."""
        for target in self.bound.values():
            self.cage.spawner.unmount(target)

    def _mounts(self, start: Start, binds: Sequence[tuple[str, str]]) -> Iterator[str]:
        disk, places, size = f"{self.path}/disk", self.places, str(self.limits.disk_bytes)
        if start.observing:
            yield from ("--ro-bind", f"{disk}/work", places.work, "--dir", places.home)
            yield from ("--size", size, "--tmpfs", "/tmp")
        else:
            yield from ("--bind", f"{disk}/work", places.work, "--bind", f"{disk}/home", places.home)
            # Mount points below /tmp are only made where no earlier command can have left a symbolic link.
            fresh = any(target.startswith("/tmp/") for _, target in binds)
            yield from ("--size", size, "--tmpfs", "/tmp") if fresh else ("--bind", f"{disk}/tmp", "/tmp")
            yield from ("--bind", f"{disk}/shm", "/dev/shm", "--symlink", "/tmp", "/var/tmp")
        if self.has_programs:
            yield from ("--ro-bind", f"{self.path}/bin", places.programs)
        if start.files:
            yield from ("--ro-bind", f"{self.path}/in", places.files)
        if start.out:
            yield from ("--bind", f"{disk}/out", places.out)
        for name in dict.fromkeys(start.packages):
            yield from ("--ro-bind", self.cage.package(name), f"{places.packages}/{name}")
        for source, target in binds:
            yield from ("--ro-bind", source, target)
        yield from ("--remount-ro", "/dev", "--remount-ro", "/")


@contextmanager
def open_room(cage: Cage, limits: SandboxLimits, task: Task) -> Iterator[BubblewrapRoom]:
    """Fresh directories with the task's fixture and programs; everything is gone afterwards."""
    spawner, name = cage.spawner, f"{next(_number)}"
    path = f"{spawner.base}/job/{name}"
    with contextlib.ExitStack() as cleanup:
        jobs = cage.jobs
        make_directory(name, 0o711, jobs)
        cleanup.callback(remove_tree, name.encode(), jobs)
        job = _keep(_directory(name, jobs), cleanup)
        make_directory("disk", 0o711, job)
        options = f"size={limits.disk_bytes},nr_inodes={limits.inodes + len(_DISK) + 1},mode=0711"
        disk = spawner.mount(f"{path}/disk", options)
        cleanup.callback(spawner.unmount, f"{path}/disk")
        _keep(disk, cleanup)
        for part in _DISK:
            write_entries(disk, [FileEntry(path=part.encode(), kind="directory")], spawner.uid)
        work, out = (_keep(_directory(part, disk), cleanup) for part in ("work", "out"))
        write_entries(work, task.fixture, spawner.uid)
        write_entries(job, list(_programs(task)))
        room = BubblewrapRoom(cage, limits, path, job, disk, work, out, bool(task.programs))
        cleanup.callback(room.release)
        yield room


def _programs(task: Task) -> Iterator[FileEntry]:
    for program in task.programs:
        content = PLACES.expand_program(program.content)
        yield program.model_copy(update={"path": b"bin/" + program.path, "content": content, "mode": 0o755})


def _directory(name: str, parent: int) -> int:
    return os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _keep(fd: int, cleanup: contextlib.ExitStack) -> int:
    cleanup.callback(os.close, fd)
    return fd
