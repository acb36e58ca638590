"""The files of a verdict's directory, which may come from anywhere: no reading without end, no link out of it, no text that is
nested until the reader breaks. Whatever is wrong with one is a sentence that names it.
"""

import json
import stat
from pathlib import Path
from typing import Any, NoReturn, cast

from crosspath.errors import BoundaryError

MAX_BYTES = 256 * 1024**2
"""Of one file; evidence about ten thousand tasks has a few million."""


class UnreadableError(BoundaryError):
    """There is no verdict, or it or something that it was drawn from can't be read."""


def kind_of_place(place: str | Path) -> str:
    """``directory``, ``file``, or nothing where there is neither.

    Raises:
        UnreadableError: there can't be anything of that name, or nobody may look.
    """
    try:
        mode = Path(place).stat().st_mode
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as error:
        shown = str(place) if len(str(place)) <= 100 else f"{str(place)[:97]}..."
        raise UnreadableError(f"{shown} can't be read: {_why(error)}") from None
    return "directory" if stat.S_ISDIR(mode) else "file"


def file_bytes(file: Path) -> bytes:
    """The whole file.

    Raises:
        FileNotFoundError: there is none.
        UnreadableError: it is a link or no regular file, is too long, or can't be read.
    """
    try:
        about = file.lstat()
        if not stat.S_ISREG(about.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(about.st_mode) else "no regular file"
            raise UnreadableError(f"{file} is {kind}; a verdict has files and directories only")
        if about.st_size > MAX_BYTES:
            raise UnreadableError(f"{file} has {about.st_size} bytes; {MAX_BYTES} are read at most")
        return file.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise UnreadableError(f"{file} can't be read: {_why(error)}") from None


def json_mapping(file: Path) -> dict[str, Any]:
    """A file that holds one mapping, in strict JSON.

    Raises:
        UnreadableError: it does not, or can't be read.
    """
    try:
        value = json.loads(file_bytes(file), parse_constant=_refuse_constant)
    except FileNotFoundError as error:
        raise UnreadableError(f"{file} can't be read: {_why(error)}") from None
    except RecursionError:
        raise UnreadableError(f"{file} can't be read: it is nested too deep") from None
    except ValueError as error:
        raise UnreadableError(f"{file} is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise UnreadableError(f"{file} is no mapping")
    return cast("dict[str, Any]", value)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not strict JSON: {name}")


def _why(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)
