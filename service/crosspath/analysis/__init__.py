"""Statistics, decomposition, control and report: pure functions of what was observed."""

from crosspath.analysis.compare import compare
from crosspath.analysis.control import judge_control, needs_repeats, unstable_trials
from crosspath.analysis.decompose import CellInput, decompose
from crosspath.analysis.rankings import Rankings, RankRow, Reversal, rank
from crosspath.analysis.spend import spend

__all__ = [
    "CellInput",
    "RankRow",
    "Rankings",
    "Reversal",
    "compare",
    "decompose",
    "judge_control",
    "needs_repeats",
    "rank",
    "spend",
    "unstable_trials",
]
