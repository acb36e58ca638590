"""Metrics of an evaluation in MLflow: their names, what is left out, and that the page of documentation has them all."""

import re
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from builders import estimate, evaluation
from crosspath.adapters.mlflow_tracker.beside_metrics import spend_metrics
from crosspath.adapters.mlflow_tracker.evidence_metrics import evidence_metrics, order_metrics
from crosspath.adapters.mlflow_tracker.layout import layout
from crosspath.adapters.mlflow_tracker.metrics import EFFECT_METRICS, EFFECT_VALUES, cell_metrics, in_reading_order
from crosspath.adapters.mlflow_tracker.names import MAX_METRICS, finite
from crosspath.types import (
    AlarmKind,
    Arrangement,
    CandidateCost,
    Cause,
    Cell,
    Control,
    Decomposition,
    Estimate,
    FormatDamage,
    Funnel,
    FunnelStage,
    Judgement,
    Losses,
    RankStability,
    Reliability,
    Spend,
    ValidatorSensitivity,
)

HEADER = 10
"""Letters of a column's name that MLflow shows."""
DOCS = Path(__file__).parents[2] / "docs" / "mlflow-and-python.md"


def full_cell() -> tuple[Cell, Decomposition]:
    """A matched cell with every cause and tier, and every effect with both intervals."""
    _, judgement = evaluation()
    decomposition = judgement.decompositions[0]
    cell = decomposition.cells[3].model_copy(
        update={
            "causes": dict.fromkeys(Cause.__args__, 1),
            "tiers": {str(tier): (1, 2) for tier in range(4)},
            "false_alarm": decomposition.cells[3].silent_wrong,
            "alarm_kinds": dict.fromkeys(AlarmKind.__args__, 1),
            "rate": decomposition.cells[3].rate.model_copy(update={"worst": 0.1, "best": 0.9}),
        }
    )
    effects = [one.model_copy(update={"together": one.population}) for one in decomposition.effects]
    contract = effects[0].model_copy(update={"name": "contract_effect"})
    return cell, decomposition.model_copy(update={"effects": (*effects, contract)})


def repeated(trials: int = 5) -> Reliability:
    """Trials of one task that agree half of the time."""
    half = estimate(0.5, rate=True)
    return Reliability(
        candidate="oracle", told="N", done="N", trials=trials, pass_hat=dict.fromkeys(range(1, trials + 1), half), first=half,
        every=half, first_minus_every=estimate(0.0), always=1, sometimes=1, never=1, distinct_mean=1.5,
    )  # fmt: skip


def full_judgement() -> Judgement:
    """Something of all that is measured beside rates and effects."""
    _, judgement = evaluation()
    cell: dict[str, Any] = {"candidate": "oracle", "told": "N", "done": "N"}
    losses = Losses(**cell, attempted=3, kept=1, lost={"path": 1, "model": 1, "format": 0, "infrastructure": 0})
    reached: dict[FunnelStage, int] = {"generated": 3, "answered": 3, "well_formed": 3, "executed": 2, "right_state": 1}
    funnel = Funnel(**cell, contract="nested", transport="nested-shell", attempted=3, reached=reached)
    damage = FormatDamage(
        changed=2, **cell, own="strip", strict="none", cleaned="fenced-block", effect=estimate(-0.1), population=estimate(-0.2)
    )
    cost = CandidateCost(
        candidate="oracle", replies=3, scored=3, passed=1, usd_per_pass=0.0000123, tokens_per_pass=402.0,
        latency_s={"p50": 0.8, "p90": 0.9, "p99": 1.2, "max": 1.2}, latency_known=3,
    )  # fmt: skip
    others = [
        ValidatorSensitivity(**cell, own="exact", other=name, compared=3, own_only=own, other_only=other)
        for name, own, other in (("lax", 0, 1), ("strict", 2, 1))
    ]
    side = Arrangement(label="told raw, run on raw")
    order = RankStability(
        first=side, second=side, models=("a", "b"), tasks=3, families=2, rates=(), pairs=(), comparable=1, reversed=1,
        unambiguous=0, tau_a=estimate(-1.0), tau_b=-1.0,
    )  # fmt: skip
    more = {
        "losses": (losses,), "funnels": (funnel,), "format_damage": (damage,), "reliability": (repeated(),), "costs": (cost,),
        "validator_sensitivity": tuple(others), "rank_stability": (order,),
        "spend": Spend(cost_usd=1.0, prompt_tokens=1, completion_tokens=1),
    }  # fmt: skip
    return judgement.model_copy(update=more)


def matched_names() -> set[str]:
    """Every metric that a matched run can have, except those of tasks of a special kind."""
    return {*cell_metrics(*full_cell()), *evidence_metrics(full_judgement(), "oracle", "NN")}


def parent_names() -> set[str]:
    """Every metric that a parent run can have."""
    known = Spend(cost_usd=None, cost_known_usd=1.0)
    judgement = full_judgement()
    partly = spend_metrics(judgement.model_copy(update={"spend": known}))
    return {*order_metrics(judgement), *spend_metrics(judgement), *partly}


@pytest.mark.parametrize("names", [matched_names(), parent_names()], ids=["matched", "parent"])
def test_headers_differ(names: set[str]) -> None:
    """MLflow cuts column headers after about ten letters: no two metrics of a run look the same there."""
    assert [(a, b) for a, b in combinations(sorted(names), 2) if a[:HEADER] == b[:HEADER]] == []


def test_few_enough_metrics() -> None:
    """A run with every cause, tier, effect and measure leaves room for the special kinds of tasks."""
    assert len(matched_names()) <= MAX_METRICS - 20
    assert EFFECT_METRICS.keys() == EFFECT_VALUES.keys()


def documented() -> set[str]:
    """Every name in the table of metrics; ``a_*`` stands for what begins so."""
    table = DOCS.read_text("utf-8").split("| metric | is |")[1].split("\n\n")[0]
    return {name for line in table.splitlines() for name in re.findall(r"`([a-z0-9_.*]+)`", line.split(" | ")[0])}


def test_documentation_names_every_metric() -> None:
    """Whoever reads a column's name finds it in the documentation, and nothing there is without a metric."""
    names = matched_names() | parent_names()
    names |= {"abst_prec", "abst_recl", "abst_acted", "abst_overd"} | {
        "pub_rate",
        "held_rate",
        "cont_gap_pp",
        "cont_low_pp",
        "cont_high_pp",
        "cont_alarm",
    }
    names |= {"style_diff", "style_sprd", "framing_pp", "frame_low", "frame_high", "wording_pp", "word_diff"}
    names |= {"rank_path", "best_pp", "best_lo_pp", "best_hi_pp"}
    known = documented()
    stems = tuple(name.removesuffix("*") for name in known if name.endswith("*"))
    assert sorted(name for name in names if name not in known and not name.startswith(stems)) == []
    assert sorted(name for name in known if not name.endswith("*") and name not in names) == []
    assert [stem for stem in stems if not any(name.startswith(stem) for name in names)] == []


def test_answers_come_first() -> None:
    """A run's list opens with the pass rate, the effects and where trials were lost."""
    found = in_reading_order({**cell_metrics(*full_cell()), **evidence_metrics(full_judgement(), "oracle", "NN")})
    assert list(found)[:9] == [
        "pass_rate", "damage_pp", "compens_pp", "gap_pp", "told_pp", "lost_path", "lost_model", "lost_form", "lost_infra",
    ]  # fmt: skip


def test_evidence_on_the_matched_run_alone() -> None:
    """Losses, stages, cost and pass^k describe the candidate as deployed: no reference run has them, nor another candidate's."""
    facts, _ = evaluation()
    found = layout(facts, full_judgement())
    found.check()
    having = [run.name for run in found.nested if "lost_path" in run.metrics]
    assert having == ["oracle · told nested, done nested-shell"]
    assert {name: found.nested[0].metrics[name] for name in ("lost_path", "lost_form", "fun1_reply", "fun4_exec", "fmt_pp")} == {
        "lost_path": 1, "lost_form": 0, "fun1_reply": 3, "fun4_exec": 2, "fmt_pp": -10,
    }  # fmt: skip
    assert (found.parent.metrics["tau_a"], found.parent.metrics["pairs_rev"]) == (-1, 1)


def test_intervals_beside_each_effect() -> None:
    """An effect has the interval of itself and the one that holds together with all others, in points."""
    metrics = cell_metrics(*full_cell())
    assert [metrics[f"dmg_{part}"] for part in ("pop_pp", "low_pp", "high_pp", "all_lo", "all_hi")] == pytest.approx(
        [-66.6667, -86.6667, -46.6667, -86.6667, -46.6667], abs=1e-3
    )
    alone = full_cell()[1].model_copy(update={"effects": evaluation()[1].decompositions[0].effects})
    assert not any(name.endswith(("_all_lo", "_all_hi")) for name in cell_metrics(full_cell()[0], alone))


def test_pass_hat_for_two_and_for_all() -> None:
    """pass^k stands for the smallest and the largest k, with intervals; one trial a task has none."""
    found = {name for name in evidence_metrics(full_judgement(), "oracle", "NN") if name.startswith("passk")}
    assert found == {f"passk_{k}{end}" for k in (2, 5) for end in ("", "_lo", "_hi")}
    once = full_judgement().model_copy(update={"reliability": (repeated(1),)})
    assert not {"first_rate", "distinct", "passk_1"} & evidence_metrics(once, "oracle", "NN").keys()


def test_the_validator_that_turns_most() -> None:
    """Of several other validators the one that turns most verdicts is shown: those it fails, and those it passes."""
    found = evidence_metrics(full_judgement(), "oracle", "NN")
    assert (found["val_stric"], found["val_laxer"]) == (2, 1)


def test_small_amounts_are_not_rounded_away() -> None:
    """A right answer that costs a hundredth of a cent keeps its digits."""
    assert evidence_metrics(full_judgement(), "oracle", "NN")["usd_pass"] == 0.0000123
    assert finite({"third": 1 / 3, "tiny": 0.00012345}) == {"third": 0.3333, "tiny": 0.000123}


def test_a_control_that_is_not_needed_is_no_metric() -> None:
    """On the reference path there is nothing that a control could show, so that none holds."""
    cell, decomposition = full_cell()
    assert cell_metrics(cell, decomposition)["ctrl_holds"] == 1
    control = Control(kind="none", status="holds", compared=0, reason="the path is the reference")
    without = cell_metrics(cell, decomposition.model_copy(update={"control": control}))
    assert not {"ctrl_holds", "ctrl_diff"} & without.keys()


def test_unknown_is_left_out() -> None:
    """An unknown cost, an empty cell or an infinite value is no metric; zero is one."""
    assert finite({"a": None, "b": float("nan"), "c": float("inf"), "d": 0, "e": 10**400, "f": -(10**400)}) == {"d": 0.0}
    _, judgement = evaluation()
    assert "cost_usd" not in spend_metrics(judgement)
    cell = judgement.decompositions[0].cells[0].model_copy(update={"rate": estimate(None, 0), "scored": 0, "passed": 0})
    assert "pass_rate" not in cell_metrics(cell)
    nothing = CandidateCost(candidate="oracle", replies=0, scored=0, passed=0)
    unknown = full_judgement().model_copy(update={"costs": (nothing,), "format_damage": ()})
    assert not {"usd_pass", "tok_pass", "lat_p50_s", "fmt_pp"} & evidence_metrics(unknown, "oracle", "NN").keys()


def test_columns_hold_no_effect_that_may_not_be_used() -> None:
    """Where the control is broken no effect is a metric; where another path was told about, no compensation is."""
    _, judgement = evaluation()
    whole = next(d for d in judgement.decompositions if d.effect("compensation"))
    matched = whole.cell("NN")
    assert matched is not None
    assert {"damage_pp", "compens_pp", "gap_pp"} <= cell_metrics(matched, whole).keys()
    other = whole.model_copy(update={"discloses": "another", "undisclosed": True})
    assert "compens_pp" not in cell_metrics(matched, other)
    assert "damage_pp" in cell_metrics(matched, other)
    broken = whole.model_copy(update={"control": whole.control.model_copy(update={"status": "broken"})})
    assert not any(name.endswith("_pp") for name in cell_metrics(matched, broken))


def test_share_of_false_alarms() -> None:
    """The share of false alarms is a metric of every run, zero included; how many of which kind is in the description."""
    cell, decomposition = full_cell()
    none: Estimate = cell.silent_wrong.model_copy(update={"value": 0.0})
    assert cell_metrics(cell.model_copy(update={"false_alarm": none}))["false_alrm"] == 0.0
    assert not any(name.startswith("alarm") for name in cell_metrics(cell, decomposition))
    assert "false_alrm" not in cell_metrics(cell.model_copy(update={"false_alarm": None}))
