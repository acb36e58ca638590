"""Whether the order of models survives a change of configuration."""

from collections.abc import Sequence

from crosspath.analysis.rankings import Rankings, RankRow, rank
from crosspath.analysis.wording import (
    NONE,
)
from crosspath.escaping import markdown
from crosspath.types import Decomposition


def ranking_section(decompositions: Sequence[Decomposition]) -> str:
    """Order of the candidates in RR and NN; only where every cell scored the same number of trials."""
    cells = [(item.candidate, item.cell("RR"), item.cell("NN")) for item in decompositions]
    rows = [(RankRow(name, first.passed, second.passed), first, second) for name, first, second in cells if first and second]
    scored = {cell.scored for _, *pair in rows for cell in pair}
    if len(rows) < 3 or len(scored) != 1 or scored == {0}:
        return ""
    ranking = rank([row for row, *_ in rows])
    tau_a, tau_b = (NONE if tau is None else f"{tau:.2f}" for tau in (ranking.tau_a, ranking.tau_b))
    pairs = "; ".join(
        f"{pair.a} and {pair.b}{' (by more than one task)' if pair.unambiguous else ''}" for pair in ranking.reversals
    )
    return (
        "## Order of the candidates, RR against NN\n\n"
        f"{_pairs(ranking)}{': ' + markdown(pairs) if pairs else ''}. Kendall tau-a {tau_a}, tau-b {tau_b}.\n"
    )


def _pairs(ranking: Rankings) -> str:
    """How many pairs change order; those that tie in a cell have no order there that could change."""
    every = ranking.models * (ranking.models - 1) // 2
    ties = every - ranking.comparable_pairs
    if not ranking.comparable_pairs:
        return f"All {every} pairs of candidates are equal in RR or in NN, so that there is no order to compare"
    changed = (
        f"{len(ranking.reversals)} of {ranking.comparable_pairs} comparable pairs change order, {ranking.unambiguous} of them "
        "by more than a single task on both sides"
    )
    if not ties:
        return changed
    return f"{ties} of {every} pairs of candidates are equal in RR or in NN and have no order there that could change; {changed}"
