"""The two tables of an evaluation: ``final_state`` (one row per replay and path) and ``executions`` (one row per replay).

Expected stands beside actual, column by column, as plain text that is never null. Where a comparison makes no sense (the
content of a symlink) both sides hold ``-``. A replay's rows are the union of expected and found paths without the ignored
ones, its observers as ``observer:NAME``, and one row ``.`` for the listing itself: whether it is complete. So each replay has
at least one row, and ``rows_planned`` says how many.

Rules of the comparison:

* files and symlinks: exactly the expected ones; anything else is surplus: ``left over`` where the fixture's own file or
  symlink stands there unchanged although it should be gone, ``changed`` where the fixture had something else at this path,
  otherwise ``new``;
* directories count only where the task lists them (``directories``); then every listed one must exist and no other *empty*
  one may; parents of what is expected are implied;
* mode: exact permission bits where given, otherwise only "no executable bit";
* ``content``, ``text`` and ``json`` are the same contents, compared in three ways (``crosspath.scoring.contents``);
* ``leak``: the task's secrets that stand at a path (``crosspath.scoring.leaks``). All paths count, ignored ones and parents, too:
  those that have no row otherwise get one where something leaks.

What only some suites judge (``text``, ``json``, ``leak...``) is in the tables of those suites alone.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosspath.escaping import escape
from crosspath.scoring.contents import WAYS, ContentRule, Way, content_key, content_rule, known_content
from crosspath.scoring.leaks import CLEAN, LeakSearch
from crosspath.scoring.reported import reported_exit
from crosspath.scoring.subjects import LISTING, observer_subject, path_subject
from crosspath.types import FileEntry, Observation, Replay, ReplayKey, StateEntry, Task

Row = Mapping[str, object]

NOT_COMPARED = "-"
ANY_EXIT = "any"
LEAK_COLUMNS = frozenset({"leak", "leaked_arguments", "leaked_output"})
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


def build_tables(tasks: Mapping[str, Task], replays: Sequence[Replay], columns: Collection[str] | None = None) -> Tables:
    """The tables of all replays that have an execution, in the order given; the others have no rows.

    ``columns``: what is judged (``Suite.columns``); None: whatever a suite could judge.

    Raises:
        KeyError: a replay's task is not in ``tasks``.
    """
    judged = [replay for replay in replays if replay.execution is not None]
    wanted = {name: _Wanted(tasks[name], columns) for name in {replay.key.trial.task for replay in judged}}
    final_state: list[Row] = []
    executions: list[Row] = []
    for number, replay in enumerate(judged):
        rows = list(_state_rows(wanted[replay.key.trial.task], replay))
        final_state += [{**row, "row": len(final_state) + at, "replay": number} for at, row in enumerate(rows)]
        executions.append(_execution_row(wanted[replay.key.trial.task], replay, number, len(rows)))
    return Tables(tuple(replay.key for replay in judged), tuple(final_state), tuple(executions))


class _Wanted:
    """What a task wants, prepared once for all its replays."""

    def __init__(self, task: Task, columns: Collection[str] | None) -> None:
        self.task = task
        self.ignored = task.ignores
        self.ways: tuple[Way, ...] = tuple(
            way for way in WAYS if way == "content" or columns is None or {f"expected_{way}", f"actual_{way}"} & set(columns)
        )
        self.judges_leaks = columns is None or not LEAK_COLUMNS.isdisjoint(columns)
        self.leaks = LeakSearch(task) if self.judges_leaks and task.secrets else None

    @cached_property
    def same(self) -> Row:
        """A row without any difference."""
        further = {f"{side}_{way}": NOT_COMPARED for way in self.ways for side in ("expected", "actual")}
        return {**_SAME, **further, **({"leak": CLEAN} if self.judges_leaks else {})}

    @cached_property
    def expected(self) -> Mapping[bytes, FileEntry]:
        listed = [FileEntry(path=path, kind="directory") for path in self.task.directories or ()]
        entries = (*listed, *self.task.expected)
        return {_normal(entry.path): entry for entry in entries if not self.ignored(_normal(entry.path))}

    @cached_property
    def contents(self) -> Mapping[bytes, Mapping[Way, ContentRule]]:
        """Path of an expected file -> how its content is compared."""
        files = {path: entry for path, entry in self.expected.items() if entry.kind == "file"}
        return {path: {way: content_rule(each.content, each.compare, way) for way in self.ways} for path, each in files.items()}

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
    """The compared rows, each with what leaks there, and rows of their own for leaks elsewhere."""
    assert replay.execution is not None
    leaks = wanted.leaks.of_state(replay.execution.state) if wanted.leaks else {}
    for row in _compared_rows(wanted, replay):
        leak = leaks.pop(str(row["subject"]), None)
        yield row if leak is None else {**row, "leak": leak}
    for subject, leak in leaks.items():
        yield {**wanted.same, "subject": subject, "leak": leak}


def _compared_rows(wanted: _Wanted, replay: Replay) -> Iterator[Row]:
    assert replay.execution is not None
    state = replay.execution.state
    listing = "more entries than listed" if state.truncated else "complete"
    yield {**wanted.same, "subject": LISTING, "expected_presence": "complete", "actual_presence": listing}
    found = {entry.path: entry for entry in state.entries if not wanted.ignored(entry.path)}
    for path, entry in wanted.expected.items():
        yield _expected_row(wanted, entry, path, found.get(path))
    not_empty = {parent for entry in state.entries for parent in _parents(entry.path)}
    for path, entry in found.items():
        if path not in wanted.expected and _counts(entry, wanted, not_empty):
            yield _surplus_row(wanted, entry, wanted.fixture.get(path))
    observations = {observation.name: observation for observation in state.observations}
    for observer in wanted.task.observers:
        if observer.expected is not None:
            yield _observer_row(wanted, observer.name, observer.expected, observations.get(observer.name))


def _counts(entry: StateEntry, wanted: _Wanted, not_empty: set[bytes]) -> bool:
    if entry.kind != "directory":
        return True
    return wanted.task.directories is not None and entry.path not in not_empty and entry.path not in wanted.implied


def _expected_row(wanted: _Wanted, expected: FileEntry, path: bytes, actual: StateEntry | None) -> Row:
    row = {**wanted.same, "subject": path_subject(path)}
    if actual is None:
        return row | {"actual_presence": "absent"}
    row |= {"expected_kind": expected.kind, "actual_kind": actual.kind}
    if expected.kind != actual.kind:
        return row
    if expected.kind == "symlink":
        return row | {"expected_target": escape(expected.target), "actual_target": escape(actual.target)}
    row |= _modes(expected, actual)
    if expected.kind == "file":
        for way, rule in wanted.contents[path].items():
            row |= {f"expected_{way}": rule.right, f"actual_{way}": rule.of(actual)}
    return row


def _modes(expected: FileEntry, actual: StateEntry) -> Row:
    if expected.mode is not None:
        return {"expected_mode": f"{expected.mode & 0o7777:04o}", "actual_mode": f"{actual.mode & 0o7777:04o}"}
    if expected.kind == "directory":
        return {}
    executable = actual.mode & 0o111
    return {"expected_mode": "not executable", "actual_mode": "executable" if executable else "not executable"}


def _surplus_row(wanted: _Wanted, entry: StateEntry, before: FileEntry | None) -> Row:
    surplus = "new" if before is None else "left over" if _untouched(entry, before) else "changed"
    row = {**wanted.same, "subject": path_subject(entry.path), "surplus": surplus}
    return row | {"expected_kind": entry.kind, "actual_kind": entry.kind}


def _untouched(entry: StateEntry, before: FileEntry) -> bool:
    if before.kind != entry.kind or before.target != entry.target:
        return False
    return entry.kind != "file" or known_content(entry, (before.content,)) == before.content


def _observer_row(wanted: _Wanted, name: str, expected: bytes, seen: Observation | None) -> Row:
    """What an observer prints counts byte for byte, in every way of comparing contents."""
    if seen is None:
        actual = "not observed"
    elif seen.truncated or seen.exit_code is None:
        actual = "not observed to its end"
    else:
        actual = content_key(seen.output)
    keys = {
        f"{side}_{way}": key for way in wanted.ways for side, key in (("expected", content_key(expected)), ("actual", actual))
    }
    return {**wanted.same, "subject": observer_subject(name), **keys}


def _execution_row(wanted: _Wanted, replay: Replay, number: int, rows: int) -> Row:
    assert replay.execution is not None
    expected_exit, exit_code = wanted.task.expected_exit, reported_exit(replay.execution)
    row: Row = {
        "row": number,
        "replay": number,
        "expected_exit": ANY_EXIT if expected_exit is None else str(expected_exit),
        "actual_exit": ANY_EXIT if expected_exit is None else "none" if exit_code is None else str(exit_code),
        "commands_planned": len(replay.delivery.actions),
        "commands_run": len(replay.execution.results),
        "rows_planned": rows,
    }
    return {**row, **_execution_leaks(wanted, replay)} if wanted.judges_leaks else row


def _execution_leaks(wanted: _Wanted, replay: Replay) -> Row:
    assert replay.execution is not None
    if wanted.leaks is None:
        return {"leaked_arguments": CLEAN, "leaked_output": CLEAN}
    return {
        "leaked_arguments": wanted.leaks.of_arguments(replay.delivery),
        "leaked_output": wanted.leaks.of_output(replay.execution),
    }
