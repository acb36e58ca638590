"""From facts to the contamination alarm: which tasks and cells take part, and where the alarm is told."""

from itertools import combinations

import pytest

from builders import evaluation, task
from crosspath.adapters.mlflow_tracker.beside_metrics import partition_metrics
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.adapters.mlflow_tracker.metrics import cell_metrics
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import suite_text
from crosspath.cli.finishing import document_of
from crosspath.pipeline.judge import judge
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.testing.validator import FakeValidator
from crosspath.types import Facts, FinalState, Judgement, Replay, StateEntry, Task, digest

FAMILIES = 8


def public() -> list[Task]:
    return [task(f"f{family}/{tier}", f"f{family}", tier) for family in range(FAMILIES) for tier in (0, 1)]


def heldout(draws: int = 1) -> list[Task]:
    return [
        twin.model_copy(update={"id": f"{twin.id}-heldout{number}", "partition": "heldout", "twin": twin.id})
        for twin in public()
        for number in range(draws)
    ]


def facts_of(tasks: list[Task], wrong: str = "") -> Facts:
    """An evaluation whose ``oracle`` is right everywhere on its reference, but for tasks whose id holds ``wrong``."""
    facts, _ = evaluation(tasks=tuple(tasks))
    replays = tuple(_spoilt(replay) if wrong and wrong in replay.key.trial.task else replay for replay in facts.replays)
    return facts.model_copy(update={"suites": (suite_text("exact"),), "replays": replays})


def _spoilt(replay: Replay) -> Replay:
    assert replay.execution is not None
    entry = StateEntry(path=b"out.txt", kind="file", mode=0o644, size=1, sha256=digest("y"), content=b"y")
    execution = replay.execution.model_copy(update={"state": FinalState(entries=(entry,))})
    return replay.model_copy(update={"execution": execution})


@pytest.fixture
def contaminated() -> tuple[Facts, Judgement]:
    """Right on every public task, wrong on every draw."""
    facts = facts_of([*public(), *heldout()], wrong="heldout")
    return facts, judge(facts, FakeValidator())


def test_reference_and_matched_cell_of_each_candidate() -> None:
    """An honest evaluation has one gap of 0 for RR and one for NN of each candidate, and no warning."""
    found = judge(facts_of([*public(), *heldout(2)]), FakeValidator())
    assert [(gap.candidate, gap.cell) for gap in found.partition_gaps] == [
        ("oracle", "RR"),
        ("oracle", "NN"),
        ("adaptive", "RR"),
        ("adaptive", "NN"),
    ]
    assert [gap.difference.value for gap in found.partition_gaps] == [0.0] * 4
    assert {gap.difference.n for gap in found.partition_gaps} == {2 * FAMILIES}
    assert not any("CONTAMINATION" in warning for warning in found.warnings)


@pytest.mark.parametrize("tasks", [public(), heldout()])
def test_one_partition_alone_is_no_comparison(tasks: list[Task]) -> None:
    """Without both partitions nothing is said about contamination."""
    found = judge(facts_of(tasks), FakeValidator())
    assert found.partition_gaps == ()
    assert "ontamination" not in summary_text(found)


def test_infeasible_tasks_take_no_part() -> None:
    """Tasks that can't be done are in no pair, whatever came of them."""
    twin, drawn = public()[0], heldout()[0]
    broken = {"infeasible": "no such file", "oracle": None}
    others = [one for one in (*public(), *heldout()) if one.id not in (twin.id, drawn.id)]
    infeasible = [twin.model_copy(update=broken), drawn.model_copy(update=broken)]
    found = judge(facts_of([*others, *infeasible]), FakeValidator())
    assert {gap.difference.n for gap in found.partition_gaps} == {2 * FAMILIES - 1}
    assert {gap.difference.missing for gap in found.partition_gaps} == {0}


def test_a_twin_that_is_not_there_is_said() -> None:
    """Held-out tasks of other variants than the public ones can't be paired: no number, and a sentence."""
    found = judge(facts_of([*public()[:2], *heldout()[2:]]), FakeValidator())
    assert {gap.difference.value for gap in found.partition_gaps} == {None}
    assert "No contamination check for oracle in RR" in summary_text(found)
    assert partition_metrics(found.partition_gaps[0]) == {}


def test_all_tasks_are_pooled_elsewhere(contaminated: tuple[Facts, Judgement]) -> None:
    """Rates and effects hold both partitions: half of all tasks pass, and the report says that they are pooled."""
    facts, found = contaminated
    cell = found.decompositions[0].cell("RR")
    assert cell is not None
    assert (cell.passed, cell.scored) == (2 * FAMILIES, 4 * FAMILIES)
    assert "pools both partitions" in report_markdown(facts, found)


def test_the_alarm_is_told_everywhere(contaminated: tuple[Facts, Judgement]) -> None:
    """Warning, terminal, report, JSON document and DataFrame name candidate, cell and numbers."""
    facts, found = contaminated
    whole = Evaluation(facts, found)
    alarms = [warning for warning in found.warnings if "CONTAMINATION ALARM: public tasks pass more often" in warning]
    assert [alarm.partition(":")[0] for alarm in alarms] == ["oracle, RR", "adaptive, RR", "adaptive, NN"]
    assert "CONTAMINATION ALARM for oracle in RR: 100.0 % of the public tasks pass and 0.0 %" in whole.summary()
    assert "## Public and held-out tasks" in whole.report()
    gaps = document_of(whole)["partition_gaps"]
    assert [gap["alarm"] for gap in gaps] == [True, False, True, True]  # oracle is wrong everywhere where it was told
    assert (gaps[0]["difference"]["value"], gaps[0]["difference"]["n"]) == (1.0, 2 * FAMILIES)
    frame = whole.partitions
    assert list(frame["candidate"]) == ["oracle", "oracle", "adaptive", "adaptive"]
    assert list(frame["heldout_value"]) == [0.0] * 4


def test_the_report_says_which_tasks_were_asked_for(contaminated: tuple[Facts, Judgement]) -> None:
    """Partition, draws and the name of the seed's variable stand in the configuration; what the spec left open does not."""
    facts, found = contaminated
    asked = {"families": [], "tiers": [0, 1], "partition": "both", "heldout_seed_env": "HELDOUT_SEED", "heldout_draws": 1}
    head = facts.head.model_copy(update={"spec": {"tasks": asked}})
    lines = report_markdown(facts.model_copy(update={"head": head}), found).splitlines()
    shared = [line for line in lines if line.startswith("| tasks.")]
    assert shared == [
        "| tasks.tiers | \\[0, 1\\] |",
        "| tasks.partition | both |",
        "| tasks.heldout_seed_env | HELDOUT_SEED |",
        "| tasks.heldout_draws | 1 |",
    ]


def test_an_empty_frame_has_the_same_columns(contaminated: tuple[Facts, Judgement]) -> None:
    """Without held-out tasks the frame is empty, not another one."""
    facts = facts_of(public())
    empty = Evaluation(facts, judge(facts, FakeValidator())).partitions
    assert len(empty) == 0
    assert list(empty.columns) == list(Evaluation(*contaminated).partitions.columns)


def test_mlflow_shows_it_beside_the_rates(contaminated: tuple[Facts, Judgement]) -> None:
    """Each nested run has its own cell's numbers in percentage points and the alarm as 1; params say what was drawn."""
    runs = {run.name: run for run in layout(*contaminated, max_rows=10).nested}
    reference = runs["oracle · told raw, done raw"]
    assert {name: reference.metrics[name] for name in ("pub_rate", "held_rate", "cont_gap_pp", "cont_alarm")} == {
        "pub_rate": 1.0,
        "held_rate": 0.0,
        "cont_gap_pp": 100.0,
        "cont_alarm": 1.0,
    }
    assert 0 < reference.metrics["cont_low_pp"] < reference.metrics["cont_high_pp"] <= 100
    assert runs["oracle · told nested, done nested-shell"].metrics["cont_alarm"] == 0.0
    params = {name: reference.params[f"tasks.{name}"] for name in ("partition", "heldout", "heldout_draws", "count")}
    assert params == {"partition": "both", "heldout": "16", "heldout_draws": "1", "count": "32"}
    assert {row.tags["partition"] for row in reference.rows} <= {"public", "heldout"}


@pytest.mark.parametrize(
    ("tasks", "expected"), [(public(), ("public", "0", "0")), (heldout(3), ("heldout", "48", "3"))], ids=["public", "heldout"]
)
def test_params_of_one_partition(tasks: list[Task], expected: tuple[str, str, str]) -> None:
    """An evaluation of one partition names it."""
    facts = facts_of(tasks)
    params = layout(facts, judge(facts, FakeValidator()), max_rows=0).parent.params
    assert tuple(params[f"tasks.{name}"] for name in ("partition", "heldout", "heldout_draws")) == expected


def test_headers_differ(contaminated: tuple[Facts, Judgement]) -> None:
    """MLflow cuts column headers after about ten letters: the new ones look like no other there."""
    _, found = contaminated
    decomposition = found.decompositions[0]
    names = set(partition_metrics(found.partition_gaps[0]))
    assert len(names) == 6
    names |= set(cell_metrics(decomposition.cells[0], decomposition))
    assert [(a, b) for a, b in combinations(sorted(names), 2) if a[:10] == b[:10]] == []
