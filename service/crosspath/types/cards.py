"""The harness card: all that is needed to compare one candidate, or to repeat it, as one record; and what a check of it finds."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Self, get_args

from pydantic import Field, model_validator

from crosspath.types.base import JSON, Record
from crosspath.types.candidates import Candidate, Cleanup, Reference
from crosspath.types.contracts import Contract, PathSpec
from crosspath.types.costs import CandidateCost
from crosspath.types.evaluations import EvaluationStatus, Text
from crosspath.types.funnels import FormatDamage
from crosspath.types.losses import Headline, Loss, Losses
from crosspath.types.reliability import Reliability
from crosspath.types.replays import Toolchain
from crosspath.types.results import Abstention, Decomposition, Side
from crosspath.types.tasks import Partition

CARD_FORMAT = 1
"""Version of the record. A reader refuses a newer one."""


class CardEvaluation(Record):
    """The evaluation that a card is of. Times are seconds since 1970."""

    id: str
    name: str
    status: EvaluationStatus
    created_at: float
    sessions: tuple[tuple[float, float | None], ...] = ()
    derived_from: str | None = None
    derivation: str | None = None
    mlflow_run: str | None = None
    candidates: int
    """How many it has: intervals that hold together are over all of them."""
    spec_digest: str
    lock_digest: str


class CardTask(Record):
    """One task, by its digest. Of a held-out one that is all there is: its id would say what it is a fresh draw of."""

    id: str | None
    family: str
    tier: int | None = None
    partition: Partition = "public"
    infeasible: bool = False
    digest: str

    @property
    def label(self) -> str:
        """What it is called on the card: its id, or the beginning of its digest."""
        return self.id if self.id is not None else f"held-out {self.digest[:12]}"


class CardPath(Record):
    """One path that replies went through, with all that its digest covers. ``external`` of a user's own harness holds no place on
    the machine that it ran on."""

    name: str
    contract: str
    """Of the replies: its decoder stands in front."""
    cleanup: Cleanup
    spec: PathSpec
    does: tuple[str, ...] = ()
    """One sentence for each layer, in order."""
    digest: str


class CardCell(Record):
    """One told x done combination, trial by trial."""

    name: Literal["RR", "RN", "NR", "NN", "control"]
    told: Side
    done: Side
    contract: str
    transport: str
    path: str
    """Digest of the path."""
    encoded: bool = False
    validator: str
    outcomes: tuple[str, ...] = ()
    """One for each trial, by task and then by index, of tasks that can be done; see ``crosspath.reports.card_outcomes``."""
    states: tuple[str, ...] = ()
    """For a benign control: whether the final state is right, once per repeat, of the trials of tier 0."""
    declining: tuple[str, ...] = ()
    """How each reply answers, of all tasks; only where some can't be done."""


class Card(Record):
    """All that the page says, and the outcomes that its numbers follow from. No secret, no address, no place on a machine."""

    format: int = CARD_FORMAT
    crosspath: str
    """Version that wrote it."""
    evaluation: CardEvaluation
    candidate: Candidate
    """As asked; without the address of an endpoint."""
    endpoint: str
    """What kind of endpoint answers, in words."""
    served: dict[str, int] = Field(default_factory=dict[str, int])
    """Name that the endpoint answered with -> replies; ``""``: it gave none."""
    fingerprints: dict[str, int] = Field(default_factory=dict[str, int])
    """The same for its fingerprint."""
    sent: dict[Side, JSON] = Field(default_factory=dict[Side, JSON])
    """One body that was really sent, for each contract that was told, messages left out."""
    reference: Reference
    trials: int = Field(ge=1, le=10_000)
    tasks: tuple[CardTask, ...]
    contracts: tuple[Contract, ...] = ()
    contract_digests: dict[str, str]
    paths: tuple[CardPath, ...]
    suites: dict[str, str]
    """Validator -> digest of its suite."""
    style: Text | None = None
    """The request style; None: it was not kept."""
    toolchain: Toolchain | None = None
    earlier_toolchains: tuple[Toolchain, ...] = ()
    packages: dict[str, str] = Field(default_factory=dict[str, str])
    commit: str = ""
    dirty: bool = False
    cells: tuple[CardCell, ...]
    replies: dict[Side, tuple[str | None, ...]] = Field(default_factory=dict[Side, tuple[str | None, ...]])
    """Told side -> the beginning of a SHA-256 over each reply, by task and then by index, of all tasks; None: no reply."""
    decomposition: Decomposition
    losses: Losses | None = None
    headline: Headline | None = None
    format_damage: FormatDamage | None = None
    """What the format of replies costs, with the other clean-up; which trials it decides is not on the card."""
    reliability: tuple[Reliability, ...] = ()
    cost: CandidateCost | None = None
    abstentions: tuple[Abstention, ...] = ()
    warnings: tuple[str, ...] = ()
    spec: dict[str, Any]
    """The spec with this candidate alone, every default written out."""
    page_sha256: str
    """Of the page that was written with it, line ends and white space at the end of lines apart."""

    @model_validator(mode="after")
    def _is_complete(self) -> Self:
        """One outcome for each trial: whoever reads a card may rely on it before anything is counted."""
        feasible = [task for task in self.tasks if not task.infeasible]
        easy = [task for task in feasible if task.tier == 0]
        _require_length("replies", self.replies, len(self.tasks) * self.trials)
        _require_length("outcomes", {cell.name: cell.outcomes for cell in self.cells}, len(feasible) * self.trials)
        for name, number in (("states", len(easy)), ("declining", len(self.tasks))):
            some = {cell.name: found for cell in self.cells if (found := getattr(cell, name))}
            _require_length(name, some, number * self.trials)
        names = [cell.name for cell in self.cells]
        if len(set(names)) < len(names) or any(c.name not in (c.told + c.done, "control") for c in self.cells):
            raise ValueError(f"cells: {', '.join(names)} are not told and done as they are called, each once")
        if self.replies.keys() != {cell.told for cell in self.cells}:
            raise ValueError("replies: they are not those of the contracts that were told")
        if self.losses is not None and self.losses.lost.keys() != set(get_args(Loss)):
            raise ValueError("losses.lost: it does not name every place")
        if len({task.label for task in self.tasks}) < len(self.tasks):
            raise ValueError("tasks: one stands twice")
        return self


def _require_length(field: str, lists: Mapping[Any, Sequence[object]], length: int) -> None:
    for name, found in lists.items():
        if len(found) != length:
            raise ValueError(f"{field}.{name}: {len(found)} entries; its tasks and trials make {length}")


CheckStatus = Literal["holds", "differs", "unavailable"]
"""``unavailable``: it can't be checked here, and the detail says why."""


class CardDifference(Record):
    """One field of a card that is another one than it should be."""

    field: str
    card: str
    """As the card has it."""
    found: str


class CardCheck(Record):
    """What one check of a card found."""

    about: str
    status: CheckStatus
    detail: str
    differences: tuple[CardDifference, ...] = ()


class CardVerification(Record):
    """Everything that was checked of one card."""

    card: str
    """Digest of the machine-readable block, as computed."""
    candidate: str
    evaluation: str
    checks: tuple[CardCheck, ...]

    @property
    def holds(self) -> bool:
        """Whether nothing differs. What could not be checked does not count."""
        return all(check.status != "differs" for check in self.checks)
