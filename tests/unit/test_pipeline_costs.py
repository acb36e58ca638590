"""What an evaluation and its candidates took, from one row per request: nothing twice, nothing forgotten, unknown is not zero."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import evaluation
from crosspath.analysis.candidate_costs import Counted, candidate_cost, per_reply, percentiles
from crosspath.analysis.spend import Row, usages
from crosspath.pipeline.candidate_costs import candidate_costs, total_spend
from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import Attempt, CandidateCost, Facts, Fault, Judgement, Reply, Spend, Trial, Usage, Usages

MODEL = "openai/m"
"""Builders make baselines; here an endpoint is asked."""


def asked(facts: Facts, model: str = MODEL) -> Facts:
    """The same facts with replies of another model, at 0.001 USD each."""

    def changed(trial: Trial) -> Trial:
        reply = trial.reply and trial.reply.model_copy(update={"cost_usd": 0.001})
        return trial.model_copy(update={"reply": reply, "request": trial.request.model_copy(update={"model": model})})

    attempts = tuple(attempt if attempt.fault else attempt.model_copy(update={"cost_usd": 0.001}) for attempt in facts.attempts)
    return facts.model_copy(update={"trials": tuple(map(changed, facts.trials)), "attempts": attempts})


def judged(facts: Facts, judgement: Judgement) -> tuple[Spend, tuple[CandidateCost, ...]]:
    """Spend and costs."""
    return total_spend(facts), candidate_costs(FactIndex(facts, judgement.scores))


def failed(attempt: Attempt, kind: str = "server_error") -> Attempt:
    """An earlier attempt at the same request, which failed."""
    fault = Fault(boundary="model", type=kind, message="no", retryable=True)
    return attempt.model_copy(update={"number": 0, "fault": fault, "usage": None, "cost_usd": None})


def test_fresh_stored_and_failed_requests_are_kept_apart() -> None:
    """Six replies, two of them stored by an earlier evaluation, one had only at the second attempt: 4 fresh, 2 stored, 1 failed.

    https://github.com/promptfoo/promptfoo/issues/4673, https://github.com/promptfoo/promptfoo/pull/10417
    """
    made, judgement = evaluation(names=("oracle",))
    facts = asked(made)
    sent = facts.attempts[:4]
    spend, (cost,) = judged(facts.model_copy(update={"attempts": (failed(sent[0]), *sent)}), judgement)
    rows = {origin: found.rows for origin, found in spend.by_origin.items()}
    assert rows == {"fresh": 4, "retried": 1, "stored": 2}
    assert (spend.requests, spend.requests_failed, spend.replies, spend.replies_reused) == (5, 1, 6, 2)
    assert (spend.prompt_tokens, spend.completion_tokens) == (4 * 120, 4 * 14)
    assert spend.by_origin["fresh"].prompt_tokens == 4 * 120
    assert spend.by_origin["stored"].total_tokens == 2 * (120 + 14)
    assert cost.replies == 3
    assert sum(found.rows for origin, found in cost.by_origin.items() if origin != "retried") == 3


def test_usage_adds_up_over_sessions() -> None:
    """Half of the requests were sent by a second start: totals are those of all, and both starts are listed with their share.

    https://github.com/UKGovernmentBEIS/inspect_ai/issues/2628
    """
    made, judgement = evaluation(names=("oracle",))
    facts = asked(made)
    moved = tuple(attempt.model_copy(update={"session": 1 + place // 3}) for place, attempt in enumerate(facts.attempts))
    starts = ((100.0, None), (200.0, 260.0), (300.0, 301.0))
    spend, _ = judged(facts.model_copy(update={"attempts": moved, "sessions": starts}), judgement)
    assert spend.prompt_tokens == 6 * 120
    assert spend.sessions == 3
    assert [(one.number, one.requests, one.started_at, one.ended_at) for one in spend.by_session] == [
        (1, 3, 100.0, None),
        (2, 3, 200.0, 260.0),
        (3, 0, 300.0, 301.0),
    ]
    assert sum(one.usages.prompt_tokens or 0 for one in spend.by_session) == spend.prompt_tokens


def test_a_request_that_was_cut_off_is_listed_with_its_session() -> None:
    """Killed in flight: neither answered nor failed, its usage and cost are unknown and not zero."""
    made, judgement = evaluation(names=("oracle",))
    facts = asked(made)
    first, *rest = facts.attempts
    open_row = first.model_copy(update={"ended_at": None, "usage": None, "cost_usd": None})
    spend, _ = judged(facts.model_copy(update={"attempts": (open_row, *rest)}), judgement)
    assert spend.by_session[0].in_flight == 1
    assert (spend.by_origin["retried"].unknown_usage, spend.by_origin["retried"].unknown_cost) == (1, 1)
    assert spend.by_origin["retried"].cost_usd is None


@pytest.mark.parametrize(("kind", "unknown"), [("rate_limit", 0), ("server_error", 0), ("timeout", 1), ("connection", 1)])
def test_a_refusal_took_nothing_and_a_time_out_perhaps(kind: str, unknown: int) -> None:
    """What the server refused is known to be nothing; where nobody knows whether it worked, usage and cost are unknown."""
    made, judgement = evaluation(names=("oracle",))
    facts = asked(made)
    spend, _ = judged(facts.model_copy(update={"attempts": (failed(facts.attempts[0], kind), *facts.attempts)}), judgement)
    assert (spend.by_origin["retried"].unknown_usage, spend.by_origin["retried"].unknown_cost) == (unknown, unknown)


def test_a_candidate_counts_its_own_replies_whoever_paid() -> None:
    """Two candidates with the same replies each count all of them; the evaluation counts them once."""
    made, judgement = evaluation(names=("adaptive",))
    facts = asked(made)
    twin = facts.lock.candidates[0].model_copy(update={"name": "twin"})
    cells = tuple(cell.model_copy(update={"candidate": "twin"}) for cell in facts.cells)
    lock = facts.lock.model_copy(update={"candidates": (*facts.lock.candidates, twin)})
    spend, costs = judged(facts.model_copy(update={"lock": lock, "cells": (*facts.cells, *cells)}), judgement)
    assert [cost.by_origin["fresh"].rows for cost in costs] == [3, 3]
    assert spend.by_origin["fresh"].rows == 6
    first, second = costs
    assert first.model_copy(update={"candidate": "twin"}) == second
    assert (first.replies, first.scored, first.passed) == (3, 3, 3)
    assert first.tokens_per_pass == pytest.approx(120 + 14)
    assert first.usd_per_pass == pytest.approx(0.001)
    assert first.latency_s == {"p50": 0.8, "p90": 0.8, "p99": 0.8, "max": 0.8}


def test_baselines_are_local_and_cost_an_unknown_amount() -> None:
    """A baseline or recording is asked for nothing: its tokens are known where recorded, its price never, also in an evaluation
    that took the replies from an earlier one."""
    made, judgement = evaluation(names=("adaptive",))
    local = asked(made, "recorded/replies.jsonl")
    lookups = tuple(attempt.model_copy(update={"local": True, "cost_usd": 0.0}) for attempt in local.attempts)
    for facts in (local.model_copy(update={"attempts": lookups}), local.model_copy(update={"attempts": ()})):
        spend, (cost,) = judged(facts, judgement)
        assert {origin: found.rows for origin, found in spend.by_origin.items()} == {"local": 6}
        assert (cost.counted.unknown_cost, cost.usd_per_pass) == (3, None)
        assert cost.tokens_per_pass == pytest.approx(134)


def test_a_price_that_nobody_knows_stays_unknown() -> None:
    """No price for the model: the cost of a right answer is unknown and the number of replies without one is there; tokens stand.

    https://github.com/BerriAI/litellm/issues/10155, https://github.com/BerriAI/litellm/issues/13790
    """
    made, judgement = evaluation(names=("adaptive",))
    facts = asked(made)
    trials = tuple(
        trial.model_copy(update={"reply": trial.reply and trial.reply.model_copy(update={"cost_usd": None})})
        for trial in facts.trials
    )
    attempts = tuple(attempt.model_copy(update={"cost_usd": None}) for attempt in facts.attempts)
    spend, (cost,) = judged(facts.model_copy(update={"trials": trials, "attempts": attempts}), judgement)
    assert spend.cost_usd is None
    assert (spend.by_origin["fresh"].cost_usd, spend.by_origin["fresh"].unknown_cost) == (None, 6)
    assert (cost.usd_per_pass, cost.counted.unknown_cost) == (None, 3)
    assert cost.tokens_per_pass is not None


def test_usage_that_no_server_sent_stays_unknown() -> None:
    """One reply of three without usage: its tokens are counted as unknown, and a right answer takes an unknown number of them.

    https://github.com/BerriAI/litellm/issues/8349, https://github.com/BerriAI/litellm/issues/11915
    """
    replies = [
        Counted(Reply(text="x", usage=Usage(prompt_tokens=10, completion_tokens=5)), True, False),
        Counted(Reply(text="x", usage=Usage(prompt_tokens=10)), True, False),
        Counted(Reply(text="x"), False, False),
    ]
    cost = candidate_cost("c", replies, [])
    assert (cost.counted.prompt_tokens, cost.counted.completion_tokens, cost.counted.unknown_usage) == (20, 5, 2)
    assert cost.tokens_per_pass is None
    assert (cost.latency_s, cost.latency_known) == ({}, 0)


def test_replies_without_a_verdict_are_in_no_cost_per_pass() -> None:
    """Where the sandbox lost half of the verdicts, a right answer is no dearer."""
    one = Reply(text="x", usage=Usage(prompt_tokens=10, completion_tokens=5), cost_usd=0.5)
    cost = candidate_cost("c", [Counted(one, passed, False) for passed in (True, False, None, None)], [])
    assert (cost.replies, cost.scored, cost.passed) == (4, 2, 1)
    assert (cost.usd_per_pass, cost.tokens_per_pass) == (1.0, 30.0)
    assert per_reply(cost.counted.total_usd, cost.counted) == 0.5


def test_nothing_right_has_no_price() -> None:
    """Without a pass there is no cost per pass: neither zero nor infinite."""
    cost = candidate_cost("c", [Counted(Reply(usage=Usage(prompt_tokens=1, completion_tokens=1), cost_usd=1), False, False)], [])
    assert (cost.usd_per_pass, cost.tokens_per_pass) == (None, None)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=200))
def test_percentiles_are_latencies_that_occurred(latencies: list[float]) -> None:
    """Each percentile is one of the latencies, at least so many per cent do not exceed it, and order plays no part."""
    found = percentiles(latencies)
    assert found == percentiles(sorted(latencies, reverse=True))
    for name, value in found.items():
        share = 1.0 if name == "max" else int(name[1:]) / 100
        assert value in latencies
        assert sum(one <= value for one in latencies) >= share * len(latencies) - 1e-9
        assert sum(one < value for one in latencies) < share * len(latencies) + 1e-9


def test_parts_of_usage_are_unknown_where_no_reply_tells_them() -> None:
    """Reasoning and cached tokens add up over the replies that tell them; None where none does."""
    told = Usage(prompt_tokens=10, completion_tokens=5, reasoning_tokens=4)
    found = usages([Row("fresh", told, 1.0), Row("fresh", Usage(prompt_tokens=1, completion_tokens=1), 1.0)])
    assert (found.reasoning_tokens, found.cached_tokens, found.unknown_usage, found.total_tokens) == (4, None, 0, 17)
    assert usages([]) == Usages()
    assert Usages().total_usd is None
