"""A gate takes the user's own harness as it is now, and says so where that is not what was evaluated."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.app.auditing import audit
from crosspath.app.gating import gate

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

POLICY = """\
evidence: {control: none, min_families: 2, min_tasks: 2, min_mutations_rejected: 0}
rules: [{metric: pass_rate, at_least: 0.1}]
"""
PROGRAM = """\
import json, os, subprocess
reply = json.load(open(os.environ["REPLY_FILE"]))
subprocess.run(["bash", "-c", reply["text"]], cwd=os.environ["WORK"])
"""
FUNCTION = """\
import subprocess
def run_reply(reply, work):
    subprocess.run(["bash", "-c", reply["text"]], cwd=work)
"""
PATHS = {
    "program": {"external": {"argv": ["python3", "mine.py"], "bind": ["mine.py"]}},
    "function": {"callable": "mine:run_reply"},
}


def evaluated(directory: Path, kind: str) -> Path:
    """The spec of a finished evaluation of two tasks."""
    (directory / "mine.py").write_text(PROGRAM if kind == "program" else FUNCTION)
    tasks = [
        {"id": name, "family": name, "tier": 1, "instruction": name, "expected": {name: "x"}, "oracle": f"printf x > {name}"}
        for name in ("one", "two")
    ]
    (directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    (directory / "policy.yaml").write_text(POLICY)
    spec: dict[str, Any] = {
        "name": "harness",
        "transports": {"mine": PATHS[kind]},
        "candidates": {"c": {"model": "baseline/oracle", "transport": "mine"}},
        "tasks": {"files": ["tasks.jsonl"]},
        "executor": {"replay_workers": 2},
    }
    (directory / "spec.yaml").write_text(json.dumps(spec))
    crosspath.evaluate(directory / "spec.yaml", store=directory / "store", track=False)
    return directory / "spec.yaml"


@pytest.mark.parametrize("kind", ["program", "function"])
def test_changed_harness(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As long as the code is what was evaluated, it is judged; changed code makes the evidence INVALID, by the harness's name."""
    spec = evaluated(tmp_path, kind)
    monkeypatch.chdir(tmp_path)
    asked: dict[str, Any] = {"candidate": "latest", "store": tmp_path / "store", "track": False}
    before = gate("policy.yaml", **asked).verdict
    assert before.status in ("PASS", "INCONCLUSIVE")
    assert [check.ok for check in before.checks if check.name == "candidate paths"] == [True]
    with (tmp_path / "mine.py").open("a") as file:
        file.write("# patched\n")
    monkeypatch.chdir("/")
    changed = gate(tmp_path / "policy.yaml", **asked, spec=spec)
    assert changed.verdict.status == "INVALID"
    assert changed.verdict.reasons[0].startswith("candidate paths: the harness mine is not what was evaluated")
    assert any("transport.digest" in reason for reason in changed.verdict.reasons)
    assert audit(changed.directory).holds
