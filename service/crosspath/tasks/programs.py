"""Texts of the built-in programs that a task may put on PATH: recorders, an ssh-like remote shell, and stubs.

Each is a ``/bin/sh`` script that uses built-ins only (a start takes about a millisecond), so neither ``BASH_ENV`` nor functions
that a reply exports can change what it does. ``{work}`` stands for the work directory; the sandbox fills it in.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

_HEAD = "#!/bin/sh\n"
_WORK = "IFS= read -r work <<'END'\n{work}\nEND\n"
"""A quoted heredoc takes the directory's name whatever stands in it."""
_HOST_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True)
class StubAnswer:
    """What a stub says to arguments that match ``argv``: one pattern each (``*`` and ``?``), a last ``**`` for any further."""

    argv: tuple[str, ...]
    stdout: str = ""
    stderr: str = ""
    exit: int = 0


def argv_recorder(file: str, stdin: str | None = None) -> str:
    """A program that appends its arguments to ``file`` in the work directory, in the form of :func:`argv_record`.

    ``stdin``: the file that its standard input is appended to, byte for byte. What reads it is no built-in, because none keeps
    NUL bytes; ``command -p`` finds the system's ``cat``, whatever stands on PATH.
    """
    reading = f"command -p cat >> {_below_work(stdin)}\n" if stdin is not None else ""
    note = "# Appends the number of arguments, then each argument, every one ended by a NUL byte.\n"
    return f"{_HEAD}{note}{_recorded(file)}{reading}"


def argv_record(argv: Sequence[str]) -> str:
    """What :func:`argv_recorder` appends for one call: the count and the arguments, each ended by NUL."""
    return "".join(f"{part}\0" for part in (str(len(argv)), *argv))


def env_recorder(file: str, variables: Sequence[str]) -> str:
    """A program that appends the values of ``variables`` to ``file``, in the form of :func:`env_record`."""
    lines = "".join(
        f"    if [ \"${{{name}+set}}\" ]; then printf '%s\\000' \"{name}=${name}\"; else printf '%s\\000' {name}; fi\n"
        for name in variables
    )
    return (
        f"{_HEAD}# Appends NAME=VALUE (NAME alone where it is not set), each ended by a NUL byte.\n{_WORK}"
        f"{{\n{lines}}} >> {_below_work(file)}\n"
    )


def env_record(variables: Sequence[str], values: Mapping[str, str]) -> str:
    """What :func:`env_recorder` appends for one call in an environment that holds ``values``."""
    return "".join(f"{name}={values[name]}\0" if name in values else f"{name}\0" for name in variables)


def remote_shell(hosts: Mapping[str, str]) -> str:
    """``NAME HOST COMMAND...``: like ssh, joins its arguments with spaces, and a bash on the host reads them again.

    ``hosts``: name of a host -> the directory below the work directory that stands for it; it is home and current directory
    of the remote bash, whose environment holds nothing of the caller's. Without a command, that bash reads standard input.
    """
    cases = "".join(f"{shlex.quote(name)}) home={_below_work(directory)} ;;\n" for name, directory in hosts.items())
    environment = f'HOME="$home" USER=remote LOGNAME=remote PATH={_HOST_PATH} LANG=C.UTF-8 TZ=UTC TERM=dumb'
    return (
        f"{_HEAD}# HOST COMMAND...: joins the arguments with spaces; a shell on the host reads them again, like ssh.\n{_WORK}"
        f'case "$1" in\n{cases}'
        '*) printf \'%s: no such host: %s\\n\' "${0##*/}" "$1" >&2; exit 255 ;;\n'
        "esac\n"
        "shift\n"
        'cd "$home" || exit 255\n'
        f'if [ "$#" -eq 0 ]; then exec env -i {environment} bash --noprofile --norc -s; fi\n'
        f'exec env -i {environment} bash --noprofile --norc -c "$*"\n'
    )


def stub(answers: Sequence[StubAnswer], record: str | None = None) -> str:
    """A program that gives the first answer whose patterns match all of its arguments, else complains and ends with 64.

    ``record``: a file in the work directory to which every call is appended, answered or not, in the form of
    :func:`argv_record`.
    """
    tests = "".join(_answer(answer) for answer in answers)
    return (
        f"{_HEAD}# Answers known arguments.\n{_recorded(record) if record is not None else ''}"
        'is() { case "$1" in $2) return 0 ;; esac; return 1; }\n'
        f"{tests}"
        "printf '%s: no answer for these arguments\\n' \"${0##*/}\" >&2\nexit 64\n"
    )


def _recorded(file: str) -> str:
    """Lines that append one call to ``file``; the arguments stay as they are."""
    return (
        f"{_WORK}"
        "{\n"
        "    printf '%s\\000' \"$#\"\n"
        "    for argument do printf '%s\\000' \"$argument\"; done\n"
        f"}} >> {_below_work(file)}\n"
    )


def _answer(answer: StubAnswer) -> str:
    open_ended = answer.argv[-1:] == ("**",)
    patterns = answer.argv[:-1] if open_ended else answer.argv
    count = f'[ "$#" {"-ge" if open_ended else "-eq"} {len(patterns)} ]'
    tests = [count, *(f'is "${{{number}}}" {shlex.quote(_pattern(text))}' for number, text in enumerate(patterns, start=1))]
    out = f"printf '%s' {shlex.quote(answer.stdout)}; " if answer.stdout else ""
    err = f"printf '%s' {shlex.quote(answer.stderr)} >&2; " if answer.stderr else ""
    return f"if {' && '.join(tests)}; then {out}{err}exit {answer.exit}; fi\n"


def _pattern(text: str) -> str:
    """Only ``*`` and ``?`` keep their meaning; ``[`` and the backslash would have one to the shell, too."""
    return "".join(f"\\{char}" if char in "[]\\" else char for char in text)


def _below_work(path: str) -> str:
    return f'"$work"/{shlex.quote(path)}'
