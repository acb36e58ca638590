"""Ends what Ray leaves behind when its driver is killed. Standard library only: it is run by its path.

Ray's own processes die with their driver, except for two agents that first spend a minute telling a dead server about it. This
program is told their process ids on its standard input; when that ends, nobody is left to tell it anything, and what still runs
is ended. A driver that ends in order ends this program first.
"""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

GRACE_S = 2.0


def start() -> "subprocess.Popen[bytes] | None":
    """The guard of this process and all that it has started by now; None where there is no /proc."""
    if not Path("/proc/self/stat").exists():
        return None
    argv = [sys.executable, "-I", "-S", __file__]
    guard = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True)
    lines = [f"{pid} {began}\n" for pid, began in descendants(os.getpid()).items() if pid != guard.pid]
    if guard.stdin is not None:
        guard.stdin.write("".join(lines).encode())
        guard.stdin.flush()
    return guard


def end(guard: "subprocess.Popen[bytes]") -> None:
    """The driver ends in order: nothing is left to do."""
    guard.kill()
    guard.communicate()


def descendants(root: int) -> dict[int, str]:
    """Process id -> when it began, in the kernel's ticks: together they name a process for good."""
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found: dict[int, str] = {}
    waiting = [root]
    while waiting:
        parent = str(waiting.pop())
        children = {pid: stat[19] for pid, stat in parents.items() if stat and stat[1] == parent}
        found |= children
        waiting += children
    return found


def _stat(pid: int) -> list[str] | None:
    """Fields of ``/proc/PID/stat`` from the third on; None when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None


def main() -> None:
    """Wait for the end of the driver, then for its processes, then end those that stayed."""
    known = dict(line.split() for line in sys.stdin)
    time.sleep(GRACE_S)
    for pid, began in known.items():
        stat = _stat(int(pid))
        if stat is not None and stat[19] == began:
            os.kill(int(pid), signal.SIGKILL)


if __name__ == "__main__":
    main()
