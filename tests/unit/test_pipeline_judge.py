"""Judgement is a pure function of facts; controls tell a broken instrument from a racy command."""

import random
from pathlib import Path

import pytest

from builders import evaluation
from crosspath.catalogue import suite_text
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.judge import judge
from crosspath.pipeline.scores import score_replays
from crosspath.pipeline.warnings import warnings_of
from crosspath.store.bundle import read_bundle, write_bundle
from crosspath.testing.validator import FakeValidator
from crosspath.types import Facts, Fault, Reply


@pytest.fixture
def facts() -> Facts:
    """An evaluation of two candidates, with two trials and a missing reply, to be judged by the suite that ships."""
    made, _ = evaluation(trials=2, fault=True)
    return made.model_copy(update={"suites": (suite_text("exact"),)})


def _shuffled(facts: Facts, seed: int) -> Facts:
    rng = random.Random(seed)
    mixed = {name: list(getattr(facts, name)) for name in ("trials", "attempts", "replays")}
    for rows in mixed.values():
        rng.shuffle(rows)
    return facts.model_copy(update={name: tuple(rows) for name, rows in mixed.items()})


def test_the_order_of_facts_changes_nothing(facts: Facts) -> None:
    """The same facts in any order give the same judgement, to the last bit."""
    expected = judge(facts, FakeValidator())
    for seed in range(5):
        assert judge(_shuffled(facts, seed), FakeValidator()).to_json() == expected.to_json()


def test_a_bundle_is_judged_the_same(facts: Facts, tmp_path: Path) -> None:
    """Any machine that has the files comes to the same judgement."""
    expected = judge(facts, FakeValidator())
    write_bundle(facts, expected, tmp_path / "bundle")
    assert judge(read_bundle(tmp_path / "bundle"), FakeValidator()) == expected


def test_a_missing_reply_is_counted_beside_the_rate(facts: Facts) -> None:
    """Planned, scored and missing stand in each cell, and the bounds say what the missing could change
    (https://github.com/UKGovernmentBEIS/inspect_ai/pull/3781, https://github.com/instructlab/eval/issues/39,
    https://github.com/vibrantlabsai/ragas/issues/3028, https://github.com/deepset-ai/haystack/pull/11510).
    """
    found = judge(facts, FakeValidator())
    cell = found.decompositions[0].cell("RR")
    assert cell is not None
    assert (cell.planned, cell.scored, cell.faults) == (6, 4, 2)
    assert cell.rate.missing == 2
    assert cell.rate.worst is not None
    assert cell.rate.best is not None
    assert cell.rate.worst < cell.rate.best
    assert any("trials have no reply" in warning for warning in found.warnings)
    assert found.comparisons[0].difference.missing == 2
    assert "NaN" not in found.to_json()


def test_no_score_without_facts(facts: Facts) -> None:
    """A replay with a fault has no score of any kind: not wrong, but missing."""
    fault = Fault(boundary="sandbox", type="start_failed", message="")
    broken = facts.replays[0].model_copy(update={"execution": None, "fault": fault})
    changed = facts.model_copy(update={"replays": (broken, *facts.replays[1:])})
    keys = [score.key for score in score_replays(changed, FakeValidator())]
    assert broken.key not in keys
    assert len(keys) == len(facts.replays) - 1
    rows = FactIndex(changed, score_replays(changed, FakeValidator())).rows(facts.cells[0])
    assert [row.cause for row in rows if row.passed is None][-1] == "fault:start_failed"


@pytest.mark.parametrize(
    ("asked", "served", "warned"),
    [
        ("openai/my-model", ("my-model",), None),
        ("openai/gpt-4o", ("gpt-4o-2024-08-06",), None),
        ("openai/gpt-4o-mini", ("gpt-4o-mini-2024-07-18",), None),
        ("mistral/mistral-large-latest", ("mistral-large-2411",), None),
        ("openai/plain", ("plain-served",), "answered as 'plain-served'"),
        ("anthropic/claude-x", ("claude-x-20250929",), None),
        ("ollama/llama3", ("llama3:latest",), None),
        ("openai/my-model", ("default-v2",), "answered as 'default-v2'"),
        ("openai/gpt-4", ("gpt-4o-mini",), "answered as 'gpt-4o-mini'"),
        ("openai/m", ("m-2024-01", "m-2024-06"), "answered as several models"),
    ],
)
def test_another_model_than_asked_is_said(facts: Facts, asked: str, served: tuple[str, ...], warned: str | None) -> None:
    """A served name that is neither the asked one nor a dated version of it, or that changes, is a warning
    (https://github.com/google-gemini/gemini-cli/issues/28859, https://github.com/googleapis/python-genai/issues/2271).
    """
    lock = facts.lock.model_copy(update={"served_models": {asked: served}})
    found = [line for line in warnings_of(facts.model_copy(update={"lock": lock}), ()) if "endpoint" in line]
    assert [warned in line for line in found if warned] == ([True] if warned else [])
    assert bool(found) == (warned is not None)


def _with_replies(facts: Facts, texts: list[str]) -> Facts:
    trials = tuple(
        trial.model_copy(update={"reply": Reply(text=texts[number % len(texts)]), "fault": None})
        for number, trial in enumerate(facts.trials)
    )
    return facts.model_copy(update={"trials": trials})


def test_fences_that_nobody_takes_out_are_said(facts: Facts) -> None:
    """Replies that are a fenced block as a whole are counted per candidate, unless its harness takes the block."""
    fenced = _with_replies(facts, ["\n```bash\ntrue\n```\n", "Here:\n```\ntrue\n```"])
    found = [line for line in warnings_of(fenced, ()) if "fence" in line]
    assert found[0] == (
        "6 of 12 replies of oracle are wrapped in a code fence and its harness clean-up is none:"
        " `harness: fenced-block` takes them out."
    )
    assert len(found) == 2
    cleaned = tuple(one.model_copy(update={"harness": "fenced-block"}) for one in facts.lock.candidates)
    lock = facts.lock.model_copy(update={"candidates": cleaned})
    assert not [line for line in warnings_of(fenced.model_copy(update={"lock": lock}), ()) if "fence" in line]
    plain = _with_replies(facts, ["true", "cat > a <<'EOF'\n```\nx\n```\nEOF", ""])
    assert not [line for line in warnings_of(plain, ()) if "fence" in line]


def test_lost_trials_are_said_with_what_went_wrong_and_where(facts: Facts) -> None:
    """The first message of each type and its endpoint stand in the warning; a long message is cut, on one line."""
    refused = Fault(boundary="model", type="connection", message="All connection\nattempts failed")
    late = Fault(boundary="model", type="timeout", message="x" * 500)
    trials = tuple(
        trial.model_copy(
            update={
                "reply": None,
                "fault": late if number else refused,
                "request": trial.request.model_copy(update={"endpoint": "http://127.0.0.1:9/v1"}),
            }
        )
        for number, trial in enumerate(facts.trials[:3])
    )
    [found] = [line for line in warnings_of(facts.model_copy(update={"trials": trials}), ()) if "no reply" in line]
    assert found.startswith(
        "3 trials have no reply (connection 1: All connection attempts failed, http://127.0.0.1:9/v1; timeout 2: xxx"
    )
    assert found.endswith("xxx..., http://127.0.0.1:9/v1): they are missing, not wrong.")
    assert len(found) < 400
