"""What a card says of its tasks: which they are, and what became of every trial."""

from collections import Counter
from collections.abc import Sequence

from crosspath.analysis.wording import NONE, table
from crosspath.escaping import markdown
from crosspath.reports.card_outcomes import outcome
from crosspath.types import Card, CardCell, CardTask, digest

_LEGEND = """\
Codes: `p` right; `f:CAUSE` wrong, and the path said so; `s:CAUSE` wrong, and the path reported success; `x:FAULT` not observed;
`!KIND` the state is right and the path told otherwise; `~1101` every replay of it, 1 right, 0 wrong, - not observed. `3 p` stands
for three trials alike.
"""


def task_set(card: Card) -> str:
    """How many tasks of which tier and partition, and one digest for all of them."""
    families = len({task.family for task in card.tasks})
    every = digest(sorted(task.digest for task in card.tasks))
    each = f"{card.trials} {'trial' if card.trials == 1 else 'trials'} each"
    words = f"{len(card.tasks)} tasks of {families} families, {each} (sha256 over their sorted digests: `{every}`)."
    return words + "\n\n" + table(["tasks", "can be done", "can't be done"], _groups(card.tasks))


def _groups(tasks: Sequence[CardTask]) -> list[list[object]]:
    counted = Counter((task.partition, task.tier, task.infeasible) for task in tasks)
    names = sorted({(task.partition, -1 if task.tier is None else task.tier) for task in tasks})
    return [
        [f"{partition}, {_tier(tier)}", *(counted[partition, None if tier < 0 else tier, cant] for cant in (False, True))]
        for partition, tier in names
    ]


def _tier(tier: int) -> str:
    return "no tier" if tier < 0 else f"tier {tier}"


def by_group(card: Card) -> str:
    """Right of observed by tier and by partition, cell by cell; what is unstable is left out, as from every rate."""
    groups: dict[str, set[str]] = {}
    for task in sorted(card.tasks, key=lambda task: -1 if task.tier is None else task.tier):
        groups.setdefault(_tier(-1 if task.tier is None else task.tier), set()).add(task.digest)
    if len({task.partition for task in card.tasks}) > 1:
        for task in sorted(card.tasks, key=lambda task: task.partition):
            groups.setdefault(task.partition, set()).add(task.digest)
    cells, shaky = [cell for cell in card.cells if cell.name != "control"], unstable(card)
    rows = [[name, *(_right(card, cell, digests, shaky) for cell in cells)] for name, digests in groups.items()]
    return "Right of observed\n\n" + table(["tasks", *(cell.name for cell in cells)], rows)


def _right(card: Card, cell: CardCell, digests: set[str], shaky: set[tuple[str, str, int]]) -> str:
    seen = [
        outcome(code).passed
        for (task, index), code in placed(card, cell)
        if task.digest in digests and (cell.told, task.digest, index) not in shaky
    ]
    return f"{sum(map(bool, seen))} of {sum(passed is not None for passed in seen)}"


def placed(card: Card, cell: CardCell) -> list[tuple[tuple[CardTask, int], str]]:
    """Each outcome of a cell with its task and the index of its trial."""
    feasible = [task for task in card.tasks if not task.infeasible]
    return list(zip(((task, index) for task in feasible for index in range(card.trials)), cell.outcomes, strict=True))


def unstable(card: Card) -> set[tuple[str, str, int]]:
    """(told side, task digest, trial) whose replays on some path disagree."""
    return {
        (cell.told, task.digest, index)
        for cell in card.cells
        for (task, index), code in placed(card, cell)
        if len({passed for passed in outcome(code).passes if passed is not None}) > 1
    }


def trial_by_trial(card: Card) -> str:
    """One row a task with what became of its trials in every cell."""
    columns = [{task.digest: codes for task, codes in _codes(card, cell)} for cell in card.cells]
    rows = [[task.label, task.digest[:16], *(_shown(codes.get(task.digest, [])) for codes in columns)] for task in card.tasks]
    head = ["task", "sha256", *(cell.name for cell in card.cells)]
    return f"{markdown('Every trial')}\n\n{table(head, rows)}\n{_LEGEND}"


def _codes(card: Card, cell: CardCell) -> list[tuple[CardTask, list[str]]]:
    """Outcomes by task; of a task that can't be done, how each reply answered."""
    found = {task.digest: list[str]() for task in card.tasks}
    for (task, _), code in placed(card, cell):
        found[task.digest].append(code)
    every = [task for task in card.tasks for _ in range(card.trials)]
    for task, code in zip(every, cell.declining, strict=False):
        if task.infeasible:
            found[task.digest].append(code)
    return [(task, found[task.digest]) for task in card.tasks]


def _shown(codes: Sequence[str]) -> str:
    """``p``, or ``3 p, s:wrong_state`` of several trials: in order, equal ones that follow each other counted."""
    runs: list[tuple[str, int]] = []
    for code in codes:
        runs = [*runs[:-1], (code, runs[-1][1] + 1)] if runs and runs[-1][0] == code else [*runs, (code, 1)]
    return ", ".join(code if number == 1 else f"{number} {code}" for code, number in runs) or NONE
