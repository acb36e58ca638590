"""What ships with Crosspath and what users name beside it: tasks, suites, contracts, styles, specs. The reading of files."""

import os
import stat
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import BinaryIO, Literal

from crosspath.errors import ConfigError
from crosspath.styles import parse_style
from crosspath.tasks import (
    RecordedReply,
    expand_heldout,
    has_heldout,
    parse_recorded,
    parse_tasks,
    parse_yaml_tasks,
    require_unique,
)
from crosspath.tasks.places import known_names
from crosspath.types import Contract, RequestStyle, Task, Text, digest

Kind = Literal["tasks", "validators", "deploy"]
_PACKAGE = Path(__file__).parent
_YAML = (".yaml", ".yml")
MAX_BYTES = 64 * 2**20
"""Longest file of a user that is read."""


def catalogue_dir(kind: Kind) -> Path:
    """The directory with the shipped files of one kind: inside the installed package, or the top of a checkout.

    Raises:
        ConfigError: the installation has lost it.
    """
    for directory in (_PACKAGE / "_catalogue" / kind, _PACKAGE.parent.parent / kind):
        if directory.is_dir():
            return directory
    raise ConfigError(f"this installation has no {kind!r} directory; install Crosspath again", source=str(_PACKAGE))


@cache
def catalogue_tasks() -> tuple[Task, ...]:
    """All tasks that ship, by family and in the order of their variants.

    Raises:
        ConfigError: a family file was changed and is not acceptable any more.
    """
    tasks = tuple(task for path in sorted(catalogue_dir("tasks").glob("*.yaml")) for task in read_tasks(path))
    require_unique(tasks)
    return tasks


def heldout_tasks(seed: str, draws: int = 1, files: Sequence[Path] = ()) -> tuple[Task, ...]:
    """Tasks drawn afresh from ``seed``, of the families in ``files``, or of all that ship; none for files that are no families.

    Raises:
        ConfigError: the seed is too short, or a family is not acceptable. No message holds the seed.
    """
    tasks = tuple(task for path in heldout_families(files) for task in expand_heldout(read_text(path), str(path), seed, draws))
    require_unique(tasks)
    return tasks


def heldout_families(files: Sequence[Path] = ()) -> tuple[Path, ...]:
    """Those of ``files``, or of all that ship, that say how their payloads are drawn afresh.

    Raises:
        ConfigError: a family is not acceptable.
    """
    paths = files or sorted(catalogue_dir("tasks").glob("*.yaml"))
    return tuple(path for path in paths if path.suffix.lower() in _YAML and has_heldout(read_text(path), str(path)))


def read_tasks(path: Path) -> tuple[Task, ...]:
    """The tasks of a user's file: a family or a plain list (``.yaml``, ``.yml``), or JSON lines (anything else).

    Raises:
        ConfigError: not readable, or not acceptable.
    """
    text = read_text(path)
    return parse_yaml_tasks(text, str(path)) if path.suffix.lower() in _YAML else parse_tasks(text, str(path))


def read_recorded(path: Path) -> tuple[RecordedReply, ...]:
    """The recorded replies of a user's file, JSON lines.

    Raises:
        ConfigError: not readable, or not acceptable.
    """
    return parse_recorded(read_text(path), str(path))


def suite_text(name_or_path: str) -> Text:
    """A validator's suites, as text: one that ships (``exact``), or a user's YAML file.

    Raises:
        ConfigError: no such name (naming those that ship) or file.
    """
    shipped = {path.stem: path for path in sorted(catalogue_dir("validators").glob("*.yaml"))}
    content = read_text(_resolve(name_or_path, shipped, "validator", _YAML))
    return Text(name=name_or_path, content=content, digest=digest(content))


def contract(name_or_path: str) -> Contract:
    """A contract that ships (``raw``), or a user's Markdown file.

    Raises:
        ConfigError: no such name (naming those that ship) or file, or not acceptable.
    """
    # Imported here: listing tasks needs no contracts.
    from crosspath.contracts import parse_contract

    path = _resolve(name_or_path, _contracts(), "contract", (".md",))
    return parse_contract(read_text(path), name_or_path if path in _contracts().values() else str(path))


def contract_names() -> tuple[str, ...]:
    """Names of the contracts that ship, sorted."""
    return tuple(_contracts())


def request_style(name_or_path: str) -> RequestStyle:
    """A request style that ships (``plain``), or a user's Markdown file.

    Raises:
        ConfigError: no such name (naming those that ship) or file, or not acceptable.
    """
    path = _resolve(name_or_path, _styles(), "request style", (".md",))
    return parse_style(read_text(path), name_or_path if path in _styles().values() else str(path))


def request_style_names() -> tuple[str, ...]:
    """Names of the request styles that ship: ``plain``, then the others sorted."""
    return tuple(sorted(_styles(), key=lambda name: (name != "plain", name)))


def read_text(path: Path) -> str:
    """A user's text file, line ends as they are. Every file that a user names is opened here.

    Raises:
        ConfigError: it does not exist, can't be read, is no regular file, is longer than ``MAX_BYTES``, or is not UTF-8.
    """
    try:
        return _content(path).decode("utf-8")
    except FileNotFoundError:
        raise ConfigError("no such file", source=str(path)) from None
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", source=str(path)) from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"is not UTF-8 text: byte {error.start + 1} can't be decoded", source=str(path)) from None


@contextmanager
def opened(path: Path) -> Generator[BinaryIO]:
    """A user's file of any length, to be read piece by piece.

    Raises:
        ConfigError: it does not exist, can't be read, or is no regular file.
    """
    try:
        with _regular(path) as file:
            yield file
    except FileNotFoundError:
        raise ConfigError("no such file", source=str(path)) from None
    except OSError as error:
        raise ConfigError(f"can't be read: {error.strerror}", source=str(path)) from None


@contextmanager
def _regular(path: Path) -> Generator[BinaryIO]:
    if "\0" in str(path):
        raise ConfigError("no file has a NUL in its name", source=str(path))
    with open(path, "rb", opener=_at_once) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise ConfigError("is not a regular file", source=str(path))
        yield file


def _content(path: Path) -> bytes:
    with _regular(path) as file:
        content = file.read(MAX_BYTES + 1)
    if content is None:  # what has nothing to say at once  # pyright: ignore[reportUnnecessaryComparison]
        raise ConfigError("can't be read: nothing came", source=str(path))
    if len(content) > MAX_BYTES:
        raise ConfigError(f"is longer than {MAX_BYTES // 2**20} MiB", source=str(path))
    return content


def _at_once(name: str, flags: int) -> int:
    """Opens without waiting: a pipe that nobody writes to would be waited for without end."""
    return os.open(name, flags | os.O_NONBLOCK)


def _contracts() -> dict[str, Path]:
    return _texts_of("crosspath.contracts")


def _styles() -> dict[str, Path]:
    return _texts_of("crosspath.styles")


def _texts_of(package: str) -> dict[str, Path]:
    texts = Path(str(files(package))) / "texts"
    return {path.stem: path for path in sorted(texts.glob("*.md"))}


def _resolve(name_or_path: str, shipped: dict[str, Path], what: str, suffixes: tuple[str, ...]) -> Path:
    """A path is what holds a ``/`` or ends like such a file; everything else is a name."""
    if "/" in name_or_path or name_or_path.endswith(suffixes):
        return Path(name_or_path)
    if name_or_path not in shipped:
        raise ConfigError(
            f"no such {what}: {name_or_path!r}; {known_names(shipped, name_or_path)}, or a path of a file", field=what
        )
    return shipped[name_or_path]
