"""What changed in a deployment's configuration: when, net since the reference, and what it means for a comparison."""

from collections.abc import Mapping
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import evaluation
from crosspath.pipeline.configuration_drift import NOW, breaking_between, configuration_drift
from crosspath.pipeline.configurations import configuration_of
from crosspath.types import Estimate, digest
from crosspath.types.drift import Bearing, ConfigurationDrift, EntryTrial, SeriesEntry, WatchRules

DAY = 86_400.0
START = 1_764_547_200.0
"""2025-12-01 00:00 UTC."""
RATE = Estimate(value=0.5, low=0.4, high=0.6, n=3, method="wilson", estimand="these_tasks")
FACTS, _ = evaluation()
FIELDS = configuration_of(FACTS, FACTS.lock.candidates[0]) | {
    "model.served": "m-1",
    "model.fingerprint": "fp-1",
    "op.temperature": "0.2",
    "toolchain.sandbox": "bubblewrap 0.8.0",
    "toolchain.programs.bash": "GNU bash 5.2.15",
    "packages.pyarrow": "1.0",
    "harness": "none",
}
TASKS = {"f/a": digest("a"), "f/b": digest("b"), "f/c": digest("c")}
BREAKING = {
    "model": "another", "model.api_base": "https://elsewhere", "model.params.seed": "7", "contract.digest": digest("edited"),
    "transport.digest": digest("2"), "op.temperature": "0.7", "op.max_tokens": "99", "harness": "fences",
    "validator.digest": "v2", "request_style.digest": "s2", "tools": "shell",
}  # fmt: skip
REPLAYED = {
    "toolchain.programs.bash": "GNU bash 5.3", "toolchain.sandbox": "none", "toolchain.platform": "other",
    "packages.pyarrow": "2.0",
}  # fmt: skip
PROVIDER = {"model.served": "m-2", "model.fingerprint": "fp-2"}
WITHOUT = {
    "commit": "abc", "dirty": "true", "trials": "10", "model.prices.input": "2.0", "model.api_key_env": "OTHER", "kind": "model",
    "contract": "renamed", "contract.version": "9", "transport": "renamed", "transport.version": "9", "spec.digest": "x",
    "lock.digest": "y", "tasks.digest": "z", "tasks.count": "5", "reference.transport": "raw-2", "validator": "renamed",
}  # fmt: skip
EACH: list[tuple[str, str, Bearing]] = [
    *((field, value, "breaking") for field, value in BREAKING.items()),
    *((field, value, "replayed") for field, value in REPLAYED.items()),
    *((field, value, "provider") for field, value in PROVIDER.items()),
    *((field, value, "none") for field, value in WITHOUT.items()),
]


def entry(
    day: int, fields: Mapping[str, str] | None = None, tasks: Mapping[str, str] = TASKS, answered: bool = True
) -> SeriesEntry:
    """One evaluation ``day`` days after the start; that of day 0 is the reference."""
    return SeriesEntry(
        evaluation=f"watch-{day}",
        created_at=START + DAY * day,
        deployment="bot",
        candidate="oracle",
        role="day" if day else "reference",
        rules=WatchRules(),
        configuration=FIELDS | dict(fields or {}),
        toolchain="t",
        tasks=dict(tasks),
        families=dict.fromkeys(tasks, "f"),
        planned_trials=1,
        control="holds",
        rate=RATE,
        trials=tuple(EntryTrial(task=task, index=0, passed=True, reply="r" if answered else "") for task in tasks),
    )


def since(reference: SeriesEntry, *days: SeriesEntry, now: Mapping[str, str] | None = None) -> ConfigurationDrift:
    return configuration_drift([reference, *days], reference, now or {})


def net(found: ConfigurationDrift) -> list[str]:
    return [one.field for one in found.since_reference]


def test_nothing_changed_is_no_drift() -> None:
    """Equal locks give an empty timeline."""
    found = since(entry(0), entry(1), entry(2))
    assert (found.status, found.timeline, found.since_reference, found.edited_tasks) == ("no drift", (), (), ())
    assert found.sentence == "No field changed since the reference of 2025-12-01 across which scores can't be compared."


@pytest.mark.parametrize(("field", "value", "bearing"), EACH)
def test_each_field_is_found_with_its_bearing(field: str, value: str, bearing: Bearing) -> None:
    """A change in any field is dated, and counts as breaking, replayed, the provider's, or nothing."""
    found = since(entry(0), entry(1), entry(2, {field: value}))
    assert found.status == ("drift" if bearing == "breaking" else "no drift")
    assert net(found) == ([] if bearing == "none" else [field])
    assert [one.field for one in found.breaking] == ([field] if bearing == "breaking" else [])
    for change in found.timeline:
        assert (change.difference.field, change.bearing) == (field, bearing)
        assert (change.before_evaluation, change.evaluation, change.at) == ("watch-1", "watch-2", START + 2 * DAY)
    assert bool(found.timeline) == (
        bearing != "none" or field not in ("spec.digest", "lock.digest", "tasks.digest", "tasks.count")
    )


def test_the_sentence_names_field_values_and_day() -> None:
    """What a person reads: which field, from what to what, on which day, and what it means."""
    edited = digest("edited")
    found = since(
        entry(0),
        entry(1),
        entry(2, {"contract.digest": edited}),
        entry(3, {"contract.digest": edited, "model.served": "m-2"}),
    )
    before = FIELDS["contract.digest"][:8]
    assert found.sentence == (
        "Since the reference of 2025-12-01 a field changed across which scores can't be compared: "
        f"contract.digest ({before} -> {edited[:8]}, 2025-12-03). "
        "Changed, too: model.served (m-1 -> m-2, 2025-12-04); only replies tell what it did."
    )


def test_a_change_that_was_undone_is_in_the_timeline_only() -> None:
    """Changed and changed back: two dated changes, no net difference, no drift."""
    found = since(entry(0), entry(1, {"op.temperature": "0.9"}), entry(2))
    assert [(one.difference.b, one.evaluation) for one in found.timeline] == [("0.9", "watch-1"), ("0.2", "watch-2")]
    assert (found.status, found.since_reference) == ("no drift", ())


def test_a_field_that_changed_twice_has_the_day_of_its_last_change() -> None:
    """The value of now was seen first on that day."""
    found = since(
        entry(0), entry(1, {"op.temperature": "0.5"}), entry(2, {"op.temperature": "0.9"}), entry(3, {"op.temperature": "0.9"})
    )
    assert "op.temperature (0.2 -> 0.9, 2025-12-03)" in found.sentence


def test_two_evaluations_of_one_moment() -> None:
    """They stay two, in the order of their ids."""
    first, second = entry(1, {"op.temperature": "0.5"}), entry(2).model_copy(update={"created_at": START + DAY})
    found = configuration_drift([second, first, entry(0)], entry(0), {})
    assert [(one.evaluation, one.difference.b) for one in found.timeline] == [("watch-1", "0.5"), ("watch-2", "0.2")]


def test_a_changed_digest_of_a_path_says_what_it_may_follow_from() -> None:
    """A path's digest holds the clean-up: with another clean-up both are named, the digest as what may follow."""
    found = since(entry(0), entry(1, {"harness": "fences", "transport.digest": digest("2")}))
    assert {one.field: one.why for one in found.breaking} == {"harness": "", "transport.digest": "it may follow from harness"}


def test_a_field_that_nobody_knows_is_not_taken_for_harmless() -> None:
    """An unknown field with two values breaks; one that only one version of the program records does not."""
    assert since(entry(0, {"memory": "a"}), entry(1, {"memory": "b"})).status == "drift"
    assert since(entry(0), entry(1, {"memory": "b"})).status == "no drift"


def test_several_served_names() -> None:
    """Where an endpoint answers with several names in turn, one fewer is the provider's doing as much as one more."""
    mixed = entry(0, {"model.served": "m-1, m-2"})
    again = since(mixed, entry(1, {"model.served": "m-2"}), entry(2, {"model.served": "m-1, m-2"}))
    assert [one.bearing for one in again.timeline] == ["provider", "provider"]
    assert (again.status, again.since_reference) == ("no drift", ())
    assert net(since(mixed, entry(1, {"model.served": "m-2"}))) == ["model.served"]


def test_a_day_on_which_nothing_answered_changes_nothing() -> None:
    """A dead endpoint serves no model, and where nothing ran no toolchain was seen: neither is a change, nor hides one."""
    dead = entry(1, dict.fromkeys(("model.served", "model.fingerprint", "toolchain.sandbox"), "unset"), answered=False)
    still = since(entry(0), dead, entry(2))
    assert (still.status, still.timeline) == ("no drift", ())
    other = since(entry(0), dead, entry(2, {"model.served": "m-2"}))
    assert [(one.difference.a, one.difference.b, one.evaluation) for one in other.timeline] == [("m-1", "m-2", "watch-2")]
    assert since(entry(0), dead).since_reference == ()


def test_an_endpoint_that_stops_telling_a_fingerprint_is_news() -> None:
    """Where replies came, a missing fingerprint is what the endpoint says today."""
    assert net(since(entry(0), entry(1, {"model.fingerprint": "unset"}))) == ["model.fingerprint"]


def test_an_edited_task_is_set_apart() -> None:
    """Another content under the same id: named, and no drift, because the others are compared."""
    found = since(entry(0), entry(1, tasks=TASKS | {"f/b": digest("new")}))
    assert (found.status, found.edited_tasks, found.since_reference) == ("no drift", ("f/b",), ())
    (change,) = found.timeline
    assert (change.difference.field, change.bearing, change.difference.why) == (
        "tasks.digest",
        "none",
        "edited and set apart: f/b",
    )
    assert "Edited and set apart: f/b." in found.sentence


def test_no_task_left_breaks() -> None:
    """Where no task is left that both have, there is nothing to compare."""
    for tasks in ({task: digest(task) for task in TASKS}, {"g/other": digest("o")}):
        found = since(entry(0), entry(1, tasks=tasks))
        assert (found.status, [one.field for one in found.breaking]) == ("drift", ["tasks.digest"])
        assert found.breaking[0].why == "no task is left that both have with one digest"


def test_tasks_that_come_and_go_are_told() -> None:
    """Added and removed tasks are counted; the others are compared."""
    found = since(entry(0), entry(1, tasks={"f/a": TASKS["f/a"], "f/d": digest("d")}))
    assert found.timeline[0].difference.why == "1 added, not compared; 2 taken away, not compared"
    assert found.edited_tasks == ()


def test_now_is_the_last_step() -> None:
    """The toolchain as of now stands behind the newest evaluation, and only what was looked at is compared."""
    now = {"toolchain.sandbox": "bubblewrap 0.8.0", "toolchain.programs.bash": "GNU bash 5.3"}
    expected = {name for name in FIELDS if name.startswith("toolchain.")} - now.keys() | {"toolchain.programs.bash"}
    found = configuration_drift([entry(0), entry(1)], entry(0), now, START + 9 * DAY)
    assert {one.difference.field for one in found.timeline} == expected
    assert {(one.evaluation, one.before_evaluation, one.at) for one in found.timeline} == {(NOW, "watch-1", START + 9 * DAY)}
    assert found.sentence.endswith(" Programs or packages changed, too (2025-12-10): see toolchain.")
    assert "bash" not in found.sentence
    same = {name: value for name, value in FIELDS.items() if name.startswith(("toolchain.", "packages."))}
    assert since(entry(0), entry(1), now=same).timeline == ()


def test_now_undoes_what_the_newest_saw() -> None:
    """A shell that is the old one again is no net difference, whatever the newest evaluation ran with."""
    now = {name: value for name, value in FIELDS.items() if name.startswith("toolchain.")}
    found = since(entry(0), entry(1, {"toolchain.programs.bash": "GNU bash 5.3"}), now=now)
    assert ([one.difference.b for one in found.timeline], found.since_reference) == (["GNU bash 5.3", "GNU bash 5.2.15"], ())


def test_too_little() -> None:
    """One evaluation without a reference is not enough, nor a reference that nothing was evaluated after; none is no answer."""
    assert configuration_drift([entry(0)], None, {}).status == "not enough"
    assert since(entry(0)).status == "not enough"
    assert configuration_drift([], None, {}).status == "could not measure"
    assert configuration_drift([entry(0), entry(1)], None, {}).status == "no drift"


def test_without_a_reference_the_oldest_is_the_base() -> None:
    """Two evaluations and no reference: what changed since the first one."""
    found = configuration_drift([entry(1, {"op.temperature": "0.7"}), entry(0)], None, {})
    assert (found.status, net(found)) == ("drift", ["op.temperature"])
    assert found.sentence.startswith("Since the first evaluation of 2025-12-01 ")
    assert (found.base, found.base_is_reference) == ("watch-0", False)
    assert (since(entry(0)).base, since(entry(0)).base_is_reference) == ("watch-0", True)


def test_a_new_reference_accepts_what_changed_before() -> None:
    """Changes from before the reference are in the timeline and no drift."""
    newer = entry(2, {"contract.digest": digest("edited")}).model_copy(update={"role": "reference"})
    found = configuration_drift([entry(0), newer, entry(3, {"contract.digest": digest("edited")})], newer, {})
    assert (found.status, [one.evaluation for one in found.timeline]) == ("no drift", ["watch-2"])


def test_a_hostile_value_stays_on_its_line() -> None:
    """What an endpoint calls itself is cut and has no control characters in the sentence."""
    found = since(entry(0), entry(1, {"model.served": "m\x1b[2J\n" + "x" * 500}))
    assert found.sentence.isprintable()
    assert len(found.sentence) < 300


CHANGES = st.lists(
    st.dictionaries(st.sampled_from([field for field, _, _ in EACH]), st.sampled_from(["p", "q"]), max_size=4), max_size=6
)


@given(CHANGES, st.randoms(use_true_random=False))
def test_order_does_not_matter(changes: list[dict[str, str]], random: Random) -> None:
    """Entries in any order, or twice, say the same."""
    entries = [entry(0), *(entry(day, fields) for day, fields in enumerate(changes, 1))]
    shuffled = [*entries, entries[-1]]
    random.shuffle(shuffled)
    assert configuration_drift(shuffled, entries[0], {}) == configuration_drift(entries, entries[0], {})


@given(CHANGES)
def test_the_timeline_adds_up_to_the_net(changes: list[dict[str, str]]) -> None:
    """Following the timeline from the reference gives every net difference, and drift is a breaking net difference."""
    entries = [entry(0), *(entry(day, fields) for day, fields in enumerate(changes, 1))]
    found = configuration_drift(entries, entries[0], {})
    values = dict(FIELDS)
    for change in found.timeline:
        values[change.difference.field] = change.difference.b
    assert all(values[one.field] == one.b != one.a == FIELDS.get(one.field, "unset") for one in found.since_reference)
    assert found.breaking == breaking_between(entries[0], entries[-1])
    expected = {
        field for field, value in entries[-1].configuration.items() if field in BREAKING and value != FIELDS.get(field, "unset")
    }
    names = {"contract", "contract.version", "transport", "transport.version", "validator"}
    assert {one.field for one in found.breaking} - names == expected
    if len(entries) > 1:
        assert (found.status == "drift") == bool(expected)
