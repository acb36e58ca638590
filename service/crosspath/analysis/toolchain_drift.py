"""What became of frozen replies that were executed again: which of them another toolchain makes pass or fail.

A reply that comes out otherwise than before is a *flip* only where all its replays of now (the first and ``AGAIN`` more) agree,
and where no toolchain was ever seen to show both outcomes of it. Every reply that one and the same toolchain showed both ways
is racy: it is listed as unstable, from then on, and set apart.

How often a racy reply is taken for a flip: where each replay passes with chance p, whatever the toolchain, and k replays were
seen before, all alike, that takes k passes and then ``REPLAYS`` = 6 failures, or the other way round: p^k (1 - p)^6 +
(1 - p)^k p^6, at most 5.7 % for k = 1 (at p = 1/7), 1.13 % for 2, 0.40 % for 3, 0.049 % for 6 and 0.0005 % for 14. A look whose
first replay agrees adds one to k, so that looking every day soon makes it negligible. A racy reply that was once caught with
both outcomes is caught for good, also one that was taken for a flip: the next look with that toolchain replays it again.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from crosspath.analysis.drift_naming import listed
from crosspath.types.drift import Flip, FrozenOutcome, PartStatus, ToolchainDrift

AGAIN = 5
"""So many times more a reply is replayed that came out otherwise."""
REPLAYS = 1 + AGAIN
MAX_MISSING = 0.2
"""With a larger share of replies that could not be compared, finding nothing says nothing."""
SUDDEN_TASKS = 3
"""Where replies of so many tasks turn at once, each time, with a toolchain that showed them the other way, something that is not
recorded is likelier to have changed than all of them to be racy: there is no answer, and the sentence says so. Only that look can
tell; from the next one on they are unstable like others."""
MOST_TOOLCHAINS = 64
"""So many toolchains are remembered in full; of older ones only what shows that a reply is racy."""
_Key = tuple[str, int]


@dataclass(frozen=True)
class Outcome:
    """One replay with a verdict."""

    passed: bool
    cause: str | None = None
    silent_wrong: bool = False
    reason: str = ""
    """What the validator says of it."""

    @property
    def told(self) -> tuple[bool, str | None, bool]:
        """What has to be equal for two replays to have come out alike."""
        return self.passed, self.cause, self.silent_wrong


@dataclass(frozen=True)
class FrozenReply:
    """One stored reply. Replays that could not be observed are in neither sequence."""

    task: str
    index: int
    before: tuple[Outcome, ...]
    """Its replays in its own evaluation."""
    now: tuple[Outcome, ...]
    """Its replays in this look."""
    racy: bool = False
    """Its own evaluation found it unstable, on whichever path."""

    @property
    def key(self) -> _Key:
        return self.task, self.index

    @property
    def observed(self) -> bool:
        return bool(self.before and self.now)

    @property
    def turned(self) -> bool:
        """Every replay of now came out the other way than every one before."""
        before, now = ({one.passed for one in seen} for seen in (self.before, self.now))
        return len(self.now) >= REPLAYS and len(before) == len(now) == 1 and before != now

    @property
    def differs(self) -> bool:
        """The first replay of now came out otherwise, so that it is to be replayed ``AGAIN`` more times."""
        return self.observed and self.now[0].told != self.before[0].told


@dataclass(frozen=True)
class Look:
    """One look at the frozen replies of an evaluation."""

    replies: tuple[FrozenReply, ...]
    before: str
    """Digest of the toolchain that they were executed with in their own evaluation."""
    now: str
    """That of this look."""


def toolchain_drift(look: Look, earlier: Sequence[FrozenOutcome]) -> ToolchainDrift:
    """What the look found. ``earlier``: the evidence of the look before, of the same frozen replies; empty at the first one.

    The caller adds what it alone knows: names, and the fields that changed.
    """
    evidence = updated(earlier, look)
    found = _sorted(look, _racy(evidence))
    known = _racy(earlier)
    sudden = [one for one in look.replies if one.turned and not one.racy and one.key in set(found.unstable) - known]
    status = _status(found, sudden)
    turned = status == "could not measure" and found.missing <= MAX_MISSING * found.replies
    said = {"status": status, "sentence": _sentence(found, len(sudden)), "why": "sudden" if turned else ""}
    return found.model_copy(update={**said, "toolchain": look.now, "evidence": _remembered(evidence)})


def _sorted(look: Look, racy: Collection[_Key]) -> ToolchainDrift:
    """Which replies are unstable, compared or missing, and what became of those compared."""
    unstable = [one for one in look.replies if one.racy or one.key in racy]
    steady = [one for one in look.replies if not (one.racy or one.key in racy)]
    compared = [one for one in steady if one.observed and not (one.differs and len(one.now) < REPLAYS)]
    return ToolchainDrift(
        status="no drift",
        sentence="",
        replies=len(look.replies),
        compared=len(compared),
        missing=len(steady) - len(compared),
        flips=tuple(_flip(one) for one in compared if one.now[0].passed != one.before[0].passed),
        otherwise=tuple(_flip(one) for one in compared if _told_otherwise(one)),
        unstable=tuple(one.key for one in unstable),
    )


def updated(earlier: Sequence[FrozenOutcome], look: Look) -> tuple[FrozenOutcome, ...]:
    """The evidence with this look's replays; the toolchain that was seen last stands last.

    The frozen evaluation's own replays are counted once, however often its replies are looked at.
    """
    known = {(one.task, one.index, one.toolchain): one for one in earlier}
    for reply in look.replies:
        if reply.before:
            own = _counted(reply, look.before, reply.before)
            seen = known.get((*reply.key, look.before), own)
            most = {"passes": max(seen.passes, own.passes), "fails": max(seen.fails, own.fails)}
            known[*reply.key, look.before] = own.model_copy(update=most)
    for reply in look.replies:
        place, fresh = (*reply.key, look.now), _counted(reply, look.now, reply.now)
        seen = known.pop(place, None)
        if seen:
            fresh = fresh.model_copy(update={"passes": seen.passes + fresh.passes, "fails": seen.fails + fresh.fails})
        if seen or reply.now:
            known[place] = fresh
    return tuple(known.values())


def _counted(reply: FrozenReply, toolchain: str, seen: Sequence[Outcome]) -> FrozenOutcome:
    passes = sum(one.passed for one in seen)
    return FrozenOutcome(task=reply.task, index=reply.index, toolchain=toolchain, passes=passes, fails=len(seen) - passes)


def _racy(evidence: Iterable[FrozenOutcome]) -> set[_Key]:
    """Replies that one toolchain showed both ways."""
    return {(one.task, one.index) for one in evidence if one.passes and one.fails}


def _remembered(evidence: Sequence[FrozenOutcome]) -> tuple[FrozenOutcome, ...]:
    """Everything of the toolchains seen last; of older ones, one proof for each reply that is racy."""
    order = list(dict.fromkeys(one.toolchain for one in reversed(evidence)))
    kept = set(order[:MOST_TOOLCHAINS])
    proofs = {(one.task, one.index): one for one in evidence if one.passes and one.fails}
    return tuple(one for one in evidence if one.toolchain in kept or proofs.get((one.task, one.index)) is one)


def _told_otherwise(reply: FrozenReply) -> bool:
    """The same verdict for another cause, or told to the caller otherwise, in every replay."""
    before = {one.told for one in reply.before}
    now = {one.told for one in reply.now}
    return reply.now[0].passed == reply.before[0].passed and len(now) == 1 and not now & before


def _flip(reply: FrozenReply) -> Flip:
    before, now = reply.before[0], reply.now[0]
    said = before.reason if now.passed else now.reason
    return Flip(
        task=reply.task,
        index=reply.index,
        passed_before=before.passed,
        passed_now=now.passed,
        cause_before=before.cause,
        cause_now=now.cause,
        reason=" ".join(said.split()),
        times=len(reply.now),
    )


# -- words ---------------------------------------------------------------------------------------------------------------


def _status(found: ToolchainDrift, sudden: Sequence[FrozenReply]) -> PartStatus:
    """A flip that was seen each time is one, whatever is missing beside it."""
    if found.flips:
        return "drift"
    if not found.replies:
        return "not enough"
    if found.missing > MAX_MISSING * found.replies or len({one.task for one in sudden}) >= SUDDEN_TASKS:
        return "could not measure"
    return "no drift" if found.compared else "not enough"


def _sentence(found: ToolchainDrift, sudden: int) -> str:
    """What was found, in one sentence with its numbers. ``sudden``: so many of the unstable ones turned in this look."""
    if not found.replies:
        return "There are no stored replies that could be executed again."
    parts = [_outcome(found)]
    if found.otherwise:
        parts.append(f"{_replies(len(found.otherwise))} with the same verdict for another cause or told otherwise")
    if found.unstable:
        tasks = len(dict.fromkeys(task for task, _ in found.unstable))
        shown = f"{_replies(len(found.unstable))} of {_tasks(tasks)}"
        parts.append(f"{shown} set apart, which came out both ways with the same programs")
    if sudden:
        parts.append(f"{sudden} of these came out otherwise each time in this look, though no recorded program differs")
    if found.missing:
        parts.append(f"{_replies(found.missing)} without a verdict")
    return f"{'; '.join(parts)}; no request was sent."


def _outcome(found: ToolchainDrift) -> str:
    if not found.compared:
        return f"None of {found.replies} frozen replies could be compared"
    if not found.flips:
        return f"All {found.compared} frozen replies that could be compared come out as before"
    lost = sum(flip.passed_before for flip in found.flips)
    ways = [f"{lost} no longer pass" if lost else "", f"{len(found.flips) - lost} pass now" if lost < len(found.flips) else ""]
    tasks = f"{_tasks(len(found.flipped_tasks))} ({listed(found.flipped_tasks)})"
    return (
        f"{len(found.flips)} of {found.compared} frozen replies, of {tasks}, come out"
        f" otherwise each of at least {REPLAYS} times ({', '.join(filter(None, ways))})"
    )


def _replies(number: int) -> str:
    return f"{number} {'reply' if number == 1 else 'replies'}"


def _tasks(number: int) -> str:
    return f"{number} task{'s' * (number != 1)}"


def not_measured(why: str, earlier: Sequence[FrozenOutcome] = (), frozen: str = "") -> ToolchainDrift:
    """There is no answer, and what was seen before is kept for the next look. ``why``: one sentence."""
    sentence = f"{why.rstrip('.')}; no request was sent."
    return ToolchainDrift(status="could not measure", sentence=sentence, frozen=frozen, evidence=tuple(earlier))
