"""Phase two: a pure function of the stored facts. It needs neither a model nor a sandbox.

validate -> score -> rows of each cell -> control -> decomposition -> comparison.
"""

from collections.abc import Iterable, Mapping, Sequence

from crosspath.analysis.path_costs import path_ranking
from crosspath.pipeline.candidate_costs import candidate_costs, total_spend
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.format_damage import format_damage
from crosspath.pipeline.funnels import breakdowns, funnels
from crosspath.pipeline.losses import losses
from crosspath.pipeline.rank_stability import fragile_tasks, rank_stability
from crosspath.pipeline.reliability import reliability
from crosspath.pipeline.validator_sensitivity import validator_sensitivity
from crosspath.pipeline.warnings import warnings_of
from crosspath.ports import Validator
from crosspath.scoring import build_tables, load_suite, score
from crosspath.store.ordering import in_order
from crosspath.types import (
    Facts,
    Judgement,
    Replay,
    Score,
    Task,
    Text,
)


def score_replays(facts: Facts, validator: Validator, validators: Iterable[str] | None = None) -> tuple[Score, ...]:
    """A score for each replay that was executed, by each validator that a cell asks for.

    Raises:
        ConfigError: a suite is not acceptable.
        ValidatorError: a suite could not be carried out.
    """
    tasks = {task.id: task for task in facts.tasks}
    suites = {suite.name: suite for suite in facts.suites}
    scores: list[Score] = []
    for name in sorted(set(validators) if validators is not None else {cell.validator for cell in facts.cells}):
        wanted = {(cell.path, cell.generation.digest) for cell in facts.cells if cell.validator == name}
        replays = [r for r in facts.replays if r.execution and (r.key.path, r.key.trial.generation) in wanted]
        scores += _score_with(suites[name], replays, tasks, validator)
    return tuple(scores)


def _score_with(suite: Text, replays: Sequence[Replay], tasks: Mapping[str, Task], validator: Validator) -> list[Score]:
    if not replays:
        return []
    checks = validator.validate(suite, build_tables(tasks, replays, load_suite(suite).columns))
    return [
        score(replay, tasks[replay.key.trial.task], checks[row]).model_copy(update={"validator": suite.name})
        for row, replay in enumerate(replays)
    ]


def judge(facts: Facts, validator: Validator) -> Judgement:
    """Everything that follows from the facts, whatever order they come in.

    Raises:
        ConfigError: a suite is not acceptable.
        ValidatorError: a suite could not be carried out.
    """
    facts = in_order(facts)
    scores = score_replays(facts, validator)
    index = FactIndex(facts, scores)
    decompositions = index.decompositions()
    partition_gaps = index.partition_gaps()
    return Judgement(
        scores=scores,
        decompositions=decompositions,
        comparisons=index.comparisons(),
        abstentions=index.abstentions(),
        partition_gaps=partition_gaps,
        style_spreads=index.style_spreads(decompositions),
        wording_spreads=index.wording_spreads(decompositions),
        path_rankings=tuple(path_ranking(*group) for group in index.path_options(decompositions).by_generation()),
        losses=losses(index),
        funnels=funnels(index),
        breakdowns=breakdowns(index),
        format_damage=format_damage(index),
        validator_sensitivity=validator_sensitivity(index, validator),
        reliability=reliability(index),
        costs=candidate_costs(index),
        rank_stability=rank_stability(index),
        fragile_tasks=fragile_tasks(index),
        spend=total_spend(facts),
        warnings=warnings_of(facts, decompositions, partition_gaps),
    )
