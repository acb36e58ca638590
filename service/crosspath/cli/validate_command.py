"""``crosspath validate``: stored final states by other validators, and which verdicts depend on the choice."""

from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.evaluation_commands import EvaluationId, NoMlflow
from crosspath.cli.finishing import document_of, leave
from crosspath.cli.output import JsonFlag, StoreOption, print_json, print_table, remark, say
from crosspath.cli.summary import print_summary

if TYPE_CHECKING:
    from crosspath.analysis.verdict_sensitivity import DependingVerdict, VerdictSensitivity
    from crosspath.app.evaluation import Evaluation
    from crosspath.app.validation import Validation

LISTED = 50
"""Depending verdicts that are printed for a person; `--json` has all."""


def validate(
    evaluation: EvaluationId,
    validator: Annotated[
        list[str], typer.Option("--validator", help="Name of a validator, or a suite file; repeat for several.")
    ],
    store: StoreOption = None,
    no_mlflow: NoMlflow = False,
    as_json: JsonFlag = False,
) -> None:
    """Judge stored final states with other validators, and say which verdicts depend on them. No model, no sandbox."""
    from crosspath.app import api

    found = api.validate(evaluation, validator, store=store, track=not no_mlflow, notify=remark)
    if as_json:
        documents = [document_of(each) for each in found.evaluations]
        whole = documents[0] if len(documents) == 1 else {"evaluations": documents}
        print_json({**whole, "sensitivity": found.sensitivity.as_dict()})
    else:
        _print(found)
    leave(*found.evaluations)


def _print(found: "Validation") -> None:
    if len(found.evaluations) == 1:
        print_summary(found.evaluations[0])
    else:
        for each in found.evaluations:
            _print_short(each, found.source)
    _print_sensitivity(found.sensitivity)


def _print_short(each: "Evaluation", source: "Evaluation") -> None:
    """Where it is kept, and what is to be known about it beyond its source."""
    words = each.facts.head.derivation if each.id != source.id else "as it is"
    say(f"evaluation  {each.id}  ({words})")
    if each.url:
        say(f"in MLflow   {each.url}")
    for warning in each.judgement.warnings:
        if warning not in source.judgement.warnings:
            say(f"WARNING: {warning}")


def _print_sensitivity(found: "VerdictSensitivity") -> None:
    say(f"\nPassed by what counts as passing (first replay of each trial, {found.compared} verdicts):")
    counts = [(cell.candidate, cell.cell, cell.scored, *cell.passed.values()) for cell in found.cells]
    print_table(("candidate", "cell", "trials", *found.validators), counts)
    if not found.verdicts:
        say("No verdict depends on the validator.")
        return
    number = len(found.verdicts)
    say(f"{number} of {found.compared} verdicts depend{'s' if number == 1 else ''} on the validator:")
    columns = ("candidate", "cell", "task", "trial", *found.validators, "why it fails")
    print_table(columns, [_row(each) for each in found.verdicts[:LISTED]])
    if number > LISTED:
        say(f"and {number - LISTED} more: --json has them all")


def _row(verdict: "DependingVerdict") -> tuple[object, ...]:
    said = ("passes" if passed else "fails" for passed in verdict.passed.values())
    return (verdict.candidate, verdict.cell, verdict.task, verdict.trial, *said, _why(verdict))


def _why(verdict: "DependingVerdict") -> str:
    """Each reason once, with those who give it."""
    by_reason: dict[str, list[str]] = {}
    for name, reason in verdict.reasons.items():
        by_reason.setdefault(reason, []).append(name)
    return "; ".join(f"{', '.join(names)}: {reason}" for reason, names in by_reason.items())
