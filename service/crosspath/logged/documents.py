"""The values in a file of JSON lines, or of JSON: one by one, within bounds, with the place of each."""

import csv
import io
from collections.abc import Iterator
from typing import BinaryIO

from crosspath.logged.shapes import Unreadable, is_list, items, parse

MAX_LINE_BYTES = 64 * 2**20
MAX_DOCUMENT_BYTES = 256 * 2**20
"""Longest file that is one JSON value over several lines."""
_PIECE = 2**20


def documents(file: BinaryIO, source: str) -> Iterator[tuple[str, object]]:
    """Each value with its place, ``file:line`` or ``file[number]``; an :class:`Unreadable` stands for one that can't be read.

    A file is either JSON lines, or one JSON value; of a list, each item.
    """
    value = _whole(file)
    file.seek(0)
    if value is None:
        yield from _lines(file, source)
    elif is_list(value):
        yield from ((f"{source}[{number}]", item) for number, item in enumerate(items(value)))
    else:
        yield source, value


def table(file: BinaryIO, source: str) -> Iterator[tuple[str, object]]:
    """Each row of a CSV file as an object of texts; empty cells are left out."""
    text = io.TextIOWrapper(file, encoding="utf-8-sig", newline="")
    before = csv.field_size_limit(MAX_LINE_BYTES)
    rows = csv.DictReader(text, strict=True)
    try:
        for number, row in enumerate(rows, start=1):
            yield f"{source}, row {number}", {name: value for name, value in row.items() if name and value}
    except (csv.Error, UnicodeDecodeError) as error:
        yield f"{source}, line {rows.line_num + 1}", Unreadable("not readable as CSV", str(error))
    finally:
        csv.field_size_limit(before)
        text.detach()


def document(content: bytes) -> object:
    """One JSON value.

    Raises:
        Unreadable: it is none, or not UTF-8.
    """
    return parse(_text(content))


def whole(file: BinaryIO) -> bytes:
    """All of a file.

    Raises:
        Unreadable: it is too long.
    """
    content = file.read(MAX_DOCUMENT_BYTES + 1)
    if len(content) > MAX_DOCUMENT_BYTES:
        raise Unreadable(f"is longer than {MAX_DOCUMENT_BYTES // 2**20} MiB")
    return content


def _whole(file: BinaryIO) -> object:
    """The file's value where it is one over several lines, or a list; None where it is lines."""
    first = file.readline(MAX_LINE_BYTES)
    try:
        value = document(first)
    except Unreadable:
        value = None
    if isinstance(value, dict):
        return None
    file.seek(0)
    try:
        return document(whole(file))
    except Unreadable:
        return None


def _lines(file: BinaryIO, source: str) -> Iterator[tuple[str, object]]:
    number = 0
    while line := file.readline(MAX_LINE_BYTES + 1):
        number += 1
        place = f"{source}:{number}"
        if len(line) > MAX_LINE_BYTES:
            _skip(file, line)
            yield place, Unreadable(f"longer than {MAX_LINE_BYTES // 2**20} MiB")
        elif line.strip():
            yield place, _value(line)


def _skip(file: BinaryIO, line: bytes) -> None:
    """Go to the end of the line."""
    while line and not line.endswith(b"\n"):
        line = file.readline(_PIECE)


def _value(line: bytes) -> object:
    try:
        return document(line)
    except Unreadable as error:
        return error


def _text(content: bytes) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable("not UTF-8 text", f"byte {error.start + 1} can't be decoded") from None
