"""Promotes on command, every time in processes of its own: a program that has imported MLflow once, and forks.

Reads one order a line: which versions are promoted to which alias at once, and when the first of them is killed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


class Promoters:
    """The program as a test sees it."""

    def __init__(self, uri: str, directory: Path) -> None:
        self._directory = directory
        self._process = subprocess.Popen(
            [sys.executable, __file__, uri, str(directory)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip

    def promote(self, model: str, alias: str, versions: list[int], *, kill_after_s: float | None = None) -> list[dict[str, Any]]:
        """What became of each attempt: ``state`` is won, refused, failed or killed; and how long all of them took."""
        assert self._process.stdin
        assert self._process.stdout
        order = {"model": model, "alias": alias, "versions": versions, "kill_after_s": kill_after_s}
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())

    def close(self) -> None:
        """No more orders."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.close()
        self._process.wait(timeout=20)
        self._process.stdout.close()


def _main(uri: str, directory: Path) -> None:
    import crosspath.adapters.mlflow_tracker.registry  # noqa: F401 - seconds, once

    for line in sys.stdin:
        order = json.loads(line)
        waiting, start = os.pipe()
        children = [_child(uri, directory, order, version, waiting, start) for version in order["versions"]]
        os.close(waiting)
        os.close(start)  # all of them set out at once
        began = time.monotonic()
        if order["kill_after_s"] is not None:
            time.sleep(order["kill_after_s"])
            os.kill(children[0], signal.SIGKILL)
        killed = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) < 0 for pid in children]
        files = [directory / f"{version}.json" for version in order["versions"]]
        outcomes = [
            {"state": "killed"} if dead else json.loads(file.read_text()) for dead, file in zip(killed, files, strict=True)
        ]
        print(json.dumps([one | {"took_s": time.monotonic() - began} for one in outcomes]), flush=True)


def _child(uri: str, directory: Path, order: dict[str, Any], version: int, waiting: int, start: int) -> int:
    pid = os.fork()
    if pid == 0:
        os.close(start)
        os.read(waiting, 1)
        (directory / f"{version}.json").write_text(json.dumps(_attempt(uri, order, version)))
        os._exit(0)
    return pid


def _attempt(uri: str, order: dict[str, Any], version: int) -> dict[str, Any]:
    from crosspath.adapters.mlflow_tracker.registry import MlflowRegistry
    from crosspath.errors import ConfigError, CrosspathError
    from crosspath.types import ModelVersion
    from verdicts import verdict

    one = ModelVersion(model=order["model"], version=version, evaluation_run="r", evaluation="e", candidate=f"c{version}")
    try:
        done = MlflowRegistry(uri).promote(one, order["alias"], None, verdict(one, number=version), "0" * 32)
    except ConfigError as refusal:
        return {"state": "refused", "said": str(refusal)}
    except CrosspathError as failure:
        return {"state": "failed", "said": str(failure)}
    return {"state": "won", "number": done.number}


if __name__ == "__main__":
    _main(sys.argv[1], Path(sys.argv[2]))
