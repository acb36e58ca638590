"""MLflow traces, as ``trace.to_json()`` writes them: each innermost span of a chat model or LLM is a call."""

from collections.abc import Iterator, Mapping
from typing import Any

from crosspath.logged.calls import LoggedCall
from crosspath.logged.messages import messages_of
from crosspath.logged.replies import read_response, supplemented, through_litellm, usage_of
from crosspath.logged.shapes import fields, first, inner, objects, seconds, text

MODEL_SPANS = ("CHAT_MODEL", "LLM")
_LONGEST_NAME = 60


def is_trace(value: object) -> bool:
    """Whether this is a trace in MLflow's form."""
    return {"info", "data"} <= fields(value).keys()


def mlflow_calls(trace: Mapping[str, Any], place: str) -> Iterator[LoggedCall]:
    """The calls of one trace, in the order in which they began."""
    info = fields(trace.get("info"))
    spans = [_plain(span) for span in objects(fields(trace.get("data")).get("spans"))]
    if not spans:
        yield LoggedCall(place, {"trace": dict(info)}, problem="a trace without spans: only its first letters are in the log")
        return
    parents: dict[str, str] = {span["span_id"]: span["parent_id"] for span in spans}
    calls = [span for span in spans if span["type"] in MODEL_SPANS]
    wrapping = _ancestors(parents, [span["span_id"] for span in calls])
    root = next((span for span in spans if not span["parent_id"]), spans[0])
    for span in sorted((one for one in calls if one["span_id"] not in wrapping), key=_began):
        entry = {"trace": _trace(info), "span": span, "root": root}
        yield from _calls(entry, span, f"{place}, span {str(span['name'])[:_LONGEST_NAME]}", str(info.get("trace_id")))


def _began(span: Mapping[str, Any]) -> int:
    return span["started_ns"] if isinstance(span["started_ns"], int) else 0


def _trace(info: Mapping[str, Any]) -> dict[str, Any]:
    """``trace_id``, ``tags``, ``metadata`` and so on, under short names."""
    return {**info, "metadata": info.get("trace_metadata") or info.get("request_metadata"), "tags": info.get("tags")}


def _plain(span: Mapping[str, Any]) -> dict[str, Any]:
    """A span with its attributes as values; MLflow keeps each as JSON text."""
    attributes: dict[str, Any] = {name: _attribute(value) for name, value in fields(span.get("attributes")).items()}
    return {
        "name": span.get("name"),
        "span_id": str(span.get("span_id") or fields(span.get("context")).get("span_id") or ""),
        "parent_id": str(span.get("parent_span_id") or span.get("parent_id") or ""),
        "started_ns": first((span.get("start_time_unix_nano"), span.get("start_time"))),
        "ended_ns": first((span.get("end_time_unix_nano"), span.get("end_time"))),
        "status": fields(span.get("status")).get("code") or span.get("status_code"),
        "type": str(attributes.get("mlflow.spanType")),
        "inputs": attributes.get("mlflow.spanInputs"),
        "outputs": attributes.get("mlflow.spanOutputs"),
        "attributes": attributes,
    }


def _attribute(value: object) -> object:
    """An attribute's value: JSON text, except in what other programs than MLflow have written."""
    if isinstance(value, str) and value in ("null", "true", "false"):
        return {"null": None, "true": True, "false": False}[value]
    return inner(value)


def _ancestors(parents: Mapping[str, str], spans: list[str]) -> set[str]:
    """Spans above the given ones: what a library logs around the call of another library is the same call."""
    found: set[str] = set()
    for span in spans:
        above = parents.get(span)
        while above and above not in found:
            found.add(above)
            above = parents.get(above)
    return found


def _calls(entry: Mapping[str, Any], span: Mapping[str, Any], place: str, trace_id: str) -> Iterator[LoggedCall]:
    """One call for each choice of the span's response."""
    attributes, inputs = fields(span["attributes"]), span["inputs"]
    if "ERROR" in str(span["status"]) and not span["outputs"]:
        yield LoggedCall(place, entry, problem="the call failed", conversation=trace_id)
        return
    model = first((text(fields(inputs).get("model")), text(attributes.get("model")), text(attributes.get("mlflow.llm.model"))))
    lasted = _between(span["started_ns"], span["ended_ns"])
    for reading in read_response(span["outputs"]):
        known = supplemented(reading, latency_s=lasted, usage=usage_of(attributes.get("mlflow.chat.tokenUsage")))
        read = through_litellm(known, attributes.get("custom_llm_provider")) if "litellm_call_id" in attributes else known
        yield LoggedCall(place, entry, read.reply, read.problem, read.losses, model, messages_of(inputs), trace_id)


def _between(start_ns: object, end_ns: object) -> float | None:
    return seconds(end_ns - start_ns, 1e-9) if isinstance(start_ns, int) and isinstance(end_ns, int) else None
