"""How strict a suite is on these tasks: the share of single changes of the right final states that it rejects.

A few changes of each task, always the same ones, so that a gate takes no minutes; ``crosspath tasks check`` makes all of them.
The right states are those that the tasks declare, so the answer hangs on no reply.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256

from crosspath.pipeline.scores import score_with
from crosspath.ports import Validator
from crosspath.scoring.declared import declared_replay
from crosspath.scoring.mutations import Mutation, mutations
from crosspath.types import Task, Text

PER_TASK = 12
"""So many changes of each task at most; over a hundred tasks all kinds are among them."""


@dataclass(frozen=True)
class Strength:
    """What a suite did with the changes."""

    tasks: int
    """Tasks whose declared right state it accepts; only those were changed."""
    changes: int
    rejected: int
    accepted: tuple[str, ...]
    """``TASK: CHANGE`` of those that it let pass."""


def strength_of(suite: Text, tasks: Sequence[Task], validator: Validator) -> Strength:
    """Of tasks that can be done.

    Raises:
        ConfigError: the suite is not acceptable.
        ValidatorError: it could not be carried out.
    """
    feasible = {task.id: task for task in tasks if task.infeasible is None}
    declared = [declared_replay(task) for task in feasible.values()]
    accepted = {one.key.trial.task for one in score_with(suite, declared, feasible, validator) if one.passed}
    changed = [(task, change) for task in feasible.values() if task.id in accepted for change in _sample(task)]
    scores = score_with(suite, [change.replay for _, change in changed], feasible, validator)
    missed = [f"{task.id}: {change.kind}" for (task, change), score in zip(changed, scores, strict=True) if score.passed]
    return Strength(len(accepted), len(changed), len(changed) - len(missed), tuple(missed))


def _sample(task: Task) -> Iterator[Mutation]:
    """The first few in an order that has nothing to do with what they are."""
    ordered = sorted(mutations(task, declared_replay(task)), key=lambda one: sha256(f"{task.id} {one.name}".encode()).digest())
    yield from ordered[:PER_TASK]
