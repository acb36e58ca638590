"""``crosspath plan SPEC --policy P``: how likely a candidate as good as its baseline passes, and how many trials that takes.

Both sides are drawn from one law: what an earlier evaluation (``--like``) showed of each task, or a stated one. Costs and
latencies are not simulated; they are taken to be met.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from crosspath.analysis.gate_power import Law, Power, power
from crosspath.analysis.gate_rules import Measured
from crosspath.analysis.precision import POWER
from crosspath.app import adapters
from crosspath.app.evaluation import Evaluation
from crosspath.errors import ConfigError
from crosspath.pipeline.gate_evidence import Evaluated
from crosspath.pipeline.plan import Plan
from crosspath.types import AMOUNTS, Metric, Policy, PolicyRule, Task

MOST_TRIALS = 64
_MOST_FAMILIES = 16
"""So many times the families of the plan are thought of."""
_SIMULATED = 400
_SEARCHED = 200
"""Simulated gates for each number of trials or families that is tried."""
_POOLED = 0.5
"""So many trials of all tasks together are added to those of each task: one that passed three times may fail the next time."""
_STATED: Sequence[tuple[float, Mapping[Metric, int]]] = (
    (0.90, {}),
    (0.025, {"pass_rate": 0, "lost_to_path": 1, "damage": -1, "matched_gap": -1, "silent_wrong": 1}),
    (0.025, {"pass_rate": 0, "lost_to_path": 1, "damage": -1, "matched_gap": -1}),
    (0.02, {"pass_rate": 0, "reference_rate": 0, "lost_to_model": 1, "silent_wrong": 1}),
    (0.02, {"pass_rate": 0, "reference_rate": 0, "lost_to_model": 1}),
    (0.01, {"pass_rate": 0, "reference_rate": 0, "lost_to_format": 1}),
)
"""Chance of a kind of trial, and what is not as in a trial that passes."""
STATED_WORDS = "9 of 10 replies of each task pass; of 10 that fail 5 are lost to the path, and 4 to 5 are silently wrong"


def policy_document(policy: Policy, plan: Plan, like: Evaluation | None = None, candidate: str | None = None) -> dict[str, Any]:
    """The chance of PASS for an equal candidate, alone and for each rule, and what would make it 80 %.

    ``candidate``: of ``like``, which one is as good as what will be gated; default see :func:`_candidate_of`.

    Raises:
        ConfigError: ``like`` holds nothing of a metric that a rule is about.
    """
    tasks = [task for task in plan.tasks.values() if task.infeasible is None]
    rules = [rule for rule in policy.blocking if rule.metric not in AMOUNTS]
    candidate = _candidate_of(like, policy, plan, candidate) if like else None
    law = _law_like(like, candidate, rules, tasks) if like and candidate else stated_law(tasks)
    least = max([rule.k for rule in rules if rule.k is not None], default=1)
    found: dict[str, Any] = {
        "name": policy.name,
        "alpha": policy.alpha,
        "asked": POWER,
        "trials": plan.trials,
        "families": len(set(law.families)),
        "like": f"{like.id}:{candidate}" if like else None,
        "refused": list(_refused(policy, plan, tasks, least)),
        "not_simulated": [rule.title for rule in policy.blocking if rule.metric in AMOUNTS],
    }
    now = power(rules, law, max(plan.trials, least), policy.alpha, _SIMULATED)
    found |= {
        "passes": round(now.passes, 3),
        "simulated": now.simulated,
        "rules": [{"name": rule.title, "shown": round(share, 3)} for rule, share in zip(rules, now.by_rule, strict=True)],
    }
    return found | _enough(rules, law, max(plan.trials, least), policy.alpha, now, least)


def _refused(policy: Policy, plan: Plan, tasks: Sequence[Task], least: int) -> Iterator[str]:
    """What makes any verdict on this plan INVALID, whatever comes of it."""
    asked = policy.evidence
    for number, wanted, words in (
        (len({task.family for task in tasks}), asked.min_families, "families"),
        (len(tasks), asked.min_tasks, "tasks that can be done"),
        (plan.trials, max(asked.min_trials, least), "trials a task"),
    ):
        if number < wanted:
            yield f"{number} {words}, and the policy asks for at least {wanted}"
    tiers = [task.tier for task in tasks if task.tier is not None]
    if tiers and sum(tier > 0 for tier in tiers) < asked.min_hostile * len(tiers):
        yield f"{sum(tier > 0 for tier in tiers)} of {len(tiers)} tasks of tier 1 to 3, and the policy asks for more"
    suites = sorted({cell.validator for cell in plan.cells} - set(asked.suites))
    if suites:
        yield f"judged by {', '.join(suites)}, and the policy asks for {' or '.join(asked.suites)}"


# -- laws ----------------------------------------------------------------------------------------------------------------


def stated_law(tasks: Sequence[Task]) -> Law:
    """What is taken of each task where no evaluation says better."""
    every: dict[Metric, int] = {"pass_rate": 1, "reference_rate": 1, "silent_wrong": 0, "false_alarm": 0, "damage": 0}
    every |= {"compensation": 0, "matched_gap": 0, "lost_to_path": 0, "lost_to_model": 0, "lost_to_format": 0}
    every |= {"refusals": 0, "truncated": 0}
    kinds = tuple(_with_passes({**every, **differing}) for _, differing in _STATED)
    return Law(tuple(task.family for task in tasks), kinds, tuple(tuple(chance for chance, _ in _STATED) for _ in tasks))


def _with_passes(kind: dict[Metric, int]) -> dict[Metric, int]:
    return {**kind, "pass_hat": kind["pass_rate"]}


def _candidate_of(like: Evaluation, policy: Policy, plan: Plan, given: str | None) -> str:
    """The candidate that was asked for, or that the policy names, or the only one that is in the plan, too, or the only one."""
    known = [one.name for one in like.facts.lock.candidates]
    asked = given or (policy.candidate.candidate if policy.candidate else None)
    names = [asked] if asked else [one.name for one in plan.candidates if one.name in known] or known
    if len(names) > 1 or names[0] not in known:
        which = f"it has no candidate {asked!r}" if asked else "which of its candidates is meant"
        raise ConfigError(f"--like {like.id}: {which}; write --like {like.id}:NAME with one of: {', '.join(known)}")
    return names[0]


def _law_like(like: Evaluation, candidate: str, rules: Sequence[PolicyRule], tasks: Sequence[Task]) -> Law:
    """Each task as it came out, a little of all tasks mixed in; a task that was not there is as all of them."""
    validator = adapters.make_validator() if any(rule.metric.startswith("lost_to") for rule in rules) else None
    evaluated = Evaluated(like.facts, like.judgement, validator)
    measured: dict[Metric, Measured] = {rule.metric: _measured(evaluated, rule, candidate, like.id) for rule in rules}
    seen = {task.id: list(_kinds_of(task.id, measured)) for task in tasks}
    kinds = list(dict.fromkeys(kind for trials in seen.values() for kind in trials))
    if not kinds:
        raise ConfigError(f"--like {like.id}: no trial of these tasks has a verdict; leave --like out for a stated law")
    whole = [sum(trials.count(kind) for trials in seen.values()) for kind in kinds]
    pooled = [count / sum(whole) for count in whole]
    chances = [_mixed([seen[task.id].count(kind) for kind in kinds], pooled) for task in tasks]
    return Law(tuple(task.family for task in tasks), tuple(dict(kind) for kind in kinds), tuple(chances))


def _mixed(counts: Sequence[int], pooled: Sequence[float]) -> tuple[float, ...]:
    return tuple((count + _POOLED * share) / (sum(counts) + _POOLED) for count, share in zip(counts, pooled, strict=True))


def _measured(evaluated: Evaluated, rule: PolicyRule, candidate: str, like: str) -> Measured:
    found = evaluated.evidence(rule, candidate)
    if not isinstance(found, Measured):
        raise ConfigError(f"--like {like}: nothing to draw {rule.metric} of {candidate} from: {found}")
    return found


def _kinds_of(task: str, measured: Mapping[Metric, Measured]) -> Iterator[tuple[tuple[Metric, int], ...]]:
    """Values of all metrics of each trial that was observed."""
    for spans in zip(*(one.spans.get(task, ()) for one in measured.values()), strict=True):
        if all(low == high for low, high in spans):
            yield tuple((metric, low) for metric, (low, _) in zip(measured, spans, strict=True))


# -- how many it takes ---------------------------------------------------------------------------------------------------


def _enough(rules: Sequence[PolicyRule], law: Law, trials: int, alpha: float, now: Power, least: int) -> dict[str, Any]:
    """Numbers that reach the asked power, or why none does."""
    families = len(set(law.families))
    if not rules:
        return {"trials_needed": trials, "families_needed": families, "why_not": None}

    def by_trials(number: int) -> bool:
        return power(rules, law, number, alpha, _SEARCHED).passes >= POWER

    def by_families(number: int) -> bool:
        return power(rules, law.among(number), trials, alpha, _SEARCHED).passes >= POWER

    enough = now.passes >= POWER
    needed = _least(by_trials, least, trials) if enough else _least(by_trials, trials + 1, MOST_TRIALS)
    more = families if enough else _least(by_families, families + 1, _MOST_FAMILIES * families)
    return {"trials_needed": needed, "families_needed": more, "why_not": None if needed else _why_not(rules, law, alpha)}


def _least(reached: Any, low: int, high: int) -> int | None:
    """The least number from ``low`` to ``high`` that is enough, by doubling and then halving; None where ``high`` isn't."""
    step, below = low, low - 1
    while not reached(step):
        if step >= high:
            return None
        below, step = step, min(high, 2 * step)
    while step - below > max(1, step // 16):
        middle = (below + step) // 2
        below, step = (below, middle) if reached(middle) else (middle, step)
    return step


def _why_not(rules: Sequence[PolicyRule], law: Law, alpha: float) -> str:
    found = power(rules, law, MOST_TRIALS, alpha, _SEARCHED)
    share, rule = min(zip(found.by_rule, rules, strict=True), key=lambda pair: pair[0])
    families = len(set(law.families))
    reached = f"with {MOST_TRIALS} trials a task {rule.title!r} is shown of an equal candidate in {100 * share:.0f} % of gates"
    if rule.generalises_to == "task_population":
        return f"{reached}: {families} families can't show it; take more families, a wider bound, or over: these_tasks"
    return f"{reached}: its bound is beyond what such a candidate has, or too near"


# -- words ---------------------------------------------------------------------------------------------------------------


def policy_lines(document: Mapping[str, Any]) -> list[str]:
    """The document in plain words, for a terminal."""
    given = f"tasks as in {document['like']}" if document["like"] else STATED_WORDS
    chance = f"{100 * document['passes']:.0f} % of gates on a candidate as good as the baseline"
    lines = [f"policy {document['name'] or 'given':<16} PASS in {chance}"]
    lines += [f"  with {document['trials']} trials a task ({document['simulated']} simulated gates), if {given}"]
    lines += [f"  {rule['name']}: shown in {100 * rule['shown']:.0f} %" for rule in document["rules"]]
    lines += [f"  {name}: not simulated, taken to be met" for name in document["not_simulated"]]
    lines += [f"  {line}" for line in _needed_lines(document)]
    return lines + [f"! INVALID in any case: {line}" for line in document["refused"]]


def _needed_lines(document: Mapping[str, Any]) -> Iterator[str]:
    asked = f"{100 * document['asked']:.0f} %"
    if document["trials_needed"] is None:
        yield f"{asked} can't be reached with more trials: {document['why_not']}"
    else:
        yield f"{asked} takes {document['trials_needed']} trials a task"
    if document["families_needed"] and document["families_needed"] > document["families"]:
        yield f"{asked} takes about {document['families_needed']} families like these with {document['trials']} trials a task"
