"""Calls a user's own function with one reply and leaves its report. A program that the user's own Python runs::

    calling.py MODULE:FUNCTION [DIRECTORY ...]

The directories come first on the import path; the work directory is never on it, for a task's files are not the user's code.
The function gets ``{"text": ..., "tool_calls": [...]}``, and ``work``, a ``pathlib.Path``, where it has a parameter of that name.
What it returns is the report: None, an exit status, or a dict of ``exit``, ``output`` and ``error``. An exception is status 1.

Written for every Python since 3.8, because it is not ours to choose. What few calls need is imported where it is needed: each
reply pays for the rest.
"""

from __future__ import annotations

import sys

sys.path[:] = [place for place in sys.path if place != __file__.rpartition("/")[0]]  # what lies beside us is not the user's

import contextlib  # noqa: E402
import importlib  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import TYPE_CHECKING, Any  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

LONGEST_TEXT = 150_000
"""Characters of ``output`` and ``error`` that are kept: a report of more than 4 MiB is not read."""
GREATEST_STATUS = 2**31
ALLOWED = ("exit", "output", "error")
RIGHT = "return None, an exit status, or a dict of exit, output and error"


class WrongReportError(Exception):
    """What the function returned is no report."""


def main(target: str, *directories: str) -> int:
    """Call, leave the report, and return the exit status that it tells."""
    place = Path(os.environ.pop("RESULT_FILE"))
    reply = json.loads(Path(os.environ.pop("REPLY_FILE")).read_bytes())
    sys.path[:0] = directories
    sys.argv = [target]
    report = reported(target, reply)
    with contextlib.suppress(OSError):  # a full disk: then the exit status alone tells
        leave(report, place)
    return report["exit"] if 0 <= report["exit"] <= 255 else 1


def reported(target: str, reply: dict[str, Any]) -> dict[str, Any]:
    """The report of one call, whatever happens in it."""
    try:
        try:
            return report_of(call(load(target), reply))
        except SystemExit as error:
            return report_of_exit(error)
    except WrongReportError as error:
        return failed(f"{target} {error}")
    except BaseException as error:  # noqa: BLE001 - also KeyboardInterrupt: someone waits for a report
        return failed(said(error))


def load(target: str) -> Callable[..., object]:
    """The function, imported."""
    module, _, names = target.partition(":")
    found: Any = importlib.import_module(module)
    for name in names.split("."):
        found = getattr(found, name)
    return found


def call(function: Callable[..., object], reply: dict[str, Any]) -> object:
    """What the function returns; one that is asynchronous is run to its end."""
    given = {"work": Path(os.environ["WORK"])} if "work" in parameters(function) else {}
    value = function(reply, **given)
    if hasattr(value, "__await__"):
        import asyncio

        return asyncio.run(finished(value))
    return value


async def finished(awaitable: Any) -> object:
    """What comes out of an awaitable of any kind."""
    return await awaitable


def parameters(function: Callable[..., object]) -> set[str]:
    """Names of the parameters; none where Python can't tell."""
    if hasattr(function, "__code__") and not hasattr(function, "__wrapped__"):
        code = function.__code__
        return set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    import inspect

    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return set()


def report_of(value: object) -> dict[str, Any]:
    """The report that a returned value stands for.

    Raises:
        WrongReportError: it stands for none.
    """
    if value is None:
        return {"exit": 0}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"exit": status_of(value)}
    if not isinstance(value, dict):
        raise WrongReportError(f"returned a {type(value).__name__}; {RIGHT}")
    unknown = [key for key in value if key not in ALLOWED]
    if unknown:
        raise WrongReportError(f"returned a dict with {unknown[0]!r:.100}; {RIGHT}")
    texts = {key: text_of(key, value[key]) for key in ("output", "error") if value.get(key) is not None}
    status = value.get("exit")
    if status is None:
        status = 1 if texts.get("error") else 0
    return {"exit": status_of(status), **texts}


def status_of(value: object) -> int:
    """An exit status; numbers that no system uses are the function's to explain."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise WrongReportError(f"returned an exit of type {type(value).__name__}; it must be a whole number")
    if abs(value) > GREATEST_STATUS:
        raise WrongReportError("returned an exit that is no exit status")
    return int(value)


def text_of(key: str, value: object) -> str:
    """A text of a report; bytes as a terminal would show them."""
    if isinstance(value, (bytes, bytearray)):
        value = value.decode("utf-8", "replace")
    if not isinstance(value, str):
        raise WrongReportError(f"returned {key} of type {type(value).__name__}; it must be text or bytes")
    return value[:LONGEST_TEXT]


def report_of_exit(error: SystemExit) -> dict[str, Any]:
    """``sys.exit()`` as Python itself takes it: nothing is 0, a number is the status, a text is 1 and said."""
    if error.code is None or isinstance(error.code, int):
        return {"exit": status_of(int(error.code or 0))}
    return failed(str(error.code))


def failed(text: str) -> dict[str, Any]:
    """A report of failure."""
    return {"exit": 1, "error": text[:LONGEST_TEXT]}


def said(error: BaseException) -> str:
    """The last line of the traceback, which goes to standard error."""
    import traceback

    traceback.print_exception(type(error), error, users_part(error.__traceback__))
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def users_part(trace: TracebackType | None) -> TracebackType | None:
    """A traceback without how we got to the user's code."""
    ours = (__file__, importlib.__file__)
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith((*ours, "<frozen importlib")):
        trace = trace.tb_next
    return trace


def leave(report: dict[str, Any], place: Path) -> None:
    """Write the report, in place of whatever the reply may have left under its name."""
    with contextlib.suppress(OSError):
        place.parent.chmod(0o700)
    if place.is_dir() and not place.is_symlink():
        import shutil

        shutil.rmtree(place, ignore_errors=True)
    with contextlib.suppress(FileNotFoundError):
        place.unlink()
    place.write_text(json.dumps(report), encoding="ascii")


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
