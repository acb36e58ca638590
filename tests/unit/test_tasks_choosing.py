"""Selection and uniqueness of tasks."""

import pytest

from crosspath.errors import ConfigError
from crosspath.tasks import require_unique, select
from crosspath.types import Task

TASKS = (
    Task(id="a/0", family="a", tier=0),
    Task(id="a/1", family="a", tier=1, hazards=("dollar",)),
    Task(id="b/1", family="b", tier=1, hazards=("apostrophe", "newline")),
    Task(id="c/x", family="c"),
)


def names(tasks: tuple[Task, ...]) -> list[str]:
    """Their ids."""
    return [task.id for task in tasks]


def test_nothing_chosen_means_everything() -> None:
    """An empty choice takes all tasks, those without a tier included."""
    assert select(TASKS) == TASKS


def test_choices_narrow_each_other() -> None:
    """Within one axis any value will do, across axes all must hold; order stays."""
    assert names(select(TASKS, tiers=[1])) == ["a/1", "b/1"]
    assert names(select(TASKS, tags=["newline", "dollar"])) == ["a/1", "b/1"]
    assert names(select(TASKS, families=["a", "c"], tiers=[0, 1])) == ["a/0", "a/1"]


@pytest.mark.parametrize(
    ("families", "tiers", "tags", "said"),
    [
        (["aa"], [], [], "tasks.families: no task has 'aa'; did you mean 'a'? known: a, b, c"),
        ([], [2], [], "tasks.tiers: no task has 2; known: 0, 1"),
        ([], [], ["dolar"], "did you mean 'dollar'? known: apostrophe, dollar, newline"),
        (["c"], [1], [], "no task has all that was chosen"),
    ],
)
def test_choices_that_find_nothing(families: list[str], tiers: list[int], tags: list[str], said: str) -> None:
    """An unknown family, tier or tag names the known ones; a choice without a task is refused as well."""
    with pytest.raises(ConfigError) as caught:
        select(TASKS, families=families, tiers=tiers, tags=tags)
    assert said in str(caught.value)


@pytest.mark.parametrize("twin", ["a/0", "A/0", "a/０", "ａ/0"])
def test_ids_that_can_be_mistaken_are_refused(twin: str) -> None:
    """The same id, another case, and another Unicode form all count as the same."""
    with pytest.raises(ConfigError, match="ids must be unique"):
        require_unique((*TASKS, Task(id=twin, family="z")))


def test_different_ids_are_fine() -> None:
    """Nothing is said about tasks that can't be mistaken for each other."""
    require_unique(TASKS)
