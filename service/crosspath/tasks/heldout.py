"""Held-out tasks: each variant of a family once more, with payloads drawn afresh from a seed and the same hazards.

The section ``heldout`` of a family says how: ``draw`` (name -> shape), ``vars`` (templates over what was drawn, in their order)
and fields of the exchange format that stand in place of the head's. ``tiers`` holds the same once more for single tiers. All of
its texts are templates; nothing of the public variants but name, tier and hazards is used.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from crosspath.errors import ConfigError
from crosspath.tasks.drawing import Draw, draw
from crosspath.tasks.families import (
    TEMPLATE_FIELDS,
    Family,
    Variant,
    family_document,
    read_family,
    require_unique_names,
    task_of,
)
from crosspath.tasks.places import Place, as_integer, as_object, as_texts
from crosspath.tasks.templates import render
from crosspath.types import Task

MIN_SEED = 16
"""Characters of the shortest seed: a shorter one could be found again by trying, from a single task."""
_PARTS = ("draw", "vars", *TEMPLATE_FIELDS)


def expand_heldout(text: str, source: str, seed: str, draws: int = 1) -> tuple[Task, ...]:
    """``draws`` tasks for each variant of a family; none where it has no ``heldout``.

    Ids are ``family/variant-heldout``, then ``-heldout2`` and so on; ``twin`` is the public task's id. The same seed gives the
    same tasks.

    Raises:
        ConfigError: with file, line and field; never with the seed in it.
    """
    require_seed(seed)
    if not has_heldout(text, source):
        return ()
    family = read_family(text, source)
    assert family.heldout is not None
    tasks = tuple(_heldout_tasks(family, family.heldout, seed, draws))
    require_unique_names(tasks, family.place.at("heldout"))
    return tasks


def has_heldout(text: str, source: str) -> bool:
    """Whether this is a family that says how its payloads are drawn afresh; a plain list of tasks is none.

    Raises:
        ConfigError: it is neither a family nor a list.
    """
    return not isinstance(family_document(text, source).value, list) and read_family(text, source).heldout is not None


def require_seed(seed: str) -> None:
    """Raise for a seed that is too short; the message does not hold it.

    Raises:
        ConfigError: as said.
    """
    if len(seed) < MIN_SEED:
        raise ConfigError(f"the seed of held-out tasks has {len(seed)} characters; at least {MIN_SEED} are needed", field="seed")


def _heldout_tasks(family: Family, section: Mapping[str, object], seed: str, draws: int) -> Iterator[Task]:
    place = family.place.at("heldout")
    for variant in family.variants:
        tier = variant.fields.get("tier")
        parts = _for_tier(section, None if tier is None else as_integer(tier, variant.place.at("tier"), 0, 3), place)
        for number in range(draws):
            yield _heldout_task(family, variant, parts, Draw(seed, f"{family.name}/{variant.name}/{number}"), number)


def _for_tier(section: Mapping[str, object], tier: int | None, place: Place) -> dict[str, object]:
    """The section with what it says for this tier on top."""
    parts = {name: value for name, value in as_object(dict(section), place, (*_PARTS, "tiers")).items() if name != "tiers"}
    tiers = as_object(section.get("tiers") or {}, place.at("tiers"), ("0", "1", "2", "3"))
    own = dict(as_object(tiers.get(str(tier)) or {}, place.at("tiers").at(str(tier)), _PARTS))
    for name in ("draw", "vars"):
        own[name] = {**as_object(parts.get(name) or {}, place.at(name)), **as_object(own.get(name) or {}, place.at(name))}
    return {**parts, **own}


def _heldout_task(family: Family, variant: Variant, parts: Mapping[str, object], stream: Draw, number: int) -> Task:
    place = Place(variant.place.source, f"heldout ({variant.name})")
    hazards = as_texts(variant.fields.get("hazards") or [], variant.place.at("hazards"))
    variables = {**family.defaults, **draw(as_object(parts["draw"], place), hazards, stream, place.at("draw"))}
    for name, value in as_object(parts["vars"], place).items():
        variables[name] = render(value, variables, place.at("vars").at(name))
    fields = {name: value for name, value in parts.items() if name in TEMPLATE_FIELDS}
    drawn = replace(family, template={**family.template, **fields})
    own: dict[str, object] = {
        "id": f"{family.name}/{variant.name}-heldout{number + 1 if number else ''}",
        "tier": variant.fields.get("tier"),
        "hazards": list(hazards),
        "partition": "heldout",
        "twin": f"{family.name}/{variant.name}",
    }
    return task_of(drawn, own, variables, place)
