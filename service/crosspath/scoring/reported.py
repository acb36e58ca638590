"""What a path itself told its caller: exit statuses, an external harness's own report, and the messages of shells.

An external path's report is JSON, ``{"exit": int, "output": str, "error": str}``; it is what the caller was told. Where it left
none (or none that can be read) the harness process's own exit status is. Of several actions the last one counts.
"""

import json
import re
from dataclasses import dataclass
from typing import Any, cast

from crosspath.types import ExecResult, Execution, Replay, Task

# Every repetition is bounded: output is hostile, and matching must stay linear in it.
_MESSAGE = re.compile(
    r"""^(?:
      # bash: "bash: -c: line 1: syntax error near ...", "s.sh: line 6: unexpected EOF while looking for ..."
      [^\n]{0,200}?:\ (?:-c:\ |eval:\ )?line\ \d+:\ (?:syntax\ error|unexpected\ (?:EOF|end\ of\ file)|unexpected\ argument)[^\n]*
      # dash and busybox: "sh: 1: Syntax error: Unterminated quoted string", "sh: syntax error: unexpected ..."
    | (?:\S{0,200}/)?(?:da|a|ba|k)?sh:\ (?:\d+:\ )?(?:eval:\ |\S{1,200}:\ \d+:\ )?[Ss]yntax\ error[^\n]*
    | \S{1,200}:\ \d+:\ (?:eval:\ |\S{1,200}:\ \d+:\ )?Syntax\ error:[^\n]*
      # zsh: "zsh:1: unmatched '", "zsh:1: parse error near ..."
    | (?:(?:\S{0,200}/)?zsh|\(eval\)|\S{1,200}\.zsh):(?:\d+:)?\ ?(?:unmatched\ |parse\ error)[^\n]*
      # bash, dash: "bash: line 1: ${a b}: bad substitution"
    | \S{1,200}:\ (?:line\ )?\d+:\ (?:[^\n]{0,200}:\ )?[Bb]ad\ substitution
    )$""",
    re.MULTILINE | re.VERBOSE,
)
_UNFINISHED_HERE_DOCUMENT = re.compile(
    r"^[^\n]{0,200}warning: here-document at line \d+ delimited by end-of-file[^\n]*$", re.MULTILINE
)


@dataclass(frozen=True)
class Told:
    """What one command told: its exit status (None: it was killed, or told none) and the texts of an external report."""

    exit: int | None
    output: str = ""
    error: str = ""


def told(result: ExecResult) -> Told:
    """What one result tells the caller."""
    report = _report(result.report)
    texts = {key: value for key in ("output", "error") if isinstance(value := report.get(key), str)}
    status = report.get("exit")
    if isinstance(status, int) and not isinstance(status, bool):
        return Told(status, **texts)
    failed = bool(texts.get("error")) and result.exit_code == 0
    return Told(None if failed else result.exit_code, **texts)


def reported_exit(execution: Execution) -> int | None:
    """The exit status that the path told: the last action's."""
    return told(execution.results[-1]).exit if execution.results else None


def reported_ok(replay: Replay, task: Task) -> bool:
    """Whether the path told its caller success: exit 0 (or the one that the task sets), in time, everything delivered.

    A reply that was cut off by its token limit, or that declines in words, and was executed all the same tells what its commands
    told: nothing told the caller otherwise.
    """
    execution = replay.execution
    if execution is None or replay.delivery.problem not in (None, "truncated", "refusal"):
        return False
    if any(timed_out(result) for result in execution.results):
        return False
    return reported_exit(execution) in {0, task.expected_exit} - {None}


def timed_out(result: ExecResult) -> bool:
    """Whether our own time limit ended a command."""
    return result.timed_out or "time" in result.limits_hit


def failed_exits(execution: Execution, task: Task, *, all_actions: bool) -> tuple[int | None, ...]:
    """Exit statuses that are neither 0 nor the one that the task sets; the reported one first."""
    statuses = [told(result).exit for result in reversed(execution.results)]
    considered = statuses if all_actions else statuses[:1]
    return tuple(status for status in considered if status is None or status not in (0, task.expected_exit))


def syntax_message(execution: Execution, *, told_failure: bool) -> str:
    """The first message of a shell that could not parse what it was given, or nothing.

    Standard error always counts, standard output (into which paths like to merge it) only where the path told failure. Texts
    of messages depend on the locale; the sandbox pins LANG=C.UTF-8.
    """
    return _first(_MESSAGE, execution, told_failure)


def here_document_warning(execution: Execution) -> str:
    """bash only warns about a here-document that never ends, and goes on with status 0: a hint, never a cause by itself."""
    return _first(_UNFINISHED_HERE_DOCUMENT, execution, False)


def last_error_line(execution: Execution) -> str:
    """The last line that is not blank of what the last action wrote to standard error."""
    text = _texts(execution.results[-1], False)[-1] if execution.results else ""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def _first(pattern: re.Pattern[str], execution: Execution, with_output: bool) -> str:
    for result in execution.results:
        for text in _texts(result, with_output):
            if match := pattern.search(text):
                return match[0].strip()
    return ""


def _texts(result: ExecResult, with_output: bool) -> list[str]:
    said = told(result)
    streams = [result.stdout.data.decode("utf-8", "backslashreplace"), said.output] if with_output else []
    error = said.error or result.stderr.data.decode("utf-8", "backslashreplace")
    return [*streams, result.stderr.data.decode("utf-8", "backslashreplace"), error]


def _report(data: bytes | None) -> dict[str, Any]:
    try:
        value = json.loads(data.decode("utf-8")) if data else None
    except (ValueError, RecursionError):
        return {}
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}
