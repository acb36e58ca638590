"""Every trial of a candidate as deployed is in exactly one place: kept, or lost to path, model, format or infrastructure."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.losses import PLACES, Seen, losses_of, matched, matched_with, place
from crosspath.types import CellRow, Loss, Side

CAUSES = ("wrong_state", "contract_error", "undeliverable", "refusal", "truncated", "empty", "shell_syntax", None)


def row(cause: str | None = "wrong_state", *, passed: bool | None = False, task: str = "f0/t0", index: int = 0) -> CellRow:
    """One trial as deployed, wrong unless said otherwise."""
    return CellRow(task=task, family=task.split("/")[0], index=index, passed=passed, cause=cause)


FAULT = row("fault:rate_limit", passed=None)
UNSTABLE = row(None, passed=True).model_copy(update={"unstable": True})
RIGHT, WRONG = (True, True), (False, False)
BROKEN = (True, False)


@pytest.mark.parametrize(
    ("seen", "expected", "kind"),
    [
        (Seen(FAULT, on_reference=True, plain=BROKEN), "infrastructure", "fault:rate_limit"),
        (Seen(UNSTABLE, on_reference=True), "infrastructure", "unstable"),
        (Seen(row(None, passed=True), on_reference=False), None, ""),
        (Seen(row(), on_reference=True, plain=WRONG), "path", "wrong_state"),
        (Seen(row("undeliverable"), on_reference=True), "path", "undeliverable"),
        (Seen(row(), on_reference=True, cleaned=True), "path", "wrong_state"),
        (Seen(row("undeliverable"), on_reference=False), "format", "undeliverable"),
        (Seen(row("contract_error"), plain=BROKEN), "format", "contract_error"),
        (Seen(row("shell_syntax"), on_reference=False, plain=BROKEN, cleaned=True), "format", "shell_syntax"),
        (Seen(row("refusal"), on_reference=False, plain=BROKEN), "model", "refusal"),
        (Seen(row("truncated"), plain=BROKEN), "model", "truncated"),
        (Seen(row("empty")), "model", "empty"),
        (Seen(row(), on_reference=False, plain=BROKEN), "path", "wrong_state"),
        (Seen(row(), on_reference=False, plain=RIGHT), "model", "wrong_state"),
        (Seen(row(), on_reference=False, plain=WRONG), "model", "wrong_state"),
        (Seen(row()), "model", "wrong_state"),
        (Seen(row(None).model_copy(update={"false_alarm": "masked"})), "model", "masked"),
        (Seen(row(None)), "model", "unknown"),
    ],
)
def test_the_first_rule_that_applies_decides(seen: Seen, expected: Loss | None, kind: str) -> None:
    """Infrastructure, kept, path by the same reply, format, replies without work, path by the plain reply, model."""
    placed = place(seen)
    assert (placed.place, placed.kind) == (expected, kind)


rows = st.builds(
    lambda place, cause, passed, unstable: CellRow(
        task=f"f{place % 3}/t{place % 7}", family=f"f{place % 3}", index=place, passed=passed, unstable=unstable,
        cause="fault:x" if passed is None else None if passed else cause,
    ),
    st.integers(0, 40), st.sampled_from(CAUSES), st.sampled_from([True, False, None]), st.booleans(),
)  # fmt: skip
pairs = st.none() | st.tuples(st.booleans(), st.booleans())
seens = st.builds(Seen, rows, st.sampled_from([True, False, None]), pairs, st.booleans())


@settings(deadline=None)  # SciPy is imported by the first one
@given(st.lists(seens, max_size=30, unique_by=lambda one: one.row.index), st.sampled_from(["R", "N"]), st.randoms())
def test_places_add_up_to_what_was_attempted(trials: list[Seen], told: Side, rng: random.Random) -> None:
    """Whatever was observed, kept and lost trials are all trials, kinds add up to their place, and the order changes nothing."""
    found = losses_of("x", told, "N", trials)
    assert found.kept + sum(found.lost.values()) == found.attempted == len(trials)
    assert tuple(found.lost) == PLACES
    assert {name: sum(kinds.values()) for name, kinds in found.kinds.items()} == {k: n for k, n in found.lost.items() if n}
    assert found.made_up <= found.kept
    assert max(found.told_worse, found.unmatched) <= found.lost["model"]
    assert found.not_made_up <= found.lost["path"]
    assert set(found.tasks) == set(found.examples) == set(found.kinds)
    for name, share in found.shares.items():
        assert share.n + share.missing + share.unstable == len(trials)
        assert share.value
        assert found.lost[name]
    shuffled = rng.sample(trials, len(trials))
    assert losses_of("x", told, "N", shuffled) == found


def test_on_the_reference_path_nothing_is_lost_to_a_path() -> None:
    """Where the candidate's path is the reference, its own verdict stands on both sides, so that no rule names the path."""
    plain = matched([row()], [row()])
    found = losses_of("x", "N", "R", [Seen(row(), on_reference=False, plain=matched_with(plain, row()))])
    assert found.lost == {"path": 0, "model": 1, "format": 0, "infrastructure": 0}


def test_another_trial_of_the_task_stands_for_one_that_is_missing() -> None:
    """The same index first; else the task's lowest that has a verdict on both paths; another task never."""
    reference = [row(passed=True, index=2), row(passed=True, index=1), row(None, passed=None, index=0)]
    here = [row(index=index) for index in range(3)]
    found = matched(reference, here)
    assert matched_with(found, row(index=2)) == (True, False)
    assert matched_with(found, row(index=0)) == (True, False)
    assert list(found["f0/t0"]) == [1, 2]
    assert matched_with(found, row(task="f0/other")) is None
    assert matched([UNSTABLE], [row()]) == {}


def test_what_a_matched_score_hides_is_counted() -> None:
    """Kept trials whose plain reply the path breaks, model losses that telling caused, and those with nothing to compare."""
    trials = [
        Seen(row(None, passed=True, index=0), on_reference=False, plain=BROKEN),
        Seen(row(index=1), on_reference=False, plain=RIGHT),
        Seen(row(index=2), on_reference=False, plain=WRONG),
        Seen(row(index=3), on_reference=False),
        Seen(row("refusal", index=4), on_reference=False),
    ]
    found = losses_of("x", "N", "N", trials)
    assert (found.made_up, found.told_worse, found.unmatched, found.lost["model"]) == (1, 1, 1, 4)
    assert losses_of("x", "R", "N", trials).told_worse == 0


def test_a_share_leaves_out_what_has_no_verdict() -> None:
    """Of four trials one was not observed: the share is of the other three, its bounds hold what the fourth could be."""
    trials = [Seen(row(index=index), on_reference=index == 0) for index in range(3)] + [
        Seen(FAULT.model_copy(update={"index": 3, "task": "f1/t0", "family": "f1"}))
    ]
    share = losses_of("x", "R", "N", trials).shares["path"]
    assert share.value is not None
    assert round(share.value, 3) == 0.333
    assert (share.n, share.missing, share.estimand) == (3, 1, "task_population")
    assert (share.best, share.worst) == (pytest.approx(1 / 6), pytest.approx(2 / 3))
