"""Names that say who made something, so that the next start can take away what a killed worker left behind.

A number of a process is not enough: numbers are given again, to threads as well, and in another process namespace (a
container that shares ``/tmp`` with us) they mean others.
"""

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_NAME = re.compile(r"crosspath-([0-9]+)-([0-9]+)-([0-9]+)-.*")


def own_prefix() -> str:
    """How the names of everything begin that this process makes: process, its start in clock ticks, process namespace."""
    return f"crosspath-{os.getpid()}-{_started(os.getpid())}-{_namespace()}-"


def left_behind(paths: Iterable[Path]) -> Iterator[Path]:
    """Those that were made by a process of our process namespace that is gone."""
    here = _namespace()
    for path in paths:
        found = _NAME.fullmatch(path.name)
        if found and int(found[3]) == here and _started(int(found[1])) != int(found[2]):
            yield path


def _started(pid: int) -> int | None:
    """When a process was started, in clock ticks since the machine was; None where there is none."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return None
    return int(text.rpartition(")")[2].split()[19])


def _namespace() -> int:
    return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116
