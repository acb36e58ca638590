"""Task families: one YAML file that expands to tasks.

The head of a family is a task of the exchange format in which every text is a Jinja template over variables. Each variant gives
the variables, and may replace fields of the head. What stands in a variant is literal: a payload with ``{{`` in it needs no
escaping.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

from crosspath.strict_yaml import Document, read_document
from crosspath.tasks.choosing import same_name
from crosspath.tasks.exchange import TASK_FIELDS, task_from_object
from crosspath.tasks.places import Place, as_json, as_list, as_object, as_text
from crosspath.tasks.templates import render
from crosspath.types import Task

OWN_FIELDS = ("name", "summary", "incident", "defaults", "variants", "canary", "heldout")
"""Fields of a family that are no fields of a task."""
NOT_TEMPLATES = ("id", "family", "tier", "hazards", "partition", "twin", "canary")
TEMPLATE_FIELDS = tuple(name for name in TASK_FIELDS if name not in NOT_TEMPLATES)
VARIANT_FIELDS = ("name", "vars", "tier", "hazards", *TEMPLATE_FIELDS)
NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


family_document = lru_cache(maxsize=64)(read_document)
"""A file's document, read once for all questions about it; nobody may change what it holds."""


def expand_family(text: str, source: str) -> tuple[Task, ...]:
    """The tasks of a family, in the order of its variants; ids are ``family/variant``.

    Raises:
        ConfigError: with file, line and field.
    """
    family = read_family(text, source)
    tasks = tuple(_task(variant, family) for variant in family.variants)
    require_unique_names(tasks, family.place.at("variants"))
    return tasks


@dataclass(frozen=True)
class Variant:
    """One variant as it is written."""

    name: str
    fields: Mapping[str, object]
    place: Place


@dataclass(frozen=True)
class Family:
    """A family as it is written: what its variants share, and the variants."""

    name: str
    template: Mapping[str, object]
    """Fields of the exchange format whose texts are templates."""
    defaults: Mapping[str, object]
    meta: Mapping[str, object]
    variants: tuple[Variant, ...]
    heldout: Mapping[str, object] | None
    """How payloads are drawn afresh; None where the family does not say."""
    place: Place


def read_family(text: str, source: str) -> Family:
    """The parts of a family file.

    Raises:
        ConfigError: with file, line and field.
    """
    document = family_document(text, source)
    place = Place(source)
    head = as_object(document.value, place, (*OWN_FIELDS, *TEMPLATE_FIELDS))
    heldout = head.get("heldout")
    return Family(
        name=_name(head.get("name"), place.at("name")),
        template={name: value for name, value in head.items() if name in TEMPLATE_FIELDS and value is not None},
        defaults=as_json(head.get("defaults") or {}, place.at("defaults")),
        meta=_about(head, place),
        variants=tuple(_variants(head, document, source)),
        heldout=None if heldout is None else as_object(heldout, place.at("heldout")),
        place=place,
    )


def task_of(family: Family, own: Mapping[str, object], variables: Mapping[str, object], place: Place) -> Task:
    """The task that the family's templates and a variant's ``own`` fields make together; ``own`` is not rendered.

    Raises:
        ConfigError: a template can't be rendered, or the result is no task.
    """
    template = {field: value for field, value in family.template.items() if field not in own}
    rendered = cast(dict[str, object], render(template, variables, place))
    task = {"family": family.name, **rendered, **own}
    return task_from_object({**task, "meta": {**family.meta, **as_json(task.get("meta") or {}, place.at("meta"))}}, place)


def _variants(head: Mapping[str, object], document: Document, source: str) -> Iterator[Variant]:
    variants = as_list(head.get("variants"), Place(source, "variants"))
    if not variants:
        raise Place(source, "variants").refuse("give at least one")
    for number, variant in enumerate(variants):
        place = Place(f"{source}:{document.line(('variants', number))}", f"variants[{number}]")
        fields = as_object(variant, place, VARIANT_FIELDS)
        yield Variant(_name(fields.get("name"), place.at("name")), fields, place)


def _task(variant: Variant, family: Family) -> Task:
    own = {field: value for field, value in variant.fields.items() if field not in ("name", "vars")}
    variables = {**family.defaults, **as_json(variant.fields.get("vars") or {}, variant.place.at("vars"))}
    return task_of(family, {"id": f"{family.name}/{variant.name}", **own}, variables, variant.place)


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


def require_unique_names(tasks: tuple[Task, ...], place: Place) -> None:
    """Raise where two tasks of a family have one id, up to case and Unicode form.

    Raises:
        ConfigError: naming the id.
    """
    seen: set[str] = set()
    for task in tasks:
        if same_name(task.id) in seen:
            raise place.refuse(f"two variants give the task {task.id!r}")
        seen.add(same_name(task.id))
