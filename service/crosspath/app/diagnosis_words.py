"""A diagnosis as a JSON document and as text for a person, and the sentence about the path for a contract."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosspath import catalogue
from crosspath.app.diagnosing import Diagnosis, EncodingFound
from crosspath.contracts.telling import plain_sentence
from crosspath.errors import ConfigError
from crosspath.escaping import escape, unescape
from crosspath.pipeline.telling import told_contract
from crosspath.transports.battery import CONTROLS, PERCENT, REDIRECTION, WHERE
from crosspath.transports.chain import Chain
from crosspath.transports.findings import HEADINGS, Finding, findings
from crosspath.transports.outcomes import Deviation, Outcome
from crosspath.transports.tried_encodings import AS_IT_IS
from crosspath.transports.visible import joined, shown, unit_names
from crosspath.types import PLAIN_CONTRACTS, PathSpec

_TOLD = 3
"""Findings that a sentence for a contract names."""
_FILES = 12
"""Files of one outcome that are listed."""
_ALIKE = 6
"""Further subjects of a finding that are listed."""


def document(found: Diagnosis, own: Mapping[str, PathSpec]) -> dict[str, Any]:
    """All of it, for programs; texts of files and commands in the reversible escaped form."""
    all_findings = findings(found.deviations)
    return {
        "path": found.path.name,
        "kind": kind(found),
        "digest": found.path.digest,
        "contract": found.contract.name,
        "quick": found.quick,
        "probes": len(found.probes),
        "same": len(found.probes) - _different(found),
        "different": _different(found),
        "findings": [_finding(one) for one in all_findings],
        "survives": {
            "characters": {place: fine for place, fine, _ in _characters(found)},
            "shapes": [one.name for one in _surviving(found) if not one.units],
            "longest": found.longest,
        },
        "encoding": _encoding(found.encoding),
        "disclosure": disclosure(found, own),
        "executions": found.shots,
        "took_s": round(found.took_s, 1),
    }


def kind(found: Diagnosis) -> str:
    """``chain``, ``external`` or ``callable``."""
    external = found.path.spec.external
    if external is None:
        return "chain"
    return "callable" if external.function else "external"


def _different(found: Diagnosis) -> int:
    deviating = {one.probe.name for one in found.deviations}
    return sum(probe.name in deviating for probe in found.probes)


def _surviving(found: Diagnosis) -> list[Any]:
    deviating = {one.probe.name for one in found.deviations}
    return [probe for probe in found.probes if probe.name not in deviating]


def _characters(found: Diagnosis) -> Iterator[tuple[str, list[str], list[str]]]:
    """Per place: characters that survive, and those that don't."""
    surviving = {probe.name for probe in _surviving(found)}
    for place in WHERE.values():
        probes = [probe for probe in found.probes if probe.units and probe.place == place]
        if probes:
            fine = [unit for probe in probes if probe.name in surviving for unit in probe.units]
            yield place, fine, [unit for probe in probes if probe.name not in surviving for unit in probe.units]


def _finding(one: Finding) -> dict[str, Any]:
    example = one.example
    return {
        "harm": one.harm,
        "sentence": f"{one.sentence}.",
        "example": {
            "sent": escape(example.probe.command.encode()),
            "right": _outcome(example.raw),
            "here": _outcome(example.here),
        },
        "probes": [each.probe.name for each in one.deviations],
        "also": [each.probe.name for each in one.also],
    }


def _outcome(outcome: Outcome) -> dict[str, Any]:
    listed = sorted(outcome.files.items())[:_FILES]
    files = {name: None if content is None else escape(content) for name, content in listed}
    more = len(outcome.files) - len(listed)
    return {"files": files, "more_files": more, "told": outcome.told, "timed_out": outcome.timed_out, "error": outcome.error}


def _encoding(found: EncodingFound | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "survives": found.survives,
        "texts_survive": found.texts_survive,
        "computed": found.computed,
        "name": found.encoding.name if found.encoding else None,
        "instruction": found.encoding.instruction if found.encoding else None,
        "tried": found.tried,
        "probes": found.probes,
        "left": [one.probe.name for one in found.left],
    }


def disclosure(found: Diagnosis, own: Mapping[str, PathSpec]) -> str:
    """What a contract can say about the path: of a chain in the words of its layers, else in those of the findings."""
    if isinstance(found.path.carrier, Chain):
        return _told_by_layers(found, own)
    clauses = [_lower(one.sentence) for one in findings(found.deviations) if one.harm in ("silent", "loud")]
    if found.nothing_works:
        return ""
    if not clauses:
        return "Your command is executed exactly as you write it."
    what = "; ".join(clauses[:_TOLD])
    encoding = found.encoding
    if encoding and encoding.encoding and encoding.texts_survive and encoding.encoding.by_hand:
        return f"Your command is not executed as you write it ({what}): {encoding.encoding.instruction}."
    return f"Your command is not executed as you write it ({what}): write it so that it needs none of that."


def _lower(sentence: str) -> str:
    """The sentence as a clause."""
    return sentence if sentence[1:2].isupper() else sentence[:1].lower() + sentence[1:]


def _told_by_layers(found: Diagnosis, own: Mapping[str, PathSpec]) -> str:
    """What a generated contract says in place of the plain one's sentence."""
    plain = {name: catalogue.contract(name) for name in PLAIN_CONTRACTS.values()}
    try:
        told = told_contract(f"tell:{found.path.name}", plain, own)
    except ConfigError:
        return "" if found.deviations else "Your command is executed exactly as you write it."
    before, _, after = plain[told.reference].text.partition(plain_sentence(told.shape))
    return told.text[len(before) : len(told.text) - len(after)].strip()


def text(found: Diagnosis, own: Mapping[str, PathSpec]) -> str:
    """All of it, for a person."""
    lines = [_head(found)]
    last = ""
    for one in findings(found.deviations):
        if HEADINGS[one.harm] != last:
            last = HEADINGS[one.harm]
            lines += ["", f"{last}:"]
        lines += _finding_lines(one)
    if len(found.probes) == len(CONTROLS):
        return "\n".join(
            [*lines, "", f"Not even the {len(CONTROLS)} plainest commands were answered in time; nothing more was tried."]
        )
    lines += ["", "What survives:", *_survival_lines(found), "", "Encoding:", f"  {_encoding_sentence(found)}"]
    told = disclosure(found, own)
    return "\n".join([*lines, "", "For the contract:", f"  {told}" if told else "  nothing can be told about it yet"])


def _head(found: Diagnosis) -> str:
    different = _different(found)
    whole = "the short battery: " if found.quick else ""
    return (
        f"{found.path.name} ({kind(found)}): {whole}{len(found.probes)} probes beside bash -c, "
        f"{len(found.probes) - different} do the same, {different} do not ({found.took_s:.0f} s, no model call)"
    )


def _finding_lines(one: Finding) -> Iterator[str]:
    example = one.example
    yield f"- {one.sentence}."
    yield f"    sent   {shown(example.probe.command)}"
    yield f"    right  {_outcome_text(example.raw)}"
    yield f"    here   {_outcome_text(example.here)}{_told(example)}"
    if one.also:
        yield f"    also   {joined(list(dict.fromkeys(map(_subject, one.also))), most=_ALIKE)}"


def _subject(one: Deviation) -> str:
    """What a probe tries, by itself."""
    probe = one.probe
    return f"{unit_names(probe.units) if probe.units else probe.subject} {probe.place}".strip()


def _outcome_text(outcome: Outcome) -> str:
    if not outcome.files:
        return "no file"
    listed = [_file(name, content) for name, content in sorted(outcome.files.items())[:_FILES]]
    more = len(outcome.files) - len(listed)
    return ", ".join([*listed, f"{more} more files"] if more else listed)


def _file(name: str, content: bytes | None) -> str:
    plain = shown(unescape(name))
    return plain if not content else f"{plain}: {shown(content)}"


def _told(one: Deviation) -> str:
    """What was told, where that is of interest."""
    if one.harm == "slow":
        return f", told after {one.here.duration_s:.1f} s instead of {one.raw.duration_s:.1f} s"
    if one.here.success and one.raw.told == 0:
        return ""
    status = "no status" if one.here.told is None else f"status {one.here.told}"
    right = f" in place of {one.raw.told}" if one.raw.told else ""
    return f", told {status}{right}" + (f" ({shown(one.here.error)})" if one.here.error else "")


def _survival_lines(found: Diagnosis) -> Iterator[str]:
    places = list(_characters(found))
    if places and not any(lost for _, _, lost in places):
        count = len({unit for _, fine, _ in places for unit in fine})
        yield f"  characters: all {count} that were tried, {joined([place for place, *_ in places])}"
    else:
        yield from (f"  characters {place}: {_what_survives(fine, lost)}" for place, fine, lost in places)
    yield f"  shapes: {', '.join(_families(found))}"
    if found.longest is not None:
        yield f"  length: {found.longest} characters on one line, no more"


def _families(found: Diagnosis) -> Iterator[str]:
    """Per family of shapes how many survive, of those about which something is known."""
    deviating = {one.probe.name for one in found.deviations}
    unknown = {
        each.probe.name for one in findings(found.deviations) if one.example.probe in (REDIRECTION, PERCENT) for each in one.also
    }
    families: dict[str, list[str]] = {}
    for probe in found.probes:
        if not probe.units and not probe.name.startswith("control: "):
            families.setdefault(probe.name.partition(":")[0], []).append(probe.name)
    for family, names in families.items():
        known = [name for name in names if name not in unknown]
        rest = f" ({len(names) - len(known)} not known)" if len(known) < len(names) else ""
        yield f"{family} {sum(name not in deviating for name in known)} of {len(known)}{rest}"


def _what_survives(fine: Sequence[str], lost: Sequence[str]) -> str:
    if not lost:
        return f"all {len(fine)}"
    if not fine:
        return "none"
    return f"all but {unit_names(lost)}" if len(lost) < len(fine) else unit_names(fine)


def _encoding_sentence(found: Diagnosis) -> str:
    encoding = found.encoding
    if not found.deviations:
        return "none is needed"
    if encoding is None:
        why = "--quick" if found.quick else "a command takes too long"
        without = _without_encoding(found)
        return f"{without}{'others were ' if without else ''}not looked for ({why})"
    if encoding.computed:
        what = "computed from the layers (crosspath transports try NAME 'COMMAND' --encoded shows it)"
        if encoding.survives:
            return f"exists, {what}; with it all {encoding.probes} probes leave and tell what they do under bash -c"
        return f"is {what}, but with it {_left(encoding)}"
    without = _without_encoding(found)
    if encoding.encoding is None:
        return f"{without}none of the {encoding.tried} that were tried survives"
    way = encoding.encoding.instruction
    if encoding.encoding != AS_IT_IS:
        way += f" ({encoding.encoding.name})"
    if encoding.survives:
        return (
            f"{way}; with it all {encoding.probes} probes leave and tell what they do under bash -c; {encoding.tried} were tried"
        )
    return (
        f"{without}none of the {encoding.tried} that were tried survives everything. The best: {way}; with it {_left(encoding)}"
    )


def _without_encoding(found: Diagnosis) -> str:
    """Which layers of a chain no text survives."""
    carrier = found.path.carrier
    names = [layer.name for layer in carrier.layers if layer.encode is None] if isinstance(carrier, Chain) else []
    return f"no text survives {joined(names)} in general; " if names else ""


def _left(encoding: EncodingFound) -> str:
    subjects = joined([_subject(one) for one in encoding.left], most=_ALIKE)
    differ = "differs" if len(encoding.left) == 1 else "differ"
    return f"{len(encoding.left)} of {encoding.probes} probes still {differ}: {subjects}"
