"""What a probe left on a path, beside what it leaves under ``bash -c``: how harmful the difference is, and what it is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from crosspath.escaping import unescape
from crosspath.transports.probes import NOTHING, Probe

Harm = Literal["silent", "masked", "unstable", "loud", "alarm", "status", "slow"]
HARMS: tuple[Harm, ...] = ("silent", "masked", "unstable", "loud", "alarm", "status", "slow")
"""The worst first: wrong and told as success; a failure told as success; not the same each time; wrong and told as a failure;
right and told as a failure; another failure is told; right, and told late."""
LATE_S = 2.0
"""How much longer than the path's own time a report may take before that is worth telling."""

_MISREAD = re.compile(r"[Ss]yntax error|unexpected|not found|[Uu]nterminated|No closing quotation")
_SIGNS = re.compile(rb"[^\sA-Za-z0-9]")
Kind = Literal["known", "lost", "emptied", "dropped", "becomes", "cut", "split", "changed", "missing", "extra", "report"]


@dataclass(frozen=True)
class Outcome:
    """What is left, and what the path told."""

    files: Mapping[str, bytes | None]
    """Escaped name -> content; of a directory, whose name ends in ``/``, None."""
    told: int | None
    """Exit status; None: a failure without one, or none in time."""
    error: str = ""
    """The last line that says why not."""
    timed_out: bool = False
    duration_s: float = 0.0

    @property
    def success(self) -> bool:
        """Whether the caller was told success."""
        return self.told == 0 and not self.timed_out

    def without(self, names: frozenset[str]) -> "Outcome":
        """The same, as if files of these names were not there."""
        files = {name: content for name, content in self.files.items() if name not in names}
        return Outcome(files, self.told, self.error, self.timed_out, self.duration_s)


@dataclass(frozen=True)
class Effect:
    """What has happened to a probe, as far as its outcome shows."""

    kind: Kind
    words: str = ""
    """Of ``known`` the clause; of ``becomes`` what a character becomes; of ``changed`` a better word."""


@dataclass(frozen=True)
class Deviation:
    """A probe that does something else on the path."""

    probe: Probe
    harm: Harm
    effect: Effect
    raw: Outcome
    here: Outcome


def deviation(probe: Probe, raw: Outcome, here: Outcome, *, usual_s: float = 0.0) -> Deviation | None:
    """How ``here`` differs from ``raw``; None: in nothing. ``usual_s``: how long the path takes for what is quick."""
    harm = _harm(raw, here, usual_s)
    return None if harm is None else Deviation(probe, harm, _effect(probe, raw, here), raw, here)


def _harm(raw: Outcome, here: Outcome, usual_s: float) -> Harm | None:
    if dict(raw.files) != dict(here.files):
        return "silent" if here.success else "loud"
    if raw.success != here.success:
        return "masked" if here.success else "alarm"
    if raw.told != here.told:
        return "status"
    return "slow" if here.duration_s - raw.duration_s - usual_s > LATE_S else None


def _effect(probe: Probe, raw: Outcome, here: Outcome) -> Effect:
    if raw.files == here.files:
        return Effect("report")
    for left, clause in probe.known:
        if left in _names_of(here):
            return Effect("known", clause)
    if not here.files:
        return Effect("lost")
    return _of_units(probe, here) if probe.units else _of_files(probe, raw, here)


def _not_understood(here: Outcome) -> bool:
    """Whether nothing is left because a shell could not parse or find what it was given."""
    return here.told in (126, 127) or bool(_MISREAD.search(here.error))


def _of_units(probe: Probe, here: Outcome) -> Effect:
    """Between the letters a and z stood the characters; what stands there now."""
    found = arrived(here)
    if found is None:
        return Effect("split") if sorted(here.files) == ["a", "z"] else Effect("changed")
    if found == b"a" and not probe.verb:
        return Effect("cut")
    middle = found[1:-1]
    if found[:1] != b"a" or found[-1:] != b"z" or len(found) < 2 or len(probe.units) > 1:
        return Effect("changed", probe.verb)
    if not middle:
        return Effect("dropped")
    return Effect("becomes", middle.decode("utf-8", "surrogateescape"))


def _of_files(probe: Probe, raw: Outcome, here: Outcome) -> Effect:
    if raw.files.keys() == here.files.keys():
        different = [
            (content or b"", here.files[name] or b"") for name, content in raw.files.items() if here.files[name] != content
        ]
        if not any(there for _, there in different):
            return Effect("emptied")
        return Effect("changed", probe.verb if all(_lost_signs(*pair) for pair in different) else "")
    if here.files.keys() < raw.files.keys():
        return Effect("missing")
    return Effect("extra") if raw.files.keys() < here.files.keys() else Effect("changed")


def _lost_signs(before: bytes, after: bytes) -> bool:
    """Whether some sign has become rarer: then it was taken for what it means, and not only dressed up."""
    return any(after.count(sign) < before.count(sign) for sign in set(_SIGNS.findall(before)))


def arrived(here: Outcome) -> bytes | None:
    """What a probe of characters left of its text: the name of the only file."""
    names = list(here.files)
    return unescape(names[0]) if len(names) == 1 else None


def _names_of(here: Outcome) -> set[str]:
    """How ``Probe.known`` may name what is left."""
    names = " ".join(sorted(here.files)) or NOTHING
    understood = {""} if names == NOTHING and not _not_understood(here) else set[str]()
    contents = {f"{name}={content.decode('utf-8', 'replace')}" for name, content in here.files.items() if content is not None}
    return {names} | understood | contents
