"""``crosspath gate``: a verdict over stored replies, both sides replayed anew in one session, and what follows from it.

No request is made and no key is needed.
"""

import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from crosspath import catalogue
from crosspath.app import adapters, promoting
from crosspath.app.finding import open_ledger
from crosspath.app.gating_evidence import Side, find_baseline, find_side, needs_baseline, wanted_candidates
from crosspath.app.gating_places import GATES, VERDICT, clear_leftovers
from crosspath.app.gating_replays import Place, Replays
from crosspath.app.gating_verdict import (
    Material,
    Replayed,
    draw,
    verdict_id,
    write_material,
    write_verdict,
)
from crosspath.app.placing import fresh_place, put_in_place, require_place
from crosspath.app.readiness import require_executor
from crosspath.app.resolve import Own, read_own, resolve
from crosspath.app.session import planned_facts
from crosspath.errors import ConfigError, CrosspathError, TrackerError
from crosspath.pipeline.configurations import configuration_of
from crosspath.pipeline.evaluate import Progress
from crosspath.ports import Registry
from crosspath.spec.policy import load_policy, parse_ref
from crosspath.store.ledger import Ledger
from crosspath.types import (
    Decision,
    EvidenceRef,
    Facts,
    Policy,
    Verdict,
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
        require_place(Path(output), VERDICT, "verdict", force=force)
    registry = _checked_registry(directory) if track else None
    promotion = _promotion(registry, promote, model, refs)
    with open_ledger(directory, notify) as ledger:
        clear_leftovers(ledger.directory / GATES)
        gating = _Gating(ledger, asked, Place(executor, usual_executor, sandbox), progress or Progress(), notify)
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

    def __init__(self, ledger: Ledger, policy: Policy, place: Place, progress: Progress, notify: Callable[[str], None]) -> None:
        self._ledger = ledger
        self._policy = policy
        self._replays = Replays(ledger, policy, place, progress, notify)
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
        self._replays.forget()
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
        judged = self._replays.judged(sources, own)
        first = Replayed(side.ref, side.candidate, side.run, side.evidence, *judged[0], "candidate")
        if other is None:
            return first, None
        bundle = "candidate" if together else "baseline"
        return first, Replayed(other.ref, other.candidate, other.run, other.evidence, *judged[-1], bundle)

    # -- files ---------------------------------------------------------------------------------------------------------

    def _written(self, material: Material, output: Path | None) -> tuple[Verdict, Path]:
        now = time.time()
        name = verdict_id(now, secrets.token_hex(3))
        directory = output or self._ledger.directory / GATES / name
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
