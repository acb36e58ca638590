"""What arrives at the innermost program, in place of running it.

That program is a recorder, which keeps its arguments, its script or its standard input and does nothing else. Where a layer puts
the text into a shell's command line (``in the shell``), the innermost program has the recorder's name there, and the outer shell,
which still interprets the text, is real. Otherwise (``at the runner``) recorders stand in front of the shells on PATH.
"""

import os
import shlex
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from .edits import RECORDER
from .runners import RUNNERS

SHELLS = ("bash", "sh", "dash")
PROGRAM = """#!/bin/bash -p
# Keeps what a shell would have been given to run. Builtins only: PATH leads back to recorders.
depth=0  # so many shells are real before one is recorded
[ -n "$ARRIVED" ] || ARRIVED='{work}/../out/arrived'
exec 9>> "$ARRIVED"
script() {  # a shell leaves out the NULs of a script, too
    text=
    while IFS= read -r -d '' part; do text+=$part; done
    printf '%s\\0' "$text$part" >&9
}
command= joined=
while [ $# -gt 0 ]; do
    case $1 in
        -|--) shift; break ;;
        --rcfile|--init-file) shift ;;
        --joined) joined=1 ;;  # as eval takes its words
        --*) ;;
        [-+]?*)
            case $1 in -*c*) command=1 ;; esac
            case $1 in *[oO]) shift ;; esac ;;
        *) break ;;
    esac
    shift
done
if [ -n "$command" ] && [ "${CROSSPATH_DEPTH:-0}" -lt $depth ]; then
    CROSSPATH_DEPTH=$((CROSSPATH_DEPTH + 1)) exec "/bin/${0##*/}" -c "$@"
elif [ -n "$command" ]; then
    [ -z "$joined" ] || set -- "$*"
    printf '%s\\0' "${1-}" >&9
elif [ $# -gt 0 ]; then
    script < "$1"
else
    script
fi
exit 0
"""
"""Of a recorder. Where ``ARRIVED`` is not set, a sandbox has filled in ``{work}``."""
LONGEST_S = 4.0
"""An outer shell that has not ended by then is ended: what arrived so far is known."""
BEHIND_S = 1.0
"""How long what an outer shell put into the background may take to reach the innermost program."""


def recorder(depth: int = 0) -> str:
    """The program that stands for a shell; ``depth``: so many shells, one inside of the other, are real before it."""
    return PROGRAM.replace("depth=0", f"depth={depth}")


def arrivals(text: str, run: Mapping[str, Any], where: str, environment: Mapping[str, str]) -> "tuple[list[str], bool]":
    """What the innermost program was given, one text per time that it was started; whether all came to an end by itself."""
    recorders = Path(tempfile.mkdtemp())
    kept = recorders / "arrived"
    for name in (RECORDER, *(SHELLS if where == "at the runner" else ())):
        (recorders / name).write_text(recorder())
        (recorders / name).chmod(0o755)
    shadowed = {**environment, "PATH": f"{recorders}:{environment['PATH']}", "ARRIVED": str(kept)}
    ended = _in_a_child(text, run, shadowed)
    data = kept.read_bytes() if kept.exists() else b""
    return [one.decode("utf-8", "surrogateescape") for one in data.split(b"\0")[:-1]], ended


def _in_a_child(text: str, run: Mapping[str, Any], environment: Mapping[str, str]) -> bool:
    """Runners may become the program that they start, so one of them has a process of its own. Whether it ended in time."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.setsid()
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
    return _ended(child, LONGEST_S + run.get("timeout_s", 0.0))


def _ended(child: int, within_s: float) -> bool:
    """Wait for a child, and a little for its group; what takes longer is killed. Whether the child ended by itself."""
    ended = _wait(lambda: os.waitpid(child, os.WNOHANG) != (0, 0), within_s)
    if not ended or not _wait(lambda: not _kill_group(child, 0), BEHIND_S):
        _kill_group(child, signal.SIGKILL)
    if not ended:
        os.waitpid(child, 0)
    return ended


def _wait(done: Callable[[], bool], within_s: float) -> bool:
    end, pause_s = time.monotonic() + within_s, 0.001
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.05)
    return True


def _kill_group(leader: int, number: int) -> bool:
    """Whether there was a group to be sent the signal."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return False
    return True


def _words(text: str, environment: Mapping[str, str]) -> int:
    """Without a shell, what arrives are words: kept as a shell would have to write them."""
    words = shlex.split(text)
    shell = next((number for number, word in enumerate(words[:1]) if word in SHELLS), None)
    arrived = words[2] if shell is not None and len(words) > 2 and words[1] == "-c" else shlex.join(words)
    Path(environment["ARRIVED"]).write_bytes(arrived.encode("utf-8", "surrogateescape") + b"\0")
    return 0
