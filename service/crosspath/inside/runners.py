"""Runners: the last layer of a path, which executes the text with real programs and tells an exit status.

Each takes the text, the layer's options and the environment, and returns the status that the path tells its caller. The plain
ones become the shell that they start, so that nothing of us is left between it and the sandbox.
"""

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import IO, Any, NoReturn

from .edits import session_lines

Options = Mapping[str, Any]
Environment = Mapping[str, str]
Runner = Callable[[str, Options, Environment], int]

TIMED_OUT = 124
"""What timeout(1) and most runners tell when their own time limit ended a command."""
_CANNOT_EXECUTE = 126
_NOT_FOUND = 127
MARKER_LOST = 97
_MARKER = re.compile(rb"MARK:(\d{1,3})\n")
_LONGEST_MARKER = 16


def become(argv: Sequence[str], environment: Environment) -> NoReturn:
    """Replace this process by a program, with the signals that a fresh one has."""
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvpe(argv[0], _encoded(argv), environment)
    except (OSError, ValueError) as error:
        sys.exit(_cannot(argv[0], error))


def _encoded(argv: Sequence[str]) -> "list[bytes]":
    return [word.encode("utf-8", "surrogateescape") for word in argv]


def _cannot(name: str, error: Exception) -> int:
    """What a shell says and tells where it can't start a program."""
    reason = error.strerror if isinstance(error, OSError) else str(error)
    print(f"{name}: {reason}", file=sys.stderr)
    return _NOT_FOUND if isinstance(error, FileNotFoundError) else _CANNOT_EXECUTE


def status_of(done: "subprocess.Popen[Any]") -> int:
    """A process's end as a shell tells it: 128 + N for signal N."""
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def run(argv: Sequence[str], environment: Environment, data: bytes = b"") -> int:
    """Run a program with ``data`` on its standard input and wait for it."""
    try:
        with subprocess.Popen(
            _encoded(argv), env=dict(environment), stdin=subprocess.PIPE if data else subprocess.DEVNULL
        ) as done:
            if data:
                done.communicate(data)
            done.wait()
    except (OSError, ValueError) as error:
        return _cannot(argv[0], error)
    return status_of(done)


def written(text: str, name: str, *, newline: bool = False) -> str:
    """The path of a new file with the text, outside of the work directory."""
    import tempfile

    path = os.path.join(tempfile.mkdtemp(), name)
    with open(path, "wb") as file:
        file.write((text + ("\n" if newline else "")).encode("utf-8", "surrogateescape"))
    return path


def shell(text: str, options: Options, environment: Environment) -> int:
    """``bash -c``, or another shell, with flags."""
    become([options["program"], *options["flags"], "-c", text], environment)


def script_file(text: str, options: Options, environment: Environment) -> int:
    """``bash FILE``."""
    become([options["program"], *options["flags"], written(text, "script.sh")], environment)


def standard_input(text: str, options: Options, environment: Environment) -> int:
    """``bash`` that reads the text from its standard input."""
    return run([options["program"], *options["flags"]], environment, text.encode("utf-8", "surrogateescape"))


def syntax_gate(text: str, options: Options, environment: Environment) -> int:
    """``bash -n`` first; what it refuses is not run."""
    script = written(text, "script.sh")
    with open(os.devnull, "wb") as null:
        refused = subprocess.call(["/bin/bash", "-n", script], env=dict(environment), stderr=null) != 0
    if refused:
        return int(options["status"])
    become(["bash", "-c", text], environment)


def base64_hop(text: str, options: Options, environment: Environment) -> int:
    """The text base64-encoded inside one argument, decoded on the other side and piped into a shell."""
    import base64

    encoded = base64.b64encode(text.encode("utf-8", "surrogateescape")).decode("ascii")
    # A shell starts the other side, so a text that is too long is its error, not ours.
    return run(["/bin/bash", "-c", f"echo {encoded} | base64 -d | bash"], environment)


def read_line(text: str, options: Options, environment: Environment) -> int:
    """``read LINE; bash -c "$LINE"``; without ``-r`` unless ``raw``."""
    flag = "-r " if options["raw"] else ""
    line = f'read {flag}LINE < "$1"; exec bash -c "$LINE"'
    become(["/bin/bash", "-c", line, "bash", written(text, "reply")], environment)


def make_recipe(text: str, options: Options, environment: Environment) -> int:
    """A recipe of a real Makefile, run by make: every line by a shell of its own."""
    recipe = "".join(f"\t{line}\n" for line in text.split("\n"))
    makefile = written(f"SHELL := {options['shell']}\n.SILENT:\n.PHONY: all\nall:\n{recipe}", "Makefile")
    return run(["make", "-f", makefile, "all"], environment)


def crontab(text: str, options: Options, environment: Environment) -> int:
    """A crontab line: the command ends at the first unescaped ``%``; the rest is its input, further ``%`` are line ends."""
    parts, escaped = [""], False
    for character in text.split("\n", 1)[0]:
        if character == "%" and not escaped:
            parts.append("")
        elif character == "%":
            parts[-1] = parts[-1][:-1] + "%"
        else:
            parts[-1] += character
        escaped = character == "\\" and not escaped
    given = "\n".join(parts[1:])
    given += "\n" if given and not given.endswith("\n") else ""  # as cron does
    return run(["sh", "-c", parts[0]], environment, given.encode("utf-8", "surrogateescape"))


def xargs(text: str, options: Options, environment: Environment) -> int:
    """``xargs -I{} bash -c '{}'`` with the text on its standard input."""
    return run(["xargs", "-I{}", "bash", "-c", "{}"], environment, text.encode("utf-8", "surrogateescape"))


def line_by_line(text: str, options: Options, environment: Environment) -> int:
    """Each line by a shell of its own; ``stop``: until one fails."""
    status = 0
    for line in text.split("\n"):
        if line.strip():
            status = run(["bash", "-c", line], environment)
            if status and options["stop"]:
                break
    return status


def split_at(text: str, options: Options, environment: Environment) -> int:
    """Each part between the separators by a shell of its own, whatever the status of the one before."""
    status = 0
    for part in text.split(options["separator"]):
        status = run(["bash", "-c", part], environment)
    return status


def pipes_without_shell(text: str, options: Options, environment: Environment) -> int:
    """Cut at every ``|``, split into words, and started as chained programs; there is no shell."""
    previous = None
    parts = text.split("|")
    try:
        for number, part in enumerate(parts, start=1):
            stdin = previous.stdout if previous else subprocess.DEVNULL
            stdout = subprocess.PIPE if number < len(parts) else None
            previous = subprocess.Popen(_encoded(shlex.split(part)), env=dict(environment), stdin=stdin, stdout=stdout)
    except (OSError, ValueError, IndexError) as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    assert previous is not None
    previous.wait()
    return status_of(previous)


def session(text: str, options: Options, environment: Environment) -> int:
    """A shell that reads the text and then a marker with its status; without a marker the caller is told a failure."""
    import threading

    given = session_lines(text, options).encode("utf-8", "surrogateescape")
    process = subprocess.Popen(["bash"], env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    threading.Thread(target=_feed, args=(process.stdin, given), daemon=True).start()
    output = b""
    # Until the marker, or the end: what goes on in the background is not waited for.
    while not _MARKER.search(output) and (piece := os.read(process.stdout.fileno(), 65536)):
        output += piece
        kept = max(0, len(output) - _LONGEST_MARKER)
        sys.stdout.buffer.write(output[:kept])
        output = output[kept:]
    found = _MARKER.search(output)
    sys.stdout.buffer.write(output[: found.start()] if found else output)
    sys.stdout.flush()
    return int(found[1]) if found else MARKER_LOST


def _feed(stream: "IO[bytes]", data: bytes) -> None:
    """Write without waiting for whoever reads; a shell that ends early reads the rest no more."""
    with contextlib.suppress(OSError):
        stream.write(data)
        stream.close()


def open_input(text: str, options: Options, environment: Environment) -> int:
    """Standard input stays connected to an open, silent pipe; the runner's own time limit ends what waits for it."""
    process = subprocess.Popen(["bash", "-c", text], env=dict(environment), stdin=subprocess.PIPE)
    try:
        process.wait(options["timeout_s"])
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return TIMED_OUT
    return status_of(process)


def output_waiting(text: str, options: Options, environment: Environment) -> int:
    """The runner waits for the end of the output, not of the shell, then kills the process group."""
    process = subprocess.Popen(
        ["bash", "-c", text], env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True
    )
    try:
        output, _ = process.communicate(timeout=options["timeout_s"])
        status = status_of(process)
    except subprocess.TimeoutExpired as late:
        output, status = late.output or b"", TIMED_OUT
    _kill_group(process)
    sys.stdout.buffer.write(output)
    sys.stdout.flush()
    return status


def group_killing(text: str, options: Options, environment: Environment) -> int:
    """The whole process group is killed as soon as the shell itself has ended."""
    process = subprocess.Popen(["bash", "-c", text], env=dict(environment), stdin=subprocess.DEVNULL, start_new_session=True)
    process.wait()
    _kill_group(process)
    return status_of(process)


def _kill_group(process: "subprocess.Popen[Any]") -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def strict_output(text: str, options: Options, environment: Environment) -> int:
    """The output is decoded as strict UTF-8: bytes that are none make the caller fail, though the work is done."""
    done = subprocess.run(["bash", "-c", text], env=dict(environment), stdin=subprocess.DEVNULL, capture_output=True)
    try:
        for stream, data in ((sys.stdout, done.stdout), (sys.stderr, done.stderr)):
            stream.write(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        print(f"UnicodeDecodeError: {error}", file=sys.stderr)
        return 1
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def utf16_redirect(text: str, options: Options, environment: Environment) -> int:
    """What stands before the last ``>`` is run, and its output stored as UTF-16 with a byte order mark and CR LF."""
    command, found, target = text.rpartition(">")
    if not found:
        become(["bash", "-c", text], environment)
    done = subprocess.run(["bash", "-c", command], env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    output = done.stdout.decode("utf-8", "replace").replace("\n", "\r\n")
    try:
        with open(target.strip(), "wb") as file:
            file.write(b"\xff\xfe" + output.encode("utf-16-le"))
    except (OSError, ValueError) as error:
        return _cannot(target.strip(), error)
    return done.returncode if done.returncode >= 0 else 128 - done.returncode


def program(text: str, options: Options, environment: Environment) -> int:
    """No shell at all: the words as a program and its arguments."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        print(f"ValueError: {error}", file=sys.stderr)
        return 1
    return run(words, environment) if words else 0


def typed(text: str, options: Options, environment: Environment) -> int:
    """Typed into an interactive bash on a pseudo-terminal."""
    from .typed import typed as on_a_terminal

    return on_a_terminal(text, options, environment)


def typed_into_tmux(text: str, options: Options, environment: Environment) -> int:
    """Sent as keys to a real tmux."""
    from .typed import typed_into_tmux as into_tmux

    return into_tmux(text, options, environment)


RUNNERS: Mapping[str, Runner] = MappingProxyType(
    {
        "shell": shell,
        "script-file": script_file,
        "standard-input": standard_input,
        "syntax-gate": syntax_gate,
        "base64-hop": base64_hop,
        "read-line": read_line,
        "make-recipe": make_recipe,
        "crontab": crontab,
        "xargs": xargs,
        "line-by-line": line_by_line,
        "split-at": split_at,
        "pipes-without-shell": pipes_without_shell,
        "program": program,
        "session": session,
        "open-input": open_input,
        "output-waiting": output_waiting,
        "group-killing": group_killing,
        "strict-output": strict_output,
        "utf16-redirect": utf16_redirect,
        "typed": typed,
        "tmux": typed_into_tmux,
    }
)
"""Name of a layer -> how it executes a text."""
