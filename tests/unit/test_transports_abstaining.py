"""Abstention: a reply declines only in its contract's own form, read letter by letter, and nothing of it is executed."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import catalogue_tasks, contract, contract_names
from crosspath.tasks import parse_tasks
from crosspath.transports import Path as CommandPath
from crosspath.transports import assemble, express, express_abstention, preset
from crosspath.types import Cleanup, Contract, Delivery, External, PathSpec, Reply, ToolCall

INCIDENTS = Path(__file__).parents[1] / "data" / "incidents.jsonl"
TASKS = (*catalogue_tasks(), *parse_tasks(INCIDENTS.read_text(encoding="utf-8"), INCIDENTS.name))
COMMANDS = sorted({text for task in TASKS for text in (task.oracle, task.naive, task.setup, task.instruction) if text})
CONTRACTS = {name: contract(name) for name in contract_names()}
HARNESS = PathSpec(name="mine", external=External(argv=("/opt/harness",)), accepts="any")
CALL = ToolCall(id="1", name="run_shell", arguments='{"command": "true"}')


def path(told: str = "raw", through: str = "raw", cleanup: Cleanup = "none") -> CommandPath:
    """A shipped path for replies under a shipped contract."""
    return assemble(preset(through), CONTRACTS[told], cleanup)


def said(text: str, told: str = "raw", cleanup: Cleanup = "none") -> Delivery:
    """The delivery of a text that ended by itself."""
    return path(told, cleanup=cleanup).deliver(Reply(text=text, finish_reason="stop"))


@pytest.mark.parametrize("told", sorted(CONTRACTS))
@pytest.mark.parametrize("through", ["raw", "nested-shell", "single-quoted-shell", "script-file"])
@pytest.mark.parametrize("encoded", [False, True])
def test_a_reply_in_the_form_declines_on_every_path(told: str, through: str, encoded: bool) -> None:
    """Whatever the path does to shell text: there is none. The encoded control is the same delivery as the plain one."""
    carried = path(told, through)
    reply = express_abstention(carried.contract or CONTRACTS[told], "no file 'a' $HOME \u27eax\u27eb")
    delivery = carried.deliver(reply, encoded=encoded and carried.survivable)
    assert (delivery.abstained, delivery.problem, delivery.actions) == (True, "refusal", ())
    assert delivery.reason == "the reply declines in the form of its contract: no file 'a' $HOME \u27eax\u27eb"
    assert delivery == carried.deliver(reply)


@pytest.mark.parametrize(
    ("told", "text", "declines"),
    [
        ("raw", "CANNOT: no", True),
        ("raw", "CANNOT:no", True),
        ("raw", "CANNOT:", True),
        ("raw", "CANNOT: no\nThe file is not there.", True),
        ("raw", " CANNOT: no", False),
        ("raw", "\nCANNOT: no", False),
        ("raw", "Cannot: no", False),
        ("raw", "CANNOT do it", False),
        ("raw", "`CANNOT: no`", False),
        ("raw", "echo CANNOT: no", False),
        ("raw", '{"cannot": "no"}', False),
        ("json", '{"cannot": "no"}', True),
        ("json", ' {"cannot": ""} \n', True),
        ("json", '{"cannot": "no", "command": ""}', False),
        ("json", '{"cannot": "no", "why": "x"}', False),
        ("json", '{"cannot": "no", "cannot": "no"}', False),
        ("json", '{"cannot": null}', False),
        ("json", '{"cannot": true}', False),
        ("json", '{"Cannot": "no"}', False),
        ("json", '["cannot"]', False),
        ("json", "CANNOT: no", False),
        ("json", '{"command": "echo cannot"}', False),
        ("tool-call", "CANNOT: no", True),
        ("tool-call", "I think: CANNOT: no", False),
    ],
)
def test_nothing_but_the_form_counts(told: str, text: str, declines: bool) -> None:
    """The marker begins the reply as it was stated, letter by letter; a JSON object has the field and no other."""
    delivery = said(text, told)
    assert delivery.abstained is declines
    assert not (declines and delivery.actions)


def test_the_harness_cleans_up_first() -> None:
    """Blanks and a fence count for a harness that takes them as they are, and don't for one that takes them out."""
    fenced = "Here:\n```\nCANNOT: no such file\n```\n"
    assert said(" \nCANNOT: no", cleanup="strip").abstained
    assert said(fenced, cleanup="fenced-block").abstained
    assert not said(fenced).abstained
    assert said('```json\n{"cannot": "no"}\n```', "json", cleanup="fenced-block").abstained
    assert not said('```json\n{"cannot": "no"}\n```', "json").abstained


def test_other_words_are_a_refusal_that_does_not_abstain() -> None:
    """Declining in words of one's own stays what it was: problem refusal, and what came is executed."""
    delivery = said("I can't do that: there is no such file.")
    assert (delivery.problem, delivery.abstained, len(delivery.actions)) == ("refusal", False, 1)


@pytest.mark.parametrize("told", ["raw", "tool-call"])
def test_who_calls_a_tool_does_not_decline(told: str) -> None:
    """The calls of such a reply are carried out, whatever its text says."""
    delivery = path(told).deliver(Reply(text="CANNOT: no", tool_calls=(CALL,), finish_reason="tool_calls"))
    assert not delivery.abstained
    assert len(delivery.actions) == 1


def test_a_contract_without_a_form_is_never_declined() -> None:
    """The same words under a contract that does not state them are a command like any other."""
    told = CONTRACTS["raw"].model_copy(update={"abstain": None})
    delivery = assemble(preset("raw"), told).deliver(Reply(text="CANNOT: no", finish_reason="stop"))
    assert (delivery.abstained, delivery.problem, len(delivery.actions)) == (False, None, 1)
    assert not assemble(preset("raw")).deliver(Reply(text="CANNOT: no")).abstained


def test_a_harness_of_ones_own_gets_the_reply_as_it_is() -> None:
    """Only the user's program knows what it does with such a reply: it runs, and the reply is known to decline."""
    delivery = assemble(HARNESS, CONTRACTS["raw"], "strip").deliver(Reply(text=" CANNOT: no\n", finish_reason="stop"))
    assert (delivery.abstained, delivery.problem, len(delivery.actions)) == (True, "refusal", 1)
    assert json.loads(delivery.actions[0].command.stdin)["text"] == "CANNOT: no"


def test_a_reply_cut_in_its_reason_declines_all_the_same() -> None:
    """What the token limit took is the end of the reason."""
    delivery = path().deliver(Reply(text="CANNOT: there is no", finish_reason="length"))
    assert (delivery.abstained, delivery.problem) == (True, "refusal")


def test_a_long_or_hostile_reason_stays_one_short_line() -> None:
    """What a model says is repeated on one line, up to a bound."""
    delivery = said("CANNOT: " + "\x1b[2J\n" + "x" * 5000)
    assert "\n" not in delivery.reason
    assert "\x1b" not in delivery.reason
    assert len(delivery.reason) < 300
    assert said("CANNOT: \ud800").abstained


def test_the_form_is_part_of_a_paths_identity() -> None:
    """Replies that one contract's form declines and another's does not are not delivered alike."""
    other = CONTRACTS["raw"].model_copy(update={"abstain": "NOT POSSIBLE:"})
    none = CONTRACTS["raw"].model_copy(update={"abstain": None})
    for spec in (preset("raw"), HARNESS):
        digests = {assemble(spec, told).digest for told in (CONTRACTS["raw"], other, none)}
        assert len(digests) == 3
        assert assemble(spec, CONTRACTS["nested-shell"]).digest == assemble(spec, CONTRACTS["raw"]).digest


@pytest.mark.parametrize("told", CONTRACTS.values(), ids=list(CONTRACTS))
def test_no_command_of_the_catalogue_or_of_an_incident_declines(told: Contract) -> None:
    """Oracles, naive commands, set-ups and instructions of all tasks and incidents, under every contract that ships."""
    assert len(COMMANDS) > 100
    carried = assemble(preset("raw"), told)
    for command in COMMANDS:
        assert not carried.deliver(express(told, command)).abstained, command


@given(st.text(min_size=1), st.sampled_from(sorted(CONTRACTS)))
def test_no_expressed_command_declines_unless_it_begins_so(command: str, told: str) -> None:
    """JSON and tool calls carry any shell text, also one that begins with the marker; plain text can't."""
    delivery = assemble(preset("raw"), CONTRACTS[told]).deliver(express(CONTRACTS[told], command))
    begins = CONTRACTS[told].shape == "text" and command.startswith("CANNOT:")
    assert delivery.abstained is begins


@given(st.text(), st.sampled_from(sorted(CONTRACTS)))
def test_every_expressed_reason_declines(reason: str, told: str) -> None:
    """A reason of any text is carried by the form: quotes, line ends and surrogates included."""
    reply = express_abstention(CONTRACTS[told], reason)
    assert assemble(preset("raw"), CONTRACTS[told]).deliver(reply).abstained
