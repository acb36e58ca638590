"""Whole evaluations with generated contracts in three wordings: a real server, the real sandbox, real MLflow on SQLite."""

import json
import shutil
from pathlib import Path

import pytest
import yaml
from mlflow import MlflowClient

import crosspath
from crosspath.cli.entry import run
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer
from crosspath.types import WordingSpread

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)"),
    # MLflow 3.17 uses what SQLAlchemy 2.1 deprecates; it says so when its tables are first used.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"),
]

FAMILIES = 6
RAW, ENCODED = "printf %s 'costs $5' > out.txt", r"printf %s 'costs \$5' > out.txt"


def tasks() -> str:
    """One task for each family."""
    return "".join(
        json.dumps(
            {
                "id": f"f{number}/t",
                "family": f"f{number}",
                "tier": 1,
                "instruction": f"Task {number}: write \u27eacosts $5\u27eb into out.txt.",
                "expected": {"out.txt": "costs $5"},
                "oracle": RAW,
            }
        )
        + "\n"
        for number in range(FAMILIES)
    )


def heeds_forms(received: Received) -> Turn:
    """A model that encodes every reply where it is shown the form, every other one where it is told what to do, else none."""
    told, asked = (message["content"] for message in received.body["messages"])
    number = int(asked.partition("Task ")[2].partition(":")[0])
    encodes = "the place of <text>" in told or ("protect all" in told and number % 2 == 0)
    return answer(ENCODED if encodes else RAW)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory with tasks, and no MLflow server named."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("CROSSPATH_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("KEY_OF_TEST", "sk-test")
    (tmp_path / "tasks.jsonl").write_text(tasks(), "utf-8")
    return tmp_path


def test_a_model_that_heeds_one_wording_most(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The planted spread is found and stands beside compensation in the summary, on the MLflow run and in JSON; what was not told
    is asked once; a replay through another path keeps the contracts as they were.
    """
    with OpenAIServer(heeds_forms) as server:
        document = {
            "models": {"m": {"model": "openai/m", "api_base": server.url, "api_key_env": "KEY_OF_TEST"}},
            "candidates": {"m": {"contract": "tell", "wordings": 3, "transport": "nested-shell"}},
            "tasks": {"files": ["tasks.jsonl"]},
            "executor": "local",
        }
        (here / "spec.yaml").write_text(yaml.safe_dump(document))
        assert run(["run", "spec.yaml", "--json"]) == 0
        assert len(server.requests) == (1 + 3) * FAMILIES
    result = json.loads(capsys.readouterr().out)
    [found] = [WordingSpread.model_validate(one) for one in result["wording_spreads"]]
    assert found.common == {"tell:nested-shell": 0.0, "tell:nested-shell#2": 1.0, "tell:nested-shell#3": 0.5}
    assert (found.spread, found.tasks) == (1.0, FAMILIES)
    done = crosspath.load(result["evaluation"])
    text = done.summary()
    assert "(compensation +50.0; three wordings: 0.0 to +100.0): 3 of 6." in text
    assert "compensation spans 100.0 points, from 0.0 (tell:nested-shell) to +100.0 (tell:nested-shell#2)." in text
    assert list(done.wordings["compensation"]) == [0.0, 1.0, 0.5]
    client = MlflowClient(f"sqlite:///{here / 'store' / 'mlflow.db'}")
    [matched] = [
        one
        for one in client.search_runs([client.get_run(result["mlflow"]["run"]).info.experiment_id])
        if one.info.run_name == "m wording 2 · told tell:nested-shell#2, done nested-shell"
    ]
    assert (matched.data.metrics["wording_pp"], matched.data.metrics["word_diff"]) == (100, 100)
    again = crosspath.replay(done.id, ["docker-exec"], track=False)
    assert again.judgement.wording_spreads == ()  # told about another path
    assert [one.name for one in again.facts.contract_specs] == [one.name for one in done.facts.contract_specs]


def test_baselines_on_the_command_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The adaptive baseline survives what each generated contract discloses, in every wording and shape; the oracle does not."""
    document = {
        "models": {"adaptive": "baseline/adaptive", "oracle": "baseline/oracle"},
        "defaults": {"contract": "tell", "wordings": 3},
        "grid": {"model": ["adaptive", "oracle"], "transport": ["ssh", "json:ours"]},
        "transports": {"ours": ["trim", "single-quoted-shell", "shell"]},
        "tasks": {"files": ["tasks.jsonl"]},
        "executor": "local",
    }
    (here / "spec.yaml").write_text(yaml.safe_dump(document))
    assert run(["run", "spec.yaml", "--no-mlflow"]) == 0
    text = capsys.readouterr().out
    assert text.count("three wordings: +100.0 each") == 6
    assert text.count("three wordings: 0.0 each") == 6
    assert "adaptive ssh and 2 other wordings, told about ssh: the same compensation in every wording." in text
    assert "adaptive json-ours and 2 other wordings, told about ours: the same compensation in every wording." in text
    assert run(["report", "latest"]) == 0
    report = capsys.readouterr().out
    assert report.count("Compensation in three wordings: +100.0 each.") == 6
    assert "## Wordings of contracts" in report
