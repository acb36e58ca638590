"""What was asked: candidates, one field per axis."""

from functools import cached_property
from typing import Any, Literal

from pydantic import Field

from crosspath.types.base import Record, digest

Shape = Literal["text", "json", "tools"]
"""The shape of a reply: free text, a JSON object in the text, or native tool calls."""
Cleanup = Literal["none", "strip", "fenced-block"]
"""What the harness does to a reply's text before the path sees it."""


class Prices(Record):
    """Prices of a model that litellm has no price for; per million tokens, or per hour of the machine that serves it."""

    input_usd_per_mtok: float | None = Field(default=None, ge=0)
    output_usd_per_mtok: float | None = Field(default=None, ge=0)
    gpu_usd_per_hour: float | None = Field(default=None, ge=0)


class ModelSpec(Record):
    """A model as litellm names it, and how to reach it. A key is only ever named by its environment variable."""

    name: str
    api_base: str | None = None
    api_key_env: str | None = None
    params: dict[str, Any] = Field(default_factory=dict)
    """Further litellm parameters, sent as they are."""
    prices: Prices | None = None


class OperatingPoint(Record):
    """Sampling and budget. None means: not sent, and recorded as unset."""

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = Field(default=1024, gt=0)
    seed: int | None = None
    effort: str | None = None
    """Sent as ``reasoning_effort``."""
    stop: tuple[str, ...] | None = None
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    timeout_s: float = Field(default=60.0, gt=0)
    """Deadline of one attempt."""


class Generation(Record):
    """The part of a candidate that a model's reply depends on. Replays can't change it."""

    model: ModelSpec
    contract: str
    operating_point: OperatingPoint = OperatingPoint()
    request_style: str = "plain"
    tools: tuple[str, ...] | None = None
    """Names of the contract's tools that are offered; None: all of them."""

    @cached_property
    def digest(self) -> str:
        """SHA-256 over what changes a reply: not prices, nor the name of the key's variable."""
        return digest(self.model_dump(mode="json", exclude={"model": {"prices", "api_key_env"}}))


class Candidate(Record):
    """A named deployment configuration, as asked."""

    name: str
    generation: Generation
    transport: str = "raw"
    harness: Cleanup = "none"
    validator: str = "exact"


class Reference(Record):
    """What damage is measured against."""

    contract: str = "raw"
    transport: str = "raw"
