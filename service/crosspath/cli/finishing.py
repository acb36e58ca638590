"""How a command about an evaluation ends: its result is printed, and its exit code says how far it may be used."""

from typing import TYPE_CHECKING, Any

import typer

from crosspath.cli.exits import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_INFRASTRUCTURE, EXIT_INVALID
from crosspath.cli.output import print_json, remark
from crosspath.cli.summary import print_summary

if TYPE_CHECKING:
    from crosspath.app.evaluation import Evaluation


def document_of(evaluation: "Evaluation") -> dict[str, Any]:
    """An evaluation as one JSON document, with the place where MLflow has it."""
    tracked = {"run": evaluation.run_id, "url": evaluation.url, "error": evaluation.tracking_error}
    return evaluation.document() | {"mlflow": tracked}


def finish(evaluation: "Evaluation", as_json: bool, *, every: bool = False) -> None:
    """Print a result and leave with the exit code that it deserves; ``every``: see :func:`exit_code`."""
    if as_json:
        print_json(document_of(evaluation))
    else:
        print_summary(evaluation)
    leave(evaluation, every=every)


def leave(*evaluations: "Evaluation", every: bool = False) -> None:
    """Say what was not logged, and leave with the gravest exit code."""
    for evaluation in evaluations:
        if evaluation.tracking_error:
            remark(f"crosspath: not logged to MLflow: {evaluation.tracking_error}; try: crosspath log {evaluation.id}")
    if code := max(exit_code(evaluation, every=every) for evaluation in evaluations):
        raise typer.Exit(code)


def exit_code(evaluation: "Evaluation", *, every: bool = False) -> int:
    """0 done; 3 a limit was reached or too few trials have a verdict; 4 a broken control; 5 something outside failed.

    Replies that a recording or baseline does not hold are known before the start, and no repetition would bring them: they
    are missing data with a warning, not a failure, as long as every cell has a verdict on half of its trials. The same holds for
    a program that a path needs and that is not installed. ``every``: nobody chose the paths, so one that can't be tried or whose
    control is broken takes only itself out, as long as another one is left.
    """
    from crosspath.analysis import inconclusive
    from crosspath.analysis.coverage import inconclusive_declining, untried

    facts, decompositions = evaluation.facts, evaluation.judgement.decompositions
    usable = [one for one in decompositions if one.control.status != "broken" and not untried(one)]
    decompositions = tuple(usable) if every and usable else decompositions
    faults = [record.fault for record in (*facts.trials, *facts.replays) if record.fault]
    if any(d.control.status == "broken" for d in decompositions):
        return EXIT_INVALID
    if any(fault.boundary == "budget" for fault in faults):
        return EXIT_INCONCLUSIVE
    if evaluation.tracking_error or any(fault.type not in ("not_recorded", "missing_program") for fault in faults):
        return EXIT_INFRASTRUCTURE
    thin = any(map(inconclusive, decompositions)) or inconclusive_declining(decompositions, evaluation.judgement.abstentions)
    return EXIT_INCONCLUSIVE if thin else EXIT_DONE
