"""The verdict on one replay, from its facts and the checks that it did not meet."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crosspath.escaping import escape, one_line
from crosspath.scoring.alarms import false_alarm
from crosspath.scoring.causes import Signs, cause_of, is_signal
from crosspath.scoring.reported import (
    failed_exits,
    here_document_warning,
    last_error_line,
    reported_exit,
    reported_ok,
    syntax_message,
    timed_out,
)
from crosspath.scoring.tables import scorable
from crosspath.types import Cause, CheckResult, Limit, Replay, Score, Task

EXIT_SUBJECT = b"exit"
_NAMES_SHOWN = 4
_NAME_CHARACTERS = 60
_REASON_CHARACTERS = 300


def score(replay: Replay, task: Task, checks: Sequence[CheckResult]) -> Score:
    """``state_ok``, ``reported_ok``, ``passed``, the cause and the kind of false alarm; ``checks``: what a validator found.

    Where not one command was run nothing passes, even if doing nothing was right. A task that can't be done passes if the reply
    declines in the contract's form and the state is as it was.

    Raises:
        ValueError: the replay can't be scored (see ``scorable``): a fault is never a verdict.
    """
    if not scorable(replay):
        raise ValueError(f"not scorable: {replay.key.trial.task} on {replay.transport} is a fault, or its setup failed")
    signs = _signs(replay, task, tuple(check for check in checks if check.subject != EXIT_SUBJECT))
    judged = _feasible if task.infeasible is None else _infeasible
    passed, cause, reason = judged(signs, replay, checks)
    return Score(
        key=replay.key,
        state_ok=signs.state_ok,
        reported_ok=signs.reported_ok,
        passed=passed,
        cause=cause,
        reason=one_line(reason)[:_REASON_CHARACTERS],
        checks=tuple(checks),
        infeasible=task.infeasible is not None,
        false_alarm=false_alarm(signs, replay, task),
    )


_Verdict = tuple[bool, Cause | None, str]
"""Passed, cause, reason."""


def _feasible(signs: Signs, replay: Replay, checks: Sequence[CheckResult]) -> _Verdict:
    exit_ok = all(check.subject != EXIT_SUBJECT for check in checks)
    cause = cause_of(signs)
    return signs.state_ok and exit_ok and signs.executed, cause, _reason(cause, signs, replay, checks)


def _infeasible(signs: Signs, replay: Replay, checks: Sequence[CheckResult]) -> _Verdict:
    """Of a task that can't be done. Declining is no failure of the reply here, so it is no cause, unless the form is missed."""
    state = "" if signs.state_ok else f"the state was changed: {_state_words(signs.failed) or 'more entries than can be listed'}"
    if replay.delivery.abstained:
        cause = None if signs.state_ok else cause_of(replace(signs, problem=None))
        return signs.state_ok, cause, f"declined, but {state}" if state else ""
    cause = cause_of(signs)
    if cause == "refusal":
        return False, cause, _joined(f"not declined in the contract's form: {replay.delivery.reason}", state)
    did = "acted" if signs.executed else "did not decline"
    return False, cause, _joined(f"{did}, though the task can't be done", _reason(cause, signs, replay, checks))


def _signs(replay: Replay, task: Task, failed: tuple[CheckResult, ...]) -> Signs:
    execution, problem = replay.execution, replay.delivery.problem
    if execution is None:
        return Signs(state_ok=False, reported_ok=False, executed=False, problem=problem)
    state_ok = not failed and not execution.state.truncated
    ok = reported_ok(replay, task)
    return Signs(
        state_ok=state_ok,
        reported_ok=ok,
        executed=bool(execution.results),
        problem=problem,
        limits=_limits(replay),
        timed_out=any(timed_out(result) for result in execution.results),
        syntax_message="" if state_ok and ok else syntax_message(execution, told_failure=not ok),
        exits=failed_exits(execution, task, all_actions=not state_ok),
        failed=failed,
    )


def _limits(replay: Replay) -> tuple[Limit, ...]:
    assert replay.execution is not None
    hit: list[Limit] = [limit for result in replay.execution.results for limit in result.limits_hit if limit != "time"]
    if replay.execution.state.truncated:
        hit.append("entries")
    return tuple(dict.fromkeys(hit))


def _reason(cause: Cause | None, signs: Signs, replay: Replay, checks: Sequence[CheckResult]) -> str:
    """One sentence for a human; never parsed."""
    state = "" if signs.state_ok else _state_words(signs.failed)
    if cause is None:
        exits = [check for check in checks if check.subject == EXIT_SUBJECT]
        return f"the path told exit {exits[0].actual} where {exits[0].expected} was right" if exits else ""
    if signs.problem == cause:
        return replay.delivery.reason or cause.replace("_", " ")
    if cause == "resource_limit" and signs.limits:
        return _joined(f"hit the limit of {', '.join(signs.limits)}", state)
    if cause == "timeout":
        return _joined("our time limit ended it" if signs.timed_out else "the path's own time limit ended it (status 124)", state)
    if cause == "shell_syntax" and signs.syntax_message:
        return signs.syntax_message
    if cause in ("runtime_error", "tool_error") and signs.exits:
        return _joined(_exit_words(signs.exits, replay), state)
    return _joined(state, here_document_warning(replay.execution) if replay.execution else "")


def _exit_words(exits: tuple[int | None, ...], replay: Replay) -> str:
    assert replay.execution is not None
    status = next((status for status in exits if is_signal(status)), exits[0])
    said = last_error_line(replay.execution)
    if status is None:
        words = "ended without telling an exit status"
    elif is_signal(status):
        words = f"ended by signal {-status if status < 0 else status - 128}"
    elif status == reported_exit(replay.execution):
        words = f"exit {status}"
    else:
        words = f"an earlier command ended with exit {status}"
    return f"{words}: {said}" if said else words


def _state_words(failed: Iterable[CheckResult]) -> str:
    """``missing: a.txt; unexpected: c``: what is missing comes first, so that no long list of other names can hide it."""
    groups: dict[str, list[str]] = {"missing": []}
    for check in failed:
        names = groups.setdefault(_group(check), [])
        name = _short(one_line(escape(check.subject)))
        if name not in names:
            names.append(name)
    return "; ".join(_group_words(group, names) for group, names in groups.items() if names)


def _short(name: str) -> str:
    """A name of bearable length; both ends stay, because both tell names apart."""
    return name if len(name) <= _NAME_CHARACTERS else f"{name[: _NAME_CHARACTERS // 2]}...{name[-_NAME_CHARACTERS // 2 + 3 :]}"


def _group(check: CheckResult) -> str:
    if check.expectation.startswith("leak"):
        return check.actual
    if check.actual == "absent":
        return "missing"
    if check.cause == "extra_files":
        return "unexpected"
    return "left over" if check.actual == "left over" else "differ"


def _group_words(group: str, names: list[str]) -> str:
    shown = ", ".join(names[:_NAMES_SHOWN]) + (f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else "")
    if group.startswith("leak: "):
        return f"{group} in {shown}"
    if group != "differ":
        return f"{group}: {shown}"
    if all(name.startswith("observer:") for name in names):
        return f"{shown} differs" if len(names) == 1 else f"{shown} differ"
    return f"{len(names)} file{'s' if len(names) > 1 else ''} differ{'' if len(names) > 1 else 's'}: {shown}"


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
