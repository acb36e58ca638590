"""OpenAI-style logs: which shapes of a line are read, and what is said of the others."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.app.logged_sources import read_logged
from crosspath.logged import LoggedCall
from crosspath.logged.openai_lines import openai_calls
from crosspath.logged.shapes import MAX_DEPTH, Unreadable, parse

ASKED = {"model": "gpt-example", "messages": [{"role": "user", "content": "hi"}]}
CALL = {"id": "call_a", "type": "function", "function": {"name": "run_shell", "arguments": '{"command":  "ls"'}}


def chat(**message: Any) -> dict[str, Any]:
    """A chat completion."""
    said = {"role": "assistant", "content": None} | message
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "prompt_tokens_details": {"cached_tokens": 2}}
    return {
        "object": "chat.completion",
        "model": "served",
        "system_fingerprint": "fp",
        "choices": [{"finish_reason": "stop", "message": said}],
        "usage": usage,
    }


def calls(entry: dict[str, Any], requests: dict[str, Any] | None = None) -> list[LoggedCall]:
    """The calls of one line."""
    return list(openai_calls(entry, "log.jsonl:1", requests or {}))


def one(entry: dict[str, Any]) -> LoggedCall:
    (call,) = calls(entry)
    return call


def read(tmp_path: Path, *lines: object, kind: str = "openai", name: str = "log.jsonl") -> list[LoggedCall]:
    """The calls of a file of these lines; texts stand as they are."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    (tmp_path / name).write_text("".join(text + "\n" for text in texts), "utf-8", "surrogatepass")
    return list(read_logged([str(tmp_path / name)], kind))


def test_a_pair_is_read_whole() -> None:
    """Reply, tool calls with their argument strings to the letter, usage, latency, model and messages."""
    call = one({"request": ASKED, "response": chat(tool_calls=[CALL]), "latency_ms": 1500})
    assert call.reply is not None
    assert (call.model, call.messages, call.losses) == ("gpt-example", ({"role": "user", "content": "hi"},), ())
    assert call.reply.tool_calls[0].arguments == '{"command":  "ls"'
    assert (call.reply.text, call.reply.fidelity, call.reply.latency_s) == (None, "raw", 1.5)
    assert call.reply.usage is not None
    assert (call.reply.usage.prompt_tokens, call.reply.usage.cached_tokens, call.reply.usage.reasoning_tokens) == (9, 2, None)
    assert (call.reply.served_model, call.reply.fingerprint) == ("served", "fp")


@pytest.mark.parametrize(
    "entry",
    [
        {"request": ASKED, "response": chat(content="true")},
        {"request": json.dumps(ASKED), "response": json.dumps(chat(content="true"))},
        {"request": {"method": "POST", "body": json.dumps(ASKED)},
         "response": {"status_code": 200, "body": json.dumps(chat(content="true"))}},
        {"request": {"json": ASKED}, "response": {"status": 200, "json": chat(content="true")}},
        {**chat(content="true"), "messages": ASKED["messages"]},
        {**ASKED, "response": chat(content="true")},
        {**ASKED, "output": "true"},
        {**ASKED, "response": "true"},
        {"messages": [*ASKED["messages"], {"role": "assistant", "content": "true"}]},
        {"request": {"model": "m", "prompt": "hi"}, "response": {"choices": [{"text": "true", "finish_reason": "stop"}]}},
        {"request": {"model": "m", "input": "hi"}, "response": {"object": "response", "status": "completed",
         "output": [{"type": "message", "content": [{"type": "output_text", "text": "true"}]}]}},
        {"request": ASKED, "response": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "true"}],
         "stop_reason": "end_turn"}},
    ],
)  # fmt: skip
def test_shapes(entry: dict[str, Any]) -> None:
    """Each usual shape of a line gives the reply, and what was asked."""
    call = one(entry)
    assert call.reply is not None
    assert call.reply.text == "true"
    assert [message["content"] for message in call.messages] == ["hi"]


def test_the_responses_api() -> None:
    """A response of the Responses API: calls to the letter, its end told by its status, its instructions as a system message."""
    output = [{"type": "reasoning", "summary": []}, {"type": "function_call", "call_id": "c", "name": "run", "arguments": "{no"}]
    usage = {"input_tokens": 5, "output_tokens": 3, "output_tokens_details": {"reasoning_tokens": 1}}
    response = {"object": "response", "status": "completed", "model": "served", "output": output, "usage": usage}
    call = one({"request": {"model": "m", "instructions": "be", "input": "hi"}, "response": response})
    assert call.reply is not None
    assert call.reply.tool_calls[0].arguments == "{no"
    assert (call.reply.finish_reason, call.reply.fidelity, call.losses) == ("tool_calls", "raw", ())
    assert [message["role"] for message in call.messages] == ["system", "user"]
    cut = one(
        {
            "request": {"input": "hi"},
            "response": response | {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        }
    )
    assert cut.reply is not None
    assert cut.reply.finish_reason == "length"


def test_batch_files_are_joined(tmp_path: Path) -> None:
    """A batch's output file has no messages: they come from its input file, by custom_id, whichever is named first."""
    (tmp_path / "in.jsonl").write_text(
        json.dumps({"custom_id": "t1", "method": "POST", "url": "/v1/chat/completions", "body": ASKED})
    )
    done = {"id": "b", "custom_id": "t1", "response": {"status_code": 200, "body": chat(content="true")}, "error": None}
    (tmp_path / "out.jsonl").write_text(json.dumps(done))
    found = list(read_logged([str(tmp_path / "out.jsonl"), str(tmp_path / "in.jsonl")], "openai"))
    assert [(call.model, call.entry["custom_id"], call.messages) for call in found] == [
        ("gpt-example", "t1", ({"role": "user", "content": "hi"},))
    ]


def test_each_choice_is_a_call() -> None:
    """A response with several choices holds several draws."""
    response = chat(content="a")
    response["choices"].append({"finish_reason": "length", "message": {"role": "assistant", "content": "b"}})
    assert [call.reply and call.reply.text for call in calls({"request": ASKED, "response": response})] == ["a", "b"]


@pytest.mark.parametrize(
    ("response", "said"),
    [
        ([{"object": "chat.completion.chunk", "choices": [{"delta": {"content": "x"}}]}], "streamed chunks"),
        ('data: {"object": "chat.completion.chunk"}\n\n', "streamed chunks"),
        ({"body": 'data: {"object": "chat.completion.chunk"}\n\n'}, "streamed chunks"),
        ({"choices": [{"delta": {"content": "x"}}]}, "streamed chunks"),
        ({"status_code": 429, "body": {"error": {"message": "key sk-1 is over", "type": "rate_limit"}}}, "an error: rate_limit"),
        ({"status_code": 500, "body": "oops"}, "an error: http_500"),
        ({"error": {"message": "sk-1"}}, "an error: of no known type"),
        ({"choices": []}, "no choice"),
        ({"surprise": 1}, "a response of a form that is not known, with the fields surprise"),
        ({"choices": [{"message": {"content": "redacted-by-litellm"}}]}, "cut off or left out"),
        (3, "no response"),
    ],
)
def test_what_is_no_reply(response: object, said: str) -> None:
    """Streams, errors and forms that are not known are no replies, each with its reason, which repeats no message of an error."""
    call = one({"request": ASKED, "response": response})
    assert call.reply is None
    assert said in str(call.problem)
    assert "sk-1" not in str(call.problem)


@pytest.mark.parametrize(
    ("message", "loss", "fidelity"),
    [
        (
            {"tool_calls": [{"id": "c", "function": {"name": "run", "arguments": {"a": 1}}}]},
            "logged as an object",
            "reserialised",
        ),
        ({"content": [{"type": "tool_use", "id": "c", "name": "run", "input": {"a": 1}}]}, "logged as an object", "reserialised"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, "several text parts", "reserialised"),
        ({"content": [{"type": "text", "text": "a"}, {"type": "image_url"}]}, "a part of type image_url was left out", "raw"),
        ({"content": "a", "tool_calls": [{"id": "c", "type": "custom"}]}, "a part of type custom was left out", "raw"),
        ({"tool_calls": [CALL, CALL]}, "same id", "raw"),
    ],
)
def test_losses(message: dict[str, Any], loss: str, fidelity: str) -> None:
    """What a log has lost or re-written is said, in the same words for each call."""
    call = one({"request": ASKED, "response": chat(**message)})
    assert call.reply is not None
    assert loss in "; ".join(call.losses)
    assert call.reply.fidelity == fidelity


def test_what_is_not_said_stays_unknown() -> None:
    """No usage and no finish reason are None and losses; zeros on both sides count as not said; a latency without a unit, too."""
    call = one(
        {"request": ASKED, "response": {"choices": [{"message": {"content": "a"}}], "usage": {"prompt_tokens": 0}}, "latency": 3}
    )
    assert call.reply is not None
    assert call.losses == ("no finish reason", "no usage")
    assert (call.reply.finish_reason, call.reply.usage, call.reply.latency_s) == (None, None, None)


def test_arguments_through_litellm() -> None:
    """litellm's log record says the provider: only OpenAI's kind hands argument strings on as they came."""
    record = {**ASKED, "response": chat(tool_calls=[CALL])}
    anthropic, openai = one({**record, "custom_llm_provider": "anthropic"}), one({**record, "custom_llm_provider": "openai"})
    assert anthropic.reply is not None
    assert openai.reply is not None
    assert (anthropic.reply.fidelity, openai.reply.fidelity) == ("reserialised", "raw")


def test_a_refusal_in_its_own_field() -> None:
    """A refusal is the reply's text, and counts as filtered, as when we ask ourselves."""
    call = one({"request": ASKED, "response": chat(refusal="I can't.")})
    assert call.reply is not None
    assert (call.reply.text, call.reply.finish_reason) == ("I can't.", "content_filter")


def test_only_messages_are_taken_over() -> None:
    """Headers and keys of a request stay where they are, even inside of a message."""
    secret = {"headers": {"Authorization": "Bearer sk-1"}, "api_key": "sk-1"}
    asked = {**ASKED, **secret, "messages": [{"role": "user", "content": "hi", **secret}]}
    call = one({"request": asked, "response": chat(content="a") | secret, **secret})
    assert "sk-1" not in json.dumps([call.messages, call.reply and call.reply.to_json()])


def test_broken_lines_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    """A torn line, a repeated field, a number that is none: each is a call with a problem, and says its line."""
    good = {"request": ASKED, "response": chat(content="a\ud800")}
    found = read(
        tmp_path, good, '{"request": ', '{"a": 1, "a": 2}', "[1]", '{"request": NaN}', "{" + '"a":[' * 200 + "]" * 200 + "}", good
    )
    assert [call.problem for call in found if call.reply is None] == [
        "not readable as JSON", "a field stands twice in one object", "no JSON object", "no response", "not readable as JSON",
    ]  # fmt: skip
    assert [call.place.split(":")[1] for call in found] == ["1", "2", "3", "4", "5", "6", "7"]


def test_one_document_is_read_as_well(tmp_path: Path) -> None:
    """A list over several lines is as good as JSON lines."""
    entries = [{"request": ASKED, "response": chat(content=text)} for text in "ab"]
    found = read(tmp_path, json.dumps(entries, indent=1), name="log.json")
    assert [(call.place.rpartition("/")[2], call.reply and call.reply.text) for call in found] == [
        ("log.json[0]", "a"),
        ("log.json[1]", "b"),
    ]


def test_depth_is_bounded() -> None:
    """What is nested deeper than a log would be is not read, so that nothing behind runs out of stack."""
    parse("[" * MAX_DEPTH + "]" * MAX_DEPTH)
    for depth in (MAX_DEPTH + 1, 100_000):
        with pytest.raises(Unreadable, match="nested too deeply"):
            parse("[" * depth + "]" * depth)


NAMES = st.sampled_from(
    [
        "request", "response", "body", "choices", "message", "messages", "role", "content", "tool_calls", "function", "name",
        "arguments", "usage", "output", "type", "text", "error", "id", "status_code", "object", "input", "finish_reason",
        "custom_id", "delta", "prompt", "prompt_tokens", "latency_s", "startTime", "endTime", "model",
    ]
)  # fmt: skip
WORDS = st.sampled_from(["assistant", "user", "text", "a", ""])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(NAMES, inside, max_size=4),
    max_leaves=25,
)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
def test_any_object_is_read_or_said_to_be_no_call(entry: dict[str, Any]) -> None:
    """No line makes the reader stumble: each gives calls with a reply or with a problem, never with both."""
    assert all((call.reply is None) == (call.problem is not None) for call in calls(entry))
