"""What may be promoted: only a PASS, and only the very configuration that was gated."""

from pathlib import Path

import pytest

from builders import evaluation
from crosspath.app.promoting import (
    IGNORED,
    alias_version,
    differing,
    history_remarks,
    promote,
    register,
    require_promotable,
)
from crosspath.errors import ConfigError
from crosspath.pipeline.configurations import configuration_of
from crosspath.store.bundle import write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.registry import MemoryRegistry
from crosspath.testing.tracker import MemoryTracker
from crosspath.types import ModelVersion
from verdicts import verdict


@pytest.fixture(scope="module")
def tracker(tmp_path_factory: pytest.TempPathFactory) -> MemoryTracker:
    return MemoryTracker(tmp_path_factory.mktemp("memory"))


@pytest.fixture(scope="module")
def store(tracker: MemoryTracker, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with one evaluation that was logged, and one that was not."""
    directory = tmp_path_factory.mktemp("store")
    ledger = Ledger(directory)
    for name in ("logged-1", "unlogged-1"):
        facts, judgement = evaluation(name)
        if name == "logged-1":
            write_bundle(facts, judgement, directory / "bundle")
            run = tracker.log(facts, judgement, directory / "bundle").run_id
            facts = facts.model_copy(update={"head": facts.head.model_copy(update={"mlflow_run": run})})
        ledger.open_evaluation(facts)
    ledger.close()
    return directory


@pytest.fixture
def registry(tracker: MemoryTracker) -> MemoryRegistry:
    return MemoryRegistry(tracker, configuration_of)


@pytest.fixture
def version(registry: MemoryRegistry, store: Path) -> ModelVersion:
    return register(registry, "logged-1", "adaptive", "shell", store=store)


def test_registered_by_name(registry: MemoryRegistry, store: Path, version: ModelVersion) -> None:
    """An evaluation is named by its id or its run, and registering it twice is once."""
    assert (version.version, version.evaluation, version.candidate) == (1, "logged-1", "adaptive")
    assert register(registry, version.evaluation_run, "adaptive", "shell", store=store) == version


@pytest.mark.parametrize(
    ("evaluation_id", "candidate", "words"),
    [
        ("logged-1", None, "say which candidate of logged-1 of: oracle, adaptive"),
        ("logged-1", "nobody", "logged-1 has no candidate 'nobody'; there: oracle, adaptive"),
        ("unlogged-1", "oracle", "unlogged-1 is not in MLflow yet: crosspath log unlogged-1"),
        ("nothing-1", "oracle", "no evaluation 'nothing-1'"),
    ],
)
def test_what_can_not_be_registered(
    registry: MemoryRegistry, store: Path, evaluation_id: str, candidate: str | None, words: str
) -> None:
    """What is missing is named in one line, and nothing is registered."""
    with pytest.raises(ConfigError, match=words):
        register(registry, evaluation_id, candidate, "shell", store=store)
    assert registry.versions("shell") == ()


def test_promoted(registry: MemoryRegistry, version: ModelVersion) -> None:
    """A PASS on a version's own evaluation moves the alias to it."""
    done = promote(registry, verdict(version), "run", "shell", "champion", None)
    assert (done.to_version, alias_version(registry, "shell", "champion")) == (1, 1)


@pytest.mark.parametrize("status", ["FAIL", "INCONCLUSIVE", "INVALID"])
def test_only_a_pass(registry: MemoryRegistry, version: ModelVersion, status: str) -> None:
    """Any other verdict promotes nothing."""
    with pytest.raises(ConfigError, match=f"the verdict is {status}: only a PASS is promoted; nothing was moved"):
        promote(registry, verdict(version).model_copy(update={"status": status}), "run", "shell", "champion")
    assert registry.aliases("shell") == {}


def test_stale_evidence(registry: MemoryRegistry, version: ModelVersion) -> None:
    """Evidence of another configuration than the registered one is refused, and every field that differs is named."""
    evidence = version.configuration | {"model.served": "gpt-4o-2026", "op.temperature": "0.7", "new.field": "1"}
    with pytest.raises(ConfigError) as refused:
        promote(registry, verdict(version, configuration=evidence), "run", "shell", "champion")
    assert str(refused.value) == (
        "--model: version 1 of shell is not what was gated: model.served is baseline-1 there and gpt-4o-2026 in the evidence, "
        "new.field is missing there and 1 in the evidence, op.temperature is 0.0 there and 0.7 in the evidence; nothing was moved"
    )
    assert registry.aliases("shell") == {}


def test_fields_that_can_not_matter(version: ModelVersion) -> None:
    """Where it was measured and with which code is no reason to refuse; every other field is."""
    ours = version.configuration
    for name in ours:
        changed = ours | {name: "something else"}
        ignored = any(name == one or name.startswith(f"{one}.") for one in IGNORED)
        assert differing(ours, changed) == ([] if ignored else [name])
    assert {"contract.digest", "transport.digest", "tasks.digest", "validator.digest", "model"} <= {
        name for name in ours if differing(ours, ours | {name: "x"})
    }


def test_what_no_store_can_hold(version: ModelVersion) -> None:
    """A lone surrogate and NUL come back from MLflow as escapes, which is no difference."""
    assert differing({"op.stop": "\\ud800\\x00"}, {"op.stop": "\ud800\0"}) == []


def test_evidence_of_equal_configuration(registry: MemoryRegistry, version: ModelVersion) -> None:
    """A later evaluation of the same configuration is evidence for the version, whatever its code and toolchain were."""
    later = verdict(version, configuration=version.configuration | {"commit": "1" * 40, "lock.digest": "other"})
    side = later.candidate.model_copy(update={"evaluation": "later-1", "run": "another"})
    done = promote(registry, later.model_copy(update={"candidate": side}), "run", "shell", "champion")
    assert done.to_version == 1


def test_without_a_version(registry: MemoryRegistry, version: ModelVersion) -> None:
    """A candidate that nobody registered is not promoted: the command that registers it is named."""
    words = "crosspath register logged-1 --candidate adaptive --model "
    with pytest.raises(ConfigError, match=f"other has no version yet; nothing was moved; first: {words}other$"):
        promote(registry, verdict(version), "run", "other", "champion")
    another = verdict(version, configuration=version.configuration | {"model": "gpt-4o"})
    side = another.candidate.model_copy(update={"evaluation": "later-1"})
    with pytest.raises(ConfigError, match=r"if the gated one is to be released: crosspath register later-1 .*--model shell$"):
        promote(registry, another.model_copy(update={"candidate": side}), "run", "shell", "champion")


def test_asked_before_the_gate(registry: MemoryRegistry, version: ModelVersion) -> None:
    """A gate learns before its replays where the alias is and that nothing is unfinished, and is not overrun by who moves it."""
    expected = require_promotable(registry, "shell", "champion")
    assert expected is None
    promote(registry, verdict(version), "run", "shell", "champion")
    with pytest.raises(ConfigError, match="was moved from no version to version 1 meanwhile"):
        promote(registry, verdict(version, number=2), "run", "shell", "champion", expected)
    assert require_promotable(registry, "shell", "champion") == 1


def test_remarks_beside_the_history(registry: MemoryRegistry, version: ModelVersion) -> None:
    """The history says where each alias is now, and when somebody moved it by hand."""
    promote(registry, verdict(version), "run", "shell", "champion")
    entries = registry.decisions("shell")
    assert history_remarks("shell", entries, {"champion": 1}) == ["shell@champion is version 1 now"]
    assert history_remarks("shell", entries, {"champion": 7, "old": 2}) == [
        "shell@champion is version 7 now, moved by hand: by decision 1 it would be version 1",
        "shell@old is version 2 now",
    ]
    open_ = [entries[0].model_copy(update={"state": "unfinished"})]
    assert history_remarks("shell", open_, {}) == [
        "shell@champion is no version now; decision 1 (promote, no version to version 1, gate-20261130-120000-000001) is "
        "unfinished (at work, or killed): carry it out: crosspath promote shell champion --finish, or take it back: "
        "crosspath rollback shell champion"
    ]
