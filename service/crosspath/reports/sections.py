"""The report as a list of sections, each Markdown under one heading: what the Markdown and the HTML report are both made of.

Order: headlines with all candidates in a table, what must not be missed, the words, plain words, which path; then each
candidate; then stories, what is compared between candidates, what is kept apart from rates, reliability, cost, the whole
configuration and the limits of the method.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from crosspath.analysis.abstention import abstention_lines, abstention_section
from crosspath.analysis.configuration import configuration_section
from crosspath.analysis.coverage import infeasible_only
from crosspath.analysis.partitions import partition_lines, partition_section
from crosspath.analysis.path_tables import path_lines, path_section
from crosspath.analysis.styles import style_lines, style_section
from crosspath.analysis.wording import control_warning, paragraph, title
from crosspath.analysis.wording_tables import beside_compensation, wording_lines, wording_section
from crosspath.escaping import markdown, one_line
from crosspath.reports.breakdown_tables import validator_sensitivity_section
from crosspath.reports.candidate_sections import Part, candidate_parts, headline_lines
from crosspath.reports.comparison_tables import comparison_section
from crosspath.reports.cost_tables import cost_lines, spend_section
from crosspath.reports.format_tables import format_lines, format_section
from crosspath.reports.glossary import glossary_section
from crosspath.reports.headlines import headlines
from crosspath.reports.lead_table import lead_table
from crosspath.reports.loss_tables import losses_table
from crosspath.reports.published_tables import published_section
from crosspath.reports.reliability_tables import reliability_lines, reliability_section
from crosspath.reports.stability_tables import stability_lines, stability_section
from crosspath.reports.stories import stories_section
from crosspath.types import Comparison, Decomposition, EvaluationHead, Facts, Judgement, PlannedCell, Published, Score

LIMITS = """\
## Limits of the method

- `these_replies` is exact for the stored replies and says nothing about the next draw; `these_tasks` holds for exactly these
  tasks; `task_population` speaks of families like these and needs families, not trials, to become narrow.
- Intervals are 95 % each, unless they are said to hold together.
- Where all family means are equal the interval is an exact bound and wide: few families can't exclude a rare different one.
- Damage, compensation and matched gap share one set of trials, so their sum is exact; what that set leaves out is in `missing`.
- `worst` to `best` is not a confidence interval: it is what the lost trials could have made of the value.
- Compensation compares two separate generations: it contains the chance of both draws.
- Each trial is lost to one place, the first that explains it: to the path where the same reply passes on the reference path; to
  the format where it can't be read, or another clean-up would have kept it; to the model where it declines, is cut off or empty;
  to the path again where the reply that was told nothing is right on the reference and breaks here; to the model otherwise.
"""

MOST_IN_FULL = 16
"""So many candidates at most have a headline and a paragraph each, and figures of their own."""


MOST_COMPARISONS = 3
"""Comparisons that lack trials and are named one by one before the comparisons themselves."""


@dataclass(frozen=True)
class Section:
    """One section of the report."""

    parts: tuple[Part, ...]
    """The first one opens with a heading of the second level."""
    candidate: str | None = None
    """Whose section it is."""
    folded: bool = False
    """Long or seldom needed: folded where a reader can unfold."""

    @property
    def text(self) -> str:
        """All of it as Markdown."""
        return "\n".join(part.text for part in self.parts)


def _section(text: str, *, folded: bool = False, folded_inside: bool = False) -> Section:
    return Section((Part(text, folded_inside),) if text else (), folded=folded)


def in_short(judgement: Judgement) -> bool:
    """Whether there are so many candidates through so many paths that the ranking stands in the place of single ones."""
    return bool(judgement.path_rankings) and len(judgement.decompositions) > MOST_IN_FULL


def report_sections(facts: Facts, judgement: Judgement, published: Sequence[Published] = ()) -> tuple[Section, ...]:
    """Every section that has something to say, in the order in which people read them.

    ``published``: tables of others that are shown beside what was measured.
    """
    return tuple(section for section in _sections(facts, judgement, published) if section.parts)


def _sections(facts: Facts, judgement: Judgement, published: Sequence[Published]) -> Iterator[Section]:
    short = in_short(judgement)
    yield _section(headline_section(facts, judgement))
    yield _section(_warnings(judgement))
    yield _section(glossary_section(), folded=True)
    yield _section(_plain_words(judgement), folded=short)
    yield _section(path_section(judgement.path_rankings))
    yield from _candidates(facts, judgement, folded=short)
    yield _section(stories_section(facts, judgement), folded_inside=True)
    yield _section(comparison_section(judgement))
    yield _section(stability_section(judgement))
    for one in published:
        yield _section(published_section(one, judgement))
    yield _section(format_section(judgement))
    yield _section(validator_sensitivity_section(judgement))
    yield _section(abstention_section(judgement.abstentions, facts.cells, judgement.scores))
    yield _section(partition_section(judgement.partition_gaps))
    yield _section(style_section(judgement.style_spreads))
    yield _section(wording_section(judgement.wording_spreads))
    yield _section(reliability_section(judgement))
    yield _section(spend_section(judgement))
    yield _section(configuration_section(facts.head, facts.lock), folded=True)
    yield _section(LIMITS)


# -- what comes first --------------------------------------------------------------------------------------------------


def about_line(facts: Facts) -> str:
    """What was evaluated, and when: ``finished, 2026-11-30 17:21 UTC: 4 candidates, 81 tasks of 27 families, 2 trials each``.

    Tasks that can't be done are not among them; where there are no others they are counted as what they are."""
    date = f"{datetime.fromtimestamp(facts.head.created_at, UTC):%Y-%m-%d %H:%M} UTC"
    feasible = [task for task in facts.tasks if task.infeasible is None]
    counted = (
        (len(facts.lock.candidates), "candidate", "candidates"),
        (len(feasible), "task", "tasks"),
        (len({task.family for task in feasible}), "family", "families"),
        (facts.lock.trials, "trial", "trials"),
    )
    candidates, tasks, families, trials = (f"{number} {one if number == 1 else more}" for number, one, more in counted)
    impossible = f"{len(facts.tasks)} task{'' if len(facts.tasks) == 1 else 's'} that can't be done"
    asked = f"{tasks} of {families}" if feasible or not facts.tasks else impossible
    return f"{facts.head.status}, {date}: {candidates}, {asked}, {trials} each"


def grave_lines(judgement: Judgement, head: EvaluationHead) -> list[str]:
    """Why some of the report may not be used, as text: controls that don't hold, an evaluation that was stopped."""
    controls = [f"{one.candidate}: {warning}" for one in judgement.decompositions if (warning := control_warning(one))]
    stopped = f"The evaluation is {head.status}: what is missing is a fault, not a failure."
    return controls if head.status == "finished" else [*controls, stopped]


def warning_lines(judgement: Judgement) -> list[str]:
    """What must not be missed, as text: warnings, and comparisons that lack trials, one by one as long as they are few."""
    return [*judgement.warnings, *_comparison_warnings([one for one in judgement.comparisons if one.warning])]


def _warnings(judgement: Judgement) -> str:
    lines = warning_lines(judgement)
    return "## What must not be missed\n\n" + "".join(f"- **{markdown(line)}**\n" for line in lines) if lines else ""


def _comparison_warnings(found: Sequence[Comparison]) -> list[str]:
    if len(found) <= MOST_COMPARISONS:
        return [f"{one.warning}." for one in found]
    return [f"{len(found)} comparisons of two candidates lack trials on one side: what that may change stands with each of them."]


def headline_section(facts: Facts, judgement: Judgement) -> str:
    """One sentence per candidate, how sure it is and what to do, then all candidates in a table; of very many the table alone, or
    which path is best."""
    found = headlines(facts, judgement)
    if not found:
        return ""
    if in_short(judgement):
        lines = [*(markdown(line) for line in path_lines(judgement.path_rankings)), f"Next: {_recommend(facts.head)}"]
        return "## What to know first\n\n" + "".join(f"{line}\n\n" for line in lines).removesuffix("\n")
    if len(found) > MOST_IN_FULL:
        return "## What to know first\n\n" + lead_table(judgement)
    lines = "\n".join(line for headline in found for line in headline_lines(headline))
    return f"## What to know first\n\n{lines}\n\n{lead_table(judgement)}"


def _recommend(head: EvaluationHead) -> str:
    return f"`crosspath recommend {one_line(head.id).replace('`', '')}` says which path to take; each path has a section below."


def beside_lines(judgement: Judgement) -> list[str]:
    """One plain sentence for each thing that is kept apart from rates and effects."""
    return [
        *abstention_lines(judgement.abstentions),
        *partition_lines(judgement.partition_gaps),
        *style_lines(judgement.style_spreads),
        *wording_lines(judgement.wording_spreads),
        *path_lines(judgement.path_rankings),
    ]


def _topics(judgement: Judgement) -> Mapping[str, list[str]]:
    """What else there is to say in plain words, by heading."""
    return {
        "Beside rates and effects": [*beside_lines(judgement), *format_lines(judgement)],
        "Order of the models": stability_lines(judgement),
        "Several trials": reliability_lines(judgement),
        "What it takes": cost_lines(judgement),
    }


def paragraphs(judgement: Judgement) -> Iterator[tuple[Decomposition, str]]:
    """Each candidate with its paragraph."""
    wordings = beside_compensation(judgement.wording_spreads)
    return ((one, paragraph(one, wordings.get(one.candidate, ""))) for one in judgement.decompositions)


def _plain_words(judgement: Judgement) -> str:
    scores = f"## In plain words\n\n{_paragraphs(text for _, text in paragraphs(judgement))}"
    topics = (f"### {name}\n\n{_paragraphs(lines)}" for name, lines in _topics(judgement).items() if lines)
    return "\n".join((scores, *topics))


def _paragraphs(lines: Iterable[str]) -> str:
    return "\n".join(markdown(line) + "\n" for line in lines)


# -- candidates ------------------------------------------------------------------------------------------------------------


def _candidates(facts: Facts, judgement: Judgement, *, folded: bool) -> Iterator[Section]:
    wordings = beside_compensation(judgement.wording_spreads)
    many = len(judgement.decompositions) > MOST_IN_FULL
    told = {one.candidate: one for one in headlines(facts, judgement)} if many else {}
    scores = scores_by_candidate(facts.cells, judgement.scores)
    for one in judgement.decompositions:
        if not infeasible_only(one):
            name = one.candidate
            opening = "\n".join(("", *headline_lines(told[name]), "")) if name in told else ""
            opening += f"\n{went}" if (went := losses_table(judgement, name)) else ""
            parts = candidate_parts(one, judgement, facts.cells, scores.get(name, ()), wordings.get(name, ""))
            yield Section((Part(f"## {markdown(title(one))}\n{opening}"), *parts), candidate=name, folded=folded)


def scores_by_candidate(planned: Sequence[PlannedCell], scores: Sequence[Score]) -> Mapping[str, Sequence[Score]]:
    """Candidate -> the scores of its cells; one pass over the scores, however many candidates there are."""
    wanted: dict[tuple[str, str, str], set[str]] = defaultdict(set)
    for cell in planned:
        if not cell.control:
            wanted[cell.generation.digest, cell.path, cell.validator].add(cell.candidate)
    found: dict[str, list[Score]] = defaultdict(list)
    for score in scores:
        for candidate in wanted.get((score.key.trial.generation, score.key.path, score.validator), ()):
            found[candidate].append(score)
    return found
