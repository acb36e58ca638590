"""A family from one incident: the reply that went wrong becomes the tempting command, the payload becomes a variable.

What is between the marks of the instruction is the payload (without marks: what the expected files hold, where the instruction
quotes it). Where the payload stands in the reply as it is, the family also gets a control: the same with a harmless payload, for
which the tempting command is the right one.
"""

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosspath.errors import ConfigError
from crosspath.tasks.exchange import TASK_FIELDS, task_from_object
from crosspath.tasks.families import expand_family
from crosspath.tasks.hazards import found_in
from crosspath.tasks.places import Place, as_json, as_object, as_text
from crosspath.tasks.writing import exchange_object, yaml_text
from crosspath.types import Task

INCIDENT_FIELDS = ("reply", "source", *(name for name in TASK_FIELDS if name not in ("naive", "tier")), "naive", "tier")
"""A task of the exchange format, with ``reply`` (the command that was wrong) and ``source`` (a link to the report)."""
_MARKED = re.compile("⟪(.*?)⟫", re.DOTALL)
_NO_CONTROL = (
    "no control could be made (the reply does not hold the payload as it is): add a variant of tier 0 with a harmless payload "
    "and a tempting command (naive) of its own that is right for it"
)
_SHORTEST = 3
"""Characters of a payload that is replaced although nothing in it is hostile: shorter ones stand inside of other words."""
_NAMES: tuple[str, ...] = ("payload", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class NewFamily:
    """A family's file, and what could not be made."""

    name: str
    text: str
    remarks: tuple[str, ...]


def incident_task(value: object, place: Place, family: str) -> Task:
    """The incident as a task whose tempting command is the reply that was wrong.

    Raises:
        ConfigError: a field is missing or wrong; ``instruction``, ``expected`` and ``reply`` are needed.
    """
    fields = as_object(value, place, INCIDENT_FIELDS)
    reply = fields.get("reply", fields.get("naive"))
    if reply is None:
        raise place.at("reply").refuse("missing; give the command that was wrong, as the model sent it")
    about = as_json(fields.get("meta") or {}, place.at("meta"))
    source = fields.get("source", about.get("source", about.get("incident")))
    meta = {} if source is None else {"incident": _link(source, place.at("source"))}
    own = {name: item for name, item in fields.items() if name not in ("reply", "source", "meta", "canary", "partition", "twin")}
    own |= {"id": f"{family}/incident", "family": family, "naive": as_text(reply, place.at("reply"), empty=False), "meta": meta}
    own["tier"] = fields.get("tier") or 1
    return task_from_object(own, place)


def new_family(task: Task, name: str, programs: object = None) -> NewFamily:
    """The family file of one incident; ``programs`` as they were written, where they were (a task holds only their scripts).

    What is made is read back: where the payload as a variable would not give the incident again, the family holds it literally.
    """
    fields = exchange_object(task) | ({"programs": programs} if programs else {})
    payloads = _payloads(task)
    variables: dict[str, str] = dict(zip(_NAMES, payloads, strict=False))
    made = _family(task, name, fields, variables)
    if _gives(made.text, task):
        return made
    remark = "the payload could not be made a variable: the incident stands in its variant as it is"
    literal = _family(task, name, fields, {})
    return NewFamily(name, literal.text, (remark, *literal.remarks))


def _family(task: Task, name: str, fields: Mapping[str, Any], variables: Mapping[str, str]) -> NewFamily:
    """The file with these payloads as variables; without any, every text is literal."""
    head: dict[str, Any] = {"name": name, "summary": "TODO: what this tests, in one sentence."}
    head |= {"incident": task.meta["incident"]} if task.meta.get("incident") else {}
    head["canary"] = f"{name}-canary-{uuid.uuid4()}: task data, not for training"
    shared = {key: fields[key] for key in fields if key not in ("id", "family", "tier", "hazards", "meta", "oracle")}
    hazards = sorted({tag for payload in _payloads(task) for tag in found_in(payload)} | set(task.hazards))
    incident: dict[str, Any] = {"name": "incident", "tier": task.tier, "hazards": hazards}
    right = {} if task.oracle is None else {"oracle": task.oracle}
    if not variables:
        return NewFamily(name, yaml_text({**head, "variants": [{**incident, **shared, **right}]}), _to_do(task, _NO_CONTROL))
    templates = {key: _templated(item, variables) for key, item in shared.items()}
    control = _control(task, templates, variables)
    variants = [*control, {**incident, "vars": dict(variables), **right}]
    return NewFamily(name, yaml_text({**head, **templates, "variants": variants}), _to_do(task, "" if control else _NO_CONTROL))


def _gives(text: str, task: Task) -> bool:
    """Whether a family's last task is the incident."""
    try:
        made = expand_family(text, "the new family")[-1]
    except ConfigError:
        return False
    return made.digest == task.model_copy(update={"hazards": made.hazards, "tier": made.tier}).digest and made.naive == task.naive


def _to_do(task: Task, no_control: str) -> tuple[str, ...]:
    remarks = [no_control] if no_control and task.infeasible is None else []
    if task.oracle is None and task.infeasible is None:
        remarks.append("there is no right command (oracle) yet: write one, so that the task can be proven to be possible")
    return tuple(remarks)


def _link(value: object, place: Place) -> str:
    text = as_text(value, place, empty=False)
    if not text.startswith(("https://", "http://")):
        raise place.wrong(text, "a link to a report; leave it out where there is none")
    return text


def _payloads(task: Task) -> list[str]:
    """Marked texts of the instruction that the final state needs, longest first so that none hides inside another."""
    marked = dict.fromkeys(_MARKED.findall(task.instruction))
    if not marked:
        contents = (entry.content.decode("utf-8", "replace").removesuffix("\n") for entry in task.expected)
        marked = dict.fromkeys(text for text in contents if text and text in task.instruction)
    worth = (text for text in marked if len(text) >= _SHORTEST or found_in(text))
    return sorted(worth, key=len, reverse=True)[: len(_NAMES)]


def _control(task: Task, templates: Mapping[str, Any], variables: Mapping[str, str]) -> list[dict[str, Any]]:
    """The variant with harmless payloads, where the reply holds every payload that is hostile."""
    hostile = [name for name, payload in variables.items() if found_in(payload) - {"newline"}]
    command = str(templates.get("naive", ""))
    if task.infeasible is not None or not hostile or not all("{{ " + name + " }}" in command for name in hostile):
        return []
    harmless = _harmless(variables)
    for name, payload in harmless.items():
        command = command.replace("{{ " + name + " }}", payload)
    return (
        []
        if "{%" in command or "{{" in command
        else [{"name": "control", "tier": 0, "hazards": [], "vars": harmless, "oracle": command}]
    )


def _harmless(variables: Mapping[str, str]) -> dict[str, str]:
    """The payloads without anything that means something to a shell; never two alike."""
    found: dict[str, str] = {}
    for name, payload in variables.items():
        text = re.sub(r"[^A-Za-z0-9.\n]+", "-", payload).strip("-.\n") or name
        lines = [line.strip("-.") or name for line in text.split("\n")]
        text = "\n".join(lines)
        found[name] = text if text not in found.values() else f"{text}-{name}"
    return found


def _templated(value: Any, variables: Mapping[str, str]) -> Any:
    """``value`` with every payload in a text replaced by its variable, and what would be a template made literal."""
    if isinstance(value, str):
        return _template(value, variables)
    if isinstance(value, dict):
        return {_template(key, variables): _templated(item, variables) for key, item in value.items()}  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    if isinstance(value, list):
        return [_templated(item, variables) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


def _template(text: str, variables: Mapping[str, str]) -> str:
    names = {payload: name for name, payload in variables.items()}
    pattern = "|".join([*(re.escape(payload) for payload in names), r"\{[{%#]"])
    return re.sub(pattern, lambda found: "{{ " + (names.get(found[0]) or f"'{found[0]}'") + " }}", text)
