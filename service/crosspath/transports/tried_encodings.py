"""Encodings that a path without layers of ours is tried with: what careful callers write, by hand or by program."""

import base64
import html
import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

from crosspath.inside.edits import escape_double_quoted, escape_single_quoted
from crosspath.transports.encodings import armoured, child_shell, own_shell, own_shell_without_input, piped


@dataclass(frozen=True)
class Encoding:
    """How a command is written so that it may survive."""

    name: str
    instruction: str
    """For whoever writes the command: ``write a backslash before each of ...``."""
    encode: Callable[[str], str]
    by_hand: bool = True
    """Whether a model can be told to do it: nobody writes base64 without a program."""


def _entities(text: str) -> str:
    return html.escape(text, quote=False)


def _json_string(text: str) -> str:
    return json.dumps(text)[1:-1]


def _percent(text: str) -> str:
    return text.replace("%", "%25").replace("+", "%2B")


def _one_line_of_ansi(text: str) -> str:
    """The text between ``$'`` and ``'``, on one line."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n").replace("\t", "\\t").replace("\r", "\\r")
    return f"exec bash -c $'{escaped}'"


def _into_bash(text: str) -> str:
    """For any shell, without quotes, ``$`` and backslashes."""
    return f"echo {base64.b64encode(own_shell_without_input(text).encode('utf-8')).decode('ascii')}|base64 -d|bash"


_QUOTE = ", a single quote in it as '\\''"
ESCAPES: tuple[Encoding, ...] = (
    Encoding("double-quote escaping", 'write a backslash before each of \\ " $ and `', escape_double_quoted),
    Encoding("single-quote escaping", "write each single quote as '\\''", escape_single_quoted),
    Encoding("one quoted word", f"write the whole command as one word between single quotes{_QUOTE}", shlex.quote),
    Encoding("doubled backslashes", "write each backslash twice", lambda text: text.replace("\\", "\\\\")),
    Encoding("JSON escaping", "write it as the inside of a JSON string (\\n, \\\", \\\\)", _json_string),
    Encoding("entities", "write & < > as &amp; &lt; &gt;", _entities),
    Encoding("doubled dollars", "write each $ as $$", lambda text: text.replace("$", "$$")),
    Encoding("escaped percent signs", "write each % as \\%", lambda text: text.replace("%", "\\%")),
    Encoding("percent-encoding", "write % as %25 and + as %2B", _percent),
    Encoding("doubled percent signs", "write each % as %%", lambda text: text.replace("%", "%%")),
    Encoding("doubled braces", "write each { and } twice", lambda text: re.sub(r"[{}]", r"\g<0>\g<0>", text)),
    Encoding("Jinja raw block", "put it between {% raw %} and {% endraw %}", lambda text: f"{{% raw %}}{text}{{% endraw %}}"),
)  # fmt: skip
WRAPPINGS: tuple[Encoding, ...] = (
    Encoding("a line of its own", "begin and end with an empty line", lambda text: f"\n{text}\n"),
    Encoding("fenced block", "put it into a ```bash block", lambda text: f"```bash\n{text}\n```"),
    Encoding("bash -c", f"write it as bash -c '...'{_QUOTE}", lambda text: own_shell(text).removeprefix("exec ")),
    Encoding("bash -c without input", f"write it as bash -c '...' < /dev/null{_QUOTE}", child_shell),
    Encoding("exec bash -c", f"write it as exec bash -c '...'{_QUOTE}", own_shell),
    Encoding(
        "exec bash -c without input", f"write it as exec bash -c '...' < /dev/null{_QUOTE}", own_shell_without_input
    ),
    Encoding("one line", "write it on one line as exec bash -c $'...', line ends in it as \\n", _one_line_of_ansi),
    Encoding("base64", "send it as . <(base64 -d<<<...), which takes a program", armoured, by_hand=False),
    Encoding("base64 into bash", "send it as echo ...|base64 -d|bash, which takes a program", _into_bash, by_hand=False),
    Encoding("base64 through a pipe", 'send it as eval "$(echo ...|base64 -d)", which takes a program', piped, by_hand=False),
)  # fmt: skip
AS_IT_IS = Encoding("as it is", "write it as it is", str)


def single_encodings() -> tuple[Encoding, ...]:
    """One step each, the easiest first."""
    return (*ESCAPES, *WRAPPINGS)


def composed_encodings() -> Iterator[Encoding]:
    """Two steps: an escaping over a wrapping, or over another escaping (or itself)."""
    for inner, outer in product((*ESCAPES, *WRAPPINGS), ESCAPES):
        yield _composed(inner, outer)
    fence = next(one for one in WRAPPINGS if one.name == "fenced block")
    for inner in single_encodings():
        if inner is not fence:
            yield _composed(inner, fence)


def _composed(inner: Encoding, outer: Encoding) -> Encoding:
    return Encoding(
        f"{inner.name}, then {outer.name}",
        f"first {inner.instruction}; then {outer.instruction}",
        lambda text: outer.encode(inner.encode(text)),
        inner.by_hand and outer.by_hand,
    )
