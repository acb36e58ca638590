"""Single changes of a right replay that a validator must reject: the audit of a suite over a task.

Every change is one that the task declares to matter: a content that only differs in a way its ``compare`` overlooks, a path that
``ignore`` covers, or an exit status that plays no part, is never produced.
"""

import hashlib
from collections.abc import Iterator

from crosspath.scoring.contents import content_key
from crosspath.types import FileEntry, FinalState, Replay, StateEntry, Task

_SURPLUS_NAMES = (b"surplus", b"surplus.txt", b".surplus")
_Named = tuple[str, FinalState]


def mutations(task: Task, replay: Replay) -> Iterator[tuple[str, Replay]]:
    """Name of the change and the changed replay, for every single change of a replay that passes.

    A name holds the path in question, escaped, and is unique within the task. A replay without an execution has none.
    """
    execution = replay.execution
    if execution is None:
        return
    for name, state in _states(task, execution.state):
        yield name, replay.model_copy(update={"execution": execution.model_copy(update={"state": state})})
    if task.expected_exit is not None and execution.results:
        last = execution.results[-1].model_copy(update={"exit_code": (task.expected_exit + 1) % 126, "report": None})
        changed = execution.model_copy(update={"results": (*execution.results[:-1], last)})
        yield "other exit status", replay.model_copy(update={"execution": changed})


def _states(task: Task, state: FinalState) -> Iterator[_Named]:
    found = {entry.path: entry for entry in state.entries}
    for wanted in task.expected:
        if wanted.path in found and not task.ignores(wanted.path):
            yield from _of_entry(task, state, wanted, found[wanted.path])
    for path in task.directories or ():
        if path in found and not task.ignores(path):
            yield f"missing directory {_shown(path)}", _without(state, path)
    for name in _SURPLUS_NAMES:
        if name not in found and not task.ignores(name):
            yield f"extra file {_shown(name)}", _plus(state, _file(name, b""))
            yield f"extra symlink {_shown(name)}", _plus(state, StateEntry(path=name, kind="symlink", mode=0o777, target=b"x"))
            break
    yield from _observations(task, state)
    yield "listing cut off", state.model_copy(update={"truncated": True})


def _of_entry(task: Task, state: FinalState, wanted: FileEntry, actual: StateEntry) -> Iterator[_Named]:
    path, shown = wanted.path, _shown(wanted.path)
    yield f"missing {shown}", _without(state, path)
    renamed = path + b".renamed"
    if not task.ignores(renamed):
        yield f"renamed {shown}", _plus(_without(state, path), actual.model_copy(update={"path": renamed}))
    if wanted.kind == "symlink":
        yield f"other target of {shown}", _replaced(state, actual, target=actual.target + b"x")
        yield f"file instead of {shown}", _plus(_without(state, path), _file(path, wanted.target))
    elif wanted.kind == "file":
        yield f"executable bit of {shown}", _replaced(state, actual, mode=actual.mode ^ 0o100)
        yield f"symlink instead of {shown}", _replaced(state, actual, kind="symlink", target=b"x", content=None, sha256="")
        yield from _contents(state, wanted, actual)
    if wanted.kind != "directory":
        yield f"directory instead of {shown}", _replaced(state, actual, kind="directory", content=None, sha256="", target=b"")


def _contents(state: FinalState, wanted: FileEntry, actual: StateEntry) -> Iterator[_Named]:
    right = wanted.content
    changed = {
        "first byte of": bytes([right[0] ^ 1]) + right[1:] if right else b"x",
        "last byte of": right[:-1] + bytes([right[-1] ^ 1]) if right else b"x",
        "final newline dropped from": right.removesuffix(b"\n"),
        "final newline added to": right + b"\n",
        "one more byte in": right + b"x",
        "nothing left in": b"",
    }
    for name, content in changed.items():
        if content_key(content, wanted.compare) != content_key(right, wanted.compare):
            yield f"{name} {_shown(wanted.path)}", _replaced(state, actual, **_facts(content))


def _observations(task: Task, state: FinalState) -> Iterator[_Named]:
    for observer in task.observers:
        if observer.expected is None:
            continue
        others = tuple(seen for seen in state.observations if seen.name != observer.name)
        yield f"missing observation {observer.name}", state.model_copy(update={"observations": others})
        for seen in state.observations:
            if seen.name == observer.name:
                other = seen.model_copy(update={"output": seen.output + b"x"})
                yield f"other observation {observer.name}", state.model_copy(update={"observations": (*others, other)})


def _shown(path: bytes) -> str:
    return repr(path)[1:]


def _facts(content: bytes) -> dict[str, object]:
    return {"content": content, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}


def _file(path: bytes, content: bytes) -> StateEntry:
    digest = hashlib.sha256(content).hexdigest()
    return StateEntry(path=path, kind="file", mode=0o644, size=len(content), sha256=digest, content=content)


def _replaced(state: FinalState, entry: StateEntry, **changes: object) -> FinalState:
    changed = entry.model_copy(update=changes)
    return state.model_copy(update={"entries": tuple(changed if each is entry else each for each in state.entries)})


def _without(state: FinalState, path: bytes) -> FinalState:
    return state.model_copy(update={"entries": tuple(entry for entry in state.entries if entry.path != path)})


def _plus(state: FinalState, *entries: StateEntry) -> FinalState:
    return state.model_copy(update={"entries": (*state.entries, *entries)})
