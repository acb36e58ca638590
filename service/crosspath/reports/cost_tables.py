"""What generation took: in all, by where it came from, by session, and for each candidate."""

import math
from collections.abc import Iterable
from datetime import UTC, datetime

from crosspath.analysis.candidate_costs import per_reply
from crosspath.analysis.spend import ORIGINS
from crosspath.analysis.wording import NONE, spend_line, table, title
from crosspath.escaping import markdown
from crosspath.types import CandidateCost, Judgement, Origin, SessionSpend, Spend, Usages

ORIGIN_WORDS: dict[Origin, str] = {
    "fresh": "fresh: requests that were answered",
    "retried": "failed: requests that were sent again or given up",
    "stored": "stored: replies of an earlier evaluation",
    "local": "local: replies of baselines and recordings",
}
_TOTALS = (
    "prompt_tokens", "completion_tokens", "reasoning_tokens", "cached_tokens", "unknown_usage", "cost_usd", "unknown_cost",
)  # fmt: skip
MOST_LINES = 16
"""So many candidates at most have a sentence each."""
_LATENCIES = ("p50", "p90", "p99", "max")
COST_COLUMNS = (
    "candidate", "replies", "scored", "passed", *_TOTALS, "tokens_per_pass", "usd_per_pass",
    *(f"latency_{name}_s" for name in _LATENCIES), "latency_known", *ORIGINS,
)  # fmt: skip
"""Columns of ``evaluation.costs``."""


def cost_rows(found: Iterable[CandidateCost]) -> list[dict[str, object]]:
    """One row per candidate. Tokens and cost are those of its ``scored`` replies; ``fresh``, ``retried``, ``stored`` and
    ``local`` count the attempts and replies behind its trials."""
    return [_frame_row(one) for one in found]


def _frame_row(one: CandidateCost) -> dict[str, object]:
    row: dict[str, object] = {name: getattr(one, name) for name in ("candidate", "replies", "scored", "passed")}
    row |= {name: getattr(one.counted, name) for name in _TOTALS}
    row |= {"tokens_per_pass": one.tokens_per_pass, "usd_per_pass": one.usd_per_pass}
    row |= {f"latency_{name}_s": one.latency_s.get(name) for name in _LATENCIES} | {"latency_known": one.latency_known}
    return row | {origin: one.by_origin.get(origin, Usages()).rows for origin in ORIGINS}


# -- in words ----------------------------------------------------------------------------------------------------------


def cost_lines(judgement: Judgement) -> list[str]:
    """One sentence for each candidate as deployed of whose replies something is known, unless there are very many."""
    names = {one.candidate: title(one) for one in judgement.decompositions}
    known = [one for one in judgement.costs if _says_something(one)]
    return [_line(names.get(one.candidate, one.candidate), one) for one in known] if len(known) <= MOST_LINES else []


def _says_something(one: CandidateCost) -> bool:
    return bool(one.latency_s) or one.counted.prompt_tokens is not None or one.counted.cost_usd is not None


def _line(name: str, one: CandidateCost) -> str:
    if not one.passed:
        price = "nothing was right, so a right answer has no price"
    else:
        tokens = "an unknown number of tokens" if one.tokens_per_pass is None else f"{one.tokens_per_pass:,.0f} tokens"
        cost = "an unknown cost" if one.usd_per_pass is None else f"{usd(one.usd_per_pass)} USD"
        price = f"a right answer takes {tokens} and {cost}"
    half, most = (_s(one.latency_s.get(name)) for name in ("p50", "p99"))
    speed = f"; half of the replies came within {half}, 99 % within {most}" if one.latency_s else ""
    return f"{name}: {price}{speed}."


def usd(value: float | None) -> str:
    """US dollars without an exponent, at least two digits that count: 0.000012."""
    if value is None:
        return NONE
    if value == 0 or value >= 1:
        return f"{value:.2f}"
    return f"{value:.{max(2, 1 - math.floor(math.log10(value)))}f}"


def _s(seconds: float | None) -> str:
    if seconds is None:
        return NONE
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"


# -- as tables ---------------------------------------------------------------------------------------------------------


def spend_section(judgement: Judgement) -> str:
    """What generation took, as a section."""
    spend = judgement.spend
    words = markdown(spend_line(spend))
    parts = [
        f"## Spend\n\n{words}. Requests took {spend.generation_s:.1f} s in {spend.sessions} session(s).\n",
        _origins(spend),
        _sessions(spend.by_session),
        _candidates([one for one in judgement.costs if _says_something(one)]),
    ]
    return "\n".join(part for part in parts if part)


_USAGE_HEAD = [
    "tokens in", "cached (of in)", "tokens out", "reasoning (of out)", "tokens unknown for", "USD", "USD unknown for",
]  # fmt: skip


def _usage_cells(usages: Usages) -> list[object]:
    counts = (usages.prompt_tokens, usages.cached_tokens, usages.completion_tokens, usages.reasoning_tokens)
    tokens = [NONE if count is None else f"{count:,}" for count in counts]
    return [*tokens, usages.unknown_usage, usd(usages.cost_usd), usages.unknown_cost]


def _origins(spend: Spend) -> str:
    if not spend.by_origin:
        return ""
    rows = [[ORIGIN_WORDS[origin], usages.rows, *_usage_cells(usages)] for origin, usages in spend.by_origin.items()]
    return "By origin, each request once\n\n" + table(["origin", "number", *_USAGE_HEAD], rows)


def _sessions(found: Iterable[SessionSpend]) -> str:
    """Each start of the program; empty for a single one."""
    found = tuple(found)
    if len(found) < 2:
        return ""
    rows = [
        [
            one.number,
            _time(one.started_at),
            _time(one.ended_at),
            one.requests,
            one.failed,
            one.in_flight,
            *_usage_cells(one.usages),
        ]
        for one in found
    ]
    head = ["session", "began (UTC)", "ended", "requests", "failed", "end not seen", *_USAGE_HEAD]
    return "By session\n\n" + table(head, rows)


def _time(seconds: float | None) -> str:
    return NONE if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _candidates(found: list[CandidateCost]) -> str:
    if not found:
        return ""
    head = [
        "candidate as deployed", "replies", "with a verdict", "right", "tokens a reply", "tokens a right answer", "USD a reply",
        "USD a right answer", "price unknown for", "p50", "p90", "p99", "longest",
    ]  # fmt: skip
    words = (
        "What the replies of each candidate as deployed take, whoever paid for them: candidates that share replies each count "
        "them. Failed requests are left out.\n\n"
    )
    return words + table(head, [_candidate_row(one) for one in found])


def _candidate_row(one: CandidateCost) -> list[object]:
    tokens, cost = (per_reply(total, one.counted) for total in (one.counted.total_tokens, one.counted.total_usd))
    return [
        one.candidate, one.replies, one.scored, one.passed, _tokens(tokens), _tokens(one.tokens_per_pass), usd(cost),
        usd(one.usd_per_pass), one.counted.unknown_cost, *(_s(one.latency_s.get(name)) for name in _LATENCIES),
    ]  # fmt: skip


def _tokens(count: float | None) -> str:
    return NONE if count is None else f"{count:,.0f}"
