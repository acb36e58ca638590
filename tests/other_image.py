"""A machine with other programs, without changing this one: a mount namespace in which files lie over those of the system.

It is what another image is for Crosspath: the whole process sees it, and so do its sandboxes.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

_UNIMPORTANT = ("tsort", "pathchk", "factor", "pinky", "chage", "logname")
"""Programs that no test calls."""
LITERAL_AWK = """\
#!/bin/bash
# An awk that takes the values of -v as they are, as awk did before POSIX; else it is the machine's own.
words=()
while [ $# -gt 0 ]; do
  if [ "$1" = -v ]; then words+=(-v "${2//\\\\/\\\\\\\\}"); shift 2; else words+=("$1"); shift; fi
done
exec -a awk OWN "${words[@]}"
"""


def program(name: str) -> Path:
    """The file of a program as a sandbox finds it."""
    found = shutil.which(name, path="/usr/local/bin:/usr/bin:/bin")
    assert found, f"{name} is not installed"
    return Path(found).resolve()


def with_bash_as_sh() -> dict[Path, Path]:
    """``sh`` is bash; here it is another shell."""
    assert program("sh") != program("bash"), "sh is bash here"
    return {program("sh"): program("bash")}


def with_literal_awk(directory: Path) -> dict[Path, Path]:
    """``awk`` calls itself as before and does otherwise. The machine's own is kept where an unimportant program was."""
    own = next(path for name in _UNIMPORTANT if (path := Path("/usr/bin", name)).is_file() and not path.is_symlink())
    copied = Path(shutil.copy(program("awk"), directory / "awk-own"))
    (directory / "awk").write_text(LITERAL_AWK.replace("OWN", str(own)))
    (directory / "awk").chmod(0o755)
    return {program("awk"): directory / "awk", own: copied}


def run_in(image: Mapping[Path, Path], words: Sequence[str], **further: str) -> subprocess.CompletedProcess[str]:
    """``python WORDS...`` with each file of ``image`` in the place of another one; ``further`` are environment variables."""
    over = [word for place, file in image.items() for word in ("--bind", str(file), str(place))]
    rights = ["--cap-add", "ALL"] if os.geteuid() == 0 else []
    start = ["bwrap", "--dev-bind", "/", "/", *rights, *over, "--", sys.executable, *words]
    return subprocess.run(start, capture_output=True, text=True, env=os.environ | further, timeout=300, check=False)
