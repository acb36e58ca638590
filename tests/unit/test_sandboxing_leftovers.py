"""What killed workers leave behind: found at once, and never mistaken for what somebody still uses."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from crosspath.adapters.process_sandbox import ProcessSandbox
from crosspath.adapters.sandboxing import cgroups, spawning
from crosspath.adapters.sandboxing.leftovers import left_behind, own_prefix

SAY = "from crosspath.adapters.sandboxing.leftovers import own_prefix; print(own_prefix())"


@pytest.fixture(scope="module")
def of_the_dead() -> str:
    """How the names begin of what a process made that has ended."""
    return subprocess.run([sys.executable, "-c", SAY], capture_output=True, text=True, check=True).stdout.strip()


def test_only_what_the_dead_made(of_the_dead: str) -> None:
    """The living keep theirs, a number that was given again does not protect, another process namespace is not ours to judge."""
    pid, started, namespace = own_prefix().split("-")[1:4]
    names = {
        "dead": f"{of_the_dead}0",
        "alive": f"{own_prefix()}0",
        "number given again": f"crosspath-{pid}-{int(started) - 1}-{namespace}-0",
        "other namespace": f"crosspath-{2**22 + 1}-1-{int(namespace) + 1}-0",
        "not ours": "crosspath-evaluation",
    }
    found = list(left_behind(map(Path, names.values())))
    assert found == [Path(names["dead"]), Path(names["number given again"])]


def test_mount_points(tmp_path: Path, of_the_dead: str) -> None:
    """The empty mount point of a dead worker goes at once; one that is not empty is not touched."""
    (tmp_path / f"{of_the_dead}a").mkdir()
    (tmp_path / f"{of_the_dead}b" / "x").mkdir(parents=True)
    spawning._remove_stale(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"{of_the_dead}b"]


def test_groups(tmp_path: Path, of_the_dead: str) -> None:
    """Groups of dead workers go, in our group, above it, and in one beside it."""
    mount, own = tmp_path, tmp_path / "service" / "this-run"
    stale = [parent / f"{of_the_dead}0" for parent in (mount, own.parent, own, own.parent / "last-run")]
    kept = own / f"{own_prefix()}0"
    for path in (*stale, kept):
        path.mkdir(parents=True)
    cgroups._remove_stale([(own, mount, ("pids",))])
    assert [path for path in (*stale, kept) if path.exists()] == [kept]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="needs Linux")
def test_directories_without_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, of_the_dead: str) -> None:
    """Without a sandbox directories have content, which goes as well."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"{of_the_dead}a" / "work" / "d").mkdir(parents=True)
    ProcessSandbox().run([])
    assert list(tmp_path.iterdir()) == []
