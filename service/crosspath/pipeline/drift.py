"""One look at a deployment: its reference, its days, and what the three parts say. A pure function of the series and of what
became of the frozen replies.

The order matters. A changed configuration forbids to compare scores across it; what the toolchain does to frozen replies is no
change of the model; only what is left is the provider's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath import __version__
from crosspath.analysis.drift_alarms import alarms
from crosspath.analysis.drift_naming import LONGEST_NAME, cut, listed
from crosspath.analysis.provider_drift import provider_drift
from crosspath.dates import day_of
from crosspath.pipeline.configuration_drift import configuration_drift
from crosspath.pipeline.watched_days import LEAST_SHARE, WatchedDays, judged_tasks, problem_of
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
    earlier: Drift | None = None
    """The look before."""


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
    return (entry for entry in entries if not _chose_tasks(entry, entries) and not problem_of(entry, entry.rules))


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


def lost_reference(history: SeriesHistory, earlier: Drift | None = None) -> UnreadableEntry | None:
    """A reference that can't be read, and that no other may stand in for: one that is newer than those that can be, or that of
    the look before."""
    reference = reference_of(history.entries)
    marked = [one for one in history.unreadable if one.role == "reference"]
    newer = [one for one in marked if reference is None or one.at is None or one.at > reference.created_at]
    if newer or (reference and reference.role == "reference"):
        return next(iter(newer), None)
    known = (earlier.provider.reference, earlier.provider.reference_at) if earlier else ("", None)
    return next((one for one in history.unreadable if known[0] and (one.evaluation, one.at) == known), None)


def judge_drift(look: Material, name: str) -> Drift:
    """What a look finds. The history is that up to the look, see :func:`as_of`.

    Raises:
        ValueError: the history has no entry.
    """
    entries = look.history.entries
    if not entries:
        raise ValueError("a deployment without an evaluation has no drift")
    reference = reference_of(entries)
    lost = lost_reference(look.history, look.earlier)
    configuration = configuration_drift(entries, reference, look.toolchain.fields, look.now)
    if lost:
        configuration = _unknown_since(configuration, lost)
        provider = _without_reference(lost)
    else:
        provider = _told_apart(_Provider(look, reference, configuration).drift(), reference, entries)
    provider = _beside(provider, look.earlier)
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
        alarms=alarms(configuration, look.toolchain, provider, look.history.deployment, entries[-1].evaluation),
        crosspath=__version__,
    )


def _lost_words(lost: UnreadableEntry) -> str:
    return f"the newest reference, {lost.evaluation or lost.run}, can't be read: {cut(lost.problem, LONGEST_NAME)}"


def _without_reference(lost: UnreadableEntry) -> ProviderDrift:
    """It is named all the same: the next look has to know which one it is."""
    return ProviderDrift(
        status="could not measure",
        why="reference",
        sentence=f"could not measure: {_lost_words(lost)}",
        reference=lost.evaluation,
        reference_at=lost.at,
    )


def _unknown_since(part: ConfigurationDrift, lost: UnreadableEntry) -> ConfigurationDrift:
    """An older reference may be of a configuration that the lost one was measured to replace."""
    nothing = {"since_reference": (), "breaking": (), "edited_tasks": ()}
    return part.model_copy(
        update={"status": "could not measure", "sentence": f"Nothing dates a change: {_lost_words(lost)}"} | nothing
    )


def _beside(part: ProviderDrift, earlier: Drift | None) -> ProviderDrift:
    """With the day of a finding of earlier looks that is none any more, as long as the reference is the same."""
    before = earlier.provider if earlier else None
    same = before is not None and (before.reference, before.reference_at) == (part.reference, part.reference_at)
    if before is None or not same or part.status == "drift":
        return part
    return part.model_copy(update={"taken_back": before.found_on or before.taken_back})


def _told_apart(part: ProviderDrift, reference: SeriesEntry | None, entries: Sequence[SeriesEntry]) -> ProviderDrift:
    """With the run of its reference, where another evaluation has its id."""
    if reference is None or not part.reference or sum(one.evaluation == reference.evaluation for one in entries) < 2:
        return part
    return part.model_copy(update={"reference_run": reference.run})


def _point(entry: SeriesEntry, rules: WatchRules | None) -> SeriesPoint:
    """``rules``: those of the reference; None: there is none."""
    shared = entry.model_dump(include={"evaluation", "run", "created_at", "role", "requests", "cost_usd"})
    measured = {"missing": entry.missing_share, "why_not": problem_of(entry, rules or entry.rules)}
    return SeriesPoint(**shared, **measured, rate=entry.rate, effects=entry.effects)


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
        if reference is None:
            return ProviderDrift(status="not enough", sentence=self._no_reference())
        if unusable := self._unusable(reference):
            return self._unmeasured(reference, unusable)
        watched = WatchedDays(reference, self._entries, self._look.toolchain)
        found = provider_drift(reference, watched.days, watched.set_apart)
        why, words = self._not_today(watched)
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
        judged = len(judged_tasks(reference) & reference.tasks.keys())
        if not (problem := problem_of(reference, reference.rules)) and judged < LEAST_SHARE * len(reference.tasks):
            return f"only {judged} of the reference's {len(reference.tasks)} tasks have a verdict in it"
        return problem

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

    def _not_today(self, watched: WatchedDays) -> tuple[NoMeasurement, str]:
        """Why nothing is known of today, for the next step and in words; empty where something is."""
        if self._configuration.breaking:
            return "configuration", self._other_configuration()
        newest = self._entries[-1]
        lost = self._lost_today(newest)
        last = max(newest.created_at, (lost.at if lost else None) or 0.0)
        age_days = (self._look.now - last) / _DAY_S
        if age_days > watched.reference.rules.max_age_days:
            when = f"the newest evaluation is of {day_of(last)}, {age_days:.0f} days ago"
            return "stopped", f"{when}: is the daily run stopped?"
        if lost:
            problem = cut(lost.problem, LONGEST_NAME)
            return "unreadable", f"the newest evaluation, {lost.evaluation or lost.run}, can't be read: {problem}"
        return watched.newest_unused()

    def _other_configuration(self) -> str:
        fields = listed([difference.field for difference in self._configuration.breaking], 5)
        return f"the configuration is another than the reference's ({fields}): scores can't be compared across that"

    def _lost_today(self, newest: SeriesEntry) -> UnreadableEntry | None:
        """An evaluation after the newest that can be read."""
        until = self._look.now + CLOCKS_APART_S
        lost = [one for one in self._look.history.unreadable if one.at is not None and newest.created_at < one.at <= until]
        return max(lost, key=lambda one: one.at or 0.0, default=None)
