"""Single changes of a right replay that a validator must reject: the audit of a suite over a task.

Every change is one that the task declares to matter: a content that only differs in a way its ``compare`` overlooks, a path that
``ignore`` covers, or an exit status that plays no part, is never produced, and no two changes of one thing are equal.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from crosspath.scoring.contents import content_key
from crosspath.scoring.declared import as_found
from crosspath.scoring.edits import content_edits, name_edits
from crosspath.types import ExecResult, FileEntry, FinalState, Observation, Replay, StateEntry, StateKind, Task

Fact = Literal["presence", "surplus", "kind", "content", "mode", "target", "exit", "commands"]
"""What of the tables shows a change: ``surplus``, or the pair ``expected_...`` and ``actual_...``."""

_SURPLUS_NAMES = (b"surplus", b"surplus.txt", b".surplus", b"-surplus", b"sur plus", b"surplus\n")


@dataclass(frozen=True)
class Mutation:
    """One changed replay. ``kind`` is what an audit counts by; ``subject`` is the escaped path, or the observer."""

    kind: str
    subject: str
    fact: Fact
    replay: Replay

    @property
    def name(self) -> str:
        """Unique within a task."""
        return f"{self.kind}: {self.subject}" if self.subject else self.kind


@dataclass(frozen=True)
class _Changed:
    """One changed final state."""

    kind: str
    subject: str
    fact: Fact
    state: FinalState


def mutations(task: Task, replay: Replay) -> Iterator[Mutation]:
    """Every single change of a replay that is right. A replay without an execution has none."""
    execution = replay.execution
    if execution is None:
        return
    for changed in _states(task, execution.state):
        other = execution.model_copy(update={"state": changed.state})
        yield Mutation(changed.kind, changed.subject, changed.fact, replay.model_copy(update={"execution": other}))
    yield from _executions(task, replay)


def _executions(task: Task, replay: Replay) -> Iterator[Mutation]:
    """Other ends of the last command, where its exit status counts, and one command that was not run."""
    execution = replay.execution
    if execution is None or not execution.results:
        return
    *before, last = execution.results
    ends: list[tuple[str, Fact, tuple[ExecResult, ...]]] = [("command never run", "commands", tuple(before))]
    if task.expected_exit is not None:
        for status in sorted({0, 1, 127, (task.expected_exit + 1) % 126} - {task.expected_exit}):
            other = last.model_copy(update={"exit_code": status, "report": None})
            ends.append((f"exit status {status}", "exit", (*before, other)))
        killed = last.model_copy(update={"exit_code": None, "report": None})
        ends.append(("exit status of none", "exit", (*before, killed)))
    for name, fact, results in ends:
        changed = execution.model_copy(update={"results": results})
        kind, subject = ("other exit status", name.removeprefix("exit status ")) if fact == "exit" else (name, "")
        yield Mutation(kind, subject, fact, replay.model_copy(update={"execution": changed}))


def _states(task: Task, state: FinalState) -> Iterator[_Changed]:
    found = {entry.path: entry for entry in state.entries}
    wanted = [entry for entry in task.expected if entry.path in found and not task.ignores(entry.path)]
    for entry in wanted:
        yield from _of_entry(task, state, entry, found[entry.path])
    yield from _directories(task, state, found)
    yield from _surplus(task, state, found)
    yield from _observations(task, state)
    yield _Changed("listing cut off", "", "presence", state.model_copy(update={"truncated": True}))


def _of_entry(task: Task, state: FinalState, wanted: FileEntry, actual: StateEntry) -> Iterator[_Changed]:
    path, shown = wanted.path, _shown(wanted.path)
    yield _Changed("missing", shown, "presence", _without(state, path))
    for kind, other in _other_places(path):
        if not task.ignores(other) and all(entry.path != other for entry in state.entries):
            moved = _plus(_without(state, path), actual.model_copy(update={"path": other}))
            yield _Changed(kind, shown, "presence", moved)
    if wanted.kind == "symlink":
        yield from _targets(task, state, wanted, actual)
    elif wanted.kind == "file":
        yield from _modes(state, wanted, actual)
        yield from _contents(task, state, wanted, actual)
    for kind, other in _other_kinds(wanted, actual):
        yield _Changed(kind, shown, "kind", _replaced(state, actual, other))


def _other_places(path: bytes) -> Iterator[tuple[str, bytes]]:
    above, slash, name = path.rpartition(b"/")
    for kind, other in name_edits(name):
        yield kind, above + slash + other
    yield "in another directory", b"elsewhere/" + path
    if slash:
        yield "in the directory above", path.rpartition(b"/")[0].rpartition(b"/")[0] + b"/" * (b"/" in above) + name


def _targets(task: Task, state: FinalState, wanted: FileEntry, actual: StateEntry) -> Iterator[_Changed]:
    others = {entry.target: "target left as it was" for entry in task.fixture if entry.path == wanted.path and entry.target}
    others |= {
        wanted.target + b"x": "other target",
        b"./" + wanted.target: "target spelled otherwise",
        b"/run/" + wanted.target.lstrip(b"/"): "absolute target",
        b"nowhere": "dangling symlink",
        wanted.path.rpartition(b"/")[2]: "symlink to itself",
    }
    for target, kind in others.items():
        if target != wanted.target:
            other = actual.model_copy(update={"target": target})
            yield _Changed(kind, _shown(wanted.path), "target", _replaced(state, actual, other))


def _modes(state: FinalState, wanted: FileEntry, actual: StateEntry) -> Iterator[_Changed]:
    """Bits of the mode that count: any where the task gives it, otherwise only that nobody may execute the file."""
    bits = {"executable bit": 0o100, "executable bit of the group": 0o010, "executable bit of others": 0o001}
    if wanted.mode is not None:
        bits |= {"write bit": 0o200, "write bit of others": 0o002, "read bit of the group": 0o040, "read bit of others": 0o004}
        bits |= {"set-user-id bit": 0o4000}
    for kind, bit in bits.items():
        other = actual.model_copy(update={"mode": actual.mode ^ bit})
        yield _Changed(kind, _shown(wanted.path), "mode", _replaced(state, actual, other))


def _other_kinds(wanted: FileEntry, actual: StateEntry) -> Iterator[tuple[str, StateEntry]]:
    if wanted.kind == "directory":
        return
    bare = {"content": None, "sha256": "", "size": 0, "target": b""}
    kinds: dict[str, StateKind] = {"directory instead": "directory", "pipe instead": "fifo"}
    for name, kind in kinds.items():
        yield name, actual.model_copy(update={**bare, "kind": kind})
    if wanted.kind == "symlink":
        yield "file instead of a symlink", _file(wanted.path, wanted.target)
    else:
        yield "symlink instead of a file", actual.model_copy(update={**bare, "kind": "symlink", "target": b"nowhere"})


def _contents(task: Task, state: FinalState, wanted: FileEntry, actual: StateEntry) -> Iterator[_Changed]:
    seen = {content_key(wanted.content, wanted.compare)}
    for kind, content in (*_of_the_task(task, wanted), *content_edits(wanted.content)):
        key = content_key(content, wanted.compare)
        if key not in seen:
            seen.add(key)
            digest = hashlib.sha256(content).hexdigest()
            other = actual.model_copy(update={"content": content, "sha256": digest, "size": len(content)})
            yield _Changed(kind, _shown(wanted.path), "content", _replaced(state, actual, other))


def _of_the_task(task: Task, wanted: FileEntry) -> Iterator[tuple[str, bytes]]:
    """Contents of the task itself that are wrong in this place: what was there before, and what belongs into the next file."""
    for before in task.fixture:
        if before.path == wanted.path and before.kind == "file":
            yield "left as it was", before.content
            yield "put behind what was there", before.content + wanted.content
            yield "put in front of what was there", wanted.content + before.content
    files = [entry for entry in task.expected if entry.kind == "file"]
    for one, following in zip(files, files[1:] + files[:1], strict=True):
        if one is wanted:
            yield "content of another file", following.content


def _directories(task: Task, state: FinalState, found: dict[bytes, StateEntry]) -> Iterator[_Changed]:
    for path in task.directories or ():
        if path in found and not task.ignores(path):
            shown = _shown(path)
            below = [entry for entry in state.entries if entry.path.startswith(path + b"/")]
            if not below:
                yield _Changed("missing directory", shown, "presence", _without(state, path))
                yield _Changed("file instead of a directory", shown, "kind", _replaced(state, found[path], _file(path, b"")))
    if task.directories is not None and b"surplus" not in found and not task.ignores(b"surplus"):
        surplus = StateEntry(path=b"surplus", kind="directory", mode=0o755)
        yield _Changed("extra directory", _shown(b"surplus"), "surplus", _plus(state, surplus))


def _surplus(task: Task, state: FinalState, found: dict[bytes, StateEntry]) -> Iterator[_Changed]:
    """What nobody declared: new things of each kind, beside what is expected, and what of the fixture should be gone."""
    wanted = {entry.path for entry in task.expected}
    for entry in task.fixture:
        if entry.path not in wanted | found.keys() and entry.kind != "directory" and not task.ignores(entry.path):
            left = as_found(entry)
            yield _Changed("left over", _shown(entry.path), "surplus", _plus(state, left))
    above = sorted({path.rpartition(b"/")[0] for path in wanted if b"/" in path})
    names = [*_SURPLUS_NAMES, *(parent + b"/surplus" for parent in above), *sorted(path + b"~" for path in wanted)]
    free = [name for name in names if name not in found and not task.ignores(name)]
    for name in free:
        kind = "backup copy" if name.endswith(b"~") else "extra file"
        yield _Changed(kind, _shown(name), "surplus", _plus(state, _file(name, b"")))
    kinds: tuple[StateKind, ...] = ("symlink", "fifo", "socket")
    for kind in kinds if free else ():
        entry = StateEntry(path=free[0], kind=kind, mode=0o644, target=b"x" if kind == "symlink" else b"")
        yield _Changed(f"extra {kind}", _shown(free[0]), "surplus", _plus(state, entry))


def _observations(task: Task, state: FinalState) -> Iterator[_Changed]:
    compared = {observer.name for observer in task.observers if observer.expected is not None}
    for seen in state.observations:
        if seen.name not in compared:
            continue
        others = tuple(other for other in state.observations if other.name != seen.name)
        yield _Changed("observation missing", seen.name, "content", state.model_copy(update={"observations": others}))
        for kind, shown, changed in _other_observations(seen):
            yield _Changed(kind, shown, "content", state.model_copy(update={"observations": (*others, changed)}))


def _other_observations(seen: Observation) -> Iterator[tuple[str, str, Observation]]:
    yield "observation cut off", seen.name, seen.model_copy(update={"truncated": True})
    yield "observer killed", seen.name, seen.model_copy(update={"exit_code": None})
    for kind, output in content_edits(seen.output):
        yield "other observation", f"{seen.name}, {kind}", seen.model_copy(update={"output": output})


def _shown(path: bytes) -> str:
    return repr(path)[1:]


def _file(path: bytes, content: bytes) -> StateEntry:
    return as_found(FileEntry(path=path, content=content))


def _replaced(state: FinalState, entry: StateEntry, other: StateEntry) -> FinalState:
    return state.model_copy(update={"entries": tuple(other if each is entry else each for each in state.entries)})


def _without(state: FinalState, path: bytes) -> FinalState:
    return state.model_copy(update={"entries": tuple(entry for entry in state.entries if entry.path != path)})


def _plus(state: FinalState, *entries: StateEntry) -> FinalState:
    return state.model_copy(update={"entries": (*state.entries, *entries)})
