"""What generation took, added up from one row per request."""

from collections.abc import Iterable, Sequence

from crosspath.types import Attempt, Spend, Trial


def spend(attempts: Sequence[Attempt], trials: Sequence[Trial], *, bought_again: int = 0, sessions: int | None = None) -> Spend:
    """Totals over the attempt rows of an evaluation, whichever session sent them.

    A reply whose request has no attempt row here came from another evaluation: it is counted as reused and costs nothing again.
    Look-ups of baselines and recordings are no requests. Unknown is never zero: one reply without a cost makes ``cost_usd``
    None, and ``cost_known_usd`` keeps the known part.
    """
    looked_up = {attempt.request_key for attempt in attempts if attempt.local}
    attempts = [attempt for attempt in attempts if not attempt.local]
    known_here = looked_up | {attempt.request_key for attempt in attempts}
    answered = [attempt for attempt in attempts if attempt.fault is None and attempt.ended_at is not None]
    costs = [attempt.cost_usd for attempt in attempts if attempt.cost_usd is not None]
    known = sum(costs)
    replies = [trial for trial in trials if trial.reply is not None]
    return Spend(
        requests=len(attempts),
        requests_failed=sum(attempt.fault is not None for attempt in attempts),
        replies=len(replies),
        replies_local=sum(trial.request.key in looked_up for trial in replies),
        replies_reused=sum(trial.request.key not in known_here for trial in replies),
        bought_again=bought_again,
        prompt_tokens=_total([attempt.usage.prompt_tokens for attempt in attempts if attempt.usage], not answered),
        completion_tokens=_total([attempt.usage.completion_tokens for attempt in attempts if attempt.usage], not answered),
        usage_unknown=sum(attempt.usage is None for attempt in answered),
        cost_usd=None if any(attempt.cost_usd is None for attempt in answered) else known,
        cost_known_usd=known,
        generation_s=sum(max(0.0, attempt.ended_at - attempt.started_at) for attempt in attempts if attempt.ended_at is not None),
        sessions=sessions if sessions is not None else max(1, len({attempt.session for attempt in attempts})),
    )


def _total(counts: Iterable[int | None], nothing_bought: bool) -> int | None:
    """Sum of the known counts; None where there were replies and none of them came with a count."""
    known = [count for count in counts if count is not None]
    return sum(known) if known or nothing_bought else None
