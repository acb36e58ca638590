"""What arrives at the innermost program, in place of running it.

That program is a recorder, which keeps its arguments, its script or its standard input and does nothing else. Where a layer puts
the text into a shell's command line (``in the shell``), the innermost program has the recorder's name there, and the outer shell,
which still interprets the text, is real. Otherwise (``at the runner``) recorders stand in front of the shells on PATH.
"""

import os
import shlex
import sys
import tempfile
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .runners import RUNNERS

RECORDER = "crosspath-arrived"
SHELLS = ("bash", "sh", "dash")
_PROGRAM = """#!/bin/bash -p
# Keeps what a shell would have been given to run. Builtins only: PATH leads back to recorders.
exec 9>> "$ARRIVED"
while [ $# -gt 0 ]; do
    case $1 in
        -o|-O) shift 2 ;;
        -c) printf '%s\\0' "${2-}" >&9; exit 0 ;;
        -*|+*) shift ;;
        *) { IFS= read -r -d '' text < "$1"; printf '%s\\0' "$text" >&9; } 2>/dev/null; exit 0 ;;
    esac
done
IFS= read -r -d '' text
printf '%s\\0' "$text" >&9
"""


def arrivals(text: str, run: Mapping[str, Any], where: str, environment: Mapping[str, str]) -> "list[str]":
    """What the innermost program was given, one text per time that it was started."""
    recorders = Path(tempfile.mkdtemp())
    kept = recorders / "arrived"
    for name in (RECORDER, *(SHELLS if where == "at the runner" else ())):
        (recorders / name).write_text(_PROGRAM)
        (recorders / name).chmod(0o755)
    shadowed = {**environment, "PATH": f"{recorders}:{environment['PATH']}", "ARRIVED": str(kept)}
    _in_a_child(text, run, shadowed)
    data = kept.read_bytes() if kept.exists() else b""
    return [one.decode("utf-8", "surrogateescape") for one in data.split(b"\0")[:-1]]


def _in_a_child(text: str, run: Mapping[str, Any], environment: Mapping[str, str]) -> None:
    """Runners may become the program that they start, so one of them has a process of its own."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            if run["do"] in ("pipes-without-shell", "program"):
                status = _words(text, environment)
            else:
                os.environ["PATH"] = environment["PATH"]  # execvp of a runner looks here
                status = RUNNERS[run["do"]](text, run, environment)
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:  # noqa: BLE001 - a child must never go on as its parent
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            os._exit(status)
    os.waitpid(child, 0)


def _words(text: str, environment: Mapping[str, str]) -> int:
    """Without a shell, what arrives are words: kept as a shell would have to write them."""
    words = shlex.split(text)
    shell = next((number for number, word in enumerate(words[:1]) if word in SHELLS), None)
    arrived = words[2] if shell is not None and len(words) > 2 and words[1] == "-c" else shlex.join(words)
    Path(environment["ARRIVED"]).write_bytes(arrived.encode("utf-8", "surrogateescape") + b"\0")
    return 0
