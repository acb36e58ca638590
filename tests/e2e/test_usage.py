"""Usage, cost and repeats over a whole evaluation that was stopped half-way: a real server, one row per request."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails

TASKS, TRIALS = 5, 4
PLANNED = TASKS * TRIALS
FIRST_LIMIT = 10
FAILS_ONCE = 3
"""Number of the one request that is answered with an error."""


class Stopped(NamedTuple):
    """The evaluation when its limit was reached, when it was finished, and its replies through another path."""

    first: Evaluation
    last: Evaluation
    replayed: Evaluation
    requests: int


def spec_of(directory: Path, url: str, **further: Any) -> dict[str, Any]:
    """A few tasks that any reply fails or passes alike."""
    same = {"expected": {"f": "x"}, "oracle": "printf x > f"}
    tasks = [
        {"id": f"t{number}", "family": f"f{number % 3}", "instruction": f"Task {number}.", **same} for number in range(TASKS)
    ]
    (directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return {
        "name": "usage",
        "candidates": {"own": {"model": "m"}},
        "models": {"m": {"model": "openai/no-such-model", "api_base": url, "api_key_env": "KEY_OF_TEST"}},
        "tasks": {"files": [str(directory / "tasks.jsonl")]},
        "retries": {"max_attempts": 2, "max_wait_s": 0},
        "executor": {"replay_workers": 2},
        **further,
    }


def counting(received: Received) -> Turn:
    """A reply that no other request gets; every other one is right."""
    if received.number == FAILS_ONCE:
        return fails(500)
    return answer(f"printf {'x' if received.number % 2 else 'y'} > f # {received.number}", usage=(10, 5))


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stopped]:
    """Stopped by its limit, and gone on with."""
    directory = tmp_path_factory.mktemp("usage")
    with pytest.MonkeyPatch.context() as patch, OpenAIServer(counting) as server:
        patch.setenv("KEY_OF_TEST", "sk-test-0123456789")
        spec, store = spec_of(directory, server.url, trials=TRIALS), directory / "store"
        first = crosspath.evaluate({**spec, "limits": {"max_requests": FIRST_LIMIT}}, store=store, track=False)
        last = crosspath.evaluate(spec, store=store, track=False)
        requests = len(server.requests)
        replayed = crosspath.replay(last.id, ["nested-shell"], store=store, executor="local", track=False)
        assert len(server.requests) == requests
        yield Stopped(first, last, replayed, requests)


def test_usage_adds_up_over_a_restart(stopped: Stopped) -> None:
    """Stopped half-way and gone on with: tokens are those of all calls, and both sessions stand with their own share.

    https://github.com/UKGovernmentBEIS/inspect_ai/issues/2628
    """
    spend = stopped.last.judgement.spend
    assert stopped.last.id == stopped.first.id
    assert stopped.first.judgement.spend.requests == FIRST_LIMIT
    assert (spend.replies, spend.prompt_tokens, spend.completion_tokens) == (PLANNED, PLANNED * 10, PLANNED * 5)
    assert [one.requests for one in spend.by_session] == [FIRST_LIMIT, PLANNED + 1 - FIRST_LIMIT]
    assert all(one.started_at is not None and one.ended_at is not None for one in spend.by_session)
    assert "By session" in stopped.last.report()


def test_repeats_keep_their_own_replies(stopped: Stopped) -> None:
    """Each of a task's trials has a stored reply of its own, also after the restart, and so the report says.

    https://github.com/EleutherAI/lm-evaluation-harness/pull/3715, https://github.com/promptfoo/promptfoo/issues/1431
    """
    texts = [trial.reply.text for trial in stopped.last.facts.trials if trial.reply]
    assert len(texts) == len(set(texts)) == PLANNED
    (reliability,) = stopped.last.judgement.reliability
    assert reliability.distinct == {TRIALS: TASKS}
    assert reliability.distinct_mean == TRIALS
    assert sum(passed for passed, _ in reliability.by_trial.values()) == sum(
        score.passed for score in stopped.last.judgement.scores
    )
    assert list(stopped.last.reliability["k"]) == [1, 2, 3, 4]


def test_each_attempt_is_counted_once_by_where_it_came_from(stopped: Stopped) -> None:
    """A failed attempt and its successful repetition are one failed and one fresh row; replies through another path are stored
    ones that cost nothing again, and still say what a right answer takes.

    https://github.com/promptfoo/promptfoo/issues/4673, https://github.com/promptfoo/promptfoo/pull/10417
    """
    spend = stopped.last.judgement.spend
    assert stopped.requests == PLANNED + 1
    assert {origin: usages.rows for origin, usages in spend.by_origin.items()} == {"fresh": PLANNED, "retried": 1}
    assert (spend.requests, spend.requests_failed) == (PLANNED + 1, 1)
    again = stopped.replayed.judgement
    assert {origin: usages.rows for origin, usages in again.spend.by_origin.items()} == {"stored": PLANNED}
    assert (again.spend.requests, again.spend.replies_reused) == (0, PLANNED)
    own = stopped.last.judgement.costs[0]
    assert (own.replies, own.counted.prompt_tokens) == (PLANNED, PLANNED * 10)
    assert own.tokens_per_pass == pytest.approx(PLANNED * 15 / own.passed)
    assert again.costs[0].counted == own.counted


def test_a_cost_that_nobody_knows_is_not_zero(stopped: Stopped) -> None:
    """A model without a price: unknown for each reply, in the frame, and in the report; nothing else is lost by it.

    https://github.com/BerriAI/litellm/issues/10155, https://github.com/BerriAI/litellm/issues/8017
    """
    spend, (cost,) = stopped.last.judgement.spend, stopped.last.judgement.costs
    assert (spend.cost_usd, spend.by_origin["fresh"].unknown_cost) == (None, PLANNED)
    assert (cost.usd_per_pass, cost.counted.unknown_cost) == (None, PLANNED)
    assert list(stopped.last.costs["usd_per_pass"]) == [None]
    assert "and an unknown cost" in _cost_line(stopped.last)


def _cost_line(evaluation: Evaluation) -> str:
    from crosspath.reports.cost_tables import cost_lines

    (line,) = cost_lines(evaluation.judgement)
    return line


def test_usage_that_the_server_omits_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One reply without usage among others: counted as unknown, not as 0 tokens, and no total pretends to know it.

    https://github.com/BerriAI/litellm/issues/8349, https://github.com/BerriAI/litellm/issues/11915,
    https://github.com/BerriAI/litellm/issues/5632
    """
    monkeypatch.setenv("KEY_OF_TEST", "sk-test-0123456789")

    def script(received: Received) -> Turn:
        return answer("printf x > f", usage=None if received.number == 2 else (10, 5))

    with OpenAIServer(script) as server:
        found = crosspath.evaluate(spec_of(tmp_path, server.url), store=tmp_path / "store", track=False)
    fresh, (cost,) = found.judgement.spend.by_origin["fresh"], found.judgement.costs
    assert (fresh.rows, fresh.prompt_tokens, fresh.unknown_usage) == (TASKS, (TASKS - 1) * 10, 1)
    assert (cost.tokens_per_pass, cost.passed, cost.counted.unknown_usage) == (None, TASKS, 1)
    assert "(unknown for 1 reply)" in found.report()
