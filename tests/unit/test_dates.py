"""Days as a watch counts them."""

import time

import pytest

from crosspath.dates import day_of


def test_the_utc_date_of_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A moment before midnight and midnight itself are two days, also on a machine that lives hours behind UTC."""
    monkeypatch.setenv("TZ", "America/Los_Angeles")
    time.tzset()
    try:
        assert [day_of(at) for at in (0, 1_764_547_199.9, 1_764_547_200)] == ["1970-01-01", "2025-11-30", "2025-12-01"]
    finally:
        monkeypatch.undo()
        time.tzset()
