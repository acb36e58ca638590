"""What changed in a deployment's configuration: when, and whether scores before and after can still be compared.

Fields are compared as two candidates' are (:mod:`crosspath.pipeline.axes`): a name counts only where no digest says what it
stands for. What an evaluation could not observe (the served model where nothing answered, the toolchain where nothing ran) is no
change; what was known before stands for it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from crosspath.analysis.drift_naming import field_words, listed
from crosspath.dates import day_of
from crosspath.pipeline.axes import UNSET, CellFields, Fields, differences
from crosspath.types import FieldDifference, digest
from crosspath.types.drift import Bearing, ConfigurationChange, ConfigurationDrift, SeriesEntry

NOW = "now"
"""Stands for an evaluation where the toolchain was looked at, and none was made."""
_DERIVED = ("spec.digest", "lock.digest")
"""Digests of all the others."""
_WITHOUT_EFFECT = ("name", "kind", "commit", "dirty")
_SERVED = ("model.served", "model.fingerprint")
_OF_A_REPLAY = ("toolchain.", "packages.")


def configuration_drift(
    entries: Sequence[SeriesEntry], reference: SeriesEntry | None, now_fields: Mapping[str, str], now: float | None = None
) -> ConfigurationDrift:
    """The timeline between neighbours, and what differs between the reference and the newest evaluation.

    Without a reference the oldest evaluation is where it is measured from. ``now_fields``: fields below ``toolchain.`` and
    ``packages.`` as a replay at ``now`` (seconds since 1970) reports them; none: nobody looked. ``entries``: in any order.
    """
    if not entries:
        return ConfigurationDrift(status="could not measure", sentence="No evaluation of this deployment can be read.")
    seen = _seen(entries, reference)
    found = _Found(seen, reference, _as_of(seen[-1], now_fields, now))
    return ConfigurationDrift(
        status="drift" if found.breaking else "no drift" if found.measured else "not enough",
        sentence=" ".join(found.sentences()),
        base=found.base.evaluation,
        base_is_reference=reference is not None,
        timeline=found.timeline,
        since_reference=tuple(one for one in found.net if bearing_of(one) != "none"),
        breaking=found.breaking,
        edited_tasks=found.edited,
    )


def breaking_between(before: SeriesEntry, after: SeriesEntry) -> tuple[FieldDifference, ...]:
    """Fields in which two evaluations differ so that their scores can't be compared."""
    changed = _differences(_of_entry(before), _of_entry(after))
    return tuple(one for one in changed if bearing_of(one) == "breaking")


def bearing_of(difference: FieldDifference) -> Bearing:
    """What the difference means for a comparison across it."""
    if difference.inert:
        return "none"
    if difference.axis in ("toolchain", "packages"):
        return "replayed"
    return "provider" if difference.axis == "served model" else "breaking"


# -- evaluations as they are compared --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Seen:
    """One evaluation: its fields without tasks and derived digests, and what it could not observe of them."""

    at: float
    evaluation: str
    fields: Fields
    tasks: Mapping[str, str]
    task_digest: str
    unobserved: tuple[str, ...] = ()
    """What stands before the names of fields of which nothing is known."""

    @property
    def key(self) -> tuple[str, float]:
        return self.evaluation, self.at


def _seen(entries: Sequence[SeriesEntry], reference: SeriesEntry | None) -> list[_Seen]:
    """Oldest first, each evaluation once; what one could not observe is as the one before it had it."""
    by_id = {one.key: one for one in (*entries, *([reference] if reference else []))}
    filled: list[_Seen] = []
    for entry in sorted(by_id.values(), key=lambda one: (one.created_at, one.evaluation)):
        own = _of_entry(entry)
        filled.append(_filled(own, filled[-1]) if filled else own)
    return filled


def _of_entry(entry: SeriesEntry) -> _Seen:
    configuration = entry.configuration
    answered = any(trial.reply for trial in entry.trials)
    unobserved = () if answered else tuple(name for name in _SERVED if configuration.get(name, UNSET) == UNSET)
    executed = configuration.get("toolchain.sandbox", UNSET) != UNSET
    unobserved += () if executed else ("toolchain.",)
    fields = {name: value for name, value in configuration.items() if name not in _DERIVED and not name.startswith("tasks.")}
    return _Seen(
        at=entry.created_at,
        evaluation=entry.evaluation,
        fields=_without(fields, unobserved),
        tasks=entry.tasks,
        task_digest=configuration.get("tasks.digest", digest(dict(entry.tasks))),
        unobserved=unobserved,
    )


def _filled(own: _Seen, before: _Seen) -> _Seen:
    """With what was known before of that which it could not observe."""
    known = {name: value for name, value in before.fields.items() if name.startswith(own.unobserved)} if own.unobserved else {}
    still = tuple(prefix for prefix in own.unobserved if prefix in before.unobserved)
    return replace(own, fields={**own.fields, **known}, unobserved=still)


def _as_of(newest: _Seen, now_fields: Mapping[str, str], now: float | None) -> _Seen:
    """The newest evaluation with the toolchain of now; only what was looked at is replaced."""
    looked = tuple(prefix for prefix in _OF_A_REPLAY if any(name.startswith(prefix) for name in now_fields))
    if not looked:
        return newest
    fields = {**_without(newest.fields, looked), **{k: v for k, v in now_fields.items() if k.startswith(looked)}}
    unobserved = tuple(prefix for prefix in newest.unobserved if prefix not in looked)
    at = newest.at if now is None else now
    return replace(newest, at=at, evaluation=NOW, fields=fields, unobserved=unobserved)


def _without(fields: Fields, prefixes: tuple[str, ...]) -> Fields:
    return {name: value for name, value in fields.items() if not name.startswith(prefixes)} if prefixes else fields


# -- what differs ----------------------------------------------------------------------------------------------------------


def _differences(before: _Seen, after: _Seen) -> tuple[FieldDifference, ...]:
    unknown = (*before.unobserved, *after.unobserved)
    a, b = CellFields(_without(before.fields, unknown)), CellFields(_without(after.fields, unknown))
    changed = [_judged(one, a.fields, b.fields) for one in differences(a, b)]
    return (*_explained(changed), *_task_difference(before, after))


def _judged(one: FieldDifference, a: Fields, b: Fields) -> FieldDifference:
    """As it counts over time: an unknown field is not taken for harmless."""
    if one.axis != "names and code" or one.field in _WITHOUT_EFFECT:
        return one
    if one.field in a and one.field in b:
        return one.model_copy(update={"inert": False, "why": "a field of which it is not known that it can't matter"})
    return one.model_copy(update={"why": "one of the two evaluations does not record it"})


def _explained(changed: Sequence[FieldDifference]) -> Iterator[FieldDifference]:
    """A path's digest holds the clean-up and what the contract says of the reply's shape, so it may follow from theirs."""
    names = {one.field for one in changed if not one.inert}
    causes = [name for name in ("contract.digest", "harness") if name in names]
    for one in changed:
        follows = one.field == "transport.digest" and causes and "transport" not in names
        yield one.model_copy(update={"why": f"it may follow from {' and '.join(causes)}"}) if follows else one


def _task_difference(before: _Seen, after: _Seen) -> tuple[FieldDifference, ...]:
    """Tasks are compared by id and digest: what both have stays comparable, and only where nothing is left it breaks."""
    if before.tasks == after.tasks:
        return ()
    common = before.tasks.items() & after.tasks.items()
    why = "; ".join(_told_tasks(before.tasks, after.tasks)) if common else "no task is left that both have with one digest"
    return (
        FieldDifference(
            axis="tasks", field="tasks.digest", a=before.task_digest, b=after.task_digest, inert=bool(common), why=why
        ),
    )


def _told_tasks(before: Mapping[str, str], after: Mapping[str, str]) -> Iterator[str]:
    if edited := _edited(before, after):
        yield f"edited and set apart: {listed(edited)}"
    if added := len(after.keys() - before.keys()):
        yield f"{added} added, not compared"
    if gone := len(before.keys() - after.keys()):
        yield f"{gone} taken away, not compared"


def _edited(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(sorted(task for task in before.keys() & after.keys() if before[task] != after[task]))


# -- all of it -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Found:
    """What the evaluations say together."""

    seen: Sequence[_Seen]
    reference: SeriesEntry | None
    newest: _Seen
    """With the toolchain of now."""
    timeline: tuple[ConfigurationChange, ...] = field(init=False)
    net: tuple[FieldDifference, ...] = field(init=False)

    def __post_init__(self) -> None:
        steps = [*self.seen, *([self.newest] if self.newest.evaluation == NOW else [])]
        changes = tuple(change for before, after in pairwise(steps) for change in _changes(before, after))
        object.__setattr__(self, "timeline", changes)
        object.__setattr__(self, "net", _differences(self.base, self.newest))

    @property
    def base(self) -> _Seen:
        """What the newest is compared with."""
        if self.reference is None:
            return self.seen[0]
        return next(one for one in self.seen if one.key == self.reference.key)

    @property
    def measured(self) -> bool:
        """Whether anything was evaluated since."""
        return self.seen[-1].key != self.base.key

    @property
    def breaking(self) -> tuple[FieldDifference, ...]:
        return tuple(one for one in self.net if bearing_of(one) == "breaking")

    @property
    def edited(self) -> tuple[str, ...]:
        return _edited(self.base.tasks, self.newest.tasks)

    def sentences(self) -> Iterator[str]:
        since = f"since the {'reference' if self.reference else 'first evaluation'} of {day_of(self.base.at)}"
        if self.breaking:
            fields = "a field" if len(self.breaking) == 1 else f"{len(self.breaking)} fields"
            yield f"{since.capitalize()} {fields} changed across which scores can't be compared: {self._named(self.breaking)}."
        elif not self.measured:
            yield f"Nothing was evaluated {since}."
        else:
            yield f"No field changed {since} across which scores can't be compared."
        yield from self._notices()

    def _notices(self) -> Iterator[str]:
        # The second part names them.
        if replayed := [one for one in self.net if bearing_of(one) == "replayed"]:
            yield f"Programs or packages changed, too ({max(map(self._when, replayed))}): see toolchain."
        if changed := [one for one in self.net if bearing_of(one) == "provider"]:
            yield f"Changed, too: {self._named(changed)}; only replies tell what it did."
        if self.edited:
            yield f"Edited and set apart: {listed(self.edited)}."

    def _named(self, changed: Sequence[FieldDifference]) -> str:
        return listed([field_words(one, f", {self._when(one)}") for one in changed])

    def _when(self, one: FieldDifference) -> str:
        """The day on which its value of now was seen first, after the last change of it."""
        at = [change.at for change in self.timeline if change.difference.field == one.field]
        return day_of(at[-1] if at else self.newest.at)


def _changes(before: _Seen, after: _Seen) -> Iterator[ConfigurationChange]:
    for one in _differences(before, after):
        yield ConfigurationChange(
            at=after.at,
            evaluation=after.evaluation,
            before_evaluation=before.evaluation,
            difference=one,
            bearing=bearing_of(one),
        )
