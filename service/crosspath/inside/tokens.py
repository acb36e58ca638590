"""A careless tokenise-and-requote pass, as widely used libraries do it to a command before a shell sees it.

Variables are resolved against an empty map, operators are kept apart from words (so ``2>&1`` becomes three tokens), and a word
that holds both kinds of quotes is put between double quotes with ``!`` escaped.
"""

import re

_OPERATORS = ("&&", "||", ";;", "|&", "<(", ">>", ">&", "&", "|", ";", "<", ">", "(", ")")
_VARIABLE = re.compile(r"\$(\w+|\{\w+\})")
_ENDS_A_WORD = "|&;<>()"


def requoted(text: str, *, input_guard: bool) -> str:
    """``text`` through the pass; ``input_guard``: ``< /dev/null`` is put before the first pipe."""
    out: list[str] = []
    guarded = not input_guard
    for operator, token in _tokens(text):
        if operator and token == "|" and not guarded:
            out.append("< /dev/null")
            guarded = True
        out.append(token if operator else _quoted(token))
    return " ".join(out)


def _tokens(text: str) -> "list[tuple[bool, str]]":
    """``(is an operator, token)`` in order."""
    found: list[tuple[bool, str]] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        operator = next((one for one in _OPERATORS if text.startswith(one, at)), None)
        if operator:
            found.append((True, operator))
            at += len(operator)
        else:
            word, at = _word(text, at)
            found.append((False, word))
    return found


def _word(text: str, at: int) -> "tuple[str, int]":
    """The word that begins at ``at``, quotes resolved, and where it ends."""
    made: list[str] = []
    quote = ""
    while at < len(text):
        character = text[at]
        variable = _VARIABLE.match(text, at) if quote != "'" else None
        if variable:
            at = variable.end()
        elif character == quote:
            quote, at = "", at + 1
        elif quote == "'":
            made.append(character)
            at += 1
        elif character == "\\" and at + 1 < len(text) and (not quote or text[at + 1] in '"$`\\'):
            made.append(text[at + 1])
            at += 2
        elif not quote and character in "\"'":
            quote, at = character, at + 1
        elif not quote and (character.isspace() or character in _ENDS_A_WORD):
            break
        else:
            made.append(character)
            at += 1
    return "".join(made), at


def _quoted(word: str) -> str:
    if not word:
        return "''"
    if re.search(r'["\s\\]', word) and "'" not in word:
        return f"'{word}'"
    if re.search(r'["\'\s]', word):
        return '"' + re.sub(r'(["\\$`!])', r"\\\1", word) + '"'
    return re.sub(r"([#!\"$&'()*,:;<=>?@\[\\\]^`{|}])", r"\\\1", word)
