"""The programs that a reply meets, as they name themselves inside the sandbox."""

import platform
import sys
from collections.abc import Callable, Sequence

from crosspath.types import Toolchain

PROBE = r"""
for name in bash python3 git node jq; do
  command -v "$name" >/dev/null && printf '%s\t%s\n' "$name" "$("$name" --version 2>&1 | head -n 1)"
done
printf 'sh\t%s\n' "$(readlink -f "$(command -v sh)")"
printf 'coreutils\t%s\n' "$(ls --version 2>&1 | head -n 1)"
printf 'sed\t%s\n' "$(sed --version 2>&1 | head -n 1)"
"""
"""Shell text that prints one line per program: name, tab, first line of its version."""


def toolchain(sandbox: str, enforced: Sequence[str], missing: Sequence[str], run_probe: Callable[[str], bytes]) -> Toolchain:
    """The record, with the programs that ``run_probe(PROBE)`` lists."""
    lines = run_probe(PROBE).decode(errors="replace").splitlines()
    programs = dict(line.split("\t", 1) for line in lines if "\t" in line)
    return Toolchain(
        sandbox=sandbox,
        limits_enforced=tuple(enforced),
        limits_missing=tuple(missing),
        programs=dict(sorted(programs.items())),
        platform=platform.platform(),
        python=sys.version.split()[0],
    )
