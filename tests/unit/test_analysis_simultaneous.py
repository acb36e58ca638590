import gc
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crosspath.analysis import CandidateInput, CellInput, Pair, compare_together, decompose, decompose_together, judge_control
from crosspath.analysis.simultaneous import holm
from crosspath.types import CellRow, Control, Effect

HOLDS = judge_control("encoded", {("a", 0): (True,)}, {("a", 0): (True,)})
BROKEN = Control(kind="encoded", status="broken", compared=1, differing=("a#0",), reason="it differs")


def rows_of(outcomes: str) -> tuple[CellRow, ...]:
    """One row per character, two tasks a family: ``1`` right, ``0`` wrong."""
    return tuple(CellRow(task=f"t{n:02}", family=f"f{n // 2}", passed=char == "1") for n, char in enumerate(outcomes))


def candidate(name: str, control: Control = HOLDS, reference: str = "111111111111") -> CandidateInput:
    """A candidate that loses some tasks on its path, and regains some when told."""
    cells = [
        CellInput("R", "R", "raw", "raw", rows_of(reference)),
        CellInput("R", "N", "raw", "nested", rows_of("101000111011" if "1" in reference else "000000000000")),
        CellInput("N", "R", "told", "raw", rows_of("111101111011")),
        CellInput("N", "N", "told", "nested", rows_of("111011111101")),
    ]
    return CandidateInput(name, cells, control)


def width(effect: Effect) -> tuple[float, float]:
    """Width of the interval by itself and of the one that holds together with others."""
    assert effect.together is not None
    ends = [(estimate.low, estimate.high) for estimate in (effect.population, effect.together)]
    return tuple(high - low for low, high in ends if low is not None and high is not None)  # type: ignore[return-value]


def test_more_effects_make_wider_intervals() -> None:
    """The interval that holds together is wider than the one by itself, and the more so the more candidates there are."""
    (one,) = decompose_together([candidate("a")])
    first, *_ = decompose_together([candidate(name) for name in "abc"])
    for alone, among in zip(one.effects, first.effects, strict=True):
        assert width(alone)[0] == width(among)[0] < width(alone)[1] < width(among)[1]
        assert alone.together is not None
        assert alone.together.value == alone.population.value
        assert "Bonferroni over 4" in alone.together.method
    assert "Bonferroni over 12" in str(first.effects[0].together)


def test_effects_that_may_not_be_used_count_for_nothing() -> None:
    """A broken control, or a reference on which nothing passes, neither has such intervals nor widens those of others."""
    (alone,) = decompose_together([candidate("a")])
    found = decompose_together([candidate("b", BROKEN), candidate("a"), candidate("c", reference="000000000000")])
    assert [effect.together for effect in found[0].effects] == [None] * 4
    assert [effect.name for effect in found[2].effects if effect.together] == ["contract_effect"]
    assert found[1].effects[0].together is not None
    assert "Bonferroni over 5" in found[1].effects[0].together.method
    assert alone.effects[0].population == found[1].effects[0].population


def test_one_effect_needs_no_adjustment() -> None:
    """A single effect holds together with nothing else: the interval is its own."""
    cells = candidate("a").cells[:2]
    (found,) = decompose_together([CandidateInput("a", cells, HOLDS)])
    assert [effect.together for effect in found.effects] == [found.effects[0].population]
    assert decompose("a", cells, HOLDS).effects[0].together is None


def test_holm_steps_down() -> None:
    """Holm: the smallest p times their number, the next times one less, and never less than the one before."""
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


@pytest.fixture
def little_garbage() -> Iterator[None]:
    """Whoever collects all garbage meanwhile does not look at what was there before: seconds in the process of a whole suite."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("little_garbage")  # theirs collects all garbage at each call
@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(0, 1), min_size=4, max_size=12))
def test_holm_equals_statsmodels(p_values: list[float]) -> None:
    """The adjusted p-values are those of statsmodels."""
    from statsmodels.stats.multitest import multipletests

    theirs = multipletests(p_values, method="holm")[1]
    assert theirs is not None
    assert holm(p_values) == pytest.approx(theirs.tolist())


def test_comparisons_hold_together() -> None:
    """Each of several comparisons also has an interval over all of them, and a p-value adjusted for their number."""
    rows = {"a": rows_of("111111111111"), "b": rows_of("101011101110"), "c": rows_of("001011100010")}
    pairs = [Pair(x, y, rows[x], rows[y]) for x, y in ("ab", "ac", "bc")]
    for found in compare_together(pairs):
        assert found.together is not None
        assert found.together.value == found.difference.value
        assert found.together.low is not None
        assert found.difference.low is not None
        assert found.together.low < found.difference.low
        assert found.together.p_value is not None
        assert found.difference.p_value is not None
        assert found.together.p_value >= found.difference.p_value
    assert compare_together([]) == ()
