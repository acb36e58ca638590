"""Commands about evaluations: run, plan, prompts, replay, validate, report, show, log."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crosspath.cli.exits import EXIT_DONE, EXIT_INCONCLUSIVE, EXIT_INFRASTRUCTURE, EXIT_INVALID
from crosspath.cli.output import (
    JsonFlag,
    PathsOption,
    SpecOption,
    StoreOption,
    live_progress,
    print_json,
    print_json_lines,
    print_table,
    remark,
    say,
)

if TYPE_CHECKING:
    from crosspath.app.evaluation import Evaluation

SpecFile = Annotated[Path, typer.Argument(help="The spec, a YAML file.")]
EvaluationId = Annotated[str, typer.Argument(help="Id in the ledger, `latest`, or an MLflow run.")]
ExecutorOption = Annotated[str | None, typer.Option("--executor", help="local or ray (default: what the spec says, else ray).")]
SandboxOption = Annotated[
    str | None, typer.Option("--sandbox", help="bubblewrap, or none: replies run unprotected (default: what the spec says).")
]
NoMlflow = Annotated[bool, typer.Option("--no-mlflow", help="Keep the result in the ledger only.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    from crosspath.cli.validate_command import validate

    for command in (run, plan, prompts, replay, validate, report, show, log):
        app.command()(command)


def run(
    spec: SpecFile,
    executor: ExecutorOption = None,
    sandbox: SandboxOption = None,
    store: StoreOption = None,
    no_mlflow: NoMlflow = False,
    as_json: JsonFlag = False,
) -> None:
    """Evaluate a spec. The same command goes on with an evaluation that was interrupted."""
    from crosspath.app import api
    from crosspath.app.resolve import read_spec

    asked, _ = read_spec(spec)
    chosen = executor or asked.executor.kind or "ray"
    with live_progress(quiet=as_json) as progress:
        evaluation = api.evaluate(
            spec, store=store, executor=chosen, sandbox=sandbox, track=not no_mlflow, progress=progress, notify=remark
        )
    finish(evaluation, as_json)


def plan(
    spec: SpecFile,
    as_json: JsonFlag = False,
) -> None:
    """Say what a spec will do and cost at worst. Nothing is sent, executed or written."""
    from crosspath.app.planning import plan_document, plan_text

    document = plan_document(spec)
    if as_json:
        print_json(document)
    else:
        say(plan_text(document))


def prompts(
    spec: SpecFile,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON line per request; add `reply` for a recording.")] = False,
) -> None:
    """Print what each model will be told, word for word. Nothing is sent.

    With `--json` each line is what a recorded reply needs but for `reply` (or `tool_calls`): answer the lines elsewhere, add it,
    and name the file as `recorded/FILE`.
    """
    from crosspath.app.prompts import prompts as every_prompt
    from crosspath.app.prompts import prompts_text

    found = every_prompt(spec)
    if as_json:
        print_json_lines(found)
    else:
        say(prompts_text(found))


def replay(
    evaluation: EvaluationId,
    transport: Annotated[list[str] | None, typer.Option("--transport", "-t", help="A path; repeat for several.")] = None,
    all_transports: Annotated[
        bool, typer.Option("--all-transports", help="Every path that ships and fits, and all of --spec or --paths.")
    ] = False,
    spec: SpecOption = None,
    paths: PathsOption = None,
    executor: ExecutorOption = None,
    sandbox: SandboxOption = None,
    store: StoreOption = None,
    no_mlflow: NoMlflow = False,
    as_json: JsonFlag = False,
) -> None:
    """Send stored replies through other paths. No model is asked anything."""
    from crosspath.app import api
    from crosspath.app.resolve import read_own

    if not transport and not all_transports:
        raise typer.BadParameter("name at least one path, or give --all-transports", param_hint="'--transport'")
    own = read_own(paths, spec)
    with live_progress(quiet=as_json) as progress:
        replayed = api.replay(
            evaluation,
            transport or (),
            all_transports=all_transports,
            store=store,
            executor=executor or "ray",
            sandbox=sandbox,
            own_paths=own.paths,
            base=own.base,
            track=not no_mlflow,
            progress=progress,
            notify=remark,
        )
    finish(replayed, as_json, every=all_transports)


def report(
    evaluation: EvaluationId = "latest",
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Print the whole report as Markdown."""
    from crosspath.app import api

    loaded = api.load(evaluation, store=store)
    if as_json:
        print_json(document_of(loaded))
    else:
        say(loaded.report())


def log(
    evaluation: EvaluationId = "latest",
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Log an evaluation to MLflow again, for when the server could not be reached."""
    from crosspath.app import api

    finish(api.log(evaluation, store=store), as_json)


def show(
    evaluation: EvaluationId,
    task: Annotated[str, typer.Argument(help="Task id.")],
    candidate: Annotated[str | None, typer.Option("--candidate", help="Only this candidate.")] = None,
    trial: Annotated[int, typer.Option("--trial", min=0, help="Which trial.")] = 0,
    shell: Annotated[bool, typer.Option("--shell", help="Open a shell in the sandbox, just before the command.")] = False,
    cell: Annotated[str | None, typer.Option("--cell", help="Only this cell: RR, RN, NR, NN or control.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Every cell in full, not only RR and the candidate's own.")] = False,
    full: Annotated[bool, typer.Option("--full", help="All that the model was told, not only what is about the path.")] = False,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Follow one task: instruction, reply, what each hop made of it, command, final state."""
    from crosspath.app import api
    from crosspath.app.showing import open_shell, select, shell_job, shell_notice, show_document, show_text

    loaded = api.load(evaluation, store=store)
    chosen = select(loaded.facts, task, candidate=candidate, trial=trial, cell=cell)
    if shell:
        job = shell_job(loaded, chosen)
        remark(shell_notice(job))
        raise typer.Exit(open_shell(loaded, job))
    document = show_document(loaded, chosen)
    if as_json:
        print_json(document)
    else:
        say(show_text(document, every=every or cell is not None, full=full))


# -- what they share -----------------------------------------------------------------------------------------------------


def document_of(evaluation: "Evaluation") -> dict[str, Any]:
    """An evaluation as one JSON document."""
    from crosspath.analysis import decomposition_tables

    facts, judgement = evaluation.facts, evaluation.judgement
    tables = decomposition_tables(judgement, facts.cells)
    return {
        "evaluation": evaluation.id,
        "name": facts.head.name,
        "status": facts.head.status,
        "derived_from": facts.head.derived_from,
        "derivation": facts.head.derivation,
        "lock_digest": facts.lock.digest,
        "warnings": list(judgement.warnings),
        "decompositions": [d.model_dump(mode="json") | {"blind": d.blind} for d in judgement.decompositions],
        "comparisons": [c.model_dump(mode="json") for c in judgement.comparisons],
        "abstentions": [a.model_dump(mode="json") for a in judgement.abstentions],
        "partition_gaps": [gap.model_dump(mode="json") for gap in judgement.partition_gaps],
        "style_spreads": [spread.model_dump(mode="json") for spread in judgement.style_spreads],
        "wording_spreads": [spread.model_dump(mode="json") for spread in judgement.wording_spreads],
        "path_rankings": [ranking.model_dump(mode="json") for ranking in judgement.path_rankings],
        "spend": judgement.spend.model_dump(mode="json"),
        "failures": tables.failures,
        "misreports": tables.misreports,
        "mlflow": {"run": evaluation.run_id, "url": evaluation.url, "error": evaluation.tracking_error},
    }


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


EFFECTS = ("damage", "compensation", "matched_gap")


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
