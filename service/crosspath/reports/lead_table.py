"""All candidates in one small table: what is right as deployed, how sure that is, where the rest was lost, and the control.

Below it one sentence names the candidates that the table must not be used to rank. Text, not Markdown: whoever prints it escapes
it for the place.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from crosspath.analysis.wording import NONE, control_word, percent, table, title, with_interval
from crosspath.escaping import markdown
from crosspath.reports.headlines import PLACE_WORDS
from crosspath.types import Cell, Comparison, Decomposition, Judgement, Losses

LEAD_COLUMNS = (
    "candidate", "right of scored", "mean over families, 95 %", "lost to path", "to model", "to format", "to infrastructure",
    "control",
)  # fmt: skip
LEAD_NOTE = (
    "As deployed. The mean counts each family of tasks the same, so it need not be the share of the counts beside it; its"
    " interval is for task families like these. What is lost to the infrastructure has no verdict: it is not among the scored."
)
MOST_NAMED = 4
"""Pairs that can't be ranked and are named one by one; more of them are counted."""
_Why = Literal["interval", "unknown", "missing", "control"]
_WHY: Mapping[_Why, str] = {
    "interval": "the interval of their difference, for task families like these, holds 0",
    "unknown": "there is no interval of their difference",
    "missing": "trials without a verdict could turn their order",
    "control": "a control is broken",
}
_COUNTED: Mapping[_Why, str] = {
    "interval": "the interval of the difference holds 0",
    "unknown": "there is no interval of the difference",
    "missing": "trials without a verdict could turn the order",
    "control": "a control is broken",
}


def lead_rows(judgement: Judgement) -> list[tuple[str, ...]]:
    """One row per candidate of which losses are known; none where no candidate was given a task that can be done."""
    by_name = {one.candidate: one for one in judgement.losses}
    if not any(one.attempted for one in judgement.losses):
        return []
    return [_row(one, by_name[one.candidate]) for one in judgement.decompositions if one.candidate in by_name]


def lead_table(judgement: Judgement) -> str:
    """The table as Markdown, with what its numbers are and what may not be ranked; empty where there are no losses."""
    rows = lead_rows(judgement)
    if not rows:
        return ""
    words = [LEAD_NOTE, *([line] if (line := unranked(judgement)) else [])]
    return table(LEAD_COLUMNS, rows) + "".join(f"\n{markdown(line)}\n" for line in words)


def _row(one: Decomposition, losses: Losses) -> tuple[str, ...]:
    cell = one.cell(losses.cell)
    if not losses.attempted or cell is None:
        return title(one), "no task can be done", *[NONE] * (len(LEAD_COLUMNS) - 2)
    told_apart = one.control.status != "broken"
    lost = (str(losses.lost[place]) if told_apart or place == "infrastructure" else NONE for place in PLACE_WORDS)
    return title(one), _counts(cell), _mean(cell), *lost, _control(one)


def _counts(cell: Cell) -> str:
    """What has no verdict stands with the counts, or the rate of the rest looks like all of it."""
    missing = cell.planned - cell.scored
    return f"{cell.passed} of {cell.scored}" + (f" ({missing} more without a verdict)" if missing else "")


def _mean(cell: Cell) -> str:
    return with_interval(cell.population, signed=False) if cell.population else NONE


def _control(one: Decomposition) -> str:
    if one.control.kind == "none" and one.control.status == "holds":
        return "not needed"
    word = control_word(one)
    return "proves nothing" if word == "blind" else word


def rate_words(cell: Cell) -> str:
    """The rate; where it is a mean over families, and not the share of the counts beside it, that is said."""
    shown = percent(cell.rate.value)
    return f"{shown} as mean over families" if over_families(cell) else shown


def over_families(cell: Cell) -> bool:
    """Whether the rate that is shown is a mean over families that differs from the share of the counts."""
    if cell.rate.value is None or not cell.scored or cell.rate.estimand != "task_population":
        return False
    return percent(cell.rate.value) != percent(cell.passed / cell.scored)


# -- who can't be ranked -----------------------------------------------------------------------------------------------


def unranked(judgement: Judgement) -> str:
    """Which candidates can't be ranked as deployed, and why; empty where all that were compared can be."""
    broken = {one.candidate for one in judgement.decompositions if one.control.status == "broken"}
    found: dict[_Why, list[Comparison]] = {}
    for pair in judgement.comparisons:
        if why := _why(pair, broken):
            found.setdefault(why, []).append(pair)
    number = sum(map(len, found.values()))
    if number > MOST_NAMED:
        counted = ", ".join(f"in {len(pairs)} {_COUNTED[why]}" for why, pairs in found.items())
        return f"{number} of the {len(judgement.comparisons)} pairs that were compared can't be ranked: {counted}."
    named = [f"{_named(pairs)} ({_WHY[why]})" for why, pairs in found.items()]
    return f"Can't be ranked: {'; '.join(named)}.{_ranked(judgement, broken)}" if named else ""


def _ranked(judgement: Judgement, broken: set[str]) -> str:
    """The other pairs, in their order."""
    pairs = [pair for pair in judgement.comparisons if not _why(pair, broken)]
    said = [f"{better} above {worse}" for better, worse in map(_order, pairs)]
    return f" Can be ranked as deployed: {', '.join(said)}." if said else ""


def _order(pair: Comparison) -> tuple[str, str]:
    return (pair.b, pair.a) if (pair.difference.value or 0) > 0 else (pair.a, pair.b)


def _why(pair: Comparison, broken: set[str]) -> _Why | None:
    estimate = pair.together or pair.difference
    if {pair.a, pair.b} & broken:
        return "control"
    if estimate.low is None or estimate.high is None:
        return "unknown"
    if estimate.low <= 0 <= estimate.high:
        return "interval"
    worst, best = pair.difference.worst, pair.difference.best
    return "missing" if worst is None or best is None or worst <= 0 <= best else None


def _named(pairs: Sequence[Comparison]) -> str:
    return "; ".join(_sides(pairs))


def _sides(pairs: Sequence[Comparison]) -> Iterator[str]:
    """``a and b``; one that can't be told from several stands once: ``a and each of b, c``."""
    by_first: dict[str, list[str]] = {}
    for pair in pairs:
        by_first.setdefault(pair.a, []).append(pair.b)
    for first, others in by_first.items():
        yield f"{first} and {others[0]}" if len(others) == 1 else f"{first} and each of {', '.join(others)}"
