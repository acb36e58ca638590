"""What this program is made of: package versions and the commit of its own code, for the lock."""

import subprocess
from importlib import metadata
from pathlib import Path

PACKAGES = ("crosspath", "litellm", "ray", "great-expectations", "mlflow", "pydantic", "pandas", "scipy", "jsonschema")


def versions() -> dict[str, str]:
    """Installed version of each package that can change a reply, a replay or a verdict."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    return found


def git_state(directory: Path, name: str = ".") -> tuple[str, bool | None]:
    """Commit of the checkout that holds ``directory``, and whether ``name`` in it is dirty; ``("", None)`` outside of one."""
    try:
        commit = _git(directory, "rev-parse", "HEAD")
        return commit, bool(_git(directory, "status", "--porcelain", "--", name))
    except (OSError, subprocess.SubprocessError):
        return "", None


def _git(directory: Path, *arguments: str) -> str:
    command = ("git", "-C", str(directory), *arguments)
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=20).stdout.strip()
