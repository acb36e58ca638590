"""One order for the facts of an evaluation, so that nothing depends on who was done first."""

from collections.abc import Iterable

from crosspath.types import Attempt, Facts, Replay, Trial, TrialKey


def in_order(facts: Facts) -> Facts:
    """Trials, attempts and replays in the order of the plan: generations as the cells name them, then tasks, then trials."""
    place = _Places(facts)
    request_of = {trial.request.key: trial.key for trial in facts.trials}

    def attempt_order(attempt: Attempt) -> tuple[object, ...]:
        trial = request_of.get(attempt.request_key)
        return (trial is None, place.of(trial) if trial else (), attempt.request_key, attempt.number)

    return facts.model_copy(
        update={
            "trials": tuple(sorted(facts.trials, key=place.of_trial)),
            "attempts": tuple(sorted(facts.attempts, key=attempt_order)),
            "replays": tuple(sorted(facts.replays, key=place.of_replay)),
        }
    )


class _Places:
    """Where the parts of a key stand in the plan; what the plan does not know comes last, by name."""

    def __init__(self, facts: Facts) -> None:
        self._generations = _numbered(cell.generation.digest for cell in facts.cells)
        self._tasks = _numbered(task.id for task in facts.tasks)
        self._paths = _numbered(cell.path for cell in facts.cells)

    def of(self, key: TrialKey) -> tuple[int | str, ...]:
        generation, task = self._generations.get(key.generation), self._tasks.get(key.task)
        last = len(self._generations) + len(self._tasks)
        return (
            last if generation is None else generation,
            last if task is None else task,
            key.index,
            key.generation,
            key.task,
        )

    def of_trial(self, trial: Trial) -> tuple[int | str, ...]:
        return self.of(trial.key)

    def of_replay(self, replay: Replay) -> tuple[int | str, ...]:
        key = replay.key
        return (*self.of(key.trial), self._paths.get(key.path, len(self._paths)), key.path, key.encoded, key.repeat)


def _numbered(names: Iterable[str]) -> dict[str, int]:
    return {name: number for number, name in enumerate(dict.fromkeys(names))}
