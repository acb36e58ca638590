"""``crosspath plan``: what a spec will do, cost at worst and be able to show, as one document and as text."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from crosspath.app import heldout
from crosspath.app.costs import TYPICAL_REPLY_TOKENS, PlanCosts, money, plan_costs
from crosspath.app.evaluation import Evaluation
from crosspath.app.plan_power import policy_document, policy_lines
from crosspath.app.plan_precision import precision_document, precision_lines
from crosspath.app.plan_watch import like_tasks, watch_document, watch_lines
from crosspath.app.readiness import check_prices, check_suites, missing_keys, resolved_spec
from crosspath.app.resolve import Resolved
from crosspath.errors import ConfigError
from crosspath.pipeline.answers import provider, unused_lines
from crosspath.pipeline.budget import ASSUMED_OUTPUT_TOKENS
from crosspath.pipeline.clean_ups import most_replays
from crosspath.pipeline.plan import Plan, undisclosed
from crosspath.pipeline.wording_groups import wording_groups
from crosspath.types import Policy


def plan_document(
    spec: Path, like: Evaluation | None = None, policy: Policy | None = None, candidate: str | None = None
) -> dict[str, Any]:
    """Requests, replays, worst-case cost, rough duration, all cells, and how precise the effects will be.

    ``like``: an earlier evaluation whose effects are expected to vary as much again. ``policy``: how likely it lets an equal
    candidate pass.

    Raises:
        ConfigError: the spec is wrong, or nothing is known of how the effects of ``like`` vary.
    """
    resolved = resolved_spec(spec)
    check_prices(resolved)
    check_suites(resolved)
    costs = plan_costs(resolved, cores=resolved.spec.executor.replay_workers or len(os.sched_getaffinity(0)))
    return {
        "name": resolved.spec.name,
        "kind": resolved.spec.kind,
        "tasks": len(resolved.plan.tasks),
        "infeasible_tasks": sum(task.infeasible is not None for task in resolved.plan.tasks.values()),
        "heldout_tasks": sum(task.partition == "heldout" for task in resolved.plan.tasks.values()),
        "trials": resolved.plan.trials,
        "requests": costs.requests,
        "local_requests": costs.local_requests,
        "local_requests_without_answer": costs.unanswered,
        "replays": costs.replays,
        "replays_of_another_clean_up_at_most": most_replays(resolved.plan),
        "expected_cost_usd": None if costs.unpriced else round(costs.expected_usd, 6),
        "worst_cost_usd": None if costs.unpriced else round(costs.worst.cost_usd, 6),
        "worst_tokens": costs.worst.tokens,
        "models_without_price": list(costs.unpriced),
        "rough_duration_s": round(costs.duration_s, 1),
        "precision": _precision(resolved.plan, like, asked=policy is None and resolved.spec.deployment is None),
        "policy": policy_document(policy, resolved.plan, like, candidate) if policy else None,
        "watch": watch_document(resolved, like_tasks(like, candidate, resolved)),
        "limits": resolved.spec.limits.model_dump(mode="json"),
        "warnings": list(_warnings(resolved, costs)),
        "cells": [_cell(resolved, cell) for cell in resolved.plan.cells],
        "not_applicable": dict(resolved.plan.not_applicable),
        "wordings": list(_wordings(resolved.plan)),
    }


def _precision(plan: Plan, like: Evaluation | None, asked: bool) -> dict[str, Any]:
    """As in ``like``; where that has no effect that varies and is there for the policy, by stated spreads."""
    try:
        return precision_document(plan, like)
    except ConfigError:
        if asked:
            raise
        return precision_document(plan)


def _wordings(plan: Plan) -> Iterator[dict[str, Any]]:
    """Of each group of wordings: the candidates, the requests that they share, and those that each wording takes for itself."""
    for group in wording_groups(plan.candidates, plan.contracts):
        first, *_ = (candidate.name for candidate, _ in group.values())
        untold = {cell.generation.digest for cell in plan.cells if cell.candidate == first and cell.told == "R"}
        each = len(plan.tasks) * plan.trials
        yield {
            "contracts": list(group),
            "candidates": [candidate.name for candidate, _ in group.values()],
            "requests_shared": len(untold) * each,
            "requests_each": each,
        }


def _cell(resolved: Resolved, cell: Any) -> dict[str, Any]:
    return {
        "candidate": cell.candidate,
        "cell": "control" if cell.control else cell.name,
        "model": cell.generation.model.name,
        "contract": cell.contract,
        "request_style": cell.generation.request_style,
        "transport": cell.transport,
        "survivable": resolved.plan.paths[cell.path].survivable,
    }


def _warnings(resolved: Resolved, costs: PlanCosts) -> list[str]:
    found = []
    limits = resolved.spec.limits
    if limits.max_requests is not None and costs.requests > limits.max_requests:
        found.append(
            f"max_requests {limits.max_requests} is below the {costs.requests} requests of the plan: some will be missing"
        )
    if limits.max_cost_usd is not None and costs.worst.cost_usd > limits.max_cost_usd:
        found.append(
            f"at worst it would cost {money(costs.worst.cost_usd)} USD, above max_cost_usd {money(limits.max_cost_usd)}:"
            " it may stop early"
        )
    if limits.max_tokens is not None and costs.worst.tokens > limits.max_tokens:
        found.append(
            f"at worst it would take {costs.worst.tokens} tokens, above max_tokens {limits.max_tokens}: it may stop early"
        )
    paid = [request for request in resolved.plan.requests if provider(request.model) is None]
    if any(request.params.get("max_tokens") is None for request in paid):
        found.append(f"some requests set no max_tokens; {ASSUMED_OUTPUT_TOKENS} are assumed at worst")
    found += [f"the environment variable {name} is not set: `run` will refuse to start" for name in missing_keys(resolved)]
    found += heldout.notes(resolved.spec.tasks, resolved.base, tuple(resolved.plan.tasks.values()))
    found += [*undisclosed(resolved.plan), *unused_lines(resolved.plan, resolved.recordings)]
    if costs.unanswered:
        found.append(f"{costs.unanswered} baseline or recorded requests have no answer: they will be missing, not wrong")
    return found


def plan_text(document: dict[str, Any]) -> str:
    """The document in plain words."""
    lines = [
        f"{document['name']}: {document['tasks']} tasks{_of_which(document)} x {document['trials']} trials,"
        f" {len({cell['candidate'] for cell in document['cells']})} candidates",
        f"requests to endpoints   {document['requests']}"
        f"  (and {document['local_requests']} answered by baselines or recordings, at no cost)",
        f"sandboxed replays       {document['replays']}{_of_another_clean_up(document)}",
        f"cost                    {_cost(document)}",
        f"tokens at worst         {document['worst_tokens']}",
        f"duration                about {_duration(document['rough_duration_s'])}",
        *(() if _one_cell_watched(document) else precision_lines(document["precision"])),
        *(policy_lines(document["policy"]) if document["policy"] else ()),
        *watch_lines(document["watch"]),
        "",
        "cells (told / done):",
    ]
    for cell in document["cells"]:
        asked = "" if cell["request_style"] == "plain" else f", asked {cell['request_style']}"
        told = f"{cell['model']} told {cell['contract']}{asked}, done {cell['transport']}"
        lines.append(f"  {cell['candidate']}: {cell['cell']}  {told}")
    lines += [f"  {name}: not applicable, {reason}" for name, reason in document["not_applicable"].items()]
    lines += [
        f"{group['candidates'][0]}: {len(group['contracts'])} wordings, {group['requests_each']} requests each;"
        f" {group['requests_shared']} more are told nothing of the path and made once for all"
        for group in document["wordings"]
    ]
    lines += [f"! {warning}" for warning in document["warnings"]]
    return "\n".join(lines)


def _one_cell_watched(document: dict[str, Any]) -> bool:
    """A watch of one cell has no effect that could be precise."""
    return document["watch"] is not None and len(document["cells"]) == 1


def _of_another_clean_up(document: dict[str, Any]) -> str:
    further = document["replays_of_another_clean_up_at_most"]
    return f"  (and up to {further} more, of replies that another clean-up of code fences would change)" if further else ""


def _of_which(document: dict[str, Any]) -> str:
    parts = ((document["heldout_tasks"], "held-out"), (document["infeasible_tasks"], "that can't be done"))
    named = ", ".join(f"{number} {words}" for number, words in parts if number)
    return f" ({named})" if named else ""


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _cost(document: dict[str, Any]) -> str:
    if document["models_without_price"]:
        return f"unknown: no price for {', '.join(document['models_without_price'])} (give `prices` under `models`)"
    if not document["requests"]:
        return "nothing"
    about, worst = document["expected_cost_usd"], document["worst_cost_usd"]
    return f"about {money(about)} USD ({TYPICAL_REPLY_TOKENS} tokens a reply), {money(worst)} USD at worst"
