"""What people read of the order of models: plain sentences without cell codes, bounded tables, names that break nothing."""

import pytest

from builders import evaluation
from crosspath.analysis.outcomes import arrange
from crosspath.analysis.rank_stability import rank_stability
from crosspath.reports.stability_tables import MOST_ARRANGEMENTS, MOST_PAIRS, MOST_TASKS, stability_lines, stability_section
from crosspath.types import Arrangement, CellRow, FragileTask, Judgement, RankStability

RAW, NESTED = "told raw, run on raw", "told nested, run on nested-shell"


def stability(first: dict[str, int], second: dict[str, int], labels: tuple[str, str] = (RAW, NESTED)) -> RankStability:
    """Models with so many right tasks of each of ten families of four."""
    sides = [
        {
            name: arrange(
                CellRow(task=f"f{f}/t{t}", family=f"f{f}", passed=t < right - (f % 3 == place))
                for f in range(10)
                for t in range(4)
            )
            for place, (name, right) in enumerate(counts.items())
        }
        for counts in (first, second)
    ]
    found = rank_stability((Arrangement(label=labels[0]), sides[0]), (Arrangement(label=labels[1]), sides[1]))
    assert found is not None
    return found


def judgement(*stabilities: RankStability, tasks: tuple[FragileTask, ...] = ()) -> Judgement:
    _, made = evaluation()
    return made.model_copy(update={"rank_stability": stabilities, "fragile_tasks": tasks})


def fragile(task: str, model: str = "m") -> FragileTask:
    return FragileTask(task=task, family="f", model=model, passes=6, fails=1, passed=(RAW, NESTED), failed=("told x",))


def test_a_reversal_in_plain_words() -> None:
    """The sentence names both arrangements, how many pairs change places, and how sure that is for other families."""
    (line,) = stability_lines(judgement(stability({"a": 4, "b": 1}, {"a": 1, "b": 4})))
    assert line == (
        f"The order of 2 models, {RAW} against {NESTED}: 1 of 1 pairs that can be compared change places, 1 of them by more "
        "than a single task on both sides. For families like these, none of 1 pairs keep their order with 95 % confidence, "
        "1 change it."
    )


def test_an_order_that_holds() -> None:
    """Where no pair changes places the sentence says so, and how many pairs are known to keep their order."""
    (line,) = stability_lines(judgement(stability({"a": 4, "b": 1, "c": 1}, {"a": 4, "b": 1, "c": 1})))
    assert "it holds for all 2 pairs that can be compared (1 of 3 is equal in one of the two)." in line
    assert "2 of 3 pairs keep their order with 95 % confidence, none change it." in line


def test_nothing_to_compare() -> None:
    """Ties everywhere, and no shared task, are said as such."""
    same = {"a": 2, "b": 2}
    tied = stability(same, same).model_copy(update={"comparable": 0})
    assert "no order that could change" in stability_lines(judgement(tied))[0]
    empty = tied.model_copy(update={"tasks": 0})
    assert stability_lines(judgement(empty))[0].endswith("can't be compared: no task has a verdict for all of them.")
    assert stability_section(judgement()) == ""
    assert stability_lines(judgement()) == []


def test_the_tables() -> None:
    """Taus with the interval, the reversed pair with its support, and who can't be told apart."""
    section = stability_section(judgement(stability({"a": 4, "b": 1}, {"a": 1, "b": 4})))
    assert "-1.000 (-1.000 to -1.000)" in section
    assert "| a | b | " in section
    assert "| yes | 10 | 100 % | yes |" in section
    assert "Not told apart, told raw, run on raw: no two models." in section


def test_an_interval_that_is_not_there_is_not_made_up() -> None:
    """Of one family there is no interval, and the table says so."""
    rows = {name: arrange([CellRow(task="t", family="f", passed=name == "a")]) for name in "ab"}
    found = rank_stability((Arrangement(label=RAW), rows), (Arrangement(label=NESTED), rows))
    assert found is not None
    assert "000 (no interval)" in stability_section(judgement(found))


def test_long_lists_are_cut_and_counted() -> None:
    """Comparisons, reversed pairs and tasks beyond the limits are counted; most reversals come first."""
    many = {f"m{place:02}": place % 5 for place in range(12)}
    turned = {name: 4 - right for name, right in many.items()}
    calm, wild = stability(many, many, ("calm", NESTED)), stability(many, turned, ("wild", NESTED))
    tasks = tuple(fragile(f"t{place}") for place in range(MOST_TASKS + 3))
    section = stability_section(judgement(*[calm] * MOST_ARRANGEMENTS, wild, tasks=tasks))
    assert section.index("| wild |") < section.index("| calm |")
    assert "1 more comparison with fewer reversals" in section
    assert f"{wild.reversed - MOST_PAIRS} more reversed pairs with less support" in section
    assert "3 more tasks that are as fragile or less" in section
    assert f"{MOST_TASKS + 3} tasks are right in every trial in one configuration" in section


def test_fragile_tasks_are_one_row_each() -> None:
    """A task stands once, with how many models it concerns, and how many more arrangements there are than are named."""
    section = stability_section(judgement(tasks=(fragile("t1", "a"), fragile("t1", "b"))))
    assert "1 task is right" in section
    assert f"| t1 | f | 2 | a | {RAW}; {NESTED}; and 4 more | told x |" in section


@pytest.mark.parametrize("name", ["a|b\n# x", "<script>alert(1)</script>", "**bold** [link](http://x)"])
def test_hostile_names_stay_text(name: str) -> None:
    """A model's or a task's name can neither break a table nor become markup."""
    found = stability({name: 4, "b": 1}, {name: 1, "b": 4})
    section = stability_section(judgement(found, tasks=(fragile(name, name),)))
    assert "<script" not in section
    assert "[link](" not in section
    assert not any(line.startswith("# x") for line in section.splitlines())
    assert all(line.count("| ") >= 2 for line in section.splitlines() if line.startswith("|"))
