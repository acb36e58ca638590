"""Faults of evaluation tools that were reported in public: their small inputs, in one evaluation with real servers and a sandbox.

Which entry is shown by which test: ``tests/unit/test_public_faults.py``.
"""

import json
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import pytest

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.cli.entry import run
from crosspath.cli.finishing import document_of, exit_code
from crosspath.reports.card import card_markdown
from crosspath.reports.headlines import headlines
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails, spends_all
from crosspath.types import Cell, Replay, Score

PRICE = "costs $5"
RIGHT = f"printf %s '{PRICE}' > out.txt"
WRONG = "printf %s 'costs 5' > out.txt"
TASKS = 10
ODD = {
    "task-0": answer("sleep 600"),
    "task-1": answer(f"{RIGHT}; sleep 600"),
    "task-2": spends_all(16),
    "task-3": answer(f"cat > out.txt <<'EOF'\n{PRICE}"),
    "task-4": answer("sleep 600"),
    "task-5": answer(""),
}
"""What the third server answers; the rest is right."""
FURTHER: dict[str, dict[str, Any]] = {
    "task-0": {"timeout_s": 1},
    "task-1": {"timeout_s": 1},
    "task-4": {"timeout_s": 1},
    "task-3": {"compare": {"out.txt": "text"}},
    "task-5": {"fixture": {"out.txt": PRICE}},  # right from the start: whoever does nothing leaves it right
}


class Ended(NamedTuple):
    """The evaluation, where it is, how it is asked, and the servers."""

    evaluation: Evaluation
    store: Path
    spec: dict[str, Any]
    servers: dict[str, OpenAIServer]
    trouble: list[bool]
    """Empty it, and the servers are well."""


def asked(received: Received) -> str:
    """The task that a request is about."""
    return received.body["messages"][-1]["content"].partition("(")[2].rstrip(").")


def spec_of(directory: Path, servers: dict[str, OpenAIServer]) -> dict[str, Any]:
    """Three endpoints over ten tasks; the third one's replies also go through a script with a check behind them."""
    tasks = [
        {
            "id": f"task-{number}", "family": f"family-{number % 5}", "tier": 1, "expected": {"out.txt": PRICE}, "oracle": RIGHT,
            "instruction": f"Write the price into out.txt (task-{number}).", **FURTHER.get(f"task-{number}", {}),
        }
        for number in range(TASKS)
    ]  # fmt: skip
    (directory / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return {
        "name": "faults",
        "models": {
            name: {"model": "openai/m-2024", "api_base": server.url, "api_key_env": "KEY_OF_TEST"}
            for name, server in servers.items()
        },
        "candidates": {"a": {"model": "a"}, "b": {"model": "b"}, "c": {"model": "c", "transport": "checked"}},
        "transports": {"checked": [{"layer": "suffix", "text": "\ntest -f out.txt || exit 9\n"}, "script-file"]},
        "tasks": {"files": [str(directory / "tasks.jsonl")]},
        "retries": {"max_attempts": 2, "max_wait_s": 0},
        "executor": {"kind": "local", "replay_workers": 2},
    }


@pytest.fixture(scope="module")
def ended(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ended]:
    """An evaluation whose first server loses three of ten trials, whose second one loses four, and whose third one is odd."""
    directory, trouble = tmp_path_factory.mktemp("faults"), [True]

    def first(received: Received) -> Turn:
        if trouble and asked(received) in ("task-0", "task-1", "task-2"):
            return fails(500)
        return answer(WRONG if asked(received) in ("task-3", "task-4") else RIGHT, model="default-v2")

    def second(received: Received) -> Turn:
        number = int(asked(received).removeprefix("task-"))
        if trouble and number < 4:
            return fails(529)
        return answer(RIGHT, model="m-2024-01-01" if number < 7 else "m-2024-06-01")

    def third(received: Received) -> Turn:
        return ODD.get(asked(received), answer(RIGHT, model="m-2024"))

    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("KEY_OF_TEST", "sk-test-0123456789")
        servers = {name: stack.enter_context(OpenAIServer(one)) for name, one in (("a", first), ("b", second), ("c", third))}
        spec = spec_of(directory, servers)
        found = crosspath.evaluate(spec, store=directory / "store", track=False)
        yield Ended(found, directory / "store", spec, servers, trouble)


def cell_of(evaluation: Evaluation, candidate: str, name: str = "RR") -> Cell:
    cell = evaluation.decomposition(candidate).cell(name)
    assert cell is not None
    return cell


def replayed(evaluation: Evaluation, task: str, name: str) -> tuple[Score, Replay]:
    """The third candidate's first replay of a task in one cell, and its score."""
    cell = next(cell for cell in evaluation.facts.cells if (cell.candidate, cell.name, cell.control) == ("c", name, False))
    pairs = zip(evaluation.judgement.scores, evaluation.facts.replays, strict=True)
    return next(
        (score, replay)
        for score, replay in pairs
        if (replay.key.trial.generation, replay.key.trial.task) == (cell.generation.digest, task)
        and (replay.key.path, replay.key.encoded, replay.key.repeat) == (cell.path, False, 0)
    )


def test_lost_trials_stand_beside_every_rate(ended: Ended) -> None:
    """Three of ten trials end in an error: 5 of 10 attempted and 5 of 7 observed with 3 missing, in the record, the report, the
    summary and the first sentence; never 71 % alone, and the exit code says that something is missing.

    https://github.com/UKGovernmentBEIS/inspect_ai/pull/3781, https://github.com/UKGovernmentBEIS/inspect_ai/issues/2914
    """
    evaluation, cell = ended.evaluation, cell_of(ended.evaluation, "a")
    assert (cell.planned, cell.scored, cell.passed, cell.faults) == (10, 7, 5, 3)
    assert (cell.rate.worst, cell.rate.best) == (0.5, 0.8)
    assert "5 of 7 scored (10 attempted, 3 faults)" in evaluation.summary()
    report = evaluation.report()
    assert "5 of 7 scored (10 attempted, 3 faults)" in report
    (sentence,) = [one.sentence for one in headlines(evaluation.facts, evaluation.judgement) if one.candidate == "a"]
    assert sentence == "a gets 5 of 10 tasks right as deployed: 2 are lost to the model and 3 to the infrastructure."
    assert sentence in report
    assert (evaluation.facts.head.status, exit_code(evaluation)) == ("stopped", 5)


def test_an_error_rate_stands_beside_the_score(ended: Ended) -> None:
    """Four of ten requests answered with 529: no score of -1 and none filtered out, the evaluation is not finished, and both the
    number and the reason are said.

    https://github.com/instructlab/eval/issues/39
    """
    cell = cell_of(ended.evaluation, "b")
    assert (cell.planned, cell.scored, cell.passed, cell.causes) == (10, 6, 6, {"fault:server_error": 4})
    (warning,) = [line for line in ended.evaluation.judgement.warnings if "have no reply" in line]
    assert warning.startswith("7 trials have no reply (server_error 7: status 500")
    assert warning.endswith("they are missing, not wrong.")


def test_who_lacks_trials_does_not_win(ended: Ended) -> None:
    """Two candidates are compared over the tasks that both observed, and whoever lacks trials is not ranked without that being
    said beside the number and above the report.

    https://github.com/vibrantlabsai/ragas/issues/3028, https://github.com/vibrantlabsai/ragas/pull/2832,
    https://github.com/inworld-ai/open-tts-eval/issues/3
    """
    pair = next(one for one in ended.evaluation.judgement.comparisons if (one.a, one.b) == ("a", "b"))
    assert (pair.difference.n, pair.difference.missing) == (6, 4)
    assert pair.warning
    assert f"WARNING: {pair.warning}." in ended.evaluation.summary()
    assert pair.difference.worst is not None
    assert pair.difference.worst <= 0


def _refuse(name: str) -> NoReturn:
    raise AssertionError(f"{name} in JSON")


def test_one_lost_row_makes_no_number_undefined(ended: Ended, capsys: pytest.CaptureFixture[str]) -> None:
    """With rows missing the JSON of `report` is strict, no number in it is NaN, and rates are over what was observed.

    https://github.com/deepset-ai/haystack/pull/11510
    """
    assert run(["report", ended.evaluation.id, "--store", str(ended.store), "--json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=_refuse)
    rates = {one["candidate"]: one["cells"][0]["rate"] for one in found["decompositions"]}
    assert (rates["a"]["value"], rates["a"]["n"], rates["a"]["missing"]) == (pytest.approx(5 / 7), 7, 3)
    json.dumps(document_of(ended.evaluation), allow_nan=False)


def test_a_budget_that_was_thought_away_is_no_wrong_command(ended: Ended) -> None:
    """Empty content with all tokens spent on reasoning is `truncated`, lost to the model, asked once and never executed.

    https://github.com/UKGovernmentBEIS/inspect_ai/issues/5467,
    https://github.com/EleutherAI/lm-evaluation-harness/issues/3244
    """
    score, replay = replayed(ended.evaluation, "task-2", "RR")
    assert (score.passed, score.cause, replay.delivery.actions) == (False, "truncated", ())
    assert sum(asked(received) == "task-2" for received in ended.servers["c"].requests) == 1


def test_a_time_out_with_a_right_state_is_two_facts(ended: Ended) -> None:
    """The file is right and the command never ends: the state passes, the path's own report is a time-out, and both are told.

    https://github.com/hud-evals/hud-python/pull/526, https://github.com/fw-ai/cookbook/pull/692
    """
    score, replay = replayed(ended.evaluation, "task-1", "RR")
    assert (score.state_ok, score.reported_ok, score.passed, score.false_alarm) == (True, False, True, "timeout")
    assert replay.execution is not None
    assert replay.execution.results[0].timed_out
    assert cell_of(ended.evaluation, "c").alarm_kinds["timeout"] == 1
    assert "1 time-out" in ended.evaluation.report()


def test_time_outs_are_counted_and_named(ended: Ended) -> None:
    """Two of ten replies run into the limit: the report counts them as a cause and names their tasks.

    https://github.com/OpenHands/benchmarks/issues/202
    """
    cell = cell_of(ended.evaluation, "c")
    assert cell.causes["timeout"] == 2
    tasks = {row["task"] for row in document_of(ended.evaluation)["failures"] if row["cause"] == "timeout"}
    assert tasks == {"task-0", "task-4"}
    report = ended.evaluation.report()
    assert all(task in report for task in tasks)
    assert "timeout" in report


def test_a_check_that_was_swallowed_is_no_success(ended: Ended) -> None:
    """A here-document without an end swallows the check that the script has behind the reply: the path reports success, the final
    state is wrong, and that is told as a silent wrong. Nothing executed is no pass either, though the state is right.

    https://github.com/terrylica/cc-skills/issues/113
    """
    score, _ = replayed(ended.evaluation, "task-3", "RR")
    assert score.passed
    swallowed, replay = replayed(ended.evaluation, "task-3", "RN")
    assert replay.execution is not None
    assert replay.execution.results[0].exit_code == 0
    assert (swallowed.passed, swallowed.silent_wrong) == (False, True)
    idle, nothing = replayed(ended.evaluation, "task-5", "RR")
    assert (idle.state_ok, idle.passed, idle.cause) == (True, False, "empty")
    assert nothing.execution is None or not nothing.execution.results


def test_another_model_than_asked_is_told(ended: Ended) -> None:
    """A server that answers as another model, and one that changes in the middle: both are warnings, and the names stand with
    their numbers of replies on the card.

    https://github.com/google-gemini/gemini-cli/issues/28859, https://github.com/icebear0828/codex-proxy/issues/660,
    https://github.com/googleapis/python-genai/issues/2271
    """
    facts = ended.evaluation.facts
    assert set(facts.lock.served_models["openai/m-2024"]) >= {"default-v2", "m-2024-01-01", "m-2024-06-01"}
    assert any("answered as several models" in line and "default-v2" in line for line in ended.evaluation.judgement.warnings)
    served = {name: card_markdown(facts, ended.evaluation.judgement, name) for name in ("a", "b")}
    assert "default-v2 (7 replies)" in served["a"]
    assert "m-2024-01-01 (3 replies), m-2024-06-01 (3 replies)" in served["b"]


def test_rows_without_optional_fields_are_kept_and_counted(ended: Ended, tmp_path: Path) -> None:
    """Going on from a ledger whose rows lack what is optional: every reply counts as before, only the lost ones are asked for,
    and the number of observed trials never falls.

    https://github.com/OpenHands/benchmarks/issues/632
    """
    store, before = Path(shutil.copytree(ended.store, tmp_path / "store")), ended.evaluation
    _strip(store, ("fingerprint", "usage", "cost_usd", "latency_s", "sent_body", "raw_response"))
    requests = {name: len(server.requests) for name, server in ended.servers.items()}
    ended.trouble.clear()
    after = crosspath.evaluate(ended.spec, store=store, track=False)
    assert after.id == before.id
    asked_now = {name: len(server.requests) - requests[name] for name, server in ended.servers.items()}
    assert asked_now == {"a": 3, "b": 4, "c": 0}
    for candidate in ("a", "b", "c"):
        old, new = cell_of(before, candidate), cell_of(after, candidate)
        assert new.scored == old.scored + old.faults == 10
        assert new.passed >= old.passed
    assert (after.judgement.spend.usage_unknown, after.judgement.spend.replies) == (30 - 7, 30)


def _strip(store: Path, fields: tuple[str, ...]) -> None:
    """Take fields out of every stored reply, as a version that did not know them would have written it."""
    with closing(sqlite3.connect(store / "ledger.db")) as ledger, ledger:
        for number, record in ledger.execute("SELECT seq, record FROM trials").fetchall():
            trial = json.loads(record)
            trial["reply"] = trial["reply"] and _without(trial["reply"], fields)
            ledger.execute("UPDATE trials SET record = ? WHERE seq = ?", (json.dumps(trial), number))
        for number, record in ledger.execute("SELECT rowid, record FROM attempts").fetchall():
            attempt = json.dumps(_without(json.loads(record), fields))
            ledger.execute("UPDATE attempts SET record = ? WHERE rowid = ?", (attempt, number))


def _without(record: dict[str, Any], fields: tuple[str, ...]) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in fields}
