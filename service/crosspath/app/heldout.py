"""Which tasks a spec takes, and the seed of the held-out ones.

A seed is treated like a key: a spec names its environment variable, it is read where tasks are drawn and handed to nothing else,
no message holds it, and no worker finds it in its environment.
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from crosspath import catalogue
from crosspath.errors import ConfigError
from crosspath.spec.sections import TasksSection
from crosspath.tasks import require_unique, select
from crosspath.tasks.heldout import MIN_SEED
from crosspath.types import Task

_SEED = "tasks.heldout_seed_env"
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
_A_SEED = re.compile(r"[0-9A-F]{16,}")
"""What looks more like a seed than like a name."""
_HOW = "python3 -c 'import secrets; print(secrets.token_hex(16))'"


def seed_in(variable: str, field: str) -> str:
    """The seed that an environment variable holds.

    Raises:
        ConfigError: it is not set, too short, or no text. The message does not hold it.
    """
    seed = os.environ.get(variable)
    if not seed and _A_SEED.fullmatch(variable):
        raise ConfigError("names no variable that is set (not shown: it could be a seed)", field=field)
    if not seed:
        raise ConfigError(f"the environment variable {variable} is not set; {seed_fix(variable)}", field=field)
    if len(seed) < MIN_SEED:
        problem = f"the seed in {variable} has {len(seed)} characters; at least {MIN_SEED} are needed"
        raise ConfigError(f"{problem}; {seed_fix(variable)}", field=field)
    if any("\ud800" <= character <= "\udfff" for character in seed):
        raise ConfigError(f"the seed in {variable} is not UTF-8 text; {seed_fix(variable)}", field=field)
    return seed


def seed_named(variable: str | None) -> str | None:
    """The seed that the option ``--heldout-seed-env`` names; None without it.

    Raises:
        ConfigError: as :func:`seed_in`.
    """
    if variable is not None and not _VARIABLE.fullmatch(variable):
        problem = "is not the name of an environment variable in capitals, such as HELDOUT_SEED (not shown: it could be a seed)"
        raise ConfigError(problem, field="--heldout-seed-env")
    return None if variable is None else seed_in(variable, "--heldout-seed-env")


def seed_fix(variable: str) -> str:
    """What to do about a seed that is missing; it is kept, because another one is another evaluation."""
    return f'export {variable}="$({_HOW})" and keep it: the same seed gives the same tasks'


def tasks_of(asked: TasksSection, base: Path) -> tuple[Task, ...]:
    """The tasks of a spec: its files or the catalogue, what is drawn afresh, of the partition that is asked for.

    Raises:
        ConfigError: a file is not acceptable, the seed can't be used, nothing can be drawn, or nothing is left of a partition.
    """
    seed = seed_in(asked.heldout_seed_env, _SEED) if asked.heldout_seed_env else None
    files = [base / file for file in asked.files]
    known = _stated(files)
    every = known if asked.partition == "public" else (*known, *_drawn(seed, asked.heldout_draws, files, known))
    require_unique(every)
    taken = [task for task in every if asked.partition in ("both", task.partition)]
    if not taken:
        raise ConfigError("no task is public; write partition: heldout, or both", field="tasks.partition")
    chosen = select(taken, families=asked.families, tiers=asked.tiers, tags=asked.tags, only=asked.only)
    if asked.partition == "both" and len({task.partition for task in chosen}) < 2:
        lacking = "held-out" if chosen[0].partition == "public" else "public"
        raise ConfigError(
            f"no {lacking} task has all that was chosen (families, tiers, tags, only), so there is nothing to compare"
            f" with; choose more, or write partition: {chosen[0].partition}",
            field="tasks.partition",
        )
    return chosen


def _stated(files: Sequence[Path]) -> tuple[Task, ...]:
    """Tasks as they stand in files."""
    return tuple(task for file in files for task in catalogue.read_tasks(file)) if files else catalogue.catalogue_tasks()


def _drawn(seed: str | None, draws: int, files: Sequence[Path], known: Sequence[Task]) -> tuple[Task, ...]:
    """``draws`` fresh tasks of each variant; without a seed, none where ``known`` says itself what is held out."""
    if not catalogue.heldout_families(files):
        if seed is None and any(task.partition == "heldout" for task in known):
            return ()
        raise ConfigError("no family in tasks.files has a section 'heldout', so there is nothing to draw", field="tasks.files")
    if seed is None:
        raise ConfigError(
            "is missing: name the environment variable that holds the seed of held-out tasks, such as HELDOUT_SEED", field=_SEED
        )
    return catalogue.heldout_tasks(seed, draws, files)


def notes(asked: TasksSection, base: Path, tasks: Sequence[Task]) -> Iterator[str]:
    """What a user should know about the partitions of an evaluation before it begins: what is left out, what has no pair."""
    if asked.partition == "public" and asked.files:
        stated = sum(task.partition == "heldout" for task in _stated([base / file for file in asked.files]))
        if stated:
            yield f"{stated} held-out tasks of tasks.files are left out: tasks.partition is public"
    twins = {task.twin for task in tasks if task.partition == "heldout"}
    feasible = [task for task in tasks if task.infeasible is None]
    lonely = sorted({task.family for task in feasible if task.partition == "public" and task.id not in twins})
    if asked.partition == "both" and lonely:
        yield f"without held-out twins, and so no part of the contamination alarm: tasks of {', '.join(lonely)}"
