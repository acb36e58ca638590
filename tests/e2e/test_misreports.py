"""What a harness tells its caller, apart from what it did: silent wrongs and false alarms all the way to the reader."""

import json
from pathlib import Path

import pytest

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.app.showing import select, show_document, show_text

TELLS_WRONGLY = """
import json, os, subprocess
text = json.load(open(os.environ["REPLY_FILE"]))["text"]
command = ["bash", "-c", " ".join(text.splitlines())]
told = {"exit": 0, "output": "", "error": None}
try:
    subprocess.run(command, cwd=os.environ["WORK"], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=2)
except subprocess.TimeoutExpired:
    told = {"exit": None, "output": "", "error": "timed out after 2 s"}
json.dump(told, open(os.environ["RESULT_FILE"], "w"))
"""
RIGHT = {
    "plain": ("touch a", {"a": ""}, 0),
    "child": ("sleep 20 & echo started > a", {"a": "started\n"}, 0),
    "bytes": ("echo ok > a; printf '\\377\\376'", {"a": "ok\n"}, 0),
    "fails": ("echo partial > a; exit 3", {"a": "partial\n"}, 3),
    "lines": ("cat > a <<'END'\none\nEND\n", {"a": "one\n"}, 0),
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    """Five right commands through a harness with a time limit, strict decoding, joined lines, and no word about exit statuses."""
    place = tmp_path_factory.mktemp("misreports")
    tasks = [
        {"id": name, "family": "told", "tier": int(name != "plain"), "instruction": name, "expected": expected,
         "expected_exit": status, "oracle": command}
        for name, (command, expected, status) in RIGHT.items()
    ]  # fmt: skip
    (place / "harness.py").write_text(TELLS_WRONGLY)
    (place / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    spec = {
        "name": "told",
        "transports": {"mine": {"external": {"argv": ["python3", "harness.py"], "bind": ["harness.py"]}}},
        "candidates": {"c": {"model": "baseline/oracle", "transport": "mine"}},
        "tasks": {"files": ["tasks.jsonl"]},
        "executor": {"replay_workers": 2},
    }
    (place / "spec.yaml").write_text(json.dumps(spec))
    return crosspath.evaluate(place / "spec.yaml", store=place / "store", track=False)


def test_kinds_are_told_apart(told: Evaluation) -> None:
    """A time limit, output that is no text and a lost status are false alarms of their kinds; a wrong state is none."""
    rows = told.misreports
    own = rows.query("cell == 'RN' and repeat == 0")
    alarms = own.query("misreport == 'false_alarm'")
    assert dict(zip(alarms["task"], alarms["kind"], strict=True)) == {"child": "timeout", "bytes": "output", "fails": "masked"}
    assert list(own.query("misreport == 'silent_wrong'")["task"]) == ["lines"]
    assert rows.query("cell == 'RR'").empty


def test_cell_counts_them(told: Evaluation) -> None:
    """The cell has the share of false alarms with its interval, and how many of each kind; the reference has none."""
    reference, own = (told.decomposition("c").cell(name) for name in ("RR", "RN"))
    assert reference is not None
    assert own is not None
    assert own.false_alarm is not None
    assert (own.false_alarm.value, own.silent_wrong.value, own.passed) == (0.6, 0.2, 1)
    assert own.false_alarm.low is not None
    assert own.alarm_kinds == {"masked": 1, "output": 1, "timeout": 1}
    assert (reference.passed, reference.alarm_kinds) == (5, {})


def test_a_reader_is_told(told: Evaluation) -> None:
    """One sentence in the summary, a column in the report, and the task table names each."""
    sentence = "Right states reported wrongly: 3 in RN (1 time-out, 1 unreadable output, 1 lost exit status)."
    assert sentence in told.summary()
    report = told.report()
    assert sentence in report
    assert "| 3 (1 time-out, 1 unreadable output, 1 lost exit status) |" in report
    assert "| child | passed | false alarm: time-out |" in report
    assert "| lines | passed | \\[wrong_state\\] |" in report


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("child", "although the state is right: reported wrongly: time-out"),
        ("fails", "failed: exit status, although the state is right: reported wrongly: lost exit status (the path told exit 0"),
        ("lines", "although the path told that all is well"),
    ],
)
def test_show_says_what_was_told(told: Evaluation, task: str, words: str) -> None:
    """`crosspath show` says beside the verdict that the path's own report is wrong, and how."""
    assert words in show_text(show_document(told, select(told.facts, task, candidate="c", cell="RN")))


def test_a_path_that_masks_every_status_keeps_its_control(tmp_path: Path) -> None:
    """The benign control looks at final states: a lost exit status is the path's fault, not the instrument's, and is damage."""
    spec = {
        "tasks": {"families": ["exit-status", "exact-file"]},
        "candidates": {"filtered": {"model": "baseline/oracle", "transport": "output-filtered"}},
    }
    found = crosspath.evaluate(spec, store=tmp_path / "store", track=False)
    (decomposition,) = found.judgement.decompositions
    assert (decomposition.control.kind, decomposition.control.status) == ("benign", "holds")
    cell = decomposition.cell("RN")
    assert cell is not None
    assert cell.alarm_kinds.get("masked", 0) > 0
