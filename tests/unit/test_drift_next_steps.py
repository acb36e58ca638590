"""What whole looks tell a person to do: each step follows from what was found, whatever the sentences say."""

from typing import Any

import pytest

from crosspath.pipeline.drift import Material, judge_drift
from crosspath.reports.drift_words import about
from crosspath.types import digest
from crosspath.types.drift import Alarm, Drift, SeriesEntry, SeriesHistory, ToolchainDrift, UnreadableEntry
from series import DAY_S, NEW, NOON, TASKS, configured, entry, executed, reference, unmeasured

EDITED = configured(contract__digest=digest("edited"))


def look(*entries: SeriesEntry, toolchain: ToolchainDrift | None = None, later_s: float = 3600, unreadable: Any = ()) -> Drift:
    """A look so long after the newest entry."""
    history = SeriesHistory(deployment="bot", experiment="watch", entries=entries, unreadable=unreadable)
    return judge_drift(Material(history, toolchain or executed(), entries[-1].created_at + later_s), "drift-1")


def days(first: int, last: int, passes: float = 1.0, **changes: Any) -> list[SeriesEntry]:
    return [entry(number, passes, **changes) for number in range(first, last + 1)]


def alarm_of(found: Drift, cause: str, level: str = "alarm") -> Alarm:
    (alarm,) = [one for one in found.alarms if (one.cause, one.level) == (cause, level)]
    return alarm


def test_an_edited_task_is_told_once() -> None:
    """Its notice asks for a new reference, and none beside it says that nothing has to be done."""
    tasks = {task: digest(task) for task in TASKS} | {TASKS[0]: digest("edited")}
    first = reference(trials=20, configuration=configured(tasks__digest="aa"))
    found = look(first, *days(1, 5, configuration=configured(tasks__digest="aa")), entry(6, tasks=tasks))
    notice = alarm_of(found, "configuration", "notice")
    assert notice.sentence.startswith(f"configuration: 1 task of bot edited since the reference {first.evaluation} and set apart")
    assert notice.next_step.startswith("measure a new reference")


class TestServedModels:
    """One of two models that answered in turn answers alone."""

    def mixed(self, after: float) -> Drift:
        both, one = configured(model__served="x, y"), configured(model__served="y")
        first = reference(0.9, trials=20, configuration=both)
        return look(first, *days(1, 4, 0.9, configuration=both), *days(5, 12, after, configuration=one))

    def test_a_drop_on_the_day_the_mix_narrows(self) -> None:
        """The alarm names it, and pinning is the first step."""
        alarm = alarm_of(self.mixed(0.0), "provider")
        assert "the served model changed from x, y to y on 2026-10-07" in alarm.sentence
        assert alarm.next_step.startswith("pin the served model x, y if the provider still has it")

    def test_nothing_moved(self) -> None:
        """Which of two answers is drawn by lot, so without a drop it is no notice, and never something that changes no score."""
        found = self.mixed(0.9)
        assert not [one for one in found.alarms if one.level == "notice"]
        assert "model.served (x, y -> y, 2026-10-07); only replies tell what it did" in found.configuration.sentence


class TestWithoutAReference:
    def test_an_edited_contract(self) -> None:
        """It changed since the first evaluation, and the baseline of the gate has to be measured first."""
        found = look(*days(0, 5), entry(6, configuration=EDITED))
        alarm = alarm_of(found, "configuration")
        assert "1 field of bot changed since the first evaluation watch-000: contract.digest (" in alarm.sentence
        assert alarm.next_step.endswith(
            "crosspath gate POLICY --candidate latest --baseline REFERENCE; REFERENCE is what was deployed before,"
            " with enough trials: measure it first"
        )
        assert "the reference watch-000" not in " ".join(one.sentence for one in found.alarms)

    def test_with_one(self) -> None:
        """The reference is named in both."""
        alarm = alarm_of(look(reference(), *days(1, 5), entry(6, configuration=EDITED)), "configuration")
        assert "changed since the reference watch-000: " in alarm.sentence
        assert alarm.next_step.endswith("--baseline watch-000")


def test_a_digest_is_shown_alike() -> None:
    """The part's sentence and the alarm cut it at the same place."""
    found = look(reference(), *days(1, 5), entry(6, configuration=EDITED))
    words = f"contract.digest ({digest('plain')[:8]} -> {digest('edited')[:8]}, "
    assert words in found.configuration.sentence
    assert words in alarm_of(found, "configuration").sentence


@pytest.mark.parametrize(("since", "compared"), [(1, 5), (9, 8)])
def test_a_reduced_watch_says_how_many_tasks_it_compares(since: int, compared: int) -> None:
    """Tasks that were evaluated in the last days are counted, and no others, in the alarm as in the part's sentence."""
    kept = {task: digest(task) for task in TASKS[:5]}

    def few(one: SeriesEntry) -> SeriesEntry:
        return one.model_copy(update={"tasks": kept, "trials": tuple(trial for trial in one.trials if trial.task in kept)})

    found = look(reference(0.9, trials=20), *days(1, since - 1, 0.0), *map(few, days(since, 9, 0.0)))
    assert found.provider.sentence.endswith(f" on {compared} tasks")
    assert f" on {compared} tasks against the reference watch-000" in alarm_of(found, "provider").sentence


class TestNothingIsKnownOfToday:
    def step(self, *entries: SeriesEntry, **more: Any) -> str:
        return alarm_of(look(reference(trials=20), *days(1, 14), *entries, **more), "provider", "unmeasured").next_step

    def test_the_daily_job_stopped(self) -> None:
        """It has to run again."""
        assert self.step(later_s=7 * DAY_S) == "see to it that the daily job runs: crosspath run SPEC"

    def test_the_newest_can_t_be_read(self) -> None:
        """The job ran: it is the evaluation that has to be mended, as its problem says, or made again."""
        lost = UnreadableEntry(run="r", evaluation="watch-015", problem="not logged to its end", at=NOON + 15 * DAY_S)
        assert self.step(later_s=DAY_S + 3600, unreadable=(lost,)) == (
            "see to it that it can be read, or measure today once more: crosspath run SPEC"
        )

    def test_a_day_of_faults(self) -> None:
        """The endpoint is looked at first."""
        assert self.step(unmeasured(entry(15))).startswith(
            "check the endpoint and the daily job (crosspath report watch-015 says"
        )

    def test_too_few_tasks(self) -> None:
        """No endpoint is to blame where most tasks were taken away."""
        kept = {task: digest(task) for task in TASKS[:3]}
        newest = entry(15)
        trials = tuple(trial for trial in newest.trials if trial.task in kept)
        step = self.step(newest.model_copy(update={"tasks": kept, "trials": trials}))
        assert step.startswith("evaluate the reference's tasks again, or measure a new reference of those that are left: ")

    def test_programs_that_were_not_looked_at(self) -> None:
        """The frozen replies have to be executed with them: here, or where the daily job runs."""
        tools = ToolchainDrift(status="could not measure", sentence="whatever.", why="not asked for", frozen="watch-000")
        assert self.step(entry(15, toolchain=NEW), toolchain=tools) == (
            "leave --no-replay out: crosspath drift bot; then the day counts"
        )
        assert self.step(entry(15, toolchain=NEW), toolchain=tools.model_copy(update={"why": ""})) == (
            "crosspath doctor says whether replies can be executed here; then look again; then the day counts"
        )
        assert self.step(entry(15, toolchain=NEW)) == (
            "look where the daily job runs, with its programs: crosspath drift bot; then the day counts"
        )


def test_a_bad_evening_after_a_good_morning() -> None:
    """The step names the evaluation that failed, and the morning is not called unknown."""
    evening = unmeasured(entry(14)).model_copy(update={"evaluation": "watch-014b", "created_at": NOON + 14.3 * DAY_S})
    alarm = alarm_of(look(reference(), *days(1, 14), evening), "provider", "unmeasured")
    assert "an earlier evaluation of 2026-10-16 counts, the newest does not: 100 % of the trials of watch-014b" in alarm.sentence
    assert "crosspath report watch-014b says what failed" in alarm.next_step


def test_a_reference_that_can_t_be_read() -> None:
    """All three parts ask for the reference; none asks whether replies can be executed here."""
    lost = UnreadableEntry(run="r", evaluation="watch-000", problem="no such file", role="reference", at=NOON)
    toolchain = executed(status="could not measure", sentence="the newest reference can't be read", why="reference")
    found = look(*days(1, 5), toolchain=toolchain, unreadable=(lost,))
    assert about(found).endswith("; reference watch-000 (which can't be read)")
    assert [alarm.level for alarm in found.alarms] == ["unmeasured"] * 3
    assert {alarm.next_step for alarm in found.alarms} == {
        "see to it that the reference can be read (crosspath log finishes what was not logged to its end), or measure another:"
        " crosspath run SPEC --reference"
    }


def test_replies_that_turn_without_a_change() -> None:
    """They were executed, so no doctor is asked for."""
    toolchain = executed(status="could not measure", sentence="3 turned", why="sudden")
    step = alarm_of(look(reference(), *days(1, 14), toolchain=toolchain), "toolchain", "unmeasured").next_step
    assert step.startswith("find what changed here that is no program")
