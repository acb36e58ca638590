"""Commands that are not a chain's: writing a file for a tool call, and a user's own harness.

A harness finds the reply as JSON on its standard input and in the file that ``REPLY_FILE`` names::

    {"text": "..." or null, "tool_calls": [{"id": "...", "name": "...", "arguments": "... exactly as received"}]}

It starts in the work directory, which ``WORK`` names, and may leave a report in the file that ``RESULT_FILE`` names::

    {"exit": 0, "output": "...", "error": null}

The JSON is ASCII (``\\uXXXX``), so every text survives it, lone surrogates and NUL included.
"""

import json

from crosspath.transports.layers import as_argument, as_bytes
from crosspath.types import Command, External, FileEntry, Reply

HARNESS_ENV = (("REPLY_FILE", "{in}/reply.json"), ("RESULT_FILE", "{out}/result.json"), ("WORK", "{work}"))
"""What the environment of a harness always holds; a user's ``env`` can't change it."""

# System programs only: a task's own programs come first on PATH and could be called `cat`.
_WRITE_FILE = b"""PATH=/usr/bin:/bin
case $1 in ?*/*) mkdir -p -- "${1%/*}" || exit ;; esac
exec cat > "$1"
"""


def write_file(path: str, content: str) -> Command:
    """Write exactly these bytes; directories are made as needed. The path is the model's own: it may leave the work directory.

    Raises:
        UndeliverableError: the path can't be an argument, or the content holds a lone surrogate.
    """
    argv = (b"/bin/bash", b"-c", _WRITE_FILE, b"write_file", as_argument(path, "the path"))
    return Command(argv=argv, stdin=as_bytes(content, "the content"))


def call_function(python: str, function: str, roots: tuple[str, ...]) -> tuple[str, ...]:
    """The words that call ``module:function`` with ``roots`` on the import path: nothing is written beside the user's code."""
    return (python, "-sB", "{packages}/inside/calling.py", function, *roots)


def run_harness(harness: External, reply: Reply) -> Command:
    """The user's program with the whole reply. A function is handed the reply; its standard input is empty."""
    data = reply_json(reply)
    return Command(
        argv=tuple(argument.encode() for argument in harness.argv),
        stdin=b"" if harness.function else data,
        files=(FileEntry(path=b"reply.json", content=data),),
        env=(*harness.env, *HARNESS_ENV),
        binds=harness.bind,
        packages=("inside",) if harness.function else (),
        report="result.json",
    )


def reply_json(reply: Reply) -> bytes:
    """The reply as a harness reads it: ASCII JSON and a newline."""
    calls = [call.model_dump(include={"id", "name", "arguments"}) for call in reply.tool_calls]
    return json.dumps({"text": reply.text, "tool_calls": calls}).encode("ascii") + b"\n"
