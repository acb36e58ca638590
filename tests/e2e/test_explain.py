"""`crosspath compare`: two real evaluations beside each other, from the command line, with its exit codes."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.cli.entry import run

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

SPEC = """\
name: {name}
kind: {kind}
tasks: {{families: [exact-file, commit-message], tiers: [0, 1]}}
candidates:
  {candidates}
"""
PLAIN = "plain: {model: baseline/adaptive, contract: raw, transport: raw}"
NESTED = "nested: {model: baseline/adaptive, contract: nested-shell, transport: nested-shell, validator: VALIDATOR}"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds an evaluation of the plain candidate, and one of the nested one by each of two validators."""
    place = tmp_path_factory.mktemp("explain")
    for name, candidate in (("one", PLAIN), ("two", NESTED.replace("VALIDATOR", "exact"))):
        (place / "spec.yaml").write_text(SPEC.format(name=name, kind="deployment", candidates=candidate))
        done = crosspath.evaluate(place / "spec.yaml", executor="local", track=False, store=place / "store")
        (place / name).write_text(done.id)
    other = crosspath.validate((place / "two").read_text(), "content", store=place / "store", track=False)
    (place / "three").write_text(other.id)
    return place


@pytest.fixture(autouse=True)
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work beside the store."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("CROSSPATH_STORE", "store")


def ids(place: Path) -> tuple[str, str, str]:
    one, two, three = ((place / name).read_text() for name in ("one", "two", "three"))
    return one, two, three


def test_damage_and_compensation_between_two_evaluations(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both orders are there, the parts add up, and each form says the same; Python gives the record."""
    one, two, _ = ids(place)
    assert run(["compare", one, f"{two}:nested", "--json"]) == 0
    document: Any = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert {"/".join(part["axes"]) for part in document["parts"]} == {"contract", "transport"}
    assert sum(part["estimate"]["value"] for part in document["parts"]) == pytest.approx(document["explained"])
    assert crosspath.explain(one, two).model_dump(mode="json") == document
    assert run(["compare", one, two]) == 0
    text = capsys.readouterr().out
    assert "Shapley value" in text
    assert "compensation" in text
    assert run(["compare", one, two, "--format", "markdown"]) == 0
    assert "## What explains it" in capsys.readouterr().out


def test_exit_codes_of_pairs_that_are_not_compared(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Other rules are 4 with the command that makes them equal; more than the model is 2 with the fields in one line."""
    one, two, three = ids(place)
    assert run(["compare", two, three]) == 4
    text = capsys.readouterr().out
    assert "judged by different rules" in text
    assert f"crosspath validate {three} --validator exact" in text
    assert run(["compare", one, two, "--kind", "model"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "contract, contract.digest, transport, transport.digest differ" in said
    assert run(["compare", one, f"{two}:nobody"]) == 2
    assert "it has: nested" in capsys.readouterr().err
    assert run(["compare", one, two, "--format", "html"]) == 2
