"""A reply read from the body as it arrived, and only where that has another form, from litellm's object."""

import json
import re
from collections.abc import Mapping
from typing import Any

from crosspath.types import Reply, ToolCall, Usage

MOST_TOKENS = 10**9
"""Of one request; no model reads or writes as many."""
_FINISH = ("stop", "length", "tool_calls", "content_filter", "function_call")
_MENTIONS_USAGE = re.compile(r'"[^"]*(?:usage|token|_count)[^"]*"\s*:', re.IGNORECASE)


def chat_of(body: bytes | str | None) -> dict[str, Any] | None:
    """The body as an OpenAI-style chat completion; None when it is something else."""
    try:
        parsed = json.loads(body or "")
        message = parsed["choices"][0]["message"]
    except (ValueError, KeyError, IndexError, TypeError, RecursionError):
        return None
    return parsed if isinstance(message, dict) else None


def from_chat(chat: Mapping[str, Any], normalised_finish: str | None) -> Reply:
    """The reply of an OpenAI-style body: text and argument strings verbatim."""
    choice = chat["choices"][0]
    message = choice["message"]
    calls, verbatim = _tool_calls(message)
    text = _text(message.get("content"))
    return Reply(
        text=text,
        tool_calls=calls,
        fidelity="raw" if verbatim else "reserialised",
        finish_reason=_finish(choice, message, text, calls, normalised_finish),
        usage=usage_of(chat.get("usage")),
        served_model=_string(chat.get("model")),
        fingerprint=_string(chat.get("system_fingerprint")),
    )


def from_object(response: Any, raw: str | None) -> Reply | None:
    """The reply as litellm made it from another provider's form; None when it holds no choice."""
    if not getattr(response, "choices", None):
        return None
    chat = response.model_dump(warnings=False)
    reply = from_chat(chat, chat["choices"][0].get("finish_reason"))
    sent = raw is None or _MENTIONS_USAGE.search(raw)
    usage = _without_invented(reply.usage) if sent else None
    return reply.model_copy(update={"fidelity": "reserialised", "usage": usage, "served_model": _served_model(raw)})


def _without_invented(usage: Usage | None) -> Usage | None:
    """litellm writes zeros for what it does not know: no request has an empty prompt, and details at zero may be unknown."""
    if usage is None or not usage.prompt_tokens:
        return None
    return usage.model_copy(
        update={"reasoning_tokens": usage.reasoning_tokens or None, "cached_tokens": usage.cached_tokens or None}
    )


def _served_model(raw: str | None) -> str | None:
    """litellm's object repeats the requested name, so only the body can say what served it."""
    try:
        body = json.loads(raw or "")
    except (ValueError, RecursionError):
        return None
    return _string(body.get("model") or body.get("modelVersion")) if isinstance(body, dict) else None


def usage_of(usage: Any) -> Usage | None:
    """Tokens of an OpenAI-style usage object; None unless it counts at least one side."""
    if not isinstance(usage, dict):
        return None
    found = Usage(
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
        reasoning_tokens=_detail(usage, "completion_tokens_details", "reasoning_tokens"),
        cached_tokens=_detail(usage, "prompt_tokens_details", "cached_tokens"),
    )
    return None if found.prompt_tokens is None and found.completion_tokens is None else found


def _detail(usage: Mapping[str, Any], group: str, name: str) -> int | None:
    details = usage.get(group)
    return _count(details.get(name)) if isinstance(details, dict) else None


def _count(value: Any) -> int | None:
    """A count of tokens that a server can mean; everything else is unknown, and no sum of it can overflow."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MOST_TOKENS else None


def _string(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(content: Any) -> str | None:
    """Text content; of a list of parts, the text parts."""
    if content is None or isinstance(content, str):
        return content
    if not isinstance(content, list):
        return json.dumps(content)
    return "".join(part["text"] for part in content if isinstance(part, dict) and isinstance(part.get("text"), str))


def _tool_calls(message: Mapping[str, Any]) -> tuple[tuple[ToolCall, ...], bool]:
    """The calls in their order, and whether every argument string is verbatim (some servers send an object instead)."""
    listed = message.get("tool_calls") or []
    entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    if not entries and isinstance(message.get("function_call"), dict):
        entries = [{"function": message["function_call"]}]
    calls = tuple(_tool_call(entry) for entry in entries)
    return calls, all(isinstance(_function(entry).get("arguments"), str) for entry in entries)


def _tool_call(entry: Mapping[str, Any]) -> ToolCall:
    function = _function(entry)
    arguments = function.get("arguments")
    if not isinstance(arguments, str):
        arguments = "" if arguments is None else json.dumps(arguments)
    return ToolCall(id=_string(entry.get("id")) or "", name=_string(function.get("name")) or "", arguments=arguments)


def _function(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    function = entry.get("function")
    return function if isinstance(function, dict) else {}


def _finish(
    choice: Mapping[str, Any], message: Mapping[str, Any], text: str | None, calls: tuple[ToolCall, ...], normalised: str | None
) -> str | None:
    """The server's word where it is one of OpenAI's, else litellm's translation. A refusal in its own field is a refusal."""
    if message.get("refusal") and not text and not calls:
        return "content_filter"
    said = _string(choice.get("finish_reason"))
    return said if said is None or said in _FINISH else normalised or said
