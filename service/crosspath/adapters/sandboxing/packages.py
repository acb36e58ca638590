"""What a command needs of its worker: packages of ours to read, and programs of the system.

Packages are found where this worker has them and copied to where no command can write. With them goes byte code for the
``python3`` that commands meet: without it each start would compile them anew (jinja2: 0.15 s in place of 0.06 s).
"""

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from crosspath.adapters.sandboxing.environment import SYSTEM_PATH
from crosspath.adapters.sandboxing.failures import JobFailure
from crosspath.errors import SandboxError
from crosspath.types import Command, FileEntry, Package

_COMPILE = ("-I", "-m", "compileall", "-q", "--invalidation-mode", "unchecked-hash")
_COMPILE_TIMEOUT_S = 60.0


def require_programs(commands: Iterable[Command]) -> None:
    """Every program that ``commands`` need is on the path of the system.

    Raises:
        JobFailure: one is not.
    """
    for name in sorted({name for command in commands for name in command.needs}):
        if shutil.which(name, path=SYSTEM_PATH) is None:
            raise JobFailure(
                "missing_program",
                f"the path needs the program {name!r}, and this worker has none in {SYSTEM_PATH}; "
                f"install the system's package that brings it, or take a path that does not need it",
            )


@cache
def package_files(name: Package) -> tuple[FileEntry, ...]:
    """The Python files of a package, below its name, with byte code for the system's Python.

    Raises:
        SandboxError: the package is not installed, or can't be read.
    """
    module = "crosspath.inside" if name == "inside" else name
    found = importlib.util.find_spec(module)
    if found is None or not found.origin:
        raise SandboxError(f"the Python package {module!r} is not installed; install crosspath again")
    with tempfile.TemporaryDirectory(prefix="crosspath-") as copy:
        place = Path(copy, name)
        shutil.copytree(Path(found.origin).parent, place, ignore=_all_but_source)
        _compile(place)
        return tuple(_entries(place))


def _all_but_source(directory: str, names: list[str]) -> set[str]:
    kept = {name for name in names if name.endswith(".py") or Path(directory, name).is_dir()}
    return set(names) - kept | {"__pycache__"}


def _compile(place: Path) -> None:
    """Best effort: where the system has no Python, or an older one, commands may still read the source."""
    python = shutil.which("python3", path=SYSTEM_PATH)
    if python is not None:
        subprocess.run([python, *_COMPILE, str(place)], capture_output=True, check=False, timeout=_COMPILE_TIMEOUT_S)


def _entries(place: Path) -> Iterator[FileEntry]:
    for path in sorted(place.rglob("*")):
        if path.is_file():
            yield FileEntry(path=str(path.relative_to(place.parent)).encode(), content=path.read_bytes(), mode=0o444)
