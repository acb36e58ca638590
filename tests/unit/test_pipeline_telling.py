"""Contracts generated from paths: presets, a user's own chains, and what has no words of its own."""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from builders import task
from crosspath import catalogue
from crosspath.contracts.telling import plain_sentence
from crosspath.errors import ConfigError
from crosspath.pipeline.answers import answers
from crosspath.pipeline.disclosure import same_path
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.pipeline.telling import told_contract, with_told
from crosspath.transports import assemble, express, find_path, parse_path, preset, preset_names
from crosspath.types import Candidate, Contract, Generation, ModelSpec, PathSpec, Reference, Telling

PLAIN = {name: catalogue.contract(name) for name in catalogue.contract_names()}
OWN = {
    "trim-only": parse_path("trim-only", ["trim", "shell"], "transports.trim-only"),
    "ours": parse_path("ours", ["single-quoted-shell", "double-quoted-shell", "script-file"], "transports.ours"),
    "harness": parse_path("harness", {"external": {"argv": ["./run"]}}, "transports.harness"),
}
SPECS = {**{name: preset(name) for name in preset_names()}, **OWN}
TOLD_OF_A_PRESET = 500
"""Characters: what is told about a path that ships stays short."""


def is_plain(name: str) -> bool:
    """Whether a preset's shell text is executed as the plain contracts say."""
    [last] = assemble(preset("raw")).carrier.layers  # pyright: ignore[reportAttributeAccessIssue]
    carrier = assemble(preset(name)).carrier
    return [layer.sentence for layer in getattr(carrier, "layers", ())] == [last.sentence]


SURVIVABLE = [name for name in preset_names() if assemble(preset(name)).survivable and not is_plain(name)]


def told(name: str) -> Contract:
    """A generated contract, with the two paths of one's own known."""
    return told_contract(name, PLAIN, OWN)


@pytest.mark.parametrize("name", SURVIVABLE)
def test_every_survivable_preset_is_told_in_three_wordings(name: str) -> None:
    """Each discloses the preset, is the plain contract but for one short passage, and says nothing of the others' words alone."""
    found = [told(Telling(path=name, wording=number).name) for number in (1, 2, 3)]
    plain = PLAIN[found[0].reference]
    before, after = plain.text.split(plain_sentence(plain.shape))
    for contract in found:
        assert same_path(contract.discloses, name, SPECS)
        assert contract.text.startswith(before)
        assert contract.text.endswith(after)
        assert 0 < len(contract.text) - len(before) - len(after) <= TOLD_OF_A_PRESET
        assert contract == told(contract.name)
    assert len({contract.digest for contract in found}) == 3


@pytest.mark.parametrize(("decoder", "path"), list(product(("json:", "tools:"), ("nested-shell", "ours"))))
def test_a_decoder_s_prefix_chooses_the_shape(decoder: str, path: str) -> None:
    """Named like the transport, the contract asks for its shape, is measured against that shape's plain contract, and fits."""
    contract = told(f"tell:{decoder}{path}#2")
    shape = decoder.removesuffix(":")
    assert (contract.shape, contract.discloses) == (shape, path)
    assert contract.reference == {"json": "json", "tools": "tool-call"}[shape]
    assert assemble(find_path(decoder + path, OWN), contract).fits is None
    assert "<text> in `bash -c" in contract.text


def test_forms_are_what_layers_really_make() -> None:
    """The form of a chain is what its layers make of a text; a layer that escapes has no form, and is told in its sentence."""
    assert "`bash -c \"bash -c '<text>'\"`" in told("tell:ours#2").text
    for path in ("nested-shell-escaped", "debug-quoted", "byte-order-mark", "trim-only"):
        assert "the place of" not in told(f"tell:{path}#2").text
    assert "in `{ <text>; }; code=$?; exit $code`." in told("tell:brace-wrapper#2").text
    assert "in `ssh host <text>`." in told("tell:ssh#2").text
    assert "    cat > \"$HOME/script.sh\" <<'EOF'\n    <text>\n    EOF\n" in told("tell:heredoc-script#2").text
    assert "(2) The text takes the place of <text> in `{ <text>" in told("tell:trimmed-brace-wrapper#2").text


def test_the_page_shows_what_is_told() -> None:
    """What the page about contracts says of the nested shell is what is generated."""
    page = Path(__file__).parents[2] / "docs" / "own-contract-and-validator.md"
    rows = [line.split(" | ") for line in page.read_text("utf-8").splitlines() if line.startswith("| `tell:")]
    assert len(rows) == 3
    for name, text in rows:
        shown = text.removesuffix(" |").replace("\\", "")
        assert shown.removesuffix("...") in told(name.strip("|` ")).text


def test_a_path_about_code_fences_says_what_counts() -> None:
    """The plain contracts forbid fences; where a path looks for one, its contract says that this comes first."""
    for wording in ("", "#2", "#3"):
        assert (
            "the whole reply. Where this and the rules below differ, this counts.\n" in told(f"tell:fenced-block{wording}").text
        )
    assert "rules below" not in told("tell:ssh").text


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("tell:nested-shel", "unknown path 'nested-shel' .*did you mean nested-shell"),
        ("tell:our", "did you mean ours"),
        ("tell:harness", "path 'harness' is a harness of one's own, and no layer says what it does; write a contract that"),
        ("tell:raw", "path raw is told by contract raw already; write contract: raw"),
        ("tell:json:raw", "told by contract json already"),
        ("tell:ours#9", "'tell:ours#9' is no contract: write tell:PATH, and #2, #3 after it for another wording"),
        ("tell", "write tell:PATH"),
    ],
)
def test_what_can_t_be_told(name: str, message: str) -> None:
    """One line with what is wrong and what would be right."""
    with pytest.raises(ConfigError, match=message):
        told(name)


def test_errors_name_the_place_that_asks() -> None:
    """Only what is asked for is generated; a mistake is said where it stands."""
    found = with_told(PLAIN, [("raw", "x"), ("tell:ours#3", "x"), ("mine", "x")], SPECS)
    assert found.keys() - PLAIN.keys() == {"tell:ours#3"}
    with pytest.raises(ConfigError, match=r"^candidates\.a\.contract: unknown path 'gone'"):
        with_told(PLAIN, [("tell:gone", "candidates.a.contract")], SPECS)


# -- plans ---------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A plan with one candidate per contract."""

    contracts: tuple[str, ...]
    transport: str = "nested-shell"
    model: str = "openai/m"

    def plan(self) -> Plan:
        """Two tasks with two trials each."""
        candidates = tuple(
            Candidate(
                name=f"c {number}",
                generation=Generation(model=ModelSpec(name=self.model), contract=contract),
                transport=self.transport,
            )
            for number, contract in enumerate(self.contracts)
        )
        known = with_told(PLAIN, [(name, "x") for name in self.contracts], SPECS)
        tasks = [task(), task().model_copy(update={"id": "other"})]
        return make_plan(candidates, Reference(), tasks, known, SPECS, 2)


WORDED = ("tell:nested-shell", "tell:nested-shell#2", "tell:nested-shell#3")


def test_replies_that_were_not_told_are_bought_once() -> None:
    """Three wordings take the told requests three times and the untold ones once; replays of the untold are shared, too."""
    one, three = Asked(WORDED[:1]).plan(), Asked(WORDED).plan()
    assert len(one.requests) == 2 * 4
    assert len(three.requests) == len({request.key for request in three.requests}) == (1 + 3) * 4
    untold = {request.key for request in three.requests if request.contract == "raw"}
    assert untold == {request.key for request in one.requests if request.contract == "raw"}
    assert (one.replay_count, three.replay_count) == ((3 + 2) * 4, (3 + 3 * 2) * 4)


@pytest.mark.parametrize("transport", [*SURVIVABLE, "json:nested-shell", "tools:single-quoted-shell"])
def test_adaptive_encodes_for_the_path_that_it_was_told_about(transport: str) -> None:
    """The baseline's reply under each generated contract is the right command as the control encodes it for that path."""
    names = tuple(Telling(path=transport, wording=wording).name for wording in (1, 2, 3))
    plan = Asked(names, transport, "baseline/adaptive").plan()
    found = answers(plan, {})
    for request in plan.requests:
        if request.contract in names:
            contract = plan.contracts[request.contract]
            path = assemble(find_path(transport), contract)
            [told_so] = path.deliver(found[request.key]).actions
            [control] = path.deliver(express(contract, plan.tasks[request.trial.task].oracle or ""), encoded=True).actions
            assert told_so.command == control.command


def test_unsurvivable_paths_of_one_s_own_can_be_told() -> None:
    """Telling needs words, no encoding; the adaptive baseline then has no answer rather than a wrong one."""
    spec = parse_path("twice", ["double-quoted-shell", "double-quoted-shell", "shell"], "transports.twice")
    known: dict[str, PathSpec] = {**SPECS, "twice": spec}
    assert not assemble(spec).survivable
    assert 'in `bash -c "bash -c "<text>""`.' in told_contract("tell:twice#2", PLAIN, known).text
