"""Commands of a path carried out by this machine's own programs, without a sandbox: only for texts that a test made."""

import os
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import jinja2
import markupsafe

import crosspath.inside
from crosspath.types import Command

Outcome = tuple[int, bytes, Mapping[str, bytes]]
"""Last exit code, all output, regular files."""
PACKAGES = [Path(crosspath.inside.__file__).parent, Path(jinja2.__file__).parent, Path(markupsafe.__file__).parent]


def execute(*commands: Command) -> Outcome:
    """Run the commands one after the other in a fresh directory: last exit code, all output, regular files."""
    with tempfile.TemporaryDirectory() as scratch:
        work, inside, packages = Path(scratch, "work"), Path(scratch, "in"), Path(scratch, "lib")
        for directory in (work, inside, packages, Path(scratch, "home")):
            directory.mkdir()
        for package in PACKAGES:
            (packages / package.name).symlink_to(package)
        runs = [_run(command, work, inside) for command in commands]
        files = {str(path.relative_to(work)): path.read_bytes() for path in sorted(work.rglob("*")) if path.is_file()}
    return runs[-1].returncode, b"".join(run.stdout for run in runs), files


def _run(command: Command, work: Path, inside: Path) -> "subprocess.CompletedProcess[bytes]":
    for file in command.files:
        (inside / os.fsdecode(file.path)).write_bytes(file.content)
    scratch = work.parent
    env = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "HOME": str(scratch / "home"), "WORK": str(work), "IN": str(inside)}
    env |= {"OUT": str(scratch / "out"), "TMPDIR": str(scratch / "home")}
    argv = [word.replace(b"{packages}", os.fsencode(scratch / "lib")) if command.packages else word for word in command.argv]
    return subprocess.run(argv, input=command.stdin, cwd=work, env=env, capture_output=True, timeout=20, check=False)
