"""What a toolchain says of one program, and how it changed, in words: name, version and place rather than the whole line."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.analysis.drift_naming import SHOWN_DIGITS, cut, named_value, program_name
from crosspath.escaping import one_line
from crosspath.types.explaining import FieldDifference

_ALL_FILES = {"others": "other programs on the path", "libraries": "shared libraries"}
"""Digests over names and sizes of everything: they change with every named program, too."""
_PROGRAMS = "toolchain.programs."
_LINE = re.compile(r"(?:(?P<version>.+), )?(?P<file>/\S*) (?P<content>.*)")
_TOGETHER = re.compile(r"(?P<version>.+), \d+ of them (?P<content>sha256 .*)")
_COUNTED = re.compile(r"(?P<count>\d+) by name and size, sha256 (?P<digest>[0-9a-f]+)")
_OWN_NAME = re.compile(r"\S+ \((?P<maker>[^()]+)\) (?P<rest>.+)")


@dataclass(frozen=True)
class _Program:
    version: str
    file: str
    content: str

    @property
    def place(self) -> str:
        return f"{self.version} ({self.file})" if self.version and self.file else self.version or self.file


def telling(changed: Sequence[FieldDifference]) -> list[FieldDifference]:
    """Changes that say something of their own: where a named program changed, digests over all files are left out."""
    own = [one for one in changed if program_name(one) not in _ALL_FILES]
    return own if any(one.field.startswith(_PROGRAMS) for one in own) else list(changed)


def program_change(one: FieldDifference) -> str:
    """``awk: mawk 1.3.4 (/usr/bin/mawk) -> gawk 5.2.1 (/usr/bin/gawk)``, or what else differs of the same version."""
    name = _ALL_FILES.get(program_name(one))
    if name and one.field.startswith(_PROGRAMS):
        return name
    before, after = _read(one.a), _read(one.b)
    if before is None or after is None:
        return f"{program_name(one)}: {program_value(one.field, one.a)} -> {program_value(one.field, one.b)}"
    same = before.version == after.version and (before.version or before.file == after.file)
    return (
        f"{program_name(one)}: {_same_version(before, after) if same else f'{_place(before, after)} -> {_place(after, before)}'}"
    )


def _place(program: _Program, other: _Program) -> str:
    """Where one of two says no version the line would look like a move from one file to another."""
    if program.version or not other.version:
        return program.place
    return f"no version, {program.content} ({program.file})"


def _same_version(before: _Program, after: _Program) -> str:
    moved = f"{before.file} -> {after.file}" if before.file != after.file else ""
    content = f"{before.content} -> {after.content.removeprefix('sha256 ')}" if before.content != after.content else ""
    differs = "other content" if content else "another file"
    return f"{before.version or before.file} -> same version, {differs} ({', '.join(filter(None, (content, moved)))})"


def program_value(field: str, value: str) -> str:
    """``GNU grep 3.8, /usr/bin/grep, sha256 9a9c5a0c``; a value of anything but a program as :func:`named_value` has it."""
    if not field.startswith(_PROGRAMS):
        return named_value(value)
    if counted := _COUNTED.fullmatch(one_line(value)):
        return f"{counted['count']} files, sha256 {counted['digest'][:SHOWN_DIGITS]}"
    if (found := _read(value)) is None:
        return named_value(value)
    return ", ".join(filter(None, (found.version, found.file, found.content)))


def _read(value: str) -> _Program | None:
    """A program's line as the sandbox writes it; None: it is something else."""
    line = one_line(value)
    found = _TOGETHER.fullmatch(line) or _LINE.fullmatch(line)
    if found is None:
        return None
    parts = found.groupdict(default="")
    return _Program(_short(parts["version"]), cut(parts.get("file", "")), _content(parts["content"]))


def _content(words: str) -> str:
    digest = words.removeprefix("sha256 ")
    return cut(words) if digest == words else f"sha256 {digest[:SHOWN_DIGITS]}"


def _short(version: str) -> str:
    """``GNU grep 3.8`` for ``grep (GNU grep) 3.8``: the program's name stands before it anyway."""
    named = _OWN_NAME.fullmatch(version)
    return cut(f"{named['maker']} {named['rest']}" if named else version)
