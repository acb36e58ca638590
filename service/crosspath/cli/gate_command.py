"""``crosspath gate``: a verdict by a policy, as text, JSON, JUnit XML or Markdown, with the exit code that a CI job needs."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

import typer

from crosspath.cli.evaluation_commands import ExecutorOption, NoMlflow, SandboxOption
from crosspath.cli.output import JsonFlag, StoreOption, chosen_format, live_progress, print_json, remark, say
from crosspath.escaping import one_line

if TYPE_CHECKING:
    from crosspath.app.gating import Gate

Format = Literal["terminal", "json", "junit", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)
REFS = "an evaluation, `latest`, an MLflow run, models:/NAME/VERSION or models:/NAME@ALIAS; :NAME behind it is its candidate"


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(gate)


def gate(
    policy: Annotated[Path, typer.Argument(help="The policy, a YAML file.")],
    candidate: Annotated[
        str | None, typer.Option("--candidate", help=f"What may be released: {REFS} (default: as the policy says).")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option("--baseline", help="What it is compared with, in the same forms (default: as the policy says).")
    ] = None,
    promote: Annotated[
        str | None, typer.Option("--promote", metavar="ALIAS", help="On PASS, move this alias to the candidate's version.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option("--model", help="The registered model whose alias it is (default: the candidate's or baseline's)."),
    ] = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", help="The candidate in this spec must be what was evaluated, field by field.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for verdict and evidence (default: below the store).")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a verdict that is there.")] = False,
    form: Annotated[
        str | None, typer.Option("--format", help=f"What is printed: {', '.join(FORMATS)} (default: {FORMATS[0]}).")
    ] = None,
    executor: ExecutorOption = None,
    sandbox: SandboxOption = None,
    store: StoreOption = None,
    no_mlflow: NoMlflow = False,
    as_json: JsonFlag = False,
) -> None:
    """Decide whether a candidate may be released: PASS (exit code 0), FAIL (1), INCONCLUSIVE (3) or INVALID (4).

    The stored replies of both sides are replayed anew first; no model is asked anything.
    """
    chosen = chosen_format(form, as_json, FORMATS)
    from crosspath.app import gating

    with live_progress(quiet=chosen == "json") as progress:
        done = gating.gate(
            policy,
            candidate=candidate,
            baseline=baseline,
            promote=promote,
            model=model,
            spec=spec,
            output=output,
            force=force,
            store=store,
            executor=executor,
            usual_executor="ray",
            sandbox=sandbox,
            track=not no_mlflow,
            progress=progress,
            notify=remark,
        )
    _print(done, chosen)
    _say_failures(done)
    if done.exit_code:
        raise typer.Exit(done.exit_code)


def _print(done: "Gate", form: str) -> None:
    from crosspath.reports.gate_junit import gate_junit
    from crosspath.reports.gate_markdown import gate_markdown
    from crosspath.reports.gate_terminal import gate_terminal

    if form == "json":
        print_json(document(done))
    elif form == "junit":
        say(gate_junit(done.verdict).rstrip("\n"))
    elif form == "markdown":
        say(gate_markdown(done.verdict).rstrip("\n"))
    else:
        say(gate_terminal(done.verdict).rstrip("\n"))
        _say_places(done)


def document(done: "Gate") -> dict[str, Any]:
    """What ``verdict.json`` holds, and nothing else."""
    return done.verdict.model_dump(mode="json")


def _say_places(done: "Gate") -> None:
    directory = one_line(str(done.directory))
    say(f"\nverdict     {done.verdict.id}, in {directory}")
    if done.url:
        say(f"in MLflow   {one_line(done.url)}")
    if done.opens_with:
        say(f"            {one_line(done.opens_with)}   opens it")
    if done.decision:
        moved, model = done.decision, one_line(done.decision.model)
        say(f"promoted    {model}@{moved.alias} is version {moved.to_version}, was {_version(moved.from_version)}")
        say(f"            crosspath rollback {shlex.quote(model)} {moved.alias}   takes it back")
    say(f"to check it: crosspath audit {one_line(shlex.quote(str(done.directory)))}")


def _version(number: int | None) -> str:
    return "nothing" if number is None else f"version {number}"


def _say_failures(done: "Gate") -> None:
    if done.tracking_error:
        remark(f"crosspath: the verdict is not in MLflow: {one_line(done.tracking_error)}; the same command gates and logs again")
    if done.promotion_error:
        remark(f"crosspath: not promoted: {one_line(done.promotion_error)}")
