"""Tasks, right final states and replays by hand, for the tests of tables, validators and scores."""

import hashlib

from crosspath.types import (
    Action,
    Command,
    Compare,
    Delivery,
    DeliveryProblem,
    ExecResult,
    Execution,
    FileEntry,
    FinalState,
    Observation,
    Observer,
    OutputStream,
    Replay,
    ReplayKey,
    StateEntry,
    Task,
    TrialKey,
)


def file(path: bytes, content: bytes = b"", mode: int = 0o644) -> StateEntry:
    """A file as a sandbox lists it."""
    digest = hashlib.sha256(content).hexdigest()
    return StateEntry(path=path, kind="file", mode=mode, size=len(content), sha256=digest, content=content)


def wanted(path: bytes, content: bytes = b"", mode: int | None = None, compare: Compare = "bytes") -> FileEntry:
    """An expected file."""
    return FileEntry(path=path, content=content, mode=mode, compare=compare)


def task(*expected: FileEntry, id: str = "t", expected_exit: int | None = None, **fields: object) -> Task:
    """A task that expects these entries."""
    return Task(id=id, family="f", expected=expected, expected_exit=expected_exit, **fields)  # pyright: ignore[reportArgumentType]


def rich_task() -> Task:
    """One task with every kind of thing that can be compared."""
    return task(
        wanted(b"a.txt", b"one\n"),
        wanted(b"dir/tool", b"#!/bin/sh\n", mode=0o755),
        wanted(b"long.bin", bytes(range(256)) * 4),
        FileEntry(path=b"link", kind="symlink", target=b"a.txt"),
        directories=(b"empty",),
        ignore=(".git/*",),
        observers=(Observer(name="log", command="git log", expected=b"message\n"),),
        expected_exit=0,
    )


def right_state(of: Task) -> FinalState:
    """The final state that a task asks for, parents included."""
    paths = {entry.path for entry in of.expected} | set(of.directories or ())
    parents = {path.rpartition(b"/")[0] for path in paths if b"/" in path} | set(of.directories or ())
    entries = [StateEntry(path=path, kind="directory", mode=0o755) for path in parents]
    for entry in of.expected:
        if entry.kind == "symlink":
            entries.append(StateEntry(path=entry.path, kind="symlink", mode=0o777, target=entry.target))
        else:
            entries.append(file(entry.path, entry.content, 0o644 if entry.mode is None else entry.mode))
    seen = tuple(Observation(name=each.name, exit_code=0, output=each.expected or b"") for each in of.observers)
    return FinalState(entries=tuple(sorted(entries, key=lambda entry: entry.path)), observations=seen)


def result(exit_code: int | None = 0, stderr: bytes = b"", stdout: bytes = b"", **fields: object) -> ExecResult:
    """What one command did."""
    streams = {name: OutputStream(data=data, size=len(data)) for name, data in (("stdout", stdout), ("stderr", stderr))}
    return ExecResult(exit_code=exit_code, duration_s=0.1, **streams, **fields)  # pyright: ignore[reportArgumentType]


def replay(
    of: Task,
    state: FinalState | None = None,
    *results: ExecResult,
    problem: DeliveryProblem | None = None,
    index: int = 0,
    setup_failed: str | None = None,
) -> Replay:
    """A replay of ``of``; by default one command that ended well and left the right state."""
    ran = results or (() if problem in ("empty", "refusal", "undeliverable", "contract_error") else (result(),))
    key = ReplayKey(trial=TrialKey(generation="g", task=of.id, index=index), path="p")
    actions = tuple(Action(command=Command(argv=(b"bash", b"-c", b"true"))) for _ in ran)
    execution = Execution(key=key, results=ran, state=state or right_state(of), setup_failed=setup_failed)
    return Replay(key=key, transport="raw", delivery=Delivery(actions=actions, problem=problem), execution=execution)
