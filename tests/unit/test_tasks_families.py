"""YAML families and what they expand to."""

import json
import textwrap

import jsonschema
import pytest

from crosspath.catalogue import catalogue_dir
from crosspath.errors import ConfigError
from crosspath.strict_yaml import load_yaml
from crosspath.tasks import expand_family, family_schema
from crosspath.tasks.families import OWN_FIELDS, TEMPLATE_FIELDS, VARIANT_FIELDS
from crosspath.types import Task

HEAD = """
name: own
summary: Ours.
incident: https://example.org/1
defaults: {path: a.txt}
instruction: "Write ⟪{{ text }}⟫ to {{ path }}."
expected: {"{{ path }}": "{{ text }}\\n"}
oracle: "printf '%s\\\\n' {{ text | quote }} > {{ path }}"
"""


def expand(variants: str, head: str = HEAD) -> tuple[Task, ...]:
    """The tasks of a family with these variants."""
    return expand_family(f"{head}variants:\n{textwrap.indent(textwrap.dedent(variants), '  ')}", "own.yaml")


def complaint(variants: str, head: str = HEAD) -> str:
    """What is said about such a family."""
    with pytest.raises(ConfigError) as caught:
        expand(variants, head)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_variants_become_tasks() -> None:
    """Each variant is one task: templates filled in with its variables over the defaults, ids family/variant."""
    first, second = expand("""
        - {name: plain, tier: 0, vars: {text: hello}}
        - {name: hard, tier: 3, hazards: [apostrophe], vars: {text: it's, path: b.txt}}
        """)
    assert (first.id, first.family, first.tier, first.instruction) == ("own/plain", "own", 0, "Write ⟪hello⟫ to a.txt.")
    assert (second.hazards, second.expected[0].path, second.expected[0].content) == (("apostrophe",), b"b.txt", b"it's\n")
    assert second.oracle == """printf '%s\\n' 'it'"'"'s' > b.txt"""
    assert first.meta == {"summary": "Ours.", "incident": "https://example.org/1"}


def test_carriage_returns_of_a_template_stay() -> None:
    """A line end that is written as CR LF stays CR LF, whether or not the text holds a variable."""
    head = 'name: own\ninstruction: "{{ text }}"\nexpected: {a: "one\\r\\n", b: "one\\r{{ text }}\\r\\n"}\n'
    (task,) = expand("- {name: all, vars: {text: x}}", head)
    assert [entry.content for entry in task.expected] == [b"one\r\n", b"one\rx\r\n"]


def test_what_stands_in_a_variant_is_literal() -> None:
    """Variables and a variant's own fields are never rendered, so payloads may look like templates."""
    (task,) = expand("""- {name: braces, vars: {text: "{{ nothing }} {% if"}, naive: "echo {{ nothing }}"}""")
    assert task.expected[0].content == b"{{ nothing }} {% if\n"
    assert task.naive == "echo {{ nothing }}"


def test_a_variant_replaces_fields_of_the_head() -> None:
    """A field of the head that a variant gives itself is not even rendered."""
    (task,) = expand("- {name: own, instruction: Nothing to do., expected: {}, oracle: 'true'}")
    assert (task.instruction, task.expected, task.oracle) == ("Nothing to do.", (), "true")


def test_content_that_is_no_text_comes_as_base64() -> None:
    """Bytes that are not UTF-8 are given as base64, directly or by a variable."""
    (task,) = expand("- {name: bytes, vars: {data: /w==}}", "name: own\ninstruction: x\nexpected: {a: {base64: '{{ data }}'}}\n")
    assert task.expected[0].content == b"\xff"


def test_filters() -> None:
    """`quote` gives a shell word, `base64` its encoding, `git_blob` git's name of a content, `argv_record` a recorder's bytes."""
    head = """
name: own
instruction: "{{ 'a b' | quote }} {{ 'a' | base64 }} {{ 'one\\n' | git_blob }}"
expected: {r: "{{ argv | argv_record }}"}
"""
    (task,) = expand("- {name: all, vars: {argv: [x, '']}}", head)
    assert task.instruction == "'a b' YQ== 5626abf0f72e58d7a153368ba57db4c673c0e171"
    assert task.expected[0].content == b"2\0x\0\0"


def test_characters_that_look_alike_are_told_apart() -> None:
    """`nfc` and `nfd` give the two forms of a text, `code_points` names its characters by number."""
    head = 'name: own\ninstruction: "{{ t | nfc | code_points }}, {{ t | nfd | code_points }}"\nexpected: {}\n'
    (task,) = expand('- {name: all, vars: {t: "\\u00e9\\u200b\\U0001f600"}}', head)
    assert task.instruction == "U+00E9 U+200B U+1F600, U+0065 U+0301 U+200B U+1F600"


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ txt }}", "'txt' is undefined"),
        ("{{ text.missing }}", "has no attribute 'missing'"),
        ("{{ 'unclosed }}", "can't be rendered"),
        ("{{ ''.__class__.__mro__ }}", "can't be rendered"),
        ("{{ range.__globals__ }}", "can't be rendered"),
        ("{{ argv.append('x') }}", "can't be rendered"),
        ("{% include 'a' %}", "can't be rendered"),
        ("{{ 1 / 0 }}", "can't be rendered"),
        ("{{ text + 1 }}", "can't be rendered"),
        ("{{ lipsum() }}", "'lipsum' is undefined"),
        ("{{ argv | random }}", "No filter named 'random'"),
        ("{% for x in range(10000000) %}{% endfor %}", "can't be rendered"),
    ],
)
def test_templates_are_strict_and_can_reach_nothing(template: str, said: str) -> None:
    """Undefined names, the interpreter's insides, other files, changes and chance are refused, with line and field."""
    head = f"name: own\ninstruction: {json.dumps(template)}\nexpected: {{}}\n"
    assert complaint("- {name: a, vars: {text: x, argv: [y]}}", head).startswith("own.yaml:5: variants[0].instruction: ")
    assert said in complaint("- {name: a, vars: {text: x, argv: [y]}}", head)


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ("- {name: a, vars: {text: x}}\n- {name: a, vars: {text: y}}", "two variants give the task 'own/a'"),
        ("- {name: A}", "own.yaml:10: variants[0].name: \"A\" is not a name in lower case"),
        ("- {vars: {text: x}}", "variants[0].name: null is not a name"),
        ("- {name: a, text: x}", "unknown field \"text\""),
        ("- {name: a, vars: {text: x}, tier: 9}", "own.yaml:10: variants[0].tier: 9"),
        ("- {name: a, vars: {text: x, path: ../b}}", "\"../b\" is not a relative path"),
        ("- {name: a, name: b}", "own.yaml:10: 'name' stands here twice"),
        ("- {name: a, vars: {text: x}, id: b}", "unknown field \"id\""),
        ("[]", "variants: give at least one"),
    ],
)  # fmt: skip
def test_complaints(variants: str, said: str) -> None:
    """Each mistake gives one line with file, line number and field."""
    assert said in complaint(variants)


def test_keys_that_become_one() -> None:
    """Two templates of paths that render to the same path are refused, not merged."""
    head = 'name: own\ninstruction: x\nexpected: {"{{ a }}": "", "{{ b }}": ""}\n'
    assert "becomes 'f', which stands here already" in complaint("- {name: a, vars: {a: f, b: f}}", head)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "own.yaml: [] is not an object"),
        ("", "own.yaml: null is not an object"),
        ("nam: x", "did you mean 'name'?"),
        ("name: x\nincident: somewhere\nvariants: [{name: a}]", "a link to a public report"),
        ("name: x", "own.yaml: variants: null is not a list"),
    ],
)
def test_heads_that_are_none(text: str, said: str) -> None:
    """A file that is no family says so."""
    with pytest.raises(ConfigError) as caught:
        expand_family(text, "own.yaml")
    assert said in str(caught.value)


def test_the_schema_beside_the_families_is_the_one_of_the_code() -> None:
    """`tasks/family.schema.json` holds what `family_schema` gives."""
    assert json.loads((catalogue_dir("tasks") / "family.schema.json").read_text()) == family_schema()


def test_the_schema_knows_the_fields_that_are_read() -> None:
    """Editors complete exactly the fields that the reader takes, in the head and in variants."""
    properties = family_schema()["properties"]
    assert set(properties) == {*OWN_FIELDS, *TEMPLATE_FIELDS}
    assert set(properties["variants"]["items"]["properties"]) == set(VARIANT_FIELDS)


@pytest.mark.parametrize("path", sorted(catalogue_dir("tasks").glob("*.yaml")), ids=lambda path: path.stem)
def test_shipped_families_meet_the_schema(path: object) -> None:
    """Every family that ships is valid against the schema, and the schema is one."""
    validator = jsonschema.Draft202012Validator(family_schema())
    validator.check_schema(family_schema())
    validator.validate(load_yaml(path.read_text(encoding="utf-8"), str(path)))  # type: ignore[attr-defined]
