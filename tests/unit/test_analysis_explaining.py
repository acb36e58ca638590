"""What each changed axis explains of a difference, from the cells that lie between the two ends."""

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.explaining import Attribution, Point, attribute
from crosspath.types import CellRow

AXES = ("model", "contract", "transport")
TASKS = tuple((f"family-{family}/{task}", f"family-{family}") for family in range(4) for task in range(5))


def subsets(axes: Iterable[str]) -> list[frozenset[str]]:
    listed = tuple(axes)
    return [frozenset(one) for one in chain.from_iterable(combinations(listed, size) for size in range(len(listed) + 1))]


def point(changed: Iterable[str], passed: Callable[[int, int], bool | None], replies: str = "", trials: int = 1) -> Point:
    """A cell with the verdicts that ``passed`` gives for the number of a task and of a trial."""
    rows = [
        CellRow(task=task, family=family, index=index, passed=passed(number, index))
        for number, (task, family) in enumerate(TASKS)
        for index in range(trials)
    ]
    name = "+".join(sorted(changed)) or "none"
    return Point(frozenset(changed), rows, replies or name, name)


def planted(worth: dict[str, int]) -> list[Point]:
    """All cells of a factorial; an axis makes ``worth`` tasks of every family more (or fewer) right, whatever else is changed."""

    def passing(changed: frozenset[str]) -> Callable[[int, int], bool]:
        right = 2 + sum(worth[axis] for axis in changed)
        return lambda number, _: number % 5 < right

    return [point(changed, passing(changed)) for changed in subsets(worth)]


def of(found: Attribution | None, *axes: str) -> Fraction:
    assert found is not None
    return next(share.value for share in found.shares if set(share.axes) == set(axes))


def test_a_planted_factorial_gives_its_effects_back() -> None:
    """With every cell there, each axis explains what was planted for it, in every order."""
    found = attribute(AXES, planted({"model": 2, "contract": 1, "transport": -2}))
    assert found is not None
    assert {share.axes: share.value for share in found.shares} == {
        ("model",): Fraction(2, 5), ("contract",): Fraction(1, 5), ("transport",): Fraction(-2, 5),
    }  # fmt: skip
    assert (found.orders, found.every_order, found.tasks) == (math.factorial(3), True, 20)
    assert all({one.value for one in share.walked} == {share.value} for share in found.shares)
    assert found.total == Fraction(1, 5)


def test_two_orders_that_disagree() -> None:
    """Damage that telling the model makes up for: the path explains the mean of both orders, and the steps show the range."""
    right = {(): 5, ("transport",): 0, ("contract",): 5, ("contract", "transport"): 4}
    points = [point(changed, lambda number, _, most=most: number % 5 < most) for changed, most in right.items()]
    found = attribute(("contract", "transport"), points)
    assert (of(found, "transport"), of(found, "contract"), found and found.total) == (
        Fraction(-3, 5), Fraction(2, 5), Fraction(-1, 5),
    )  # fmt: skip
    assert found is not None
    path = next(share for share in found.shares if share.axes == ("transport",))
    assert sorted(one.value for one in path.walked) == [Fraction(-1), Fraction(-1, 5)]


def test_what_no_cell_separates_is_confounded() -> None:
    """Without a cell that changes one of them alone two axes are one part; a third that has cells is none the less apart."""
    cells = {one.changed: one for one in planted({"model": 2, "contract": 1, "transport": -2})}
    ends = [cells[frozenset()], cells[frozenset(AXES)]]
    alone = attribute(AXES, ends)
    assert alone is not None
    assert [(share.axes, share.value) for share in alone.shares] == [(AXES, Fraction(1, 5))]
    assert (alone.orders, alone.every_order) == (1, False)
    replayed = attribute(AXES, [*ends, cells[frozenset(["transport"])]])
    assert of(replayed, "transport") == Fraction(-2, 5)
    assert of(replayed, "model", "contract") == Fraction(3, 5)


def test_faults_take_their_task_and_no_points() -> None:
    """A task without a verdict in one of the cells counts in none of them."""
    first = point((), lambda number, _: None if number == 0 else True)
    last = point(("contract", "transport"), lambda number, _: number != 1)
    between = point(("transport",), lambda number, _: None if number == 2 else False)
    found = attribute(("contract", "transport"), [first, between, last])
    assert found is not None
    assert found.tasks == 18
    assert sum((share.value for share in found.shares), Fraction(0)) == found.total
    nothing = point((), lambda *_: None)
    assert attribute(("contract", "transport"), [nothing, between, last]) is None


def test_the_same_replies_are_compared_one_by_one() -> None:
    """A reply that is lost on one path counts on the other one neither."""
    first = point((), lambda _, index: index == 0, "one", trials=2)
    last = point(("transport",), lambda _, index: None if index == 0 else True, "one", trials=2)
    found = attribute(("transport",), [first, last])
    assert of(found, "transport") == 1
    assert found is not None
    assert found.shares[0].walked[0].same_replies


def test_ends_are_needed() -> None:
    """Without both ends there is no walk."""
    with pytest.raises(ValueError, match="both ends"):
        attribute(AXES, [point((), lambda *_: True)])


@st.composite
def cells(draw: st.DrawFn) -> tuple[tuple[str, ...], list[Point]]:
    axes = tuple(f"axis {number}" for number in range(draw(st.integers(1, 4))))
    between = draw(st.sets(st.sampled_from(subsets(axes)))) - {frozenset(), frozenset(axes)}
    chosen = sorted([frozenset[str](), frozenset(axes), *between], key=sorted)
    verdicts = st.lists(st.sampled_from([True, False, True, False, True, False, None]), min_size=40, max_size=40)
    found: list[Point] = []
    for changed in chosen:
        given_verdicts = draw(verdicts)
        replies = draw(st.sampled_from(["one", "two", "three"]))
        found.append(point(changed, lambda number, index, v=given_verdicts: v[2 * number + index], replies, trials=2))
    return axes, found


@settings(max_examples=60)
@given(cells())
def test_parts_add_up_and_turn_with_the_order(drawn: tuple[tuple[str, ...], list[Point]]) -> None:
    """Whatever cells there are, the parts add up to the difference, and exchanging the ends negates each of them."""
    axes, points = drawn
    found = attribute(axes, points)
    every = frozenset(axes)
    back = attribute(axes, [Point(every - one.changed, one.rows, one.replies, one.label) for one in points])
    assert (found is None) == (back is None)
    if found is None or back is None:
        return
    assert sum((share.value for share in found.shares), Fraction(0)) == found.total
    assert sorted(axis for share in found.shares for axis in share.axes) == sorted(axes)
    assert {share.axes: -share.value for share in found.shares} == {share.axes: share.value for share in back.shares}
    assert all(sum((one.weight for one in share.walked), Fraction(0)) == 1 for share in found.shares)
