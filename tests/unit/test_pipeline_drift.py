"""A look at a deployment: which reference, which days count, what is set apart, and when there is no answer."""

from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from crosspath.pipeline.drift import Material, as_of, frozen_of, judge_drift, reference_of
from crosspath.pipeline.watched_days import measured_toolchains, touched_tasks
from crosspath.types.drift import (
    Drift,
    EntryTrial,
    Flip,
    FrozenOutcome,
    SeriesEntry,
    SeriesHistory,
    ToolchainDrift,
    UnreadableEntry,
    WatchRules,
)
from series import DAY_S, NEW, NOON, OLD, TASKS, configured, entry, evidence_of, executed, reference, unmeasured

EDITED = configured(contract__digest="f" * 64)
"""The configuration after an edit of the contract."""


def look(
    *entries: SeriesEntry,
    toolchain: ToolchainDrift | None = None,
    after_days: float = 0,
    unreadable: tuple[UnreadableEntry, ...] = (),
) -> Drift:
    """What a look finds right after the newest of these evaluations, or some days later."""
    now = entries[-1].created_at + after_days * DAY_S
    history = as_of(SeriesHistory(deployment="bot", experiment="watch", entries=entries, unreadable=unreadable), now)
    return judge_drift(Material(history, toolchain or executed(), now), "drift-1")


def days(first: int, last: int, passes: float = 1.0, **changes: Any) -> list[SeriesEntry]:
    return [entry(number, passes, **changes) for number in range(first, last + 1)]


class TestReference:
    """What later evaluations are compared with."""

    def test_the_newest_that_was_measured_as_one(self) -> None:
        """A second reference starts a new watch."""
        entries = [reference(), *days(1, 3), reference(day=4), entry(5)]
        assert reference_of(entries) is entries[4]

    def test_else_the_first_that_is_large_enough(self) -> None:
        """Ten trials a task, measured, and not the sample on which the tasks were chosen."""
        chosen, small = entry(1, trials=12), entry(3, trials=9)
        lost, large, later = unmeasured(entry(4, trials=10)), entry(5, trials=10), entry(6, trials=20)
        newest = entry(7, chosen_on=chosen.evaluation)
        entries = [chosen, small, lost, large, later, newest]
        assert reference_of(entries) is large
        assert reference_of([chosen, small, lost, newest]) is None

    def test_a_changed_configuration_is_not_its_own_reference(self) -> None:
        """Evaluations that are all large enough: an edited contract is an alarm until somebody measures a reference of it."""
        found = look(*days(0, 5, trials=10), *days(6, 8, 0.3, trials=10, configuration=EDITED))
        assert (found.configuration.status, found.provider.status, found.exit_code) == ("drift", "could not measure", 1)
        assert found.provider.reference == "watch-000"
        accepted = look(*days(0, 5, trials=10), reference(0.3, day=6, configuration=EDITED), entry(7, 0.3, configuration=EDITED))
        assert accepted.configuration.status == "no drift"

    def test_frozen_replies_need_no_reference(self) -> None:
        """Without one the replies of the first evaluation are executed again."""
        entries = days(0, 3)
        assert frozen_of(entries) is entries[0]

    def test_without_one_there_is_not_enough(self) -> None:
        """The sentence says how many trials it takes, and how many there are: exit code 3."""
        found = look(*days(0, 3))
        assert (found.provider.status, found.exit_code) == ("not enough", 3)
        assert "at least 10 trials a task" in found.provider.sentence
        assert "of 4 evaluations the largest that can be one has 1" in found.provider.sentence
        assert "of 1 evaluation none can be one" in look(unmeasured(entry(1, trials=10))).provider.sentence

    def test_an_id_that_another_runner_gave_too(self) -> None:
        """A reference that was written after the sample with its own id is not that sample: fresh runners begin the ids anew."""
        first = reference(chosen_on="watch-000")
        assert look(first, *days(1, 14, chosen_on="watch-000")).provider.status == "no drift"

    def test_the_sample_that_chose_the_tasks_is_refused(self) -> None:
        """Tasks that were chosen for how they came out would look worse the next time."""
        first = reference()
        found = look(first, entry(1, chosen_on=first.evaluation))
        assert found.provider.status == "could not measure"
        assert "the tasks were chosen on watch-000" in found.provider.sentence


class TestNoAnswer:
    """Could not measure is a state of its own: exit code 4."""

    def test_a_quiet_watch_finds_nothing(self) -> None:
        """The same behaviour for two weeks: no drift, exit code 0."""
        found = look(reference(), *days(1, 14))
        assert [found.configuration.status, found.toolchain.status, found.provider.status] == ["no drift"] * 3
        assert found.exit_code == 0
        assert [point.evaluation for point in found.points][:2] == ["watch-000", "watch-001"]

    def test_a_dead_server_on_the_last_day(self) -> None:
        """Its faults are named, and the days before stay measured."""
        found = look(reference(), *days(1, 5), unmeasured(entry(6)))
        assert (found.provider.status, found.exit_code) == ("could not measure", 4)
        assert "100 % of the trials of watch-006 have no verdict (8 server_error)" in found.provider.sentence
        assert [day.used for day in found.provider.days] == [True] * 5 + [False]

    def test_a_few_faults_are_no_reason(self) -> None:
        """Up to a fifth of the trials of a day may be lost."""
        assert look(reference(), unmeasured(entry(1), 0.125)).provider.status != "could not measure"
        assert look(reference(), unmeasured(entry(1), 0.375)).provider.status == "could not measure"

    def test_a_day_without_any_verdict(self) -> None:
        """However much may be missing: where all is unstable, or lost, nothing was measured."""
        shaky = entry(15).model_copy(update={"trials": tuple(_shaky(trial) for trial in entry(15).trials)})
        lost = unmeasured(entry(15))
        for nothing, rules in ((shaky, WatchRules()), (lost, WatchRules(max_missing=1))):
            found = look(reference(rules=rules), *days(1, 14), nothing)
            assert (found.provider.status, found.exit_code) == ("could not measure", 4)
            assert "no trial of watch-015 has a verdict" in found.provider.sentence

    def test_a_good_morning_and_a_dead_server_in_the_evening(self) -> None:
        """The newest evaluation of a date is what is known of now; the earlier one of that date still counts."""
        evening = unmeasured(entry(14)).model_copy(update={"evaluation": "watch-014b", "created_at": NOON + 14.3 * DAY_S})
        found = look(reference(), *days(1, 14), evening)
        assert (found.provider.status, found.provider.days[-1].used) == ("could not measure", True)
        assert "of the trials of watch-014b have no verdict" in found.provider.unmeasured_today

    def test_most_tasks_have_no_verdict(self) -> None:
        """On the day, or in the reference: what is left is no answer about the watch. Two runs of a date are taken together."""

        def without(found: SeriesEntry, tasks: Sequence[str]) -> SeriesEntry:
            trials = tuple(_shaky(trial) if trial.task in tasks else trial for trial in found.trials)
            return found.model_copy(update={"trials": trials})

        found = look(reference(), *days(1, 14), without(entry(15), TASKS[:5])).provider
        assert found.status == "could not measure"
        assert "only 3 of the reference's 8 tasks can be compared: 5 without a verdict" in found.sentence
        assert look(reference(), *days(1, 14), without(entry(15), TASKS[:4])).provider.status == "no drift"
        thin = look(without(reference(), TASKS[:5]), *days(1, 14)).provider
        assert "only 3 of the reference's 8 tasks have a verdict in it" in thin.sentence
        tasks = reference().tasks
        parts = [_only(entry(15), {task: tasks[task] for task in part}) for part in (TASKS[:3], TASKS[3:])]
        again = parts[1].model_copy(update={"evaluation": "watch-015b", "created_at": NOON + 15.1 * DAY_S})
        assert look(reference(), *days(1, 14), parts[0], again).provider.status == "no drift"

    def test_most_tasks_are_gone(self) -> None:
        """What is left of the watch is no answer about its reference; half of it is."""
        for kept, status in ((3, "could not measure"), (4, "no drift")):
            fewer = {task: digest for task, digest in reference().tasks.items() if task in TASKS[:kept]}
            small = [_only(entry(number, trials=2), fewer) for number in range(8, 22)]
            found = look(reference(), *days(1, 7), *small).provider
            assert found.status == status
            assert found.tasks == kept
        assert (
            "5 not evaluated any more"
            in look(reference(), *days(1, 7), _only(entry(8), dict(list(fewer.items())[:3]))).provider.sentence
        )

    def test_a_daily_run_that_stopped(self) -> None:
        """A newest evaluation of last week says nothing of today."""
        found = look(reference(), *days(1, 5), after_days=7)
        assert found.provider.status == "could not measure"
        assert "the newest evaluation is of 2026-10-07, 7 days ago: is the daily run stopped?" in found.provider.sentence
        assert look(reference(), *days(1, 14), after_days=1).provider.status == "no drift"

    def test_a_newest_day_that_can_t_be_read(self) -> None:
        """It is no answer, also where yesterday was fine; one that is older, or of the future, is left out."""
        lost = UnreadableEntry(run="r", evaluation="watch-015", problem="not logged", at=NOON + 14.4 * DAY_S)
        found = look(reference(), *days(1, 14), unreadable=(lost,), after_days=0.5)
        assert (found.provider.status, found.exit_code) == ("could not measure", 4)
        assert "the newest evaluation, watch-015, can't be read: not logged" in found.provider.sentence
        long = lost.model_copy(update={"problem": f"not there: {'/a/long/path' * 40}"})
        assert len(look(reference(), *days(1, 14), unreadable=(long,), after_days=0.5).provider.sentence) < 250
        assert look(reference(), *days(1, 14), unreadable=(lost.model_copy(update={"at": NOON + 13.4 * DAY_S}),)).exit_code == 0
        assert look(reference(), *days(1, 14), unreadable=(lost,)).exit_code == 0

    def test_a_broken_control(self) -> None:
        """Without an instrument there is no verdict."""
        found = look(reference(), entry(1, control="broken"))
        assert "the control of watch-001 is broken" in found.provider.sentence
        assert look(reference(control="broken"), entry(1)).provider.status == "could not measure"

    def test_a_newest_reference_that_can_t_be_read(self) -> None:
        """An older one never stands in for it: what it would find, or not find, was accepted or corrected by the new one."""
        lost = UnreadableEntry(run="r", evaluation="watch-005", problem="not logged", role="reference", at=NOON + 5 * DAY_S)
        found = look(reference(), *days(1, 14), unreadable=(lost,))
        assert (found.provider.status, found.exit_code) == ("could not measure", 4)
        assert "the newest reference, watch-005, can't be read: not logged" in found.provider.sentence
        assert look(*days(1, 3), unreadable=(lost,)).provider.status == "could not measure"
        older = lost.model_copy(update={"at": NOON - DAY_S})
        a_day = lost.model_copy(update={"role": "day"})
        assert look(reference(), *days(1, 14), unreadable=(older, a_day)).provider.status == "no drift"

    def test_a_reference_without_a_mark_that_can_t_be_read(self) -> None:
        """The look before knows it: the next large evaluation does not take its place."""
        entries = days(0, 14, trials=10)
        before = look(*entries)
        assert before.provider.reference == "watch-000"
        lost = UnreadableEntry(run="r", evaluation="watch-000", problem="no such file", at=NOON)
        history = SeriesHistory(deployment="bot", experiment="watch", entries=tuple(entries[1:]), unreadable=(lost,))
        found = judge_drift(Material(history, executed(), entries[-1].created_at, before), "drift-2")
        assert (found.configuration.status, found.provider.status) == ("could not measure", "could not measure")
        assert "the newest reference, watch-000, can't be read" in found.provider.sentence
        again = judge_drift(Material(history, executed(), entries[-1].created_at, found), "drift-3")
        assert again.provider == found.provider

    def test_an_older_reference_dates_no_change(self) -> None:
        """The reference that can't be read may have been measured for the contract of today."""
        lost = UnreadableEntry(run="r", evaluation="watch-005", problem="not logged", role="reference", at=NOON + 5 * DAY_S)
        found = look(reference(), *days(1, 4), *days(6, 9, configuration=EDITED), unreadable=(lost,))
        assert (found.configuration.status, found.exit_code) == ("could not measure", 4)
        assert not [alarm for alarm in found.alarms if alarm.level == "alarm"]

    def test_a_run_that_stopped_and_could_not_be_read_before(self) -> None:
        """Forty days of silence are told first."""
        lost = UnreadableEntry(run="r", evaluation="watch-006", problem="not logged", at=NOON + 6 * DAY_S)
        found = look(reference(), *days(1, 5), unreadable=(lost,), after_days=41).provider
        assert "the newest evaluation is of 2026-10-08, 40 days ago" in found.sentence

    def test_an_evaluation_of_the_future(self) -> None:
        """A wrong clock's evaluation is left out and named, so that it can't hide that the daily run stopped."""
        entries = (reference(), *days(1, 5), entry(100))
        now = NOON + 20 * DAY_S
        history = as_of(SeriesHistory(deployment="bot", experiment="watch", entries=entries), now)
        found = judge_drift(Material(history, executed(), now), "drift-1")
        assert found.provider.status == "could not measure"
        assert "is the daily run stopped?" in found.provider.sentence
        assert [one.evaluation for one in found.unreadable] == ["watch-100"]
        assert "later than this look" in found.unreadable[0].problem

    def test_rules_are_the_reference_s(self) -> None:
        """Nobody can loosen them afterwards in the spec of a day."""
        loose = WatchRules(max_missing=1, max_age_days=3000)
        assert look(reference(), *days(1, 5), unmeasured(entry(6, rules=loose))).provider.status == "could not measure"
        assert look(reference(), *days(1, 5, rules=loose), after_days=50).provider.status == "could not measure"

    def test_a_thin_reference(self) -> None:
        """A reference whose own trials were lost, or that has too few, is none."""
        assert "have no verdict" in look(unmeasured(reference(), 0.5), entry(1)).provider.sentence
        assert "it takes 10" in look(reference(trials=4), entry(1)).provider.sentence

    def test_frozen_replies_that_were_not_executed(self) -> None:
        """The toolchain is unmeasured, the provider is not where the programs are the same."""
        found = look(reference(), *days(1, 14), toolchain=ToolchainDrift(status="could not measure", sentence="no sandbox"))
        assert (found.provider.status, found.exit_code) == ("no drift", 4)


class TestConfiguration:
    """A changed configuration forbids to compare scores across it."""

    def test_no_provider_verdict_across_an_edit(self) -> None:
        """Drift of the configuration, however much worse the scores are; drift outranks what can't be measured."""
        found = look(reference(), *days(1, 3), *days(4, 9, 0.0, configuration=EDITED))
        assert (found.configuration.status, found.provider.status, found.exit_code) == ("drift", "could not measure", 1)
        assert "contract.digest" in found.provider.sentence
        assert [day.used for day in found.provider.days] == [True] * 3 + [False] * 6

    def test_a_finding_stays_behind_an_edit(self) -> None:
        """Worse answers that were found before somebody edited the contract are not made undone by that."""
        worse = days(1, 10, 0.5, trials=2)
        before, after = look(reference(), *worse), look(reference(), *worse, *days(11, 12, configuration=EDITED))
        assert (after.configuration.status, after.provider.status) == ("drift", "drift")
        assert after.provider.found_on == before.provider.found_on
        assert "contract.digest" in after.provider.unmeasured_today

    def test_days_with_another_configuration_that_was_taken_back(self) -> None:
        """They are left out with the reason, the others count."""
        found = look(reference(), *days(1, 3), *days(4, 5, 0.0, configuration=EDITED), *days(6, 14))
        assert (found.configuration.status, found.provider.status) == ("no drift", "no drift")
        assert [day.day for day in found.provider.days if not day.used] == ["2026-10-06", "2026-10-07"]
        assert "another configuration" in found.provider.days[3].why_not

    def test_an_edited_task_is_set_apart(self) -> None:
        """It alone is not compared."""
        changed = {task: ("f" * 64 if task == TASKS[0] else digest) for task, digest in reference().tasks.items()}
        found = look(reference(), *days(1, 14, tasks=changed))
        assert found.provider.set_apart == {TASKS[0]: "edited since the reference"}
        assert found.provider.tasks == len(TASKS) - 1

    def test_a_finding_stays_where_its_tasks_are_edited_later(self) -> None:
        """Two tasks got worse and are edited on the last day: what was found before is not undone by that."""
        failing = {task: 0.0 if task in TASKS[:2] else 1.0 for task in TASKS}
        edited = {task: ("f" * 64 if task in TASKS[:2] else digest) for task, digest in reference().tasks.items()}
        worse = [entry(number, failing, trials=2) for number in range(1, 15)]
        before, after = look(reference(), *worse), look(reference(), *worse, entry(15, tasks=edited))
        assert (before.provider.status, after.provider.status) == ("drift", "drift")
        assert after.provider.found_on == before.provider.found_on
        assert set(after.provider.set_apart) == set(TASKS[:2])

    def test_days_with_an_edited_task_that_was_put_back(self) -> None:
        """Its trials of those days are in no sum: they failed at another task."""
        edited = {task: ("f" * 64 if task in TASKS[:4] else digest) for task, digest in reference().tasks.items()}
        failing = {task: 0.0 if task in TASKS[:4] else 1.0 for task in TASKS}
        changed = [entry(day, failing, tasks=edited, trials=3) for day in (3, 4, 5)]
        found = look(reference(), *days(1, 2), *changed, *days(6, 14))
        assert (found.configuration.status, found.provider.status) == ("no drift", "no drift")
        assert found.provider.set_apart == {}
        assert [day.planned for day in found.provider.days][1:4] == [8, 12, 12]

    def test_another_served_name_is_no_drift(self) -> None:
        """It is reported as a notice: nothing came out otherwise."""
        found = look(reference(), *days(1, 7), *days(8, 14, configuration=configured(model__served="bot-1101")))
        assert found.exit_code == 0
        assert [(alarm.cause, alarm.level) for alarm in found.alarms] == [("provider", "notice")]
        assert "bot-1101" in found.alarms[0].sentence


class TestToolchain:
    """What the toolchain does to frozen replies is not the provider's doing."""

    def flips(self, first: SeriesEntry, *tasks: str) -> ToolchainDrift:
        """All replies of these tasks come out wrong with the programs of now."""
        found = tuple(
            Flip(task=task, index=index, passed_before=True, passed_now=False, times=6)
            for task in tasks
            for index in range(first.planned_trials)
        )
        return executed(status="drift", flips=found, toolchain=NEW, evidence=evidence_of(first, NEW, tasks))

    def changed(self, first: int, last: int, *wrong: str) -> list[SeriesEntry]:
        passes = {task: 0.0 if task in wrong else 1.0 for task in TASKS}
        programs = configured(toolchain__programs__awk="gawk 5.2.1")
        return [entry(number, passes, toolchain=NEW, configuration=programs) for number in range(first, last + 1)]

    def test_flipped_tasks_are_no_provider_drift(self) -> None:
        """Two tasks that fail since awk is another one: toolchain drift, and the provider's score did not move."""
        first = reference()
        found = look(first, *days(1, 7), *self.changed(8, 21, *TASKS[:2]), toolchain=self.flips(first, *TASKS[:2]))
        assert (found.toolchain.status, found.provider.status, found.exit_code) == ("drift", "no drift", 1)
        assert set(found.provider.set_apart) == set(TASKS[:2])

    def test_both_at_once_are_told_apart(self) -> None:
        """Two tasks flip, and four others are answered worse: both are drift, each with its own tasks."""
        first = reference()
        found = look(first, *days(1, 7), *self.changed(8, 21, *TASKS[:6]), toolchain=self.flips(first, *TASKS[:2]))
        assert (found.toolchain.status, found.provider.status) == ("drift", "drift")
        assert {one.task for one in found.provider.task_changes if one.recent < one.reference} == set(TASKS[2:6])
        assert {alarm.cause for alarm in found.alarms if alarm.level == "alarm"} == {"toolchain", "provider"}

    def test_days_with_programs_that_were_never_measured(self) -> None:
        """What those programs do to the frozen replies is not known, so their days don't count."""
        found = look(reference(), *days(1, 7), *self.changed(8, 9), *days(10, 14))
        assert [day.used for day in found.provider.days] == [True] * 7 + [False] * 2 + [True] * 5
        assert "not executed with them" in found.provider.days[7].why_not

    def test_evidence_of_earlier_looks_makes_days_count(self) -> None:
        """Programs of last week, with which a look executed the frozen replies: the task that they break is left out then."""
        first = reference()
        toolchain = executed(evidence=evidence_of(first, NEW, TASKS[:1]))
        found = look(first, *days(1, 7), *self.changed(8, 9, TASKS[0]), *days(10, 14), toolchain=toolchain)
        assert all(day.used for day in found.provider.days)
        assert [day.planned for day in found.provider.days] == [8] * 7 + [7] * 2 + [8] * 5
        assert found.provider.set_apart == {}

    def test_a_finding_stays_where_programs_change_later(self) -> None:
        """Two tasks got worse, and two weeks later other programs break their frozen replies as well."""
        failing = {task: 0.0 if task in TASKS[:2] else 1.0 for task in TASKS}
        worse = [entry(number, failing, trials=2) for number in range(1, 15)]
        first = reference()
        found = look(first, *worse, *self.changed(15, 15, *TASKS[:2]), toolchain=self.flips(first, *TASKS[:2]))
        assert (found.toolchain.status, found.provider.status) == ("drift", "drift")
        assert look(first, *worse).provider.found_on == found.provider.found_on

    def test_a_look_from_another_machine(self) -> None:
        """What programs do with which no day was run keeps no day from counting, in that look and in later ones."""
        first = reference()
        for foreign in (self.flips(first, *TASKS), executed(evidence=evidence_of(first, NEW, TASKS))):
            found = look(first, *days(1, 14), toolchain=foreign).provider
            assert (found.status, found.set_apart) == ("no drift", {})

    def test_replies_that_turn_with_the_same_programs(self) -> None:
        """All replies of two tasks turn, and no recorded program differs: whatever it is, it is not the provider's doing. A look
        that executes nothing knows it, too."""
        first = reference()
        failing = {task: 0.0 if task in TASKS[:2] else 1.0 for task in TASKS}
        turned = [entry(number, failing, trials=2) for number in range(1, 15)]
        evidence = (*turning(first, OLD, TASKS[0], range(10)), *turning(first, OLD, TASKS[1], range(10)))
        for toolchain in (
            executed(evidence=evidence),
            ToolchainDrift(status="could not measure", sentence="", evidence=evidence),
        ):
            found = look(first, *turned, toolchain=toolchain).provider
            assert (found.status, set(found.set_apart)) == ("no drift", set(TASKS[:2]))
        few = executed(evidence=(*turning(first, OLD, TASKS[0], range(3)), *turning(first, OLD, TASKS[1], range(3))))
        assert look(first, *turned, toolchain=few).provider.status == "drift"

    def test_replies_that_turn_with_other_programs_later(self) -> None:
        """Programs of today show replies both ways: days with the programs of before keep what they found."""
        first = reference()
        failing = {task: 0.0 if task in TASKS[:2] else 1.0 for task in TASKS}
        worse = [entry(number, failing, trials=2) for number in range(1, 15)]
        racy = executed(toolchain=NEW, evidence=turning(first, NEW, TASKS[0], range(10)))
        assert look(first, *worse, *self.changed(15, 15), toolchain=racy).provider.status == "drift"

    def test_a_single_replay_is_no_flip(self) -> None:
        """A reply that came out otherwise once with the programs of some days was interrupted: its task is compared."""
        first = reference()
        once = tuple(one.model_copy(update={"fails": one.fails and 1}) for one in evidence_of(first, NEW, TASKS[:1]))
        assert look(first, *self.changed(1, 14), toolchain=executed(toolchain=NEW, evidence=once)).provider.set_apart == {}

    def test_too_few_tasks_left(self) -> None:
        """Where most tasks flip, nothing is said about the provider."""
        first = reference()
        found = look(first, *self.changed(1, 7, *TASKS[:5]), toolchain=self.flips(first, *TASKS[:5]))
        assert (found.toolchain.status, found.provider.status) == ("drift", "could not measure")
        assert "only 3 of the reference's 8 tasks can be compared" in found.provider.sentence

    def test_what_counts_as_measured(self) -> None:
        """The reference's own programs, and those with which at least half of its replies were executed."""
        first = reference()
        few, many = evidence_of(first, "few")[:20], evidence_of(first, "many")
        assert measured_toolchains(first, executed(evidence=(*few, *many))) == {OLD, "many"}

    def test_what_touches_a_task(self) -> None:
        """A reply that other programs showed otherwise, each time or both ways, unless the reference's own do, too."""
        first = reference()
        evidence = evidence_of(first, NEW, TASKS[:1])
        assert touched_tasks(first, executed(evidence=evidence), NEW) == (TASKS[0],)
        both_ways = tuple(one.model_copy(update={"passes": 1}) if one.fails else one for one in evidence)
        assert touched_tasks(first, executed(evidence=both_ways), NEW) == (TASKS[0],)
        own = turning(first, OLD, TASKS[0], range(10))
        assert touched_tasks(first, executed(evidence=(*evidence, *own)), NEW) == ()
        assert touched_tasks(first, executed(evidence=evidence), "another") == ()


def turning(first: SeriesEntry, toolchain: str, task: str, indexes: Iterable[int]) -> tuple[FrozenOutcome, ...]:
    """These replies of a task came out right in the reference and wrong later, with the same programs."""
    return tuple(
        FrozenOutcome(task=task, index=index, toolchain=toolchain, passes=first.planned_trials, fails=6) for index in indexes
    )


def _shaky(trial: EntryTrial) -> EntryTrial:
    return trial.model_copy(update={"passed": None, "unstable": True})


def _only(found: SeriesEntry, tasks: dict[str, str]) -> SeriesEntry:
    """The same evaluation of fewer tasks."""
    trials = tuple(trial for trial in found.trials if trial.task in tasks)
    return found.model_copy(update={"tasks": tasks, "trials": trials})


class TestProvider:
    """The same configuration sampled again."""

    def test_worse_answers_are_found(self) -> None:
        """Four of eight tasks fail from the eighth day on: provider drift, dated, worse, exit code 1."""
        worse = {task: 0.0 if task in TASKS[:4] else 1.0 for task in TASKS}
        found = look(reference(), *days(1, 7), *(entry(number, worse) for number in range(8, 15)))
        assert (found.provider.status, found.provider.direction, found.exit_code) == ("drift", "worse", 1)
        assert found.provider.found_on
        assert "2026-10-10" <= found.provider.found_on <= "2026-10-16"

    def test_a_finding_that_is_explained_later(self) -> None:
        """Nothing is silently over: the look that takes a finding back says so, and the looks after it."""
        first = reference()
        failing = {task: 0.0 if task in TASKS[:2] else 1.0 for task in TASKS}
        entries = [first, *(entry(number, failing, trials=2) for number in range(1, 15))]
        before = look(*entries)
        evidence = (*turning(first, OLD, TASKS[0], range(10)), *turning(first, OLD, TASKS[1], range(10)))
        history = SeriesHistory(deployment="bot", experiment="watch", entries=tuple(entries))
        for _ in range(2):
            found = judge_drift(Material(history, executed(evidence=evidence), entries[-1].created_at, before), "drift-2")
            assert (found.provider.status, found.provider.taken_back) == ("no drift", "2026-10-03")
            (notice,) = [alarm for alarm in found.alarms if alarm.cause == "provider"]
            assert "what was found on 2026-10-03 against the reference watch-000 is no finding any more" in notice.sentence
            before = found
        lost = UnreadableEntry(run="r", evaluation="watch-000", problem="no file", role="reference", at=first.created_at)
        without = history.model_copy(update={"entries": tuple(entries[1:]), "unreadable": (lost,)})
        blind = judge_drift(Material(without, executed(), entries[-1].created_at, before), "drift-2")
        assert (blind.provider.status, blind.provider.taken_back) == ("could not measure", "2026-10-03")
        assert not [alarm for alarm in blind.alarms if alarm.level == "notice"]
        renewed = history.model_copy(update={"entries": (*entries, reference(day=15))})
        assert judge_drift(Material(renewed, executed(), NOON + 15 * DAY_S, before), "drift-3").provider.taken_back is None

    def test_a_finding_stays_until_there_is_a_new_reference(self) -> None:
        """Also when the last day could not be measured; a new reference accepts what changed."""
        entries = [reference(), *days(1, 10, 0.5, trials=2)]
        unknown = look(*entries, unmeasured(entry(11))).provider
        assert unknown.status == "drift"
        assert unknown.unmeasured_today.startswith("100 % of the trials of watch-011 have no verdict")
        assert look(*entries, reference(0.5, day=11), *days(12, 20, 0.5, trials=2)).provider.status != "drift"


def test_evaluations_of_fresh_runners_are_told_apart() -> None:
    """Two runners without a common store give their first evaluations one id: the day counts all the same."""
    first = reference()
    same = [entry(number, 0.0, evaluation=first.evaluation) for number in range(1, 8)]
    found = look(first, *same)
    assert (found.configuration.status, found.provider.status) == ("no drift", "drift")
    assert [day.planned > 0 for day in found.provider.days] == [True] * 7


def test_a_deployment_without_an_evaluation_is_refused() -> None:
    """There is nothing to look at."""
    with pytest.raises(ValueError, match="without an evaluation"):
        judge_drift(Material(SeriesHistory(deployment="bot", experiment="watch", entries=()), executed(), NOON), "drift-1")
