"""Suites are data: what is not an exact, row-wise judgement is refused, with the place and the near names."""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import pytest
import yaml

from crosspath.catalogue import suite_text
from crosspath.errors import ConfigError
from crosspath.scoring import load_suite, suite_schema
from crosspath.types import Cause, Text

VALIDATORS = Path(__file__).parents[2] / "validators"
GUARDS = [
    {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": column}}
    for column in ("surplus", "expected_kind", "actual_kind")
]


def in_set(**changes: Any) -> dict[str, Any]:
    kwargs = {"column": "surplus", "value_set": ["no"], **changes.pop("kwargs", {})}
    return {"type": "expect_column_values_to_be_in_set", "kwargs": kwargs, "meta": {"cause": "extra_files"}, **changes}


def pair(**kwargs: Any) -> dict[str, Any]:
    given = {"column_A": "expected_kind", "column_B": "actual_kind", "ignore_row_if": "neither", **kwargs}
    return {"type": "expect_column_pair_values_to_be_equal", "kwargs": given, "meta": {"cause": "wrong_state"}}


def text(*rules: Any, guards: list[Any] = GUARDS, **fields: Any) -> Text:
    document = {"name": "mine", "final_state": [*guards, *rules], **fields}
    return Text(name="mine.yaml", content=json.dumps(document), digest="")


def test_shipped_suite_is_acceptable() -> None:
    """The suite `exact` loads, and names only causes that scoring knows."""
    suite = load_suite(suite_text("exact"))
    assert suite.name == "exact"
    assert {each.cause for each in suite.expectations} - {None} <= set(get_args(Cause))


def test_shipped_schema_is_the_functions() -> None:
    """The JSON schema beside the suites is what the code says."""
    assert json.loads((VALIDATORS / "suite.schema.json").read_text(encoding="utf-8")) == suite_schema()


def test_shipped_suite_meets_the_schema() -> None:
    """Editors that use the schema accept the shipped suite."""
    jsonschema.validate(yaml.safe_load((VALIDATORS / "exact.yaml").read_text(encoding="utf-8")), suite_schema())


def test_small_suite_is_accepted() -> None:
    """A suite of one's own needs a name, guards and rules; positions follow the file."""
    suite = load_suite(text(in_set(), pair(), version="2"))
    assert [(each.position, each.cause) for each in suite.of("final_state")[3:]] == [(3, "extra_files"), (4, "wrong_state")]
    assert suite.version == "2"


REFUSED: dict[str, tuple[Text, str]] = {
    "misspelt type": (
        text(in_set(type="expect_column_values_to_be_in_sett")),
        r"final_state\[3\]\.type: unknown expectation 'expect_column_values_to_be_in_sett'; did you mean .*to_be_in_set",
    ),
    "another dialect's name": (text(in_set(type="ExpectColumnValuesToBeInSet")), "unknown expectation"),
    "no type": (text({"kwargs": {"column": "surplus"}}), "unknown expectation None"),
    "aggregate over a column": (text(in_set(type="expect_column_mean_to_be_between")), "judges many rows together"),
    "aggregate over the table": (text(in_set(type="expect_table_row_count_to_equal")), "judges many rows together"),
    "rows compared with each other": (text(in_set(type="expect_column_values_to_be_unique")), "judges many rows together"),
    "mostly": (text(in_set(kwargs={"mostly": 0.95})), r"\[3\]\.kwargs\.mostly: must be 1, got 0\.95"),
    "mostly as a truth value": (text(in_set(kwargs={"mostly": True})), "must be 1, got True"),
    "rows ignored": (text(pair(ignore_row_if="both_values_are_missing")), "must be 'neither'; got 'both_values_are_missing'"),
    "rows ignored by default": (
        text({**pair(), "kwargs": {"column_A": "expected_kind", "column_B": "actual_kind"}}),
        "must be 'neither'; it is not set, and the default",
    ),
    "row condition": (text(in_set(kwargs={"row_condition": "x"})), "unknown field 'row_condition'"),
    "misspelt argument": (text(in_set(kwargs={"value_sett": ["no"]})), "unknown field 'value_sett'; did you mean value_set"),
    "missing argument": (text({**in_set(), "kwargs": {"column": "surplus"}}), "needs value_set"),
    "misspelt column": (text(in_set(kwargs={"column": "surplas"})), "no such column 'surplas'; did you mean surplus"),
    "another table's column": (text(in_set(kwargs={"column": "actual_exit"})), "no such column 'actual_exit'"),
    "duplicate": (text(in_set(), in_set()), r"final_state\[4\]: .* already stands at final_state\[3\]"),
    "no cause": (text(in_set(meta={})), "must name the cause"),
    "misspelt cause": (text(in_set(meta={"cause": "extra_file"})), r"got 'extra_file'; did you mean extra_files"),
    "no guard": (text(in_set(), guards=[]), "'surplus' also needs an expect_column_values_to_not_be_null"),
    "nothing judged": (text(), "every final state would pass"),
    "empty set": (text(in_set(kwargs={"value_set": []})), "must be a list that is not empty"),
    "truth value in a set": (text(in_set(kwargs={"value_set": [False]})), "False is neither a text nor a whole number"),
    "number beside texts": (text(in_set(kwargs={"value_set": [1]})), "would compare numbers with texts"),
    "broken pattern": (
        text({**in_set(), "type": "expect_column_values_to_match_regex", "kwargs": {"column": "surplus", "regex": "("}}),
        "is not a regular expression",
    ),
    "pattern over numbers": (
        text(
            in_set(),
            executions=[
                {"type": "expect_column_values_to_not_be_null", "kwargs": {"column": "commands_run"}},
                {
                    "type": "expect_column_values_to_match_regex",
                    "kwargs": {"column": "commands_run", "regex": "1"},
                    "meta": {"cause": "tool_error"},
                },
            ],
        ),
        r"executions\[1\]\.kwargs: .*would compare numbers with texts",
    ),
    "unknown part": (text(in_set(), finalstate=[]), "unknown field 'finalstate'; did you mean final_state"),
    "no list": (Text(name="mine.yaml", content="name: x\nfinal_state: 3\n", digest=""), "must be a list of expectations"),
    "no mapping": (Text(name="mine.yaml", content="- 1\n", digest=""), "must be a mapping"),
    "rule is no mapping": (text("expect_column_values_to_be_in_set"), "must be a mapping with type"),
    "no name": (Text(name="mine.yaml", content="final_state: []\n", digest=""), "name: must be a text, got None"),
    "no YAML": (Text(name="mine.yaml", content="name: [", digest=""), "YAML"),
    "key twice": (Text(name="mine.yaml", content="name: a\nname: b\n", digest=""), "twice"),
}


@pytest.mark.parametrize(("suite", "message"), list(REFUSED.values()), ids=list(REFUSED))
def test_unacceptable_suite_is_refused(suite: Text, message: str) -> None:
    """One line names the file, the position, the value and what would be right."""
    with pytest.raises(ConfigError, match=message) as caught:
        load_suite(suite)
    assert str(caught.value).startswith("mine.yaml")
    assert "\n" not in str(caught.value)
