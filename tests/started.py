"""The command line in processes of its own, started from a server process that has imported the slow vendors once.

Real processes, so that they can be killed; forked, so that each start takes a fraction of a second instead of ten.
"""

import json
import multiprocessing
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

_FORKSERVER = multiprocessing.get_context("forkserver")
_FORKSERVER.set_forkserver_preload(["started_warm"])


def _start_server() -> None:
    """The server of Python 3.11 takes its module path from the environment only, and a preload that it can't find is skipped."""
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), *([before] if before else [])])
    try:
        forkserver.ensure_running()
    finally:
        os.environ.pop("PYTHONPATH")
        if before is not None:
            os.environ["PYTHONPATH"] = before


class Started:
    """One ``crosspath ...``."""

    def __init__(
        self,
        arguments: Sequence[str],
        directory: Path,
        environment: Mapping[str, str],
        *,
        background: bool = False,
        there: Path | None = None,
        program: str | None = None,
    ) -> None:
        """``background``: as a script's ``crosspath ... &``, which ignores Ctrl-C. ``there``: where it works; default: here.
        ``program``: Python code that is run in place of the command line.
        """
        _start_server()
        directory.mkdir(parents=True, exist_ok=True)
        self._out, self._err = directory / "stdout", directory / "stderr"
        self._err.touch()  # so that it can be read before there is anything
        self._process = _FORKSERVER.Process(
            target=_run,
            args=(list(arguments), dict(environment), background, self._out, self._err, sys.path, there or Path.cwd(), program),
            daemon=False,
        )
        self._process.start()

    @property
    def pid(self) -> int:
        pid = self._process.pid
        assert pid is not None
        return pid

    def wait(self, timeout_s: float = 180) -> int:
        """Exit code; minus the signal's number where one killed it."""
        self._process.join(timeout_s)
        if self._process.exitcode is None:
            os.kill(self.pid, signal.SIGKILL)
            raise TimeoutError(f"still running after {timeout_s} s; it said: {self.stderr}")
        return self._process.exitcode

    @property
    def stderr(self) -> str:
        return self._err.read_text(encoding="utf-8", errors="replace")

    @property
    def stdout(self) -> str:
        return self._out.read_text(encoding="utf-8", errors="replace")

    @property
    def document(self) -> dict[str, Any]:
        """What ``--json`` printed."""
        return json.loads(self.stdout)


def _run(
    arguments: list[str],
    environment: dict[str, str],
    background: bool,
    out: Path,
    err: Path,
    path: list[str],
    there: Path,
    program: str | None,
) -> None:
    os.chdir(there)
    for number, file in ((1, out), (2, err)):
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        os.dup2(descriptor, number)
        os.close(descriptor)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    sys.path[:] = path
    sys.argv = ["crosspath", *arguments]
    os.environ.update(environment)
    os.setpgid(0, 0)
    # The server that forked us ignores it.
    signal.signal(signal.SIGINT, signal.SIG_IGN if background else signal.default_int_handler)
    try:
        _begin(program)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()


def _begin(program: str | None) -> None:
    if program is not None:
        exec(compile(program, "<program>", "exec"), {"__name__": "__main__"})
        return
    from crosspath.cli import main

    main()
