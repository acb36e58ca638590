"""Contracts and paths, as data: what the model is told, and how its reply travels."""

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from crosspath.types.base import Record, digest
from crosspath.types.candidates import Shape


class ToolSpec(Record):
    """A tool that a contract offers, and how a call of it is carried out."""

    name: str
    description: str
    parameters: dict[str, Any]
    """JSON schema of the arguments object."""
    argument: str | None = None
    """The argument that holds shell text; it travels through the path."""
    path: str | None = None
    """A path of its own instead of the candidate's; only for ``argument``."""
    write: tuple[str, str] | None = None
    """Names of the arguments that hold a relative path and the exact content of a file to write; no shell is involved."""


class Contract(Record):
    """What the model was told about how its reply travels, and the reply shape that it must have."""

    name: str
    version: str = "1"
    shape: Shape = "text"
    discloses: str = "raw"
    """Name of the path that the text describes."""
    reference: str
    """Name of the contract of the same shape that discloses only the reference path; itself, for such a contract."""
    field: str = "command"
    """For the JSON shape: the field that holds the shell text."""
    tools: tuple[ToolSpec, ...] = ()
    abstain: str | None = None
    """The form in which a reply declines a task that can't be done: how its first line begins (shapes ``text`` and ``tools``), or
    the only field of its object (``json``). None: the contract states no form."""
    text: str
    """The system prompt."""

    @cached_property
    def digest(self) -> str:
        return digest(self.model_dump(mode="json", exclude={"name", "version"}))


class LayerSpec(Record):
    """One layer of a chain, by its registered name."""

    layer: str
    options: dict[str, Any] = Field(default_factory=dict)


class External(Record):
    """A user's own harness inside the sandbox: a program, or a function that a program of ours calls."""

    argv: tuple[str, ...] = ()
    bind: tuple[str, ...] = ()
    """Absolute directories or files of the host, visible read-only at the same place."""
    env: tuple[tuple[str, str], ...] = ()
    function: str = ""
    """``module:function``; ``argv`` is filled in when the path is resolved."""
    python: str = ""
    """The Python that calls the function."""
    code_digest: str = ""
    """SHA-256 over what is bound, for a function over its code; filled in when the path is resolved."""
    dirty: bool | None = None
    """Whether the code was changed since it was committed or installed; None where nothing tells."""

    @property
    def identity(self) -> dict[str, Any]:
        """What the harness is, wherever it lies: where its code is identified, binds count by content, not by place."""
        if not self.code_digest:
            return self.model_dump(mode="json")
        if self.function:
            return {"function": self.function, "env": list(map(list, self.env)), "code": self.code_digest}
        return {"argv": [self._portable(word) for word in self.argv], "env": list(map(list, self.env)), "code": self.code_digest}

    def _portable(self, word: str) -> str:
        for number, bind in enumerate(self.bind):
            if word == bind or word.startswith(bind.rstrip("/") + "/"):
                return f"{{bind {number}}}{word[len(bind.rstrip('/')) :]}"
        return word


class PathSpec(Record):
    """A path: a chain of layers or an external harness."""

    name: str
    version: str = "1"
    summary: str = ""
    source: str = ""
    """Public source of a documented fault, where the path imitates one."""
    imitates: str = ""
    """What stands here for something else, beside what its layers say of themselves; empty: nothing."""
    layers: tuple[LayerSpec, ...] = ()
    external: External | None = None
    accepts: Literal["text", "json", "tools", "any"] = "text"
    """``text``: shell text; a decoder for the contract's shape stands in front. ``json``/``tools``: only replies of that shape,
    the decoder is part of the path. ``any``: the path reads the whole reply itself (external harnesses)."""

    @cached_property
    def digest(self) -> str:
        value = self.model_dump(mode="json", exclude={"name", "summary", "source", "imitates"})
        return digest(value | {"external": self.external.identity if self.external else None})
