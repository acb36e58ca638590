"""Drift: a deployment's evaluations over time, and which of three things changed: configuration, toolchain or provider.

Shares are from 0 to 1 and changes from -1 to 1, times are seconds since 1970 (UTC), days are UTC dates (``YYYY-MM-DD``).
"""

from collections.abc import Mapping
from typing import Any, Literal, cast

from pydantic import Field, computed_field, model_validator

from crosspath.types.base import Record
from crosspath.types.explaining import FieldDifference
from crosspath.types.results import Estimate

SHOWN_EFFECTS = ("damage", "compensation", "matched_gap")
"""Effects that are kept of each evaluation and drawn over time."""
ENTRY_FORMAT = 1
"""Version of ``SeriesEntry``. A reader refuses a newer one."""
DRIFT_FORMAT = 1
"""Version of ``Drift``. A reader refuses a newer one."""
LATEST = 32_503_680_000.0
"""The year 3000: no evaluation is later."""
LEAST_REFERENCE_TRIALS = 10
"""Trials a task that a reference has at least."""

EntryRole = Literal["day", "reference"]
PartStatus = Literal["no drift", "drift", "not enough", "could not measure"]
"""``not enough``: nothing was found, and too little was observed to find it; ``could not measure``: there is no answer."""
NoReplay = Literal["", "not asked for", "reference", "sudden"]
"""``not asked for``: whoever looked wanted no reply executed; ``reference``: it can't be read; ``sudden``: replies turn, and no
recorded program differs. Empty: the sentence says what kept it from an answer, if any."""
NoMeasurement = Literal["", "too little", "reference", "configuration", "stopped", "unreadable", "programs", "tasks", "day"]
"""``too little``: nothing was found, and too little observed to find it; ``reference``: it can't be read. The others are of
today: ``configuration``: it is another than the reference's; ``stopped``: nothing was evaluated; ``unreadable``: it can't be
read; ``programs``: the frozen replies were not executed with its programs; ``tasks``: too few are left; ``day``: it has too few
verdicts, or a broken control. Empty: something is known, or the sentence says why not."""
DriftCause = Literal["configuration", "toolchain", "provider"]
Bearing = Literal["breaking", "replayed", "provider", "none"]
"""What a changed field means for a comparison across it. ``breaking``: scores before and after can't be compared; ``replayed``:
the frozen replies tell what it did; ``provider``: an endpoint says it, and its replies tell what it did; ``none``: nothing."""


class WatchRules(Record):
    """How a deployment is watched; fixed when its reference is measured, not when somebody looks."""

    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """How often a watch of ``horizon_days`` days may raise a false provider alarm, if it is looked at every day."""
    horizon_days: int = Field(default=60, ge=1, le=3650)
    reference_trials: int = Field(default=LEAST_REFERENCE_TRIALS, ge=LEAST_REFERENCE_TRIALS, le=10_000)
    """Trials a task of the reference."""
    max_age_days: float = Field(default=2.0, gt=0)
    """A newest evaluation that is older than this is no measurement of today."""
    max_missing: float = Field(default=0.2, ge=0, le=1)
    """A day of which more trials than this share have no verdict is no measurement."""


class EntryTrial(Record):
    """What became of one trial as deployed."""

    task: str
    index: int
    passed: bool | None
    """None: no verdict (a fault, or an unstable replay)."""
    silent_wrong: bool = False
    """Wrong, and the caller was told that it is right. No test of a watch uses it: their share over time would come from here."""
    cause: str | None = None
    """A ``Cause`` of scores, or ``fault:TYPE``."""
    unstable: bool = False
    reply: str = ""
    """Digest of its text and tool calls; empty where there is none."""
    refused: bool = False
    truncated: bool = False
    """Cut at the token limit, whatever became of it."""
    length: int | None = None
    """Characters of its text and of the arguments of its tool calls."""
    latency_s: float | None = None
    completion_tokens: int | None = None
    """What the endpoint counts. Nothing of a look is made of it: it is there for what a day's replies cost in tokens."""
    served_model: str | None = None
    """Who answered just this trial; those of the whole evaluation are in ``configuration``."""


class EntryEffect(Record):
    """An effect of one evaluation, for the figure of effects over time."""

    effect: str
    """One of ``SHOWN_EFFECTS``."""
    estimate: Estimate


class SeriesEntry(Record):
    """One evaluation of a deployment, as far as drift needs it: small, so that a year of them is read in seconds."""

    version: int = ENTRY_FORMAT
    evaluation: str
    created_at: float = Field(ge=0, le=LATEST)
    run: str | None = None
    """MLflow run of the evaluation; known to the reader only."""
    deployment: str
    candidate: str
    role: EntryRole
    rules: WatchRules
    chosen_on: str | None = None
    """The evaluation on whose outcomes the sentinel tasks were chosen: it can't be their reference."""
    configuration: dict[str, str]
    """Every field by its dotted name, see ``pipeline.configurations``."""
    toolchain: str
    """Digest of everything that a replay runs with: programs, sandbox, limits, packages."""
    tasks: dict[str, str]
    """Task id -> digest; those that can be done."""
    families: dict[str, str]
    """Task id -> family. A watch is about exactly its tasks: no test uses it."""
    planned_trials: int
    """A task."""
    control: str
    """Status of the control."""
    rate: Estimate
    """Pass rate as deployed, of exactly these tasks."""
    effects: tuple[EntryEffect, ...] = ()
    trials: tuple[EntryTrial, ...]
    requests: int = 0
    cost_usd: float | None = None
    """What it cost; None: unknown."""

    @property
    def key(self) -> tuple[str, float]:
        """What tells evaluations apart: fresh runners without a common store begin the day's ids anew."""
        return self.evaluation, self.created_at

    @property
    def missing_share(self) -> float:
        """Share of planned trials without a verdict; unstable ones are not missing."""
        planned = self.planned_trials * len(self.tasks)
        seen = sum(trial.passed is not None or trial.unstable for trial in self.trials)
        return 1 - seen / planned if planned else 1.0


class UnreadableEntry(Record):
    """An evaluation of the deployment that can't be read, and why."""

    run: str
    evaluation: str
    problem: str
    role: EntryRole = "day"
    at: float | None = None
    """When it was made; None: not known."""


class SeriesHistory(Record):
    """A deployment as MLflow holds it."""

    deployment: str
    experiment: str
    """MLflow's experiment that its newest evaluation is in."""
    entries: tuple[SeriesEntry, ...]
    """Oldest first."""
    unreadable: tuple[UnreadableEntry, ...] = ()


# -- 1. configuration ----------------------------------------------------------------------------------------------------


class ConfigurationChange(Record):
    """One field that differs between two evaluations that follow each other."""

    at: float
    """When the evaluation was made in which it is seen first."""
    evaluation: str
    before_evaluation: str
    difference: FieldDifference
    """``a`` before, ``b`` after."""
    bearing: Bearing


class ConfigurationDrift(Record):
    """What changed in the locks, and when."""

    status: PartStatus
    sentence: str
    base: str = ""
    """The evaluation that it is measured from: the reference, or the first one where there is none; empty: nothing was read."""
    base_is_reference: bool = True
    timeline: tuple[ConfigurationChange, ...] = ()
    """Oldest first."""
    since_reference: tuple[FieldDifference, ...] = ()
    """Net differences between the reference (``a``) and now (``b``) that matter; a field that was changed back is not in it."""
    breaking: tuple[FieldDifference, ...] = ()
    """Those of ``since_reference`` across which scores can't be compared."""
    edited_tasks: tuple[str, ...] = ()
    """Tasks that have another content than in the reference."""


# -- 2. toolchain --------------------------------------------------------------------------------------------------------


class FrozenOutcome(Record):
    """How often one frozen reply came out right and wrong with one toolchain, over all that was seen so far."""

    task: str
    index: int
    toolchain: str
    passes: int = Field(default=0, ge=0)
    fails: int = Field(default=0, ge=0)


class Flip(Record):
    """A frozen reply that comes out otherwise than before, each time."""

    task: str
    index: int
    passed_before: bool
    passed_now: bool
    cause_before: str | None = None
    cause_now: str | None = None
    reason: str = ""
    """What the validator says now, or said before where it passes now; one line."""
    times: int
    """So often it was replayed now, always with this outcome."""


class ToolchainDrift(Record):
    """What became of frozen replies that were executed again."""

    status: PartStatus
    sentence: str
    why: NoReplay = ""
    """What the next step hangs on, where there is no answer."""
    frozen: str = ""
    """The evaluation whose replies they are."""
    frozen_at: float | None = None
    """When it was made: fresh runners begin the day's ids anew, so that the id alone does not tell."""
    replayed_as: str = ""
    """Id of the evaluation in the ledger that holds the new replays."""
    replies: int = 0
    compared: int = 0
    """Those with a verdict before and now that are not unstable."""
    missing: int = 0
    requests: int = 0
    """Requests that were sent to models for it: none."""
    flips: tuple[Flip, ...] = ()
    otherwise: tuple[Flip, ...] = ()
    """The same verdict for another cause, or told to the caller otherwise, each time."""
    unstable: tuple[tuple[str, int], ...] = ()
    """Task and trial of replies that came out both ways with one and the same toolchain."""
    changed: tuple[FieldDifference, ...] = ()
    """Programs, limits, packages and harness code that are others now than when the replies were executed first."""
    toolchain: str = ""
    """Digest of that of now."""
    fields: dict[str, str] = Field(default_factory=dict)
    """The fields of that of now."""
    evidence: tuple[FrozenOutcome, ...] = ()
    """Everything that was ever seen of these replies: the next look starts from it."""

    @property
    def flipped_tasks(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(flip.task for flip in self.flips))


# -- 3. provider ---------------------------------------------------------------------------------------------------------


class WatchDay(Record):
    """One day of a watch."""

    day: str
    evaluations: tuple[str, ...]
    """Those that count: of a day that is used not those that are no measurement."""
    evaluated_at: tuple[float, ...] = ()
    """When each of them was made, because two of a day may have one id; empty: not known."""
    planned: int
    scored: int
    rate: Estimate | None = None
    """Pass rate of the compared tasks on that day."""
    change: Estimate | None = None
    """Change against the reference over the window that ends on this day."""
    p_drop: float | None = None
    """The smallest p value of that day's looks for a drop, times what they may spend: at most alpha is an alarm."""
    p_rise: float | None = None
    used: bool = True
    why_not: str = ""
    """Why it is no measurement: faults, a toolchain that was never measured, another configuration."""


class Signal(Record):
    """Something about replies that needs no score."""

    name: Literal["reply length", "refusals", "truncated replies", "new replies", "latency"]
    unit: Literal["characters", "share", "seconds"]
    reference: float | None
    """Median (length, latency) or share over the reference."""
    recent: float | None
    p_value: float | None
    """Adjusted for all signals and days, like the test of scores."""
    changed: bool
    sentence: str


class TaskChange(Record):
    """One task of a provider's change."""

    task: str
    reference: float
    recent: float
    reference_trials: int
    recent_trials: int


class ProviderDrift(Record):
    """The same configuration sampled again, beyond what the toolchain does."""

    status: PartStatus
    sentence: str
    why: NoMeasurement = ""
    """What the next step hangs on, where there is no answer, or none of today."""
    reference: str = ""
    """The evaluation that the reference was measured in."""
    reference_at: float | None = None
    """When it was made: fresh runners begin the day's ids anew, so that the id alone does not tell; None: not known."""
    reference_run: str | None = None
    """Its MLflow run where another evaluation of the deployment has its id: a command has to name this one then."""
    reference_trials: int = 0
    tasks: int = 0
    """Tasks that are compared on the newest day; the change may have more, of the days before."""
    set_apart: dict[str, str] = Field(default_factory=dict)
    """Task -> why it is not compared on the newest day."""
    alpha: float = 0.05
    horizon_days: int = 60
    window_days: int = 0
    """Days of ``change``."""
    change: Estimate | None = None
    """Mean over tasks of recent rate - reference rate; the interval carries both samples' variance."""
    unmeasured_today: str = ""
    """Why nothing is known of today; empty where something is. A finding stays all the same."""
    found_on: str | None = None
    """The first day on which the sequential test found a change."""
    direction: Literal["worse", "better"] | None = None
    taken_back: str | None = None
    """The day of what earlier looks found against this reference and this one does not: explained, or it can't be read."""
    days: tuple[WatchDay, ...] = ()
    signals: tuple[Signal, ...] = ()
    task_changes: tuple[TaskChange, ...] = ()
    """The largest first."""


# -- all of it -----------------------------------------------------------------------------------------------------------


class Alarm(Record):
    """One sentence that a person can act on."""

    cause: DriftCause
    level: Literal["alarm", "notice", "unmeasured"]
    """Only an ``alarm`` is drift; a ``notice`` is something that changed and did nothing yet; ``unmeasured``: no answer."""
    sentence: str
    """Cause class, fields or tasks, and size; one line, no markup."""
    next_step: str
    fields: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()


class TextChange(Record):
    """What changed in a text that is part of the configuration."""

    kind: Literal["contract", "path", "suite", "style"]
    name: str
    """As the newest evaluation calls it."""
    lines: tuple[str, ...]
    """Of a unified diff, reference to newest, without its head: they begin with ``-``, ``+``, ``@@`` or a space."""
    left_out: int = 0
    """Further lines."""


class SeriesPoint(Record):
    """One evaluation in the figures and tables of a drift report."""

    evaluation: str
    run: str | None
    created_at: float
    role: EntryRole
    rate: Estimate
    effects: tuple[EntryEffect, ...] = ()
    missing: float | None = None
    """Share of its planned trials without a verdict, as ``max_missing`` counts them; None: not known."""
    why_not: str = ""
    """Why it is no measurement, whatever it is compared with: faults, a broken control. Empty where it is one."""
    requests: int = 0
    cost_usd: float | None = None

    @property
    def key(self) -> tuple[str, float]:
        """What tells evaluations apart, as that of its entry."""
        return self.evaluation, self.created_at


class Drift(Record):
    """One look at a deployment."""

    version: int = DRIFT_FORMAT
    id: str
    """``drift-YYYYMMDD-HHMMSS-XXXXXX``."""
    deployment: str
    candidate: str
    experiment: str
    created_at: float
    points: tuple[SeriesPoint, ...]
    """Oldest first."""
    unreadable: tuple[UnreadableEntry, ...] = ()
    configuration: ConfigurationDrift
    texts: tuple[TextChange, ...] = ()
    """Of contracts, paths, suites and request styles that changed since the reference; empty also where they can't be read."""
    toolchain: ToolchainDrift
    provider: ProviderDrift
    alarms: tuple[Alarm, ...] = ()
    """What to act on first stands first."""
    crosspath: str
    """Version that drew it."""

    @model_validator(mode="before")
    @classmethod
    def _without_what_follows(cls, values: object) -> object:
        """``status`` and ``exit_code`` are written for whoever reads the JSON; they follow from the parts."""
        if not isinstance(values, Mapping):
            return values
        fields = cast("Mapping[str, Any]", values)
        return {name: value for name, value in fields.items() if name not in ("status", "exit_code")}

    @computed_field
    @property
    def status(self) -> PartStatus:
        """Of all three: drift in one is drift; else what could not be measured stands before what was too little."""
        found = {self.configuration.status, self.toolchain.status, self.provider.status}
        order: tuple[PartStatus, ...] = ("drift", "could not measure", "not enough", "no drift")
        return next(status for status in order if status in found)

    @computed_field
    @property
    def exit_code(self) -> int:
        """0 no drift, 1 drift, 3 not enough evidence, 4 could not measure."""
        return {"no drift": 0, "drift": 1, "not enough": 3, "could not measure": 4}[self.status]

    @property
    def reference_point(self) -> SeriesPoint | None:
        """The reference among the points; None where there is none. Of several with its id it is the one of that time; where that
        is not known, the newest that was measured as reference."""
        named = [point for point in self.points if point.evaluation == self.provider.reference]
        if self.provider.reference_at is not None:
            return next((point for point in named if point.created_at == self.provider.reference_at), None)
        marked = [point for point in named if point.role == "reference"]
        return next(reversed(marked or named), None)
