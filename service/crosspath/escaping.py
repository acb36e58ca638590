"""Bytes as reversible text: what is valid UTF-8 stays readable, everything else becomes ``\\xNN``.

A backslash is doubled, so ``unescape(escape(data)) == data`` for every byte string. Tables, JSON and terminals hold this
form; nothing is decoded with replacement characters, because two different files must never look the same.
"""

import re
import unicodedata

_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Unicode categories that move the cursor, end a line, turn the direction of text, or can't be seen at all."""
_MARKUP = re.compile(
    r"""
      \\(?=[!-/:-@\[-`{-~]|\Z)           # a backslash, where one would mean something
    | [`*\[\]|~]
    | (?<![A-Za-z0-9])[_#] | _(?![A-Za-z0-9])  # inside of a word they mean nothing
    | (?<=[A-Za-z]):(?=//)                # URLs become links without any markup
    | (?<=mailto|callto):
    | (?<=www)\.
    | \A(?:[=>]|[-+](?=[ ]|[-+]+\Z))      # what opens a block
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NUMBERED = re.compile(r"\A(?:[0-9](?=[.)])|[0-9]{2,9}(?=[.)](?:[ ]|\Z)))")
"""A number that would open a list; one digit also where it would not: cards that were written hold it so, and are compared."""
_MENTION = re.compile(r"(?<![A-Za-z0-9])(?:@(?=[A-Za-z0-9])|#(?=[0-9]))|@(?=[A-Za-z0-9_-]+[.])")
"""What GitHub and GitLab turn into a person, who gets a mail, an issue or an address, whether or not a backslash is before it."""
_APART = "&#8203;"
"""A space without width: those look at the rendered text, so that only another character in it helps."""
_ENTITY = re.compile(r"&(?=#?[A-Za-z0-9])")
_USUAL = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_BYTE = re.compile(rb"\\x([0-9a-f]{2})")
_BACKSLASH = b"\\"


def escape(data: bytes) -> str:
    """``data`` as text: UTF-8 as it is, ``\\`` doubled, any other byte as ``\\xNN``, NUL as ``\\x00``."""
    text = data.replace(b"\\", b"\\\\").decode("utf-8", "backslashreplace")
    return text.replace("\0", "\\x00")


def one_line(text: str, keep: str = "") -> str:
    """Untrusted ``text`` as one line for people: line ends as ``\\n``, control and format characters as ``\\xNN`` or ``\\uNNNN``.

    Characters in ``keep`` stay as they are. Not reversible unless ``text`` is an escaped one, which has no single backslash.
    """
    if text.isprintable():
        return text
    return "".join(_visible(character) if character not in keep else character for character in text)


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    wide = f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    return _USUAL.get(character) or (f"\\x{code:02x}" if code < 0x80 else wide)


def markdown(text: str) -> str:
    """Untrusted ``text`` as one line of Markdown that shows just this text: no markup, link, HTML, block or table cell in it.

    Fits into a paragraph, a heading, emphasis and a table's cell, not into code. Surrounding white space is dropped. It mentions
    nobody and no issue: after such an ``@`` or ``#`` is a space without width, which is all that is added to the text shown.
    """
    line = _ENTITY.sub("&amp;", one_line(text).strip()).replace("<", "&lt;")
    escaped = _NUMBERED.sub(r"\g<0>\\", _MARKUP.sub(r"\\\g<0>", line))
    return _MENTION.sub(rf"\g<0>{_APART}", escaped).replace("$", "&#36;")  # two of them enclose a formula; not all know \\$


def unescape(text: str) -> bytes:
    """The inverse of :func:`escape`.

    Raises:
        ValueError: a backslash starts neither ``\\\\`` nor ``\\xNN``.
    """
    data = text.encode("utf-8")
    if _BACKSLASH not in data:
        return data
    # A single backslash is always followed by an x, so pairs can be split off from left to right.
    return _BACKSLASH.join(_unescaped(part) if _BACKSLASH in part else part for part in data.split(_BACKSLASH * 2))


def _unescaped(part: bytes) -> bytes:
    """A text without doubled backslashes."""
    if part.count(_BACKSLASH) != len(_BYTE.findall(part)):
        stray = _BYTE.sub(b"", part)
        raise ValueError(f"not an escaped text: stray backslash in {stray[stray.index(_BACKSLASH) :][:40]!r}")
    return _BYTE.sub(lambda match: bytes([int(match[1], 16)]), part)
