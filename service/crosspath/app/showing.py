"""``crosspath show``: one task of an evaluation, followed from the instruction to the final state."""

from collections.abc import Iterator
from typing import Any

from crosspath.app.adapters import make_sandbox
from crosspath.app.evaluation import Evaluation
from crosspath.errors import ConfigError
from crosspath.escaping import escape
from crosspath.spec import load_spec
from crosspath.types import (
    Facts,
    FileEntry,
    PlannedCell,
    Replay,
    ReplayJob,
    ReplayKey,
    Score,
    StateEntry,
    Task,
    Trial,
    TrialKey,
    canonical_json,
)


def show_document(
    evaluation: Evaluation, task_id: str, *, candidate: str | None = None, trial: int = 0, cell: str | None = None
) -> dict[str, Any]:
    """Instruction, and per cell: reply, hops, command, what happened, how the final state differs.

    Raises:
        ConfigError: the evaluation has no such task, candidate, trial or cell.
    """
    facts = evaluation.facts
    task = _one({task.id: task for task in facts.tasks}, task_id, "task")
    if candidate is not None:
        _one({c.name: c for c in facts.lock.candidates}, candidate, "candidate")
    if trial >= facts.lock.trials:
        raise ConfigError(f"{trial} is not a trial of {evaluation.id}; it has 0 to {facts.lock.trials - 1}", field="--trial")
    cells = [c for c in facts.cells if candidate in (None, c.candidate) and cell in (None, cell_name(c))]
    if not cells:
        known = sorted({cell_name(c) for c in facts.cells if candidate in (None, c.candidate)})
        raise ConfigError(f"{cell!r} is not a cell here; known: {', '.join(known)}", field="--cell")
    return {
        "evaluation": evaluation.id,
        "task": task.id,
        "tier": task.tier,
        "hazards": list(task.hazards),
        "instruction": task.instruction,
        "cells": [_cell(evaluation, facts, task, c, trial) for c in cells],
    }


def cell_name(cell: PlannedCell) -> str:
    """``RR``, ``RN``, ``NR``, ``NN`` or ``control``."""
    return "control" if cell.control else cell.name


def _one(table: dict[str, Any], name: str, what: str) -> Any:
    if name not in table:
        shown = ", ".join(sorted(table)[:30])
        raise ConfigError(f"{name!r} is not a {what} of this evaluation; known: {shown}", field=what)
    return table[name]


def _cell(evaluation: Evaluation, facts: Facts, task: Task, cell: PlannedCell, index: int) -> dict[str, Any]:
    key = TrialKey(generation=cell.generation.digest, task=task.id, index=index)
    trial = next((trial for trial in facts.trials if trial.key == key), None)
    replay_key = ReplayKey(trial=key, path=cell.path, encoded=cell.encoded)
    replay = next((replay for replay in facts.replays if replay.key == replay_key), None)
    scores = evaluation.judgement.scores
    score = next((s for s in scores if s.key == replay_key and s.validator == cell.validator), None)
    return {
        "candidate": cell.candidate,
        "cell": cell_name(cell),
        "told": cell.contract,
        "done": cell.transport + (" (encoded)" if cell.encoded else ""),
        "reply": _reply(trial),
        "fault": _fault(trial, replay),
        "actions": list(_actions(replay)) if replay else [],
        "problem": replay.delivery.problem if replay else None,
        "reason": replay.delivery.reason if replay else "",
        "state": list(_state(task, replay)) if replay else [],
        "score": _score(score),
    }


def _reply(trial: Trial | None) -> dict[str, Any] | None:
    if trial is None or trial.reply is None:
        return None
    reply = trial.reply
    return {
        "text": reply.text,
        "tool_calls": [call.model_dump(mode="json") for call in reply.tool_calls],
        "finish_reason": reply.finish_reason,
        "served_model": reply.served_model,
    }


def _fault(trial: Trial | None, replay: Replay | None) -> str | None:
    fault = (trial.fault if trial else None) or (replay.fault if replay else None)
    return f"{fault.boundary} {fault.type}: {fault.message}" if fault else None


def _actions(replay: Replay) -> Iterator[dict[str, Any]]:
    results = replay.execution.results if replay.execution else ()
    for number, action in enumerate(replay.delivery.actions):
        result = results[number] if number < len(results) else None
        yield {
            "call_id": action.call_id,
            "hops": [{"layer": hop.layer, "text": escape(hop.text)} for hop in action.hops],
            "argv": [escape(word) for word in action.command.argv],
            "exit_code": result.exit_code if result else None,
            "timed_out": bool(result and result.timed_out),
            "stdout": escape(result.stdout.data[:2000]) if result else "",
            "stderr": escape(result.stderr.data[:2000]) if result else "",
        }


def _score(score: Score | None) -> dict[str, Any] | None:
    if score is None:
        return None
    return {
        "passed": score.passed,
        "state_ok": score.state_ok,
        "reported_ok": score.reported_ok,
        "cause": score.cause,
        "reason": score.reason,
    }


def _state(task: Task, replay: Replay) -> Iterator[dict[str, str]]:
    """Expected and actual entries, side by side, ignored paths left out."""
    if replay.execution is None:
        return
    actual = {entry.path: entry for entry in replay.execution.state.entries if _listed(entry, task)}
    expected = {entry.path: entry for entry in task.expected}
    for path in sorted(actual.keys() | expected.keys()):
        want, got = expected.get(path), actual.get(path)
        yield {"path": escape(path), "expected": _describe(want), "actual": _describe(got)}
    seen = {observation.name: escape(observation.output) for observation in replay.execution.state.observations}
    for observer in task.observers:
        want_text = "(not compared)" if observer.expected is None else escape(observer.expected)
        yield {"path": f"observer:{observer.name}", "expected": want_text, "actual": seen.get(observer.name, "(absent)")}


def _listed(entry: StateEntry, task: Task) -> bool:
    if entry.kind == "directory" and task.directories is None:
        return False
    return not task.ignores(entry.path)


def _describe(entry: FileEntry | StateEntry | None) -> str:
    if entry is None:
        return "(absent)"
    if entry.kind == "symlink":
        return f"-> {escape(entry.target)}"
    if entry.kind != "file":
        return entry.kind
    if entry.content is None:
        return f"(sha256 {getattr(entry, 'sha256', '')[:16]}...)"
    return escape(entry.content[:2000])


def show_text(document: dict[str, Any]) -> str:
    """The document for a person. Escapes: a backslash is doubled, odd bytes are \\xNN."""
    lines = [f"{document['task']}  tier {document['tier']}  hazards: {', '.join(document['hazards']) or 'none'}", ""]
    lines += _indented(document["instruction"])
    for cell in document["cells"]:
        lines += ["", f"== {cell['candidate']} · told {cell['told']}, done {cell['done']}  [{cell['cell']}]", *_cell_lines(cell)]
    return "\n".join(lines)


def _cell_lines(cell: dict[str, Any]) -> Iterator[str]:
    if cell["fault"]:
        yield f"fault: {cell['fault']}"
    if reply := cell["reply"]:
        yield "reply:"
        yield from _indented(reply["text"] or "")
        for call in reply["tool_calls"]:
            yield f"  call {call['name']} {call['arguments']}"
    if cell["problem"]:
        yield f"problem: {cell['problem']}: {cell['reason']}"
    for action in cell["actions"]:
        for hop in action["hops"]:
            yield f"hop {hop['layer']}:"
            yield from _indented(hop["text"])
        yield f"command: {action['argv']}"
        yield f"exit {action['exit_code']}" + (" (timed out)" if action["timed_out"] else "")
        if action["stderr"]:
            yield "stderr:"
            yield from _indented(action["stderr"])
    yield from _state_lines(cell["state"])
    if score := cell["score"]:
        verdict = "passed" if score["passed"] else f"failed: {score['cause']}"
        state, told = ("ok" if score["state_ok"] else "wrong"), ("ok" if score["reported_ok"] else "failure")
        yield f"{verdict}  (state {state}, path reported {told})"
        if score["reason"]:
            yield f"  {score['reason']}"


def _state_lines(state: list[dict[str, str]]) -> Iterator[str]:
    yield "final state:"
    for row in state:
        if row["expected"] == row["actual"]:
            yield f"  = {row['path']}"
            continue
        yield f"  ! {row['path']}"
        yield from (f"      expected  {line}" for line in row["expected"].split("\n"))
        yield from (f"      actual    {line}" for line in row["actual"].split("\n"))


def _indented(text: str) -> list[str]:
    return [f"  | {line}" for line in text.split("\n")]


def open_shell(evaluation: Evaluation, document: dict[str, Any]) -> int:
    """An interactive shell in the sandbox, the fixture ready, the command not yet run; returns the shell's exit status.

    Raises:
        ConfigError: the evaluation ran without a sandbox that can be entered.
    """
    facts = evaluation.facts
    task = next(task for task in facts.tasks if task.id == document["task"])
    spec = load_spec(canonical_json(facts.head.spec), "the stored spec")
    sandbox = make_sandbox(spec)
    enter = getattr(sandbox, "enter", None)
    if enter is None:
        raise ConfigError("this sandbox can't be entered; only bubblewrap can", field="--shell")
    key = next(replay.key for replay in facts.replays if replay.key.trial.task == task.id)
    replay = next(replay for replay in facts.replays if replay.key == key)
    commands = tuple(action.command for action in replay.delivery.actions)
    return int(enter(ReplayJob(key=key, task=task, commands=commands)))
