"""Reports of evaluations with tasks that can't be done, and with nothing else."""

from pathlib import Path

import pyarrow.parquet as pq
from markdown_it import MarkdownIt

from builders import candidate, evaluation
from builders import task as possible
from crosspath.analysis import decomposition_tables
from crosspath.analysis.coverage import inconclusive_declining
from crosspath.analysis.wording import table
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import contract, suite_text
from crosspath.pipeline.judge import judge
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.store.bundle import read_judgement, write_bundle
from crosspath.testing.validator import FakeValidator
from crosspath.types import Delivery, Facts, FinalState, Task

IMPOSSIBLE = possible("infeasible/gone", "infeasible").model_copy(
    update={"infeasible": "there is no such file", "oracle": None, "fixture": (), "expected": ()}
)
CONTRACTS = tuple(contract("raw").model_copy(update={"name": name}) for name in ("raw", "nested"))


def facts(*tasks: Task, declines: bool = True) -> Facts:
    """An evaluation of two candidates; ``oracle`` declines what can't be done, ``adaptive`` writes a file all the same."""
    made, _ = evaluation(tasks=tasks)
    lazy = {told.digest for told in (candidate("oracle").generation, made.cells[0].generation)}
    replays = tuple(
        replay.model_copy(
            update={
                "delivery": Delivery(problem="refusal", abstained=True, reason="the reply declines: no such file"),
                "execution": replay.execution.model_copy(update={"results": (), "state": FinalState()}),
            }
        )
        if declines and replay.execution and replay.key.trial.task == IMPOSSIBLE.id and replay.key.trial.generation in lazy
        else replay
        for replay in made.replays
    )
    return made.model_copy(update={"replays": replays, "suites": (suite_text("exact"),), "contract_specs": CONTRACTS})


BOTH = facts(possible(), IMPOSSIBLE)
ALONE = facts(IMPOSSIBLE)


def test_cells_effects_and_failures_hold_no_infeasible_task() -> None:
    """With and without the infeasible task everything but the abstentions is the same."""
    with_it, without = (judge(one, FakeValidator()) for one in (BOTH, facts(possible())))
    assert with_it.decompositions == without.decompositions
    assert with_it.comparisons == without.comparisons
    assert decomposition_tables(with_it, BOTH.cells).failures == decomposition_tables(without, BOTH.cells).failures
    assert (len(with_it.abstentions), without.abstentions) == (8, ())
    recalls = {(one.candidate, one.cell): one.recall.value for one in with_it.abstentions}
    assert {recalls["oracle", cell] for cell in ("RR", "RN", "NR", "NN")} == {1.0}
    assert {recalls["adaptive", cell] for cell in ("RR", "RN", "NR", "NN")} == {0.0}


def test_a_missing_contract_record_counts_nothing() -> None:
    """Facts that don't keep their contracts can't say what the form was."""
    found = judge(BOTH.model_copy(update={"contract_specs": ()}), FakeValidator()).abstentions
    assert {one.form for one in found} == {None}
    assert {one.recall.value for one in found} == {None}


def test_the_summary_says_it_in_one_sentence_per_candidate() -> None:
    """Beside the paragraphs, not in them."""
    lines = summary_text(judge(BOTH, FakeValidator())).splitlines()
    assert [line.partition(":")[0] for line in lines if "can't be done" in line] == [
        "oracle on nested-shell",
        "adaptive on nested-shell",
    ]


def test_an_evaluation_of_nothing_else_has_cells_without_rows() -> None:
    """Every cell is planned with no trial; neither summary, report, frames nor exit code take that for a failure."""
    judgement = judge(ALONE, FakeValidator())
    assert {cell.planned for one in judgement.decompositions for cell in one.cells} == {0}
    assert judgement.warnings == tuple(line for line in judgement.warnings if "control" not in line)
    text = summary_text(judgement)
    assert "oracle on nested-shell: none of the tasks can be done, so there is nothing to take apart." in text
    assert "control" not in text
    whole = report_markdown(ALONE, judgement)
    assert "## Tasks that can't be done" in whole
    assert "Tasks that adaptive should have declined" in whole
    assert "Tasks that oracle should have declined" not in whole
    assert "0 of 0" not in whole
    assert "2 candidates, 1 task that can't be done, 1 trial each" in whole
    assert "nothing to mend" not in whole
    made = Evaluation(ALONE, judgement)
    assert len(made.abstentions) == 8
    assert made.failures.empty
    assert set(made.cells["planned"]) == {0}
    assert not inconclusive_declining(judgement.decompositions, judgement.abstentions)


def test_frames_without_infeasible_tasks_keep_their_columns() -> None:
    """The same columns with and without rows."""
    empty, full = (Evaluation(one, judge(one, FakeValidator())).abstentions for one in (facts(possible()), BOTH))
    assert list(empty.columns) == list(full.columns)


def test_declining_alone_needs_half_of_its_trials() -> None:
    """Where nothing else was asked for, too few observed trials are inconclusive; beside other tasks they are only reported."""
    for one, weak in ((ALONE, True), (BOTH, False)):
        lost = tuple(replay for replay in one.replays if replay.key.trial.task != IMPOSSIBLE.id)
        judgement = judge(one.model_copy(update={"replays": lost}), FakeValidator())
        assert inconclusive_declining(judgement.decompositions, judgement.abstentions) is weak
        assert all(abstention.recall.missing == 1 for abstention in judgement.abstentions)


def test_tables_are_rendered_as_tables() -> None:
    """A Markdown reader sees a table, with every cell as text."""
    html = MarkdownIt("gfm-like", {"linkify": False}).render(table(["a", "b"], [["---", "x|y"], ["1", None]]))
    assert html.count("<table>") == 1
    assert "<th>a</th>" in html
    assert "<td>---</td>" in html
    assert "<td>x|y</td>" in html


def test_a_bundle_keeps_them_apart_for_any_reader(tmp_path: Path) -> None:
    """Whoever counts passes in the Parquet files can see which scores are no part of a rate; reading back gives the same."""
    judgement = judge(BOTH, FakeValidator())
    write_bundle(BOTH, judgement, tmp_path / "bundle")
    rows = pq.read_table(tmp_path / "bundle" / "scores.parquet").to_pylist()  # pyright: ignore[reportUnknownMemberType]
    assert {row["task"] for row in rows if row["infeasible"]} == {IMPOSSIBLE.id}
    assert read_judgement(tmp_path / "bundle").abstentions == judgement.abstentions
