"""One look at a deployment: its reference, its days, and what the three parts say. A pure function of the series and of what
became of the frozen replies.

The order matters. A changed configuration forbids to compare scores across it; what the toolchain does to frozen replies is no
change of the model; only what is left is the provider's.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosspath import __version__
from crosspath.analysis.drift_alarms import alarms
from crosspath.analysis.provider_drift import Day, provider_drift
from crosspath.analysis.toolchain_drift import REPLAYS
from crosspath.dates import day_of
from crosspath.pipeline.configuration_drift import breaking_between, configuration_drift
from crosspath.types.drift import (
    LEAST_REFERENCE_TRIALS,
    ConfigurationDrift,
    Drift,
    NoMeasurement,
    ProviderDrift,
    SeriesEntry,
    SeriesHistory,
    SeriesPoint,
    ToolchainDrift,
    UnreadableEntry,
    WatchRules,
)

LEAST_SHARE = 0.5
"""With fewer of the reference's tasks left than this share, nothing is said about the provider. So much of the frozen replies
must have been seen with a toolchain before days with it count."""
EDITED = "edited since the reference"
OTHER_PROGRAMS = "its programs are others than the reference's, and the frozen replies were not executed with them"
GONE = "not evaluated any more"
RACY = "most of its frozen replies come out both ways with the same programs"
TOUCHED = "its frozen replies come out otherwise with other programs"
CLOCKS_APART_S = 600.0
"""So much may the clocks of two machines differ."""
_DAY_S = 86400.0


@dataclass(frozen=True)
class Material:
    """Everything that a look is drawn from."""

    history: SeriesHistory
    toolchain: ToolchainDrift
    """What became of the frozen replies; ``could not measure`` where they were not executed."""
    now: float


def reference_of(entries: Sequence[SeriesEntry]) -> SeriesEntry | None:
    """What later evaluations are compared with: the newest that was measured as reference; else the first one with enough trials
    on which the tasks were not chosen. A changed configuration is an alarm until somebody measures a reference of it: it must not
    become its own."""
    marked = [entry for entry in entries if entry.role == "reference"]
    if marked:
        return marked[-1]
    large = (entry for entry in _could_be_reference(entries) if entry.planned_trials >= LEAST_REFERENCE_TRIALS)
    return next(large, None)


def _could_be_reference(entries: Sequence[SeriesEntry]) -> Iterator[SeriesEntry]:
    """Whatever their trials."""
    return (entry for entry in entries if not _chose_tasks(entry, entries) and not _problem(entry, entry.rules))


def _chose_tasks(entry: SeriesEntry, entries: Sequence[SeriesEntry]) -> bool:
    """Whether the tasks were chosen on it. One that says so itself only has the same id: a watch is written after that sample."""
    return entry.evaluation in {one.chosen_on for one in entries} and entry.chosen_on != entry.evaluation


def as_of(history: SeriesHistory, now: float) -> SeriesHistory:
    """Without what was made later than the look: it says nothing of today, and some clock is wrong."""
    late = [entry for entry in history.entries if entry.created_at > now + CLOCKS_APART_S]
    kept = tuple(entry for entry in history.entries if entry not in late)
    unreadable = (_of_the_future(entry) for entry in late)
    return history.model_copy(update={"entries": kept, "unreadable": (*history.unreadable, *unreadable)})


def _of_the_future(entry: SeriesEntry) -> UnreadableEntry:
    problem = f"it was made on {day_of(entry.created_at)}, later than this look: is a clock wrong?"
    return UnreadableEntry(
        run=entry.run or "", evaluation=entry.evaluation, problem=problem, role=entry.role, at=entry.created_at
    )


def frozen_of(entries: Sequence[SeriesEntry]) -> SeriesEntry:
    """The evaluation whose replies are executed again: the reference, else the first one."""
    return reference_of(entries) or entries[0]


def lost_reference(history: SeriesHistory) -> UnreadableEntry | None:
    """A reference that is newer than the one that can be read: an older one must not stand in for it."""
    reference = reference_of(history.entries)
    lost = [one for one in history.unreadable if one.role == "reference"]
    newer = (one for one in lost if reference is None or one.at is None or one.at > reference.created_at)
    return next(newer, None)


def judge_drift(look: Material, name: str) -> Drift:
    """What a look finds. The history is that up to the look, see :func:`as_of`.

    Raises:
        ValueError: the history has no entry.
    """
    entries = look.history.entries
    if not entries:
        raise ValueError("a deployment without an evaluation has no drift")
    reference = reference_of(entries)
    configuration = configuration_drift(entries, reference, look.toolchain.fields, look.now)
    provider = _told_apart(_Provider(look, reference, configuration).drift(), reference, entries)
    return Drift(
        id=name,
        deployment=look.history.deployment,
        candidate=entries[-1].candidate,
        experiment=look.history.experiment,
        created_at=look.now,
        points=tuple(_point(entry, reference.rules if reference else None) for entry in entries),
        unreadable=look.history.unreadable,
        configuration=configuration,
        toolchain=look.toolchain,
        provider=provider,
        alarms=alarms(configuration, look.toolchain, provider, look.history.deployment),
        crosspath=__version__,
    )


def _told_apart(part: ProviderDrift, reference: SeriesEntry | None, entries: Sequence[SeriesEntry]) -> ProviderDrift:
    """With the run of its reference, where another evaluation has its id."""
    if reference is None or not part.reference or sum(one.evaluation == reference.evaluation for one in entries) < 2:
        return part
    return part.model_copy(update={"reference_run": reference.run})


def _point(entry: SeriesEntry, rules: WatchRules | None) -> SeriesPoint:
    """``rules``: those of the reference; None: there is none."""
    shared = entry.model_dump(include={"evaluation", "run", "created_at", "role", "requests", "cost_usd"})
    measured = {"missing": entry.missing_share, "why_not": _problem(entry, rules or entry.rules)}
    return SeriesPoint(**shared, **measured, rate=entry.rate, effects=entry.effects)


def _problem(entry: SeriesEntry, rules: WatchRules) -> str:
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


class _Provider:
    """The third part, with what keeps it from being measured."""

    def __init__(self, look: Material, reference: SeriesEntry | None, configuration: ConfigurationDrift) -> None:
        self._look = look
        self._entries = look.history.entries
        self._reference = reference
        self._configuration = configuration

    def drift(self) -> ProviderDrift:
        """What the newest days say beyond the toolchain, or why that can't be said."""
        reference = self._reference
        if lost := lost_reference(self._look.history):
            sentence = f"could not measure: the newest reference, {lost.evaluation or lost.run}, can't be read: {lost.problem}"
            return ProviderDrift(status="could not measure", sentence=sentence)
        if reference is None:
            return ProviderDrift(status="not enough", sentence=self._no_reference())
        if unusable := self._unusable(reference):
            return self._unmeasured(reference, unusable)
        days = tuple(self._days(reference))
        found = provider_drift(reference, days, self._set_apart(reference))
        why, words = self._not_today(days)
        if not why:
            return found
        # What was found on earlier days stays found, whatever keeps today from being measured.
        today = {"why": why, "unmeasured_today": words}
        if found.status != "drift":
            today |= {"status": "could not measure", "sentence": f"could not measure: {words}"}
        return found.model_copy(update=today)

    def _no_reference(self) -> str:
        most = max((entry.planned_trials for entry in _could_be_reference(self._entries)), default=None)
        seen = "none can be one" if most is None else f"the largest that can be one has {most}"
        return (
            f"there is nothing to compare with: a reference has at least {LEAST_REFERENCE_TRIALS} trials a task, and of "
            f"{len(self._entries)} {'evaluation' if len(self._entries) == 1 else 'evaluations'} {seen}"
        )

    def _unusable(self, reference: SeriesEntry) -> str:
        """Why the reference can't be compared with anything."""
        if _chose_tasks(reference, self._entries):
            return f"the tasks were chosen on {reference.evaluation}, so it can't be their reference: measure another"
        if reference.planned_trials < LEAST_REFERENCE_TRIALS:
            return f"the reference has {reference.planned_trials} trials a task; it takes {LEAST_REFERENCE_TRIALS}"
        return _problem(reference, reference.rules)

    def _unmeasured(self, reference: SeriesEntry, why: str) -> ProviderDrift:
        return ProviderDrift(
            status="could not measure",
            sentence=f"could not measure: {why}",
            reference=reference.evaluation,
            reference_at=reference.created_at,
            reference_trials=reference.planned_trials,
            alpha=reference.rules.alpha,
            horizon_days=reference.rules.horizon_days,
        )

    def _set_apart(self, reference: SeriesEntry) -> dict[str, str]:
        """What is compared in no evaluation of the newest date; before there is one, what was edited since."""
        since = [entry for entry in self._entries if entry.role == "day" and entry.created_at > reference.created_at]
        if not since:
            return {task: EDITED for task in self._configuration.edited_tasks if task in reference.tasks}
        newest = [entry for entry in since if day_of(entry.created_at) == day_of(since[-1].created_at)]
        gone = dict.fromkeys((task for task in reference.tasks if all(task not in entry.tasks for entry in newest)), GONE)
        apart = [self._apart(reference, entry) for entry in newest]
        return gone | {task: why for task, why in apart[-1].items() if all(task in one for one in apart)}

    def _apart(self, reference: SeriesEntry, entry: SeriesEntry) -> dict[str, str]:
        """Tasks whose scores on that day would mix something else with the provider's doing. Other days keep them."""
        digests = reference.tasks
        racy = racy_tasks(reference, self._look.toolchain)
        edited = [task for task, digest in digests.items() if entry.tasks.get(task, digest) != digest]
        touched = [task for task in touched_tasks(reference, self._look.toolchain, entry.toolchain) if task in digests]
        return dict.fromkeys(racy, RACY) | dict.fromkeys(touched, TOUCHED) | dict.fromkeys(edited, EDITED)

    # -- days --------------------------------------------------------------------------------------------------------------

    def _days(self, reference: SeriesEntry) -> Iterator[Day]:
        """The dates after the reference, those that are no measurement with the reason."""
        measured = measured_toolchains(reference, self._look.toolchain)
        by_date: dict[str, list[SeriesEntry]] = defaultdict(list)
        for entry in self._entries:
            if entry.role == "day" and entry.created_at > reference.created_at:
                by_date[day_of(entry.created_at)].append(entry)
        for day, entries in sorted(by_date.items()):
            why = {entry.key: self._why_not(reference, entry, measured) for entry in entries}
            used = tuple(_without(entry, self._apart(reference, entry)) for entry in entries if not why[entry.key])
            yield Day(day, used or tuple(entries), bool(used), "" if used else why[entries[-1].key])

    def _why_not(self, reference: SeriesEntry, entry: SeriesEntry, measured: Collection[str]) -> str:
        if problem := _problem(entry, reference.rules):
            return problem
        if breaking := breaking_between(reference, entry):
            return f"another configuration than the reference's ({', '.join(one.field for one in breaking[:3])})"
        if entry.toolchain not in measured:
            return OTHER_PROGRAMS
        apart = self._apart(reference, entry)
        left = len(reference.tasks.keys() & entry.tasks.keys() - apart.keys())
        if left < LEAST_SHARE * len(reference.tasks):
            reasons = _reasons(reference, entry, apart)
            return f"only {left} of the reference's {len(reference.tasks)} tasks can be compared: {reasons}"
        return ""

    def _not_today(self, days: Sequence[Day]) -> tuple[NoMeasurement, str]:
        """Why nothing is known of today, for the next step and in words; empty where something is."""
        if self._configuration.breaking:
            return "configuration", self._other_configuration()
        newest = self._entries[-1]
        age_days = (self._look.now - newest.created_at) / _DAY_S
        rules = (self._reference or newest).rules
        if lost := self._lost_today(newest):
            return "unreadable", f"the newest evaluation, {lost.evaluation or lost.run}, can't be read: {lost.problem}"
        if age_days > rules.max_age_days:
            when = f"the newest evaluation is of {day_of(newest.created_at)}, {age_days:.0f} days ago"
            return "stopped", f"{when}: is the daily run stopped?"
        why = self._newest_unused(days)
        return ("programs" if why == OTHER_PROGRAMS else "day", why) if why else ("", "")

    def _other_configuration(self) -> str:
        fields = ", ".join(difference.field for difference in self._configuration.breaking[:5])
        more = len(self._configuration.breaking) - 5
        further = f" and {more} more" if more > 0 else ""
        return f"the configuration is another than the reference's ({fields}{further}): scores can't be compared across that"

    def _newest_unused(self, days: Sequence[Day]) -> str:
        """Why the newest evaluation is no measurement: an earlier one of its date, which is one, says nothing of later."""
        reference, newest = self._reference, self._entries[-1]
        if not days or not reference or newest.role != "day":
            return ""
        return self._why_not(reference, newest, measured_toolchains(reference, self._look.toolchain))

    def _lost_today(self, newest: SeriesEntry) -> UnreadableEntry | None:
        """An evaluation after the newest that can be read."""
        until = self._look.now + CLOCKS_APART_S
        lost = [one for one in self._look.history.unreadable if one.at is not None and newest.created_at < one.at <= until]
        return max(lost, key=lambda one: one.at or 0.0, default=None)


def _without(entry: SeriesEntry, apart: Collection[str]) -> SeriesEntry:
    """Without the tasks that are set apart on that day."""
    if not apart:
        return entry
    tasks = {task: digest for task, digest in entry.tasks.items() if task not in apart}
    return entry.model_copy(update={"tasks": tasks, "trials": tuple(trial for trial in entry.trials if trial.task in tasks)})


def _reasons(reference: SeriesEntry, entry: SeriesEntry, apart: Mapping[str, str]) -> str:
    reasons = Counter(apart[task] for task in reference.tasks if task in apart)
    reasons[GONE] = len(reference.tasks.keys() - entry.tasks.keys() - apart.keys())
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
