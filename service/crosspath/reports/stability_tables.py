"""Whether the order of models survives a change of configuration, and which tasks hang on it, in words and tables."""

from collections.abc import Iterator, Sequence

from crosspath.analysis.wording import NONE, points, span, table, with_interval
from crosspath.escaping import markdown
from crosspath.types import FragileTask, Judgement, PairOrder, RankStability

MOST_ARRANGEMENTS, MOST_IN_DETAIL, MOST_LINES = 12, 3, 2
"""Comparisons of two arrangements in the table, with their pairs, and as sentences; those with most reversals come first."""
MOST_PAIRS, MOST_TASKS = 12, 10
"""Reversed pairs of a comparison, and fragile tasks, in a table; the rest are counted."""

_NOTES = """\
- Models are ordered by their mean over families, over tasks that every model has a verdict on in both arrangements. A pair that
  is equal in one of them has no order that could change. *Unambiguous*: reversed by more than one passed task on both sides.
- *Surely*: both arrangements tell the two models apart, with 95 % confidence over all pairs together (Holm). The interval of
  tau-a is what those pairs leave open.
- *Without a family*: rankings that leave out one family; how many of them still reverse the pair, and how far tau-a goes.
  *Resampled*: 2,000 resampled sets of families; the share that reverses the pair, and where 95 % of tau-a lie. That range only
  describes: where models are close, every draw reverses some of them.
"""


def stability_lines(judgement: Judgement) -> list[str]:
    """One sentence for each of the comparisons with most reversals."""
    return [_line(one) for one in _most_reversed(judgement.rank_stability)[:MOST_LINES]]


def stability_section(judgement: Judgement) -> str:
    """The comparisons of rankings, and the tasks whose verdict depends on the configuration; empty without either."""
    return "\n".join(part for part in (_orders(judgement.rank_stability), _fragile(judgement.fragile_tasks)) if part)


def _most_reversed(stabilities: Sequence[RankStability]) -> list[RankStability]:
    return sorted(stabilities, key=lambda one: (-one.unambiguous, -one.reversed))


# -- orders ----------------------------------------------------------------------------------------------------------------


def _line(one: RankStability) -> str:
    about = f"The order of {len(one.models)} models, {one.first.label} against {one.second.label}"
    if not one.tasks:
        return f"{about}, can't be compared: no task has a verdict for all of them."
    return f"{about}: {_pairs_words(one)}{_sure_words(one)}."


def _pairs_words(one: RankStability) -> str:
    if not one.comparable:
        return "every pair is equal in one of the two, so that there is no order that could change"
    ties = len(one.pairs) - one.comparable
    aside = f" ({ties} of {len(one.pairs)} {'is' if ties == 1 else 'are'} equal in one of the two)" if ties else ""
    if not one.reversed:
        pairs = "the one pair" if one.comparable == 1 else f"all {one.comparable} pairs"
        return f"it holds for {pairs} that can be compared{aside}"
    changed = f"{one.reversed} of {one.comparable} pairs that can be compared{aside} change places"
    return f"{changed}, {one.unambiguous or 'none'} of them by more than a single task on both sides"


def _sure_words(one: RankStability) -> str:
    if one.families < 2:
        return ""
    kept, changed = _surely(one, "kept"), _surely(one, "reversed")
    sure = f"{kept or 'none'} of {len(one.pairs)} pairs keep their order with 95 % confidence, {changed or 'none'} change it"
    return f". For families like these, {sure}"


def _surely(one: RankStability, what: str) -> int:
    return sum(pair.sure == what for pair in one.pairs)


def _orders(stabilities: Sequence[RankStability]) -> str:
    if not stabilities:
        return ""
    ordered = _most_reversed(stabilities)
    head = [
        "first", "second", "models", "tasks", "left out", "families", "comparable pairs", "reversed", "unambiguous",
        "surely kept", "surely reversed", "tau-a, 95 %", "without a family", "resampled", "tau-b",
    ]  # fmt: skip
    parts = [
        "## Order of the models",
        table(head, [_order_row(one) for one in ordered[:MOST_ARRANGEMENTS]]),
        _rest(len(ordered) - MOST_ARRANGEMENTS, "comparison", "with fewer reversals"),
        *(_detail(one) for one in ordered[:MOST_IN_DETAIL]),
        _NOTES,
    ]
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def _order_row(one: RankStability) -> list[object]:
    return [
        one.first.label, one.second.label, len(one.models), one.tasks, one.missing, one.families, one.comparable, one.reversed,
        one.unambiguous, _surely(one, "kept"), _surely(one, "reversed"), _tau(one), _numbers(one.tau_a_leave_one_out),
        _numbers(one.tau_a_resampled), NONE if one.tau_b is None else f"{one.tau_b:.3f}",
    ]  # fmt: skip


def _tau(one: RankStability) -> str:
    tau = one.tau_a
    if tau.value is None:
        return NONE
    ends = None if tau.low is None or tau.high is None else (tau.low, tau.high)
    return f"{tau.value:.3f} ({_numbers(ends)})" if ends else f"{tau.value:.3f} (no interval)"


def _numbers(ends: tuple[float, float] | None) -> str:
    return NONE if ends is None else f"{ends[0]:.3f} to {ends[1]:.3f}"


def _detail(one: RankStability) -> str:
    left_out = "; ".join(f"{markdown(model)} ({markdown(reason)})" for model, reason in one.left_out.items())
    parts = [
        f"**{markdown(one.first.label)}** against **{markdown(one.second.label)}**",
        _rates(one),
        _reversals([pair for pair in one.pairs if pair.order == "reversed"]),
        _tied(one.first.label, one.tied_first),
        _tied(one.second.label, one.tied_second),
        f"Left out: {left_out}." if left_out else "",
    ]
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def _rates(one: RankStability) -> str:
    rows = [[rate.model, with_interval(rate.first, signed=False), with_interval(rate.second, signed=False)] for rate in one.rates]
    return table(["model", "mean over families in the first, 95 %", "in the second, 95 %"], rows)


def _reversals(pairs: Sequence[PairOrder]) -> str:
    if not pairs:
        return ""
    ordered = sorted(pairs, key=lambda pair: (-pair.unambiguous, -(pair.reversal_probability or 0)))
    head = [
        "first ahead",
        "then ahead",
        "points ahead, 95 %",
        "then",
        "by more than a task",
        "without a family",
        "resampled",
        "surely",
    ]
    text = table(head, [_reversal_row(pair) for pair in ordered[:MOST_PAIRS]])
    return text + _rest(len(ordered) - MOST_PAIRS, "reversed pair", "with less support")


def _reversal_row(pair: PairOrder) -> list[object]:
    share = NONE if pair.reversal_probability is None else f"{100 * pair.reversal_probability:.0f} %"
    return [
        pair.a, pair.b, f"{points(pair.first.value)} ({span(pair.first.low, pair.first.high, signed=True)})",
        f"{points(pair.second.value)} ({span(pair.second.low, pair.second.high, signed=True)})",
        "yes" if pair.unambiguous else "no", NONE if pair.leave_one_out is None else pair.leave_one_out, share,
        "yes" if pair.sure == "reversed" else "not known",
    ]  # fmt: skip


def _tied(label: str, groups: Sequence[Sequence[str]]) -> str:
    listed = "; ".join(", ".join(markdown(model) for model in group) for group in groups)
    return f"Not told apart, {markdown(label)}: {listed or 'no two models'}."


def _rest(number: int, what: str, which: str) -> str:
    return f"\n{number} more {what}{'s' if number > 1 else ''} {which}: in the JSON report.\n" if number > 0 else ""


# -- tasks -----------------------------------------------------------------------------------------------------------------


def _fragile(tasks: Sequence[FragileTask]) -> str:
    if not tasks:
        return ""
    by_task: dict[str, list[FragileTask]] = {}
    for one in tasks:
        by_task.setdefault(one.task, []).append(one)
    number = len(by_task)
    are = "task is" if number == 1 else "tasks are"
    lead = f"For the same model, {number} {are} right in every trial in one configuration and wrong in every trial in another."
    rows = [list(_fragile_row(found)) for found in list(by_task.values())[:MOST_TASKS]]
    text = table(["task", "family", "models", "for example", "right when", "wrong when"], rows)
    rest = _rest(number - MOST_TASKS, "task", "that are as fragile or less")
    return f"## Tasks that hang on the configuration\n\n{lead}\n\n{text}{rest}"


def _fragile_row(found: Sequence[FragileTask]) -> Iterator[object]:
    first = found[0]
    yield from (first.task, first.family, len(found), first.model)
    yield _labels(first.passed, first.passes)
    yield _labels(first.failed, first.fails)


def _labels(labels: Sequence[str], count: int) -> str:
    more = count - len(labels)
    return "; ".join(labels) + (f"; and {more} more" if more else "")
