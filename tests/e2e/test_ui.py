"""`crosspath ui`: which store it serves, when it says so, and what it says when it can't."""

import json
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from crosspath.app.adapters import ui_instruction
from crosspath.app.serving import UiPlan, serve
from crosspath.cli.entry import run
from crosspath.errors import TrackerError

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")

SPEC = "tasks: {families: [exact-file], tiers: [0]}\ncandidates: {a: baseline/oracle}\n"
WITHIN_S = 120


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with an evaluation whose ledger is its own, and that was logged to another store than the usual one."""
    directory = tmp_path_factory.mktemp("ui")
    (directory / "spec.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patched:
        patched.chdir(directory)
        patched.delenv("CROSSPATH_STORE", raising=False)
        patched.setenv("MLFLOW_TRACKING_URI", "sqlite:///elsewhere.db")
        assert run(["run", "spec.yaml", "--executor", "local"]) == 0
    return directory


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """In that directory, without a word about another store."""
    monkeypatch.chdir(place)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("CROSSPATH_STORE", raising=False)
    return place


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_store_of_an_evaluation(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An evaluation that was logged elsewhere is opened there, wherever this shell would log to."""
    assert run(["ui", "latest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["store"] == f"sqlite:///{here}/elsewhere.db"


def test_instruction_is_the_exact_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The printed command opens the very store: the usual one is short, others are named as they are from any directory."""
    monkeypatch.chdir(tmp_path)
    usual, other = Path(".crosspath"), tmp_path / "an other"
    assert ui_instruction(usual, f"sqlite:///{tmp_path}/.crosspath/mlflow.db") == "crosspath ui"
    assert ui_instruction(other, f"sqlite:///{other}/mlflow.db") == f"crosspath ui --store '{other}'"
    assert ui_instruction(usual, "sqlite:////x/mlflow.db") == "crosspath ui --tracking-uri sqlite:////x/mlflow.db"
    assert ui_instruction(usual, "postgresql://me:***@host/db") == "crosspath ui"
    assert ui_instruction(usual, "http://host:1") is None


def test_nothing_there(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that nothing was logged to is one line, and is not made."""
    assert run(["ui"]) == 2
    assert "nothing was logged to" in capsys.readouterr().err
    assert not (here / ".crosspath" / "mlflow.db").exists()


def test_nested_run_of_another_store(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The run of a candidate is found in the store that its evaluation was logged to."""
    from crosspath.adapters.mlflow_tracker.vendor import MlflowClient

    assert run(["report", "--json"]) == 0
    parent = json.loads(capsys.readouterr().out)["mlflow"]["run"]
    client = MlflowClient(f"sqlite:///{here}/elsewhere.db", f"sqlite:///{here}/elsewhere.db")
    experiment = client.get_run(parent).info.experiment_id
    nested = client.search_runs([experiment], f"tags.`mlflow.parentRunId` = '{parent}'")[0].info.run_id
    assert run(["report", nested, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["evaluation"].startswith("spec-")
    assert not (here / ".crosspath" / "mlflow.db").exists()


@pytest.mark.usefixtures("here")
def test_taken_port(capsys: pytest.CaptureFixture[str]) -> None:
    """A port that another program serves is one line that names the option, before anything is started."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        assert run(["ui", "latest", "--port", str(other.getsockname()[1])]) == 5
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "choose another one with --port" in err


def test_serves_until_it_is_stopped(here: Path) -> None:
    """The page's address is printed once it answers, nothing else is, and SIGTERM leaves no server behind."""
    port = free_port()
    command = [sys.executable, "-m", "crosspath", "ui", "latest", "--port", str(port)]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            first, second = process.stdout.readline(), process.stdout.readline()
            with socket.create_connection(("127.0.0.1", port), timeout=5):
                pass
        finally:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=WITHIN_S)
    assert first.startswith(f"MLflow: http://127.0.0.1:{port}/#/experiments/1/evaluation-runs?selectedRunUuid=")
    assert out == ""
    assert second == f"serves sqlite:///{here}/elsewhere.db; stop it with Ctrl-C\n"
    assert err == f"starting MLflow on sqlite:///{here}/elsewhere.db\n"
    assert process.returncode == 0
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0


def test_server_that_ends(tmp_path: Path) -> None:
    """A server that does not start is an error with what it said, except the lines that say nothing."""
    said: list[str] = []
    code = "import sys; print('noise: fine', file=sys.stderr); print('no such table', file=sys.stderr)"
    plan = UiPlan("http://127.0.0.1", str(tmp_path), free_port(), command=(sys.executable, "-c", code), noise=("noise",))
    with pytest.raises(TrackerError, match="ended by itself"):
        serve(plan, ready=lambda _: pytest.fail("it never served"), complain=said.append)
    assert said == ["no such table"]
