"""Which tasks a daily watch samples: few, able to show a drop, and like all of them.

The rule, on the outcomes of one evaluation:

1. Tasks without a verdict are left out; those with an unstable replay are taken only where there is nothing else.
2. A task that never passed can't drop. At most one in eight of the chosen is such a task, so that a rise is seen; fewer where
   there are fewer among all.
3. The others are chosen among those that always passed and those that passed sometimes, as many of each as there are among all.
   Those that always passed show a drop with the least noise; those that passed sometimes are where a model is at its limit.
4. Each next one is taken from the family that has the fewest chosen; within it in an order that has nothing to do with outcomes.

The outcomes that they were chosen on are no reference for them: tasks that passed by luck are chosen more often, and pass less
often when they are sampled again (``docs/drift-statistics.md`` has the size of it).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crosspath.types import digest

NEVER_IN = 8
"""At most one in so many is a task that never passed."""

Kind = Literal["always", "sometimes", "never"]


@dataclass(frozen=True)
class SeenTask:
    """What one evaluation showed of a task as deployed."""

    task: str
    family: str
    passed: int
    trials: int
    """Those with a verdict."""
    unstable: int = 0
    """Trials whose replays disagreed."""

    @property
    def kind(self) -> Kind:
        if not self.passed:
            return "never"
        return "always" if self.passed == self.trials else "sometimes"


def choose(tasks: Sequence[SeenTask], number: int) -> tuple[SeenTask, ...]:
    """So many sentinel tasks (all with a verdict, where there are fewer), in the order of ``tasks``."""
    usable = [task for task in tasks if task.trials]
    steady = [task for task in usable if not task.unstable]
    pool = steady if len(steady) >= number else usable
    taken = _Taken()
    for kind, wanted in quotas(pool, number).items():
        taken.take([task for task in pool if task.kind == kind], wanted)
    return tuple(task for task in tasks if task.task in taken.names)


def quotas(tasks: Sequence[SeenTask], number: int) -> dict[Kind, int]:
    """How many of each kind: at most ``number`` in all, and no more than there are."""
    there = Counter(task.kind for task in tasks)
    number = min(number, len(tasks))
    able = there["always"] + there["sometimes"]
    like_all = max(1, round(number * there["never"] / len(tasks))) if there["never"] else 0
    never = max(min(like_all, number // NEVER_IN), number - able)
    sometimes = _share_of(there["sometimes"], able, number - never)
    return {"sometimes": sometimes, "always": number - never - sometimes, "never": never}


def _share_of(part: int, whole: int, number: int) -> int:
    """``part`` of ``whole``, in proportion, of ``number`` to choose; at least one of either kind that is there."""
    least, most = min(1, part), number - min(1, whole - part)
    return min(part, max(least, min(most, round(number * part / whole)))) if whole and number > 1 else min(part, number)


class _Taken:
    """What is chosen so far."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.families: Counter[str] = Counter()

    def take(self, tasks: Sequence[SeenTask], number: int) -> None:
        waiting = sorted(tasks, key=lambda task: digest(task.task))
        for _ in range(number):
            best = min(waiting, key=lambda task: (self.families[task.family], task.unstable))
            waiting.remove(best)
            self.names.add(best.task)
            self.families[best.family] += 1


def expected_rates(tasks: Sequence[SeenTask]) -> list[float]:
    """Of each task: its outcomes with one trial of all tasks mixed in, so that few trials are not taken at their word."""
    trials = sum(task.trials for task in tasks)
    pooled = sum(task.passed for task in tasks) / trials if trials else 0.0
    return [(task.passed + pooled) / (task.trials + 1) for task in tasks]
