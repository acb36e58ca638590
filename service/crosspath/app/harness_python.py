"""A user's Python, found by looking at files: nothing of it is run or imported on the trusted side.

``python -c`` would run what the environment starts with (``.pth`` files, ``sitecustomize``); a directory listing runs nothing.
"""

import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import metadata
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote, urlparse

from crosspath.errors import ConfigError

_VERSION = re.compile(r"python(3\.[0-9]+)")
_ALWAYS_VISIBLE = (Path("/usr"), Path("/bin"), Path("/lib"), Path("/lib64"))
_LINKS_AT_MOST = 40
_EXTRA = re.compile(r";.*\bextra\s*==")
_PACKAGE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Interpreter:
    """An installed Python, or a virtual environment of one."""

    program: Path
    """What is started: inside the environment, where there is one."""
    version: str
    """``3.12``."""
    prefixes: tuple[Path, ...]
    """Directories that it needs beside the system's: the environment, and the Python that it was made of."""
    sites: tuple[Path, ...]
    """Where its packages lie, in the order of the import path."""

    @cached_property
    def links(self) -> tuple[Path, ...]:
        """Directories outside of it that its ``.pth`` files and editable installs put on the import path."""
        found = [link for site in self.sites for link in (*_pth_lines(site), *_editable_roots(site))]
        return tuple(dict.fromkeys(link for link in found if link.is_dir() and not is_below(link, self.sites)))

    @cached_property
    def installed(self) -> "Mapping[str, metadata.Distribution]":
        """Normalised name -> distribution; the first on the import path wins."""
        found: dict[str, metadata.Distribution] = {}
        for place in (place for site in self.sites for place in sorted(site.glob("*.dist-info"))):
            found.setdefault(normalised(place.name.partition("-")[0]), metadata.PathDistribution(place))
        return found

    @cached_property
    def owners(self) -> Mapping[str, str]:
        """Top-level name that can be imported -> normalised name of the distribution that brought it."""
        found: dict[str, str] = {}
        for name, distribution in self.installed.items():
            record = distribution.read_text("RECORD") or ""
            for top in {re.split(r"[/,.]", line, maxsplit=1)[0] for line in record.splitlines()}:
                found.setdefault(top, name)
        return found

    def required_by(self, names: Iterable[str]) -> tuple[str, ...]:
        """``name==version`` of the installed distributions with these normalised names, and of all that they require."""
        waiting, found = list(names), dict[str, str]()
        while waiting:
            name = waiting.pop()
            distribution = self.installed.get(name)
            if name not in found and distribution is not None:
                found[name] = f"{name}=={distribution.version}{_commit(distribution)}"
                waiting += _requirements(distribution)
        return tuple(sorted(found.values()))


def _requirements(distribution: metadata.Distribution) -> Iterator[str]:
    """Normalised names, those of extras left out: whether an extra was asked for is not written anywhere."""
    for line in distribution.requires or ():
        if (match := _PACKAGE_NAME.match(line)) and not _EXTRA.search(line):
            yield normalised(match[0])


def normalised(name: str) -> str:
    """A distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_below(path: Path, places: Iterable[Path]) -> bool:
    """Whether ``path`` is one of ``places``, or lies in one."""
    return any(path == place or place in path.parents for place in places)


def always_visible(path: Path) -> bool:
    """Whether every sandbox shows it."""
    return is_below(path, _ALWAYS_VISIBLE)


def find_interpreter(given: str, base: Path, field: str) -> Interpreter:
    """The Python that ``given`` names: a file relative to ``base``, or a program on PATH.

    Raises:
        ConfigError: there is none, or it is no installed Python; names ``field``.
    """
    program = _program(given, base)
    if program is None:
        raise ConfigError(
            f"{given!r} is no program; name the Python of your environment, for instance .venv/bin/python", field=field
        )
    if _is_script(program):
        raise ConfigError(f"{given!r} is a script that starts a Python elsewhere; name that one", field=field)
    for hop in _hops(program):
        if (prefix := hop.parent.parent) and (prefix / "pyvenv.cfg").is_file():
            return _environment(hop, prefix)
        if _version(hop, prefix) is not None:
            return _installation(hop, prefix)
    raise ConfigError(f"{given!r} is no installed Python: there is no lib/python3.X beside its directory", field=field)


def _program(given: str, base: Path) -> Path | None:
    if "/" not in given:
        found = shutil.which(given)
        return Path(found) if found else None
    # Not resolved: in a virtual environment the name of the link is what counts.
    place = Path(os.path.abspath(base / Path(given).expanduser()))  # noqa: PTH100
    return place if place.is_file() and os.access(place, os.X_OK) else None


def _is_script(program: Path) -> bool:
    with program.open("rb") as file:
        return file.read(2) == b"#!"


def _hops(program: Path) -> Iterator[Path]:
    """The file, what it links to, and so on; then the same without links in the directories."""
    hop = program
    for _ in range(_LINKS_AT_MOST):
        yield hop
        if not hop.is_symlink():
            break
        hop = Path(os.path.normpath(hop.parent / hop.readlink()))
    yield program.resolve()


def _version(program: Path, prefix: Path) -> str | None:
    """Of an installation in ``prefix``; None where there is none."""
    names = sorted(place.parent.name for place in prefix.glob("lib/python3.*/os.py"))
    named = program.resolve().name
    if not named.startswith("python"):
        return None  # /bin/ls lies beside a Python, too
    found = named if named in names else names[0] if len(names) == 1 else None
    match = _VERSION.fullmatch(found) if found else None
    return match[1] if match else None


def _installation(program: Path, prefix: Path) -> Interpreter:
    version = _version(program, prefix) or ""
    return Interpreter(program, version, _to_bind(prefix), _sites(prefix, version))


def _environment(program: Path, prefix: Path) -> Interpreter:
    """A virtual environment, with the Python that it was made of."""
    lines = (line.partition("=") for line in (prefix / "pyvenv.cfg").read_text(errors="replace").splitlines())
    config = {key.strip().lower(): value.strip() for key, _, value in lines}
    home = Path(config.get("home", "/usr/bin")).parent
    version = _version(program, home) or _version(program, home.resolve()) or next(iter(_versions_of_sites(prefix)), "")
    sites = _sites(prefix, version)
    if config.get("include-system-site-packages", "").lower() == "true":
        sites += _sites(home.resolve(), version)
    return Interpreter(program, version, (*_to_bind(prefix), *_to_bind(home), *_to_bind(program.resolve().parent.parent)), sites)


def _versions_of_sites(prefix: Path) -> list[str]:
    return [match[1] for place in sorted(prefix.glob("lib/python3.*")) if (match := _VERSION.fullmatch(place.name))]


def _to_bind(prefix: Path) -> tuple[Path, ...]:
    """As it is named and as it really is: programs link to either."""
    both = dict.fromkeys((prefix, prefix.resolve()))
    return tuple(
        place for place in both if place != Path("/") and not always_visible(place) and not always_visible(place.resolve())
    )


def _sites(prefix: Path, version: str) -> tuple[Path, ...]:
    """Directories of packages; Debian's has names of its own."""
    places = [f"lib/python{version}/site-packages", f"lib64/python{version}/site-packages"]
    if prefix.resolve() == Path("/usr"):
        places = [f"local/lib/python{version}/dist-packages", "lib/python3/dist-packages", *places]
    found = dict.fromkeys((prefix / place).resolve() for place in places)
    return tuple(place for place in found if place.is_dir())


def _pth_lines(site: Path) -> Iterator[Path]:
    """The directories that ``.pth`` files name; lines that are code are left to the sandbox."""
    for file in sorted(site.glob("*.pth")):
        for line in file.read_text(errors="replace").splitlines():
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield site / line.strip()


def _editable_roots(site: Path) -> Iterator[Path]:
    """Where the projects lie that are installed editable, whatever hook finds them."""
    for file in sorted(site.glob("*.dist-info/direct_url.json")):
        about = _direct_url(file.read_text(errors="replace"))
        if about.get("dir_info", {}).get("editable"):
            root = Path(unquote(urlparse(about.get("url", "")).path))
            yield from (root / "src", root)


def _commit(distribution: metadata.Distribution) -> str:
    """Of a distribution that was installed from a repository."""
    commit = _direct_url(distribution.read_text("direct_url.json") or "{}").get("vcs_info", {}).get("commit_id")
    return f"@{commit}" if commit else ""


def _direct_url(text: str) -> dict[str, Any]:
    """What an installer wrote about where a distribution came from."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return cast(dict[str, Any], found) if isinstance(found, dict) else {}
