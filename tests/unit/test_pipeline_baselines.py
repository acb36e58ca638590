"""What baselines answer where a task can't be done."""

import pytest

from crosspath.catalogue import contract, contract_names
from crosspath.contracts import parse_contract
from crosspath.pipeline.answers import answers
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.transports import preset, preset_names
from crosspath.types import Candidate, Generation, ModelSpec, Reference, Task
from scoring_builders import task

IMPOSSIBLE = task(id="i/1", infeasible="there is no 'source.txt'", naive="touch copy.txt")
POSSIBLE = task(id="f/1", oracle="echo '$x'", naive="echo $x")
FORMLESS = parse_contract("---\ndiscloses: raw\n---\nWrite.", "terse.md")


def plan(baseline: str, told: str, *tasks: Task) -> Plan:
    """One candidate, told one contract, on the nested shell."""
    generation = Generation(model=ModelSpec(name=f"baseline/{baseline}"), contract=told)
    candidate = Candidate(name="c", generation=generation, transport="nested-shell")
    contracts = {name: contract(name) for name in contract_names()} | {FORMLESS.name: FORMLESS}
    specs = {name: preset(name) for name in preset_names()}
    return make_plan((candidate,), Reference(), tasks or (IMPOSSIBLE, POSSIBLE), contracts, specs, 1)


def declines(planned: Plan) -> dict[tuple[str, str], bool]:
    """Contract and task -> whether the baseline's reply is delivered as declining, on every path that it goes through."""
    table = answers(planned, {})
    found: dict[tuple[str, str], set[bool]] = {}
    for request in planned.requests:
        for replay in planned.replays[request.trial.generation] if request.key in table else ():
            delivery = replay.path.deliver(table[request.key], encoded=replay.encoded)
            found.setdefault((request.contract, request.trial.task), set()).add(delivery.abstained)
    assert all(len(seen) == 1 for seen in found.values())
    return {key: seen.pop() for key, seen in found.items()}


@pytest.mark.parametrize("told", ["nested-shell", "json-nested-shell", "tool-call-nested-shell"])
@pytest.mark.parametrize("baseline", ["oracle", "adaptive"])
def test_right_baselines_decline_what_can_t_be_done(baseline: str, told: str) -> None:
    """In the form of the contract that they were told, on every path; and nothing else."""
    found = declines(plan(baseline, told))
    assert {task: declined for (_, task), declined in found.items()} == {"i/1": True, "f/1": False}
    assert len(found) == 4


def test_the_naive_baseline_acts() -> None:
    """Its tempting command is its reply, here too."""
    assert set(declines(plan("naive", "nested-shell")).values()) == {False}


def test_without_a_form_there_is_no_right_reply() -> None:
    """No reply is given where the contract states no form: a missing trial, not a wrong one; the naive command is there."""
    assert declines(plan("oracle", "terse")) == {("raw", "i/1"): True, ("raw", "f/1"): False, ("terse", "f/1"): False}
    assert declines(plan("naive", "terse"))["terse", "i/1"] is False
    silent = IMPOSSIBLE.model_copy(update={"naive": None})
    assert declines(plan("naive", "nested-shell", silent)) == {}
