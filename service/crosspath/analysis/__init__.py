"""Statistics, decomposition and control: pure functions of what was observed."""

from crosspath.analysis.compare import compare
from crosspath.analysis.control import judge_control, needs_repeats, unstable_trials
from crosspath.analysis.coverage import inconclusive
from crosspath.analysis.decompose import CellInput, decompose
from crosspath.analysis.rankings import Rankings, RankRow, Reversal, rank
from crosspath.analysis.spend import spend
from crosspath.analysis.tables import Tables, decomposition_tables
from crosspath.analysis.wording import control_word, effect_label

__all__ = [
    "CellInput",
    "RankRow",
    "Rankings",
    "Reversal",
    "Tables",
    "compare",
    "control_word",
    "decompose",
    "decomposition_tables",
    "effect_label",
    "inconclusive",
    "judge_control",
    "needs_repeats",
    "rank",
    "spend",
    "unstable_trials",
]
