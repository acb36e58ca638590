"""``crosspath audit``: a gate's verdict once more, offline, from nothing but the artifacts beside it.

Digests of the bundles, the policy and the evidence; the commands that each stored reply was turned into; the judgement that
follows from the facts; then every check, rule and number of the verdict, and its status. No ledger, model, sandbox or network.
"""

import json
import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pydantic import ValidationError

from crosspath import __version__
from crosspath.app import adapters
from crosspath.app.auditing_files import UnreadableError, file_bytes, json_mapping, kind_of_place
from crosspath.app.collecting import without_collection
from crosspath.app.derive import stored_plan
from crosspath.app.finding import looks_like_a_run
from crosspath.app.gating_places import VERDICT
from crosspath.app.gating_verdict import (
    JUNIT,
    MARKDOWN,
    POLICY,
    SIDES,
    Material,
    Replayed,
    draw,
    evidence_file,
    policy_digest,
    verdict_id,
)
from crosspath.errors import ConfigError, StoreError
from crosspath.pipeline.judge import judge
from crosspath.reports.gate_junit import gate_junit
from crosspath.reports.gate_markdown import gate_markdown
from crosspath.spec.policy import load_policy
from crosspath.store.bundle import read_bundle, read_judgement
from crosspath.store.migrations import VERDICT as VERDICT_FORM
from crosspath.types import VERDICT_FORMAT, Asked, Evidence, Facts, Judgement, Policy, Verdict

MOST_NAMED = 20
"""Differences of one part of the verdict that are named."""
CLOSE = 1e-10
"""Two numbers that other processors or libraries compute may differ by so much, in parts of the larger one."""
NOT_PROVEN = (
    "Not proven: that the models really gave these replies, that the stored final states are what the replies left, and, beyond "
    "what candidate-evidence.json says was asked, which registered version or MLflow run the evidence is of, whether there was a "
    "--spec, and why a baseline could not be read; nor that nobody wrote the whole directory anew. Compare the digest of "
    "verdict.json with one from another place."
)


@dataclass(frozen=True)
class Audit:
    """What an audit found."""

    verdict: Verdict
    differences: tuple[str, ...]
    """One sentence each; none: the verdict follows from its artifacts."""

    @property
    def holds(self) -> bool:
        return not self.differences

    @property
    def unchecked(self) -> str:
        """What this installation can't check; empty: nothing."""
        if self.verdict.crosspath == __version__:
            return ""
        return (
            f"{MARKDOWN} and {JUNIT} were not compared: Crosspath {self.verdict.crosspath} wrote them, and this is {__version__}"
        )


def audit(verdict: str | Path, *, store: str | Path | None = None) -> Audit:
    """Draw a verdict again from its artifacts.

    Args:
        verdict: the directory of a verdict, its ``verdict.json``, or its MLflow run.
        store: directory of the ledger; only says where MLflow is, for a run.

    Raises:
        UnreadableError: it can't be read.
        TrackerError: the run can't be fetched.
        ValidatorError: the stored final states could not be judged.
    """
    place, kind = Path(verdict), kind_of_place(verdict)
    if not kind and looks_like_a_run(str(verdict)):
        registry = adapters.make_registry(adapters.store_directory(store))
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            return _audited(registry.fetch_verdict(str(verdict), Path(temporary)))
    if not kind:
        raise UnreadableError(f"there is no {verdict}: name the directory of a verdict, its {VERDICT}, or its MLflow run")
    return _audited(place) if kind == "directory" else _audited(place.parent, place.name)


def _audited(directory: Path, name: str = VERDICT) -> Audit:
    try:
        return _compared(directory, name)
    except RecursionError:
        raise UnreadableError(f"{directory}: something in it is nested too deep to be read") from None


def _compared(directory: Path, name: str) -> Audit:
    stated, written = _verdict(directory / name)
    found = [*_policy_differences(directory, stated), *_identity_differences(name, stated)]
    asked = _asked(directory, written)
    if (stated.baseline is None) != (asked.baseline is None):
        has, had = ("no baseline", "one") if stated.baseline is None else ("a baseline", "none")
        return Audit(stated, (*found, f"{name}: it has {has}, and {had} was asked for by {evidence_file(SIDES[0])}"))
    sides: list[Replayed] = []
    read: dict[str, tuple[Facts, Judgement]] = {}
    wanted = filter(None, (asked.candidate, asked.baseline))
    for label, side, one in zip(SIDES, filter(None, (stated.candidate, stated.baseline)), wanted, strict=False):
        if side.bundle not in SIDES:
            raise UnreadableError(
                f"{directory / name}: {label}.bundle is {side.bundle!r}; it has to be one of {', '.join(SIDES)}"
            )
        evidence = _evidence(directory / evidence_file(label), written)
        if side.bundle not in read:
            try:
                read[side.bundle] = _bundle(directory / side.bundle)
            except StoreError as error:
                return Audit(stated, (*found, f"{side.bundle}/: {error}"))
            found += _bundle_differences(directory / side.bundle, *read[side.bundle])
        sides.append(Replayed(one.ref, one.candidate, one.run, evidence, *read[side.bundle], side.bundle))
    found += _drawn_differences(directory, name, stated, asked, sides)
    return Audit(stated, tuple(found))


# -- reading ---------------------------------------------------------------------------------------------------------------


def _verdict(file: Path) -> tuple[Verdict, object]:
    """The verdict in today's form, and the version that it was written in."""
    value = json_mapping(file)
    version = value.get("version", 1)
    if isinstance(version, int) and version > VERDICT_FORMAT:
        raise UnreadableError(
            f"{file} has format {version}, written by Crosspath {value.get('crosspath')!r}; this is {__version__}"
        )
    try:
        stated = Verdict.model_validate(VERDICT_FORM.upgraded(value, version, "verdict") | {"version": VERDICT_FORMAT})
        verdict_id(stated.created_at, "")
    except ValidationError as error:
        raise UnreadableError(f"{file} is no verdict: {_first(error)}") from None
    except StoreError as error:
        raise UnreadableError(f"{file} is no verdict: {error}") from None
    except (OverflowError, ValueError, OSError):
        raise UnreadableError(f"{file} is no verdict: created_at: {value['created_at']} is no time") from None
    return stated, version


def _evidence(file: Path, version: object) -> Evidence:
    try:
        return Evidence.model_validate(VERDICT_FORM.upgraded(json_mapping(file), version, "evidence"))
    except ValidationError as error:
        raise UnreadableError(f"{file} can't be read: {_first(error)}") from None


def _asked(directory: Path, version: object) -> Asked:
    file = directory / evidence_file(SIDES[0])
    if (asked := _evidence(file, version).asked) is None:
        raise UnreadableError(f"{file} does not say what the gate was asked: gate again")
    return asked


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"


def _bundle(directory: Path) -> tuple[Facts, Judgement]:
    if not directory.is_dir():
        raise UnreadableError(f"there is no directory {directory}, which the verdict was drawn from")
    return read_bundle(directory), read_judgement(directory)


# -- comparing -------------------------------------------------------------------------------------------------------------


def _policy_differences(directory: Path, stated: Verdict) -> Iterator[str]:
    """The file against the policy that the verdict repeats."""
    found = _policy(directory)
    yield from _differences(
        VERDICT, {"policy": stated.policy.model_dump(mode="json")}, {"policy": found.model_dump(mode="json")}, POLICY
    )
    if (digest := policy_digest(found)) != stated.policy_digest:
        yield f"{POLICY}: its digest is {digest}, and the verdict states {stated.policy_digest}"


def _identity_differences(name: str, stated: Verdict) -> Iterator[str]:
    """What nothing else follows from has at least to agree with itself: references, and when it was drawn."""
    if stated.id != verdict_id(stated.created_at, stated.id.rpartition("-")[2]):
        yield f"{name}: created_at is {stated.created_at}, which is not the time in {_short(stated.id)}"
    for label, side in zip(SIDES, filter(None, (stated.candidate, stated.baseline)), strict=False):
        ref = side.ref
        if ref.model is None and (ref.candidate != side.candidate or ref.evaluation not in (side.evaluation, side.run)):
            yield f"{name}: {label}.ref is {_short(str(ref))}, and the evidence is {side.candidate} of {side.evaluation}"


def _policy(directory: Path) -> Policy:
    try:
        return load_policy(file_bytes(directory / POLICY).decode("utf-8"), str(directory / POLICY))
    except (OSError, ValueError, ConfigError) as error:
        raise UnreadableError(f"{directory / POLICY} can't be read: {error}") from None


def _bundle_differences(directory: Path, facts: Facts, judgement: Judgement) -> Iterator[str]:
    """Replies against the commands that were run, and the facts against the judgement."""
    yield from _delivery_differences(directory.name, facts)
    with without_collection():
        again = judge(facts, adapters.make_validator())
    if again != judgement:
        stored = judgement.model_dump(mode="json")
        yield from _differences(f"{directory.name}/: the judgement", stored, again.model_dump(mode="json"))


def _delivery_differences(name: str, facts: Facts) -> Iterator[str]:
    """Whether what was run is what each path makes of the stored reply."""
    paths = stored_plan(facts).paths
    replies = {trial.key: trial.reply for trial in facts.trials}
    wrong = [
        replay.key.trial
        for replay in facts.replays
        if (path := paths.get(replay.key.path))
        and (
            (reply := replies.get(replay.key.trial)) is None or path.deliver(reply, encoded=replay.key.encoded) != replay.delivery
        )
    ]
    if wrong:
        tasks = ", ".join(dict.fromkeys(f"{key.task}#{key.index}" for key in wrong))
        yield f"{name}/: the commands that were run are not what the paths make of the stored replies: {tasks}"


def _drawn_differences(directory: Path, name: str, stated: Verdict, asked: Asked, sides: Sequence[Replayed]) -> Iterator[str]:
    """Everything that the verdict states against what follows from the artifacts."""
    baseline = sides[1] if len(sides) > 1 else None
    material = Material(_policy(directory), sides[0], baseline, asked.baseline_unreadable, asked.spec_configuration)
    if missing := next(filter(None, map(_missing_candidate, sides)), None):
        yield missing
        return
    again = draw(material, directory, adapters.make_validator(), stated.id, stated.created_at)
    again = again.model_copy(update={"crosspath": stated.crosspath})
    told = {"policy"}  # compared with its file already
    yield from _differences(name, stated.model_dump(mode="json", exclude=told), again.model_dump(mode="json", exclude=told))
    if stated.crosspath == __version__:
        yield from _page_differences(directory, again)


def _missing_candidate(side: Replayed) -> str | None:
    known = any(one.name == side.candidate for one in side.evidence.lock.candidates)
    return None if known else f"{side.candidate!r} is no candidate of its evidence"


def _page_differences(directory: Path, again: Verdict) -> Iterator[str]:
    for name, text in ((MARKDOWN, gate_markdown(again)), (JUNIT, gate_junit(again))):
        try:
            same = file_bytes(directory / name) == text.encode("utf-8", "backslashreplace")
        except FileNotFoundError:
            yield f"{name} is missing"
            continue
        if not same:
            yield f"{name} does not say what follows from the evidence"


def _differences(source: str, stated: object, found: object, elsewhere: str = "") -> Iterator[str]:
    """``elsewhere``: the file that holds what was found; else it follows from the evidence."""
    every = list(_unequal(stated, found, ""))
    for place, one, other in every[:MOST_NAMED]:
        right = f"{elsewhere} has {_short(other)}" if elsewhere else f"{_short(other)} follows from the evidence"
        yield f"{source}: {place} is {_short(one)}, and {right}"
    if len(every) > MOST_NAMED:
        yield f"{source}: {len(every) - MOST_NAMED} more fields differ"


def _unequal(stated: object, found: object, place: str) -> Iterator[tuple[str, object, object]]:
    """Every leaf that differs, by its dotted name; a list of another length is one difference."""
    if isinstance(stated, Mapping) and isinstance(found, Mapping):
        one, other = cast("Mapping[str, object]", stated), cast("Mapping[str, object]", found)
        for key in dict.fromkeys((*one, *other)):
            yield from _unequal(one.get(key), other.get(key), f"{place}.{key}" if place else key)
    elif (
        isinstance(stated, list)
        and isinstance(found, list)
        and len(cast("list[object]", stated)) == len(cast("list[object]", found))
    ):
        for number, pair in enumerate(zip(cast("list[object]", stated), cast("list[object]", found), strict=True)):
            yield from _unequal(*pair, f"{place}[{number}]")
    elif not _equal(stated, found):
        yield place, stated, found


def _equal(stated: object, found: object) -> bool:
    if isinstance(stated, float) and isinstance(found, float):
        return math.isclose(stated, found, rel_tol=CLOSE, abs_tol=CLOSE)
    return stated == found


def _short(value: object) -> str:
    if isinstance(value, list):
        return f"a list of {len(cast('list[object]', value))}"
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 100 else f"{text[:97]}..."
