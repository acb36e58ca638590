"""The tasks of an evaluation as what MLflow calls a dataset: a name, a digest, where it comes from, and what is in it."""

import json
from collections import Counter
from dataclasses import dataclass

from crosspath.adapters.mlflow_tracker.names import shown
from crosspath.types import Facts, digest

MAX_DIGEST = 36
MAX_NAME = 500
CONTEXT = ("mlflow.data.context", "evaluation")
"""What the dataset was used for, as MLflow tags it."""


@dataclass(frozen=True)
class TaskSet:
    """What a run's dataset says."""

    name: str
    digest: str
    """The first 36 characters of the digest that the param ``tasks.digest`` holds whole."""
    source: str
    """JSON: which files, families, tiers, hazards and partition the spec names."""
    profile: str
    """JSON: how many tasks there are, by family, tier and partition."""


def task_set(facts: Facts) -> TaskSet:
    """The task set of an evaluation; all its runs have the same."""
    named = facts.head.spec.get("tasks") or {}
    files = [shown(str(file)) for file in named.get("files", ())]
    where = ", ".join(file.rsplit("/", 1)[-1] for file in files) or "catalogue"
    return TaskSet(
        name=f"{where}: {len(facts.tasks)} tasks"[:MAX_NAME],
        digest=digest(dict(facts.lock.tasks))[:MAX_DIGEST],
        source=json.dumps({"tasks": where, **{key: value for key, value in named.items() if value}}, default=str)[:60_000],
        profile=json.dumps(_profile(facts)),
    )


def _profile(facts: Facts) -> dict[str, object]:
    tiers = Counter("none" if task.tier is None else str(task.tier) for task in facts.tasks)
    return {
        "num_rows": len(facts.tasks),
        "families": len({task.family for task in facts.tasks}),
        "tiers": dict(sorted(tiers.items())),
        "partitions": dict(sorted(Counter(task.partition for task in facts.tasks).items())),
        "can't be done": sum(task.infeasible is not None for task in facts.tasks),
        "trials of each": facts.lock.trials,
    }
