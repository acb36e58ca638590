"""The mutation audit: a validator must reject every single change of a right final state."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from crosspath.app.task_checks.findings import Finding, Tally, proved
from crosspath.app.task_checks.running import Notify, judged
from crosspath.ports import Validator
from crosspath.scoring.mutations import Fact, Mutation, mutations
from crosspath.types import Replay, Task, Text

AUDIT = "mutation rejected"
AT_ONCE = 4_000
"""Mutations that are judged in one call, at least."""
_SHOWN = 3
_RULES: Mapping[Fact, str] = {
    "presence": "the rule 'presence'",
    "surplus": "the rules 'nothing new' and 'nothing left over'",
    "kind": "the rule 'kind'",
    "content": "the rule 'content'",
    "mode": "the rule 'mode'",
    "target": "the rule 'symlink target'",
    "exit": "the rule 'exit'",
    "commands": "the rule 'commands'",
}
"""The rules of the suite ``exact`` that see a fact."""


def audit(
    validator: Validator, suite: Text, rights: Sequence[tuple[Task, Replay]], notify: Notify
) -> tuple[dict[str, Tally], tuple[Finding, ...]]:
    """Counts by kind of change, and one finding about the validator per kind; ``rights``: replays that left what is right.

    Raises:
        ConfigError: the suite is not acceptable.
        ValidatorError: it could not be carried out.
    """
    accepted: dict[str, list[str]] = defaultdict(list)
    facts: dict[str, Fact] = {}
    applicable: dict[str, int] = defaultdict(int)
    for task, mutation, rejected in _verdicts(validator, suite, rights, notify):
        facts.setdefault(mutation.kind, mutation.fact)
        applicable[mutation.kind] += 1
        if not rejected:
            accepted[mutation.kind].append(f"{task} ({mutation.subject})" if mutation.subject else task)
    tallies = {kind: Tally(fact, applicable[kind], applicable[kind] - len(accepted[kind])) for kind, fact in facts.items()}
    return tallies, tuple(_finding(suite, kind, tally, accepted[kind]) for kind, tally in tallies.items())


def _finding(suite: Text, kind: str, tally: Tally, accepted: Sequence[str]) -> Finding:
    shown = ", ".join(accepted[:_SHOWN]) + (f" and {len(accepted) - _SHOWN} more" if len(accepted) > _SHOWN else "")
    problem = f"accepts {len(accepted)} of {tally.applicable}: {shown}" if accepted else None
    mend = f"judge by 'exact', or add {_RULES[tally.fact]} of validators/exact.yaml with the not-null guards of its columns"
    return proved(f"validator {suite.name}", f"{AUDIT}: {kind}", problem, mend)


def _verdicts(
    validator: Validator, suite: Text, rights: Sequence[tuple[Task, Replay]], notify: Notify
) -> Iterator[tuple[str, Mutation, bool]]:
    """Task, mutation, and whether it is rejected."""
    waiting: list[tuple[Task, Mutation]] = []
    for number, (task, replay) in enumerate(rights):
        notify("mutations of right states", number, len(rights))
        waiting += [(task, mutation) for mutation in mutations(task, replay)]
        if len(waiting) >= AT_ONCE or number + 1 == len(rights):
            yield from _judged(validator, suite, waiting)
            waiting = []


def _judged(validator: Validator, suite: Text, waiting: Sequence[tuple[Task, Mutation]]) -> Iterator[tuple[str, Mutation, bool]]:
    tasks = {task.id: task for task, _ in waiting}
    scores = judged(validator, suite, tasks, [mutation.replay for _, mutation in waiting])
    for (task, mutation), score in zip(waiting, scores, strict=True):
        right = score is not None and (score.passed if task.infeasible is None else score.state_ok)
        yield task.id, mutation, not right
