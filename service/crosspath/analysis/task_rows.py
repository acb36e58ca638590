"""Which tasks fail where: one row per task that does not pass everywhere, one column per cell."""

from collections.abc import Mapping, Sequence

from crosspath.analysis.alarms import ALARM_WORDS
from crosspath.analysis.wording import NONE, table
from crosspath.escaping import markdown
from crosspath.types import PlannedCell, Score

MAX_ROWS = 100
"""Longest table of the report; the rest is counted and stands in the failures table."""


def failing_tasks(candidate: str, planned: Sequence[PlannedCell], scores: Sequence[Score], *, infeasible: bool = False) -> str:
    """A Markdown table of the candidate's tasks that fail in at least one cell; empty where all pass everywhere.

    Cells are read as ``passed``, ``false alarm: time-out`` where only the report is wrong, or the cause (in brackets where the
    path reported success), with counts where there are several trials. Only first replays count, as in the rates. Tasks that
    can't be done are never among the others: with ``infeasible`` the table is about them alone, and what passes there is
    ``declined``.
    """
    cells = {cell.name: cell for cell in planned if cell.candidate == candidate and not cell.control}
    wanted = [score for score in scores if score.infeasible == infeasible]
    outcomes = {name: _outcomes(cell, wanted) for name, cell in cells.items()}
    right = {"passed", "declined"}
    tasks = sorted({task for column in outcomes.values() for task, seen in column.items() if not right.issuperset(seen)})
    if not tasks:
        return ""
    rows = [[task, *(_shown(column.get(task, ())) for column in outcomes.values())] for task in tasks[:MAX_ROWS]]
    rest = "more" if infeasible else "more tasks stand in the failures table"
    more = f"\n{len(tasks) - MAX_ROWS} {rest}.\n" if len(tasks) > MAX_ROWS else ""
    what = f"Tasks that {candidate} should have declined" if infeasible else "Tasks that don't pass everywhere"
    heading = f"{markdown(what)} (in brackets: reported as fine by the path)\n\n"
    return heading + table(["task", *outcomes], rows) + more


def _outcomes(cell: PlannedCell, scores: Sequence[Score]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for score in scores:
        key = score.key
        same = (key.path, key.encoded, key.trial.generation) == (cell.path, cell.encoded, cell.generation.digest)
        if same and key.repeat == 0 and score.validator == cell.validator:
            found.setdefault(key.trial.task, []).append(_outcome(score))
    return found


def _outcome(score: Score) -> str:
    if score.passed:
        return "declined" if score.infeasible else "passed"
    if score.false_alarm:
        return f"false alarm: {ALARM_WORDS[score.false_alarm]}"
    cause = score.cause or ("acted, changed nothing" if score.infeasible else "wrong exit status")
    return f"[{cause}]" if score.silent_wrong else cause


def _shown(outcomes: Sequence[str]) -> str:
    if len(outcomes) <= 1:
        return outcomes[0] if outcomes else NONE
    return ", ".join(f"{outcomes.count(name)} {name}" for name in dict.fromkeys(sorted(outcomes)))
