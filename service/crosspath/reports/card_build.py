"""From the facts and the judgement of an evaluation to the card of one of its candidates."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

from crosspath import __version__
from crosspath.errors import ConfigError
from crosspath.reports.card_outcomes import Answered, declining_code, outcome_code, repeats_code
from crosspath.reports.card_portable import OWN_ENDPOINT, Portable, endpoint_kind, portable_path
from crosspath.reports.headlines import headlines
from crosspath.transports import assemble, find_path
from crosspath.transports.chain import Chain
from crosspath.types import (
    Candidate,
    Card,
    CardCell,
    CardEvaluation,
    CardPath,
    CardTask,
    Cleanup,
    Contract,
    Control,
    Decomposition,
    Facts,
    Headline,
    Judgement,
    PathSpec,
    PlannedCell,
    Record,
    Replay,
    ReplayKey,
    Reply,
    Score,
    Side,
    Task,
    Trial,
    TrialKey,
    canonical_json,
    digest,
)

REPLY_DIGITS = 16
"""Hexadecimal digits that are kept of a reply's SHA-256: enough to tell replies apart."""
_R = TypeVar("_R", bound=Record)


@dataclass(frozen=True)
class CardMaker:
    """Makes the cards of one evaluation; what all of them need is looked up once."""

    facts: Facts
    judgement: Judgement

    @cached_property
    def _scores(self) -> dict[tuple[str, ReplayKey], Score]:
        return {(score.validator, score.key): score for score in self.judgement.scores}

    @cached_property
    def _trials(self) -> dict[TrialKey, Trial]:
        return {trial.key: trial for trial in self.facts.trials}

    @cached_property
    def _replays(self) -> dict[tuple[TrialKey, str, bool], dict[int, Replay]]:
        """Replays of each trial on each path, by repeat."""
        found: dict[tuple[TrialKey, str, bool], dict[int, Replay]] = defaultdict(dict)
        for replay in self.facts.replays:
            found[replay.key.trial, replay.key.path, replay.key.encoded][replay.key.repeat] = replay
        return found

    @cached_property
    def _portable(self) -> Portable:
        return Portable(self.facts, {t.id: _card_task(t).label for t in self.facts.tasks if t.partition == "heldout"})

    @cached_property
    def _headlines(self) -> dict[str, Headline]:
        return {one.candidate: one for one in headlines(self.facts, self.judgement)}

    def card(self, name: str) -> Card:
        """The card of one candidate, before its page is written.

        Raises:
            ConfigError: there is no such candidate.
        """
        candidate = next((one for one in self.facts.lock.candidates if one.name == name), None)
        if candidate is None:
            known = ", ".join(one.name for one in self.facts.lock.candidates)
            raise ConfigError(f"{name!r} is not a candidate of {self.facts.head.id}; it has: {known}", field="candidate")
        return self._card(candidate, [cell for cell in self.facts.cells if cell.candidate == name])

    def _card(self, candidate: Candidate, cells: Sequence[PlannedCell]) -> Card:
        lock = self.facts.lock
        parts = {
            **self._about(candidate, cells),
            **self._results(candidate.name),
            "reference": lock.reference,
            "trials": lock.trials,
            "suites": {name: lock.suites.get(name, "") for name in dict.fromkeys(cell.validator for cell in cells)},
            "toolchain": lock.toolchain,
            "earlier_toolchains": lock.earlier_toolchains,
            "packages": lock.packages,
            "commit": lock.commit,
            "dirty": lock.dirty,
            "cells": tuple(self._cell(cell) for cell in cells),
            "replies": {side: self._reply_digests(of) for side, of in _by_side(cells).items()},
            "warnings": tuple(map(self._portable.warning, self.judgement.warnings)),
        }
        named = self._portable.value(_plain(parts))
        return Card.model_validate({**named, **_plain(self._identities(candidate, cells)), "page_sha256": ""})

    # -- what was asked, and of whom -----------------------------------------------------------------------------------

    def _about(self, candidate: Candidate, cells: Sequence[PlannedCell]) -> dict[str, Any]:
        head = self.facts.head
        replies = {side: self._replies_of(generation) for side, generation in _by_side(cells).items()}
        every = [reply for found in replies.values() for reply in found]
        return {
            "crosspath": __version__,
            "evaluation": CardEvaluation(
                **head.model_dump(include=set(CardEvaluation.model_fields) & set(type(head).model_fields)),
                sessions=self.facts.sessions,
                candidates=len(self.facts.lock.candidates),
                lock_digest=self.facts.lock.digest,
            ),
            "candidate": _without_address(candidate),
            "endpoint": endpoint_kind(candidate),
            "served": _tally(reply.served_model for reply in every),
            "fingerprints": _tally(reply.fingerprint for reply in every),
            "sent": {side: body for side, found in replies.items() if (body := _body_sent(found)) is not None},
            "spec": card_spec(head.spec, candidate, self._own_paths(candidate, cells)),
        }

    def _own_paths(self, candidate: Candidate, cells: Sequence[PlannedCell]) -> set[str]:
        """Names of the user's own paths that the candidate runs on or is told about."""
        contracts = {contract.name: contract for contract in self.facts.contract_specs}
        told = (contracts[cell.contract].discloses for cell in cells if cell.contract in contracts)
        named = {candidate.transport, self.facts.lock.reference.transport, *told}
        return {name.partition(":")[2] or name for name in named} | named

    def _replies_of(self, generation: str) -> list[Reply]:
        return [trial.reply for key in self._keys(generation) if (trial := self._trials.get(key)) and trial.reply]

    def _keys(self, generation: str) -> Iterable[TrialKey]:
        for task in self.facts.tasks:
            for index in range(self.facts.lock.trials):
                yield TrialKey(generation=generation, task=task.id, index=index)

    def _reply_digests(self, generation: str) -> tuple[str | None, ...]:
        trials = (self._trials.get(key) for key in self._keys(generation))
        return tuple(reply_digest(trial.reply) if trial and trial.reply else None for trial in trials)

    # -- texts -----------------------------------------------------------------------------------------------------------

    def _identities(self, candidate: Candidate, cells: Sequence[PlannedCell]) -> dict[str, Any]:
        """What digests are over: to the letter as it was."""
        told = dict.fromkeys(cell.contract for cell in cells)
        style = candidate.generation.request_style
        return {
            "contracts": tuple(one for one in self.facts.contract_specs if one.name in told),
            "contract_digests": {name: self.facts.lock.contracts.get(name, "") for name in told},
            "paths": tuple(self._paths(candidate.harness, cells)),
            "tasks": tuple(map(_card_task, self.facts.tasks)),
            "style": next((text for text in self.facts.styles if text.name == style), None),
        }

    def _paths(self, cleanup: Cleanup, cells: Sequence[PlannedCell]) -> Iterable[CardPath]:
        """Each path once, for the first cell that it is used in."""
        contracts = {contract.name: contract for contract in self.facts.contract_specs}
        specs = {spec.name: spec for spec in self.facts.path_specs}
        first: dict[str, PlannedCell] = {}
        for cell in cells:
            first.setdefault(cell.path, cell)
        for cell in first.values():
            if spec := _path_spec(cell.transport, specs):
                yield CardPath(
                    name=cell.transport, contract=cell.contract, cleanup=cleanup, spec=portable_path(spec),
                    does=_sentences(spec, contracts.get(cell.contract)), digest=cell.path,
                )  # fmt: skip

    # -- what came of it -------------------------------------------------------------------------------------------------

    def _results(self, name: str) -> dict[str, Any]:
        judgement = self.judgement
        losses, cost, formats = (_of(found, name) for found in (judgement.losses, judgement.costs, judgement.format_damage))
        return {
            "decomposition": self._decomposition(name),
            "losses": losses and losses.model_copy(update={"tasks": {}, "examples": {}}),
            "headline": self._headline(name),
            "format_damage": formats and formats.model_copy(update={"tasks": ()}),
            "reliability": [one.model_copy(update={"unsteady": {}}) for one in _all_of(judgement.reliability, name)],
            "cost": cost,
            "abstentions": _all_of(judgement.abstentions, name),
        }

    def _decomposition(self, name: str) -> Decomposition:
        """With the names of held-out tasks replaced, in an order that does not depend on them."""
        found = next(one for one in self.judgement.decompositions if one.candidate == name)
        control, named = found.control, self._portable.sentence
        lists = {field: sorted(map(named, getattr(control, field))) for field in ("differing", "unstable")}
        renamed = Control.model_validate({**control.model_dump(), **lists, "reason": named(control.reason)})
        return found.model_copy(update={"control": renamed})

    def _headline(self, name: str) -> Headline | None:
        found = self._headlines.get(name)
        if found is None:
            return None
        texts = found.model_dump(exclude={"candidate"})
        return Headline(candidate=name, **{field: self._portable.sentence(text) for field, text in texts.items()})

    def _cell(self, cell: PlannedCell) -> CardCell:
        feasible = [task for task in self.facts.tasks if task.infeasible is None]
        benign = cell.name in ("RR", "RN") and not cell.control and not cell.encoded
        return CardCell(
            name="control" if cell.control else cell.name,  # pyright: ignore[reportArgumentType]  # told and done are R or N
            told=cell.told,
            done=cell.done,
            contract=cell.contract,
            transport=cell.transport,
            path=cell.path,
            encoded=cell.encoded,
            validator=cell.validator,
            outcomes=tuple(self._outcome(cell, key) for key in self._keys_of(cell, feasible)),
            states=tuple(self._states(cell, key) for key in self._keys_of(cell, [t for t in feasible if t.tier == 0]))
            if benign and self._has_benign_control(cell.candidate)
            else (),
            declining=() if len(feasible) == len(self.facts.tasks) or cell.control else tuple(self._declining(cell)),
        )

    def _has_benign_control(self, candidate: str) -> bool:
        return any(one.candidate == candidate and one.control.kind == "benign" for one in self.judgement.decompositions)

    def _keys_of(self, cell: PlannedCell, tasks: Sequence[Task]) -> Iterable[TrialKey]:
        for task in tasks:
            for index in range(self.facts.lock.trials):
                yield TrialKey(generation=cell.generation.digest, task=task.id, index=index)

    def _seen(self, cell: PlannedCell, key: TrialKey) -> list[Score | None]:
        """The score of each repeat; None where one was not observed."""
        last = max(self._replays.get((key, cell.path, cell.encoded), {0: None}))
        keys = (ReplayKey(trial=key, path=cell.path, encoded=cell.encoded, repeat=repeat) for repeat in range(last + 1))
        return [self._scores.get((cell.validator, one)) for one in keys]

    def _outcome(self, cell: PlannedCell, key: TrialKey) -> str:
        seen = self._seen(cell, key)
        return outcome_code(seen[0], self._fault(cell, key), [one and one.passed for one in seen])

    def _fault(self, cell: PlannedCell, key: TrialKey) -> str:
        trial = self._trials.get(key)
        replay = self._replays.get((key, cell.path, cell.encoded), {}).get(0)
        fault = (trial.fault if trial else None) or (replay.fault if replay else None)
        return fault.type if fault else "not_done"

    def _states(self, cell: PlannedCell, key: TrialKey) -> str:
        return repeats_code([one and one.state_ok for one in self._seen(cell, key)])

    def _declining(self, cell: PlannedCell) -> Iterable[str]:
        for task in self.facts.tasks:
            for key in self._keys_of(cell, (task,)):
                yield declining_code(self._answered(cell, key, infeasible=task.infeasible is not None))

    def _answered(self, cell: PlannedCell, key: TrialKey, *, infeasible: bool) -> Answered:
        seen, replay = self._seen(cell, key), self._replays.get((key, cell.path, cell.encoded), {}).get(0)
        first = seen[0]
        if first is None or replay is None:
            return Answered(None)
        delivery = replay.delivery
        way = "form" if delivery.abstained else "otherwise" if delivery.problem == "refusal" else "acted"
        passes = tuple(one and one.passed for one in seen) if infeasible else ()
        return Answered(way, infeasible and not first.state_ok, passes)


def card_spec(spec: Mapping[str, Any], candidate: Candidate, paths: set[str]) -> dict[str, Any]:
    """The spec as resolved, with one candidate and the own paths that it needs; an endpoint's address is left to be filled in.

    Whoever repeats it has no part in the deployment's series.
    """
    axes = {**candidate.model_dump(mode="json", exclude={"name"})}
    axes |= axes.pop("generation")
    model = {key: value for key, value in axes["model"].items() if value not in (None, {})}
    if "api_base" in model:
        model["api_base"] = OWN_ENDPOINT
    replaced = ("models", "defaults", "grid", "candidates", "executor", "deployment")
    kept = {key: value for key, value in spec.items() if key not in replaced}
    own = cast("Mapping[str, Any]", spec.get("transports") or {})
    executor = cast("Mapping[str, Any]", spec.get("executor") or {})
    return {
        **{key: kept.pop(key) for key in ("name", "experiment", "kind") if key in kept},
        "models": {"model": {"model": model.pop("name"), **model}},
        "candidates": {candidate.name: {**axes, "model": "model"}},
        **kept,
        "transports": {name: path for name, path in own.items() if name in paths},
        "executor": {key: value for key, value in executor.items() if key != "address"},
    }


def reply_digest(reply: Reply) -> str:
    """The beginning of a SHA-256 over a reply's text and the names and arguments of its tool calls."""
    calls = [[call.name, call.arguments] for call in reply.tool_calls]
    return hashlib.sha256(canonical_json([reply.text, calls]).encode("ascii")).hexdigest()[:REPLY_DIGITS]


def _card_task(task: Task) -> CardTask:
    return CardTask(
        id=None if task.partition == "heldout" else task.id,
        family=task.family,
        tier=task.tier,
        partition=task.partition,
        infeasible=task.infeasible is not None,
        digest=task.digest,
    )


def _by_side(cells: Sequence[PlannedCell]) -> dict[Side, str]:
    """Told side -> digest of the generation whose replies it has."""
    return {cell.told: cell.generation.digest for cell in cells}


def _without_address(candidate: Candidate) -> Candidate:
    model = candidate.generation.model.model_copy(update={"api_base": None})
    return candidate.model_copy(update={"generation": candidate.generation.model_copy(update={"model": model})})


def _body_sent(replies: Iterable[Reply]) -> dict[str, Any] | None:
    """The first body that was sent, without messages; its tools by their digest."""
    body = next((reply.sent_body for reply in replies if reply.sent_body), None)
    if body is None:
        return None
    kept = {key: value for key, value in body.items() if key not in ("messages", "tools")}
    return kept | ({"tools": f"sha256 {digest(body['tools'])}"} if "tools" in body else {})


def _tally(names: Iterable[str | None]) -> dict[str, int]:
    return dict(sorted(Counter(name or "" for name in names).items()))


def _path_spec(name: str, specs: Mapping[str, PathSpec]) -> PathSpec | None:
    """The path of that name; None for one that an older version had."""
    try:
        return find_path(name, specs)
    except ConfigError:
        return None


def _sentences(spec: PathSpec, contract: Contract | None) -> tuple[str, ...]:
    """What each layer does; nothing for a user's own harness, or where a layer is not known any more."""
    try:
        carrier = assemble(spec, contract).carrier
    except ConfigError:  # a layer or a tool's path that an older version had
        return ()
    return tuple(layer.sentence for layer in carrier.layers) if isinstance(carrier, Chain) else ()


def _of(records: Sequence[_R], candidate: str) -> _R | None:
    return next(iter(_all_of(records, candidate)), None)


def _all_of(records: Sequence[_R], candidate: str) -> list[_R]:
    return [record for record in records if getattr(record, "candidate", None) == candidate]


def _plain(value: object) -> Any:
    """A record, or a container of records, as plain JSON values."""
    if isinstance(value, Record):
        return value.model_dump(mode="json")
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in cast("Mapping[Any, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in cast("Sequence[object]", value)]
    return value
