"""Single changes of a text or a name, as shells, editors, file systems and paths really make them.

Each has a *kind*, by which an audit counts. None of them gives back what it was given, and no two of one text are equal.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping

_Edit = Callable[[bytes], bytes]


def content_edits(right: bytes) -> Iterator[tuple[str, bytes]]:
    """Kind and changed content, for every change that makes one of ``right``."""
    return _distinct(right, {**_ANY_BYTES, **_LINES, **_CHARACTERS, **_IN_TRANSPORT})


def name_edits(name: bytes) -> Iterator[tuple[str, bytes]]:
    """The same for the name of a file, without the directories above it; what can be no name is left out."""
    for kind, other in _distinct(name, _NAMES):
        if other not in (b"", b".", b"..") and not set(other) & set(b"/\0"):
            yield kind, other


def _distinct(right: bytes, edits: Mapping[str, _Edit]) -> Iterator[tuple[str, bytes]]:
    seen = {right}
    for kind, edit in edits.items():
        changed = edit(right)
        if changed not in seen:
            seen.add(changed)
            yield kind, changed


def _flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


def _lines(data: bytes) -> list[bytes]:
    return data.splitlines(keepends=True)


def _swapped_lines(data: bytes) -> bytes:
    """The first two neighbours that differ, each line with its end in the place of the other."""
    lines = data.split(b"\n")
    for at in range(len(lines) - 1):
        if lines[at] != lines[at + 1] and lines[at + 1 :] != [b""]:
            lines[at], lines[at + 1] = lines[at + 1], lines[at]
            break
    return b"\n".join(lines)


def _last_line_twice(data: bytes) -> bytes:
    lines = _lines(data)
    glue = b"" if data.endswith(b"\n") else b"\n"
    return data + glue + lines[-1] if lines else data


def _as_text(edit: Callable[[str], str]) -> _Edit:
    """An edit of characters; content that is no UTF-8 stays as it is."""

    def edited(data: bytes) -> bytes:
        try:
            return edit(data.decode("utf-8")).encode("utf-8")
        except UnicodeError:
            return data

    return edited


def _other_case(text: str) -> str:
    """The first letter that has one in the other case."""
    for at, character in enumerate(text):
        swapped = character.swapcase()
        if swapped != character and swapped.swapcase() == character:
            return text[:at] + swapped + text[at + 1 :]
    return text


def _other_form(text: str) -> str:
    """Composed characters for decomposed ones or the other way round: they look the same."""
    decomposed = unicodedata.normalize("NFD", text)
    return decomposed if decomposed != text else unicodedata.normalize("NFC", text)


def _encoded_twice(text: str) -> str:
    return text if text.isascii() else text.encode("utf-8").decode("latin-1")


def _replaced(old: str, new: str, count: int = -1) -> _Edit:
    return _as_text(lambda text: text.replace(old, new, count))


def _substituted(pattern: str, new: str) -> _Edit:
    compiled = re.compile(pattern)
    return _as_text(lambda text: compiled.sub(new, text, count=1))


def _in_latin_1(data: bytes) -> bytes:
    try:
        return data.decode("utf-8").encode("latin-1")
    except UnicodeError:
        return data


_ANY_BYTES: Mapping[str, _Edit] = {
    "first byte": lambda data: _flipped(data, 0) if data else b"x",
    "byte in the middle": lambda data: _flipped(data, len(data) // 2) if data else b"x",
    "last byte": lambda data: _flipped(data, len(data) - 1) if data else b"x",
    "one more byte": lambda data: data + b"x",
    "nothing left": lambda _: b"",
    "cut off in the middle": lambda data: data[: len(data) // 2],
    "written twice": lambda data: data + data,
    "NUL at the end": lambda data: data + b"\0",
}
_LINES: Mapping[str, _Edit] = {
    "final newline dropped": lambda data: data.removesuffix(b"\n"),
    "final newline added": lambda data: data + b"\n",
    "CRLF for LF": lambda data: data.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n"),
    "LF for CRLF": lambda data: data.replace(b"\r\n", b"\n"),
    "first line dropped": lambda data: b"".join(_lines(data)[1:]),
    "last line dropped": lambda data: b"".join(_lines(data)[:-1]),
    "last line twice": _last_line_twice,
    "two lines swapped": _swapped_lines,
    "lines joined by a blank": lambda data: data[:-1].replace(b"\n", b" ") + data[-1:],
    "line break written out": lambda data: data[:-1].replace(b"\n", b"\\n") + data[-1:],
    "blank at the end of a line": lambda data: data.replace(b"\n", b" \n", 1) if b"\n" in data else data + b" ",
    "blank in front": lambda data: b" " + data,
    "tab for blanks": lambda data: re.sub(rb" +", b"\t", data, count=1),
    "blanks merged": lambda data: re.sub(rb"  +", b" ", data),
}
_CHARACTERS: Mapping[str, _Edit] = {
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
    "other case": _as_text(_other_case),
    "other Unicode form": _as_text(_other_form),
    "Latin-1 for UTF-8": _in_latin_1,
    "encoded twice": _as_text(_encoded_twice),
    "question marks for letters": _as_text(lambda text: text.encode("ascii", "replace").decode("ascii")),
    "curly quotes": _as_text(lambda text: text.replace("'", "\u2019").replace('"', "\u201d")),
}
_IN_TRANSPORT: Mapping[str, _Edit] = {
    "apostrophes lost": _replaced("'", ""),
    "double quotes lost": _replaced('"', ""),
    "quotes around": lambda data: b"'" + data.rstrip(b"\n") + b"'" + data[len(data.rstrip(b"\n")) :],
    "variable expanded": _substituted(r"\$(?:\{\w+\}|\w+)", ""),
    "command substituted": _substituted(r"`[^`]*`|\$\([^()]*\)", ""),
    "backslashes lost": _replaced("\\", ""),
    "backslashes doubled": _replaced("\\", "\\\\"),
    "dollar escaped": _replaced("$", "\\$"),
    "bang escaped": _replaced("!", "\\!"),
    "quote escaped": _replaced('"', '\\"'),
    "percent doubled": _replaced("%", "%%"),
    "percent lost": _replaced("%", ""),
    "HTML escaped": _as_text(lambda text: text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")),
    "tilde expanded": _replaced("~", "/root"),
    "comment cut off": _substituted(r"[ \t]*#.*", ""),
}
_NAMES: Mapping[str, _Edit] = {
    "renamed": lambda name: name + b".renamed",
    "name in other case": _as_text(_other_case),
    "name in other Unicode form": _as_text(_other_form),
    "name with a blank at its end": lambda name: name + b" ",
    "name with a line end": lambda name: name + b"\n",
    "name cut at a blank": lambda name: name.partition(b" ")[0],
    "name in quotes": lambda name: b"'" + name + b"'",
    "name without its quotes": lambda name: name.replace(b"'", b"").replace(b'"', b""),
    "name with a backslash": lambda name: re.sub(rb"[^\w./-]", lambda match: b"\\" + match[0], name, count=1),
    "name without its backslashes": lambda name: name.replace(b"\\", b""),
    "name expanded": _as_text(lambda text: re.sub(r"\$(?:\{\w+\}|\w+)", "", text)),
    "name without its ending": lambda name: re.sub(rb"(?<=.)\.\w+\Z", b"", name),
}
