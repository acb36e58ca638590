"""How much an endpoint's replies to one and the same request differ, alone and under load."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record
from crosspath.types.costs import Usages
from crosspath.types.replies import Attempt, Reply
from crosspath.types.results import Estimate

Load = Literal["alone", "together"]
"""``alone``: one request at a time; ``together``: so many at once as the probe says."""
NoiseFlag = Literal["non-deterministic under load", "non-deterministic", "no difference seen", "not measured"]
"""``non-deterministic under load``: a larger share of replies differs under load, by an exact test at 5 %. ``non-deterministic``:
replies differ, and the test shows no such influence. ``not measured``: too few replies came."""


class NoiseHead(Record):
    """What a probe asks: the first line of its file."""

    id: str
    """``NAME-YYYYMMDD-N``."""
    digest: str
    """Of all requests with all they hold, and of ``concurrency``: the same command goes on with the same probe."""
    created_at: float
    concurrency: int


class NoiseRow(Record):
    """One request of a probe: written before it is sent, and again with its end."""

    generation: str
    task: str
    load: Load
    repeat: int = Field(ge=0)
    in_flight: int
    """Requests of the probe that were in flight when it was sent, itself included."""
    attempt: Attempt
    reply: Reply | None = None
    """As it came, without bodies."""
    body: str | None = None
    """Digest of the body that was sent."""


class NoiseLevel(Record):
    """The repeats under one load."""

    load: Load
    concurrency: int
    asked: int
    replies: int
    faults: dict[str, int] = Field(default_factory=dict[str, int])
    """Type -> repeats without a reply. They are no differing replies."""
    distinct: int
    """Distinct replies, added up over tasks."""
    differing: int
    """Replies that are not the most frequent one of their task (over both loads)."""
    share: Estimate
    """``differing`` of ``replies``."""
    unseen: float | None = None
    """Where nothing differs: the largest share that could differ and still go unseen in so many replies, one-sided, 95 %."""
    most_in_flight: int = 0


class NoiseExample(Record):
    """A reply beside the most frequent one of its task."""

    task: str
    usual: str
    other: str
    at: int
    """The first character that differs, from 0, in text or tool calls."""


class NoiseFloor(Record):
    """One generation: what its requests gave."""

    candidates: tuple[str, ...]
    """All that are told and asked the same."""
    model: str
    contract: str
    temperature: float | None = None
    tasks: tuple[str, ...]
    alone: NoiseLevel
    together: NoiseLevel
    flag: NoiseFlag
    p_value: float | None = None
    """That load plays no part, two-sided: Fisher's exact test, stratified by task where there are several."""
    needed: int | None = None
    """Differing replies under load that the test needs at least where none differs alone; None: no number would do."""
    served_models: tuple[str, ...] = ()
    fingerprints: tuple[str, ...] = ()
    bodies: int = 0
    """Distinct bodies that were sent, for a task at most: 1, as it must be; 0 where none was seen."""
    example: NoiseExample | None = None
    trouble: str | None = None
    """What the last failed request said; None where none failed."""
    usages: Usages = Usages()
    """Of all its requests, failed ones included."""


class NoiseReport(Record):
    """A whole probe."""

    id: str
    file: str
    status: Literal["finished", "stopped"]
    """``stopped``: some repeats have no reply; the same command goes on."""
    stopped_by: str | None = None
    """The limit that was reached."""
    repeats: int
    concurrency: int
    floors: tuple[NoiseFloor, ...]
    requests: int
    """Sent, over all starts of the command."""
    failed: int
    usages: Usages
    sessions: int
    duration_s: float
    """Of this start."""
