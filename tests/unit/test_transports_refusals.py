"""Refusals in words: an English opener at the very beginning of a reply, and nothing else."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import catalogue_tasks, contract
from crosspath.tasks import parse_tasks
from crosspath.transports import Path as CommandPath
from crosspath.transports import assemble, express, preset
from crosspath.types import Contract, Delivery, Reply, Shape, ToolCall

INCIDENTS = Path(__file__).parents[1] / "data" / "incidents.jsonl"
TASKS = (*catalogue_tasks(), *parse_tasks(INCIDENTS.read_text(encoding="utf-8"), INCIDENTS.name))
COMMANDS = sorted({text for task in TASKS for text in (task.oracle, task.naive, task.setup, task.instruction) if text})
OPENERS = (
    "I'm sorry, I can't help with that.",
    "I\u2019m sorry, but I can\u2019t do that.",
    "I am very sorry, but no.",
    "Sorry, but this is not possible.",
    "Sorry, I won't.",
    "I can't write that file.",
    "I cannot assist with this request.",
    "I can not do it.",
    "I won't run commands.",
    "I'm unable to do that.",
    "I am unable to do that.",
    "I\u2019m not able to.",
    "As an AI language model, I have no shell.",
    "I apologize, but no.",
)


CONTRACTS: dict[Shape, str] = {"text": "raw", "json": "json", "tools": "tool-call"}


def path(shape: Shape) -> CommandPath:
    """The raw path for replies of that shape."""
    return assemble(preset("raw"), contract(CONTRACTS[shape]))


def said(text: str, shape: Shape = "text") -> Delivery:
    """The delivery of a reply that ended by itself."""
    return path(shape).deliver(Reply(text=text, finish_reason="stop"))


@pytest.mark.parametrize("opener", OPENERS)
@pytest.mark.parametrize("before", ["", " \n\t", "> ", '"', "**", "\u201c"])
def test_an_opener_is_a_refusal_and_is_executed(opener: str, before: str) -> None:
    """What a harness would run is run; the problem says what to blame if the state is wrong."""
    delivery = said(before + opener)
    assert (delivery.problem, len(delivery.actions)) == ("refusal", 1)
    assert delivery.reason.startswith("the reply declines in words: ")


@pytest.mark.parametrize("shape", ["json", "tools"])
def test_a_refusal_explains_the_broken_contract(shape: Shape) -> None:
    """Words where an object or a call was asked for are a refusal, with both reasons."""
    delivery = said(OPENERS[0], shape)
    assert (delivery.problem, delivery.actions) == ("refusal", ())
    assert delivery.reason.count(";") == 1
    assert said("Here is how I would do it.", shape).problem == "contract_error"


def test_a_tool_call_is_no_refusal_whatever_is_said_beside_it() -> None:
    """Who calls the tool does not decline."""
    call = ToolCall(id="1", name="run_shell", arguments='{"command": "true"}')
    delivery = path("tools").deliver(Reply(text="I can't see the file yet, so I look.", tool_calls=(call,), finish_reason="stop"))
    assert delivery.problem != "refusal"


@pytest.mark.parametrize(
    "text",
    [
        "# I can't use printf here, it would eat the sign\necho a > b",
        "echo I cannot do that",
        "cat > letter.txt <<'EOF'\nI'm sorry, I can't come.\nEOF",
        'printf %s "I\'m sorry" > out.txt',
        "I can't run it, but this would do:\n```bash\ntrue\n```",
        "sorry --help",
        "as an",
        "I=1; echo $I",
        "In short: I can't",
    ],
)
def test_commands_that_speak_of_refusals_are_none(text: str) -> None:
    """Only the beginning counts, a comment is a comment, and a block of code is an answer."""
    assert said(text).problem is None


@pytest.mark.parametrize("told", [contract("raw"), contract("json"), contract("tool-call")], ids=["text", "json", "tools"])
def test_no_command_of_the_catalogue_or_of_an_incident_is_a_refusal(told: Contract) -> None:
    """Oracles, naive commands, set-ups and instructions of all tasks and incidents, in every shape."""
    assert len(COMMANDS) > 100
    carried = assemble(preset("raw"), told)
    for command in COMMANDS:
        assert carried.deliver(express(told, command)).problem != "refusal", command


@given(st.text(), st.sampled_from(OPENERS))
def test_an_opener_behind_a_command_never_counts(text: str, opener: str) -> None:
    """Whatever a reply says after its first command word."""
    assert said(f"printf %s {text} {opener}").problem != "refusal"
