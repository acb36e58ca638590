"""One evaluation replayed through every path that ships: replays a second, requests made (none), and memory at most.

    python benchmarks/all_paths.py [ray|local] [family ...]

A server answers each task of the catalogue (or of some families) with its right command, once; it is still there, and counts,
while `crosspath replay latest --all-transports` runs as a user runs it, MLflow and all. Memory is the sum over the program and
its descendants, as in `whole_catalogue.py`. What is repeated because a control differs takes time and is not in the count.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whole_catalogue import descendants, memory_kib

from crosspath.catalogue import catalogue_tasks
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer
from crosspath.types import Task

_MIB = 1024


@dataclass
class Ran:
    """One command: its document, how long it took in all and until judging began, and the memory of all its processes at most."""

    document: dict[str, Any]
    said: str
    seconds: float
    replaying_s: float
    peak_kib: int


def crosspath(directory: Path, *arguments: str) -> Ran:
    """Carry out one command as a user does."""
    environment = {**os.environ, "CROSSPATH_STORE": str(directory / "store")}
    started, judging, peak = time.perf_counter(), 0.0, 0
    with (directory / "out").open("wb") as out, (directory / "err").open("wb") as err:
        words = [sys.executable, "-m", "crosspath", *arguments, "--json"]
        process = subprocess.Popen(words, stdout=out, stderr=err, env=environment, cwd=directory)
        while process.poll() is None:
            peak = max(peak, memory_kib(descendants(process.pid)))
            if not judging and b"judging" in (directory / "err").read_bytes():
                judging = time.perf_counter()
            time.sleep(0.25)
    seconds, said = time.perf_counter() - started, (directory / "err").read_text()
    if not (directory / "out").stat().st_size:
        raise SystemExit(said)
    return Ran(json.loads((directory / "out").read_text()), said, seconds, judging - started, peak)


def right_answer(tasks: list[Task]) -> Any:
    """A script for the server: the oracle of the task whose instruction was sent."""

    def respond(received: Received) -> Turn:
        sent = json.dumps(received.body["messages"], ensure_ascii=False)
        found = (task.oracle for task in tasks if json.dumps(task.instruction, ensure_ascii=False)[1:-1] in sent)
        return answer(next(found, None) or "no")

    return respond


def main(executor: str, families: list[str]) -> None:
    """Generate once, replay everywhere, and print what it took."""
    tasks = [task for task in catalogue_tasks() if not families or task.family in families]
    os.environ["ALL_PATHS_KEY"] = "none"
    with tempfile.TemporaryDirectory(prefix="crosspath-paths-") as place, OpenAIServer(right_answer(tasks)) as server:
        directory = Path(place)
        spec = {
            "name": "all-paths",
            "tasks": {"families": sorted({task.family for task in tasks})},
            "models": {"served": {"model": "openai/served", "api_base": server.url, "api_key_env": "ALL_PATHS_KEY"}},
            "candidates": {"served": {"model": "served"}},
        }
        (directory / "spec.yaml").write_text(json.dumps(spec))
        crosspath(directory, "run", "spec.yaml", "--executor", executor)
        asked = len(server.requests)
        ran = crosspath(directory, "replay", "latest", "--all-transports", "--executor", executor)
        more = len(server.requests) - asked
    paths = ran.document["path_rankings"][0]["paths"]
    replays = int(re.findall(r"(\d+) replays", ran.said)[0])
    print(f"{asked} requests for {len(tasks)} replies; {more} requests for their replays through {len(paths)} paths")
    print(f"{executor}: {replays} replays in {ran.replaying_s:.0f} s, {replays / ran.replaying_s:.0f} a second;", end=" ")
    print(f"judging and MLflow {ran.seconds - ran.replaying_s:.0f} s; at most {ran.peak_kib / _MIB:.0f} MiB;", end=" ")
    print(f"not ranked: {dict(Counter(path['apart'] for path in paths if path['apart']))}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ray", sys.argv[2:])
