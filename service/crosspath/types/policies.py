"""A gate's policy: which evidence is asked for, and which rules it has to meet. Docstrings below fields become descriptions in
the JSON schema.

All shares and differences of shares are from 0 to 1: 0.05 is five points.
"""

from typing import Literal, Self

from pydantic import ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

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
HIGHER_IS_BETTER: frozenset[Metric] = frozenset(
    {"pass_rate", "reference_rate", "damage", "compensation", "matched_gap", "pass_hat"}
)
EFFECTS: frozenset[Metric] = frozenset({"damage", "compensation", "matched_gap"})
"""Differences of shares, negative where something is lost."""
AMOUNTS: frozenset[Metric] = frozenset({"usd_per_pass", "tokens_per_pass", "latency_p50_s", "latency_p90_s", "latency_p99_s"})
"""What is no share: known exactly for these replies, and of no others."""


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

    @property
    def title(self) -> str:
        """Its name, or the metric with its bound."""
        bound = next((f"{name} {_short(value)}" for name in BOUNDS if (value := getattr(self, name)) is not None), "")
        metric = f"pass^{self.k}" if self.metric == "pass_hat" else self.metric
        about = f"{self.candidate} " if self.candidate else ""
        return self.name or f"{about}{metric} {bound.replace('_', ' ')}{' of ' + self.over if self.over else ''}".strip()

    @property
    def generalises_to(self) -> Over:
        """``over``, with its default written out."""
        return self.over or ("these_replies" if self.metric in AMOUNTS else "task_population")

    @property
    def lowest(self) -> int:
        """The least value of a share or a difference of shares."""
        return -1 if self.metric in EFFECTS else 0

    @property
    def against_baseline(self) -> bool:
        """Whether it can't be judged without a baseline."""
        return self.margin is not None or self.times_baseline is not None

    @model_validator(mode="after")
    def _can_be_judged(self) -> Self:
        problem = _problem_of_bounds(self) or _problem_of_value(self) or _problem_of_scope(self)
        if problem is not None:
            raise PydanticCustomError("rule", "{problem}", {"field": problem[0], "problem": problem[1]})
        return self


def _short(value: float) -> str:
    return f"{value:.10g}"


_Problem = tuple[str, str] | None
"""Field of a rule, and what is wrong with it."""


def _problem_of_bounds(rule: PolicyRule) -> _Problem:
    """A rule has one bound, on the side on which its metric gets worse."""
    given = [name for name in BOUNDS if getattr(rule, name) is not None]
    if not given:
        return "metric", f"{rule.metric} has no bound: give one of {', '.join(BOUNDS)}"
    if len(given) > 1:
        return given[1], f"a second bound beside {given[0]}: a rule has one, so write two rules"
    if rule.metric in HIGHER_IS_BETTER and rule.at_most is not None:
        hint = " (it is negative where something is lost: at_least: -0.05 allows five points)" if rule.metric in EFFECTS else ""
        return "at_most", f"{_short(rule.at_most)}: {rule.metric} is better when it is higher: write at_least{hint}"
    if rule.metric not in HIGHER_IS_BETTER and rule.at_least is not None:
        return "at_least", f"{_short(rule.at_least)}: {rule.metric} is better when it is lower: write at_most"
    return None


def _problem_of_value(rule: PolicyRule) -> _Problem:
    """A bound that everything meets, or nothing can be shown to meet, is none."""
    if rule.metric in AMOUNTS:
        if rule.margin is not None:
            return "margin", f"{_short(rule.margin)}: {rule.metric} is no share: write times_baseline, such as 1.1, or at_most"
        if rule.at_most is not None and rule.at_most <= 0:
            return "at_most", f"must be greater than 0, not {_short(rule.at_most)}"
        return None
    if rule.times_baseline is not None:
        return "times_baseline", f"{_short(rule.times_baseline)}: {rule.metric} is a share: write margin, such as 0.05"
    if rule.margin is not None:
        wrong = rule.margin >= 1 - rule.lowest
        return ("margin", f"must be a difference of shares, such as 0.05 for five points, not {rule.margin:g}") if wrong else None
    name, bound = ("at_least", rule.at_least) if rule.at_least is not None else ("at_most", rule.at_most)
    assert bound is not None
    exact = rule.over == "these_replies"
    if not rule.lowest <= bound <= 1:
        return name, f"must be a share from {rule.lowest} to 1 (0.05 is five points), not {_short(bound)}"
    if bound == (rule.lowest if name == "at_least" else 1):
        return name, f"{_short(bound)} is met by anything: write another number, or leave the rule out"
    if bound == (1 if name == "at_least" else 0) and not exact:
        right = "at_least: 0.99" if name == "at_least" else "at_most: 0.01"
        return name, f"{_short(bound)} is shown by no number of trials: write what is near enough, such as {right}"
    return None


def _problem_of_scope(rule: PolicyRule) -> _Problem:
    if rule.metric == "pass_hat" and rule.k is None:
        return "metric", "pass_hat needs k: how many trials of a task have to pass all, such as k: 3"
    if rule.metric != "pass_hat" and rule.k is not None:
        return "k", f"{rule.k}: belongs to pass_hat, not to {rule.metric}"
    if rule.metric in AMOUNTS and rule.over not in (None, "these_replies"):
        return "over", f"{rule.over}: {rule.metric} is known of these replies only: write these_replies, or leave it out"
    if rule.over == "these_replies" and rule.metric not in AMOUNTS | {"damage"}:
        right = "these_tasks or task_population"
        return "over", f"these_replies: {rule.metric} of these very replies says nothing of the next ones: write {right}"
    return None


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
    suites: tuple[str, ...] = Field(default=("exact",), min_length=1)
    """Validators that are strict enough."""
    allow_unchanged: bool = False
    """Whether a candidate that is its own baseline may pass, the same replies of the same configuration: for CI on changes that
    do not touch it. Without it that is INVALID, because a comparison with itself shows nothing."""
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

    @property
    def blocking(self) -> tuple[PolicyRule, ...]:
        """The rules that decide."""
        return tuple(rule for rule in self.rules if rule.tier == "block")

    @model_validator(mode="after")
    def _decides(self) -> Self:
        if not self.blocking:
            raise ValueError("no rule has `tier: block`, so nothing would decide")
        titles = [rule.title for rule in self.rules]
        twice = next((title for number, title in enumerate(titles) if title in titles[:number]), None)
        if twice is not None:
            raise ValueError(f"two rules are called {twice!r}: give one of them another `name`")
        return self
