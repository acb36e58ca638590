"""Families written from incidents, and how their mistakes are told."""

import json
from pathlib import Path

import pytest

from crosspath.app.new_tasks import family_from_file
from crosspath.cli.entry import run

INCIDENT = {
    "id": "note/price",
    "instruction": "Write ⟪it's $5⟫ to note.txt, with a final newline.",
    "expected": {"note.txt": "it's $5\n"},
    "reply": 'echo "it\'s $5" > note.txt',
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_object_over_several_lines(here: Path) -> None:
    """A JSON file with one indented object is one incident; a key that stands twice is refused."""
    file = here / "incident.json"
    file.write_text(json.dumps(INCIDENT, indent=2))
    assert family_from_file(file, None, "own").name == "own"
    file.write_text('{\n"reply": "a",\n"reply": "b"}')
    with pytest.raises(Exception, match="'reply' stands here twice"):
        family_from_file(file, None, "own")


def test_one_of_several_is_picked(here: Path) -> None:
    """By id or by number; without a choice the known ones are named."""
    file = here / "incidents.jsonl"
    file.write_text("\n".join(json.dumps({**INCIDENT, "id": f"note/{name}"}) for name in "ab"))
    assert family_from_file(file, "note/b", None).name == "note-b"
    assert family_from_file(file, "1", None).name == "note-a"
    with pytest.raises(Exception, match="holds 2 incidents; name one with --pick, by id or number: note/a, note/b"):
        family_from_file(file, None, None)


def test_nothing_is_overwritten_and_nothing_is_half_written(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that exists stays as it is; a place that can't be written to, or another ending, is one line: exit code 2."""
    file = here / "incident.json"
    file.write_text(json.dumps(INCIDENT))
    assert run(["tasks", "new", "--from", str(file)]) == 0
    written = (here / "note-price.yaml").read_text()
    assert run(["tasks", "new", "--from", str(file)]) == 2
    assert (here / "note-price.yaml").read_text() == written
    for out in ("x.json", "none/x.yaml", "n" * 300 + ".yaml"):
        assert run(["tasks", "new", "--from", str(file), "--out", out]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert len(errors) == 4
    assert all(error.startswith("crosspath: ") for error in errors)
    assert sorted(path.name for path in here.iterdir()) == ["incident.json", "note-price.yaml"]


@pytest.mark.parametrize("text", ["[" * 5000, "", "5", "\x00", '{"reply": '])
def test_what_is_no_incident_is_one_line(here: Path, capsys: pytest.CaptureFixture[str], text: str) -> None:
    """Whatever a file holds, the trouble is told in one line: exit code 2."""
    (here / "incident.json").write_text(text)
    assert run(["tasks", "new", "--from", "incident.json"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_long_source_is_no_file(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    """A name that no file could have is taken for an evaluation, which is not there."""
    assert run(["tasks", "new", "--from", "n" * 5000, "--task", "a/b"]) == 2
    assert "no evaluation" in capsys.readouterr().err
