"""Recordings: lines that answer nothing are said, with what would have been right."""

import pytest

from builders import task
from crosspath.catalogue import contract, request_style, request_style_names
from crosspath.pipeline.answers import MAX_REASONS, answers, unused_lines
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.transports import preset, preset_names
from crosspath.types import Candidate, Generation, ModelSpec, RecordedReply, Reference, Reply

MODEL = "recorded/replies.jsonl"


def plan(*models: str, styles: tuple[str, ...] = ("plain",)) -> Plan:
    """Two tasks, one trial, told raw and nested-shell, in each of the styles."""
    candidates = tuple(
        Candidate(
            name=f"{model} {style}",
            generation=Generation(model=ModelSpec(name=model), contract="nested-shell", request_style=style),
            transport="nested-shell",
        )
        for model in models
        for style in styles
    )
    contracts = {name: contract(name) for name in ("raw", "nested-shell", "tool-call")}
    specs = {name: preset(name) for name in preset_names()}
    tasks = (task("exact-file/price"), task("exact-file/plain"))
    known = {name: request_style(name) for name in request_style_names()}
    return make_plan(candidates, Reference(), tasks, contracts, specs, 1, known)


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


def in_style(style: str, text: str) -> RecordedReply:
    """A line whose reply was asked for in a style."""
    return line().model_copy(update={"request_style": style, "reply": Reply(text=text)})


def test_each_request_style_has_replies_of_its_own() -> None:
    """A recorded reply answers requests in its own style only; a line that names none was asked for plainly."""
    planned = plan(MODEL, styles=("plain", "terse", "chatty"))
    table = answers(planned, {MODEL: [line(), in_style("terse", "false")]})
    found = {
        request.request_style: reply.text
        for request in planned.requests
        if (reply := table.get(request.key)) and request.contract == "raw"
    }
    assert found == {"plain": "true", "terse": "false"}
    assert len(table) == 2


def test_lines_of_a_style_that_nobody_uses_are_said() -> None:
    """A misspelt style is named with the near one, and so is a plain recording where only another style is asked for."""
    [misspelt] = unused_lines(plan(MODEL, styles=("plain", "terse")), {MODEL: [line(), in_style("ters", "false")]})
    assert "request style 'ters' is used by no candidate that is told 'raw' (did you mean 'terse'?)" in misspelt
    [plainly] = unused_lines(plan(MODEL, styles=("terse",)), {MODEL: [line()]})
    assert plainly.endswith("request style 'plain' is used by no candidate that is told 'raw'")


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
