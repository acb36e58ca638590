from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis import judge_control, needs_repeats, unstable_trials

A, B = ("a", 0), ("b", 0)
passes = st.dictionaries(
    st.sampled_from([("a", 0), ("a", 1), ("b", 0)]), st.lists(st.sampled_from([True, False, None]), max_size=5).map(tuple)
)


def test_equal_sides_hold() -> None:
    """A control that repeats the reference trial by trial holds."""
    control = judge_control("encoded", {A: (True,), B: (False,)}, {A: (True,), B: (False,)})
    assert (control.status, control.compared, control.differing) == ("holds", 2, ())


def test_difference_asks_for_repeats_first() -> None:
    """A difference seen once is replayed three more times on both sides before it counts."""
    assert needs_repeats({A: (True,), B: (True,)}, {A: (False,), B: (True,)}) == (A,)
    assert needs_repeats({A: (True,) * 4}, {A: (False,) * 4}) == ()
    assert needs_repeats({A: (True, None, None, None)}, {A: (False, None, None, None)}) == ()


def test_stable_difference_breaks_the_control() -> None:
    """Two sides that each agree with themselves and not with one another break the control."""
    control = judge_control("encoded", {A: (True,) * 4}, {A: (False,) * 4})
    assert (control.status, control.differing) == ("broken", ("a#0",))
    assert control.reason.endswith("1 differ every time (a#0)")


def test_disagreement_within_a_side_is_unstable() -> None:
    """A racy command is listed as unstable and doesn't break the control."""
    sides = ({A: (True, False, True, True), B: (True,)}, {A: (False, True, True, True), B: (True,)})
    control = judge_control("encoded", *sides)
    assert (control.status, control.compared, control.unstable) == ("holds", 1, ("a#0",))
    assert needs_repeats(*sides) == ()
    assert unstable_trials(*sides) == (A,)


def test_nothing_compared_is_missing() -> None:
    """Only faults, no rows or no control at all: missing, never holding."""
    assert judge_control("encoded", {A: (True,)}, {A: (None,)}).status == "missing"
    assert judge_control("benign", {}, {}).status == "missing"
    assert judge_control("none", {A: (True,)}, {A: (True,)}).status == "missing"


@given(passes, passes)
def test_sides_are_interchangeable(
    reference: dict[tuple[str, int], tuple[bool | None, ...]], control: dict[tuple[str, int], tuple[bool | None, ...]]
) -> None:
    """Which side is the reference changes nothing, and no trial is in two lists."""
    there, back = judge_control("encoded", reference, control), judge_control("encoded", control, reference)
    assert there == back
    assert not set(there.differing) & set(there.unstable)
