"""The two tables of an evaluation: ``final_state`` (one row per replay and path) and ``executions`` (one row per replay).

Expected stands beside actual, column by column, as plain text that is never null. Where a comparison makes no sense (the
content of a symlink) both sides hold ``-``. A replay's rows are the union of expected and found paths without the ignored
ones, its observers as ``observer:NAME``, and one row ``.`` for the listing itself: whether it is complete. So each replay has
at least one row, and ``rows_planned`` says how many.

Rules of the comparison:

* files and symlinks: exactly the expected ones; anything else is surplus: ``left over`` where the fixture's own file or
  symlink stands there unchanged although it should be gone, otherwise ``new``;
* directories count only where the task lists them (``directories``); then every listed one must exist and no other *empty*
  one may; parents of what is expected are implied;
* mode: exact permission bits where given, otherwise only "no executable bit".
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosspath.escaping import escape
from crosspath.scoring.contents import content_key, entry_key
from crosspath.scoring.reported import reported_exit
from crosspath.types import FileEntry, Observation, Replay, ReplayKey, StateEntry, Task

Row = Mapping[str, object]

NOT_COMPARED = "-"
ANY_EXIT = "any"
_SAME: Mapping[str, object] = {
    f"{side}_{fact}": NOT_COMPARED for fact in ("kind", "content", "mode", "target") for side in ("expected", "actual")
} | {"expected_presence": "present", "actual_presence": "present", "surplus": "no"}


@dataclass(frozen=True)
class Tables:
    """The tables, and whose rows they are. Each row carries ``row`` (its number) and ``replay`` (index in ``replays``)."""

    replays: tuple[ReplayKey, ...]
    final_state: tuple[Row, ...]
    executions: tuple[Row, ...]


def scorable(replay: Replay) -> bool:
    """Whether a replay can be scored: it is no fault, its setup went well, and it was executed or its delivery says why not."""
    if replay.fault is not None:
        return False
    if replay.execution is None:
        return replay.delivery.problem is not None
    return replay.execution.setup_failed is None


def build_tables(tasks: Mapping[str, Task], replays: Sequence[Replay]) -> Tables:
    """The tables of all replays that have an execution, in the order given; the others have no rows.

    Raises:
        KeyError: a replay's task is not in ``tasks``.
    """
    judged = [replay for replay in replays if replay.execution is not None]
    wanted = {name: _Wanted(tasks[name]) for name in {replay.key.trial.task for replay in judged}}
    final_state: list[Row] = []
    executions: list[Row] = []
    for number, replay in enumerate(judged):
        rows = list(_state_rows(wanted[replay.key.trial.task], replay))
        final_state += [{**row, "row": len(final_state) + at, "replay": number} for at, row in enumerate(rows)]
        executions.append(_execution_row(replay, tasks[replay.key.trial.task], number, len(rows)))
    return Tables(tuple(replay.key for replay in judged), tuple(final_state), tuple(executions))


def path_subject(path: bytes) -> str:
    """A path as the tables name it; ``./`` in front where it could be taken for something else."""
    text = escape(path)
    return "./" + text if text in {"exit", "commands"} or text.startswith("observer:") else text


class _Wanted:
    """What a task wants, prepared once for all its replays."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.ignored = task.ignores

    @cached_property
    def expected(self) -> Mapping[bytes, FileEntry]:
        listed = [FileEntry(path=path, kind="directory") for path in self.task.directories or ()]
        entries = (*listed, *self.task.expected)
        return {_normal(entry.path): entry for entry in entries if not self.ignored(_normal(entry.path))}

    @cached_property
    def keys(self) -> Mapping[bytes, str]:
        return {path: content_key(entry.content, entry.compare) for path, entry in self.expected.items() if entry.kind == "file"}

    @cached_property
    def implied(self) -> frozenset[bytes]:
        return frozenset(parent for path in self.expected for parent in _parents(path))

    @cached_property
    def fixture(self) -> Mapping[bytes, FileEntry]:
        return {_normal(entry.path): entry for entry in self.task.fixture}


def _normal(path: bytes) -> bytes:
    return b"/".join(part for part in path.split(b"/") if part not in (b"", b"."))


def _parents(path: bytes) -> Iterator[bytes]:
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def _state_rows(wanted: _Wanted, replay: Replay) -> Iterator[Row]:
    assert replay.execution is not None
    state = replay.execution.state
    listing = "more entries than listed" if state.truncated else "complete"
    yield {**_SAME, "subject": ".", "expected_presence": "complete", "actual_presence": listing}
    found = {entry.path: entry for entry in state.entries if not wanted.ignored(entry.path)}
    for path, entry in wanted.expected.items():
        yield _expected_row(entry, wanted.keys.get(path, NOT_COMPARED), path, found.get(path))
    not_empty = {parent for entry in state.entries for parent in _parents(entry.path)}
    for path, entry in found.items():
        if path not in wanted.expected and _counts(entry, wanted, not_empty):
            yield _surplus_row(entry, wanted.fixture.get(path))
    observations = {observation.name: observation for observation in state.observations}
    for observer in wanted.task.observers:
        if observer.expected is not None:
            yield _observer_row(observer.name, observer.expected, observations.get(observer.name))


def _counts(entry: StateEntry, wanted: _Wanted, not_empty: set[bytes]) -> bool:
    if entry.kind != "directory":
        return True
    return wanted.task.directories is not None and entry.path not in not_empty and entry.path not in wanted.implied


def _expected_row(expected: FileEntry, key: str, path: bytes, actual: StateEntry | None) -> Row:
    row = {**_SAME, "subject": path_subject(path)}
    if actual is None:
        return row | {"actual_presence": "absent"}
    row |= {"expected_kind": expected.kind, "actual_kind": actual.kind}
    if expected.kind != actual.kind:
        return row
    if expected.kind == "symlink":
        return row | {"expected_target": escape(expected.target), "actual_target": escape(actual.target)}
    row |= _modes(expected, actual)
    if expected.kind == "file":
        row |= {"expected_content": key, "actual_content": entry_key(actual, expected.content, expected.compare)}
    return row


def _modes(expected: FileEntry, actual: StateEntry) -> Row:
    if expected.mode is not None:
        return {"expected_mode": f"{expected.mode & 0o7777:04o}", "actual_mode": f"{actual.mode & 0o7777:04o}"}
    if expected.kind == "directory":
        return {}
    executable = actual.mode & 0o111
    return {"expected_mode": "not executable", "actual_mode": "executable" if executable else "not executable"}


def _surplus_row(entry: StateEntry, before: FileEntry | None) -> Row:
    untouched = before is not None and before.kind == entry.kind and before.target == entry.target
    if untouched and before is not None and entry.kind == "file":
        untouched = entry_key(entry, before.content, "bytes") == content_key(before.content)
    surplus = "left over" if untouched else "new"
    return {
        **_SAME,
        "subject": path_subject(entry.path),
        "surplus": surplus,
        "expected_kind": entry.kind,
        "actual_kind": entry.kind,
    }


def _observer_row(name: str, expected: bytes, seen: Observation | None) -> Row:
    row = {**_SAME, "subject": "observer:" + escape(name.encode()), "expected_content": content_key(expected)}
    if seen is None:
        return row | {"actual_content": "not observed"}
    if seen.truncated or seen.exit_code is None:
        return row | {"actual_content": "not observed to its end"}
    return row | {"actual_content": content_key(seen.output)}


def _execution_row(replay: Replay, task: Task, number: int, rows: int) -> Row:
    assert replay.execution is not None
    exit_code = reported_exit(replay.execution)
    return {
        "row": number,
        "replay": number,
        "expected_exit": ANY_EXIT if task.expected_exit is None else str(task.expected_exit),
        "actual_exit": ANY_EXIT if task.expected_exit is None else "none" if exit_code is None else str(exit_code),
        "commands_planned": len(replay.delivery.actions),
        "commands_run": len(replay.execution.results),
        "rows_planned": rows,
    }
