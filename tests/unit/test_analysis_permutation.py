"""The permutation test: exact, whatever the outcomes look like."""

import random
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.permutation import marked_is_better_p
from crosspath.analysis.stats import mean

items = st.lists(st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(1)]), min_size=2, max_size=3)
families = st.lists(st.lists(items, min_size=1, max_size=2), min_size=1, max_size=3)


def statistic(found: list[list[list[Fraction]]]) -> Fraction:
    return mean([mean([group[0] - mean(group[1:]) for group in family]) for family in found])


def by_hand(found: list[list[list[Fraction]]]) -> Fraction:
    """Every marking, one by one."""
    markings = [range(len(group)) for family in found for group in family]
    observed, hits, total = statistic(found), 0, 0
    for marking in product(*markings):
        marks = iter(marking)
        marked = [[_marked(group, next(marks)) for group in family] for family in found]
        hits += statistic(marked) >= observed
        total += 1
    return Fraction(hits, total)


def _marked(group: list[Fraction], mark: int) -> list[Fraction]:
    return [group[mark], *group[:mark], *group[mark + 1 :]]


@given(families)
def test_all_markings_are_counted(found: list[list[list[Fraction]]]) -> None:
    """The p is the share of all markings that give at least as much, to the last bit."""
    assert marked_is_better_p(found) == float(by_hand(found))


@given(families, st.randoms(use_true_random=False))
def test_order_changes_nothing(found: list[list[list[Fraction]]], dice: random.Random) -> None:
    """Families, groups and unmarked items in any order give the same p."""
    mixed = [[[group[0], *dice.sample(group[1:], len(group) - 1)] for group in family] for family in found]
    for family in mixed:
        dice.shuffle(family)
    dice.shuffle(mixed)
    assert marked_is_better_p(mixed) == marked_is_better_p(found)


def test_coins() -> None:
    """Five pairs in which the marked one wins: one of 32 sign patterns; five ties say nothing."""
    win, tie = [Fraction(1), Fraction(0)], [Fraction(1), Fraction(1)]
    assert marked_is_better_p([[win]] * 5) == 1 / 32
    assert marked_is_better_p([[tie]] * 5) == 1.0
    assert marked_is_better_p([[win, tie]] * 5) == 1 / 32
    assert marked_is_better_p([[list(reversed(win))]] * 5) == 1.0
    assert marked_is_better_p([]) is None


def test_what_can_t_be_counted_is_drawn() -> None:
    """Groups whose sums are too many are drawn with a fixed seed: the same p each time, near the one that is counted."""
    primes = [101, 103, 107, 109, 113, 127, 131, 137, 139, 149, 151, 157, 163, 167, 173, 179, 181, 191, 193, 197]
    odd = [[[Fraction(1, prime), Fraction(0)]] for prime in primes]
    found = marked_is_better_p(odd)
    assert found == marked_is_better_p(odd)
    assert found == 1 / 10_001  # never 0
    mixed = [[[Fraction(1, prime), Fraction(0)][:: 1 if number % 2 else -1]] for number, prime in enumerate(primes)]
    assert marked_is_better_p(mixed) == pytest.approx(0.5, abs=0.15)
