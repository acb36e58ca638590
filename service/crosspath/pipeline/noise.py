"""Ask for the same reply again and again: alone, and many at once.

Half of the requests that are sent alone go before those that are sent together and half after, so that an endpoint which merely
drifts in that time does not look like one that minds load.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from crosspath.pipeline.asking import Asker
from crosspath.pipeline.faults import is_final
from crosspath.types import Attempt, Reply, Request, Trial, digest
from crosspath.types.noise import Load, NoiseRow

Place = tuple[str, Load, int]
"""Key of the request, load, repeat."""


@dataclass(frozen=True)
class Phase:
    """Some repeats under one load."""

    load: Load
    at_once: int
    repeats: range


def phases(repeats: int, concurrency: int) -> tuple[Phase, Phase, Phase]:
    """Alone, together, and alone again."""
    half = (repeats + 1) // 2
    return (
        Phase("alone", 1, range(half)),
        Phase("together", concurrency, range(repeats)),
        Phase("alone", 1, range(half, repeats)),
    )


def probe_digest(requests: Iterable[Request], concurrency: int) -> str:
    """Equal where the same would be asked under the same load; the number of repeats may grow."""
    return digest([sorted(request.key for request in requests), concurrency])


def place_of(row: NoiseRow) -> Place:
    """Which repeat a row is of."""
    return row.attempt.request_key, row.load, row.repeat


def settled_places(rows: Iterable[NoiseRow]) -> set[Place]:
    """Repeats that are not asked for again: they have a reply, or a fault that would come again."""
    return {
        place_of(row) for row in rows if row.reply is not None or (row.attempt.fault is not None and is_final(row.attempt.fault))
    }


def last_rows(rows: Iterable[NoiseRow]) -> tuple[NoiseRow, ...]:
    """Of each repeat the row with its reply, else its last attempt."""
    found: dict[Place, NoiseRow] = {}
    for row in sorted(rows, key=lambda row: (row.reply is not None, row.attempt.number)):
        found[place_of(row)] = row
    return tuple(found[place] for place in sorted(found))


class Prober:
    """One start of a probe."""

    def __init__(self, asker: Asker, append: Callable[[NoiseRow], None], replied: Callable[[], None] = lambda: None) -> None:
        """``append`` keeps a row; ``replied`` is told of each repeat that is done."""
        self._asker = asker
        self._append = append
        self._replied = replied
        self._open = 0
        """Requests in flight."""
        self.limit: str | None = None
        """What forbade to go on."""

    async def run(self, requests: Sequence[Request], repeats: int, concurrency: int, done: set[Place]) -> None:
        """All repeats of requests that belong to one generation, but for those that are ``done``."""
        for phase in phases(repeats, concurrency):
            pending = self._owed(requests, phase, done)
            await asyncio.gather(*(self._drain(phase, pending) for _ in range(phase.at_once)))

    def _owed(self, requests: Sequence[Request], phase: Phase, done: set[Place]) -> Iterator[tuple[Request, int]]:
        for repeat in phase.repeats:
            for request in requests:
                if (request.key, phase.load, repeat) not in done:
                    yield request, repeat

    async def _drain(self, phase: Phase, pending: Iterator[tuple[Request, int]]) -> None:
        for request, repeat in pending:
            if self.limit is not None:
                return
            trial = await self._asker.ask(request, _Rows(self, request, phase.load, repeat))
            if trial.fault is not None and trial.fault.type == "budget":
                self.limit = trial.fault.message
            self._replied()

    def keep(self, row: NoiseRow) -> None:
        """Count what is in flight, and keep the row."""
        self._open += 1 if row.attempt.ended_at is None else -1
        self._append(row)

    @property
    def in_flight(self) -> int:
        """Requests that were sent and whose end is not seen yet."""
        return self._open


class _Rows:
    """Where the records of one repeat go; a repeat that was never sent (a limit, a dead endpoint) has no row."""

    def __init__(self, prober: Prober, request: Request, load: Load, repeat: int) -> None:
        self._prober = prober
        self._request = request
        self._load: Load = load
        self._repeat = repeat
        self._in_flight = 0

    async def __call__(self, *records: Attempt | Trial) -> None:
        reply = next((record.reply for record in records if isinstance(record, Trial)), None)
        for record in records:
            if isinstance(record, Attempt):
                self._prober.keep(self._row(record, reply))

    def _row(self, attempt: Attempt, reply: Reply | None) -> NoiseRow:
        if attempt.ended_at is None:
            self._in_flight = self._prober.in_flight + 1
        return NoiseRow(
            generation=self._request.trial.generation,
            task=self._request.trial.task,
            load=self._load,
            repeat=self._repeat,
            in_flight=self._in_flight,
            attempt=attempt,
            reply=None if reply is None else reply.model_copy(update={"raw_response": None, "sent_body": None}),
            body=None if reply is None or reply.sent_body is None else digest(reply.sent_body),
        )
