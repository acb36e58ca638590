"""How YAML is read: as people mean it, or not at all."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.errors import ConfigError
from crosspath.strict_yaml import MAX_DEPTH, MAX_VALUES, load_yaml, read_document


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("true", True),
        ("False", False),
        ("12", 12),
        ("+5", 5),
        ("-0.5", -0.5),
        ("1e3", 1000.0),
        ("0x1F", 31),
        ("0o17", 15),
        ("0755", "0755"),
        ("12:30", "12:30"),
        ("2026-01-31", "2026-01-31"),
        ("1_000", "1_000"),
        ('"12"', "12"),
        ("!!str 12", "12"),
        ("~", None),
        ("", None),
        ("1.2.3", "1.2.3"),
    ],
)
def test_plain_scalars(text: str, value: object) -> None:
    """A plain scalar means what a person who reads it expects, without YAML 1.1's surprises."""
    assert load_yaml(f"a: {text}", "f.yaml") == {"a": value}


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("a: 1\nb: 2\na: 3", 3, "'a' stands here twice; the first is on line 1"),
        ("x:\n  - {a: 1, a: 2}", 2, "twice"),
        ("a: .nan", 1, "not a finite number"),
        ("a: -.inf", 1, "not a finite number"),
        ("a: 1e999", 1, "too large"),
        ("1: x", 1, "a key must be a text"),
        ("true: x", 1, "a key must be a text"),
        ("? [a]\n: b", 1, "a key must be a text"),
        ("a: &x {b: 1}\nc:\n  <<: *x", 3, "merge keys"),
        ("a: &x [*x]", 1, "an alias refers to what it is part of"),
        ("a: !!python/object:os.system ls", 1, "tags are not supported"),
        ("a: !mine 5", 1, "tags are not supported"),
        ("a: 1\nb: [1,", 2, "not readable as YAML"),
        ("a: 1\n---\nb: 2", 2, "another document"),
        ("a:\n\t- b", 2, "not readable as YAML"),
        ("a: 1\nb: '\\ud800'".replace("'", '"'), 2, "half a surrogate pair"),
        ("[" * (MAX_DEPTH + 10) + "]" * (MAX_DEPTH + 10), 1, "nested too deeply"),
    ],
)
def test_refused(text: str, line: int, problem: str) -> None:
    """What is no plain data, or says two things, is refused with file and line."""
    with pytest.raises(ConfigError) as caught:
        load_yaml(text, "f.yaml")
    assert str(caught.value).startswith(f"f.yaml:{line}: ")
    assert problem in str(caught.value)
    assert "\n" not in str(caught.value)


def test_depth_of_ten_thousand() -> None:
    """A document that is nested beyond any measure is refused, not a crash."""
    with pytest.raises(ConfigError, match="nested too deeply"):
        load_yaml("[" * 10_000, "f.yaml")


def test_growing_aliases() -> None:
    """A few lines of aliases can't grow into more values than the limit."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]
    with pytest.raises(ConfigError, match=f"more than {MAX_VALUES} values"):
        load_yaml("\n".join(lines), "f.yaml")


def test_quoted_merge_key() -> None:
    """In quotes, ``<<`` is a key like any other."""
    assert load_yaml("'<<': 1", "f.yaml") == {"<<": 1}


def test_lines() -> None:
    """Every value knows its line; a place that does not exist has the line of what is around it."""
    document = read_document("a:\n  b:\n    - x\n    - y\n", "f.yaml")
    assert document.line(("a", "b", 1)) == 4
    assert document.line(("a", "b", 7)) == 2
    assert document.line(("nowhere",)) == 1
    assert read_document("", "f.yaml").line(("a",)) is None


_TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=10)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**15), 10**15) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(_VALUES)
def test_json_is_yaml(value: object) -> None:
    """Any JSON document reads as itself."""
    assert load_yaml(json.dumps(value), "f.json") == value
