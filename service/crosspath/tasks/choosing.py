"""Which tasks an evaluation takes, and that no two of them can be mistaken for each other."""

import unicodedata
from collections.abc import Collection, Iterable, Sequence

from crosspath.errors import ConfigError
from crosspath.tasks.places import known_names
from crosspath.types import Task


def same_name(name: str) -> str:
    """Equal for names that differ only in case or Unicode form (file systems and readers mix those up)."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def require_unique(tasks: Iterable[Task]) -> None:
    """Raise for two tasks with the same id, also up to case and Unicode form.

    Raises:
        ConfigError: naming both ids.
    """
    seen: dict[str, str] = {}
    for task in tasks:
        key = same_name(task.id)
        if key in seen:
            other = "twice" if seen[key] == task.id else f"beside {seen[key]!r} (case and Unicode form do not count)"
            raise ConfigError(f"task id {task.id!r} stands here {other}; ids must be unique", field="tasks")
        seen[key] = task.id


def select(
    tasks: Sequence[Task],
    *,
    families: Collection[str] = (),
    tiers: Collection[int] = (),
    tags: Collection[str] = (),
    only: Collection[str] = (),
) -> tuple[Task, ...]:
    """The tasks of these families, of these tiers, with any of these hazards, with these ids; an empty choice leaves that axis
    open.

    Raises:
        ConfigError: an unknown family, tier, tag or id (naming the known ones), or a choice that leaves no task.
    """
    _require_known("families", families, {task.family for task in tasks})
    _require_known("tiers", tiers, {task.tier for task in tasks if task.tier is not None})
    _require_known("tags", tags, {tag for task in tasks for tag in task.hazards})
    _require_known("only", only, {task.id for task in tasks})
    chosen = tuple(
        task
        for task in tasks
        if (not families or task.family in families)
        and (not tiers or task.tier in tiers)
        and (not tags or not set(tags).isdisjoint(task.hazards))
        and (not only or task.id in only)
    )
    if not chosen:
        raise ConfigError("no task has all that was chosen (families, tiers, tags, only)", field="tasks")
    return chosen


def _require_known(field: str, wanted: Collection[object], known: Collection[object]) -> None:
    for value in wanted:
        if value not in known or isinstance(value, bool):
            names = [str(name) for name in known]
            raise ConfigError(f"no task has {value!r}; {known_names(names, str(value))}", field=f"tasks.{field}")
