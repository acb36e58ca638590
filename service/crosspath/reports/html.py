"""The report as one HTML file that needs nothing else: no script, no request, no font; figures inside of it.

Made from the same sections as the Markdown report. A strict Content-Security-Policy allows the one style sheet by its hash and
figures as data, and nothing else.
"""

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib import resources
from itertools import groupby

from jinja2 import Environment, StrictUndefined, Template

from crosspath import __version__
from crosspath.escaping import one_line
from crosspath.reports.candidate_sections import Part
from crosspath.reports.figure_words import figure_alt
from crosspath.reports.figures import planned_figures
from crosspath.reports.html_rendering import Block, blocks
from crosspath.reports.markdown import opening
from crosspath.reports.sections import Section, report_sections
from crosspath.types import Facts, Judgement, Published

MOST_LISTED = 24
"""So many candidates stand one by one in the contents; more of them fold."""
GENERATOR = "crosspath report"
"""What the file names as its maker."""


@dataclass(frozen=True)
class ShownFigure:
    """A figure as it stands in the page."""

    caption: str
    alt: str
    """The caption and the numbers."""
    source: str
    """A data URI."""


@dataclass(frozen=True)
class ShownPart:
    """A block of a section; ``folded``: behind its title."""

    block: Block
    folded: bool


@dataclass(frozen=True)
class ShownSection:
    """A section of the page."""

    anchor: str
    title: str
    """HTML."""
    name: str
    parts: tuple[ShownPart, ...]
    figures: tuple[ShownFigure, ...]
    candidate: bool
    folded: bool


def report_html(facts: Facts, judgement: Judgement, figures: Mapping[str, bytes], published: Sequence[Published] = ()) -> str:
    """The whole page. ``figures``: file name -> PNG, as ``crosspath.reports.figures.evaluation_figures`` draws them."""
    sections = report_sections(facts, judgement, published)
    shown = list(_shown(sections, _by_candidate(facts, judgement, figures)))
    [head] = blocks(opening(facts, judgement), 1)
    style = _file("report.css")
    return _template().render(
        policy=_policy(style),
        style=style,
        generator=f"{GENERATOR} {__version__}",
        head=head,
        status=facts.head.status,
        sections=shown,
        contents=[list(group) for _, group in groupby(shown, key=lambda one: one.candidate)],
        most=MOST_LISTED,
    )


def _policy(style: str) -> str:
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


@cache
def _file(name: str) -> str:
    return resources.files(__package__ or "crosspath.reports").joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Template:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(_file("report.html.jinja"))


# -- sections --------------------------------------------------------------------------------------------------------------


def _shown(sections: Iterable[Section], figures: Mapping[str | None, Sequence[ShownFigure]]) -> Iterator[ShownSection]:
    """Sections, each with an anchor; the figures of the whole evaluation stand before those of single candidates."""
    taken: set[str] = set()
    of_all = _figures_alone(figures.get(None, ()), taken)
    for section in sections:
        if of_all and section.candidate:
            yield of_all
            of_all = None
        yield from _section(section, figures.get(section.candidate, ()) if section.candidate else (), taken)
    if of_all:
        yield of_all


def _figures_alone(figures: Sequence[ShownFigure], taken: set[str]) -> ShownSection | None:
    name = "Figures of the whole evaluation"
    return ShownSection(_anchor(name, taken), escape(name), name, (), tuple(figures), False, False) if figures else None


def _section(section: Section, figures: Sequence[ShownFigure], taken: set[str]) -> Iterator[ShownSection]:
    """A section of the report; one that holds several headings of the second level is several."""
    parts = [shown for part in section.parts for shown in _parts(part)]
    starts = [place for place, one in enumerate(parts) if one.block.level == 2]
    for start, end in zip(starts, (*starts[1:], len(parts)), strict=True):
        first, *rest = parts[start:end]
        yield ShownSection(
            anchor=_anchor(first.block.name, taken),
            title=first.block.title,
            name=first.block.name,
            parts=(ShownPart(replace(first.block, level=0), folded=False), *rest),
            figures=tuple(figures),
            candidate=section.candidate is not None,
            folded=section.folded,
        )


def _parts(part: Part) -> Iterator[ShownPart]:
    for block in blocks(part.text, 3):
        yield ShownPart(block, part.folded and block.level == 3)


def _anchor(name: str, taken: set[str]) -> str:
    """Letters, digits and hyphens of the title; a number where two titles are alike."""
    plain = "-".join(re.findall(r"[a-z0-9]+", name.lower()))[:60] or "section"
    anchor, number = plain, 1
    while anchor in taken:
        number += 1
        anchor = f"{plain}-{number}"
    taken.add(anchor)
    return anchor


# -- figures ---------------------------------------------------------------------------------------------------------------


def _by_candidate(facts: Facts, judgement: Judgement, figures: Mapping[str, bytes]) -> Mapping[str | None, Sequence[ShownFigure]]:
    """Candidate (None: the evaluation) -> its figures that were drawn."""
    found: dict[str | None, list[ShownFigure]] = {}
    for planned in planned_figures(facts, judgement):
        if data := figures.get(planned.name):
            source = f"data:image/png;base64,{base64.b64encode(data).decode('ascii')}"
            found.setdefault(planned.candidate, []).append(
                ShownFigure(one_line(planned.caption), figure_alt(planned, judgement), source)
            )
    return found
