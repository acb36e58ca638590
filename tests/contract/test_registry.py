"""What every model registry must do: the fake, and MLflow on an embedded store."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from builders import evaluation
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.registry import MlflowRegistry
from crosspath.adapters.mlflow_tracker.vendor import MlflowClient
from crosspath.errors import ConfigError, TrackerError
from crosspath.pipeline.configurations import configuration_of
from crosspath.ports import Registry, Tracker
from crosspath.store.bundle import write_bundle
from crosspath.store.promotions import verdict_digest
from crosspath.testing.registry import MemoryRegistry
from crosspath.testing.tracker import MemoryTracker
from crosspath.types import EvidenceRef, ModelVersion
from verdicts import verdict, written

# SQLAlchemy 2.1 deprecates a loader strategy that MLflow 3.17 uses for its own tables.
pytestmark = pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")
_NUMBERS = itertools.count(1)


class Behind(Protocol):
    """A registry, the tracker of the same store, and somebody else's hands."""

    @property
    def registry(self) -> Registry: ...
    @property
    def tracker(self) -> Tracker: ...
    def by_hand(self, model: str, alias: str, version: int) -> None: ...


class Memory:
    def __init__(self, directory: Path) -> None:
        self.tracker = MemoryTracker(directory)
        self.registry = MemoryRegistry(self.tracker, configuration_of)

    def by_hand(self, model: str, alias: str, version: int) -> None:
        self.registry.places[model, alias] = version


class Mlflow:
    def __init__(self, directory: Path) -> None:
        uri = embedded_uri(directory)
        self.tracker, self.registry = MlflowTracker(uri), MlflowRegistry(uri)
        self._client = MlflowClient(uri, uri)

    def by_hand(self, model: str, alias: str, version: int) -> None:
        self._client.set_registered_model_alias(model, alias, str(version))


@dataclass
class Subject:
    """A registry whose store holds one evaluation of two candidates."""

    behind: Behind
    run: str

    @property
    def registry(self) -> Registry:
        return self.behind.registry

    def model(self) -> tuple[ModelVersion, ModelVersion]:
        """A model of its own for a test, with both candidates as versions."""
        name = f"model {next(_NUMBERS)}"
        first, second = (self.registry.register(self.run, candidate, name) for candidate in ("oracle", "adaptive"))
        return first, second


@pytest.fixture(scope="module", params=[Memory, Mlflow])
def subject(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """One store for all tests: MLflow's first set-up takes seconds."""
    directory = tmp_path_factory.mktemp("registry")
    behind = request.param(directory / "store")
    facts, judgement = evaluation("registered-1")
    write_bundle(facts, judgement, directory / "bundle")
    return Subject(behind, behind.tracker.log(facts, judgement, directory / "bundle").run_id)


class TestEveryRegistry:
    def test_registered_twice_is_once(self, subject: Subject) -> None:
        """A candidate becomes a version that leads back to its evaluation; the same one again is the same version."""
        first, second = subject.model()
        facts = evaluation("registered-1")[0]
        assert (first.version, second.version) == (1, 2)
        assert (first.evaluation, first.candidate, first.evaluation_run) == ("registered-1", "oracle", subject.run)
        assert first.configuration == configuration_of(facts, facts.lock.candidates[0])
        assert subject.registry.register(subject.run, "oracle", first.model) == first
        assert subject.registry.versions(first.model) == (first, second)

    def test_found_by_version_and_alias(self, subject: Subject) -> None:
        """A reference to a version or an alias names the version, with its aliases."""
        first, second = subject.model()
        subject.behind.by_hand(first.model, "champion", 2)
        assert subject.registry.find(EvidenceRef(model=first.model, version=1)) == first
        found = subject.registry.find(EvidenceRef(model=first.model, alias="champion"))
        assert found == second.model_copy(update={"aliases": ("champion",)})
        assert subject.registry.aliases(first.model) == {"champion": 2}

    @pytest.mark.parametrize("ref", [{"version": 9}, {"alias": "nobody"}])
    def test_what_is_not_there(self, subject: Subject, ref: dict[str, int | str]) -> None:
        """A version or alias that does not exist is one line that names it; so is a model."""
        first, _ = subject.model()
        for model in (first.model, "no such model"):
            wanted = EvidenceRef.model_validate({"model": model, **ref})
            with pytest.raises(ConfigError, match=f"^there is no {wanted} at [^\n]*$"):
                subject.registry.find(wanted)
        assert subject.registry.versions("no such model") == ()
        assert subject.registry.aliases("no such model") == {}
        assert subject.registry.decisions("no such model") == ()

    def test_what_can_not_be_registered(self, subject: Subject) -> None:
        """An unknown candidate or run, and a name that is none, are one line each."""
        with pytest.raises(TrackerError, match=r"candidate 'nobody'[^\n]*$"):
            subject.registry.register(subject.run, "nobody", "some model")
        with pytest.raises(TrackerError, match="0123abc"):
            subject.registry.register("0123abc", "oracle", "some model")
        for name in ("a/b", "a'b", "", "some model.decisions"):
            with pytest.raises(ConfigError):
                subject.registry.register(subject.run, "oracle", name)

    def test_verdict_round_trip(self, subject: Subject, tmp_path: Path) -> None:
        """A verdict is one run with its directory, however often it is logged."""
        decided = verdict(subject.model()[0], number=next(_NUMBERS))
        directory = written(decided, tmp_path / "verdict")
        first = subject.registry.log_verdict(decided, directory, "quoting")
        assert subject.registry.log_verdict(decided, directory, "quoting") == first
        fetched = subject.registry.fetch_verdict(first.run_id, tmp_path / "fetched")
        assert (fetched / "verdict.json").read_text() == decided.to_json()
        assert (fetched / "candidate" / "index.json").is_file()
        with pytest.raises(TrackerError, match="0123abc"):
            subject.registry.fetch_verdict("0123abc", tmp_path / "none")

    def test_promote_and_roll_back(self, subject: Subject) -> None:
        """Promotions move the alias and are kept with their verdicts; a rollback takes the last one back, down to no alias."""
        first, second = subject.model()
        model, registry, decided = first.model, subject.registry, verdict(first)
        one = registry.promote(first, "champion", None, decided, subject.run)
        two = registry.promote(second, "champion", 1, decided, subject.run)
        assert (one.from_version, one.to_version, two.from_version, two.to_version) == (None, 1, 1, 2)
        assert registry.aliases(model) == {"champion": 2}
        assert registry.rollback(model, "champion").to_version == 1
        assert registry.aliases(model) == {"champion": 1}
        assert registry.rollback(model, "champion").to_version is None
        assert registry.aliases(model) == {}
        with pytest.raises(ConfigError, match="has no promotion that could be taken back"):
            registry.rollback(model, "champion")
        kept = registry.decisions(model)
        assert [(entry.number, entry.kind, entry.undoes, entry.state) for entry in kept] == [
            (1, "promote", 0, "done"),
            (2, "promote", 0, "done"),
            (3, "rollback", 2, "done"),
            (4, "rollback", 1, "done"),
        ]
        assert {(entry.verdict, entry.verdict_digest, entry.verdict_run) for entry in kept} == {
            (decided.id, verdict_digest(decided), subject.run)
        }

    def test_aliases_have_histories_of_their_own(self, subject: Subject) -> None:
        """Decisions about one alias do not stand in the way of another one's."""
        first, second = subject.model()
        subject.registry.promote(first, "champion", None, verdict(first), subject.run)
        subject.registry.promote(second, "candidate", None, verdict(second), subject.run)
        assert subject.registry.rollback(first.model, "champion").state == "done"
        assert subject.registry.aliases(first.model) == {"candidate": 2}
        assert [entry.number for entry in subject.registry.decisions(first.model, "champion")] == [1, 3]

    def test_promoted_twice_is_once(self, subject: Subject) -> None:
        """A promotion to where the alias is already adds nothing to the history."""
        first, _ = subject.model()
        done = subject.registry.promote(first, "champion", None, verdict(first), subject.run)
        assert subject.registry.promote(first, "champion", 1, verdict(first), subject.run) == done
        assert subject.registry.decisions(first.model) == (done,)

    def test_moved_meanwhile(self, subject: Subject) -> None:
        """An alias that is elsewhere than expected is not moved, and a promotion that was overrun by hand is not rolled back."""
        first, second = subject.model()
        subject.registry.promote(first, "champion", None, verdict(first), subject.run)
        with pytest.raises(
            ConfigError, match=r"was moved from no version to version 1 meanwhile, by decision 1 .*nothing was moved"
        ):
            subject.registry.promote(second, "champion", None, verdict(second), subject.run)
        subject.behind.by_hand(first.model, "champion", 2)
        with pytest.raises(ConfigError, match="was moved from version 1 to version 2 by hand since decision 1"):
            subject.registry.rollback(first.model, "champion")
        assert subject.registry.aliases(first.model) == {"champion": 2}

    def test_nothing_to_finish(self, subject: Subject) -> None:
        """Where nothing is unfinished, there is nothing to carry out."""
        first, _ = subject.model()
        with pytest.raises(ConfigError, match="has no unfinished decision"):
            subject.registry.finish(first.model, "champion")

    def test_names_that_are_none(self, subject: Subject) -> None:
        """An alias that MLflow reserves is refused before anything is written."""
        first, _ = subject.model()
        for alias in ("latest", "v3", "a b", ""):
            with pytest.raises(ConfigError, match="is no alias"):
                subject.registry.promote(first, alias, None, verdict(first), subject.run)
        assert subject.registry.decisions(first.model) == ()
