"""MLflow's traces and Langfuse's exports: which spans and observations are calls, and what is read of them."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.app.logged_sources import read_logged
from crosspath.errors import ConfigError
from crosspath.logged import LoggedCall
from crosspath.logged.inspect_logs import sample_calls
from crosspath.logged.langfuse_exports import langfuse_calls, observations
from crosspath.logged.mlflow_traces import mlflow_calls
from crosspath.logged.numbering import Trials

LANGFUSE = Path(__file__).parents[1] / "data" / "logged" / "langfuse-observations.json"
MESSAGES = [{"role": "user", "content": "hi"}]
TOOL = {"id": "c", "function": {"name": "run", "arguments": '{"a":  1}'}}


def chat(**message: Any) -> dict[str, Any]:
    return {"model": "served", "choices": [{"finish_reason": "stop", "message": {"role": "assistant"} | message}]}


def span(name: str, kind: str = "CHAT_MODEL", above: str | None = None, start: int = 1, **attributes: Any) -> dict[str, Any]:
    """A span as ``trace.to_json()`` writes it: attributes are JSON texts."""
    said = {"mlflow.spanType": kind, **attributes}
    return {
        "name": name,
        "span_id": name,
        "parent_span_id": above,
        "start_time_unix_nano": start,
        "end_time_unix_nano": start + 2_000_000_000,
        "status": {"code": "STATUS_CODE_OK"},
        "attributes": {key: json.dumps(value) for key, value in said.items()},
    }


def model_span(name: str, **more: Any) -> dict[str, Any]:
    outputs = more.pop("outputs", chat(content=name))
    return span(name, **more, **{"mlflow.spanInputs": {"model": "m", "messages": MESSAGES}, "mlflow.spanOutputs": outputs})


def trace(*spans: dict[str, Any]) -> dict[str, Any]:
    info = {"trace_id": "tr-1", "tags": {"task": "t"}, "trace_metadata": {"user": "u"}}
    return {"info": info, "data": {"spans": list(spans)}}


def calls(*spans: dict[str, Any]) -> list[LoggedCall]:
    return list(mlflow_calls(trace(*spans), "traces.jsonl:1"))


class TestMlflow:
    def test_model_spans_are_calls(self) -> None:
        """Spans of chat models and LLMs are calls, in the order of their start; tags and metadata of the trace are at hand."""
        found = calls(span("root", "CHAIN"), model_span("b", start=9), model_span("a", kind="LLM", start=5, above="root"))
        assert [call.reply and call.reply.text for call in found] == ["a", "b"]
        assert found[0].entry["trace"]["tags"] == {"task": "t"}
        assert found[0].entry["trace"]["metadata"] == {"user": "u"}
        assert found[0].entry["root"]["name"] == "root"
        assert (found[0].model, found[0].conversation, found[0].messages) == ("m", "tr-1", tuple(MESSAGES))
        assert found[0].reply is not None
        assert found[0].reply.latency_s == 2.0

    def test_a_call_logged_by_two_libraries_is_one(self) -> None:
        """Of model spans inside of each other the innermost is the call."""
        found = calls(model_span("outer"), span("between", "CHAIN", "outer"), model_span("inner", above="between"))
        assert [call.reply and call.reply.text for call in found] == ["inner"]

    def test_usage_beside_the_response(self) -> None:
        """Usage that only the span has is used, and then is no loss."""
        (call,) = calls(model_span("a", **{"mlflow.chat.tokenUsage": {"input_tokens": 7, "output_tokens": 2}}))
        assert call.reply is not None
        assert call.reply.usage is not None
        assert (call.reply.usage.prompt_tokens, call.losses) == (7, ())

    def test_tool_calls_through_litellm_are_not_taken_as_raw(self) -> None:
        """MLflow's spans of litellm do not say the provider, so argument strings may have been written anew."""
        direct, routed = calls(
            model_span("a", outputs=chat(tool_calls=[TOOL])),
            model_span("b", outputs=chat(tool_calls=[TOOL]), start=2, litellm_call_id="x"),
        )
        assert direct.reply is not None
        assert routed.reply is not None
        assert (direct.reply.fidelity, routed.reply.fidelity) == ("raw", "reserialised")
        assert routed.reply.tool_calls[0].arguments == '{"a":  1}'

    def test_what_is_no_reply(self) -> None:
        """A failed span, and a trace of which only the head is there, are told."""
        failed = span("a") | {"status": {"code": "STATUS_CODE_ERROR"}}
        assert [call.problem for call in calls(failed)] == ["the call failed"]
        assert "without spans" in str(calls()[0].problem)

    def test_other_json_is_told(self, tmp_path: Path) -> None:
        """Lines that are no traces are counted; spans whose parents form a ring are no trap."""
        ring = [model_span("a", above="b"), model_span("b", above="a")]
        lines = [{"a": 1}, trace(*ring), trace(model_span("x"))]
        (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
        found = list(read_logged([str(tmp_path / "t.jsonl")], "mlflow"))
        assert [call.problem for call in found] == ["no trace in MLflow's form (info and data)", None]

    def test_a_source_that_is_nothing(self) -> None:
        """What is neither a file nor, without a store, an experiment is refused."""
        with pytest.raises(ConfigError, match="is no file, and as an experiment or run"):
            list(read_logged(["prod"], "mlflow"))


class TestLangfuse:
    def test_its_own_export(self) -> None:
        """Generations as Langfuse's SDK records and shows them: messages, output, usage, times, metadata; no finish reason."""
        found = list(read_logged([str(LANGFUSE)], "langfuse"))
        assert [call.entry["metadata"]["task"] for call in found] == [
            "exact-file/word", "exact-file/price", "other/task", "exact-file/remark",
        ]  # fmt: skip
        tool = found[3].reply
        assert tool is not None
        assert tool.usage is not None
        assert (tool.text, tool.tool_calls[0].arguments) == (None, '{"command":  "printf done > remark.md" }')
        assert (tool.fidelity, tool.usage.prompt_tokens, found[3].losses) == ("raw", 10, ("no finish reason",))
        assert len({call.conversation for call in found}) == 4

    @pytest.mark.parametrize("ending", ["json", "jsonl", "csv"])
    def test_other_exports(self, tmp_path: Path, ending: str) -> None:
        """A list, JSON lines in the database's names with JSON as text, and a table say the same."""
        row = {"id": "o", "trace_id": "t", "type": "GENERATION", "provided_model_name": "m", "output": "echo hi"}
        row |= {"input": json.dumps(MESSAGES), "usage_details": '{"input": 3, "output": 1}', "metadata": '{"task": "x"}'}
        quoted = ['"' + value.replace('"', '""') + '"' for value in row.values()]
        texts = {"json": json.dumps([row]), "jsonl": json.dumps(row), "csv": ",".join(row) + "\n" + ",".join(quoted) + "\n"}
        (tmp_path / f"export.{ending}").write_text(texts[ending])
        (call,) = read_logged([str(tmp_path)], "langfuse")
        assert call.reply is not None
        assert call.reply.usage is not None
        assert (call.reply.text, call.reply.usage.prompt_tokens, call.model, call.messages) == (
            "echo hi",
            3,
            "m",
            tuple(MESSAGES),
        )
        assert call.entry["metadata"] == {"task": "x"}

    @pytest.mark.parametrize("reply", ['{"command": "ls"}', '"ls"', "[1]", '{"content": "x"}', "null"])
    def test_a_reply_that_is_json_stays_a_text(self, reply: str) -> None:
        """A reply in JSON is no response: only what plainly is a message is taken apart."""
        (call,) = langfuse_calls({"type": "GENERATION", "output": reply}, "x")
        assert call.reply is not None
        assert call.reply.text == reply

    def test_generations_inside_of_each_other(self, tmp_path: Path) -> None:
        """A trace with its observations; what two libraries have logged is one call; a failed one is told."""
        inner = {"id": "b", "type": "GENERATION", "parentObservationId": "a", "output": "inner"}
        failed = {"id": "c", "type": "GENERATION", "level": "ERROR"}
        document = {
            "id": "t",
            "metadata": {"task": "x"},
            "observations": [{"id": "a", "type": "GENERATION", "output": "o"}, inner, failed],
        }
        (tmp_path / "trace.json").write_text(json.dumps(document, indent=1))
        good, bad = read_logged([str(tmp_path / "trace.json")], "langfuse")
        assert good.reply is not None
        assert (good.reply.text, good.entry["trace"]["metadata"], good.conversation) == ("inner", {"task": "x"}, "t")
        assert bad.problem == "the call failed"
        assert [one["id"] for one in observations([{"data": [inner]}, failed])] == ["b", "c"]

    def test_what_the_logger_left_out_is_no_reply(self) -> None:
        """A mark in place of a text is not taken for what the model said."""
        (call,) = langfuse_calls({"type": "GENERATION", "output": "<truncated due to size exceeding limit>"}, "x")
        assert (call.reply, call.problem) == (None, "cut off or left out by whatever wrote the log")


NAMES = st.sampled_from(
    [
        "info", "data", "spans", "span_id", "parent_span_id", "attributes", "mlflow.spanType", "mlflow.spanInputs",
        "mlflow.spanOutputs", "trace_id", "status", "code", "type", "input", "output", "metadata", "observations",
        "role", "content", "messages", "model", "start_time_unix_nano", "end_time_unix_nano", "startTime", "endTime",
        "usageDetails", "level", "id", "parentObservationId", "events", "event", "call", "call_refs", "input_refs",
        "events_data", "calls", "response", "choices", "message", "tool_calls", "attachments", "span_begin",
        "parent_id", "action", "error", "cache", "function", "arguments", "working_time",
    ]
)  # fmt: skip
WORDS = st.sampled_from(
    ["assistant", "user", "model", "span_begin", "step", "scorer", "GENERATION", '"LLM"', "CHAT_MODEL", "attachment://"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | WORDS | NAMES | st.text(),
    lambda inside: st.lists(inside, max_size=3) | st.dictionaries(NAMES, inside, max_size=4),
    max_leaves=25,
)
OBJECTS = st.dictionaries(NAMES, VALUES, max_size=6)


@given(OBJECTS, st.lists(OBJECTS, max_size=3), OBJECTS)
def test_any_object_is_read_or_said_to_be_no_call(
    entry: dict[str, Any], inner: list[dict[str, Any]], attributes: dict[str, Any]
) -> None:
    """No trace, observation or sample makes its reader stumble: each call has a reply or a problem, never both, and a number."""
    spans = [{"attributes": attributes | {"mlflow.spanType": "LLM"}} | one for one in inner]
    observation = entry | {"type": "GENERATION"}
    events = [{"event": "model"} | one for one in inner]
    found = [
        *mlflow_calls({"info": entry, "data": {"spans": spans}}, "x"),
        *(call for one in observations([observation, {"observations": inner}]) for call in langfuse_calls(one, "x")),
        *sample_calls(entry, entry | {"events": events}, "x"),
    ]
    trials = Trials()
    for call in found:
        assert (call.reply is None) == (call.problem is not None)
        if call.reply is not None:
            assert trials.number(("m", "t", "c"), call, call.reply)[0] >= 0
