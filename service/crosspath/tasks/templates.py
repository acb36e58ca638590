"""Jinja templates of task families: sandboxed, and strict about names that are not defined."""

import base64
import hashlib
import json
import shlex
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache

from jinja2 import StrictUndefined, Template
from jinja2.exceptions import TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from crosspath.tasks.archives import tar_archive
from crosspath.tasks.places import Place
from crosspath.tasks.programs import argv_record

_CR = "\ufdd0CR\ufdd0"
"""Stands for a carriage return in a template; U+FDD0 is a noncharacter, which no text uses."""
_FOREIGN = (
    TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError, MemoryError, SyntaxError,
)  # fmt: skip
"""What a template can raise by what is written in it."""


def render(value: object, variables: Mapping[str, object], place: Place) -> object:
    """``value`` with every text in it rendered, the keys of objects included.

    Raises:
        ConfigError: a template is not readable, uses an undefined name, or does what the sandbox forbids.
    """
    if isinstance(value, str):
        return _rendered(value, variables, place)
    if isinstance(value, list):
        return [render(item, variables, place.at(number)) for number, item in enumerate(value)]  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, dict):
        return _rendered_object(value, variables, place)  # pyright: ignore[reportUnknownArgumentType]
    return value


def _rendered_object(value: Mapping[str, object], variables: Mapping[str, object], place: Place) -> dict[str, object]:
    result: dict[str, object] = {}
    for key, item in value.items():
        name = _rendered(key, variables, place.at(key))
        if name in result:
            raise place.at(key).refuse(f"becomes {name!r}, which stands here already")
        result[name] = render(item, variables, place.at(key))
    return result


def _rendered(text: str, variables: Mapping[str, object], place: Place) -> str:
    if "{" not in text:
        return text
    try:
        # Jinja would make every line end of a template LF.
        return _compiled(text.replace("\r", _CR)).render(variables).replace(_CR, "\r")
    except _FOREIGN as error:
        first_line = (str(error).splitlines() or [type(error).__name__])[0]
        raise place.refuse(f"the template can't be rendered: {first_line}") from None


@lru_cache(maxsize=1024)
def _compiled(text: str) -> Template:
    """One compilation for all variants and draws of a family: it takes ten times as long as rendering."""
    return _ENVIRONMENT.from_string(text)


def _environment() -> ImmutableSandboxedEnvironment:
    """No loader, so no template reads a file; nothing random; texts are not HTML, and a final newline is content."""
    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)
    ours: dict[str, Callable[..., str]] = {
        "quote": _quote, "base64": _base64, "git_blob": _git_blob, "argv_record": _argv_record,
        "python": _python, "json": _json, "sql": _sql, "csv": _csv, "nfc": _nfc, "nfd": _nfd,
        "tar": _tar, "code_points": _code_points,
    }  # fmt: skip
    # Jinja leaves the types of its tables open.
    environment.filters.update(ours)  # pyright: ignore[reportUnknownMemberType]
    del environment.filters["random"]  # pyright: ignore[reportUnknownMemberType]
    del environment.globals["lipsum"]  # pyright: ignore[reportUnknownMemberType]
    return environment


def _quote(text: str) -> str:
    """One word of a POSIX shell."""
    return shlex.quote(text)


def _python(value: object) -> str:
    """A literal of Python: one line, whatever is in it."""
    return repr(value)


def _json(value: object) -> str:
    """JSON on one line, non-ASCII characters as they are."""
    return json.dumps(value, ensure_ascii=False)


def _sql(text: str) -> str:
    """A text literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def _csv(text: str) -> str:
    """A field of RFC 4180; quoted only where it must be."""
    doubled = text.replace('"', '""')
    return f'"{doubled}"' if any(char in text for char in ',"\r\n') else text


def _nfc(text: str) -> str:
    """Characters and their accents in one, where that exists."""
    return unicodedata.normalize("NFC", text)


def _nfd(text: str) -> str:
    """Characters apart from their accents."""
    return unicodedata.normalize("NFD", text)


def _code_points(text: str) -> str:
    """Every character as ``U+`` and at least four hexadecimal digits: for characters that can't be told apart by eye."""
    return " ".join(f"U+{ord(character):04X}" for character in text)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _git_blob(text: str) -> str:
    """The SHA-1 by which git names a file with this content: of ``blob LENGTH``, NUL and the content."""
    data = text.encode()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def _tar(members: Mapping[str, str]) -> str:
    """Base64 of a tar archive of files: name -> text."""
    return base64.b64encode(tar_archive(members)).decode()


def _argv_record(argv: Sequence[str]) -> str:
    return argv_record(argv)


_ENVIRONMENT = _environment()
