"""`crosspath card` and `crosspath verify` as a person uses them: an evaluation with the real sandbox and validator, then a third
party without network, ledger or MLflow.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import crosspath
from crosspath import catalogue
from crosspath.cli.entry import run
from crosspath.store.bundle import write_bundle

PAGE = Path(__file__).parents[2] / "docs" / "harness-card.md"
OFFLINE = """
import socket, sys
def refused(*_, **__): raise OSError("there is no network")
socket.socket.connect = socket.create_connection = socket.getaddrinfo = refused
from crosspath.cli.entry import run
code = run(sys.argv[1:])
print(code, *(name for name in ("mlflow", "ray", "litellm") if name in sys.modules))
"""


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ledger with the recorded example that ships, and its bundle beside it."""
    directory = tmp_path_factory.mktemp("carded")
    spec = catalogue.catalogue_dir("deploy") / "recorded.yaml"
    evaluation = crosspath.evaluate(spec, store=directory / "store", track=False)
    write_bundle(evaluation.facts, evaluation.judgement, directory / "bundle")
    return directory / "store"


def masked(text: str) -> str:
    """Without what another day or another machine changes."""
    return re.sub(r"[0-9a-f]{64}", "SHA", re.sub(r"-20\d{6}-\d+", "-DAY", text)).strip()


def shown() -> list[str]:
    return re.findall(r"^```\n(.*?)^```$", PAGE.read_text("utf-8"), re.M | re.S)


def test_the_page_shows_what_is_printed(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What docs/harness-card.md shows of verify, for a card as it is and for an edited one, is what it prints."""
    card = tmp_path / "recorded.md"
    assert run(["card", "latest", "--store", str(store), "--output", str(card)]) == 0
    assert capsys.readouterr().out == f"wrote {card}\n"
    assert run(["verify", str(card)]) == 0
    holds, edited = shown()
    assert masked(capsys.readouterr().out) == masked(holds)
    card.write_text(card.read_text("utf-8").replace("| RN | 4 | 4 | 0 | 0 | 1 |", "| RN | 4 | 4 | 0 | 0 | 3 |"))
    assert run(["verify", str(card)]) == 1
    assert masked(edited) in masked(capsys.readouterr().out)


def test_a_third_party_needs_nothing_but_the_card(store: Path, tmp_path: Path) -> None:
    """In an empty directory, without network, ledger or MLflow, a card verifies with its bundle, and nothing is left behind."""
    assert run(["card", "latest", "--store", str(store), "--output", str(tmp_path / "card.md")]) == 0
    empty = tmp_path / "empty"
    empty.mkdir()
    command = ["verify", str(tmp_path / "card.md"), "--bundle", str(store.parent / "bundle")]
    done = subprocess.run(
        [sys.executable, "-c", OFFLINE, *command], cwd=empty, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.splitlines()[-1:] == ["0"], done.stderr
    assert "0 differ, 0 can't be checked here" in done.stdout
    assert list(empty.iterdir()) == []


def test_where_a_card_goes(store: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output and a file hold the same; a directory gets a file a candidate; a card is replaced, another file is not."""
    arguments = ["card", "latest", "--store", str(store)]
    assert run(arguments) == 0
    printed = capsys.readouterr().out
    assert run([*arguments, "--output", str(tmp_path / "cards")]) == 0
    file = tmp_path / "cards" / "recorded.md"
    assert file.read_text("utf-8") == printed
    assert run([*arguments, "--output", str(file)]) == 0
    capsys.readouterr()
    assert run([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sha256"] in printed
    assert found["card"]["candidate"]["name"] == "recorded"
    notes = tmp_path / "notes.md"
    notes.write_text("mine")
    assert run([*arguments, "--output", str(notes)]) == 2
    assert (notes.read_text(), "exists and is no card" in capsys.readouterr().err) == ("mine", True)
    assert run([*arguments, "--output", str(notes), "--force"]) == 0
    assert notes.read_text("utf-8") == printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["card", "latest", "--candidate", "nobody"], "'nobody' is not a candidate of"),
        (["card", "no-such-evaluation"], "no evaluation 'no-such-evaluation'"),
        (["verify", "/no/such/card.md"], "no such file"),
        (["verify", str(PAGE)], "is no card"),
        (["verify", str(PAGE), "--heldout-seed-env", "not a variable"], "is not the name of an environment variable"),
    ],
)
def test_bad_input_is_one_line(arguments: list[str], words: str, store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A candidate, an evaluation or a file that does not exist, and a page that is no card: exit code 2 and one line."""
    assert run([*arguments, *(["--store", str(store)] if arguments[0] == "card" else [])]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert words in err


def test_several_candidates_have_to_be_told_apart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For one file of several candidates one has to be named; the line names them."""
    spec = {"name": "two", "candidates": {"x": "baseline/oracle", "y": "baseline/naive"}, "tasks": {"families": ["exact-file"]}}
    evaluation = crosspath.evaluate(spec, store=tmp_path, track=False)
    assert run(["card", evaluation.id, "--store", str(tmp_path)]) == 2
    assert "has 2 candidates (x, y): name one, or give a directory as --output" in capsys.readouterr().err
    assert run(["card", evaluation.id, "--store", str(tmp_path), "--candidate", "y", "--output", str(tmp_path / "cards")]) == 0
    assert [path.name for path in (tmp_path / "cards").iterdir()] == ["y.md"]
