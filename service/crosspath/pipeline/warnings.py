"""Sentences that a reader of a result must not miss, each following from the facts."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence

from crosspath.analysis.coverage import untried
from crosspath.analysis.partitions import contamination_warning
from crosspath.pipeline.disclosure import mismatch
from crosspath.pipeline.planted import planted
from crosspath.pipeline.toolchains import mixture
from crosspath.transports import is_fenced
from crosspath.types import Decomposition, Facts, Fault, FormatDamage, PartitionGap, Request

MOST_APART = 6
"""So many candidates at most are warned about one by one."""
MESSAGE_CHARACTERS = 160
"""Longest message of a fault that a warning repeats."""


def warnings_of(
    facts: Facts,
    decompositions: Sequence[Decomposition],
    partition_gaps: Sequence[PartitionGap] = (),
    format_damage: Sequence[FormatDamage] = (),
) -> tuple[str, ...]:
    """All warnings, the gravest first."""
    return (
        *_controls(decompositions),
        *_floors(decompositions),
        *filter(None, map(contamination_warning, partition_gaps)),
        *_disclosures(facts, decompositions),
        *_faults(facts),
        *_fences(facts, {one.candidate for one in format_damage if one.effect}),
        *_served_models(facts),
        *_toolchains(facts),
        *_limits(facts),
        *_fidelity(facts),
        *_scrubbed(facts),
        *planted(facts),
    )


def _controls(decompositions: Sequence[Decomposition]) -> Iterator[str]:
    doubtful = [
        one
        for one in decompositions
        if one.control.status != "holds" and any(cell.scored for cell in one.cells) and not untried(one)
    ]
    if len(doubtful) > MOST_APART:
        kinds = Counter(one.control.status for one in doubtful)
        words = " and ".join(f"{status} for {number}" for status, number in sorted(kinds.items()))
        yield f"The control is {words} of {len(decompositions)} candidates; their effects are not to be used (see the report)."
        return
    for decomposition in doubtful:
        yield (
            f"{decomposition.candidate}: the control is {decomposition.control.status}"
            f" ({decomposition.control.reason or 'no reason given'}); its effects are not to be used."
        )


def _floors(decompositions: Sequence[Decomposition]) -> Iterator[str]:
    """Where nothing passes on the reference path there is nothing that a path could break, nor a control show."""
    for decomposition in decompositions:
        reference, other = decomposition.cell("RR"), decomposition.cell("RN")
        if reference and other and reference.scored and not reference.passed:
            yield (
                f"{decomposition.candidate}: no reply passes on the reference path, so damage can't be seen"
                " and the control proves nothing."
            )


def _disclosures(facts: Facts, decompositions: Sequence[Decomposition]) -> Iterator[str]:
    contracts = {contract.name: contract for contract in facts.contract_specs}
    candidates = {candidate.name: candidate for candidate in facts.lock.candidates}
    told = [candidates[one.candidate] for one in decompositions if one.undisclosed]
    if len(told) > MOST_APART:
        yield (
            f"{len(told)} of {len(decompositions)} candidates were told about another path than the one their replies run on;"
            " what telling did there is no compensation for these paths."
        )
        return
    for candidate in told:
        yield mismatch(candidate.name, contracts[candidate.generation.contract], candidate.transport)


def _faults(facts: Facts) -> Iterator[str]:
    of_trials = [(trial.fault, _origin(trial.fault, trial.request)) for trial in facts.trials if trial.fault]
    of_replays = [(replay.fault, None) for replay in facts.replays if replay.fault]
    for what, faults in (("trials have no reply", of_trials), ("replays have no facts", of_replays)):
        if faults:
            yield f"{len(faults)} {what} ({_fault_words(faults)}): they are missing, not wrong."


def _origin(fault: Fault, request: Request) -> str | None:
    """The endpoint where it was one that failed; a limit of our own has none."""
    return request.endpoint if fault.boundary == "model" else None


def _fault_words(faults: Sequence[tuple[Fault, str | None]]) -> str:
    """Each type with its number, its first message and the endpoint that it came from: enough to see what to mend."""
    counted = Counter(fault.type for fault, _ in faults)
    first = {fault.type: (fault, endpoint) for fault, endpoint in reversed(faults)}
    return "; ".join(f"{kind} {number}: {_told(*first[kind])}" for kind, number in sorted(counted.items()))


def _told(fault: Fault, endpoint: str | None) -> str:
    message = " ".join(fault.message.split())
    short = message if len(message) <= MESSAGE_CHARACTERS else message[: MESSAGE_CHARACTERS - 3] + "..."
    return ", ".join(part for part in (short or "no message", endpoint) if part)


def _fences(facts: Facts, measured: Collection[str]) -> Iterator[str]:
    """Replies that are one fenced block, for a harness that takes them as they are: the fence is executed, too.

    Nothing of candidates for which it is ``measured`` what that costs: some paths are survived *because* of the fence.
    """
    for candidate in facts.lock.candidates:
        if candidate.harness != "none" or candidate.name in measured:
            continue
        own = {cell.generation.digest for cell in facts.cells if cell.candidate == candidate.name}
        texts = [trial.reply.text or "" for trial in facts.trials if trial.reply and trial.key.generation in own]
        if wrapped := sum(map(is_fenced, texts)):
            yield (
                f"{wrapped} of {len(texts)} replies of {candidate.name} are wrapped in a code fence and its harness clean-up"
                " is none: `harness: fenced-block` takes them out."
            )


def _served_models(facts: Facts) -> Iterator[str]:
    for asked, served in sorted(facts.lock.served_models.items()):
        if len(served) > 1:
            yield f"{asked}: the endpoint answered as several models ({', '.join(served)}); its replies are mixed."
        elif served and not _same_model(asked, served[0]):
            yield f"{asked}: the endpoint answered as {served[0]!r}."


_PINNED = re.compile(r"|[-@:](latest|\d{3,}|\d{4}(-\d{2}){1,2})")
"""Nothing, or what providers append to a name to pin a version: ``-20250929``, ``-2024-08-06``, ``-0613``, ``@001``."""


def _same_model(asked: str, served: str) -> bool:
    """Equal, or a dated version of what was asked: ``gpt-4o`` is not ``gpt-4``. A ``-latest`` that was asked stands for any."""
    name, answered = (each.rpartition("/")[2] for each in (asked, served))
    name = name.removesuffix("-latest")
    return served == asked or (answered.startswith(name) and _PINNED.fullmatch(answered[len(name) :]) is not None)


def _toolchains(facts: Facts) -> Iterator[str]:
    if sentence := mixture(facts):
        yield sentence


def _limits(facts: Facts) -> Iterator[str]:
    toolchain = facts.lock.toolchain
    if toolchain is None:
        return
    if toolchain.sandbox == "none":
        yield "Replies ran WITHOUT a sandbox (sandbox: none)."
    if toolchain.limits_missing:
        yield f"Limits that were not in force: {', '.join(toolchain.limits_missing)}."


def _fidelity(facts: Facts) -> Iterator[str]:
    lossy = sum(1 for trial in facts.trials if trial.reply and trial.reply.fidelity == "reserialised")
    if lossy:
        yield f"{lossy} replies were re-serialised by their provider: their argument strings are not the model's own bytes."


def _scrubbed(facts: Facts) -> Iterator[str]:
    if held := sum(1 for trial in facts.trials if trial.reply and trial.reply.scrubbed):
        yield f"{held} replies repeated the API key: it was replaced in them, also where a command held it. Change that key."
