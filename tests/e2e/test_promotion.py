"""Promotions against a real MLflow server: two at once, killed at any moment, and cut off from the server at every request."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from builders import evaluation
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.registry import MlflowRegistry
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.cli.entry import run
from crosspath.errors import CrosspathError, TrackerError
from crosspath.store.bundle import write_bundle
from crosspath.store.promotions import NOTHING_MOVED
from crosspath.types import EvidenceRef, ModelVersion
from mlflow_server import Cuttable, mlflow_server
from promoters import Promoters
from verdicts import verdict, written

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")
NO_RUN = "0" * 32
RACES, KILLS = 16, 6


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with mlflow_server(tmp_path_factory.mktemp("server")) as uri:
        yield uri


@pytest.fixture(scope="module")
def model(server: str) -> str:
    """A registered model with two versions that nothing stands behind: who only moves aliases does not look."""
    client = MlflowClient(server, server)
    client.create_registered_model("raced")
    for _ in range(2):
        client.create_model_version("raced", f"runs:/{NO_RUN}/x", NO_RUN, await_creation_for=0)
    return "raced"


@pytest.fixture(scope="module")
def promoters(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Promoters]:
    started = Promoters(server, tmp_path_factory.mktemp("outcomes"))
    yield started
    started.close()


def test_two_at_once(server: str, model: str, promoters: Promoters) -> None:
    """Of two processes that promote at the same time exactly one wins, every time, and the other says who came first."""
    won: dict[str, int] = {}
    for number in range(RACES):
        outcomes = promoters.promote(model, f"race-{number}", [1, 2])
        assert sorted(one["state"] for one in outcomes) == ["refused", "won"], outcomes
        lost = next(one for one in outcomes if one["state"] == "refused")
        assert "decision " in lost["said"]
        assert NOTHING_MOVED in lost["said"]
        won[f"race-{number}"] = 1 + [one["state"] for one in outcomes].index("won")
    assert dict(MlflowRegistry(server).aliases(model)) == won


def test_killed_at_any_moment(server: str, model: str, promoters: Promoters) -> None:
    """A promotion that is killed has not begun, is done, or is unfinished: then it is carried out or taken back."""
    registry = MlflowRegistry(server)
    took_s = promoters.promote(model, "whole", [1])[0]["took_s"]
    for number in range(KILLS):
        alias = f"killed-{number}"
        (outcome,) = promoters.promote(model, alias, [1], kill_after_s=took_s * number / KILLS)
        entries, place = registry.decisions(model, alias), registry.aliases(model).get(alias)
        assert len(entries) <= 1
        if outcome["state"] == "won" or (entries and entries[0].state == "done"):
            assert place == 1
        elif not entries:
            assert place is None
        elif number % 2:
            assert registry.finish(model, alias).state == "done"
            assert registry.aliases(model)[alias] == 1
        else:
            assert registry.rollback(model, alias).state == "done"
            assert alias not in registry.aliases(model)


def test_cut_off(server: str, model: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that goes down with any of the requests: a line that says truly whether the alias was moved, and what to do."""
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    proxy, direct = Cuttable(server), MlflowRegistry(server)
    one = ModelVersion(model=model, version=2, evaluation_run="r", evaluation="e", candidate="c")
    messages: list[str] = []
    try:
        for request in range(1, 40):
            alias = f"cut-{request}"
            proxy.cut_at(request, carried=request % 3 > 0)  # mostly only the answer is lost: that is the harder case
            try:
                MlflowRegistry(proxy.uri).promote(one, alias, None, verdict(one), NO_RUN)
            except TrackerError as error:
                messages.append(str(error))
            if not proxy.is_cut:
                break
            _require_true(direct, model, alias, messages[-1])
    finally:
        proxy.close()
    assert len(messages) > 5
    assert not any("\n" in message for message in messages)


def _require_true(direct: MlflowRegistry, model: str, alias: str, message: str) -> None:
    moved = direct.aliases(model).get(alias) == 2
    if moved:
        assert f"{model}@{alias} points to version 2 now" in message or "was moved is not known" in message
    else:
        assert NOTHING_MOVED in message or "was moved is not known" in message
    if direct.decisions(model, alias):
        assert f"crosspath promote {model} {alias} --finish" in message or f"crosspath decisions {model}" in message
        if direct.decisions(model, alias)[0].state == "unfinished":
            direct.finish(model, alias)
        assert direct.aliases(model)[alias] == 2


def test_down_before(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Commands against a server that is down are one line and exit code 5."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setenv("CROSSPATH_STORE", str(tmp_path / "store"))
    for arguments in (["rollback", "shell", "champion"], ["promote", "shell", "champion", "--finish"], ["decisions", "shell"]):
        assert run(arguments) == 5
        assert capsys.readouterr().err.startswith("crosspath: MLflow at http://127.0.0.1:9 can't be used (")


def test_from_evaluation_to_rollback(
    server: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Behind a server: a logged candidate is registered, promoted, found by its alias, shown in the history, and rolled back."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server)
    monkeypatch.setenv("CROSSPATH_STORE", str(tmp_path / "store"))
    facts, judgement = evaluation("walked-1", names=("adaptive",))
    write_bundle(facts, judgement, tmp_path / "bundle")
    logged = MlflowTracker(server).log(facts, judgement, tmp_path / "bundle")
    assert MlflowTracker(server).log(facts, judgement, tmp_path / "bundle") == logged

    registered = ["register", logged.run_id, "--candidate", "adaptive", "--model", "shell", "--json"]
    for _ in range(2):
        assert run(registered) == 0
        assert json.loads(capsys.readouterr().out)["version"] == 1
    registry = MlflowRegistry(server)
    version = registry.find(EvidenceRef(model="shell", version=1))
    assert registry.versions("shell") == (version,)

    decided = verdict(version)
    gate = registry.log_verdict(decided, written(decided, tmp_path / "verdict"), "quoting")
    assert registry.log_verdict(decided, tmp_path / "verdict", "quoting") == gate
    registry.promote(version, "champion", None, decided, gate.run_id)
    assert registry.find(EvidenceRef(model="shell", alias="champion")).evaluation_run == logged.run_id
    capsys.readouterr()
    assert run(["decisions", "shell", "--json"]) == 0
    history = json.loads(capsys.readouterr().out)
    assert history["remarks"] == ["shell@champion is version 1 now"]
    assert [(one["verdict_run"], one["state"]) for one in history["decisions"]] == [(gate.run_id, "done")]
    assert run(["rollback", "shell", "champion"]) == 0
    assert "shell@champion is no version now" in capsys.readouterr().out
    with pytest.raises(CrosspathError):
        registry.find(EvidenceRef(model="shell", alias="champion"))
