"""Phase two: a pure function of the stored facts. It needs neither a model nor a sandbox.

validate -> score -> rows of each cell -> control -> decomposition -> comparison.
"""

from crosspath.analysis.path_costs import path_ranking
from crosspath.pipeline.candidate_costs import candidate_costs, total_spend
from crosspath.pipeline.clean_ups import alternatives
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.format_damage import format_damage
from crosspath.pipeline.fragile_tasks import fragile_tasks
from crosspath.pipeline.funnels import breakdowns, funnels
from crosspath.pipeline.losses import losses
from crosspath.pipeline.rank_stability import rank_stability
from crosspath.pipeline.reliability import reliability
from crosspath.pipeline.scores import of_cells, score_replays
from crosspath.pipeline.validator_sensitivity import validator_sensitivity
from crosspath.pipeline.warnings import warnings_of
from crosspath.ports import Validator
from crosspath.store.ordering import in_order
from crosspath.types import Facts, Judgement


def judge(facts: Facts, validator: Validator) -> Judgement:
    """Everything that follows from the facts, whatever order they come in.

    Raises:
        ConfigError: a suite is not acceptable.
        ValidatorError: a suite could not be carried out.
    """
    facts = in_order(facts)
    others = alternatives(facts)
    scores = score_replays(facts, validator, others)
    index = FactIndex(facts, scores)
    decompositions = index.decompositions()
    partition_gaps, formats = index.partition_gaps(), format_damage(index, others)
    broken = {one.candidate for one in decompositions if one.control.status == "broken"}
    return Judgement(
        scores=of_cells(facts, scores),
        decompositions=decompositions,
        comparisons=index.comparisons(),
        abstentions=index.abstentions(),
        partition_gaps=partition_gaps,
        style_spreads=index.style_spreads(decompositions),
        wording_spreads=index.wording_spreads(decompositions),
        path_rankings=tuple(path_ranking(*group) for group in index.path_options(decompositions).by_generation()),
        losses=losses(index, others),
        funnels=funnels(index),
        breakdowns=breakdowns(index),
        format_damage=formats,
        validator_sensitivity=validator_sensitivity(index, validator),
        reliability=reliability(index),
        costs=candidate_costs(index),
        rank_stability=rank_stability(index, broken),
        fragile_tasks=fragile_tasks(index, broken),
        spend=total_spend(facts),
        warnings=warnings_of(facts, decompositions, partition_gaps, formats),
    )
