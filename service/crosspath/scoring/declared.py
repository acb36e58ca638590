"""The replay that a task declares to be right, without anything having been run: for tasks that bring no right command."""

import hashlib
from collections.abc import Iterator

from crosspath.types import (
    Action,
    Command,
    Delivery,
    ExecResult,
    Execution,
    FileEntry,
    FinalState,
    Observation,
    Replay,
    ReplayKey,
    StateEntry,
    Task,
    TrialKey,
)

_NOTHING = Command(argv=(b"true",))


def declared_replay(task: Task) -> Replay:
    """One command that ended as the task asks for, and left exactly what it expects."""
    key = ReplayKey(trial=TrialKey(generation="declared", task=task.id, index=0), path="declared")
    result = ExecResult(exit_code=task.expected_exit or 0, duration_s=0.0)
    return Replay(
        key=key,
        transport="declared",
        delivery=Delivery(actions=(Action(command=_NOTHING),)),
        execution=Execution(key=key, results=(result,), state=_state(task)),
    )


def as_found(entry: FileEntry) -> StateEntry:
    """An entry of a task, as a sandbox lists it."""
    if entry.kind == "symlink":
        return StateEntry(path=entry.path, kind="symlink", mode=0o777, target=entry.target)
    if entry.kind == "directory":
        return StateEntry(path=entry.path, kind="directory", mode=0o755 if entry.mode is None else entry.mode)
    digest = hashlib.sha256(entry.content).hexdigest()
    mode = 0o644 if entry.mode is None else entry.mode
    return StateEntry(path=entry.path, kind="file", mode=mode, size=len(entry.content), sha256=digest, content=entry.content)


def _state(task: Task) -> FinalState:
    entries = {entry.path: as_found(entry) for entry in task.expected}
    directories = {*(task.directories or ()), *(parent for path in entries for parent in _parents(path))}
    entries |= {path: as_found(FileEntry(path=path, kind="directory")) for path in directories}
    seen = (Observation(name=each.name, exit_code=0, output=each.expected or b"") for each in task.observers)
    return FinalState(entries=tuple(entries[path] for path in sorted(entries)), observations=tuple(seen))


def _parents(path: bytes) -> Iterator[bytes]:
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path
