"""Tasks whose verdict depends on the configuration: right in every trial in one arrangement, wrong in every trial in another."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.model_groups import arrangement_fields, arrangement_label, differing, model_labels
from crosspath.types import FragileTask, PlannedCell

LABELS = 4
"""So many arrangements are named on each side of a task; the others are counted."""


def fragile_tasks(index: FactIndex, broken: Collection[str]) -> tuple[FragileTask, ...]:
    """Most fragile first: for the most models, then the most arrangements on the smaller side. One per task and model.

    ``broken``: candidates whose control is broken; what went through their path shows nothing.
    """
    labels = model_labels(index.facts.lock.candidates)
    cells: dict[str, dict[tuple[str, str, str], PlannedCell]] = defaultdict(dict)
    for cell in index.facts.cells:
        if not cell.control and (cell.done == "R" or cell.candidate not in broken):
            key = (cell.generation.digest, cell.path, cell.validator)
            cells[labels[cell.candidate]].setdefault(key, cell)
    found = [one for model, own in cells.items() if len(own) > 1 for one in _of_model(index, model, list(own.values()))]
    models = Counter(one.task for one in found)
    return tuple(sorted(found, key=lambda one: (-models[one.task], -min(one.passes, one.fails), one.task, one.model)))


def _of_model(index: FactIndex, model: str, cells: Sequence[PlannedCell]) -> Iterator[FragileTask]:
    families = {task.id: task.family for task in index.facts.tasks}
    verdicts: dict[str, dict[bool | None, list[str]]] = defaultdict(lambda: {True: [], False: [], None: []})
    for cell, label in zip(cells, _labels(index, cells), strict=True):
        for task, verdict in _verdicts(index, cell).items():
            verdicts[task][verdict].append(label)
    for task, by_verdict in verdicts.items():
        passed, failed = by_verdict[True], by_verdict[False]
        if passed and failed:
            yield FragileTask(
                task=task, family=families[task], model=model, passes=len(passed), fails=len(failed),
                wavers=len(by_verdict[None]), passed=tuple(passed[:LABELS]), failed=tuple(failed[:LABELS]),
            )  # fmt: skip


def _labels(index: FactIndex, cells: Sequence[PlannedCell]) -> list[str]:
    candidates = {candidate.name: candidate for candidate in index.facts.lock.candidates}
    fields = [arrangement_fields(candidates[cell.candidate], cell) for cell in cells]
    apart = differing(fields)
    return [arrangement_label(one, apart) for one in fields]


def _verdicts(index: FactIndex, cell: PlannedCell) -> Mapping[str, bool | None]:
    """Task -> right in every trial, wrong in every trial, or None where they disagree; tasks without a verdict are left out."""
    seen: dict[str, set[bool]] = defaultdict(set)
    for row in index.rows_compared(cell):
        if row.passed is not None and not row.unstable:
            seen[row.task].add(row.passed)
    return {task: None if len(passed) > 1 else next(iter(passed)) for task, passed in seen.items()}
