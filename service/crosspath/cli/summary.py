"""The result of an evaluation as a command prints it: plain words, the table of cells, and where it is kept."""

import shlex
from typing import TYPE_CHECKING, Any

from crosspath.cli.output import print_table, say

if TYPE_CHECKING:
    from crosspath.app.evaluation import Evaluation

EFFECTS = ("damage", "compensation", "matched_gap")


def print_summary(evaluation: "Evaluation") -> None:
    """A result in plain words, the table of its cells, and where it is kept."""
    from crosspath.reports.markdown import in_short

    say(evaluation.summary().rstrip() + "\n")
    told = any(decomposition.cell("NN") for decomposition in evaluation.judgement.decompositions)
    if told or not in_short(evaluation.judgement):
        _print_cells(evaluation)
    _print_rankings(evaluation)
    say(f"evaluation  {evaluation.id}  ({evaluation.facts.head.status})")
    if evaluation.facts.head.status == "stopped":
        say("            the same command goes on: it asks only for what is missing")
    if evaluation.url:
        say(f"in MLflow   {evaluation.url}")
        if evaluation.opens_with:
            say(f"            {evaluation.opens_with}   opens it")
    say(f"whole report: crosspath report {evaluation.id}")
    _print_deployment(evaluation)


def _print_deployment(evaluation: "Evaluation") -> None:
    """What to ask next of an evaluation that belongs to a deployment, or why it does not."""
    section = evaluation.facts.head.spec.get("deployment")
    if not section or evaluation.facts.head.derived_from:
        return
    name = shlex.quote(section["name"])
    if evaluation.run_id is None:
        say(f"deployment  {name} doesn't know it: it is not in MLflow (crosspath log {evaluation.id} puts it there)")
    else:
        kind = "the reference" if section["reference"] else "an evaluation"
        say(f"deployment  {kind} of {name}; what changed over time: crosspath drift {name}")


def _print_rankings(evaluation: "Evaluation") -> None:
    """What each path costs, where the same replies went through several."""
    from crosspath.analysis.path_tables import SHORT_COLUMNS, short_row

    for ranking in evaluation.judgement.path_rankings:
        say(f"{ranking.model}, told {ranking.contract}:")
        print_table(SHORT_COLUMNS, list(map(short_row, ranking.paths)))
    if evaluation.judgement.path_rankings:
        say("damage and differences in points; those to the first path are 95 % together (Bonferroni), for families like these")
        say(f"which path to take: crosspath recommend {evaluation.id}")


def _print_cells(evaluation: "Evaluation") -> None:
    cells = evaluation.judgement.decompositions
    rows = [
        (
            d.candidate,
            *(_rate(d.cell(name)) for name in ("RR", "RN", "NR", "NN")),
            *(_points(d, e) for e in EFFECTS),
            "blind" if d.blind else "-" if d.control.kind == "none" else d.control.status,
        )
        for d in cells
    ]
    print_table(("candidate", "RR", "RN", "NR", "NN", "damage", "compensation", "matched gap", "control"), rows)
    say("told R/N x done R/N; points of pass rate; R is the reference, N the candidate's own")
    if any(d.undisclosed for d in cells):
        say("not told: the contract tells about another path than this one")
    if any(d.blind for d in cells):
        say("blind: nothing passes on the reference path, so there is nothing that a path could break")


def _rate(cell: Any) -> str:
    if cell is None or not cell.planned:
        return "-"
    return f"{cell.passed}/{cell.scored}" + (f" of {cell.planned}" if cell.scored != cell.planned else "")


def _points(decomposition: Any, name: str) -> str:
    effect = decomposition.effect(name)
    if name == "compensation" and decomposition.undisclosed:
        return "not told"
    if decomposition.blind or effect is None or effect.these.value is None:
        return "-"
    return f"{100 * effect.these.value:+.1f}"
