"""The published table of eight models (tests/data/quotebench_published.json), recomputed from its counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from crosspath.analysis import CellInput, RankRow, decompose, judge_control, rank
from crosspath.types import CellRow

PUBLISHED: dict[str, Any] = json.loads((Path(__file__).parent.parent / "data" / "quotebench_published.json").read_text("utf-8"))
ROWS: list[dict[str, Any]] = PUBLISHED["rows"]


def cell(name: str, passed: int, n: int) -> CellInput:
    """A cell of ``n`` tasks in families of four, the first ``passed`` right."""
    rows = tuple(CellRow(task=f"t{index:02}", family=f"f{index // 4:02}", passed=index < passed) for index in range(n))
    return CellInput(name[0], name[1], {"R": "raw", "N": "told"}[name[0]], {"R": "raw", "N": "nested"}[name[1]], rows)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", ROWS, ids=[row["model"] for row in ROWS])
def test_effects_follow_from_counts(row: dict[str, Any]) -> None:
    """Damage, compensation and matched gap equal the published figures to the tenth of a point."""
    cells = [cell(name, passed, row["n"]) for name, passed in row["passed"].items()]
    result = decompose(row["model"], cells, judge_control("none", {}, {}))
    for name in ("damage", "compensation", "matched_gap"):
        effect = result.effect(name)
        assert effect is not None
        assert effect.these.value is not None
        assert round(100 * effect.these.value, 1) == row[f"{name}_pp"]
        assert effect.population.value == pytest.approx(effect.these.value)


def test_rank_reversals_follow_from_counts() -> None:
    """26 comparable pairs, 5 reversals, 1 unambiguous, the same pairs, and tau-a 0.57; tau-b differs."""
    ranking = rank([RankRow(row["model"], row["passed"]["RR"], row["passed"]["NN"]) for row in ROWS])
    published = PUBLISHED["reversals"]
    assert ranking.comparable_pairs == published["comparable_pairs"]
    assert len(ranking.reversals) == published["strict_reversals"]
    assert ranking.unambiguous == published["unambiguous"]
    found = {(pair.a, pair.b, pair.unambiguous) for pair in ranking.reversals}
    assert found == {(pair["a"], pair["b"], pair["unambiguous"]) for pair in published["pairs"]}
    assert ranking.tau_a == pytest.approx(0.5714, abs=1e-4)


def test_tau_b_equals_scipy() -> None:
    """Our tau-b is SciPy's default; tau-a is smaller in size as soon as models tie."""
    from scipy.stats import kendalltau

    first, second = ([row["passed"][name] for row in ROWS] for name in ("RR", "NN"))
    ranking = rank([RankRow(str(place), *pair) for place, pair in enumerate(zip(first, second, strict=True))])
    tau_b, _ = kendalltau(first, second)
    assert ranking.tau_b == pytest.approx(tau_b)
    assert ranking.tau_a is not None
    assert ranking.tau_b is not None
    assert ranking.tau_a < ranking.tau_b


def test_ranking_without_order_has_no_tau() -> None:
    """One model, or all tied: no number instead of a division by zero."""
    assert rank([RankRow("a", 1, 1)]).tau_a is None
    assert rank([RankRow("a", 1, 1), RankRow("b", 1, 2)]).tau_b is None
