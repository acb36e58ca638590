"""A finished (or stopped) evaluation as Python users hold it."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from html import escape
from typing import TYPE_CHECKING, Any

from crosspath.analysis import decomposition_tables
from crosspath.analysis.breakdowns import BREAKDOWN_COLUMNS, breakdown_rows
from crosspath.analysis.funnels import FUNNEL_COLUMNS, funnel_rows
from crosspath.analysis.partitions import partition_rows
from crosspath.analysis.path_tables import PATH_COLUMNS, path_rows
from crosspath.analysis.styles import STYLE_COLUMNS, style_rows
from crosspath.analysis.tables import DECLINING_COLUMNS
from crosspath.analysis.wording_tables import WORDING_COLUMNS, wording_rows
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.reports.card import card_markdown
from crosspath.reports.cost_tables import COST_COLUMNS, cost_rows
from crosspath.reports.document import evaluation_document
from crosspath.reports.headlines import headlines
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.reports.reliability_tables import RELIABILITY_COLUMNS, reliability_rows
from crosspath.reports.stories import stories
from crosspath.types import Comparison, Decomposition, Facts, Headline, Judgement, Published, Story

if TYPE_CHECKING:
    import pandas as pd

_EMPTY = {
    "effects": (
        "candidate", "effect", "control", "label", "minuend", "subtrahend", "value", "low", "high", "n", "missing", "unstable",
        "worst", "best", "p_value", "estimand", "method", "together_low", "together_high", "together_p_value",
    ),
    "failures": (
        "candidate", "cell", "control", "task", "trial", "repeat", "stage", "cause", "silent_wrong", "false_alarm", "reason",
    ),
    "misreports": (
        "candidate", "cell", "control", "task", "trial", "repeat", "misreport", "kind", "passed", "cause", "reason",
    ),
    "partitions": (
        "candidate", "cell", "alarm", "public_value", "public_low", "public_high", "heldout_value", "heldout_low", "heldout_high",
        "value", "low", "high", "n", "missing", "unstable", "worst", "best", "estimand", "method", "p_value",
    ),
    "styles": STYLE_COLUMNS,
    "paths": PATH_COLUMNS,
    "wordings": WORDING_COLUMNS,
    "abstentions": DECLINING_COLUMNS,
    "funnels": FUNNEL_COLUMNS,
    "breakdowns": BREAKDOWN_COLUMNS,
    "reliability": RELIABILITY_COLUMNS,
    "costs": COST_COLUMNS,
}  # fmt: skip
"""Columns of frames without a row: nothing failed or was misreported, no path to compare with, no held-out task, or only one
request style."""


SHOWN_CANDIDATES = 6
"""How many fit into the short form of an evaluation."""


@dataclass(frozen=True, repr=False)
class Evaluation:
    """Facts, what follows from them, and where they were logged."""

    facts: Facts
    judgement: Judgement
    run_id: str | None = None
    url: str | None = None
    opens_with: str | None = None
    """The command that serves ``url``; None where a server runs already."""
    tracking_error: str | None = None
    """Why MLflow does not hold it; the ledger does."""

    @property
    def id(self) -> str:
        return self.facts.head.id

    def __repr__(self) -> str:
        """Two lines: id and status, then each candidate's reference and matched cell."""
        rows = [f"{name} {', '.join(f'{cell} {count}' for cell, count in cells)}" for name, cells in self._rates()]
        more = f"; and {len(rows) - SHOWN_CANDIDATES} more" if len(rows) > SHOWN_CANDIDATES else ""
        return f"<Evaluation {self.id} ({self.facts.head.status})\n {'; '.join(rows[:SHOWN_CANDIDATES])}{more}>"

    def _repr_html_(self) -> str:
        """The same as a small table, for notebooks."""
        rows = "".join(
            f"<tr><td>{escape(name)}</td><td>{escape(', '.join(f'{cell} {count}' for cell, count in cells))}</td></tr>"
            for name, cells in self._rates()
        )
        head = f"<caption>{escape(self.id)} ({escape(self.facts.head.status)})</caption>"
        return f"<table>{head}<tr><th>candidate</th><th>right of scored</th></tr>{rows}</table>"

    def _rates(self) -> list[tuple[str, list[tuple[str, str]]]]:
        """Candidate -> name and counts of RR and of the cell that is the candidate as deployed."""
        found: list[tuple[str, list[tuple[str, str]]]] = []
        for decomposition in self.judgement.decompositions:
            own = matched_cell(self.facts.cells, decomposition.candidate).name
            cells = (decomposition.cell(name) for name in dict.fromkeys(("RR", own)))
            found.append((decomposition.candidate, [(cell.name, f"{cell.passed}/{cell.scored}") for cell in cells if cell]))
        return found

    def decomposition(self, candidate: str) -> Decomposition:
        """The decomposition of one candidate.

        Raises:
            KeyError: there is no such candidate.
        """
        return {d.candidate: d for d in self.judgement.decompositions}[candidate]

    @cached_property
    def cells(self) -> "pd.DataFrame":
        """One row per candidate and cell (RR, RN, NR, NN): counts, ``value`` (pass rate, 0 to 1) with its interval."""
        return self._frame("cells")

    @cached_property
    def effects(self) -> "pd.DataFrame":
        """One row per candidate, effect and estimand: ``value`` (difference of rates, -1 to 1), interval, n, p value, method."""
        return self._frame("effects")

    @cached_property
    def failures(self) -> "pd.DataFrame":
        """One row per cell and replay that did not pass: task, trial, stage, cause, whether it was silent, and the reason.

        Tasks that can't be done are not in it: see ``abstentions``.
        """
        return self._frame("failures")

    @cached_property
    def misreports(self) -> "pd.DataFrame":
        """One row per cell and replay about which the path told its caller something wrong: a silent wrong, or a false alarm (a
        right state that was told as something else) with its kind; false alarms may have passed."""
        return self._frame("misreports")

    @cached_property
    def abstentions(self) -> "pd.DataFrame":
        """One row per candidate and cell where tasks can't be done: counts, precision and recall (0 to 1) with intervals."""
        return self._frame("abstentions")

    @cached_property
    def partitions(self) -> "pd.DataFrame":
        """One row per candidate and cell: public and held-out pass rates, ``value`` (public - held-out, -1 to 1), the alarm."""
        return _framed("partitions", partition_rows(self.judgement.partition_gaps))

    @cached_property
    def styles(self) -> "pd.DataFrame":
        """One row per request style and cell, for candidates that differ in nothing else: ``rate`` (0 to 1) with its interval,
        ``value`` (difference to the style ``first``, -1 to 1) with its own, damage; and rows for ``exam - production``."""
        return _framed("styles", style_rows(self.judgement.style_spreads))

    @cached_property
    def wordings(self) -> "pd.DataFrame":
        """One row per wording of a contract, for candidates that differ in nothing else: ``rate`` (0 to 1), ``compensation`` and
        ``value`` (difference to the contract ``first``, -1 to 1) with their intervals, and how far all lie apart (``spread``)."""
        return _framed("wordings", wording_rows(self.judgement.wording_spreads))

    @cached_property
    def paths(self) -> "pd.DataFrame":
        """What each path costs: one row per path that the same replies went through, best first: ``rank``, ``rate`` (0 to 1),
        ``damage`` (-1 to 1), and ``to_best``, whose intervals hold together; the last ones are ``apart`` and not ranked."""
        return _framed("paths", path_rows(self.judgement.path_rankings))

    @cached_property
    def funnels(self) -> "pd.DataFrame":
        """One row per candidate, cell and stage: how many trials reached it, how many stopped just before, and of what."""
        return _framed("funnels", funnel_rows(self.judgement.funnels))

    @cached_property
    def breakdowns(self) -> "pd.DataFrame":
        """One row per candidate, cell and family, tier or hazard: counts, causes, ``damage`` for the same replies (-1 to 1)."""
        return _framed("breakdowns", breakdown_rows(self.judgement.breakdowns))

    @cached_property
    def reliability(self) -> "pd.DataFrame":
        """One row per candidate, cell (RR and as deployed) and k: pass^k as ``value`` (0 to 1) with its interval, how many tasks
        are right each time, sometimes or never, how many got the same reply each time; empty where each task has one trial."""
        return _framed("reliability", reliability_rows(self.judgement.reliability))

    @cached_property
    def costs(self) -> "pd.DataFrame":
        """One row per candidate as deployed: tokens, USD and latency (seconds) of its replies, and tokens and USD per pass."""
        return _framed("costs", cost_rows(self.judgement.costs))

    @cached_property
    def stories(self) -> tuple[Story, ...]:
        """Why each failing task fails for each candidate as deployed: the reply, what the path made of it, what differs."""
        return stories(self.facts, self.judgement)

    def _frame(self, table: str) -> "pd.DataFrame":
        return _framed(table, getattr(decomposition_tables(self.judgement, self.facts.cells), table))

    def compare(self, a: str, b: str) -> Comparison:
        """Candidate ``b`` minus candidate ``a``, each as deployed, paired by task."""
        return FactIndex(self.facts, self.judgement.scores).comparison(a, b)

    def report(self, published: Sequence[Published] = ()) -> str:
        """The whole report as Markdown. ``published``: tables of others that are shown beside what was measured."""
        return report_markdown(self.facts, self.judgement, published)

    def html(self, published: Sequence[Published] = ()) -> str:
        """The whole report as one HTML file with its figures: about 1 s for each candidate."""
        from crosspath.reports.figures import evaluation_figures
        from crosspath.reports.html import report_html

        return report_html(self.facts, self.judgement, evaluation_figures(self.facts, self.judgement), published)

    def terminal(self, width: int = 100, published: Sequence[Published] = ()) -> str:
        """The report for a terminal of ``width`` columns, as plain text."""
        from crosspath.reports.terminal import report_terminal

        return report_terminal(self.facts, self.judgement, width, published)

    def document(self) -> dict[str, Any]:
        """Everything of the judgement as one strict JSON document."""
        return evaluation_document(self.facts, self.judgement)

    @cached_property
    def headlines(self) -> tuple[Headline, ...]:
        """Per candidate: what it gets right and where the rest is lost, how sure that is, and what to do next."""
        return headlines(self.facts, self.judgement)

    def card(self, candidate: str) -> str:
        """The harness card of one candidate as Markdown: all that it takes to compare or repeat it.

        Raises:
            ConfigError: there is no such candidate.
        """
        return card_markdown(self.facts, self.judgement, candidate)

    def summary(self) -> str:
        """Headlines, and the decomposition of every candidate in plain words."""
        return summary_text(self.judgement, self.headlines)


def _framed(table: str, rows: list[dict[str, object]]) -> "pd.DataFrame":
    return framed(rows, _EMPTY.get(table, ()))


def framed(rows: list[dict[str, object]], columns: Sequence[str]) -> "pd.DataFrame":
    """Rows as a data frame; without a row it has these columns."""
    import pandas as pd

    return pd.DataFrame(rows) if rows else pd.DataFrame(columns=list(columns))
