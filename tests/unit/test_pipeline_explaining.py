"""Two candidates beside each other: which fields differ, whether they can be compared, and what tells differences apart."""

from collections.abc import Callable

from builders import PATHS, candidate, evaluation, task
from crosspath.pipeline.compared import Judged, Side
from crosspath.pipeline.explaining import beyond_the_model, explain
from crosspath.reports.explanation import explanation_markdown
from crosspath.types import Candidate, Control, Explanation, Facts, Judgement, ModelSpec, PlannedCell, Prices, Toolchain

TASKS = tuple(task(f"family-{f}/task-{t}", f"family-{f}") for f in range(4) for t in range(3))


def judged(evaluation_id: str = "quoting-20261129-1", names: tuple[str, ...] = ("oracle", "adaptive")) -> tuple[Facts, Judgement]:
    return evaluation(evaluation_id, names=names, tasks=TASKS)


def beside(facts: Facts, judgement: Judgement, a: str, b: str) -> Explanation:
    one = Judged(facts, judgement)
    return explain(Side(one, a), Side(one, b))


def across(first: tuple[Facts, Judgement], second: tuple[Facts, Judgement], name: str = "adaptive") -> Explanation:
    return explain(Side(Judged(*first), name), Side(Judged(*second), name))


def changed(found: Explanation) -> dict[str, bool]:
    return {one.field: one.inert for one in found.differences}


def with_raw(facts: Facts, name: str, model: str) -> Facts:
    """One more candidate, told and run raw, of the model that another candidate has."""
    plain = candidate(model, "raw", "raw").model_copy(update={"name": name})
    cell = PlannedCell(
        candidate=name, told="R", done="R", generation=plain.generation, contract="raw", transport="raw", path=PATHS["raw"]
    )
    lock = facts.lock.model_copy(update={"candidates": (*facts.lock.candidates, plain)})
    return facts.model_copy(update={"lock": lock, "cells": (*facts.cells, cell)})


def raw_judgement(judgement: Judgement, name: str, model: str) -> Judgement:
    """What is known of it: the RR cell of the candidate that it shares its replies with."""
    source = next(one for one in judgement.decompositions if one.candidate == model)
    control = Control(kind="none", status="holds", compared=0)
    own = source.model_copy(update={"candidate": name, "cells": source.cells[:1], "effects": (), "control": control})
    return judgement.model_copy(update={"decompositions": (*judgement.decompositions, own)})


def test_only_the_model_differs() -> None:
    """Two baselines that share all else: one axis, one part that is the whole difference, and no field beyond the model."""
    found = beside(*judged(), "oracle", "adaptive")
    assert found.status == "comparable"
    assert [part.axes for part in found.parts] == [("model",)]
    assert found.comparison is not None
    assert found.parts[0].estimate.value == found.explained == found.comparison.difference.value
    assert beyond_the_model(found.differences) == ()
    assert changed(found) == {"model": False, "name": True}


def test_exchanging_them_negates_the_difference() -> None:
    """B beside A and A beside B tell the same, with the sign turned."""
    there, back = beside(*judged(), "oracle", "adaptive"), beside(*judged(), "adaptive", "oracle")
    assert there.explained == -(back.explained or 0) != 0
    assert [one.estimate.value for one in there.parts] == [-(one.estimate.value or 0) for one in back.parts]


def test_damage_and_compensation_are_the_steps() -> None:
    """From told and run raw to told about the path and run on it: the orders go through RN or NR, and add up to NN - RR."""
    facts, judgement = judged(names=("adaptive",))
    found = beside(with_raw(facts, "plain", "adaptive"), raw_judgement(judgement, "plain", "adaptive"), "plain", "adaptive")
    values = {part.axes: part.estimate.value for part in found.parts}
    assert values == {("contract",): 0.5, ("transport",): -0.5}
    assert (found.explained, found.orders, found.every_order) == (0.0, 2, True)
    transport = next(part for part in found.parts if part.axes == ("transport",))
    assert (transport.same_replies, transport.least, transport.most) == (True, -1.0, 0.0)
    assert "transport: -50.0 points, -100.0 to +0.0 over the orders" in str(found)
    steps = {(step.before, step.after): step.value for step in transport.steps}
    assert steps == {("plain RR", "adaptive RN"): -1.0, ("adaptive NR", "adaptive NN"): 0.0}
    damage = next(one for one in found.effects if one.effect == "damage")
    assert (damage.side, damage.cells) == ("adaptive", "RN - RR")
    told = "plain: damage, compensation, matched gap, contract effect, because it is told and run the reference"
    assert found.unidentified == (told,)


def test_no_cell_separates_them() -> None:
    """Told and run raw against told and run nested, without a cell between: confounded, with the command for a replay."""
    facts, judgement = judged(names=("oracle",))
    first = (with_raw(facts, "plain", "oracle"), raw_judgement(judgement, "plain", "oracle"))
    only = first[0].model_copy(
        update={"cells": tuple(cell for cell in first[0].cells if cell.candidate == "plain"), "lock": first[0].lock}
    )
    second = judged("quoting-20261129-2", names=("adaptive",))
    matched = second[0].model_copy(update={"cells": tuple(cell for cell in second[0].cells if cell.name == "NN")})
    found = explain(Side(Judged(only, first[1]), "plain"), Side(Judged(matched, second[1]), "adaptive"))
    assert [part.axes for part in found.parts] == [("model", "contract", "transport")]
    assert found.parts[0].confounded
    replay, candidate_like = found.next_steps
    assert replay.startswith("crosspath replay quoting-20261129-1 --transport nested-shell sends A's replies through B's path")
    assert "--with NEW" in replay
    assert candidate_like.endswith("but for model, which it takes from quoting-20261129-2:adaptive")
    assert "confounded: model with contract with transport" in explanation_markdown(found).replace("\\", "")


def test_what_cannot_matter_is_told_apart() -> None:
    """Prices, the name of a key's variable, another name of the same content and the commit affect no reply."""
    facts, judgement = judged()

    def priced(one: Candidate) -> Candidate:
        model = ModelSpec(name=one.generation.model.name, api_key_env="OTHER", prices=Prices(input_usd_per_mtok=1))
        return one.model_copy(update={"generation": one.generation.model_copy(update={"model": model})})

    lock = facts.lock.model_copy(update={"candidates": tuple(map(priced, facts.lock.candidates)), "commit": "1" * 40})
    head = facts.head.model_copy(update={"id": "quoting-20261129-2"})
    found = across((facts, judgement), (facts.model_copy(update={"lock": lock, "head": head}), judgement))
    assert {"model.prices.input_usd_per_mtok", "model.api_key_env", "commit", "name", "lock.digest"} <= changed(found).keys()
    assert all(changed(found).values())
    assert found.parts == ()
    assert "other draws of replies" in explanation_markdown(found)


def test_another_toolchain_is_an_axis_of_its_own() -> None:
    """What all cells of an evaluation share can't be separated inside it; both sides can be replayed anew without a request."""
    facts, judgement = judged()
    lock = facts.lock.model_copy(update={"toolchain": Toolchain(sandbox="other")})
    other = facts.model_copy(update={"lock": lock, "head": facts.head.model_copy(update={"id": "quoting-20261129-2"})})
    found = explain(Side(Judged(facts, judgement), "oracle"), Side(Judged(other, judgement), "adaptive"))
    assert {part.axes for part in found.parts} == {("model",), ("toolchain",)}
    assert found.every_order
    facts = facts.model_copy(update={"cells": tuple(cell for cell in facts.cells if cell.candidate == "oracle")})
    other = other.model_copy(update={"cells": tuple(cell for cell in other.cells if cell.candidate == "adaptive")})
    found = explain(Side(Judged(facts, judgement), "oracle"), Side(Judged(other, judgement), "adaptive"))
    assert [part.axes for part in found.parts] == [("model", "toolchain")]
    assert "give both the toolchain of today, without a request" in found.next_steps[0]


def altered(change: Callable[[Facts], Facts]) -> Explanation:
    facts, judgement = judged()
    other = change(facts.model_copy(update={"head": facts.head.model_copy(update={"id": "quoting-20261129-2"})}))
    return across((facts, judgement), (other, judgement))


def test_other_rules_are_not_compared() -> None:
    """Another content of the validator of the same name: no difference is given, whatever the scores say."""
    found = altered(lambda one: one.model_copy(update={"lock": one.lock.model_copy(update={"suites": {"exact": "f" * 64}})}))
    assert (found.status, found.comparison, found.parts) == ("not_comparable", None, ())
    assert found.reasons[0].startswith("they are judged by different rules")


def test_tasks_with_another_content_are_other_tasks() -> None:
    """An equal id does not make an equal task; without any task in common nothing is compared."""

    def renewed(count: int) -> Callable[[Facts], Facts]:
        def change(facts: Facts) -> Facts:
            new = [one.model_copy(update={"timeout_s": 99}) for one in facts.tasks[:count]]
            tasks = (*new, *facts.tasks[count:])
            lock = facts.lock.model_copy(update={"tasks": {one.id: one.digest for one in tasks}})
            return facts.model_copy(update={"tasks": tasks, "lock": lock})

        return change

    some, none = altered(renewed(2)), altered(renewed(len(TASKS)))
    assert (len(some.tasks), len(some.changed_tasks), some.status) == (len(TASKS) - 2, 2, "comparable")
    assert none.status == "not_comparable"
    assert "no task in common" in none.reasons[0]


def test_a_broken_control_gives_no_verdict() -> None:
    """Where a faithful path would have given other results the pair is not comparable."""
    facts, judgement = judged()
    broken = Control(kind="encoded", status="broken", compared=12, differing=("family-0/task-0#0",), reason="1 of 12 differs")
    spoilt = judgement.decompositions[1].model_copy(update={"control": broken})
    found = beside(
        facts, judgement.model_copy(update={"decompositions": (judgement.decompositions[0], spoilt)}), "oracle", "adaptive"
    )
    assert found.status == "not_comparable"
    assert "1 of 12 differs" in found.reasons[0]


def test_missing_evidence_is_not_enough() -> None:
    """An unfinished evaluation, and replies that are missing where they could turn the sign, are said."""
    facts, judgement = judged()
    running = facts.model_copy(update={"head": facts.head.model_copy(update={"status": "stopped"})})
    found = beside(running, judgement, "oracle", "adaptive")
    assert found.status == "not_enough_evidence"
    assert "is stopped" in found.reasons[0]
    lost = {one.id for one in TASKS[1:]}
    scores = tuple(one for one in judgement.scores if one.key.trial.task not in lost)
    few = beside(facts, judgement.model_copy(update={"scores": scores}), "oracle", "adaptive")
    assert few.status == "not_enough_evidence"
    assert "no interval" in few.reasons[0]
