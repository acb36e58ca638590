"""Every trial stands in exactly one place of its cell's funnel, and in the groups of its task."""

from collections import Counter
from typing import get_args

from hypothesis import given
from hypothesis import strategies as st

from builders import TASKS, candidate, task
from crosspath.analysis.breakdowns import BREAKDOWN_COLUMNS, breakdown_rows, breakdowns
from crosspath.analysis.funnels import FUNNEL_COLUMNS, FUNNEL_STAGES, Passage, funnel, funnel_rows, stop_of
from crosspath.types import Cause, CellRow, PlannedCell

CELL = PlannedCell(
    candidate="c", told="N", done="N", generation=candidate("c").generation, contract="nested", transport="nested-shell", path="p"
)
_CAUSES = st.one_of(st.sampled_from(get_args(Cause)), st.just(None))
_VERDICTS = st.one_of(
    st.tuples(st.just(True), st.none() | st.just("tool_error")),
    st.tuples(st.just(False), _CAUSES),
    st.tuples(st.none(), st.sampled_from(["fault:rate_limit", "fault:start_failed", "fault:not_done", None])),
)


def row(name: str = "t", passed: bool | None = True, cause: str | None = None, index: int = 0, **further: object) -> CellRow:
    """One trial; everything else as in a plain row."""
    return CellRow.model_validate({"task": name, "family": "f", "passed": passed, "cause": cause, "index": index, **further})


@st.composite
def passages(draw: st.DrawFn) -> list[Passage]:
    """Trials of all kinds; without a reply there is no verdict."""
    found: list[Passage] = []
    for index in range(draw(st.integers(0, 30))):
        (passed, cause), unstable = draw(_VERDICTS), draw(st.booleans())
        replied = passed is not None or draw(st.booleans())
        found.append(Passage(row(passed=passed, cause=cause, index=index, unstable=unstable and replied), replied))
    return found


@given(passages())
def test_a_funnel_narrows_and_adds_up_to_what_was_attempted(found: list[Passage]) -> None:
    """Each stage is reached by at most as many as the one before, and all that stop plus all that pass are all trials."""
    one = funnel(CELL, found)
    reached = [one.reached[stage] for stage in FUNNEL_STAGES]
    assert list(one.reached) == list(FUNNEL_STAGES)
    assert [one.attempted, *reached] == sorted([one.attempted, *reached], reverse=True)
    assert one.attempted == len(found) == reached[-1] + sum(sum(causes.values()) for causes in one.stopped.values())
    assert all(causes and all(causes.values()) for causes in one.stopped.values())
    before = one.attempted
    for stage in FUNNEL_STAGES:
        assert before - one.reached[stage] == sum(one.stopped.get(stage, {}).values())
        before = one.reached[stage]
    assert one.reached["right_state"] == sum(bool(each.row.passed) and not each.row.unstable for each in found)


@given(passages(), st.randoms(use_true_random=False))
def test_the_order_of_trials_changes_no_funnel(found: list[Passage], shuffle: object) -> None:
    """The same trials in any order are the same funnel."""
    mixed = list(found)
    shuffle.shuffle(mixed)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]
    assert funnel(CELL, mixed) == funnel(CELL, found)


def test_refused_cut_off_and_empty_replies_are_told_apart() -> None:
    """They came back but do not answer, each under its own name."""
    found = [Passage(row(passed=False, cause=cause), True) for cause in ("refusal", "truncated", "truncated", "empty")]
    one = funnel(CELL, found)
    assert one.stopped == {"answered": {"refusal": 1, "truncated": 2, "empty": 1}}
    assert (one.reached["generated"], one.reached["answered"]) == (4, 0)


def test_each_cause_stops_a_reply_at_one_stage() -> None:
    """Of the contract's shape and delivery, of the shell, and of everything after it."""
    stops = {cause: stop_of(Passage(row(passed=False, cause=cause), True)) for cause in get_args(Cause)}
    stages = Counter(stop[0] for stop in stops.values() if stop)
    assert stages == {"answered": 3, "well_formed": 2, "executed": 1, "right_state": 6}


def test_what_was_never_observed_stops_where_it_was_lost() -> None:
    """No reply: not generated; a reply whose replay is a fault: not executed; each with the type of its fault."""
    assert stop_of(Passage(row(passed=None, cause="fault:rate_limit"), False)) == ("generated", "fault:rate_limit")
    assert stop_of(Passage(row(passed=None, cause="fault:start_failed"), True)) == ("executed", "fault:start_failed")


def test_an_unstable_trial_is_neither_right_nor_wrong() -> None:
    """It is counted as unstable at the last stage, also where its first replay passed."""
    assert stop_of(Passage(row(passed=True, unstable=True), True)) == ("right_state", "unstable")
    assert stop_of(Passage(row(passed=False, cause="shell_syntax", unstable=True), True)) == ("right_state", "unstable")


def test_a_lost_exit_status_has_no_cause_and_still_a_name() -> None:
    """The state is right, the task sets an exit status, and the path told 0."""
    assert stop_of(Passage(row(passed=False, false_alarm="masked"), True)) == ("right_state", "masked")


def test_rows_of_a_funnel_are_flat() -> None:
    """One row per stage, numbers as numbers."""
    rows = funnel_rows([funnel(CELL, [Passage(row(), True), Passage(row(passed=False, cause="tool_error", index=1), True)])])
    assert [set(one) for one in rows] == [set(FUNNEL_COLUMNS)] * 5
    assert [(one["reached"], one["stopped"]) for one in rows] == [(2, 0)] * 4 + [(1, 1)]
    assert rows[-1]["causes"] == "tool_error 1"


def test_groups_count_what_they_hold() -> None:
    """A task is in its family, in its tier and in each of its hazards; damage is this cell minus the same replies elsewhere."""
    tasks = [task(*one) for one in TASKS]
    hazards = {one.id: one.hazards for one in tasks}
    there = [row(one.id, family=one.family, tier=one.tier) for one in tasks]
    here = [
        row(
            one.id,
            not one.tier,
            "wrong_state" if one.tier else None,
            family=one.family,
            tier=one.tier,
            silent_wrong=one.tier == 1,
        )
        for one in tasks
    ]
    found = {(one.by, one.group): one for one in breakdowns(CELL, here, there, hazards)}
    assert list(found) == [
        ("family", "rename-file"), ("family", "write-bytes"), ("tier", "0"), ("tier", "1"), ("tier", "2"), ("hazard", "dollar"),
    ]  # fmt: skip
    bytes_ = found["family", "write-bytes"]
    assert (bytes_.tasks, bytes_.planned, bytes_.scored, bytes_.passed, bytes_.silent_wrong) == (2, 2, 2, 1, 1)
    assert bytes_.causes == {"wrong_state": 1}
    assert bytes_.damage is not None
    assert (bytes_.damage.value, bytes_.damage.estimand) == (-0.5, "these_replies")
    assert found["hazard", "dollar"].tasks == 2
    plain = found["tier", "0"].damage
    assert plain is not None
    assert plain.value == 0.0


def test_a_group_without_verdicts_is_missing_and_not_wrong() -> None:
    """Faults and unstable trials are no failures: damage has no value, and says how many it lacks."""
    here = [row("a", None, "fault:rate_limit"), row("b", True, unstable=True)]
    (one,) = breakdowns(CELL, here, [row("a"), row("b")], {})
    assert (one.planned, one.scored, one.passed, one.causes) == (2, 0, 0, {"fault:rate_limit": 1})
    assert one.damage is not None
    assert (one.damage.value, one.damage.missing, one.damage.unstable) == (None, 1, 1)


def test_without_a_reference_there_is_no_damage() -> None:
    """On the reference path, or where the same replies are not planned there."""
    (one,) = breakdowns(CELL, [row()], None, {})
    assert one.damage is None
    assert [set(each) for each in breakdown_rows([one])] == [set(BREAKDOWN_COLUMNS)]
