"""The report of one evaluation as Markdown, its short form for places that hold little text, and the words for a terminal."""

from collections.abc import Iterator, Sequence

from crosspath.analysis.coverage import infeasible_only
from crosspath.analysis.wording import control_line, spend_line, title
from crosspath.analysis.wording_tables import beside_compensation
from crosspath.escaping import markdown, one_line
from crosspath.reports.effect_tables import effects_table
from crosspath.reports.sections import (
    MOST_IN_FULL,
    about_line,
    beside_lines,
    grave_lines,
    headline_section,
    in_short,
    paragraphs,
    report_sections,
)
from crosspath.types import Decomposition, EvaluationHead, Facts, Headline, Judgement, Published

__all__ = ["MOST_IN_FULL", "in_short", "opening", "report_markdown", "report_short", "summary_text"]


def report_markdown(facts: Facts, judgement: Judgement, published: Sequence[Published] = ()) -> str:
    """The whole report. ``published``: tables of others that are shown beside what was measured."""
    sections = (section.text for section in report_sections(facts, judgement, published))
    return "\n".join((opening(facts, judgement), *sections))


def report_short(facts: Facts, judgement: Judgement) -> str:
    """The report without its long tables, for places that hold little text: what must not be missed, headlines, effects, and
    where the rest is."""
    parts = (
        opening(facts, judgement),
        headline_section(facts, judgement) or _paragraphs(judgement),
        *_effects(judgement),
        f"Everything else: `crosspath report {one_line(facts.head.id).replace('`', '')}`, or the report among the artifacts.\n",
    )
    return "\n".join(part for part in parts if part)


def opening(facts: Facts, judgement: Judgement) -> str:
    """The name of the evaluation, where it comes from, and why some of it may not be used."""
    warnings = "".join(f"> **{markdown(line)}**\n>\n" for line in grave_lines(judgement, facts.head))
    parts = (f"# {markdown(facts.head.id)}\n", f"{markdown(about_line(facts))}\n", _derivation(facts.head), warnings)
    return "\n".join(part for part in parts if part)


def _derivation(head: EvaluationHead) -> str:
    reason = markdown(head.derivation or "no reason given")
    return f"Derived from {markdown(head.derived_from)}: {reason}.\n" if head.derived_from else ""


def _paragraphs(judgement: Judgement) -> str:
    return "\n".join(f"{markdown(text)}\n" for _, text in paragraphs(judgement))


def _effects(judgement: Judgement) -> Iterator[str]:
    wordings = beside_compensation(judgement.wording_spreads)
    for one in judgement.decompositions:
        if text := effects_table(one, wordings.get(one.candidate, "")):
            yield f"## {markdown(title(one))}\n\n{text}"


def summary_text(judgement: Judgement, told: Sequence[Headline] = ()) -> str:
    """The evaluation in plain words for a terminal: what must not be missed, headlines, a paragraph per candidate, spend.

    ``told``: the headlines of the evaluation.
    """
    blocks = [f"WARNING: {warning}" for warning in judgement.warnings]
    if not in_short(judgement):
        blocks += [line for headline in told for line in headline_text(headline)]
        blocks += [line for one, text in paragraphs(judgement) for line in (text, *_control(one))]
    blocks += beside_lines(judgement)
    blocks += [f"WARNING: {comparison.warning}." for comparison in judgement.comparisons if comparison.warning]
    lines = [*blocks, f"Spent: {spend_line(judgement.spend)}."]
    return "\n".join(one_line(line) for line in lines) + "\n"  # a served model's name must not add a line


def headline_text(headline: Headline) -> tuple[str, str, str]:
    """The headline as three lines of text."""
    return headline.sentence, f"  how sure: {headline.sure}", f"  next: {headline.next_step}"


def _control(decomposition: Decomposition) -> list[str]:
    return [] if infeasible_only(decomposition) else [f"  {control_line(decomposition)}."]
