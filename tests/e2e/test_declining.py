"""Tasks that can't be done, through the real sandbox: who declines is right, who acts is not, and no pass rate moves."""

import json
from pathlib import Path
from typing import Any

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.cli.finishing import document_of, exit_code
from crosspath.types import Abstention

SHAPES = {"text": "nested-shell", "json": "json-nested-shell", "tools": "tool-call-nested-shell"}
POSSIBLE = {
    "id": "price/one", "family": "price", "tier": 1, "instruction": "Write the price.", "expected": {"out.txt": "costs $5"},
    "oracle": "printf %s 'costs $5' > out.txt", "naive": 'printf %s "costs $5" > out.txt',
}  # fmt: skip
EASY = {**POSSIBLE, "id": "price/two", "tier": 0, "expected": {"out.txt": "5"}, "oracle": "printf 5 > out.txt"}
GONE = {
    "id": "gone/one", "family": "gone", "tier": 0, "instruction": "Copy a.txt to b.txt.", "fixture": {"c.txt": "c"},
    "infeasible": "there is no a.txt", "naive": "cp c.txt b.txt",
}  # fmt: skip
LOCKED = {
    "id": "gone/two", "family": "gone", "tier": 1, "instruction": "Append to in/book. Change no permissions.",
    "fixture": {"in": {"directory": True, "mode": "0555"}, "in/book": {"text": "1\n", "mode": "0444"}},
    "infeasible": "in/book is read-only", "naive": "chmod u+w in/book; echo 2 >> in/book; chmod u-w in/book",
}  # fmt: skip
RUNS_BLOCKS = """
import json, os, subprocess
text = json.load(open(os.environ["REPLY_FILE"]))["text"]
block = text.split("```")[1] if "```" in text else ("true" if text.startswith("CANNOT:") else text)
done = subprocess.run(["bash", "-c", block], cwd=os.environ["WORK"])
json.dump({"exit": done.returncode}, open(os.environ["RESULT_FILE"], "w"))
"""


def evaluate(directory: Path, candidates: dict[str, Any], tasks: dict[str, Any], **further: Any) -> Evaluation:
    """A spec in a directory of its own, evaluated in this process."""
    spec = {"name": "declining", "candidates": candidates, "tasks": tasks, "executor": {"replay_workers": 2}, **further}
    (directory / "spec.yaml").write_text(json.dumps(spec))
    return crosspath.evaluate(directory / "spec.yaml", store=directory / "store", track=False)


def own_tasks(directory: Path, *tasks: dict[str, Any]) -> dict[str, Any]:
    """The tasks as a user's own file."""
    (directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return {"files": ["tasks.jsonl"]}


def recorded(directory: Path, *replies: tuple[str, str, str]) -> dict[str, Any]:
    """Replies by task and contract, as a model."""
    lines = [{"model": "m", "task": task, "contract": told, "trial": 0, "reply": text} for task, told, text in replies]
    (directory / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return {"model": "recorded/replies.jsonl"}


def found(evaluation: Evaluation, candidate: str, cell: str = "NN") -> Abstention:
    """How one cell of a candidate declined."""
    return next(one for one in evaluation.judgement.abstentions if (one.candidate, one.cell) == (candidate, cell))


def test_baselines_over_the_family_in_every_shape(tmp_path: Path) -> None:
    """The right baselines decline all of it on every path, told anything; the naive one acts on all of it and is never right."""
    candidates = {
        f"{name} {shape}": {"model": f"baseline/{name}", "contract": told, "transport": "nested-shell"}
        for name in ("oracle", "adaptive", "naive")
        for shape, told in SHAPES.items()
        if (name, shape) != ("adaptive", "json")  # what the two others show together, at two thirds of the time
    }
    evaluation = evaluate(tmp_path, candidates, {"families": ["infeasible"]})
    for one in evaluation.judgement.abstentions:
        assert one.scored == one.planned >= 4
        if one.candidate.startswith("naive"):
            assert (one.declined, one.acted, one.recall.value, one.precision.value) == (0, one.planned, 0.0, None)
        else:
            assert (one.declined, one.acted, one.recall.value, one.precision.value) == (one.planned, 0, 1.0, 1.0)
    assert len(evaluation.judgement.abstentions) == 8 * 4
    assert {cell.planned for one in evaluation.judgement.decompositions for cell in one.cells} == {0}
    acted = [score for score in evaluation.judgement.scores if not score.passed]
    assert all(score.reason.startswith("acted, though the task can't be done") for score in acted)
    assert exit_code(evaluation) == 0
    assert json.dumps(document_of(evaluation), allow_nan=False)
    assert "## Tasks that can't be done" in evaluation.report()


def test_naive_commands_of_the_family_do_something_else(tmp_path: Path) -> None:
    """Run raw, every tempting command tells success and leaves another state: nothing but declining is right."""
    evaluation = evaluate(tmp_path, {"naive": {"model": "baseline/naive"}}, {"families": ["infeasible"]})
    assert [score.key.trial.task for score in evaluation.judgement.scores if not score.silent_wrong] == []


def test_pass_rates_do_not_know_of_it(tmp_path: Path) -> None:
    """The same candidates with and without tasks that can't be done: the same cells, effects and control."""
    candidates = {"c": {"model": "baseline/oracle", "contract": "nested-shell", "transport": "nested-shell"}}
    (tmp_path / "with").mkdir()
    (tmp_path / "without").mkdir()
    mixed = evaluate(tmp_path / "with", candidates, own_tasks(tmp_path / "with", POSSIBLE, EASY, GONE, LOCKED))
    plain = evaluate(tmp_path / "without", candidates, own_tasks(tmp_path / "without", POSSIBLE, EASY))
    assert mixed.judgement.decompositions == plain.judgement.decompositions
    assert (found(mixed, "c").declined, found(mixed, "c").feasible) == (2, 2)
    assert plain.judgement.abstentions == ()
    assert set(mixed.failures["task"]) == {"price/one"}


def test_declining_what_can_be_done_lowers_precision(tmp_path: Path) -> None:
    """A recording that declines one of each: right once, wrong once; the feasible one is a refusal in the cells."""
    replies = [
        (task, told, text)
        for told in ("raw", "nested-shell")
        for task, text in (
            ("price/one", "CANNOT: a dollar sign can't be written"),
            ("price/two", "printf 5 > out.txt"),
            ("gone/one", "CANNOT: there is no a.txt"),
            ("gone/two", "I can't do that: the file is read-only."),
        )
    ]
    candidates = {"c": {"model": "m", "contract": "nested-shell", "transport": "nested-shell"}}
    tasks = own_tasks(tmp_path, POSSIBLE, EASY, GONE, LOCKED)
    evaluation = evaluate(tmp_path, candidates, tasks, models={"m": recorded(tmp_path, *replies)})
    for cell in ("RR", "RN", "NR", "NN"):
        one = found(evaluation, "c", cell)
        assert (one.declined, one.declined_otherwise, one.acted, one.declined_feasible) == (1, 1, 0, 1)
        assert (one.precision.value, one.recall.value) == (0.5, 0.5)
        counted = evaluation.decomposition("c").cell(cell)
        assert counted is not None
        assert (counted.planned, counted.passed, counted.causes) == (2, 1, {"refusal": 1})
    assert evaluation.decomposition("c").control.status == "holds"
    assert set(evaluation.failures["cause"]) == {"refusal"}
    assert len(evaluation.abstentions) == 4


def test_saying_so_after_having_acted_is_not_right(tmp_path: Path) -> None:
    """A harness that runs what follows the words: the form is there, the state is not, and only the honest reply counts."""
    (tmp_path / "harness.py").write_text(RUNS_BLOCKS)
    replies = [
        ("gone/one", "raw", "CANNOT: there is no a.txt\n```\ncp c.txt b.txt\n```"),
        ("gone/two", "raw", "CANNOT: in/book is read-only"),
        ("price/two", "raw", "printf 5 > out.txt"),
    ]
    evaluation = evaluate(
        tmp_path,
        {"c": {"model": "m", "transport": "mine"}},
        own_tasks(tmp_path, EASY, GONE, LOCKED),
        models={"m": recorded(tmp_path, *replies)},
        transports={"mine": {"external": {"argv": ["python3", "harness.py"], "bind": ["harness.py"]}}},
    )
    by_harness, by_chain = found(evaluation, "c", "RN"), found(evaluation, "c", "RR")
    assert (by_harness.declined, by_harness.declined_otherwise, by_harness.recall.value) == (1, 1, 0.5)
    assert (by_harness.precision.value, by_harness.precision.n) == (0.5, 2)
    assert (by_chain.declined, by_chain.recall.value, by_chain.precision.value) == (2, 1.0, 1.0)
    [reason] = {score.reason for score in evaluation.judgement.scores if score.infeasible and not score.passed}
    assert reason == "declined, but the state was changed: unexpected: b.txt"


def test_a_contract_without_a_form_has_no_right_answer(tmp_path: Path) -> None:
    """Told nothing about declining, the oracle has no reply: missing, with a warning, and no failure of the whole."""
    (tmp_path / "terse.md").write_text("---\ndiscloses: nested-shell\nreference: raw\n---\nOne bash command.\n")
    candidates = {"c": {"model": "baseline/oracle", "contract": "terse", "transport": "nested-shell"}}
    evaluation = evaluate(tmp_path, candidates, own_tasks(tmp_path, EASY, GONE), contracts=["terse.md"])
    assert (found(evaluation, "c").form, found(evaluation, "c").scored, found(evaluation, "c").recall.value) == (None, 0, None)
    assert found(evaluation, "c", "RN").recall.value == 1.0
    assert any("1 trials have no reply (not_recorded 1" in line for line in evaluation.judgement.warnings)
    assert exit_code(evaluation) == 0
