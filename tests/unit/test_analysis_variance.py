import math
import random
from statistics import variance

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.variance import variance_sources
from crosspath.types import VarianceSource

FAMILIES = {f"f{family}/t{task}": f"f{family}" for family in range(8) for task in range(3)}


def parts(sources: tuple[VarianceSource, ...]) -> dict[str, float]:
    """Source -> variance that it adds."""
    return {source.name: source.standard_error**2 for source in sources}


def test_nested_analysis_of_variance_by_hand() -> None:
    """Two families of two tasks of two trials: the components are those of the textbook's table."""
    families = {"a1": "a", "a2": "a", "b1": "b", "b2": "b"}
    trials = {"a1": (1, 0), "a2": (0, 0), "b1": (1, 1), "b2": (1, 1)}
    # Mean squares of task means: within tasks 1/2 in one task of four, so v = 1/4, 0, 0, 0; in families 1/8 over 2 degrees.
    found = parts(variance_sources([trials], families))
    assert found["replies"] == pytest.approx(0.25 / 4 / 4)
    tasks = (0.125 - 0.5 * 0.25) / 2
    assert found["tasks"] == pytest.approx(tasks * (1 / 2 + 1 / 2) / 4)
    total = (0.75**2 / 2) / 2
    assert found["families"] == pytest.approx(total - found["replies"] - found["tasks"])


def test_two_generations_are_two_sources() -> None:
    """Compensation compares two draws: each adds its own variance, damage has one."""
    dice = random.Random(4)
    noisy = {task: [float(dice.random() < 0.5) for _ in range(4)] for task in FAMILIES}
    steady = {task: [-1.0] * 4 for task in FAMILIES}
    found = variance_sources([noisy, steady], FAMILIES)
    assert [source.name for source in found] == ["families", "tasks", "replies", "other_replies"]
    assert found[2].standard_error > 0 == found[3].standard_error
    assert [source.name for source in variance_sources([noisy], FAMILIES)] == ["families", "tasks", "replies"]


def test_what_can_not_be_told_apart_is_not_listed() -> None:
    """One trial a task leaves two sources, one task a family another two, one of each only families, one family nothing."""
    once = {task: [float(place % 3 == 0)] for place, task in enumerate(FAMILIES)}
    twice = {task: [0.0, values[0]] for task, values in once.items()}
    first_of_each = [task for task in FAMILIES if task.endswith("t0")]
    one_task = [{task: trials[task] for task in first_of_each} for trials in (once, twice)]
    one_family = {task: trials for task, trials in twice.items() if task.startswith("f0")}
    names = [[source.name for source in variance_sources([trials], FAMILIES)] for trials in (once, *one_task, one_family, {})]
    assert names == [["families", "tasks"], ["families"], ["families", "replies"], [], []]


def test_no_variance_has_no_shares() -> None:
    """Where everything ties every source adds 0, and a share of nothing is not made up."""
    found = variance_sources([{task: [1.0, 1.0] for task in FAMILIES}], FAMILIES)
    assert [(source.standard_error, source.share) for source in found] == [(0.0, None)] * 3


@settings(max_examples=60)
@given(st.randoms(use_true_random=False), st.integers(1, 3), st.integers(1, 2))
def test_sources_add_up_in_any_order(dice: random.Random, trials: int, generations: int) -> None:
    """All sources add up to the variance of family means, their shares to 1, and the order of tasks means nothing."""
    drawn = [{task: [float(dice.random() < 0.4) for _ in range(trials)] for task in FAMILIES} for _ in range(generations)]
    found = variance_sources(drawn, FAMILIES)
    mixed = [dict(dice.sample(list(one.items()), len(one))) for one in drawn]
    assert variance_sources(mixed, FAMILIES) == found
    shares = [source.share for source in found if source.share is not None]
    assert math.fsum(shares) == pytest.approx(1) or not shares
    values = {task: sum(sum(one[task]) / trials for one in drawn) for task in FAMILIES}
    means = [math.fsum(values[f"f{family}/t{task}"] for task in range(3)) / 3 for family in range(8)]
    assert math.fsum(parts(found).values()) == pytest.approx(variance(means) / 8, abs=1e-12)


def test_tiers_are_no_random_draw() -> None:
    """Families that all lose the same tiers don't differ, and tiers that differ everywhere alike are no source of error."""
    tiers = {task: int(task[-1]) for task in FAMILIES}
    lost = {task: [float(tier > 0)] for task, tier in tiers.items()}
    assert [source.standard_error for source in variance_sources([lost], FAMILIES, tiers)] == [0.0, 0.0]
    one_more = lost | {"f0/t0": [1.0]}
    with_tiers, without = (parts(variance_sources([one_more], FAMILIES, known)) for known in (tiers, None))
    assert 0 < with_tiers["tasks"] <= without["tasks"]
    assert sum(with_tiers.values()) == pytest.approx(sum(without.values()))


def test_planted_sources_are_found_again() -> None:
    """Over many draws the components come out, on average, as they were planted."""
    dice = random.Random(20)
    sums = {"families": 0.0, "tasks": 0.0, "replies": 0.0}
    rounds = 400
    for _ in range(rounds):
        drawn: dict[str, list[float]] = {}
        for family in range(8):
            chance = dice.choice((0.3, 0.7))
            for task in range(3):
                own = chance + dice.choice((-0.15, 0.15))
                drawn[f"f{family}/t{task}"] = [float(dice.random() < own) for _ in range(4)]
        for name, part in parts(variance_sources([drawn], FAMILIES)).items():
            sums[name] += part / rounds
    draws = 0.25 - 0.2**2 - 0.15**2
    expected = {"families": 0.04 / 8, "tasks": 0.0225 / 24, "replies": draws / 96}
    for name, part in expected.items():
        assert sums[name] == pytest.approx(part, rel=0.25)
