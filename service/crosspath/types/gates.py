"""A gate's verdict: what was asked, what was found, and everything that it takes to draw it again."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.evaluations import EvaluationHead, Lock, PlannedCell
from crosspath.types.policies import EvidenceRef, Metric, Policy, RuleTier
from crosspath.types.replays import Toolchain
from crosspath.types.results import Estimate

VERDICT_FORMAT = 1
"""Version of the record. A reader refuses a newer one."""
GateStatus = Literal["PASS", "FAIL", "INCONCLUSIVE", "INVALID"]
RuleState = Literal["shown", "violated", "undecided", "unusable"]
"""``shown``: the rule holds, at alpha; ``violated``: it does not, at alpha after Holm over all blocking rules; ``undecided``: the
evidence can't tell; ``unusable``: there is no evidence for it (no baseline, nothing scored, metric unknown)."""


class RuleResult(Record):
    """What came of one rule. Shares are from 0 to 1."""

    name: str
    metric: Metric
    tier: RuleTier
    state: RuleState
    sentence: str
    """The reason with its numbers, for a person; one line, no markup."""
    bound: float
    """What the estimate must not be worse than; for a rule against the baseline: of the difference or ratio."""
    direction: Literal["at_least", "at_most"]
    estimate: Estimate | None = None
    """``low`` and ``high`` are the one-sided ends at alpha: with missing trials taken as the worst and the best for it."""
    p_shown: float | None = None
    """Of the hypothesis that the rule does not hold; at most alpha: shown."""
    p_violated: float | None = None
    """Of the hypothesis that it holds."""
    p_violated_holm: float | None = None
    """The same, adjusted over the blocking rules."""
    needs: str = ""
    """What would decide an undecided rule: more families, tasks or trials, with a number where one can be given."""


class EvidenceCheck(Record):
    """One thing that the evidence has to be."""

    name: str
    ok: bool
    sentence: str


class AskedSide(Record):
    """What one side of a gate was asked for."""

    ref: EvidenceRef
    """With ``latest`` and aliases resolved."""
    candidate: str
    run: str | None = None
    """MLflow run of that evaluation."""


class Asked(Record):
    """What a gate was asked, as far as nothing else in its directory tells: no artifact says which version of a registered model
    an evaluation is, or that there was a spec."""

    candidate: AskedSide
    baseline: AskedSide | None = None
    baseline_unreadable: str = ""
    spec_configuration: dict[str, str] | None = None


class Evidence(Record):
    """What the evaluation that holds a side's replies said of itself, kept beside the verdict: its replays are made anew for the
    gate, and these are what they are compared with."""

    head: EvaluationHead
    lock: Lock
    cells: tuple[PlannedCell, ...]
    asked: Asked | None = None
    """Kept with the candidate's, whose digest the verdict states."""


class GateSide(Record):
    """The evidence of one side."""

    ref: EvidenceRef
    """As it was asked for, ``latest`` and aliases resolved."""
    evaluation: str
    """The evaluation that holds the replies."""
    created_at: float
    """Of that evaluation, in seconds since 1970."""
    candidate: str
    run: str | None = None
    """MLflow run of that evaluation."""
    lock_digest: str
    configuration: dict[str, str]
    """The candidate's configuration, flattened: every field with what it resolved to. What is promoted must equal it."""
    replies_digest: str
    """Over all reply keys and replies."""
    evidence_digest: str = ""
    """Of the ``Evidence`` beside the verdict."""
    replayed: str
    """Id of the evaluation in which they were replayed for this gate."""
    bundle: str
    """Directory of its bundle, beside the verdict."""
    bundle_digest: str
    toolchain: Toolchain | None = None


class Verdict(Record):
    """One decision of a gate."""

    version: int = VERDICT_FORMAT
    id: str
    """``gate-YYYYMMDD-HHMMSS-XXXXXX``."""
    status: GateStatus
    policy: Policy
    policy_digest: str
    candidate: GateSide
    baseline: GateSide | None = None
    baseline_unreadable: str = ""
    """Why there is no baseline where the policy needs one."""
    spec_configuration: dict[str, str] | None = None
    """The candidate's configuration as the spec has it that was given; None: none was."""
    checks: tuple[EvidenceCheck, ...]
    rules: tuple[RuleResult, ...]
    reasons: tuple[str, ...]
    """Why, in sentences with the numbers, the one that decided first."""
    next_steps: tuple[str, ...] = Field(default=())
    created_at: float
    crosspath: str
    """Version that drew it."""

    @property
    def exit_code(self) -> int:
        """0 PASS, 1 FAIL, 3 INCONCLUSIVE (0 where the policy only warns), 4 INVALID."""
        if self.status == "INCONCLUSIVE" and self.policy.on_inconclusive == "warn":
            return 0
        return {"PASS": 0, "FAIL": 1, "INCONCLUSIVE": 3, "INVALID": 4}[self.status]
