"""An evaluation: what was asked, what it resolved to, its facts and its judgement."""

from typing import Any, Literal

from pydantic import Field

from crosspath.types.base import JSON, Record, digest
from crosspath.types.candidates import Candidate, Generation, Reference
from crosspath.types.contracts import Contract, PathSpec
from crosspath.types.costs import CandidateCost
from crosspath.types.funnels import Breakdown, FormatDamage, Funnel, ValidatorSensitivity
from crosspath.types.losses import Losses
from crosspath.types.path_costs import PathRanking
from crosspath.types.reliability import Reliability
from crosspath.types.replays import Replay, Toolchain
from crosspath.types.replies import Attempt, Trial
from crosspath.types.results import (
    Abstention,
    Comparison,
    Decomposition,
    PartitionGap,
    Score,
    Side,
    Spend,
    StyleSpread,
    WordingSpread,
)
from crosspath.types.stability import FragileTask, RankStability
from crosspath.types.tasks import Task

EvaluationStatus = Literal["running", "finished", "stopped"]
"""``stopped``: the same command can still add facts, because a limit was reached or a fault may pass."""


class Text(Record):
    """A named text that belongs to an evaluation (contract, path, suite), with its content, not only its digest."""

    name: str
    version: str = ""
    content: str
    digest: str


class PlannedCell(Record):
    """One told x done combination: which generation, which path, and where its rows come from."""

    candidate: str
    told: Side
    done: Side
    generation: Generation
    contract: str
    transport: str
    """Name of the path as users know it."""
    path: str
    """Digest of the path with its clean-up and decoder."""
    encoded: bool = False
    """True only for the control cell."""
    control: bool = False
    validator: str = "exact"

    @property
    def name(self) -> str:
        return self.told + self.done


class Lock(Record):
    """The resolved configuration. ``digest`` covers what affects a reply or a replay, not when or where it ran."""

    version: int = 1
    candidates: tuple[Candidate, ...]
    reference: Reference
    trials: int
    tasks: dict[str, str]
    """Task id -> digest."""
    contracts: dict[str, str]
    transports: dict[str, str]
    suites: dict[str, str]
    styles: dict[str, str] = Field(default_factory=dict)
    """Request style -> digest of its text."""
    toolchain: Toolchain | None = None
    """Of the last session."""
    earlier_toolchains: tuple[Toolchain, ...] = ()
    """Others that replays of earlier sessions ran with."""
    served_models: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Model name -> the names that its endpoint answered with."""
    fingerprints: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    sent_bodies: dict[str, JSON] = Field(default_factory=dict)
    """Generation digest -> one body that was really sent, messages left out."""
    packages: dict[str, str] = Field(default_factory=dict)
    commit: str = ""
    dirty: bool = False

    @property
    def digest(self) -> str:
        """SHA-256 of the fields that affect a reply or a replay."""
        return digest(self.model_dump(mode="json", exclude={"commit", "dirty", "served_models", "fingerprints", "sent_bodies"}))


class EvaluationHead(Record):
    """The identity of an evaluation in the ledger."""

    id: str
    """``SPEC-YYYYMMDD-N``."""
    name: str
    """Name of the spec."""
    created_at: float
    status: EvaluationStatus = "running"
    spec: dict[str, Any]
    """The spec as it was resolved: every default written out, no secrets."""
    spec_digest: str
    kind: Literal["model", "deployment"] = "deployment"
    experiment: str = "crosspath"
    derived_from: str | None = None
    derivation: str | None = None
    """How it was derived, in words: ``replay through single-quoted-shell``."""
    mlflow_run: str | None = None
    mlflow_uri: str | None = None


class Facts(Record):
    """Everything that was observed. Judgement is a pure function of this and the suites' texts."""

    head: EvaluationHead
    lock: Lock
    tasks: tuple[Task, ...]
    cells: tuple[PlannedCell, ...]
    not_applicable: dict[str, str] = Field(default_factory=dict)
    """``candidate/RN`` -> reason."""
    contracts: tuple[Text, ...]
    transports: tuple[Text, ...]
    suites: tuple[Text, ...]
    styles: tuple[Text, ...] = ()
    """Request styles that a candidate uses."""
    contract_specs: tuple[Contract, ...] = ()
    """The contracts as records, so that any machine can deliver the replies again."""
    path_specs: tuple[PathSpec, ...] = ()
    """Every path that a cell or a contract names, as records."""
    trials: tuple[Trial, ...]
    attempts: tuple[Attempt, ...]
    replays: tuple[Replay, ...]
    sessions: tuple[tuple[float, float | None], ...] = ()
    bought_again: int = 0


class Judgement(Record):
    """What follows from the facts."""

    scores: tuple[Score, ...]
    decompositions: tuple[Decomposition, ...]
    comparisons: tuple[Comparison, ...] = ()
    spend: Spend
    abstentions: tuple[Abstention, ...] = ()
    partition_gaps: tuple[PartitionGap, ...] = ()
    style_spreads: tuple[StyleSpread, ...] = ()
    wording_spreads: tuple[WordingSpread, ...] = ()
    path_rankings: tuple[PathRanking, ...] = ()
    """One for each generation whose replies went through several paths beside the reference."""
    losses: tuple[Losses, ...] = ()
    """One per candidate: what became of its trials as deployed."""
    funnels: tuple[Funnel, ...] = ()
    """One per cell."""
    breakdowns: tuple[Breakdown, ...] = ()
    format_damage: tuple[FormatDamage, ...] = ()
    validator_sensitivity: tuple[ValidatorSensitivity, ...] = ()
    reliability: tuple[Reliability, ...] = ()
    costs: tuple[CandidateCost, ...] = ()
    rank_stability: tuple[RankStability, ...] = ()
    fragile_tasks: tuple[FragileTask, ...] = ()
    warnings: tuple[str, ...] = ()
    """Sentences a reader must not miss: served model differs, faults, limits not enforced."""
