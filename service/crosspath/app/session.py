"""One session of an evaluation: opens or resumes it, gathers facts, closes it. Judgement and logging come after."""

import os
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from crosspath.app.adapters import make_validator
from crosspath.app.costs import worst_case_at_known_price
from crosspath.app.interruption import interruptible, run_interruptibly
from crosspath.app.packages import git_state, versions
from crosspath.app.resolve import Resolved
from crosspath.dates import day_of
from crosspath.errors import CrosspathError, StoreError
from crosspath.pipeline.budget import Budget, spent_before, worst_case
from crosspath.pipeline.clean_ups import owed_replays
from crosspath.pipeline.evaluate import Evaluator, Progress, Retries
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.faults import is_final
from crosspath.pipeline.plan import Plan
from crosspath.pipeline.scores import score_replays
from crosspath.pipeline.toolchains import mixture, with_toolchain
from crosspath.ports import Executor
from crosspath.store.ledger import Ledger
from crosspath.types import (
    EvaluationHead,
    EvaluationStatus,
    Facts,
    Lock,
    ReplayKey,
    Text,
    Trial,
    TrialKey,
    digest,
)

STABILITY_REPEATS = 3
"""Where a control differs, both sides are replayed so many more times."""


Beside = Callable[[Facts, Plan, Evaluator, Progress], Awaitable[bool]]
"""Replays what the plan does not hold; whether there was anything."""


@dataclass(frozen=True)
class Derivation:
    """Where the trials of a derived evaluation come from."""

    source: str
    how: str
    trials: Sequence[Trial]
    identity: str = ""
    """What else tells it from other derivations of evaluations with that id: ids are counted in each ledger."""


@dataclass(frozen=True)
class Opened:
    """An evaluation ready to be worked on."""

    facts: Facts
    resumed: bool
    in_flight: int
    """Requests that an earlier session had sent and whose end nobody saw: bought again."""


def open_evaluation(
    ledger: Ledger,
    resolved: Resolved,
    derivation: Derivation | None = None,
    *,
    clock: Callable[[], float] = time.time,
    notify: Callable[[str], None] = lambda _: None,
) -> Opened:
    """Resume the unfinished evaluation of this very configuration, or start a new one.

    A deployment is measured day by day: what was begun on an earlier (UTC) day is given up, and ``notify`` is told.
    """
    now = clock()
    resume_digest = digest([resolved.resume_digest, *_origin(derivation), *_series(resolved)])
    if known := ledger.unfinished(resume_digest):
        in_flight = ledger.abandon_in_flight(known)
        facts = ledger.facts(known)
        if resolved.spec.deployment is None or derivation or day_of(facts.head.created_at) == day_of(now):
            return Opened(facts, True, in_flight)
        give_up(ledger, facts)
        notify(f"{known} of {day_of(facts.head.created_at)} was not finished: it stays as it is, and today is measured anew")
    facts = planned_facts(resolved, ledger.new_id(resolved.spec.name, now), now, resume_digest, derivation)
    ledger.open_evaluation(facts)
    return Opened(ledger.facts(facts.head.id), False, 0)


def give_up(ledger: Ledger, facts: Facts) -> None:
    """Leave an unfinished evaluation as it is: the same command will not go on with it."""
    ledger.update(facts.model_copy(update={"head": facts.head.model_copy(update={"status": "finished"})}))


def _series(resolved: Resolved) -> tuple[str, ...]:
    """What tells the evaluations of a deployment from others of the same configuration."""
    section = resolved.spec.deployment
    return (section.name, str(section.reference)) if section else ()


def _origin(derivation: Derivation | None) -> tuple[str | None, ...]:
    if derivation is None:
        return (None,)
    return (derivation.source, derivation.identity) if derivation.identity else (derivation.source,)


def planned_facts(resolved: Resolved, name: str, now: float, spec_digest: str, derivation: Derivation | None = None) -> Facts:
    """An evaluation of which nothing was done yet."""
    return Facts(
        head=EvaluationHead(
            id=name,
            name=resolved.spec.name,
            created_at=now,
            spec=resolved.spec.resolved(),
            spec_digest=spec_digest,
            kind=resolved.spec.kind,
            experiment=resolved.spec.experiment,
            derived_from=derivation.source if derivation else None,
            derivation=derivation.how if derivation else None,
        ),
        lock=_lock(resolved),
        tasks=tuple(resolved.plan.tasks.values()),
        cells=resolved.plan.cells,
        not_applicable=dict(resolved.plan.not_applicable),
        contracts=_contract_texts(resolved.plan),
        transports=_path_texts(resolved.plan),
        suites=tuple(resolved.suites.values()),
        styles=_style_texts(resolved.plan),
        contract_specs=tuple(resolved.plan.contracts.values()),
        path_specs=tuple(resolved.plan.path_specs.values()),
        trials=tuple(derivation.trials) if derivation else (),
        attempts=(),
        replays=(),
    )


def gather(
    ledger: Ledger,
    resolved: Resolved,
    opened: Opened,
    executor: Executor,
    *,
    generate: bool = True,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
    beside: Sequence[Beside] | None = None,
) -> Facts:
    """Run one session until every planned trial and replay has facts or a fault.

    ``notify`` is told when earlier sessions ran their replays with another toolchain. ``beside``: what is replayed beside the
    plan once the plan is done, one after the other; None: both sides of controls that differ, then the other clean-up.

    Raises:
        BoundaryError: the executor, the sandbox or the ledger failed as a whole; what was done is in the ledger.
        KeyboardInterrupt: Ctrl-C or SIGTERM; what was done is in the ledger.
    """
    evaluation, progress = opened.facts.head.id, progress or Progress()
    with interruptible(), executor, _session(ledger, evaluation) as session:
        known = with_toolchain(opened.facts, executor.toolchain())
        ledger.update(known)
        if sentence := mixture(known):
            notify(sentence)
        doing = "asking and replaying" if generate else "replaying"
        progress.began(f"{doing}: {len(resolved.plan.requests)} trials, {resolved.plan.replay_count} replays ...")
        with _first_of_group():
            further = USUAL_BESIDE if beside is None else beside
            work = _gather(ledger, resolved, known, executor, session, generate, progress, further)
            facts = run_interruptibly(work)
    return _close(ledger, facts)


@contextmanager
def _session(ledger: Ledger, evaluation: str) -> Iterator[int]:
    """One start of the program, with its end where it could still write it."""
    number = ledger.start_session(evaluation, time.time())
    try:
        yield number
    except BaseException:
        with suppress(StoreError):  # a full disk is said once
            ledger.end_session(evaluation, number, time.time())
        raise
    ledger.end_session(evaluation, number, time.time())


@contextmanager
def _first_of_group() -> Iterator[None]:
    """Concurrent work that fails together says its first error, not a group of the same."""
    try:
        yield
    except BaseExceptionGroup as group:
        ours = group.subgroup(CrosspathError)
        found: BaseException = ours or group
        while isinstance(found, BaseExceptionGroup):
            found = found.exceptions[0]
        raise found from group


async def _gather(
    ledger: Ledger,
    resolved: Resolved,
    known: Facts,
    executor: Executor,
    session: int,
    generate: bool,
    progress: Progress,
    beside: Sequence[Beside],
) -> Facts:
    requests = {request.key: request for request in resolved.plan.requests}
    spec = resolved.spec
    worst_of = worst_case_at_known_price if resolved.limits.max_cost_usd is not None else worst_case
    evaluator = Evaluator(
        resolved.plan,
        ledger,
        known.head.id,
        session,
        executor,
        Budget(resolved.limits, spent=spent_before(requests, known.attempts, worst_of)),
        worst_of=worst_of,
        retries=Retries(**spec.retries.model_dump()),
        concurrency=spec.executor.model_concurrency,
        replay_concurrency=2 * (spec.executor.replay_workers or len(os.sched_getaffinity(0))),
        progress=progress,
    )
    await evaluator.run(known, generate=generate)
    facts = ledger.facts(known.head.id)
    for replays in beside:
        if await replays(facts, resolved.plan, evaluator, progress):
            facts = ledger.facts(known.head.id)
    return facts


async def _repeat_differing(facts: Facts, plan: Plan, evaluator: Evaluator, _progress: Progress) -> bool:
    """Where a control differs, find out which side is unstable; whether anything was replayed."""
    observed = facts.model_copy(update={"replays": tuple(replay for replay in facts.replays if replay.execution)})
    owed = FactIndex(observed, score_replays(observed, make_validator())).repeats_owed()
    if not owed:
        return False

    def keys(trial: TrialKey) -> list[ReplayKey]:
        planned = {(replay.path.digest, replay.encoded): replay.repeats for replay in plan.replays[trial.generation]}
        return [
            ReplayKey(trial=trial, path=path, encoded=encoded, repeat=planned[path, encoded] + further)
            for path, encoded in sorted(owed[trial])
            for further in range(STABILITY_REPEATS)
        ]

    await evaluator.repeat([trial for trial in facts.trials if trial.key in owed], keys)
    return True


async def _replay_cleaned_otherwise(facts: Facts, _plan: Plan, evaluator: Evaluator, progress: Progress) -> bool:
    """Replies that another clean-up changes, on the same path: what their format costs. Whether there are any."""
    owed = owed_replays(facts)
    trials = [trial for trial in facts.trials if trial.key in owed.keys]
    if trials:
        progress.began(f"replaying {len(trials)} replies with the other clean-up ...")
        await evaluator.replay_beside(trials, owed)
    return bool(trials)


USUAL_BESIDE: Sequence[Beside] = (_repeat_differing, _replay_cleaned_otherwise)


def _close(ledger: Ledger, facts: Facts) -> Facts:
    lock = facts.lock.model_copy(update=_what_endpoints_said(facts))
    head = facts.head.model_copy(update={"status": _status(facts)})
    facts = facts.model_copy(update={"lock": lock, "head": head, "sessions": ledger.sessions(head.id)})
    ledger.update(facts)
    return facts


def _status(facts: Facts) -> EvaluationStatus:
    """``stopped`` while the same command could still add facts: a limit was reached, or a fault that may pass.

    A derived evaluation asks no model: replies that its source lacks stay missing.
    """
    asked = facts.trials if facts.head.derived_from is None else ()
    faults = [record.fault for record in (*asked, *facts.replays) if record.fault]
    return "finished" if all(is_final(fault) for fault in faults) else "stopped"


def _what_endpoints_said(facts: Facts) -> dict[str, object]:
    served: dict[str, set[str]] = defaultdict(set)
    fingerprints: dict[str, set[str]] = defaultdict(set)
    bodies: dict[str, object] = {}
    for trial in facts.trials:
        if reply := trial.reply:
            if reply.served_model:
                served[trial.request.model].add(reply.served_model)
            if reply.fingerprint:
                fingerprints[trial.request.model].add(reply.fingerprint)
            if reply.sent_body:
                bodies.setdefault(trial.key.generation, {k: v for k, v in reply.sent_body.items() if k != "messages"})
    return {
        "served_models": {model: tuple(sorted(names)) for model, names in served.items()},
        "fingerprints": {model: tuple(sorted(names)) for model, names in fingerprints.items()},
        "sent_bodies": bodies,
    }


def _lock(resolved: Resolved) -> Lock:
    plan = resolved.plan
    commit, dirty = git_state(Path(__file__).parent)
    return Lock(
        candidates=plan.candidates,
        reference=plan.reference,
        trials=plan.trials,
        tasks={task.id: task.digest for task in plan.tasks.values()},
        contracts={name: plan.contracts[name].digest for name in sorted({cell.contract for cell in plan.cells})},
        transports={plan.paths[cell.path].name: cell.path for cell in plan.cells},
        suites={suite.name: suite.digest for suite in resolved.suites.values()},
        styles={style.name: style.digest for style in plan.styles.values()},
        packages=versions(),
        commit=commit,
        dirty=bool(dirty),
    )


def _contract_texts(plan: Plan) -> tuple[Text, ...]:
    used = sorted({cell.contract for cell in plan.cells})
    return tuple(
        Text(
            name=name, version=plan.contracts[name].version, content=plan.contracts[name].text, digest=plan.contracts[name].digest
        )
        for name in used
    )


def _style_texts(plan: Plan) -> tuple[Text, ...]:
    return tuple(
        Text(name=style.name, version=style.version, content=style.text, digest=style.digest) for style in plan.styles.values()
    )


def _path_texts(plan: Plan) -> tuple[Text, ...]:
    return tuple(Text(name=path.name, content=path.describe(), digest=path.digest) for path in plan.paths.values())
