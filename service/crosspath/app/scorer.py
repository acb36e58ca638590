"""A scorer for ``mlflow.genai.evaluate``: rows with replies that were generated elsewhere, executed and judged here."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crosspath.app import adapters
from crosspath.app.readiness import check_suites
from crosspath.app.resolve import resolve
from crosspath.errors import BoundaryError, ConfigError
from crosspath.escaping import one_line
from crosspath.logged.replies import read_response
from crosspath.pipeline.reply_scores import ReplyScorer, ScoredReply
from crosspath.spec import load_spec
from crosspath.types import Fault, Reply, RowFinding, Score, canonical_json

NAMES = ("right", "silent_wrong", "cause", "reference_right", "damage")
"""What is said about each row."""
MOST_SHOWN = 100
"""Letters of what stands in a task's place."""
RIGHT = "none"
"""The cause of a reply that is right."""


def scorer(
    transport: str = "raw",
    contract: str = "raw",
    *,
    validator: str = "exact",
    tasks: Mapping[str, Any] | None = None,
    harness: str = "none",
    transports: Mapping[str, Any] | None = None,
    contracts: Sequence[str] = (),
    sandbox: str = "bubblewrap",
    base: str | Path = ".",
    prefix: str = "",
) -> Any:
    """A scorer that executes each row's reply on a path, and on the reference path beside it.

    A row names its task, ``inputs={"task": ID}`` or in ``expectations``, and has the reply as ``outputs``: a text, a message with
    ``content`` and ``tool_calls``, or a whole response. Each row gets ``right``, ``silent_wrong``, ``cause`` (why, as the
    rationale), ``reference_right`` and ``damage`` (-1: the path broke it). What can't be observed is a feedback with an error.

    Args:
        transport: name of the path; one that ships, or of ``transports``.
        contract: what the model was told; it decides how the reply is read.
        validator: name of the validator, or a suite file.
        tasks: as in a spec; default: the public catalogue.
        harness: clean-up before the path: ``none``, ``strip`` or ``fenced-block``.
        transports: own paths by name, as in a spec.
        contracts: files of own contracts.
        sandbox: ``bubblewrap`` or ``none`` (replies run unprotected).
        base: directory that relative file names start from.
        prefix: of the feedbacks' names, for several scorers in one evaluation: ``nested/`` makes ``nested/right``.

    Raises:
        ConfigError: there is no such path, contract, validator or task selection.
    """
    candidate = {
        "model": "baseline/oracle", "contract": contract, "transport": transport, "validator": validator, "harness": harness,
    }  # fmt: skip
    document = {
        "name": "scorer", "candidates": {"scored": candidate}, "tasks": dict(tasks or {}), "sandbox": sandbox,
        "transports": dict(transports or {}), "contracts": list(contracts),
    }  # fmt: skip
    resolved = resolve(load_spec(canonical_json(document), "scorer"), Path(base).resolve())
    check_suites(resolved)
    (suite,) = resolved.suites.values()
    replies = ReplyScorer(resolved.plan, suite, adapters.make_sandbox(resolved.spec), adapters.make_validator())
    return adapters.make_scorer(RowJudge(replies, prefix), f"{prefix}crosspath")


class RowJudge:
    """From a row of another evaluation to what is found about its reply. MLflow calls it in several threads."""

    def __init__(self, replies: ReplyScorer, prefix: str = "") -> None:
        self._replies, self._prefix = replies, prefix
        self._known = frozenset(replies.tasks)

    def __call__(self, inputs: object, outputs: object, expectations: Mapping[str, Any]) -> Sequence[RowFinding]:
        try:
            scored = self._replies.score(self._task(inputs, expectations), _reply(outputs))
        except _Unreadable as problem:
            return self._unobserved(problem.kind, str(problem))
        except ConfigError as error:
            return self._unobserved("config", str(error))
        except BoundaryError as error:
            return self._unobserved("boundary", str(error))
        return [one.model_copy(update={"name": f"{self._prefix}{one.name}"}) for one in self._findings(scored)]

    def _task(self, inputs: object, expectations: Mapping[str, Any]) -> str:
        named = [place["task"] for place in (inputs, expectations) if isinstance(place, Mapping) and "task" in place]
        if not named:
            raise _Unreadable("no_task", 'the row names no task: inputs={"task": ID}, or expectations')
        task = named[0]
        if not isinstance(task, str) or task not in self._known:
            raise _Unreadable("no_such_task", f"{str(task)[:MOST_SHOWN]!r} is none of the {len(self._known)} tasks")
        return task

    def _unobserved(self, kind: str, why: str) -> list[RowFinding]:
        return [RowFinding(name=f"{self._prefix}{name}", error=kind, rationale=one_line(why)) for name in NAMES]

    def _findings(self, scored: ScoredReply) -> list[RowFinding]:
        own, reference = scored.own, scored.reference
        path, raw = self._replies.paths
        if isinstance(own, Fault):
            first = [RowFinding(name=name, error=own.type, rationale=one_line(own.message)) for name in NAMES[:3]]
        else:
            first = _verdicts(own, path)
        return [*first, _right("reference_right", reference, raw), _damage(scored, path, raw)]


def _verdicts(score: Score, path: str) -> list[RowFinding]:
    cause = score.cause or (RIGHT if score.passed else score.false_alarm or "wrong_exit_status")
    silent = "the path told that all is well" if score.silent_wrong else ""
    return [
        _right("right", score, path),
        RowFinding(name="silent_wrong", value=score.silent_wrong, rationale=silent),
        RowFinding(name="cause", value=cause, rationale=one_line(score.reason)),
    ]


def _right(name: str, found: Score | Fault, path: str) -> RowFinding:
    if isinstance(found, Fault):
        return RowFinding(name=name, error=found.type, rationale=one_line(found.message))
    why = f": {found.reason}" if found.reason else ""
    return RowFinding(name=name, value=found.passed, rationale=one_line(f"{'right' if found.passed else 'wrong'} on {path}{why}"))


def _damage(scored: ScoredReply, path: str, reference: str) -> RowFinding:
    value = scored.damage
    if value is None:
        return RowFinding(name="damage", error="unobserved", rationale="the reply was not observed on both paths")
    words = {-1: f"right on {reference}, wrong on {path}", 1: f"wrong on {reference}, right on {path}"}
    return RowFinding(name="damage", value=value, rationale=words.get(value, f"the same on {reference} and on {path}"))


class _Unreadable(Exception):
    """A row that can't be scored."""

    def __init__(self, kind: str, problem: str) -> None:
        self.kind = kind
        super().__init__(problem)


def _reply(outputs: object) -> Reply:
    if outputs is None:
        raise _Unreadable("no_reply", "the row has no outputs")
    readings = read_response(outputs)
    if len(readings) != 1 or readings[0].reply is None:
        problem = readings[0].problem if readings else None
        raise _Unreadable("no_reply", problem or f"{len(readings)} replies in one row")
    return readings[0].reply
