"""``crosspath plan SPEC`` where the spec names a deployment: what a day and the reference take, and what a watch can find."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

from crosspath.analysis.drift_power import DROP, WITHIN_DAYS, Power, power
from crosspath.analysis.sentinels import SeenTask, expected_rates
from crosspath.app.costs import PlanCosts, money, plan_costs
from crosspath.app.evaluation import Evaluation
from crosspath.app.readiness import as_reference
from crosspath.app.resolve import Resolved, resolve
from crosspath.errors import ConfigError
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.pipeline.series import rules_of
from crosspath.types.drift import WatchRules

ASKED = 0.8
_STATED = (0.9, 0.7)
"""Pass rates of every task that are thought of where nothing is known."""
_MOST_TRIALS = 16
_SEARCHED = 80
"""Simulated watches for each number of trials that is tried."""


def watch_document(resolved: Resolved, seen: Sequence[SeenTask] = ()) -> dict[str, Any] | None:
    """Requests and costs of a day and of the reference, and the chance that a drop of 15 points is found within 14 days.

    ``seen``: what an evaluation showed of the tasks; tasks that are not among them pass as those do. None: no deployment named.
    """
    spec = resolved.spec
    if spec.deployment is None:
        return None
    rules = rules_of(spec.deployment.model_dump())
    tasks = [task.id for task in resolved.plan.tasks.values() if task.infeasible is None]
    laws = _laws(tasks, seen)
    reference = resolve(as_reference(spec), resolved.base)
    return {
        "deployment": spec.deployment.name,
        "candidate": spec.deployed(),
        "chosen_on": spec.deployment.chosen_on,
        "tasks": len(tasks),
        "trials": spec.trials,
        "reference_trials": rules.reference_trials,
        "alpha": rules.alpha,
        "horizon_days": rules.horizon_days,
        "day": _costs(resolved),
        "reference": _costs(reference),
        "drop": DROP,
        "within_days": WITHIN_DAYS,
        "power": [_power(words, rates, spec.trials, rules) for words, rates in laws.items()],
    }


def seen_tasks(evaluation: Evaluation, candidate: str) -> list[SeenTask]:
    """What came of each task as deployed, those that can't be done left out.

    Raises:
        ConfigError: no such candidate.
    """
    facts = evaluation.facts
    if candidate not in (known := [one.name for one in facts.lock.candidates]):
        raise ConfigError(f"{evaluation.id} has no candidate {candidate!r}; it has {', '.join(known)}")
    rows = FactIndex(facts, evaluation.judgement.scores).rows_compared(matched_cell(facts.cells, candidate))
    found: dict[str, list[bool | None]] = {}
    unstable: dict[str, int] = {}
    for row in rows:
        found.setdefault(row.task, []).append(None if row.unstable else row.passed)
        unstable[row.task] = unstable.get(row.task, 0) + row.unstable
    return [
        SeenTask(task.id, task.family, found[task.id].count(True), _scored(found[task.id]), unstable[task.id])
        for task in facts.tasks
        if task.infeasible is None and task.id in found
    ]


def _scored(outcomes: Sequence[bool | None]) -> int:
    return len(outcomes) - outcomes.count(None)


def like_tasks(like: Evaluation | None, candidate: str | None, resolved: Resolved) -> list[SeenTask]:
    """The outcomes of ``--like``: of the candidate that is named, else the one that is deployed, else its only one; else none."""
    if like is None or resolved.spec.deployment is None:
        return []
    known = [one.name for one in like.facts.lock.candidates]
    name = candidate or (resolved.spec.deployed() if resolved.spec.deployed() in known else None)
    name = name or (known[0] if len(known) == 1 else None)
    return seen_tasks(like, name) if name else []


def _laws(tasks: Sequence[str], seen: Sequence[SeenTask]) -> dict[str, list[float]]:
    """Words for what is assumed -> a pass rate of each task."""
    there = [task for task in seen if task.trials]
    if not there:
        return {f"{10 * rate:.0f} of 10 replies of each task pass": [rate] * len(tasks) for rate in _STATED}
    rates = dict(zip((task.task for task in there), expected_rates(there), strict=True))
    pooled = sum(rates.values()) / len(rates)
    return {"tasks pass as they did": [rates.get(task, pooled) for task in tasks]}


def _costs(resolved: Resolved) -> dict[str, Any]:
    costs: PlanCosts = plan_costs(resolved, cores=resolved.spec.executor.replay_workers or len(os.sched_getaffinity(0)))
    return {
        "requests": costs.requests,
        "local_requests": costs.local_requests,
        "replays": costs.replays,
        "expected_cost_usd": None if costs.unpriced else round(costs.expected_usd, 6),
        "worst_cost_usd": None if costs.unpriced else round(costs.worst.cost_usd, 6),
    }


def _power(words: str, rates: Sequence[float], trials: int, rules: WatchRules) -> dict[str, Any]:
    found = power(rates, trials, rules.reference_trials, rules)
    return {"if": words, "found": found.found, "simulated": found.simulated, "needs": _needs(found, rates, trials, rules)}


def _needs(found: Power, rates: Sequence[float], trials: int, rules: WatchRules) -> dict[str, int] | None:
    """Numbers of trials with which 80 % are found; None where that is so already, or no number that is tried reaches it."""
    if found.found >= ASKED:
        return None
    for more in (trials, *(number for number in (2, 4, 8, _MOST_TRIALS) if number > trials)):
        for reference in (rules.reference_trials, 2 * rules.reference_trials):
            if power(rates, more, reference, rules, simulated=_SEARCHED).found >= ASKED:
                return {"trials": more, "reference_trials": reference}
    return None


# -- words ---------------------------------------------------------------------------------------------------------------


def watch_lines(document: Mapping[str, Any] | None) -> list[str]:
    """The document in plain words, for a terminal."""
    if document is None:
        return []
    chosen = f", tasks chosen on {document['chosen_on']}" if document["chosen_on"] else ""
    lines = [
        f"watch of {document['deployment']}: candidate {document['candidate']}, {document['tasks']} tasks{chosen}",
        f"  each run (a day)  {document['trials']} trial{'s' * (document['trials'] != 1)} a task: {_amounts(document['day'])}",
        f"  the reference     {document['reference_trials']} trials a task: {_amounts(document['reference'])}, once",
    ]
    drop = f"a drop of {100 * document['drop']:.0f} points of every task is found within {document['within_days']} days"
    for one in document["power"]:
        lines.append(f"  {drop} in {100 * one['found']:.0f} % of watches, if {one['if']}{_more(one, document)}")
    alarms = f"{100 * document['alpha']:g} % of watches of {document['horizon_days']} days"
    return [*lines, f"  looked at once a day it raises a false provider alarm in {alarms} at most"]


def _amounts(costs: Mapping[str, Any]) -> str:
    local = f" and {costs['local_requests']} answered by baselines or recordings" if costs["local_requests"] else ""
    asked = f"{costs['requests']} requests{local}"
    if costs["expected_cost_usd"] is None:
        return f"{asked}, cost unknown"
    if not costs["requests"]:
        return f"{asked}, no cost"
    return f"{asked}, about {money(costs['expected_cost_usd'])} USD, {money(costs['worst_cost_usd'])} USD at worst"


def _more(one: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    if one["found"] >= ASKED:
        return ""
    asked = f"{100 * ASKED:.0f} %"
    if one["needs"] is None:
        return f"; {asked} takes more tasks than {document['tasks']}"
    needs = one["needs"]
    reference = f" and {needs['reference_trials']} of the reference" * (needs["reference_trials"] > document["reference_trials"])
    return f"; {asked} takes {needs['trials']} trials a day{reference}"
