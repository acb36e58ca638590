"""One contract, two validators: Great Expectations, and the plain-Python one that ships for tests."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from crosspath.adapters.gx_validator import GxValidator
from crosspath.catalogue import suite_text
from crosspath.errors import ConfigError, ValidatorError
from crosspath.ports import Validator
from crosspath.scoring import Tables, build_tables, load_suite
from crosspath.testing.validator import FakeValidator
from crosspath.types import Secret, Text
from scoring_builders import file, replay, result, rich_task, right_state, task, wanted

EXACT = suite_text("exact")
GUARD = "{type: expect_column_values_to_not_be_null, kwargs: {column: %s}}"


def suite(*rules: str, columns: Sequence[str] = (), table: str = "final_state") -> Text:
    """A suite of these rules over one table, with the guards of `columns`."""
    guards = [GUARD % column for column in columns]
    lines = "\n".join(f"  - {rule}" for rule in (*guards, *rules))
    state = (
        "" if table == "final_state" else f"final_state:\n  - {GUARD % 'surplus'}\n  - {rule('in_set', 'value_set: [x, no]')}\n"
    )
    return Text(name="mine.yaml", content=f"name: mine\n{state}{table}:\n{lines}\n", digest="")


def rule(short: str, arguments: str, column: str = "surplus") -> str:
    types = {"in_set": "expect_column_values_to_be_in_set", "regex": "expect_column_values_to_match_regex"}
    return (
        f"{{type: {types.get(short, short)}, kwargs: {{column: {column}, {arguments}}}, meta: {{cause: wrong_state, name: r}}}}"
    )


@pytest.fixture(params=[GxValidator, FakeValidator], ids=["great_expectations", "fake"])
def validator(request: pytest.FixtureRequest) -> Validator:
    return request.param()


def tables(count: int = 3) -> Tables:
    """Replays of one task, each second one with a further file."""
    of = rich_task()
    right = right_state(of)
    wrong = right.model_copy(update={"entries": (*right.entries, file(b"b.txt"))})
    return build_tables({of.id: of}, [replay(of, wrong if number % 2 else right, index=number) for number in range(count)])


class TestValidator:
    def test_each_replay_gets_its_own_checks(self, validator: Validator) -> None:
        """Every replay has an entry; only the wrong ones have checks, and these name cause, subject and both sides."""
        checks = validator.validate(EXACT, tables(4))
        assert {number: len(found) for number, found in checks.items()} == {0: 0, 1: 1, 2: 0, 3: 1}
        (check,) = checks[1]
        assert (check.expectation, check.cause, check.subject, check.actual) == ("nothing new", "extra_files", b"b.txt", "new")

    def test_expected_and_actual_are_readable(self, validator: Validator) -> None:
        """A short content is shown as it is, escaped, and never longer than the cap."""
        of = task(wanted(b"a\xff", b"one\n\x00\\"), wanted(b"long", b"\xff" * 200), expected_exit=3)
        right = right_state(of)
        entries = (file(b"a\xff", b"two"), file(b"long", b"\xfe" * 200))
        checks = validator.validate(EXACT, build_tables({"t": of}, [replay(of, right.model_copy(update={"entries": entries}))]))[
            0
        ]
        assert [(check.subject, check.expected[:20], check.actual[:8]) for check in checks] == [
            (b"a\xff", "one\n\\x00\\\\", "two"),
            (b"long", "\\xff" * 5, "\\xfe\\xfe"),
            (b"exit", "3", "0"),
        ]
        assert all(len(check.expected) <= 200 for check in checks)

    def test_replays_of_different_tasks_are_judged_together(self, validator: Validator) -> None:
        """Each replay meets its own task's expectations, in one call."""
        first, second = task(wanted(b"a", b"1"), id="first"), task(wanted(b"b", b"2"), id="second", expected_exit=0)
        all_of = [replay(first), replay(second), replay(second, right_state(first)), replay(second, None, result(9))]
        checks = validator.validate(EXACT, build_tables({"first": first, "second": second}, all_of))
        assert [len(checks[number]) for number in range(4)] == [0, 0, 2, 1]

    def test_empty_tables_are_refused(self, validator: Validator) -> None:
        """Without a row there is no verdict, though an empty table meets every expectation."""
        with pytest.raises(ValidatorError, match="nothing was executed"):
            validator.validate(EXACT, build_tables({}, []))

    @pytest.mark.parametrize("damage", ["last row", "middle row", "doubled row", "execution", "other replay"])
    def test_lost_and_doubled_rows_are_noticed(self, validator: Validator, damage: str) -> None:
        """A table that does not hold the planned rows gives no verdict at all."""
        whole = tables()
        state, executions = whole.final_state, whole.executions
        broken = {
            "last row": replace(whole, final_state=state[:-1]),
            "middle row": replace(whole, final_state=state[:3] + state[4:]),
            "doubled row": replace(whole, final_state=(state[0], *state)),
            "execution": replace(whole, executions=executions[:-1]),
            "other replay": replace(whole, final_state=({**state[0], "replay": 1}, *state[1:])),
        }[damage]
        with pytest.raises(ValidatorError, match=r"final_state|executions"):
            validator.validate(EXACT, broken)

    @pytest.mark.parametrize("rows", [slice(0, 1), slice(0, None)], ids=["one row", "all rows"])
    def test_null_is_no_verdict(self, validator: Validator, rows: slice) -> None:
        """A value that is missing in a judged column, or a column of nothing else, says nothing about any reply."""
        whole = tables()
        chosen = whole.final_state[rows]
        state = tuple({**row, "actual_kind": None} if row in chosen else row for row in whole.final_state)
        with pytest.raises(ValidatorError, match="actual_kind"):
            validator.validate(EXACT, replace(whole, final_state=state))

    def test_missing_column_is_no_verdict(self, validator: Validator) -> None:
        """A table without a judged column is an error, not a failed expectation."""
        whole = tables()
        state = tuple({key: value for key, value in row.items() if key != "surplus"} for row in whole.final_state)
        with pytest.raises(ValidatorError, match="surplus"):
            validator.validate(EXACT, replace(whole, final_state=state))

    @pytest.mark.parametrize(
        ("short", "arguments", "column", "subjects"),
        [
            ("in_set", "value_set: [no]", "surplus", [b"b.txt"]),
            ("expect_column_values_to_not_be_in_set", "value_set: [new]", "surplus", [b"b.txt"]),
            ("regex", "regex: '^no$'", "surplus", [b"b.txt"]),
            ("expect_column_values_to_not_match_regex", "regex: ew", "surplus", [b"b.txt"]),
            ("expect_column_value_lengths_to_equal", "value: 2", "surplus", [b"b.txt"]),
            ("expect_column_value_lengths_to_be_between", "max_value: 2", "surplus", [b"b.txt"]),
            ("expect_column_value_lengths_to_be_between", "min_value: 3", "surplus", [b".", b"empty"]),
        ],
    )
    def test_each_accepted_type_judges_rows(
        self, validator: Validator, short: str, arguments: str, column: str, subjects: list[bytes]
    ) -> None:
        """Every accepted expectation type names the failing rows, the same in both validators."""
        checks = validator.validate(suite(rule(short, arguments, column), columns=[column]), tables(2))[1]
        assert [check.subject for check in checks][: len(subjects)] == subjects

    def test_whole_numbers_are_judged(self, validator: Validator) -> None:
        """The counts of the executions table are numbers, with limits."""
        mine = suite(
            rule("expect_column_values_to_be_between", "min_value: 2", "commands_run"),
            columns=["commands_run"],
            table="executions",
        )
        of = rich_task()
        checks = validator.validate(mine, build_tables({of.id: of}, [replay(of), replay(of, None, result(), result())]))
        assert [[check.actual for check in checks[number]] for number in (0, 1)] == [["1"], []]

    def test_pairs_in_a_set_are_judged(self, validator: Validator) -> None:
        """Pairs of two columns may be limited to given ones."""
        pairs = "value_pairs_set: [[complete, complete], [present, present]], ignore_row_if: neither"
        kwargs = f"{{column_A: expected_presence, column_B: actual_presence, {pairs}}}"
        mine = suite(
            f"{{type: expect_column_pair_values_to_be_in_set, kwargs: {kwargs}, meta: {{cause: wrong_state}}}}",
            columns=["expected_presence", "actual_presence"],
        )
        of = task(wanted(b"a"))
        gone = right_state(of).model_copy(update={"entries": ()})
        checks = validator.validate(mine, build_tables({"t": of}, [replay(of), replay(of, gone)]))
        assert [[check.actual for check in checks[number]] for number in (0, 1)] == [[], ["present absent"]]

    def test_hostile_text_does_not_break_the_batch(self, validator: Validator) -> None:
        """Names and contents that look like nulls, numbers, formulas or patterns are just text."""
        odd = [
            b"NA",
            b"nan",
            b"None",
            b"NaT",
            b"1e5",
            b"=1+1",
            b"%s{}$(x)",
            b"\xff\xfe",
            b"\n",
            b"null",
            b"<NA>",
            b"\xf0\x9f\x92\xa9",
        ]
        of = task(*(wanted(name, name) for name in odd))
        swapped = [file(name, other) for name, other in zip(odd, odd[1:] + odd[:1], strict=True)]
        wrong = right_state(of).model_copy(update={"entries": tuple(swapped)})
        checks = validator.validate(EXACT, build_tables({"t": of}, [replay(of), replay(of, wrong)]))
        assert checks[0] == ()
        assert [check.subject for check in checks[1]] == odd

    def test_unacceptable_suite_is_the_users_error(self, validator: Validator) -> None:
        """A misspelt expectation is refused before anything is judged."""
        with pytest.raises(ConfigError, match=r"mine\.yaml.*did you mean expect_column_values_to_be_in_set"):
            validator.validate(
                suite(rule("expect_column_values_to_be_in_sett", "value_set: [no]"), columns=["surplus"]), tables()
            )


@pytest.mark.parametrize("name", ["exact", "content", "lenient-text", "json-equal", "no-leak"])
def test_both_say_the_same_of_every_suite_that_ships(name: str) -> None:
    """Litter, other contents, a leak and what could not be searched: the same checks, word for word."""
    secret = Secret(name="token", value=b"hk_live_9f2c41d7")
    of = rich_task().model_copy(update={"secrets": (secret,)})
    right = right_state(of)
    huge = file(b"big", b"x").model_copy(update={"content": None})
    states = [
        right,
        right.model_copy(update={"entries": (*right.entries, file(b"b.txt", b"x hk_live_9f2c41d7"), huge)}),
        right.model_copy(update={"entries": tuple(file(e.path, b"one  \n") if e.path == b"a.txt" else e for e in right.entries)}),
        right.model_copy(update={"observations": ()}),
    ]
    replays = [replay(of, state, result(stdout=b"hk_live_9f2c41d7" * (at % 2))) for at, state in enumerate(states)]
    found = build_tables({of.id: of}, replays, load_suite(suite_text(name)).columns)
    assert GxValidator().validate(suite_text(name), found) == FakeValidator().validate(suite_text(name), found)
    assert any(FakeValidator().validate(suite_text(name), found).values())


def test_great_expectations_writes_and_says_nothing(tmp_path: Path) -> None:
    """A validation leaves no file behind, prints nothing, and raises no warning that we did not name."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_validator as t\n"
        "assert len(t.GxValidator().validate(t.EXACT, t.tables(4))) == 4\n"
    )
    env = {**os.environ, "HOME": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1])}
    argv = [sys.executable, "-W", "error", "-B", "-c", code, str(Path(__file__).parent)]
    done = subprocess.run(argv, cwd=tmp_path, env=env, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert list(tmp_path.rglob("*")) == []
