"""Judgement: checks, scores, estimates, effects and the decomposition."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import EscapedBytes, Record
from crosspath.types.costs import Origin, SessionSpend, Usages
from crosspath.types.replays import ReplayKey
from crosspath.types.replies import TrialKey

Cause = Literal[
    "undeliverable", "refusal", "truncated", "empty", "contract_error", "timeout", "resource_limit",
    "shell_syntax", "tool_error", "runtime_error", "extra_files", "wrong_state",
]  # fmt: skip
AlarmKind = Literal["timeout", "status", "output", "masked", "delivery"]
"""How a path told its caller something else than what a right state deserves, see ``crosspath.scoring.alarms``."""
Side = Literal["R", "N"]
"""R: the reference (contract or path). N: the candidate's own."""
Estimand = Literal["these_replies", "these_tasks", "task_population"]


class CheckResult(Record):
    """One expectation that one replay did not meet."""

    expectation: str
    cause: Cause
    subject: EscapedBytes
    """The path, ``observer:NAME`` or ``exit``."""
    expected: str
    actual: str


class Score(Record):
    """The verdict on one replay."""

    key: ReplayKey
    state_ok: bool
    reported_ok: bool
    passed: bool
    """``state_ok``, and the exit status where the task sets one."""
    cause: Cause | None
    reason: str = ""
    checks: tuple[CheckResult, ...] = ()
    validator: str = "exact"
    infeasible: bool = False
    """Of a task that can't be done: ``passed`` says that it was declined rightly. No pass rate counts it."""
    false_alarm: AlarmKind | None = None
    """The state is right, and the path told its caller otherwise: how."""

    @property
    def silent_wrong(self) -> bool:
        return self.reported_ok and not self.state_ok


class Estimate(Record):
    """A number never travels without n, its interval and what it is an estimate of.

    ``value``, ``low`` and ``high`` are shares (0..1) or differences of shares (-1..1); None where nothing could be estimated.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    """Trials (pairs, for a difference) that were scored."""
    missing: int = 0
    unstable: int = 0
    worst: float | None = None
    """The value if every missing and unstable trial had turned out badly."""
    best: float | None = None
    estimand: Estimand
    method: str
    p_value: float | None = None

    @property
    def attempted(self) -> int:
        """Trials (pairs) that were planned: those that were observed (``n``), and those that were not."""
        return self.n + self.missing + self.unstable


class CellRow(Record):
    """One trial in one cell. ``passed`` None: a fault. Unstable rows are listed, excluded and bounded."""

    task: str
    family: str
    tier: int | None = None
    index: int = 0
    passed: bool | None
    silent_wrong: bool = False
    false_alarm: AlarmKind | None = None
    cause: str | None = None
    """A ``Cause``, or ``fault:TYPE``."""
    unstable: bool = False


class Cell(Record):
    """All replays of one told x done combination of a candidate."""

    told: Side
    done: Side
    contract: str
    transport: str
    planned: int
    scored: int
    passed: int
    faults: int
    unstable: int
    rate: Estimate
    silent_wrong: Estimate
    causes: dict[str, int] = Field(default_factory=dict)
    tiers: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """Tier -> passed, scored."""
    silent_causes: dict[str, int] = Field(default_factory=dict)
    """The part of ``causes`` that the path reported as fine."""
    false_alarm: Estimate | None = None
    """Share of right states that the path did not report as right, of all that was scored; None from before it was judged."""
    alarm_kinds: dict[str, int] = Field(default_factory=dict)
    """``AlarmKind`` -> how many."""
    population: Estimate | None = None
    """``rate`` as an estimate for the population of task families."""

    @property
    def name(self) -> str:
        """``RR``, ``RN``, ``NR`` or ``NN``: told, then done."""
        return self.told + self.done


class VarianceSource(Record):
    """One source of an effect's variance over the task population.

    A source that can't be told apart is not listed, and is a part of the one before it: with one trial a task ``tasks`` holds the
    draws of replies too, and with one task a family ``families`` holds both.
    """

    name: Literal["families", "tasks", "replies", "other_replies"]
    """``families``: how families differ; ``tasks``: tasks within a family; ``replies``: draws of the minuend's replies;
    ``other_replies``: draws of the subtrahend's, where those are another generation."""
    standard_error: float
    """What this source adds to the standard error of the effect (a difference of shares): squares of all sources add up."""
    share: float | None
    """Of the variance of the effect, 0 to 1; None where that is 0."""


class Effect(Record):
    """A paired contrast of two cells: ``minuend`` - ``subtrahend``."""

    name: Literal["damage", "compensation", "matched_gap", "contract_effect"]
    minuend: str
    subtrahend: str
    these: Estimate
    """For exactly these replies (damage) or these tasks."""
    population: Estimate
    """For the population of task families; the default headline."""
    lost: int | None = None
    """Same replies only: right in the subtrahend, wrong in the minuend."""
    gained: int | None = None
    """Same replies only: wrong in the subtrahend, right in the minuend."""
    together: Estimate | None = None
    """``population`` with an interval that holds together with those of all other effects of the evaluation, and with a p-value
    adjusted for their number; None where the effect may not be used (control broken, damage can't be seen)."""
    sources: tuple[VarianceSource, ...] = ()
    """Where the variance of ``population`` comes from, by families, tasks, replies; empty with fewer than two families."""


class Control(Record):
    """Whether the instrument works."""

    kind: Literal["encoded", "benign", "none"]
    status: Literal["holds", "broken", "missing"]
    """``missing``: nothing to compare (no reference replays, or only faults)."""
    compared: int
    differing: tuple[str, ...] = ()
    """``task#index`` of stable differences."""
    unstable: tuple[str, ...] = ()
    reason: str = ""
    trials: int = 0
    """How many were planned to be compared; 0 where that was not recorded."""


class Decomposition(Record):
    """What one candidate's score mixes, taken apart."""

    candidate: str
    cells: tuple[Cell, ...]
    not_applicable: dict[str, str] = Field(default_factory=dict)
    """Cell name -> why it has no number."""
    effects: tuple[Effect, ...]
    control: Control
    discloses: str | None = None
    """Name of the path that the contract of the N-told cells describes; None without such cells, or where it is not known."""
    undisclosed: bool = False
    """True: ``discloses`` is another path than the candidate's, so that NN - RN is the effect of telling about that other path
    and no compensation for this one. Call it as ``crosspath.analysis.effect_label`` does."""

    @property
    def blind(self) -> bool:
        """No reply passes on the reference path: there is nothing that the path could break.

        Damage can't be seen (its 0.0 is no finding) and a control that agrees proves nothing. Tables show no damage, no
        compensation and no matched gap then, and ``blind`` instead of the control's status.
        """
        reference = self.cell("RR")
        return bool(self.cell("RN") and reference and reference.scored and not reference.passed)

    def cell(self, name: str) -> Cell | None:
        return next((cell for cell in self.cells if cell.name == name), None)

    def effect(self, name: str) -> Effect | None:
        return next((effect for effect in self.effects if effect.name == name), None)


class Abstention(Record):
    """How one cell's replies decline. Kept apart from every rate and effect: infeasible tasks are in no cell."""

    candidate: str
    told: Side
    done: Side
    contract: str
    transport: str
    form: str | None
    """The contract's form of declining; None: it states none, so that nothing can be counted."""
    planned: int
    """Trials of infeasible tasks."""
    scored: int
    declined: int
    """Of those scored: declined in the form, state untouched."""
    declined_otherwise: int = 0
    """Declined in other words, or in the form with a changed state."""
    acted: int = 0
    """Did not decline."""
    feasible: int = 0
    """Scored trials of tasks that can be done."""
    declined_feasible: int = 0
    """Of those: declined in the form all the same."""
    precision: Estimate
    """Share of the replies that declined in the form which were right to."""
    recall: Estimate
    """Share of the infeasible trials that were declined in the form with the state untouched."""

    @property
    def cell(self) -> str:
        return self.told + self.done


class PartitionGap(Record):
    """Public against held-out tasks in one cell, paired by variant: the contamination alarm."""

    candidate: str
    told: Side
    done: Side
    public: Estimate
    heldout: Estimate
    difference: Estimate
    """Public - held-out over variants that were scored on both sides; positive: the public ones are suspiciously easy."""
    alarm: bool
    """The interval of ``difference`` lies above 0, and ``p_value``, one-sided by permutation within pairs, is at most 0.025."""

    @property
    def cell(self) -> str:
        return self.told + self.done


class StyleSpread(Record):
    """Candidates that differ in nothing but the request style, side by side in one cell."""

    candidates: dict[str, str]
    """Style -> candidate, ``plain`` first, then in the order of the spec."""
    told: Side
    done: Side
    rates: dict[str, Estimate]
    """Style -> pass rate, as in the candidate's own cell."""
    differences: dict[str, Estimate]
    """Style -> its rate - the first style's, paired by task; all styles but the first."""
    framing: Estimate | None = None
    """``exam`` - ``production``, paired by task, where both are there."""
    spread: float | None
    """Highest - lowest pass rate over ``tasks`` (a share): a description, not an estimate; it grows with the number of styles."""
    tasks: int = 0
    """How many tasks were scored in every style that has any score."""
    damage: dict[str, Estimate] = Field(default_factory=dict)
    """Style -> damage for the same candidate (these replies), to be read beside the spread; only where it may be used."""

    @property
    def cell(self) -> str:
        return self.told + self.done


class WordingSpread(Record):
    """Candidates that differ in nothing but the words in which they are told about one path, side by side in NN."""

    candidates: dict[str, str]
    """Contract -> candidate, in the order of the spec: the first wording comes first."""
    discloses: str
    """Name of the path that all of them tell about."""
    transport: str
    """Name of the path that the replies ran on: the same by what it does."""
    rates: dict[str, Estimate]
    """Contract -> pass rate in NN."""
    differences: dict[str, Estimate]
    """Contract -> its rate - the first contract's, paired by task; all but the first."""
    compensation: dict[str, Estimate] = Field(default_factory=dict)
    """Contract -> compensation for these tasks; only where it may be used."""
    population: dict[str, Estimate] = Field(default_factory=dict)
    """Contract -> compensation for the population of task families; only where it may be used."""
    common: dict[str, float] = Field(default_factory=dict)
    """Contract -> compensation (a difference of shares) over the ``tasks`` alone."""
    spread: float | None = None
    """Highest - lowest of ``common``: a description, not an estimate; it grows with the number of wordings."""
    tasks: int = 0
    """How many tasks were scored on the path in every wording, told and untold."""


class Spend(Record):
    """What generation took, added up from attempt rows."""

    requests: int = 0
    requests_failed: int = 0
    replies: int = 0
    replies_local: int = 0
    """Replies of baselines and recordings: no endpoint was asked."""
    replies_reused: int = 0
    """Replies of this evaluation that came from another one (replay, validate)."""
    bought_again: int = 0
    """Requests that were in flight when an earlier session was killed."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    usage_unknown: int = 0
    """Replies for which the server sent no usage."""
    cost_usd: float | None = None
    """None: unknown for at least one reply, see ``cost_known_usd``."""
    cost_known_usd: float = 0.0
    generation_s: float = 0.0
    sessions: int = 1
    by_origin: dict[Origin, Usages] = Field(default_factory=dict[Origin, Usages])
    """Attempts (``fresh``, ``retried``) and replies (``stored``, ``local``) of the evaluation, each once."""
    by_session: tuple[SessionSpend, ...] = ()
    """One for each start of the program."""


class Comparison(Record):
    """Two candidates' matched cells, paired by task (means of trials): ``b`` - ``a``."""

    a: str
    b: str
    difference: Estimate
    changed: tuple[tuple[str, str, str], ...]
    """Configuration fields that differ: field, value in a, value in b."""
    warning: str = ""
    """Why the two must not be ranked by this number: trials that one of them lacks."""
    together: Estimate | None = None
    """``difference`` with an interval that holds together with those of all other comparisons of the evaluation; None for a
    comparison that was asked for alone."""

    def __str__(self) -> str:
        """A few lines for a person: the difference in points with its interval, what it is an estimate of, what was changed."""
        lines = [f"{self.b} - {self.a}: {_points(self.difference)}"]
        lines += [f"  {field}: {before} -> {after}" for field, before, after in self.changed]
        return "\n".join([*lines, f"! {self.warning}"] if self.warning else lines)

    __repr__ = __str__


def _points(estimate: Estimate) -> str:
    if estimate.value is None:
        return "unknown (nothing could be compared)"
    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = f" [{100 * estimate.low:+.1f}, {100 * estimate.high:+.1f}]"
    about = f"n = {estimate.n}, {estimate.estimand}, {estimate.method}"
    return f"{100 * estimate.value:+.1f} points{interval} ({about})"


class UnstableTrial(Record):
    """A trial whose repeated replays on one path disagree."""

    trial: TrialKey
    path: str
    passes: int
    repeats: int
