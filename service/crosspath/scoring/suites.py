"""Suites: Great Expectations expectations as data, read and checked before anything is judged.

A suite file is YAML (schema: ``validators/suite.schema.json``)::

    name: exact
    version: "1"
    final_state:
      - type: expect_column_pair_values_to_be_equal
        kwargs: {column_A: expected_kind, column_B: actual_kind, ignore_row_if: neither}
        meta: {name: kind, cause: wrong_state}
    executions: [...]

Great Expectations drops an expectation of unknown type, passes an all-null column, and averages over rows where ``mostly`` is
below 1. So only the row-wise types of ``ROW_WISE`` are accepted, with ``mostly`` 1, with ``ignore_row_if: neither`` written
out where the type has that argument, over columns that exist and that a not-null expectation guards.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Literal, cast, get_args

from crosspath.errors import ConfigError
from crosspath.strict_yaml import load_yaml
from crosspath.types import Cause, Text

TableName = Literal["final_state", "executions"]

NOT_NULL = "expect_column_values_to_not_be_null"
_PAIR_COLUMNS = ("column_A", "column_B")

FINAL_STATE_COLUMNS = (
    "subject", "expected_presence", "actual_presence", "surplus", "expected_kind", "actual_kind", "expected_content",
    "actual_content", "expected_mode", "actual_mode", "expected_target", "actual_target", "expected_text", "actual_text",
    "expected_json", "actual_json", "leak",
)  # fmt: skip
"""What a suite may look at, one row per replay and path; all of them text."""
EXECUTION_COLUMNS = (
    "expected_exit", "actual_exit", "commands_planned", "commands_run", "rows_planned", "leaked_arguments", "leaked_output",
)  # fmt: skip
"""What a suite may look at, one row per replay; numbers of commands and rows are whole numbers, the others text."""
NUMBERS = frozenset({"commands_planned", "commands_run", "rows_planned"})
COLUMNS: Mapping[TableName, tuple[str, ...]] = {"final_state": FINAL_STATE_COLUMNS, "executions": EXECUTION_COLUMNS}


@dataclass(frozen=True)
class Arguments:
    """What one expectation type takes: the arguments that name columns, the other required ones, the optional ones."""

    columns: tuple[str, ...] = ("column",)
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def pair(self) -> bool:
        return self.columns == _PAIR_COLUMNS


ROW_WISE: Mapping[str, Arguments] = {
    NOT_NULL: Arguments(),
    "expect_column_values_to_be_in_set": Arguments(required=("value_set",)),
    "expect_column_values_to_not_be_in_set": Arguments(required=("value_set",)),
    "expect_column_values_to_be_between": Arguments(optional=("min_value", "max_value")),
    "expect_column_values_to_match_regex": Arguments(required=("regex",)),
    "expect_column_values_to_not_match_regex": Arguments(required=("regex",)),
    "expect_column_value_lengths_to_equal": Arguments(required=("value",)),
    "expect_column_value_lengths_to_be_between": Arguments(optional=("min_value", "max_value")),
    "expect_column_pair_values_to_be_equal": Arguments(columns=_PAIR_COLUMNS),
    "expect_column_pair_values_to_be_in_set": Arguments(columns=_PAIR_COLUMNS, required=("value_pairs_set",)),
}
"""The accepted expectation types: each judges one row by that row alone."""

_ABOUT_MANY_ROWS = re.compile(
    r"expect_(table|query|compound)_|expect_multicolumn_sum|expect_column_(distinct|kl_divergence|max|mean|median|min|most_common"
    r"|proportion|quantile|stdev|sum|unique|to_exist|type)_?|_to_be_(unique|increasing|decreasing)$|z_scores|outliers"
)


@dataclass(frozen=True)
class Expectation:
    """One accepted expectation. ``cause`` is None only for the not-null guards, whose failure is never a reply's fault."""

    table: TableName
    position: int
    type: str
    kwargs: Mapping[str, Any]
    name: str
    cause: Cause | None

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(str(self.kwargs[argument]) for argument in ROW_WISE[self.type].columns)


@dataclass(frozen=True)
class Suite:
    """A validated suite."""

    name: str
    version: str
    expectations: tuple[Expectation, ...]

    @property
    def columns(self) -> frozenset[str]:
        """What it looks at; the tables need to hold no more."""
        return frozenset(column for each in self.expectations for column in each.columns)

    def of(self, table: TableName) -> tuple[Expectation, ...]:
        """The expectations over one table, in file order."""
        return tuple(expectation for expectation in self.expectations if expectation.table == table)


def load_suite(text: Text) -> Suite:
    """Read a suite and refuse what would not be an exact, row-wise judgement. A text is read once in a process.

    Raises:
        ConfigError: naming file, position, value and near names.
    """
    return _read_suite(text.name, text.content)


@lru_cache(maxsize=16)
def _read_suite(name: str, content: str) -> Suite:
    document = _document(name, content)
    expectations = tuple(
        _expectation(item, table, position, name)
        for table in COLUMNS
        for position, item in enumerate(_list(document, table, name))
    )
    _refuse_duplicates(expectations, name)
    _require_guards(expectations, name)
    if not any(each.table == "final_state" and each.type != NOT_NULL for each in expectations):
        raise ConfigError("has no expectation that could fail: every final state would pass", source=name, field="final_state")
    return Suite(str(document["name"]), str(document.get("version", "1")), expectations)


def suite_schema() -> dict[str, Any]:
    """The JSON schema of suite files, for editors."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Crosspath validator suite",
        "type": "object",
        "additionalProperties": False,
        "required": ["name", "final_state"],
        "properties": {
            "name": {"type": "string"},
            "version": {"type": "string"},
            **{table: {"type": "array", "items": {"oneOf": list(_item_schemas(table))}} for table in COLUMNS},
        },
    }


def _item_schemas(table: TableName) -> Iterator[dict[str, Any]]:
    cause = {"type": "string", "enum": list(get_args(Cause))}
    for name, arguments in ROW_WISE.items():
        kwargs: dict[str, Any] = {column: {"enum": list(COLUMNS[table])} for column in arguments.columns}
        kwargs |= {argument: {} for argument in (*arguments.required, *arguments.optional)}
        kwargs["mostly"] = {"const": 1}
        needed = [*arguments.columns, *arguments.required]
        if arguments.pair:
            kwargs["ignore_row_if"] = {"const": "neither"}
            needed.append("ignore_row_if")
        guard = name == NOT_NULL
        yield {
            "type": "object",
            "additionalProperties": False,
            "required": ["type", "kwargs"] if guard else ["type", "kwargs", "meta"],
            "properties": {
                "type": {"const": name},
                "kwargs": {"type": "object", "additionalProperties": False, "required": needed, "properties": kwargs},
                "meta": {
                    "type": "object",
                    "required": [] if guard else ["cause"],
                    "properties": {"cause": cause, "name": {"type": "string"}},
                },
            },
        }


def _document(name: str, content: str) -> dict[str, Any]:
    document = load_yaml(content, name)
    if not isinstance(document, dict):
        raise ConfigError("must be a mapping with name, final_state and executions", source=name)
    fields = document
    _only_known(fields, ("name", "version", *COLUMNS), name, "")
    if not isinstance(fields.get("name"), str):
        raise ConfigError(f"must be a text, got {fields.get('name')!r}", source=name, field="name")
    return fields


def _list(document: Mapping[str, Any], table: TableName, source: str) -> list[Any]:
    items = document.get(table, [])
    if not isinstance(items, list):
        raise ConfigError(f"must be a list of expectations, got {items!r}", source=source, field=table)
    return cast(list[Any], items)


def _expectation(item: Any, table: TableName, position: int, source: str) -> Expectation:
    field = f"{table}[{position}]"
    if not isinstance(item, dict):
        raise ConfigError(f"must be a mapping with type, kwargs and meta, got {item!r}", source=source, field=field)
    parts = cast(dict[str, Any], item)
    _only_known(parts, ("type", "kwargs", "meta"), source, field)
    type_ = _known_type(parts.get("type"), source, f"{field}.type")
    kwargs = _kwargs(parts.get("kwargs"), type_, table, source, f"{field}.kwargs")
    meta = parts.get("meta", {})
    if not isinstance(meta, dict):
        raise ConfigError(f"must be a mapping, got {meta!r}", source=source, field=f"{field}.meta")
    meta_fields = cast(dict[str, Any], meta)
    cause = None if type_ == NOT_NULL else _cause(meta_fields, source, f"{field}.meta.cause")
    columns = ", ".join(str(kwargs[argument]) for argument in ROW_WISE[type_].columns)
    return Expectation(table, position, type_, kwargs, str(meta_fields.get("name", f"{type_}({columns})")), cause)


def _known_type(value: Any, source: str, field: str) -> str:
    if isinstance(value, str) and value in ROW_WISE:
        return value
    if isinstance(value, str) and _ABOUT_MANY_ROWS.search(value):
        raise ConfigError(
            f"{value!r} judges many rows together, not each replay; accepted: {', '.join(ROW_WISE)}", source=source, field=field
        )
    raise ConfigError(f"unknown expectation {value!r}; {_near(value, ROW_WISE)}", source=source, field=field)


def _kwargs(value: Any, type_: str, table: TableName, source: str, field: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise ConfigError(f"must be a mapping, got {value!r}", source=source, field=field)
    kwargs = dict(cast(dict[str, Any], value))
    arguments = ROW_WISE[type_]
    _check_policy(kwargs, arguments, source, field)
    _only_known(kwargs, (*arguments.columns, *arguments.required, *arguments.optional), source, field)
    for argument in (*arguments.columns, *arguments.required):
        if argument not in kwargs:
            raise ConfigError(f"{type_} needs {argument}", source=source, field=field)
    for argument in arguments.columns:
        if kwargs[argument] not in COLUMNS[table]:
            near = _near(kwargs[argument], COLUMNS[table])
            raise ConfigError(f"no such column {kwargs[argument]!r}; {near}", source=source, field=f"{field}.{argument}")
    _check_values(kwargs, arguments, source, field)
    _check_kinds(kwargs, type_, source, field)
    return kwargs


def _check_policy(kwargs: dict[str, Any], arguments: Arguments, source: str, field: str) -> None:
    mostly = kwargs.pop("mostly", 1)
    if isinstance(mostly, bool) or mostly != 1:
        problem = f"must be 1, got {mostly!r}: every row counts"
        raise ConfigError(problem, source=source, field=f"{field}.mostly")
    if "ignore_row_if" not in kwargs and not arguments.pair:
        return
    ignored = kwargs.pop("ignore_row_if", None)
    if ignored != "neither":
        got = "it is not set, and the default of Great Expectations skips rows" if ignored is None else f"got {ignored!r}"
        raise ConfigError(f"must be 'neither'; {got}", source=source, field=f"{field}.ignore_row_if")


def _check_values(kwargs: Mapping[str, Any], arguments: Arguments, source: str, field: str) -> None:
    if arguments.optional and all(kwargs.get(argument) is None for argument in arguments.optional):
        raise ConfigError(f"needs {' or '.join(arguments.optional)}", source=source, field=field)
    for argument in ("min_value", "max_value", "value"):
        number = kwargs.get(argument)
        if number is not None and (isinstance(number, bool) or not isinstance(number, int)):
            raise ConfigError(f"must be a whole number, got {number!r}", source=source, field=f"{field}.{argument}")
    if "value_set" in kwargs:
        _check_set(kwargs["value_set"], source, f"{field}.value_set")
    if "value_pairs_set" in kwargs:
        _check_pairs(kwargs["value_pairs_set"], source, f"{field}.value_pairs_set")
    if "regex" in kwargs:
        _check_regex(kwargs["regex"], source, f"{field}.regex")


def _check_kinds(kwargs: Mapping[str, Any], type_: str, source: str, field: str) -> None:
    """Numbers are never compared with texts: that would fail, or raise, for every row."""
    columns = [str(kwargs[argument]) for argument in ROW_WISE[type_].columns]
    kinds = {int if column in NUMBERS else str for column in columns}
    sets = [kwargs.get("value_set", ()), *kwargs.get("value_pairs_set", ())]
    kinds |= {type(value) for values in sets for value in values}
    kinds |= {int} if type_.endswith("values_to_be_between") else {str} if "regex" in type_ or "lengths" in type_ else set()
    if len(kinds) > 1:
        raise ConfigError(f"{type_} would compare numbers with texts in {', '.join(columns)}", source=source, field=field)


def _check_set(values: Any, source: str, field: str) -> None:
    if not isinstance(values, list) or not values:
        raise ConfigError(f"must be a list that is not empty, got {values!r}", source=source, field=field)
    for value in cast(list[Any], values):
        if isinstance(value, bool) or not isinstance(value, str | int):
            problem = f"{value!r} is neither a text nor a whole number"
            raise ConfigError(problem, source=source, field=field)


def _check_pairs(pairs: Any, source: str, field: str) -> None:
    if not isinstance(pairs, list) or not pairs:
        raise ConfigError(f"must be a list of pairs, got {pairs!r}", source=source, field=field)
    for pair in cast(list[Any], pairs):
        if not isinstance(pair, list) or len(cast(list[Any], pair)) != 2:
            raise ConfigError(f"{pair!r} is not a pair", source=source, field=field)
        _check_set(pair, source, field)


def _check_regex(regex: Any, source: str, field: str) -> None:
    if not isinstance(regex, str):
        raise ConfigError(f"must be a text, got {regex!r}", source=source, field=field)
    try:
        re.compile(regex)
    except (re.error, RecursionError, OverflowError) as error:
        raise ConfigError(f"{regex!r} is not a regular expression: {error}", source=source, field=field) from error


def _cause(meta: Mapping[str, Any], source: str, field: str) -> Cause:
    value = meta.get("cause")
    if value not in get_args(Cause):
        problem = f"must name the cause that the expectation stands for, got {value!r}; {_near(value, get_args(Cause))}"
        raise ConfigError(problem, source=source, field=field)
    return cast(Cause, value)


def _refuse_duplicates(expectations: Iterable[Expectation], source: str) -> None:
    first: dict[tuple[str, str, str], int] = {}
    for each in expectations:
        key = (each.table, each.type, json.dumps(each.kwargs, sort_keys=True))
        if key in first:
            problem = f"{each.type} with the same arguments already stands at {each.table}[{first[key]}]"
            raise ConfigError(problem, source=source, field=f"{each.table}[{each.position}]")
        first[key] = each.position


def _require_guards(expectations: Iterable[Expectation], source: str) -> None:
    """An all-null column passes every other expectation, so each judged column needs its not-null one."""
    listed = tuple(expectations)
    guarded = {(each.table, column) for each in listed if each.type == NOT_NULL for column in each.columns}
    for each in listed:
        for column in each.columns:
            if (each.table, column) not in guarded:
                problem = f"the column {column!r} also needs an {NOT_NULL}: an empty column passes everything else"
                raise ConfigError(problem, source=source, field=f"{each.table}[{each.position}]")


def _only_known(fields: Mapping[str, Any], known: tuple[str, ...], source: str, field: str) -> None:
    for name in fields:
        if name not in known:
            raise ConfigError(f"unknown field {name!r}; {_near(name, known)}", source=source, field=field or None)


def _near(value: Any, known: Iterable[str]) -> str:
    names = tuple(known)
    near = get_close_matches(str(value), names, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
