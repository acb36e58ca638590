"""A plain YAML list of tasks."""

import pytest

from crosspath.errors import ConfigError
from crosspath.tasks import expand_heldout, parse_yaml_tasks

LIST = """
- id: mine/a
  instruction: Write {{ this }} to a.txt.
  expected: {a.txt: "{{ this }}\\n"}
- id: mine/b
  instruction: Delete b.txt.
  fixture: {b.txt: x}
  expected: {}
"""


def test_a_plain_list_needs_neither_templates_nor_tiers() -> None:
    """A YAML list of tasks is read as it stands: no Jinja, no tier, no right command needed."""
    first, second = parse_yaml_tasks(LIST, "mine.yaml")
    assert (first.id, first.tier, first.oracle, first.instruction) == ("mine/a", None, None, "Write {{ this }} to a.txt.")
    assert (second.id, second.expected) == ("mine/b", ())


def test_a_family_is_read_as_before() -> None:
    """A mapping is a family, whichever way it is read."""
    (task,) = parse_yaml_tasks("name: f\ninstruction: hi\nexpected: {}\nvariants: [{name: a}]", "f.yaml")
    assert task.id == "f/a"


def test_nothing_is_drawn_from_a_plain_list() -> None:
    """A list says nothing about payloads, so it has no held-out tasks."""
    assert expand_heldout(LIST, "mine.yaml", "a seed of sixteen") == ()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (LIST.replace("mine/b", "mine/A"), "mine.yaml:5: id: 'mine/A' is taken by the task at mine.yaml:2"),
        (LIST.replace("expected: {}", "expectd: {}"), "mine.yaml:5: unknown field"),
        ("[]", "mine.yaml: no task in this list"),
        ("- 5", "mine.yaml:1: 5 is not an object"),
    ],
)
def test_a_bad_list_is_one_clear_line(text: str, said: str) -> None:
    """The line of the entry, the field and what would be right."""
    with pytest.raises(ConfigError) as caught:
        parse_yaml_tasks(text, "mine.yaml")
    assert str(caught.value).startswith(said) or said in str(caught.value)
