"""Frozen replies: the stored replies of one candidate executed again as deployed, always anew, with the programs of today.

Nothing is sampled, so whatever comes out otherwise than before is the toolchain's doing: the sandbox, its programs, our packages,
or the harness of the path. No request is sent.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from crosspath.analysis.toolchain_drift import AGAIN, REPLAYS, FrozenReply, Look, Outcome, not_measured, toolchain_drift
from crosspath.app import adapters
from crosspath.app.collecting import without_collection
from crosspath.app.derive import FOR_DRIFT, deployed_resolved
from crosspath.app.gating_replays import Place
from crosspath.app.readiness import in_sandbox
from crosspath.app.replaying import StoredRepliesOnly, derivation_of, goes_on
from crosspath.app.resolve import Own, Resolved
from crosspath.app.session import gather, give_up
from crosspath.dates import day_of
from crosspath.errors import BoundaryError, ConfigError, StoreError
from crosspath.pipeline.evaluate import Evaluator, Progress
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.faults import is_final
from crosspath.pipeline.plan import Plan, matched_cell
from crosspath.pipeline.scores import score_replays
from crosspath.pipeline.series import toolchain_digest
from crosspath.pipeline.toolchains import replayed_differences, toolchain_fields
from crosspath.store.ledger import Ledger
from crosspath.types import Facts, ReplayKey, Score, TrialKey
from crosspath.types.drift import FrozenOutcome, ToolchainDrift

GOES_ON_S = 1800.0
"""So long ago an interrupted look may have begun for the next one to go on with it; what is older is no look of today."""
KEPT = 3
"""So many evaluations of frozen replies a ledger keeps of one spec's name, and those of today: a look a day for years adds no
more."""


def frozen_replays(
    source: Facts,
    candidate: str,
    earlier: Sequence[FrozenOutcome] = (),
    *,
    place: Place,
    ledger: Ledger,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
    own: Own | None = None,
) -> ToolchainDrift:
    """The stored replies of a candidate, executed again, against what became of them before.

    Args:
        source: the frozen evaluation.
        earlier: the evidence of the look before, at the replies of this very evaluation.
        place: which executor and sandbox.
        own: where harnesses of the user's own are defined now; default where they were.

    What keeps it from an answer is a status (``could not measure``), never the end of the caller.

    Raises:
        ConfigError: the sandbox that was asked for does not exist.
        StoreError: the ledger failed.
        KeyboardInterrupt: Ctrl-C or SIGTERM; a look soon after goes on with what was replayed.
    """
    frozen = source.head.id
    try:
        deployed = _as_deployed(source, candidate, own or Own())
    except ConfigError as error:
        return not_measured(f"The frozen replies of {frozen} can't be executed as deployed: {error}", earlier, frozen)
    sandboxed = in_sandbox(deployed, place.sandbox)
    try:
        return _Frozen(source, candidate, ledger, progress or Progress(), notify).executed(sandboxed, place, earlier)
    except StoreError:
        raise
    except (BoundaryError, ConfigError) as error:
        return not_measured(f"The frozen replies of {frozen} could not be executed: {error}", earlier, frozen)


def _as_deployed(source: Facts, candidate: str, own: Own) -> Resolved:
    """The plan of the one cell that is the candidate as deployed, without tasks that can't be done.

    Raises:
        ConfigError: no such candidate, or a harness is not there any more.
    """
    if all(one.name != candidate for one in source.lock.candidates):
        raise ConfigError(f"it has no candidate {candidate!r}")
    resolved = deployed_resolved(source, [candidate], own.paths, own.base)
    plan = resolved.plan
    cell = matched_cell(plan.cells, candidate)
    own_only = replace(
        plan,
        cells=(cell,),
        not_applicable={},
        tasks={task.id: task for task in plan.tasks.values() if task.infeasible is None},
        paths={cell.path: plan.paths[cell.path]},
        generations={cell.generation.digest: cell.generation},
    )
    return replace(resolved, plan=own_only)


class _Frozen:
    """One look at the frozen replies of a candidate."""

    def __init__(self, source: Facts, candidate: str, ledger: Ledger, progress: Progress, notify: Callable[[str], None]) -> None:
        self._source = _of_candidate(source, candidate)
        self._candidate = candidate
        self._ledger = ledger
        self._progress = progress
        self._notify = notify
        self._scores: dict[ReplayKey, Score] = {}
        self._before: Mapping[TrialKey, _Seen] = {}

    def executed(self, resolved: Resolved, place: Place, earlier: Sequence[FrozenOutcome]) -> ToolchainDrift:
        """Everything replayed, compared and said.

        Raises:
            BoundaryError: sandbox, executor, validator or ledger failed.
        """
        self._progress.began(f"replaying the frozen replies of {self._source.head.id} ...")
        with without_collection():
            self._before = _seen(self._source, self._candidate, _judged(self._source, {}))
        facts = self._replayed(resolved, place)
        _tidy(self._ledger, facts)
        with without_collection():
            return self._compared(facts, earlier)

    def _replayed(self, resolved: Resolved, place: Place) -> Facts:
        """The facts of the replays, finished: the next look begins anew."""
        derivation = derivation_of(self._source, [self._candidate], resolved, FOR_DRIFT)
        kind = place.executor or resolved.spec.executor.kind or place.usual_executor
        with adapters.make_executor(kind, resolved.spec, {}) as made:
            executor = StoredRepliesOnly(made)
            opened = goes_on(self._ledger, resolved, derivation, executor, self._forget, self._notify, kept_s=GOES_ON_S)
            anew = Progress(changed=self._progress.changed, began=self._progress.began)
            beside = [self._faulted, self._again]
            facts = gather(self._ledger, resolved, opened, executor, generate=False, progress=anew, beside=beside)
        if facts.head.status != "finished":
            give_up(self._ledger, facts)
        return facts

    def _forget(self, interrupted: Facts) -> None:
        self._ledger.remove(interrupted.head.id)

    async def _faulted(self, facts: Facts, plan: Plan, evaluator: Evaluator, _progress: Progress) -> bool:
        """Replay once more what failed to be executed for a reason that may pass."""
        failed = [replay.key.trial for replay in facts.replays if replay.fault and not is_final(replay.fault)]
        trials = [trial for trial in facts.trials if trial.key in failed]
        await evaluator.repeat(trials, lambda key: [owed for _, owed in plan.replay_keys(key)])
        return bool(trials)

    async def _again(self, facts: Facts, _plan: Plan, evaluator: Evaluator, progress: Progress) -> bool:
        """Replay what came out otherwise ``AGAIN`` more times."""
        differing = {one.key for one in self._replies(facts) if one.differs}
        trials = [trial for trial in facts.trials if (trial.key.task, trial.key.index) in differing]
        if trials:
            progress.began(f"replaying {len(trials)} replies that come out otherwise {AGAIN} more times ...")
            path = facts.cells[0].path
            await evaluator.repeat(trials, lambda key: [ReplayKey(trial=key, path=path, repeat=n) for n in range(REPLAYS)])
        return bool(trials)

    def _replies(self, facts: Facts) -> tuple[FrozenReply, ...]:
        """Every stored reply of a task that can be done, with what became of it before and as far as it was replayed now."""
        self._scores = _judged(facts, self._scores)
        now = _seen(facts, self._candidate, self._scores)
        return tuple(
            FrozenReply(key.task, key.index, before.outcomes, now[key].outcomes if key in now else (), before.unstable)
            for key, before in self._before.items()
        )

    def _compared(self, facts: Facts, earlier: Sequence[FrozenOutcome]) -> ToolchainDrift:
        source, lock = self._source, facts.lock
        mixed = "mixed with others" if source.lock.earlier_toolchains else ""
        cells = matched_cell(source.cells, self._candidate), facts.cells[0]
        # A harness that was edited is a toolchain of its own: no day that is compared with the reference ran with it.
        edited = "" if cells[0].path == cells[1].path else f" with path {cells[1].path}"
        look = Look(self._replies(facts), toolchain_digest(source.lock) + mixed, toolchain_digest(lock) + edited)
        known = {
            "frozen": source.head.id,
            "replayed_as": facts.head.id,
            "requests": len(facts.attempts),
            "changed": replayed_differences((source.lock, cells[0]), (lock, cells[1])),
            "fields": toolchain_fields(lock),
        }
        return toolchain_drift(look, earlier).model_copy(update=known)


class _Seen(NamedTuple):
    """One reply as deployed."""

    outcomes: tuple[Outcome, ...]
    """Of its replays that have a verdict, in their order."""
    unstable: bool


def _of_candidate(facts: Facts, candidate: str) -> Facts:
    """The facts as far as they are the candidate's: nothing else is judged for it."""
    return facts.model_copy(update={"cells": tuple(cell for cell in facts.cells if cell.candidate == candidate)})


def _judged(facts: Facts, known: Mapping[ReplayKey, Score]) -> dict[ReplayKey, Score]:
    """The scores by the suite that is stored; those in ``known`` are not drawn again."""
    fresh = facts.model_copy(update={"replays": tuple(one for one in facts.replays if one.key not in known)})
    return {**known, **{score.key: score for score in score_replays(fresh, adapters.make_validator())}}


def _seen(facts: Facts, candidate: str, scores: Mapping[ReplayKey, Score]) -> dict[TrialKey, _Seen]:
    """Trial -> what became of its reply, for each reply to a task that can be done."""
    cell = matched_cell(facts.cells, candidate)
    index = FactIndex(facts, tuple(scores.values()))
    passes, found = index.passes(cell), dict[TrialKey, _Seen]()
    for (task, number, key), row in zip(index.keys(cell), index.rows_compared(cell), strict=True):
        trial = index.trial_of(key)
        if trial and trial.reply:
            seen = (index.score_of(cell, key, repeat) for repeat in range(len(passes[task.id, number])))
            outcomes = tuple(Outcome(one.passed, one.cause, one.silent_wrong, one.reason) for one in seen if one)
            found[key] = _Seen(outcomes, row.unstable)
    return found


def _tidy(ledger: Ledger, newest: Facts) -> None:
    """Take away what earlier looks replayed, but for the last few and those of today."""
    heads = [one for one in ledger.heads() if (one.name, one.derivation) == (newest.head.name, FOR_DRIFT)]
    for head in heads[:-KEPT]:
        if day_of(head.created_at) != day_of(newest.head.created_at):
            ledger.remove(head.id)
