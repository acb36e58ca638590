import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crosspath.analysis import precision
from crosspath.analysis.precision import STATED, Design, Spread
from crosspath.analysis.variance import variance_sources

designs = st.builds(Design, st.lists(st.integers(1, 5), min_size=2, max_size=30).map(tuple), st.integers(1, 6))
spreads = st.builds(Spread, *[st.floats(0.001, 0.2)] * 3)


@pytest.mark.parametrize("families", [3, 6, 14, 28])
def test_detectable_effect_equals_statsmodels(families: int) -> None:
    """The smallest effect with 80 % power is that of statsmodels' t test."""
    from statsmodels.stats.power import TTestPower

    design, spread = Design((4,) * families, 1), Spread(0.02, 0.0, 0.0)
    size = float(TTestPower().solve_power(nobs=families, alpha=0.05, power=0.8))
    assert precision.detectable(spread, design) == pytest.approx(size * math.sqrt(0.02), rel=1e-4)


def test_too_few_families_detect_nothing() -> None:
    """One family has no interval; two detect no effect that there can be."""
    assert precision.detectable(STATED["half of the families lose all"], Design((4, 4), 1)) is None
    assert precision.detectable(Spread(0.1, 0.0, 0.0), Design((9,), 1)) is None
    assert precision.interval_width(Spread(0.1, 0.0, 0.0), Design((9,), 1)) is None


@settings(max_examples=40)
@given(spreads, designs)
def test_more_of_anything_is_more_precise(spread: Spread, design: Design) -> None:
    """Twice the families helps most, then twice the tasks, then twice the trials; all of them lower effect and width."""
    less = [precision.narrowed(spread, design, **{name: 2}) for name in ("families", "tasks", "trials")]
    assert less[0] == pytest.approx(1 - math.sqrt(0.5))
    assert less[0] >= less[1] >= less[2] > 0
    width, wider = (precision.interval_width(spread, one) for one in (design.times(families=2), design))
    assert width is not None
    assert wider is not None
    assert width < wider <= 2 or width == wider == 2


def test_stated_spreads_are_what_their_names_say() -> None:
    """A path that breaks a share of families wholly has a standard deviation of sqrt(share (1 - share)) between them."""
    deviations = [math.sqrt(spread.families) for spread in STATED.values()]
    assert deviations == pytest.approx([math.sqrt(0.01 * 0.99), 0.3, 0.5])


@pytest.mark.parametrize("trials", [1, 3])
def test_an_earlier_evaluation_gives_its_own_precision_again(trials: int) -> None:
    """Variance sources turned into a spread give the same standard error for the same design."""
    design = precision.design_of([f"f{family}" for family in range(6) for _ in range(1 + family % 3)], trials)
    families = {f"f{family}/t{task}": f"f{family}" for family in range(6) for task in range(1 + family % 3)}
    values = {task: [float((place * 7 + index) % 3 == 0) for index in range(trials)] for place, task in enumerate(families)}
    sources = variance_sources([values], families)
    spread = precision.spread_of(sources, design)
    assert spread is not None
    whole = math.sqrt(sum(source.standard_error**2 for source in sources))
    assert spread.standard_error(design) == pytest.approx(whole)
    assert precision.spread_of((), design) is None


def test_what_was_not_told_apart_is_not_promised() -> None:
    """Where one trial a task leaves draws within tasks, nothing is said of more trials."""
    families = {f"f{family}/t{task}": f"f{family}" for family in range(4) for task in range(2)}
    values = {task: [float(place % 3 == 0)] for place, task in enumerate(families)}
    less = precision.narrowing(variance_sources([values], families))
    assert less["families"] == pytest.approx(1 - math.sqrt(0.5))
    assert less["tasks"] is not None
    assert less["trials"] is None
    assert precision.narrowing(()) == {}
