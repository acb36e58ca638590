"""``crosspath show``: one task of an evaluation, followed from the instruction to the final state."""

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar

from crosspath.analysis.alarms import ALARM_WORDS
from crosspath.app.adapters import make_sandbox
from crosspath.app.evaluation import Evaluation
from crosspath.errors import ConfigError
from crosspath.escaping import one_line
from crosspath.pipeline.plan import matched_cell
from crosspath.reports.actions import action_lines, actions_of, indented
from crosspath.reports.told import told
from crosspath.scoring.state_diff import state_rows
from crosspath.spec import Spec
from crosspath.styles import PLAIN
from crosspath.types import Facts, PlannedCell, Replay, ReplayJob, ReplayKey, Score, Task, Trial, TrialKey

CELLS = ("RR", "RN", "NR", "NN", "control")
_T = TypeVar("_T")


@dataclass(frozen=True)
class Selection:
    """What to show: one task, one trial of it, in all cells or some."""

    task: Task
    trial: int
    cells: tuple[PlannedCell, ...]


def select(facts: Facts, task_id: str, *, candidate: str | None = None, trial: int = 0, cell: str | None = None) -> Selection:
    """Find task, candidate, trial and cell.

    Raises:
        ConfigError: the evaluation has no such task, candidate, trial or cell.
    """
    task = _one({task.id: task for task in facts.tasks}, task_id, "task")
    if candidate is not None:
        _one({c.name: c for c in facts.lock.candidates}, candidate, "candidate")
    if trial >= facts.lock.trials:
        raise ConfigError(f"{trial} is not a trial of {facts.head.id}; it has 0 to {facts.lock.trials - 1}", field="--trial")
    mine = [c for c in facts.cells if candidate in (None, c.candidate)]
    if cell is not None:
        known = {cell_name(c).casefold(): c for c in mine}
        _one({name: name for name in CELLS if name.casefold() in known}, _cell_as_written(cell), "cell")
    return Selection(task, trial, tuple(c for c in mine if cell is None or cell_name(c) == _cell_as_written(cell)))


def _cell_as_written(cell: str) -> str:
    return next((name for name in CELLS if name.casefold() == cell.casefold()), cell)


def cell_name(cell: PlannedCell) -> str:
    """``RR``, ``RN``, ``NR``, ``NN`` or ``control``."""
    return "control" if cell.control else cell.name


def _one(table: Mapping[str, _T], name: str, what: str) -> _T:
    if name in table:
        return table[name]
    near = get_close_matches(name, table, n=3, cutoff=0.4)
    known = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(sorted(table)[:30])}"
    raise ConfigError(f"{name!r} is not a {what} of this evaluation; {known}", field=what)


def show_document(evaluation: Evaluation, chosen: Selection) -> dict[str, Any]:
    """Instruction, and per cell: reply, hops, command, what happened, how the final state differs."""
    task = chosen.task
    index = _Index(evaluation)
    return {
        "evaluation": evaluation.id,
        "task": task.id,
        "tier": task.tier,
        "hazards": list(task.hazards),
        "trial": chosen.trial,
        "messages": [message.model_dump(mode="json") for message in task.messages],
        "instruction": task.instruction,
        "infeasible": task.infeasible,
        "contracts": told(evaluation.facts, [cell.contract for cell in chosen.cells]),
        "request_styles": _styles(evaluation.facts, chosen.cells),
        "cells": [index.cell(task, cell, chosen.trial) for cell in chosen.cells],
    }


def _styles(facts: Facts, cells: Sequence[PlannedCell]) -> dict[str, str]:
    """Request style -> the words around the instruction, of those that add any."""
    texts = {text.name: text.content for text in facts.styles if text.content != PLAIN.text}
    return {name: texts[name] for name in dict.fromkeys(cell.generation.request_style for cell in cells) if name in texts}


class _Index:
    """The facts and scores of an evaluation, by key."""

    def __init__(self, evaluation: Evaluation) -> None:
        facts = evaluation.facts
        self._trials = {trial.key: trial for trial in facts.trials}
        self._replays = {replay.key: replay for replay in facts.replays}
        self._scores = {(score.validator, score.key): score for score in evaluation.judgement.scores}
        matched = (matched_cell(facts.cells, candidate.name) for candidate in facts.lock.candidates)
        self._own = {cell.candidate: (cell.told, cell.done) for cell in matched}
        """Candidate -> the sides of the cell that is the candidate as deployed."""

    def replay(self, task: Task, cell: PlannedCell, trial: int) -> Replay | None:
        return self._replays.get(_key(task, cell, trial))

    def cell(self, task: Task, cell: PlannedCell, index: int) -> dict[str, Any]:
        key = _key(task, cell, index)
        trial, replay = self._trials.get(key.trial), self._replays.get(key)
        score = self._scores.get((cell.validator, key))
        return {
            "candidate": cell.candidate,
            "cell": cell_name(cell),
            "told": cell.contract,
            "request_style": cell.generation.request_style,
            "matched": (cell.told, cell.done) == self._own[cell.candidate] and not cell.control,
            "messages": list(trial.request.messages) if trial else [],
            "tools": list(trial.request.tools) if trial else [],
            "done": cell.transport + (" (encoded)" if cell.encoded else ""),
            "reply": _reply(trial),
            "fault": _fault(trial, replay),
            "actions": list(actions_of(replay)) if replay else [],
            "problem": replay.delivery.problem if replay else None,
            "reason": replay.delivery.reason if replay else "",
            "setup_failed": replay.execution.setup_failed if replay and replay.execution else None,
            "state": state_rows(task, replay, score) if replay else [],
            "score": _score(score),
            "repeats": self._repeats(cell, key),
        }

    def _repeats(self, cell: PlannedCell, key: ReplayKey) -> list[bool | None]:
        """Passed, per further replay of the same reply on the same path."""
        keys = sorted(
            (k for k in self._replays if k.repeat and k.model_copy(update={"repeat": 0}) == key), key=lambda k: k.repeat
        )
        scores = [self._scores.get((cell.validator, each)) for each in keys]
        return [score.passed if score else None for score in scores]


def _key(task: Task, cell: PlannedCell, index: int) -> ReplayKey:
    trial = TrialKey(generation=cell.generation.digest, task=task.id, index=index)
    return ReplayKey(trial=trial, path=cell.path, encoded=cell.encoded)


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
    if fault is None:
        return "nothing is stored yet" if replay is None else None
    return f"{fault.boundary} {fault.type}: {fault.message}"


def _score(score: Score | None) -> dict[str, Any] | None:
    if score is None:
        return None
    return {
        "passed": score.passed,
        "state_ok": score.state_ok,
        "reported_ok": score.reported_ok,
        "silent_wrong": score.silent_wrong,
        "false_alarm": score.false_alarm,
        "cause": score.cause,
        "reason": score.reason,
        "infeasible": score.infeasible,
    }


# -- for a person --------------------------------------------------------------------------------------------------------


def show_text(document: dict[str, Any], *, every: bool = False, full: bool = False) -> str:
    """The document for a person; a text that is not UTF-8 is shown escaped (backslashes doubled, odd bytes as \\xNN).

    Verdicts of all cells, then RR and the candidate's own cell hop by hop; ``every``: all cells. What the model was told about
    the path; ``full``: the whole contract.
    """
    lines = [f"{document['task']}  tier {document['tier']}  hazards: {', '.join(document['hazards']) or 'none'}", ""]
    for message in document["messages"]:
        lines += [f"{message['role']}:", *indented(message["content"])]
    lines += [*indented(document["instruction"]), ""]
    if document["infeasible"]:
        lines += [f"can't be done: {document['infeasible']}", ""]
    for name, words in document["contracts"].items():
        text = words["text" if full else "disclosure"].rstrip("\n")
        lines += [f"told {name}:" if full else f"told {name} (--full for all of it):", *indented(text), ""]
    for name, text in document["request_styles"].items():
        lines += [f"asked {name}:", *indented(text), ""]
    width = max((len(cell["candidate"]) for cell in document["cells"]), default=0)
    lines += [f"  {cell['candidate']:{width}}  {cell['cell']:7}  {_verdict(cell)}" for cell in document["cells"]]
    shown = [cell for cell in document["cells"] if every or cell["matched"] or cell["cell"] == "RR"]
    for cell in shown:
        asked = f", asked {cell['request_style']}" if cell["request_style"] in document["request_styles"] else ""
        head = f"== {cell['candidate']} · told {cell['told']}{asked}, done {cell['done']}  [{cell['cell']}]"
        lines += ["", head, *_cell_lines(cell)]
    if others := list(dict.fromkeys(cell["cell"] for cell in document["cells"] if cell not in shown)):
        lines += ["", f"more: {', '.join(f'--cell {name}' for name in others)}, or --all"]
    return "\n".join(one_line(line, keep="\t") for line in lines)  # whatever a name holds, it adds no line


def _verdict(cell: dict[str, Any]) -> str:
    score = cell["score"]
    if score is None:
        return f"no verdict: {cell['fault'] or cell['setup_failed'] or 'not scored'}"
    words = _judged(score)
    told = ", although the path told that all is well" if score["silent_wrong"] else ""
    if kind := score["false_alarm"]:
        told = f", {'but' if score['passed'] else 'although the state is right:'} reported wrongly: {ALARM_WORDS[kind]}"
    others = [passed for passed in cell["repeats"] if passed is not None]
    again = f"; replayed {len(others)} more times: passed {sum(others)}" if others else ""
    return words + told + (f" ({score['reason']})" if score["reason"] else "") + again


def _judged(score: dict[str, Any]) -> str:
    if score["infeasible"]:
        return "declined rightly" if score["passed"] else f"not declined rightly: {score['cause'] or 'acted, changed nothing'}"
    return "passed" if score["passed"] else f"failed: {score['cause'] or 'exit status'}"


def _cell_lines(cell: dict[str, Any]) -> Iterator[str]:
    if cell["fault"]:
        yield f"fault: {cell['fault']}"
    if reply := cell["reply"]:
        yield "reply:"
        yield from indented(reply["text"] or "") if reply["text"] or not reply["tool_calls"] else ()
        for call in reply["tool_calls"]:
            yield f"  call {call['name']} {call['arguments']}"
    if cell["problem"]:
        yield f"problem: {cell['problem']}: {cell['reason']}"
    for action in cell["actions"]:
        yield from action_lines(action, reply=cell["reply"]["text"] if cell["reply"] else None)
    if cell["setup_failed"]:
        yield f"setup failed: {cell['setup_failed']}"
    if cell["state"]:
        yield "final state (- expected, + found):"
        yield from _state_lines(cell["state"])
    yield _verdict(cell)


def _state_lines(state: Sequence[dict[str, Any]]) -> Iterator[str]:
    for row in state:
        yield f"  {'=' if row['equal'] else '!'} {row['path']}"
        yield from (f"      {line}" for line in row.get("diff", ()))


# -- going there ---------------------------------------------------------------------------------------------------------


def shell_job(evaluation: Evaluation, chosen: Selection) -> ReplayJob:
    """What the first of the chosen cells executes, for the sandbox to be opened just before it.

    Raises:
        ConfigError: no chosen cell has a command.
    """
    index = _Index(evaluation)
    for cell in chosen.cells:
        replay = index.replay(chosen.task, cell, chosen.trial)
        if replay is not None and replay.delivery.actions:
            commands = tuple(action.command for action in replay.delivery.actions)
            return ReplayJob(key=replay.key, task=chosen.task, commands=commands)
    raise ConfigError("there is no command here that a shell could be opened before", field="--shell")


def shell_notice(job: ReplayJob) -> str:
    """What to tell whoever enters: the commands that were run from here."""
    commands = [shlex.join(os.fsdecode(word) for word in command.argv) for command in job.commands]
    return "\n".join(("fixture and setup are ready; from here the replay ran:", *commands, "leave with exit or Ctrl-D"))


def open_shell(evaluation: Evaluation, job: ReplayJob) -> int:
    """An interactive shell in the sandbox; returns its exit status.

    Raises:
        ConfigError: the evaluation ran without a sandbox that can be entered.
        SandboxError: the sandbox can't be started.
    """
    stored = evaluation.facts.head.spec
    spec = Spec.model_validate({name: stored[name] for name in ("sandbox", "sandbox_limits") if name in stored})
    enter = getattr(make_sandbox(spec), "enter", None)
    if enter is None:
        raise ConfigError("this evaluation ran without a sandbox; only bubblewrap can be entered", field="--shell")
    return int(enter(job))
