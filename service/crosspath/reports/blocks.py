"""Foreign text as blocks and spans of code in Markdown: literal, visible, bounded, and without a way out."""

import re

from crosspath.escaping import one_line

_RUN = re.compile(r"`+")


def fenced(text: str, language: str = "text") -> str:
    """A block of code that shows ``text`` line by line; its fence is longer than any run of backticks in it."""
    lines = [one_line(line, keep="\t") for line in text.removesuffix("\n").split("\n")]
    fence = "`" * max(3, 1 + max((len(run) for line in lines for run in _RUN.findall(line)), default=0))
    return "\n".join([f"{fence}{language}", *lines, fence]) + "\n"


def code_span(text: str) -> str:
    """``text`` as code within a line, on one line; what is empty or blank stays visible as quotes."""
    line = one_line(text)
    if not line.strip():
        return f'`"{line}"`'
    mark = "`" * (1 + max((len(run) for run in _RUN.findall(line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") or (line.startswith(" ") and line.endswith(" ")) else ""
    return f"{mark}{pad}{line}{pad}{mark}"


def shortened(text: str, most_lines: int, most_characters: int) -> str:
    """``text`` with control characters visible; beyond its bounds it is cut, and a last line says how much is missing."""
    lines = [one_line(line, keep="\t") for line in text.split("\n")]
    shown: list[str] = []
    left = most_characters
    for number, line in enumerate(lines):
        if number == most_lines or left <= 0:
            return "\n".join([*shown, f"... {_rest(lines[number:])}"])
        if len(line) > left:
            rest = [line[left:], *lines[number + 1 :]]
            return "\n".join([*shown, f"{line[:left]}", f"... {_rest(rest)}"])
        shown.append(line)
        left -= len(line) + 1
    return "\n".join(shown)


def _rest(lines: list[str]) -> str:
    characters = sum(map(len, lines)) + len(lines) - 1
    if len(lines) == 1:
        return f"{characters} more characters"
    return f"{len(lines)} more lines, {characters} characters"
