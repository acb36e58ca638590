"""``crosspath gate``: a verdict over stored replies, both sides replayed anew in one session, and what follows from it.

No request is made and no key is needed. A gate that is killed goes on: what it replayed is in the ledger, and a note in the
store says which evaluations are its own.
"""

import json
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Self

from crosspath import catalogue
from crosspath.app import adapters, promoting
from crosspath.app.collecting import without_collection
from crosspath.app.derive import FOR_A_GATE, deployed_resolved
from crosspath.app.finding import open_ledger
from crosspath.app.gating_evidence import Side, find_baseline, find_side, needs_baseline, wanted_candidates
from crosspath.app.gating_verdict import (
    Material,
    Replayed,
    draw,
    fresh_place,
    put_in_place,
    replies_digest,
    require_place,
    write_material,
    write_verdict,
)
from crosspath.app.readiness import in_sandbox, require_executor
from crosspath.app.resolve import Own, Resolved, read_own, resolve
from crosspath.app.session import Derivation, Opened, gather, open_evaluation, planned_facts
from crosspath.errors import ConfigError, CrosspathError, StoreError, TrackerError, boundary
from crosspath.pipeline.configurations import configuration_of
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.judge import judge
from crosspath.ports import Executor, Registry
from crosspath.spec.policy import load_policy, parse_ref
from crosspath.store.ledger import Ledger
from crosspath.types import (
    Decision,
    EvidenceRef,
    Execution,
    Facts,
    Fault,
    Judgement,
    Policy,
    ReplayJob,
    Reply,
    Request,
    Toolchain,
    Verdict,
    digest,
)

EXIT_INFRASTRUCTURE = 5


@dataclass(frozen=True)
class Gate:
    """A verdict, where it is kept, and what became of it."""

    verdict: Verdict
    directory: Path
    run: str | None = None
    """MLflow run of the verdict."""
    url: str | None = None
    opens_with: str | None = None
    """The command that serves ``url``; None where a server runs already."""
    tracking_error: str | None = None
    """Why MLflow does not hold it; the directory does."""
    decision: Decision | None = None
    """What moved the alias."""
    promotion_error: str | None = None
    """Why the alias was not moved, though the verdict is PASS and it was asked for."""
    store: Path = Path(".crosspath")
    experiment: str = "crosspath"
    """MLflow's experiment that the verdict belongs to: that of the candidate's evaluation."""

    @property
    def exit_code(self) -> int:
        """The verdict's; 5 where something outside failed."""
        return EXIT_INFRASTRUCTURE if self.tracking_error or self.promotion_error else self.verdict.exit_code


@dataclass(frozen=True)
class Promotion:
    """Where an alias was when the gate started, and what it is to point to on PASS."""

    model: str
    alias: str
    expected: int | None


def gate(
    policy: Policy | str | Path,
    *,
    candidate: EvidenceRef | str | None = None,
    baseline: EvidenceRef | str | None = None,
    promote: str | None = None,
    model: str | None = None,
    spec: str | Path | None = None,
    output: str | Path | None = None,
    force: bool = False,
    store: str | Path | None = None,
    executor: str | None = None,
    usual_executor: str = "local",
    sandbox: str | None = None,
    track: bool = True,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Gate:
    """Whether a candidate may be released: replays its stored replies and the baseline's, and judges both by a policy.

    Args:
        policy: a policy, or its file.
        candidate: an evaluation, an MLflow run, or a version of a registered model; default what the policy names.
        baseline: the same for what it is compared with.
        promote: alias that is moved to the candidate's version on PASS.
        model: the registered model whose alias it is; default that of the candidate, or of the baseline.
        spec: the candidate's configuration there must equal that of the evidence.
        output: directory for the verdict and all it was drawn from; default below the store.
        force: replace a verdict that is there.
        executor: ``local`` or ``ray``; default what the candidate's spec said, else ``usual_executor``.

    Raises:
        ConfigError: the policy or an argument is wrong; nothing was replayed.
        BoundaryError: something outside failed; what was replayed is in the ledger.
    """
    asked = read_policy(policy)
    require_executor(executor)
    directory = adapters.store_directory(store)
    refs = _ref(candidate, asked.candidate, "--candidate"), _ref(baseline, asked.baseline, "--baseline")
    if refs[0] is None:
        raise ConfigError("name what is to be gated: an evaluation, a run or a registered model", field="--candidate")
    if refs[1] is None and needs_baseline(asked):
        raise ConfigError("the policy has rules against a baseline: name it", field="--baseline")
    if output is not None:
        require_place(Path(output), force=force)
    registry = _checked_registry(directory) if track else None
    promotion = _promotion(registry, promote, model, refs)
    with open_ledger(directory, notify) as ledger:
        gating = _Gating(ledger, asked, (executor, usual_executor), sandbox, progress or Progress(), notify)
        done = gating.run(refs[0], refs[1], spec, Path(output) if output is not None else None)
    return concluded(done, registry, promotion, notify) if registry else done


def read_policy(policy: Policy | str | Path) -> Policy:
    """A policy, or that of a file.

    Raises:
        ConfigError: the file can't be read, or is no policy.
    """
    return policy if isinstance(policy, Policy) else load_policy(catalogue.read_text(Path(policy)), str(policy))


def _ref(given: EvidenceRef | str | None, of_policy: EvidenceRef | None, field: str) -> EvidenceRef | None:
    return parse_ref(given, field) if isinstance(given, str) else given or of_policy


def _checked_registry(directory: Path) -> Registry:
    """The registry, after the server answered once: nothing is replayed for a verdict that can't be logged."""
    try:
        adapters.make_tracker(directory).check()
    except TrackerError as error:
        raise TrackerError(f"{error}; nothing was done (--no-mlflow keeps the verdict in its directory only)") from error
    return adapters.make_registry(directory)


def _promotion(
    registry: Registry | None, alias: str | None, model: str | None, refs: Sequence[EvidenceRef | None]
) -> Promotion | None:
    if alias is None:
        return None
    if registry is None:
        raise ConfigError("an alias is in MLflow: leave --no-mlflow out", field="--promote")
    name = model or next((ref.model for ref in refs if ref and ref.model), None)
    if name is None:
        raise ConfigError(f"name the registered model whose alias {alias} is to be moved", field="--model")
    return Promotion(name, alias, promoting.require_promotable(registry, name, alias))


class _Gating:
    """One verdict on its way: evidence, replays, judgement, files."""

    def __init__(
        self,
        ledger: Ledger,
        policy: Policy,
        executors: tuple[str | None, str],
        sandbox: str | None,
        progress: Progress,
        notify: Callable[[str], None],
    ) -> None:
        self._ledger = ledger
        self._policy = policy
        self._executors = executors
        self._sandbox = sandbox
        self._progress = progress
        self._notify = notify

    def run(self, candidate: EvidenceRef, baseline: EvidenceRef | None, spec: str | Path | None, output: Path | None) -> Gate:
        """The verdict, in the directory that holds it."""
        needed = needs_baseline(self._policy)
        own = read_own(None, Path(spec)) if spec is not None else Own()
        side = find_side(self._ledger, candidate, "--candidate")
        other, unreadable = find_baseline(self._ledger, baseline, needed, self._notify) if baseline else (None, "")
        of_spec = spec_configuration(own, side.candidate) if spec is not None else None
        material = Material(self._policy, *self._replayed(side, other, own), unreadable, of_spec)
        done = Gate(*self._written(material, output), store=self._ledger.directory, experiment=side.facts.head.experiment)
        self._note.forget()
        return done

    # -- replays -------------------------------------------------------------------------------------------------------

    def _replayed(self, side: Side, other: Side | None, own: Own) -> tuple[Replayed, Replayed | None]:
        """Both sides after one session; candidates of one evaluation are replayed in one."""
        wanted = wanted_candidates(self._policy, side)
        together = other is not None and _same(side.facts, other.facts)
        if other is not None and together:
            wanted = tuple(dict.fromkeys((*wanted, other.candidate)))
        sources = [(side.facts, wanted)]
        if other is not None and not together:
            sources.append((other.facts, (other.candidate,)))
        judged = self._session(sources, own)
        first = Replayed(side.ref, side.candidate, side.run, side.evidence, *judged[0], "candidate")
        if other is None:
            return first, None
        bundle = "candidate" if together else "baseline"
        return first, Replayed(other.ref, other.candidate, other.run, other.evidence, *judged[-1], bundle)

    def _session(self, sources: Sequence[tuple[Facts, tuple[str, ...]]], own: Own) -> list[tuple[Facts, Judgement]]:
        plans = [deployed_resolved(facts, names, own.paths, own.base) for facts, names in sources]
        sandboxed = in_sandbox(plans[0], self._sandbox).spec
        same = {"sandbox": sandboxed.sandbox, "sandbox_limits": sandboxed.sandbox_limits, "executor": sandboxed.executor}
        plans = [replace(plan, spec=plan.spec.model_copy(update=same)) for plan in plans]
        derivations = [_derivation(facts, names, plan) for (facts, names), plan in zip(sources, plans, strict=True)]
        self._note = _Note(
            self._ledger.directory, digest([self._policy.model_dump(mode="json"), *(one.identity for one in derivations)])
        )
        self._progress.began(f"replaying {len(plans)} evaluation{'s' * (len(plans) > 1)} for the gate ...")
        asked, usual = self._executors
        kind = asked or plans[0].spec.executor.kind or usual
        judged: list[tuple[Facts, Judgement]] = []
        with adapters.make_executor(kind, plans[0].spec, {}) as made:
            shared = _Shared(made)
            gathered = [self._gathered(plan, one, shared) for plan, one in zip(plans, derivations, strict=True)]
        self._progress.began("judging ...")
        for facts in gathered:
            with without_collection():
                judged.append((facts, judge(facts, adapters.make_validator())))
        return judged

    def _gathered(self, resolved: Resolved, derivation: Derivation, executor: Executor) -> Facts:
        """The facts of one evaluation that was replayed for this gate, as far as an interrupted one did not do so already."""
        if (known := self._note.finished(derivation, self._ledger)) and known.lock.toolchain == executor.toolchain():
            self._notify(f"{known.head.id} was replayed before this gate was interrupted: it is kept")
            return known
        opened = self._opened(resolved, derivation, executor)
        self._note.add(derivation, opened.facts.head.id)
        return gather(
            self._ledger, resolved, opened, executor, generate=False, progress=_counting_anew(self._progress), notify=self._notify
        )

    def _opened(self, resolved: Resolved, derivation: Derivation, executor: Executor) -> Opened:
        """The interrupted one, unless the programs are others by now: then from the start, so that nothing is mixed."""
        opened = open_evaluation(self._ledger, resolved, derivation)
        if opened.resumed and opened.facts.replays and opened.facts.lock.toolchain != executor.toolchain():
            self._notify(f"{opened.facts.head.id} was interrupted, and other programs are installed since: it is replayed anew")
            stopped = opened.facts.model_copy(update={"head": opened.facts.head.model_copy(update={"status": "finished"})})
            self._ledger.update(stopped)
            opened = open_evaluation(self._ledger, resolved, derivation)
        elif opened.resumed:
            self._notify(f"going on with {opened.facts.head.id}: {len(opened.facts.replays)} replays are kept")
        return opened

    # -- files ---------------------------------------------------------------------------------------------------------

    def _written(self, material: Material, output: Path | None) -> tuple[Verdict, Path]:
        now = time.time()
        name = f"gate-{time.strftime('%Y%m%d-%H%M%S', time.gmtime(now))}-{secrets.token_hex(3)}"
        directory = output or self._ledger.directory / "gates" / name
        fresh = fresh_place(directory)
        self._progress.began("drawing the verdict ...")
        try:
            write_material(material, fresh)
            verdict = draw(material, fresh, adapters.make_validator(), name, now)
            write_verdict(verdict, fresh)
            put_in_place(fresh, directory)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        return verdict, directory


def spec_configuration(own: Own, candidate: str) -> dict[str, str]:
    """The configuration of a candidate as a spec has it.

    Raises:
        ConfigError: the spec has no such candidate, or something that it names is wrong.
    """
    resolved = resolve(own.spec, own.base)
    names = [one.name for one in resolved.plan.candidates]
    if candidate not in names:
        raise ConfigError(f"it has no candidate {candidate!r}; it has: {', '.join(names)}", source=own.source, field="candidates")
    planned = planned_facts(resolved, "planned", 0.0, "")
    return configuration_of(planned, resolved.plan.candidates[names.index(candidate)])


def _same(a: Facts, b: Facts) -> bool:
    return (a.head.id, a.head.created_at, a.lock.digest) == (b.head.id, b.head.created_at, b.lock.digest)


def _derivation(source: Facts, names: Sequence[str], plan: Resolved) -> Derivation:
    trials = tuple(trial for trial in source.trials if trial.key.generation in plan.plan.generations)
    identity = digest([source.head.id, source.head.created_at, replies_digest(trials), *names])
    return Derivation(source.head.id, FOR_A_GATE, trials, identity)


def _counting_anew(progress: Progress) -> Progress:
    return Progress(changed=progress.changed, began=progress.began)


class _Shared:
    """One executor for several evaluations: each finds it open, and none closes it."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor
        self._toolchain: Toolchain | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        return None

    async def generate(self, request: Request) -> Reply | Fault:
        raise AssertionError(f"a gate asks no model, and this would be sent: {request.key}")

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        return await self._executor.replay(jobs)

    def toolchain(self) -> Toolchain:
        if self._toolchain is None:
            self._toolchain = self._executor.toolchain()
        return self._toolchain


class _Note:
    """Which evaluations an unfinished gate replayed: a file in the store that goes when there is nothing left to replay."""

    def __init__(self, store: Path, identity: str) -> None:
        self._file = store / "gates" / f".unfinished-{identity[:16]}.json"

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


def _opens_with(store: Path) -> str | None:
    """The command that serves the place where it was logged."""
    return adapters.ui_instruction(store, adapters.tracking_uri(store))


# -- afterwards ------------------------------------------------------------------------------------------------------------


def concluded(done: Gate, registry: Registry, promotion: Promotion | None, notify: Callable[[str], None]) -> Gate:
    """Log the verdict, and move the alias where that was asked for. A server that fails never loses a verdict."""
    verdict = done.verdict
    try:
        logged = registry.log_verdict(verdict, done.directory, done.experiment)
    except CrosspathError as error:
        lost = "; nothing was promoted" if promotion and verdict.status == "PASS" else ""
        return replace(done, tracking_error=f"{error}{lost}")
    done = replace(done, run=logged.run_id, url=logged.url, opens_with=_opens_with(done.store))
    if promotion is None:
        return done
    if verdict.status != "PASS":
        notify(f"{promotion.model}@{promotion.alias} stays as it is: only a PASS is promoted")
        return done
    try:
        decision = promoting.promote(registry, verdict, logged.run_id, promotion.model, promotion.alias, promotion.expected)
    except CrosspathError as error:
        return replace(done, promotion_error=str(error))
    return replace(done, decision=decision)
