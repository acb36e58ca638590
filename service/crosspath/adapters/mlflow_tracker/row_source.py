"""The rows of one cell: all trials of a task, looked up and taken together."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosspath.adapters.mlflow_tracker.names import shown
from crosspath.adapters.mlflow_tracker.rows import Row, Verdict
from crosspath.adapters.mlflow_tracker.stages import (
    ShownTrial,
    bounded,
    command_text,
    literal,
    result_text,
    state_difference,
    usage_attributes,
)
from crosspath.analysis.alarms import ALARM_WORDS
from crosspath.escaping import markdown
from crosspath.pipeline.fact_index import FactIndex
from crosspath.reports.failing import failing
from crosspath.types import Facts, Judgement, Loss, Losses, PlannedCell, Score, Task

NOTHING_LOST = "none"


@dataclass(frozen=True)
class _Seen:
    """One trial, and whether its replays disagree with each other."""

    index: int
    trial: ShownTrial
    unstable: bool

    @property
    def score(self) -> Score | None:
        """The verdict that counts."""
        return None if self.unstable else self.trial.score


class RowSource:
    """Looks up trials, replays and scores of an evaluation by cell."""

    def __init__(self, facts: Facts, judgement: Judgement) -> None:
        self._facts = facts
        self._index = FactIndex(facts, judgement.scores)
        self._started = {attempt.request_key: attempt.started_at for attempt in facts.attempts}
        self._telling = {(one.cell.candidate, one.task.id): one.score.key.trial.index for one in failing(facts, judgement)}
        """Candidate and task -> the trial that the report tells the story of."""
        self._lost = {losses.candidate: _lost_tasks(losses) for losses in judgement.losses}

    def rows(self, candidate: str, cell: str, *, matched: bool) -> tuple[Row, ...]:
        """The rows of one cell in the order of the tasks; first replays only, repeats are in the bundle.

        ``matched``: the candidate as deployed, whose rows also say where a task was lost.
        """
        named = [one for one in self._facts.cells if (one.candidate, one.name) == (candidate, cell) and not one.control]
        if not named:
            return ()
        seen = self._seen(named[0])
        lost = self._lost.get(candidate) if matched else None
        telling = self._telling if matched else {}
        return tuple(
            self._row(task, _chosen(seen[task.id], telling.get((candidate, task.id))), seen[task.id], lost)
            for task in self._facts.tasks
            if seen[task.id]
        )

    def _seen(self, cell: PlannedCell) -> dict[str, list[_Seen]]:
        """Task -> its trials of which anything is known."""
        unstable = {(row.task, row.index) for row in self._index.rows_compared(cell) if row.unstable}
        found: dict[str, list[_Seen]] = defaultdict(list)
        for task, index, key in (*self._index.keys(cell), *self._index.keys(cell, infeasible=True)):
            if trial := self._index.trial_of(key):
                replay, score = self._index.replay_of(cell, key), self._index.score_of(cell, key)
                found[task.id].append(_Seen(index, ShownTrial(task, trial, replay, score), (task.id, index) in unstable))
        return found

    def _row(self, task: Task, chosen: _Seen, seen: Sequence[_Seen], lost: Mapping[str, str] | None) -> Row:
        several = self._facts.lock.trials > 1
        one, scores = chosen.trial, [score for each in seen if (score := each.score)]
        verdicts = _verdicts(task, scores, chosen, several=several)
        if lost is not None and task.infeasible is None:
            verdicts = (*verdicts, Verdict("lost_to", lost.get(task.id, NOTHING_LOST), "where its trials were lost"))
        unseen = f" ({len(seen) - len(scores)} without a verdict)" if len(seen) > len(scores) else ""
        counted = f"{sum(score.passed for score in scores)} of {len(scores)} passed{unseen}; shown is trial {chosen.index}"
        response = {"trials": counted, **_response(one)} if several else _response(one)
        return Row(
            task=shown(task.id),
            request={"task": shown(task.id), "instruction": literal(_instruction(task))},
            request_text=f"{shown(task.id)}: {bounded(_instruction(task))}",
            response=response,
            preview=" | ".join([counted, *_preview(one)] if several else _preview(one)),
            verdicts=verdicts,
            started_s=self._started.get(one.trial.request.key, self._facts.head.created_at),
            duration_s=one.duration_s,
            tags={
                "family": shown(task.family),
                "tier": "none" if task.tier is None else str(task.tier),
                "partition": task.partition,
            },
            attributes=usage_attributes(one.trial.reply),
            shown=one,
        )


def _lost_tasks(losses: Losses) -> dict[str, str]:
    """Task -> the places that lost a trial of it."""
    found: dict[str, list[Loss]] = defaultdict(list)
    for place, tasks in losses.tasks.items():
        for task in tasks:
            found[task].append(place)
    return {task: ", ".join(places) for task, places in found.items()}


def _chosen(seen: Sequence[_Seen], telling: int | None) -> _Seen:
    """The trial that stands for its task: the one of the report's story, else one that failed, else any with a verdict; one
    without only where there is no other."""
    if told := next((one for one in seen if one.index == telling and one.score), None):
        return told
    failed = (one for one in seen if one.score and not one.score.passed)
    return next(failed, next((one for one in seen if one.score), seen[0]))


def _verdicts(task: Task, scores: Sequence[Score], chosen: _Seen, *, several: bool) -> tuple[Verdict, ...]:
    """``passed`` first; for a task that can't be done ``rightly_declined``, so that MLflow's means of the others stay pass rates.

    A fault is neither true nor false: it is an assessment with an error.
    """
    # MLflow sorts columns by name and shows the first ones: those of a few tasks stand behind.
    first = "passed" if task.infeasible is None else "rightly_declined"
    if not scores:
        reason = "its replays disagree: unstable" if chosen.unstable else chosen.trial.fault or "not replayed"
        return (Verdict(first, fault=shown(reason)[:1000]),)

    def share(of: Callable[[Score], bool]) -> bool | float:
        return sum(map(of, scores)) / len(scores) if several else of(scores[0])

    own = chosen.score or scores[0]
    reason = markdown(own.reason)  # MLflow renders it
    passed, right = share(lambda score: score.passed), share(lambda score: score.state_ok)
    counted = (Verdict("trials", float(len(scores)), "trials with a verdict"),) if several else ()
    if task.infeasible is not None:
        return Verdict(first, passed, reason), Verdict("untouched", right, "the state is as it was"), *counted
    return (
        Verdict(first, passed, reason),
        Verdict("state_ok", right, "the final state is exactly the expected one"),
        Verdict("misreport", _most(map(_misreport, scores)), "what the path told its caller wrongly"),
        Verdict("cause", _cause(own) or "none", _causes(scores, reason) if several else reason),
        *counted,
    )


def _cause(score: Score) -> str | None:
    return None if score.passed else score.cause or "exit status"


def _causes(scores: Sequence[Score], reason: str) -> str:
    """The reason of the trial that is shown; behind it the causes of all trials where they differ."""
    found = Counter(cause for score in scores if (cause := _cause(score)))
    counted = ", ".join(f"{count} {cause}" for cause, count in found.most_common())
    return f"{reason} (all trials: {counted})" if len(found) > 1 else reason


def _misreport(score: Score) -> str | None:
    if score.silent_wrong:
        return "silent_wrong"
    return f"false_alarm: {score.false_alarm}" if score.false_alarm else None


def _most(values: Iterable[str | None]) -> str:
    """The most frequent one of those that say something, else ``none``."""
    found = Counter(value for value in values if value)
    return found.most_common(1)[0][0] if found else "none"


def _instruction(task: Task) -> str:
    return task.instruction or "\n".join(f"{message.role}: {message.content}" for message in task.messages)


def _response(one: ShownTrial) -> dict[str, Any]:
    """What a reader needs to see why a row passed or failed, the verdict first."""
    reply, replay, score = one.trial.reply, one.replay, one.score
    if reply is None:
        return {"fault": literal(one.fault or "no reply")}
    delivery = replay.delivery if replay else None
    actions = delivery.actions if delivery else ()
    response: dict[str, Any] = {
        "verdict": None if score is None else _verdict(score),
        "fault": literal(one.fault),
        "reason": literal(score.reason) if score else None,
        "reply": literal(reply.text),
        "tool_calls": literal("\n".join(f"{call.name} {call.arguments}" for call in reply.tool_calls)),
        "not_delivered": literal(delivery.reason or delivery.problem) if delivery and delivery.problem else None,
        "executed": literal("\n\n".join(map(command_text, actions))),
        "ended": literal("\n\n".join(map(result_text, one.results))),
        "difference (- expected, + found)": literal(state_difference(one), "diff"),
    }
    return {name: value for name, value in response.items() if value not in (None, [], "")}


def _preview(one: ShownTrial) -> Iterator[str]:
    """The first things to know, in one line for the list of rows."""
    reply, score = one.trial.reply, one.score
    if score:
        yield _verdict(score)
    for text in (one.fault, score.reason if score else None, reply.text if reply else None):
        if text:
            yield bounded(text) or ""
    yield from (f"{shown(call.name)} {bounded(call.arguments)}" for call in (reply.tool_calls if reply else ()))


def _verdict(score: Score) -> str:
    if score.infeasible:
        return "declined, which was right" if score.passed else f"not declined rightly: {score.cause or 'acted, changed nothing'}"
    verdict = "passed" if score.passed else f"failed: {score.cause or 'exit status'}"
    if score.false_alarm:
        return f"{verdict} (the state is right, reported wrongly: {ALARM_WORDS[score.false_alarm]})"
    return f"{verdict} (reported as fine)" if score.silent_wrong else verdict
