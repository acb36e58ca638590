"""Reliability over repeated trials, in words, as tables and as rows."""

from collections.abc import Iterable, Iterator, Mapping

from crosspath.analysis.wording import NONE, p_text, percent, points, span, table, title, with_interval
from crosspath.escaping import markdown
from crosspath.types import Judgement, Reliability

SHOWN_K = (1, 2, 3, 5, 10, 20, 50)
"""Which k are shown, beside the number of trials itself; a frame has all of them."""
MOST_LINES = 16
"""So many candidates at most have a sentence each."""
SHOWN_TASKS = 30
"""So many unsteady tasks at most are named for a candidate."""

_COUNTS = ("always", "sometimes", "never", "incomplete")
_ESTIMATE = ("value", "low", "high", "n", "missing", "unstable", "worst", "best", "estimand", "method")
RELIABILITY_COLUMNS = (
    "candidate", "cell", "trials", "k", "tasks", *_ESTIMATE, *_COUNTS, "first", "every", "first_minus_every", "distinct_mean",
    "same_reply", "repeated_replies",
)  # fmt: skip
"""Columns of ``evaluation.reliability``."""


def reliability_rows(found: Iterable[Reliability]) -> list[dict[str, object]]:
    """One row per cell and k; what does not depend on k stands in each."""
    return [_frame_row(one, k) for one in found for k in one.pass_hat]


def _frame_row(one: Reliability, k: int) -> dict[str, object]:
    row: dict[str, object] = {"candidate": one.candidate, "cell": one.cell, "trials": one.trials, "k": k, "tasks": one.tasks[k]}
    row |= {name: getattr(one.pass_hat[k], name) for name in _ESTIMATE}
    row |= {name: getattr(one, name) for name in _COUNTS}
    rates = {name: getattr(one, name).value for name in ("first", "every", "first_minus_every")}
    same, repeated = _same_reply(one)
    return row | rates | {"distinct_mean": one.distinct_mean, "same_reply": same, "repeated_replies": repeated}


def _same_reply(one: Reliability) -> tuple[int, int]:
    """Tasks with one and the same reply each time, of those with several replies."""
    return one.distinct.get(1, 0), sum(one.distinct.values())


# -- in words ----------------------------------------------------------------------------------------------------------


def reliability_lines(judgement: Judgement) -> list[str]:
    """One sentence for each candidate as deployed; none where each task has one trial, or for very many candidates."""
    names = {one.candidate: title(one) for one in judgement.decompositions}
    deployed = _deployed(judgement)
    return [_line(names.get(name, name), one) for name, one in deployed.items() if one.every.n and len(deployed) <= MOST_LINES]


def _deployed(judgement: Judgement) -> dict[str, Reliability]:
    """Candidate -> its cell as deployed: the last one."""
    return {one.candidate: one for one in judgement.reliability}


def _line(name: str, one: Reliability) -> str:
    tasks = one.always + one.sometimes + one.never
    lost = f" ({one.incomplete} more lack a verdict on some trial)" if one.incomplete else ""
    if not tasks:
        return f"{name}: no task has a verdict on each of its {one.trials} trials."
    split = f"{one.always} were right each time, {one.sometimes} sometimes and {one.never} never{lost}"
    whole = one.pass_hat[one.trials]
    chance = f"The chance that all {one.trials} trials of a task are right is {_family(whole.value, whole.low, whole.high)}"
    tried = f"of {tasks} tasks tried {one.trials} times each, {split}"
    return f"{name}: {tried}. {chance}, that a single one is {percent(one.every.value)}. {_replies(one)}".rstrip()


def _family(value: float | None, low: float | None, high: float | None) -> str:
    interval = span(low, high, signed=False)
    return percent(value) if interval == NONE else f"{percent(value)} ({interval} for families like these)"


def _replies(one: Reliability) -> str:
    same, repeated = _same_reply(one)
    if not repeated:
        return ""
    if same == repeated:
        return f"Each of {repeated} tasks got the same reply every time, to the byte: more trials say nothing new about them."
    return f"{same} of {repeated} tasks got the same reply every time." if same else ""


# -- as tables ---------------------------------------------------------------------------------------------------------


def reliability_section(judgement: Judgement) -> str:
    """pass^k, tasks by how often they pass, and which pass only sometimes; empty where each task has one trial."""
    if not judgement.reliability:
        return ""
    parts = [
        "## Reliability over repeated trials\n",
        "pass^k is the chance that k trials of a task are all right: unbiased, averaged over tasks within families, in brackets "
        "95 % over families like these.\n",
        _pass_hat_table(judgement.reliability),
        "Tasks by how often they are right, and their replies\n",
        _tasks_table(judgement.reliability),
        *_unsteady(judgement),
    ]
    return "\n".join(part for part in parts if part)


def shown_k(trials: int) -> list[int]:
    """All k up to six trials; a choice beyond, always with the last one."""
    return list(range(1, trials + 1)) if trials <= 6 else [*(k for k in SHOWN_K if k < trials), trials]


def _pass_hat_table(found: Iterable[Reliability]) -> str:
    found = tuple(found)
    shown = shown_k(max(one.trials for one in found))
    head = ["candidate", "cell", *(f"pass^{k}" for k in shown), "worst to best of the last", "its tasks"]
    return table(head, [_pass_hat_row(one, shown) for one in found])


def _pass_hat_row(one: Reliability, shown: Iterable[int]) -> list[object]:
    last = one.pass_hat[one.trials]
    values = [with_interval(one.pass_hat[k], signed=False) if k in one.pass_hat else NONE for k in shown]
    return [one.candidate, one.cell, *values, span(last.worst, last.best, signed=False), one.tasks[one.trials]]


def _tasks_table(found: Iterable[Reliability]) -> str:
    head = [
        "candidate", "cell", "trials", "each time", "sometimes", "never", "verdicts missing", "first trials", "all trials",
        "first - all, p", "one trial alone: from, to", "same reply each time", "distinct replies, mean",
    ]  # fmt: skip
    return table(head, [_tasks_row(one) for one in found])


def _tasks_row(one: Reliability) -> list[object]:
    same, repeated = _same_reply(one)
    difference = f"{points(one.first_minus_every.value)}, {p_text(one.first_minus_every)}"
    return [
        one.candidate, one.cell, one.trials, one.always, one.sometimes, one.never, one.incomplete, percent(one.first.value),
        percent(one.every.value), difference, _alone(one.by_trial), f"{same} of {repeated}",
        NONE if one.distinct_mean is None else f"{one.distinct_mean:.1f}",
    ]  # fmt: skip


def _alone(by_trial: Mapping[int, tuple[int, int]]) -> str:
    """The lowest and the highest count that an evaluation of one of the trials alone would have had."""
    counted = sorted((passed / scored, passed, scored) for passed, scored in by_trial.values() if scored)
    if not counted:
        return NONE
    ends = dict.fromkeys(f"{passed} of {scored}" for _, passed, scored in (counted[0], counted[-1]))
    return ", ".join(ends)


def _unsteady(judgement: Judgement) -> Iterator[str]:
    for name, one in _deployed(judgement).items():
        if not one.unsteady:
            continue
        named = [
            f"{markdown(task)} ({passed} of {scored})" for task, (passed, scored) in list(one.unsteady.items())[:SHOWN_TASKS]
        ]
        more = f", and {len(one.unsteady) - SHOWN_TASKS} more" if len(one.unsteady) > SHOWN_TASKS else ""
        yield f"Right only sometimes, {markdown(name)} as deployed: {', '.join(named)}{more}.\n"
