"""What every model registry must do: the fake, and MLflow on an embedded store."""

import itertools
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pytest

from builders import evaluation
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.logged_models import EVALUATION_RUN_TAG, logged_models, model_name
from crosspath.adapters.mlflow_tracker.registry import MlflowRegistry
from crosspath.adapters.mlflow_tracker.vendor import LoggedModel, MlflowClient, Run
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
        self.client = MlflowClient(uri, uri)

    def by_hand(self, model: str, alias: str, version: int) -> None:
        self.client.set_registered_model_alias(model, alias, str(version))


@dataclass
class Subject:
    """A registry whose store holds one evaluation of two candidates."""

    behind: Behind
    run: str
    bundle: Path

    @property
    def registry(self) -> Registry:
        return self.behind.registry

    def model(self) -> tuple[ModelVersion, ModelVersion]:
        """A model of its own for a test, with both candidates as versions."""
        name = f"model {next(_NUMBERS)}"
        first, second = (self.registry.register(self.run, candidate, name) for candidate in ("oracle", "adaptive"))
        return first, second


def _logged(behind: Behind, directory: Path) -> Subject:
    facts, judgement = evaluation("registered-1")
    write_bundle(facts, judgement, directory / "bundle")
    return Subject(behind, behind.tracker.log(facts, judgement, directory / "bundle").run_id, directory / "bundle")


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """One store for all tests: MLflow's first set-up takes seconds."""
    directory = tmp_path_factory.mktemp("embedded")
    return _logged(Mlflow(directory / "store"), directory)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    directory = tmp_path_factory.mktemp("memory")
    return _logged(Memory(directory / "store"), directory)


@pytest.fixture(params=["memory", "embedded"])
def subject(request: pytest.FixtureRequest) -> Subject:
    return request.getfixturevalue(request.param)


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


class TestLoggedModels:
    """What MLflow holds of each candidate, beside its runs."""

    @staticmethod
    def models(subject: Subject) -> list[LoggedModel]:
        assert isinstance(subject.behind, Mlflow)
        client = subject.behind.client
        experiment = client.get_run(subject.run).info.experiment_id
        found = logged_models(client, experiment, f"tags.`{EVALUATION_RUN_TAG}` = '{subject.run}'")
        return sorted(found, key=lambda one: one.name, reverse=True)

    @staticmethod
    def log_again(subject: Subject) -> None:
        facts, judgement = evaluation("registered-1")
        assert subject.behind.tracker.log(facts, judgement, subject.bundle).run_id == subject.run

    def test_what_is_kept(self, embedded: Subject) -> None:
        """Each candidate is a model with its whole configuration and the metrics of its matched run, which it comes from."""
        facts = evaluation("registered-1")[0]
        models = self.models(embedded)
        assert [one.name for one in models] == ["oracle", "adaptive"]
        assert [one.params for one in models] == [configuration_of(facts, one) for one in facts.lock.candidates]
        assert isinstance(embedded.behind, Mlflow)
        for model in models:
            matched = embedded.behind.client.get_run(model.source_run_id or "")
            assert matched.data.tags["crosspath.role"] == "matched"
            assert {one.key: one.value for one in model.metrics or []} == matched.data.metrics
            assert _input_of(matched) == model.model_id
            assert not matched.outputs or not matched.outputs.model_outputs  # MLflow's page of evaluation runs would hide it

    def test_logged_twice_is_once(self, embedded: Subject) -> None:
        """The same evaluation logged again is the same models."""
        before = [one.model_id for one in self.models(embedded)]
        self.log_again(embedded)
        assert [one.model_id for one in self.models(embedded)] == before

    def test_missing_and_half_made_ones(self, embedded: Subject) -> None:
        """Logging again makes what is missing (older versions made none), and replaces what an interrupted attempt left."""
        assert isinstance(embedded.behind, Mlflow)
        client = embedded.behind.client
        first, second = self.models(embedded)
        client.delete_logged_model(first.model_id)
        half = client.create_logged_model(first.experiment_id, "oracle", first.source_run_id, tags=dict(first.tags))
        self.log_again(embedded)
        models = self.models(embedded)
        assert [one.name for one in models] == ["oracle", "adaptive"]
        assert models[1].model_id == second.model_id
        assert models[0].model_id not in (first.model_id, half.model_id)
        assert (models[0].params, len(models[0].metrics or [])) == (first.params, len(first.metrics or []))

    def test_version_outlives_its_model(self, embedded: Subject) -> None:
        """A version whose evaluation was logged anew leads to the new one, with the same configuration."""
        assert isinstance(embedded.behind, Mlflow)
        version, _ = embedded.model()
        embedded.behind.client.delete_logged_model(self.models(embedded)[0].model_id)
        with pytest.raises(TrackerError, match=r"the evaluation behind models:/[^\n]* is gone: registered-1, candidate oracle$"):
            embedded.registry.find(EvidenceRef(model=version.model, version=1))
        self.log_again(embedded)
        assert embedded.registry.find(EvidenceRef(model=version.model, version=1)) == version
        assert embedded.registry.register(embedded.run, "oracle", version.model) == version

    @pytest.mark.parametrize(("name", "kept"), [("a/b.c: 50 %", "a_b_c_ 50 _"), ("\ud800'", "\\ud800_"), ("", "_")])
    def test_names_that_mlflow_refuses(self, name: str, kept: str) -> None:
        """A model's name is the candidate's, without what MLflow refuses; the tag has it whole."""
        assert model_name(name) == kept


def _input_of(run: Run) -> str:
    assert run.inputs
    (linked,) = run.inputs.model_inputs
    return linked.model_id


def test_gate_run_in_mlflow(embedded: Subject, tmp_path: Path) -> None:
    """A verdict's run says in its name, tags, metrics and description what was decided, where MLflow's default view shows it."""
    assert isinstance(embedded.behind, Mlflow)
    decided = verdict(embedded.model()[0], "FAIL", number=next(_NUMBERS))
    logged = embedded.registry.log_verdict(decided, written(decided, tmp_path / "verdict"), "another experiment")
    run = embedded.behind.client.get_run(logged.run_id)
    assert run.info.experiment_id == embedded.behind.client.get_run(embedded.run).info.experiment_id
    assert (run.info.run_name, run.info.status) == ("gate release · FAIL · oracle", "FINISHED")
    expected = {
        "crosspath.kind": "gate",
        "crosspath.verdict": decided.id,
        "crosspath.status": "FAIL",
        "mlflow.runType": "genai_evaluate",
        "candidate.run": embedded.run,
        "candidate.evaluation": "registered-1",
    }
    assert {key: run.data.tags.get(key) for key in expected} == expected
    counts = {"rules_shown": 1, "rules_violated": 0, "rules_undecided": 0, "rules_unusable": 0}
    own = embedded.behind.client.get_run(embedded.behind.client.get_logged_model(_input_of(run)).source_run_id or "").data.metrics
    assert list(run.data.metrics.items())[-4:] == list(counts.items())
    assert {"pass_rate", "damage_pp"} <= run.data.metrics.keys()
    assert {key: own.get(key, value) for key, value in run.data.metrics.items()} == run.data.metrics
    assert run.data.tags["mlflow.note.content"].startswith("# FAIL")
    assert embedded.run in run.data.tags["mlflow.note.content"]
    assert embedded.behind.client.get_logged_model(_input_of(run)).name == "oracle"


def test_interrupted_verdict(embedded: Subject, tmp_path: Path) -> None:
    """A run that was not logged to its end is made anew, and there is one of it."""
    assert isinstance(embedded.behind, Mlflow)
    client, decided = embedded.behind.client, verdict(embedded.model()[0], number=next(_NUMBERS))
    directory = written(decided, tmp_path / "verdict")
    first = embedded.registry.log_verdict(decided, directory, "quoting")
    client.delete_tag(first.run_id, "crosspath.logged")
    second = embedded.registry.log_verdict(decided, directory, "quoting")
    experiment = client.get_run(second.run_id).info.experiment_id
    found = client.search_runs([experiment], f"tags.`crosspath.verdict` = '{decided.id}'")
    assert [one.info.run_id for one in found] == [second.run_id]
    assert second.run_id != first.run_id
