"""A model that was told about another path was told nothing about this one."""

import pytest

from builders import evaluation, task
from crosspath.analysis import effect_label
from crosspath.catalogue import contract, suite_text
from crosspath.pipeline.disclosure import same_path
from crosspath.pipeline.judge import judge
from crosspath.pipeline.plan import make_plan, undisclosed
from crosspath.pipeline.warnings import warnings_of
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.testing.validator import FakeValidator
from crosspath.transports import parse_path, preset, preset_names
from crosspath.types import Candidate, Facts, Generation, Judgement, ModelSpec, PathSpec, Reference

OWN = {
    "ours": parse_path("ours", ["double-quoted-shell", "shell"], "transports.ours"),
    "harness": parse_path("harness", {"external": {"argv": ["./run"]}}, "transports.harness"),
}
SPECS = {**{name: preset(name) for name in preset_names()}, **OWN}


def judged(discloses: str) -> tuple[Facts, Judgement]:
    """An evaluation on nested-shell whose contract ``nested`` discloses this path."""
    facts, _ = evaluation(names=("adaptive",))
    told = contract("nested-shell").model_copy(update={"name": "nested", "discloses": discloses})
    specs = tuple(SPECS.values())
    facts = facts.model_copy(update={"contract_specs": (told,), "path_specs": specs, "suites": (suite_text("exact"),)})
    return facts, judge(facts, FakeValidator())


@pytest.mark.parametrize(
    ("told", "done", "same"),
    [
        ("nested-shell", "nested-shell", True),
        ("nested-shell", "json:nested-shell", True),
        ("ours", "nested-shell", True),
        ("ours", "tools:nested-shell", True),
        ("gone", "gone", True),
        ("nested-shell", "single-quoted-shell", False),
        ("nested-shell", "nested-shell-escaped", False),
        ("nested-shell", "harness", False),
        ("raw", "script-file", False),
        ("gone", "raw", False),
    ],
)
def test_paths_are_the_same_by_what_they_do(told: str, done: str, same: bool) -> None:
    """Names, decoder prefixes and who wrote a path down don't matter, layers and their options do."""
    assert same_path(told, done, SPECS) is same


def test_told_about_another_path_is_no_compensation() -> None:
    """Sentence, table label, report and warning say which path was disclosed, and never that the model compensated."""
    facts, judgement = judged("single-quoted-shell")
    [found] = judgement.decompositions
    assert (found.discloses, found.undisclosed) == ("single-quoted-shell", True)
    assert effect_label(found, "compensation") == "effect of telling about single-quoted-shell"
    text = summary_text(judgement)
    assert "Told about single-quoted-shell, which is not this path: 3 of 3" in text
    assert "contract nested tells about single-quoted-shell, but the replies run on nested-shell" in text
    for words in ("compensation ", "won back", "Told about the path"):
        assert words not in text.replace("no compensation for this path", "")
    report = report_markdown(facts, judgement)
    assert "| effect of telling about single-quoted-shell (NN - RN) |" in report
    assert "| compensation" not in report


def test_many_that_were_told_about_another_path_are_one_warning() -> None:
    """Where a reply went through a hundred paths, one sentence counts them in place of a hundred sentences."""
    facts, judgement = judged("single-quoted-shell")
    [found], [candidate] = judgement.decompositions, facts.lock.candidates
    names = [f"through {number}" for number in range(20)]
    many = tuple(candidate.model_copy(update={"name": name}) for name in names)
    facts = facts.model_copy(update={"lock": facts.lock.model_copy(update={"candidates": many})})
    told = [
        line for line in warnings_of(facts, [found.model_copy(update={"candidate": name}) for name in names]) if "told" in line
    ]
    assert [line[:31] for line in told] == ["20 of 20 candidates were told a"]


@pytest.mark.parametrize("discloses", ["nested-shell", "ours"])
def test_told_about_this_path_is_compensation(discloses: str) -> None:
    """The same chain under another name is the same path."""
    _, judgement = judged(discloses)
    [found] = judgement.decompositions
    assert (found.discloses, found.undisclosed) == (discloses, False)
    assert "compensation +" in summary_text(judgement)


@pytest.mark.parametrize(
    ("told", "transport", "sentences"),
    [("nested-shell", "nested-shell", 0), ("nested-shell", "single-quoted-shell", 1), ("raw", "nested-shell", 0)],
)
def test_the_plan_says_it_before_anything_is_spent(told: str, transport: str, sentences: int) -> None:
    """A candidate that is told about another path gives one sentence; one that is told nothing gives none."""
    generation = Generation(model=ModelSpec(name="baseline/oracle"), contract=told)
    candidate = Candidate(name="mine", generation=generation, transport=transport)
    contracts = {name: contract(name) for name in ("raw", "nested-shell")}
    specs: dict[str, PathSpec] = SPECS
    plan = make_plan((candidate,), Reference(), (task(),), contracts, specs, 1)
    found = undisclosed(plan)
    assert len(found) == sentences
    assert all(line.startswith(f"mine: contract {told} tells about {told}") and transport in line for line in found)
