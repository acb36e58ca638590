"""What is particular to MLflow: what a person finds there, and what MLflow would do wrong if it were let."""

import json
import socket
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from mlflow.entities import Feedback, Run, Trace

from builders import evaluation, task
from crosspath.adapters.mlflow_tracker import MlflowRef, MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient, TracingClient
from crosspath.errors import TrackerError
from crosspath.store.bundle import write_bundle
from crosspath.types import Facts, Judgement

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")


class Store:
    """A tracker on an embedded store, and what it holds."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.uri = embedded_uri(directory)
        self.tracker = MlflowTracker(self.uri)
        self.tracker.check()
        self.client = MlflowClient(self.uri, self.uri)

    def log(self, facts: Facts, judgement: Judgement, parent: str | None = None) -> MlflowRef:
        bundle = self.directory / "bundles" / facts.head.id
        write_bundle(facts, judgement, bundle)
        return self.tracker.log(facts, judgement, bundle, parent)

    def nested(self, parent: str, role: str = "matched") -> list[Run]:
        wanted = f"tags.`mlflow.parentRunId` = '{parent}' and tags.`crosspath.role` = '{role}'"
        experiments = [one.experiment_id for one in self.client.search_experiments()]
        return list(self.client.search_runs(experiments, wanted, order_by=["attributes.start_time DESC"]))

    def traces(self, run_id: str) -> list[Trace]:
        experiment = self.client.get_run(run_id).info.experiment_id
        return list(TracingClient(self.uri).search_traces([experiment], f"metadata.`mlflow.sourceRun` = '{run_id}'"))


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("mlflow"))


def test_runs_and_names(store: Store) -> None:
    """An evaluation is one parent run and two nested runs for each candidate, named in words, in the order of the spec."""
    reference = store.log(*evaluation("names-1"))
    parent = store.client.get_run(reference.run_id)
    assert parent.info.run_name == "quoting · 2025-11-29 07:06"
    assert parent.info.status == "FINISHED"
    assert [run.info.run_name for run in store.nested(parent.info.run_id)] == [
        "oracle · told nested, done nested-shell",
        "adaptive · told nested, done nested-shell",
    ]
    assert {run.info.run_name for run in store.nested(parent.info.run_id, "reference")} == {
        "oracle · told raw, done raw",
        "adaptive · told raw, done raw",
    }
    assert {run.data.tags["mlflow.runType"] for run in [parent, *store.nested(parent.info.run_id)]} == {"genai_evaluate"}


def test_effects_on_the_matched_run(store: Store) -> None:
    """The matched run carries the effects, and its reference cells as tags; the reference run carries neither."""
    reference = store.log(*evaluation("effects-1"))
    adaptive = store.nested(reference.run_id)[1]
    metrics = adaptive.data.metrics
    assert metrics["damage_pp"] + metrics["compens_pp"] == pytest.approx(metrics["gap_pp"], abs=0.001)
    assert adaptive.data.tags["effect.damage"] == "RN - RR = -66.7 pp"
    assert adaptive.data.tags["cell.RN"] == "told raw, done nested-shell: 1 of 3 passed"
    assert "damage_pp" not in store.nested(reference.run_id, "reference")[0].data.metrics


def test_rows_are_paired_by_request(store: Store) -> None:
    """Each task is a trace of its run; the same task has the same request in every run."""
    reference = store.log(*evaluation("rows-1"))
    first, second = (store.traces(run.info.run_id) for run in store.nested(reference.run_id))
    assert len(first) == len(second) == 3
    assert {trace.info.request_preview for trace in first} == {trace.info.request_preview for trace in second}
    values = {one.name: one.value for one in second[0].info.assessments if isinstance(one, Feedback)}
    assert values == {"passed": True, "state_ok": True, "misreport": "none", "cause": "none"}
    assert second[0].data.spans[0].outputs["verdict"] == "passed"


def test_fault_is_no_verdict(store: Store) -> None:
    """A trial without a reply is an assessment with an error: neither true nor false."""
    reference = store.log(*evaluation("fault-1", fault=True))
    traces = store.traces(store.nested(reference.run_id)[0].info.run_id)
    faults = [one for trace in traces for one in trace.info.assessments if isinstance(one, Feedback) and one.error]
    assert [one.value for one in faults] == [None]
    assert "server_error" in str(faults[0].error)


def test_several_trials_are_one_row(store: Store) -> None:
    """MLflow's mean of ``passed`` over the rows of a run is the share of its trials that pass, whatever the number of trials."""
    reference = store.log(*evaluation("trials-1", trials=3))
    rows = store.traces(store.nested(reference.run_id)[0].info.run_id)
    passed = [one.value for trace in rows for one in trace.info.assessments if isinstance(one, Feedback) and one.name == "passed"]
    assert sorted(map(str, passed)) == ["0.0", "0.0", "1.0"]


def test_stages_of_failing_tasks(store: Store) -> None:
    """A failing task's trace has a span for each stage below its root, with inputs and outputs; a passing one is one span."""
    reference = store.log(*evaluation("stages-1"))
    traces = {
        trace.info.client_request_id: trace.data.spans for trace in store.traces(store.nested(reference.run_id)[0].info.run_id)
    }
    failing = traces["write-bytes/price"]
    assert [len(traces[name]) for name in ("write-bytes/price", "write-bytes/plain", "rename-file/dash")] == [6, 1, 6]
    root, generate, *_, validated = failing
    assert {span.parent_id for span in failing[1:]} == {root.span_id}
    assert generate.inputs["messages"][0]["role"] == "system"
    assert generate.outputs["choices"][0]["message"]["content"].startswith("```")
    assert (validated.outputs["cause"], validated.events[0].name) == ("wrong_state", "exception")


def test_rows_and_stages_are_bounded(tmp_path: Path, store: Store) -> None:
    """More tasks than the caps: the same ones are shown for every candidate, and the description says how to have all."""
    small = MlflowTracker(store.uri, traces=2, max_rows=5)
    facts, judgement = evaluation("bounded-1")
    write_bundle(facts, judgement, tmp_path / "bundle")
    reference = small.log(facts, judgement, tmp_path / "bundle")
    rows = [store.traces(run.info.run_id) for run in store.nested(reference.run_id)]
    assert [{trace.info.client_request_id for trace in one} for one in rows] == [{"write-bytes/price", "rename-file/dash"}] * 2
    assert sorted(len(trace.data.spans) > 1 for trace in rows[0]) == [False, True]
    note = store.nested(reference.run_id)[0].data.tags["mlflow.note.content"]
    assert "Rows: 2 of 3" in note
    assert "`crosspath log bounded-1 --traces all`" in note
    assert [store.traces(run.info.run_id) for run in store.nested(reference.run_id, "reference")] == [[], []]
    every = MlflowTracker(store.uri, traces="all", max_rows=5).log(facts, judgement, tmp_path / "bundle")
    assert store.client.get_run(reference.run_id).info.lifecycle_stage == "deleted"
    rows = [store.traces(run.info.run_id) for run in store.nested(every.run_id)]
    assert [sorted(len(trace.data.spans) for trace in one) for one in rows] == [[1, 6, 6], [1, 1, 1]]


def test_tasks_are_a_dataset(store: Store) -> None:
    """The task set is a dataset of every run, by the digest of its tasks, so that runs on other tasks are told apart."""
    reference = store.log(*evaluation("dataset-1"))
    runs = [store.client.get_run(reference.run_id), *store.nested(reference.run_id), *store.nested(reference.run_id, "reference")]
    inputs = [one for run in runs for one in (run.inputs.dataset_inputs if run.inputs else [])]
    assert {(one.dataset.name, one.dataset.digest) for one in inputs} == {
        ("catalogue: 3 tasks", runs[1].data.params["tasks.digest"][:36])
    }
    assert len(inputs) == len(runs) == 5
    assert json.loads(inputs[0].dataset.profile or "{}")["num_rows"] == 3


def test_reports_stand_at_the_top(store: Store) -> None:
    """The report is an artifact of the parent where MLflow opens it, beside the bundle that holds everything."""
    reference = store.log(*evaluation("reports-1"))
    names = {entry.path for entry in store.client.list_artifacts(reference.run_id)}
    assert {"bundle", "report.md"} <= names


def test_link_of_one_candidate(store: Store) -> None:
    """With a single candidate the link opens it beside its reference, task by task."""
    reference = store.log(*evaluation("single-1", names=("oracle",)))
    own, other = (store.nested(reference.run_id, role)[0].info.run_id for role in ("matched", "reference"))
    assert reference.url.endswith(f"?selectedRunUuid={own}&compareToRunUuid={other}")


def test_interrupted_logging_is_finished(store: Store) -> None:
    """What an interrupted attempt left is replaced: no second parent, no rows of a run that is gone."""
    facts, judgement = evaluation("interrupted-1")
    first = store.log(facts, judgement)
    store.client.delete_tag(first.run_id, "crosspath.logged")
    left = store.nested(first.run_id)[0].info.run_id
    second = store.log(facts, judgement)
    assert second.run_id != first.run_id
    assert store.client.get_run(first.run_id).info.lifecycle_stage == "deleted"
    assert len(store.traces(left)) == 0


def test_stopped_is_not_green(store: Store) -> None:
    """A stopped evaluation is a failed run, with the candidate that lacks results; when it goes on to its end, it is finished."""
    facts, judgement = evaluation("stopped-1", fault=True)
    stopped = facts.model_copy(update={"head": facts.head.model_copy(update={"status": "stopped"})})
    parent = store.client.get_run(store.log(stopped, judgement).run_id)
    assert (parent.info.status, parent.data.tags["crosspath.status"]) == ("FAILED", "stopped")
    assert [run.info.status for run in store.nested(parent.info.run_id)] == ["FAILED", "FINISHED"]
    parent = store.client.get_run(store.log(*evaluation("stopped-1")).run_id)
    assert (parent.info.status, parent.data.tags["crosspath.status"]) == ("FINISHED", "finished")
    assert {run.info.status for run in store.nested(parent.info.run_id)} == {"FINISHED"}


def test_no_run_ends_before_it_starts(store: Store) -> None:
    """An evaluation that took no time, as one that is only judged anew, has runs that end when they start."""
    facts, judgement = evaluation("instant-1")
    head = facts.head.model_copy(update={"created_at": 1_764_400_000.0009})
    reference = store.log(facts.model_copy(update={"head": head, "sessions": ()}), judgement)
    runs = [store.client.get_run(reference.run_id), *store.nested(reference.run_id), *store.nested(reference.run_id, "reference")]
    assert [run.info.run_name for run in runs if (run.info.end_time or 0) < run.info.start_time] == []


def test_given_parent_keeps_its_params(store: Store) -> None:
    """A param that the given parent run has already, with another value, stays; ours is logged under a name of its own."""
    opened = store.client.create_run(store.client.create_experiment("project"), run_name="lively-mouse-12").info.run_id
    store.client.log_param(opened, "trials", "from the command line")
    store.log(*evaluation("project-1"), opened)
    run = store.client.get_run(opened)
    assert (run.data.params["trials"], run.data.params["crosspath.trials"]) == ("from the command line", "1")
    assert run.info.run_name == "quoting · 2025-11-29 07:06"
    assert run.info.status == "RUNNING"


def test_ignores_the_active_run(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """``MLFLOW_RUN_ID`` in the environment doesn't make nested runs the parent (mlflow issue 15713)."""
    monkeypatch.setenv("MLFLOW_RUN_ID", "0" * 32)
    reference = store.log(*evaluation("active-1"))
    assert reference.run_id not in {run.info.run_id for run in store.nested(reference.run_id)}


def test_contracts_are_registered_once(store: Store) -> None:
    """A contract's text is a prompt version of its own; only a changed text makes a new version."""
    facts, judgement = evaluation("prompts-1")
    before = store.log(facts, judgement)
    again = store.log(*evaluation("prompts-2"))
    tags = [store.nested(one.run_id)[0].data.tags["contract.prompt"] for one in (before, again)]
    assert tags[0] == tags[1]
    told = tuple(text.model_copy(update={"content": text.content + "Be brief.\n"}) for text in facts.contracts)
    changed = facts.model_copy(update={"contracts": told, "head": facts.head.model_copy(update={"id": "prompts-3"})})
    third = store.nested(store.log(changed, judgement).run_id)[0].data.tags
    assert third["contract.prompt"] != tags[0]
    name, version = third["contract.prompt"].removeprefix("prompts:/").split("/")
    registered = store.client.get_prompt_version(name, version)
    assert registered is not None
    assert registered.template == told[1].content
    assert json.loads(third["mlflow.linkedPrompts"]) == [{"name": name, "version": version}]


def test_unknown_is_not_logged(store: Store) -> None:
    """An unknown cost is no metric: never NaN, infinity or zero (mlflow pull request 1573)."""
    reference = store.log(*evaluation("unknown-1"))
    metrics = store.client.get_run(reference.run_id).data.metrics
    assert "cost_usd" not in metrics
    assert metrics["requests"] == 12


def test_long_param_is_a_file(store: Store) -> None:
    """A configuration value that MLflow would cut becomes a file, and its digest the param (mlflow issue 10512)."""
    facts, judgement = evaluation("long-1")
    first = facts.lock.candidates[0]
    model = first.generation.model.model_copy(update={"params": {"logit_bias": "x" * 6_001}})
    generation = first.generation.model_copy(update={"model": model})
    lock = facts.lock.model_copy(
        update={"candidates": (first.model_copy(update={"generation": generation}), *facts.lock.candidates[1:])}
    )
    reference = store.log(facts.model_copy(update={"lock": lock}), judgement)
    run = store.nested(reference.run_id)[0]
    assert run.data.params["model.params.logit_bias"].startswith("sha256:")
    kept = store.client.download_artifacts(run.info.run_id, "long_params/model.params.logit_bias.txt")
    assert Path(kept).read_text() == "x" * 6_001


def test_hostile_names(store: Store) -> None:
    """Candidates and tasks with any characters are logged; a lone surrogate in a reply doesn't break a row."""
    odd = task("odd/\u202e\U0001f600'\"", "odd")
    facts, judgement = evaluation("hostile-1", names=("a/b 'c' \u00e9\U0001f600", "adaptive"), tasks=(odd,))
    trial = facts.trials[0]
    broken = trial.model_copy(update={"reply": trial.reply and trial.reply.model_copy(update={"text": "\ud800 \0 end"})})
    reference = store.log(facts.model_copy(update={"trials": (broken, *facts.trials[1:])}), judgement)
    assert len(store.nested(reference.run_id)) == 2


def test_deleted_experiment(store: Store) -> None:
    """An experiment in MLflow's bin is refused in one line that says what to do."""
    store.client.delete_experiment(store.client.create_experiment("binned"))
    with pytest.raises(TrackerError, match="was deleted in MLflow") as caught:
        store.log(*evaluation("binned-1", experiment="binned"))
    assert "\n" not in str(caught.value)


def test_server_down(tmp_path: Path) -> None:
    """A server that isn't there is one clear line within seconds, not minutes of retries."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://127.0.0.1:{free.getsockname()[1]}"
    started = time.monotonic()
    with pytest.raises(TrackerError, match="can't be used") as caught:
        MlflowTracker(uri).fetch("0123abc", tmp_path)
    assert uri in str(caught.value)
    assert "\n" not in str(caught.value)
    assert time.monotonic() - started < 10


def test_server_silent(tmp_path: Path) -> None:
    """A server that accepts and never answers is given up within ten seconds."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        held: list[socket.socket] = []
        thread = threading.Thread(target=lambda: held.append(silent.accept()[0]), daemon=True)
        thread.start()
        started = time.monotonic()
        with pytest.raises(TrackerError, match="can't be used"):
            MlflowTracker(f"http://127.0.0.1:{silent.getsockname()[1]}").fetch("0123abc", tmp_path)
        assert time.monotonic() - started < 12
        thread.join()
        held[0].close()


def test_artifacts_stay_beside_the_database(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written to the directory that the program happens to run in."""
    monkeypatch.chdir(tmp_path)
    store.log(*evaluation("place-1"))
    assert list(tmp_path.iterdir()) == []
    assert (store.directory / "artifacts" / "quoting").is_dir()


def test_locked_database(store: Store) -> None:
    """A database that another program holds is one line after seconds, and nothing is lost: the same call works later."""
    with closing(sqlite3.connect(store.directory / "mlflow.db", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(TrackerError, match=r"can't be used \(database is locked\)$"):
            store.log(*evaluation("locked-1"))
        other.execute("ROLLBACK")
    store.log(*evaluation("locked-1"))


def test_write_ahead_log(store: Store) -> None:
    """A store that is made here keeps a write-ahead log: each row is one write to the disk, and readers don't wait for it."""
    with closing(sqlite3.connect(store.directory / "mlflow.db")) as connection:
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_unusable_database(tmp_path: Path) -> None:
    """A store that can't be written, or is no database, is one line at once."""
    (tmp_path / "file").write_text("not a database, and long enough to be read as one\n" * 40)
    for uri, reason in ((embedded_uri(tmp_path / "file"), "exists"), (f"sqlite:///{tmp_path / 'file'}", "not a database")):
        with pytest.raises(TrackerError, match=reason) as caught:
            MlflowTracker(uri).check()
        assert "\n" not in str(caught.value)


def test_password_stays_secret() -> None:
    """An address with a password is named, and stored with the evaluation, without it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"http://me:s3cret@127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(TrackerError) as caught:
        MlflowTracker(uri).check()
    assert "s3cret" not in str(caught.value)
    assert "me:***@127.0.0.1" in str(caught.value)
    assert MlflowTracker(uri).uri == uri.replace("s3cret", "***")
