"""A plain list of tasks as YAML: the exchange format without JSON, templates or tiers."""

from itertools import count

from crosspath.tasks.exchange import tasks_of
from crosspath.tasks.families import expand_family, family_document
from crosspath.tasks.places import Place
from crosspath.types import Task


def parse_yaml_tasks(text: str, source: str) -> tuple[Task, ...]:
    """The tasks of a YAML file: a list of tasks, or a family.

    Raises:
        ConfigError: with file, line and field.
    """
    document = family_document(text, source)
    if not isinstance(document.value, list):
        return expand_family(text, source)
    places = (Place(f"{source}:{document.line((number,))}") for number in count())
    return tasks_of(zip(places, document.value, strict=False), Place(source), "no task in this list")
