"""What one suite asks beyond another: verdicts on the rest are known already, and a validation costs by the expectation."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from crosspath.scoring.suites import COLUMNS, NOT_NULL, ROW_WISE, Expectation, Suite, load_suite
from crosspath.types import Text, digest


@dataclass(frozen=True)
class SuiteDifference:
    """``shared``: names of the first suite's expectations that the second one has, too; ``further``: a suite of all others of the
    second one. What the second says is what the first says of the shared ones, and what ``further`` says."""

    shared: frozenset[str]
    further: Text


def suite_difference(first: Text, second: Text) -> SuiteDifference:
    """What ``second`` asks beyond ``first``; all of it where a suite of the rest alone would not be one.

    Raises:
        ConfigError: a suite is not acceptable.
    """
    known = load_suite(first)
    listed = load_suite(second)
    unique = {name for name, count in Counter(each.name for each in _judging(known)).items() if count == 1}
    same = {_identity(each): each.name for each in _judging(known) if each.name in unique}
    rest = [each for each in _judging(listed) if _identity(each) not in same]
    if not any(each.table == "final_state" for each in rest):
        return SuiteDifference(frozenset(), second)
    shared = frozenset(same[_identity(each)] for each in _judging(listed) if each not in rest)
    content = _content(f"{second.name} beyond {first.name}", [*_guards(listed, rest), *rest])
    return SuiteDifference(shared, Text(name=second.name, content=content, digest=digest(content)))


def _judging(suite: Suite) -> list[Expectation]:
    return [each for each in suite.expectations if each.type != NOT_NULL]


def _identity(each: Expectation) -> tuple[str, str, str]:
    return each.table, each.type, json.dumps(each.kwargs, sort_keys=True)


def _guards(suite: Suite, rest: Iterable[Expectation]) -> list[Expectation]:
    """The not-null expectations of what ``rest`` looks at."""
    judged = {(each.table, column) for each in rest for column in each.columns}
    return [each for each in suite.expectations if each.type == NOT_NULL and (each.table, each.columns[0]) in judged]


def _content(name: str, expectations: Iterable[Expectation]) -> str:
    listed = list(expectations)
    tables = {table: [_item(each) for each in listed if each.table == table] for table in COLUMNS}
    return json.dumps({"name": name, **tables})


def _item(each: Expectation) -> dict[str, object]:
    kwargs = {**each.kwargs, **({"ignore_row_if": "neither"} if ROW_WISE[each.type].pair else {})}
    meta = {"meta": {"name": each.name, "cause": each.cause}} if each.cause else {}
    return {"type": each.type, "kwargs": kwargs, **meta}
