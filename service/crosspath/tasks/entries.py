"""Files, symlinks and directories as the exchange format writes them."""

import base64
import binascii
import json
import re
from collections.abc import Collection, Mapping
from typing import Literal

from crosspath.tasks.places import Place, as_object, as_text, encoded, known_names
from crosspath.types import Compare, FileEntry

COMPARES: tuple[Compare, ...] = ("bytes", "json", "text")
ENTRY_FIELDS = ("text", "base64", "symlink", "directory", "mode")
_OCTAL = re.compile(r"(?:0o)?[0-7]{3,5}")
_MAX_NAME_BYTES = 255
_MAX_PATH_BYTES = 4000

Forms = Literal["fixture", "expected"]


def relative_path(path: str, place: Place) -> bytes:
    """A path below the work directory, as bytes.

    Raises:
        ConfigError: absolute, empty, with ``.`` or ``..`` or an empty part, a NUL, or too long for a file system.
    """
    data = encoded(path, place)
    parts = data.split(b"/")
    if not path or path.startswith("/") or b"\0" in data or any(part in (b"", b".", b"..") for part in parts):
        raise place.wrong(path, "a relative path below the work directory, such as 'src/a.txt' (no '..', no './', no NUL)")
    if len(data) > _MAX_PATH_BYTES or max(map(len, parts)) > _MAX_NAME_BYTES:
        raise place.refuse(f"the path is too long: at most {_MAX_NAME_BYTES} bytes a name and {_MAX_PATH_BYTES} in all")
    return data


def read_entries(value: object, place: Place, forms: Forms) -> tuple[FileEntry, ...]:
    """An object ``path -> entry``, sorted by path.

    Raises:
        ConfigError: a path or an entry is not acceptable, or a file stands where another path needs a directory.
    """
    entries = [
        _entry(relative_path(path, place.at(path)), entry, place.at(path), forms)
        for path, entry in as_object(value, place).items()
    ]
    _require_tree(entries, place)
    return tuple(sorted(entries, key=lambda entry: entry.path))


def read_directories(value: Collection[str], place: Place) -> tuple[bytes, ...]:
    """A list of relative paths of directories."""
    return tuple(relative_path(path.removesuffix("/"), place.at(number)) for number, path in enumerate(value))


def with_compare(entries: Collection[FileEntry], value: object, place: Place) -> tuple[FileEntry, ...]:
    """The expected entries, each with the way in which it is compared.

    Raises:
        ConfigError: a path that is not expected, an unknown way, or expected content that is itself no JSON.
    """
    ways = {encoded(path, place.at(path)): (way, place.at(path)) for path, way in as_object(value, place).items()}
    files = {entry.path for entry in entries if entry.kind == "file"}
    for path, (_, there) in ways.items():
        if path not in files:
            raise there.refuse("no such file in 'expected'")
    return tuple(_compared(entry, *ways[entry.path]) if entry.path in ways else entry for entry in entries)


def read_bytes(value: object, place: Place) -> bytes:
    """A text, or an object with ``text`` or ``base64``."""
    if isinstance(value, str):
        return encoded(value, place)
    fields = as_object(value, place, ("text", "base64"))
    return _content(fields, place, "a text, or an object with 'text' or 'base64'")


def read_mode(value: object, place: Place) -> int:
    """Permission bits, written as a string of octal digits: in JSON and YAML a bare 755 would be a decimal number."""
    if not isinstance(value, str) or not _OCTAL.fullmatch(value) or int(value, 8) > 0o7777:
        raise place.wrong(value, 'a mode: a text of octal digits, such as "0755"')
    return int(value, 8)


def _entry(path: bytes, value: object, place: Place, forms: Forms) -> FileEntry:
    if isinstance(value, str):
        return FileEntry(path=path, content=encoded(value, place))
    known = ENTRY_FIELDS if forms == "fixture" else tuple(name for name in ENTRY_FIELDS if name != "directory")
    fields = as_object(value, place, known)
    mode = read_mode(fields["mode"], place.at("mode")) if fields.get("mode") is not None else None
    if "symlink" in fields:
        return _symlink(path, fields, place)
    if "directory" in fields:
        return _directory(path, fields, place, mode)
    return FileEntry(
        path=path, content=_content(fields, place, "a text, or an object with 'text', 'base64' or 'symlink'"), mode=mode
    )


def _symlink(path: bytes, fields: Mapping[str, object], place: Place) -> FileEntry:
    if len(fields) > 1:
        raise place.refuse("a symlink has neither content nor mode")
    return FileEntry(
        path=path, kind="symlink", target=encoded(as_text(fields["symlink"], place.at("symlink"), empty=False), place)
    )


def _directory(path: bytes, fields: Mapping[str, object], place: Place, mode: int | None) -> FileEntry:
    if fields["directory"] is not True or set(fields) - {"directory", "mode"}:
        raise place.refuse("an empty directory is written as {directory: true}, with 'mode' at most")
    return FileEntry(path=path, kind="directory", mode=mode)


def _content(fields: Mapping[str, object], place: Place, right: str) -> bytes:
    if ("text" in fields) == ("base64" in fields):
        raise place.wrong(dict(fields), right)
    name = "text" if "text" in fields else "base64"
    value = fields[name]
    if not isinstance(value, str):
        raise place.at(name).wrong(value, "a text")
    if name == "text":
        return encoded(value, place)
    try:
        return base64.b64decode("".join(value.split()), validate=True)
    except (binascii.Error, ValueError):
        raise place.at(name).wrong(value, "base64") from None


def _require_tree(entries: Collection[FileEntry], place: Place) -> None:
    kinds = {entry.path: entry.kind for entry in entries}
    for path in kinds:
        parts = path.split(b"/")
        for length in range(1, len(parts)):
            above = b"/".join(parts[:length])
            if kinds.get(above, "directory") != "directory":
                raise place.at(path.decode()).refuse(f"{above.decode()!r} is a {kinds[above]}, so nothing can be below it")


def _compared(entry: FileEntry, way: object, place: Place) -> FileEntry:
    if way not in COMPARES:
        raise place.refuse(f"unknown comparison {way!r}; {known_names(COMPARES, str(way))}")
    if way == "json":
        try:
            json.loads(entry.content)
        except (ValueError, RecursionError):
            raise place.refuse("compared as JSON, but the expected content is itself no JSON") from None
    return entry.model_copy(update={"compare": way})
