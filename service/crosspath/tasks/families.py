"""Task families: one YAML file that expands to tasks.

The head of a family is a task of the exchange format in which every text is a Jinja template over variables. Each variant gives
the variables, and may replace fields of the head. What stands in a variant is literal: a payload with ``{{`` in it needs no
escaping.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from crosspath.strict_yaml import Document, read_document
from crosspath.tasks.choosing import same_name
from crosspath.tasks.exchange import TASK_FIELDS, task_from_object
from crosspath.tasks.places import Place, as_json, as_list, as_object, as_text
from crosspath.tasks.templates import render
from crosspath.types import Task

OWN_FIELDS = ("name", "summary", "incident", "defaults", "variants", "canary")
"""Fields of a family that are no fields of a task."""
NOT_TEMPLATES = ("id", "family", "tier", "hazards", "partition", "twin", "canary")
TEMPLATE_FIELDS = tuple(name for name in TASK_FIELDS if name not in NOT_TEMPLATES)
VARIANT_FIELDS = ("name", "vars", "tier", "hazards", *TEMPLATE_FIELDS)
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def expand_family(text: str, source: str) -> tuple[Task, ...]:
    """The tasks of a family, in the order of its variants; ids are ``family/variant``.

    Raises:
        ConfigError: with file, line and field.
    """
    document = read_document(text, source)
    place = Place(source)
    head = as_object(document.value, place, (*OWN_FIELDS, *TEMPLATE_FIELDS))
    family = _Family(
        name=_name(head.get("name"), place.at("name")),
        template={name: value for name, value in head.items() if name in TEMPLATE_FIELDS and value is not None},
        defaults=as_json(head.get("defaults") or {}, place.at("defaults")),
        meta=_about(head, place),
    )
    tasks = tuple(_task(variant, family, there) for there, variant in _variants(head, document, source))
    _require_unique_names(tasks, place)
    return tasks


@dataclass(frozen=True)
class _Family:
    """The head of a family: what all of its variants share."""

    name: str
    template: dict[str, object]
    defaults: dict[str, object]
    meta: dict[str, object]


def _variants(head: Mapping[str, object], document: Document, source: str) -> list[tuple[Place, dict[str, object]]]:
    variants = as_list(head.get("variants"), Place(source, "variants"))
    if not variants:
        raise Place(source, "variants").refuse("give at least one")
    places = [Place(f"{source}:{document.line(('variants', number))}", f"variants[{number}]") for number in range(len(variants))]
    return [(place, as_object(variant, place, VARIANT_FIELDS)) for place, variant in zip(places, variants, strict=True)]


def _task(variant: Mapping[str, object], family: _Family, place: Place) -> Task:
    name = _name(variant.get("name"), place.at("name"))
    variables = {**family.defaults, **as_json(variant.get("vars") or {}, place.at("vars"))}
    own = {field: value for field, value in variant.items() if field not in ("name", "vars")}
    template = {field: value for field, value in family.template.items() if field not in own}
    rendered = cast(dict[str, object], render(template, variables, place))
    task = {"id": f"{family.name}/{name}", "family": family.name, **rendered, **own}
    return task_from_object({**task, "meta": {**family.meta, **as_json(task.get("meta") or {}, place.at("meta"))}}, place)


def _about(head: Mapping[str, object], place: Place) -> dict[str, object]:
    about = {name: as_text(head[name], place.at(name), empty=False) for name in ("summary", "incident", "canary") if name in head}
    if "incident" in about and not about["incident"].startswith(("https://", "http://")):
        raise place.at("incident").wrong(about["incident"], "a link to a public report")
    return dict(about)


def _name(value: object, place: Place) -> str:
    text = as_text(value, place, empty=False) if value is not None else ""
    if not NAME.fullmatch(text):
        raise place.wrong(value, "a name in lower case, such as 'exact-file'")
    return text


def _require_unique_names(tasks: tuple[Task, ...], place: Place) -> None:
    seen: set[str] = set()
    for task in tasks:
        if same_name(task.id) in seen:
            raise place.at("variants").refuse(f"two variants give the task {task.id!r}")
        seen.add(same_name(task.id))
