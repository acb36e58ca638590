"""Replies that were bought before: a ledger without them, a fresh CI runner's, is filled from evaluations in MLflow.

A reply is taken by the key of its request, which covers everything that could change it, the number of the trial included. So
nothing is taken for something else, and a repeated trial stays an independent one.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from crosspath.app import adapters
from crosspath.app.resolve import Resolved
from crosspath.app.session import Opened
from crosspath.errors import ConfigError, TrackerError
from crosspath.pipeline.answers import provider
from crosspath.ports import Tracker
from crosspath.store.ledger import Ledger
from crosspath.types import LoggedTrials, Request, Trial


def reuse_source(resolved: Resolved, ledger: Ledger) -> Tracker | None:
    """Where replies may be taken from, after it answered once; None: the spec asks for none, or asks no endpoint anything.

    Raises:
        TrackerError: it does not answer; nothing was written or sent.
    """
    if not resolved.spec.reuse or not any(_is_bought(request) for request in resolved.plan.requests):
        return None
    tracker = adapters.make_tracker(ledger.directory)
    try:
        tracker.check()
    except TrackerError as error:
        raise TrackerError(f"reuse: {error}; nothing was asked (without `reuse` every reply is bought)") from error
    return tracker


def reused(ledger: Ledger, resolved: Resolved, opened: Opened, tracker: Tracker, notify: Callable[[str], None]) -> Opened:
    """The evaluation with every reply that the experiments of ``reuse`` hold and it lacks; says how many.

    Raises:
        ConfigError: an experiment does not exist; the spec's own may be still to be made.
        TrackerError: the server can't be reached.
    """
    have = {trial.request.key for trial in opened.facts.trials if trial.reply}
    wanted = {one.key: one for one in resolved.plan.requests if _is_bought(one) and one.key not in have}
    asked = len(wanted)
    for experiment in resolved.spec.reuse:
        for logged in _evaluations(tracker, experiment, resolved.spec.experiment, notify) if wanted else ():
            taken = list(_taken(logged, wanted))
            ledger.append(opened.facts.head.id, taken)
            for trial in taken:
                del wanted[trial.request.key]
            if taken:
                notify(f"{len(taken)} replies are taken from {logged.evaluation} (run {logged.run}) and not asked for again")
            if not wanted:
                break
    if asked:
        notify(f"reuse: {asked - len(wanted)} of {asked} replies were stored in MLflow, {len(wanted)} are to be asked for")
    return replace(opened, facts=ledger.facts(opened.facts.head.id))


def _is_bought(request: Request) -> bool:
    return provider(request.model) is None


def _evaluations(tracker: Tracker, experiment: str, own: str, notify: Callable[[str], None]) -> Iterator[LoggedTrials]:
    try:
        for logged in tracker.trials(experiment):
            if logged.problem:
                notify(f"reuse: {logged.evaluation} (run {logged.run}) is left out: {logged.problem}")
            else:
                yield logged
    except ConfigError as error:
        if experiment != own:
            raise
        notify(f"reuse: {error.problem} yet, so nothing is taken from it")


def _taken(logged: LoggedTrials, wanted: dict[str, Request]) -> Iterator[Trial]:
    """Trials of this evaluation's own requests, with the stored replies."""
    for trial in logged.trials:
        request = wanted.get(trial.request.key)
        if request is not None and trial.reply is not None and trial.key == request.trial:
            yield Trial(key=request.trial, request=request, reply=trial.reply)
