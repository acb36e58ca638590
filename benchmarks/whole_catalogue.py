"""Every task of the catalogue, by every baseline, through every path: how long it takes, and how much memory at most.

    python benchmarks/whole_catalogue.py [ray|local]

One evaluation from the command line, as a user runs it: three baselines x every preset that needs no decoder of its own, told
the path where a contract discloses it, logged to MLflow in an embedded store. Memory is the sum over the program and all of its
descendants (proportional set size, so that shared pages count once), sampled four times a second.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from crosspath.catalogue import catalogue_tasks, contract, contract_names
from crosspath.pipeline.answers import BASELINES
from crosspath.transports import preset_names

_MIB = 1024


def spec() -> dict[str, object]:
    """One candidate per baseline and path."""
    disclosing = {contract(name).discloses: name for name in contract_names() if contract(name).shape == "text"}
    candidates = {
        f"{baseline} {path}": {
            "model": f"baseline/{baseline}",
            "transport": path,
            "contract": disclosing.get(path, "raw"),
        }
        for baseline in BASELINES
        for path in preset_names()
    }
    return {"name": "whole", "candidates": candidates}


def descendants(root: int) -> list[int]:
    """The process and all that it started, as far as they are alive."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        found.append(waiting.pop())
        waiting += children.get(found[-1], [])
    return found


def memory_kib(processes: list[int]) -> int:
    """Proportional set size of all of them together."""
    total = 0
    for process in processes:
        try:
            lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total


def main(executor: str) -> None:
    """Run it and print one line."""
    with tempfile.TemporaryDirectory(prefix="crosspath-whole-") as directory:
        document = Path(directory) / "whole.yaml"
        document.write_text(json.dumps(spec()))
        environment = {**os.environ, "CROSSPATH_STORE": f"{directory}/store"}
        started, peak = time.perf_counter(), 0
        words = [sys.executable, "-m", "crosspath", "run", str(document), "--executor", executor, "--json"]
        with (Path(directory) / "out.json").open("wb") as out:
            process = subprocess.Popen(words, stdout=out, env=environment, cwd=directory)
            while process.poll() is None:
                peak = max(peak, memory_kib(descendants(process.pid)))
                time.sleep(0.25)
        seconds = time.perf_counter() - started
        told = json.loads((Path(directory) / "out.json").read_text())
    trials = sum(cell["planned"] for one in told["decompositions"] for cell in one["cells"])
    what = f"{len(catalogue_tasks())} tasks x {len(BASELINES)} baselines x {len(preset_names())} paths, {trials} rows in cells"
    print(f"{executor}: {what}: {seconds:.0f} s, at most {peak / _MIB:.0f} MiB, exit {process.returncode}")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "ray")
