"""What each candidate's replies take, and what the evaluation as a whole took.

Candidates share generations: all that are told the reference get the same replies, and so do two candidates that differ in
their path only. The *evaluation* counts each request once. A *candidate* counts every reply of its cell as deployed, whoever paid
for it, because that is what it would take alone; so candidates may add up to more than the evaluation spent.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from crosspath.analysis.candidate_costs import Counted, candidate_cost
from crosspath.analysis.spend import rows_of, spend
from crosspath.pipeline.answers import provider
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.types import Attempt, CandidateCost, Facts, PlannedCell, Spend, Trial


def candidate_costs(index: FactIndex) -> tuple[CandidateCost, ...]:
    """One for each candidate with a cell, from the replies of that cell which is the candidate as deployed."""
    planned = {cell.candidate for cell in index.facts.cells}
    local, attempts = local_keys(index.facts), _by_request(index.facts)
    return tuple(
        _candidate_cost(index, matched_cell(index.facts.cells, candidate.name), attempts, local)
        for candidate in index.facts.lock.candidates
        if candidate.name in planned
    )


def total_spend(facts: Facts) -> Spend:
    """What the evaluation took, each request counted once."""
    return spend(
        facts.attempts,
        facts.trials,
        bought_again=facts.bought_again,
        sessions=len(facts.sessions),
        starts=facts.sessions,
        local=local_keys(facts),
    )


def local_keys(facts: Facts) -> frozenset[str]:
    """Keys of the requests that a baseline or a recording answers."""
    return frozenset(trial.request.key for trial in facts.trials if provider(trial.request.model) is not None)


def _by_request(facts: Facts) -> Mapping[str, Sequence[Attempt]]:
    found: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in facts.attempts:
        found[attempt.request_key].append(attempt)
    return found


def _candidate_cost(
    index: FactIndex, cell: PlannedCell, attempts: Mapping[str, Sequence[Attempt]], local: frozenset[str]
) -> CandidateCost:
    verdicts = {(row.task, row.index): None if row.unstable else row.passed for row in index.rows_compared(cell)}
    trials = [trial for _, _, key in index.keys(cell) if (trial := index.trial_of(key)) is not None]
    made = [attempt for trial in trials for attempt in attempts.get(trial.request.key, ())]
    replies = [_counted(trial, verdicts, local) for trial in trials if trial.reply is not None]
    return candidate_cost(cell.candidate, [one for one in replies if one is not None], rows_of(made, trials, local))


def _counted(trial: Trial, verdicts: Mapping[tuple[str, int], bool | None], local: frozenset[str]) -> Counted | None:
    if trial.reply is None:
        return None
    return Counted(trial.reply, verdicts[trial.key.task, trial.key.index], trial.request.key in local)
