"""Tasks written down again: as objects of the exchange format, and any such object as YAML that a person can edit."""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from crosspath.types import FileEntry, Observer, Secret, Task

_SIMPLE = re.compile(r"[A-Za-z][A-Za-z0-9 _.,/()-]*[A-Za-z0-9.)]|[A-Za-z]")
_WORDS_OF_YAML = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"}


def exchange_object(task: Task) -> dict[str, Any]:
    """The task as the exchange format writes it, defaults left out: reading it again gives the same task.

    Programs come out as scripts, whatever they were made from.
    """
    value: dict[str, Any] = {"id": task.id, "family": task.family, "tier": task.tier, "hazards": list(task.hazards)}
    value |= {"instruction": task.instruction, "messages": [message.model_dump(mode="json") for message in task.messages]}
    value |= {
        "fixture": _entries(task.fixture),
        "directories": None if task.directories is None else [path.decode() for path in task.directories],
        "programs": {entry.path.decode(): {"kind": "script", "text": entry.content.decode()} for entry in task.programs},
        "setup": task.setup,
        "expected": _entries(task.expected),
        "compare": {entry.path.decode(): entry.compare for entry in task.expected if entry.compare != "bytes"},
        "ignore": list(task.ignore),
    }
    value |= _observers(task.observers) | {"expected_exit": task.expected_exit, "env": dict(task.env)}
    value |= {"settle_s": task.settle_s or None, "timeout_s": None if task.timeout_s == 10 else task.timeout_s}
    value |= {"infeasible": task.infeasible, "secrets": {secret.name: _secret(secret) for secret in task.secrets}}
    value |= {"partition": None if task.partition == "public" else task.partition, "twin": task.twin}
    value |= {"oracle": task.oracle, "naive": task.naive, "meta": task.meta}
    kept = ("expected", "directories", "expected_exit")
    return {name: item for name, item in value.items() if item not in (None, "", [], {}) or (name in kept and item is not None)}


def yaml_text(value: Any) -> str:
    """YAML that the strict reader gives back as the same value; texts of several lines stand as blocks."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000, default_flow_style=False)


def _entries(entries: Sequence[FileEntry]) -> dict[str, Any]:
    return {entry.path.decode(): _entry(entry) for entry in entries}


def _entry(entry: FileEntry) -> str | dict[str, Any]:
    mode = {} if entry.mode is None else {"mode": f"{entry.mode:04o}"}
    if entry.kind == "symlink":
        return {"symlink": entry.target.decode()}
    if entry.kind == "directory":
        return {"directory": True, **mode}
    content = _content(entry.content)
    if isinstance(content, str):
        return {"text": content, **mode} if mode else content
    return {**content, **mode}


def _content(data: bytes) -> str | dict[str, str]:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _observers(observers: Sequence[Observer]) -> dict[str, Any]:
    compared = {one.name: _content(one.expected) for one in observers if one.expected is not None}
    return {"observe": {one.name: one.command for one in observers}, "expected_observed": compared}


def _secret(secret: Secret) -> Mapping[str, Any]:
    content = _content(secret.value)
    fields = {"text": content} if isinstance(content, str) else content
    return {**fields, **({"allowed": list(secret.allowed)} if secret.allowed else {})}


class _Dumper(yaml.SafeDumper):
    """Blocks for texts of several lines, quotes for all that YAML could take for something else."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Items of a list are indented, as people write them."""
        super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # PyYAML's stubs leave the type of a scalar's value open.
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=_style(text))  # pyright: ignore[reportUnknownMemberType]


def _style(text: str) -> str | None:
    """A block for several lines, nothing for plain words, else quotes."""
    if "\n" in text and _plain(text):
        return "|"
    if _SIMPLE.fullmatch(text) and text.lower() not in _WORDS_OF_YAML:
        return None
    return "'" if text.isprintable() and "'" not in text else '"'


def _plain(text: str) -> bool:
    """Whether a block shows every character of it as it is."""
    lines = text.split("\n")
    return all(line.isprintable() and line == line.rstrip() for line in lines) and not text.startswith((" ", "\n"))


_Dumper.add_representer(str, _text)
