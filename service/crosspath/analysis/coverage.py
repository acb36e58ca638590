"""How much of what was planned could be observed; little of it makes every number beside it a weak one."""

from collections.abc import Sequence

from crosspath.types import Abstention, Cell, Decomposition

MISSING_PROGRAM = "fault:missing_program"
"""What stands for a cause where a path needs a program that the worker does not have."""


def inconclusive(decomposition: Decomposition) -> bool:
    """Whether fewer than half of the planned trials of any cell have a verdict: lost to faults, or unstable."""
    return any(map(_thin, decomposition.cells))


def unobserved(decomposition: Decomposition) -> bool:
    """Whether cells were planned and not one trial of any has a verdict."""
    return bool(decomposition.cells) and not any(cell.scored for cell in decomposition.cells)


def untried(decomposition: Decomposition) -> bool:
    """Whether a program that the candidate's own path needs is missing, so that nothing ran on it."""
    own = [cell for cell in decomposition.cells if cell.done == "N" and cell.planned]
    return bool(own) and all(cell.causes.get(MISSING_PROGRAM) == cell.planned for cell in own)


def infeasible_only(decomposition: Decomposition) -> bool:
    """Whether cells were planned and not one task is in them: none of the tasks can be done."""
    return bool(decomposition.cells) and not any(cell.planned for cell in decomposition.cells)


def inconclusive_declining(decompositions: Sequence[Decomposition], found: Sequence[Abstention]) -> bool:
    """Whether declining is all that was asked for, and fewer than half of the trials of any cell could be judged.

    Beside tasks that can be done, declining is reported and stops nothing: recordings and contracts without a form may lack it.
    """
    return all(map(infeasible_only, decompositions)) and any(2 * one.scored < one.planned for one in found)


def coverage(decomposition: Decomposition) -> str:
    """Which cells have a verdict for fewer than half of their trials, and why; empty where there is none such."""
    groups: dict[tuple[int, int, str], list[str]] = {}
    for cell in filter(_thin, decomposition.cells):
        groups.setdefault((cell.scored, cell.planned, losses(cell)), []).append(cell.name)
    everywhere = len(groups) == 1 and len(next(iter(groups.values()))) == len(decomposition.cells)
    return "; ".join(
        f"{f'only {scored}' if scored else 'none'} of {planned} trials could be observed"
        f"{'' if everywhere else f' in {_enumerated(names)}'} ({why})"
        for (scored, planned, why), names in groups.items()
    )


def losses(cell: Cell) -> str:
    """What kept trials from a verdict: ``fault: connection``, or ``faults: budget 3, connection 20; 1 unstable``."""
    faults = {cause.removeprefix("fault:"): count for cause, count in cell.causes.items() if cause.startswith("fault:")}
    named = f"fault: {next(iter(faults))}" if len(faults) == 1 else ""
    if len(faults) > 1:
        named = "faults: " + ", ".join(f"{name} {count}" for name, count in faults.items())
    return "; ".join(part for part in (named, f"{cell.unstable} unstable" if cell.unstable else "") if part)


def _thin(cell: Cell) -> bool:
    return 2 * cell.scored < cell.planned


def _enumerated(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
