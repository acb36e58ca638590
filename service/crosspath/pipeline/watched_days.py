"""What is compared with a reference on which day: dates, evaluations that are no measurement, tasks that are set apart.

A task is left out only on days on which something else explains what came of it, so that an edit or an update of today does not
undo what was found before.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosspath.analysis.drift_naming import listed
from crosspath.analysis.provider_drift import Day
from crosspath.analysis.toolchain_drift import REPLAYS
from crosspath.dates import day_of
from crosspath.pipeline.configuration_drift import breaking_between
from crosspath.types.drift import NoMeasurement, SeriesEntry, ToolchainDrift, WatchRules

LEAST_SHARE = 0.5
"""With fewer of the reference's tasks left than this share, nothing is said about the provider. So much of the frozen replies
must have been seen with a toolchain before days with it count; so many of a task's that come out both ways set it apart."""
EDITED = "edited since the reference"
OTHER_PROGRAMS = "its programs are others than the reference's, and the frozen replies were not executed with them"
GONE = "not evaluated any more"
RACY = "with frozen replies that come out both ways with the same programs"
NO_VERDICT = "without a verdict"
TOUCHED = "with frozen replies that come out otherwise with other programs"


@dataclass(frozen=True)
class WatchedDays:
    """The evaluations of a deployment since its reference."""

    reference: SeriesEntry
    entries: Sequence[SeriesEntry]
    """All of the deployment, oldest first."""
    toolchain: ToolchainDrift
    """What became of the frozen replies."""

    @cached_property
    def days(self) -> tuple[Day, ...]:
        """The dates after the reference, those that are no measurement with the reason."""
        by_date: dict[str, list[SeriesEntry]] = defaultdict(list)
        for entry in self._since:
            by_date[day_of(entry.created_at)].append(entry)
        return tuple(self._day(day, entries) for day, entries in sorted(by_date.items()))

    def newest_unused(self) -> tuple[NoMeasurement, str]:
        """Why the newest evaluation is no measurement, for the next step and in words; empty where it is one, or is no day. An
        earlier one of its date, which is one, says nothing of later."""
        newest = self.entries[-1]
        if not self._since or newest.role != "day":
            return "", ""
        why, words = self._why_not(newest)
        thin = "" if words else self.days[-1].why_not
        return ("tasks", thin) if thin else (why, words)

    @cached_property
    def set_apart(self) -> dict[str, str]:
        """Task -> why it is compared in no evaluation of the newest date."""
        date = self.days[-1].day if self.days else ""
        newest = [entry for entry in self._since if day_of(entry.created_at) == date]
        return self._apart_in_all(newest) if newest else {}

    @cached_property
    def _since(self) -> list[SeriesEntry]:
        return [one for one in self.entries if one.role == "day" and one.created_at > self.reference.created_at]

    @cached_property
    def _measured(self) -> frozenset[str]:
        return measured_toolchains(self.reference, self.toolchain)

    @cached_property
    def _explained(self) -> dict[str, dict[str, str]]:
        """Toolchain of some day -> tasks that it explains, with the reason."""
        names = {one.toolchain for one in self._since}
        return {
            name: dict.fromkeys(racy_tasks(self.reference, self.toolchain, name), RACY)
            | dict.fromkeys(touched_tasks(self.reference, self.toolchain, name), TOUCHED)
            for name in names
        }

    def _day(self, date: str, entries: Sequence[SeriesEntry]) -> Day:
        why = {entry.key: self._why_not(entry)[1] for entry in entries}
        good = [entry for entry in entries if not why[entry.key]]
        if not good:
            return Day(date, tuple(entries), False, why[entries[-1].key])
        thin = self._thin(good)
        return Day(date, tuple(_without(entry, self._apart(entry)) for entry in good), not thin, thin)

    def _why_not(self, entry: SeriesEntry) -> tuple[NoMeasurement, str]:
        if problem := problem_of(entry, self.reference.rules):
            return "day", problem
        if breaking := breaking_between(self.reference, entry):
            fields = listed([one.field for one in breaking])
            return "configuration", f"another configuration than the reference's ({fields})"
        return ("", "") if entry.toolchain in self._measured else ("programs", OTHER_PROGRAMS)

    def _thin(self, entries: Sequence[SeriesEntry]) -> str:
        """Why too few tasks are left on a date; empty where there are enough."""
        tasks, apart = self.reference.tasks, self._apart_in_all(entries)
        left = judged_tasks(self.reference) & set[str]().union(*map(judged_tasks, entries)) - apart.keys()
        if len(left) >= LEAST_SHARE * len(tasks):
            return ""
        reasons = Counter(apart.get(task, NO_VERDICT) for task in tasks if task not in left)
        named = ", ".join(f"{number} {why}" for why, number in reasons.most_common())
        return f"only {len(left)} of the reference's {len(tasks)} tasks can be compared: {named}"

    def _apart_in_all(self, entries: Sequence[SeriesEntry]) -> dict[str, str]:
        """Tasks that are compared in none of these evaluations of a date."""
        gone = dict.fromkeys((task for task in self.reference.tasks if all(task not in one.tasks for one in entries)), GONE)
        apart = [self._apart(entry) for entry in entries]
        return gone | {task: why for task, why in apart[-1].items() if all(task in one for one in apart)}

    def _apart(self, entry: SeriesEntry) -> dict[str, str]:
        """Tasks whose scores on that day would mix something else with the provider's doing."""
        tasks = self.reference.tasks
        edited = [task for task, digest in tasks.items() if entry.tasks.get(task, digest) != digest]
        return self._explained[entry.toolchain] | dict.fromkeys(edited, EDITED)


def judged_tasks(entry: SeriesEntry) -> set[str]:
    """Tasks of which some trial has a verdict."""
    return {trial.task for trial in entry.trials if trial.passed is not None}


def problem_of(entry: SeriesEntry, rules: WatchRules) -> str:
    """Why an evaluation is no measurement, whatever it is compared with; empty where it is one. ``rules``: those of the
    reference, which nobody can loosen afterwards."""
    if entry.control == "broken":
        return f"the control of {entry.evaluation} is broken: its instrument can't be trusted"
    if entry.missing_share > rules.max_missing:
        return f"{100 * entry.missing_share:.0f} % of the trials of {entry.evaluation} have no verdict{_faults(entry)}"
    if all(trial.passed is None for trial in entry.trials):
        return f"no trial of {entry.evaluation} has a verdict{_faults(entry)}"
    return ""


def _faults(entry: SeriesEntry) -> str:
    found = Counter(cause for trial in entry.trials if (cause := trial.cause or "").startswith("fault:"))
    named = ", ".join(f"{number} {cause.removeprefix('fault:')}" for cause, number in found.most_common(3))
    return f" ({named})" if named else ""


def _without(entry: SeriesEntry, apart: Collection[str]) -> SeriesEntry:
    """Without the tasks that are set apart on that day."""
    if not apart:
        return entry
    tasks = {task: digest for task, digest in entry.tasks.items() if task not in apart}
    return entry.model_copy(update={"tasks": tasks, "trials": tuple(trial for trial in entry.trials if trial.task in tasks)})


def measured_toolchains(reference: SeriesEntry, toolchain: ToolchainDrift) -> frozenset[str]:
    """Toolchains of which is known what they do to the frozen replies: the reference's own, and those they were executed with."""
    seen = Counter(one.toolchain for one in toolchain.evidence if one.passes + one.fails)
    enough = LEAST_SHARE * sum(trial.passed is not None for trial in reference.trials)
    return frozenset({reference.toolchain, *(name for name, replies in seen.items() if replies >= enough)})


def touched_tasks(reference: SeriesEntry, toolchain: ToolchainDrift, name: str) -> tuple[str, ...]:
    """Tasks of which some frozen reply came out otherwise with the toolchain ``name`` than in the reference, though it came out
    alike each time with the reference's; it was replayed as often as a flip takes."""
    if name == reference.toolchain:
        return ()
    before = {(trial.task, trial.index): trial.passed for trial in reference.trials}
    racy = _racy(toolchain, reference.toolchain)
    seen = [one for one in toolchain.evidence if one.toolchain == name and one.passes + one.fails >= REPLAYS]
    steady = [one for one in seen if (one.task, one.index) not in racy and before.get((one.task, one.index)) is not None]
    return tuple(dict.fromkeys(one.task for one in steady if (one.fails if before[one.task, one.index] else one.passes)))


def racy_tasks(reference: SeriesEntry, toolchain: ToolchainDrift, name: str) -> tuple[str, ...]:
    """Tasks of which at least half of the frozen replies come out both ways with the toolchain ``name``, or with the reference's:
    whatever is recorded of these does not say how a reply comes out."""
    replies = Counter(trial.task for trial in reference.trials if trial.reply)
    racy = Counter(task for task, _ in _racy(toolchain, name) | _racy(toolchain, reference.toolchain))
    return tuple(task for task, number in racy.items() if replies[task] and number >= LEAST_SHARE * replies[task])


def _racy(toolchain: ToolchainDrift, name: str) -> set[tuple[str, int]]:
    return {(one.task, one.index) for one in toolchain.evidence if one.toolchain == name and one.passes and one.fails}
