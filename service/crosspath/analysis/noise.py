"""Do the replies to one and the same request differ, and does load change that?

Replies are compared with the most frequent one of their task, over both loads together: a choice that does not look at the loads.
So if load plays no part, every split of the replies over the loads is as likely as any other, and the test is exact.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb

from crosspath.analysis.spend import attempt_row, usages
from crosspath.types.base import canonical_json
from crosspath.types.noise import Load, NoiseExample, NoiseFlag, NoiseFloor, NoiseLevel, NoiseRow
from crosspath.types.replies import Attempt, Reply, Request
from crosspath.types.results import Estimate

ALPHA = 0.05
Stratum = tuple[int, int, int, int]
"""Of one task: differing and all replies alone, differing and all replies together."""


def noise_floor(
    candidates: Sequence[str], requests: Sequence[Request], repeats: "Repeats", attempts: Sequence[Attempt]
) -> NoiseFloor:
    """What the repeats of one generation show.

    Args:
        candidates: all that are told and asked the same.
        requests: one for each task, at least one; they differ in nothing but their messages.
        repeats: the last row of each repeat.
        attempts: all requests that were sent for them, also those that failed and were sent again.
    """
    usual = usual_replies(repeats.rows)
    alone, together = (level_of(repeats, load, usual) for load in ("alone", "together"))
    p_value = load_p(strata(repeats, usual))
    replies = [row.reply for row in repeats.rows if row.reply is not None]
    temperature = requests[0].params.get("temperature")
    return NoiseFloor(
        candidates=tuple(candidates),
        model=requests[0].model,
        contract=requests[0].contract,
        temperature=None if temperature is None else float(temperature),
        tasks=tuple(request.trial.task for request in requests),
        alone=alone,
        together=together,
        flag=flag_of(alone, together, p_value),
        p_value=p_value,
        needed=needed(alone.replies, together.replies) if len(requests) == 1 else None,
        served_models=tuple(sorted({reply.served_model for reply in replies if reply.served_model})),
        fingerprints=tuple(sorted({reply.fingerprint for reply in replies if reply.fingerprint})),
        bodies=_bodies(repeats.rows),
        example=example_of(repeats.rows, usual),
        trouble=_trouble(attempts),
        usages=usages(map(attempt_row, attempts)),
    )


def _trouble(attempts: Sequence[Attempt]) -> str | None:
    faults = [(attempt.started_at, attempt.fault.message) for attempt in attempts if attempt.fault is not None]
    return max(faults)[1] if faults else None


def _bodies(rows: Sequence[NoiseRow]) -> int:
    seen: dict[str, set[str]] = {}
    for row in rows:
        if row.body is not None:
            seen.setdefault(row.task, set()).add(row.body)
    return max(map(len, seen.values()), default=0)


@dataclass(frozen=True)
class Repeats:
    """The repeats of one generation, by load."""

    asked: int
    """Planned, under each load."""
    concurrency: int
    rows: Sequence[NoiseRow]
    """The last row of each repeat that was asked."""

    def under(self, load: Load) -> list[NoiseRow]:
        """Rows of one load."""
        return [row for row in self.rows if row.load == load]


def wording(reply: Reply) -> str:
    """A reply as one text that is equal for equal replies only: its text, then names and arguments of its tool calls."""
    calls = [[call.name, call.arguments] for call in reply.tool_calls]
    return (reply.text or "") if not calls else canonical_json([reply.text, calls])


def same(reply: Reply) -> str:
    """What must be equal to the byte; no text is not an empty one."""
    return canonical_json([reply.text, [[call.name, call.arguments] for call in reply.tool_calls]])


def usual_replies(rows: Sequence[NoiseRow]) -> dict[str, str]:
    """Task -> :func:`same` of its most frequent reply; of several as frequent ones the first in alphabetical order."""
    seen: dict[str, Counter[str]] = {}
    for row in rows:
        if row.reply is not None:
            seen.setdefault(row.task, Counter())[same(row.reply)] += 1
    return {task: min(counts, key=lambda reply: (-counts[reply], reply)) for task, counts in seen.items()}


def level_of(repeats: Repeats, load: Load, usual: Mapping[str, str]) -> NoiseLevel:
    """What came under one load."""
    rows = repeats.under(load)
    replies = [(row.task, same(row.reply)) for row in rows if row.reply is not None]
    faults = Counter(row.attempt.fault.type if row.attempt.fault else "in_flight" for row in rows if row.reply is None)
    missing = repeats.asked - len(rows)
    differing = sum(reply != usual[task] for task, reply in replies)
    return NoiseLevel(
        load=load,
        concurrency=1 if load == "alone" else repeats.concurrency,
        asked=repeats.asked,
        replies=len(replies),
        faults=dict(sorted(faults.items())) | ({"not_asked": missing} if missing > 0 else {}),
        distinct=len(set(replies)),
        differing=differing,
        share=_share(differing, len(replies), repeats.asked),
        unseen=unseen(len(replies)) if replies and not differing else None,
        most_in_flight=max((row.in_flight for row in rows), default=0),
    )


def _share(differing: int, replies: int, asked: int) -> Estimate:
    """Share with the exact interval of Clopper & Pearson (1934)."""
    if not replies:
        return Estimate(value=None, low=None, high=None, n=0, missing=asked, estimand="these_tasks", method="no reply came")
    from scipy.stats import binomtest  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

    interval = binomtest(differing, replies).proportion_ci(method="exact")  # pyright: ignore
    return Estimate(
        value=differing / replies, low=float(interval.low), high=float(interval.high),  # pyright: ignore
        n=replies, missing=max(0, asked - replies), estimand="these_tasks", method="Clopper-Pearson",
    )  # fmt: skip


def unseen(replies: int) -> float:
    """The share q at which ``replies`` > 0 replies without a difference are still 5 % likely: (1 - q)^n = 0.05.

    The exact form of the rule of three (Hanley & Lippman-Hand 1983).
    """
    return 1 - ALPHA ** (1 / replies)


def strata(repeats: Repeats, usual: Mapping[str, str]) -> list[Stratum]:
    """Counts of each task that has a reply."""
    counts: dict[str, Counter[tuple[Load, bool]]] = {}
    for row in repeats.rows:
        if row.reply is not None:
            counts.setdefault(row.task, Counter())[row.load, same(row.reply) != usual[row.task]] += 1
    return [
        (
            found["alone", True], found["alone", True] + found["alone", False],
            found["together", True], found["together", True] + found["together", False],
        )
        for _, found in sorted(counts.items())
    ]  # fmt: skip


def load_p(tasks: Sequence[Stratum]) -> float | None:
    """Two-sided p of the hypothesis that load plays no part; None where one load has no reply at all.

    One task: Fisher's exact test (scipy). Several: its exact conditional form over strata (Mehta, Patel & Gray 1985): the number
    of differing replies under load, given all margins of each task, is a sum of hypergeometric variables.
    """
    if not sum(alone for _, alone, _, _ in tasks) or not sum(together for *_, together in tasks):
        return None
    if len(tasks) == 1:
        from scipy.stats import fisher_exact  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType]

        ((differing_alone, alone, differing, together),) = tasks
        result = fisher_exact([[differing_alone, alone - differing_alone], [differing, together - differing]])  # pyright: ignore
        return min(1.0, float(result.pvalue))  # pyright: ignore
    return stratified_p(tasks)


def stratified_p(tasks: Sequence[Stratum]) -> float:
    """See :func:`load_p`; counted in whole numbers, so that nothing is rounded."""
    ways = [1]
    for differing_alone, alone, differing, together in tasks:
        every = differing_alone + differing
        ways = _convolved(ways, _ways(alone + together, every, together))
    observed = ways[sum(differing for _, _, differing, _ in tasks)]
    return float(Fraction(sum(way for way in ways if way <= observed), sum(ways)))


def _ways(replies: int, differing: int, together: int) -> list[int]:
    """In how many ways 0, 1, ... of the ``differing`` replies are among the ``together`` of all (hypergeometric)."""
    return [comb(differing, x) * comb(replies - differing, together - x) if x <= together else 0 for x in range(differing + 1)]


def _convolved(first: Sequence[int], second: Sequence[int]) -> list[int]:
    total = [0] * (len(first) + len(second) - 1)
    for place, a in enumerate(first):
        for further, b in enumerate(second):
            total[place + further] += a * b
    return total


def needed(alone: int, together: int) -> int | None:
    """How many of ``together`` must differ at least, if none of ``alone`` does, so that the test finds an influence of load.

    None: even if all differed it could not. For one task.
    """
    return next(
        (differing for differing in range(1, together + 1) if stratified_p([(0, alone, differing, together)]) < ALPHA), None
    )


def flag_of(alone: NoiseLevel, together: NoiseLevel, p_value: float | None) -> NoiseFlag:
    """What to call it; load is named only where the test says so and it makes more replies differ."""
    if p_value is None or min(alone.replies, together.replies) < 2:
        return "not measured"
    if p_value < ALPHA and (together.share.value or 0.0) > (alone.share.value or 0.0):
        return "non-deterministic under load"
    return "non-deterministic" if alone.differing + together.differing else "no difference seen"


def example_of(rows: Sequence[NoiseRow], usual: Mapping[str, str]) -> NoiseExample | None:
    """The first reply (by task, load and repeat) that is not the usual one, beside it; None where all are alike."""
    ordered = sorted(rows, key=lambda row: (row.task, row.load, row.repeat))
    for row in ordered:
        if row.reply is not None and same(row.reply) != usual[row.task]:
            reply = next(
                one.reply for one in ordered if one.task == row.task and one.reply and same(one.reply) == usual[row.task]
            )
            first, second = wording(reply), wording(row.reply)
            return NoiseExample(task=row.task, usual=first, other=second, at=_first_difference(first, second))
    return None


def _first_difference(first: str, second: str) -> int:
    pairs = zip(first, second, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))
