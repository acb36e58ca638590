"""A user's own harness as a path: its damage is found, and its control tells whether the numbers can be used."""

import json
from pathlib import Path
from typing import Any

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating_replays import Place
from crosspath.cli.finishing import exit_code
from crosspath.store.ledger import Ledger
from crosspath.types.drift import ToolchainDrift

JOINS_LINES = """
import json, os, subprocess
text = json.load(open(os.environ["REPLY_FILE"]))["text"]
done = subprocess.run(["bash", "-c", " ".join(text.splitlines())], cwd=os.environ["WORK"], capture_output=True, text=True)
json.dump({"exit": done.returncode, "output": done.stdout, "error": done.stderr}, open(os.environ["RESULT_FILE"], "w"))
"""
SPLITS_WORDS = JOINS_LINES.replace('["bash", "-c", " ".join(text.splitlines())]', "__import__('shlex').split(text)")
BREAKS_EVERYTHING = JOINS_LINES.replace('" ".join(text.splitlines())', '"false"')


def _tasks() -> list[dict[str, Any]]:
    plain = {"id": "plain", "family": "lines", "tier": 0, "instruction": "one", "expected": {"a": ""}, "oracle": "touch a"}
    lines = {
        "id": "lines",
        "family": "lines",
        "tier": 2,
        "instruction": "two",
        "expected": {"b": "one\ntwo\n"},
        "oracle": "cat > b <<'END'\none\ntwo\nEND\n",
    }
    words = {
        "id": "words",
        "family": "words",
        "tier": 1,
        "instruction": "three",
        "expected": {"c": "x"},
        "oracle": "printf x > c",
    }
    return [plain, lines, words]


def _evaluate(directory: Path, program: str) -> Evaluation:
    (directory / "harness.py").write_text(program)
    (directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in _tasks()))
    spec = {
        "name": "harness",
        "transports": {"mine": {"external": {"argv": ["python3", "harness.py"], "bind": ["harness.py"]}}},
        "candidates": {"c": {"model": "baseline/oracle", "transport": "mine"}},
        "tasks": {"files": ["tasks.jsonl"]},
        "executor": {"replay_workers": 2},
    }
    (directory / "spec.yaml").write_text(json.dumps(spec))
    return crosspath.evaluate(directory / "spec.yaml", store=directory / "store", track=False)


def _passed(evaluation: Evaluation, cell: str) -> dict[str, bool]:
    planned = next(c for c in evaluation.facts.cells if c.name == cell)
    return {s.key.trial.task: s.passed for s in evaluation.judgement.scores if s.key.path == planned.path and not s.key.repeat}


def test_damage_of_a_harness_that_joins_lines(tmp_path: Path) -> None:
    """Joined lines break the here-document and nothing else; the benign control holds, so the number can be used."""
    found = _evaluate(tmp_path, JOINS_LINES)
    decomposition = found.decomposition("c")
    assert _passed(found, "RR") == {"plain": True, "lines": True, "words": True}
    assert _passed(found, "RN") == {"plain": True, "lines": False, "words": True}
    assert (decomposition.control.kind, decomposition.control.status) == ("benign", "holds")
    assert decomposition.control.compared == 1
    damage = decomposition.effect("damage")
    assert damage is not None
    assert (damage.lost, damage.gained) == (1, 0)
    assert exit_code(found) == 0


def test_damage_of_a_harness_without_a_shell(tmp_path: Path) -> None:
    """Split into words and run without a shell, redirections are arguments: what needs them is lost, silently."""
    found = _evaluate(tmp_path, SPLITS_WORDS)
    assert _passed(found, "RN") == {"plain": True, "lines": False, "words": False}
    assert found.decomposition("c").control.status == "holds"
    assert [s.silent_wrong for s in found.judgement.scores if s.key.trial.task == "words" and not s.passed] == [True, True]


def test_a_harness_that_breaks_benign_tasks_gives_no_verdict(tmp_path: Path) -> None:
    """Where even tier 0 differs from the reference, the instrument may be what is broken: exit code 4."""
    found = _evaluate(tmp_path, BREAKS_EVERYTHING)
    control = found.decomposition("c").control
    assert (control.kind, control.status, control.differing) == ("benign", "broken", ("plain#0",))
    assert exit_code(found) == 4


def test_changed_code_of_a_harness_is_another_path(tmp_path: Path) -> None:
    """The same spec after an edit of the harness is a new evaluation on another path."""
    first, second = _evaluate(tmp_path, JOINS_LINES), _evaluate(tmp_path, SPLITS_WORDS)
    assert first.id != second.id
    assert first.facts.lock.transports["mine"] != second.facts.lock.transports["mine"]


def test_a_harness_that_changed_since_is_not_taken_for_the_old_one(tmp_path: Path) -> None:
    """Replaying through the path of a finished evaluation runs today's code, and says so: its digest is that of today."""
    source = _evaluate(tmp_path, JOINS_LINES)
    (tmp_path / "harness.py").write_text(SPLITS_WORDS)
    derived = crosspath.replay(source.id, ["mine"], store=tmp_path / "store", track=False)
    assert _passed(derived, "RN") == {"plain": True, "lines": False, "words": False}
    assert derived.facts.lock.transports["mine"] != source.facts.lock.transports["mine"]


def test_a_harness_that_is_edited_under_a_deployment(tmp_path: Path) -> None:
    """Its stored replies come out otherwise, each time: toolchain drift, gone with the edit, and no reply is racy."""
    faithful = JOINS_LINES.replace('" ".join(text.splitlines())', "text")
    evaluation = _evaluate(tmp_path, faithful)
    looks = [_look(tmp_path, evaluation, program) for program in (faithful, JOINS_LINES, faithful)]
    assert [(look.status, look.flipped_tasks) for look in looks] == [("no drift", ()), ("drift", ("lines",)), ("no drift", ())]
    assert [[field.field for field in look.changed] for look in looks] == [[], ["transport.digest"], []]
    assert [look.unstable for look in looks] == [(), (), ()]


def _look(directory: Path, evaluation: Evaluation, program: str) -> ToolchainDrift:
    """A look with this harness; what looks saw so far is kept beside it."""
    (directory / "harness.py").write_text(program)
    kept = directory / "evidence.json"
    earlier = ToolchainDrift.model_validate_json(kept.read_bytes()).evidence if kept.exists() else ()
    ledger = Ledger(directory / "store")
    try:
        found = frozen_replays(evaluation.facts, "c", earlier, place=Place(None, "local", None), ledger=ledger)
    finally:
        ledger.close()
    kept.write_text(found.model_dump_json())
    return found
