"""Sandboxed replays per second beside bare starts of the same ``bwrap``, in the same run, one process per core.

    python benchmarks/sandbox_throughput.py [--seconds 5] [--processes N]

Both sides alternate in short slices, so that a machine whose speed varies treats them alike. Three kinds of bare start are
timed: ``bwrap`` with everything unshared and the whole system bound (what a shell script would do), the same with our mounts,
and, for scale, ``bash -c true`` without any sandbox.
"""

import argparse
import json
import multiprocessing
import os
import subprocess
import time
from collections.abc import Callable
from multiprocessing.synchronize import Barrier

from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.types import Command, Execution, FileEntry, Observer, ReplayJob, ReplayKey, Task, TrialKey

BARE = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev"]
MOUNTS = [*BARE, "--tmpfs", "/tmp", "--tmpfs", "/run", "--dir", "/run/work", "--dir", "/run/home", "--remount-ro", "/"]
TRUE = ["bash", "-c", "true"]
FIXTURE = tuple(FileEntry(path=b"d/f%d" % number, content=b"x" * 200) for number in range(4))
KEY = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")


def job(setup: bool, observers: int) -> ReplayJob:
    watch = tuple(Observer(name=str(number), command="true") for number in range(observers))
    task = Task(id="t", family="f", fixture=FIXTURE, setup="true" if setup else None, observers=watch)
    return ReplayJob(key=KEY, task=task, commands=(Command(argv=(b"bash", b"-c", b"printf done > result")),))


def replays(sandbox: BubblewrapSandbox, setup: bool, observers: int) -> Callable[[], None]:
    one = job(setup, observers)

    def run() -> None:
        (result,) = sandbox.run([one])
        assert isinstance(result, Execution), result
        assert result.results[0].exit_code == 0

    return run


def bare(argv: list[str]) -> Callable[[], None]:
    return lambda: subprocess.run(argv, check=True, stdin=subprocess.DEVNULL) and None


def measure(seconds: float, barrier: Barrier, queue: "multiprocessing.Queue[dict[str, float]]") -> None:
    sandbox = BubblewrapSandbox()
    sandbox.describe()
    kinds = {
        "bash, no sandbox": bare(TRUE),
        "bare start": bare([*BARE, *TRUE]),
        "bare start, more mounts": bare([*MOUNTS, *TRUE]),
        "replay, 1 start": replays(sandbox, False, 0),
        "replay, 2 starts (setup)": replays(sandbox, True, 0),
        "replay, 3 starts (setup, observer)": replays(sandbox, True, 1),
    }
    done, spent = dict.fromkeys(kinds, 0), dict.fromkeys(kinds, 0.0)
    slice_s = 0.25
    while min(spent.values()) < seconds:
        for kind, run in kinds.items():
            barrier.wait()
            started = time.perf_counter()
            while time.perf_counter() - started < slice_s:
                run()
                done[kind] += 1
            spent[kind] += time.perf_counter() - started
    sandbox.close()
    queue.put({kind: done[kind] / spent[kind] for kind in kinds})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0, help="of each kind, per process")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    context = multiprocessing.get_context("spawn")
    barrier, queue = context.Barrier(options.processes), context.Queue()
    workers = [context.Process(target=measure, args=(options.seconds, barrier, queue)) for _ in range(options.processes)]
    for worker in workers:
        worker.start()
    rates = [queue.get() for _ in workers]
    for worker in workers:
        worker.join()
    total = {kind: sum(rate[kind] for rate in rates) for kind in rates[0]}
    if options.json:
        print(json.dumps(total))
        return
    print(f"{options.processes} processes, {options.seconds:g} s each")
    for kind, rate in total.items():
        starts = int(kind.split()[1]) if kind.startswith("replay") else 1
        share = rate * starts / total["bare start"]
        print(f"  {kind:36} {rate:7.0f} per second   {share:5.2f} sandbox starts per bare start")


if __name__ == "__main__":
    main()
