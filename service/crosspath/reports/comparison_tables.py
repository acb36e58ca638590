"""Candidates side by side."""

from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.wording import (
    NONE,
    p_text,
    table,
    with_interval,
)
from crosspath.types import Cell, Judgement


def comparison_section(judgement: Judgement) -> str:
    """Every comparison of two candidates, as a section; empty without any."""
    if not judgement.comparisons:
        return ""
    own = {one.candidate: cell for one in judgement.decompositions if (cell := as_deployed(one))}
    rows = [
        [f"{pair.b} - {pair.a}", with_interval(pair.difference, signed=True), pair.difference.n, p_text(pair.difference),
         "; ".join(f"{field}: {before} -> {after}" for field, before, after in pair.changed),
         *_told_wrongly(own.get(pair.a), own.get(pair.b)), pair.warning]
        for pair in judgement.comparisons
    ]  # fmt: skip
    head = ["matched cells", "difference, 95 %", "n", "p", "what differs", "silent wrong", "false alarms", "coverage"]
    return "## Comparisons\n\n" + table(head, rows)


def _told_wrongly(a: Cell | None, b: Cell | None) -> list[str]:
    """Silent wrongs and false alarms of two cells side by side, each of all that was scored."""
    if a is None or b is None or not (a.scored and b.scored):
        return [NONE, NONE]
    counted = [(sum(cell.silent_causes.values()), sum(cell.alarm_kinds.values()), cell.scored) for cell in (a, b)]
    return [" -> ".join(f"{numbers[place]} of {numbers[2]}" for numbers in counted) for place in (0, 1)]
