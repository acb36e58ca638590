"""How one trial went, stage by stage, as spans below the row of its task: what was asked and came back, what the path made of it,
what was executed and what it did, how the final state differs, and what the validator said.

A span's name says how its stage ended, and one that went wrong is an error with an exception, which MLflow marks. MLflow renders
texts as Markdown, so every text that a model or a program wrote stands in a block of code: as it is, and harmless.
"""

import json
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from crosspath.adapters.mlflow_tracker.names import shown
from crosspath.escaping import one_line
from crosspath.reports.blocks import fenced
from crosspath.scoring.state_diff import readable, state_rows
from crosspath.types import Action, CheckResult, ExecResult, Replay, Reply, Score, Task, Trial

LONGEST_TEXT = 4_000
"""Characters of a reply, a command or an output in a row; the whole text is in the bundle."""
SHORTEST_S = 0.000_001
"""What takes no time is a microsecond long, so that spans keep their order."""


@dataclass(frozen=True)
class Stage:
    """One span below a row."""

    name: str
    kind: str
    """One of MLflow's span types: it chooses the icon."""
    inputs: Any = None
    outputs: Any = None
    duration_s: float = 0.0
    problem: str | None = None
    """Why the trial got no further than here, or no further rightly."""
    details: str = ""
    """What there is to see of the problem: MLflow opens a span that went wrong on its exception, so it stands there."""
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class ShownTrial:
    """One trial of a task in one cell, with all that is known of it."""

    task: Task
    trial: Trial
    replay: Replay | None
    score: Score | None

    @property
    def results(self) -> tuple[ExecResult, ...]:
        return self.replay.execution.results if self.replay and self.replay.execution else ()

    @property
    def fault(self) -> str | None:
        """Why it could not be observed."""
        fault = self.trial.fault or (self.replay.fault if self.replay else None)
        return f"not observed ({fault.boundary}): {fault.type}: {fault.message}" if fault else None

    @property
    def duration_s(self) -> float:
        reply = self.trial.reply
        return ((reply.latency_s if reply else None) or 0.0) + sum(result.duration_s for result in self.results)


def literal(text: str | None, language: str = "text") -> str | None:
    """A foreign text as a block of code in Markdown, whatever is in it; None and an empty one stay what they are."""
    text = bounded(text)
    return fenced(text, language).removesuffix("\n") if text else text


def bounded(text: str | None) -> str | None:
    """A text for a row, control characters visible; a long one ends with how much is missing and where it is."""
    if text is None:
        return None
    kept = one_line(shown(text[:LONGEST_TEXT]), keep="\n\t")
    return kept if len(text) <= LONGEST_TEXT else f"{kept}… [{len(text) - LONGEST_TEXT} more characters: see the bundle]"


def stages_of(one: ShownTrial) -> tuple[Stage, ...]:
    """The stages as far as the trial got."""
    return tuple(_stages(one))


def _stages(one: ShownTrial) -> Iterator[Stage]:
    yield _generate(one.trial)
    if one.replay is None:
        return
    delivery = one.replay.delivery
    for number, action in enumerate(delivery.actions):
        which = f" ({number + 1} of {len(delivery.actions)})" if len(delivery.actions) > 1 else ""
        yield from _hops(action, one.trial.reply, which)
        yield _execute(action, one.results[number] if number < len(one.results) else None, which)
    if delivery.problem:
        words = shown(delivery.reason or delivery.problem)
        yield Stage(f"not delivered: {delivery.problem}", "PARSER", outputs={"reason": literal(words)}, problem=words)
    if one.replay.execution:
        yield _final_state(one)
    if one.score:
        yield _validate(one.score)
    if one.fault:
        yield Stage("not observed", "UNKNOWN", outputs={"fault": literal(one.fault)}, problem=shown(one.fault))


def usage_attributes(reply: Reply | None) -> dict[str, Any]:
    """Tokens in MLflow's own form, where the server told them."""
    usage = reply.usage if reply else None
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return {}
    counts = {"input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens}
    return {"mlflow.chat.tokenUsage": counts | {"total_tokens": usage.prompt_tokens + usage.completion_tokens}}


def _generate(trial: Trial) -> Stage:
    """The request as it was sent and the reply as it came back, in the form that MLflow shows as a conversation."""
    request, reply = trial.request, trial.reply
    messages = [{**message, "content": _content(message.get("content"))} for message in request.messages]
    known = {"model": reply.served_model, "finish_reason": reply.finish_reason, "cost_usd": reply.cost_usd} if reply else {}
    return Stage(
        "generate",
        "CHAT_MODEL",
        inputs={"model": shown(request.model), "messages": messages},
        outputs=_choices(reply) if reply else None,
        duration_s=(reply.latency_s if reply else None) or 0.0,
        problem=shown(f"{trial.fault.type}: {trial.fault.message}") if trial.fault else None,
        attributes={**usage_attributes(reply), **{name: value for name, value in known.items() if value is not None}},
    )


def _content(content: Any) -> Any:
    return literal(content) if isinstance(content, str) else content


def _choices(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": literal(reply.text)}
    calls = [
        {"id": shown(call.id), "type": "function", "function": {"name": shown(call.name), "arguments": bounded(call.arguments)}}
        for call in reply.tool_calls
    ]
    choice = {"index": 0, "message": message | ({"tool_calls": calls} if calls else {}), "finish_reason": reply.finish_reason}
    return {"choices": [choice]}


def _hops(action: Action, reply: Reply | None, which: str) -> Iterator[Stage]:
    """Clean-up, decoding and each layer: before and after."""
    before = reply.text or "" if reply else ""
    for hop in action.hops:
        after = readable(hop.text)
        if hop.layer != "reply":
            name = f"{_hop_name(hop.layer)}{which}{'' if after != before else ': unchanged'}"
            yield Stage(name, "PARSER", {"before": literal(before)}, {"after": literal(after)})
        before = after


def _hop_name(layer: str) -> str:
    """A clean-up and a decoder say what they are; everything else is a layer of the path."""
    return shown(layer) if ":" in layer else f"path: {shown(layer)}"


def _execute(action: Action, result: ExecResult | None, which: str) -> Stage:
    inputs = _command_parts(action)
    if result is None:
        return Stage(f"execute{which}: not observed", "TOOL", inputs, problem="it was not run, or not observed")
    problem = _ended(result) if result.timed_out or result.exit_code != 0 else None
    name, details = f"execute{which}: {_ended(result)}", f"{command_text(action)}\n\n{result_text(result)}"
    return Stage(name, "TOOL", inputs, _result_parts(result), result.duration_s, problem, details)


def command_text(action: Action) -> str:
    """What is executed: the words of the command, one a line."""
    return "\n".join(f"{number} | {readable(word)}" for number, word in enumerate(action.command.argv))


def _command_parts(action: Action) -> dict[str, Any]:
    """The command, and what it reads where the text is on its standard input or in a file."""
    command = action.command
    files = [f"{readable(entry.path)}:\n{readable(entry.content or b'')}" for entry in command.files]
    found = {"command": command_text(action), "stdin": readable(command.stdin), "files": "\n\n".join(files)}
    return {name: literal(value) for name, value in found.items() if value}


def result_text(result: ExecResult) -> str:
    """How a command ended and what it wrote, for a person."""
    streams = (("stdout", result.stdout.data), ("stderr", result.stderr.data))
    written = [f"{name}:\n{readable(data)}".removesuffix("\n") for name, data in streams if data]
    return "\n".join([_ended(result), *written])


def _ended(result: ExecResult) -> str:
    return "timed out" if result.timed_out else f"exit {result.exit_code}"


def _result_parts(result: ExecResult) -> dict[str, Any]:
    streams = (("stdout", result.stdout.data), ("stderr", result.stderr.data))
    return {"ended": _ended(result), **{name: literal(readable(data)) for name, data in streams if data}}


def state_difference(one: ShownTrial) -> str:
    """What differs, path by path, as the lines of a diff: ``-`` expected, ``+`` found. Empty where nothing does."""
    if one.replay is None or one.score is None or not one.score.checks:
        return ""
    rows = state_rows(one.task, one.replay, one.score)
    return "\n".join(_diff_lines(row for row in rows if not row["equal"]))


def _diff_lines(rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    for row in rows:
        yield f"@@ {row['path']}"
        yield from row.get("diff", ())


def _final_state(one: ShownTrial) -> Stage:
    assert one.replay is not None
    assert one.replay.execution is not None
    rows = state_rows(one.task, one.replay, one.score)
    equal = [row["path"] for row in rows if row["equal"]]
    if setup := one.replay.execution.setup_failed:
        problem = "the task's set-up failed"
        return Stage(f"final state: {problem}", "RETRIEVER", outputs={"setup failed": literal(setup)}, problem=problem)
    differing = len(rows) - len(equal)
    differs = f"{differing} {'differs' if differing == 1 else 'differ'}"
    difference = state_difference(one)
    outputs = {"differs (- expected, + found)": literal(difference, "diff") or "nothing", "as expected": equal}
    name = f"final state: {differs if differing else 'as expected'}"
    problem = f"{differs} (- expected, + found)" if differing else None
    return Stage(name, "RETRIEVER", None, outputs, problem=problem, details=difference)


def _validate(score: Score) -> Stage:
    checks = [
        {
            "expectation": check.expectation,
            "of": readable(check.subject),
            "expected": bounded(check.expected),
            "found": bounded(check.actual),
        }
        for check in score.checks
    ]
    outputs = {
        "passed": score.passed,
        "cause": score.cause or "none",
        "told the caller": "success" if score.reported_ok else "failure",
        "reason": literal(score.reason),
        "not met": checks,
    }
    problem = None if score.passed else score.cause or "exit status"
    ended = f"failed, {problem}" if problem else "passed"
    name = f"validate by {shown(score.validator)}: {ended}"
    details = "\n".join([score.reason, *(_check_text(check) for check in score.checks)])
    return Stage(name, "EVALUATOR", None, outputs, problem=problem, details=details)


def _check_text(check: CheckResult) -> str:
    return f"{check.expectation} of {readable(check.subject)}: expected {check.expected}, found {check.actual}"


def stage_records(stages: Sequence[Stage], root: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The stages as spans below ``root``, one after the other."""
    found: list[dict[str, Any]] = []
    start = int(root["start_time_unix_nano"])
    for stage in stages:
        end = start + int(max(stage.duration_s, SHORTEST_S) * 1e9)
        found.append(_record(stage, root, start, end))
        start = end
    return found


def _record(stage: Stage, root: Mapping[str, Any], start: int, end: int) -> dict[str, Any]:
    attributes = {
        "mlflow.traceRequestId": root["trace_id"],
        "mlflow.spanType": stage.kind,
        "mlflow.spanInputs": stage.inputs,
        "mlflow.spanOutputs": stage.outputs,
        **stage.attributes,
    }
    known = {name: value for name, value in attributes.items() if value is not None}
    return {
        "trace_id": root["trace_id"],
        "span_id": secrets.token_hex(8),
        "parent_span_id": root["span_id"],
        "name": stage.name,
        "start_time_unix_nano": start,
        "end_time_unix_nano": end,
        "status": {"code": "ERROR" if stage.problem else "OK", "message": stage.problem or ""},
        "attributes": {name: json.dumps(value, ensure_ascii=False) for name, value in known.items()},
        "events": [_exception(stage, end)] if stage.problem else [],
    }


def _exception(stage: Stage, at: int) -> dict[str, Any]:
    details = {"exception.stacktrace": bounded(stage.details)} if stage.details else {}
    attributes = {"exception.type": stage.name, "exception.message": stage.problem, **details}
    return {"name": "exception", "time_unix_nano": at, "attributes": attributes}
