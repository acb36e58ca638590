"""Tasks written down again, and YAML that is read back as it was."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import catalogue_tasks, heldout_tasks, read_tasks
from crosspath.strict_yaml import load_yaml
from crosspath.tasks.exchange import task_from_object
from crosspath.tasks.places import Place
from crosspath.tasks.writing import exchange_object, yaml_text
from crosspath.types import JSON, Task

INCIDENTS = Path(__file__).parent.parent / "data" / "incidents.jsonl"
TASKS = (*catalogue_tasks(), *heldout_tasks("a seed of sixteen"), *read_tasks(INCIDENTS))
ODD = ("0755", "0o17", "no", "true", "~", "", " ", "12:30", "1e3", "- a", "a: b", "# a", "|")
BROKEN = ("a\n", "\na", "a\n\n", " a\nb", "a \nb", "a\tb", "a\r\nb", "\x85", "\ufeff", "\u2028")
TEXTS = st.text(st.characters(blacklist_categories=["Cs"]), max_size=40) | st.sampled_from((*ODD, *BROKEN))
LEAVES = TEXTS | st.integers(-999, 999) | st.booleans() | st.none()


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_task_comes_back_from_the_exchange_format(task: Task) -> None:
    """Written as an object of the exchange format and read again, a task is the same, whatever it holds."""
    assert task_from_object(exchange_object(task), Place("here")) == task


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.id)
def test_a_task_comes_back_from_yaml(task: Task) -> None:
    """The YAML of a task gives the strict reader the very same object."""
    value = exchange_object(task)
    assert load_yaml(yaml_text(value), "here") == value


@given(st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=6))
def test_any_text_survives_yaml(value: JSON) -> None:
    """What looks like a number, a comment, a block or nothing stays the text that it was."""
    assert load_yaml(yaml_text(value), "here") == value
