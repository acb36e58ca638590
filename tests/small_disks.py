"""A file system of its own that is soon full."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(place: Path, size: str) -> Iterator[Path]:
    """A tmpfs of ``size`` (as mount takes it) on ``place`` while the block runs.

    Skips the test where this user may not mount: the tests must also pass for an ordinary user, who can't be given a full disk.
    """
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting a small file system needs privileges that this user lacks")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)
