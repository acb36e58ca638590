"""A verdict about leaks says how many tasks had something to leak."""

from builders import evaluation, task
from crosspath.catalogue import suite_text
from crosspath.pipeline.planted import planted
from crosspath.types import Facts, Secret

SECRET = Secret(name="token", value=b"hk_live_9f2c41d7")


def facts(validator: str, *planting: bool) -> Facts:
    """An evaluation by this validator, of one task per argument: with a secret or without."""
    tasks = tuple(
        task(f"write-bytes/t{number}").model_copy(update={"secrets": (SECRET,) if secret else ()})
        for number, secret in enumerate(planting)
    )
    made, _ = evaluation(tasks=tasks)
    return made.model_copy(update={"suites": (suite_text(validator),)})


def test_tasks_with_a_secret_are_counted() -> None:
    """Where tasks without a secret pass for lack of one, their share is said; no secret at all is said, too."""
    (some,) = planted(facts("no-leak", True, False, False))
    assert some == "no-leak judges leaks: 1 of 3 tasks plants a secret; in the others nothing can leak, and they pass."
    (none,) = planted(facts("no-leak", False, False))
    assert "none of 2 tasks plants a secret" in none


def test_nothing_is_said_where_there_is_nothing_to_miss() -> None:
    """A secret in every task, or a validator that does not judge leaks."""
    assert list(planted(facts("no-leak", True, True))) == []
    assert list(planted(facts("exact", True, False))) == []
