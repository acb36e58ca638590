"""Repositories that are made safe, on this machine's own git: what stays true and what is taken away."""

import os
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from crosspath.adapters.sandboxing.final_state import read_state
from crosspath.adapters.sandboxing.git_index import rewritten_index
from crosspath.adapters.sandboxing.repositories import Untrustworthy, disarm_repositories

Git = Callable[..., str]


@pytest.fixture
def git(tmp_path: Path) -> Git:
    """Runs git in a repository with one commit of two files."""

    def run(*arguments: str, directory: str = ".") -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=b", "-c", "protocol.file.allow=always")
        environment = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1"}
        done = subprocess.run(
            ["git", *identity, *arguments], cwd=tmp_path / directory, env=environment, capture_output=True, text=True, check=False
        )
        return done.stdout + done.stderr

    run("init", "-q", "--template=", "-b", "main")
    (tmp_path / "a").write_text("a")
    (tmp_path / ("long" * 40)).write_text("b")
    run("add", ".")
    run("commit", "-q", "-m", "truth")
    return run


@pytest.fixture
def work(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    yield fd
    os.close(fd)


def disarm(work: int, unpacked_bytes: int = 1 << 20) -> tuple[bytes, ...]:
    state = read_state(work, entries=1000, disk_bytes=1 << 24, file_cap_bytes=1 << 16)
    return disarm_repositories(work, state, unpacked_bytes)


def test_facts_stay(git: Git, work: int) -> None:
    """Commits, branches, tags, stages and changes look the same afterwards."""
    git("tag", "t")
    git("rm", "-q", "--cached", "a")
    questions = (["log", "--format=%H %s"], ["status", "--porcelain"], ["ls-files", "-s"], ["for-each-ref"], ["fsck"])
    before = [git(*question) for question in questions]
    assert disarm(work) == ()
    assert [git(*question) for question in questions] == before


@pytest.mark.parametrize("version", ["2", "4"])
def test_an_index_keeps_what_is_staged(git: Git, tmp_path: Path, version: str) -> None:
    """All versions of the format are read; merge stages and intentions stay."""
    (tmp_path / "later").write_text("c")
    git("add", "-N", "later")
    git("update-index", "--index-version", version)
    index = tmp_path / ".git/index"
    questions = (["ls-files", "-s"], ["status", "--porcelain"])
    before = [git(*question) for question in questions]
    index.write_bytes(rewritten_index(index.read_bytes()))
    assert [git(*question) for question in questions] == before


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_bits_that_hide_changes_are_taken_away(git: Git, tmp_path: Path, work: int, bit: str) -> None:
    """A changed file is seen as changed, whatever the index says."""
    git("update-index", bit, "a")
    (tmp_path / "a").write_text("z")
    assert git("status", "--porcelain") == ""
    disarm(work)
    assert git("status", "--porcelain") == " M a\n"


def test_excluded_files_are_seen(git: Git, tmp_path: Path, work: int) -> None:
    """What the repository itself wants to be overlooked is seen."""
    (tmp_path / ".git/info").mkdir()
    (tmp_path / ".git/info/exclude").write_text("*\n")
    (tmp_path / "new").write_text("c")
    disarm(work)
    assert git("status", "--porcelain") == "?? new\n"


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\2\0\0\0\1", b"DIRC\0\0\0\4\0\0\0\1" + b"\xff" * 200, b"x" * 500])
def test_what_is_no_index(git: Git, tmp_path: Path, work: int, data: bytes) -> None:
    """An index that can't be read is taken away, and nothing else happens."""
    (tmp_path / ".git/index").write_bytes(data)
    disarm(work)
    assert git("status", "--porcelain").startswith("D  a\n")


@pytest.mark.parametrize("content", [b"", b"x", zlib.compress(b"blob 1\0z"), zlib.compress(b"blob 1\0a") + b"x"])
def test_objects_with_a_wrong_name_are_taken_away(git: Git, tmp_path: Path, work: int, content: bytes) -> None:
    """An object whose content has another hash than its name says, or more than that, is missing afterwards."""
    oid = git("rev-parse", "HEAD:a").strip()
    place = tmp_path / f".git/objects/{oid[:2]}/{oid[2:]}"
    place.unlink()
    place.write_bytes(content)
    disarm(work)
    assert not place.exists()
    assert git("log", "--format=%s") == "truth\n"


def test_objects_beyond_the_budget_are_taken_away(git: Git, tmp_path: Path, work: int) -> None:
    """Little that unpacks to much does not hold us up."""
    (tmp_path / "big").write_bytes(b"\0" * (1 << 22))
    oid = git("hash-object", "-w", "big").strip()
    disarm(work)
    assert not (tmp_path / f".git/objects/{oid[:2]}/{oid[2:]}").exists()


@pytest.mark.parametrize(
    "name",
    [
        "commondir", "config.worktree", "hooks/post-index-change", "info/grafts", "info/attributes", "shallow",
        "objects/info/alternates", "objects/info/commit-graph", "worktrees/x/gitdir", "remotes/x", "branches/x", "gitdir",
        "objects/pack/pack-x.promisor", "objects/pack/multi-pack-index", "sharedindex.1", "fsmonitor--daemon.ipc",
    ],
)  # fmt: skip
def test_what_git_could_be_led_astray_by_is_taken_away(git: Git, tmp_path: Path, work: int, name: str) -> None:
    """Of a repository only references, objects and the index stay."""
    place = tmp_path / ".git" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text("x")
    disarm(work)
    assert not place.exists()
    assert git("log", "--format=%s") == "truth\n"


@pytest.mark.parametrize("name", ["HEAD", "objects", "refs", "index", "refs/heads/main"])
def test_links_are_taken_away(git: Git, tmp_path: Path, work: int, name: str) -> None:
    """No part of a repository may be somewhere else."""
    (tmp_path / ".git" / name).rename(tmp_path / "moved")
    (tmp_path / ".git" / name).symlink_to(tmp_path / "moved")
    disarm(work)
    assert not (tmp_path / ".git" / name).is_symlink()


def test_nested_repositories(git: Git, tmp_path: Path, work: int) -> None:
    """Repositories in repositories are made safe as well, and submodules stay usable."""
    git("clone", "-q", "--bare", ".", "bare.git")
    git("submodule", "-q", "add", "./bare.git", "sub")
    (tmp_path / ".git/modules/sub/config").write_text("[core]\n\tfsmonitor = echo lie\n[alias]\n\tlog = !echo lie\n")
    disarm(work)
    assert git("log", "--format=%s", directory="sub") == "truth\n"
    assert git("log", "--format=%s", directory="bare.git") == "truth\n"
    assert b"lie" not in (tmp_path / ".git/modules/sub/config").read_bytes()


def test_packs_are_named(git: Git, work: int) -> None:
    """Packs stay, for git to check."""
    git("gc", "-q")
    (index,) = disarm(work)
    assert index.startswith(b".git/objects/pack/pack-")
    assert git("log", "--format=%s") == "truth\n"


def test_what_was_not_seen_is_not_trusted(git: Git, work: int) -> None:
    """Where the state is cut short, a repository may be where nobody looked."""
    state = read_state(work, entries=1000, disk_bytes=1 << 24, file_cap_bytes=1 << 16)
    with pytest.raises(Untrustworthy):
        disarm_repositories(work, state.model_copy(update={"truncated": True}), 1 << 20)
