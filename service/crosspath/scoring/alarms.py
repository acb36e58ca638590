"""False alarms: the final state is right, and the path told its caller something else. The kind is what the facts prove.

Beside a right state a report can be wrong in these ways, the first that applies counts:

1. ``delivery``: the path told that it could not deliver all of the reply, and what it did deliver (perhaps nothing) was enough.
2. ``timeout``: our time limit ended a command; or the path told 124, timeout(1)'s status; or a harness told in its report that
   time was over, with no exit status or a signal's, or fell over ``subprocess.TimeoutExpired``.
3. ``output``: what the command wrote could not be read. The last words of the error are those of a decoder or a reader that gave
   up, or the command was ended because it wrote more than the limit.
4. ``status``: the path told failure, and nothing more is known.

``masked`` is the other way round: the task sets an exit status other than 0, and the path told 0. A filter behind the command
does that, and a reply that never ended with the status.

Who is to blame is not in the kind. A command that fails after it did its work tells failure on any path, and a program of the
reply that can't decode its input looks like a harness that can't. Such alarms stand in the reference cell, too: what a path adds
is the difference.
"""

import re

from crosspath.scoring.causes import TIMEOUT_STATUS, Signs, is_signal
from crosspath.scoring.reported import last_error_line, reported_exit, told
from crosspath.types import AlarmKind, Execution, Replay, Task

_TIME_IS_OVER = re.compile(r"\btime[ds]?[ -]?out(?:\b|error|exception|expired)|\btime limit\b|\bdeadline exceeded", re.IGNORECASE)
_TIMEOUT_CRASH = "subprocess.TimeoutExpired: "
_UNREADABLE = re.compile(
    r"""^UnicodeDecodeError\b|^'[\w.-]{1,40}'\ codec\ can't\ decode   # Python, strict decoding of what a command wrote
      | ^UnicodeEncodeError:\ .*surrogates\ not\ allowed             # Python, handing on what it decoded with surrogateescape
      | chunk\ exceed\ the\ limit|chunk\ is\ longer\ than\ limit      # asyncio, a line longer than a StreamReader's limit
      | stream\ did\ not\ contain\ valid\ UTF-8                      # Rust
      | MalformedInputException                                      # Java
    """,
    re.VERBOSE,
)


def false_alarm(signs: Signs, replay: Replay, task: Task) -> AlarmKind | None:
    """The kind of false alarm, None where the state is wrong or the report is right.

    Tasks that can't be done have none: a reply that declines has nothing to report.
    """
    execution = replay.execution
    if not signs.state_ok or execution is None or task.infeasible is not None:
        return None
    if signs.reported_ok:
        return None if task.expected_exit in (None, reported_exit(execution)) else "masked"
    if not signs.executed or signs.problem in ("contract_error", "undeliverable", "empty"):
        return "delivery"
    if signs.timed_out or TIMEOUT_STATUS in signs.exits or _told_time_is_over(execution):
        return "timeout"
    return "output" if "output" in signs.limits or _unreadable(execution) else "status"


def _told_time_is_over(execution: Execution) -> bool:
    """Not every error that speaks of a time-out: curl's own has curl's own status."""
    said = told(execution.results[-1])
    if (said.exit is None or is_signal(said.exit)) and _TIME_IS_OVER.search(said.error):
        return True
    return last_error_line(execution).startswith(_TIMEOUT_CRASH)


def _unreadable(execution: Execution) -> bool:
    return bool(_UNREADABLE.search(last_error_line(execution)))
