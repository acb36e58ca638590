"""JSON lines of OpenAI-style requests and responses: pairs, batch files, litellm's log records, bodies with messages."""

from collections.abc import Iterator, Mapping
from typing import Any

from crosspath.logged.calls import LoggedCall
from crosspath.logged.messages import messages_of
from crosspath.logged.replies import read_response, supplemented, through_litellm
from crosspath.logged.shapes import elapsed_s, fields, first, inner, is_object, seconds, text

_REQUESTS = ("request", "request_body", "req", "kwargs")
_RESPONSES = ("response", "response_body", "res", "completion", "output")
_BODIES = ("body", "json", "content", "data", "text")
"""Where a request or response as an HTTP client logs it has its body."""

_STREAM = ("data: {", "event: ")
"""How a body of server-sent events begins."""


def batch_request(entry: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """``custom_id`` and body of a line of a batch's input file; None for any other line."""
    named = text(entry.get("custom_id"))
    return (named, fields(entry["body"])) if named and "body" in entry and "response" not in entry else None


def openai_calls(entry: dict[str, Any], place: str, requests: Mapping[str, dict[str, Any]]) -> Iterator[LoggedCall]:
    """The calls of one line: one for each choice of its response.

    Args:
        entry: the line.
        place: ``file:line``.
        requests: bodies of a batch's input file by ``custom_id``, as its output file has only the responses.
    """
    asked = _request(entry, requests)
    if asked and "request" not in entry:
        entry = {**entry, "request": asked}
    latency = _latency_s(entry)
    history = messages_of(asked or entry)
    response = _response(entry)
    if response is None and history and history[-1].get("role") == "assistant":
        response, history = history[-1], history[:-1]  # a conversation as for fine-tuning: its last message is the reply
    model = first((text(asked.get("model")), text(entry.get("model"))))
    for reading in read_response(response):
        known = supplemented(reading, latency_s=latency)
        read = through_litellm(known, entry["custom_llm_provider"]) if "custom_llm_provider" in entry else known
        yield LoggedCall(place, entry, read.reply, read.problem, read.losses, model, history)


def _request(entry: Mapping[str, Any], requests: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """The request's body; empty where the line has none apart from itself."""
    for name in _REQUESTS:
        request = inner(entry.get(name))
        if is_object(request):
            return _body(fields(request), ("messages", "input", "prompt", "model"))
    return dict(requests.get(str(entry.get("custom_id")), {}))


def _response(entry: Mapping[str, Any]) -> object:
    """The response's body, or chunks, or an error; None where the line has none."""
    if entry.get("error") and not entry.get("response"):
        return {"error": entry["error"]}
    for name in _RESPONSES:
        response = inner(entry.get(name))
        if is_object(response):
            return _answered(fields(response))
        if isinstance(response, str) and response.startswith(_STREAM):
            return _stream(response)
        if response is not None and not (name == "output" and "object" in entry):
            return response
    return dict(entry) if {"choices", "output", "stop_reason"} & entry.keys() else None


def _answered(response: dict[str, Any]) -> object:
    """The body of a response with a status, or a body as such."""
    status = response.get("status_code", response.get("status"))
    body = _body(response, ("choices", "output", "role", "error", "object"))
    if isinstance(status, int) and status >= 400:
        return {"error": fields(body.get("error")) or {"code": f"http_{status}"}}
    raw = (
        first(text(response.get(name)) for name in _BODIES)
        if body is response and not body.keys() & {"choices", "role"}
        else None
    )
    return body if raw is None else _stream(raw)


def _stream(body: str) -> object:
    """A body that is no JSON: chunks of a stream, or what can't be read."""
    return [{"object": ".chunk"}] if body.startswith(_STREAM) else None


def _body(message: dict[str, Any], signs: tuple[str, ...]) -> dict[str, Any]:
    """The body in a logged request or response: what has one of these fields."""
    if message.keys() & set(signs):
        return message
    bodies = (inner(message.get(name)) for name in _BODIES)
    return next((fields(body) for body in bodies if is_object(body)), message)


def _latency_s(entry: Mapping[str, Any]) -> float | None:
    """Only from names that say the unit, or from two moments."""
    for name, unit_s in (
        ("latency_s", 1.0),
        ("duration_s", 1.0),
        ("latency_ms", 1e-3),
        ("duration_ms", 1e-3),
        ("response_ms", 1e-3),
    ):
        if name in entry:
            return seconds(entry[name], unit_s)
    return first(
        (elapsed_s(entry.get("startTime"), entry.get("endTime")), elapsed_s(entry.get("start_time"), entry.get("end_time")))
    )
