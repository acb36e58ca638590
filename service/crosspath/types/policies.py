"""A gate's policy: which evidence is asked for, and which rules it has to meet. Docstrings below fields become descriptions in
the JSON schema.

All shares and differences of shares are from 0 to 1: 0.05 is five points.
"""

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator

from crosspath.types.base import Record

Metric = Literal[
    "pass_rate", "reference_rate", "silent_wrong", "false_alarm", "damage", "compensation", "matched_gap", "pass_hat",
    "lost_to_path", "lost_to_model", "lost_to_format", "refusals", "truncated",
    "usd_per_pass", "tokens_per_pass", "latency_p50_s", "latency_p90_s", "latency_p99_s",
]  # fmt: skip
"""What a rule may be about: always of the candidate as deployed, but ``reference_rate``, which is its pass rate in RR."""
Over = Literal["task_population", "these_tasks", "these_replies"]
RuleTier = Literal["block", "warn"]
BOUNDS = ("at_least", "at_most", "margin", "times_baseline")


class EvidenceRef(Record):
    """Where one side's evidence is: an evaluation, a run, or a version of a registered model."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    evaluation: str | None = None
    """Id of an evaluation in the ledger, `latest`, or the id of an MLflow run."""
    model: str | None = None
    """Name of a registered model; with `version` or `alias`."""
    version: int | None = Field(default=None, ge=1)
    alias: str | None = None
    candidate: str | None = None
    """Which candidate of the evaluation. Default: the only one."""

    @model_validator(mode="after")
    def _names_one_thing(self) -> Self:
        if (self.evaluation is None) == (self.model is None):
            raise ValueError("must name either an evaluation or a model")
        if self.model is not None and (self.version is None) == (self.alias is None):
            raise ValueError("a model needs either a version or an alias")
        if self.model is None and (self.version is not None or self.alias is not None):
            raise ValueError("version and alias belong to a model")
        return self

    def __str__(self) -> str:
        """As it is typed: ``EVALUATION``, ``EVALUATION:CANDIDATE``, ``models:/NAME/VERSION`` or ``models:/NAME@ALIAS``."""
        if self.model is not None:
            return f"models:/{self.model}/{self.version}" if self.version is not None else f"models:/{self.model}@{self.alias}"
        return f"{self.evaluation}:{self.candidate}" if self.candidate is not None else str(self.evaluation)


class PolicyRule(Record):
    """One rule. It has exactly one of `at_least`, `at_most`, `margin` and `times_baseline`."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str = ""
    """Default: the metric with its bound."""
    metric: Metric
    at_least: float | None = None
    """The worse end of the estimate's interval must not be below."""
    at_most: float | None = None
    """The worse end of the estimate's interval must not be above."""
    margin: float | None = Field(default=None, ge=0)
    """Not worse than the baseline by more than this, paired by task, families averaged."""
    times_baseline: float | None = Field(default=None, gt=0)
    """At most so many times the baseline's value; for cost and latency."""
    k: int | None = Field(default=None, ge=1, le=100)
    """For `pass_hat`: how many trials of a task have to pass all."""
    over: Over | None = None
    """What the rule generalises to. Default: `task_population` (families drawn from many) for rates and effects;
    `these_replies` for cost and latency."""
    tier: RuleTier = "block"
    """`warn`: reported, but no part of the verdict."""
    candidate: str | None = None
    """Another candidate of the same evaluation. Default: the one that is gated."""


class PolicyEvidence(Record):
    """What the evidence itself must be, or there is no verdict (INVALID)."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    control: Literal["encoded", "benign", "none"] = "benign"
    """The weakest control that is enough; a broken one is never. `none`: a missing control is enough, too."""
    min_coverage: float = Field(default=0.95, ge=0, le=1)
    """Share of the planned trials that must have a verdict on each side."""
    max_faults: float = Field(default=0.05, ge=0, le=1)
    """Share of the planned trials that may be lost to faults on each side."""
    max_unstable: float = Field(default=0.02, ge=0, le=1)
    """Share of the planned trials whose replays may disagree on each side."""
    min_families: int = Field(default=6, ge=2)
    min_tasks: int = Field(default=12, ge=1)
    min_trials: int = Field(default=1, ge=1)
    min_hostile: float = Field(default=0.25, ge=0, le=1)
    """Share of the tasks that must be of tier 1 to 3: an easy set shows nothing. Not asked of tasks without tiers."""
    suites: tuple[str, ...] = ("exact",)
    """Validators that are strict enough."""
    min_mutations_rejected: float = Field(default=1.0, ge=0, le=1)
    """Share of the mutations of the right final states that the suite must reject."""


class Policy(Record):
    """When a candidate may be released."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    name: str = Field(default="", max_length=60)
    """Default: the file's name without its ending."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """The risk of a wrong PASS, and the risk of a wrong FAIL."""
    on_inconclusive: Literal["fail", "warn"] = "fail"
    """`warn`: the exit code of INCONCLUSIVE is 0; nothing is promoted on it either way."""
    candidate: EvidenceRef | None = None
    """Default: what `--candidate` names."""
    baseline: EvidenceRef | None = None
    """Default: what `--baseline` names."""
    evidence: PolicyEvidence = PolicyEvidence()
    rules: tuple[PolicyRule, ...] = Field(min_length=1)
