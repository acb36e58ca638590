"""Which failing trial tells a task's story, and which stories a short report tells."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosspath.analysis.decompose import as_deployed
from crosspath.types import Facts, Judgement, PlannedCell, ReplayKey, Score, Task

_ALIKE = frozenset({"refusal", "truncated", "empty"})
"""One such story is much like the next."""
_ALIKE_WEIGHT = 4
Place = tuple[str, str, str, int]
"""Generation, path, task, trial index: a first replay that is no control."""


@dataclass(frozen=True)
class Failing:
    """One task that fails for one candidate as deployed."""

    cell: PlannedCell
    task: Task
    score: Score
    """Of the trial that tells the story."""
    failed: int
    trials: int

    @property
    def cause(self) -> str:
        return self.score.cause or self.score.false_alarm or "unknown"


def place_of(key: ReplayKey) -> Place:
    """Where a replay stands, whatever its repeat."""
    return key.trial.generation, key.path, key.trial.task, key.trial.index


def failing(facts: Facts, judgement: Judgement) -> tuple[Failing, ...]:
    """Every task with a failing trial, candidate by candidate, tasks in their order. Trials that are unstable on this path, and
    tasks that can't be done, are left out."""
    lengths = {(one.key.generation, one.key.task, one.key.index): _length(one.reply) for one in facts.trials}
    verdicts = _verdicts(judgement.scores)

    def length(score: Score) -> int:
        trial = score.key.trial
        return lengths.get((trial.generation, trial.task, trial.index), 0)

    found: list[Failing] = []
    for cell in _deployed(facts, judgement):
        by_task = verdicts.get((cell.generation.digest, cell.path, cell.validator), {})
        for task in facts.tasks:
            scores = by_task.get(task.id, ())
            if failed := [score for score in scores if not score.passed]:
                shortest = min(failed, key=lambda one: (not one.checks, len(one.checks), length(one), one.key.trial.index))
                found.append(Failing(cell, task, shortest, len(failed), len(scores)))
    return tuple(found)


def _length(reply: object) -> int:
    text = getattr(reply, "text", None)
    return len(text) if isinstance(text, str) else 0


def _deployed(facts: Facts, judgement: Judgement) -> Iterator[PlannedCell]:
    cells = {(cell.candidate, cell.name): cell for cell in facts.cells if not cell.control}
    for decomposition in judgement.decompositions:
        own = as_deployed(decomposition)
        if own and (cell := cells.get((decomposition.candidate, own.name))):
            yield cell


def _verdicts(scores: Iterable[Score]) -> dict[tuple[str, str, str], dict[str, list[Score]]]:
    """Generation, path and validator -> task -> verdicts on first replays, those that another replay contradicts left out."""
    firsts: list[Score] = []
    others: dict[tuple[str, Place], set[bool]] = {}
    for score in scores:
        if score.infeasible or score.key.encoded:
            continue
        if score.key.repeat:
            others.setdefault((score.validator, place_of(score.key)), set()).add(score.passed)
        else:
            firsts.append(score)
    found: dict[tuple[str, str, str], dict[str, list[Score]]] = {}
    for score in firsts:
        if (not score.passed) not in others.get((score.validator, place_of(score.key)), ()):
            trial = score.key.trial
            found.setdefault((trial.generation, score.key.path, score.validator), {}).setdefault(trial.task, []).append(score)
    return found


def chosen(found: Sequence[Failing], most: int) -> tuple[Failing, ...]:
    """At most ``most`` that differ as much as they can, in the order of ``found``: each next one has the cause, then the
    candidate, then the family that was taken least often so far."""
    left, taken = list(range(len(found))), list[int]()
    seen: Counter[tuple[str, str]] = Counter()
    while left and len(taken) < most:
        best = min(left, key=lambda at: (*_often(found[at], seen), at))
        left.remove(best)
        taken.append(best)
        seen.update(_kinds(found[best]))
    return tuple(found[at] for at in sorted(taken))


def _often(one: Failing, seen: Mapping[tuple[str, str], int]) -> tuple[int, ...]:
    cause, *others = (seen[kind] for kind in _kinds(one))
    return cause * (_ALIKE_WEIGHT if one.cause in _ALIKE else 1), *others


def _kinds(one: Failing) -> tuple[tuple[str, str], ...]:
    return ("cause", one.cause), ("candidate", one.cell.candidate), ("family", one.task.family)
