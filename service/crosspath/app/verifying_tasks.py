"""The tasks of a card against those that are known here: their digests, what the card says of them, and whether all are there.

A task's digest covers its family, tier and whether it can be done, but the digest can be computed only where the whole task is at
hand. Of a task that is not, a card can say anything: then that is said.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from crosspath import __version__, catalogue
from crosspath.app.verifying_fields import difference, judged_check
from crosspath.errors import ConfigError
from crosspath.spec.sections import TasksSection
from crosspath.tasks import select
from crosspath.types import Card, CardCheck, CardDifference, CardTask, Partition, Task

FAMILIES = "families and tiers"
MOST_NAMED = 10
"""Tasks that are named where they differ."""


@dataclass(frozen=True)
class Known:
    """Tasks that can be compared with here: the catalogue's, those of the user's files, and those drawn from a seed."""

    shipped: tuple[Task, ...]
    own: tuple[Task, ...] = ()
    drawn: tuple[Task, ...] = ()
    seeded: bool = False
    files: int = 0
    """How many files ``own`` came from."""

    @cached_property
    def by_id(self) -> Mapping[str, Task]:
        return {task.id: task for task in (*self.shipped, *self.own, *self.drawn)}

    @cached_property
    def by_digest(self) -> Mapping[str, Task]:
        return {task.digest: task for task in self.by_id.values()}

    @property
    def more(self) -> bool:
        """Whether tasks beside the catalogue were given."""
        return bool(self.own) or self.seeded

    @classmethod
    def of(cls, card: Card, files: Sequence[Path], seed: str | None) -> "Known":
        """The catalogue, the tasks in ``files``, and those drawn from ``seed`` as the card's spec says.

        Raises:
            ConfigError: a file is not acceptable, or the seed is too short.
        """
        own = tuple(task for file in files for task in catalogue.read_tasks(file))
        drawn = () if seed is None else tuple(catalogue.heldout_tasks(seed, _draws(card), files))
        return cls(catalogue.catalogue_tasks(), own, drawn, seed is not None, len(files))


def _draws(card: Card) -> int:
    """Held-out tasks per variant, as the card's spec says; what could be no such number counts as one."""
    section = card.spec.get("tasks")
    draws = section.get("heldout_draws") if isinstance(section, dict) else 1
    return draws if isinstance(draws, int) and 1 <= draws <= 100 else 1


def task_checks(card: Card, known: Known) -> Iterator[CardCheck]:
    """Digests, attributes, and whether just those stand on the card that its spec takes."""
    yield _digests(card, known)
    yield _attributes(card, known)
    yield _taken(card, known)


# -- digests -------------------------------------------------------------------------------------------------------------------


def _digests(card: Card, known: Known) -> CardCheck:
    equal = [task for task in card.tasks if task.digest in known.by_digest]
    rest = [task for task in card.tasks if task.digest not in known.by_digest]
    other = [task for task in rest if task.id is not None and task.id in known.by_id]
    absent = [task for task in rest if task not in other]
    words = _words(equal, absent, card, known)
    if other:
        found = tuple(
            CardDifference(field=f"task {task.label}", card=task.digest, found=known.by_id[task.id or ""].digest)
            for task in other
        )
        why = f"{len(other)} of {len(card.tasks)} differ from those of the same id here: {_names(other)}"
        same = card.crosspath == __version__ or known.more
        return CardCheck(about="tasks", status="differs" if same else "unavailable", detail=f"{why}; {words}", differences=found)
    return CardCheck(about="tasks", status="unavailable" if absent else "holds", detail=words)


def _words(equal: Sequence[CardTask], absent: Sequence[CardTask], card: Card, known: Known) -> str:
    where = "known here" if known.more else "of the installed catalogue"
    words = f"{len(equal)} of {len(card.tasks)} are {where}, by digest"
    return f"{words}; {_absent_words(absent)}" if absent else words


def _absent_words(absent: Sequence[CardTask]) -> str:
    heldout = sum(task.partition == "heldout" for task in absent)
    kinds = [f"{heldout} held-out" if heldout else "", f"{len(absent) - heldout} of one's own" if heldout < len(absent) else ""]
    return f"{' and '.join(filter(None, kinds))} are not here (give their files by --tasks, a seed, or the bundle)"


def _names(tasks: Sequence[CardTask]) -> str:
    more = f" and {len(tasks) - MOST_NAMED} more" if len(tasks) > MOST_NAMED else ""
    return ", ".join(task.label for task in tasks[:MOST_NAMED]) + more


# -- what the card says of each ------------------------------------------------------------------------------------------------


def _attributes(card: Card, known: Known) -> CardCheck:
    found: list[CardDifference] = []
    for task in card.tasks:
        if again := known.by_digest.get(task.digest):
            found += difference(_said(task), _true(again), f"task {task.label}")
    counted = Counter(task.digest for task in card.tasks)
    found += [
        CardDifference(field=f"task with digest {digest[:16]}", card=f"stands {number} times", found="once")
        for digest, number in counted.items()
        if number > 1
    ]
    absent = [task for task in card.tasks if task.digest not in known.by_digest]
    if found or not absent:
        return judged_check(FAMILIES, found, "of each task as in the text that its digest is over")
    why = f"of {len(card.tasks) - len(absent)} tasks they hold; of the others the card can say anything: {_absent_words(absent)}"
    return CardCheck(about=FAMILIES, status="unavailable", detail=why)


def _said(task: CardTask) -> dict[str, Any]:
    return task.model_dump(mode="json", exclude={"digest"})


def _true(task: Task) -> dict[str, Any]:
    shown = {name: getattr(task, name) for name in ("family", "tier", "partition")}
    return shown | {"id": None if task.partition == "heldout" else task.id, "infeasible": task.infeasible is not None}


# -- whether all are there -----------------------------------------------------------------------------------------------------


def _taken(card: Card, known: Known) -> CardCheck:
    """Whether a task was left out, or put in: against what the spec on the card takes."""
    about = "choice of tasks"
    try:
        asked = TasksSection.model_validate(card.spec.get("tasks") or {})
    except ValidationError:
        return CardCheck(about=about, status="differs", detail="the spec on the card says nothing that could be a choice")
    partitions: list[Partition] = ["public", "heldout"] if asked.partition == "both" else [asked.partition]
    found, unknown = list[CardDifference](), list[str]()
    for partition in ("public", "heldout"):
        ours = {task.digest: task.label for task in card.tasks if task.partition == partition}
        every = _every(asked, partition, known) if partition in partitions else ()
        if every is None:
            unknown.append("held-out tasks (give the seed)" if partition == "heldout" else "one's own (give --tasks)")
            continue
        theirs = {task.digest: task.id for task in _chosen(every, asked)}
        found += [
            CardDifference(field=theirs[one], card="missing", found="taken by the spec") for one in theirs.keys() - ours.keys()
        ]
        found += [
            CardDifference(field=ours[one], card="stands on it", found="not taken by the spec") for one in ours.keys() - theirs
        ]
    found.sort(key=lambda one: one.field)
    if found and (other := _other_tasks(card)):
        return CardCheck(about=about, status="unavailable", detail=f"{other}: its tasks may be others", differences=tuple(found))
    if found or not unknown:
        return judged_check(about, found, "just those that the spec takes")
    return CardCheck(about=about, status="unavailable", detail=f"which are taken of {' and '.join(unknown)} can't be told here")


def _other_tasks(card: Card) -> str:
    if card.crosspath != __version__:
        return f"Crosspath {card.crosspath} wrote it, and this is {__version__}"
    derived = card.evaluation.derived_from
    return f"it was derived from {derived}, which an older version may have run" if derived else ""


def _every(asked: TasksSection, partition: Partition, known: Known) -> Sequence[Task] | None:
    """All tasks of a partition that the spec chooses from; None: they are not here."""
    drawn = partition == "heldout" and asked.heldout_seed_env is not None
    if (drawn and not known.seeded) or len(asked.files) not in (0, known.files):
        return None
    stated = known.own if asked.files else known.shipped
    return [task for task in (*stated, *(known.drawn if drawn else ())) if task.partition == partition]


def _chosen(every: Sequence[Task], asked: TasksSection) -> Sequence[Task]:
    try:
        return select(every, families=asked.families, tiers=asked.tiers, tags=asked.tags)
    except ConfigError:
        return ()
