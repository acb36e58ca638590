"""Small jobs for sandboxes."""

from typing import Any

from crosspath.ports import Sandbox
from crosspath.types import Command, Execution, FinalState, ReplayJob, ReplayKey, Task, TrialKey


def shell(text: str | bytes, **fields: Any) -> Command:
    return Command(argv=(b"bash", b"-c", text.encode() if isinstance(text, str) else text), **fields)


def job(*commands: Command, **task: Any) -> ReplayJob:
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    return ReplayJob(key=key, task=Task(id="t", family="f", **task), commands=commands)


def run(sandbox: Sandbox, *commands: Command, **task: Any) -> Execution:
    (result,) = sandbox.run([job(*commands, **task)])
    assert isinstance(result, Execution), result
    return result


def files(state: FinalState) -> dict[bytes, bytes | None]:
    return {entry.path: entry.content for entry in state.entries if entry.kind == "file"}
