"""What a task says and holds, as texts: what the instruction tells, what is there before, what is expected afterwards."""

import base64
import hashlib
import json
import re
import shlex
from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from crosspath.types import FileEntry, Task

OPENING, CLOSING = "\u27ea", "\u27eb"
"""Around each literal payload of an instruction."""
_MARKS = re.compile(f"[{OPENING}{CLOSING}]")


class MarksError(ValueError):
    """The marks of an instruction do not pair up."""


def instruction_of(task: Task) -> str:
    """All that the model is told, whether it is an instruction or a conversation."""
    return task.instruction or "\n".join(message.content for message in task.messages)


def payloads(instruction: str) -> tuple[str, ...]:
    """The texts between marks, in their order.

    Raises:
        MarksError: a mark has no partner, or stands between two others.
    """
    found: list[str] = []
    opened: int | None = None
    for match in _MARKS.finditer(instruction):
        near = instruction[max(0, match.start() - 20) : match.start() + 20]
        if (match[0] == OPENING) == (opened is not None):
            problem = "a second one opens before the first is closed" if opened is not None else "nothing is open that it closes"
            raise MarksError(f"{match[0]} at character {match.start() + 1} (near {near!r}): {problem}")
        if opened is None:
            opened = match.end()
        else:
            found.append(instruction[opened : match.start()])
            opened = None
    if opened is not None:
        raise MarksError(f"{OPENING} at character {opened} is never closed")
    return tuple(found)


def text_of(data: bytes) -> str:
    """Bytes as text; what is no UTF-8 stays what it is."""
    return data.decode("utf-8", "surrogateescape")


def texts_before(task: Task) -> Iterator[str]:
    """What a model could look up: fixture, set-up, programs, environment, secrets."""
    yield from _of_entries(task.fixture)
    yield task.setup or ""
    for program in task.programs:
        yield from (text_of(program.path), text_of(program.content))
    for name, value in task.env:
        yield from (name, value, f"{name}={value}")
    for secret in task.secrets:
        yield from (secret.name, text_of(secret.value))


def texts_after(task: Task) -> Iterator[str]:
    """What the final state must hold: names, contents, targets, modes, observations, exit status."""
    yield from _of_entries(task.expected)
    yield from (text_of(path) for path in task.directories or ())
    yield from (text_of(observer.expected) for observer in task.observers if observer.expected is not None)
    if task.expected_exit is not None:
        yield str(task.expected_exit)


def names_of(task: Task) -> Iterator[str]:
    """Every path of fixture and expected state."""
    for entry in (*task.fixture, *task.expected):
        yield text_of(entry.path)


def _of_entries(entries: tuple[FileEntry, ...]) -> Iterator[str]:
    for entry in entries:
        yield from (text_of(entry.path), text_of(entry.content), text_of(entry.target))
        if entry.mode is not None:
            yield f"{entry.mode:04o}"


def spellings(text: str) -> Iterator[str]:
    """The ways in which file formats and tools write a text down, as it is first."""
    data = text.encode("utf-8", "surrogateescape")
    yield text
    yield from (json.dumps(text, ensure_ascii=form)[1:-1] for form in (False, True))
    yield from (text.replace('"', '""'), text.replace("'", "''"), text.replace("\\", "\\\\"), text.replace("%", "\\%"))
    yield from (shlex.quote(text), repr(text)[1:-1], escape(text), escape(text, quote=False))
    yield from (quote(data), quote(data, safe=""), quote(data).replace("%20", "+"))
    yield "".join(f"\\{byte:03o}" if byte >= 0x80 else chr(byte) for byte in data)  # as git quotes a path
    yield from (data.hex(), base64.b64encode(data).decode("ascii"))
    for content in (data, data + b"\n"):
        yield from (hashlib.new(name, content, usedforsecurity=False).hexdigest() for name in ("sha256", "sha1", "md5"))
        yield hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()
