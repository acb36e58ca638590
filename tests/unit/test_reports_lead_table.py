"""All candidates in one table, and the sentence that says which of them it does not rank."""

from builders import estimate, evaluation
from crosspath.analysis.losses import PLACES
from crosspath.reports.html import report_html
from crosspath.reports.lead_table import LEAD_NOTE, MOST_NAMED, lead_rows, lead_table, rate_words, unranked
from crosspath.reports.markdown import report_markdown
from crosspath.reports.terminal import report_terminal
from crosspath.types import Cell, Comparison, Control, Estimate, Facts, Judgement, Loss, Losses

NAMES = ("oracle", "adaptive")
BROKEN = Control(kind="encoded", status="broken", compared=9, reason="3 differ every time")


def judged(**update: object) -> tuple[Facts, Judgement]:
    """Two candidates with losses, means over families, and the usual comparison."""
    facts, judgement = evaluation()
    found = tuple(
        one.model_copy(update={"cells": tuple(_with_mean(cell) for cell in one.cells)}) for one in judgement.decompositions
    )
    losses = tuple(_losses(one.candidate) for one in found)
    return facts, judgement.model_copy(update={"decompositions": found, "losses": losses, **update})


def _with_mean(cell: Cell) -> Cell:
    return cell.model_copy(update={"population": estimate(0.849, rate=True)})


def _losses(name: str) -> Losses:
    lost: dict[Loss, int] = dict(zip(PLACES, (1, 1, 0, 0), strict=True))
    return Losses(candidate=name, told="N", done="N", attempted=3, kept=1, lost=lost)


def pair(a: str, b: str, low: float | None, high: float | None, **update: object) -> Comparison:
    """``b`` - ``a`` with an interval, nothing missing unless ``update`` says so."""
    value = None if low is None or high is None else (low + high) / 2
    fields = {"value": value, "low": low, "high": high, "worst": value, "best": value, "n": 9}
    difference = Estimate.model_validate({**fields, "estimand": "task_population", "method": "t", **update})
    return Comparison(a=a, b=b, difference=difference, changed=())


def test_every_candidate_has_a_row_in_all_three_forms() -> None:
    """Counts of scored, the mean with its interval, the four places and the control: the same in Markdown, HTML and terminal."""
    facts, judgement = judged()
    assert lead_rows(judgement)[0] == (
        "oracle on nested-shell", "1 of 3", "84.9 % (64.9 % to 100.0 %)", "1", "1", "0", "0", "holds",
    )  # fmt: skip
    assert "| oracle on nested-shell | 1 of 3 | 84.9 % (64.9 % to 100.0 %) | 1 | 1 | 0 | 0 |" in report_markdown(facts, judgement)
    first, *_ = report_html(facts, judgement, {}).partition("In plain words</h2>")
    assert "64.9 % to 100.0 %" in first
    terminal, *_ = report_terminal(facts, judgement, 120).partition("== oracle")
    assert "mean over" in terminal
    for text in (first, terminal):
        assert all(words in " ".join(text.split()) for words in (LEAD_NOTE, "1 of 3"))


def test_a_rate_that_is_no_share_of_its_counts_says_so() -> None:
    """Beside counts the mean over families is named as such where it differs from their share, and only there."""
    cell = judged()[1].decompositions[0].cells[0].model_copy(update={"scored": 42, "passed": 37})
    assert rate_words(cell.model_copy(update={"rate": estimate(0.849)})) == "84.9 % as mean over families"
    assert rate_words(cell.model_copy(update={"rate": estimate(37 / 42)})) == "88.1 %"
    assert rate_words(cell.model_copy(update={"rate": estimate(None)})).startswith("–")


def test_a_broken_control_leaves_no_places() -> None:
    """Where a control is broken nothing is said to be lost to path, model or format, and the candidate can't be ranked."""
    _, judgement = judged(comparisons=(pair(*NAMES, 0.2, 0.4),))
    one, other = judgement.decompositions
    judgement = judgement.model_copy(update={"decompositions": (one.model_copy(update={"control": BROKEN}), other)})
    assert lead_rows(judgement)[0][3:] == ("–", "–", "–", "0", "broken")
    assert unranked(judgement) == "Can't be ranked: oracle and adaptive (a control is broken)."


def test_tasks_that_cannot_be_done_have_no_rate() -> None:
    """A candidate that was asked only for what can't be done has words in place of numbers."""
    _, judgement = judged()
    none = judgement.losses[0].model_copy(update={"attempted": 0, "kept": 0, "lost": dict.fromkeys(PLACES, 0)})
    both = judgement.model_copy(update={"losses": (none, judgement.losses[1])})
    assert lead_rows(both)[0] == ("oracle on nested-shell", "no task can be done", *["–"] * 6)
    assert lead_table(judgement.model_copy(update={"losses": (none,)})) == ""
    assert lead_table(judgement.model_copy(update={"losses": ()})) == ""


def test_pairs_that_cannot_be_ranked_are_named_with_the_reason() -> None:
    """An interval that holds zero, and trials that are missing and could turn the order, are said; a clear pair is not."""
    pairs = (
        pair("a", "b", -0.1, 0.2),
        pair("a", "c", -0.2, 0.1),
        pair("b", "c", 0.1, 0.3, worst=-0.1, best=0.4),
        pair("a", "d", 0.1, 0.2),
    )
    assert unranked(judged(comparisons=pairs)[1]) == (
        "Can't be ranked: a and each of b, c (the interval of their difference, for task families like these, holds 0);"
        " b and c (trials without a verdict could turn their order). Can be ranked as deployed: d above a."
    )
    assert unranked(judged(comparisons=pairs[-1:])[1]) == ""
    assert "a and b (there is no interval" in unranked(judged(comparisons=(pair("a", "b", None, None),))[1])


def test_the_interval_that_holds_together_decides() -> None:
    """Several comparisons at once are judged by the intervals that hold together, where there are such."""
    clear = pair("a", "b", 0.1, 0.3)
    wider = clear.model_copy(update={"together": clear.difference.model_copy(update={"low": -0.1})})
    assert "a and b" in unranked(judged(comparisons=(wider,))[1])


def test_many_pairs_are_counted() -> None:
    """More pairs than fit in a sentence are counted by reason."""
    pairs = tuple(pair("a", f"b{number}", -0.1, 0.2) for number in range(MOST_NAMED + 1))
    assert unranked(judged(comparisons=(*pairs, pair("a", "c", 0.1, 0.2)))[1]) == (
        "5 of the 6 pairs that were compared can't be ranked: in 5 the interval of the difference holds 0."
    )
