"""Control groups of version 2, on a directory that looks like one."""

from pathlib import Path

import pytest

from crosspath.adapters.sandboxing.cgroups import Cgroup, open_cgroup
from crosspath.types import SandboxLimits

LIMITS = SandboxLimits(memory_bytes=1 << 24, processes=9)


def machine(root: Path, files: dict[str, str], delegated: str = "pids memory") -> Path:
    """A ``/proc/self`` whose only hierarchy is of version 2, with a group ``crosspath-x`` that holds ``files``."""
    mount = root / "cgroup"
    group = mount / "user" / "crosspath-x"
    group.mkdir(parents=True)
    for name, text in {"cgroup.procs": "", **files}.items():
        (group / name).write_text(text)
    (mount / "user" / "cgroup.subtree_control").write_text(delegated)
    (root / "mounts").write_text(f"proc /proc proc rw 0 0\ncgroup2 {mount} cgroup2 rw,nosuid 0 0\n")
    (root / "cgroup_line").write_text("0::/user\n")
    proc = root / "proc"
    proc.mkdir()
    (root / "cgroup_line").rename(proc / "cgroup")
    (root / "mounts").rename(proc / "mounts")
    return proc


FILES = {
    "pids.max": "max",
    "pids.events": "max 0\n",
    "memory.max": "max",
    "memory.swap.max": "max",
    "memory.events": "low 0\nhigh 0\nmax 3\noom 0\noom_kill 0\noom_group_kill 0\n",
}


def opened(root: Path, files: dict[str, str], delegated: str = "pids memory") -> Cgroup | None:
    return open_cgroup(LIMITS, proc=machine(root, files, delegated), name="crosspath-x")


def test_bounds_are_written(tmp_path: Path) -> None:
    """Both bounds are in force, without swap, in a group below our own."""
    cgroup = opened(tmp_path, FILES)
    group = tmp_path / "cgroup/user/crosspath-x"
    assert cgroup is not None
    assert set(cgroup.limits) == {"processes", "memory"}
    assert [(group / name).read_text()[:8] for name in ("pids.max", "memory.max", "memory.swap.max")] == [
        "9ax",
        "16777216",
        "0ax",
    ]


def test_hits_are_told_once(tmp_path: Path) -> None:
    """A bound that was met is reported by the next call only."""
    cgroup = opened(tmp_path, FILES)
    assert cgroup is not None
    (tmp_path / "cgroup/user/crosspath-x/memory.events").write_text("max 9\noom_kill 1\n")
    assert cgroup.hits() == ("memory",)
    assert cgroup.hits() == ()


def test_counting(tmp_path: Path) -> None:
    """Processes are counted without the given ones."""
    cgroup = opened(tmp_path, FILES)
    assert cgroup is not None
    (tmp_path / "cgroup/user/crosspath-x/cgroup.procs").write_text("11\n12\n13\n")
    assert cgroup.count_processes({12}) == 2


@pytest.mark.parametrize("missing", ["pids.max", "memory.max"])
def test_no_controller_no_bound(tmp_path: Path, missing: str) -> None:
    """Where a controller is not there the bound is not claimed."""
    assert opened(tmp_path, {name: text for name, text in FILES.items() if name != missing}) is None


def test_nothing_at_all(tmp_path: Path) -> None:
    """Without any hierarchy there is no group."""
    assert open_cgroup(LIMITS, proc=tmp_path) is None
