"""Decoders: from a reply of one shape to the shell texts and file writes that it asks for.

A decoder is strict, as a careful harness is: it mends nothing. What breaks the contract becomes a ``Defect``; a bad tool call
spoils only itself, the calls before and after it are carried out.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from crosspath.transports.naming import unknown
from crosspath.transports.strict_json import ContractBreachError, check_schema, read_object
from crosspath.types import Contract, DeliveryProblem, Reply, Shape, ToolCall, ToolSpec


@dataclass(frozen=True)
class ShellText:
    """Shell text that travels through the path, or through the path of its tool."""

    text: str
    call_id: str | None = None
    tool: str | None = None
    received: str = ""
    """The arguments of its tool call, as they came."""


@dataclass(frozen=True)
class FileWrite:
    """A file to write with exactly this content; no shell reads it."""

    path: str
    content: str
    call_id: str | None = None
    received: str = ""
    """The arguments of its tool call, as they came."""


@dataclass(frozen=True)
class Defect:
    """Why a reply, or one call of it, is not carried out."""

    problem: DeliveryProblem
    reason: str


Part = ShellText | FileWrite | Defect


def is_blank(reply: Reply) -> bool:
    """Whether a reply holds neither a tool call nor text other than white space."""
    return not reply.tool_calls and not (reply.text or "").strip()


def decode(reply: Reply, shape: Shape, contract: Contract | None) -> tuple[Part, ...]:
    """The parts of a reply, in the order in which they are carried out; none for a blank reply."""
    return () if is_blank(reply) else _DECODERS[shape](reply, contract)


def _decode_text(reply: Reply, _: Contract | None) -> tuple[Part, ...]:
    if not (reply.text or "").strip():
        return (Defect("contract_error", "a tool call came where text was asked for"),)
    return (ShellText(reply.text or ""),)


def _decode_json(reply: Reply, contract: Contract | None) -> tuple[Part, ...]:
    field = contract.field if contract else "command"
    if not (reply.text or "").strip():
        return (Defect("contract_error", "a tool call came where a JSON object in the text was asked for"),)
    try:
        return (ShellText(_string(read_object(reply.text or "", "the reply"), field, "the reply")),)
    except ContractBreachError as error:
        return (Defect("contract_error", str(error)),)


def _decode_tools(reply: Reply, contract: Contract | None) -> tuple[Part, ...]:
    if not reply.tool_calls:
        return (Defect("contract_error", "plain text came where a tool call was asked for"),)
    tools = {tool.name: tool for tool in contract.tools} if contract else {}
    return tuple(_decode_call(number, call, tools) for number, call in enumerate(reply.tool_calls, 1))


def _decode_call(number: int, call: ToolCall, tools: Mapping[str, ToolSpec]) -> Part:
    what = f"call {number} ({call.name})"
    tool = tools.get(call.name)
    if tool is None:
        return Defect("contract_error", f"call {number}: {unknown('tool', call.name, tools)}")
    try:
        arguments = read_object(call.arguments, what)
        check_schema(arguments, tool.parameters, what)
        return _requested(call, tool, arguments, what)
    except ContractBreachError as error:
        return Defect("contract_error", str(error))


def _requested(call: ToolCall, tool: ToolSpec, arguments: dict[str, Any], what: str) -> ShellText | FileWrite:
    if tool.write is not None:
        path, content = (_string(arguments, name, what) for name in tool.write)
        return FileWrite(path, content, call.id, call.arguments)
    return ShellText(_string(arguments, tool.argument or "", what), call.id, tool.name, call.arguments)


def _string(found: Mapping[str, Any], field: str, what: str) -> str:
    if field not in found:
        raise ContractBreachError(f"{what}: the field {field!r} is missing")
    value: object = found[field]
    if not isinstance(value, str):
        raise ContractBreachError(f"{what}: the field {field!r} is a {type(value).__name__}, not a string")
    return value


_DECODERS: Mapping[Shape, Callable[[Reply, Contract | None], tuple[Part, ...]]] = MappingProxyType(
    {"text": _decode_text, "json": _decode_json, "tools": _decode_tools}
)
