"""Request styles from the facts of an evaluation to its judgement, and from there to MLflow, JSON and frames."""

from itertools import combinations

import pytest

from builders import estimate, evaluation
from crosspath.adapters.mlflow_tracker.beside_metrics import (
    abstention_metrics,
    partition_metrics,
    style_metrics,
    wording_metrics,
)
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.adapters.mlflow_tracker.metrics import cell_metrics
from crosspath.adapters.mlflow_tracker.names import MAX_METRICS
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import suite_text
from crosspath.cli.finishing import document_of
from crosspath.pipeline.judge import judge
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.testing.validator import FakeValidator
from crosspath.types import Abstention, Cause, Facts, Judgement, PartitionGap, StyleSpread, Text, WordingSpread

HEADER = 10
"""Letters of a column's name that MLflow shows."""


def in_styles(styles: tuple[str, str]) -> Facts:
    """The two candidates of the builders as one model that was asked in two styles; they differ in what NN holds."""
    facts, _ = evaluation()
    model = facts.lock.candidates[0].generation.model
    by_digest: dict[str, str] = {}
    cells = []
    for cell in facts.cells:
        style = styles[0] if cell.candidate == "oracle" else styles[1]
        generation = cell.generation.model_copy(update={"model": model, "request_style": style})
        by_digest[cell.generation.digest] = generation.digest
        cells.append(cell.model_copy(update={"generation": generation}))
    candidates = tuple(
        one.model_copy(update={"generation": one.generation.model_copy(update={"model": model, "request_style": style})})
        for one, style in zip(facts.lock.candidates, styles, strict=True)
    )
    text = facts.model_copy(update={"cells": tuple(cells), "suites": (suite_text("exact"),)}).to_json()
    for old, new in by_digest.items():
        text = text.replace(old, new)
    renamed = Facts.from_json(text)
    words = tuple(Text(name=style, version="7", content="{instruction}", digest=f"digest of {style}") for style in styles)
    lock = renamed.lock.model_copy(update={"candidates": candidates, "styles": {word.name: word.digest for word in words}})
    return renamed.model_copy(update={"lock": lock, "styles": words})


@pytest.fixture
def framed() -> tuple[Facts, Judgement]:
    """An evaluation in the two framings, judged."""
    facts = in_styles(("production", "exam"))
    return facts, judge(facts, FakeValidator())


def test_the_reference_and_the_cell_as_deployed_are_compared(framed: tuple[Facts, Judgement]) -> None:
    """RR and NN of the two candidates; in NN only one of them compensates, and the framing says how much that is. No damage
    stands beside it where the control is broken.
    """
    reference, matched = framed[1].style_spreads
    assert [reference.cell, matched.cell] == ["RR", "NN"]
    assert reference.candidates == {"production": "oracle", "exam": "adaptive"}
    assert (reference.spread, reference.tasks) == (0.0, 3)
    assert matched.framing is not None
    assert matched.framing == matched.differences["exam"] == framed[1].comparisons[0].difference
    assert matched.spread == matched.rates["exam"].value == 1.0
    assert framed[1].decompositions[0].control.status == "broken"
    assert matched.damage == {}


def test_plain_comes_first_and_order_changes_nothing() -> None:
    """The plain style is what others are compared with, wherever the spec names it."""
    [reference, _] = judge(in_styles(("chatty", "plain")), FakeValidator()).style_spreads
    assert list(reference.candidates) == ["plain", "chatty"]
    assert list(reference.differences) == ["chatty"]


def test_candidates_that_differ_in_more_make_no_group() -> None:
    """Two models in one style are compared as ever, and nothing is said about styles."""
    facts, _ = evaluation()
    found = judge(facts.model_copy(update={"suites": (suite_text("exact"),)}), FakeValidator())
    assert found.style_spreads == ()
    assert "Request styles" not in report_markdown(facts, found)


def test_report_summary_and_document_tell_it(framed: tuple[Facts, Judgement]) -> None:
    """One line on the terminal, a section of the report, the records in JSON."""
    facts, found = framed
    assert "oracle and 1 other request style: in RR every style passes 100.0 %; in NN the pass rate spans" in summary_text(found)
    assert "## Request styles" in report_markdown(facts, found)
    spreads = document_of(Evaluation(facts, found))["style_spreads"]
    assert [StyleSpread.model_validate(one) for one in spreads] == list(found.style_spreads)


def test_a_frame_has_a_row_per_style(framed: tuple[Facts, Judgement]) -> None:
    """Cells, styles and the framing; without a group the same columns and no row."""
    frame = Evaluation(*framed).styles
    assert list(frame["style"]) == ["production", "exam", "exam - production"] * 2
    assert list(frame["cell"]) == ["RR"] * 3 + ["NN"] * 3
    empty = Evaluation(*evaluation()).styles
    assert list(empty.columns) == list(frame.columns)
    assert len(empty) == 0


def test_runs_hold_the_style_and_what_it_does(framed: tuple[Facts, Judgement]) -> None:
    """Name, version and digest are params; spread, own difference and framing are metrics of both runs of a candidate."""
    runs = {run.name: run for run in layout(*framed, max_rows=10).nested}
    matched = runs["adaptive · told nested, done nested-shell"]
    style = {name: value for name, value in matched.params.items() if name.startswith("request_style")}
    assert style == {
        "request_style": "exam", "request_style.version": "7", "request_style.digest": "digest of exam",
    }  # fmt: skip
    assert matched.metrics["style_diff"] == matched.metrics["framing_pp"] == pytest.approx(100, abs=1e-3)
    assert matched.metrics["style_sprd"] == 100
    assert {"frame_low", "frame_high"} <= matched.metrics.keys()
    reference = runs["oracle · told raw, done raw"]
    assert (reference.metrics["style_sprd"], reference.metrics["framing_pp"]) == (0, 0)
    assert "style_diff" not in reference.metrics


def everything() -> set[str]:
    """Every metric that one nested run can have."""
    _, judgement = evaluation()
    decomposition = judgement.decompositions[0]
    cell = decomposition.cells[3].model_copy(
        update={"causes": dict.fromkeys(Cause.__args__, 1), "tiers": {str(tier): (1, 2) for tier in range(4)}}
    )
    cell = cell.model_copy(update={"rate": cell.rate.model_copy(update={"worst": 0.1, "best": 0.9})})
    effect = decomposition.effects[0].model_copy(update={"name": "contract_effect"})
    rate = estimate(0.5, rate=True)
    spread = StyleSpread(
        candidates={"plain": "a", "exam": "b"}, told="R", done="R", rates={}, differences={"exam": estimate(0.1)},
        framing=estimate(0.1), spread=0.1,
    )  # fmt: skip
    wordings = WordingSpread(
        candidates={"tell:p": "a", "tell:p#2": "b"}, discloses="p", transport="p", rates={},
        differences={"tell:p#2": estimate(0.1)}, spread=0.1,
    )  # fmt: skip
    declining = Abstention(
        candidate="b", told="R", done="R", contract="raw", transport="raw", form="x", planned=1, scored=1, declined=1,
        precision=rate, recall=rate,
    )  # fmt: skip
    gap = PartitionGap(candidate="b", told="R", done="R", public=rate, heldout=rate, difference=estimate(0.1), alarm=True)
    return {
        *cell_metrics(cell, decomposition.model_copy(update={"effects": (*decomposition.effects, effect)})),
        *style_metrics(spread, "b"),
        *wording_metrics(wordings, "b"),
        *abstention_metrics(declining),
        *partition_metrics(gap),
    }


def test_a_run_with_everything_can_be_logged_and_read() -> None:
    """Causes, tiers, effects, declining, held-out tasks, styles, wordings together are few enough, and their headers differ."""
    names = everything()
    assert {"style_sprd", "framing_pp", "wording_pp", "word_diff"} <= names
    assert len(names) <= MAX_METRICS
    assert [(a, b) for a, b in combinations(sorted(names), 2) if a[:HEADER] == b[:HEADER]] == []
