"""A validator in plain Python: the same suites, the same verdicts, without Great Expectations."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from crosspath.errors import ValidatorError
from crosspath.ports import ReplayTables
from crosspath.scoring.suites import Expectation, load_suite
from crosspath.scoring.verdicts import collect, require_complete, rows_of
from crosspath.types import CheckResult, Text


class FakeValidator:
    """Implements ``ports.Validator``. For tests, and for a second opinion on what Great Expectations says."""

    def validate(self, suite: Text, tables: ReplayTables) -> Mapping[int, tuple[CheckResult, ...]]:
        expectations = load_suite(suite).expectations
        state, executions = (
            [(row.get("row"), row.get("replay")) for row in rows] for rows in (tables.final_state, tables.executions)
        )
        require_complete(tables, state, executions)
        return collect(tables, [(each, _failed_rows(each, tables)) for each in expectations])


def _failed_rows(expectation: Expectation, tables: ReplayTables) -> list[int]:
    holds = _HOLDS[expectation.type]
    numbers: list[int] = []
    for number, row in enumerate(rows_of(tables, expectation.table)):
        missing = [column for column in expectation.columns if column not in row]
        if missing:
            raise ValidatorError(f"{expectation.table}: row {number} has no column {missing[0]}")
        if not holds(*(row[column] for column in expectation.columns), expectation.kwargs):
            numbers.append(number)
    return numbers


def _within(value: int, limits: Mapping[str, Any]) -> bool:
    low, high = limits.get("min_value"), limits.get("max_value")
    return (low is None or value >= low) and (high is None or value <= high)


_HOLDS: Mapping[str, Callable[..., bool]] = {
    "expect_column_values_to_not_be_null": lambda value, _: value is not None,
    "expect_column_values_to_be_in_set": lambda value, kwargs: value in kwargs["value_set"],
    "expect_column_values_to_not_be_in_set": lambda value, kwargs: value not in kwargs["value_set"],
    "expect_column_values_to_be_between": lambda value, kwargs: _within(value, kwargs),
    "expect_column_values_to_match_regex": lambda value, kwargs: re.search(kwargs["regex"], value) is not None,
    "expect_column_values_to_not_match_regex": lambda value, kwargs: re.search(kwargs["regex"], value) is None,
    "expect_column_value_lengths_to_equal": lambda value, kwargs: len(value) == kwargs["value"],
    "expect_column_value_lengths_to_be_between": lambda value, kwargs: _within(len(value), kwargs),
    "expect_column_pair_values_to_be_equal": lambda first, second, _: first == second,
    "expect_column_pair_values_to_be_in_set": lambda first, second, kwargs: [first, second] in kwargs["value_pairs_set"],
}
