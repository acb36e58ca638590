"""Which verdicts hang on the validator: known from what one more suite asks beyond the evaluation's own."""

from itertools import permutations

import pytest

from builders import evaluation
from crosspath.catalogue import catalogue_dir, suite_text
from crosspath.errors import ConfigError
from crosspath.pipeline.judge import judge
from crosspath.scoring import build_tables, load_suite, score
from crosspath.scoring.mutations import mutations
from crosspath.scoring.suite_differences import suite_difference
from crosspath.testing.validator import FakeValidator
from crosspath.types import CheckResult, Facts, Replay, StateEntry, Task, Text, ValidatorSensitivity
from scoring_builders import file, replay, rich_task, task, wanted

SHIPPED = sorted(path.stem for path in catalogue_dir("validators").glob("*.yaml"))
DOCUMENT = task(wanted(b"conf.json", b'{"a": 1}\n'), id="document")


def _checks(suite: Text, of: Task, replays: list[Replay]) -> list[tuple[CheckResult, ...]]:
    found = FakeValidator().validate(suite, build_tables({of.id: of}, replays, load_suite(suite).columns))
    return [found[number] for number in range(len(replays))]


def _changed(of: Task) -> list[Replay]:
    """The right state, every mutation of it, and what only lenient suites take for right."""
    replays = [replay(of), *(each.replay for each in mutations(of, replay(of)))]
    for one in list(replays):
        entries = one.execution.state.entries if one.execution else ()
        if any(entry.path == b"conf.json" for entry in entries):
            spaced = file(b"conf.json", b'{ "a": 1 }\n')
            kept = tuple(spaced if entry.path == b"conf.json" else entry for entry in entries)
            replays.append(_with_entries(one, kept))
    return replays


def _with_entries(one: Replay, entries: tuple[StateEntry, ...]) -> Replay:
    assert one.execution is not None
    state = one.execution.state.model_copy(update={"entries": entries})
    return one.model_copy(update={"execution": one.execution.model_copy(update={"state": state})})


@pytest.mark.parametrize(("first", "second"), list(permutations(SHIPPED, 2)))
def test_a_difference_and_what_is_known_give_the_verdicts_of_the_whole_suite(first: str, second: str) -> None:
    """For every two suites that ship, and for every mutation of a right state."""
    own, other = suite_text(first), suite_text(second)
    difference = suite_difference(own, other)
    for of in (rich_task(), DOCUMENT):
        replays = _changed(of)
        known, further = _checks(own, of, replays), _checks(difference.further, of, replays)
        joined = [
            [*(check for check in mine if check.expectation in difference.shared), *theirs]
            for mine, theirs in zip(known, further, strict=True)
        ]
        whole = _checks(other, of, replays)
        for each, parts, all_ in zip(replays, joined, whole, strict=True):
            assert score(each, of, parts).passed == score(each, of, all_).passed


def test_little_is_asked_beyond_a_suite_that_is_nearly_the_same() -> None:
    """Of ``content`` only what it says about surplus files, with its guard."""
    difference = suite_difference(suite_text("exact"), suite_text("content"))
    assert len(load_suite(difference.further).expectations) == 2
    assert len(difference.shared) > 5


def test_a_suite_that_asks_nothing_more_of_states_is_judged_as_a_whole() -> None:
    """A suite needs something in a final state that could fail."""
    exact = suite_text("exact")
    assert suite_difference(exact, exact).further == exact
    assert suite_difference(exact, exact).shared == frozenset()


def test_a_suite_that_is_none_is_refused() -> None:
    """As anywhere else."""
    with pytest.raises(ConfigError):
        suite_difference(suite_text("exact"), Text(name="bad", content="name: bad", digest=""))


def _facts(validator: str = "exact") -> Facts:
    made, _ = evaluation(trials=2)
    cells = tuple(cell.model_copy(update={"validator": validator}) for cell in made.cells)
    return made.model_copy(update={"suites": (suite_text(validator),), "cells": cells})


def _with_more_files(facts: Facts, task: str) -> Facts:
    """The replays of one task leave a further file."""
    further = file(b"notes.txt", b"x")
    replays = tuple(
        _with_entries(one, tuple(sorted((*one.execution.state.entries, further), key=lambda entry: entry.path)))
        if one.execution and one.key.trial.task == task
        else one
        for one in facts.replays
    )
    return facts.model_copy(update={"replays": replays})


def _found(facts: Facts, candidate: str) -> ValidatorSensitivity:
    return next(one for one in judge(facts, FakeValidator()).validator_sensitivity if one.candidate == candidate)


def test_verdicts_that_hang_on_the_validator_are_counted_with_their_tasks() -> None:
    """A further file is wrong for ``exact`` and fine for ``content``."""
    found = _found(_with_more_files(_facts(), "write-bytes/plain"), "adaptive")
    assert (found.own, found.other, found.cell, found.compared) == ("exact", "content", "NN", 6)
    assert (found.own_only, found.other_only, found.tasks) == (0, 2, ("write-bytes/plain",))


def test_a_laxer_validator_is_compared_with_the_exact_one() -> None:
    """The same from the other side."""
    found = _found(_with_more_files(_facts("content"), "write-bytes/plain"), "adaptive")
    assert (found.own, found.other) == ("content", "exact")
    assert (found.own_only, found.other_only, found.tasks) == (2, 0, ("write-bytes/plain",))


def test_the_verdicts_of_the_evaluation_stay_those_of_its_own_validator() -> None:
    """No score by the other suite gets among them."""
    judgement = judge(_facts(), FakeValidator())
    assert {one.validator for one in judgement.scores} == {"exact"}
    assert all((one.own_only, one.other_only) == (0, 0) for one in judgement.validator_sensitivity)


def test_what_was_not_observed_is_not_compared() -> None:
    """Trials without a verdict count on neither side."""
    facts = _facts()
    found = _found(facts.model_copy(update={"replays": facts.replays[:1]}), "adaptive")
    assert (found.compared, found.tasks) == (0, ())
