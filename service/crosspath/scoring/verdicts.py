"""From failed rows to check results: what every validator adapter has in common.

An adapter only says which rows of which expectation failed. Counting is done here, because an empty or a short table passes
every expectation.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol, cast

from crosspath.errors import ValidatorError
from crosspath.scoring.subjects import ARGUMENTS, COMMANDS, EXIT, OUTPUT
from crosspath.scoring.suites import NOT_NULL, ROW_WISE, Expectation, TableName
from crosspath.types import CheckResult, ReplayKey

_EXECUTION_SUBJECTS: Mapping[str, frozenset[str]] = {
    EXIT: frozenset({"expected_exit", "actual_exit"}),
    ARGUMENTS: frozenset({"leaked_arguments"}),
    OUTPUT: frozenset({"leaked_output"}),
}
SHOWN_CHARACTERS = 200
"""Longest ``expected`` and ``actual`` of a check result."""


class _Tables(Protocol):
    """As in ``crosspath.ports``, which this layer may not import."""

    @property
    def replays(self) -> Sequence[ReplayKey]: ...
    @property
    def final_state(self) -> Sequence[Mapping[str, object]]: ...
    @property
    def executions(self) -> Sequence[Mapping[str, object]]: ...


def rows_of(tables: _Tables, table: TableName) -> Sequence[Mapping[str, object]]:
    """The rows of the named table."""
    return tables.final_state if table == "final_state" else tables.executions


def require_complete(
    tables: _Tables, state_rows: Sequence[tuple[object, object]], execution_rows: Sequence[tuple[object, object]]
) -> None:
    """Compare what was loaded, as (row, replay) pairs in loaded order, with what was planned.

    Raises:
        ValidatorError: a table is empty, a row is missing, doubled or out of place.
    """
    if not execution_rows or not state_rows:
        raise ValidatorError("the tables are empty: nothing was executed, so there is nothing to validate")
    replays = len(tables.replays)
    if list(execution_rows) != [(number, number) for number in range(replays)]:
        raise ValidatorError(f"executions: {replays} replays planned, the rows loaded are {len(execution_rows)} or out of order")
    planned = {number: cast(int, row["rows_planned"]) for number, row in enumerate(tables.executions)}
    loaded = Counter(replay for _, replay in state_rows)
    for number, rows in planned.items():
        if rows < 1 or loaded[number] != rows:
            raise ValidatorError(f"final_state: replay {number} has {loaded[number]} rows, planned were {rows}")
    if [row for row, _ in state_rows] != list(range(sum(planned.values()))):
        raise ValidatorError("final_state: rows are doubled or out of order")


def collect(tables: _Tables, failed: Iterable[tuple[Expectation, Iterable[int]]]) -> Mapping[int, tuple[CheckResult, ...]]:
    """Replay number -> what it did not meet, from the numbers of the failed rows of each expectation.

    Raises:
        ValidatorError: a not-null guard failed: the table is broken, which says nothing about any reply.
    """
    found: dict[int, list[CheckResult]] = {number: [] for number in range(len(tables.replays))}
    for expectation, numbers in failed:
        rows = rows_of(tables, expectation.table)
        for number in sorted(numbers):
            if expectation.type == NOT_NULL:
                raise ValidatorError(f"{expectation.table}: row {number} has no {expectation.columns[0]}")
            found[cast(int, rows[number]["replay"])].append(_check(expectation, rows[number]))
    return {number: tuple(checks) for number, checks in found.items()}


def _check(expectation: Expectation, row: Mapping[str, object]) -> CheckResult:
    assert expectation.cause is not None, "only not-null guards have no cause"
    values = [row[column] for column in expectation.columns]
    pair_equal = expectation.type == "expect_column_pair_values_to_be_equal"
    expected, actual = values if pair_equal else (_demand(expectation), " ".join(map(str, values)))
    return CheckResult(
        expectation=expectation.name,
        cause=expectation.cause,
        subject=_subject(expectation, row),  # pyright: ignore[reportArgumentType]  # escaped text is parsed into bytes
        expected=_shown(expected),
        actual=_shown(actual),
    )


def _subject(expectation: Expectation, row: Mapping[str, object]) -> str:
    if expectation.table == "final_state":
        return str(row["subject"])
    return next((subject for subject, columns in _EXECUTION_SUBJECTS.items() if set(expectation.columns) <= columns), COMMANDS)


def _demand(expectation: Expectation) -> str:
    arguments = ROW_WISE[expectation.type]
    demands = {name: value for name, value in expectation.kwargs.items() if name not in arguments.columns}
    words = expectation.type.removeprefix("expect_column_").replace("_", " ")
    return f"{words} {', '.join(map(str, demands.values()))}"


def _shown(value: object) -> str:
    text = str(value).removeprefix("text:").removeprefix("json:text:")
    return text if len(text) <= SHOWN_CHARACTERS else text[: SHOWN_CHARACTERS - 3] + "..."
