"""The identity of a user's harness, and of our own code."""

import os
import subprocess
from pathlib import Path

import pytest

from crosspath.app import harness_tree
from crosspath.app.harness_code import identify
from crosspath.app.packages import git_state, versions
from crosspath.errors import ConfigError
from crosspath.transports import parse_path, preset
from crosspath.types import External, PathSpec


def harness(base: Path, *argv: str, bind: tuple[str, ...] = ("agent",)) -> PathSpec:
    config = {"external": {"argv": list(argv) or ["python3", "agent/run.py"], "bind": list(bind)}}
    return identify(parse_path("mine", config, "transports.mine"), base)


def external(spec: PathSpec) -> External:
    assert spec.external is not None
    return spec.external


@pytest.fixture
def base(tmp_path: Path) -> Path:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "run.py").write_text("print(1)\n")
    return tmp_path


def test_names_become_absolute(base: Path) -> None:
    """Relative binds start from the spec, and words that name bound files are found from any work directory."""
    found = external(harness(base, "python3", "agent/run.py", "--fast", "agent/none.py"))
    assert found.bind == (str(base / "agent"),)
    assert found.argv == ("python3", str(base / "agent" / "run.py"), "--fast", "agent/none.py")


def test_digest_follows_the_content(base: Path) -> None:
    """A changed, renamed or further file is another harness; caches are none of it."""
    seen = [external(harness(base)).code_digest]
    (base / "agent" / "__pycache__").mkdir()
    (base / "agent" / "__pycache__" / "x.pyc").write_bytes(b"1")
    assert external(harness(base)).code_digest == seen[0]
    for change in (
        lambda: (base / "agent" / "run.py").write_text("print(2)\n"),
        lambda: (base / "agent" / "more.py").write_text(""),
        lambda: (base / "agent" / "more.py").rename(base / "agent" / "other.py"),
    ):
        change()
        seen.append(external(harness(base)).code_digest)
    assert len(set(seen)) == 4


def test_one_file_can_be_bound(base: Path) -> None:
    """A harness may be a single file."""
    assert external(harness(base, bind=("agent/run.py",))).code_digest


def test_missing_bind_is_refused(base: Path) -> None:
    """A bind that does not exist is a mistake in the spec, with its place."""
    with pytest.raises(ConfigError, match=r"transports\.mine\.external\.bind: 'agnt' does not exist"):
        harness(base, bind=("agnt",))


def test_unreadable_binds_are_refused(base: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Links to themselves, impossible names, pipes and far too many files end in one line, and at once."""
    (base / "loop").symlink_to("loop")
    (base / "agent" / "dangling").symlink_to("nowhere")
    os.mkfifo(base / "pipe")
    monkeypatch.setattr(harness_tree, "MAX_FILES", 100)
    for name, problem in {
        "loop": "can't be read: it is a symbolic link to itself|can't be read: Too many levels",
        "a" * 5000: "can't be read: File name too long",
        "pipe": "is neither a file nor a directory",
        "/": "'/' holds more than 100 files",
    }.items():
        with pytest.raises(ConfigError, match=rf"transports\.mine\.external\.bind: .*({problem})"):
            harness(base, bind=(name,))
    assert external(harness(base)).code_digest


def test_words_that_are_no_names_stay(base: Path) -> None:
    """An argument may be anything: what can't be a file is passed on as it is."""
    (base / "agent" / "loop").symlink_to("loop")
    words = ("agent/" + "a" * 5000, "agent/loop", "agent/run.py/x", "")
    assert external(harness(base, "python3", *words)).argv == ("python3", *words)


def test_presets_are_left_alone(base: Path) -> None:
    """A path without a harness has no code to identify."""
    assert identify(preset("nested-shell"), base) == preset("nested-shell")


def test_git_tree_says_whether_it_is_dirty(base: Path) -> None:
    """Outside of a checkout nothing is known; inside, an uncommitted change shows."""
    assert git_state(base) == ("", None)
    git = ("git", "-C", str(base), "-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    for command in (("init", "-q"), ("add", "."), ("commit", "-qm", "x")):
        subprocess.run([*git, *command], check=True)
    commit, dirty = git_state(base)
    assert (len(commit), dirty) == (40, False)
    assert external(harness(base)).dirty is False
    (base / "agent" / "run.py").write_text("print(3)\n")
    assert external(harness(base)).dirty is True


def test_versions_are_of_this_installation() -> None:
    """The lock names every package that can change a result."""
    found = versions()
    assert found["crosspath"]
    assert "not installed" not in found.values()
