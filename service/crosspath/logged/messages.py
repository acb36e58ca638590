"""The messages of a logged request. Nothing else of a request is taken over: it may hold headers and keys."""

from collections.abc import Mapping
from typing import Any

from crosspath.logged.shapes import fields, is_list, items, objects

_KEPT = (
    "role", "content", "name", "tool_calls", "tool_call_id", "function_call", "refusal", "reasoning_content",
    "type", "call_id", "arguments", "output", "summary", "function", "error",
)  # fmt: skip
"""Fields of a message, or of an item of the Responses API, that say what was sent."""


def messages_of(request: object) -> tuple[dict[str, Any], ...]:
    """The messages of a request body in OpenAI's or Anthropic's form, of a list of messages, or of a text.

    Empty where it holds none in a known form.
    """
    if isinstance(request, str):
        return ({"role": "user", "content": request},)
    if is_list(request):
        return _listed(items(request))
    body = fields(request)
    for name in ("messages", "input", "prompt"):
        if isinstance(body.get(name), list | str):
            return _with_system(body, messages_of(body[name]))
    return (_kept(body),) if "role" in body else ()


def texts_of(messages: tuple[dict[str, Any], ...], role: str) -> list[str]:
    """The texts of the messages of one role, each part by itself."""
    found: list[str] = []
    for message in messages:
        if message.get("role") == role:
            content = message.get("content")
            parts = [content] if isinstance(content, str) else [fields(part).get("text") for part in items(content)]
            found += [part for part in parts if isinstance(part, str)]
    return found


def _listed(request: list[Any]) -> tuple[dict[str, Any], ...]:
    """litellm logs batches as a list of lists; only lists of messages are taken."""
    return tuple(_kept(one) for one in objects(request) if one.keys() & {"role", "type"})


def _kept(message: Mapping[str, Any]) -> dict[str, Any]:
    return {name: message[name] for name in _KEPT if message.get(name) is not None}


def _with_system(body: Mapping[str, Any], messages: tuple[dict[str, Any], ...]) -> tuple[dict[str, Any], ...]:
    """Anthropic's ``system`` and the Responses API's ``instructions`` stand beside the messages."""
    above = body.get("system") or body.get("instructions")
    return ({"role": "system", "content": above}, *messages) if isinstance(above, str | list) and messages else messages
