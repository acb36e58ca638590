"""Commands about registered models: register, promote --finish, rollback, decisions."""

import shlex
from typing import TYPE_CHECKING, Annotated

import typer

from crosspath.cli.evaluation_commands import EvaluationId
from crosspath.cli.output import JsonFlag, StoreOption, print_json, print_table, say
from crosspath.errors import ConfigError

if TYPE_CHECKING:
    from crosspath.ports import Registry
    from crosspath.types import Decision

ModelName = Annotated[str, typer.Argument(metavar="NAME", help="The registered model.")]
AliasName = Annotated[str, typer.Argument(metavar="ALIAS", help="One of its aliases.")]


def register(app: typer.Typer) -> None:
    """Add the commands to the tree."""
    app.command(name="register")(register_candidate)
    for command in (promote, rollback, decisions):
        app.command()(command)


def register_candidate(
    evaluation: EvaluationId,
    model: Annotated[str, typer.Option("--model", metavar="NAME", help="Registered model; made where there is none.")],
    candidate: Annotated[str | None, typer.Option("--candidate", help="Which candidate (default: the only one).")] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Make a candidate of a logged evaluation a version of a registered model in MLflow. Twice is once."""
    from crosspath.app import promoting

    version = promoting.register(_registry(store), evaluation, candidate, model, store=store)
    if as_json:
        print_json(version.model_dump(mode="json"))
        return
    say(f"models:/{version.model}/{version.version} is {version.candidate} of {version.evaluation}")
    say(f"gate it: crosspath gate POLICY --candidate models:/{version.model}/{version.version} [--baseline ...]")


def promote(
    model: ModelName,
    alias: AliasName,
    finish: Annotated[bool, typer.Option("--finish", help="Carry out a promotion that was killed before its end.")] = False,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """Carry out a decision that was left unfinished. New promotions are a gate's: crosspath gate ... --promote ALIAS."""
    if not finish:
        words = f"an alias is moved by a verdict: crosspath gate POLICY --candidate ... --promote {alias} --model {model}"
        raise ConfigError(f"{words}; --finish carries out one that was killed")
    _print(_registry(store).finish(model, alias), as_json=as_json)


def rollback(model: ModelName, alias: AliasName, store: StoreOption = None, as_json: JsonFlag = False) -> None:
    """Put an alias back to where it was before its last promotion; also one that was killed before its end."""
    _print(_registry(store).rollback(model, alias), as_json=as_json)


def decisions(
    model: ModelName,
    alias: Annotated[str | None, typer.Option("--alias", help="Only those about this alias.")] = None,
    store: StoreOption = None,
    as_json: JsonFlag = False,
) -> None:
    """When the aliases of a model moved, from where to where, and on which verdict."""
    from crosspath.app import promoting

    registry = _registry(store)
    entries, places = registry.decisions(model, alias), registry.aliases(model)
    places = {name: version for name, version in places.items() if alias in (None, name)}
    if as_json:
        print_json(promoting.history_document(model, entries, places))
    else:
        if entries:
            print_table(promoting.HISTORY_COLUMNS, promoting.history_rows(entries))
        else:
            say(f"no decision about {model}{f'@{alias}' if alias else ''} yet")
        for line in promoting.history_remarks(model, entries, places):
            say(line)


def _registry(store: str | None) -> "Registry":
    """MLflow's, unless nothing was ever logged there: asking would make an empty store."""
    from crosspath.app import adapters

    directory = adapters.store_directory(store)
    if adapters.is_missing(adapters.tracking_uri(directory)):
        raise ConfigError(f"nothing was logged to {adapters.without_password(adapters.tracking_uri(directory))} yet")
    return adapters.make_registry(directory)


def _print(done: "Decision", *, as_json: bool) -> None:
    from crosspath.store.promotions import entry_words, version_words

    if as_json:
        print_json(done.model_dump(mode="json", exclude={"token"}))
        return
    say(f"{done.model}@{done.alias} is {version_words(done.to_version)} now: {entry_words(done)}")
    say(f"the whole history: crosspath decisions {shlex.quote(done.model)}")
