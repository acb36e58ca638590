"""Plans and their costs, before a cent is spent."""

import json
from pathlib import Path

import pytest

from crosspath.app.costs import cost_sentence, expected_usd, money, plan_costs
from crosspath.app.planning import plan_document, plan_text
from crosspath.app.readiness import beforehand, missing_keys, resolved_spec
from crosspath.catalogue import catalogue_tasks

PAID = """\
models:
  m:
    model: openai/zork
    api_base: http://127.0.0.1:9/v1
    api_key_env: CROSSPATH_TEST_NO_KEY
    prices: {input_usd_per_mtok: 1, output_usd_per_mtok: 10}
defaults: {contract: nested-shell, transport: nested-shell, operating_point: {max_tokens: 1000}}
tasks: {families: [exact-file]}
trials: 3
"""


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return path


def test_paid_plan_counts_and_prices(tmp_path: Path) -> None:
    """Requests are tasks x trials x contracts; the expected cost lies below the worst, which takes every reply at its longest."""
    plan = plan_document(written(tmp_path, PAID))
    assert (plan["tasks"], plan["requests"], plan["local_requests"]) == (4, 24, 0)
    assert plan["replays"] == 4 * 3 * 5
    assert 0 < plan["expected_cost_usd"] < plan["worst_cost_usd"]
    assert plan["worst_cost_usd"] > 24 * 1000 * 10 / 1e6


def test_plan_says_how_many_tasks_can_t_be_done(tmp_path: Path) -> None:
    """They are asked and replayed like the others, and counted apart."""
    plan = plan_document(written(tmp_path, PAID.replace("[exact-file]", "[exact-file, infeasible]").replace("s: 3", "s: 1")))
    impossible = plan["infeasible_tasks"]
    assert impossible == plan["tasks"] - 4 > 0
    assert f"{plan['tasks']} tasks ({impossible} that can't be done) x 1 trials" in plan_text(plan)
    assert plan["requests"] == 2 * plan["tasks"]


def test_plan_warns_about_limits_and_keys(tmp_path: Path) -> None:
    """Limits below the plan and a key that is not set are said before the start; the plan itself needs neither."""
    plan = plan_document(written(tmp_path, PAID + "limits: {max_cost_usd: 0.001, max_requests: 2, max_tokens: 10}\n"))
    text = "\n".join(plan["warnings"])
    for words in ("max_requests 2", "max_cost_usd 0.001", "max_tokens 10", "CROSSPATH_TEST_NO_KEY"):
        assert words in text


def test_plan_of_baselines_costs_nothing(tmp_path: Path) -> None:
    """Baselines send nothing, need no limit, and the text says so without a warning."""
    plan = plan_document(written(tmp_path, "candidates: {a: baseline/oracle}\n"))
    assert (plan["requests"], plan["local_requests"], plan["expected_cost_usd"]) == (0, len(catalogue_tasks()), 0)
    assert plan["warnings"] == []
    assert "cost                    nothing" in plan_text(plan)


def test_plan_without_a_price_is_honest(tmp_path: Path) -> None:
    """What has no price has no cost, rather than a cost of zero."""
    text = PAID.replace("    prices: {input_usd_per_mtok: 1, output_usd_per_mtok: 10}\n", "")
    plan = plan_document(written(tmp_path, text))
    assert plan["worst_cost_usd"] is None
    assert plan["expected_cost_usd"] is None
    assert "unknown: no price for openai/zork" in plan_text(plan)
    assert "not known" in cost_sentence(resolved_spec(written(tmp_path, text)))


def test_run_says_what_it_will_cost(tmp_path: Path) -> None:
    """Before a paid run there is one sentence with requests, expected and worst cost and the limit; before a free one none."""
    sentence = cost_sentence(resolved_spec(written(tmp_path, PAID + "limits: {max_cost_usd: 2}\n")))
    assert sentence.startswith("up to 24 requests: about 0.")
    assert sentence.endswith("USD at worst, stopping at 2.00 USD")
    assert cost_sentence(resolved_spec({"candidates": {"a": "baseline/oracle"}})) == ""


@pytest.mark.parametrize(
    ("usd", "text"), [(0, "0.00"), (1e-05, "0.000010"), (0.0123, "0.012"), (0.5, "0.50"), (2, "2.00"), (1234.567, "1234.57")]
)
def test_money_is_written_plainly(usd: float, text: str) -> None:
    """Amounts have no exponent, however small: cents, or two digits that count."""
    assert money(usd) == text


def test_plan_counts_only_answers_that_are_there(tmp_path: Path) -> None:
    """Of eight recorded requests one has an answer; a line that no request takes, and a contract about another path, are said."""
    lines = [
        {"model": "m", "task": "exact-file/word", "contract": "raw", "reply": "true"},
        {"model": "m", "task": "exact-file/wrod", "contract": "raw", "reply": "true"},
    ]
    (tmp_path / "r.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    text = (
        "tasks: {families: [exact-file]}\n"
        "candidates: {m: {model: recorded/r.jsonl, contract: nested-shell, transport: script-file}}\n"
    )
    plan = plan_document(written(tmp_path, text))
    assert (plan["local_requests"], plan["local_requests_without_answer"]) == (1, 7)
    assert "and 1 answered by baselines or recordings" in plan_text(plan)
    warnings = "\n".join(plan["warnings"])
    assert "exact-file/wrod" in warnings
    assert "nested-shell" in warnings
    assert list(beforehand(resolved_spec(tmp_path / "spec.yaml"))) == plan["warnings"][:2]


def test_duration_counts_the_start(tmp_path: Path) -> None:
    """Even one replay takes the start of the workers and of what judges and logs; local workers start sooner."""
    text = "tasks: {families: [exact-file], tiers: [0]}\ncandidates: {a: baseline/oracle}\n"
    on_ray = plan_document(written(tmp_path, text))["rough_duration_s"]
    local = plan_document(written(tmp_path, text + "executor: local\n"))["rough_duration_s"]
    assert 10 < local < on_ray < 30


def test_gpu_hours_have_a_price(tmp_path: Path) -> None:
    """A model that is paid by the hour costs time."""
    text = PAID.replace("{input_usd_per_mtok: 1, output_usd_per_mtok: 10}", "{gpu_usd_per_hour: 36}")
    resolved = resolved_spec(written(tmp_path, text))
    assert expected_usd(resolved.plan.requests[0]) == pytest.approx(0.03)
    assert plan_costs(resolved, cores=2).unpriced == ()


def test_keys_are_only_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key counts as there when its variable holds something."""
    resolved = resolved_spec(written(tmp_path, PAID))
    assert missing_keys(resolved) == ("CROSSPATH_TEST_NO_KEY",)
    monkeypatch.setenv("CROSSPATH_TEST_NO_KEY", "secret")
    assert missing_keys(resolved) == ()
    assert "secret" not in plan_text(plan_document(written(tmp_path, PAID)))
