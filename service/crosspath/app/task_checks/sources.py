"""Which tasks are listed, shown and proved: the catalogue, or files of a user's own."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from crosspath import catalogue
from crosspath.errors import ConfigError
from crosspath.strict_yaml import read_document
from crosspath.tasks import expand_heldout, require_unique
from crosspath.tasks.heldout import require_seed
from crosspath.types import Task

YAML = (".yaml", ".yml")
SUFFIXES = (*YAML, ".jsonl")
"""Of the files of a directory that hold tasks."""
_A_SEED = "tasks check draws once to see whether it can"


@dataclass(frozen=True)
class Source:
    """One file with tasks."""

    name: str
    tasks: tuple[Task, ...]
    family: bool = False
    """Whether it is a family, not a plain list."""
    shipped: bool = False
    heldout: bool = False
    """Whether it says how payloads are drawn afresh."""
    undrawn: str | None = None
    """Why they can't be drawn, although it says how."""


def known_tasks(files: Sequence[Path], seed: str | None = None) -> tuple[Task, ...]:
    """The tasks of the given files, or the catalogue; with a seed, those that are drawn from it in their place.

    Raises:
        ConfigError: a file is not acceptable, two tasks have one id, or nothing can be drawn.
    """
    if seed is not None:
        drawn = catalogue.heldout_tasks(seed, files=files)
        if not drawn:
            raise ConfigError("no family has a section 'heldout', so there is nothing to draw", source=str(files[0]))
        return drawn
    tasks = tuple(task for file in files for task in catalogue.read_tasks(file)) if files else catalogue.catalogue_tasks()
    require_unique(tasks)
    return tasks


def known_task(task_id: str, files: Sequence[Path], seed: str | None = None) -> Task:
    """One task by its id, of :func:`known_tasks`.

    Raises:
        ConfigError: there is none.
    """
    tasks = {task.id: task for task in known_tasks(files, seed)}
    if task_id not in tasks:
        near = get_close_matches(task_id, tasks, n=3, cutoff=0.4)
        known = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(list(tasks)[:30])}"
        raise ConfigError(f"{task_id!r} is not a task; {known}", field="task")
    return tasks[task_id]


def read_sources(files: Sequence[Path] = (), directory: Path | None = None, seed: str | None = None) -> tuple[Source, ...]:
    """The given files and those of a directory, each once; without any of them, the catalogue.

    With a seed, the tasks of each family that are drawn from it, in place of the public ones.

    Raises:
        ConfigError: a file is not acceptable, a directory holds none, the seed is too short, or no family draws anything.
            No message holds the seed.
    """
    if seed is not None:
        require_seed(seed)
    named = [*files, *(_files_of(directory) if directory else ())]
    paths = named or sorted(catalogue.catalogue_dir("tasks").glob("*.yaml"))
    once = {os.path.realpath(path): path for path in reversed(paths)}
    sources = tuple(_source(path, shipped=not named, seed=seed) for path in reversed(once.values()))
    if not any(source.tasks or source.undrawn for source in sources):
        raise ConfigError("no family has a section 'heldout', so there is nothing to draw", source=sources[0].name)
    return sources


def _files_of(directory: Path) -> list[Path]:
    try:
        found = sorted(path for path in directory.iterdir() if path.suffix.lower() in SUFFIXES)
    except OSError as error:
        raise ConfigError(f"can't be read as a directory: {error.strerror}", source=str(directory), field="--tasks-dir") from None
    if not found:
        raise ConfigError(f"holds no file that ends in {', '.join(SUFFIXES)}", source=str(directory), field="--tasks-dir")
    return found


def _source(path: Path, *, shipped: bool, seed: str | None) -> Source:
    text, name = catalogue.read_text(path), str(path)
    written = read_document(text, name).value if path.suffix.lower() in YAML else None
    family = isinstance(written, dict)
    heldout = isinstance(written, dict) and written.get("heldout") is not None
    drawn, undrawn = _drawn(text, name, seed or _A_SEED) if heldout else ((), None)
    tasks = drawn if seed is not None else catalogue.read_tasks(path)
    return Source(name, tasks, family=family, shipped=shipped, heldout=heldout, undrawn=undrawn)


def _drawn(text: str, name: str, seed: str) -> tuple[tuple[Task, ...], str | None]:
    """Held-out tasks, or why there are none."""
    try:
        return expand_heldout(text, name, seed), None
    except ConfigError as error:
        return (), str(error)


def task_text(task: Task) -> str:
    """A task for a person."""
    value = task.model_dump(mode="json", exclude={"instruction", "oracle", "naive", "infeasible"})
    lines = [f"{task.id}  tier {task.tier}  hazards: {', '.join(task.hazards) or 'none'}", ""]
    lines += [f"  | {line}" for line in task.instruction.split("\n")]
    if task.infeasible is None:
        lines += ["", "right command:", *(f"  | {line}" for line in (task.oracle or "(none)").split("\n"))]
    else:
        lines += ["", "can't be done:", *(f"  | {line}" for line in task.infeasible.split("\n"))]
    lines += ["tempting command:", *(f"  | {line}" for line in (task.naive or "(none)").split("\n"))]
    lines += ["", json.dumps({k: v for k, v in value.items() if v not in (None, [], {}, "")}, indent=2, ensure_ascii=False)]
    return "\n".join(lines)
