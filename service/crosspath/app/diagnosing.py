"""``crosspath transports diagnose``: what a path does to commands, found out by sending some.

Every path is treated as a black box: the same probes on ``bash -c`` and on the path, in the sandbox, compared file by file and
status by status. No model is called.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

from crosspath.app.probing import Bench, Encode, Notify, Shot, bench
from crosspath.app.resolve import Own
from crosspath.errors import ConfigError
from crosspath.transports import Path, assemble, find_path
from crosspath.transports.battery import CONTROLS, DOUBLE, SINGLE, WHERE, WORDS, battery, hard_probes, padded
from crosspath.transports.chain import Chain
from crosspath.transports.outcomes import Deviation, Effect, Outcome, deviation
from crosspath.transports.probes import Probe
from crosspath.transports.shapes import LONG_COMMAND
from crosspath.transports.tried_encodings import AS_IT_IS, Encoding, composed_encodings, single_encodings
from crosspath.transports.visible import joined
from crosspath.types import Contract

SLOW_S = 1.0
"""Seconds a command from which on a path is not asked the same again, and a chain is tried with no encodings but its own."""
TOLD_S = 15.0
"""Seconds from which on it is told how long the battery may take."""
LONGEST_WAIT_S = 3.0
"""Probes that wait longer do not take part in sorting encodings."""
REPEATED = 30
"""About as many deviating probes are tried once more."""
SORTED = 6
"""Encodings that are sorted by what they mend, once they have survived the hard part."""
FULLY_TRIED = 3
"""Encodings that go through the whole battery, once they have survived its hard part and most of what fails without them."""


@dataclass(frozen=True)
class EncodingFound:
    """Whether there is a way to write commands so that they survive."""

    encoding: Encoding | None
    """The one that does best; None: the path's own, computed from its layers, or nothing that was tried."""
    computed: bool
    """Whether it is the path's own."""
    tried: int
    """Other encodings that were tried."""
    probes: int
    """Probes that went through it."""
    left: tuple[Deviation, ...]
    """What is different even so."""

    @property
    def exists(self) -> bool:
        """Whether there is one at all, however good."""
        return self.computed or self.encoding is not None

    @property
    def texts_survive(self) -> bool:
        """Whether all but what the path reports does."""
        return self.exists and all(one.probe.group == "report" for one in self.left)

    @property
    def survives(self) -> bool:
        """Whether everything does."""
        return self.exists and not self.left


@dataclass(frozen=True)
class Diagnosis:
    """All that was found out about a path."""

    path: Path
    contract: Contract
    quick: bool
    probes: tuple[Probe, ...]
    """Those that were sent and not taken apart."""
    deviations: tuple[Deviation, ...]
    encoding: EncodingFound | None
    """None: not looked for."""
    longest: int | None
    """Characters of the longest one-line command that comes through, where there is a limit that was met."""
    shots: int
    took_s: float

    @property
    def nothing_works(self) -> bool:
        """Whether not even the simplest command is carried out."""
        return any(one.probe == WORDS and one.harm in ("silent", "loud") for one in self.deviations)


def _silent(_what: str, _done: int, _of: int) -> None:
    """Nobody watches."""


def diagnose(name: str, own: Own, *, contract: str = "raw", quick: bool = False, notify: Notify = _silent) -> Diagnosis:
    """Send the battery through the path of that name.

    Args:
        name: a preset, or one of ``own``.
        own: a user's paths and contracts.
        contract: the contract in whose shape the probes are sent.
        quick: the short battery, nothing taken apart, and no encoding looked for but the path's own.
        notify: told about progress.

    Raises:
        ConfigError: no such path or contract, or they don't fit each other.
        SandboxError: there is no sandbox, or a program that the path needs is missing.
        KeyboardInterrupt: it was interrupted; nothing is left running.
    """
    told = own.contract(contract)
    path, raw = assemble(find_path(name, own.path_specs()), told), assemble(find_path("raw"), told)
    if path.fits is not None:
        raise ConfigError(f"{path.fits}; name a contract of that shape, such as --contract json or tool-call", field="--contract")
    began = monotonic()
    with bench(own.spec, told, notify) as opened:
        return _Diagnosing(opened, path, raw, quick).all(began)


class _Diagnosing:
    """One diagnosis on its way."""

    def __init__(self, opened: Bench, path: Path, raw: Path, quick: bool) -> None:
        self._bench, self._path, self._raw, self._quick = opened, path, raw, quick
        self._references: dict[str, Outcome] = {}
        self._litter: frozenset[str] = frozenset()
        self._usual_s = 0.0

    def all(self, began: float) -> Diagnosis:
        controls = self._controls()
        if self._hopeless(controls):
            return self._diagnosis((), controls, None, began)
        probes = battery(quick=self._quick)
        found = self._deviating(probes, f"the battery{self._expected(probes)}")
        probes, found = self._taken_apart(probes, found, self._worth_it(controls))
        found = [*controls, *self._steady(found)]
        encoding = self._encoding(probes, found) if found and self._searches else None
        return self._diagnosis(probes, found, encoding, began)

    @property
    def _searches(self) -> bool:
        """Whether an encoding is looked for: its own always, others where that takes no minutes or may be of use."""
        slow_chain = isinstance(self._path.carrier, Chain) and self._usual_s > SLOW_S
        return self._path.survivable or not (self._quick or slow_chain)

    def _diagnosis(
        self, probes: Sequence[Probe], found: Sequence[Deviation], encoding: EncodingFound | None, began: float
    ) -> Diagnosis:
        return Diagnosis(
            path=self._path,
            contract=self._bench.contract,
            quick=self._quick,
            probes=(*CONTROLS, *probes),
            deviations=tuple(found),
            encoding=encoding,
            longest=self._longest(found),
            shots=self._bench.shots,
            took_s=monotonic() - began,
        )

    def _longest(self, found: Sequence[Deviation]) -> int | None:
        """Characters of the longest one-line command that comes through; None: no limit was met, or it is not looked for."""
        failing = {one.probe.name for one in found}
        if self._quick or WORDS.name in failing or not any(name.startswith("length: ") for name in failing):
            return None
        fits, too_long = 0, LONG_COMMAND + 100
        while too_long - fits > 1:
            length = (fits + too_long) // 2
            probe = padded(length)
            (here,) = self._bench.outcomes([Shot(probe, self._path)], "looking for the longest command")
            if "got" in here.files and here.success:
                fits = length
            else:
                too_long = length
        return fits if 0 < fits < LONG_COMMAND else None

    def _controls(self) -> list[Deviation]:
        """Deviations of the plainest forms, and of a path that leaves files of its own."""
        raw, here = self._both(CONTROLS, "the plainest commands")
        added = [set(there.files) - set(reference.files) for there, reference in zip(here, raw, strict=True)]
        self._litter = frozenset(set.intersection(*added))
        self._usual_s = min(there.duration_s for there in here)
        found = self._compared(CONTROLS, raw, here)
        if not self._litter:
            return found
        names = joined(sorted(self._litter))
        clause = Effect("known", f"files of its own are left in the work directory: {names}")
        littering = replace(WORDS, name="litter", subject="any command")
        return [Deviation(littering, "silent" if here[0].success else "loud", clause, raw[0], here[0]), *found]

    def _expected(self, probes: Sequence[Probe]) -> str:
        """How long it may take, where that is worth telling."""
        expected_s = self._usual_s * len(probes) / self._bench.workers
        return f" (about {expected_s:.0f} s, for a command takes {self._usual_s:.1f} s)" if expected_s > TOLD_S else ""

    def _hopeless(self, controls: Sequence[Deviation]) -> bool:
        """Whether the path answers nothing in time, so that every probe would wait for the time limit."""
        failing = [one for one in controls if one.probe in CONTROLS]
        return len(failing) == len(CONTROLS) and all(one.here.timed_out for one in failing)

    def _worth_it(self, controls: Sequence[Deviation]) -> frozenset[str]:
        """Places where it makes sense to ask which character it is: a plain word comes through there."""
        failing = {one.probe.name for one in controls}
        if self._quick or WORDS.name in failing:
            return frozenset()
        forms = {WHERE["single quotes"]: SINGLE, WHERE["double quotes"]: DOUBLE, WHERE["no quotes"]: WORDS}
        return frozenset(place for place, form in forms.items() if form.name not in failing)

    def _both(self, probes: Sequence[Probe], what: str) -> tuple[list[Outcome], list[Outcome]]:
        new = [probe for probe in probes if probe.name not in self._references]
        shots = [Shot(probe, self._raw) for probe in new] + [Shot(probe, self._path) for probe in probes]
        outcomes = self._bench.outcomes(shots, what)
        self._references.update((probe.name, one) for probe, one in zip(new, outcomes[: len(new)], strict=True))
        return [self._references[probe.name] for probe in probes], outcomes[len(new) :]

    def _deviating(self, probes: Sequence[Probe], what: str) -> list[Deviation]:
        return self._compared(probes, *self._both(probes, what))

    def _compared(self, probes: Sequence[Probe], raw: Sequence[Outcome], here: Sequence[Outcome]) -> list[Deviation]:
        pairs = zip(probes, raw, (there.without(self._litter) for there in here), strict=True)
        found = (deviation(probe, reference, there, usual_s=self._usual_s) for probe, reference, there in pairs)
        return [one for one in found if one is not None]

    def _taken_apart(
        self, probes: Sequence[Probe], found: Sequence[Deviation], places: frozenset[str]
    ) -> tuple[tuple[Probe, ...], list[Deviation]]:
        """Each probe of several characters that fails there is replaced by one for each; if those all survive, it stays."""
        failing = {one.probe.name: one for one in found}
        parts = [part for probe in probes if probe.name in failing and probe.place in places for part in probe.parts]
        deviating = {one.probe.name: one for one in self._deviating(parts, "characters one by one")}
        kept, left = list[Probe](), list[Deviation]()
        for probe in probes:
            bad = [part for part in probe.parts if part.name in deviating] if probe.name in failing else []
            kept += probe.parts if bad else [probe]
            left += [deviating[part.name] for part in bad] if bad else filter(None, [failing.get(probe.name)])
        return tuple(kept), left

    def _steady(self, found: Sequence[Deviation]) -> list[Deviation]:
        """What deviates is tried once more: a path may do now this and now that."""
        if self._quick or self._usual_s > SLOW_S:
            return list(found)
        asked = found[:: len(found) // REPEATED + 1]
        again = {one.probe.name: one for one in self._deviating([one.probe for one in asked], "what differs, once more")}
        return [_steady(one, again.get(one.probe.name)) if one in asked else one for one in found]

    def _encoding(self, probes: Sequence[Probe], found: Sequence[Deviation]) -> EncodingFound:
        everything = (*CONTROLS, *probes)
        if self._path.survivable:
            return EncodingFound(None, True, 0, len(everything), tuple(self._encoded(everything, None)))
        failing = [one.probe for one in found if one.probe.name in self._references]
        promising, tried = self._promising(failing)
        best = EncodingFound(None, False, tried, len(everything), ())
        for encoding in promising[:FULLY_TRIED]:
            best = _better(best, replace(best, encoding=encoding, left=tuple(self._encoded(everything, encoding.encode))))
            if {one.probe.name for one in best.left} <= {probe.name for probe in failing}:
                break  # it breaks nothing new, and the others mend no more
        return best

    def _promising(self, failing: Sequence[Probe]) -> tuple[list[Encoding], int]:
        """Encodings that survive the hard part and mend most of what fails, the easiest first; and how many were tried."""
        singles = (AS_IT_IS, *single_encodings())
        alive = self._surviving(singles)
        if isinstance(self._path.carrier, Chain) or any(one.by_hand for one in alive):
            return self._sorted(alive, failing), len(singles)
        composed = [one for one in composed_encodings() if one.by_hand or not alive]
        return self._sorted([*self._surviving(composed), *alive], failing), len(singles) + len(composed)

    def _sorted(self, alive: Sequence[Encoding], failing: Sequence[Probe]) -> list[Encoding]:
        """Those that mend most, by what fails and is quickly seen; the easiest first."""
        first = sorted(alive, key=lambda one: not one.by_hand)[:SORTED]
        quick = [probe for probe in failing if probe.settle_s <= LONGEST_WAIT_S]
        asked = quick[:: len(quick) // REPEATED + 1]
        left = [len(self._encoded(asked, one.encode)) for one in first]
        return [one for number, one in enumerate(first) if left[number] == min(left)]

    def _surviving(self, encodings: Sequence[Encoding]) -> list[Encoding]:
        """Those with which the hard part of the battery leaves what it should."""
        left = list(encodings)
        for probe in hard_probes():
            if probe.name not in self._references:
                self._both([probe], "looking for an encoding")
            wanted = self._references[probe.name].files
            here = self._bench.outcomes([Shot(probe, self._path, one.encode) for one in left], "looking for an encoding")
            left = [one for one, there in zip(left, here, strict=True) if there.without(self._litter).files == wanted]
        return left

    def _encoded(self, probes: Sequence[Probe], encode: Encode | None) -> list[Deviation]:
        """What differs when it is encoded; None: by the path's own encoding. What is only late survives."""
        shots = [Shot(probe, self._path, encode or str, encoded=encode is None) for probe in probes]
        here = self._bench.outcomes(shots, "encoded")
        found = self._compared(probes, [self._references[probe.name] for probe in probes], here)
        return [one for one in found if one.harm != "slow"]


def _better(first: EncodingFound, second: EncodingFound) -> EncodingFound:
    """The one with which less differs; if that is equal, the one that can be written by hand, or the first."""
    if first.encoding is None or second.encoding is None:
        return second
    (one, by_hand), (other, other_by_hand) = (
        (len(each.left), each.encoding.by_hand) for each in (first, second) if each.encoding
    )
    return second if (other, not other_by_hand) < (one, not by_hand) else first


def _steady(first: Deviation, second: Deviation | None) -> Deviation:
    same = second is not None and dict(first.here.files) == dict(second.here.files) and first.here.told == second.here.told
    return first if same else replace(first, harm="unstable")
