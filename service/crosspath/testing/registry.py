"""A model registry in memory: for tests, and to see what a promotion does step by step."""

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from crosspath.errors import ConfigError, TrackerError
from crosspath.store.bundle import read_bundle
from crosspath.store.promotions import AliasMover, in_order, require_model_name
from crosspath.testing.tracker import MemoryRef, MemoryRun, MemoryTracker
from crosspath.types import Candidate, Decision, DecisionState, EvidenceRef, Facts, ModelVersion, Verdict


def _nothing(_: str) -> None:
    """No hook."""


@dataclass
class MemoryRegistry:
    """Registered models beside the runs of a :class:`MemoryTracker`, which also says whether it is reachable.

    ``before`` is called with the name of each step of a decision (``entries``, ``alias``, ``append``, ``move``, ``close``): what
    it raises happens instead, so a test can kill a promotion anywhere, or have another one come between.
    """

    tracker: MemoryTracker
    configuration: Callable[[Facts, Candidate], Mapping[str, str]] = lambda _facts, _candidate: {}
    """What a version keeps of a candidate; usually ``crosspath.pipeline.configurations.configuration_of``."""
    before: Callable[[str], None] = _nothing
    models: dict[str, list[ModelVersion]] = field(default_factory=dict[str, list[ModelVersion]])
    places: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    """Model and alias -> version."""
    verdicts: dict[str, Path] = field(default_factory=dict[str, Path])
    """Run -> directory of its verdict."""

    def __post_init__(self) -> None:
        self._history = _MemoryHistory(self)
        self._mover = AliasMover(self._history)

    # -- models ------------------------------------------------------------------------------------------------------------

    def register(self, run_id: str, candidate: str, model: str) -> ModelVersion:
        """A candidate of a logged evaluation as a version; twice is once."""
        require_model_name(model)
        self.tracker.check()
        parent = self._parent(run_id)
        facts = read_bundle(parent.bundle) if parent.bundle else None
        found = next((one for one in facts.lock.candidates if one.name == candidate), None) if facts else None
        if facts is None or found is None:
            raise TrackerError(f"no candidate {candidate!r} in run {run_id} at memory:")
        versions = self.models.setdefault(model, [])
        same = [one for one in versions if (one.evaluation, one.candidate) == (facts.head.id, candidate)]
        if not same:
            same = [self._version(model, len(versions) + 1, parent.run_id, facts, found)]
            versions += same
        return self._now(same[0])

    def _parent(self, run_id: str) -> MemoryRun:
        run = self.tracker.runs.get(run_id)
        parent = self.tracker.runs.get(run.parent) if run and run.parent else run
        if parent is None or parent.bundle is None:
            raise TrackerError(f"no evaluation in run {run_id} at memory:")
        return parent

    def _version(self, model: str, number: int, run_id: str, facts: Facts, candidate: Candidate) -> ModelVersion:
        return ModelVersion(
            model=model,
            version=number,
            evaluation_run=run_id,
            evaluation=facts.head.id,
            candidate=candidate.name,
            configuration=dict(self.configuration(facts, candidate)),
        )

    def find(self, ref: EvidenceRef) -> ModelVersion:
        """The version that a reference names."""
        self.tracker.check()
        model = ref.model or ""
        number = ref.version or self.places.get((model, ref.alias or ""))
        found = next((one for one in self.models.get(model, ()) if one.version == number), None)
        if found is None:
            raise ConfigError(f"there is no {ref} at memory:")
        return self._now(found)

    def versions(self, model: str) -> tuple[ModelVersion, ...]:
        """All versions, oldest first."""
        self.tracker.check()
        return tuple(self._now(one) for one in self.models.get(model, ()))

    def aliases(self, model: str) -> Mapping[str, int]:
        """Alias -> version."""
        self.tracker.check()
        return {alias: version for (name, alias), version in self.places.items() if name == model}

    def _now(self, version: ModelVersion) -> ModelVersion:
        own = tuple(alias for alias, number in self.aliases(version.model).items() if number == version.version)
        return version.model_copy(update={"aliases": own})

    # -- verdicts ----------------------------------------------------------------------------------------------------------

    def log_verdict(self, verdict: Verdict, directory: Path, experiment: str) -> MemoryRef:
        """A run for a verdict; twice is once."""
        self.tracker.check()
        run_id = f"memory-{experiment}-{verdict.id}"
        if run_id not in self.verdicts:
            self.verdicts[run_id] = Path(shutil.copytree(directory, self.tracker.directory / run_id / "verdict"))
        return MemoryRef(run_id, f"memory:/{run_id}")

    def fetch_verdict(self, run_id: str, into: Path) -> Path:
        """Copy the directory of a verdict."""
        self.tracker.check()
        if run_id not in self.verdicts:
            raise TrackerError(f"no verdict in run {run_id} at memory:")
        return Path(shutil.copytree(self.verdicts[run_id], into / "verdict", dirs_exist_ok=True))

    # -- decisions ---------------------------------------------------------------------------------------------------------

    def promote(self, version: ModelVersion, alias: str, expected: int | None, verdict: Verdict, run_id: str) -> Decision:
        """Move an alias to a version."""
        return self._mover.promote(version, alias, expected, verdict, run_id)

    def rollback(self, model: str, alias: str) -> Decision:
        """Take the last promotion back."""
        return self._mover.rollback(model, alias)

    def finish(self, model: str, alias: str) -> Decision:
        """Carry out what was left unfinished."""
        return self._mover.finish(model, alias)

    def decisions(self, model: str, alias: str | None = None) -> tuple[Decision, ...]:
        """The whole history, oldest first."""
        self.tracker.check()
        return in_order(self._history.kept(model), alias)


class _MemoryHistory:
    """What the registry can do with aliases and their history, each after the hook."""

    def __init__(self, registry: MemoryRegistry) -> None:
        self._registry = registry
        self._entries: list[Decision] = []

    def kept(self, model: str) -> list[Decision]:
        """Without the hook."""
        return [one for one in self._entries if one.model == model]

    def _step(self, name: str) -> None:
        self._registry.before(name)
        self._registry.tracker.check()

    def entries(self, model: str) -> list[Decision]:
        self._step("entries")
        return self.kept(model)

    def append(self, entry: Decision) -> None:
        self._step("append")
        self._entries.append(entry.model_copy(update={"number": len(self.kept(entry.model)) + 1}))

    def close(self, entry: Decision, state: DecisionState) -> None:
        self._step("close")
        self._entries = [
            one.model_copy(update={"state": state}) if (one.model, one.number) == (entry.model, entry.number) else one
            for one in self._entries
        ]

    def alias(self, model: str, alias: str) -> int | None:
        self._step("alias")
        return self._registry.places.get((model, alias))

    def move(self, model: str, alias: str, version: int | None) -> None:
        self._step("move")
        if version is None:
            self._registry.places.pop((model, alias), None)
        elif any(one.version == version for one in self._registry.models.get(model, ())):
            self._registry.places[model, alias] = version
        else:
            raise ConfigError(f"models:/{model}/{version} does not exist any more; {model}@{alias} was not moved")
