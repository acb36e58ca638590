"""How far replies get, in words: one table per candidate, its cells side by side."""

from collections.abc import Mapping

from crosspath.analysis.funnels import FUNNEL_STAGES
from crosspath.analysis.wording import table
from crosspath.reports.cause_words import causes_counted
from crosspath.types import Funnel, FunnelStage, Judgement

STAGE_WORDS: Mapping[FunnelStage, str] = {
    "generated": "a reply came back",
    "answered": "it is an answer (not refused, cut off or empty)",
    "well_formed": "it has the contract's form and could be delivered",
    "executed": "a shell took it, and what it did was observed",
    "right_state": "it passes: the final state is right",
}
"""Stage -> what is true of a trial that reached it."""


def funnel_section(judgement: Judgement, candidate: str) -> str:
    """How many trials of each cell reach each stage, and what stopped the others; empty where nothing was attempted."""
    own = [one for one in judgement.funnels if one.candidate == candidate and one.attempted]
    if not own:
        return ""
    rows = [["attempted", *(one.attempted for one in own)]]
    rows += [[STAGE_WORDS[stage], *(_reached(one, stage) for one in own)] for stage in FUNNEL_STAGES]
    heading = "How far the trials get (in brackets: how many stop there, and why; each trial stops once)"
    return f"{heading}\n\n" + table(["of the trials of", *map(_where, own)], rows)


def _where(one: Funnel) -> str:
    return f"{one.cell}: told {one.contract}, run on {one.transport}"


def _reached(one: Funnel, stage: FunnelStage) -> str:
    stopped = one.stopped.get(stage, {})
    return f"{one.reached[stage]}" + (f" (-{sum(stopped.values())}: {causes_counted(stopped)})" if stopped else "")
