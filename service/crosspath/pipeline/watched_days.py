"""What is compared with a reference on which day: dates, evaluations that are no measurement, tasks that are set apart.

A task is left out only on days on which something else explains what came of it, so that an edit or an update of today does not
undo what was found before.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosspath.analysis.provider_drift import Day
from crosspath.analysis.toolchain_drift import REPLAYS
from crosspath.dates import day_of
from crosspath.pipeline.configuration_drift import breaking_between
from crosspath.types.drift import NoMeasurement, SeriesEntry, ToolchainDrift, WatchRules

LEAST_SHARE = 0.5
"""With fewer of the reference's tasks left than this share, nothing is said about the provider. So much of the frozen replies
must have been seen with a toolchain before days with it count."""
EDITED = "edited since the reference"
OTHER_PROGRAMS = "its programs are others than the reference's, and the frozen replies were not executed with them"
GONE = "not evaluated any more"
RACY = "most of its frozen replies come out both ways with the same programs"
TOUCHED = "its frozen replies come out otherwise with other programs"


@dataclass(frozen=True)
class WatchedDays:
    """The evaluations of a deployment since its reference."""

    reference: SeriesEntry
    entries: Sequence[SeriesEntry]
    """All of the deployment, oldest first."""
    toolchain: ToolchainDrift
    """What became of the frozen replies."""

    def days(self) -> Iterator[Day]:
        """The dates after the reference, those that are no measurement with the reason."""
        by_date: dict[str, list[SeriesEntry]] = defaultdict(list)
        for entry in self._since:
            by_date[day_of(entry.created_at)].append(entry)
        for day, entries in sorted(by_date.items()):
            why = {entry.key: self._why_not(entry)[1] for entry in entries}
            used = tuple(_without(entry, self._apart(entry)) for entry in entries if not why[entry.key])
            yield Day(day, used or tuple(entries), bool(used), "" if used else why[entries[-1].key])

    def newest_unused(self) -> tuple[NoMeasurement, str]:
        """Why the newest evaluation is no measurement, for the next step and in words; empty where it is one, or is no day. An
        earlier one of its date, which is one, says nothing of later."""
        newest = self.entries[-1]
        return self._why_not(newest) if self._since and newest.role == "day" else ("", "")

    def set_apart(self, edited: Collection[str]) -> dict[str, str]:
        """What is compared in no evaluation of the newest date; before there is one, what was ``edited`` since."""
        tasks = self.reference.tasks
        if not self._since:
            return {task: EDITED for task in edited if task in tasks}
        newest = [entry for entry in self._since if day_of(entry.created_at) == day_of(self._since[-1].created_at)]
        gone = dict.fromkeys((task for task in tasks if all(task not in entry.tasks for entry in newest)), GONE)
        apart = [self._apart(entry) for entry in newest]
        return gone | {task: why for task, why in apart[-1].items() if all(task in one for one in apart)}

    @cached_property
    def _since(self) -> list[SeriesEntry]:
        return [one for one in self.entries if one.role == "day" and one.created_at > self.reference.created_at]

    @cached_property
    def _measured(self) -> frozenset[str]:
        return measured_toolchains(self.reference, self.toolchain)

    @cached_property
    def _racy(self) -> tuple[str, ...]:
        return racy_tasks(self.reference, self.toolchain)

    @cached_property
    def _touched(self) -> dict[str, tuple[str, ...]]:
        """Toolchain of some day -> tasks."""
        return {name: touched_tasks(self.reference, self.toolchain, name) for name in {one.toolchain for one in self._since}}

    def _why_not(self, entry: SeriesEntry) -> tuple[NoMeasurement, str]:
        if problem := problem_of(entry, self.reference.rules):
            return "day", problem
        if breaking := breaking_between(self.reference, entry):
            return "configuration", f"another configuration than the reference's ({', '.join(one.field for one in breaking[:3])})"
        if entry.toolchain not in self._measured:
            return "programs", OTHER_PROGRAMS
        tasks, apart = self.reference.tasks, self._apart(entry)
        left = len(tasks.keys() & entry.tasks.keys() - apart.keys())
        if left < LEAST_SHARE * len(tasks):
            return "tasks", f"only {left} of the reference's {len(tasks)} tasks can be compared: {_reasons(tasks, entry, apart)}"
        return "", ""

    def _apart(self, entry: SeriesEntry) -> dict[str, str]:
        """Tasks whose scores on that day would mix something else with the provider's doing."""
        tasks = self.reference.tasks
        edited = [task for task, digest in tasks.items() if entry.tasks.get(task, digest) != digest]
        touched = [task for task in self._touched[entry.toolchain] if task in tasks]
        return dict.fromkeys(self._racy, RACY) | dict.fromkeys(touched, TOUCHED) | dict.fromkeys(edited, EDITED)


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


def _reasons(tasks: Mapping[str, str], entry: SeriesEntry, apart: Mapping[str, str]) -> str:
    reasons = Counter(apart[task] for task in tasks if task in apart)
    reasons[GONE] = len(tasks.keys() - entry.tasks.keys() - apart.keys())
    return ", ".join(f"{number} {why}" for why, number in reasons.most_common() if number)


def measured_toolchains(reference: SeriesEntry, toolchain: ToolchainDrift) -> frozenset[str]:
    """Toolchains of which is known what they do to the frozen replies: the reference's own, and those they were executed with."""
    seen = Counter(one.toolchain for one in toolchain.evidence if one.passes + one.fails)
    enough = LEAST_SHARE * sum(trial.passed is not None for trial in reference.trials)
    return frozenset({reference.toolchain, *(name for name, replies in seen.items() if replies >= enough)})


def touched_tasks(reference: SeriesEntry, toolchain: ToolchainDrift, name: str) -> tuple[str, ...]:
    """Tasks of which some frozen reply came out otherwise with the toolchain ``name`` than in the reference, each time, often
    enough to be a flip."""
    if name == reference.toolchain:
        return ()
    before = {(trial.task, trial.index): trial.passed for trial in reference.trials}
    shaky = set(toolchain.unstable)
    seen = (one for one in toolchain.evidence if one.toolchain == name and (one.task, one.index) not in shaky)
    steady = (one for one in seen if one.passes + one.fails >= REPLAYS and not (one.passes and one.fails))
    return tuple(dict.fromkeys(one.task for one in steady if before.get((one.task, one.index)) == (one.passes == 0)))


def racy_tasks(reference: SeriesEntry, toolchain: ToolchainDrift) -> tuple[str, ...]:
    """Tasks of which at least half of the frozen replies come out both ways with the same programs: whatever is recorded of these
    does not say how a reply comes out."""
    replies = Counter(trial.task for trial in reference.trials if trial.reply)
    unstable = Counter(task for task, _ in toolchain.unstable)
    return tuple(task for task, number in unstable.items() if replies[task] and number >= LEAST_SHARE * replies[task])
