"""What a card must not tell: where things lie on a machine, and at which address an endpoint listens."""

import ipaddress
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, cast
from urllib.parse import urlsplit

from crosspath.types import Candidate, External, Facts, PathSpec

OWN_ENDPOINT = "http://own-endpoint/v1"
"""Stands for the address of a user's own endpoint."""
_RECORDED, _BASELINE = "recorded/", "baseline/"
_PLACE = re.compile(r"(?<![\w./:~-])~?/(?:[^\s/:'\"(),;]+/)+(?P<name>[^\s/:'\"(),;]*)")
"""An absolute path with at least one directory, in the middle of a text."""


class Portable:
    """Takes places and addresses that facts name out of texts, and out of plain values that hold texts."""

    def __init__(self, facts: Facts, tasks: Mapping[str, str]) -> None:
        """``tasks``: id of each held-out task -> what it is called on a card."""
        self._names = {place: PurePosixPath(place).name or "(place)" for place in _places(facts)} | dict(_addresses(facts))
        self._pattern = _any_of(self._names)
        self._tasks = tasks
        self._task = _any_of(tasks, r"(?<![\w/.-])(?:{})(?![\w/-])")

    def text(self, text: str) -> str:
        """``text`` with known places and addresses replaced."""
        return self._pattern.sub(lambda match: self._names[match[0]], text) if self._pattern else text

    def sentence(self, text: str) -> str:
        """A sentence that may name tasks."""
        named = self._task.sub(lambda match: self._tasks[match[0]], text) if self._task else text
        return self.text(named)

    def warning(self, text: str) -> str:
        """A sentence in which a foreign message may name any place."""
        return _PLACE.sub(lambda match: match["name"] or "(place)", self.sentence(text))

    def value(self, value: Any) -> Any:
        """A plain value (JSON) with every text and key replaced."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            mapping = cast("Mapping[str, Any]", value)
            return {self.text(key): self.value(inner) for key, inner in mapping.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(inner) for inner in cast("Iterable[Any]", value)]
        return value


def _any_of(names: Mapping[str, str], form: str = "{}") -> re.Pattern[str] | None:
    """One pattern for all names, the longest first."""
    alternatives = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    return re.compile(form.replace("{}", alternatives)) if names else None


def endpoint_kind(candidate: Candidate) -> str:
    """Who answers, in words, without an address."""
    model = candidate.generation.model
    if model.name.startswith(_BASELINE):
        return "none: a baseline that ships answers"
    if model.name.startswith(_RECORDED):
        return "none: recorded replies answer"
    if model.api_base is None:
        provider, _, rest = model.name.partition("/")
        return f"the usual one of {provider if rest else 'its provider'}"
    return f"an own one, {_where(urlsplit(model.api_base).hostname or '')}"


def _where(host: str) -> str:
    if host == "localhost" or host.endswith(".localhost"):
        return "on the same machine"
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return "by name"
    if address.is_loopback or address.is_unspecified:
        return "on the same machine"
    return "in a private network" if address.is_private else "at a public address"


def portable_path(spec: PathSpec) -> PathSpec:
    """The path without the places of a user's own harness; what its digest covers of a chain stays as it is."""
    if spec.external is None:
        return spec
    known = spec.external
    argv = () if known.function else tuple(PurePosixPath(word).name if _is_place(word) else word for word in known.argv)
    shown = External(argv=argv, function=known.function, code_digest=known.code_digest, dirty=known.dirty)
    return spec.model_copy(update={"external": shown})


def _is_place(text: str) -> bool:
    return len(text) > 1 and text.startswith(("/", "~/"))


def _places(facts: Facts) -> Iterator[str]:
    """Absolute names of files: of texts, recordings, task files and harnesses."""
    lock = facts.lock
    names = [*lock.suites, *(candidate.validator for candidate in lock.candidates)]
    models = (candidate.generation.model.name for candidate in lock.candidates)
    names += [name.removeprefix(_RECORDED).partition("#")[0] for name in models if name.startswith(_RECORDED)]
    names += _listed(facts.head.spec)
    for candidate in lock.candidates:
        names += _strings(candidate.generation.model.params)
    for spec in facts.path_specs:
        if spec.external is not None:
            names += [*spec.external.argv, *spec.external.bind, spec.external.python, spec.external.function]
            names += [value for _, value in spec.external.env]
    yield from filter(_is_place, names)


def _listed(spec: Mapping[str, Any]) -> list[str]:
    """Files that a spec lists, and what its own harnesses are started with."""
    tasks = cast("Mapping[str, Any]", spec.get("tasks") or {})
    own = cast("Mapping[str, Any]", spec.get("transports") or {})
    harnesses: list[Any] = [path for path in own.values() if isinstance(path, Mapping)]
    return list(_strings([spec.get("contracts"), spec.get("styles"), tasks.get("files"), harnesses]))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for inner in cast("Mapping[str, Any]", value).values():
            yield from _strings(inner)
    elif isinstance(value, (list, tuple)):
        for inner in cast("Iterable[Any]", value):
            yield from _strings(inner)


def _addresses(facts: Facts) -> Iterator[tuple[str, str]]:
    """Each own endpoint as it stands in a spec, and its host with and without a port."""
    for candidate in facts.lock.candidates:
        base = candidate.generation.model.api_base
        if base is None:
            continue
        parts = urlsplit(base)
        yield parts.netloc, "(own endpoint)"
        if parts.hostname and "." in parts.hostname:
            yield parts.hostname, "(own endpoint)"
        yield base, OWN_ENDPOINT
