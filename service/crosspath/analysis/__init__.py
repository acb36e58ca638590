"""Statistics, decomposition and control: pure functions of what was observed."""

from crosspath.analysis.compare import Pair, compare, compare_together
from crosspath.analysis.control import judge_control, needs_repeats, unstable_trials
from crosspath.analysis.coverage import inconclusive
from crosspath.analysis.decompose import CandidateInput, CellInput, decompose, decompose_together
from crosspath.analysis.rankings import Rankings, RankRow, Reversal, rank
from crosspath.analysis.spend import spend
from crosspath.analysis.tables import Tables, decomposition_tables
from crosspath.analysis.wording import control_word, effect_label

__all__ = [
    "CandidateInput",
    "CellInput",
    "Pair",
    "RankRow",
    "Rankings",
    "Reversal",
    "Tables",
    "compare",
    "compare_together",
    "control_word",
    "decompose",
    "decompose_together",
    "decomposition_tables",
    "effect_label",
    "inconclusive",
    "judge_control",
    "needs_repeats",
    "rank",
    "spend",
    "unstable_trials",
]
