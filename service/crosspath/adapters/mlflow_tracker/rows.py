"""One row per replay for MLflow's evaluation pages: request, response and assessments, as plain data.

MLflow pairs the rows of two runs by equal requests, so a request holds the task and the trial and nothing of the candidate.
"""

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosspath.adapters.mlflow_tracker.names import shown
from crosspath.analysis.alarms import ALARM_WORDS
from crosspath.escaping import markdown
from crosspath.types import (
    ExecResult,
    Facts,
    Judgement,
    PlannedCell,
    Replay,
    ReplayKey,
    Score,
    Task,
    Trial,
    TrialKey,
    canonical_json,
)

LONGEST_TEXT = 4_000
"""Characters of a reply, a command or an output in a row; the whole text is in the bundle."""


@dataclass(frozen=True)
class Verdict:
    """One assessment of a row. ``fault`` instead of ``value``: it could not be observed."""

    name: str
    value: bool | str | None = None
    rationale: str = ""
    fault: str | None = None


@dataclass(frozen=True)
class Row:
    """One replay of a cell, or a trial that got no reply."""

    key: tuple[str, int]
    """Task and trial index."""
    request: Mapping[str, Any]
    response: Mapping[str, Any]
    verdicts: tuple[Verdict, ...]
    started_s: float
    duration_s: float
    tags: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def name(self) -> str:
        return f"{self.key[0]} #{self.key[1]}"

    @property
    def request_text(self) -> str:
        """What the list of rows shows; equal for the same trial in every run."""
        return json.dumps(self.request, ensure_ascii=False)

    @property
    def response_text(self) -> str:
        return json.dumps(self.response, ensure_ascii=False)

    @property
    def fault(self) -> str | None:
        """Why there is nothing to judge."""
        return next((verdict.fault for verdict in self.verdicts if verdict.fault), None)


def span_record(row: Row) -> dict[str, Any]:
    """The row as the only span of a new trace, in the form that MLflow's ``Span.from_dict`` reads."""
    trace_id = secrets.token_hex(16)
    attributes = {
        "mlflow.traceRequestId": f"tr-{trace_id}",
        "mlflow.spanType": "TASK",
        "mlflow.spanInputs": row.request,
        "mlflow.spanOutputs": row.response,
    }
    start = int(row.started_s * 1e9)
    return {
        "trace_id": f"tr-{trace_id}",
        "span_id": secrets.token_hex(8),
        "parent_span_id": None,
        "name": row.name,
        "start_time_unix_nano": start,
        "end_time_unix_nano": start + int(row.duration_s * 1e9),
        "status": {"code": "ERROR" if row.fault else "OK", "message": row.fault or ""},
        "attributes": {name: json.dumps(value, ensure_ascii=False) for name, value in attributes.items()},
    }


class RowSource:
    """Looks up trials, replays and scores of an evaluation by cell."""

    def __init__(self, facts: Facts, judgement: Judgement) -> None:
        self._facts = facts
        self._tasks = {task.id: task for task in facts.tasks}
        self._trials = {trial.key: trial for trial in facts.trials}
        self._replays = {replay.key: replay for replay in facts.replays}
        self._scores = {score.key: score for score in judgement.scores}
        self._started = {attempt.request_key: attempt.started_at for attempt in facts.attempts}

    def rows(self, candidate: str, cell: str) -> tuple[Row, ...]:
        """The rows of one cell in the order of the tasks; first replays only, repeats are in the bundle."""
        planned = next(
            (one for one in self._facts.cells if (one.candidate, one.name) == (candidate, cell) and not one.control), None
        )
        if planned is None:
            return ()
        keys = (
            TrialKey(generation=planned.generation.digest, task=task.id, index=index)
            for task in self._facts.tasks
            for index in range(self._facts.lock.trials)
        )
        return tuple(self._row(planned, self._trials[key]) for key in keys if key in self._trials)

    def _row(self, cell: PlannedCell, trial: Trial) -> Row:
        task = self._tasks[trial.key.task]
        key = ReplayKey(trial=trial.key, path=cell.path, encoded=cell.encoded)
        replay, score = self._replays.get(key), self._scores.get(key)
        latency = trial.reply.latency_s if trial.reply else None
        return Row(
            key=(task.id, trial.key.index),
            request={"task": shown(task.id), "trial": trial.key.index, "instruction": _instruction(task)},
            response=_response(trial, replay, score),
            verdicts=_verdicts(trial, replay, score, feasible=task.infeasible is None),
            started_s=self._started.get(trial.request.key, self._facts.head.created_at),
            duration_s=(latency or 0.0) + sum(result.duration_s for result in _results(replay)),
            tags={
                "family": shown(task.family),
                "tier": "none" if task.tier is None else str(task.tier),
                "partition": task.partition,
            },
        )


def select_rows(cells: Sequence[Sequence[Row]], most: int) -> tuple[tuple[Row, ...], ...]:
    """At most ``most`` rows over all cells, the same tasks in each, so that candidates stay comparable; failed tasks first."""
    keys = list(dict.fromkeys(row.key for rows in cells for row in rows))
    failed = {row.key for rows in cells for row in rows if not all(verdict.value is True for verdict in row.verdicts[:1])}
    per_cell = most // max(1, len(cells))
    chosen = set(sorted(keys, key=lambda key: key not in failed)[:per_cell])
    return tuple(tuple(row for row in rows if row.key in chosen) for rows in cells)


def bounded(text: str | None) -> str | None:
    """A text for a row; a long one ends with how much is missing and where it is."""
    if text is None:
        return None
    text = shown(text)
    if len(text) <= LONGEST_TEXT:
        return text
    return f"{text[:LONGEST_TEXT]}… [{len(text) - LONGEST_TEXT} more characters: see the bundle]"


def _instruction(task: Task) -> str:
    text = task.instruction or "\n".join(f"{message.role}: {message.content}" for message in task.messages)
    return bounded(text) or ""


def _results(replay: Replay | None) -> tuple[ExecResult, ...]:
    return replay.execution.results if replay and replay.execution else ()


def _response(trial: Trial, replay: Replay | None, score: Score | None) -> dict[str, Any]:
    """What a reader needs to see why a row passed or failed, the verdict first."""
    reply = trial.reply
    if reply is None:
        return {"fault": trial.fault.message if trial.fault else "no reply"}
    problem = (replay.delivery.reason or replay.delivery.problem) if replay and replay.delivery.problem else None
    response: dict[str, Any] = {
        "verdict": None if score is None else _verdict(score),
        "reason": bounded(score.reason) if score and score.reason else None,
        "reply": bounded(reply.text),
        "tool_calls": [f"{shown(call.name)} {bounded(call.arguments)}" for call in reply.tool_calls],
        "not_delivered": bounded(problem),
        "executed": [bounded(_words(action.command.argv)) for action in replay.delivery.actions] if replay else [],
        "results": [_result(result) for result in _results(replay)],
    }
    return {name: value for name, value in response.items() if value not in (None, [])}


def _verdict(score: Score) -> str:
    if score.infeasible:
        return "declined, which was right" if score.passed else f"not declined rightly: {score.cause or 'acted, changed nothing'}"
    verdict = "passed" if score.passed else f"failed: {score.cause or 'exit status'}"
    if score.false_alarm:
        return f"{verdict} (the state is right, reported wrongly: {ALARM_WORDS[score.false_alarm]})"
    return f"{verdict} (reported as fine)" if score.silent_wrong else verdict


def _result(result: ExecResult) -> dict[str, Any]:
    out = {
        "exit": "timed out" if result.timed_out else result.exit_code,
        "stdout": bounded(result.stdout.data.decode("utf-8", "backslashreplace")),
        "stderr": bounded(result.stderr.data.decode("utf-8", "backslashreplace")),
    }
    return {name: value for name, value in out.items() if value != ""}


def _words(argv: Iterable[bytes]) -> str:
    return canonical_json([word.decode("utf-8", "backslashreplace") for word in argv])


def _verdicts(trial: Trial, replay: Replay | None, score: Score | None, *, feasible: bool) -> tuple[Verdict, ...]:
    """``passed`` first; for a task that can't be done ``declined``, so that MLflow's own means of the others stay pass rates.

    A fault is neither true nor false: it is an assessment with an error.
    """
    first = "passed" if feasible else "declined"
    if score is None:
        fault = trial.fault or (replay.fault if replay else None)
        reason = f"{fault.boundary}: {fault.type}: {fault.message}" if fault else "not replayed"
        return (Verdict(first, fault=shown(reason)[:1000]),)
    reason = markdown(score.reason)  # MLflow renders it
    if not feasible:
        return Verdict(first, score.passed, reason), Verdict("untouched", score.state_ok, "the state is as it was")
    return (
        Verdict(first, score.passed, reason),
        Verdict("state_ok", score.state_ok, "the final state is exactly the expected one" if score.state_ok else ""),
        Verdict("reported_ok", score.reported_ok, "what the path itself told the caller"),
        Verdict("false_alarm", score.false_alarm or "none", "how a right state was told as something else"),
        Verdict("cause", score.cause or "none", reason),
    )
