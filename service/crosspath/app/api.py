"""The Python API: what ``import crosspath`` gives. The command line only calls these."""

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, overload

from crosspath.app import adapters
from crosspath.app.auditing import audit as audit
from crosspath.app.cluster import require_listener
from crosspath.app.collecting import without_collection
from crosspath.app.derive import derivation_words, replay_resolved, validate_resolved
from crosspath.app.evaluation import Evaluation
from crosspath.app.finding import find_facts, open_ledger, require_store
from crosspath.app.gating import gate as gate
from crosspath.app.published import import_published as import_published
from crosspath.app.readiness import beforehand, check_ready, executor_kind, in_sandbox, require_executor, resolved_spec
from crosspath.app.recommending import recommendations
from crosspath.app.resolve import Resolved
from crosspath.app.reusing import reuse_source, reused
from crosspath.app.session import Derivation, Opened, gather, open_evaluation
from crosspath.app.validation import Validation, chosen_suites, is_own
from crosspath.errors import ConfigError, TrackerError
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.judge import judge
from crosspath.ports import Tracker
from crosspath.spec import Spec
from crosspath.store.bundle import write_bundle
from crosspath.store.ledger import Ledger
from crosspath.types import Comparison, Facts, Judgement, Recommendation, Text


def evaluate(
    spec: Spec | str | Path | dict[str, Any],
    *,
    reference: bool = False,
    store: str | Path | None = None,
    executor: str | None = None,
    sandbox: str | None = None,
    track: bool = True,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.time,
) -> Evaluation:
    """Evaluate a spec: generate, replay, validate, decompose, log. Goes on where a killed evaluation was.

    Args:
        spec: a spec, its file, or its content as a mapping.
        reference: measure what later evaluations of the spec's deployment are compared with, with as many trials as it says.
        store: directory of the ledger; default ``$CROSSPATH_STORE`` or ``.crosspath``.
        executor: ``local`` or ``ray``; default what the spec says, else ``local``.
        sandbox: ``bubblewrap`` or ``none`` (model output is executed unprotected); default what the spec says.
        track: log to MLflow when done.
        progress: live counts.
        notify: called with sentences that a user should see at once.
        clock: gives the time, in seconds since 1970, at which the evaluation is made.

    Raises:
        ConfigError: the spec is wrong; nothing was written.
        BoundaryError: something outside failed; what was done is in the ledger.
    """
    resolved = in_sandbox(resolved_spec(spec, reference=reference), sandbox)
    directory = adapters.store_directory(store)
    check_ready(resolved, executor)
    if executor_kind(resolved, executor) == "ray":
        require_listener(resolved.spec.executor.address)
    for sentence in beforehand(resolved):
        notify(sentence)
    with open_ledger(directory, notify) as ledger:
        tracker = _checked_tracker(directory) if track else None
        source = reuse_source(resolved, ledger)
        opened = open_evaluation(ledger, resolved, clock=clock, notify=notify)
        _tell_resumption(opened, notify)
        if source is not None:
            opened = reused(ledger, resolved, opened, source, notify)
        facts = _gathered(ledger, resolved, opened, executor, progress, notify)
        _tell_judging(progress, tracker)
        return _conclude(ledger, facts, tracker)


def replay(
    evaluation: str,
    transports: Sequence[str] = (),
    *,
    all_transports: bool = False,
    store: str | Path | None = None,
    executor: str | None = None,
    sandbox: str | None = None,
    own_paths: Mapping[str, Any] | None = None,
    base: Path | None = None,
    track: bool = True,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Send the stored replies of an evaluation through other paths. No model is asked anything.

    Args:
        evaluation: an id in the ledger, ``latest``, or an MLflow run.
        transports: names of paths; presets, paths of the evaluation's spec, or of ``own_paths``.
        all_transports: through every path that ships and that fits, and all of ``own_paths``.
        own_paths: further paths by name, as in a spec's ``transports``.
        base: directory that relative names in ``own_paths`` start from; default the current one.

    Raises:
        ConfigError: no such evaluation, or no such path.
        BoundaryError: the sandbox, the ledger or the tracking server failed.
    """
    require_executor(executor)
    directory = adapters.store_directory(store)
    require_store(directory, evaluation)
    with open_ledger(directory, notify) as ledger:
        source = find_facts(ledger, evaluation)
        _tell_source(source, evaluation, notify)
        plan = replay_resolved(source, transports, own_paths or {}, base or Path.cwd(), every=all_transports)
        resolved = in_sandbox(plan, sandbox)
        if source.lock.reference.transport in transports:
            notify(f"{source.lock.reference.transport} is the reference path: it has no damage, RR and NR say all about it")
        tracker = _checked_tracker(directory) if track else None
        derivation = Derivation(source.head.id, derivation_words(resolved), source.trials)
        opened = open_evaluation(ledger, resolved, derivation)
        if opened.resumed:
            notify(f"going on with {opened.facts.head.id}: {len(opened.facts.replays)} replays are kept")
        facts = _gathered(ledger, resolved, opened, executor, progress, notify, generate=False)
        _tell_judging(progress, tracker)
        return _conclude(ledger, facts, tracker)


@overload
def validate(
    evaluation: str,
    validator: str,
    *,
    store: str | Path | None = None,
    track: bool = True,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation: ...
@overload
def validate(
    evaluation: str,
    validator: list[str] | tuple[str, ...],
    *,
    store: str | Path | None = None,
    track: bool = True,
    notify: Callable[[str], None] = lambda _: None,
) -> Validation: ...
def validate(
    evaluation: str,
    validator: str | list[str] | tuple[str, ...],
    *,
    store: str | Path | None = None,
    track: bool = True,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation | Validation:
    """Judge the stored facts of an evaluation with other validators. Neither a model nor a sandbox is used.

    Args:
        validator: name of a validator or a suite file: the result is the new evaluation. A list of them: the result is a
            ``Validation``, with one evaluation for each and ``sensitivity``: which verdicts depend on the validator. For the
            validator that the evaluation is judged by already nothing new is made.

    Raises:
        ConfigError: no such evaluation, or a suite is not acceptable; nothing was written.
        BoundaryError: the ledger or the tracking server failed.
    """
    directory = adapters.store_directory(store)
    require_store(directory, evaluation)
    with open_ledger(directory, notify) as ledger:
        source = find_facts(ledger, evaluation)
        _tell_source(source, evaluation, notify)
        suites = chosen_suites((validator,) if isinstance(validator, str) else validator, Path.cwd(), notify)
        judged = _rejudged(ledger, source, suites, track, notify)
    return judged.evaluations[0] if isinstance(validator, str) else judged


def _rejudged(ledger: Ledger, source: Facts, suites: Sequence[Text], track: bool, notify: Callable[[str], None]) -> Validation:
    own = Evaluation(source, _judged(source), run_id=source.head.mlflow_run)
    others = [suite for suite in suites if not is_own(source, suite)]
    for suite in others:  # before anything is written: a bad suite leaves no evaluation behind
        _judged(validate_resolved(source, suite, ledger))
    for suite in suites:
        if suite not in others:
            notify(f"{source.head.id} is judged by {suite.name} already: nothing new is made for it")
    tracker = _checked_tracker(ledger.directory) if track and others else None
    made = {suite.digest: _derived(ledger, source, suite, tracker) for suite in others}
    return Validation(own, tuple(made.get(suite.digest, own) for suite in suites))


def _derived(ledger: Ledger, source: Facts, suite: Text, tracker: Tracker | None) -> Evaluation:
    facts = validate_resolved(source, suite, ledger)
    ledger.open_evaluation(facts)
    return _conclude(ledger, ledger.facts(facts.head.id), tracker)


def load(evaluation: str = "latest", *, store: str | Path | None = None) -> Evaluation:
    """An evaluation from the ledger, or from MLflow by its run id.

    Raises:
        ConfigError: there is no such evaluation.
    """
    directory = adapters.store_directory(store)
    require_store(directory, evaluation)
    ledger = Ledger(directory, reading=True)
    try:
        facts = find_facts(ledger, evaluation)
    finally:
        ledger.close()
    return Evaluation(facts, _judged(facts), run_id=facts.head.mlflow_run)


def compare(evaluation: str, a: str, b: str, *, store: str | Path | None = None) -> Comparison:
    """Candidate ``b`` minus candidate ``a`` of one evaluation, each as deployed.

    Raises:
        ConfigError: there is no such evaluation or candidate.
    """
    loaded = load(evaluation, store=store)
    names = [candidate.name for candidate in loaded.facts.lock.candidates]
    for name in (a, b):
        if name not in names:
            raise ConfigError(f"{name!r} is not a candidate of {loaded.id}; it has: {', '.join(names)}")
    return loaded.compare(a, b)


def recommend(evaluation: str, *, store: str | Path | None = None) -> tuple[Recommendation, ...]:
    """Which path to take, and which contract, for each model of an evaluation; what was replayed already is ranked.

    Raises:
        ConfigError: there is no such evaluation.
    """
    return recommendations(load(evaluation, store=store))


def log(evaluation: str, *, store: str | Path | None = None, traces: int | Literal["all"] | None = None) -> Evaluation:
    """Log an evaluation of the ledger to MLflow (again): for when the server could not be reached, or for more ``traces``.

    ``traces``: how many failing tasks have a trace with every stage, or ``all``, which also has a row for every task; None: as
    usual, and an evaluation that is there already stays as it is.

    Raises:
        ConfigError: ``traces`` is neither a number from 0 nor ``all``.
        TrackerError: the server can't be reached.
    """
    if isinstance(traces, int) and traces < 0:
        raise ConfigError(f"{traces} is no number of traces; write 0 or more, or all", field="traces")
    directory = adapters.store_directory(store)
    require_store(directory, evaluation)
    with open_ledger(directory, lambda _: None) as ledger:
        facts = find_facts(ledger, evaluation)
        concluded = _conclude(ledger, facts, _checked_tracker(directory, facts.head.mlflow_uri, traces))
    if concluded.tracking_error:
        raise TrackerError(concluded.tracking_error)
    return concluded


def _checked_tracker(directory: Path, stored: str | None = None, traces: int | Literal["all"] | None = None) -> Tracker:
    """The tracker, after it answered once: nothing is spent for results that can't be logged.

    ``stored``: where the evaluation was logged before; it stays there, unless the environment names another place.

    Raises:
        TrackerError: it does not answer.
    """
    named = os.environ.get(adapters.TRACKING_VARIABLE)
    uri = adapters.stored_uri(stored, directory) if stored and not named else None
    tracker = adapters.make_tracker(directory, uri, traces)
    try:
        tracker.check()
    except TrackerError as error:
        raise TrackerError(f"{error}; nothing was done (--no-mlflow keeps the result in the ledger only)") from error
    return tracker


def _tell_source(source: Facts, asked: str, notify: Callable[[str], None]) -> None:
    """``latest`` may be something that was itself derived: said, because nobody named it."""
    if asked == "latest" and source.head.derived_from:
        notify(f"latest is {source.head.id}: {source.head.derivation}, derived from {source.head.derived_from}")


def _tell_resumption(opened: Opened, notify: Callable[[str], None]) -> None:
    if not opened.resumed:
        return
    kept = sum(1 for trial in opened.facts.trials if trial.reply)
    notify(f"going on with {opened.facts.head.id}: {kept} replies are kept")
    if opened.in_flight:
        notify(f"{opened.in_flight} requests were in flight when it was interrupted; they are sent again and may be paid twice")


def _gathered(
    ledger: Ledger,
    resolved: Resolved,
    opened: Opened,
    executor: str | None,
    progress: Progress | None,
    notify: Callable[[str], None],
    *,
    generate: bool = True,
) -> Facts:
    made = adapters.make_executor(executor_kind(resolved, executor), resolved.spec, resolved.answers)
    return gather(ledger, resolved, opened, made, generate=generate, progress=progress, notify=notify)


def _tell_judging(progress: Progress | None, tracker: Tracker | None) -> None:
    if progress:
        progress.began("judging, and logging to MLflow ..." if tracker else "judging ...")


def _judged(facts: Facts) -> Judgement:
    with without_collection():
        return judge(facts, adapters.make_validator())


def _conclude(ledger: Ledger, facts: Facts, tracker: Tracker | None) -> Evaluation:
    """Judge, and log where a tracker is given. A tracker that fails never loses a result."""
    judgement = _judged(facts)
    if tracker is None:
        return Evaluation(facts, judgement)
    # Where it was logged before is no part of its content: logged again, it is the same, and nothing has to be replaced.
    unlogged = facts.model_copy(update={"head": facts.head.model_copy(update={"mlflow_run": None, "mlflow_uri": None})})
    with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
        bundle = Path(temporary) / "evaluation"
        write_bundle(unlogged, judgement, bundle)
        try:
            reference = tracker.log(unlogged, judgement, bundle, parent_run=os.environ.get("MLFLOW_RUN_ID"))
        except TrackerError as error:
            return Evaluation(facts, judgement, tracking_error=str(error))
    head = facts.head.model_copy(update={"mlflow_run": reference.run_id, "mlflow_uri": tracker.uri})
    logged = facts.model_copy(update={"head": head})
    ledger.update_head(logged.head)
    opens_with = adapters.ui_instruction(ledger.directory, tracker.uri)
    return Evaluation(logged, judgement, run_id=reference.run_id, url=reference.url, opens_with=opens_with)
