"""Commands about the installation: demo, doctor, ui."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from crosspath.cli.evaluation_commands import ExecutorOption, NoMlflow, SandboxOption
from crosspath.cli.exits import EXIT_INFRASTRUCTURE
from crosspath.cli.finishing import finish
from crosspath.cli.output import JsonFlag, StoreOption, live_progress, print_json, print_table, remark, say
from crosspath.errors import ConfigError


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (demo, doctor, ui):
        app.command()(command)


def demo(
    executor: ExecutorOption = None,
    sandbox: SandboxOption = None,
    store: StoreOption = None,
    no_mlflow: NoMlflow = False,
    as_json: JsonFlag = False,
) -> None:
    """Take three baselines apart on one broken path: no model, no key, no cost."""
    from crosspath import catalogue
    from crosspath.app import api

    spec = catalogue.catalogue_dir("deploy") / "demo.yaml"
    with live_progress(quiet=as_json) as progress:
        evaluation = api.evaluate(
            spec,
            store=store,
            executor=executor or "ray",
            sandbox=sandbox,
            track=not no_mlflow,
            progress=progress,
            notify=remark,
        )
    finish(evaluation, as_json)


def doctor(
    spec: Annotated[Path | None, typer.Argument(help="Also check the model endpoints of this spec.")] = None,
    spec_option: Annotated[Path | None, typer.Option("--spec", help="The same, as an option.")] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Check sandbox, limits, store, MLflow, Ray and endpoints; print the one fix for each trouble."""
    from crosspath.app.doctor import diagnose

    if spec and spec_option:
        raise ConfigError("give the spec once, as an argument or with --spec")
    findings = diagnose(store, spec or spec_option, notify=remark if sys.stderr.isatty() else lambda _: None)
    if as_json:
        print_json(findings)
    else:
        print_table(("what", "state", "finding"), [(f["what"], f["status"], f["detail"]) for f in findings])
        for finding in findings:
            if finding["fix"]:
                say(f"to mend {finding['what']}: {finding['fix']}")
    if any(finding["status"] == "trouble" for finding in findings):
        raise typer.Exit(EXIT_INFRASTRUCTURE)


def ui(
    evaluation: Annotated[
        str | None, typer.Argument(help="Open the store that holds this evaluation (an id, `latest`, or its run).")
    ] = None,
    port: Annotated[int, typer.Option("--port", min=1, max=65535, help="Port on 127.0.0.1.")] = 5000,
    tracking_uri: Annotated[
        str | None, typer.Option("--tracking-uri", help="Open this store (default: $MLFLOW_TRACKING_URI, else the embedded one).")
    ] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Serve MLflow's UI on the embedded store until Ctrl-C, or say where the server is."""
    from crosspath.app.serving import require_free, serve, ui_plan

    plan = ui_plan(evaluation, tracking_uri, store, port)
    if as_json:
        print_json({"url": plan.url, "store": plan.store, "command": plan.command, "environment": plan.shown_environment})
        return
    if not plan.command:
        say(f"MLflow: {plan.url}")
        return
    require_free(port)
    remark(f"starting MLflow on {plan.store}")
    serve(plan, ready=lambda url: say(f"MLflow: {url}\nserves {plan.store}; stop it with Ctrl-C"), complain=remark)
