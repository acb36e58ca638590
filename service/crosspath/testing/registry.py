"""A model registry in memory: for tests, and to see what a promotion does step by step."""

from dataclasses import dataclass, field
from pathlib import Path

from crosspath.errors import ConfigError, TrackerError
from crosspath.testing.tracker import MemoryRef, MemoryTracker
from crosspath.types import Decision, EvidenceRef, ModelVersion, Verdict


@dataclass
class MemoryRegistry:
    """Registered models beside the runs of a :class:`MemoryTracker`."""

    tracker: MemoryTracker
    models: dict[str, list[ModelVersion]] = field(default_factory=dict[str, list[ModelVersion]])

    def register(self, run_id: str, candidate: str, model: str) -> ModelVersion:
        raise NotImplementedError

    def find(self, ref: EvidenceRef) -> ModelVersion:
        raise ConfigError(f"there is no {ref}")

    def versions(self, model: str) -> tuple[ModelVersion, ...]:
        return tuple(self.models.get(model, ()))

    def log_verdict(self, verdict: Verdict, directory: Path, experiment: str) -> MemoryRef:
        raise NotImplementedError

    def fetch_verdict(self, run_id: str, into: Path) -> Path:
        raise TrackerError(f"no verdict in run {run_id} at memory:")

    def promote(self, version: ModelVersion, alias: str, expected: int | None, verdict: Verdict, run_id: str) -> Decision:
        raise NotImplementedError

    def rollback(self, model: str, alias: str) -> Decision:
        raise NotImplementedError

    def finish(self, model: str, alias: str) -> Decision:
        raise NotImplementedError

    def decisions(self, model: str, alias: str | None = None) -> tuple[Decision, ...]:
        return ()
