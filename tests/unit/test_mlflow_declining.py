"""Tasks that can't be done in MLflow: metrics, description and rows of their own, and runs that are no failures."""

from builders import candidate, evaluation
from builders import task as possible
from crosspath.adapters.mlflow_tracker.beside_metrics import abstention_metrics
from crosspath.adapters.mlflow_tracker.layout import RunContent, layout
from crosspath.adapters.mlflow_tracker.names import MAX_METRICS, NOTE_TAG
from crosspath.analysis.abstention import Declining, abstention
from crosspath.catalogue import contract, suite_text
from crosspath.pipeline.judge import judge
from crosspath.testing.validator import FakeValidator
from crosspath.types import Abstention, Facts, PlannedCell, Task

IMPOSSIBLE = possible("infeasible/gone", "infeasible").model_copy(
    update={"infeasible": "there is no such file", "oracle": None, "expected": ()}
)
CONTRACTS = tuple(contract("raw").model_copy(update={"name": name}) for name in ("raw", "nested"))


def runs(*tasks: Task) -> tuple[RunContent, ...]:
    """The runs of an evaluation in which nobody declines: the parent first."""
    made, _ = evaluation(tasks=tasks)
    facts: Facts = made.model_copy(update={"suites": (suite_text("exact"),), "contract_specs": CONTRACTS})
    found = layout(facts, judge(facts, FakeValidator()), 100)
    found.check()
    return (found.parent, *found.nested)


def full() -> Abstention:
    """Something of everything."""
    cell = PlannedCell(
        candidate="c", told="N", done="N", generation=candidate("oracle").generation, contract="raw", transport="raw", path="p"
    )
    rows = [Declining("i/1", True, "form"), Declining("i/2", True, "acted", untouched=False), Declining("f/1", False, "form")]
    return abstention(cell, "CANNOT:", rows)


def test_metrics_are_told_apart_by_their_first_letters() -> None:
    """Column headers are cut after about ten letters: no two are alike there, among all metrics of a run."""
    found = abstention_metrics(full())
    assert found == {"abst_prec": 0.5, "abst_recl": 0.5, "abst_acted": 1.0, "abst_overd": 1.0}
    _, matched, *_ = runs(possible(), IMPOSSIBLE)
    assert found.keys() - {"abst_prec"} <= matched.metrics.keys()
    assert len({name[:10] for name in matched.metrics}) == len(matched.metrics) <= MAX_METRICS


def test_an_unknown_share_is_no_metric() -> None:
    """Where nobody declined there is no precision: left out, never 0."""
    _, matched, *_ = runs(possible(), IMPOSSIBLE)
    assert "abst_prec" not in matched.metrics
    assert matched.metrics["abst_recl"] == 0.0


def test_pass_rates_and_rows_keep_them_apart() -> None:
    """The pass rate is that of tasks that can be done; the rows of the others are judged by names of their own."""
    _, matched, *_ = runs(possible(), IMPOSSIBLE)
    assert matched.metrics["n_planned"] == 1
    names = {row.task: [verdict.name for verdict in row.verdicts] for row in matched.rows}
    assert names == {
        "write-bytes/price": ["passed", "state_ok", "misreport", "cause", "lost_to"],
        "infeasible/gone": ["rightly_declined", "untouched"],
    }
    [row] = [row for row in matched.rows if row.task == IMPOSSIBLE.id]
    assert row.response["verdict"] == "not declined rightly: extra_files"
    assert "1 acted all the same" in matched.tags[NOTE_TAG]
    assert "recall 0.0 %" in matched.tags[NOTE_TAG]


def test_runs_of_nothing_else_are_complete() -> None:
    """An evaluation of tasks that can't be done has all that it was asked for: no run is shown as failed."""
    assert [run.complete for run in runs(IMPOSSIBLE)] == [True] * 5
    assert not any("abst" in name for run in runs(possible()) for name in run.metrics)
