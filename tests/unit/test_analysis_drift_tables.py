"""A look as rows for data frames."""

from collections.abc import Callable

import pytest

import drifts
from crosspath.analysis.drift_tables import (
    CHANGE_COLUMNS,
    DAY_COLUMNS,
    FLIP_COLUMNS,
    SIGNAL_COLUMNS,
    Rows,
    change_rows,
    day_rows,
    flip_rows,
    signal_rows,
)
from crosspath.app.drift_looks import Look
from crosspath.types.drift import Drift

EVENTFUL = drifts.drift(
    configuration=drifts.configuration(drifts.difference()),
    toolchain=drifts.toolchain(*drifts.flips("quoting/a", 2)),
    provider=drifts.provider(-0.1, found=50, signals=(drifts.signal(),)),
)


@pytest.mark.parametrize(
    ("rows", "columns", "number"),
    [
        (day_rows, DAY_COLUMNS, 60),
        (change_rows, CHANGE_COLUMNS, 1),
        (flip_rows, FLIP_COLUMNS, 2),
        (signal_rows, SIGNAL_COLUMNS, 1),
    ],
)
def test_each_row_has_the_columns(rows: Callable[[Drift], Rows], columns: tuple[str, ...], number: int) -> None:
    """In their order, as many rows as there are days, changes, flips and signals."""
    found = rows(EVENTFUL)
    assert len(found) == number
    assert all(tuple(row) == columns for row in found)


def test_a_day_that_was_not_compared_has_no_numbers() -> None:
    """Rate and change are missing, never zero."""
    lost = drifts.watch_day(1, used=False, why_not="no verdict", rate=None, change=None, p_drop=None, p_rise=None)
    row = day_rows(drifts.drift(provider=drifts.provider(days=(lost,))))[0]
    assert (row["used"], row["why_not"]) == (False, "no verdict")
    assert {
        row[name] for name in ("rate", "rate_low", "rate_high", "change", "change_low", "change_high", "p_drop", "p_rise")
    } == {None}


def test_frames_have_their_columns_without_a_row() -> None:
    """A quiet look has no flip and no changed field, and code that reads those frames goes on."""
    quiet = Look(drifts.drift())
    assert (tuple(quiet.flips.columns), len(quiet.flips)) == (FLIP_COLUMNS, 0)
    assert (tuple(quiet.changes.columns), tuple(quiet.signals.columns)) == (CHANGE_COLUMNS, SIGNAL_COLUMNS)
    assert list(quiet.days["used"]) == [True] * 60


@pytest.mark.parametrize(("status", "code"), [("no drift", 5), ("drift", 1), ("not enough", 5), ("could not measure", 4)])
def test_a_look_that_is_not_in_mlflow(status: str, code: int) -> None:
    """Exit code 5 where nobody has to act on what it found: a look of which the next one knows nothing is no day of waiting."""
    found = drifts.drift(provider=drifts.provider(status=status))
    assert Look(found, tracking_error="server is gone").exit_code == code
