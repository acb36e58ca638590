"""What an audit makes of a directory that somebody else filled: one line, and never a wait."""

import json
import os
from functools import partial
from pathlib import Path

import pytest

from crosspath.app.auditing import Audit, audit
from crosspath.app.auditing_files import MAX_BYTES, UnreadableError, file_bytes
from crosspath.app.gating import Gate
from crosspath.app.gating_verdict import policy_text, verdict_text
from crosspath.cli.entry import run
from gate_verdicts import verdict

NAMES = ("verdict.json", "policy.yaml", "candidate-evidence.json")
DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A verdict and its policy; what it was drawn from is not there."""
    place = tmp_path / "verdict"
    place.mkdir()
    (place / "verdict.json").write_text(verdict_text(verdict()))
    (place / "policy.yaml").write_text(policy_text(verdict().policy))
    return place


def refused(argument: str | Path, capsys: pytest.CaptureFixture[str]) -> str:
    """The one line that the command says with exit code 4."""
    assert run(["audit", str(argument)]) == 4
    said = capsys.readouterr()
    assert (said.out, len(said.err.splitlines())) == ("", 1)
    return said.err


@pytest.mark.parametrize("name", NAMES)
def test_special_files(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A FIFO is not waited for, a link is not followed, and no file is read beyond a limit."""
    (place / name).unlink(missing_ok=True)
    os.mkfifo(place / name)
    assert f"{name} is no regular file" in refused(place, capsys)
    (place / name).unlink()
    (place / name).symlink_to("/dev/zero")
    assert f"{name} is a symbolic link" in refused(place, capsys)
    (place / name).unlink()
    with (place / name).open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert f"{MAX_BYTES} are read at most" in refused(place, capsys)
    (place / name).unlink()
    (place / name).mkdir()
    assert f"{name} is no regular file" in refused(place, capsys)


@pytest.mark.parametrize("name", NAMES)
def test_nested(name: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A text that is nested deeper than anything is read is refused by the name of its file."""
    (place / name).write_text(DEEP if name == "policy.yaml" else f'{{"x": {DEEP}}}')
    assert name in refused(place, capsys)


@pytest.mark.parametrize("created_at", ["1e300", "-1e300", "1e999", "NaN", "1" * 400, "1" * 5000])
def test_times(created_at: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A number that is no time is refused."""
    text = json.dumps(verdict().model_dump(mode="json") | {"created_at": "@"})
    (place / "verdict.json").write_text(text.replace('"@"', created_at))
    assert "verdict.json is no" in refused(place, capsys)


@pytest.mark.parametrize("argument", ["x" * 5000, "a\0b", "/dev/null", "/dev/null/x"])
def test_arguments(argument: str, capsys: pytest.CaptureFixture[str]) -> None:
    """An argument that can't be a verdict's place is refused in a line that can be read."""
    assert len(refused(argument, capsys)) < 300


def test_links_and_missing(tmp_path: Path) -> None:
    """A link to an ordinary file is none of the verdict's; a file that is missing is told apart."""
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    assert file_bytes(tmp_path / "file") == b"x"
    with pytest.raises(UnreadableError, match="symbolic link"):
        file_bytes(tmp_path / "link")
    with pytest.raises(FileNotFoundError):
        file_bytes(tmp_path / "none")
    with pytest.raises(UnreadableError, match="there is no "):
        audit(tmp_path / "none")


def test_hostile_id(place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """An id with a line's end is shown on one line, whether the audit holds or not."""
    hostile = verdict(id="gate-1\n\x1b[2Jaudit holds")
    for differences in ((), ("status\nis wrong",)):
        found = partial(Audit, hostile, differences)
        monkeypatch.setattr("crosspath.app.auditing.audit", lambda *_, found=found, **__: found())
        run(["audit", str(place)])
        out = capsys.readouterr().out
        assert "gate-1\\n\\x1b[2Jaudit holds" in out
        assert len(out.splitlines()) == 2 + len(differences)


def test_gate_names_places_on_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What a gate prints of places and servers holds no line's end, and the command that it names can be copied."""
    done = Gate(verdict(), Path("my\nout"), url="http://x/\n", opens_with="a\nb", tracking_error="down\nPASS")
    monkeypatch.setattr("crosspath.app.gating.gate", lambda *_, **__: done)
    assert run(["gate", "p.yaml"]) == 5
    said = capsys.readouterr()
    assert "in my\\nout\n" in said.out
    assert said.out.endswith("to check it: crosspath audit 'my\\nout'\n")
    assert "http://x/\\n\n            a\\nb   opens it\n" in said.out
    assert len(said.err.splitlines()) == 1
