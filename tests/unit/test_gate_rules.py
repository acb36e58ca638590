"""Rules of a gate: weighed, concluded and told, with hand-computed values and properties that hold whatever comes."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis.gate_rules import Amount, Evidence, Measured, Span, weigh
from crosspath.analysis.gate_words import rule_result
from crosspath.pipeline.gate import concluded, status_of
from crosspath.types import GateStatus, PolicyRule, RuleResult

NONE: Span = (0, 1)
FLOOR = PolicyRule(metric="pass_rate", at_least=0.5)
MARGIN = PolicyRule(metric="pass_rate", margin=0.2)
HERE = PolicyRule(metric="pass_rate", margin=0.2, over="these_tasks")


def side(*tasks: Sequence[int | None], families: int = 0) -> Measured:
    """Tasks with their trials; None: missing. Each task is a family of its own, or they go round ``families``."""
    spans = {f"t{at:02}": [NONE if one is None else (one, one) for one in trials] for at, trials in enumerate(tasks)}
    return Measured(spans, {task: f"f{at % (families or len(tasks)):02}" for at, task in enumerate(spans)})


def result(rule: PolicyRule, candidate: Evidence, baseline: Evidence | None = None) -> RuleResult:
    return rule_result(weigh(rule, 0.05, candidate, baseline), 0.05)


def status(rules: Sequence[PolicyRule], candidate: Evidence, baseline: Evidence | None = None) -> GateStatus:
    return status_of((), concluded([weigh(rule, 0.05, candidate, baseline) for rule in rules], 0.05))


def test_a_floor_over_families_by_hand() -> None:
    """Eight families that pass everything: p = 0.5^8 for one half, and the bound is 0.05^(1/8)."""
    found = result(FLOOR, side(*[(1, 1)] * 8))
    assert found.state == "shown"
    assert found.p_shown == pytest.approx(0.5**8)
    assert found.estimate is not None
    assert found.estimate.low == pytest.approx(0.05 ** (1 / 8), abs=1e-9)
    assert (found.estimate.value, found.estimate.n, found.bound, found.direction) == (1.0, 16, 0.5, "at_least")
    assert found.sentence == (
        "pass rate 100.0 % (68.8 % to 100.0 %) over families like these 8 (8 tasks, 16 trials); at least 50.0 % is asked,"
        " which is shown (p = 0.004)"
    )


def test_a_margin_pairs_tasks_and_trials() -> None:
    """On these tasks the differences of trials are tested: equal ones leave only what was not seen, (1 - 0.2)^n."""
    own, other = side(*[(1, 0)] * 10), side(*[(1, 0)] * 10)
    assert result(HERE, own, other).p_shown == pytest.approx(0.8**20)
    assert result(MARGIN, own, other).p_shown == pytest.approx(0.8**10)
    assert "0.0 points (-25.9 to +25.9) against the baseline over families like these 10" in result(MARGIN, own, other).sentence


def test_sides_with_other_numbers_of_trials_are_compared_by_the_trials_that_both_have() -> None:
    """Two trials against three: two pairs of each task; over families all trials count."""
    own, other = side(*[(1, 1)] * 6), side(*[(1, 1, 0)] * 6)
    found = result(HERE, own, other).estimate
    assert found is not None
    assert (found.n, found.value) == (12, 0.0)
    over = result(MARGIN, own, other).estimate
    assert over is not None
    assert over.value == pytest.approx(1 / 3)


def test_less_is_better_where_it_is() -> None:
    """A cap on what is silently wrong: the same numbers, turned round."""
    rule = PolicyRule(metric="silent_wrong", at_most=0.5)
    found = result(rule, side(*[(0, 0)] * 8))
    assert (found.state, found.direction) == ("shown", "at_most")
    assert found.p_shown == pytest.approx(0.5**8)
    assert found.estimate is not None
    assert (found.estimate.low, found.estimate.high) == (0.0, pytest.approx(1 - 0.05 ** (1 / 8), abs=1e-9))
    worse = PolicyRule(metric="silent_wrong", margin=0.2)
    assert result(worse, side(*[(1, 1)] * 20), side(*[(0, 0)] * 20)).state == "violated"
    assert result(worse, side(*[(0, 0)] * 20), side(*[(1, 1)] * 20)).state == "shown"


def test_pass_hat_over_families_and_in_runs() -> None:
    """Unbiased over all subsets of trials for families, whole runs of k for these tasks; too few trials are no evidence."""
    rule = PolicyRule(metric="pass_hat", k=2, at_least=0.2)
    half = side(*[(1, 1, 0, 0)] * 6)
    found = result(rule, half).estimate
    assert found is not None
    assert found.value == pytest.approx(1 / 6)
    runs = result(rule.model_copy(update={"over": "these_tasks"}), half).estimate
    assert runs is not None
    assert (runs.value, runs.method) == (0.5, "Gaffke's one-sided test on 12 runs of 2 trials")
    short = result(rule, side((1,), (1,)))
    assert (short.state, short.sentence) == ("unusable", "pass^2: it takes 2 trials a task, and there is 1")


def test_damage_of_these_replies_is_exact() -> None:
    """No test: it is so or not so, and what is missing leaves it open."""
    rule = PolicyRule(metric="damage", at_least=-0.25, over="these_replies")
    families = {"a": "f", "b": "f", "c": "f", "d": "g"}
    known: dict[str, Sequence[Span]] = {"a": [(0, 0)], "b": [(0, 0)], "c": [(0, 0)], "d": [(-1, -1)]}
    found = result(rule, Measured(known, families))
    assert (found.state, found.p_shown) == ("shown", 0.0)
    assert found.sentence == "damage -25.0 points for these 4 trials; at least -25.0 points is asked, which is so"
    assert result(rule, Measured(known | {"c": [(-1, -1)]}, families)).state == "violated"
    opened = result(rule, Measured(known | {"c": [(-1, 1)]}, families))
    assert opened.state == "undecided"
    assert opened.needs.startswith("the 1 trials without a verdict")


def test_what_is_known_without_observing_needs_no_test() -> None:
    """Nothing can be lost on a path that is the reference: so it is, for one family as for many."""
    nothing = Measured({"a": [(0, 0)], "b": [(0, 0)]}, {"a": "f", "b": "f"}, known="its path is the reference")
    found = result(PolicyRule(metric="lost_to_path", at_most=0.05), nothing)
    assert (found.state, found.p_shown) == ("shown", 0.0)
    assert found.sentence.endswith("at most 5.0 % is asked, which is so")
    assert found.estimate is not None
    assert found.estimate.method == "its path is the reference"


def test_costs_are_compared_as_multiples_and_unknown_is_never_cheap() -> None:
    """What is missing has no upper end; what is unknown, or a baseline of nothing, is no evidence."""
    rule = PolicyRule(metric="usd_per_pass", times_baseline=1.5)
    own, other = Amount(0.03, 0.03, 0.03, 10, 0), Amount(0.02, 0.02, 0.02, 10, 0)
    assert (result(rule, own, other).state, result(rule, other, own).state) == ("shown", "shown")
    assert result(rule, Amount(0.031, 0.031, 0.031, 10, 0), other).state == "violated"
    lost = result(rule, Amount(0.02, 0.019, None, 9, 1), other)
    assert (lost.state, lost.needs[:6]) == ("undecided", "the 1 ")
    assert "1 times (0.95 times to no end) against the baseline for these 19 replies" in lost.sentence
    assert result(rule, own, Amount(0.0, 0.0, 0.0, 10, 0)).state == "unusable"
    assert result(rule, "the cost of 3 of 10 replies is unknown", other).state == "unusable"
    nothing = PolicyRule(metric="usd_per_pass", at_most=1)
    assert result(nothing, Amount(None, None, None, 10, 0)).state == "violated"


def test_a_rule_without_its_evidence_is_unusable() -> None:
    """No baseline, no task in common, no evidence at all: never shown."""
    own = side((1,), (1,))
    assert result(MARGIN, own).sentence == "pass rate: there is no baseline to compare with"
    other = Measured({"x": [(1, 1)]}, {"x": "f"})
    assert result(MARGIN, own, other).sentence == "pass rate: no task was planned on both sides"
    assert status([FLOOR, MARGIN], own) == "INVALID"


def test_what_would_decide_is_said_only_where_it_can() -> None:
    """Families for a bound over families, trials for these tasks, what is missing first, and nothing where nothing would."""
    assert result(MARGIN, side(*[(1,)] * 10), side(*[(1,)] * 10)).needs == (
        "about 14 families instead of 10 would show it, if they turn out as these"
    )
    few = result(HERE, side(*[(1,)] * 8), side(*[(1,)] * 8))
    assert few.needs == "about 2 trials a task instead of 1 would show it, if they turn out as these"
    missing = result(FLOOR, side(*[(1, None)] * 8))
    assert missing.needs == "the 8 trials without a verdict: run the same command again, which asks for what is missing only"
    tied = result(PolicyRule(metric="pass_rate", at_least=0.5, over="these_tasks"), side(*[(1, 0)] * 4))
    assert tied.needs == "not even 10 times the families or trials would, if they turn out as these: it is too near the bound"


def test_more_trials_help_over_families_as_far_as_replies_vary() -> None:
    """Families that differ by chance alone are told apart from families that differ."""
    draw = random.Random(5)
    noisy = side(*[[int(draw.random() < 0.8) for _ in range(4)] for _ in range(20)])
    found = result(PolicyRule(metric="pass_rate", at_least=0.66), noisy)
    assert found.state == "undecided"
    assert "trials a task instead of 4 or about" in found.needs
    alike = result(PolicyRule(metric="pass_rate", at_least=0.66), side(*[[1, 1, 1, 1]] * 16, *[[0, 0, 0, 0]] * 4))
    assert alike.needs.startswith("about 37 families instead of 20 would show it")


@pytest.mark.parametrize(
    ("own", "expected"),
    [([(1, 1)] * 20, "PASS"), ([(0, 0)] * 20, "FAIL"), ([(1, 1)] * 5, "INCONCLUSIVE"), ([(1,)] * 20, "INVALID")],
)
def test_all_four_verdicts_are_reached(own: Sequence[Sequence[int]], expected: GateStatus) -> None:
    """As good as the baseline, all lost, too few families, and a rule that lacks its trials."""
    rules = [MARGIN, PolicyRule(metric="pass_hat", k=2, at_least=0.3)]
    assert status(rules, side(*own), side(*[(1, 1)] * len(own))) == expected


def test_a_warning_decides_nothing() -> None:
    """Rules of the tier `warn` have their state and no part in the verdict."""
    warn = PolicyRule(metric="pass_rate", at_least=0.99, tier="warn")
    lost = side(*[(1, 0)] * 20)
    assert result(warn, lost).state == "violated"
    assert status([MARGIN, warn], lost, lost) == "PASS"


def test_two_rules_share_the_risk_of_a_wrong_fail() -> None:
    """Holm: of two rules each with p = 0.03125 none is called violated, a single one is."""
    rule = PolicyRule(metric="pass_rate", at_least=0.5)
    lost = side(*[(0,)] * 5)
    assert result(rule, lost).p_violated == pytest.approx(0.5**5)
    assert status([rule], lost) == "FAIL"
    assert status([rule, PolicyRule(metric="pass_rate", at_least=0.5, name="again")], lost) == "INCONCLUSIVE"


# -- properties ----------------------------------------------------------------------------------------------------------

RULES = (
    FLOOR,
    MARGIN,
    HERE,
    PolicyRule(metric="silent_wrong", at_most=0.4),
    PolicyRule(metric="silent_wrong", margin=0.3, over="these_tasks"),
    PolicyRule(metric="pass_hat", k=2, at_least=0.3),
    PolicyRule(metric="pass_hat", k=2, margin=0.3, over="these_tasks"),
)
SIDES = st.integers(0, 3).flatmap(
    lambda skew: st.lists(
        st.lists(st.sampled_from([0, *[1] * (3 * skew), None]), min_size=2, max_size=2), min_size=12, max_size=12
    )
)
SOME = st.lists(st.sampled_from(RULES), min_size=1, max_size=4, unique=True)


@settings(max_examples=60)
@given(SOME, SIDES, SIDES, st.booleans(), st.integers(0, 11), st.integers(0, 1))
def test_a_missing_trial_never_makes_a_verdict(
    rules: list[PolicyRule], own: list[list[int | None]], other: list[list[int | None]], ours: bool, task: int, index: int
) -> None:
    """Whatever is lost on either side: what was no PASS is none, and what was no FAIL is none."""
    before = status(rules, side(*own), side(*other))
    (own if ours else other)[task][index] = None
    after = status(rules, side(*own), side(*other))
    assert after == before or after == "INCONCLUSIVE"


@settings(max_examples=40)
@given(SOME, st.sampled_from(RULES), SIDES, SIDES)
def test_a_further_rule_never_makes_a_pass(
    rules: list[PolicyRule], further: PolicyRule, own: list[list[int | None]], other: list[list[int | None]]
) -> None:
    """More is asked, so less passes."""
    if status([*rules, further], side(*own), side(*other)) == "PASS":
        assert status(rules, side(*own), side(*other)) == "PASS"


@settings(max_examples=40)
@given(SOME, SIDES, SIDES, st.randoms(use_true_random=False))
def test_order_changes_nothing(
    rules: list[PolicyRule], own: list[list[int | None]], other: list[list[int | None]], shuffled: random.Random
) -> None:
    """Of rules, and of tasks: every result is the same to the bit."""
    candidate, baseline = side(*own, families=5), side(*other, families=5)
    found = concluded([weigh(rule, 0.05, candidate, baseline) for rule in rules], 0.05)
    order = list(candidate.spans)
    shuffled.shuffle(order)
    mixed = Measured({task: candidate.spans[task] for task in order}, candidate.families)
    again = concluded([weigh(rule, 0.05, mixed, baseline) for rule in reversed(rules)], 0.05)
    assert found == tuple(reversed(again))
