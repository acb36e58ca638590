"""Whole evaluations in this process: a real server, the real sandbox, the real validator."""

import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import suite_text
from crosspath.cli.finishing import exit_code
from crosspath.store.ledger import Ledger
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails, spends_all

PRICE = "costs $5"
Serve = Callable[[Any], OpenAIServer]
MakeSpec = Callable[..., dict[str, Any]]


def _task(name: str, tier: int = 1, **further: Any) -> dict[str, Any]:
    """Write a price into out.txt."""
    return {
        "id": name,
        "family": "price",
        "tier": tier,
        "instruction": f"Write the price into out.txt ({name}).",
        "expected": {"out.txt": PRICE},
        "oracle": f"printf %s '{PRICE}' > out.txt",
        **further,
    }


RIGHT = f"printf %s '{PRICE}' > out.txt"
WRONG = "printf %s 'costs 5' > out.txt"


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The variable that holds the key of the server."""
    monkeypatch.setenv("KEY_OF_TEST", "sk-test")
    return "KEY_OF_TEST"


@pytest.fixture
def spec(tmp_path: Path, key: str) -> Callable[..., dict[str, Any]]:
    """A spec with own tasks, for endpoints by name."""

    def made(endpoints: dict[str, str], tasks: list[dict[str, Any]], **further: Any) -> dict[str, Any]:
        file = tmp_path / "tasks.jsonl"
        file.write_text("".join(json.dumps(task) + "\n" for task in tasks))
        models = {name: {"model": "openai/m", "api_base": url, "api_key_env": key} for name, url in endpoints.items()}
        return {
            "name": "whole",
            "models": models,
            "candidates": {name: {"model": name} for name in endpoints},
            "tasks": {"files": [str(file)]},
            "retries": {"max_attempts": 2, "max_wait_s": 0},
            "executor": {"replay_workers": 2},
            **further,
        }

    return made


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A function that opens a server."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(OpenAIServer(script))


def _asked(received: Received) -> str:
    """The task that a request is about."""
    return received.body["messages"][-1]["content"].partition("(")[2].rstrip(").")


def _evaluate(spec: dict[str, Any], store: Path, **further: Any) -> Evaluation:
    return crosspath.evaluate(spec, store=store, track=False, **further)


def _texts(evaluation: Evaluation, endpoint: str) -> list[str | None]:
    return [trial.reply.text for trial in evaluation.facts.trials if trial.reply and trial.request.endpoint == endpoint]


def test_replies_are_never_mixed_up(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Each server is asked for its own replies, each setting and each trial has one of its own
    (https://github.com/EleutherAI/lm-evaluation-harness/issues/4063,
    https://github.com/EleutherAI/lm-evaluation-harness/issues/3881,
    https://github.com/EleutherAI/lm-evaluation-harness/pull/3715).
    """
    a = serve(lambda received: answer(f"echo a {received.body.get('max_tokens')} {received.number} > f"))
    b = serve(lambda received: answer(f"echo b {received.number} > f"))
    asked = spec({"a": a.url, "b": b.url}, [_task("one")], trials=4)
    asked["candidates"]["short"] = {"model": "a", "operating_point": {"max_tokens": 32}}
    asked["candidates"]["a"]["operating_point"] = {"max_tokens": 256}
    found = _evaluate(asked, tmp_path / "store")
    assert len(a.requests) == 8
    assert len(b.requests) == 4
    assert len(set(_texts(found, a.url))) == 8
    assert sorted(text.split()[2] for text in _texts(found, a.url) if text) == ["256"] * 4 + ["32"] * 4
    assert {text.split()[1] for text in _texts(found, b.url) if text} == {"b"}
    for trial in found.facts.trials:
        assert trial.reply is not None
        assert trial.reply.sent_body is not None
        assert trial.reply.sent_body["max_tokens"] == trial.request.params["max_tokens"]


def test_each_reply_belongs_to_its_task_whatever_came_first(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Slow and fast replies are joined to their tasks, and results come in the order of the tasks
    (https://github.com/confident-ai/deepeval/pull/3159).
    """
    delays = {"first": 0.6, "second": 0.0, "third": 0.3}
    server = serve(lambda received: replace(answer(f"echo {_asked(received)} > f"), before_s=delays[_asked(received)]))
    found = _evaluate(spec({"m": server.url}, [_task(name) for name in delays]), tmp_path / "store")
    assert [trial.key.task for trial in found.facts.trials] == list(delays)
    assert [trial.reply and trial.reply.text for trial in found.facts.trials] == [f"echo {name} > f" for name in delays]


def test_what_is_missing_is_told_beside_every_number(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Ten tasks, three of them lost to the server, two wrong: 5 of 7 scored of 10 planned, exit code 5, and the same command may
    still get the rest (https://github.com/UKGovernmentBEIS/inspect_ai/pull/3781, https://github.com/instructlab/eval/issues/39,
    https://github.com/promptfoo/promptfoo/issues/4673).
    """
    broken = {"task-0", "task-1", "task-2"}

    def script(received: Received) -> Turn:
        if _asked(received) in broken:
            return fails(529)
        return answer(WRONG if _asked(received) in ("task-3", "task-4") else RIGHT)

    server = serve(script)
    asked = spec({"m": server.url}, [_task(f"task-{n}") for n in range(10)])
    found = _evaluate(asked, tmp_path / "store")
    cell = found.decomposition("m").cell("RR")
    assert cell is not None
    assert (cell.planned, cell.scored, cell.passed, cell.faults) == (10, 7, 5, 3)
    assert (
        f"3 trials have no reply (server_error 3: status 529: no, {server.url}): they are missing, not wrong."
        in found.judgement.warnings
    )
    assert (found.judgement.spend.requests, found.judgement.spend.requests_failed) == (7 + 3 * 2, 3 * 2)
    assert len(server.requests) == 13
    assert (found.facts.head.status, exit_code(found)) == ("stopped", 5)

    broken.clear()
    again = _evaluate(asked, tmp_path / "store")
    assert again.id == found.id
    assert len(server.requests) == 13 + 3
    assert (again.facts.head.status, exit_code(again)) == ("finished", 0)
    assert again.judgement.spend.prompt_tokens == 10 * 10
    assert len(again.facts.sessions) == 2


def test_a_reply_that_can_t_be_had_is_not_asked_for_again(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """A request that the server refuses for what it says is refused for good: the evaluation is finished without it."""
    server = serve(lambda received: fails(400) if _asked(received) == "bad" else answer(RIGHT))
    found = _evaluate(spec({"m": server.url}, [_task("bad"), _task("good")]), tmp_path / "store")
    assert len(server.requests) == 2
    assert found.facts.head.status == "finished"
    assert [trial.fault and trial.fault.type for trial in found.facts.trials] == ["bad_request", None]


def test_no_answer_and_no_time_are_told_apart_from_a_wrong_command(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """All tokens spent on thinking is ``truncated``, asked once; a right final state before a timeout passes, and the timeout is
    told (https://github.com/UKGovernmentBEIS/inspect_ai/issues/5467, https://github.com/hud-evals/hud-python/pull/526).
    """
    server = serve(lambda received: spends_all(16) if _asked(received) == "thinks" else answer(f"{RIGHT}; sleep 600"))
    tasks = [_task("thinks"), _task("sleeps", timeout_s=1)]
    found = _evaluate(spec({"m": server.url}, tasks), tmp_path / "store")
    assert len(server.requests) == 2
    thinks, sleeps = found.judgement.scores
    assert (thinks.passed, thinks.cause) == (False, "truncated")
    assert (sleeps.state_ok, sleeps.reported_ok) == (True, False)
    assert found.facts.replays[1].execution is not None
    assert found.facts.replays[1].execution.results[0].timed_out


def test_a_cost_limit_at_the_known_price_is_not_overshot(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Without prices in the spec litellm's own count: as many requests as surely fit, the rest is missing, exit code 3; a raised
    limit goes on.
    """
    server = serve(lambda _: answer(RIGHT, usage=(500, 1024)))
    asked = spec({"m": server.url}, [_task(f"task-{n}") for n in range(6)], limits={"max_cost_usd": 0.002})
    asked["models"]["m"]["model"] = "openai/gpt-4o-mini"
    asked["executor"]["model_concurrency"] = 6
    found = _evaluate(asked, tmp_path / "store")
    assert 1 <= len(server.requests) < 6
    assert found.judgement.spend.cost_usd is not None
    assert found.judgement.spend.cost_usd <= 0.002
    assert (found.facts.head.status, exit_code(found)) == ("stopped", 3)
    assert {trial.fault.boundary for trial in found.facts.trials if trial.fault} == {"budget"}
    asked["limits"] = {"max_cost_usd": 1.0}
    again = _evaluate(asked, tmp_path / "store")
    assert (again.id, exit_code(again), len(server.requests)) == (found.id, 0, 6)


def test_another_toolchain_at_the_resumption_is_said(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Who goes on with an evaluation after bash was updated hears it at once and in the result; with the same one, nothing."""
    server = serve(lambda _: answer(RIGHT))
    asked = spec({"m": server.url}, [_task(f"task-{n}") for n in range(3)], limits={"max_requests": 1})
    store, said = tmp_path / "store", list[str]()
    found = _evaluate(asked, store)
    assert found.facts.lock.toolchain is not None
    asked["limits"] = {"max_requests": 2}
    _evaluate(asked, store, notify=said.append)
    assert not [sentence for sentence in said if "toolchain" in sentence]
    ledger = Ledger(store)
    older = found.facts.lock.toolchain.model_copy(update={"programs": {"bash": "bash 1.0"}})
    stored = ledger.facts(found.id)
    ledger.update(stored.model_copy(update={"lock": stored.lock.model_copy(update={"toolchain": older})}))
    ledger.close()
    asked["limits"] = {"max_requests": 3}
    mixed = _evaluate(asked, store, notify=said.append)
    sentences = [sentence for sentence in said if "another toolchain" in sentence and "bash bash 1.0 -> GNU bash" in sentence]
    assert len(sentences) == 1
    assert sentences[0] in mixed.judgement.warnings
    assert mixed.facts.lock.earlier_toolchains == (older,)
    assert mixed.facts.lock.toolchain == found.facts.lock.toolchain


def test_a_wall_time_limit_stops_and_keeps_what_was_done(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """After ``max_wall_s`` nothing is sent and nothing is replayed; retries do not wait beyond it."""
    server = serve(lambda received: answer(RIGHT) if _asked(received) == "task-0" else fails(529, retry_after="30"))
    asked = spec({"m": server.url}, [_task(f"task-{n}") for n in range(3)], limits={"max_wall_s": 2})
    asked["retries"] = {"max_attempts": 5, "max_wait_s": 30}
    asked["executor"]["model_concurrency"] = 1
    started = time.monotonic()
    found = _evaluate(asked, tmp_path / "store")
    assert time.monotonic() - started < 20
    assert [bool(trial.reply) for trial in found.facts.trials] == [True, False, False]
    assert (found.facts.head.status, exit_code(found)) == ("stopped", 3)
    assert "2 trials have no reply (budget 2: limit max_wall_s reached): they are missing, not wrong." in found.judgement.warnings


def test_a_wall_time_limit_ends_replays_that_run(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """A reply that runs for a minute does not hold an evaluation beyond its wall time; the replies are kept, the replays lack."""
    server = serve(lambda _: answer("sleep 60"))
    asked = spec({"m": server.url}, [_task("long", timeout_s=100)], limits={"max_wall_s": 2})
    started = time.monotonic()
    found = _evaluate(asked, tmp_path / "store")
    assert time.monotonic() - started < 20
    assert all(trial.reply for trial in found.facts.trials)
    assert {replay.fault.message for replay in found.facts.replays if replay.fault} == {"limit max_wall_s reached"}
    assert (found.facts.head.status, exit_code(found)) == ("stopped", 3)


def test_a_finished_evaluation_replays_through_a_new_path_without_its_model(
    spec: MakeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the endpoint gone, a path that was in no spec is measured on the stored replies: no request, a new evaluation that
    names its source, and the source as it was.
    """
    store = tmp_path / "store"
    with OpenAIServer(RIGHT) as server:
        source = _evaluate(spec({"m": server.url}, [_task("one"), _task("two", tier=0)]), store)
    before = _stored(store, source.id)
    derived = crosspath.replay(source.id, ["nested-shell", "single-quoted-shell"], store=store, track=False)
    nested = derived.decomposition("m via nested-shell")
    damage = nested.effect("damage")
    assert damage is not None
    assert damage.these.value == -1.0
    assert nested.control.status == "holds"
    assert (derived.facts.head.derived_from, derived.facts.head.status) == (source.id, "finished")
    assert derived.judgement.spend.requests == 0
    assert derived.judgement.spend.replies_reused == 2
    assert _stored(store, source.id) == before

    monkeypatch.setenv("PATH", str(tmp_path))  # no sandbox can be started
    (tmp_path / "own.yaml").write_text(_own_suite())
    judged = crosspath.validate(derived.id, str(tmp_path / "own.yaml"), store=store, track=False)
    assert judged.facts.head.derived_from == derived.id
    assert judged.facts.replays == derived.facts.replays
    assert [score.passed for score in judged.judgement.scores] == [score.passed for score in derived.judgement.scores]


def _stored(store: Path, evaluation: str) -> str:
    ledger = Ledger(store)
    try:
        return ledger.facts(evaluation).to_json()
    finally:
        ledger.close()


def _own_suite() -> str:
    return suite_text("exact").content.replace("name: exact", "name: own", 1)


def test_recorded_replies_cost_nothing(spec: MakeSpec, tmp_path: Path) -> None:
    """Replies that were recorded elsewhere are replayed and judged without any endpoint, each for its own task even where two
    instructions are the same (https://github.com/promptfoo/promptfoo/issues/1492).
    """
    tasks = [_task(name) | {"instruction": "Write the price."} for name in ("one", "two")]
    lines = [
        {"model": "m", "task": task, "contract": "raw", "trial": 0, "reply": reply}
        for task, reply in (("one", RIGHT), ("two", WRONG))
    ]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    candidate = {"model": f"recorded/{tmp_path / 'replies.jsonl'}", "transport": "nested-shell"}
    found = _evaluate(spec({}, tasks, candidates={"m": candidate}), tmp_path / "store")
    assert [trial.reply and trial.reply.text for trial in found.facts.trials] == [RIGHT, WRONG]
    assert found.judgement.spend.requests == 0
    again = crosspath.replay("latest", ["script-file"], store=tmp_path / "store", track=False)
    assert (again.judgement.spend.requests, len(again.facts.trials)) == (0, 2)


@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")  # MLflow's own
def test_a_logged_evaluation_replays_from_an_empty_ledger(
    spec: MakeSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run id in MLflow is enough: any machine can go on from there."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    asked = spec({}, [_task("one")], candidates={"m": {"model": "baseline/oracle"}})
    source = crosspath.evaluate(asked, store=tmp_path / "here")
    assert source.tracking_error is None
    assert source.run_id is not None
    derived = crosspath.replay(source.run_id, ["nested-shell"], store=tmp_path / "elsewhere", track=False)
    assert derived.facts.head.derived_from == source.id
    assert derived.facts.trials == source.facts.trials


def _closed_port() -> str:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{found.getsockname()[1]}/v1"


def test_a_dead_endpoint_is_given_up_quickly(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Twelve trials at a port where nobody listens cost five attempts, not 60; the other endpoint's replies are all there, and
    the same command goes on.
    """
    alive = serve(RIGHT)
    asked = spec({"dead": _closed_port(), "alive": alive.url}, [_task(f"task-{n}") for n in range(12)])
    asked["executor"]["model_concurrency"] = 1
    asked["retries"] = {"max_attempts": 5, "max_wait_s": 0}
    found = _evaluate(asked, tmp_path / "store")
    faults = [trial.fault for trial in found.facts.trials if trial.fault]
    assert len(faults) == 12
    assert {fault.type for fault in faults} == {"connection"}
    assert sum("gave up on http://127.0.0.1:" in fault.message for fault in faults) == 11
    assert found.judgement.spend.requests_failed == 5
    assert len(alive.requests) == 12
    assert (found.facts.head.status, exit_code(found)) == ("stopped", 5)


def test_a_wrong_key_is_given_up_and_asked_anew_next_time(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """After three refusals in a row nothing more is sent; with the key mended the same command gets every reply."""
    refusing = [True]
    server = serve(lambda received: fails(401) if refusing else answer(RIGHT))
    asked = spec({"m": server.url}, [_task(f"task-{n}") for n in range(6)])
    asked["executor"]["model_concurrency"] = 1
    found = _evaluate(asked, tmp_path / "store")
    assert len(server.requests) == 3
    assert (found.facts.head.status, exit_code(found)) == ("stopped", 5)
    refusing.clear()
    again = _evaluate(asked, tmp_path / "store")
    assert (again.id, again.facts.head.status, len(server.requests)) == (found.id, "finished", 9)


def test_a_server_in_trouble_is_not_given_up(serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Server errors and rate limits never stop the questions: every trial gets its attempts."""
    server = serve(lambda received: fails(503 if received.number % 2 else 429))
    _evaluate(spec({"m": server.url}, [_task(f"task-{n}") for n in range(8)]), tmp_path / "store")
    assert len(server.requests) == 16


@pytest.mark.parametrize("arguments", ['{"command": \\n"echo hi"}', '{"command": "\\u00', "{'command': 'true'}", ""])
def test_broken_tool_arguments_are_kept_as_they_came(arguments: str, serve: Serve, spec: MakeSpec, tmp_path: Path) -> None:
    """Arguments that are no JSON are stored letter by letter, beside the response they came in, and named as the cause
    (https://github.com/OpenHands/software-agent-sdk/issues/2488).
    """
    server = serve(lambda _: answer(tool_calls=[("run_shell", arguments)]))
    asked = spec({"m": server.url}, [_task("one")])
    asked["candidates"]["m"]["contract"] = "tool-call"
    done = _evaluate(asked, tmp_path / "store")
    found = crosspath.load(done.id, store=tmp_path / "store")
    (trial,) = found.facts.trials
    assert trial.reply is not None
    assert [call.arguments for call in trial.reply.tool_calls] == [arguments]
    assert trial.reply.fidelity == "raw"
    assert trial.reply.raw_response is not None
    sent = json.loads(trial.reply.raw_response)["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"]
    assert sent == arguments
    cell = found.decomposition("m").cell("RR")
    assert cell is not None
    assert cell.causes == {"contract_error": 1}
