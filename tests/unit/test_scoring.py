"""Scores: what the state is, what the path told, and the one cause."""

import json
import time

import pytest

from crosspath.catalogue import suite_text
from crosspath.scoring import PRECEDENCE, Signs, build_tables, cause_of, score
from crosspath.testing.validator import FakeValidator
from crosspath.types import DeliveryProblem, ExecResult, FileEntry, FinalState, Replay, Score, Task
from scoring_builders import file, replay, result, right_state, task, wanted

EXACT = suite_text("exact")
TASK = task(wanted(b"a.txt", b"one\n"), expected_exit=0)
LENIENT = task(wanted(b"a.txt", b"one\n"))
NOTHING = FinalState()


def scored(of: Task, what: Replay) -> Score:
    return score(what, of, FakeValidator().validate(EXACT, build_tables({of.id: of}, [what]))[0])


def told(exit_code: int | None, output: str = "", error: str = "") -> bytes:
    return json.dumps({"exit": exit_code, "output": output, "error": error}).encode()


def test_right_replay_passes_without_a_word() -> None:
    """Right state and told success: passed, no cause, no reason."""
    got = scored(TASK, replay(TASK))
    assert (got.state_ok, got.reported_ok, got.passed, got.cause, got.reason) == (True, True, True, None, "")


def test_wrong_state_with_success_told_is_silent() -> None:
    """Told success over a wrong state is what the product is for: silent_wrong."""
    got = scored(TASK, replay(TASK, NOTHING))
    assert (got.silent_wrong, got.cause, got.reason) == (True, "wrong_state", "missing: a.txt")


CAUSES: dict[str, tuple[str, ExecResult]] = {
    "bash quote": ("shell_syntax", result(2, b"bash: -c: line 1: unexpected EOF while looking for matching `\"'\n")),
    "bash token": ("shell_syntax", result(2, b"bash: -c: line 3: syntax error near unexpected token `('\n")),
    "bash end of file": ("shell_syntax", result(2, b"bash: -c: line 2: syntax error: unexpected end of file\n")),
    "bash 5.3 end of file": (
        "shell_syntax",
        result(2, b"bash: -c: line 2: syntax error: unexpected end of file from `{' command\n"),
    ),
    "bash eval": ("shell_syntax", result(1, b"bash: eval: line 2: syntax error: unexpected end of file\n")),
    "bash script": ("shell_syntax", result(2, b"/in/reply.sh: line 6: syntax error near unexpected token `fi'\n")),
    "bash substitution": ("shell_syntax", result(1, b"bash: line 1: ${a b}: bad substitution\n")),
    "dash quote": ("shell_syntax", result(2, b"sh: 1: Syntax error: Unterminated quoted string\n")),
    "dash end of file": ("shell_syntax", result(2, b'/bin/dash: 2: Syntax error: end of file unexpected (expecting "done")\n')),
    "zsh quote": ("shell_syntax", result(1, b"zsh:1: unmatched '\n")),
    "zsh token": ("shell_syntax", result(1, b"zsh:1: parse error near `|'\n")),
    "busybox": ("shell_syntax", result(2, b"sh: syntax error: unterminated quoted string\n")),
    "message merged into the output": (
        "shell_syntax",
        result(2, b"", b"bash: -c: line 1: syntax error near unexpected token `|'\n"),
    ),
    "message, status lost": ("shell_syntax", result(0, b"bash: -c: line 1: syntax error near unexpected token `|'\n")),
    "status 2 of grep": ("tool_error", result(2, b"grep: nothing: No such file or directory\n")),
    "python's syntax error": ("tool_error", result(1, b'  File "x.py", line 1\nSyntaxError: invalid syntax\n')),
    "sql's syntax error": ("tool_error", result(1, b'ERROR:  syntax error at or near "selct"\n')),
    "message only printed": ("wrong_state", result(0, b"", b"bash: -c: line 1: syntax error near unexpected token `|'\n")),
    "here-document without end": (
        "wrong_state",
        result(0, b"bash: line 4: warning: here-document at line 1 delimited by end-of-file (wanted `EOF')\n"),
    ),
    "not found": ("tool_error", result(127, b"bash: line 1: foo: command not found\n")),
    "git's fatal": ("tool_error", result(128, b"fatal: not a git repository\n")),
    "ssh's own": ("tool_error", result(255, b"Connection refused\n")),
    "traceback": ("tool_error", result(1, b"Traceback (most recent call last):\nNameError: x\n")),
    "segmentation fault": ("runtime_error", result(139)),
    "killed": ("runtime_error", result(137)),
    "killed by us": ("runtime_error", result(None)),
    "python's way to tell a signal": ("runtime_error", result(1, report=told(-9))),
    "time": ("timeout", result(None, timed_out=True)),
    "the path's own time limit": ("timeout", result(124)),
    "memory": ("resource_limit", result(137, limits_hit=("memory",))),
    "starving and out of time": ("resource_limit", result(None, timed_out=True, limits_hit=("processes",))),
    "time as a limit": ("timeout", result(None, limits_hit=("time",))),
}


@pytest.mark.parametrize(("cause", "executed"), list(CAUSES.values()), ids=list(CAUSES))
def test_cause_of_a_wrong_state(cause: str, executed: ExecResult) -> None:
    """What the facts prove about a wrong state is its cause, and the reason is a sentence."""
    got = scored(LENIENT, replay(LENIENT, NOTHING, executed))
    assert (got.cause, got.passed) == (cause, False), got.reason
    assert got.reason


PROBLEMS: tuple[DeliveryProblem, ...] = ("undeliverable", "refusal", "empty", "contract_error", "truncated")


@pytest.mark.parametrize("problem", PROBLEMS)
def test_delivery_problem_comes_before_what_follows_from_it(problem: DeliveryProblem) -> None:
    """Whatever the commands did afterwards, the earliest link is the cause."""
    executed = result(2, b"bash: -c: line 1: syntax error near unexpected token `|'\n")
    assert scored(TASK, replay(TASK, NOTHING, executed, problem=problem)).cause == problem


@pytest.mark.parametrize("problem", PROBLEMS[:4])
def test_nothing_executed_never_passes(problem: DeliveryProblem) -> None:
    """A reply of which nothing was run does not pass, even where doing nothing was right."""
    got = scored(LENIENT, replay(LENIENT, problem=problem))
    assert (got.state_ok, got.passed, got.reported_ok, got.cause) == (True, False, False, problem)


@pytest.mark.parametrize("problem", PROBLEMS[:4])
def test_delivery_without_an_execution_is_scored_too(problem: DeliveryProblem) -> None:
    """Where a path could not make a command of a reply there is no state, and the problem is the cause."""
    what = replay(TASK, problem=problem).model_copy(update={"execution": None})
    got = score(what, TASK, ())
    assert (got.state_ok, got.reported_ok, got.passed, got.cause) == (False, False, False, problem)


def test_truncated_reply_that_is_right_passes() -> None:
    """A reply cut off after its last command did everything: no cause."""
    got = scored(TASK, replay(TASK, problem="truncated"))
    assert (got.passed, got.reported_ok, got.cause) == (True, True, None)


def test_right_state_after_our_time_limit() -> None:
    """State and report are two fields: the state is right, told was a time-out, and it passes where the exit does not matter."""
    got = scored(LENIENT, replay(LENIENT, None, result(None, timed_out=True)))
    assert (got.state_ok, got.reported_ok, got.passed, got.cause) == (True, False, True, "timeout")
    assert not scored(TASK, replay(TASK, None, result(None, timed_out=True))).passed


def test_wanted_failure_told_as_success() -> None:
    """A status that the task sets and the path loses: does not pass, has no cause, and the reason says what was lost."""
    of = task(wanted(b"a.txt", b"one\n"), expected_exit=3)
    got = scored(of, replay(of, None, result(0)))
    assert (got.passed, got.reported_ok, got.cause, got.reason) == (False, True, None, "the path told exit 0 where 3 was right")
    assert scored(of, replay(of, None, result(3))).passed


def test_wanted_status_is_no_tool_error() -> None:
    """A wrong state beside the exit status that the task sets is just a wrong state."""
    of = task(wanted(b"a.txt"), expected_exit=1)
    assert scored(of, replay(of, NOTHING, result(1))).cause == "wrong_state"


def test_last_action_is_what_the_path_told() -> None:
    """Of several actions the last exit status counts as told; an earlier failure explains a wrong state."""
    right, wrong = (scored(LENIENT, replay(LENIENT, state, result(1, b"no"), result(0))) for state in (None, NOTHING))
    assert (right.reported_ok, right.passed, right.cause) == (True, True, None)
    assert (wrong.reported_ok, wrong.cause, wrong.reason) == (
        True,
        "tool_error",
        "an earlier command ended with exit 1; missing: a.txt",
    )


@pytest.mark.parametrize(
    ("report", "exit_code", "ok"),
    [
        (told(0), 1, True),
        (told(1), 0, False),
        (None, 0, True),
        (b"", 0, True),
        (b"{not json", 3, False),
        (b"[" * 100_000, 0, True),
        (b"\xff", 0, True),
        (b'{"exit": true}', 1, False),
        (told(None, error="no such tool"), 0, False),
        (told(0, error="a warning"), 0, True),
        (told(None), 0, True),
    ],
)
def test_external_report_is_what_the_path_told(report: bytes | None, exit_code: int, ok: bool) -> None:
    """The harness's own report counts; without one that can be read, its process's exit status does."""
    assert scored(TASK, replay(TASK, None, result(exit_code, report=report))).reported_ok is ok


def test_message_inside_a_report_is_found() -> None:
    """A harness that keeps the shell's message in its report has told it."""
    report = told(2, error="bash: -c: line 1: unexpected EOF while looking for matching `''")
    assert scored(TASK, replay(TASK, NOTHING, result(0, report=report))).cause == "shell_syntax"


def test_file_under_a_wrong_name_is_an_extra_file() -> None:
    """The wrong name tells more than the missing one."""
    got = scored(TASK, replay(TASK, FinalState(entries=(file(b"a.txt\r", b"one\n"),))))
    assert (got.cause, got.reason) == ("extra_files", "missing: a.txt; unexpected: a.txt\\r")


def test_untouched_leftover_is_a_tool_that_did_nothing() -> None:
    """A fixture's file that should be gone and stands there untouched: what had to remove it did not."""
    of = task(wanted(b"b.log", b"2"), fixture=(FileEntry(path=b"a.tmp", content=b"1"), FileEntry(path=b"b.log", content=b"2")))
    left = right_state(of).model_copy(update={"entries": (file(b"a.tmp", b"1"), file(b"b.log", b"2"))})
    got = scored(of, replay(of, left))
    assert (got.cause, got.reported_ok, got.reason) == ("tool_error", True, "left over: a.tmp")
    changed = left.model_copy(update={"entries": (file(b"a.tmp", b"other"), file(b"b.log", b"2"))})
    assert scored(of, replay(of, changed)).cause == "extra_files"


def test_cut_off_listing_is_never_right() -> None:
    """More entries than could be listed: not right, whatever the rest, even if a suite does not ask."""
    what = replay(TASK, right_state(TASK).model_copy(update={"truncated": True}))
    assert score(what, TASK, ()).state_ok is False
    assert scored(TASK, what).cause == "resource_limit"


def test_many_differences_are_one_sentence() -> None:
    """The reason counts, and names a few."""
    of = task(*(wanted(f"{name}.txt".encode(), b"x") for name in "abcdef"))
    wrong = right_state(of).model_copy(update={"entries": tuple(file(entry.path, b"y") for entry in right_state(of).entries)})
    assert scored(of, replay(of, wrong)).reason == "6 files differ: a.txt, b.txt, c.txt, d.txt and 2 more"


def test_fault_is_never_a_verdict() -> None:
    """A replay whose setup failed can't be scored."""
    with pytest.raises(ValueError, match="not scorable"):
        score(replay(TASK, setup_failed="git: not found"), TASK, ())


def test_every_cause_has_its_place() -> None:
    """The precedence names each cause of the vocabulary."""
    assert {rule.cause for rule in PRECEDENCE} == {
        "undeliverable", "refusal", "truncated", "empty", "contract_error", "timeout", "resource_limit",
        "shell_syntax", "tool_error", "runtime_error", "extra_files", "wrong_state",
    }  # fmt: skip


def test_wrong_state_without_any_sign_has_a_cause() -> None:
    """There is no wrong replay without a cause."""
    assert cause_of(Signs(state_ok=False, reported_ok=True)) == "wrong_state"
    assert cause_of(Signs(state_ok=True, reported_ok=False)) == "runtime_error"


@pytest.mark.parametrize(
    "piece", [b"/", b"a:", b": ", b"a: 1: ", b"bash: line 1: ", b"/sh: 1: ", b"\n", b"x.zsh", b"a: line 1: \n"]
)
def test_hostile_output_is_searched_in_linear_time(piece: bytes) -> None:
    """64 KiB that look like the start of a shell's message on every byte cost next to nothing."""
    flood = piece * (65_536 // len(piece))
    start = time.process_time()
    assert scored(TASK, replay(TASK, NOTHING, result(1, flood, flood))).cause == "tool_error"
    assert time.process_time() - start < 2


def test_a_refusal_in_words_that_was_executed_is_judged_by_its_state() -> None:
    """Executed as a harness would: right is right; wrong is blamed on the refusal, and is silent if the path told success."""
    right = scored(TASK, replay(TASK, None, result(0), problem="refusal"))
    assert (right.passed, right.cause) == (True, None)
    swallowed = scored(TASK, replay(TASK, NOTHING, result(0), problem="refusal"))
    assert (swallowed.passed, swallowed.cause, swallowed.silent_wrong) == (False, "refusal", True)
    assert scored(TASK, replay(TASK, NOTHING, result(127), problem="refusal")).cause == "refusal"


def test_extra_files_do_not_hide_that_the_right_one_is_missing() -> None:
    """The cause names the surplus, the reason both, however many and long the names are."""
    of = task(wanted(b"out.txt", b"x"))
    surplus = FinalState(entries=tuple(file(b"%d" % number + b"y" * 250) for number in range(9)))
    got = scored(of, replay(of, surplus))
    assert got.cause == "extra_files"
    assert got.reason.startswith("missing: out.txt; unexpected: 0yyy")
    assert got.reason.endswith("and 5 more")


IMPOSSIBLE = task(wanted(b"a.txt", b"one\n", mode=0o644), infeasible="there is no b.txt")
TOUCHED = FinalState(entries=(file(b"a.txt", b"one\n"), file(b"b.txt")))


def declining(what: Replay) -> Replay:
    """The same replay of a reply that declines in the contract's form."""
    delivery = what.delivery.model_copy(
        update={"problem": "refusal", "reason": "the reply declines: no b.txt", "abstained": True}
    )
    return what.model_copy(update={"delivery": delivery})


def test_declining_what_can_t_be_done_passes_without_a_word() -> None:
    """In the form and with the state as it was: passed, no cause; the caller was told no success."""
    got = scored(IMPOSSIBLE, declining(replay(IMPOSSIBLE, problem="refusal")))
    assert (got.passed, got.state_ok, got.reported_ok, got.cause, got.reason) == (True, True, False, None, "")
    assert got.infeasible
    ran = scored(IMPOSSIBLE, declining(replay(IMPOSSIBLE, None, result(127, b"CANNOT:: command not found"))))
    assert (ran.passed, ran.cause) == (True, None)


def test_declining_what_can_be_done_is_a_refusal() -> None:
    """The same reply where the task could have been done, even where doing nothing was right."""
    got = scored(LENIENT, declining(replay(LENIENT, NOTHING, problem="refusal")))
    assert (got.passed, got.cause, got.reason) == (False, "refusal", "the reply declines: no b.txt")
    assert not scored(LENIENT, declining(replay(LENIENT, problem="refusal"))).passed
    assert not got.infeasible


def test_declining_after_a_change_is_not_right() -> None:
    """The form alone does not pass: what was changed is the cause, not the refusal."""
    got = scored(IMPOSSIBLE, declining(replay(IMPOSSIBLE, TOUCHED, result(0))))
    assert (got.passed, got.cause) == (False, "extra_files")
    assert got.reason == "declined, but the state was changed: unexpected: b.txt"
    chmod = FinalState(entries=(file(b"a.txt", b"one\n", mode=0o666),))
    assert scored(IMPOSSIBLE, declining(replay(IMPOSSIBLE, chmod, result(0)))).cause == "wrong_state"


def test_declining_in_other_words_is_not_the_form() -> None:
    """A refusal that no program could tell from a command does not pass; whether it touched anything is said."""
    untouched = scored(IMPOSSIBLE, replay(IMPOSSIBLE, None, result(127), problem="refusal"))
    assert (untouched.passed, untouched.cause) == (False, "refusal")
    assert untouched.reason.startswith("not declined in the contract's form: ")
    assert "the state was changed" in scored(IMPOSSIBLE, replay(IMPOSSIBLE, TOUCHED, result(0), problem="refusal")).reason


@pytest.mark.parametrize(
    ("what", "cause", "reason"),
    [
        (replay(IMPOSSIBLE, TOUCHED), "extra_files", "acted, though the task can't be done; unexpected: b.txt"),
        (replay(IMPOSSIBLE, None, result(1, b"no\n")), "tool_error", "acted, though the task can't be done; exit 1: no"),
        (replay(IMPOSSIBLE), None, "acted, though the task can't be done"),
        (replay(IMPOSSIBLE, problem="empty"), "empty", "did not decline, though the task can't be done; empty"),
    ],
)
def test_acting_on_what_can_t_be_done_never_passes(what: Replay, cause: str | None, reason: str) -> None:
    """Whatever it did, and although nothing was changed; the reason says that declining was right."""
    got = scored(IMPOSSIBLE, what)
    assert (got.passed, got.cause, got.reason) == (False, cause, reason)
