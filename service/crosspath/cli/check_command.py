"""``crosspath tasks check``: the proofs of the catalogue, or of a user's own tasks."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.exits import EXIT_FAIL
from crosspath.cli.output import Interrupted, JsonFlag, counted_progress, print_json, print_table, say

if TYPE_CHECKING:
    from crosspath.app.task_checks import Finding, Report


def check_tasks(
    file: Annotated[
        list[Path] | None, typer.Option("--file", help="A task file of your own (YAML or JSON lines); default: the catalogue.")
    ] = None,
    tasks_dir: Annotated[
        Path | None, typer.Option("--tasks-dir", help="Directory of your own: every .yaml, .yml and .jsonl in it.")
    ] = None,
    validator: Annotated[
        str, typer.Option("--validator", help="Suite that judges and is audited: a name or a YAML file.")
    ] = "exact",
    transport: Annotated[
        list[str] | None,
        typer.Option("--transport", "-t", help="A path that right commands must survive, encoded; default: a few plain ones."),
    ] = None,
    all_transports: Annotated[
        bool, typer.Option("--all-transports", help="Every path that ships and can be survived (takes minutes).")
    ] = False,
    heldout_seed_env: Annotated[
        str | None,
        typer.Option("--heldout-seed-env", help="Variable with a seed: the tasks drawn from it in place of the public ones."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Prove that each task measures something, and that no wrong final state passes; say what would mend a weak one."""
    try:
        names = _transports(transport, everything=all_transports)
        report = _checked(file or [], tasks_dir, validator, names, heldout_seed_env, quiet=as_json)
    except KeyboardInterrupt:
        raise Interrupted("interrupted; the same command begins anew") from None
    if as_json:
        print_json(report.as_document())
    else:
        _print(report)
    if report.counts["fails"]:
        raise typer.Exit(EXIT_FAIL)


def _transports(given: list[str] | None, *, everything: bool) -> list[str] | None:
    """The paths to prove; None: those that always are."""
    from crosspath.errors import ConfigError
    from crosspath.transports import survivable_presets

    if not everything:
        return given
    if given:
        raise ConfigError("give --transport or --all-transports, not both", field="--all-transports")
    return [name for name in survivable_presets() if name != "raw"]


def _checked(
    files: list[Path], directory: Path | None, validator: str, transports: list[str] | None, seed: str | None, *, quiet: bool
) -> "Report":
    from crosspath.app.heldout import seed_named
    from crosspath.app.task_checks import check, read_sources

    sources = read_sources(files, directory, seed_named(seed))
    with counted_progress(quiet=quiet) as notify:
        return check(sources, validator=validator, transports=transports, notify=notify)


def _print(report: "Report") -> None:
    """What fails and how to mend it, the audit by what was changed, what was not tried and why, and the sums."""
    for line in _failing_lines(report.having("fails")):
        say(line)
    if report.mutations:
        print_table(("changed", "rejected", "kinds of change"), list(_audit_rows(report)))
    missing = Counter((finding.proof.partition(":")[0], finding.detail) for finding in report.having("not tried"))
    if missing:
        print_table(("not tried", "because", "how often"), [(*what, count) for what, count in missing.items()])
    counts, (rejected, applicable) = report.counts, report.audit
    say(
        f"{report.tasks} tasks, {counts['holds']} proofs hold, {counts['fails']} fail, {counts['not tried']} not tried; "
        f"{rejected} of {applicable} mutations rejected"
    )


def _failing_lines(failing: Sequence["Finding"]) -> Iterator[str]:
    """A line for each, and what would mend it: once, where the same would mend several."""
    for mend in dict.fromkeys(finding.mend for finding in failing):
        alike = [finding for finding in failing if finding.mend == mend]
        yield from (f"! {finding.subject}: {finding.proof}: {finding.detail}" for finding in alike)
        yield f"    mend: {mend}"


def _audit_rows(report: "Report") -> Iterator[tuple[str, str, str]]:
    facts = dict.fromkeys(tally.fact for tally in report.mutations.values())
    for fact in facts:
        kinds = {kind: tally for kind, tally in report.mutations.items() if tally.fact == fact}
        rejected, applicable = (sum(getattr(tally, side) for tally in kinds.values()) for side in ("rejected", "applicable"))
        shown = (
            f"{kind} {tally.rejected}" + (f" of {tally.applicable}" if tally.rejected < tally.applicable else "")
            for kind, tally in kinds.items()
        )
        yield fact, f"{rejected} of {applicable}", ", ".join(shown)
