"""``crosspath sentinel``: a few tasks for a daily watch of a deployment, as a spec that runs them and nothing else.

The tasks are chosen on the outcomes of one evaluation (``analysis.sentinels``). The spec that is written has one candidate, and
that candidate's own contract and path as its reference: one request a trial, one cell. It names the evaluation as ``chosen_on``,
so that its outcomes are never taken for the reference.
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosspath.analysis.sentinels import SeenTask, choose
from crosspath.analysis.wording import percent
from crosspath.app.evaluation import Evaluation
from crosspath.app.plan_watch import seen_tasks, watch_document
from crosspath.app.resolve import planned, read_spec, resolve
from crosspath.app.sentinel_files import Moved
from crosspath.errors import ConfigError
from crosspath.escaping import one_line
from crosspath.spec import Spec, load_spec
from crosspath.spec.resolution import name_problem, near
from crosspath.tasks.writing import yaml_text
from crosspath.types import Candidate, Task

TASKS = 24
TRIALS = 1
REFERENCE_TRIALS = 20
"""With these numbers a drop of 15 points of every task is found within 14 days in 80 % at least: docs/drift-statistics.md."""
_LONGEST_NAME = 60
_KINDS = {"always": "always passed", "sometimes": "passed sometimes", "never": "never passed"}


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    tasks: int = TASKS
    trials: int = TRIALS
    reference_trials: int = REFERENCE_TRIALS
    deployment: str | None = None
    """Default: the deployment of the spec."""


@dataclass(frozen=True)
class Written:
    """A watch spec, before it is written."""

    file: Path
    text: str
    chosen: tuple[SeenTask, ...]
    watch: dict[str, Any]
    """Costs and power, see ``app.plan_watch``."""
    lines: tuple[str, ...]
    """What was chosen, in plain words."""
    remarks: tuple[str, ...]


def watch_spec(spec: Path, evaluation: Evaluation, candidate: str | None, output: Path, asked: Asked) -> Written:
    """A watch spec of sentinel tasks; nothing is written yet, see :func:`write`.

    ``candidate``: which one of ``evaluation``; default the only one, or the one that the spec's deployment is.

    Raises:
        ConfigError: no such candidate, fewer tasks than asked for, no name for the deployment, or a wrong spec.
    """
    if not output.resolve().parent.is_dir():
        problem = f"can't be written: there is no directory {output.parent}; make it, or name another file"
        raise ConfigError(problem, source=str(output), field="--output")
    read, base = read_spec(spec)
    deployment = asked.deployment or (read.deployment.name if read.deployment else None)
    if deployment is None:
        raise ConfigError("is missing: name the deployment, such as --deployment support-bot", field="--deployment")
    if problem := name_problem(deployment):
        raise ConfigError(f"{deployment!r} {problem}", field="--deployment")
    one = _candidate(read, str(spec), evaluation, candidate)
    usable = _usable(evaluation, one.name, planned(read, base).tasks)
    if len(usable) < asked.tasks:
        problem = f"asks for {asked.tasks} tasks; {len(usable)} of the spec's have a verdict in {evaluation.id}"
        raise ConfigError(f"{problem}; ask for {len(usable)} at most" if usable else problem, field="--tasks")
    chosen = choose(usable, asked.tasks)
    lines = tuple(_chosen_lines(evaluation.id, one.name, chosen, usable))
    moved = Moved(base, output.resolve().parent)
    document = _document(read, one, moved, [task.task for task in chosen], deployment, evaluation.id, asked)
    text = _head(output, deployment, asked, lines) + yaml_text(document)
    resolved = resolve(load_spec(text, str(output)), moved.target)
    watch = watch_document(resolved, chosen)
    assert watch is not None
    return Written(output, text, chosen, watch, lines, tuple(_remarks(evaluation, one)))


def write(written: Written, force: bool) -> None:
    """Write the spec.

    Raises:
        ConfigError: the file exists and ``force`` is not given, or it can't be written.
    """
    if written.file.exists() and not force:
        raise ConfigError("exists; name another file, or give --force to replace it", source=str(written.file), field="--output")
    try:
        written.file.write_text(written.text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"can't be written: {error.strerror}", source=str(written.file), field="--output") from None


# -- candidate and tasks -------------------------------------------------------------------------------------------------


def _candidate(spec: Spec, source: str, evaluation: Evaluation, asked: str | None) -> Candidate:
    known = [one.name for one in evaluation.facts.lock.candidates]
    name = asked or spec.deployed() or (known[0] if len(known) == 1 else None)
    if name is None:
        problem = (
            f"{evaluation.id} has {len(known)} candidates; write --from {evaluation.id}:NAME with one of: {', '.join(known)}"
        )
        raise ConfigError(problem, field="--from")
    if name not in known:
        raise ConfigError(f"{name!r} is no candidate of {evaluation.id}; {near(name, known)}", field="--from")
    candidates = {one.name: one for one in spec.candidates_resolved()}
    if name not in candidates:
        raise ConfigError(f"{name!r} is no candidate of the spec; {near(name, candidates)}", source=source, field="candidates")
    return candidates[name]


def _usable(evaluation: Evaluation, candidate: str, tasks: Mapping[str, Task]) -> list[SeenTask]:
    """Tasks of the spec that can be done, that are the same in the evaluation, and that have a verdict there."""
    then = {task.id: task.digest for task in evaluation.facts.tasks}
    same = {task.id for task in tasks.values() if task.infeasible is None and then.get(task.id) == task.digest}
    return [task for task in seen_tasks(evaluation, candidate) if task.task in same and task.trials]


def _remarks(evaluation: Evaluation, one: Candidate) -> Iterator[str]:
    lock = evaluation.facts.lock
    if lock.trials == 1:
        yield f"{evaluation.id} has one trial a task: what passed may have passed by luck; three or more choose better"
    then = next(each for each in lock.candidates if each.name == one.name)
    if _measured(then) != _measured(one):
        yield (
            f"{one.name} is another configuration in the spec than it was in {evaluation.id}:"
            " tasks were chosen on what it did there"
        )


def _measured(candidate: Candidate) -> tuple[object, ...]:
    return (candidate.generation.digest, candidate.transport, candidate.harness)


# -- the spec ------------------------------------------------------------------------------------------------------------


def _document(
    spec: Spec, one: Candidate, moved: Moved, only: Sequence[str], deployment: str, chosen_on: str, asked: Asked
) -> dict[str, Any]:
    given = spec.model_dump(mode="json", exclude_defaults=True)
    generation = one.generation
    model = generation.model.model_dump(mode="json", exclude_defaults=True, exclude={"name"})
    name = f"{deployment} watch"
    document: dict[str, Any] = {
        "name": name if len(name) <= _LONGEST_NAME else deployment,
        # One series is in one experiment: a spec that is of this deployment already has its own.
        "experiment": spec.experiment if spec.deployment and spec.deployment.name == deployment else name,
        "models": {"watched": {"model": moved.model(generation.model.name), **model}},
        "candidates": {one.name: _axes(one, moved)},
        "reference": {"contract": generation.contract, "transport": one.transport},
    }
    own = {
        "transports": {name: moved.transport(config) for name, config in spec.transports.items()},
        "contracts": moved.files(spec.contracts),
        "styles": moved.files(spec.styles),
    }
    document |= {name: value for name, value in own.items() if value}
    document["tasks"] = _tasks(given.get("tasks", {}), moved, only)
    document["trials"] = asked.trials
    rules = {name: value for name, value in given.get("deployment", {}).items() if name not in ("candidate", "reference")}
    rules |= {"name": deployment, "chosen_on": chosen_on, "reference_trials": asked.reference_trials}
    document["deployment"] = rules
    kept = ("executor", "sandbox", "sandbox_limits", "limits", "retries")
    return document | {name: given[name] for name in kept if name in given}


def _axes(one: Candidate, moved: Moved) -> dict[str, Any]:
    generation = one.generation.model_dump(mode="json", exclude_defaults=True, exclude={"model"})
    rest = one.model_dump(mode="json", exclude_defaults=True, exclude={"name", "generation", "validator"})
    validator = {} if one.validator == "exact" else {"validator": moved.file(one.validator)}
    return {"model": "watched", **generation, **rest, **validator}


def _tasks(given: Mapping[str, Any], moved: Moved, only: Sequence[str]) -> dict[str, Any]:
    """Ids say which tasks; what else narrowed them is not needed."""
    files = {"files": moved.files(given["files"])} if given.get("files") else {}
    drawn = {name: given[name] for name in ("partition", "heldout_seed_env", "heldout_draws") if name in given}
    return {**files, **drawn, "only": list(only)}


# -- words ---------------------------------------------------------------------------------------------------------------


def _chosen_lines(evaluation: str, candidate: str, chosen: Sequence[SeenTask], usable: Sequence[SeenTask]) -> list[str]:
    kinds = Counter(task.kind for task in chosen)
    each = ", ".join(f"{kinds[kind]} that {words}" for kind, words in _KINDS.items() if kinds[kind])
    trials = sorted({task.trials for task in usable})
    number = f"{trials[0]}" if len(trials) == 1 else f"{trials[0]} to {trials[-1]}"
    unstable = sum(bool(task.unstable) for task in chosen)
    return [
        f"{len(chosen)} of {len(usable)} tasks, chosen on {one_line(evaluation)}:{one_line(candidate)} ({number} trials a task)",
        f"{each}; over {len({task.family for task in chosen})} families"
        + (f"; {unstable} with unstable replays, because there are no others" if unstable else ""),
        f"there they passed in {percent(_rate(chosen))} of trials, all {len(usable)} tasks in {percent(_rate(usable))}",
    ]


def _rate(tasks: Sequence[SeenTask]) -> float:
    return sum(task.passed / task.trials for task in tasks) / len(tasks)


def counted(trials: int) -> str:
    """``1 trial``, ``2 trials``."""
    return f"{trials} trial{'s' * (trials != 1)}"


def commands(file: str, deployment: str) -> tuple[str, str]:
    """What runs a watch spec, and what looks at its deployment: words for a shell, with quotes where a name needs them."""
    return f"crosspath run {shlex.quote(one_line(file))}", f"crosspath drift {shlex.quote(one_line(deployment))}"


def _head(output: Path, deployment: str, asked: Asked, lines: Sequence[str]) -> str:
    run, drift = commands(output.name, deployment)
    comments = [
        f"Daily watch of {one_line(deployment)}: {asked.tasks} tasks, {counted(asked.trials)} of each a day.",
        *lines,
        "Few that never passed, because they can't drop; the others as many of each kind as there are, spread over families.",
        "That sample can't be their reference: what passed by luck was chosen more often. So measure one first:",
        f"  {run} --reference",
        "and then every day (the exit code is that of drift: 0 no drift, 1 drift, 3 not enough yet, 4 could not measure):",
        f"  {run}; {drift}",
    ]
    return "".join(f"# {line}\n" for line in comments) + "\n"
