"""Stored replies executed again: what a gate and a look at frozen replies have in common. No model is asked."""

import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from crosspath.app.gating_checks import replies_digest
from crosspath.app.resolve import Resolved
from crosspath.app.session import Derivation, Opened, open_evaluation
from crosspath.ports import Executor
from crosspath.store.ledger import Ledger
from crosspath.types import Execution, Facts, Fault, ReplayJob, Reply, Request, Toolchain, digest


def derivation_of(source: Facts, names: Sequence[str], plan: Resolved, how: str) -> Derivation:
    """The stored replies of some candidates, as far as the plan replays them. ``how``: who replays them, in words."""
    trials = tuple(
        trial for trial in source.trials if trial.key.generation in plan.plan.generations and trial.key.task in plan.plan.tasks
    )
    identity = digest([source.head.id, source.head.created_at, replies_digest(trials), plan.resume_digest, how, *names])
    return Derivation(source.head.id, how, trials, identity)


def goes_on(
    ledger: Ledger,
    resolved: Resolved,
    derivation: Derivation,
    executor: Executor,
    drop: Callable[[Facts], None],
    notify: Callable[[str], None],
    *,
    kept_s: float | None = None,
) -> Opened:
    """The interrupted one, unless the programs are others by now or it is older than ``kept_s`` (None: however old it is): then
    from the start, so that nothing is mixed. ``drop`` does away with the interrupted one."""
    opened = open_evaluation(ledger, resolved, derivation)
    if not opened.resumed:
        return opened
    if why := _why_anew(opened.facts, executor, kept_s):
        notify(f"{opened.facts.head.id} was interrupted, and {why}: it is replayed anew")
        drop(opened.facts)
        return open_evaluation(ledger, resolved, derivation)
    notify(f"going on with {opened.facts.head.id}: {len(opened.facts.replays)} replays are kept")
    return opened


def _why_anew(facts: Facts, executor: Executor, kept_s: float | None) -> str:
    if facts.replays and facts.lock.toolchain != executor.toolchain():
        return "other programs are installed since"
    if kept_s is not None and not 0 <= time.time() - facts.head.created_at <= kept_s:
        return "that is too long ago"
    return ""


class StoredRepliesOnly:
    """One executor for several evaluations: each finds it open, none closes it, and none can ask a model."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._toolchain: Toolchain | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    async def generate(self, request: Request) -> Reply | Fault:
        raise AssertionError(f"only stored replies are executed, and this would be sent: {request.key}")

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        return await self._executor.replay(jobs)

    def toolchain(self) -> Toolchain:
        if self._toolchain is None:
            self._toolchain = self._executor.toolchain()
        return self._toolchain
