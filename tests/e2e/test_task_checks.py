"""`crosspath tasks check`: the catalogue and the incidents prove themselves; each weakness is caught by the proof for it."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from crosspath.app.task_checks import Report, Source, check, read_sources
from crosspath.app.task_checks.findings import Finding
from crosspath.catalogue import catalogue_tasks, suite_text
from crosspath.cli.entry import run
from crosspath.tasks import parse_tasks

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

INCIDENTS = Path(__file__).parents[1] / "data" / "incidents.jsonl"
SOUND = {
    "id": "mine/ready",
    "tier": 2,
    "hazards": ["dollar"],
    "instruction": "Write exactly ⟪$5 off⟫ and a newline into ⟪a.txt⟫.",
    "expected": {"a.txt": "$5 off\n"},
    "oracle": "printf '%s\\n' '$5 off' > a.txt",
    "naive": 'echo "$5 off" > a.txt',
}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(*tasks: dict[str, Any], validator: str = "exact") -> Report:
    """The report on tasks of the exchange format, each over the sound one."""
    lines = "\n".join(json.dumps({**SOUND, **fields}) for fields in tasks)
    return check([Source("mine.jsonl", parse_tasks(lines, "mine.jsonl"))], validator=validator)


def only_failure(report: Report) -> Finding:
    """The one proof that fails."""
    failing = report.having("fails")
    assert len(failing) == 1, failing
    return failing[0]


def document(capsys: pytest.CaptureFixture[str], *arguments: str, code: int = 0) -> dict[str, Any]:
    """What the command prints with ``--json``."""
    assert run(["tasks", "check", *arguments, "--json"]) == code
    return json.loads(capsys.readouterr().out)


# -- what holds ----------------------------------------------------------------------------------------------------------


def test_the_catalogue_proves_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """Every proof of every task that ships holds, over more than a thousand mutations, all of them rejected."""
    found = document(capsys)
    assert found["tasks"] == len(catalogue_tasks())
    assert [finding for finding in found["findings"] if finding["status"] == "fails"] == []
    assert found["proofs"]["fails"] == 0
    applicable, rejected = (sum(tally[side] for tally in found["mutations"].values()) for side in ("applicable", "rejected"))
    assert applicable == rejected > 2_000
    assert {"missing", "first byte", "executable bit", "extra file", "other observation", "listing cut off"} <= set(
        found["mutations"]
    )
    proofs = {finding["proof"].partition(":")[0] for finding in found["findings"] if finding["status"] == "holds"}
    assert proofs >= {
        "right command, raw", "right command, encoded for nested-shell", "right command, in another environment",
        "tempting command, raw", "doing nothing fails", "mutation rejected", "forgery found out", "marks pair up",
        "what is demanded is checked", "what is checked is demanded", "hazards are there", "id of its own", "canary",
        "held-out section", "nothing of this machine, user or day is expected",
    }  # fmt: skip


def test_the_incidents_prove_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    """The recorded incidents, as a user's own file without marks or tempting commands: nothing fails, all is audited."""
    found = document(capsys, "--file", str(INCIDENTS))
    assert found["tasks"] == 51
    assert found["proofs"]["fails"] == 0
    lacking = {(finding["proof"], finding["detail"]) for finding in found["findings"] if finding["status"] == "not tried"}
    assert ("tempting command, raw", "no tempting command (naive)") in lacking
    raw = [finding for finding in found["findings"] if finding["proof"] == "right command, raw"]
    assert [finding["status"] for finding in raw] == ["holds"] * 51


def test_tasks_that_are_drawn_afresh_prove_themselves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All proofs hold for the tasks that a seed gives in place of the public ones, and the seed is printed nowhere."""
    seed = "drawn for this test, 1"
    monkeypatch.setenv("CROSSPATH_TEST_SEED", seed)
    found = document(capsys, "--heldout-seed-env", "CROSSPATH_TEST_SEED")
    assert found["tasks"] == len(catalogue_tasks())
    assert [finding for finding in found["findings"] if finding["status"] == "fails"] == []
    assert seed not in json.dumps(found)


def test_a_task_without_anything_is_not_tried(capsys: pytest.CaptureFixture[str], here: Path) -> None:
    """What a plain task lacks is listed with its reason, and is no failure: exit code 0. Its declared state is audited."""
    (here / "plain.jsonl").write_text('{"id": "a", "instruction": "make a", "expected": {"a": "1"}}\n')
    assert run(["tasks", "check", "--file", "plain.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "no right command (oracle)" in out
    assert "no tempting command (naive)" in out
    assert out.splitlines()[-1].startswith("1 tasks, ")
    rejected, applicable = re.findall(r"(\d+) of (\d+) mutations rejected", out.splitlines()[-1])[0]
    assert rejected == applicable > "0"


def test_a_task_that_can_not_be_done_is_proved_by_declining() -> None:
    """Nothing run leaves the right state, the tempting command does not pass, and the untouched state is audited."""
    task = {
        "id": "mine/never",
        "instruction": "Rename ⟪a⟫ to ⟪b/c⟫ without a directory.",
        "hazards": [],
        "fixture": {"a": "1\n"},
        "expected": {"a": "1\n"},
        "infeasible": "no name holds a slash",
        "oracle": None,
        "naive": "mkdir b; mv a b/c",
    }
    report = checked(task)
    assert report.having("fails") == ()
    proofs = {finding.proof: finding.status for finding in report.findings}
    assert proofs["declining leaves the state right"] == "holds"
    assert proofs["tempting command, raw"] == "holds"
    assert proofs["right command, raw"] == "not tried"
    assert report.mutations["first byte"].rejected == 1
    touched = only_failure(checked({**task, "setup": "rm a"}))
    assert touched.proof == "declining leaves the state right"
    assert "what fixture and set-up leave there" in touched.mend


# -- what is caught ------------------------------------------------------------------------------------------------------


def test_a_wrong_right_command() -> None:
    """An oracle that leaves another state fails raw, encoded and elsewhere; what differs is said, and nothing is audited."""
    report = checked({"oracle": "printf '%s' '$5 off' > a.txt"})
    failing = report.having("fails")
    assert {finding.proof.partition(" for ")[0] for finding in failing} == {
        "right command, raw",
        "right command, encoded",
        "right command, in another environment",
    }
    assert "1 file differs: a.txt" in failing[0].detail
    assert "correct 'oracle'" in failing[0].mend
    assert report.audit == (0, 0)
    assert ("mutation rejected", "its right command leaves no right state") in {
        (finding.proof, finding.detail) for finding in report.having("not tried")
    }


def test_a_tempting_command_that_is_right() -> None:
    """A hostile tier whose tempting command passes does not bite, and a control whose tempting command fails is none."""
    harmless = only_failure(checked({"naive": "printf '%s\\n' '$5 off' > a.txt"}))
    assert harmless.proof == "tempting command, raw"
    assert harmless.detail.startswith("must fail on tier 2 and does not")
    assert "does not bite" in harmless.mend
    control = only_failure(checked({"tier": 0}))
    assert control.detail.startswith("must pass on tier 0 and does not")
    assert "benign control" in control.mend


def test_instruction_and_expected_state_that_disagree() -> None:
    """An instruction that demands another text than the expected one is caught from both sides."""
    report = checked({"instruction": "Write exactly ⟪$5 less⟫ and a newline into ⟪a.txt⟫."})
    details = {finding.proof: finding.detail for finding in report.having("fails")}
    assert "'$5 less' is neither" in details["what is demanded is checked"]
    assert "'off'" in details["what is checked is demanded"]


@pytest.mark.parametrize(
    ("expected", "oracle"),
    [
        ("2\n", "printf éa | wc -m > a.txt"),
        ("UTC\n", "date +%Z > a.txt"),
        (time.strftime("%Y\n"), "date +%Y > a.txt"),
        ("/run/crosspath/home\n", "echo ~ > a.txt"),
    ],
    ids=["locale", "zone", "clock", "home"],
)
def test_an_expected_state_that_depends_on_its_surroundings(expected: str, oracle: str) -> None:
    """What locale, time zone, clock or home decide is caught by a run where they are others."""
    report = checked(
        {"tier": None, "hazards": [], "instruction": "Write it into a.txt.", "expected": {"a.txt": expected}, "oracle": oracle}
    )
    failing = {finding.proof: finding for finding in report.having("fails")}
    assert "right command, in another environment" in failing
    assert "right command, raw" not in failing
    assert "LC_ALL: C.UTF-8" in failing["right command, in another environment"].mend


def test_what_a_task_pins_itself_stays() -> None:
    """A task that sets the locale in its environment does not depend on another one."""
    fields = {
        "hazards": [],
        "tier": None,
        "instruction": "Count into a.txt.",
        "expected": {"a.txt": "1\n"},
        "oracle": "printf é | wc -m > a.txt",
    }
    assert checked({**fields, "env": {"LC_ALL": "C.UTF-8"}}).having("fails") == ()


def test_a_state_that_is_there_anyway() -> None:
    """A task that is right before anything is done measures nothing."""
    report = checked({"fixture": {"a.txt": "$5 off\n"}, "tier": None})
    assert only_failure(report).proof == "doing nothing fails"
    assert "what the reply has to change" in only_failure(report).mend


OBSERVED = {
    "fixture": {"check.sh": "grep -cxF '$5 off' a.txt\n"},
    "expected": {"a.txt": "$5 off\n"},
    "observe": {"ok": "sh check.sh"},
    "expected_observed": {"ok": "1\n"},
}


def test_a_forgeable_observer() -> None:
    """An observer that executes a file which the reply may change without being seen is forgeable, and is named."""
    lenient = {**OBSERVED, "expected": {}, "ignore": ["check.sh", "a.txt"]}
    finding = only_failure(checked(lenient))
    assert finding.proof == "forgery found out: what an observer executes"
    assert finding.detail.startswith("forgeable observer:")
    assert "check.sh" in finding.detail
    assert "under 'programs'" in finding.mend


def test_an_observer_whose_program_is_compared() -> None:
    """The same observer is sound where its program is compared, and where it is one of the task's programs."""
    compared = {**OBSERVED, "expected": {**OBSERVED["fixture"], "a.txt": "$5 off\n"}}
    program = {
        **OBSERVED,
        "fixture": {},
        "programs": {"check": {"kind": "script", "text": "#!/bin/sh\ngrep -cxF '$5 off' a.txt\n"}},
        "observe": {"ok": "check"},
        "ignore": ["a.txt"],
        "expected": {},
    }
    report = checked({**compared, "id": "a"}, {**program, "id": "b"})
    assert report.having("fails") == ()


def test_a_weak_suite(here: Path) -> None:
    """A suite that does not look at something is caught by the kinds of change that it accepts, with the rule that sees them."""
    content = suite_text("exact").content
    weak = "".join(
        line for line in _items(content) if "column: surplus, value_set" not in line and "expected_mode, column_B" not in line
    )
    (here / "weak.yaml").write_text(weak)
    report = checked({}, validator="weak.yaml")
    failing = {finding.proof: finding for finding in report.having("fails")}
    assert set(failing) == {
        f"mutation rejected: {kind}"
        for kind in (
            "executable bit", "executable bit of the group", "executable bit of others", "extra file", "backup copy",
            "extra symlink", "extra fifo", "extra socket",
        )
    }  # fmt: skip
    assert failing["mutation rejected: executable bit"].subject == "validator weak.yaml"
    assert "accepts 1 of 1: mine/ready ('a.txt')" in failing["mutation rejected: executable bit"].detail
    assert "'mode' of validators/exact.yaml" in failing["mutation rejected: executable bit"].mend
    assert report.audit[0] < report.audit[1]


def _items(content: str) -> list[str]:
    """A suite's text, cut before each of its rules."""
    parts = content.split("\n  - ")
    return [parts[0], *(f"\n  - {part}" for part in parts[1:])]


def test_a_state_that_no_reply_could_reach(here: Path) -> None:
    """Without a right command the declared state itself is judged: a validator that rejects it would pass nobody."""
    strict = suite_text("exact").content.replace("value_set: [new,", "value_set: ['no', new,")
    (here / "strict.yaml").write_text(strict)
    finding = only_failure(checked({"oracle": None, "naive": None}, validator="strict.yaml"))
    assert finding.proof == "declared state accepted"
    assert "no reply could ever pass" in finding.detail


def test_a_setup_that_fails() -> None:
    """A task that can't be set up fails with the reason, whatever it would have proved."""
    report = checked({"setup": "exit 3"})
    assert any(finding.detail.startswith("could not be run: the setup line ended with 3") for finding in report.having("fails"))


def test_two_tasks_of_one_id(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two files with one id are a finding, not a crash; ids that differ in case only count as one."""
    (here / "one.jsonl").write_text(json.dumps(SOUND) + "\n")
    (here / "two.jsonl").write_text(
        json.dumps({**SOUND, "id": "Mine/Ready"}) + "\n" + json.dumps(SOUND).replace("/ready", "/b") + "\n"
    )
    found = document(capsys, "--tasks-dir", ".", code=1)
    failing = [finding for finding in found["findings"] if finding["status"] == "fails"]
    assert [(finding["subject"], finding["proof"]) for finding in failing] == [("Mine/Ready", "id of its own")]
    assert "one.jsonl" in failing[0]["detail"]
    (here / "two.jsonl").write_text(json.dumps(SOUND) + "\n")
    assert document(capsys, "--tasks-dir", ".", code=1)["tasks"] == 1


def test_a_weak_family_as_a_user_sees_it(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each failing proof is two lines, what is wrong and how to mend it; the sums stand in the last line: exit code 1."""
    (here / "weak.yaml").write_text(
        "name: weak\n"
        'instruction: "Write ⟪{{ text }}⟫ into a."\n'
        'expected: {a: "{{ text }}"}\n'
        "variants:\n"
        "  - {name: one, tier: 1, hazards: [dollar], vars: {text: $1}, oracle: printf %s '$1' > a, naive: printf %s \\$1 > a}\n"
    )
    assert run(["tasks", "check", "--file", "weak.yaml"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "! weak.yaml: canary: a family without a canary" in lines
    assert "! weak/one: tempting command, raw: must fail on tier 1 and does not: 'printf %s \\\\$1 > a'" in lines
    assert [line for line in lines if line.startswith("    mend: add the line  canary:")]
    assert lines[-1].startswith("1 tasks, ")
    assert ", 2 fail, " in lines[-1]


# -- the command ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--file", "no.jsonl"], "no such file"),
        (["--tasks-dir", "no"], "can't be read as a directory"),
        (["--validator", "exakt"], "did you mean 'exact'"),
        (["--heldout-seed-env", "CROSSPATH_TEST_NO_SEED"], "CROSSPATH_TEST_NO_SEED is not set"),
        (["--heldout-seed-env", "CROSSPATH_TEST_SHORT"], "at least 16"),
    ],
)
def test_bad_input(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """What can't be checked is one line on standard error: exit code 2."""
    monkeypatch.setenv("CROSSPATH_TEST_SHORT", "too short")
    assert run(["tasks", "check", *arguments]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_an_unacceptable_suite_is_refused(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite that is none is the user's mistake, before anything is executed."""
    (here / "none.yaml").write_text("name: none\nfinal_state: []\n")
    assert run(["tasks", "check", "--validator", "none.yaml"]) == 2
    assert "none.yaml" in capsys.readouterr().err


def test_progress_is_told() -> None:
    """Whoever watches is told of each stage from nothing to all of it."""
    told: list[tuple[str, int, int]] = []
    check([Source("mine.jsonl", parse_tasks(json.dumps(SOUND), "mine.jsonl"))], notify=lambda *step: told.append(step))
    stages = {what: [(done, of) for name, done, of in told if name == what] for what, _, _ in told}
    assert set(stages) == {"trials", "mutations of right states"}
    assert stages["trials"][0][0] == 0
    assert stages["trials"][-1][0] == stages["trials"][-1][1] > 5


def test_an_interrupt_ends_it_in_order() -> None:
    """Ctrl-C in the midst of it: exit code 130, one line, no process and no directory left behind."""
    code = "import sys; from crosspath.cli.entry import main; sys.argv = ['crosspath', 'tasks', 'check']; main()"
    started = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        _wait_for_sandboxes(started.pid)
        started.send_signal(signal.SIGINT)
        out, error = started.communicate(timeout=60)
    finally:
        started.kill()
    assert (started.returncode, out) == (130, "")
    assert error.splitlines()[-1] == "crosspath: interrupted; the same command begins anew"
    assert not list(Path("/tmp").glob(f"crosspath-{started.pid}-*"))


def _wait_for_sandboxes(pid: int) -> None:
    """Until the process has a spawner of sandboxes."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _children(pid):
        time.sleep(0.05)
    time.sleep(0.3)


def _children(pid: int) -> list[str]:
    return [line for task in Path(f"/proc/{pid}/task").iterdir() for line in (task / "children").read_text().split()]


def test_sources_of_the_catalogue_are_shipped() -> None:
    """Without files the catalogue is checked, and counts as what ships."""
    sources = read_sources()
    assert {source.shipped for source in sources} == {True}
    assert all(source.name.endswith(".yaml") for source in sources)
