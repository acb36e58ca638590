"""``crosspath noise`` against a real server: what depends on load is found, what does not is not accused."""

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from crosspath.cli.entry import run
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails

RIGHT = "printf 'costs $5' > out.txt"
KEY = "sk-noise-0123456789"
Serve = Callable[[Callable[[Received], Turn]], OpenAIServer]


@pytest.fixture(autouse=True)
def _own_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", KEY)


@pytest.fixture
def serve() -> Iterator[Serve]:
    """A function that opens a server."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(OpenAIServer(script))


REPEATS = 16
"""As many as are in flight at once: half of them alone, all together, the other half alone."""


def calm(_: Received) -> Turn:
    """The right reply, always."""
    return answer(RIGHT, model="m")


def hurried(received: Received) -> Turn:
    """One character is another one while more than eight requests are in flight; those sent together wait for each other."""
    together = REPEATS // 2 < received.number <= REPEATS // 2 + REPEATS
    text = RIGHT.replace("5", "6") if received.in_flight > 8 else RIGHT
    return replace(answer(text, model="m"), before_s=2.0 if together else 0.0)


def spec_of(directory: Path, url: str, **further: Any) -> str:
    """A spec with an endpoint and a baseline."""
    task = {"id": "price", "family": "f", "instruction": "Say it.", "expected": {"out.txt": "costs $5"}, "oracle": RIGHT}
    (directory / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    model = {"model": "openai/m", "api_base": url, "api_key_env": "KEY_OF_TEST"}
    spec = {
        "name": "noisy",
        "models": {"m": model, "oracle": {"model": "baseline/oracle"}},
        "candidates": {"own": {"model": "m"}, "base": {"model": "oracle"}},
        "defaults": {"operating_point": {"temperature": 0, "timeout_s": 20}},
        "tasks": {"files": ["tasks.jsonl"]},
        "retries": {"max_attempts": 2, "max_wait_s": 0},
        **further,
    }
    (directory / "spec.json").write_text(json.dumps(spec))
    return str(directory / "spec.json")


def noise(directory: Path, url: str, *arguments: str, **further: Any) -> int:
    """The exit code of ``crosspath noise``."""
    return run(["noise", spec_of(directory, url, **further), "--store", str(directory / "store"), *arguments])


def test_a_server_that_minds_load_is_flagged_and_a_calm_one_is_not(
    serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With 16 at once some replies differ in one character, alone none does; a deterministic server is not accused. Before
    anything is sent it is said what will be sent and cost, and after that what it took; the key is in no row.

    https://github.com/EleutherAI/lm-evaluation-harness/issues/1645, https://github.com/vllm-project/vllm/issues/23138,
    https://github.com/vllm-project/vllm/issues/53257
    """
    flags: dict[str, str] = {}
    for name, script in (("hurried", hurried), ("calm", calm)):
        server = serve(script)
        assert noise(tmp_path, server.url, "--repeats", str(REPEATS), "--concurrency", "16", "--json") == 0
        said = capsys.readouterr()
        report = json.loads(said.out)
        assert len(server.requests) == report["requests"] == 2 * REPEATS
        assert "32 requests, and retries; what they cost is unknown (no price for openai/m)" in said.err
        (floor,) = report["floors"]
        assert (floor["candidates"], floor["temperature"], floor["bodies"]) == (["own"], 0.0, 1)
        assert (report["usages"]["prompt_tokens"], report["usages"]["unknown_cost"]) == (320, 32)
        assert floor["together"]["most_in_flight"] > 8
        assert KEY not in Path(report["file"]).read_text()
        flags[name] = floor["flag"]
        assert (floor["alone"]["differing"], floor["p_value"] < 0.05) == (0, name == "hurried")
    assert flags == {"hurried": "non-deterministic under load", "calm": "no difference seen"}


def test_an_interrupted_probe_goes_on(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C keeps what came; the same command asks for the rest, counts faults apart, and says what both starts took."""
    stops = [5]

    def script(received: Received) -> Turn:
        if stops and received.number == stops[0]:
            stops.clear()
            os.kill(os.getpid(), signal.SIGINT)
        return fails(500) if received.number == 9 else calm(received)

    server = serve(script)
    assert noise(tmp_path, server.url, "--repeats", "4", "--concurrency", "2") == 130
    assert "the same command goes on" in capsys.readouterr().err
    asked = len(server.requests)
    assert noise(tmp_path, server.url, "--repeats", "4", "--concurrency", "2") == 0
    said = capsys.readouterr()
    assert "going on with noisy-" in said.err
    assert "own (openai/m told raw, price, temperature 0): no difference seen" in said.out
    (took,) = re.findall(r"took (\d+) requests \(1 failed\) in 2 starts", said.out)
    # One of two that were in flight may have been written down and not yet sent: it counts, because nobody can know.
    assert len(server.requests) <= int(took) <= len(server.requests) + 1
    assert asked < len(server.requests) <= 8 + 1 + 2


def test_the_limits_of_the_spec_hold(serve: Serve, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At ``max_requests`` the probe stops with 3 and says so, once for all starts; with a higher one the same command goes on."""
    server = serve(calm)
    assert noise(tmp_path, server.url, "--repeats", "3", "--concurrency", "2", limits={"max_requests": 4}) == 3
    said = capsys.readouterr()
    assert "max_requests 4 is below that" in said.err
    assert "stopped (limit max_requests reached): the same command asks for what is missing" in said.out
    assert noise(tmp_path, server.url, "--repeats", "3", "--concurrency", "2", limits={"max_requests": 4}) == 3
    assert len(server.requests) == 4
    assert noise(tmp_path, server.url, "--repeats", "3", "--concurrency", "2") == 0
    assert len(server.requests) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--candidate", "base"], "'base' is answered by a baseline (baseline/oracle), which gives the same reply each time"),
        (["--candidate", "onw"], "'onw' is no candidate; did you mean 'own'?"),
        (["--task", "prize"], "'prize' is none of the 1 tasks of the spec; did you mean 'price'?"),
        (["--repeats", "1"], "repeats: 1 is too few to differ"),
        (["--concurrency", "1"], "concurrency: 1 at once is no load"),
    ],
)
def test_what_can_t_be_probed_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    """A baseline, unknown names and numbers that make no sense: one line, exit code 2, nothing sent or written."""
    assert noise(tmp_path, "http://127.0.0.1:9/v1", *arguments) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert not (tmp_path / "store").exists()


def test_a_key_that_is_not_set_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without the key nothing is sent."""
    monkeypatch.delenv("KEY_OF_TEST")
    assert noise(tmp_path, "http://127.0.0.1:9/v1") == 2
    assert "the environment variable KEY_OF_TEST is not set" in capsys.readouterr().err
