"""Which path to take: choices of contract and path for one model, ranked, with an advice in plain words and what it rests on."""

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from crosspath.analysis.path_costs import PathOption, rank_paths
from crosspath.analysis.path_tables import aside_clauses, several
from crosspath.analysis.wording import counts, points, span
from crosspath.types import CellRow, Choice, Example, PathCost, Recommendation

MOST_AVOIDED = 2
"""So many choices at most are warned against by name."""
LIMITS = (
    "These tasks and these replies: other tasks of your own may need what no task here needs.",
    "Differences between paths of one contract are the same replies and exact for these tasks; another contract is another"
    " generation, so that a difference holds the chance of both draws.",
    "Intervals are for families like these and hold together over the ranked choices (Bonferroni); what is not told apart from"
    " the best may be as good.",
    "Cost is what generation took, by right reply; retries and the path's own running are left out, and unknown stays unknown.",
)
"""What an advice does not say."""


@dataclass(frozen=True)
class Candidature:
    """One choice before it is ranked."""

    option: PathOption
    tokens: int | None
    """Of all replies of its generation, in and out; None where a reply's usage is not known."""
    usd: float | None


def recommend(evaluation: str, model: str, validator: str, asked: Sequence[Candidature]) -> Recommendation:
    """Rank the choices of one model and say which to take; the order of ``asked`` plays no part.

    Raises:
        ValueError: two rows of one option are the same trial, two options disagree about a task's family, or are the same.
    """
    known = {(one.option.contract, one.option.path): one for one in asked}
    if len(known) != len(asked):
        raise ValueError(f"{model}: a choice is given twice")
    ranked = rank_paths([one.option for one in asked])
    choices = [_choice(evaluation, path, known[path.cell.contract, path.path]) for path in ranked]
    price = _price(choices)
    choices = [one.model_copy(update={"frontier": _on_frontier(one, choices, price)}) for one in choices]
    advice, conclusive = _advice(choices)
    return Recommendation(
        model=model,
        validator=validator,
        advice=advice,
        conclusive=conclusive,
        price=price,
        choices=tuple(choices),
        generations=len({one.option.generation for one in asked}),
    )


def _choice(evaluation: str, path: PathCost, one: Candidature) -> Choice:
    passed = path.cell.passed
    return Choice(
        path=path,
        tokens_per_pass=one.tokens / passed if one.tokens is not None and passed else None,
        usd_per_pass=one.usd / passed if one.usd is not None and passed else None,
        example=_example(evaluation, path, one.option),
    )


def _example(evaluation: str, path: PathCost, option: PathOption) -> Example | None:
    """Silent failures that the path made come first, then others, then what passes."""
    seen = [row for row in option.rows if row.passed is not None and not row.unstable]
    fine = {(row.task, row.index) for row in option.on_reference or () if row.passed}
    if not seen:
        return None
    row = min(seen, key=lambda row: (*_interest(row, fine), row.task, row.index))
    words = ["crosspath", "show", evaluation, row.task, "--candidate", option.candidate, "--cell", path.cell.name]
    words += ["--trial", str(row.index)] if row.index else []
    return Example(
        task=row.task,
        trial=row.index,
        passed=bool(row.passed),
        cause=row.cause,
        silent=row.silent_wrong,
        command=shlex.join(words),
    )


def _interest(row: CellRow, fine: set[tuple[str, int]]) -> tuple[bool, bool, bool]:
    """The lower the more interesting."""
    return bool(row.passed), (row.task, row.index) not in fine, not row.silent_wrong


# -- cost ------------------------------------------------------------------------------------------------------------------


def _price(choices: Sequence[Choice]) -> Literal["usd", "tokens"] | None:
    """What is known of every ranked choice that passes anything; a price of nothing everywhere is none."""
    ranked = [one for one in choices if one.path.rank and one.path.cell.passed]
    prices: tuple[Literal["usd", "tokens"], ...] = ("usd", "tokens")
    for price in prices:
        paid = [_paid(one, price) for one in ranked]
        if None not in paid and any(paid):
            return price
    return None


def _paid(choice: Choice, price: Literal["usd", "tokens"]) -> float | None:
    return choice.usd_per_pass if price == "usd" else choice.tokens_per_pass


def _on_frontier(one: Choice, choices: Sequence[Choice], price: Literal["usd", "tokens"] | None) -> bool:
    if price is None or not one.path.rank or not one.path.cell.passed:
        return False
    rivals = [other for other in choices if other.path.rank and other.path.cell.passed]
    return not any(_dominates(other, one, price) for other in rivals)


def _dominates(other: Choice, one: Choice, price: Literal["usd", "tokens"]) -> bool:
    mine, theirs = _figures(one, price), _figures(other, price)
    return theirs != mine and theirs[0] >= mine[0] and theirs[1] <= mine[1]


def _figures(one: Choice, price: Literal["usd", "tokens"]) -> tuple[float, float]:
    return one.path.cell.rate.value or 0.0, _paid(one, price) or 0.0


def unit(price: Literal["usd", "tokens"], value: float | None) -> str:
    """``312 tokens``, ``0.0021 USD``; ``unknown`` where it is not known."""
    if value is None:
        return "unknown"
    return f"{value:,.0f} tokens" if price == "tokens" else f"{value:.4g} USD"


# -- advice ----------------------------------------------------------------------------------------------------------------


def _advice(choices: Sequence[Choice]) -> tuple[str, bool]:
    ranked = [one for one in choices if one.path.rank]
    if not ranked:
        return f"No advice: {'; '.join(aside_clauses([one.path for one in choices])) or 'nothing was replayed'}.", False
    best = ranked[0]
    if not best.path.cell.passed:
        return f"No advice: no reply is right on any path (best {_name(best, choices)}, {counts(best.path.cell)}).", False
    if len(ranked) == 1:
        return (
            f"No advice: {_name(best, choices)} is the only one that could be ranked, so nothing can be compared with it.",
            False,
        )
    return f"Take {_name(best, choices)}: {'; '.join(_clauses(ranked, choices))}.", True


def _clauses(ranked: Sequence[Choice], choices: Sequence[Choice]) -> Iterator[str]:
    best = ranked[0]
    silent = f", {best.path.silent} silently wrong" if best.path.silent else ""
    proven = ", but its control is missing" if best.path.control == "missing" else ""
    yield f"{counts(best.path.cell)} right{silent}{proven}"
    equal = [_name(one, choices) for one in ranked if one.path.standing == "equal"]
    if equal:
        yield f"{several(equal)} {'is' if len(equal) == 1 else 'are'} as good (difference 0.0, the same on every task)"
    avoid = sorted((one for one in ranked if _is_worse(one, best)), key=lambda one: (-one.path.silent, -one.path.wrong))
    close = [one for one in ranked if one.path.standing == "not_told_apart" and one not in avoid]
    if close:
        yield f"not told apart from it: {several([f'{_name(one, choices)} ({_difference(one.path)})' for one in close])}"
    if avoid:
        yield f"avoid {several([_warning(one, choices) for one in avoid], MOST_AVOIDED)}"
    if cheap := _cheaper(ranked):
        price = "usd" if cheap.usd_per_pass else "tokens"
        yield f"cheaper by right reply: {_name(cheap, choices)} ({unit(price, _paid(cheap, price))})"


def _is_worse(one: Choice, best: Choice) -> bool:
    """Beyond these tasks, or on these alone: by more than one of the very same replies, or of others by more than chance explains
    (intervals of the two rates that don't meet)."""
    if one.path.changed is not None:
        return one.path.standing == "told_apart" or one.path.wrong - best.path.wrong > 1
    mine, theirs = one.path.cell.rate, best.path.cell.rate
    return one.path.standing == "told_apart" or (mine.high is not None and theirs.low is not None and mine.high < theirs.low)


def _warning(one: Choice, choices: Sequence[Choice]) -> str:
    silently = f", {one.path.silent} of them silently" if one.path.silent else ""
    beyond = "" if one.path.standing == "told_apart" else "; on these tasks, not told apart over families"
    return f"{_name(one, choices)} ({one.path.wrong} of {one.path.cell.scored} wrong{silently}{beyond})"


def _difference(path: PathCost) -> str:
    difference = path.to_best
    if difference is None or difference.value is None:
        return "difference unknown"
    interval = span(difference.low, difference.high, signed=True) if difference.low is not None else "no interval"
    return f"difference {points(difference.value)} [{interval}]"


def _cheaper(ranked: Sequence[Choice]) -> Choice | None:
    """The cheapest on the frontier, where that is not the best."""
    on = [one for one in ranked if one.frontier]
    cheapest = min(on, key=lambda one: one.usd_per_pass or one.tokens_per_pass or 0.0, default=None)
    return cheapest if cheapest is not ranked[0] else None


def _name(one: Choice, choices: Sequence[Choice]) -> str:
    """The path; with what the model is told where there are several contracts."""
    several_contracts = len({other.contract for other in choices}) > 1
    return f"{one.path.path} told {one.contract}" if several_contracts else one.path.path
