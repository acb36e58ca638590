"""What a path told its caller, apart from the final state: silent wrongs and false alarms."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import suite_text
from crosspath.scoring import build_tables, score
from crosspath.testing.validator import FakeValidator
from crosspath.types import AlarmKind, DeliveryProblem, ExecResult, FinalState, Replay, Score, Task
from scoring_builders import replay, result, task, wanted

EXACT = suite_text("exact")
TASK = task(wanted(b"a.txt", b"one\n"), expected_exit=0)
ANY_STATUS = task(wanted(b"a.txt", b"one\n"))
FAILS = task(wanted(b"a.txt", b"one\n"), expected_exit=3)


def scored(of: Task, what: Replay) -> Score:
    return score(what, of, FakeValidator().validate(EXACT, build_tables({of.id: of}, [what]))[0])


def report(status: int | None, error: str = "") -> ExecResult:
    """A harness that ends well and leaves this report."""
    return result(0, report=json.dumps({"exit": status, "output": "", "error": error}).encode())


CRASH = b'Traceback (most recent call last):\n  File "<stdin>", line 3, in <module>\n'
DECODER = "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"

ALARMS: dict[str, tuple[AlarmKind, Task, ExecResult]] = {
    "our time limit": ("timeout", TASK, result(None, timed_out=True)),
    "time as a limit": ("timeout", TASK, result(None, limits_hit=("time",))),
    "the path's own time limit": ("timeout", TASK, result(124)),
    "time limit told by a harness": ("timeout", TASK, report(124)),
    "time limit in words": ("timeout", TASK, report(None, "Command timed out after 30 seconds")),
    "time limit in words, killed": ("timeout", TASK, report(-9, "TimeoutError")),
    "harness fell over the time limit": (
        "timeout", TASK, result(1, CRASH + b"subprocess.TimeoutExpired: Command '['bash']' timed out after 3 seconds\n"),
    ),
    "a program's own time-out": ("status", TASK, report(28, "curl: (28) Connection timed out after 5000 ms")),
    "words that only look like it": ("status", TASK, report(None, "no runtime output")),
    "strict decoding": ("output", TASK, result(1, CRASH + DECODER.encode())),
    "strict decoding, told in a report": ("output", TASK, report(1, DECODER)),
    "strict decoding, without the name": ("output", TASK, report(1, DECODER.removeprefix("UnicodeDecodeError: "))),
    "surrogates handed on": (
        "output", TASK,
        result(1, b"UnicodeEncodeError: 'utf-8' codec can't encode character '\\udcff' in position 0: surrogates not allowed\n"),
    ),
    "line too long for the reader": (
        "output", TASK, result(1, CRASH + b"ValueError: Separator is not found, and chunk exceed the limit\n"),
    ),
    "rust": ("output", TASK, result(101, b"Error: stream did not contain valid UTF-8\n")),
    "more output than allowed": ("output", TASK, result(None, limits_hit=("output",))),
    "a source that python can't decode": (
        "status", TASK, result(1, b"SyntaxError: (unicode error) 'utf-8' codec can't decode byte 0xff in position 0\n"),
    ),
    "decoder's error that was survived": ("status", TASK, result(1, DECODER.encode() + b"\nretrying\nno such host\n")),
    "marker lost": ("status", TASK, result(97)),
    "any status": ("status", ANY_STATUS, result(1, b"grep: nothing found\n")),
    "killed": ("status", TASK, result(137)),
    "another failure than the wanted one": ("status", FAILS, result(1)),
    "wanted failure, out of time": ("timeout", FAILS, result(None, timed_out=True)),
    "wanted failure told as success": ("masked", FAILS, result(0)),
    "wanted failure told as success in a report": ("masked", FAILS, report(0)),
}  # fmt: skip


@pytest.mark.parametrize(("kind", "of", "executed"), list(ALARMS.values()), ids=list(ALARMS))
def test_kind_of_false_alarm(kind: AlarmKind, of: Task, executed: ExecResult) -> None:
    """Beside a right state a wrong report has the kind that the facts prove, and status where they prove no more."""
    got = scored(of, replay(of, None, executed))
    assert (got.state_ok, got.false_alarm, got.silent_wrong) == (True, kind, False)
    wrong = scored(of, replay(of, FinalState(), executed))
    assert (wrong.state_ok, wrong.false_alarm) == (False, None)


@pytest.mark.parametrize(("of", "executed"), [(TASK, result(0)), (ANY_STATUS, result(0)), (FAILS, result(3)), (FAILS, report(3))])
def test_right_report_is_no_alarm(of: Task, executed: ExecResult) -> None:
    """Success, or the failure that the task asks for: told as it is."""
    assert scored(of, replay(of, None, executed)).false_alarm is None


def test_false_alarm_passes_where_the_status_does_not_matter() -> None:
    """Passing is about the state, and the exit status only where the task sets one; the alarm is told either way."""
    executed = result(None, timed_out=True)
    kept, failed = (scored(of, replay(of, None, executed)) for of in (ANY_STATUS, TASK))
    assert (kept.passed, kept.false_alarm) == (True, "timeout")
    assert (failed.passed, failed.false_alarm) == (False, "timeout")


@pytest.mark.parametrize("problem", ["contract_error", "undeliverable", "empty", "refusal"])
def test_what_was_not_delivered_is_its_own_kind(problem: DeliveryProblem) -> None:
    """Where doing nothing, or a part, was right, the path told that it did not deliver, and no status is blamed."""
    got = scored(TASK, replay(TASK, problem=problem))
    assert (got.state_ok, got.passed, got.false_alarm) == (True, False, "delivery")
    partly = scored(TASK, replay(TASK, None, result(0), problem="contract_error"))
    assert (partly.reported_ok, partly.false_alarm) == (False, "delivery")


def test_declined_task_has_no_alarm() -> None:
    """A reply that rightly declines a task that can't be done runs nothing, and nothing was told wrongly."""
    of = task(wanted(b"a.txt", b"one\n"), infeasible="there is no such file")
    declined = replay(of, problem="empty")
    assert scored(of, declined).false_alarm is None


STATUSES = st.sampled_from((None, 0, 1, 3, 124, 137, -9))
ERRORS = st.sampled_from(("", "timed out", DECODER, "boom"))


@st.composite
def executed(draw: st.DrawFn) -> ExecResult:
    """One result: any status, report and limit."""
    told = draw(st.none() | st.builds(report, STATUSES, ERRORS))
    limits = draw(st.sampled_from(((), ("time",), ("output",), ("memory",))))
    ended = result(draw(STATUSES), draw(ERRORS).encode(), timed_out=draw(st.booleans()), limits_hit=limits)
    return ended if told is None else ended.model_copy(update={"report": told.report})


@given(
    of=st.sampled_from((TASK, ANY_STATUS, FAILS)),
    state=st.sampled_from((None, FinalState())),
    results=st.lists(executed(), max_size=3),
    problem=st.sampled_from((None, "truncated", "refusal", "empty", "contract_error", "undeliverable")),
)
def test_every_replay_is_one_of_four(
    of: Task, state: FinalState | None, results: list[ExecResult], problem: DeliveryProblem | None
) -> None:
    """Right and told right, silently wrong, told wrong, or a false alarm: exactly one, and only the first passes for sure."""
    what = replay(of, state, *results, problem=problem)
    got = scored(of, what)
    told_right = got.state_ok and got.reported_ok and got.false_alarm is None
    told_wrong = not got.state_ok and not got.reported_ok
    assert [told_right, got.silent_wrong, told_wrong, got.false_alarm is not None].count(True) == 1
    assert not told_right or (got.passed and got.cause is None)
    assert got.passed <= (told_right or got.false_alarm is not None)
    assert Score.from_json(got.to_json()) == got


def test_score_from_before_alarms_is_read() -> None:
    """A stored score without the field is read as one without an alarm."""
    got = scored(TASK, replay(TASK))
    old = got.model_dump(mode="json", exclude={"false_alarm"})
    assert Score.model_validate(old) == got
