"""Bounds on processes and total memory by cgroup, version 1 or 2, where one is writable."""

import contextlib
import itertools
import os
import subprocess
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from crosspath.adapters.sandboxing.leftovers import left_behind, own_prefix
from crosspath.types import Limit, SandboxLimits

_number = itertools.count()


@dataclass(frozen=True)
class _Control:
    """How one controller is spelt in one version."""

    limit: Limit
    bound_files: tuple[str, ...]
    events_file: str
    event: str


_V1 = {
    "pids": _Control("processes", ("pids.max",), "pids.events", "max"),
    "memory": _Control("memory", ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes"), "memory.oom_control", "oom_kill"),
}
_V2 = {
    "pids": _Control("processes", ("pids.max",), "pids.events", "max"),
    "memory": _Control("memory", ("memory.max", "memory.swap.max"), "memory.events", "oom_kill"),
}


_Membership = tuple[Path, Path, tuple[str, ...]]
"""Our group, the mount point and the controllers (none: version 2) of a hierarchy."""


class Cgroup:
    """The group, or one group per controller, that holds the processes of one sandbox at a time."""

    def __init__(self, controls: dict[Path, tuple[_Control, ...]]) -> None:
        self._controls = controls
        self._seen = self._events()
        self.close = weakref.finalize(self, _remove, tuple(controls), os.getpid())

    @property
    def limits(self) -> tuple[Limit, ...]:
        """Which bounds are in force."""
        return tuple(control.limit for controls in self._controls.values() for control in controls)

    def add(self, pid: int) -> None:
        """Move a process in; what it starts later is in, too."""
        for directory in self._controls:
            (directory / "cgroup.procs").write_text(str(pid))

    def hits(self) -> tuple[Limit, ...]:
        """Which bounds were met since the last call."""
        before, self._seen = self._seen, self._events()
        return tuple(limit for limit, count in self._seen.items() if count > before[limit])

    def _events(self) -> dict[Limit, int]:
        return {
            control.limit: _event(directory / control.events_file, control.event)
            for directory, controls in self._controls.items()
            for control in controls
        }

    def count_processes(self, without: set[int]) -> int:
        """How many processes are in now, besides those."""
        directory = next(iter(self._controls))
        return len({int(pid) for pid in (directory / "cgroup.procs").read_text().split()} - without)


def open_cgroup(limits: SandboxLimits, *, proc: Path = Path("/proc/self"), name: str | None = None) -> Cgroup | None:
    """A group with these bounds, or None where no group can be made.

    ``proc`` is where the kernel describes this process, ``name`` that of the new group.
    """
    memberships = list(_memberships(proc))
    _remove_stale(memberships)
    name = name or f"{own_prefix()}{next(_number)}"
    found = {path: controls for path, controls in _places(memberships, name) if _set_up(path, controls, limits)}
    # A hybrid machine shows a controller in one hierarchy only; should it be in both, the first one found counts.
    seen: set[Limit] = set()
    kept: dict[Path, tuple[_Control, ...]] = {}
    for path, controls in found.items():
        new = tuple(control for control in controls if control.limit not in seen)
        seen.update(control.limit for control in new)
        if new:
            kept[path] = new
        else:
            _remove((path,))
    return Cgroup(kept) if kept else None


def _places(memberships: Sequence[_Membership], name: str) -> Iterator[tuple[Path, tuple[_Control, ...]]]:
    for own, mount, controllers in memberships:
        if controllers:
            controls = tuple(_V1[controller] for controller in controllers if controller in _V1)
            if controls:
                yield (own if own.is_dir() else mount) / name, controls
        elif (parent := _delegating_parent(own, mount)) is not None:
            yield parent / name, tuple(_V2.values())


def _memberships(proc: Path) -> Iterator[_Membership]:
    """Every hierarchy that we are in."""
    mounts = _mounts(proc)
    try:
        lines = (proc / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        _, names, path = line.split(":", 2)
        controllers = tuple(filter(None, names.split(",")))
        mount = mounts.get(controllers[0] if controllers else "")
        if mount is not None:
            yield mount / path.lstrip("/"), mount, controllers


def _mounts(proc: Path) -> dict[str, Path]:
    """Controller -> where its hierarchy is mounted; ``""`` for version 2."""
    found: dict[str, Path] = {}
    with contextlib.suppress(OSError):
        for line in (proc / "mounts").read_text().splitlines():
            _, place, kind, options = line.split()[:4]
            names = options.split(",") if kind == "cgroup" else [""] if kind == "cgroup2" else []
            for name in names:
                found.setdefault(name, Path(place))
    return found


def _delegating_parent(own: Path, mount: Path) -> Path | None:
    """The nearest group, ours or above, whose children get both controllers."""
    for place in (own, *own.parents):
        if not place.is_relative_to(mount):
            break
        with contextlib.suppress(OSError):
            if {"pids", "memory"} <= set((place / "cgroup.subtree_control").read_text().split()):
                return place
            (place / "cgroup.subtree_control").write_text("+pids +memory")
            return place
    return None


def _set_up(path: Path, controls: tuple[_Control, ...], limits: SandboxLimits) -> bool:
    bounds = {"processes": limits.processes, "memory": limits.memory_bytes}
    try:
        path.mkdir(exist_ok=True)
        for control in controls:
            required, *optional = control.bound_files
            _write(path / required, str(bounds[control.limit]))
            for name in filter(lambda name: (path / name).exists(), optional):
                _write(path / name, "0" if name == "memory.swap.max" else str(bounds[control.limit]))
        _prove(path)
    except (OSError, subprocess.SubprocessError):
        _remove((path,))
        return False
    return True


def _write(file: Path, text: str) -> None:
    """Write to a control file, which must exist: without its controller it doesn't."""
    fd = os.open(file, os.O_WRONLY)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)


def _prove(path: Path) -> None:
    """A process can really be moved in: being allowed to make a group does not mean that."""
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as probe:
        (path / "cgroup.procs").write_text(str(probe.pid))


def _event(file: Path, name: str) -> int:
    with contextlib.suppress(OSError, ValueError):
        for line in file.read_text().splitlines():
            key, _, value = line.partition(" ")
            if key == name:
                return int(value)
    return 0


def _remove(paths: tuple[Path, ...], owner: int | None = None) -> None:
    if owner is not None and owner != os.getpid():
        return  # a fork of the worker ends: the groups are the worker's
    for path in paths:
        with contextlib.suppress(OSError):
            path.rmdir()


def _remove_stale(memberships: Sequence[_Membership]) -> None:
    """Groups that a killed worker left behind, also one that was started from a group beside ours."""
    for own, mount, _ in memberships:
        found = [
            path for parent in {mount, own, *own.parents} if parent.is_relative_to(mount) for path in parent.glob("crosspath-*")
        ]
        if own != mount:
            found += own.parent.glob("*/crosspath-*")
        _remove(tuple(left_behind(found)))
