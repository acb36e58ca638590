"""What generation took, added up from one row per request: once for all that was done, whichever session did it."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from crosspath.types import Attempt, Origin, Reply, SessionSpend, Spend, Trial, Usage, Usages

ORIGINS: tuple[Origin, ...] = ("fresh", "retried", "stored", "local")
MAY_BE_BILLED = frozenset({"timeout", "connection", "bad_response", "executor", "model", "unknown"})
"""Faults after which the server may still have done, and billed, the work; ``model`` and ``unknown`` are those that nobody
foresaw, perhaps while its answer was read."""

Sessions = Sequence[tuple[float, float | None]]
"""Begin and end of each start of the program."""


@dataclass(frozen=True)
class Row:
    """One attempt, or one reply that no attempt of this evaluation brought. None: unknown."""

    origin: Origin
    usage: Usage | None
    cost_usd: float | None


def attempt_row(attempt: Attempt) -> Row:
    """A request: ``fresh`` where it was answered, else ``retried``.

    What a server refused took nothing; where nobody knows whether it did the work (a time-out, a broken connection, a kill),
    usage and cost are unknown.
    """
    if attempt.fault is None and attempt.ended_at is not None:
        return Row("fresh", attempt.usage, attempt.cost_usd)
    if attempt.fault is None or attempt.fault.type in MAY_BE_BILLED:
        return Row("retried", attempt.usage, attempt.cost_usd)
    return Row("retried", Usage(prompt_tokens=0, completion_tokens=0), 0.0)


def reply_row(origin: Origin, reply: Reply) -> Row:
    """A reply that no attempt of this evaluation brought."""
    return Row(origin, reply.usage, reply.cost_usd)


def usages(rows: Iterable[Row]) -> Usages:
    """Totals over rows; what is unknown is counted and never taken for zero."""
    rows = tuple(rows)
    told = [row.usage or Usage() for row in rows]
    costs = [row.cost_usd for row in rows if row.cost_usd is not None]
    return Usages(
        rows=len(rows),
        prompt_tokens=_known_sum(usage.prompt_tokens for usage in told),
        completion_tokens=_known_sum(usage.completion_tokens for usage in told),
        reasoning_tokens=_known_sum(usage.reasoning_tokens for usage in told),
        cached_tokens=_known_sum(usage.cached_tokens for usage in told),
        unknown_usage=sum(usage.prompt_tokens is None or usage.completion_tokens is None for usage in told),
        cost_usd=math.fsum(costs) if costs else None,
        unknown_cost=len(rows) - len(costs),
    )


def _known_sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def by_origin(rows: Iterable[Row]) -> dict[Origin, Usages]:
    """Totals of each origin that there is, always in the same order."""
    found: dict[Origin, list[Row]] = {origin: [] for origin in ORIGINS}
    for row in rows:
        found[row.origin].append(row)
    return {origin: usages(rows) for origin, rows in found.items() if rows}


def rows_of(attempts: Iterable[Attempt], trials: Iterable[Trial], local: frozenset[str]) -> Iterator[Row]:
    """One row per attempt at an endpoint, and per reply that came without one.

    ``local``: keys of requests that a baseline or a recording answers, also where an earlier evaluation looked them up.
    """
    asked: set[str] = set()
    for attempt in attempts:
        if not attempt.local and attempt.request_key not in local:
            asked.add(attempt.request_key)
            yield attempt_row(attempt)
    for trial in trials:
        if trial.reply is not None and trial.request.key not in asked:
            yield reply_row("local" if trial.request.key in local else "stored", trial.reply)


def spend(
    attempts: Sequence[Attempt],
    trials: Sequence[Trial],
    *,
    bought_again: int = 0,
    sessions: int | None = None,
    starts: Sessions = (),
    local: frozenset[str] | None = None,
) -> Spend:
    """Totals over the attempt rows of an evaluation, whichever session sent them.

    A reply whose request has no attempt row here came from another evaluation: it is counted as reused and costs nothing again.
    Look-ups of baselines and recordings are no requests. Unknown is never zero: one reply without a cost makes ``cost_usd``
    None, and ``cost_known_usd`` keeps the known part. ``starts``: begin and end of each session, as far as they were kept;
    ``local``: see :func:`rows_of`; default: what was looked up here.
    """
    looked_up = {attempt.request_key for attempt in attempts if attempt.local}
    asked = [attempt for attempt in attempts if not attempt.local]
    known_here = looked_up | {attempt.request_key for attempt in asked}
    answered = [attempt for attempt in asked if attempt.fault is None and attempt.ended_at is not None]
    known = math.fsum(attempt.cost_usd for attempt in asked if attempt.cost_usd is not None)
    replies = [trial for trial in trials if trial.reply is not None]
    return Spend(
        requests=len(asked),
        requests_failed=sum(attempt.fault is not None for attempt in asked),
        replies=len(replies),
        replies_local=sum(trial.request.key in looked_up for trial in replies),
        replies_reused=sum(trial.request.key not in known_here for trial in replies),
        bought_again=bought_again,
        prompt_tokens=_total([attempt.usage.prompt_tokens for attempt in asked if attempt.usage], not answered),
        completion_tokens=_total([attempt.usage.completion_tokens for attempt in asked if attempt.usage], not answered),
        usage_unknown=sum(attempt.usage is None for attempt in answered),
        cost_usd=None if any(attempt.cost_usd is None for attempt in answered) else known,
        cost_known_usd=known,
        generation_s=sum(max(0.0, attempt.ended_at - attempt.started_at) for attempt in asked if attempt.ended_at is not None),
        sessions=sessions if sessions is not None else max(1, len({attempt.session for attempt in asked})),
        by_origin=by_origin(rows_of(attempts, trials, frozenset(looked_up) if local is None else local)),
        by_session=tuple(_sessions(asked, starts)),
    )


def _total(counts: Iterable[int | None], nothing_bought: bool) -> int | None:
    """Sum of the known counts; None where there were replies and none of them came with a count."""
    known = [count for count in counts if count is not None]
    return sum(known) if known or nothing_bought else None


def _sessions(asked: Sequence[Attempt], starts: Sessions) -> Iterator[SessionSpend]:
    """Each start of the program, from 1; also one that sent nothing."""
    sent: dict[int, list[Attempt]] = {number: [] for number in range(1, len(starts) + 1)}
    for attempt in asked:
        sent.setdefault(attempt.session, []).append(attempt)
    known: Mapping[int, tuple[float, float | None]] = dict(enumerate(starts, 1))
    for number, attempts in sorted(sent.items()):
        begun, ended = known.get(number, (None, None))
        yield SessionSpend(
            number=number,
            started_at=begun,
            ended_at=ended,
            requests=len(attempts),
            failed=sum(attempt.fault is not None for attempt in attempts),
            in_flight=sum(attempt.fault is None and attempt.ended_at is None for attempt in attempts),
            usages=usages(map(attempt_row, attempts)),
        )
