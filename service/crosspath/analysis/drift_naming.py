"""Foreign names and values within a sentence: on one line, cut, and only so many of them."""

import shlex
from collections.abc import Sequence

from crosspath.analysis.wording import percent
from crosspath.escaping import one_line
from crosspath.types.drift import Signal
from crosspath.types.explaining import FieldDifference

MOST_NAMED = 3
"""So many names stand in a sentence; the rest is counted."""
LONGEST_VALUE = 40
"""Characters of a value."""
LONGEST_NAME = 140
"""Characters of a name with what stands beside it."""
SHOWN_DIGITS = 8
"""Of a digest."""
_LEAST_DIGEST = 16


def listed(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """``a, b, c and 2 more``; each on one line."""
    shown = ", ".join(cut(one_line(name), LONGEST_NAME) for name in names[:most])
    more = len(names) - most
    return f"{shown} and {more} more" if more > 0 else shown


def as_word(name: str) -> str:
    """A name as one word of a command that can be copied."""
    return shlex.quote(one_line(name))


def task_counts(tasks: Sequence[str]) -> str:
    """``1 task`` or ``3 tasks``."""
    return f"{len(tasks)} task{'s' * (len(tasks) != 1)}"


def field_words(difference: FieldDifference, more: str = "") -> str:
    """``contract.digest (0c91f2aa -> 77ab01ff)``; ``more`` stands in the brackets, too."""
    return f"{cut(one_line(difference.field))} ({named_value(difference.a)} -> {named_value(difference.b)}{more})"


def program_name(difference: FieldDifference) -> str:
    """``awk`` for ``toolchain.programs.awk``: what need not be said is left out."""
    return cut(one_line(difference.field).removeprefix("toolchain.").removeprefix("programs."))


def signal_value(signal: Signal, value: float | None) -> str:
    """The value of a signal with its unit."""
    if value is None:
        return "unknown"
    return percent(value) if signal.unit == "share" else f"{value:.4g} {'s' if signal.unit == 'seconds' else signal.unit}"


def named_value(value: str) -> str:
    """A value on one line: of a digest its first digits, of anything longer its start and its end."""
    line = one_line(value)
    if len(line) >= _LEAST_DIGEST and all(char in "0123456789abcdef" for char in line):
        return line[:SHOWN_DIGITS]
    return cut(line) or '""'


def cut(line: str, longest: int = LONGEST_VALUE) -> str:
    """At most so many characters; the middle gives way, because both ends of a name tell names apart."""
    if len(line) <= longest:
        return line
    tail = (longest - 3) // 2
    return f"{line[: longest - 3 - tail]}...{line[-tail:]}"
