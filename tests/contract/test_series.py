"""What every series must do: the fake, MLflow on an embedded store, and MLflow behind a real server."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import pytest

import builders
import series
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.series import MlflowSeries
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.errors import ConfigError, TrackerError
from crosspath.pipeline.series import entry_of
from crosspath.ports import Series, Tracker
from crosspath.store.bundle import write_bundle
from crosspath.testing.series import MemorySeries
from crosspath.testing.tracker import MemoryTracker
from crosspath.types import Facts, Judgement
from deployments import deployed, look, written
from mlflow_server import mlflow_server

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")

_NAMES = (f"bot {number}" for number in itertools.count(1))


class Subject(Protocol):
    """A series, the tracker of the same store, and how a test looks behind it."""

    @property
    def series(self) -> Series: ...
    @property
    def tracker(self) -> Tracker: ...
    def looks(self, deployment: str, experiment: str) -> list[str]: ...
    def unreachable(self) -> Series: ...


class Memory:
    def __init__(self, directory: Path) -> None:
        self.tracker = MemoryTracker(directory)
        self.series = MemorySeries(self.tracker, entry_of)

    def looks(self, deployment: str, experiment: str) -> list[str]:
        return [one.drift.id for key, one in self.series.looks.items() if key[:2] == (deployment, experiment)]

    def unreachable(self) -> Series:
        return MemorySeries(replace(self.tracker, reachable=False), entry_of)


class Mlflow:
    def __init__(self, uri: str, cache: Path) -> None:
        self.tracker, self.series = MlflowTracker(uri), MlflowSeries(uri, cache=cache)
        self.client = MlflowClient(uri, uri)

    def looks(self, deployment: str, experiment: str) -> list[str]:
        place = self.client.get_experiment_by_name(experiment)
        wanted = f"tags.`crosspath.kind` = 'drift' and tags.`crosspath.deployment` = '{deployment}'"
        return (
            [run.data.tags["crosspath.drift"] for run in self.client.search_runs([place.experiment_id], wanted)] if place else []
        )

    def unreachable(self) -> Series:
        return MlflowSeries("http://127.0.0.1:9")


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
    return Mlflow(request.getfixturevalue(request.param), tmp_path / "cache")


@pytest.fixture
def bot() -> str:
    """A deployment of its own for each test."""
    return next(_NAMES)


def log(subject: Subject, facts: Facts, judgement: Judgement, directory: Path) -> str:
    write_bundle(facts, judgement, directory / "bundle")
    return subject.tracker.log(facts, judgement, directory / "bundle").run_id


class TestEverySeries:
    def test_history(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """All evaluations of a deployment, oldest first, with their runs; not those of others, nor those of none."""
        days = [deployed(bot, day) for day in (2, 0, 1)]
        runs = [log(subject, *one, tmp_path) for one in (*days, deployed("another"), builders.evaluation("of-none-1"))]
        history = subject.series.history(bot)
        expected = [entry_of(*days[place]) for place in (1, 2, 0)]
        assert [one.model_copy(update={"run": None}) for one in history.entries] == expected
        assert [one.run for one in history.entries] == [runs[1], runs[2], runs[0]]
        assert (history.deployment, history.experiment, history.unreadable) == (bot, "watch", ())
        assert subject.series.history(bot) == history

    def test_logged_twice_is_once(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """An evaluation that went on and was logged again is one entry."""
        facts, judgement = deployed(bot)
        log(subject, facts, judgement, tmp_path)
        log(subject, facts.model_copy(update={"sessions": (*facts.sessions, (series.NOON, None))}), judgement, tmp_path)
        assert len(subject.series.history(bot).entries) == 1

    def test_unknown_deployment(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """A name that is none is one line that says which there are; so is one that can't be a name."""
        log(subject, *deployed(bot), tmp_path)
        for unknown in ("nobody", "a'b", ""):
            with pytest.raises(ConfigError, match=r"^there is no deployment [^\n]*bot[^\n]*$"):
                subject.series.history(unknown)

    def test_several_experiments(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """Which of them has to be said; a wrong one is one line."""
        log(subject, *deployed(bot, experiment="watch"), tmp_path)
        log(subject, *deployed(bot, experiment="another watch"), tmp_path)
        with pytest.raises(ConfigError, match=r"in several experiments: another watch, watch; [^\n]*--experiment$"):
            subject.series.history(bot)
        assert subject.series.history(bot, "another watch").experiment == "another watch"
        log(subject, *builders.evaluation("elsewhere-1", experiment="elsewhere"), tmp_path)
        with pytest.raises(ConfigError, match=r"experiment '(elsewhere|nowhere)'[^\n]*watch[^\n]*$"):
            subject.series.history(bot, "elsewhere")
        with pytest.raises(ConfigError, match=r"experiment 'nowhere'[^\n]*watch[^\n]*$"):
            subject.series.history(bot, "nowhere")

    def test_no_look_yet(self, subject: Subject, bot: str) -> None:
        """There is nothing to go on from, in whichever experiment."""
        assert subject.series.last_look(bot, "watch") is None
        assert subject.series.last_look(bot, "nowhere") is None

    def test_look_round_trip(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """The newest look comes back as it was; looks at others, and in other experiments, are not in the way."""
        for drift in (look(bot, 2), look(bot, 1), look(f"{bot}-other", 3), look(bot, 4, experiment="another watch")):
            assert subject.series.log_look(drift, written(drift, tmp_path / drift.id)).url
        assert subject.series.last_look(bot, "watch") == look(bot, 2)
        assert sorted(subject.looks(bot, "watch")) == ["drift-1-a", "drift-2-a"]

    def test_same_look_again(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """It changes nothing."""
        drift = look(bot)
        first = subject.series.log_look(drift, written(drift, tmp_path / "look"))
        assert subject.series.log_look(drift, tmp_path / "look") == first
        assert subject.looks(bot, "watch") == [drift.id]

    def test_one_look_a_day(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """The later look of a UTC day takes the place of the earlier one, in whichever order they are logged."""
        early, late = look(bot, 1, "a"), look(bot, 1.25, "b")
        subject.series.log_look(early, written(early, tmp_path / "early"))
        kept = subject.series.log_look(late, written(late, tmp_path / "late"))
        assert subject.series.log_look(early, tmp_path / "early") == kept
        assert subject.looks(bot, "watch") == [late.id]
        assert subject.series.last_look(bot, "watch") == late

    def test_no_files(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """Without its record a look is not logged at all."""
        with pytest.raises(TrackerError, match=r"^nothing to log: [^\n]*drift\.json[^\n]*$"):
            subject.series.log_look(look(bot), tmp_path)
        assert subject.looks(bot, "watch") == []

    def test_unreachable(self, subject: Subject, bot: str, tmp_path: Path) -> None:
        """A server that is down is one line, whatever is asked."""
        drift, gone = look(bot), subject.unreachable()
        for ask in (
            lambda: gone.history(bot),
            lambda: gone.last_look(bot, "watch"),
            lambda: gone.log_look(drift, written(drift, tmp_path / "look")),
        ):
            with pytest.raises(TrackerError, match=r"^MLflow at [^\n]*can't be used[^\n]*$"):
                ask()
