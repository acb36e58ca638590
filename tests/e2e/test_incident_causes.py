"""Publicly reported command paths, imitated by one shell line each: what they left must be scored as it was."""

import hashlib
import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from crosspath.catalogue import suite_text
from crosspath.scoring import build_tables, score
from crosspath.tasks import parse_tasks
from crosspath.testing.validator import FakeValidator
from crosspath.types import (
    Action,
    Command,
    Delivery,
    ExecResult,
    Execution,
    FileEntry,
    FinalState,
    OutputStream,
    Replay,
    ReplayKey,
    Score,
    StateEntry,
    Task,
    TrialKey,
)

DATA = Path(__file__).parents[1] / "data" / "incidents.jsonl"
TASKS = {task.id: task for task in parse_tasks(DATA.read_text(encoding="utf-8"), DATA.name)}
EXACT = suite_text("exact")
MISREPORTED = {
    "incident/a24": "timeout", "incident/a50": "timeout", "incident/a53": "masked", "incident/a54": "status",
    "incident/a58": "output",
}  # fmt: skip
"""Incidents in which all work was done and the caller was told otherwise."""


def _write(root: Path, entries: tuple[FileEntry, ...]) -> None:
    for entry in entries:
        path = root / os.fsdecode(entry.path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(entry.content)


def _state(root: Path) -> FinalState:
    entries: list[StateEntry] = []
    for path in sorted(root.rglob("*")):
        info = path.lstat()
        name = os.fsencode(path.relative_to(root))
        mode = stat.S_IMODE(info.st_mode)
        if path.is_dir():
            entries.append(StateEntry(path=name, kind="directory", mode=mode))
        else:
            data = path.read_bytes()
            digest = hashlib.sha256(data).hexdigest()
            entries.append(StateEntry(path=name, kind="file", mode=mode, size=len(data), sha256=digest, content=data))
    return FinalState(entries=tuple(entries))


def _run(task: Task, line: str, base: Path) -> Replay:
    """One shell line in a fresh work directory, as the collection's own checks ran it."""
    work, scratch, reply = base / "work", base / "scratch", base / "reply"
    work.mkdir()
    scratch.mkdir()
    reply.write_bytes((task.oracle or "").encode())
    _write(work, task.fixture)
    env = {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "LANG": "C.UTF-8", "HOME": str(scratch)}
    env |= {"WORK": str(work), "SCRATCH": str(scratch), "REPLY_FILE": str(reply)}
    env |= {name: value.replace("{work}", str(work)) for name, value in task.env}
    argv = ["bash", "-c", line]
    with (base / "out").open("wb") as out, (base / "err").open("wb") as err:
        # Files, not pipes: a process left in the background must not hold us up.
        process = subprocess.Popen(argv, cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        code = process.wait(task.timeout_s)
    _settle(task)
    stdout, stderr = (
        OutputStream(data=data, size=len(data)) for data in ((base / "out").read_bytes(), (base / "err").read_bytes())
    )
    result = ExecResult(exit_code=code if code >= 0 else 128 - code, stdout=stdout, stderr=stderr, duration_s=0)
    return _replay(task, result, _state(work))


def _settle(task: Task) -> None:
    if task.settle_s:
        subprocess.run(["sleep", str(task.settle_s)], check=True)


def _replay(task: Task, result: ExecResult, state: FinalState) -> Replay:
    key = ReplayKey(trial=TrialKey(generation="g", task=task.id, index=0), path="p")
    action = Action(command=Command(argv=(b"bash", b"-c", b"...")))
    execution = Execution(key=key, results=(result,), state=state)
    return Replay(key=key, transport="imitation", delivery=Delivery(actions=(action,)), execution=execution)


def _scored(task: Task, replay: Replay) -> Score:
    checks = FakeValidator().validate(EXACT, build_tables({task.id: task}, [replay]))
    return score(replay, task, checks[0])


@pytest.mark.parametrize("task", list(TASKS.values()), ids=list(TASKS))
def test_faulty_path_is_scored_as_reported(task: Task, tmp_path: Path) -> None:
    """A documented faulty path gives the documented state_ok, reported_ok and cause, and the kind of false alarm."""
    meta: dict[str, Any] = task.meta
    result = _scored(task, _run(task, meta["mechanism"], tmp_path))
    cause = None if meta["cause"] == "none" else meta["cause"]
    assert (result.state_ok, result.reported_ok, result.cause) == (meta["state_ok"], meta["reported_ok"], cause), result.reason
    assert result.false_alarm == MISREPORTED.get(task.id)
    assert not result.passed
    assert result.reason


@pytest.mark.parametrize("task", list(TASKS.values()), ids=list(TASKS))
def test_right_command_passes_raw(task: Task, tmp_path: Path) -> None:
    """The same right command under plain bash passes, with nothing to say about it."""
    result = _scored(task, _run(task, task.oracle or "", tmp_path))
    assert (result.passed, result.cause, result.reason, result.checks) == (True, None, "", ())
    assert result.false_alarm is None


def test_every_incident_is_there() -> None:
    """All 51 lines of the collection are tasks."""
    assert len(TASKS) == len([json.loads(line) for line in DATA.read_text(encoding="utf-8").splitlines()]) == 51
