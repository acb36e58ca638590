"""Texts that do what another text does under ``bash -c``, written with fewer characters.

A layer's ``encode`` starts from one of these. The *armoured* form is one line without quotes, ``$``, backslashes, braces, ``%``,
``!``, ``&``, ``;``, ``|`` and ``>``: few layers have anything to change in it.
"""

import base64
import re
from collections import Counter

from crosspath.inside.edits import escape_single_quoted
from crosspath.transports.layers import as_argument

_HARMLESS_START = re.compile(
    r"(?:\s+|[{(](?=\s)"
    r"|(?:set\s+-[eu]+(?:o\s+pipefail)?|set\s+-o\s+(?:pipefail|errexit|nounset)|cd\s+[\w./~-]+|true|:"
    r"|export\s+(?!PATH=)\w+=[\w./:-]*)\s*(?:;|&&|\n|$))*"
)
"""Wrapper text in front of a command that surely comes to run it, and changes no more than directory, options and variables."""
_PLAIN_WRAPPER_END = re.compile(r"^\s*(?:$|;|\}|\)|&&|\|\||\n)")
_ONLY_OUTPUT = re.compile(r"^(?:\s*\d*(?:>&\d|>>?\s*/dev/null|<\s*/dev/null)(?=\s|$|[;)}]))+")
"""Redirections that change where output goes, and neither the state nor the status."""
_GROUP_REDIRECTED = re.compile(r"[})]\s*\d*[<>](?!&\d|>?\s*/dev/null)")
"""A redirection of the whole group, which takes effect before the command does."""
_PIPE_OR_BACKGROUND = re.compile(r"(?<![|>])\|(?!\|)|(?<![&>])&(?![&>])")


BASE32 = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
"""The letters and digits of what an armoured text carries."""


def own_shell(text: str) -> str:
    """The text as the one argument of a bash that takes the place of the shell which reads this."""
    return f"exec bash -c '{escape_single_quoted(text)}'"


def child_shell(text: str) -> str:
    """The text as the one argument of a bash of its own, with nothing on its standard input; the shell around goes on."""
    return f"bash -c '{escape_single_quoted(text)}' < /dev/null"


def own_shell_without_input(text: str) -> str:
    """As ``own_shell``, with nothing on standard input: for shells that read their script from there."""
    return f"{own_shell(text)} < /dev/null"


def _base32(text: str) -> str:
    """The text in letters and digits only. Not base64: whether its + and / survive would depend on the text.

    Blanks at the end bring it to a length that needs no padding.
    """
    data = own_shell(text).encode("utf-8")
    return base64.b32encode(data.ljust(-(-len(data) // 5) * 5)).decode("ascii")


def armoured(text: str) -> str:
    """One short line for bash that does what the text does, in letters, digits and ``. <(-)`` only."""
    return f". <(base32 -d<<<{_base32(text)})"


def blankless(text: str) -> str:
    """As ``armoured``, in one word: no blanks and no globs, for the price of ``$`` and braces."""
    return f".${{IFS}}<(base32${{IFS}}-d<<<{_base32(text)})"


def piped(text: str) -> str:
    """As ``armoured``, without ``<`` and ``>``, for the price of quotes, ``$`` and ``|``."""
    return f'eval "$(echo {_base32(text)}|base32 -d)"'


def backquoted(text: str) -> str:
    """As ``armoured``, without parentheses and ``$``, for the price of quotes and backquotes."""
    return f'eval "`base32 -d<<<{_base32(text)}`"'


def candidates(text: str) -> tuple[str, ...]:
    """What an encoding may start from, the plainest first.

    Raises:
        UndeliverableError: ``bash -c`` itself could not carry the text.
    """
    as_argument(text, "the shell text")
    return text, armoured(text), piped(text), backquoted(text)


def is_own_line(wrapper: str) -> bool:
    """Whether wrapper text on a line of its own goes on neither with the line before nor on the next one."""
    goes_on = re.match(r"\s*[;&|]", wrapper) or wrapper.endswith("\\") or "<<" in wrapper
    return not goes_on and not _PIPE_OR_BACKGROUND.search(wrapper) and not _GROUP_REDIRECTED.search(wrapper)


def lets_a_shell_through(before: str, after: str) -> bool:
    """Whether wrapper text around a command lets ``exec`` end the wrapper with the command's own status.

    That is so where the command stands at the place of a command, and in no pipe and not in the background. What the wrapper does
    before (``cd``, exported variables) the command will see all the same.
    """
    after = _ONLY_OUTPUT.sub("", after)
    plain = _HARMLESS_START.fullmatch(before) and _PLAIN_WRAPPER_END.search(after)
    return bool(plain) and not _PIPE_OR_BACKGROUND.search(after) and not _GROUP_REDIRECTED.search(after)


_QUOTED = re.compile(r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_PAIRS = (("{", "}"), ("(", ")"), ("if", "fi"), ("do", "done"), ("case", "esac"))


def is_whole(wrapper: str) -> bool:
    """Whether wrapper text without the command in it leaves no quote, bracket or compound command of the shell open."""
    bare = _QUOTED.sub(" ", wrapper)
    words = re.findall(r"(?:^|[;&|(){\n]|\bthen\b|\belse\b|\bdo\b)\s*(if|fi|do|done|case|esac)\b", bare)
    counts = Counter([*re.findall(r"[{}()]", bare), *words])
    return not set("'\"") & set(bare) and all(counts[start] == counts[end] for start, end in _PAIRS)
