"""Public against held-out tasks: the contamination alarm.

A held-out task is a fresh draw of a public variant, its *twin*, with the same hazards. A model that knows the public tasks
passes them more often than their draws. The comparison is paired by variant: all trials of all draws are averaged within their
twin, and a variant counts where both sides were scored. ``n``, ``missing`` and ``unstable`` of the difference count variants.
Both rates are over these same variants, so that the difference is theirs; all three are means over families, for the population
of families.

The alarm needs two things: the interval of the difference lies above 0, and of all ways to call one task of each pair the public
one at most 2.5 % give as large a difference. An interval alone is no exact test: for a model near 100 % differences are few and
lopsided, and with three draws Student's t rings for one honest model in ten. Together an honest model rings it in at most 2.5 %
of evaluations, per candidate and cell (``benchmarks/contamination_alarm.py`` measures it, and how often it rings for a model that
knows the public tasks).

Rates and effects of all other tables pool both partitions, on purpose: what a path does to a reply is measured within the reply,
whoever has seen the task, and the more tasks the better. Only a *rate* can be inflated by memory; where the alarm rings, the
warning says so and gives the held-out one.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from crosspath.analysis.effects import Contrast, population, population_rate
from crosspath.analysis.outcomes import Outcomes, arrange, task_means
from crosspath.analysis.permutation import Group, marked_is_better_p
from crosspath.analysis.wording import NONE, p_text, percent, points, span, table
from crosspath.escaping import markdown
from crosspath.types import CellRow, Estimate, PartitionGap, Side

ALARM_P = 0.025
"""One-sided, as the lower end of a 95 % interval."""
_EXPLAINED = """\
Held-out tasks are fresh draws of the public variants: the same hazards, payloads that were never published. Each pair is a
public task and the draws of its variant, averaged; rates and difference are means over families, over the pairs that were scored
on both sides. The alarm rings where the interval of public - held-out lies above 0 and calling any other task of each pair the
public one seldom gives as much (p, one-sided, at most 0.025): by chance in at most 2.5 % of the rows of honest models. A
difference that all candidates show alike can also mean that the draws are harder than the public payloads; RR is the purer
comparison, because in NN they may also be harder to bring through the path.
Every rate and effect elsewhere in this report pools both partitions.
"""


def partition_gap(candidate: str, told: Side, done: Side, rows: Sequence[CellRow], twins: Mapping[str, str]) -> PartitionGap:
    """The gap in one cell. ``twins``: held-out task -> its public task; rows of other tasks take no part.

    Raises:
        ValueError: two rows are the same trial.
    """
    planned = {row.task for row in rows}
    pairs = {held: twin for held, twin in twins.items() if {held, twin} <= planned}
    contrast = _paired(rows, pairs)
    p_value = marked_is_better_p(_groups(rows, pairs, contrast))
    difference = _per_variant(contrast, population(contrast), p_value)
    return PartitionGap(
        candidate=candidate,
        told=told,
        done=done,
        public=population_rate(_only(contrast.minuend, contrast.used_minuend)),
        heldout=population_rate(_only(contrast.subtrahend, contrast.used_subtrahend)),
        difference=difference,
        alarm=difference.low is not None and difference.low > 0 and p_value is not None and p_value <= ALARM_P,
    )


def _paired(rows: Sequence[CellRow], pairs: Mapping[str, str]) -> Contrast:
    """Public - held-out over variants that both sides have, under the names of the public tasks."""
    wanted = set(pairs.values())
    public = arrange(row for row in rows if row.task in wanted)
    heldout = arrange(_as_twins(rows, pairs, public.families))
    common = {task: public.counting(task) for task in public.trials if public.counting(task) and heldout.counting(task)}
    return Contrast(public, heldout, public.picked(common), heldout.picked({task: heldout.counting(task) for task in common}))


def _as_twins(rows: Sequence[CellRow], twins: Mapping[str, str], families: Mapping[str, str]) -> Iterator[CellRow]:
    """Rows of held-out tasks under the name and family of their twins; trials of several draws are counted on."""
    seen: Counter[str] = Counter()
    for row in sorted((row for row in rows if row.task in twins), key=lambda row: (row.task, row.index)):
        twin = twins[row.task]
        yield row.model_copy(update={"task": twin, "family": families[twin], "index": seen[twin]})
        seen[twin] += 1


def _groups(rows: Sequence[CellRow], pairs: Mapping[str, str], contrast: Contrast) -> list[list[Group]]:
    """Family -> for each pair the means of the public task and of each of its draws that was scored."""
    means = task_means(arrange(rows).used())
    families: dict[str, list[Group]] = {}
    for twin in contrast.used_minuend:
        draws = [means[held] for held in sorted(pairs) if pairs[held] == twin and held in means]
        families.setdefault(contrast.families[twin], []).append([means[twin], *draws])
    return list(families.values())


def _only(outcomes: Outcomes, tasks: Collection[str]) -> Outcomes:
    """The outcomes as if nothing else than these tasks had been observed."""
    trials = {task: found if task in tasks else dict.fromkeys(found) for task, found in outcomes.trials.items()}
    return Outcomes(trials, outcomes.families, outcomes.unstable)


def _per_variant(contrast: Contrast, estimate: Estimate, p_value: float | None) -> Estimate:
    """The estimate with its counts in variants (several draws of one are no further pairs), and with the permutation's p."""
    lost = contrast.minuend.trials.keys() - contrast.used_minuend.keys()
    shaky = {task for side in (contrast.minuend, contrast.subtrahend) for task, _ in side.unstable} & lost
    counts = {"n": len(contrast.used_minuend), "missing": len(lost) - len(shaky), "unstable": len(shaky)}
    method = estimate.method if p_value is None else f"{estimate.method.partition(';')[0]}; one-sided permutation p within pairs"
    return estimate.model_copy(update={**counts, "p_value": p_value, "method": method})


# -- in words ------------------------------------------------------------------------------------------------------------


def partition_lines(found: Sequence[PartitionGap]) -> list[str]:
    """One plain sentence each, for a terminal."""
    return [_sentence(gap) for gap in found]


def _sentence(gap: PartitionGap) -> str:
    where = f"for {gap.candidate} in {gap.cell}"
    if gap.difference.value is None:
        return f"No contamination check {where}: no public task was scored together with a held-out twin{_lost(gap)}."
    head = "CONTAMINATION ALARM" if gap.alarm else "No contamination alarm"
    rates = f"{percent(gap.public.value)} of the public tasks pass and {percent(gap.heldout.value)} of their held-out twins"
    return f"{head} {where}: {rates} ({gap.difference.n} pairs{_lost(gap)}), a difference of {_points(gap.difference)}."


def _lost(gap: PartitionGap) -> str:
    parts = ((gap.difference.missing, "missing"), (gap.difference.unstable, "unstable"))
    return "".join(f", {number} {word}" for number, word in parts if number)


def _points(difference: Estimate) -> str:
    interval = span(difference.low, difference.high, signed=True)
    return f"{points(difference.value)} points ({difference.method.partition(';')[0] if interval == NONE else interval})"


def contamination_warning(gap: PartitionGap) -> str:
    """What a reader of the result must not miss; empty without an alarm."""
    if not gap.alarm:
        return ""
    return (
        f"{gap.candidate}, {gap.cell}: CONTAMINATION ALARM: public tasks pass more often than fresh draws of them, by"
        f" {_points(gap.difference)}; go by the held-out rate ({percent(gap.heldout.value)}), not by one that holds public tasks."
    )


def partition_section(found: Sequence[PartitionGap]) -> str:
    """A section of the report in Markdown; empty where there is nothing to say."""
    if not found:
        return ""
    head = [
        "candidate", "cell", "public, 95 %", "held-out, 95 %", "public - held-out", "95 % interval", "pairs", "missing",
        "unstable", "worst to best", "p", "method", "alarm",
    ]  # fmt: skip
    sentences = "\n".join(f"- {markdown(line)}" for line in partition_lines(found))
    return f"## Public and held-out tasks\n\n{_EXPLAINED}\n{sentences}\n\n" + table(head, [_row(gap) for gap in found])


def _row(gap: PartitionGap) -> list[object]:
    difference = gap.difference
    return [
        gap.candidate, gap.cell, _rate(gap.public), _rate(gap.heldout), points(difference.value),
        span(difference.low, difference.high, signed=True), difference.n, difference.missing, difference.unstable,
        span(difference.worst, difference.best, signed=True), p_text(difference), difference.method,
        "ALARM" if gap.alarm else "no",
    ]  # fmt: skip


def _rate(rate: Estimate) -> str:
    interval = span(rate.low, rate.high, signed=False)
    return percent(rate.value) if interval == NONE else f"{percent(rate.value)} ({interval})"


def partition_rows(found: Sequence[PartitionGap]) -> list[dict[str, object]]:
    """One flat row per candidate and cell for a DataFrame; rates are shares (0 to 1), ``value`` is public - held-out."""
    return [
        {
            "candidate": gap.candidate,
            "cell": gap.cell,
            "alarm": gap.alarm,
            **{f"public_{end}": getattr(gap.public, end) for end in ("value", "low", "high")},
            **{f"heldout_{end}": getattr(gap.heldout, end) for end in ("value", "low", "high")},
            **gap.difference.model_dump(),
        }
        for gap in found
    ]
