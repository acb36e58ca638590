"""What litellm and model servers do, and what must become of it. Every server here is real HTTP."""

import asyncio
import base64
import json
import os
import subprocess
import sys
import time
import warnings
from dataclasses import replace
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from crosspath.adapters.litellm_model import LitellmModel, known_prices, probe
from crosspath.adapters.litellm_model.faults import TABLE
from crosspath.adapters.litellm_model.probing import Probed
from crosspath.adapters.litellm_model.vendor import litellm
from crosspath.errors import ModelError
from crosspath.testing.openai_server import (
    OpenAIServer,
    Script,
    Turn,
    answer,
    broken_json,
    fails,
    garbage,
    raw,
    refuses,
    resets,
    silent,
    slow,
    spends_all,
    too_long,
)
from crosspath.types import Reply, Request, TrialKey, Usage

KEY = "sk-very-secret-0123456789"
TOOL = {"type": "function", "function": {"name": "run_shell", "parameters": {"type": "object", "properties": {}}}}


def request(endpoint: str | None, **fields: Any) -> Request:
    """A small request; everything that a test does not speak of has a default."""
    base: dict[str, Any] = {
        "key": "k",
        "trial": TrialKey(generation="g", task="t", index=0),
        "contract": "raw",
        "endpoint": endpoint,
        "model": "openai/asked",
        "messages": ({"role": "system", "content": "be exact"}, {"role": "user", "content": "hi"}),
        "params": {"temperature": 0.0, "max_tokens": 16, "seed": None, "stop": None},
        "timeout_s": 30.0,
    }
    return Request(**(base | fields))


def generate(asked: Request) -> Reply:
    """One attempt in an event loop of its own, with its connections closed."""

    async def once() -> Reply:
        model = LitellmModel()
        try:
            return await model.generate(asked)
        finally:
            await model.aclose()

    return asyncio.run(once())


def ask(script: Script, **fields: Any) -> tuple[Reply, OpenAIServer]:
    """One attempt at a server with ``script``; the reply, and the server with what it got."""
    with OpenAIServer(script) as server:
        return generate(request(server.url, **fields)), server


def fault(turn: Turn, **fields: Any) -> ModelError:
    """The error that ``turn`` becomes; exactly one request was sent."""
    with OpenAIServer([turn]) as server:
        with pytest.raises(ModelError) as caught:
            generate(request(server.url, **fields))
        assert len(server.requests) == 1
    return caught.value


@pytest.fixture(scope="module", autouse=True)
def warm() -> None:
    """litellm's first call imports a lot, which must not count against the short deadlines below."""
    ask("x")


FAULTS = {
    "429": (fails(429), "rate_limit", True),
    "429 without quota": (fails(429, code="insufficient_quota"), "quota", False),
    "500": (fails(500), "server_error", True),
    "502": (fails(502), "server_error", True),
    "503": (fails(503), "server_error", True),
    "529": (fails(529), "server_error", True),
    "400": (fails(400), "bad_request", False),
    "401": (fails(401), "auth", False),
    "403": (fails(403), "auth", False),
    "404": (fails(404), "not_found", False),
    "408": (fails(408), "timeout", True),
    "422": (fails(422), "bad_request", False),
    "307": (Turn(status=307, headers={"Location": "http://127.0.0.1:9/v1"}), "bad_request", False),
    "too long": (too_long(), "context_window", False),
    "reset in the body": (resets(), "connection", True),
    "garbage": (garbage(), "bad_response", True),
    "broken JSON": (broken_json(), "bad_response", True),
    "no body": (raw(b""), "bad_response", True),
    "no choices": (raw(b'{"choices": []}'), "bad_response", True),
    "a list": (raw(b"[]"), "bad_response", True),
    "web page": (Turn(b"<html>hi</html>", headers={"Content-Type": "text/html"}), "bad_response", True),
    "deep nesting": (raw(b"[" * 100_000), "bad_response", True),
    "429 inside 200": (raw(b'{"error": {"message": "overloaded", "code": 429}}'), "rate_limit", True),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_goes_wrong_has_a_type(name: str) -> None:
    """Every way to fail costs one request and becomes a ModelError of a known type, on one line."""
    turn, type_, retryable = FAULTS[name]
    error = fault(turn)
    assert (error.type, error.retryable) == (type_, retryable)
    assert "\n" not in str(error)


@pytest.mark.parametrize("turn", [silent(), slow(10)], ids=["silent", "slow body"])
def test_the_deadline_holds(turn: Turn) -> None:
    """Neither silence nor a body that trickles in outlives the attempt's own deadline.

    https://github.com/567-labs/instructor/pull/2633
    """
    started = time.monotonic()
    assert fault(turn, timeout_s=0.5).type == "timeout"
    assert time.monotonic() - started < 8


def test_an_attempt_is_one_request_of_one_timeout() -> None:
    """A server that takes four seconds and a timeout of one: one request, and about one second; no hidden retry stretches it.

    https://github.com/BerriAI/litellm/issues/850, https://github.com/567-labs/instructor/pull/2633
    """
    started = time.monotonic()
    assert fault(Turn(before_s=4), timeout_s=1).type == "timeout"
    assert 0.9 < time.monotonic() - started < 3


def test_nobody_there_is_a_connection_fault() -> None:
    """A closed port is a retryable connection fault, which litellm alone would call a server error."""
    with pytest.raises(ModelError) as caught:
        generate(request("http://127.0.0.1:9/v1"))
    assert (caught.value.type, caught.value.retryable) == ("connection", True)


@pytest.mark.parametrize(("header", "low", "high"), [("7", 7, 7), ("0.5", 0.5, 0.5), ("-3", 0, 0), ("date", 50, 61)])
def test_retry_after_is_honoured(header: str, low: float, high: float) -> None:
    """``Retry-After`` is read as seconds or as a date, never below zero."""
    header = formatdate(time.time() + 60, usegmt=True) if header == "date" else header
    waits = fault(fails(429, retry_after=header)).retry_after_s
    assert waits is not None
    assert low <= waits <= high


@pytest.mark.parametrize("header", ["nan", "inf", "soon", ""])
def test_nonsense_in_retry_after_is_unknown(header: str) -> None:
    """A ``Retry-After`` that means nothing is None."""
    assert fault(fails(429, retry_after=header)).retry_after_s is None


def test_a_refusal_by_policy_is_a_reply() -> None:
    """A 400 by content policy is what the model says, so it is a reply and not a fault."""
    reply, _ = ask([refuses()])
    assert (reply.text, reply.finish_reason, reply.usage) == (None, "content_filter", None)
    assert reply.raw_response is not None


def test_a_refusal_in_its_own_field_is_a_refusal() -> None:
    """A message with ``refusal`` and no content counts like a filtered one."""
    reply, _ = ask([answer(None, message={"refusal": "I can't"})])
    assert (reply.text, reply.finish_reason) == (None, "content_filter")


def test_a_budget_spent_on_reasoning() -> None:
    """Null content with ``length`` stays exactly that, with its reasoning tokens counted.

    https://github.com/UKGovernmentBEIS/inspect_ai/issues/5467
    """
    reply, _ = ask([spends_all(16)])
    assert (reply.text, reply.finish_reason) == (None, "length")
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=16, reasoning_tokens=16)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None}, {"prompt_tokens": "9"}, {"prompt_tokens": True}])
def test_usage_that_was_not_sent_is_unknown(usage: Any) -> None:
    """Missing or meaningless usage is None and so is the cost. https://github.com/BerriAI/litellm/issues/8349"""
    reply, _ = ask([answer("x", usage=usage)], input_usd_per_mtok=1.0, output_usd_per_mtok=2.0)
    assert (reply.text, reply.usage, reply.cost_usd) == ("x", None, None)


def test_zero_tokens_that_were_sent_are_zero() -> None:
    """A zero that the server did send stays a zero."""
    reply, _ = ask([answer("", usage=(3, 0))])
    assert reply.usage == Usage(prompt_tokens=3, completion_tokens=0)


def test_cost_follows_the_given_prices() -> None:
    """The request's own prices per million tokens go before any other."""
    reply, _ = ask([answer("x", usage=(1_000_000, 500_000))], input_usd_per_mtok=2.0, output_usd_per_mtok=8.0)
    assert reply.cost_usd == pytest.approx(6.0)


def test_cost_of_a_known_model() -> None:
    """Without own prices litellm's bundled map decides."""
    reply, _ = ask([answer("x", usage=(1_000_000, 0), model="gpt-4o-mini")], model="openai/gpt-4o-mini")
    assert reply.cost_usd == pytest.approx(0.15)


def test_cost_of_an_unknown_model_is_unknown() -> None:
    """No price gives None, and the reply is untouched. https://github.com/BerriAI/litellm/issues/10155"""
    reply, _ = ask("x")
    assert (reply.text, reply.cost_usd) == ("x", None)


def test_who_served_it() -> None:
    """The served model and fingerprint are the server's, not the requested name."""
    reply, _ = ask([answer("x", model="default-v2", fingerprint="fp_9")])
    assert (reply.served_model, reply.fingerprint) == ("default-v2", "fp_9")


def test_think_blocks_stay_in_the_text() -> None:
    """litellm cuts ``<think>`` blocks out of the content; the reply keeps what came."""
    assert ask("<think>hm</think>ls")[0].text == "<think>hm</think>ls"


def test_a_null_finish_reason_is_unknown() -> None:
    """litellm turns a missing finish reason into ``stop``; the reply says None."""
    assert ask([answer("x", finish_reason=None)])[0].finish_reason is None


def test_foreign_finish_reasons_are_translated() -> None:
    """A finish reason of another vocabulary becomes OpenAI's word."""
    assert ask([answer("x", finish_reason="max_tokens")])[0].finish_reason == "length"


def test_merged_parallel_calls_are_not_taken_apart() -> None:
    """litellm rewrites a call named multi_tool_use.parallel; the reply keeps the one call that came."""
    arguments = '{"tool_uses": [{"recipient_name": "functions.run_shell", "parameters": {"command": "a"}}]}'
    reply, _ = ask([answer(None, tool_calls=[("multi_tool_use.parallel", arguments)])], tools=(TOOL,))
    assert [(call.name, call.arguments) for call in reply.tool_calls] == [("multi_tool_use.parallel", arguments)]


def test_arguments_sent_as_an_object_are_marked() -> None:
    """A server that sends an object instead of a string gives a reply that says it was serialised again."""
    calls = [{"id": "1", "type": "function", "function": {"name": "run_shell", "arguments": {"command": "a"}}}]
    reply, _ = ask([answer(None, message={"tool_calls": calls})], tools=(TOOL,))
    assert (reply.fidelity, reply.tool_calls[0].arguments) == ("reserialised", '{"command": "a"}')


ODD_MESSAGES: dict[str, Any] = {
    "no arguments": {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "run_shell"}}]},
    "no name": {"tool_calls": [{"id": None, "type": "function", "function": {"name": None, "arguments": "{}"}}]},
    "no function": {"tool_calls": [{"id": "1", "type": "function"}]},
    "calls are a text": {"tool_calls": "run_shell"},
    "calls are texts": {"tool_calls": ["run_shell"]},
    "content is an object": {"content": {"a": 1}},
    "content is in parts": {"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
    "unknown role": {"role": "oracle"},
}


@pytest.mark.parametrize("name", ODD_MESSAGES)
def test_a_reply_that_litellm_cannot_digest_is_not_lost(name: str) -> None:
    """What came and was paid for is a reply, however odd its message; litellm's own troubles with it don't matter."""
    reply, _ = ask([answer("x", message=ODD_MESSAGES[name])], tools=(TOOL,))
    assert reply.usage == Usage(prompt_tokens=10, completion_tokens=5)
    assert reply.raw_response is not None


def test_the_sent_body_is_what_left() -> None:
    """The recorded body equals what the server got: unset parameters are absent, messages are there, no key is."""
    reply, server = ask("x", params={"temperature": 0.0, "seed": None, "stop": ["a"]}, tools=(TOOL,))
    assert reply.sent_body == server.requests[0].body
    assert set(server.requests[0].body) == {"model", "messages", "temperature", "stop", "tools"}


def test_the_raw_response_is_kept() -> None:
    """The body is kept as it came, before any parsing."""
    turn = answer("x")
    assert ask([turn])[0].raw_response == turn.body.decode()


def test_latency_is_the_exchange() -> None:
    """Latency covers the request on the wire, not litellm's own first-call set-up."""
    reply, _ = ask([Turn(answer("x").body, before_s=0.2)])
    assert reply.latency_s is not None
    assert 0.2 <= reply.latency_s < 10


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a variable that holds a key; the user has another one of their own."""
    monkeypatch.setenv("CROSSPATH_TEST_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own-key")
    return "CROSSPATH_TEST_KEY"


def test_the_key_is_sent_and_kept_nowhere(key: str) -> None:
    """The key reaches the server in a header and appears in no field of the reply, even if the server repeats it."""
    turn = answer("x", message={"echo": KEY})
    reply, server = ask([turn], api_key_env=key)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in reply.to_json()


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04X}" for letter in text)


HIDDEN = {
    "as it is": KEY,
    "escaped": _escaped(KEY),
    "half escaped": _escaped(KEY[:9]).lower() + KEY[9:],
    "escaped twice": _escaped(KEY).replace("\\", "\\\\"),
    "URL": KEY.replace("-", "%2d"),
    **{f"base64 after {n}": base64.b64encode(b"user:"[:n] + KEY.encode() + b"!").decode() for n in range(3)},
}
ECHOES = {
    "model": lambda key: answer("x", model=key),
    "fingerprint": lambda key: answer("x", fingerprint=f"fp_{key}"),
    "finish_reason": lambda key: answer("x", finish_reason=key),
    "text": lambda key: answer(f"true # {key}"),
    "arguments": lambda key: answer(None, tool_calls=[("run_shell", json.dumps({"command": f"curl -H {key}"}))]),
    "id of a call": lambda key: answer(None, message={"tool_calls": [{"id": key, "function": {"name": key, "arguments": "{}"}}]}),
    "somewhere": lambda key: answer("x", message={key: [{"echo": key}]}),
}


def _known_forms(key: str) -> list[str]:
    stretches = [base64.b64encode(b"\0" * n + key.encode())[4:-4].decode() for n in range(3)]
    return [key, _escaped(key), _escaped(key).lower(), key.replace("-", "%2d"), *stretches]


@pytest.mark.parametrize("place", ECHOES)
@pytest.mark.parametrize("form", HIDDEN)
def test_an_endpoint_that_repeats_the_key_brings_it_into_no_field(key: str, place: str, form: str) -> None:
    """Whatever field of a good answer holds the key, in whatever encoding: it is replaced, and the reply is marked."""
    turn = ECHOES[place](HIDDEN[form])
    if "escaped" in form:  # once: by the server's own JSON
        turn = replace(turn, body=turn.body.replace(b"\\\\u", b"\\u"))
    reply, _ = ask([turn], api_key_env=key)
    kept = reply.to_json()
    assert not [known for known in _known_forms(KEY) if known in kept or known in kept.replace("\\\\", "\\")]
    assert reply.scrubbed


def test_a_reply_without_the_key_is_left_alone(key: str) -> None:
    """Nothing is replaced or marked where the key does not occur, though half of it does."""
    reply, _ = ask([answer(f"true # {KEY[:-1]}")], api_key_env=key)
    assert (reply.text, reply.scrubbed) == (f"true # {KEY[:-1]}", False)


def test_wrong_types_in_an_answer_reach_no_terminal() -> None:
    """litellm's warnings about a server's wrong types would print its text: they are silenced, a warning of ours is not."""
    body = json.loads(answer("x").body) | {"model": ["hostile text"], "system_fingerprint": {"hostile": "text"}}
    body["usage"]["completion_tokens"] = "hostile"
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        reply, _ = ask([raw(json.dumps(body).encode())])
        warnings.warn("ours", UserWarning, stacklevel=1)
    assert reply.text == "x"
    assert [str(warning.message) for warning in seen if "Pydantic" in str(warning.message)] == []
    assert "ours" in [str(warning.message) for warning in seen]


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_key_is_in_no_message(key: str, status: int) -> None:
    """An error that quotes the key is scrubbed, also where cutting the message would leave half of it."""
    for padding in ("", "x" * 490):
        error = fault(fails(status, message=f"{padding}bad key {KEY}"), api_key_env=key)
        assert KEY[:12] not in str(error)


def test_a_placeholder_key_falsifies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short placeholder instead of a key is not a secret: words that look like it stay in what was sent."""
    monkeypatch.setenv("CROSSPATH_TEST_KEY", "hi")
    reply, server = ask("hi", api_key_env="CROSSPATH_TEST_KEY")
    assert reply.sent_body == server.requests[0].body


def test_a_custom_endpoint_never_gets_the_users_own_key(key: str) -> None:
    """Without a named key a custom endpoint gets a placeholder and not OPENAI_API_KEY."""
    _, server = ask("x")
    assert server.requests[0].headers["authorization"] == "Bearer no-key"


def test_a_missing_key_sends_nothing() -> None:
    """A key variable that isn't set is an auth fault before anything is sent."""
    with OpenAIServer("x") as server:
        with pytest.raises(ModelError, match="CROSSPATH_UNSET is not set") as caught:
            generate(request(server.url, api_key_env="CROSSPATH_UNSET"))
        assert (caught.value.type, server.requests) == ("auth", [])


@pytest.mark.parametrize("name", ["stream", "n", "num_retries", "drop_params", "mock_response"])
def test_parameters_behind_the_records_back_are_refused(name: str) -> None:
    """What would change how often or where is sent is refused and named."""
    with OpenAIServer("x") as server:
        with pytest.raises(ModelError, match=name) as caught:
            generate(request(server.url, params={name: 2}))
        assert (caught.value.type, server.requests) == ("bad_request", [])


def test_unsupported_parameters_are_never_dropped() -> None:
    """A parameter that the provider does not know is an error; it is not left out silently."""
    with OpenAIServer("x") as server:
        with pytest.raises(ModelError) as caught:
            generate(request(server.url, model="anthropic/claude-3-haiku-20240307", params={"seed": 1}))
        assert (caught.value.type, server.requests) == ("bad_request", [])


@pytest.mark.parametrize("model", ["hosted_vllm/x", "groq/x", "mistral/x", "openrouter/a/b", "together_ai/x"])
def test_other_openai_style_providers_are_read_raw(model: str, key: str) -> None:
    """Providers that litellm calls with its own handlers are seen on the wire, and broken connections sent once."""
    reply, server = ask([answer(None, tool_calls=[("run_shell", '{"a')])], model=model, api_key_env=key, params={})
    assert (reply.fidelity, reply.tool_calls[0].arguments) == ("raw", '{"a')
    assert reply.sent_body == server.requests[0].body
    assert fault(resets(), model=model, api_key_env=key, params={}).type == "connection"


ANTHROPIC: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-served",
    "content": [{"type": "tool_use", "id": "tu_1", "name": "run_shell", "input": {"command": "ls"}}],
    "stop_reason": "tool_use",
    "usage": {"input_tokens": 7, "output_tokens": 3},
}


def test_another_form_is_marked_as_reserialised(key: str) -> None:
    """A provider with a form of its own is read through litellm, which writes the arguments anew, and the reply says so."""
    turn = raw(json.dumps(ANTHROPIC).encode())
    reply, _ = ask([turn], model="anthropic/claude-3-haiku-20240307", api_key_env=key, params={"max_tokens": 5}, tools=(TOOL,))
    assert (reply.fidelity, reply.finish_reason, reply.served_model) == ("reserialised", "tool_calls", "claude-served")
    assert (json.loads(reply.tool_calls[0].arguments), reply.usage) == (
        {"command": "ls"},
        Usage(prompt_tokens=7, completion_tokens=3),
    )
    assert reply.raw_response == turn.body.decode()


def test_the_table_knows_every_exception() -> None:
    """Every exception class of litellm has a row, so that a new one can't be misfiled unseen."""
    module = litellm().exceptions
    classes = {
        name
        for name, value in vars(module).items()
        if isinstance(value, type) and issubclass(value, Exception) and value.__module__ == module.__name__
    }
    assert classes == TABLE.keys()


def test_known_prices() -> None:
    """Prices are per million tokens; None where the map has none, or another provider's only."""
    assert known_prices("openai/gpt-4o") == known_prices("gpt-4o") == (2.5, 10.0)
    assert known_prices("baseline/oracle") == (0.0, 0.0)
    assert known_prices("openai/nobody-knows") is None
    assert known_prices("groq/gpt-4o") is None


def test_probe() -> None:
    """A listening endpoint has no trouble; a closed port and a missing key have one line each; no token is spent."""
    with OpenAIServer("x") as server:
        assert probe("openai/m", server.url) == Probed(True, "reachable")
        assert server.requests == []
    assert "not reachable" in probe("openai/m", "http://127.0.0.1:9/v1", timeout_s=1).said
    assert probe("openai/m", None, "CROSSPATH_UNSET").said == "openai/m: the environment variable CROSSPATH_UNSET is not set"
    assert probe("baseline/oracle").ok


@pytest.mark.parametrize(
    ("status", "ok", "words"),
    [
        (404, True, "reachable; it offers no /models (404)"),
        (405, True, "reachable; it offers no /models (405)"),
        (501, True, "reachable; it offers no /models (501)"),
        (401, True, "reachable; /models wants a key (401)"),
        (502, False, "status 502"),
        (503, False, "status 503"),
    ],
)
def test_probe_of_a_server_without_a_list(status: int, ok: bool, words: str) -> None:
    """A server that offers no list of models is reachable; only a gateway without its server is in trouble."""
    with OpenAIServer("x", models=fails(status)) as server:
        found = probe("openai/m", server.url)
    assert found.ok is ok
    assert words in found.said


def test_probe_names_the_missing_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    """For a hosted provider without a named key, the variable that litellm looks for is named."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in probe("openai/gpt-4o").said


_OFFLINE = """
import socket, sys
seen = []
def connect(self, address):
    seen.append(address)
    raise OSError("no network")
socket.socket.connect = socket.socket.connect_ex = connect
socket.getaddrinfo = lambda *a, **k: (seen.append(a), (_ for _ in ()).throw(OSError("no network")))[1]
from crosspath.adapters.litellm_model import LitellmModel, known_prices
LitellmModel()
known_prices("gpt-4o")
assert "litellm" not in sys.modules, "imported too early"
from crosspath.adapters.litellm_model.vendor import litellm
litellm()
import os, time; time.sleep(0.3)
assert seen == [], seen
assert "FROM_DOTENV" not in os.environ
"""


def test_importing_contacts_nobody(tmp_path: Path) -> None:
    """Neither building the model, nor prices, nor litellm's import touches the network or reads a .env file nearby."""
    (tmp_path / ".env").write_text("FROM_DOTENV=1\n")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("LITELLM")}
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", _OFFLINE],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_the_server_counts_for_other_processes(tmp_path: Path) -> None:
    """The test server appends one line per chat request to a file."""
    log = tmp_path / "requests.jsonl"
    with OpenAIServer("x", log_file=log) as server:
        for _ in range(3):
            generate(request(server.url))
    assert [json.loads(line)["number"] for line in log.read_text().splitlines()] == [1, 2, 3]


def test_many_at_once() -> None:
    """Concurrent requests each get their own reply; what is recorded on the wire does not mix."""
    with OpenAIServer(lambda received: answer(received.body["messages"][-1]["content"], usage=(received.number, 1))) as server:

        async def all_of_them() -> list[Reply]:
            model = LitellmModel()
            asked = [request(server.url, messages=({"role": "user", "content": str(number)},)) for number in range(60)]
            replies = await asyncio.gather(*(model.generate(one) for one in asked))
            await model.aclose()
            return list(replies)

        replies = asyncio.run(all_of_them())
    assert [reply.text for reply in replies] == [str(number) for number in range(60)]
    assert [(reply.sent_body or {})["messages"][0]["content"] for reply in replies] == [str(number) for number in range(60)]
    assert sorted(reply.usage.prompt_tokens or 0 for reply in replies if reply.usage) == list(range(1, 61))
