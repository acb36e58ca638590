"""The replays of a gate: the stored replies of every source once more, as deployed, in one session with one executor.

A gate that is killed goes on: what it replayed is in the ledger, and a note in the store says which evaluations are its own.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crosspath.app import adapters
from crosspath.app.collecting import without_collection
from crosspath.app.derive import FOR_A_GATE, deployed_resolved
from crosspath.app.gating_places import GATES, NOTE
from crosspath.app.readiness import in_sandbox
from crosspath.app.replaying import StoredRepliesOnly, derivation_of, goes_on
from crosspath.app.resolve import Own, Resolved
from crosspath.app.session import Derivation, gather, give_up
from crosspath.errors import StoreError, boundary
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.judge import judge
from crosspath.ports import Executor
from crosspath.store.ledger import Ledger
from crosspath.types import Facts, Judgement, Policy, digest


@dataclass(frozen=True)
class Place:
    """Where a gate replays."""

    executor: str | None
    """As asked for; None: what the candidate's spec said, else ``usual_executor``."""
    usual_executor: str
    sandbox: str | None


class Replays:
    """The replays of one gate."""

    def __init__(self, ledger: Ledger, policy: Policy, place: Place, progress: Progress, notify: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._policy = policy
        self._place = place
        self._progress = progress
        self._notify = notify
        self._note: _Note | None = None

    def forget(self) -> None:
        """The verdict is written: the next gate replays anew."""
        if self._note:
            self._note.forget()

    def judged(self, sources: Sequence[tuple[Facts, tuple[str, ...]]], own: Own) -> list[tuple[Facts, Judgement]]:
        """Facts and judgement of each source, replayed anew in one session.

        Raises:
            ConfigError: a harness is not there any more.
            BoundaryError: the sandbox or the ledger failed; what was replayed is in the ledger.
        """
        plans = [deployed_resolved(facts, names, own.paths, own.base) for facts, names in sources]
        sandboxed = in_sandbox(plans[0], self._place.sandbox).spec
        same = {"sandbox": sandboxed.sandbox, "sandbox_limits": sandboxed.sandbox_limits, "executor": sandboxed.executor}
        plans = [replace(plan, spec=plan.spec.model_copy(update=same)) for plan in plans]
        derivations = [derivation_of(facts, names, plan, FOR_A_GATE) for (facts, names), plan in zip(sources, plans, strict=True)]
        identity = digest([self._policy.model_dump(mode="json"), *(one.identity for one in derivations)])
        self._note = note = _Note(self._ledger.directory, identity)
        self._progress.began(f"replaying {len(plans)} evaluation{'s' * (len(plans) > 1)} for the gate ...")
        kind = self._place.executor or plans[0].spec.executor.kind or self._place.usual_executor
        judged: list[tuple[Facts, Judgement]] = []
        with adapters.make_executor(kind, plans[0].spec, {}) as made:
            shared = StoredRepliesOnly(made)
            gathered = [self._gathered(plan, one, shared, note) for plan, one in zip(plans, derivations, strict=True)]
        self._progress.began("judging ...")
        for facts in gathered:
            with without_collection():
                judged.append((facts, judge(facts, adapters.make_validator())))
        return judged

    def _gathered(self, resolved: Resolved, derivation: Derivation, executor: Executor, note: "_Note") -> Facts:
        """The facts of one evaluation that was replayed for this gate, as far as an interrupted one did not do so already."""
        if (known := note.finished(derivation, self._ledger)) and known.lock.toolchain == executor.toolchain():
            self._notify(f"{known.head.id} was replayed before this gate was interrupted: it is kept")
            return known
        opened = goes_on(self._ledger, resolved, derivation, executor, self._give_up, self._notify)
        note.add(derivation, opened.facts.head.id)
        return gather(
            self._ledger, resolved, opened, executor, generate=False, progress=_counting_anew(self._progress), notify=self._notify
        )

    def _give_up(self, interrupted: Facts) -> None:
        give_up(self._ledger, interrupted)


def _counting_anew(progress: Progress) -> Progress:
    return Progress(changed=progress.changed, began=progress.began)


class _Note:
    """Which evaluations an unfinished gate replayed: a file in the store that goes when there is nothing left to replay."""

    def __init__(self, store: Path, identity: str) -> None:
        self._file = store / GATES / f"{NOTE}{identity[:16]}.json"

    def finished(self, derivation: Derivation, ledger: Ledger) -> Facts | None:
        """The finished evaluation of this derivation, where an interrupted gate left one."""
        name = self._known().get(derivation.identity)
        head = next((head for head in ledger.heads() if head.id == name), None)
        return ledger.facts(head.id) if head and head.status == "finished" else None

    def add(self, derivation: Derivation, evaluation: str) -> None:
        """Remember one.

        Raises:
            StoreError: the store can't be written.
        """
        with boundary(StoreError, f"writing {self._file}"):
            self._file.parent.mkdir(parents=True, exist_ok=True)
            fresh = self._file.with_suffix(".new")
            fresh.write_text(json.dumps(self._known() | {derivation.identity: evaluation}), "ascii")
            fresh.replace(self._file)

    def forget(self) -> None:
        """Everything was replayed."""
        self._file.unlink(missing_ok=True)

    def _known(self) -> dict[str, str]:
        try:
            return dict(json.loads(self._file.read_text("ascii")))
        except (OSError, ValueError, TypeError):
            return {}
