"""The Python API: what ``import crosspath`` gives. The command line only calls these."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosspath.app import adapters
from crosspath.app.cluster import require_listener
from crosspath.app.costs import cost_sentence, unpriced
from crosspath.app.derive import replay_resolved, validate_resolved
from crosspath.app.evaluation import Evaluation
from crosspath.app.resolve import Resolved, errors_name, read_spec, resolve
from crosspath.app.session import Derivation, Opened, gather, open_evaluation
from crosspath.errors import ConfigError, TrackerError
from crosspath.pipeline.answers import unused_lines
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.judge import judge
from crosspath.pipeline.plan import undisclosed
from crosspath.ports import Tracker
from crosspath.scoring import load_suite
from crosspath.spec import Spec, load_spec
from crosspath.store.bundle import read_bundle, write_bundle
from crosspath.store.ledger import Ledger
from crosspath.types import Comparison, EvaluationHead, Facts, canonical_json

EXECUTORS = ("local", "ray")
SANDBOXES = ("bubblewrap", "none")


def evaluate(
    spec: Spec | str | Path | dict[str, Any],
    *,
    store: str | Path | None = None,
    executor: str | None = None,
    sandbox: str | None = None,
    track: bool = True,
    progress: Progress | None = None,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Evaluate a spec: generate, replay, validate, decompose, log. Goes on where a killed evaluation was.

    Args:
        spec: a spec, its file, or its content as a mapping.
        store: directory of the ledger; default ``$CROSSPATH_STORE`` or ``.crosspath``.
        executor: ``local`` or ``ray``; default what the spec says, else ``local``.
        sandbox: ``bubblewrap`` or ``none`` (model output is executed unprotected); default what the spec says.
        track: log to MLflow when done.
        progress: live counts.
        notify: called with sentences that a user should see at once.

    Raises:
        ConfigError: the spec is wrong; nothing was written.
        BoundaryError: something outside failed; what was done is in the ledger.
    """
    resolved = _in_sandbox(resolved_spec(spec), sandbox)
    directory = adapters.store_directory(store)
    check_ready(resolved, executor)
    if _executor_kind(resolved, executor) == "ray":
        require_listener(resolved.spec.executor.address)
    for sentence in beforehand(resolved):
        notify(sentence)
    with _ledger(directory, notify) as ledger:
        tracker = _checked_tracker(directory) if track else None
        opened = open_evaluation(ledger, resolved)
        _tell_resumption(opened, notify)
        facts = _gathered(ledger, resolved, opened, executor, progress, notify)
        _tell_judging(progress, tracker)
        return _conclude(ledger, facts, tracker)


def replay(
    evaluation: str,
    transports: Sequence[str],
    *,
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
        own_paths: further paths by name, as in a spec's ``transports``.
        base: directory that relative names in ``own_paths`` start from; default the current one.

    Raises:
        ConfigError: no such evaluation, or no such path.
        BoundaryError: the sandbox, the ledger or the tracking server failed.
    """
    _require_executor(executor)
    directory = adapters.store_directory(store)
    _require_store(directory, evaluation)
    with _ledger(directory, notify) as ledger:
        source = find_facts(ledger, evaluation)
        _tell_source(source, evaluation, notify)
        resolved = _in_sandbox(replay_resolved(source, transports, own_paths or {}, base or Path.cwd()), sandbox)
        if source.lock.reference.transport in transports:
            notify(f"{source.lock.reference.transport} is the reference path: it has no damage, RR and NR say all about it")
        tracker = _checked_tracker(directory) if track else None
        derivation = Derivation(source.head.id, f"replay through {', '.join(transports)}", source.trials)
        opened = open_evaluation(ledger, resolved, derivation)
        facts = _gathered(ledger, resolved, opened, executor, progress, notify, generate=False)
        _tell_judging(progress, tracker)
        return _conclude(ledger, facts, tracker)


def validate(
    evaluation: str,
    validator: str,
    *,
    store: str | Path | None = None,
    track: bool = True,
    notify: Callable[[str], None] = lambda _: None,
) -> Evaluation:
    """Judge the stored facts of an evaluation with another validator. Neither a model nor a sandbox is used.

    Raises:
        ConfigError: no such evaluation, or the suite is not acceptable.
        BoundaryError: the ledger or the tracking server failed.
    """
    directory = adapters.store_directory(store)
    _require_store(directory, evaluation)
    with _ledger(directory, notify) as ledger:
        source = find_facts(ledger, evaluation)
        _tell_source(source, evaluation, notify)
        facts = validate_resolved(source, validator, ledger, Path.cwd())
        judge(facts, adapters.make_validator())  # before anything is written: a bad suite leaves no evaluation behind
        tracker = _checked_tracker(directory) if track else None
        ledger.open_evaluation(facts)
        return _conclude(ledger, ledger.facts(facts.head.id), tracker)


def load(evaluation: str = "latest", *, store: str | Path | None = None) -> Evaluation:
    """An evaluation from the ledger, or from MLflow by its run id.

    Raises:
        ConfigError: there is no such evaluation.
    """
    directory = adapters.store_directory(store)
    _require_store(directory, evaluation)
    ledger = Ledger(directory, reading=True)
    try:
        facts = find_facts(ledger, evaluation)
    finally:
        ledger.close()
    return Evaluation(facts, judge(facts, adapters.make_validator()), run_id=facts.head.mlflow_run)


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


def log(evaluation: str, *, store: str | Path | None = None) -> Evaluation:
    """Log an evaluation of the ledger to MLflow (again): for when the server could not be reached.

    Raises:
        TrackerError: the server can't be reached.
    """
    directory = adapters.store_directory(store)
    _require_store(directory, evaluation)
    with _ledger(directory, lambda _: None) as ledger:
        facts = find_facts(ledger, evaluation)
        concluded = _conclude(ledger, facts, _checked_tracker(directory, facts.head.mlflow_uri))
    if concluded.tracking_error:
        raise TrackerError(concluded.tracking_error)
    return concluded


# -- parts ---------------------------------------------------------------------------------------------------------------


def resolved_spec(spec: Spec | str | Path | dict[str, Any]) -> Resolved:
    """Any form of a spec, resolved.

    Raises:
        ConfigError: the spec, or something that it names, is wrong.
    """
    if isinstance(spec, Spec):
        return resolve(spec, Path.cwd())
    if isinstance(spec, dict):
        return resolve(load_spec(canonical_json(spec), "spec"), Path.cwd())
    with errors_name(str(spec)):
        return resolve(*read_spec(spec))


def check_ready(resolved: Resolved, executor: str | None) -> None:
    """Refuse what would only fail after something was spent or written.

    Raises:
        ConfigError: no such executor, a cost limit that can't be kept, a suite that is not acceptable, a key that is not set.
    """
    _require_executor(executor)
    check_prices(resolved)
    check_suites(resolved)
    if missing := missing_keys(resolved):
        raise ConfigError(f"the environment variable {missing[0]} is not set; export {missing[0]}=...", field="api_key_env")


def _require_executor(executor: str | None) -> None:
    if executor not in (None, *EXECUTORS):
        raise ConfigError(f"{executor!r} is not an executor; known: {', '.join(EXECUTORS)}", field="executor")


def _executor_kind(resolved: Resolved, executor: str | None) -> str:
    return executor or resolved.spec.executor.kind or "local"


def _in_sandbox(resolved: Resolved, sandbox: str | None) -> Resolved:
    if sandbox is None:
        return resolved
    if sandbox not in SANDBOXES:
        raise ConfigError(f"{sandbox!r} is not a sandbox; known: {', '.join(SANDBOXES)}", field="sandbox")
    return replace(resolved, spec=resolved.spec.model_copy(update={"sandbox": sandbox}))


def check_suites(resolved: Resolved) -> None:
    """Refuse suites that could not judge, before anything is judged by them.

    Raises:
        ConfigError: naming file, expectation and what would be right.
    """
    for suite in resolved.suites.values():
        load_suite(suite)


def missing_keys(resolved: Resolved) -> tuple[str, ...]:
    """Names of the environment variables that hold keys according to the spec, and don't."""
    named = {request.api_key_env for request in resolved.plan.requests if request.api_key_env}
    return tuple(sorted(name for name in named if not os.environ.get(name)))


def beforehand(resolved: Resolved) -> Iterator[str]:
    """What a user should know before anything is asked: the cost, who is told about another path, recorded lines without use."""
    if sentence := cost_sentence(resolved):
        yield sentence
    yield from undisclosed(resolved.plan)
    yield from unused_lines(resolved.plan, resolved.recordings)


def check_prices(resolved: Resolved) -> None:
    """Refuse a cost limit that can't be kept.

    Raises:
        ConfigError: a cost limit stands beside a model without a price, or without a bound on its reply.
    """
    if resolved.limits.max_cost_usd is None:
        return
    if lacking := unpriced(resolved.plan):
        raise ConfigError(
            f"max_cost_usd is set, but there is no price for {', '.join(lacking)}; give prices under models, or drop the limit",
            field="limits.max_cost_usd",
        )


def find_facts(ledger: Ledger, evaluation: str) -> Facts:
    """Facts by ledger id, ``latest``, or MLflow run id.

    Raises:
        ConfigError: there is no such evaluation.
        TrackerError: it looks like a run id, and no store that is known here gives it.
    """
    head = find_head(ledger, evaluation)
    if head is None and _looks_like_a_run(evaluation) and (stores := _tracking_stores(ledger)):
        return _fetched(ledger, evaluation, stores)
    return ledger.facts(head.id if head else evaluation)


def find_head(ledger: Ledger, evaluation: str) -> EvaluationHead | None:
    """The head of an evaluation of the ledger by its id, ``latest``, or the run that it was logged as."""
    heads = ledger.heads()
    if evaluation == "latest":
        return heads[-1] if heads else None
    return next((head for head in heads if evaluation in (head.id, head.mlflow_run)), None)


def _tracking_stores(ledger: Ledger) -> tuple[str, ...]:
    """Where a run may be: the usual store first, then those that evaluations of this ledger were logged to."""
    usual = adapters.tracking_uri(ledger.directory)
    others = [head.mlflow_uri for head in ledger.heads() if head.mlflow_uri]
    return tuple(uri for uri in dict.fromkeys((usual, *others)) if not adapters.is_missing(uri))


def _fetched(ledger: Ledger, run_id: str, stores: Sequence[str]) -> Facts:
    failures: list[str] = []
    for uri in stores:
        with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
            try:
                tracker = adapters.make_tracker(ledger.directory, adapters.stored_uri(uri, ledger.directory))
                return read_bundle(tracker.fetch(run_id, Path(temporary)))
            except (TrackerError, ConfigError) as error:
                failures.append(str(error))
    raise TrackerError("; ".join(failures))


def _require_store(directory: Path, evaluation: str) -> None:
    """Whoever only asks for an evaluation must not leave an empty store behind; an MLflow run needs none."""
    if not directory.exists() and not _looks_like_a_run(evaluation):
        raise ConfigError(f"no evaluation {evaluation!r}: there is no store {directory} here; name it with --store")


def _looks_like_a_run(evaluation: str) -> bool:
    return len(evaluation) == 32 and all(letter in "0123456789abcdef" for letter in evaluation)


@contextmanager
def _ledger(directory: Path, notify: Callable[[str], None]) -> Iterator[Ledger]:
    ledger = Ledger(directory)
    try:
        ledger.lease.acquire(on_wait=notify)
        yield ledger
    finally:
        ledger.close()


def _checked_tracker(directory: Path, stored: str | None = None) -> Tracker:
    """The tracker, after it answered once: nothing is spent for results that can't be logged.

    ``stored``: where the evaluation was logged before; it stays there, unless the environment names another place.

    Raises:
        TrackerError: it does not answer.
    """
    named = os.environ.get(adapters.TRACKING_VARIABLE)
    tracker = adapters.make_tracker(directory, adapters.stored_uri(stored, directory) if stored and not named else None)
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
    made = adapters.make_executor(_executor_kind(resolved, executor), resolved.spec, resolved.answers)
    return gather(ledger, resolved, opened, made, generate=generate, progress=progress, notify=notify)


def _tell_judging(progress: Progress | None, tracker: Tracker | None) -> None:
    if progress:
        progress.began("judging, and logging to MLflow ..." if tracker else "judging ...")


def _conclude(ledger: Ledger, facts: Facts, tracker: Tracker | None) -> Evaluation:
    """Judge, and log where a tracker is given. A tracker that fails never loses a result."""
    judgement = judge(facts, adapters.make_validator())
    if tracker is None:
        return Evaluation(facts, judgement)
    with tempfile.TemporaryDirectory(prefix="crosspath-") as temporary:
        bundle = Path(temporary) / "evaluation"
        write_bundle(facts, judgement, bundle)
        try:
            reference = tracker.log(facts, judgement, bundle, parent_run=os.environ.get("MLFLOW_RUN_ID"))
        except TrackerError as error:
            return Evaluation(facts, judgement, tracking_error=str(error))
    head = facts.head.model_copy(update={"mlflow_run": reference.run_id, "mlflow_uri": tracker.uri})
    logged = facts.model_copy(update={"head": head})
    ledger.update(logged)
    opens_with = adapters.ui_instruction(ledger.directory, tracker.uri)
    return Evaluation(logged, judgement, run_id=reference.run_id, url=reference.url, opens_with=opens_with)
