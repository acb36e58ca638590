"""A verdict on each stored replay: all replays of one validator together, because a validation costs the same for one or many."""

from collections.abc import Iterable, Mapping, Sequence

from crosspath.pipeline.clean_ups import Alternative
from crosspath.ports import Validator
from crosspath.scoring import build_tables, load_suite, score
from crosspath.types import Facts, Replay, Score, Task, Text


def score_replays(facts: Facts, validator: Validator, alternatives: Iterable[Alternative] = ()) -> tuple[Score, ...]:
    """A score for each replay that was executed, by each validator that a cell asks for; with ``alternatives`` also of replies
    that went through a cell's path with the other clean-up.

    Raises:
        ConfigError: a suite is not acceptable.
        ValidatorError: a suite could not be carried out.
    """
    tasks = {task.id: task for task in facts.tasks}
    suites = {suite.name: suite for suite in facts.suites}
    wanted: dict[str, set[tuple[str, str]]] = {}
    for cell in facts.cells:
        wanted.setdefault(cell.validator, set()).add((cell.path, cell.generation.digest))
    for one in alternatives:
        if one.path is not None:
            wanted[one.cell.validator].add((one.path.digest, one.cell.generation.digest))
    scores: list[Score] = []
    for name, places in sorted(wanted.items()):
        replays = [r for r in facts.replays if r.execution and (r.key.path, r.key.trial.generation) in places]
        scores += score_with(suites[name], replays, tasks, validator)
    return tuple(scores)


def of_cells(facts: Facts, scores: Iterable[Score]) -> tuple[Score, ...]:
    """Those of replays that belong to a cell."""
    places = {(cell.validator, cell.path, cell.generation.digest) for cell in facts.cells}
    return tuple(one for one in scores if (one.validator, one.key.path, one.key.trial.generation) in places)


def score_with(suite: Text, replays: Sequence[Replay], tasks: Mapping[str, Task], validator: Validator) -> list[Score]:
    """A score by one suite for each of ``replays``, which were all executed; ``tasks`` by id.

    Raises:
        ConfigError: the suite is not acceptable.
        ValidatorError: it could not be carried out.
    """
    if not replays:
        return []
    checks = validator.validate(suite, build_tables(tasks, replays, load_suite(suite).columns))
    return [
        score(replay, tasks[replay.key.trial.task], checks[row]).model_copy(update={"validator": suite.name})
        for row, replay in enumerate(replays)
    ]
