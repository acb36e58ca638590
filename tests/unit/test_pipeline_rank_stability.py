"""Which candidates of an evaluation are ranked as models, in which arrangements, and which tasks hang on the configuration."""

from collections.abc import Callable

import pytest

from builders import candidate, evaluation, task
from crosspath.pipeline import rank_stability as module
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.fragile_tasks import LABELS, fragile_tasks
from crosspath.pipeline.model_groups import configurations, model_labels
from crosspath.pipeline.rank_stability import rank_stability
from crosspath.types import Candidate, Facts, Fault, ModelSpec, OperatingPoint, PlannedCell, Prices, Score, Task

TASKS = tuple(task(f"family-{f}/task-{t}", f"family-{f}") for f in range(4) for t in range(3))
Passed = Callable[[str, str, int, int], bool | None]
"""(candidate, cell, number of the task, trial) -> verdict."""


def index_of(passed: Passed, *, trials: int = 1, names: tuple[str, ...] = ("oracle", "adaptive", "naive")) -> FactIndex:
    """An evaluation of baselines that share one configuration, with the verdicts that ``passed`` gives."""
    facts, judgement = evaluation(names=names, tasks=TASKS, trials=trials)
    return FactIndex(facts, scores_of(facts, judgement.scores, passed))


def scores_of(facts: Facts, scores: tuple[Score, ...], passed: Passed) -> tuple[Score, ...]:
    owners = {(cell.generation.digest, cell.path): cell for cell in facts.cells}
    numbers = {one.id: number for number, one in enumerate(facts.tasks)}
    found: list[Score] = []
    for score in scores:
        trial = score.key.trial
        cell = owners[trial.generation, score.key.path]
        verdict = passed(cell.candidate, cell.name, numbers[trial.task], trial.index)
        if verdict is not None:
            found.append(score.model_copy(update={"passed": verdict, "state_ok": verdict}))
    return tuple(found)


def swapped(name: str, cell: str, number: int, _: int) -> bool:
    """``oracle`` is best when told and run raw, and worst as deployed; ``adaptive`` the other way round."""
    right = {"oracle": 12, "adaptive": 6, "naive": 3}[name] if cell[1] == "R" else {"oracle": 0, "adaptive": 12, "naive": 3}[name]
    return number % 3 * 4 + number // 3 < right


def test_models_that_share_a_configuration_are_ranked() -> None:
    """The reference is compared with the configuration as deployed, and with the same replies on its path."""
    found = rank_stability(index_of(swapped), ())
    labels = [(one.first.label, one.second.label) for one in found]
    reference = "told raw, run on raw"
    assert labels == [(reference, "told nested, run on nested-shell"), (reference, "told raw, run on nested-shell")]
    assert found[0].first.fields == (("contract", "raw"), ("transport", "raw"))
    assert found[1].second.fields == (("transport", "nested-shell"),)
    assert found[0].models == ("baseline/oracle", "baseline/adaptive", "baseline/naive")
    assert (found[0].comparable, found[0].reversed, found[0].unambiguous) == (3, 2, 2)
    assert (found[0].tasks, found[0].families, found[0].missing) == (12, 4, 0)
    assert {(one.a, one.b) for one in found[0].pairs if one.order == "reversed"} == {
        ("baseline/oracle", "baseline/adaptive"), ("baseline/oracle", "baseline/naive"),
    }  # fmt: skip


def test_a_broken_control_takes_part_in_nothing() -> None:
    """A candidate with a broken control is left out by name, with what went through its path; fewer than two leave no record."""
    index = index_of(swapped)
    found = rank_stability(index, {"naive"})
    assert found[0].left_out == {"baseline/naive": "its control is broken"}
    assert found[0].models == ("baseline/oracle", "baseline/adaptive")
    assert rank_stability(index, {"naive", "oracle"}) == ()
    assert {one.model for one in fragile_tasks(index, {"naive", "oracle"})} == {"baseline/adaptive"}


def test_a_model_without_verdicts_is_named() -> None:
    """A model that was never observed is left out by name, and takes no task from the others; a lost trial takes its task."""

    def passed(name: str, cell: str, number: int, trial: int) -> bool | None:
        lost = name == "naive" or (name == "oracle" and cell == "NN" and number == 0)
        return None if lost else swapped(name, cell, number, trial)

    found = rank_stability(index_of(passed), ())[0]
    assert found.left_out == {"baseline/naive": "nothing was observed"}
    assert (found.tasks, found.missing) == (11, 1)


def test_one_model_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many candidates of one model have no ranking, and nothing is looked up for them."""

    def refuse(*_: object) -> None:
        raise AssertionError("nothing is to be computed")

    monkeypatch.setattr(module, "_Compared", refuse)
    facts, judgement = evaluation(names=("oracle",))
    assert rank_stability(FactIndex(facts, judgement.scores), ()) == ()


def test_what_makes_another_model() -> None:
    """Another price or key is the same model, another endpoint or parameter another; its label says in what it differs."""
    plain = candidate("oracle")

    def with_model(name: str, **fields: object) -> Candidate:
        model = ModelSpec(name="baseline/oracle").model_copy(update=fields)
        return plain.model_copy(update={"name": name, "generation": plain.generation.model_copy(update={"model": model})})

    priced = with_model("priced", prices=Prices(gpu_usd_per_hour=1), api_key_env="KEY")
    assert [len(group.candidates) for group in configurations([plain, priced])] == [1]
    moved, tuned = with_model("moved", api_base="http://b"), with_model("tuned", params={"top_k": 5})
    labels = model_labels([plain, priced, moved, tuned])
    assert labels["oracle"] == labels["priced"] == "baseline/oracle (api_base unset, params.top_k unset)"
    assert labels["moved"] == "baseline/oracle (api_base http://b, params.top_k unset)"
    assert labels["tuned"] == "baseline/oracle (api_base unset, params.top_k 5)"
    assert len(configurations([plain, priced, moved, tuned])[0].candidates) == 3


def test_another_configuration_is_another_group() -> None:
    """Candidates that differ in temperature, path, clean-up or validator are not ranked against each other."""
    plain, other = candidate("oracle"), candidate("adaptive")
    assert len(configurations([plain, other])) == 1
    warm = other.generation.model_copy(update={"operating_point": OperatingPoint(temperature=1)})
    for change in ({"transport": "raw"}, {"harness": "strip"}, {"validator": "lax"}, {"generation": warm}):
        assert len(configurations([plain, other.model_copy(update=change)])) == 2


def test_configurations_are_compared_as_deployed() -> None:
    """Two configurations of the same models are compared with one another, named by what they differ in."""
    index = index_of(swapped)
    facts = index.facts
    warm = [_warmer(one) for one in facts.lock.candidates]
    cells = [_warmer_cell(cell) for cell in facts.cells]
    hot = {one.generation.digest: other.generation.digest for one, other in zip(facts.cells, cells, strict=True)}

    def warmed(score: Score) -> Score:
        trial = score.key.trial.model_copy(update={"generation": hot[score.key.trial.generation]})
        passed = not score.passed
        return score.model_copy(
            update={"key": score.key.model_copy(update={"trial": trial}), "passed": passed, "state_ok": passed}
        )

    lock = facts.lock.model_copy(update={"candidates": (*facts.lock.candidates, *warm)})
    both = facts.model_copy(update={"lock": lock, "cells": (*facts.cells, *cells)})
    found = rank_stability(FactIndex(both, (*index.scores, *map(warmed, index.scores))), ())
    assert len(found) == 5
    last = found[-1]
    assert last.first.label == "told nested, run on nested-shell, temperature 0.0"
    assert last.second.label == "told nested, run on nested-shell, temperature 1.0"
    assert last.first.fields == (("operating_point.temperature", "0.0"),)
    assert last.reversed == last.comparable == 3


def _warmer(one: Candidate) -> Candidate:
    point = OperatingPoint(temperature=1.0)
    generation = one.generation.model_copy(update={"operating_point": point})
    return one.model_copy(update={"name": f"{one.name} warm", "generation": generation})


def _warmer_cell(cell: PlannedCell) -> PlannedCell:
    generation = cell.generation.model_copy(update={"operating_point": OperatingPoint(temperature=1.0)})
    return cell.model_copy(update={"candidate": f"{cell.candidate} warm", "generation": generation})


def test_fragile_tasks() -> None:
    """A task that is right in every trial here and wrong in every trial there is fragile; those of most models come first."""

    def passed(name: str, cell: str, number: int, trial: int) -> bool:
        if number == 0:
            return cell != "NN"
        if number == 1:
            return cell[1] == "R" or name != "oracle"
        return number != 2 or cell[1] == "R" or trial == 0

    found = fragile_tasks(index_of(passed, trials=2), ())
    assert [(one.task, one.model, one.passes, one.fails, one.wavers) for one in found] == [
        ("family-0/task-0", "baseline/adaptive", 3, 1, 0),
        ("family-0/task-0", "baseline/naive", 3, 1, 0),
        ("family-0/task-0", "baseline/oracle", 3, 1, 0),
        ("family-0/task-1", "baseline/oracle", 2, 2, 0),
    ]
    assert found[-1].passed == ("told raw, run on raw", "told nested, run on raw")
    assert found[-1].failed == ("told raw, run on nested-shell", "told nested, run on nested-shell")
    assert found[0].family == "family-0"
    assert all(len(one.passed) <= LABELS for one in found)


def test_what_was_not_observed_is_no_verdict() -> None:
    """A fault makes no task fragile: neither a pass nor a failure."""
    facts, judgement = evaluation(names=("oracle",), fault=True)
    assert any(isinstance(one.fault, Fault) for one in facts.trials)
    found = fragile_tasks(FactIndex(facts, judgement.scores), ())
    first: Task = facts.tasks[0]
    assert first.id not in {one.task for one in found}
