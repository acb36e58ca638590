"""Losses of whole evaluations: what the same replies do on the reference path, and what replies that were told nothing do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import evaluation
from crosspath.analysis import CellInput, decompose, judge_control
from crosspath.analysis.losses import Seen, losses_of
from crosspath.catalogue import suite_text
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.judge import judge
from crosspath.pipeline.losses import losses
from crosspath.testing.validator import FakeValidator
from crosspath.types import CellRow, Facts, Judgement

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})


@pytest.fixture(scope="module")
def judged() -> tuple[Facts, Judgement]:
    """``oracle`` fails on its path told or not, ``adaptive`` passes when told; the first task of the first got no reply."""
    facts, _ = evaluation(trials=2, fault=True)
    facts = facts.model_copy(update={"suites": (suite_text("exact"),)})
    return facts, judge(facts, FakeValidator())


def test_each_candidate_has_its_places(judged: tuple[Facts, Judgement]) -> None:
    """Replies that pass on the reference path alone are lost to the path, faults to the infrastructure, made-up ones are kept."""
    oracle, adaptive = judged[1].losses
    assert oracle.lost == {"path": 4, "model": 0, "format": 0, "infrastructure": 2}
    assert oracle.kinds["infrastructure"] == {"fault:server_error": 2}
    assert oracle.tasks["path"] == ("rename-file/dash", "write-bytes/plain")
    assert (adaptive.kept, adaptive.made_up, adaptive.biggest) == (6, 6, None)
    assert (oracle.cell, oracle.attempted) == ("NN", 6)


def test_a_candidate_without_a_reference_cell_blames_no_path(judged: tuple[Facts, Judgement]) -> None:
    """Where only the cell as deployed is there, nothing can be compared, and that is counted."""
    facts, judgement = judged
    alone = facts.model_copy(update={"cells": tuple(cell for cell in facts.cells if cell.name == "NN")})
    oracle, _ = losses(FactIndex(alone, judgement.scores))
    assert oracle.lost == {"path": 0, "model": 4, "format": 0, "infrastructure": 2}
    assert oracle.unmatched == 4


def test_intervals_hold_together_over_all_candidates(judged: tuple[Facts, Judgement]) -> None:
    """Each share names over how many intervals it is corrected: three places of every candidate."""
    share = judged[1].losses[0].shares["path"]
    assert "Bonferroni over 6" in share.method
    assert share.low is not None
    alone = losses_of("x", "R", "N", [Seen(_row(number, number % 2 == 0), True) for number in range(12)]).shares["path"]
    assert "Bonferroni over 3" in alone.method


def _row(number: int, passed: bool) -> CellRow:
    return CellRow(
        task=f"f{number % 4}/t{number}", family=f"f{number % 4}", passed=passed, cause=None if passed else "wrong_state"
    )


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=24))
def test_what_the_path_loses_is_what_damage_calls_lost(pairs: list[tuple[bool, bool]]) -> None:
    """For a candidate that is told nothing, trials lost to the path are the pairs that damage counts as lost."""
    reference = tuple(_row(number, right) for number, (right, _) in enumerate(pairs))
    own = tuple(_row(number, right) for number, (_, right) in enumerate(pairs))
    cells = [CellInput("R", "R", "raw", "raw", reference), CellInput("R", "N", "raw", "nested-shell", own)]
    damage = decompose("x", cells, HOLDS).effect("damage")
    found = losses_of("x", "R", "N", [Seen(row, other.passed) for row, other in zip(own, reference, strict=True)])
    assert damage is not None
    assert found.lost["path"] == damage.lost
