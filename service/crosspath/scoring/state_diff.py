"""Expected beside actual for one replay: which paths differ, in what, and by which lines."""

import difflib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosspath.escaping import escape
from crosspath.scoring.subjects import path_subject
from crosspath.types import CheckResult, FileEntry, Replay, Score, StateEntry, Task

LINES_OF_CONTEXT = 2
LONGEST_DIFF = 200
"""Lines; what comes after is counted."""
TAB, VISIBLE_TAB = "\t", "\\t"


def state_rows(task: Task, replay: Replay, score: Score | None) -> list[dict[str, Any]]:
    """One row per expected or found path, ``exit`` and each observer: equal or not, and the difference.

    Whether a row is equal is what the validator said; without a score (a fault) nothing is compared.
    """
    if replay.execution is None:
        return []
    failed = _by_subject(score)
    return [*_paths(task, replay, failed), *_observers(task, replay, failed), *_others(failed)]


def _by_subject(score: Score | None) -> dict[str, list[CheckResult]]:
    found: dict[str, list[CheckResult]] = defaultdict(list)
    for check in score.checks if score else ():
        found[escape(check.subject)].append(check)
    return found


def _paths(task: Task, replay: Replay, failed: dict[str, list[CheckResult]]) -> Iterator[dict[str, Any]]:
    assert replay.execution is not None
    found = {entry.path: entry for entry in replay.execution.state.entries if not task.ignores(entry.path)}
    wanted = {entry.path: entry for entry in task.expected}
    wanted |= {path: FileEntry(path=path, kind="directory") for path in task.directories or ()}
    for path in sorted(found.keys() | wanted.keys()):
        want, got = wanted.get(path), found.get(path)
        checks = failed.pop(path_subject(path), [])
        if not checks and want is None:
            continue  # a directory that plays no part
        yield _row(escape(path), want, got, checks)


def _row(name: str, want: FileEntry | None, got: StateEntry | None, checks: Sequence[CheckResult]) -> dict[str, Any]:
    row: dict[str, Any] = {"path": name, "equal": not checks, "expected": _describe(want), "actual": _describe(got)}
    if checks:
        row["differs_in"] = [check.expectation for check in checks]
        row["diff"] = _entry_diff(want, got, checks)
    return row


def _entry_diff(want: FileEntry | None, got: StateEntry | None, checks: Sequence[CheckResult]) -> list[str]:
    contents = want and got and want.kind == got.kind == "file" and got.content is not None
    if want and got and contents and want.content != got.content:
        return content_diff(want.content, got.content or b"")
    if want and got:
        return [f"- {check.expected}" for check in checks] + [f"+ {check.actual}" for check in checks]
    return [*_whole("-", want), *_whole("+", got)]


def _whole(sign: str, entry: FileEntry | StateEntry | None) -> list[str]:
    """One side that has no counterpart."""
    content = entry.content if entry is not None and entry.kind == "file" else None
    if not content:
        return [f"{sign} {'(an empty file)' if content == b'' else _describe(entry)}"]
    return [line.replace("+", sign, 1) for line in content_diff(b"", content) if not line.startswith("@@")]


def _observers(task: Task, replay: Replay, failed: dict[str, list[CheckResult]]) -> Iterator[dict[str, Any]]:
    assert replay.execution is not None
    seen = {observation.name: observation.output for observation in replay.execution.state.observations}
    for observer in task.observers:
        name, output = f"observer:{observer.name}", seen.get(observer.name)
        checks = failed.pop(escape(name.encode()), [])
        want = "(not compared)" if observer.expected is None else escape(observer.expected)
        row: dict[str, Any] = {"path": name, "equal": not checks, "expected": want}
        row["actual"] = "(absent)" if output is None else escape(output)
        if checks and output is not None:
            # An observer that was cut off or killed may have printed the right thing so far.
            told = [line for check in checks for line in (f"- {check.expected}", f"+ {check.actual}")]
            row["diff"] = content_diff(observer.expected or b"", output) or told
        elif checks:
            row["diff"] = [f"- {want}", "+ (absent)"]
        yield row


def _others(failed: Mapping[str, Sequence[CheckResult]]) -> Iterator[dict[str, Any]]:
    """The exit status, the listing itself, the number of commands."""
    for subject, checks in failed.items():
        for check in checks:
            diff = [f"- {check.expected}", f"+ {check.actual}"]
            yield {"path": subject, "equal": False, "expected": check.expected, "actual": check.actual, "diff": diff}


def _describe(entry: FileEntry | StateEntry | None) -> str:
    if entry is None:
        return "(absent)"
    if entry.kind == "symlink":
        return f"-> {escape(entry.target)}"
    if entry.kind != "file":
        return f"({entry.kind})"
    if entry.content is None:
        return f"(a long file, sha256 {getattr(entry, 'sha256', '')})"
    return escape(entry.content)


def content_diff(expected: bytes, actual: bytes) -> list[str]:
    """Lines as in a unified diff, for people; like git it says where a last line has no newline.

    What can't be seen is said or shown: blanks at the end of a changed line, and tabs where white space alone differs.
    """
    lines = list(difflib.unified_diff(_lines(expected), _lines(actual), n=LINES_OF_CONTEXT, lineterm=""))[2:]
    white = b"".join(expected.split()) == b"".join(actual.split())
    shown = [part for line in lines[:LONGEST_DIFF] for part in _shown(line, white)]
    return shown + ([f"... {len(lines) - LONGEST_DIFF} more lines"] if len(lines) > LONGEST_DIFF else [])


def _shown(line: str, white: bool) -> Iterator[str]:
    """One line of a diff, and notes about what can't be seen of it. ``white``: white space alone differs."""
    if line.startswith("@@"):
        yield line
        return
    sign, text = line[0], line[1:].removesuffix("\n")
    yield f"{sign} {text if sign == ' ' or not white else text.replace(TAB, VISIBLE_TAB)}"
    if sign != " " and (blanks := len(text) - len(text.rstrip(" "))):
        yield f"\\ {blanks} blank{'s' if blanks > 1 else ''} at the end"
    if not line.endswith("\n"):
        yield "\\ no newline at the end"


def _lines(content: bytes) -> list[str]:
    """Lines by newline only: a carriage return is content, and is shown."""
    parts = content.split(b"\n")
    lines = [readable(part) + "\n" for part in parts[:-1]] + ([readable(parts[-1])] if parts[-1] else [])
    return [line.replace("\r", "\\r") for line in lines]


def readable(data: bytes) -> str:
    """UTF-8 as it is, because quoting is the subject; anything else in the escaped form of tables."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return escape(data)
