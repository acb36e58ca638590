"""Contracts: the files that ship, and what a user's file may hold."""

import json
from importlib.resources import files

import pytest
import yaml

from crosspath.contracts import parse_contract
from crosspath.errors import ConfigError
from crosspath.transports import assemble, express, express_abstention, preset
from crosspath.types import Contract

TEXTS = {
    entry.name.removesuffix(".md"): entry.read_text("utf-8") for entry in files("crosspath.contracts").joinpath("texts").iterdir()
}
SHIPPED = {name: parse_contract(text, f"{name}.md") for name, text in TEXTS.items()}
TOOL = """
  run:
    description: d
    argument: c
    parameters: {type: object, properties: {c: {type: string}}, required: [c]}"""


def tools(right: str, wrong: str) -> str:
    """Front matter with one tool that has a mistake."""
    return f"shape: tools\ntools:{TOOL.replace(right, wrong)}"


def parse(front: str, body: str = "Text.") -> Contract:
    """A contract from its front matter."""
    return parse_contract(f"---\n{front}\n---\n{body}\n", "mine.md")


def test_the_contracts_that_ship() -> None:
    """Six contracts: three shapes, each told nothing special, and told about the nested shell."""
    assert {name: (contract.shape, contract.discloses, contract.reference) for name, contract in SHIPPED.items()} == {
        "raw": ("text", "raw", "raw"),
        "nested-shell": ("text", "nested-shell", "raw"),
        "json": ("json", "raw", "json"),
        "json-nested-shell": ("json", "nested-shell", "json"),
        "tool-call": ("tools", "raw", "tool-call"),
        "tool-call-nested-shell": ("tools", "nested-shell", "tool-call"),
    }


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_texts_that_ship_tell_what_every_model_must_know(name: str) -> None:
    """Each text tells about the marks, the work directory, the missing network, and that nothing is asked or explained."""
    text = SHIPPED[name].text
    assert all(
        word in text
        for word in ("⟪", "⟫", "work directory", "no network", "non-interactive bash", "no explanation, no code fences")
    )


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_a_disclosed_layer_is_told_in_its_own_sentence(name: str) -> None:
    """The text holds the sentence of the embedding that it discloses, and no other one; the outer shell is named: bash."""
    described = yaml.safe_load(assemble(preset("nested-shell")).describe())
    sentence = described["layers"][0]["does"].replace("an outer shell", "an outer bash")
    assert (sentence in SHIPPED[name].text) is (SHIPPED[name].discloses == "nested-shell")


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_right_replies_travel_under_every_contract(name: str) -> None:
    """A right reply, encoded for the disclosed path, is delivered without a problem."""
    contract = SHIPPED[name]
    path = assemble(preset(contract.discloses), contract)
    assert path.deliver(express(contract, path.encode("echo '$x'"))).problem is None


FORMS = {"text": "CANNOT:", "json": "cannot", "tools": "CANNOT:"}
DECLINING = "- If a task can't be done exactly as asked, change nothing and reply with "


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_texts_that_ship_state_one_form_of_declining(name: str) -> None:
    """One short sentence, the same in all contracts of a shape and begun alike in all; a reply that follows it declines."""
    contract = SHIPPED[name]
    (sentence,) = (line for line in contract.text.split("\n") if line.startswith(DECLINING))
    assert contract.abstain == FORMS[contract.shape]
    assert f"`{contract.abstain}`" in sentence
    assert sentence in SHIPPED[contract.reference].text
    delivery = assemble(preset(contract.discloses), contract).deliver(express_abstention(contract, "there is no such file"))
    assert (delivery.abstained, delivery.problem, delivery.actions) == (True, "refusal", ())
    assert "there is no such file" in delivery.reason


def test_a_contract_without_a_form_expresses_none() -> None:
    """`abstain` is optional; nothing can be declined in a form that was not stated."""
    contract = parse("")
    assert contract.abstain is None
    with pytest.raises(ConfigError, match="mine states no form of declining"):
        express_abstention(contract, "no")


def test_contracts_of_one_shape_differ_only_in_the_disclosure() -> None:
    """A told path and its reference have the same tools and the same rules."""
    for contract in SHIPPED.values():
        reference = SHIPPED[contract.reference]
        assert contract.tools == reference.tools
        assert contract.text.split("Rules:")[1] == reference.text.split("Rules:")[1]


def test_defaults_make_a_short_file() -> None:
    """A contract of plain text that discloses the raw path needs no fields; its name is the file's."""
    contract = parse_contract("---\n---\n\nWrite.\n\n", "some/dir/plain.md")
    assert (contract.name, contract.shape, contract.discloses, contract.reference) == ("plain", "text", "raw", "plain")
    assert contract.text == "Write."


def test_the_digest_covers_text_and_shape_not_the_name() -> None:
    """Two files with the same content are the same contract; another word is another one."""
    first, second, other, form = (
        parse("name: a\nreference: r"),
        parse("name: b\nreference: r\nversion: 7"),
        parse("reference: r", "Other."),
        parse("reference: r\nabstain: Text."),
    )
    assert first.digest == second.digest != other.digest
    assert first.digest != form.digest


def test_schemas_may_stand_in_files() -> None:
    """`parameters: FILE` is read through the reader that the caller gives; without one it is refused."""
    text = f"---\nshape: tools\ntools:{TOOL.split('parameters')[0]}parameters: s.json\n---\nText."
    schema = {"type": "object", "properties": {"c": {"type": "string"}}, "required": ["c"]}
    assert parse_contract(text, "m.md", {"s.json": json.dumps(schema)}.__getitem__).tools[0].parameters == schema
    with pytest.raises(ConfigError, match=r"tools\.run\.parameters: 's.json'"):
        parse_contract(text, "m.md")
    with pytest.raises(ConfigError, match="is not JSON"):
        parse_contract(text, "m.md", lambda _: "{")


@pytest.mark.parametrize(
    ("front", "message"),
    [
        ("shapes: text", "unknown field 'shapes'; did you mean shape"),
        ("shape: xml", "shape: 'xml' is none of text, json, tools"),
        ("shape: [a]", "shape: "),
        ("discloses: nested-shell", "reference: is missing"),
        ("discloses: 7", "discloses: 7 is not a text"),
        ("version: 1.10", "version: 1.1 is not a text"),
        ("name: ''", "name: '' is not a text"),
        ("field: cmd", "field: has a meaning only with shape: json"),
        (f"tools:{TOOL}", "tools: has a meaning only with shape: tools"),
        ("shape: tools", "tools: is missing"),
        ("shape: tools\ntools: {}", "at least one tool"),
        ("shape: tools\ntools: [run]", "tools: .* is not a mapping"),
        ("shape: text\nshape: json", "mine.md:3: "),
        ("abstain: 'NO:'", "abstain: 'NO:' could begin a command; take at least 4 characters"),
        ("abstain: '#NO: '", "abstain: '#NO: ' must be one line of printable text, with no blank at either end"),
        ("abstain: '# CANNOT:'", "abstain: '# CANNOT:' could begin a command"),
        ('abstain: "CAN\\nNOT:"', "abstain: 'CAN.*NOT:' must be one line"),
        ("abstain: 'CANNOT:'", "abstain: 'CANNOT:' does not stand in the text: a model can't use a form that it was not told"),
        ("abstain: 1", "abstain: 1 is not a text"),
        ("abstian: 'CANNOT:'", "did you mean abstain"),
        ("shape: json\nabstain: command", "abstain: 'command' is the field of the shell text"),
        ("shape: [", "mine.md:2: not readable as YAML"),
        ("- a", "front matter: is not a mapping"),
        ("? [a]\n: b", "mine.md:2: a key must be a text"),
        (f"shape: tools\ntools:{TOOL}\n    write: [p, c]", "either argument .* or write"),
        (tools("argument: c", "argument: d"), "must have 'd' as a required property"),
        (tools("required: [c]", "required: []"), "must have 'c' as a required property"),
        (tools("c: {type: string}", "c: true"), "must have 'c' as a required property"),
        (tools("argument: c", "write: [c]"), "list of two arguments"),
        (tools("argument: c", "write: [c, c]\n    path: raw"), "only shell text travels"),
        (tools("type: object", "type: thing"), "is no JSON schema"),
        (tools("type: object", "type: array"), "must be object"),
        (tools("{type: string}", '{$ref: "http://h/s"}'), "nothing is fetched"),
        (tools("description: d", "descripton: d"), "did you mean description"),
        (tools("description: d", "description: 1"), "description: 1 is not a text"),
    ],
)
def test_mistakes_are_one_clear_line(front: str, message: str) -> None:
    """Each mistake is a ConfigError that names the file, the field and what would be right."""
    with pytest.raises(ConfigError, match=message) as caught:
        parse(front)
    assert str(caught.value).startswith("mine.md:")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "Text.", "---\nshape: text\nText.", "---\n---\n", "---\n---\n \n", " ---\n---\nText."])
def test_files_without_front_matter_or_text_are_refused(text: str) -> None:
    """A contract has both; a forgotten line of dashes is told."""
    with pytest.raises(ConfigError, match=r"mine\.md: "):
        parse_contract(text, "mine.md")
