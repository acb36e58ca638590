"""Paths as a list: what each does, whether it can be survived, what of it is imitated, and the public report behind it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from crosspath.escaping import one_line
from crosspath.transports import assemble
from crosspath.types import PathSpec


@dataclass(frozen=True)
class PathRow:
    """One path of a list."""

    name: str
    version: str
    accepts: str
    survivable: bool
    imitated: tuple[str, ...]
    summary: str
    source: str
    layers: tuple[str, ...]
    digest: str

    def as_document(self) -> dict[str, Any]:
        """The row as JSON."""
        return {**vars(self), "imitated": list(self.imitated), "layers": list(self.layers)}

    def as_text(self) -> str:
        """Two or three lines for a person."""
        marks = ["can be survived" if self.survivable else "can't be survived", "imitated" if self.imitated else "real"]
        if self.accepts not in ("text", "any"):
            marks.append(f"only replies of shape {self.accepts}")
        lines = [f"{self.name} (version {self.version}; {', '.join(marks)})", f"    {one_line(self.summary)}"]
        return "\n".join([*lines, f"    reported: {self.source}"] if self.source else lines)


def path_rows(specs: Mapping[str, PathSpec]) -> list[PathRow]:
    """A row for each path, in the order given.

    Raises:
        ConfigError: a layer of one of them is wrong.
    """
    return [_row(spec) for spec in specs.values()]


def _row(spec: PathSpec) -> PathRow:
    path = assemble(spec)
    return PathRow(
        name=spec.name,
        version=spec.version,
        accepts=spec.accepts,
        survivable=path.survivable,
        imitated=path.imitated,
        summary=spec.summary,
        source=spec.source,
        layers=tuple(layer.layer for layer in spec.layers) or (_harness(spec),),
        digest=path.digest,
    )


def _harness(spec: PathSpec) -> str:
    return f"external: {' '.join(spec.external.argv)}" if spec.external else ""
