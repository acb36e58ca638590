"""The exchange format of recorded replies: one JSON object a line."""

import json
from typing import Any, cast

from crosspath.tasks.jsonlines import json_lines
from crosspath.tasks.places import Place, as_integer, as_json, as_list, as_number, as_object, as_text, known_names
from crosspath.types import Reply, ToolCall, Usage
from crosspath.types.recorded import RecordedReply

RECORDED_FIELDS = (
    "model", "task", "contract", "request_style", "trial", "turn", "messages", "tools", "reply", "tool_calls", "fidelity",
    "finish_reason", "usage", "cost_usd", "latency_s", "served_model", "fingerprint",
)  # fmt: skip
"""``tools`` is taken and not kept, so that a line of ``crosspath prompts --json`` with a ``reply`` is a recorded reply."""
FIDELITIES = ("raw", "reserialised")
_USAGE = ("prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens")
_MANY = 2**53


def parse_recorded(text: str, source: str) -> tuple[RecordedReply, ...]:
    """Recorded replies as JSON lines; ``source`` names the file in complaints.

    Raises:
        ConfigError: a line is no reply, or repeats model, task, contract, request style, trial and turn of an earlier one.
    """
    replies: list[RecordedReply] = []
    seen: dict[tuple[object, ...], str] = {}
    for place, value in json_lines(text, source):
        recorded = _recorded(as_object(value, place, RECORDED_FIELDS), place)
        identity = (
            recorded.model, recorded.task, recorded.contract, recorded.request_style, recorded.trial, recorded.turn,
        )  # fmt: skip
        if identity in seen:
            same = "the same model, task, contract, request style, trial and turn"
            raise place.refuse(f"{same} as {seen[identity]}; number the trials from 0")
        seen[identity] = place.source
        replies.append(recorded)
    if not replies:
        raise Place(source).refuse("no reply in this file; one JSON object a line is expected")
    return tuple(replies)


def _recorded(fields: dict[str, object], place: Place) -> RecordedReply:
    return RecordedReply(
        model=_need(fields, place, "model"),
        task=_need(fields, place, "task"),
        contract=_optional_text(fields, place, "contract") or "raw",
        request_style=_optional_text(fields, place, "request_style") or "plain",
        trial=_whole(fields, place, "trial") or 0,
        turn=_whole(fields, place, "turn"),
        messages=_messages(fields.get("messages"), place.at("messages")),
        reply=_reply(fields, place),
    )


def _reply(fields: dict[str, object], place: Place) -> Reply:
    fidelity = fields.get("fidelity", "raw")
    if fidelity not in FIDELITIES:
        raise place.at("fidelity").refuse(f"unknown fidelity {fidelity!r}; {known_names(FIDELITIES, str(fidelity))}")
    calls = _tool_calls(fields.get("tool_calls"), place.at("tool_calls"), reserialised=fidelity == "reserialised")
    _require_something(fields, calls, place)
    return Reply(
        text=_model_text(fields.get("reply"), place.at("reply")),
        tool_calls=calls,
        fidelity=cast(Any, fidelity),
        finish_reason=_optional_text(fields, place, "finish_reason"),
        usage=_usage(fields.get("usage"), place.at("usage")),
        cost_usd=_amount(fields, place, "cost_usd", "US dollars"),
        latency_s=_amount(fields, place, "latency_s", "seconds"),
        served_model=_optional_text(fields, place, "served_model"),
        fingerprint=_optional_text(fields, place, "fingerprint"),
    )


def _require_something(fields: dict[str, object], calls: tuple[ToolCall, ...], place: Place) -> None:
    """A model may answer with nothing (its whole budget went into reasoning), but then the line must say why it ended."""
    if fields.get("reply") is None and not calls and not ("reply" in fields and fields.get("finish_reason")):
        raise place.refuse("neither 'reply' nor 'tool_calls'; an empty reply is written as \"reply\": \"\"")


def _tool_calls(value: object, place: Place, *, reserialised: bool) -> tuple[ToolCall, ...]:
    if value is None:
        return ()
    calls = tuple(
        _tool_call(call, place.at(number), number, reserialised=reserialised) for number, call in enumerate(as_list(value, place))
    )
    if len({call.id for call in calls}) < len(calls):
        raise place.refuse("two calls have the same id")
    return calls


def _tool_call(value: object, place: Place, number: int, *, reserialised: bool) -> ToolCall:
    """``{id, name, arguments}``, or the form of OpenAI's API with ``function: {name, arguments}``."""
    fields = as_object(value, place, ("id", "type", "function", "name", "arguments"))
    function, there = fields, place
    if "function" in fields:
        there = place.at("function")
        function = as_object(fields["function"], there, ("name", "arguments"))
    return ToolCall(
        id=as_text(fields.get("id", f"call_{number}"), place.at("id"), empty=False),
        name=as_text(function.get("name"), there.at("name")),
        arguments=_arguments(function.get("arguments"), there.at("arguments"), reserialised=reserialised),
    )


def _arguments(value: object, place: Place, *, reserialised: bool) -> str:
    if reserialised and not isinstance(value, str):
        return json.dumps(as_object(value, place), ensure_ascii=False)
    if not isinstance(value, str):
        raise place.wrong(value, "the text of the arguments as it was received (an object only with fidelity 'reserialised')")
    return value


def _messages(value: object, place: Place) -> tuple[dict[str, Any], ...]:
    return () if value is None else tuple(as_json(item, place.at(number)) for number, item in enumerate(as_list(value, place)))


def _usage(value: object, place: Place) -> Usage | None:
    if value is None:
        return None
    fields = as_object(value, place, _USAGE)
    return Usage(**{name: _whole(fields, place, name) for name in fields})


def _model_text(value: object, place: Place) -> str | None:
    """Any text at all, NUL and lone surrogates included: whatever a model wrote is a fact."""
    if value is None or isinstance(value, str):
        return value
    raise place.wrong(value, "a text")


def _need(fields: dict[str, object], place: Place, name: str) -> str:
    if fields.get(name) is None:
        raise place.at(name).refuse("missing; give a text")
    return as_text(fields[name], place.at(name), empty=False)


def _optional_text(fields: dict[str, object], place: Place, name: str) -> str | None:
    value = fields.get(name)
    return None if value is None else as_text(value, place.at(name), empty=False)


def _whole(fields: dict[str, object], place: Place, name: str) -> int | None:
    value = fields.get(name)
    return None if value is None else as_integer(value, place.at(name), 0, _MANY)


def _amount(fields: dict[str, object], place: Place, name: str, unit: str) -> float | None:
    value = fields.get(name)
    return None if value is None else as_number(value, place.at(name), 0, 1e9, unit)
