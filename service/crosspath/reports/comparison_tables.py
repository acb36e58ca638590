"""Candidates side by side: only what was observed on both sides is compared, and the table says how much that is."""

from collections.abc import Mapping

from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.wording import (
    NONE,
    p_text,
    points,
    span,
    table,
    with_interval,
)
from crosspath.types import Cell, Comparison, Judgement

_NOTE = """\
Each row compares two candidates as deployed, paired by task, over the trials that were observed on both sides. *Attempted*:
pairs of trials that were planned; *observed in both*: those that are compared; *missing*: those that one side or both lack, or
that are unstable. *Worst to best*: the difference if those had turned out so; where that crosses zero neither ranks above.
"""
_TOGETHER = """\
*Together*: with 95 % confidence all intervals of that column hold at once; p adjusted by Holm.
"""
_HEAD = (
    "matched cells", "difference of means over families, 95 %", "95 % together", "attempted", "observed in both", "missing",
    "worst to best", "p", "p together", "what differs", "silent wrong", "false alarms", "coverage",
)  # fmt: skip


def comparison_section(judgement: Judgement) -> str:
    """Every comparison of two candidates, as a section; empty without any."""
    if not judgement.comparisons:
        return ""
    own = {one.candidate: cell for one in judgement.decompositions if (cell := as_deployed(one))}
    rows = [[f"{pair.b} - {pair.a}", *_numbers(pair), *_words(pair, own)] for pair in judgement.comparisons]
    note = _NOTE + (_TOGETHER if any(pair.together for pair in judgement.comparisons) else "")
    return f"## Comparisons\n\n{note}\n{table(_HEAD, rows)}"


def _numbers(pair: Comparison) -> list[object]:
    """From the difference to its adjusted p-value."""
    difference, together = pair.difference, pair.together
    return [
        with_interval(difference, signed=True) if difference.value is not None else f"{points(None)} ({difference.method})",
        span(together.low, together.high, signed=True) if together else NONE,
        difference.attempted, difference.n, difference.missing + difference.unstable,
        span(difference.worst, difference.best, signed=True), p_text(difference), p_text(together) if together else NONE,
    ]  # fmt: skip


def _words(pair: Comparison, own: Mapping[str, Cell]) -> list[str]:
    """What differs in the configuration, what each side told wrongly, and the warning."""
    changed = "; ".join(f"{field}: {before} -> {after}" for field, before, after in pair.changed)
    return [changed, *_told_wrongly(own.get(pair.a), own.get(pair.b)), pair.warning]


def _told_wrongly(a: Cell | None, b: Cell | None) -> list[str]:
    """Silent wrongs and false alarms of two cells side by side, each of all that was scored."""
    if a is None or b is None or not (a.scored and b.scored):
        return [NONE, NONE]
    counted = [(sum(cell.silent_causes.values()), sum(cell.alarm_kinds.values()), cell.scored) for cell in (a, b)]
    return [" -> ".join(f"{numbers[place]} of {numbers[2]}" for numbers in counted) for place in (0, 1)]
