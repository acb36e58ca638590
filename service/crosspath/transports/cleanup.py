"""Clean-ups: what a harness does to a reply's text before its path sees it.

``fenced-block`` takes the content of the one fenced code block of a reply, by CommonMark's rules for fences: they stand at the
start of a line (at most three spaces before), and only a fence of the same character and at least the same length closes a block.
With no block, several, or one that is never closed, the text stays as it is: guessing would cut commands in the middle. A fence
inside of a here-document that the text itself opens is content, not a fence.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from crosspath.types import Cleanup

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}+(?!.*`)|~{3,}+)")  # possessive: linear
_HERE_DOCUMENT = re.compile(r"(?<!<)<<-?[ \t]*['\"\\]?(?P<word>[A-Za-z_][A-Za-z0-9_]*)")


@dataclass(frozen=True)
class _Block:
    first: int
    """Number of the first line of content."""
    end: int
    """Number of the closing fence's line."""
    indent: int


def clean(text: str, cleanup: Cleanup) -> str:
    """``text`` as the path gets it."""
    if cleanup == "strip":
        return text.strip()
    if cleanup == "fenced-block":
        return _fenced_block(text)
    return text


def is_fenced(text: str) -> bool:
    """Whether the text as a whole is one fenced block, apart from white space around it."""
    lines = text.strip().split("\n")
    blocks = _blocks(lines) or []
    return len(blocks) == 1 and (blocks[0].first, blocks[0].end) == (1, len(lines) - 1)


def _fenced_block(text: str) -> str:
    lines = text.split("\n")
    blocks = _blocks(lines)
    if blocks is None or len(blocks) != 1:
        return text
    block = blocks[0]
    return "\n".join(_outdent(line, block.indent) for line in lines[block.first : block.end])


def _blocks(lines: Sequence[str]) -> list[_Block] | None:
    """The blocks in order; None if the last one is not closed."""
    blocks: list[_Block] = []
    last_line = {line.strip("\t\r"): number for number, line in enumerate(lines)}
    number = 0
    while number < len(lines):
        opening = _FENCE.match(lines[number])
        if opening is None:
            number = _after_here_document(lines, number, last_line)
            continue
        end = _closing(lines, number + 1, opening["fence"])
        if end is None:
            return None
        blocks.append(_Block(number + 1, end, opening.start("fence")))
        number = end + 1
    return blocks


def _closing(lines: Sequence[str], start: int, fence: str) -> int | None:
    closes = re.compile(rf" {{0,3}}{re.escape(fence[0])}{{{len(fence)},}}[ \t\r]*")
    return next((number for number in range(start, len(lines)) if closes.fullmatch(lines[number])), None)


def _after_here_document(lines: Sequence[str], number: int, last_line: dict[str, int]) -> int:
    """The line to go on with: the next one, or the one after the here-document that this line opens."""
    opened = _HERE_DOCUMENT.search(lines[number])
    # The look-up keeps the whole scan linear: without it every `<<X` that is never closed would scan to the end.
    if opened is None or last_line.get(opened["word"], -1) <= number:
        return number + 1
    # Without `<<-` a terminator must not be indented; taking one that is errs on the side of leaving the text alone.
    ends = (end for end in range(number + 1, len(lines)) if lines[end].strip("\t\r") == opened["word"])
    return next(ends) + 1


def _outdent(line: str, indent: int) -> str:
    spaces = len(line) - len(line.lstrip(" "))
    return line[min(spaces, indent) :]
