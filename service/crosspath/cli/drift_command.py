"""``crosspath drift``: what changed in a deployment over time, as text, JSON or Markdown, with an exit code for a daily job."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import typer

from crosspath.cli.evaluation_commands import ExecutorOption, SandboxOption
from crosspath.cli.output import JsonFlag, StoreOption, chosen_format, live_progress, print_json, remark, say
from crosspath.escaping import one_line

if TYPE_CHECKING:
    from crosspath.app.drift_looks import Look

Format = Literal["terminal", "json", "markdown"]
FORMATS: tuple[Format, ...] = get_args(Format)


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(drift)


def drift(
    deployment: Annotated[str, typer.Argument(help="Its name, as `deployment:` of specs has it.")],
    experiment: Annotated[
        str | None, typer.Option("--experiment", help="MLflow's experiment (default: the one that has the deployment).")
    ] = None,
    spec: Annotated[
        Path | None, typer.Option("--spec", help="Execute the frozen replies with the harness that this spec defines.")
    ] = None,
    no_replay: Annotated[
        bool, typer.Option("--no-replay", help="Don't execute the frozen replies again: the toolchain is not measured then.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Directory for the look as JSON, Markdown and figures.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a look that is there.")] = False,
    form: Annotated[
        str | None, typer.Option("--format", help=f"What is printed: {', '.join(FORMATS)} (default: {FORMATS[0]}).")
    ] = None,
    executor: ExecutorOption = None,
    sandbox: SandboxOption = None,
    store: StoreOption = None,
    no_mlflow: Annotated[bool, typer.Option("--no-mlflow", help="Don't log the look; the history is read from there.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Tell what changed in a deployment since its reference: configuration, toolchain or provider.

    Exit code 0: no drift, 1: drift, 3: not enough evidence yet, 4: could not measure. No model is asked anything.
    """
    chosen = chosen_format(form, as_json, FORMATS)
    from crosspath.app import drifting

    with live_progress(quiet=chosen == "json") as progress:
        look = drifting.drift(
            deployment,
            experiment=experiment,
            spec=spec,
            store=store,
            output=output,
            force=force,
            executor=executor,
            sandbox=sandbox,
            frozen=not no_replay,
            track=not no_mlflow,
            progress=progress,
            notify=remark,
        )
    _print(look, chosen)
    if look.tracking_error:
        remark(f"crosspath: the look is not in MLflow: {one_line(look.tracking_error)}; the same command looks and logs again")
    if look.exit_code:
        raise typer.Exit(look.exit_code)


def _print(look: "Look", form: str) -> None:
    from crosspath.reports.drift_markdown import drift_markdown
    from crosspath.reports.drift_terminal import drift_terminal

    if form == "json":
        print_json(look.drift.model_dump(mode="json"))
    elif form == "markdown":
        say(drift_markdown(look.drift).rstrip("\n"))
    else:
        say(drift_terminal(look.drift).rstrip("\n"))
        _say_places(look)


def _say_places(look: "Look") -> None:
    if look.directory or look.url:
        say("")
    if look.directory:
        say(f"look        {look.drift.id}, in {one_line(str(look.directory))}")
    if look.url:
        say(f"in MLflow   {one_line(look.url)}")
    if look.opens_with:
        say(f"            {one_line(look.opens_with)}   opens it")
