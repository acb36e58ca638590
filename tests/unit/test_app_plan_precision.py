from pathlib import Path

import pytest

from builders import evaluation
from crosspath.analysis import CandidateInput, CellInput, decompose_together, judge_control
from crosspath.app.evaluation import Evaluation
from crosspath.app.plan_precision import precision_lines
from crosspath.app.planning import plan_document, plan_text
from crosspath.errors import ConfigError
from crosspath.types import CellRow

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})


def written(tmp_path: Path, families: str = "[exact-file, exact-argv]") -> Path:
    path = tmp_path / "spec.yaml"
    chosen = f"tasks: {{families: {families}}}\n" if families != "[]" else ""
    path.write_text("candidates: {a: baseline/oracle}\n" + chosen)
    return path


def earlier(varied: bool = True) -> Evaluation:
    """An evaluation whose damage varies, or one that knows nothing of how its effects vary."""
    facts, judgement = evaluation()

    def rows(outcomes: str) -> tuple[CellRow, ...]:
        return tuple(CellRow(task=f"t{n}", family=f"f{n // 2}", passed=char == "1") for n, char in enumerate(outcomes))

    cells = [CellInput("R", "R", "raw", "raw", rows("111111")), CellInput("R", "N", "raw", "nested", rows("100111"))]
    found = decompose_together([CandidateInput("late", cells, HOLDS)]) if varied else judgement.decompositions
    return Evaluation(facts, judgement.model_copy(update={"decompositions": found}))


def test_plan_says_what_it_can_show(tmp_path: Path) -> None:
    """For a few stated spreads: the effect that is detected, the width of the interval, and what narrows it, in six lines."""
    document = plan_document(written(tmp_path))
    precision = document["precision"]
    assert (precision["families"], precision["tasks"], precision["trials"]) == (2, document["tasks"], 1)
    assert [one["interval_width"] for one in precision["expected"]] == sorted(
        one["interval_width"] for one in precision["expected"]
    )
    assert precision["narrowed_by_twice"]["families"] == pytest.approx(1 - 0.5**0.5, abs=1e-6)
    lines = precision_lines(precision)
    assert len(lines) == 5
    assert all(line in plan_text(document) for line in lines)
    assert "not even 100 points are detected with 80 % power" in lines[3]


def test_more_families_are_more_precise(tmp_path: Path) -> None:
    """The whole catalogue detects smaller effects than two families of it."""
    few, many = (plan_document(written(tmp_path, families))["precision"] for families in ("[exact-file, exact-argv]", "[]"))
    assert few["expected"][0]["interval_width"] > 2 * many["expected"][0]["interval_width"]
    assert "points are detected with 80 % power; 95 % interval about" in precision_lines(many)[1]


def test_one_family_says_nothing_of_others(tmp_path: Path) -> None:
    """No number is made up for a single family."""
    precision = plan_document(written(tmp_path, "[exact-file]"))["precision"]
    assert precision["expected"] == []
    assert precision_lines(precision) == [
        "precision               one family says nothing about others: effects are exact for these tasks only"
    ]


def test_plan_like_an_earlier_evaluation(tmp_path: Path) -> None:
    """With an earlier evaluation its own variance stands in the place of stated spreads, and what it can't tell is left out."""
    like = earlier()
    precision = plan_document(written(tmp_path), like)["precision"]
    assert precision["like"] == like.id
    assert [one["case"] for one in precision["expected"]] == ["damage as of late"]
    assert precision["narrowed_by_twice"]["trials"] is None
    lines = precision_lines(precision)
    assert lines[0].endswith(f"as in {like.id}:")
    assert "twice the trials" not in lines[-1]


def test_an_evaluation_without_variance_is_refused(tmp_path: Path) -> None:
    """An evaluation from before variance was kept, or with a broken control, is no model for another one."""
    with pytest.raises(ConfigError, match="no effect there has a known variance"):
        plan_document(written(tmp_path), earlier(varied=False))
