"""A row of somebody else's evaluation: its reply through a path and through the reference, and what is found."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from crosspath.app.resolve import Resolved, resolve
from crosspath.app.scorer import NAMES, RowJudge
from crosspath.errors import SandboxError
from crosspath.pipeline.reply_scores import ReplyScorer
from crosspath.spec import load_spec
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.testing.validator import FakeValidator
from crosspath.types import Command, Fault, FileEntry, canonical_json

TASK = "exact-file/price"
ROW = {"task": TASK}
RIGHT = Effect(writes=(FileEntry(path=b"offer.txt", content=b"Two seats for $40, three for $55\n"),))
CALL = {"name": "run_shell", "arguments": '{"command": "write"}'}


def resolved(contract: str = "raw", transport: str = "nested-shell") -> Resolved:
    """The plan of one candidate over one family."""
    document = {
        "candidates": {"scored": {"model": "baseline/oracle", "contract": contract, "transport": transport}},
        "tasks": {"families": ["exact-file"]},
    }
    return resolve(load_spec(canonical_json(document), "scorer"), Path.cwd())


def scored(
    outputs: object, script: Any, *, inputs: object = ROW, contract: str = "raw", **expectations: str
) -> Mapping[str, Any]:
    """Feedback by name: its value, or its error in a list."""
    plan = resolved(contract)
    judge = RowJudge(ReplyScorer(plan.plan, plan.suites["exact"], FakeSandbox(script), FakeValidator()), "nested/")
    found = judge(inputs, outputs, expectations)
    return {one.name.removeprefix("nested/"): [one.error] if one.error else one.value for one in found}


def on_raw_only(command: Command) -> Effect:
    """Only the reference path carries the text unchanged."""
    return RIGHT if command.argv[-1] == b"write" else Effect()


def test_damage_of_one_reply() -> None:
    """Right on the reference and wrong on the path, which tells that all is well: damage is -1, and the cause is named."""
    expected = {"right": False, "silent_wrong": True, "cause": "wrong_state", "reference_right": True, "damage": -1}
    assert scored("write", on_raw_only) == expected
    right = {"right": True, "silent_wrong": False, "cause": "none", "reference_right": True, "damage": 0}
    assert scored("write", lambda _: RIGHT) == right


@pytest.mark.parametrize(
    "outputs",
    [
        {"role": "assistant", "tool_calls": [{"id": "1", "type": "function", "function": CALL}]},
        {"choices": [{"message": {"tool_calls": [{"id": "1", "type": "function", "function": CALL}]}}]},
    ],
)
def test_replies_in_the_forms_of_responses(outputs: object) -> None:
    """A message with tool calls and a whole response are read as logs are."""
    assert scored(outputs, on_raw_only, contract="tool-call")["reference_right"] is True


def test_the_task_may_stand_in_the_expectations() -> None:
    """Inputs of an application are its own: then the expectations say which task it was."""
    assert scored("write", lambda _: RIGHT, inputs={"question": "?"}, task=TASK)["right"] is True


def test_a_fault_is_no_false() -> None:
    """What the sandbox could not observe is an error of its feedback, and damage is not known."""
    fault = Fault(boundary="sandbox", type="start_failed", message="no room")

    def script(command: Command) -> Effect:
        return RIGHT if command.argv[-1] == b"write" else Effect(fault=fault)

    found = scored("write", script)
    assert [found[name] for name in NAMES] == [["start_failed"]] * 3 + [True, ["unobserved"]]


def test_rows_that_cannot_be_scored() -> None:
    """No task, no such task, no reply, and no sandbox: every feedback has the reason as its error."""

    def refuse(_: Command) -> Effect:
        raise SandboxError("bubblewrap is not installed")

    assert scored("write", {}, inputs={})["right"] == ["no_task"]
    assert scored("write", {}, inputs={"task": "exact-file/nowhere"})["damage"] == ["no_such_task"]
    assert scored("write", {}, inputs={"task": ["exact-file/price"]})["right"] == ["no_such_task"]
    assert scored(None, {})["cause"] == ["no_reply"]
    assert scored({"error": {"code": "429"}}, {})["cause"] == ["no_reply"]
    assert set(map(str, scored("write", refuse).values())) == {"['boundary']"}
