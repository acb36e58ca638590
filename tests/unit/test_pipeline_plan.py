"""The plan: every reply is decoded by the contract that it was told."""

from crosspath.catalogue import contract
from crosspath.contracts import parse_contract
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.transports import preset, preset_names
from crosspath.types import Candidate, Contract, Generation, ModelSpec, Reference, Reply
from scoring_builders import task

PLAIN = parse_contract("---\ndiscloses: nested-shell\nreference: raw\n---\nWrite.", "terse.md")
OWN_FIELD = parse_contract("---\nshape: json\nfield: cmd\ndiscloses: nested-shell\nreference: json\n---\nWrite JSON.", "field.md")


def plan(own: Contract) -> Plan:
    """One candidate that is told ``own`` and runs on the nested shell."""
    generation = Generation(model=ModelSpec(name="openai/m"), contract=own.name)
    candidate = Candidate(name="c", generation=generation, transport="nested-shell")
    contracts = {told.name: told for told in (contract("raw"), contract("json"), own)}
    specs = {name: preset(name) for name in preset_names()}
    return make_plan((candidate,), Reference(), (task(),), contracts, specs, 1)


def delivered(found: Plan, told: str, text: str) -> dict[str, tuple[bool, int]]:
    """Cell -> whether a reply that was told so declines, and its number of commands."""
    deliveries = {
        "control" if cell.control else cell.name: found.paths[cell.path].deliver(Reply(text=text), encoded=cell.encoded)
        for cell in found.cells
        if cell.told == told
    }
    return {name: (delivery.abstained, len(delivery.actions)) for name, delivery in deliveries.items()}


def test_a_form_counts_where_it_was_told() -> None:
    """A contract without a form, a reference that states one: the same words decline in one row and are run in the other."""
    found = plan(PLAIN)
    assert delivered(found, "R", "CANNOT: no") == {"RR": (True, 0), "RN": (True, 0), "control": (True, 0)}
    assert delivered(found, "N", "CANNOT: no") == {"NR": (False, 1), "NN": (False, 1)}


def test_a_field_counts_where_it_was_told() -> None:
    """A contract with a field of its own does not make the reference's replies breaches of a contract that they were not told."""
    found = plan(OWN_FIELD)
    assert set(delivered(found, "R", '{"command": "true"}').values()) == {(False, 1)}
    assert set(delivered(found, "N", '{"cmd": "true"}').values()) == {(False, 1)}
    assert set(delivered(found, "N", '{"command": "true"}').values()) == {(False, 0)}
