"""A look at a deployment as a run: its name, numbers and description, and what stands above the experiment's runs."""

from typing import Any

import pytest

import series
from crosspath.adapters.mlflow_tracker.look_runs import (
    banner,
    look_metrics,
    look_run,
    series_name,
    series_note,
    series_tags,
    step_of,
)
from crosspath.adapters.mlflow_tracker.names import NOTE_TAG, check_run
from crosspath.adapters.mlflow_tracker.runs import EXPERIMENT_TAGS
from crosspath.pipeline.drift import Material, judge_drift
from crosspath.types import Estimate
from crosspath.types.drift import Alarm, ConfigurationDrift, Drift, EntryEffect, PartStatus, SeriesEntry, SeriesHistory
from gate_verdicts import HOSTILE

OURS = EXPERIMENT_TAGS[NOTE_TAG]


def look(days: int = 3, *, after_days: float = 0, **entry: Any) -> Drift:
    """A look at a quiet watch, right after its newest evaluation or later."""
    entries = (series.reference(), *(series.entry(day, **entry) for day in range(1, days + 1)))
    return look_at(*entries, after_days=after_days)


def look_at(*entries: SeriesEntry, after_days: float = 0) -> Drift:
    """A look at these evaluations."""
    history = SeriesHistory(deployment="bot", experiment="watch", entries=entries)
    return judge_drift(Material(history, series.executed(), entries[-1].created_at + after_days * series.DAY_S), "drift-1")


def states(configuration: PartStatus, toolchain: PartStatus, provider: PartStatus) -> Drift:
    """A look with these states."""
    found = look()
    return found.model_copy(
        update={
            "configuration": ConfigurationDrift(status=configuration, sentence=""),
            "toolchain": found.toolchain.model_copy(update={"status": toolchain}),
            "provider": found.provider.model_copy(update={"status": provider}),
        }
    )


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("no drift", "no drift", "no drift"), "no drift"),
        (("drift", "no drift", "could not measure"), "DRIFT: configuration"),
        (("no drift", "drift", "drift"), "DRIFT: toolchain, provider"),
        (("no drift", "could not measure", "not enough"), "could not measure: toolchain"),
        (("no drift", "no drift", "not enough"), "not enough: provider"),
    ],
)
def test_name(parts: tuple[PartStatus, PartStatus, PartStatus], name: str) -> None:
    """A look is named by its UTC day and by what it found, and in which part."""
    assert look_run(states(*parts), "1").name == f"2026-10-05 · {name}"


def test_numbers() -> None:
    """Rates are shares, changes are points; a count of nothing is 0."""
    effect = EntryEffect(
        effect="damage", estimate=Estimate(value=-0.25, low=-0.5, high=0, n=8, estimand="these_tasks", method="t")
    )
    found = look_metrics(look(passes=0.5, trials=2, requests=16, cost_usd=0.5, effects=(effect,)))
    assert (found["pass_rate"], found["reference_rate"], found["damage_pp"]) == (0.5, 1.0, -25)
    assert found["change_lo"] <= found["change_pp"] == -50 <= found["change_hi"]
    assert (found["requests"], found["cost_usd"], found["missing"], found["flips"], found["fields_changed"]) == (16, 0.5, 0, 0, 0)


def test_unknown_is_left_out() -> None:
    """A look long after the newest evaluation has no rate of its day; replies that were not executed have no count of flips."""
    assert "cost_usd" not in look_metrics(look(cost_usd=None))
    late = look_metrics(look(after_days=1.5))
    assert not {"pass_rate", "requests", "cost_usd", "missing"} & late.keys()
    assert "flips" not in look_metrics(states("no drift", "could not measure", "no drift"))


def test_missing_trials() -> None:
    """The share of the day's trials that were lost, as `max_missing` counts it: unstable replays are not missing."""
    lost = series.unmeasured(series.entry(3, trials=4), 0.25)
    unstable = tuple(one.model_copy(update={"passed": None, "unstable": True}) for one in lost.trials[-8:])
    newest = lost.model_copy(update={"trials": (*lost.trials[:-8], *unstable)})
    assert look_metrics(look_at(series.reference(), newest))["missing"] == lost.missing_share == 0.25


def test_numbers_are_of_one_date() -> None:
    """The day after an evaluation, though less than 24 hours later, has no number of it; nor a change, which is that day's."""
    numbers = look_metrics(look(cost_usd=0.5, after_days=23 / 24))
    assert not {"pass_rate", "requests", "cost_usd", "missing", "change_pp", "change_lo", "change_hi"} & numbers.keys()
    assert numbers["reference_rate"] == 1
    assert look_metrics(look(cost_usd=0.5, after_days=11 / 24))["cost_usd"] == 0.5


def test_a_changed_configuration() -> None:
    """What is deployed since has a pass rate, as long as its trials have one; nothing is compared with it."""
    edited = series.configured(contract__digest="edited")
    newest = series.entry(3, 0.5, trials=2, configuration=edited)
    numbers = look_metrics(look_at(series.reference(), series.entry(1), newest))
    assert (numbers["pass_rate"], numbers["missing"]) == (0.5, 0)
    assert not {"change_pp", "change_lo", "change_hi"} & numbers.keys()
    numbers = look_metrics(look_at(series.reference(), series.entry(1), series.unmeasured(newest, 0.75)))
    assert "pass_rate" not in numbers
    assert numbers["missing"] == 0.75


def test_a_reference_that_was_not_measured() -> None:
    """It is no line to hold days against."""
    numbers = look_metrics(look_at(series.unmeasured(series.reference(), 0.9), series.entry(1)))
    assert not {"reference_rate", "change_pp"} & numbers.keys()
    assert numbers["pass_rate"] == 1


def test_a_day_that_was_not_measured() -> None:
    """Where nothing is known of today, or its day is not used, neither a rate nor a change is drawn; the cost is known."""
    found = look(cost_usd=0.5)
    rates = {"pass_rate", "change_pp", "change_lo", "change_hi"}
    assert rates <= look_metrics(found).keys()
    unknown = found.provider.model_copy(update={"unmeasured_today": "nobody answered"})
    days = (*found.provider.days[:-1], found.provider.days[-1].model_copy(update={"used": False, "why_not": "faults"}))
    for provider in (unknown, found.provider.model_copy(update={"days": days})):
        numbers = look_metrics(found.model_copy(update={"provider": provider}))
        assert not rates & numbers.keys()
        assert numbers["cost_usd"] == 0.5


def test_nothing_is_said_twice() -> None:
    """Neither the part of an alarm nor the status of a part stands in its sentence again."""
    found = look()
    alarm = Alarm(cause="provider", level="alarm", sentence="provider: it answers worse", next_step="pin it")
    tools = found.toolchain.model_copy(update={"status": "could not measure", "sentence": "could not measure: no sandbox"})
    note = look_run(found.model_copy(update={"alarms": (alarm,), "toolchain": tools}), "7").tags[NOTE_TAG]
    assert "- **provider**: it answers worse *Next: pin it*" in note
    assert "- toolchain, could not measure: no sandbox" in note


def test_columns_differ() -> None:
    """A column's header is cut after ten letters."""
    names = look_metrics(look(requests=1, cost_usd=1.0))
    assert len({name[:10] for name in names}) == len(names)


def test_description() -> None:
    """It begins with the alarms and what to do next; hostile text in them is text, and it leads to the evaluations."""
    alarm = Alarm(cause="provider", level="alarm", sentence=HOSTILE, next_step="pin the served model")
    found = look_run(look().model_copy(update={"alarms": (alarm,), "candidate": HOSTILE, "deployment": "a/b c.d"}), "7")
    check_run(found.name, found.params, found.metrics, found.tags)
    note = found.tags[NOTE_TAG]
    assert note.startswith("# not enough: provider\n\n- **provider**: &lt;/failure>&lt;b>x")
    assert "*Next: pin the served model*" in note
    assert f"(#/experiments/7/evaluation-runs?selectedRunUuid={3:032x})" in note
    assert f"reference: [watch-000](#/experiments/7/evaluation-runs?selectedRunUuid={0:032x})" in note
    assert not any(bad in note for bad in ("\0", "\x1b", "<b>", "[a](http"))


def test_series_run() -> None:
    """Its steps count from the first evaluation's day; its description is the newest look's."""
    assert series_tags(look())["crosspath.first_day"] == "2026-10-02"
    assert (step_of("2026-10-05", "2026-10-02"), step_of("2026-10-01", "2026-10-02")) == (3, -1)
    assert series_name("bot", "DRIFT: provider") == "drift bot · DRIFT: provider"
    note = series_note("# DRIFT: provider\n", "#/experiments/1/runs/2", "2026-10-02")
    assert note.endswith("# DRIFT: provider\n")
    assert "step 0 is 2026-10-02" in note


class TestBanner:
    """A line for each deployment above the experiment's runs."""

    def test_begins_before_our_own_text(self) -> None:
        """MLflow shows the first line of a description, and the rest when asked for."""
        first = banner(OURS, "bot", "no drift", "2026-10-05", "#/1")
        line = "Drift of **bot**: no drift on 2026-10-05, [charts and looks](#/1).  "
        assert first == f"{line}\n\n{OURS}"
        assert banner("", "bot", "no drift", "2026-10-05", "#/1") == f"{line}\n\n"

    def test_is_brought_up_to_date(self) -> None:
        """Each deployment has one line, in the order in which they came."""
        text = banner(OURS, "bot", "no drift", "2026-10-05", "#/1") or ""
        text = banner(text, "bot 2", "no drift", "2026-10-05", "#/2") or ""
        text = banner(text, "bot", "DRIFT: provider", "2026-10-06", "#/1") or ""
        assert [line[:40] for line in text.split("\n")] == [
            "Drift of **bot**: DRIFT: provider on 202",
            "Drift of **bot 2**: no drift on 2026-10-",
            "",
            OURS[:40],
        ]

    def test_leaves_other_text_alone(self) -> None:
        """What somebody wrote about their experiment stays; so does what is nearly too long."""
        assert banner("Our experiment. Ask Ada.", "bot", "no drift", "2026-10-05", "#/1") is None
        assert banner(OURS + "x" * 4_500, "bot", "no drift", "2026-10-05", "#/1") is None
