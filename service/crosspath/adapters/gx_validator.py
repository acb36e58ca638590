"""Great Expectations behind the Validator port; the only module that imports it, or pandas.

Facts about version 1.24 that this module guards against: an expectation of unknown type is dropped, an empty table passes,
an all-null column passes, and a missing column comes back as a plain failure with an exception inside. One ephemeral context
serves the whole process, one validation at a time; nothing is written to disk and nothing is sent anywhere.
"""

import os
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from crosspath.errors import ConfigError, ValidatorError, boundary
from crosspath.ports import ReplayTables
from crosspath.scoring.suites import COLUMNS, ROW_WISE, Expectation, TableName, load_suite
from crosspath.scoring.verdicts import collect, require_complete, rows_of
from crosspath.types import CheckResult, Text

os.environ["GX_ANALYTICS_ENABLED"] = "false"  # read once, when the package is imported
with warnings.catch_warnings():
    # Great Expectations 1.24 imports two modules that Python 3.11 has renamed.
    warnings.filterwarnings("ignore", "module 'sre_(constants|parse)' is deprecated", DeprecationWarning)
    import great_expectations as gx
    import pandas as pd
    from great_expectations.core.batch_definition import BatchDefinition
    from great_expectations.data_context.types.base import ProgressBarsConfig
    from great_expectations.exceptions.exceptions import ExpectationNotFoundError
    from great_expectations.expectations.expectation import ColumnMapExpectation, ColumnPairMapExpectation
    from great_expectations.expectations.registry import get_expectation_impl

_ONE_AT_A_TIME = threading.Lock()
_INDEX = ("row", "replay")
_RESULT_FORMAT = {
    "result_format": "COMPLETE",
    "unexpected_index_column_names": list(_INDEX),
    "return_unexpected_index_query": False,
    "partial_unexpected_count": 0,
}


class GxValidator:
    """Implements ``ports.Validator`` with Great Expectations: one call per table, verdicts per replay."""

    def validate(self, suite: Text, tables: ReplayTables) -> Mapping[int, tuple[CheckResult, ...]]:
        loaded = load_suite(suite)
        impossible = [each for each in loaded.expectations if not _is_row_wise(each.type)]
        if impossible:
            place = f"{impossible[0].table}[{impossible[0].position}].type"
            problem = f"this Great Expectations has no row-wise {impossible[0].type}"
            raise ConfigError(problem, source=suite.name, field=place)
        if not tables.executions or not tables.final_state:
            require_complete(tables, [], [])
        with boundary(ValidatorError, "Great Expectations could not judge"), _ONE_AT_A_TIME:
            frames = {table: _frame(rows_of(tables, table), table) for table in COLUMNS}
            require_complete(tables, _index(frames["final_state"]), _index(frames["executions"]))
            failed = [each for table in COLUMNS for each in _failed(loaded.of(table), table, frames[table])]
            return collect(tables, failed)


def _is_row_wise(type_: str) -> bool:
    parent = ColumnPairMapExpectation if ROW_WISE[type_].pair else ColumnMapExpectation
    try:
        return issubclass(get_expectation_impl(type_), parent)
    except ExpectationNotFoundError:
        return False


@lru_cache(maxsize=1)
def _batches() -> Mapping[str, BatchDefinition[Any]]:
    """The process's ephemeral context, as one batch definition per table."""
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False, metric_calculations=False)
    source = context.data_sources.add_pandas("crosspath")
    return {table: source.add_dataframe_asset(table).add_batch_definition_whole_dataframe("whole") for table in COLUMNS}


def _frame(rows: Sequence[Mapping[str, object]], table: TableName) -> pd.DataFrame:
    columns = (*_INDEX, *COLUMNS[table])
    return pd.DataFrame({column: [row.get(column) for row in rows] for column in columns if any(column in row for row in rows)})


def _index(frame: pd.DataFrame) -> list[tuple[object, object]]:
    missing = [column for column in _INDEX if column not in frame]
    if missing:
        raise ValidatorError(f"a table has no column {missing[0]}")
    return list(zip(frame["row"].tolist(), frame["replay"].tolist(), strict=True))


def _failed(
    expectations: tuple[Expectation, ...], table: TableName, frame: pd.DataFrame
) -> Iterator[tuple[Expectation, list[int]]]:
    if not expectations:
        return
    suite = gx.ExpectationSuite(name=table, expectations=[_expectation(each) for each in expectations])
    batch = _batches()[table].get_batch({"dataframe": frame})
    results = batch.validate(suite, result_format=cast(Any, _RESULT_FORMAT)).results
    by_position = {_position(result): result for result in results}
    if len(results) != len(expectations) or set(by_position) != {each.position for each in expectations}:
        raise ValidatorError(f"{table}: {len(expectations)} expectations were sent, {len(results)} came back")
    for each in expectations:
        yield each, _rows(by_position[each.position], each, frame)


def _position(result: Any) -> int:
    return cast(int, result.expectation_config.meta["position"])


def _expectation(each: Expectation) -> Any:
    kwargs: dict[str, Any] = {**each.kwargs, "mostly": 1, "meta": {"position": each.position}}
    if ROW_WISE[each.type].pair:
        kwargs["ignore_row_if"] = "neither"
    return get_expectation_impl(each.type)(**kwargs)


def _rows(result: Any, each: Expectation, frame: pd.DataFrame) -> list[int]:
    """Numbers of the rows that failed, once the result has proved that it looked at every row."""
    place = f"{each.table}[{each.position}] {each.type}"
    if trouble := _exception(result.exception_info):
        raise ValidatorError(f"{place}: {trouble}")
    counts = result.result
    if counts.get("element_count") != len(frame):
        raise ValidatorError(f"{place}: looked at {counts.get('element_count')} of {len(frame)} rows")
    unexpected = [(int(entry["row"]), int(entry["replay"])) for entry in counts.get("unexpected_index_list") or ()]
    if len(unexpected) != counts.get("unexpected_count") or result.success != (not unexpected):
        raise ValidatorError(f"{place}: {counts.get('unexpected_count')} rows failed, {len(unexpected)} were named")
    replays = frame["replay"].to_numpy()
    if any(replays[row] != replay for row, replay in unexpected):
        raise ValidatorError(f"{place}: a row came back under another replay")
    return [row for row, _ in unexpected]


def _exception(info: Mapping[str, Any] | None) -> str:
    """Message of an exception inside a result: flat, or one per metric."""
    for part in (info or {}, *(info or {}).values()):
        if isinstance(part, Mapping) and part.get("raised_exception"):
            return str(part.get("exception_message"))[:300]
    return ""
