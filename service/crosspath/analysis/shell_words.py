"""Shell texts that are nothing but words: a program and its arguments, with no operator, expansion, comment or second line."""

from collections.abc import Sequence

_ACTIVE = frozenset("|&;<>()$`*?[]{}~#!\n\r^")
_ENDS = '"\\$`'


def plain_words(text: str) -> Sequence[str] | None:
    """The words that every shell makes of it; None where more than words is in it."""
    words: list[str] = []
    word: list[str] | None = None
    text = text.strip(" \t\n")
    at = 0
    while at < len(text):
        character = text[at]
        if character in " \t":
            words += ["".join(word)] if word is not None else []
            word, at = None, at + 1
            continue
        taken = _taken(text, at)
        if taken is None or (character == "=" and not words):
            return None
        word = word if word is not None else []
        word.append(taken[0])
        at = taken[1]
    return [*words, "".join(word)] if word is not None else words


def _taken(text: str, at: int) -> tuple[str, int] | None:
    """What one character, escape or quoted piece means, and where the next begins."""
    character = text[at]
    if character == "'":
        end = text.find("'", at + 1)
        return (text[at + 1 : end], end + 1) if end >= 0 else None
    if character == '"':
        return _double_quoted(text, at + 1)
    if character == "\\":
        following = text[at + 1 : at + 2]
        return (following, at + 2) if following and following != "\n" else None
    return None if character in _ACTIVE else (character, at + 1)


def _double_quoted(text: str, at: int) -> tuple[str, int] | None:
    made: list[str] = []
    while at < len(text) and text[at] != '"':
        if text[at] in "$`":
            return None
        escaped = text[at] == "\\" and text[at + 1 : at + 2] != "" and text[at + 1] in _ENDS
        if text[at : at + 2] == "\\\n":
            return None
        made.append(text[at + 1] if escaped else text[at])
        at += 2 if escaped else 1
    return ("".join(made), at + 1) if at < len(text) else None
