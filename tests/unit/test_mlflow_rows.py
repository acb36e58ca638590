"""Rows of MLflow's evaluation pages: one per task, what they say, and the stages of those that fail."""

import json
from itertools import pairwise
from typing import Any

import pytest

from builders import evaluation, task
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.adapters.mlflow_tracker.names import shown
from crosspath.adapters.mlflow_tracker.rows import Row, select_rows, span_records, with_stages
from crosspath.adapters.mlflow_tracker.stages import LONGEST_TEXT, ShownTrial, bounded, literal, stages_of
from crosspath.escaping import one_line
from crosspath.types import Action, CheckResult, Command, Delivery, Facts, Fault, Judgement, Losses, Score, ToolCall, TrialKey

HOSTILE = "```\n![x](http://example.invalid/x.png) <img src=x onerror=alert(1)> [a](javascript:b) \x1b[2J \u202e \0"


def rows_of(facts: Facts, judgement: Judgement, run: int = 0) -> tuple[Row, ...]:
    return layout(facts, judgement).nested[run].rows


def verdicts(row: Row) -> dict[str, Any]:
    return {verdict.name: verdict.value for verdict in row.verdicts}


def changed(judgement: Judgement, generation: str, name: str, *passed: bool) -> Judgement:
    """The judgement with the trials of one task and generation turning out so, in order, wherever they are executed."""

    def other(score: Score) -> Score:
        key = score.key.trial
        if (key.generation, key.task) != (generation, name):
            return score
        right = passed[key.index]
        cause = None if right else ("timeout" if key.index == 0 else "wrong_state")
        return score.model_copy(update={"passed": right, "state_ok": right, "cause": cause, "reported_ok": right})

    return judgement.model_copy(update={"scores": tuple(map(other, judgement.scores))})


def with_checks() -> tuple[Facts, Judgement]:
    """The usual evaluation; failing scores say which expectation was not met."""
    facts, judgement = evaluation()
    check = CheckResult(expectation="content", cause="wrong_state", subject=b"out.txt", expected="costs $5", actual="costs ")
    scores = tuple(score if score.passed else score.model_copy(update={"checks": (check,)}) for score in judgement.scores)
    return facts, judgement.model_copy(update={"scores": scores})


def attributes(record: dict[str, Any], name: str) -> Any:
    return json.loads(record["attributes"].get(f"mlflow.span{name}", "null"))


def test_one_row_per_task() -> None:
    """Several trials of a task are one row, ``passed`` is the share that pass: MLflow's mean is the pass rate of these."""
    facts, judgement = evaluation(trials=4)
    own = next(cell for cell in facts.cells if (cell.candidate, cell.name) == ("adaptive", "NN"))
    judgement = changed(judgement, own.generation.digest, "write-bytes/price", False, False, False, True)
    rows = rows_of(facts, judgement, 2)
    assert [row.task for row in rows] == [one.id for one in facts.tasks]
    assert [verdicts(row)["passed"] for row in rows] == [0.25, 1.0, 1.0]
    assert verdicts(rows[0]) == {"passed": 0.25, "state_ok": 0.25, "misreport": "none", "cause": "timeout", "trials": 4.0}
    assert rows[0].response["trials"] == "1 of 4 passed; shown is trial 0"
    assert rows[0].preview.startswith("1 of 4 passed; shown is trial 0 | failed: timeout")


def test_the_cause_is_that_of_the_trial_that_is_shown() -> None:
    """Where trials fail in several ways the row states the cause of the shown one, and counts all of them behind its reason."""
    facts, judgement = evaluation(trials=4)
    own = next(cell for cell in facts.cells if (cell.candidate, cell.name) == ("adaptive", "NN"))
    judgement = changed(judgement, own.generation.digest, "write-bytes/price", False, False, False, True)
    row = rows_of(facts, judgement, 2)[0]
    cause = next(verdict for verdict in row.verdicts if verdict.name == "cause")
    assert (row.response["verdict"], cause.value, row.cause) == ("failed: timeout", "timeout", "timeout")
    assert cause.rationale.endswith("(all trials: 2 wrong_state, 1 timeout)")


def test_a_missing_trial_is_not_shown_in_place_of_one_with_a_verdict() -> None:
    """A task of which one trial has no reply shows one that has a verdict, and says how many lack one."""
    facts, judgement = evaluation(trials=2)
    own = next(cell for cell in facts.cells if (cell.candidate, cell.name) == ("adaptive", "NN"))

    def is_lost(key: TrialKey) -> bool:
        return (key.generation, key.task, key.index) == (own.generation.digest, "write-bytes/price", 0)

    fault = Fault(boundary="model", type="server_error", message="500")
    trials = tuple(one.model_copy(update={"reply": None, "fault": fault}) if is_lost(one.key) else one for one in facts.trials)
    replays = tuple(one for one in facts.replays if not is_lost(one.key.trial))
    scores = tuple(one for one in judgement.scores if not is_lost(one.key.trial))
    facts = facts.model_copy(update={"trials": trials, "replays": replays})
    row = rows_of(facts, judgement.model_copy(update={"scores": scores}), 2)[0]
    assert row.response["trials"] == "1 of 1 passed (1 without a verdict); shown is trial 1"
    assert row.response["verdict"] == "passed"
    assert verdicts(row)["passed"] == 1.0


def test_one_trial_is_true_or_false() -> None:
    """With one trial a task the verdict is a boolean, which MLflow filters by, and whose mean is the pass rate all the same."""
    rows = rows_of(*evaluation())
    assert [verdicts(row)["passed"] for row in rows] == [False, True, False]
    assert verdicts(rows[0]) == {"passed": False, "state_ok": False, "misreport": "silent_wrong", "cause": "wrong_state"}


def test_unstable_trials_count_for_nothing() -> None:
    """A trial whose replays disagree is left out of the row's share, as it is of the pass rate; with no other it is a fault."""
    facts, judgement = evaluation(names=("adaptive",))
    own = next(cell for cell in facts.cells if cell.name == "NN")
    first = next(
        replay for replay in facts.replays if (replay.key.path, replay.key.trial.generation) == (own.path, own.generation.digest)
    )
    again = first.model_copy(update={"key": first.key.model_copy(update={"repeat": 1})})
    score = next(one for one in judgement.scores if one.key == first.key)
    other = score.model_copy(update={"key": again.key, "passed": not score.passed})
    more = facts.model_copy(update={"replays": (*facts.replays, again)})
    rows = rows_of(more, judgement.model_copy(update={"scores": (*judgement.scores, other)}))
    assert (rows[0].fault, verdicts(rows[0])) == ("its replays disagree: unstable", {"passed": None})
    assert verdicts(rows[1])["passed"] is True


def test_where_a_task_was_lost() -> None:
    """Rows of the candidate as deployed say where the task was lost, so that a count of losses leads to its tasks."""
    facts, judgement = evaluation()
    losses = Losses(
        candidate="oracle", told="N", done="N", attempted=3, kept=1,
        lost={"path": 1, "model": 1, "format": 0, "infrastructure": 0},
        tasks={"path": ("write-bytes/price",), "model": ("rename-file/dash", "write-bytes/price")},
    )  # fmt: skip
    found = layout(facts, judgement.model_copy(update={"losses": (losses,)})).nested
    assert [verdicts(row)["lost_to"] for row in found[0].rows] == ["path, model", "none", "model"]
    assert "lost_to" not in verdicts(found[1].rows[0])


def test_row_of_a_fault() -> None:
    """A trial without a reply has a row with an error instead of a verdict."""
    rows = rows_of(*evaluation(fault=True))
    assert rows[0].fault == "not observed (model): server_error: 500"
    assert [verdict.value for verdict in rows[0].verdicts] == [None]
    assert rows[1].fault is None


def test_request_is_the_same_for_all_candidates() -> None:
    """MLflow pairs rows by equal requests, so nothing of the candidate is in them; they begin with the task's name."""
    nested = layout(*evaluation()).nested
    assert len({tuple(row.request_text for row in run.rows) for run in nested}) == 1
    assert nested[0].rows[0].request_text.startswith("write-bytes/price: Write exactly")


def test_bounded_rows_show_the_same_tasks() -> None:
    """Where rows are bounded every matched run shows the same tasks, failing ones first; reference runs all of those or none."""
    runs = layout(*evaluation()).nested
    rows, matched = [run.rows for run in runs], [True, False, True, False]
    few, all_of_two = select_rows(rows, matched, 5), select_rows(rows, matched, 8)
    assert [[row.task for row in one] for one in few] == [
        ["write-bytes/price", "rename-file/dash"],
        [],
        ["write-bytes/price", "rename-file/dash"],
        [],
    ]
    assert [len(one) for one in all_of_two] == [3, 0, 3, 0]
    assert (
        [len(one) for one in select_rows(rows, matched, 12)] == [len(one) for one in select_rows(rows, matched, None)] == [3] * 4
    )


def test_bounded_stages_show_every_kind() -> None:
    """Where not all failing tasks can have stages, there is one of each cause and family before there is a second one."""
    tasks = tuple(task(f"{family}/{number}", family) for family in ("a", "b") for number in range(3))
    run = layout(*evaluation(tasks=tasks)).nested[0].rows
    [chosen] = with_stages([run], [True], 2)
    assert [row.task for row in chosen if row.staged] == ["a/0", "b/0"]
    assert [row.staged for row in with_stages([run, run], [True, False], None)[1]] == [True] * 6
    assert not any(row.staged for row in with_stages([run, run], [True, False], 100)[1])


def test_stages_of_a_failing_task() -> None:
    """From the reply to the final state: a span for each stage, in order, named by how it ended, marked where it went wrong."""
    row = rows_of(*with_checks())[0]
    root, *stages = span_records(row)
    assert [stage["name"] for stage in stages] == [
        "generate",
        "path: nested-shell: unchanged",
        "execute: exit 0",
        "final state: 1 differs",
        "validate by exact: failed, wrong_state",
    ]
    assert [stage["status"]["code"] for stage in stages] == ["OK", "OK", "OK", "ERROR", "ERROR"]
    assert [bool(stage["events"]) for stage in stages] == [False, False, False, True, True]
    assert {stage["parent_span_id"] for stage in stages} == {root["span_id"]}
    assert all(a["end_time_unix_nano"] <= b["start_time_unix_nano"] for a, b in pairwise(stages))
    assert attributes(stages[0], "Inputs")["messages"][1]["role"] == "user"
    assert json.loads(stages[0]["attributes"]["mlflow.chat.tokenUsage"])["total_tokens"] == 134


def test_state_difference_is_readable() -> None:
    """The final state's span has the difference as the lines of a diff."""
    row = rows_of(*with_checks())[0]
    state = next(one for one in span_records(row) if one["name"].startswith("final state"))
    difference = attributes(state, "Outputs")["differs (- expected, + found)"]
    assert difference.startswith("```diff\n@@ out.txt\n")
    assert "- costs $5" in difference.split("\n")
    assert row.response["difference (- expected, + found)"] == difference
    assert state["events"][0]["attributes"]["exception.stacktrace"].startswith("@@ out.txt\n")


def test_passing_task_is_a_single_span() -> None:
    """A task that passes needs no stages: one span, which carries the tokens."""
    row = rows_of(*evaluation())[1]
    [root] = span_records(row)
    assert json.loads(root["attributes"]["mlflow.chat.tokenUsage"])["total_tokens"] == 134


def test_stages_of_what_was_not_observed() -> None:
    """A trial without a reply stops at generation, one that the sandbox lost at the execution: both are marked."""
    facts, _ = evaluation(fault=True)
    trial = facts.trials[0]
    [stage] = stages_of(ShownTrial(facts.tasks[0], trial, None, None))
    assert (stage.name, stage.problem) == ("generate", "server_error: 500")
    fault = Fault(boundary="sandbox", type="start_failed", message="no namespaces")
    replay = facts.replays[0].model_copy(update={"execution": None, "fault": fault})
    names = [stage.name for stage in stages_of(ShownTrial(facts.tasks[0], facts.trials[1], replay, None))]
    assert names == ["generate", "path: raw: unchanged", "execute: not observed", "not observed"]


def test_several_calls_and_a_refused_one() -> None:
    """Each command of a reply has its own execution, and what could not be delivered is a stage of its own."""
    facts, judgement = evaluation()
    actions = tuple(Action(command=Command(argv=(b"bash", b"-c", word))) for word in (b"one", b"two"))
    delivery = Delivery(actions=actions, problem="contract_error", reason="unknown tool")
    replay = facts.replays[0].model_copy(update={"delivery": delivery})
    reply = facts.trials[0].reply
    assert reply is not None
    trial = facts.trials[0].model_copy(
        update={"reply": reply.model_copy(update={"tool_calls": (ToolCall(id="1", name="f", arguments="{"),)})}
    )
    stages = stages_of(ShownTrial(facts.tasks[0], trial, replay, judgement.scores[0]))
    assert [stage.name for stage in stages][1:4] == [
        "execute (1 of 2): exit 0",
        "execute (2 of 2): not observed",
        "not delivered: contract_error",
    ]
    assert stages[1].inputs == {"command": "```text\n0 | bash\n1 | -c\n2 | one\n```"}


@pytest.mark.parametrize("text", [HOSTILE, "````", "`" * 50, "a\n\n    b"])
def test_foreign_text_is_code(text: str) -> None:
    """Whatever a model or a program wrote is one block of code, because MLflow renders Markdown: no image, link or HTML in it."""
    from markdown_it import MarkdownIt

    [token] = MarkdownIt().parse(literal(text) or "")
    assert (token.type, token.content) == ("fence", one_line(shown(text), keep="\n\t") + "\n")


def test_every_string_of_a_trace_is_ours_or_code() -> None:
    """A hostile reply, output, reason and file: in no span is any of them outside of a block of code or a list."""
    facts, judgement = evaluation()
    scores = tuple(score.model_copy(update={"reason": HOSTILE}) for score in judgement.scores)
    trials = tuple(
        trial.model_copy(update={"reply": trial.reply and trial.reply.model_copy(update={"text": HOSTILE})})
        for trial in facts.trials
    )
    rows = rows_of(facts.model_copy(update={"trials": trials}), judgement.model_copy(update={"scores": scores}))
    for record in span_records(rows[0]):
        for value in (attributes(record, "Inputs"), attributes(record, "Outputs")):
            for text in (value or {}).values():
                assert not isinstance(text, str) or "invalid" not in text or text.startswith("````")


def test_long_reply_is_marked() -> None:
    """A reply of 200 KiB is shortened in its row, and the row says by how much and where the rest is."""
    text = bounded("x" * 200_000) or ""
    assert text.endswith(f"[{200_000 - LONGEST_TEXT} more characters: see the bundle]")
    assert bounded(None) is None
    assert literal("") == ""


def test_false_alarm_is_told_beside_the_verdict() -> None:
    """A row says that the state is right and was reported wrongly; a silent wrong says so, too; others have no misreport."""
    facts, judgement = evaluation()
    alarm = {"state_ok": True, "reported_ok": False, "passed": True, "cause": "timeout", "false_alarm": "timeout"}
    scores = (judgement.scores[0].model_copy(update=alarm), *judgement.scores[1:])
    found = layout(facts, judgement.model_copy(update={"scores": scores})).nested
    assert {(row.response["verdict"], verdicts(row)["misreport"]) for run in found for row in run.rows} == {
        ("passed (the state is right, reported wrongly: time-out)", "false_alarm: timeout"),
        ("failed: wrong_state (reported as fine)", "silent_wrong"),
        ("passed", "none"),
    }
