"""The commands of a file: recorded replies, JSON lines, logs of other programs, or plain text, each command with its place."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from crosspath import catalogue
from crosspath.app.import_counts import Reasons
from crosspath.app.logged_sources import read_logged
from crosspath.app.resolve import Own
from crosspath.errors import ConfigError
from crosspath.logged import KINDS, LoggedCall
from crosspath.tasks import parse_recorded
from crosspath.tasks.jsonlines import json_lines
from crosspath.tasks.places import Place, known_names
from crosspath.transports import clean
from crosspath.transports.decoders import Defect, FileWrite, decode
from crosspath.types import Cleanup, Contract, Reply, ToolCall

SHELL_ARGUMENTS = ("command", "cmd")
"""Arguments of a tool call that are taken for shell text where nothing is said."""
_FIELDS = ("command", "reply")
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_PLAIN = ("lines", "nul")
_SHELLS = ("bash", "sh", "dash", "/bin/bash", "/bin/sh", "/usr/bin/bash")
FORMS = (*KINDS, "fields", *_PLAIN)


@dataclass(frozen=True)
class Reading:
    """How commands are found in a file."""

    kind: str | None = None
    """One of ``FORMS``; None: seen from the file."""
    field: str | None = None
    contract: str | None = None
    argument: str | None = None
    cleanup: Cleanup = "none"
    tracking_uri: str | None = None


@dataclass
class Logged:
    """One command, and where it was."""

    text: str
    reply: Reply
    """The reply of this command alone: a text, or one tool call."""
    place: str
    """Of the first one."""
    models: list[str] = field(default_factory=list[str])
    times: int = 1


@dataclass
class Commands:
    """What a file holds."""

    kind: str
    different: dict[str, Logged] = field(default_factory=dict[str, Logged])
    apart: Reasons = field(default_factory=Reasons)
    """Entries that hold no command."""

    @property
    def total(self) -> int:
        """All commands, equal ones as often as they stand there."""
        return sum(one.times for one in self.different.values())

    def add(self, text: str, reply: Reply, place: str, model: str | None) -> None:
        """Count one command."""
        if not text.strip():
            self.apart.add("an empty command", place)
            return
        found = self.different.get(text)
        if found is None:
            self.different[text] = found = Logged(text, reply, place)
        else:
            found.times += 1
        if model and model not in found.models:
            found.models.append(model)


def read_commands(file: str, reading: Reading, own: Own) -> Commands:
    """The commands of a file, equal ones once.

    Raises:
        ConfigError: it can't be read, a line is wrong, or no command is in it.
        TrackerError: MLflow can't be reached.
    """
    kind = _known_kind(file, reading)
    found = Commands(kind)
    if kind in _PLAIN:
        _plain(file, kind, found)
    elif kind == "fields":
        _fields(file, reading, found)
    else:
        calls = _recorded(file) if kind == "recorded" else read_logged([file], kind, reading.tracking_uri)
        _from_replies(calls, reading, own, found)
    if not found.different:
        reasons = "; ".join(f"{one['count']} x {one['reason']}" for one in found.apart.document())
        raise ConfigError(f"no command in it{f' ({reasons})' if reasons else ''}", source=file)
    return found


def _known_kind(file: str, reading: Reading) -> str:
    if reading.kind is not None and reading.kind not in FORMS:
        raise ConfigError(f"{reading.kind!r} is no form of a file; {known_names(FORMS, reading.kind)}", field="--from")
    kind = reading.kind or ("fields" if reading.field is not None else _seen_kind(file))
    if reading.field is not None and kind != "fields":
        raise ConfigError(f"is for JSON lines; --from {kind} says where its commands are", field="--field")
    return kind


def _seen_kind(file: str) -> str:
    """JSON lines where the first line is an object, or the name says so; then plain text."""
    text = catalogue.read_text(Path(file))
    first_line = next((line for line in text.removeprefix("\ufeff").split("\n") if line.strip()), "")
    try:
        value = json.loads(first_line)
    except (ValueError, RecursionError):
        value = {} if file.endswith(_LINE_SUFFIXES) else None
    if not isinstance(value, dict):
        return "nul" if "\0" in text else "lines"
    return "recorded" if {"model", "task"} <= cast("dict[str, Any]", value).keys() else "fields"


def _plain(file: str, kind: str, found: Commands) -> None:
    text = catalogue.read_text(Path(file))
    for number, one in enumerate(text.split("\0" if kind == "nul" else "\n"), 1):
        if one.strip():
            place = f"{file}:{number}" if kind == "lines" else f"{file}, entry {number}"
            found.add(one, Reply(text=one), place, None)


def _fields(file: str, reading: Reading, found: Commands) -> None:
    name, seen = reading.field, set[str]()
    for place, value in json_lines(catalogue.read_text(Path(file)), file):
        if not isinstance(value, dict):
            raise place.wrong(value, "an object of named fields")
        entry = cast("dict[str, object]", value)
        name = name or next((one for one in _FIELDS if one in entry), None)
        seen.update(entry)
        if name is None or entry.get(name) is None:
            found.apart.add(f"no field {name!r}" if name else "no field 'command' or 'reply'", place.source)
            continue
        text = shell_text(entry[name])
        if text is None:
            raise place.at(name).wrong(entry[name], "a text, or the words of bash -c TEXT")
        text = clean(text, reading.cleanup)
        model = entry.get("model")
        found.add(text, Reply(text=text), place.source, model if isinstance(model, str) else None)
    if not found.different and seen:
        log = "; a log of requests and responses is read with --from openai" if {"request", "response"} <= set(seen) else ""
        fields = ", ".join(sorted(seen))
        raise Place(file).refuse(f"no line has the field {name or 'command'!r}; name one with --field: {fields}{log}")


def _recorded(file: str) -> Iterator[LoggedCall]:
    """As ``read_logged``, with lines as places."""
    text = catalogue.read_text(Path(file))
    for (place, value), line in zip(json_lines(text, file), parse_recorded(text, file), strict=True):
        entry = cast("dict[str, Any]", value)
        yield LoggedCall(place.source, entry, line.reply, model=line.model, task=line.task, contract=line.contract)


def _from_replies(calls: Iterable[LoggedCall], reading: Reading, own: Own, found: Commands) -> None:
    """Commands of replies. Texts of a log that holds tool calls are what a model said, unless a contract asks for texts."""
    told = own.contract(reading.contract) if reading.contract else None
    contracts: dict[str, Contract | None] = {}
    said: list[LoggedCall] = []
    called = False
    for call in calls:
        if call.reply is None:
            found.apart.add(call.problem or "no reply", call.place)
            continue
        contract = told or (_contract(call.contract, own, contracts) if reading.argument is None else None)
        if contract is not None and contract.shape != "text":
            _decoded(call, contract, reading, found)
        elif call.reply.tool_calls and told is None:
            called = True
            _tool_calls(call, reading.argument, found)
        elif contract is not None and call.reply.tool_calls:
            found.apart.add("a tool call where the contract asks for text", call.place)
        elif contract is not None:
            _text(call, reading, found)
        else:
            said.append(call)
    for call in said:
        if called:
            found.apart.add("a text in a log of tool calls (--contract raw takes texts)", call.place)
        else:
            _text(call, reading, found)


def _text(call: LoggedCall, reading: Reading, found: Commands) -> None:
    text = clean(call.reply.text or "" if call.reply else "", reading.cleanup)
    found.add(text, Reply(text=text), call.place, call.model)


def _contract(name: str | None, own: Own, known: dict[str, Contract | None]) -> Contract | None:
    """The contract that a recording names, where it is known here."""
    if name is not None and name not in known:
        try:
            known[name] = own.contract(name)
        except ConfigError:
            known[name] = None
    return known.get(name or "")


def _decoded(call: LoggedCall, contract: Contract, reading: Reading, found: Commands) -> None:
    assert call.reply is not None
    text = call.reply.text
    reply = call.reply if text is None else call.reply.model_copy(update={"text": clean(text, reading.cleanup)})
    by_id = {one.id: one for one in reply.tool_calls}
    parts = decode(reply, contract.shape, contract)
    if not parts:
        found.apart.add("an empty reply", call.place)
    for part in parts:
        if isinstance(part, Defect):
            found.apart.add(f"does not fit contract {contract.name}: {part.reason}", call.place)
        elif isinstance(part, FileWrite):
            found.apart.add("a tool call that writes a file: no shell text", call.place)
        else:
            one = by_id.get(part.call_id or "")
            found.add(part.text, _alone(one) if one else Reply(text=reply.text), call.place, call.model)


def _tool_calls(call: LoggedCall, argument: str | None, found: Commands) -> None:
    assert call.reply is not None
    for one in call.reply.tool_calls:
        place = call.place if len(call.reply.tool_calls) == 1 else f"{call.place}, call {one.id}"
        try:
            arguments = json.loads(one.arguments)
        except (ValueError, RecursionError):
            found.apart.add("arguments of a tool call that are no JSON", place)
            continue
        named = cast("dict[str, object]", arguments) if isinstance(arguments, dict) else {}
        name = argument or next((name for name in SHELL_ARGUMENTS if name in named), "")
        text = shell_text(named.get(name))
        if text is None:
            hint = "name it with --argument" if argument is None else f"not {argument!r}"
            found.apart.add(f"call of {one.name} without shell text ({', '.join(sorted(named)) or 'no argument'}; {hint})", place)
        else:
            found.add(text, _alone(one), place, call.model)


def _alone(call: ToolCall) -> Reply:
    return Reply(tool_calls=(call,))


def shell_text(value: object) -> str | None:
    """A text, or the text in the words ``bash -lc TEXT``; None for anything else."""
    if isinstance(value, str):
        return value
    words = cast("list[object]", value) if isinstance(value, list) else []
    if len(words) == 3 and words[0] in _SHELLS and words[1] in ("-c", "-lc") and isinstance(words[2], str):
        return words[2]
    return None
