"""Which tasks a daily watch samples."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.sentinels import SeenTask, choose, expected_rates, quotas


def seen(kinds: str, families: int = 4, trials: int = 5) -> list[SeenTask]:
    """``a``: always passed, ``s``: sometimes, ``n``: never, ``u``: unstable, ``-``: no verdict."""
    passed = {"a": trials, "s": 2, "n": 0, "u": trials, "-": 0}
    return [
        SeenTask(f"t{at}", f"f{at % families}", passed[kind], 0 if kind == "-" else trials, int(kind == "u"))
        for at, kind in enumerate(kinds)
    ]


def test_tasks_that_can_drop_are_chosen_as_often_as_there_are_and_few_that_cannot() -> None:
    """Of 16: two that never passed; of the others as many always as sometimes, as among all."""
    chosen = choose(seen("a" * 20 + "s" * 20 + "n" * 20), 16)
    assert Counter(task.kind for task in chosen) == {"always": 7, "sometimes": 7, "never": 2}


def test_no_more_tasks_that_never_passed_are_chosen_than_there_are_among_all() -> None:
    """One in forty of all: one of 24, not three."""
    assert Counter(task.kind for task in choose(seen("a" * 39 + "s" * 39 + "nn"), 24))["never"] == 1


def test_each_kind_that_is_there_is_chosen() -> None:
    """One task that varied among many that always passed is taken."""
    assert Counter(task.kind for task in choose(seen("a" * 40 + "s"), 8)) == {"always": 7, "sometimes": 1}


def test_families_are_spread() -> None:
    """Four families and eight tasks: two of each."""
    assert Counter(task.family for task in choose(seen("a" * 40), 8)) == dict.fromkeys(("f0", "f1", "f2", "f3"), 2)


def test_unstable_tasks_are_taken_last_and_those_without_a_verdict_never() -> None:
    """While others suffice they are left out."""
    tasks = seen("uuaaaa--")
    assert [task.task for task in choose(tasks, 4)] == ["t2", "t3", "t4", "t5"]
    assert [task.kind for task in choose(seen("uuuuuuss"), 2)] == ["sometimes", "sometimes"]
    assert len(choose(tasks, 5)) == 5
    assert len(choose(tasks, 8)) == 6


@given(st.text("asnu-", max_size=40), st.integers(1, 50), st.integers(1, 6))
def test_as_many_are_chosen_as_asked_for_in_their_order(kinds: str, number: int, families: int) -> None:
    """All that have a verdict where there are fewer; none twice; none more than there is of its kind."""
    tasks = seen(kinds, families)
    chosen = choose(tasks, number)
    assert len(chosen) == min(number, sum(task.trials > 0 for task in tasks))
    assert [task for task in tasks if task in chosen] == list(chosen)
    pool = [task for task in tasks if task.trials]
    there = Counter(task.kind for task in pool)
    assert all(0 <= wanted <= there[kind] for kind, wanted in quotas(pool, number).items())


def test_expected_rates_do_not_take_few_trials_at_their_word() -> None:
    """One trial of all tasks together is mixed in."""
    assert expected_rates([SeenTask("a", "f", 1, 1), SeenTask("b", "f", 0, 1)]) == [0.75, 0.25]
