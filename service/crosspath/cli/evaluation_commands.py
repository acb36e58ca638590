"""Commands about evaluations: run, plan, prompts, replay, show, log."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from crosspath.cli.finishing import finish
from crosspath.cli.output import (
    JsonFlag,
    PathsOption,
    SpecOption,
    StoreOption,
    live_progress,
    print_json,
    print_json_lines,
    remark,
    say,
)
from crosspath.errors import ConfigError

SpecFile = Annotated[Path, typer.Argument(help="The spec, a YAML file.")]
EvaluationId = Annotated[str, typer.Argument(help="Id in the ledger, `latest`, or an MLflow run.")]
ExecutorOption = Annotated[str | None, typer.Option("--executor", help="local or ray (default: what the spec says, else ray).")]
SandboxOption = Annotated[
    str | None, typer.Option("--sandbox", help="bubblewrap, or none: replies run unprotected (default: what the spec says).")
]
NoMlflow = Annotated[bool, typer.Option("--no-mlflow", help="Keep the result in the ledger only.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    from crosspath.cli.report_command import report
    from crosspath.cli.validate_command import validate

    for command in (run, plan, prompts, replay, validate, report, show, log):
        app.command()(command)


def run(
    spec: SpecFile,
    reference: Annotated[
        bool, typer.Option("--reference", help="Measure what later runs of the spec's deployment are compared with.")
    ] = False,
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
            spec,
            reference=reference,
            store=store,
            executor=chosen,
            sandbox=sandbox,
            track=not no_mlflow,
            progress=progress,
            notify=remark,
        )
    finish(evaluation, as_json)


def plan(
    spec: SpecFile,
    like: Annotated[
        str | None,
        typer.Option("--like", help="An earlier EVALUATION[:CANDIDATE] that varies as this one may; default: stated spreads."),
    ] = None,
    policy: Annotated[
        Path | None, typer.Option("--policy", help="A gate's policy: how likely it lets an equal candidate pass, by trials.")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Say what a spec will do, cost at worst and be able to show. Nothing is sent, executed or written."""
    from crosspath.app import api
    from crosspath.app.planning import plan_document, plan_text
    from crosspath.app.resolve import read_policy

    asked = read_policy(policy) if policy else None
    evaluation, _, candidate = (like or "").partition(":")
    earlier = api.load(evaluation, store=store) if evaluation else None
    document = plan_document(spec, like=earlier, policy=asked, candidate=candidate or None)
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


def log(
    evaluation: EvaluationId = "latest",
    traces: Annotated[
        str | None,
        typer.Option("--traces", metavar="N|all", help="Failing tasks with a trace of every stage; all: and a row per task."),
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Log an evaluation to MLflow again, for when the server could not be reached, or for more traces."""
    from crosspath.app import api

    finish(api.log(evaluation, store=store, traces=_traces(traces)), as_json)


def _traces(text: str | None) -> int | Literal["all"] | None:
    if text is None or text == "all":
        return text
    if not text.isascii() or not text.isdecimal():
        raise ConfigError(f"{text!r} is no number of traces; write 0 or more, or all", field="--traces")
    return int(text)


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
