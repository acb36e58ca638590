"""An endpoint that means harm, against a whole evaluation with its ledger and its MLflow store."""

import base64
import json
import urllib.parse
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")
KEY = "sk-hostile+test/0123456789"
RIGHT = "printf hello > out.txt"


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", KEY)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


def _spec(directory: Path, url: str, trials: int) -> dict[str, Any]:
    tasks = directory / "tasks.jsonl"
    task = {"id": "hello", "family": "hello", "instruction": "Say hello.", "expected": {"out.txt": "hello"}, "oracle": RIGHT}
    tasks.write_text(json.dumps(task) + "\n")
    return {
        "name": "hostile",
        "models": {"m": {"model": "openai/m", "api_base": url, "api_key_env": "KEY_OF_TEST"}},
        "candidates": {"raw": {"model": "m", "contract": "raw", "transport": "raw"}},
        "tasks": {"files": [str(tasks)]},
        "trials": trials,
        "retries": {"max_attempts": 1},
    }


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(letter):04x}" for letter in text)


def _forms(key: str) -> list[str]:
    stretches = [base64.b64encode(b"\0" * n + key.encode())[4:-4].decode() for n in range(3)]
    return [key, _escaped(key), urllib.parse.quote(key, safe=""), json.dumps(key)[1:-1].replace("/", "\\/"), *stretches]


def test_a_key_that_is_sent_back_lies_nowhere_in_the_store(tmp_path: Path) -> None:
    """The endpoint repeats the key in every field and encoding it likes: no file of ledger, MLflow or artifacts holds it."""
    encoded = base64.b64encode(f"user:{KEY}".encode()).decode()
    turns = [
        answer(f"{RIGHT} # {KEY}", model=KEY, fingerprint=KEY, finish_reason=KEY),
        answer(f"{RIGHT} # {_escaped(KEY)} {encoded} {urllib.parse.quote(KEY, safe='')}"),
        answer(None, tool_calls=[(KEY, json.dumps({KEY: KEY}))]),
        Turn(json.dumps({"error": {"message": _escaped(KEY) + KEY, "code": KEY}}).encode(), status=400),
        Turn(answer(RIGHT, model="KEY").body.replace(b"KEY", _escaped(KEY).encode())),
    ]
    with OpenAIServer(lambda received: turns[(received.number - 1) % len(turns)]) as server:
        made = crosspath.evaluate(_spec(tmp_path, server.url, len(turns)), store=tmp_path / "store", executor="local")
    assert made.tracking_error is None
    assert any("replies repeated the API key" in warning for warning in made.judgement.warnings)
    files = [file for file in (tmp_path / "store").rglob("*") if file.is_file()]
    assert {"ledger.db", "mlflow.db"} <= {file.name for file in files}
    for file in files:
        content = file.read_bytes()
        assert not [form for form in _forms(KEY) if form.encode() in content], file
    assert not [form for form in _forms(KEY) if form in made.report()]


def _counting(usage: str) -> Turn:
    return Turn(answer(RIGHT, usage=(1, 2)).body.replace(b'"prompt_tokens": 1', f'"prompt_tokens": {usage}'.encode()))


def test_counts_that_no_server_can_mean_are_unknown_and_lose_nothing(tmp_path: Path) -> None:
    """Token counts too large for any number type, negative, fractional or no numbers: unknown; the evaluation is logged."""
    usages = ["1" + "0" * 400, "1" + "0" * 30, str(2**63), "-5", "1.5", "true", '"7"', "NaN", "1e400"]

    def reply(received: Received) -> Turn:
        return _counting(usages[(received.number - 1) % len(usages)])

    with OpenAIServer(reply) as server:
        made = crosspath.evaluate(_spec(tmp_path, server.url, len(usages)), store=tmp_path / "store", executor="local")
    assert made.tracking_error is None
    assert made.judgement.spend.replies == len(usages)
    assert made.judgement.spend.prompt_tokens is None
    assert made.judgement.spend.completion_tokens == 2 * len(usages)
