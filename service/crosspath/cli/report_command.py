"""``crosspath report``."""

from crosspath.cli.evaluation_commands import EvaluationId
from crosspath.cli.finishing import document_of
from crosspath.cli.output import JsonFlag, StoreOption, print_json, say


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
