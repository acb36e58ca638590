"""Declining what can't be done: precision and recall, apart from every pass rate.

    recall    = declined in the contract's form with the state untouched / scored trials of infeasible tasks
    precision = the same trials / all scored trials that declined in the form, those of feasible tasks included

Trials come in groups, the tasks. The interval is that of a share (``stats.share_interval``) with an effective number of trials
that takes all trials of a task as one observation (Kish 1965: (sum x)^2 / sum x^2 for tasks with x trials each). With one trial a
task it is the plain interval. With several it is wide rather than narrow (simulated at nominal 95 % with Wilson's interval: 97 to
100 %; over all trials 68 to 93 %), and never has zero width. Precision takes the number of replies that declined as given, and
depends on how many tasks of the set can't be done: compare it over equal sets only.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from crosspath.analysis.stats import share_interval
from crosspath.analysis.task_rows import failing_tasks
from crosspath.analysis.wording import NONE, percent, span, table
from crosspath.escaping import markdown
from crosspath.types import Abstention, Delivery, Estimate, PlannedCell, Score

Way = Literal["form", "otherwise", "acted"]
"""How a reply answered: declined in the contract's form, declined in another way, or neither."""


@dataclass(frozen=True)
class Declining:
    """One planned trial of a cell. ``way`` None: it could not be observed."""

    task: str
    infeasible: bool
    way: Way | None
    untouched: bool = True
    """The state is as it was."""
    unstable: bool = False
    """Repeated replays disagree: counted, left out, bounded."""

    @property
    def scored(self) -> bool:
        return self.way is not None and not self.unstable

    @property
    def right(self) -> bool:
        return self.scored and self.infeasible and self.way == "form" and self.untouched


def way_of(delivery: Delivery) -> Way:
    """How the reply of a delivery answered."""
    if delivery.abstained:
        return "form"
    return "otherwise" if delivery.problem == "refusal" else "acted"


def abstention(cell: PlannedCell, form: str | None, rows: Sequence[Declining]) -> Abstention:
    """The counts of one cell over all of its planned trials; ``form`` is that of the contract which they were told."""
    infeasible = [row for row in rows if row.infeasible]
    scored = [row for row in infeasible if row.scored]
    feasible = [row for row in rows if not row.infeasible and row.scored]
    right = sum(row.right for row in rows)
    acted = sum(row.way == "acted" for row in scored)
    return Abstention(
        candidate=cell.candidate, told=cell.told, done=cell.done, contract=cell.contract, transport=cell.transport, form=form,
        planned=len(infeasible), scored=len(scored),
        declined=right, declined_otherwise=len(scored) - right - acted, acted=acted,
        feasible=len(feasible), declined_feasible=sum(row.way == "form" for row in feasible),
        precision=_precision(form, rows), recall=_recall(form, infeasible),
    )  # fmt: skip


def _precision(form: str | None, rows: Sequence[Declining]) -> Estimate:
    declined = [row for row in rows if row.scored and row.way == "form"]
    lost = [row for row in rows if not row.scored]
    right, better = sum(row.right for row in rows), sum(row.infeasible for row in lost)
    worst, best = _part(right, len(declined) + len(lost)), _part(right + better, len(declined) + better)
    nothing = "nothing was declined in the form"
    found = _share(declined, lost, (worst, best), nothing if form else _no_form())
    if found.value is None or any(row.scored and not row.infeasible for row in rows):
        return found
    return found.model_copy(update={"method": f"{found.method}; without a task that can be done no decline could be wrong"})


def _recall(form: str | None, infeasible: Sequence[Declining]) -> Estimate:
    scored, lost = [row for row in infeasible if row.scored], [row for row in infeasible if not row.scored]
    right = sum(row.right for row in scored)
    bounds = _part(right, len(infeasible)), _part(right + len(lost), len(infeasible))
    return _share(scored if form else [], lost, bounds if form else (None, None), "nothing was scored" if form else _no_form())


def _no_form() -> str:
    return "the contract states no form of declining"


def _part(count: int, of: int) -> float | None:
    return count / of if of else None


def _share(
    rows: Sequence[Declining], lost: Sequence[Declining], bounds: tuple[float | None, float | None], nothing: str
) -> Estimate:
    """The share of right ones among ``rows``; ``nothing`` says why there is none."""
    sizes = _sizes(rows)
    value = _part(sum(row.right for row in rows), len(rows))
    effective = len(rows) ** 2 / sum(size**2 for size in sizes.values()) if rows else 0.0
    low, high, name = (None, None, "") if value is None else share_interval(value, effective)
    each = "one trial each" if max(sizes.values(), default=1) == 1 else "all trials of a task as one"
    unstable = sum(row.unstable for row in lost)
    return Estimate(
        value=value, low=low, high=high, n=len(rows), missing=len(lost) - unstable, unstable=unstable,
        worst=bounds[0], best=bounds[1], estimand="these_tasks",
        method=nothing if value is None else f"{name} over {len(sizes)} tasks, {each}",
    )  # fmt: skip


def _sizes(rows: Iterable[Declining]) -> Mapping[str, int]:
    sizes: dict[str, int] = {}
    for row in rows:
        sizes[row.task] = sizes.get(row.task, 0) + 1
    return sizes


# -- words ---------------------------------------------------------------------------------------------------------------


def abstention_lines(found: Sequence[Abstention]) -> list[str]:
    """One plain sentence per candidate, about the cell that is the candidate as deployed, for a terminal."""
    own: dict[str, Abstention] = {}
    for one in found:
        known = own.setdefault(one.candidate, one)
        own[one.candidate] = max(known, one, key=lambda each: (each.told == "N", each.done == "N"))
    return [one_sentence(one) for one in own.values() if one.planned]


def one_sentence(one: Abstention) -> str:
    """What one cell's replies did where a task can't be done."""
    return f"{_name(one)}: {_sentence(one)}"


def _name(one: Abstention) -> str:
    return one.candidate if one.transport in one.candidate else f"{one.candidate} on {one.transport}"


def _sentence(one: Abstention) -> str:
    what = f"{one.planned} {_trials(one.planned)} of tasks that can't be done"
    if not one.scored:
        return f"of {what} none could be observed."
    of = f"of {what}" if one.scored == one.planned else f"of {what} {one.scored} could be observed:"
    if one.form is None:
        return f"{of} {one.acted} acted; contract {one.contract} states no form of declining, so that none could be right."
    parts = [f"{one.declined or 'none'} declined in the contract's form and touched nothing"]
    parts += [f"{one.declined_otherwise} declined otherwise"] if one.declined_otherwise else []
    parts += [f"{one.acted} acted all the same"] if one.acted else []
    return f"{of} {', '.join(parts)} (recall {percent(one.recall.value)}; {_precision_words(one)})."


def _precision_words(one: Abstention) -> str:
    if not one.feasible:
        return "no task that can be done was there to be declined wrongly"
    declined = f"{one.declined_feasible or 'none'} of {one.feasible} that can be done declined"
    return f"{declined}, precision {percent(one.precision.value)}"


def _trials(number: int) -> str:
    return "trial" if number == 1 else "trials"


_HEAD = (
    "candidate", "cell", "contract", "path", "can't be done", "scored", "declined rightly", "declined otherwise", "acted",
    "can be done", "of these declined", "precision, 95 %", "worst to best", "recall, 95 %", "worst to best",
)  # fmt: skip
_NOTE = """\
*Declined rightly*: in the form that the contract states, and the state is as it was. *Precision*: of the replies that declined in
the form, the share that were right to; it depends on how many tasks of the set can't be done. *Recall*: of the scored trials of
tasks that can't be done, the share that was declined rightly. Both are for exactly these tasks. None of these trials is in a pass
rate, an effect, a tier or a control.
"""


def abstention_section(found: Sequence[Abstention], planned: Sequence[PlannedCell] = (), scores: Sequence[Score] = ()) -> str:
    """A section of the report in Markdown; empty without a task that can't be done."""
    if not any(one.planned for one in found):
        return ""
    candidates = dict.fromkeys(one.candidate for one in found)
    others = (failing_tasks(name, planned, scores, infeasible=True) for name in candidates)
    words = [markdown(line) + "\n" for line in abstention_lines(found)]
    counts = table(_HEAD, [_row(one) for one in found])
    blocks = ["## Tasks that can't be done\n", *words, counts, _NOTE, _methods(found), *others]
    return "\n".join(block for block in blocks if block)


def _row(one: Abstention) -> list[object]:
    return [
        one.candidate, one.cell, one.contract, one.transport, one.planned, one.scored, one.declined, one.declined_otherwise,
        one.acted, one.feasible, one.declined_feasible, *_estimate(one.precision), *_estimate(one.recall),
    ]  # fmt: skip


def _estimate(estimate: Estimate) -> tuple[str, str]:
    value = f"{percent(estimate.value)} ({span(estimate.low, estimate.high, signed=False)})"
    if estimate.value is None:
        value = f"{NONE} ({estimate.method})"
    return value, span(estimate.worst, estimate.best, signed=False)


def _methods(found: Sequence[Abstention]) -> str:
    pairs = dict.fromkeys((one.precision.method, one.recall.method) for one in found)
    words = "; ".join(f"precision {precision}, recall {recall}" for precision, recall in pairs)
    return f"Intervals: {markdown(words)}.\n"
