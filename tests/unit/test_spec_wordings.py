"""Generated contracts in a spec: `tell`, `tell:PATH`, and several wordings; what a plan says about them."""

from pathlib import Path

import pytest

from crosspath.app.planning import plan_document, plan_text
from crosspath.app.resolve import planned, read_spec
from crosspath.errors import ConfigError
from crosspath.spec import load_spec
from crosspath.types import Candidate

TASKS = "tasks: {families: [exact-file]}\n"


def candidates(text: str) -> tuple[Candidate, ...]:
    """The candidates of a spec."""
    return load_spec(text, "spec.yaml").candidates_resolved()


def contracts(text: str) -> dict[str, str]:
    """Candidate -> contract."""
    return {one.name: one.generation.contract for one in candidates(text)}


def test_wordings_differ_in_nothing_else() -> None:
    """One entry becomes three candidates, each a wording; the first keeps the entry's name; all other axes are the same."""
    found = candidates(
        "candidates:\n  a: {model: openai/m, contract: 'tell:ssh', wordings: 3, transport: ssh, harness: strip,"
        " operating_point: {temperature: 0.5}}\n"
    )
    assert {one.name: one.generation.contract for one in found} == {
        "a": "tell:ssh",
        "a wording 2": "tell:ssh#2",
        "a wording 3": "tell:ssh#3",
    }
    generations = [one.generation.model_copy(update={"contract": ""}) for one in found]
    rest = {
        one.model_copy(update={"name": "", "generation": generation}).to_json()
        for one, generation in zip(found, generations, strict=True)
    }
    assert len(rest) == 1


def test_tell_is_about_the_candidate_s_own_path() -> None:
    """In a grid over paths each is told about its own; about a plain path nothing is to be told, whatever the wordings."""
    found = contracts(
        "models: {m: openai/m}\ndefaults: {contract: tell, wordings: 2}\n"
        "grid: {transport: [raw, ssh, 'json:ssh', 'tools:raw', json, tool-call]}\n"
    )
    assert found == {
        "raw": "raw",
        "ssh": "tell:ssh",
        "ssh wording 2": "tell:ssh#2",
        "json-ssh": "tell:json:ssh",
        "json-ssh wording 2": "tell:json:ssh#2",
        "tools-raw": "tool-call",
        "json": "json",
        "tool-call": "tool-call",
    }


def test_wordings_among_the_defaults_are_for_generated_contracts() -> None:
    """A candidate with a contract of one wording stays one candidate."""
    found = contracts(
        "models: {m: openai/m}\ndefaults: {wordings: 2, transport: ssh}\ncandidates:\n  plain: {contract: raw}\n"
        "  second: {contract: 'tell:ssh#2'}\n  told: {contract: tell}\n"
    )
    assert found == {"plain": "raw", "second": "tell:ssh#2", "told": "tell:ssh", "told wording 2": "tell:ssh#2"}


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            "{contract: raw, wordings: 3}",
            "candidates.a.wordings: there are no 3 wordings of 'raw'; write contract: tell, or tell:PATH",
        ),
        ("{wordings: 2}", "there are no 2 wordings of 'raw'"),
        ("{contract: 'tell:ssh#2', wordings: 3}", "there are no 3 wordings of 'tell:ssh#2'"),
        ("{contract: tell, wordings: 4}", "candidates.a.wordings: must be less than or equal to 3, not 4"),
        ("{contract: tell, wordings: 0}", "candidates.a.wordings: must be greater than or equal to 1, not 0"),
    ],
)
def test_wordings_that_there_are_not(entry: str, message: str) -> None:
    """One line with the place, the value and what would be right."""
    with pytest.raises(ConfigError) as caught:
        candidates(f"models: {{m: openai/m}}\ncandidates:\n  a: {entry}\n")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_names_of_wordings_are_checked_like_any() -> None:
    """A candidate that has the name of another's wording, and a name that is too long with its number, are refused."""
    text = (
        "models: {m: openai/m}\ncandidates:\n  a: {contract: tell, transport: ssh, wordings: 2}\n  A wording 2: {contract: raw}\n"
    )
    with pytest.raises(ConfigError, match="the name 'A wording 2' is taken by 'a wording 2'"):
        candidates(text)
    long = "x" * 55
    with pytest.raises(ConfigError, match="is no name: 1-60 letters"):
        candidates(f"models: {{m: openai/m}}\ncandidates:\n  {long}: {{contract: tell, transport: ssh, wordings: 2}}\n")


def spec(tmp_path: Path, text: str) -> Path:
    """A spec in a file."""
    (tmp_path / "spec.yaml").write_text(text)
    return tmp_path / "spec.yaml"


def test_a_plan_says_what_wordings_take(tmp_path: Path) -> None:
    """Three times what is told, once what is not; and in plain words."""
    text = "models: {m: openai/m}\ncandidates: {a: {contract: tell, transport: ssh, wordings: 3}}\ntrials: 2\n" + TASKS
    plan = plan_document(spec(tmp_path, text))
    assert plan["requests"] == 4 * plan["tasks"] * 2
    assert plan["wordings"] == [
        {
            "contracts": ["tell:ssh", "tell:ssh#2", "tell:ssh#3"],
            "candidates": ["a", "a wording 2", "a wording 3"],
            "requests_shared": 2 * plan["tasks"],
            "requests_each": 2 * plan["tasks"],
        }
    ]
    assert "a: 3 wordings, 8 requests each; 8 more are told nothing of the path and made once for all" in plan_text(plan)
    one = plan_document(spec(tmp_path, text.replace(", wordings: 3", "")))
    assert one["wordings"] == []
    assert "wordings" not in plan_text(one)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("{contract: 'tell:sssh'}", "candidates.a.contract: unknown path 'sssh' (did you mean ssh"),
        ("{contract: 'tell:ours#3', transport: ours}", ""),
        ("{contract: tell, transport: harness}", "candidates.a.contract: path 'harness' is a harness of one's own"),
        ("{contract: 'tell:ssh#5'}", "candidates.a.contract: 'tell:ssh#5' is no contract: write tell:PATH, and #2, #3 after it"),
    ],
)
def test_paths_of_a_spec_can_be_told(tmp_path: Path, entry: str, message: str) -> None:
    """A spec's own chains are told like those that ship; a mistake names the candidate."""
    own = "transports: {ours: [trim, double-quoted-shell, shell], harness: {external: {argv: [sh]}}}\n"
    path = spec(tmp_path, f"{own}models: {{m: openai/m}}\ncandidates:\n  a: {entry}\n{TASKS}")
    if message:
        with pytest.raises(ConfigError) as caught:
            planned(*read_spec(path))
        assert message in str(caught.value)
        return
    contract = planned(*read_spec(path)).contracts["tell:ours#3"]
    assert (contract.discloses, contract.reference) == ("ours", "raw")


def test_the_reference_can_be_told_too(tmp_path: Path) -> None:
    """Last release's path as the reference, told about: the two contracts differ in the sentence about their path alone."""
    text = "reference: {contract: 'tell:ssh', transport: ssh}\ncandidates: {a: {contract: tell, transport: dash}}\n"
    plan = planned(*read_spec(spec(tmp_path, "models: {m: openai/m}\n" + text + TASKS)))
    assert {cell.name: (cell.contract, cell.transport) for cell in plan.cells if not cell.control} == {
        "RR": ("tell:ssh", "ssh"),
        "RN": ("tell:ssh", "dash"),
        "NR": ("tell:dash", "ssh"),
        "NN": ("tell:dash", "dash"),
    }
