"""From deviations to findings: one sentence for what has one explanation, with the smallest example; the most harmful first."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosspath.transports.battery import DOUBLE, PERCENT, REDIRECTION, SINGLE, WHERE, WORDS
from crosspath.transports.outcomes import HARMS, Deviation, Harm, Kind
from crosspath.transports.probes import Probe
from crosspath.transports.shapes import LINES
from crosspath.transports.visible import joined, quoted, unit_name, unit_names

NEARLY_AS_SHORT = 12
"""Characters by which the first of several examples may be longer than the shortest."""
HEADINGS: dict[Harm, str] = {
    "silent": "Wrong, and success is reported (silent)",
    "masked": "A failure is reported as success",
    "unstable": "Not the same each time",
    "loud": "Wrong, and a failure is reported",
    "alarm": "Right, and a failure is reported",
    "status": "Another failure is reported",
    "slow": "Right, and reported late",
}


@dataclass(frozen=True)
class Finding:
    """One thing that the path does."""

    harm: Harm
    sentence: str
    example: Deviation
    """The first one, or a much shorter one."""
    deviations: tuple[Deviation, ...]
    """All that show it."""
    also: tuple[Deviation, ...] = ()
    """What is written in a form that does not come through, so that nothing is known about the rest of it."""


def findings(deviations: Sequence[Deviation]) -> tuple[Finding, ...]:
    """All of them in the order of harm, then by how much they show in. The same deviations give the same words."""
    blamed = _blamed(deviations)
    written_in = {one.probe.name for group in blamed.values() for one in group}
    rest = [one for one in deviations if one.probe.name not in written_in]
    found = [
        *_of_shapes([one for one in rest if not one.probe.units], blamed),
        *_of_characters([one for one in rest if one.probe.units]),
    ]
    return tuple(sorted(found, key=lambda one: (HARMS.index(one.harm), _unexplained(one), -len(one.deviations) - len(one.also))))


def _unexplained(finding: Finding) -> bool:
    """Whether it says no more than that something goes wrong: what is known better stands in front."""
    example = finding.example
    return (
        example.harm in ("silent", "loud")
        and example.effect.kind != "known"
        and not example.probe.verb
        and not example.probe.units
    )


def _in(text: str) -> Callable[[Probe], bool]:
    return lambda probe: text in probe.command


_FORMS: tuple[tuple[Probe, Callable[[Probe], bool]], ...] = (
    (WORDS, lambda _probe: True),
    (REDIRECTION, _in(">")),
    (PERCENT, _in("%s")),
    (SINGLE, _in("'")),
    (DOUBLE, _in('"')),
    (LINES, _in("\n")),
)
"""A probe of a form by itself, and whether another one is written in that form."""


def _blamed(deviations: Sequence[Deviation]) -> dict[str, list[Deviation]]:
    """Name of the probe of a form that fails -> those that are written in it and no worse."""
    harms = {one.probe.name: HARMS.index(one.harm) for one in deviations}
    forms = [(form.name, has) for form, has in _FORMS if form.name in harms]
    found: dict[str, list[Deviation]] = {}
    for number, one in enumerate(deviations):
        own = next((at for at, (name, _) in enumerate(forms) if name == one.probe.name), len(forms))
        cause = next((name for name, has in forms[:own] if harms[name] <= HARMS.index(one.harm) and has(one.probe)), None)
        if cause is not None:
            found.setdefault(cause, []).append(deviations[number])
    return found


def _of_shapes(deviations: Sequence[Deviation], blamed: Mapping[str, Sequence[Deviation]]) -> Iterator[Finding]:
    """One finding for all subjects that stand at one place and suffer the same."""
    groups: dict[tuple[object, ...], list[Deviation]] = {}
    for one in deviations:
        alone = one.probe.name if one.probe.name in blamed else ""
        told = one.here.told if one.harm == "status" else None
        key = (one.harm, one.effect, one.probe.place, told, alone)
        groups.setdefault(key, []).append(one)
    for group in groups.values():
        first = group[0]
        subjects = joined([one.probe.subject for one in group])
        place = f" {first.probe.place}" if first.probe.place else ""
        sentence = (
            first.effect.words if first.effect.kind == "known" else _sentence(first, subjects + place, many=" and " in subjects)
        )
        yield _finding(sentence, group, blamed.get(first.probe.name, ()))


def _of_characters(deviations: Sequence[Deviation]) -> Iterator[Finding]:
    """One finding for all characters that suffer the same at the same places."""
    places: dict[tuple[Harm, Kind, tuple[str, ...], str], list[Deviation]] = {}
    for one in deviations:
        places.setdefault((one.harm, one.effect.kind, one.probe.units, one.effect.words), []).append(one)
    groups: dict[tuple[Harm, Kind, tuple[str, ...]], list[list[Deviation]]] = {}
    for (harm, kind, _, _), same in places.items():
        groups.setdefault((harm, kind, tuple(one.probe.place for one in same)), []).append(same)
    for (_, kind, where), group in groups.items():
        place = "everywhere" if len(where) == len(WHERE) else joined(where)
        anywhere = "anywhere" if len(where) == len(WHERE) else joined(where, "or")
        first = group[0][0]
        if kind == "becomes":
            pairs = [f"{unit_name(one.probe.units[0])} becomes {quoted(one.effect.words)}" for one, *_ in group]
            sentence = f"{joined(pairs)} {place}"
        else:
            units = [unit for one, *_ in group for unit in one.probe.units]
            sentence = _of_units(first, unit_names(units), place, anywhere, many=len(units) > 1)
        yield _finding(sentence, [one for same in group for one in same])


def _finding(sentence: str, group: Sequence[Deviation], also: Sequence[Deviation] = ()) -> Finding:
    shortest = min(len(one.probe.command) for one in group)
    example = next(one for one in group if len(one.probe.command) <= shortest + NEARLY_AS_SHORT)
    return Finding(example.harm, sentence[:1].upper() + sentence[1:], example, tuple(group), tuple(also))


_WITH: dict[Harm, str] = {
    "masked": "success is reported in place of the failure",
    "unstable": "the result is not the same each time",
    "alarm": "a failure is reported though all was done",
    "slow": "the report comes late",
}
_LEFT: dict[Kind, str] = {
    "lost": "nothing is left",
    "missing": "only a part is carried out",
    "extra": "more is left than should be",
    "report": "nothing is left",
}


def _sentence(one: Deviation, what: str, *, many: bool) -> str:
    """What happens to ``what``, which begins with a noun."""
    told = _with(one, what)
    if told:
        return told
    are = "are" if many else "is"
    if one.effect.kind == "emptied":
        return f"{what} {are} replaced by nothing" if one.probe.verb else f"with {what}, an empty file is left"
    return f"{what} {are} {one.effect.words or 'changed'}"


def _of_units(one: Deviation, units: str, place: str, anywhere: str, *, many: bool) -> str:
    """What happens to characters."""
    told = _with(one, f"{units} {anywhere}")
    if told:
        return told
    kind = one.effect.kind
    if len(one.probe.units) > 1:
        return f"a text with {units} {anywhere} is changed (they were sent together)"
    if kind == "cut":
        return f"what stands behind {units} is dropped {place}"
    if kind == "split":
        return f"the text is split in two at {units} {place}"
    return f"{units} {'are' if many else 'is'} {'dropped' if kind == 'dropped' else one.effect.words or 'changed'} {place}"


def _with(one: Deviation, what: str) -> str:
    """The sentences that begin with ``with``; empty: none fits."""
    if one.harm in _WITH:
        return f"with {what}, {_WITH[one.harm]}"
    if one.harm == "status":
        told = "no status" if one.here.told is None else one.here.told
        return f"with {what}, {told} is reported in place of {one.raw.told}"
    return f"with {what}, {_LEFT[one.effect.kind]}" if one.effect.kind in _LEFT else ""
