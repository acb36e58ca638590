"""Texts and characters as people can read them in a sentence."""

import string
import unicodedata
from collections.abc import Iterable, Sequence

LONGEST = 72
"""Characters of a text that are shown."""
LISTED = 8
"""Names that a sentence lists."""
_NAMES = {
    " ": "a blank",
    "  ": "two blanks in a row",
    "\n": "a line end",
    "\t": "a tab",
    "\r": "a carriage return",
    "\ufeff": "a byte order mark",
    "$": "`$` before a letter",
    "e\u0301": "a combining accent",
    "\ufb01": "a ligature",
}
_SHORT = {"\n": "LF", "\r": "CR", "\t": "TAB", "\x1b": "ESC"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_CLASSES: tuple[tuple[str, frozenset[str]], ...] = (
    ("letters and digits", frozenset(string.ascii_letters + string.digits)),
    ("control characters", frozenset(chr(code) for code in (*range(1, 9), 11, 12, *range(14, 32), 127))),
)


def shown(text: str | bytes, longest: int = LONGEST) -> str:
    """On one line: what can't be seen, and bytes that are no UTF-8, as ``‹LF›``, ``‹U+FEFF›``, ``‹FF›``; long texts shortened."""
    decoded = text.decode("utf-8", "surrogateescape") if isinstance(text, bytes) else text
    if len(decoded) > longest:
        decoded, more = decoded[: longest - 12], f" ... ({len(decoded)} characters)"
    else:
        more = ""
    return "".join(map(_visible, decoded)) + more


def _visible(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:
        return f"‹{code - 0xDC00:02X}›"
    if unicodedata.category(character) not in _HIDDEN and (character == " " or not character.isspace()):
        return character
    return f"‹{_SHORT.get(character) or f'U+{code:04X}'}›"


def quoted(text: str | bytes) -> str:
    """As code in a sentence; nothing is called so."""
    line = shown(text, 40)
    if not line:
        return "nothing"
    return f"`` {line} ``" if "`" in line else f"`{line}`"


def unit_name(unit: str) -> str:
    """One character (or a few that count as one) in a sentence."""
    if unit in _NAMES:
        return _NAMES[unit]
    line = shown(unit)
    return line.strip("‹›") if line.startswith("‹") else quoted(unit)


def unit_names(units: Iterable[str]) -> str:
    """Characters as a list in words; whole classes by their names."""
    left = dict.fromkeys(units)
    names: list[str] = []
    for name, members in _CLASSES:
        if members <= left.keys():
            names.append(name)
            left = {unit: None for unit in left if unit not in members}
    wide = [unit for unit in left if unit not in _NAMES and all(ord(one) > 127 for one in unit)]
    if len(wide) > 3:
        names.append(f"characters outside of ASCII ({' '.join(map(shown, wide))})")
        left = {unit: None for unit in left if unit not in wide}
    return joined([*map(unit_name, left), *names])


def joined(parts: Sequence[str], word: str = "and", most: int = LISTED) -> str:
    """``a, b and c``; what is beyond ``most`` is counted."""
    found = list(parts)
    if len(found) > most + 1:
        found = [*found[:most], f"{len(found) - most} more"]
    return found[0] if len(found) == 1 else f"{', '.join(found[:-1])} {word} {found[-1]}" if found else ""
