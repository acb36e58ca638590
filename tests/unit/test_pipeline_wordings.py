"""Wordings of a contract from the facts of an evaluation to its judgement, and from there to MLflow, JSON and frames."""

import re
from pathlib import Path

import pytest

from builders import estimate, evaluation
from crosspath import catalogue
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.app.evaluation import Evaluation
from crosspath.cli.finishing import document_of
from crosspath.pipeline.judge import judge
from crosspath.pipeline.telling import told_contract
from crosspath.pipeline.wording_groups import wording_groups
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.store.bundle import read_judgement, write_bundle
from crosspath.testing.validator import FakeValidator
from crosspath.transports import preset
from crosspath.types import Candidate, Contract, Facts, Generation, Judgement, ModelSpec, WordingSpread

PLAIN = {name: catalogue.contract(name) for name in catalogue.contract_names()}
FIRST, SECOND, THIRD = (told_contract(f"tell:nested-shell{number}", PLAIN, {}) for number in ("", "#2", "#3"))


def in_wordings(contracts: tuple[Contract, Contract]) -> Facts:
    """The two candidates of the builders as one model that was told in two wordings; they differ in what NN holds."""
    facts, _ = evaluation()
    model = facts.lock.candidates[0].generation.model
    told: dict[str, Contract] = dict(zip(("oracle", "adaptive"), contracts, strict=True))
    by_digest: dict[str, str] = {}
    cells = []
    for cell in facts.cells:
        contract = told[cell.candidate].name if cell.told == "N" else "raw"
        generation = cell.generation.model_copy(update={"model": model, "contract": contract})
        by_digest[cell.generation.digest] = generation.digest
        path = {"N": "nested-shell", "R": "raw"}[cell.done]
        cells.append(cell.model_copy(update={"generation": generation, "contract": contract, "transport": path}))
    candidates = tuple(
        one.model_copy(update={"generation": one.generation.model_copy(update={"model": model, "contract": told[one.name].name})})
        for one in facts.lock.candidates
    )
    suites = (catalogue.suite_text("exact"),)
    text = facts.model_copy(update={"cells": tuple(cells), "suites": suites}).to_json()
    for old, new in by_digest.items():
        text = text.replace(old, new)
    renamed = Facts.from_json(text)
    return renamed.model_copy(
        update={
            "lock": renamed.lock.model_copy(update={"candidates": candidates}),
            "contract_specs": (PLAIN["raw"], *contracts),
            "path_specs": (preset("raw"), preset("nested-shell")),
            # What was not told was asked once.
            "trials": tuple({trial.key: trial for trial in renamed.trials}.values()),
            "replays": tuple({replay.key: replay for replay in renamed.replays}.values()),
        }
    )


@pytest.fixture
def worded() -> tuple[Facts, Judgement]:
    """An evaluation in two wordings, judged; the control of these facts holds."""
    facts = in_wordings((FIRST, SECOND))
    found = judge(facts, FakeValidator())
    return facts, found


def test_two_wordings_are_set_side_by_side(worded: tuple[Facts, Judgement]) -> None:
    """NN of the two candidates; only one of them compensates, and the difference is that of the comparison."""
    [found] = worded[1].wording_spreads
    assert found.candidates == {"tell:nested-shell": "oracle", "tell:nested-shell#2": "adaptive"}
    assert (found.discloses, found.transport) == ("nested-shell", "nested-shell")
    assert found.differences["tell:nested-shell#2"] == worded[1].comparisons[0].difference
    assert found.rates["tell:nested-shell#2"].value == 1.0
    assert worded[1].decompositions[0].control.status == "broken"
    assert (found.compensation, found.spread) == ({}, None)


def holding(found: Judgement) -> Judgement:
    """The same with a spread, as where the control holds."""
    [spread] = found.wording_spreads
    names = list(spread.candidates)
    each = dict(zip(names, (estimate(0.0), estimate(0.5)), strict=True))
    common = dict(zip(names, (0.0, 0.5), strict=True))
    update = {"compensation": each, "population": each, "common": common, "spread": 0.5, "tasks": 3}
    return found.model_copy(update={"wording_spreads": (spread.model_copy(update=update),)})


def test_report_summary_and_document_tell_it(worded: tuple[Facts, Judgement]) -> None:
    """Beside compensation, in a line of its own, in a section of the report, and as records in JSON."""
    facts, found = worded[0], holding(worded[1])
    text = summary_text(found)
    assert "; two wordings: 0.0 to +50.0)" in text
    assert "oracle and 1 other wording, told about nested-shell: compensation spans 50.0 points, from 0.0 (tell:nested" in text
    report = report_markdown(facts, found)
    assert "## Wordings of contracts" in report
    assert report.count("Compensation in two wordings: 0.0 to +50.0.") == 2
    spreads = document_of(Evaluation(facts, found))["wording_spreads"]
    assert [WordingSpread.model_validate(one) for one in spreads] == list(found.wording_spreads)


def test_frames_and_runs_hold_it(worded: tuple[Facts, Judgement]) -> None:
    """A row per wording; on each matched run the spread, on that of a further wording also its difference to the first."""
    facts, found = worded[0], holding(worded[1])
    assert list(Evaluation(facts, found).wordings["common"]) == [0.0, 0.5]
    empty = Evaluation(*evaluation()).wordings
    assert (len(empty), list(empty.columns)) == (0, list(Evaluation(facts, found).wordings.columns))
    runs = {run.name: run for run in layout(facts, found, max_rows=10).nested}
    second = runs["adaptive · told tell:nested-shell#2, done nested-shell"]
    assert second.metrics["wording_pp"] == 50
    assert second.metrics["word_diff"] == pytest.approx(100 * (found.comparisons[0].difference.value or 0), abs=1e-3)
    assert second.params["contract"] == "tell:nested-shell#2"
    assert "compensation spans 50.0 points" in second.tags["mlflow.note.content"]
    first = runs["oracle · told tell:nested-shell, done nested-shell"]
    assert first.metrics["wording_pp"] == 50
    assert "word_diff" not in first.metrics
    assert "wording_pp" not in runs["oracle · told raw, done raw"].metrics
    layout(facts, found, max_rows=10).check()


def test_a_bundle_keeps_it_and_older_ones_have_none(worded: tuple[Facts, Judgement], tmp_path: Path) -> None:
    """What was written is read again; a judgement from before there were wordings has none."""
    facts, found = worded[0], holding(worded[1])
    write_bundle(facts, found, tmp_path / "bundle")
    assert read_judgement(tmp_path / "bundle").wording_spreads == found.wording_spreads
    old = re.sub(r',"wording_spreads":\[.*?\](?=,"warnings")', "", found.to_json())
    assert "wording_spreads" not in old
    assert Judgement.from_json(old).wording_spreads == ()


# -- groups --------------------------------------------------------------------------------------------------------------


def candidate(name: str, contract: str, transport: str = "nested-shell", style: str = "plain") -> Candidate:
    """A candidate of one model."""
    generation = Generation(model=ModelSpec(name="openai/m"), contract=contract, request_style=style)
    return Candidate(name=name, generation=generation, transport=transport)


def test_groups_differ_in_nothing_but_the_words() -> None:
    """Another path, style, shape or disclosed path is another group; alone in it is none; hand-written wordings count as well."""
    others = [told_contract(name, PLAIN, {}) for name in ("tell:json:nested-shell", "tell:ssh", "tell:ssh#2")]
    known = {one.name: one for one in (*PLAIN.values(), FIRST, SECOND, THIRD, *others)}
    found = wording_groups(
        [
            candidate("a", FIRST.name),
            candidate("b", "nested-shell"),
            candidate("c", THIRD.name),
            candidate("d", "tell:json:nested-shell"),
            candidate("e", SECOND.name, style="terse"),
            candidate("f", "tell:ssh", "ssh"),
            candidate("g", "tell:ssh#2", "ssh"),
            candidate("h", "tell:ssh#2"),
            candidate("i", "raw"),
            candidate("j", THIRD.name),
            candidate("k", "gone"),
        ],
        known,
    )
    assert [{name: one.name for name, (one, _) in group.items()} for group in found] == [
        {"tell:nested-shell": "a", "nested-shell": "b", "tell:nested-shell#3": "c"},
        {"tell:ssh": "f", "tell:ssh#2": "g"},
    ]


def test_candidates_that_differ_in_more_make_no_group() -> None:
    """Two models that were told the same are compared as ever, and nothing is said about wordings."""
    facts, _ = evaluation()
    found = judge(facts.model_copy(update={"suites": (catalogue.suite_text("exact"),)}), FakeValidator())
    assert found.wording_spreads == ()
    assert "Wordings" not in report_markdown(facts, found)
