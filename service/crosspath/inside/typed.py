"""Keystrokes: the text typed into an interactive bash, on a pseudo-terminal of our own or in a real tmux.

What a line editor does to a text happens here for real: completion at a tab, history expansion, editing keys, bytes that its
locale does not know. The caller learns no exit status: a terminal tells none.
"""

import os
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from typing import Any

Options = Mapping[str, Any]
Environment = Mapping[str, str]

_READY_S = 10.0
"""How long a prompt may take."""
_PROMPT = b"\x1b]9;crosspath-ready\x07"
"""Part of the first prompt: no reply can have printed it before."""
_WORDS = ("--noprofile", "--norc")
_TERMINAL = {"HISTFILE": "/dev/null", "TERM": "dumb", "PS2": "C:", "BASH_SILENCE_DEPRECATION_WARNING": "1"}


def _session(options: Options, environment: Environment) -> "dict[str, str]":
    variables = {**environment, **_TERMINAL, "PS1": r"\[\e]9;crosspath-ready\a\]R:"}
    if options["locale"]:
        variables["LC_ALL"] = options["locale"]
    return variables


def _recording(options: Options, environment: Environment) -> "tuple[list[str], dict[str, str]]":
    """How bash keeps the lines that its editor gave it, where they are to be recorded: words to start it with, and variables."""
    plain = [] if options["editing"] else ["--noediting"]
    if "ARRIVED" not in environment:
        return ["bash", *_WORDS, *plain, "-i"], {}
    history = {"HISTFILE": environment["ARRIVED"] + ".history", "HISTCONTROL": "", "PROMPT_COMMAND": "history -a"}
    return ["/bin/bash", *_WORDS, *plain, "-i", "-O", "cmdhist", "-O", "lithist"], history


def _keep_history(environment: Environment) -> None:
    """The lines of the history as what arrived."""
    if "ARRIVED" in environment and os.path.exists(environment["ARRIVED"] + ".history"):
        with open(environment["ARRIVED"] + ".history", "rb") as lines, open(environment["ARRIVED"], "wb") as arrived:
            arrived.write(lines.read().removesuffix(b"\n") + b"\0")


def typed(text: str, options: Options, environment: Environment) -> int:
    """The text and Enter typed into ``bash -i``; ``at_once`` bytes in one write. Ended when it is silent for a while.

    Without ``editing`` the terminal itself collects lines: at most 4095 bytes each, and control characters are its own.
    """
    pid, terminal = pty.fork()
    if pid == 0:
        words, history = _recording(options, environment)
        os.execvpe(words[0], words, {**_session(options, environment), **history})
    screen = _Screen(terminal)
    screen.wait_for(_PROMPT, _READY_S)
    data = text.encode("utf-8", "surrogateescape") + b"\n"
    step = options["at_once"] or len(data)
    for start in range(0, len(data), step):
        screen.write(data[start : start + step])
        screen.read_for(options["pause_s"])
    screen.read_until_quiet(options["quiet_s"], options["timeout_s"])
    _end(pid)
    _keep_history(environment)
    sys.stdout.buffer.write(screen.shown.replace(_PROMPT, b""))
    sys.stdout.flush()
    return 0


class _Screen:
    """One end of a terminal: what is typed goes in, what is shown comes out."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.shown = b""
        self._open = True

    def write(self, data: bytes) -> None:
        while data and self._open:
            readable, writable, _ = select.select([self._descriptor], [self._descriptor], [], 1.0)
            try:
                if readable:
                    self._take()
                if writable:
                    data = data[os.write(self._descriptor, data[:256]) :]
            except OSError:
                self._open = False

    def read_for(self, seconds: float) -> bool:
        """Read what comes in this time; whether anything came."""
        end, came = time.monotonic() + seconds, False
        while self._open and (left := end - time.monotonic()) > 0:
            if select.select([self._descriptor], [], [], left)[0]:
                came = self._take() or came
        return came

    def wait_for(self, mark: bytes, seconds: float) -> None:
        end = time.monotonic() + seconds
        while self._open and mark not in self.shown and time.monotonic() < end:
            self.read_for(0.02)

    def read_until_quiet(self, quiet_s: float, timeout_s: float) -> None:
        end = time.monotonic() + timeout_s
        while self._open and time.monotonic() < end and self.read_for(quiet_s):
            pass

    def _take(self) -> bool:
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:
            data = b""
        self._open = bool(data)
        self.shown += data
        return bool(data)


def _end(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    except (ProcessLookupError, ChildProcessError):
        pass


def typed_into_tmux(text: str, options: Options, environment: Environment) -> int:
    """``tmux send-keys -l -- TEXT`` and Enter, into an interactive bash of a real tmux server."""
    home = tempfile.mkdtemp()
    server = ["tmux", "-S", os.path.join(home, "socket"), "-f", "/dev/null"]
    ready = os.path.join(home, "ready")
    shell, history = _recording(options, environment)
    command = f": > {ready}; " + (history.get("PROMPT_COMMAND") or "unset PROMPT_COMMAND")
    variables = {**_session(options, environment), **history, "TERM": "screen", "PS1": "R:", "PROMPT_COMMAND": command}
    words = ["env", "-i", *(f"{name}={value}" for name, value in variables.items()), *shell]
    window = ["new-session", "-d", "-x", "220", "-y", "50", "-c", os.getcwd()]
    started = subprocess.run([*server, *window, *words], env=dict(environment), stdin=subprocess.DEVNULL)
    if started.returncode:
        return started.returncode
    _wait_for_file(ready)
    told = _send_keys(server, text)
    shown = _until_quiet(server, options["quiet_s"], options["timeout_s"])
    subprocess.run([*server, "kill-server"], stderr=subprocess.DEVNULL)
    _keep_history(environment)
    sys.stdout.buffer.write(shown)
    sys.stdout.flush()
    return told


def _send_keys(server: "list[str]", text: str) -> int:
    try:
        keys = text.encode("utf-8", "surrogateescape")
        told = subprocess.run([*map(os.fsencode, server), b"send-keys", b"-t", b"0", b"-l", b"--", keys]).returncode
        subprocess.run([*server, "send-keys", "-t", "0", "Enter"])
    except (OSError, ValueError) as error:
        print(f"tmux: {error}", file=sys.stderr)
        return 126
    return told


def _wait_for_file(path: str) -> None:
    end = time.monotonic() + _READY_S
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.02)


def _until_quiet(server: "list[str]", quiet_s: float, timeout_s: float) -> bytes:
    """What the window shows once it has not changed for ``quiet_s``."""
    end, since, shown = time.monotonic() + timeout_s, time.monotonic(), b""
    while time.monotonic() < end and time.monotonic() - since < quiet_s:
        time.sleep(0.05)
        now = subprocess.run([*server, "capture-pane", "-p", "-t", "0"], capture_output=True).stdout.rstrip(b"\n") + b"\n"
        if now != shown:
            shown, since = now, time.monotonic()
    return shown
