"""What every tracker must do: the fake, MLflow on an embedded store, and MLflow behind a real server."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol

import pytest

from builders import evaluation
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.errors import ConfigError, TrackerError
from crosspath.ports import Tracker
from crosspath.store.bundle import read_bundle, write_bundle
from crosspath.testing.tracker import MemoryTracker
from crosspath.types import Facts, Judgement
from mlflow_server import mlflow_server

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")


class Subject(Protocol):
    """A tracker, and how a test looks behind it."""

    @property
    def tracker(self) -> Tracker: ...
    def parents(self, evaluation: str) -> list[str]: ...
    def nested(self, parent: str) -> list[str]: ...
    def open_run(self) -> str: ...
    def asking_for(self, traces: int | Literal["all"]) -> Tracker: ...


class Memory:
    def __init__(self, directory: Path) -> None:
        self.tracker = MemoryTracker(directory)

    def asking_for(self, traces: int | Literal["all"]) -> Tracker:
        return replace(self.tracker, traces=traces)

    def parents(self, evaluation: str) -> list[str]:
        return [run.run_id for run in self.tracker.runs.values() if run.evaluation == evaluation and run.parent is None]

    def nested(self, parent: str) -> list[str]:
        return [run.run_id for run in self.tracker.runs.values() if run.parent == parent]

    def open_run(self) -> str:
        return self.tracker.open_run("opened by somebody else")


class Mlflow:
    def __init__(self, uri: str) -> None:
        self.uri = uri
        self.tracker = MlflowTracker(uri)
        self.client = MlflowClient(uri, uri)

    def asking_for(self, traces: int | Literal["all"]) -> Tracker:
        return MlflowTracker(self.uri, traces=traces)

    def _runs(self, wanted: str) -> list[str]:
        experiments = [one.experiment_id for one in self.client.search_experiments()]
        return [run.info.run_id for run in self.client.search_runs(experiments, wanted)]

    def parents(self, evaluation: str) -> list[str]:
        return self._runs(f"tags.`crosspath.evaluation` = '{evaluation}' and tags.`crosspath.role` = 'evaluation'")

    def nested(self, parent: str) -> list[str]:
        return self._runs(f"tags.`mlflow.parentRunId` = '{parent}'")

    def open_run(self) -> str:
        run = self.client.create_run(self.client.create_experiment(f"opened-{time.time_ns()}"), run_name="lively-mouse-12")
        self.client.log_param(run.info.run_id, "kind", "something else")
        return run.info.run_id


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """One SQLite store for all tests: its first set-up takes seconds."""
    return embedded_uri(tmp_path_factory.mktemp("embedded"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A real MLflow server on a free port."""
    with mlflow_server(tmp_path_factory.mktemp("server")) as uri:
        yield uri


@pytest.fixture(params=["memory", "embedded", "server"])
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    if request.param == "memory":
        return Memory(tmp_path / "memory")
    return Mlflow(request.getfixturevalue(request.param))


@pytest.fixture
def logged(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Facts, Judgement, Path]:
    """An evaluation of its own for each test, with its bundle."""
    facts, judgement = evaluation(f"{request.node.name.translate(str.maketrans('[]', '--'))}-1")
    write_bundle(facts, judgement, tmp_path / "bundle")
    return facts, judgement, tmp_path / "bundle"


Logged = tuple[Facts, Judgement, Path]


class TestEveryTracker:
    def test_round_trip(self, subject: Subject, logged: Logged, tmp_path: Path) -> None:
        """What was logged on one machine is fetched on another, fact by fact."""
        reference = subject.tracker.log(*logged)
        assert read_bundle(subject.tracker.fetch(reference.run_id, tmp_path / "fetched")) == logged[0]
        assert reference.url

    def test_sign_of_life(self, subject: Subject) -> None:
        """A tracker that works says so before anything is spent, and names where it logs to."""
        subject.tracker.check()
        assert ":" in subject.tracker.uri

    def test_fetch_by_a_nested_run(self, subject: Subject, logged: Logged, tmp_path: Path) -> None:
        """A candidate's run leads to the evaluation that it belongs to."""
        reference = subject.tracker.log(*logged)
        nested = subject.nested(reference.run_id)
        assert nested
        assert read_bundle(subject.tracker.fetch(nested[0], tmp_path / "fetched")) == logged[0]

    def test_logging_twice(self, subject: Subject, logged: Logged) -> None:
        """The same evaluation logged again is the same runs, not more of them."""
        first = subject.tracker.log(*logged)
        before = sorted(subject.nested(first.run_id))
        assert subject.tracker.log(*logged) == first
        assert subject.parents(logged[0].head.id) == [first.run_id]
        assert sorted(subject.nested(first.run_id)) == before

    def test_replies_of_an_experiment(self, subject: Subject, logged: Logged) -> None:
        """The trials of an experiment's evaluations come with their replies; a missing experiment is the user's mistake."""
        facts, judgement, bundle = logged
        head = facts.head.model_copy(update={"experiment": facts.head.id})
        facts = facts.model_copy(update={"head": head})
        write_bundle(facts, judgement, bundle)
        reference = subject.tracker.log(facts, judgement, bundle)
        assert [(one.run, one.trials, one.problem) for one in subject.tracker.trials(head.id)] == [
            (reference.run_id, facts.trials, "")
        ]
        with pytest.raises(ConfigError, match="there is no experiment 'nowhere'"):
            list(subject.tracker.trials("nowhere"))

    def test_more_traces_replace(self, subject: Subject, logged: Logged) -> None:
        """Another number of traces replaces what was logged; without a wish, or with the same one, it stays as it is."""
        subject.tracker.log(*logged)
        more = subject.asking_for("all").log(*logged)
        assert subject.asking_for("all").log(*logged) == subject.tracker.log(*logged) == more
        assert subject.parents(logged[0].head.id) == [more.run_id]

    def test_changed_content_replaces(self, subject: Subject, logged: Logged, tmp_path: Path) -> None:
        """An evaluation that went on after it was logged replaces what was logged before."""
        subject.tracker.log(*logged)
        facts, judgement, bundle = logged
        more = facts.model_copy(update={"sessions": (*facts.sessions, (facts.head.created_at + 9, None))})
        write_bundle(more, judgement, bundle)
        again = subject.tracker.log(more, judgement, bundle)
        assert subject.parents(facts.head.id) == [again.run_id]
        assert read_bundle(subject.tracker.fetch(again.run_id, tmp_path / "fetched")) == more

    def test_same_id_of_another_ledger(self, subject: Subject, logged: Logged, tmp_path: Path) -> None:
        """Ids are counted in each ledger: an evaluation of the same id that somebody else logged is left alone."""
        first = subject.tracker.log(*logged)
        facts, judgement, bundle = logged
        head = facts.head.model_copy(update={"created_at": facts.head.created_at + 60})
        other = facts.model_copy(update={"head": head})
        write_bundle(other, judgement, bundle)
        second = subject.tracker.log(other, judgement, bundle)
        assert sorted(subject.parents(facts.head.id)) == sorted([first.run_id, second.run_id])
        assert read_bundle(subject.tracker.fetch(first.run_id, tmp_path / "first")) == facts
        assert read_bundle(subject.tracker.fetch(second.run_id, tmp_path / "second")) == other

    def test_parent_run_of_another(self, subject: Subject, logged: Logged, tmp_path: Path) -> None:
        """A run that ``mlflow run`` opened becomes the parent, whatever params it has already."""
        opened = subject.open_run()
        reference = subject.tracker.log(*logged, opened)
        assert reference.run_id == opened
        assert subject.nested(opened)
        assert read_bundle(subject.tracker.fetch(opened, tmp_path / "fetched")) == logged[0]

    def test_moves_under_a_parent(self, subject: Subject, logged: Logged) -> None:
        """Logged on its own first and then under a given parent, an evaluation is there once."""
        subject.tracker.log(*logged)
        opened = subject.open_run()
        subject.tracker.log(*logged, opened)
        assert subject.parents(logged[0].head.id) == [opened]

    def test_unknown_run(self, subject: Subject, tmp_path: Path) -> None:
        """A run that doesn't exist is one clear line."""
        with pytest.raises(TrackerError, match=r"^no evaluation in run 0123abc at [^\n]*$"):
            subject.tracker.fetch("0123abc", tmp_path / "fetched")

    def test_unknown_parent(self, subject: Subject, logged: Logged) -> None:
        """A parent run that doesn't exist is refused, and nothing is left behind."""
        with pytest.raises(TrackerError):
            subject.tracker.log(*logged, "0123abc")
        assert subject.parents(logged[0].head.id) == []

    def test_no_bundle(self, subject: Subject, logged: Logged, tmp_path: Path) -> None:
        """Without artifacts nothing is logged at all."""
        with pytest.raises(TrackerError):
            subject.tracker.log(logged[0], logged[1], tmp_path / "nowhere")
        assert subject.parents(logged[0].head.id) == []
