"""Stored replies through every path, what each path costs, and which one to take: from the command line, in the real sandbox."""

import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.cli.entry import run
from crosspath.pipeline.evaluate import Progress
from crosspath.transports import preset_names

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

SPEC = """\
name: few
tasks: {families: [exact-file, commit-message], tiers: [0, 1]}
defaults: {contract: nested-shell, transport: nested-shell}
candidates:
  oracle: {model: baseline/oracle, contract: raw}
  naive: {model: baseline/naive, contract: raw}
  adaptive: baseline/adaptive
"""
OWN = "my-harness: {layers: [single-quoted-shell, shell]}\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds one evaluation, a file of own paths, and a spec with one candidate."""
    place = tmp_path_factory.mktemp("paths")
    (place / "few.yaml").write_text(SPEC)
    (place / "own.yaml").write_text(OWN)
    done = crosspath.evaluate(place / "few.yaml", executor="local", track=False, store=place / "store")
    (place / "id").write_text(done.id)
    return place


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work beside the store."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("CROSSPATH_STORE", "store")


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command with ``--json`` and give its document."""

    def document(*arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--json"]) == code
        return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    return document


def test_three_baselines(place: Path, command: Any) -> None:
    """The oracle loses on the broken path and is to go raw; the naive one loses nothing; the adaptive one may be told."""
    document = command("recommend", (place / "id").read_text())
    by_model = {one["model"]: one for one in document["recommendations"]}
    assert by_model["baseline/oracle"]["advice"].startswith("Take raw: 4 of 4 right; avoid nested-shell (")
    assert {one["path"]["cell"]["passed"] for one in by_model["baseline/naive"]["choices"]} == {2}
    adaptive = {(one["path"]["path"], one["path"]["cell"]["contract"]): one for one in by_model["baseline/adaptive"]["choices"]}
    assert adaptive.keys() == {("raw", "raw"), ("nested-shell", "raw"), ("nested-shell", "nested-shell")}
    assert adaptive["nested-shell", "nested-shell"]["path"]["cell"]["passed"] == 4
    assert by_model["baseline/adaptive"]["price"] is None
    assert all(one["tokens_per_pass"] is None for one in adaptive.values())


def test_the_example_is_there_to_look_at(place: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The command of an example shows that task on that path."""
    document = command("recommend", (place / "id").read_text())
    oracle = next(one for one in document["recommendations"] if one["model"] == "baseline/oracle")
    example = next(one["example"] for one in oracle["choices"] if one["path"]["path"] == "nested-shell")
    assert not example["passed"]
    assert run(shlex.split(example["command"])[1:]) == 0
    assert example["task"] in capsys.readouterr().out


def test_every_path_that_ships_and_fits(place: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Stored replies go through all paths at once, without a request; the reference cell is replayed once for all of them."""
    (place / "two.yaml").write_text(
        "name: two\ntasks: {families: [exact-file], tiers: [0, 1]}\ncandidates: {oracle: baseline/oracle}\n"
    )
    source = crosspath.evaluate("two.yaml", track=False).id
    done = command("replay", source, "--all-transports", "--paths", "own.yaml", "--executor", "local", "--no-mlflow")
    assert done["spend"]["requests"] == 0
    (ranking,) = done["path_rankings"]
    paths = {path["path"]: path for path in ranking["paths"]}
    assert {"my-harness", *preset_names()} >= paths.keys() >= {"raw", "nested-shell", "script-file", "my-harness"}
    assert paths["script-file"]["standing"] == "equal"
    assert paths["nested-shell"]["damage"]["value"] < 0
    assert paths["my-harness"]["cell"]["passed"] == paths["single-quoted-shell"]["cell"]["passed"]
    facts = crosspath.load(done["evaluation"]).facts
    generation = next(cell.generation.digest for cell in facts.cells if cell.candidate == "oracle via raw")
    reference = next(cell.path for cell in facts.cells if cell.candidate == "oracle via raw")
    on_raw = [one.key for one in facts.replays if (one.key.trial.generation, one.key.path) == (generation, reference)]
    assert len([key for key in on_raw if key.repeat == 0]) == 2
    frame = crosspath.load(done["evaluation"]).paths
    assert set(frame[frame["rank"].notna()]["control"]) <= {"none", "holds", "missing", "blind"}
    assert run(["recommend", done["evaluation"]]) in (0, 3)
    assert "baseline/oracle: Take raw: 2 of 2 right; " in capsys.readouterr().out
    assert run(["recommend", done["evaluation"], "--markdown"]) in (0, 3)
    assert "## What this does not say" in capsys.readouterr().out


def test_it_goes_on_where_it_was_interrupted(place: Path) -> None:
    """The same command goes on with the replays that it has."""
    source, told = (place / "id").read_text(), list[str]()

    def stop(progress: Progress) -> None:
        if progress.replays_done:
            raise KeyboardInterrupt

    paths = ["script-file", "single-quoted-shell", "raw"]
    with pytest.raises(KeyboardInterrupt):
        crosspath.replay(source, paths, track=False, progress=Progress(changed=stop))
    done = crosspath.replay(source, paths, track=False, notify=told.append)
    assert any(sentence.startswith(f"going on with {done.id}: ") for sentence in told)
    assert done.facts.head.status == "finished"
    assert len(done.facts.sessions) == 2


def test_not_enough_evidence(place: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """An evaluation on one path is no evidence for any: exit 3, and the command that brings more."""
    (place / "one.yaml").write_text("name: one\ntasks: {families: [exact-file], tiers: [0]}\ncandidates: {a: baseline/oracle}\n")
    done = crosspath.evaluate("one.yaml", track=False)
    assert command("recommend", done.id, code=3)["recommendations"][0]["conclusive"] is False
    assert run(["recommend", done.id]) == 3
    assert f"crosspath replay {done.id} --all-transports" in capsys.readouterr().out


def test_the_page_shows_what_is_printed(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The advice and the table of the page about paths are those of its spec and commands."""
    page = (Path(__file__).parents[2] / "docs" / "which-path.md").read_text("utf-8")
    spec, shown = (block.partition("\n")[2] for block in page.split("```")[1:4:2])
    (place / "compare.yaml").write_text(spec)
    (words,) = [line.split() for line in page.splitlines() if line.startswith("    crosspath replay latest -t")]
    crosspath.evaluate("compare.yaml", track=False)
    run([*words[1:], "--executor", "local", "--no-mlflow"])
    capsys.readouterr()
    assert run(["recommend", "latest"]) == 0
    printed = capsys.readouterr().out
    lines = [line for line in shown.splitlines() if line.strip(" ─") and line != "..." and "crosspath show" not in line]
    assert [line for line in lines if " ".join(line.split()) not in " ".join(printed.split())] == []


def test_wrong_arguments(capsys: pytest.CaptureFixture[str]) -> None:
    """Both forms at once, and an evaluation that is not there, are one line and exit code 2."""
    assert run(["recommend", "--json", "--markdown"]) == 2
    assert run(["recommend", "nothing-1"]) == 2
    assert capsys.readouterr().err.count("\n") == 2
