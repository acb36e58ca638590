"""The contamination alarm: public tasks against fresh draws of the same variants."""

import random
from collections.abc import Callable, Iterable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.partitions import (
    ALARM_P,
    contamination_warning,
    partition_gap,
    partition_lines,
    partition_rows,
    partition_section,
)
from crosspath.types import CellRow, PartitionGap

Outcome = bool | None


def row(task: str, passed: Outcome, index: int = 0, unstable: bool = False) -> CellRow:
    """A row of a task ``family/variant``."""
    return CellRow(task=task, family=task.partition("/")[0], index=index, passed=passed, unstable=unstable)


def gap(public: Mapping[str, Iterable[Outcome]], heldout: Mapping[str, Iterable[Iterable[Outcome]]]) -> PartitionGap:
    """Public task -> outcomes of its trials; public task -> draws of it -> outcomes of their trials."""
    rows = [row(task, passed, index) for task, trials in public.items() for index, passed in enumerate(trials)]
    twins: dict[str, str] = {}
    for twin, draws in heldout.items():
        for number, trials in enumerate(draws):
            name = f"{twin}-heldout{number}"
            twins[name] = twin
            rows += [row(name, passed, index) for index, passed in enumerate(trials)]
    return partition_gap("m", "R", "R", rows, twins)


def names(families: int, variants: int) -> list[str]:
    return [f"f{family}/v{variant}" for family in range(families) for variant in range(variants)]


def test_the_difference_is_paired_by_variant_and_averages_draws() -> None:
    """Two draws of a variant count as their mean, and families weigh the same: 1 - 1/2 in one, 1 - 1 and 0 - 1 in the other."""
    found = gap({"a/x": [True], "b/y": [True], "b/z": [False]}, {"a/x": [[True], [False]], "b/y": [[True]], "b/z": [[True]]})
    assert (found.public.value, found.heldout.value) == (0.75, 0.75)
    assert found.difference.value == 0.0
    assert (found.difference.n, found.difference.missing, found.difference.estimand) == (3, 0, "task_population")
    assert (found.public.n, found.heldout.n) == (3, 4)
    assert found.cell == "RR"


def test_trials_of_a_twin_are_averaged() -> None:
    """Three trials of the public task against two trials of its draw are one pair."""
    found = gap({"a/x": [True, True, False], "b/x": [True]}, {"a/x": [[True, False]], "b/x": [[True]]})
    assert found.difference.value == pytest.approx((2 / 3 - 1 / 2) / 2)
    assert found.difference.n == 2


def test_public_tasks_without_a_twin_take_no_part() -> None:
    """A family that can't be drawn afresh changes neither rate nor difference, and a draw of a task that is not there neither."""
    pairs = {"a/x": [[True]], "b/x": [[False]]}
    alone = gap({"a/x": [True], "b/x": [True]}, pairs)
    among = gap({"a/x": [True], "b/x": [True], "c/x": [False]}, {**pairs, "d/x": [[False]]})
    assert among == alone


@pytest.mark.parametrize("lost", ["public", "held-out"])
def test_a_variant_that_one_side_lacks_is_missing_and_bounded(lost: str) -> None:
    """What was scored on one side only is left out of both rates, counted, and widens the bounds."""
    public: dict[str, list[Outcome]] = {"a/x": [True], "b/x": [True], "c/x": [True]}
    heldout: dict[str, list[list[Outcome]]] = {"a/x": [[True]], "b/x": [[False]], "c/x": [[True]]}
    if lost == "public":
        public["c/x"] = [None]
    else:
        heldout["c/x"] = [[None]]
    found = gap(public, heldout)
    assert found.difference.value == 0.5
    assert (found.public.value, found.heldout.value) == (1.0, 0.5)
    assert (found.difference.n, found.difference.missing, found.difference.unstable) == (2, 1, 0)
    bounds = (0, 1 / 2) if lost == "public" else (1 / 3, 2 / 3)  # the first ones are widened to hold the value
    assert (found.difference.worst, found.difference.best) == pytest.approx(bounds)


def test_an_unstable_variant_is_apart_from_a_missing_one() -> None:
    """A trial that disagrees with itself is listed as unstable, not as missing."""
    rows = [row("a/x", True), row("a/x-h", True), row("b/x", True, unstable=True), row("b/x-h", True)]
    found = partition_gap("m", "N", "N", rows, {"a/x-h": "a/x", "b/x-h": "b/x"})
    assert (found.difference.n, found.difference.missing, found.difference.unstable) == (1, 0, 1)


def test_nothing_scored_is_no_alarm() -> None:
    """Without a pair there is no number, no alarm, and a sentence that says so."""
    for found in (gap({"a/x": [None]}, {"a/x": [[None]]}), gap({}, {})):
        assert found.difference.value is None
        assert not found.alarm
        assert partition_lines([found])[0].startswith("No contamination check for m in RR: ")
        assert contamination_warning(found) == ""


def test_one_family_is_no_evidence() -> None:
    """However large the difference, one family has no interval and rings no alarm; the line says why."""
    found = gap({f"a/{n}": [True] for n in range(50)}, {f"a/{n}": [[False]] for n in range(50)})
    assert (found.difference.value, found.alarm) == (1.0, False)
    assert "one family says nothing" in partition_lines([found])[0]


def test_memory_rings_the_alarm() -> None:
    """Right on all public tasks and wrong on every hostile draw of 7 families: report, warning and row say it with numbers."""
    public: dict[str, list[Outcome]] = {name: [True] for name in names(7, 4)}
    found = gap(public, {name: [[name.endswith("v0")]] for name in public})
    assert found.alarm
    assert found.difference.value == 0.75
    (line,) = partition_lines([found])
    assert line.startswith("CONTAMINATION ALARM for m in RR: 100.0 % of the public tasks pass and 25.0 % of their held-out twins")
    assert "(28 pairs), a difference of +75.0 points (+" in line
    assert "CONTAMINATION ALARM" in contamination_warning(found)
    assert "ALARM" in partition_section([found]).splitlines()[-1]
    (flat,) = partition_rows([found])
    assert (flat["alarm"], flat["value"], flat["public_value"], flat["heldout_value"]) == (True, 0.75, 1.0, 0.25)


def test_worse_on_public_tasks_is_no_alarm() -> None:
    """The alarm looks in one direction: held-out tasks that are easier are no sign of memory."""
    public: dict[str, list[Outcome]] = {name: [False] for name in names(10, 4)}
    found = gap(public, {name: [[True]] for name in public})
    assert (found.difference.value, found.alarm) == (-1.0, False)


def test_nothing_to_say_is_said_with_nothing() -> None:
    """An evaluation of public tasks alone has neither a line nor a section."""
    assert partition_lines([]) == []
    assert partition_section([]) == ""


def test_a_candidates_name_adds_no_markup() -> None:
    """A name is shown as text in the report."""
    hostile = gap({"a/x": [True]}, {"a/x": [[True]]}).model_copy(update={"candidate": "a|b *c*"})
    section = partition_section([hostile])
    assert "a|b" not in section
    assert "*c*" not in section.replace("\\*c\\*", "")


outcomes = st.lists(st.sampled_from([True, False, None]), min_size=1, max_size=3)
pairs = st.dictionaries(
    st.tuples(st.integers(0, 5), st.integers(0, 3)).map(lambda place: f"f{place[0]}/v{place[1]}"),
    st.tuples(outcomes, st.lists(outcomes, min_size=1, max_size=3)),
    max_size=16,
)


class TestProperties:
    @given(pairs)
    def test_sign_and_bounds(self, found: dict[str, tuple[list[Outcome], list[list[Outcome]]]]) -> None:
        """The difference is exactly that of the two rates, within its interval and its bounds; the counts are all variants."""
        made = gap({name: side[0] for name, side in found.items()}, {name: side[1] for name, side in found.items()})
        difference = made.difference
        assert difference.n + difference.missing + difference.unstable == len(found)
        if difference.value is None:
            assert difference.n == 0
            assert not made.alarm
            return
        assert made.public.value is not None
        assert made.heldout.value is not None
        assert difference.value == pytest.approx(made.public.value - made.heldout.value)
        assert difference.worst is not None
        assert difference.best is not None
        assert -1 <= difference.worst <= difference.value <= difference.best <= 1
        if difference.low is not None and difference.high is not None:
            assert -1 <= difference.low <= difference.value <= difference.high <= 1
        assert difference.p_value is not None
        assert 0 < difference.p_value <= 1
        assert made.alarm == (difference.low is not None and difference.low > 0 and difference.p_value <= ALARM_P)

    @given(st.dictionaries(st.sampled_from(names(6, 4)), outcomes, max_size=24), st.integers(1, 3))
    def test_equal_sides_ring_no_alarm(self, found: dict[str, list[Outcome]], draws: int) -> None:
        """A model that does the same on both sides, however good, rings nothing: the difference is 0 to the last bit."""
        made = gap(found, {name: [trials] * draws for name, trials in found.items()})
        assert made.difference.value in (0.0, None)
        assert not made.alarm

    @given(pairs, st.randoms(use_true_random=False))
    def test_order_changes_nothing(
        self, found: dict[str, tuple[list[Outcome], list[list[Outcome]]]], dice: random.Random
    ) -> None:
        """Rows in any order give the same gap."""
        rows = [row(name, passed, index) for name, side in found.items() for index, passed in enumerate(side[0])]
        rows += [row(f"{name}-h", passed, index) for name, side in found.items() for index, passed in enumerate(side[1][0])]
        twins = {f"{name}-h": name for name in found}
        expected = partition_gap("m", "R", "R", rows, twins)
        dice.shuffle(rows)
        assert partition_gap("m", "R", "R", rows, dict(reversed(twins.items()))) == expected

    @given(pairs)
    def test_sides_swapped_turn_the_sign(self, found: dict[str, tuple[list[Outcome], list[list[Outcome]]]]) -> None:
        """Held-out tasks in the place of public ones give the same difference with the other sign."""
        one = gap({name: side[0] for name, side in found.items()}, {name: [side[1][0]] for name, side in found.items()})
        other = gap({name: side[1][0] for name, side in found.items()}, {name: [side[0]] for name, side in found.items()})
        if one.difference.value is None:
            assert other.difference.value is None
        else:
            assert other.difference.value == -one.difference.value
            assert not (one.alarm and other.alarm)


def alarms(evaluations: int, seed: int, chance: Callable[[random.Random], tuple[float, float]]) -> float:
    """Share of simulated evaluations (28 families, 4 tiers) that ring; ``chance``: that of a variant, public and drawn."""
    dice = random.Random(seed)
    rung = 0
    for _ in range(evaluations):
        chances = {name: chance(dice) for name in names(28, 4)}
        public: dict[str, list[Outcome]] = {name: [dice.random() < first] for name, (first, _) in chances.items()}
        rung += gap(public, {name: [[dice.random() < second]] for name, (_, second) in chances.items()}).alarm
    return rung / evaluations


def test_honest_models_rarely_ring_it() -> None:
    """Over 150 evaluations of a model that is equally good on both sides the alarm rings in at most 5 %: 2.5 % are allowed."""

    def honest(dice: random.Random) -> tuple[float, float]:
        chance = dice.betavariate(3, 1)
        return chance, chance

    assert alarms(150, 1, honest) <= 0.05


def test_a_model_near_its_ceiling_rings_it_as_rarely() -> None:
    """At 99 % and with three draws differences are few and lopsided, so that t alone would ring in one of ten evaluations."""
    dice = random.Random(4)
    rung = 0
    for _ in range(60):
        public: dict[str, list[Outcome]] = {name: [dice.random() < 0.99] for name in names(28, 4)}
        found = gap(public, {name: [[dice.random() < 0.99] for _ in range(3)] for name in public})
        rung += found.alarm
    assert rung <= 1


def test_contamination_is_found() -> None:
    """A model that passes 30 points more public tasks is found in nearly all of 40 evaluations."""

    def contaminated(dice: random.Random) -> tuple[float, float]:
        chance = dice.betavariate(2, 2)
        return chance + 0.6 * (1 - chance), chance

    assert alarms(40, 2, contaminated) >= 0.9
