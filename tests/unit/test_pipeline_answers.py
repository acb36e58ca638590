"""Recordings: lines that answer nothing are said, with what would have been right."""

import pytest

from builders import task
from crosspath.catalogue import contract
from crosspath.pipeline.answers import MAX_REASONS, answers, unused_lines
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.transports import preset, preset_names
from crosspath.types import Candidate, Generation, ModelSpec, RecordedReply, Reference, Reply

MODEL = "recorded/replies.jsonl"


def plan(*models: str) -> Plan:
    """Two tasks, one trial, told raw and nested-shell."""
    candidates = tuple(
        Candidate(
            name=model, generation=Generation(model=ModelSpec(name=model), contract="nested-shell"), transport="nested-shell"
        )
        for model in models
    )
    contracts = {name: contract(name) for name in ("raw", "nested-shell", "tool-call")}
    specs = {name: preset(name) for name in preset_names()}
    return make_plan(candidates, Reference(), (task("exact-file/price"), task("exact-file/plain")), contracts, specs, 1)


def line(task: str = "exact-file/price", contract: str = "raw", trial: int = 0, model: str = "m") -> RecordedReply:
    """One recorded line."""
    return RecordedReply(model=model, task=task, contract=contract, trial=trial, reply=Reply(text="true"))


@pytest.mark.parametrize(
    ("lines", "sentence"),
    [
        ([line(), line("exact-file/plain"), line(contract="nested-shell")], None),
        (
            [line(), line("exact-file/pric")],
            "1 of 2 lines of replies.jsonl is not used: task 'exact-file/pric' is not in this evaluation"
            " (did you mean 'exact-file/price'?)",
        ),
        ([line(contract="nested")], "contract 'nested' is told by no candidate of it (did you mean 'nested-shell'?)"),
        ([line(contract="tool-call")], "contract 'tool-call' is told by no candidate of it"),
        ([line(trial=1)], "trial 1 is not asked for (trials: 1, counted from 0)"),
    ],
)
def test_lines_that_match_nothing_are_said(lines: list[RecordedReply], sentence: str | None) -> None:
    """A typing error in a task, contract or trial is named, with the near name; a file that is used wholly is silent."""
    found = unused_lines(plan(MODEL), {MODEL: lines})
    assert len(found) == (sentence is not None)
    assert sentence is None or sentence in found[0]


def test_many_reasons_are_counted() -> None:
    """A recording of other tasks gives one sentence, not hundreds."""
    [found] = unused_lines(plan(MODEL), {MODEL: [line(f"other/{number}") for number in range(40)]})
    assert found.startswith("40 of 40 lines of replies.jsonl are not used: ")
    assert found.count("is not in this evaluation") == MAX_REASONS
    assert found.endswith("and 35 more reasons")


def test_another_models_lines_are_not_meant() -> None:
    """With a model named, the lines of others count neither as unused nor as lines."""
    name = f"{MODEL}#a"
    lines = [line(model="a"), line("gone", model="b")]
    assert unused_lines(plan(name), {name: lines}) == ()
    assert len(answers(plan(name), {name: lines})) == 1
