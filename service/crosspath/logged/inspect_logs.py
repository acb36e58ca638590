"""Inspect's logs: each model event of each sample is a call; read from the provider's own response where it is there."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from crosspath.logged.calls import STORED_APART, LoggedCall, Reading
from crosspath.logged.messages import messages_of
from crosspath.logged.replies import read_response, supplemented, usage_of
from crosspath.logged.shapes import fields, first, is_list, is_object, items, objects, seconds, text

FROM_CACHE = "read from Inspect's cache, so no draw of its own"
NOT_JSON = "arguments that were no JSON are not in the log as they came"
SCORER = "asked by a scorer: no reply to the sample"
_SCORERS = ("scorers", "scorer")
_APART = ("attachment://", "tc://")
_STOP_REASONS = {"max_tokens": "length", "model_length": "length", "unknown": None}
"""Inspect's words where they are others than OpenAI's."""
_SAMPLE = ("id", "epoch", "input", "target", "metadata", "uuid", "choices", "files", "setup")
_EVENT = ("uuid", "span_id", "timestamp", "model", "role", "config", "metadata", "retries", "cache", "working_time")
_PLACE_LONGEST = 80


def sample_calls(log: Mapping[str, Any], sample: Mapping[str, Any], source: str) -> Iterator[LoggedCall]:
    """The calls of one sample, in their order.

    Args:
        log: the log's header, with ``eval``.
        sample: the sample, as ``samples/ID_epoch_N.json`` or an item of ``samples`` has it.
        source: the file.
    """
    stored = _Stored(sample)
    named = f"{source}, sample {str(sample.get('id'))[:_PLACE_LONGEST]}, epoch {sample.get('epoch')}"
    head = {"eval": fields(log.get("eval")), "sample": stored.whole({name: sample.get(name) for name in _SAMPLE})}
    conversation = f"{text(sample.get('uuid')) or named}"
    number = 0
    for event, scoring in _model_events(objects(sample.get("events"))):
        number += 1
        entry = {**head, "event": {name: event[name] for name in _EVENT if name in event}}
        for call in _calls(stored, event, LoggedCall(f"{named}, call {number}", entry, conversation=conversation)):
            yield replace(call, reply=None, problem=SCORER) if scoring else call
    if not number:
        yield LoggedCall(named, head, problem="a sample without model events", conversation=conversation)


def _model_events(events: list[dict[str, Any]]) -> Iterator[tuple[dict[str, Any], bool]]:
    """Each call, and whether a scorer has made it: by the span it stands in, or in older logs by the step."""
    scoring: set[str] = set()
    steps: list[object] = []
    for event in events:
        kind = event.get("event")
        if kind == "span_begin" and (event.get("type") in _SCORERS or str(event.get("parent_id")) in scoring):
            scoring.add(str(event.get("id")))
        elif kind == "step":
            steps = [*steps, event.get("type")] if event.get("action") == "begin" else steps[:-1]
        elif kind == "model":
            yield event, str(event.get("span_id")) in scoring or bool(set(_SCORERS) & set(map(str, steps)))


def _calls(stored: "_Stored", event: Mapping[str, Any], call: LoggedCall) -> Iterator[LoggedCall]:
    """The event's call, once for each choice."""
    call = replace(call, model=text(event.get("model")), messages=stored.messages(event))
    if event.get("error") or event.get("pending"):
        yield replace(call, problem="the call failed" if event.get("error") else "the call never ended")
        return
    cached = (FROM_CACHE,) if event.get("cache") == "read" else ()
    for reading in _readings(stored, event):
        yield replace(call, reply=reading.reply, problem=reading.problem, losses=(*reading.losses, *cached))


def _readings(stored: "_Stored", event: Mapping[str, Any]) -> list[Reading]:
    output = fields(event.get("output"))
    lasted = first((seconds(output.get("time")), seconds(event.get("working_time"))))
    usage = usage_of(output.get("usage"))
    raw = fields(fields(event.get("call")).get("response"))
    told = _as_provider(raw) if raw.keys() & {"choices", "output", "stop_reason"} else None
    stored.missing = False
    found = read_response(stored.whole(told or _as_chat(output)))
    lost = (STORED_APART,) if stored.missing else ()
    lost += (NOT_JSON,) if told is None and _has_parse_error(output) else ()
    return [
        replace(known, losses=(*known.losses, *lost))
        for known in (supplemented(one, latency_s=lasted, usage=usage) for one in found)
    ]


def _as_provider(raw: dict[str, Any]) -> dict[str, Any] | None:
    """The raw response; None where it holds no reply in a form that is known."""
    return raw if any(reading.reply for reading in read_response(raw)) else None


def _as_chat(output: Mapping[str, Any]) -> dict[str, Any]:
    """Inspect's own form of a response, under the names of a chat completion."""
    choices = [
        {
            "message": choice.get("message"),
            "finish_reason": _STOP_REASONS.get(str(choice.get("stop_reason")), choice.get("stop_reason")),
        }
        for choice in objects(output.get("choices"))
    ]
    return {"model": output.get("model"), "choices": choices, "usage": output.get("usage")}


def _has_parse_error(output: Mapping[str, Any]) -> bool:
    messages = [fields(choice.get("message")) for choice in objects(output.get("choices"))]
    return any(call.get("parse_error") for message in messages for call in objects(message.get("tool_calls")))


class _Stored:
    """What a sample keeps once for all events: long texts, and messages that are sent again in each turn."""

    def __init__(self, sample: Mapping[str, Any]) -> None:
        self._texts = fields(sample.get("attachments"))
        pools = fields(sample.get("events_data"))
        self._sent, self._requests = items(pools.get("messages")), items(pools.get("calls"))
        self.missing = False
        """Whether a text was looked for in vain."""

    def messages(self, event: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
        """What was sent: as the provider got it, else as Inspect has it."""
        call = fields(event.get("call"))
        key = text(call.get("call_key")) or "messages"
        sent = _referred(self._requests, call.get("call_refs")) or fields(call.get("request")).get(key)
        sent = sent or items(event.get("input")) or _referred(self._sent, event.get("input_refs"))
        return messages_of(self.whole(sent))

    def whole(self, value: object) -> Any:
        """A value with the long texts in their places."""
        if isinstance(value, str):
            return self._text(value)
        if is_list(value):
            return [self.whole(item) for item in items(value)]
        return {name: self.whole(item) for name, item in fields(value).items()} if is_object(value) else value

    def _text(self, value: str) -> str:
        for protocol in _APART:
            if value.startswith(protocol):
                found = text(self._texts.get(value.removeprefix(protocol)))
                self.missing = self.missing or found is None
                return value if found is None else found
        return value


def _referred(pool: list[Any], references: object) -> list[Any]:
    """The items in ranges ``[start, end)`` of a pool. Overlapping ranges can't make a small log large: each item counts once."""
    taken: list[Any] = []
    for pair in items(references):
        match pair:
            case [int(start), int(end)] if 0 <= start <= end <= len(pool):
                taken += pool[start:end]
            case _:
                pass
        if len(taken) > 2 * len(pool):
            return []
    return taken
