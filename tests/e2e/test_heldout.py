"""Held-out tasks in whole evaluations: a model that knows the public tasks is found out, and the seed is found nowhere."""

import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import crosspath
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.app.evaluation import Evaluation
from crosspath.app.prompts import prompts
from crosspath.catalogue import catalogue_dir, heldout_tasks, read_tasks
from crosspath.cli.entry import run
from crosspath.cli.finishing import document_of
from crosspath.testing.openai_server import OpenAIServer, Received
from crosspath.types import Task
from started import Started

pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")  # MLflow's own

SEED = "hunter2/held-out+seed 0123456789"
VARIABLE = "CROSSPATH_SEED_OF_TEST"
FAMILIES = (
    "commit-message", "exact-argv", "exact-file", "hostile-names", "literal-count", "literal-replace", "remote-file", "file-mode",
)  # fmt: skip
FILES = [catalogue_dir("tasks") / f"{family}.yaml" for family in FAMILIES]


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SEED)
    monkeypatch.setenv("KEY_OF_TEST", "sk-test")
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)


@pytest.fixture(scope="module")
def known() -> dict[str, Task]:
    """Instruction -> task, of both partitions."""
    tasks = [*(task for file in FILES for task in read_tasks(file)), *heldout_tasks(SEED, files=FILES)]
    return {task.instruction: task for task in tasks}


def _spec(urls: dict[str, str], files: list[Path], **further: Any) -> dict[str, Any]:
    return {
        "name": "held",
        "models": {name: {"model": "openai/m", "api_base": url, "api_key_env": "KEY_OF_TEST"} for name, url in urls.items()},
        "tasks": {"files": [str(file) for file in files], "partition": "both", "heldout_seed_env": VARIABLE},
        "executor": {"kind": "local", "replay_workers": 2},
        "retries": {"max_attempts": 1},
        **further,
    }


def _task(received: Received, known: dict[str, Task]) -> Task:
    return known[received.body["messages"][-1]["content"]]


@pytest.fixture(scope="module")
def evaluated(known: dict[str, Task], tmp_path_factory: pytest.TempPathFactory) -> tuple[Evaluation, Path]:
    """One evaluation, logged to MLflow: a model that knows the public tasks by heart, and one that can do them."""

    def by_heart(received: Received) -> str:
        task = _task(received, known)
        return (task.oracle if task.partition == "public" else task.naive) or ""

    def able(received: Received) -> str:
        return _task(received, known).oracle or ""

    store = tmp_path_factory.mktemp("held") / "store"
    with pytest.MonkeyPatch.context() as patch, OpenAIServer(by_heart) as knows, OpenAIServer(able) as can:
        patch.setenv(VARIABLE, SEED)
        patch.setenv("KEY_OF_TEST", "sk-test")
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        made = crosspath.evaluate(_spec({"knows": knows.url, "can": can.url}, FILES), store=store)
    assert made.tracking_error is None
    return made, store


def test_a_model_that_knows_the_public_tasks_rings_the_alarm(evaluated: tuple[Evaluation, Path]) -> None:
    """Right on all public tasks, tempted on their draws: the summary, a warning, the report and the JSON document say so."""
    made, _ = evaluated
    (line,) = [line for line in made.summary().splitlines() if line.startswith("CONTAMINATION ALARM")]
    assert line.startswith("CONTAMINATION ALARM for knows in RR: 100.0 % of the public tasks pass and 25.0 % of their held-out")
    assert "(32 pairs)" in line
    (warning,) = [warning for warning in made.judgement.warnings if "CONTAMINATION" in warning]
    assert warning.startswith("knows, RR: CONTAMINATION ALARM")
    assert "go by the held-out rate (25.0 %)" in made.report()
    gaps = {gap["candidate"]: gap for gap in document_of(made)["partition_gaps"]}
    assert gaps["knows"]["alarm"] is True
    assert gaps["knows"]["difference"]["value"] == pytest.approx(0.75)
    assert gaps["knows"]["difference"]["low"] > 0


def test_a_model_that_can_do_them_rings_none(evaluated: tuple[Evaluation, Path]) -> None:
    """As good on draws as on public tasks: no alarm, and that is said with numbers."""
    made, _ = evaluated
    (line,) = [line for line in made.summary().splitlines() if "for can in RR" in line]
    assert line.startswith("No contamination alarm for can in RR: 100.0 % of the public tasks pass and 100.0 % of their held-out")
    frame = made.partitions.set_index("candidate")
    assert (frame.loc["can", "alarm"], frame.loc["can", "value"]) == (False, 0.0)


def test_mlflow_shows_the_alarm(evaluated: tuple[Evaluation, Path]) -> None:
    """Each candidate's run has both rates, their difference and the alarm; params say how many tasks are held out."""
    made, store = evaluated
    client = MlflowClient(embedded_uri(store), embedded_uri(store))
    experiments = [one.experiment_id for one in client.search_experiments()]
    runs = client.search_runs(experiments, f"tags.`mlflow.parentRunId` = '{made.run_id}'")
    found = {run.data.tags["crosspath.candidate"]: run.data for run in runs}
    seen = {
        name: (data.metrics["pub_rate"], data.metrics["held_rate"], data.metrics["cont_alarm"]) for name, data in found.items()
    }
    assert seen == {"knows": (1.0, 0.25, 1.0), "can": (1.0, 1.0, 0.0)}
    params = found["knows"].params
    assert (params["tasks.partition"], params["tasks.heldout"], params["tasks.heldout_draws"]) == ("both", "32", "1")


def test_replays_and_other_validators_keep_the_partitions(
    evaluated: tuple[Evaluation, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is derived from an evaluation needs no seed: its tasks are stored."""
    made, store = evaluated
    monkeypatch.delenv(VARIABLE)
    replayed = crosspath.replay(made.id, ["script-file"], store=store, track=False)
    alarms = {(gap.candidate, gap.cell): gap.alarm for gap in replayed.judgement.partition_gaps}
    assert alarms["knows via script-file", "RR"]
    assert not alarms["can via script-file", "RR"]
    judged = crosspath.validate(made.id, "exact", store=store, track=False)
    assert {gap.candidate: gap.alarm for gap in judged.judgement.partition_gaps} == {"knows": True, "can": False}


def test_an_interrupted_evaluation_goes_on_with_the_same_seed(known: dict[str, Task], tmp_path: Path) -> None:
    """A limit stops it in the middle; the same seed goes on with the rest, another seed begins anew."""
    with OpenAIServer("true") as server, pytest.MonkeyPatch.context() as patch:
        asked = _spec({"m": server.url}, FILES[:2], limits={"max_requests": 5})
        first = crosspath.evaluate(asked, store=tmp_path / "store", track=False)
        assert (first.facts.head.status, len(server.requests)) == ("stopped", 5)
        again = crosspath.evaluate(asked | {"limits": {}}, store=tmp_path / "store", track=False)
        assert (again.id, again.facts.head.status, len(server.requests)) == (first.id, "finished", 16)
        patch.setenv(VARIABLE, "another seed of enough letters")
        other = crosspath.evaluate(asked, store=tmp_path / "store", track=False)
        assert other.id != first.id


def test_recorded_replies_answer_held_out_tasks(known: dict[str, Task], tmp_path: Path) -> None:
    """Prompts, answered elsewhere, come back as a recording and are judged, held-out tasks included."""
    spec, recording = tmp_path / "held.yaml", tmp_path / "replies.jsonl"
    document = _spec({}, FILES[:3], candidates={"elsewhere": {"model": f"recorded/{recording}"}})
    spec.write_text(json.dumps(document))
    lines = [line | {"reply": known[line["messages"][-1]["content"]].oracle} for line in prompts(spec)]
    assert sum("-heldout" in str(line["task"]) for line in lines) == 12
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines))
    made = crosspath.evaluate(spec, store=tmp_path / "store", track=False)
    cell = made.decomposition("elsewhere").cell("RR")
    assert cell is not None
    assert (cell.passed, cell.planned) == (24, 24)


@pytest.mark.parametrize("value", ["", "hunter2"])
def test_a_seed_that_is_missing_or_short_is_one_line(
    value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Plan, prompts and run refuse with exit code 2, write nothing and do not repeat the value."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, value)
    spec = tmp_path / "held.yaml"
    spec.write_text(json.dumps(_spec({}, FILES[:1], candidates={"a": "baseline/oracle"})))
    for command in (["plan"], ["prompts"], ["run", "--store", "store"], ["run", "--json", "--store", "store"]):
        assert run([command[0], str(spec), *command[1:]]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        assert err.count("\n") == 1
        assert err.startswith(f"crosspath: {spec}: tasks.heldout_seed_env: the ")
        assert VARIABLE in err
        assert "hunter2" not in err
    assert not (tmp_path / "store").exists()


def test_the_doctor_names_a_bad_seed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A short seed is a trouble with its variable and its fix, and is not repeated."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(VARIABLE, "hunter2")
    spec = tmp_path / "held.yaml"
    nowhere = {"kind": "ray", "address": "127.0.0.1:9"}  # a whole Ray would be started only to be looked at
    spec.write_text(json.dumps(_spec({}, FILES[:1], candidates={"a": "baseline/oracle"}, executor=nowhere)))
    run(["doctor", str(spec), "--json"])
    (finding,) = [finding for finding in json.loads(capsys.readouterr().out) if finding["what"] == "seed"]
    assert finding["status"] == "trouble"
    assert f"export {VARIABLE}=" in finding["detail"]
    assert "hunter2" not in json.dumps(finding)


@pytest.fixture
def short_directory() -> Iterator[Path]:
    """A directory with a short name: Ray puts sockets into it."""
    directory = Path(tempfile.mkdtemp(prefix="cp-", dir="/tmp"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


def test_the_seed_is_found_nowhere(known: dict[str, Task], tmp_path: Path, short_directory: Path) -> None:
    """On Ray, with MLflow, and replies that print every environment they can see: no byte of what is written, Ray's own logs
    included, and no line of output holds the seed.
    """
    prying = "cat /proc/*/environ > seen 2>/dev/null; env >> seen; tr '\\0' '\\n' < seen; ps auxewww"
    spec = tmp_path / "held.yaml"
    environment = {VARIABLE: SEED, "KEY_OF_TEST": "sk-test", "RAY_TMPDIR": str(short_directory)}
    with OpenAIServer(prying) as server:
        document = _spec({"m": server.url}, FILES[:2], executor={"kind": "ray", "replay_workers": 1})
        spec.write_text(json.dumps(document))
        started = Started(["run", str(spec), "--store", str(tmp_path / "store"), "--json"], tmp_path / "out", environment)
        assert started.wait(180) == 0, started.stderr
        sent = json.dumps([received.body for received in server.requests])
    assert len(started.document["partition_gaps"]) == 1
    report = Started(["report", "latest", "--store", str(tmp_path / "store")], tmp_path / "report", environment)
    assert report.wait() == 0, report.stderr
    assert "Public and held-out tasks" in report.stdout
    assert SEED not in sent
    names = {file.name for file in _files(tmp_path)}
    assert {"ledger.db", "mlflow.db", "replays.parquet", "head.json", "report.md", "stdout"} <= names
    assert any(file.suffix == ".log" or "gcs_server" in file.name for file in _files(short_directory))
    for file in [*_files(tmp_path), *_files(short_directory)]:
        assert SEED.encode() not in _content(file), file
    assert b"LANG=C.UTF-8" in _content(next(file for file in _files(tmp_path) if file.name == "replays.parquet"))


def _files(directory: Path) -> list[Path]:
    return [Path(place) / name for place, _, names in os.walk(directory) for name in names if (Path(place) / name).is_file()]


def _content(file: Path) -> bytes:
    """Bytes of a file; of a Parquet file, which is packed, all its values."""
    if file.suffix != ".parquet":
        return file.read_bytes()
    values = pq.read_table(file).to_pylist()  # pyright: ignore[reportUnknownMemberType]
    return json.dumps(values, default=str, ensure_ascii=False).encode()
