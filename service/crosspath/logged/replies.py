"""Responses in the forms in which they are logged: chat completions, OpenAI's Responses, Anthropic's messages, bare messages."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from crosspath.logged.calls import ARGUMENTS_PARSED, BY_LITELLM, CUT, JOINED, NO_FINISH_REASON, NO_USAGE, Reading
from crosspath.logged.shapes import count, fields, first, is_list, items, objects, text
from crosspath.types import Reply, ToolCall, Usage

STREAMED = "streamed chunks: join them into one response before they are logged"
_LEFT_OUT = ("redacted-by-litellm", "<redacted>", "<truncated due to size exceeding limit>")
"""What loggers write in place of a text: litellm without message logging, Langfuse's SDK."""
_VERBATIM = ("openai", "azure", "hosted_vllm", "custom_openai")
"""Providers whose argument strings litellm hands on as they came."""
_TEXT_PARTS = ("text", "output_text", "refusal")
_SILENT_PARTS = ("thinking", "redacted_thinking", "reasoning", "tool_use", "function_call")
"""Parts that are no part of the reply's text, or are read elsewhere."""
_STOP_REASONS = {
    "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "tool_use": "tool_calls", "refusal": "content_filter",
}  # fmt: skip
"""Anthropic's words, in those of OpenAI that causes are told by."""
_KIND = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def read_response(value: object) -> list[Reading]:
    """Each reply in one response: a chat completion may hold several choices."""
    if isinstance(value, str):
        return [_reading(value, [], [], None, None, {})]
    if is_list(value):
        return [_from_list(objects(value))]
    body = fields(value)
    if not body:
        return [Reading(problem="no response")]
    if _is_error(body):
        return [Reading(problem=f"an error: {_error_words(body)}")]
    if str(body.get("object")).endswith(".chunk"):
        return [Reading(problem=STREAMED)]
    if isinstance(body.get("choices"), list):
        return [_from_choice(body, choice) for choice in objects(body["choices"])] or [
            Reading(problem="no choice in the response")
        ]
    if isinstance(body.get("output"), list):
        return [_from_items(objects(body["output"]), body)]
    if {"role", "content", "tool_calls"} & body.keys():
        return [_from_message(body, body)]
    return [Reading(problem=f"a response of a form that is not known, with the fields {', '.join(sorted(body)[:5])}"[:160])]


def supplemented(
    reading: Reading, *, latency_s: float | None = None, usage: Usage | None = None, finish_reason: str | None = None
) -> Reading:
    """A reading with what the log says beside the response; what the response itself says goes first."""
    if reading.reply is None:
        return reading
    known = {"latency_s": latency_s, "usage": usage, "finish_reason": finish_reason}
    added = {name: value for name, value in known.items() if value is not None and getattr(reading.reply, name) is None}
    found = {loss for name, loss in (("usage", NO_USAGE), ("finish_reason", NO_FINISH_REASON)) if name in added}
    left = tuple(loss for loss in reading.losses if loss not in found)
    return replace(reading, reply=reading.reply.model_copy(update=added), losses=left)


def through_litellm(reading: Reading, provider: object) -> Reading:
    """litellm writes the argument strings of other providers than OpenAI's kind anew; it mostly does not log which one it was."""
    if reading.reply is None or not reading.reply.tool_calls or provider in _VERBATIM:
        return reading
    rewritten = reading.reply.model_copy(update={"fidelity": "reserialised"})
    return replace(reading, reply=rewritten, losses=(*reading.losses, BY_LITELLM))


def _is_error(body: Mapping[str, Any]) -> bool:
    return bool(body.get("error")) and not body.get("choices") and not body.get("output")


def _error_words(body: Mapping[str, Any]) -> str:
    """Code or type only: messages of errors may hold keys, and each is different."""
    error = fields(body["error"])
    said = first((text(error.get("code")), text(error.get("type")), text(body.get("type"))))
    return said if said and _KIND.fullmatch(said) else "of no known type"


def _from_list(listed: list[dict[str, Any]]) -> Reading:
    """Streamed chunks, the items of a Responses call, or a conversation that ends with the reply."""
    if not listed:
        return Reading(problem="no response")
    if any(str(one.get("object")).endswith(".chunk") or "delta" in one for one in listed):
        return Reading(problem=STREAMED)
    if all("role" in one for one in listed):
        return _from_message(listed[-1], {}) if listed[-1]["role"] == "assistant" else Reading(problem="no reply at its end")
    if all("type" in one for one in listed):
        typed = {str(one["type"]) for one in listed}
        return _from_items(listed, {}) if {"message", "function_call"} & typed else _from_message({"content": listed}, {})
    return Reading(problem="a list of a form that is not known")


def _from_choice(body: Mapping[str, Any], choice: Mapping[str, Any]) -> Reading:
    if "delta" in choice and "message" not in choice:
        return Reading(problem=STREAMED)
    message = fields(choice.get("message"))
    if not message and isinstance(choice.get("text"), str):  # the old text completions
        message = {"content": choice["text"]}
    if not message:
        return Reading(problem="a choice without a message")
    return _from_message(message, body, text(choice.get("finish_reason")))


def _from_message(message: Mapping[str, Any], body: Mapping[str, Any], finish_reason: str | None = None) -> Reading:
    """A message in OpenAI's form, or in Anthropic's, whose calls stand among the parts."""
    losses: list[str] = []
    content = _content(message.get("content"), losses)
    calls = [
        *objects(message.get("tool_calls")),
        *(one for one in objects(message.get("content")) if one.get("type") == "tool_use"),
    ]
    if not calls and isinstance(message.get("function_call"), dict):
        calls = [{"function": message["function_call"]}]
    refusal = text(message.get("refusal"))
    if refusal and not content and not calls:
        content, finish_reason = content or refusal, "content_filter"
    stopped = body.get("stop_reason")
    said = first((finish_reason, _STOP_REASONS.get(str(stopped), text(stopped)), text(body.get("finish_reason"))))
    return _reading(content, calls, losses, said, body.get("usage"), body)


def _from_items(listed: list[dict[str, Any]], body: Mapping[str, Any]) -> Reading:
    """A response of OpenAI's Responses API. It names no finish reason: a status, and why it is incomplete."""
    losses: list[str] = []
    parts: list[Any] = []
    for one in listed:
        if one.get("type") == "message":
            content = one.get("content")
            parts += [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
        elif one.get("type") not in ("function_call", "reasoning"):
            losses.append(_part_left_out(one.get("type")))
    calls = [one for one in listed if one.get("type") == "function_call"]
    content = _content(parts, losses) if parts else None
    return _reading(content, calls, losses, _finish_of(body, calls), body.get("usage"), body)


def _finish_of(body: Mapping[str, Any], calls: Sequence[object]) -> str | None:
    why = text(fields(body.get("incomplete_details")).get("reason"))
    if why is not None:
        return {"max_output_tokens": "length"}.get(why, why)
    if body.get("status") == "completed":
        return "tool_calls" if calls else "stop"
    return text(body.get("status"))


def _content(content: object, losses: list[str]) -> str | None:
    """Text of a message; of a list, its text parts."""
    if content is None or isinstance(content, str):
        return content
    if not is_list(content):
        losses.append("the content is no text")
        return None
    texts: list[str] = []
    for part in items(content):
        kind = fields(part).get("type", "text")
        value = part if isinstance(part, str) else fields(part).get("text" if kind != "refusal" else "refusal")
        if isinstance(value, str) and (isinstance(part, str) or kind in _TEXT_PARTS):
            texts.append(value)
        elif kind not in _SILENT_PARTS:
            losses.append(_part_left_out(kind))
    losses += [JOINED] if len(texts) > 1 else []
    return "".join(texts) if texts else None


def _part_left_out(kind: object) -> str:
    known = isinstance(kind, str) and _KIND.fullmatch(kind)
    return f"a part of type {kind if known else 'unknown'} was left out"


def _reading(
    content: str | None,
    calls: Sequence[Mapping[str, Any]],
    losses: Sequence[str],
    finish_reason: str | None,
    usage: object,
    body: Mapping[str, Any],
) -> Reading:
    if content in _LEFT_OUT:
        return Reading(problem=CUT)
    lost = list(losses)
    read = _tool_calls(calls, lost)
    if content is None and not read and finish_reason is None:
        return Reading(problem="neither text nor tool calls")
    counted = usage_of(usage)
    lost += [NO_FINISH_REASON] if finish_reason is None else []
    lost += [NO_USAGE] if counted is None else []
    reply = Reply(
        text=content,
        tool_calls=read,
        fidelity="reserialised" if {ARGUMENTS_PARSED, JOINED} & set(lost) else "raw",
        finish_reason=finish_reason,
        usage=counted,
        served_model=text(body.get("model")),
        fingerprint=text(body.get("system_fingerprint")),
    )
    return Reading(reply, losses=tuple(dict.fromkeys(lost)))


def _tool_calls(calls: Sequence[Mapping[str, Any]], losses: list[str]) -> tuple[ToolCall, ...]:
    """Calls in the forms ``{id, function: {name, arguments}}``, ``{id, name, arguments | input | args}``,
    ``{id, function: NAME, arguments}``."""
    read: list[ToolCall] = []
    for number, call in enumerate(calls):
        function = fields(call.get("function")) or call
        name = first((text(function.get("name")), text(call.get("function"))))
        if name is None:
            losses.append(_part_left_out(call.get("type", "tool call")))
            continue
        identity = first((text(call.get("call_id")), text(call.get("id")), text(call.get("tool_use_id")), f"call_{number}"))
        if any(other.id == identity for other in read):
            losses.append("calls with the same id were numbered anew")
            identity = f"{identity}_{number}"
        arguments = first((function.get("arguments"), function.get("input"), function.get("args")))
        read.append(ToolCall(id=identity, name=name, arguments=_arguments(arguments, losses)))
    return tuple(read)


def _arguments(arguments: object, losses: list[str]) -> str:
    """The text as it came; of an object, JSON of our own."""
    if isinstance(arguments, str):
        return arguments
    losses.append(ARGUMENTS_PARSED)
    return "{}" if arguments is None else json.dumps(arguments, ensure_ascii=False)


def usage_of(usage: object) -> Usage | None:
    """Tokens in OpenAI's names, or in those of the Responses API, Anthropic, Inspect and Langfuse.

    None unless one side is counted: no request has an empty prompt, so zeros on both sides are a logger's word for unknown.
    """
    named = fields(usage)
    prompt, completion = (("prompt", "input"), ("completion", "output"))
    found = Usage(
        prompt_tokens=_tokens(named, prompt),
        completion_tokens=_tokens(named, completion),
        reasoning_tokens=_detail(named, completion, "reasoning"),
        cached_tokens=_detail(named, prompt, "cached"),
    )
    return found if found.prompt_tokens or found.completion_tokens else None


def _tokens(usage: Mapping[str, Any], names: Sequence[str]) -> int | None:
    return first(count(usage.get(form)) for name in names for form in (f"{name}_tokens", name, f"{name}Tokens"))


def _detail(usage: Mapping[str, Any], sides: Sequence[str], name: str) -> int | None:
    """``completion_tokens_details.reasoning_tokens`` and its like, or ``reasoning_tokens`` itself."""
    groups = [fields(usage.get(f"{side}_tokens_details")) for side in sides]
    return first(count(group.get(f"{name}_tokens")) for group in [*groups, usage])
