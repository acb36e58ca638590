"""Evaluations as Python users see them at a prompt and in a notebook."""

from builders import evaluation
from crosspath.app.evaluation import Evaluation
from crosspath.types import Comparison, Estimate


def made() -> Evaluation:
    return Evaluation(*evaluation())


def test_an_evaluation_is_two_lines() -> None:
    """Id and status, then each candidate's reference and matched cell: no dump of all facts."""
    first, second = repr(made()).splitlines()
    assert first == f"<Evaluation {made().id} (finished)"
    assert second.startswith(" oracle RR ")
    assert ", NN " in second
    assert second.endswith(">")


def test_many_candidates_are_counted() -> None:
    """What does not fit is counted."""
    whole = made()
    first = whole.judgement.decompositions[0]
    many = whole.judgement.model_copy(update={"decompositions": (first,) * 9})
    assert repr(Evaluation(whole.facts, many)).endswith("; and 3 more>")


def test_a_notebook_shows_a_table_and_obeys_no_name() -> None:
    """The table is escaped: a name is never markup."""
    whole = made()
    head = whole.facts.head.model_copy(update={"id": "<script>"})
    html = Evaluation(whole.facts.model_copy(update={"head": head}), whole.judgement)._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt; (finished)" in html
    assert html.count("<tr>") == 1 + len(whole.judgement.decompositions)


def test_a_comparison_is_readable() -> None:
    """Difference in points with its interval, what it is an estimate of, what was changed, and a warning."""
    difference = Estimate(value=0.125, low=-0.03, high=0.28, n=24, estimand="task_population", method="t on family means")
    found = Comparison(a="old", b="new", difference=difference, changed=(("transport", "raw", "nested-shell"),), warning="few")
    expected = "new - old: +12.5 points [-3.0, +28.0] (n = 24, task_population, t on family means)"
    assert repr(found) == f"{expected}\n  transport: raw -> nested-shell\n! few"
    unknown = found.model_copy(update={"difference": difference.model_copy(update={"value": None})})
    assert str(unknown).startswith("new - old: unknown")
