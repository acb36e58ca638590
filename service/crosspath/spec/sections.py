"""The sections of a spec, as a person writes them. Docstrings below fields become the descriptions in the JSON schema."""

import re
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, GetJsonSchemaHandler, field_validator, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from crosspath.types import WORDINGS, Cleanup, OperatingPoint, Prices, Record
from crosspath.types.drift import LEAST_REFERENCE_TRIALS

NAME_PATTERN = r"^[A-Za-z0-9_.\-/ ]{1,60}$"
"""What MLflow takes everywhere: letters, digits, ``_ - . /`` and space."""


SEED_IS_NAMED = (
    "must be the name of an environment variable, in capitals, such as HELDOUT_SEED; what stands here is not shown,"
    " because it may be the seed itself"
)


class Shorthand:
    """Marks a section that may be written as one text, which then is the value of ``field``."""

    def __init__(self, field: str) -> None:
        self.field = field

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string", "description": f"the same as `{self.field}: ...` alone"}, handler(schema)]}


class Section(Record):
    """Base of all sections."""

    model_config = ConfigDict(use_attribute_docstrings=True)


class ModelEntry(Section):
    """A model and how to reach it."""

    model: str = Field(min_length=1)
    """As litellm names it: `openai/gpt-4o-mini`, `ollama/llama3`, or `baseline/oracle`, `baseline/naive`, `baseline/adaptive`,
    `recorded/FILE.jsonl`."""
    api_base: str | None = None
    """Address of an own endpoint, without a key in it."""
    api_key_env: str | None = None
    """Name of the environment variable that holds the key. The key itself never stands in a spec."""
    params: dict[str, Any] = Field(default_factory=dict)
    """Further litellm parameters, sent as they are."""
    prices: Prices | None = None
    """For a model that litellm has no price for."""

    @field_validator("api_base")
    @classmethod
    def _is_an_address(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).scheme not in ("http", "https") or not urlsplit(value).hostname):
            raise ValueError("must be an address such as http://127.0.0.1:8000/v1")
        return value

    @field_validator("api_key_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", value):
            raise ValueError("must be the name of an environment variable, such as OPENAI_API_KEY")
        return value

    @field_validator("prices")
    @classmethod
    def _prices_in_pairs(cls, value: Prices | None) -> Prices | None:
        if value is not None and (value.input_usd_per_mtok is None) != (value.output_usd_per_mtok is None):
            raise ValueError("input_usd_per_mtok and output_usd_per_mtok must stand together")
        return value

    @field_validator("params")
    @classmethod
    def _params_have_no_other_place(cls, value: dict[str, Any]) -> dict[str, Any]:
        for name in value:
            if name in _PLACES:
                raise ValueError(f"{name} {_PLACES[name]}")
        return value


_PLACES = {
    **dict.fromkeys(
        ("temperature", "top_p", "max_tokens", "seed", "stop", "tool_choice", "parallel_tool_calls"),
        "belongs into operating_point",
    ),
    **dict.fromkeys(("api_base", "base_url", "model", "api_key_env"), "stands beside params, not inside"),
    **dict.fromkeys(("messages", "tools", "stream", "n"), "follows from the task and the contract, and can't be set"),
    **dict.fromkeys(("num_retries", "max_retries"), "can't be set; use retries of the spec, the only retry layer"),
    **dict.fromkeys(("drop_params", "fallbacks", "caching", "mock_response"), "would change requests unseen, and can't be set"),
    "reasoning_effort": "belongs into operating_point, as effort",
    "max_completion_tokens": "belongs into operating_point, as max_tokens",
    "timeout": "belongs into operating_point, as timeout_s",
}


class CandidateEntry(Section):
    """One value per axis; what is left out comes from `defaults`, then from the built-in defaults."""

    model: str | None = Field(default=None, min_length=1)
    """A name from `models`, or a litellm string. Default: the only model of `models`."""
    contract: str | None = Field(default=None, min_length=1)
    """What the model is told. `tell:PATH` is generated from that path's layers, `tell` from the candidate's own path.
    Default: raw."""
    wordings: int | None = Field(default=None, ge=1, le=WORDINGS)
    """How many wordings of a generated contract: one candidate each, which differ in nothing else. Default: 1."""
    transport: str | None = Field(default=None, min_length=1)
    """How its reply is executed: the name of a path. Default: raw."""
    operating_point: OperatingPoint | None = None
    """Sampling and budget; what is unset is not sent. Merged field by field with `defaults`."""
    harness: Cleanup | None = None
    """What the harness does to a reply's text before the path sees it. Default: none."""
    request_style: str | None = Field(default=None, min_length=1)
    """In whose words the instruction is put: plain, terse, chatty, second-language, ticket, bossy, exam, production, or one of
    `styles`. Default: plain."""
    validator: str | None = Field(default=None, min_length=1)
    """The suites that judge final states. Default: exact."""
    tools: tuple[str, ...] | None = None
    """Names of the contract's tools that are offered. Default: all of them."""


class GridSection(Section):
    """The full cross of the listed values, one candidate each, with generated names. Opt-in: it grows fast."""

    model: tuple[str, ...] | None = Field(default=None, min_length=1)
    contract: tuple[str, ...] | None = Field(default=None, min_length=1)
    transport: tuple[str, ...] | None = Field(default=None, min_length=1)
    operating_point: tuple[OperatingPoint, ...] | None = Field(default=None, min_length=1)
    harness: tuple[Cleanup, ...] | None = Field(default=None, min_length=1)
    request_style: tuple[str, ...] | None = Field(default=None, min_length=1)
    validator: tuple[str, ...] | None = Field(default=None, min_length=1)
    tools: tuple[tuple[str, ...], ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _lists_something(self) -> Self:
        if not self.model_fields_set:
            raise ValueError("must list the values of at least one axis")
        return self


class TasksSection(Section):
    """Which tasks; everything left out means the whole catalogue, as published."""

    model_config = ConfigDict(hide_input_in_errors=True)  # a seed in the place of a name is not repeated

    families: tuple[str, ...] = ()
    tiers: tuple[Annotated[int, Field(ge=0, le=3)], ...] = ()
    """0 benign control, 1-3 rising hostility."""
    tags: tuple[str, ...] = ()
    """Hazards; a task with any of them is taken."""
    only: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """Ids of tasks; of all others none is taken. A sentinel set for a daily watch is such a list."""
    files: tuple[str, ...] = ()
    """Task files (YAML families or JSON lines), relative to the spec, in place of the catalogue."""
    partition: Literal["public", "heldout", "both"] = "public"
    """`heldout`: fresh draws in place of the published tasks. `both`: both, and the contamination alarm that compares them."""
    heldout_seed_env: str | None = None
    """Name of the environment variable that holds the seed of held-out tasks, at least 16 characters. The seed itself never
    stands in a spec."""
    heldout_draws: int = Field(default=1, ge=1, le=100)
    """Held-out tasks per variant."""

    @field_validator("heldout_seed_env")
    @classmethod
    def _names_a_variable(cls, value: str | None) -> str | None:
        if value is not None and not re.fullmatch(r"[A-Z_][A-Z0-9_]*", value):
            raise ValueError(SEED_IS_NAMED)
        return value

    @model_validator(mode="after")
    def _draws_only_what_is_taken(self) -> Self:
        if self.partition == "public" and (self.heldout_seed_env is not None or self.heldout_draws > 1):
            raise ValueError("held-out tasks are asked for, but partition is public; write partition: both, or heldout")
        return self


class DeploymentSection(Section):
    """A named series of a candidate's evaluations: `crosspath drift NAME` tells what changed over time, and where."""

    name: str = Field(pattern=NAME_PATTERN)
    """Name of the deployment: evaluations with the same name are one series."""
    candidate: str | None = Field(default=None, min_length=1)
    """Which of the candidates it is. Default: the only one."""
    reference: bool = False
    """This evaluation measures what later ones are compared with; `crosspath run SPEC --reference` says so for one run."""
    reference_trials: int = Field(default=LEAST_REFERENCE_TRIALS, ge=LEAST_REFERENCE_TRIALS, le=10_000)
    """Trials per task of the reference, in place of `trials`."""
    chosen_on: str | None = Field(default=None, min_length=1)
    """The evaluation on whose outcomes the tasks were chosen: it can't be their reference."""
    alpha: float = Field(default=0.05, gt=0, lt=0.5)
    """How often a watch of `horizon_days` days may raise a false provider alarm, if it is looked at every day."""
    horizon_days: int = Field(default=60, ge=1, le=3650)
    max_age_days: float = Field(default=2.0, gt=0)
    """A newest evaluation that is older is no measurement of today."""
    max_missing: float = Field(default=0.2, ge=0, le=1)
    """A day of which more trials than this share have no verdict is no measurement."""


class ExecutorSection(Section):
    """Who does the work."""

    kind: Literal["ray", "local"] | None = None
    """Default: ray from the command line, local from Python."""
    address: str | None = None
    """Address of a Ray cluster; without it Ray is started on this machine."""
    replay_workers: int | None = Field(default=None, ge=1, le=4096)
    """Default: one per CPU."""
    model_concurrency: int = Field(default=8, ge=1, le=4096)
    """Requests in flight at once."""


class LimitsSection(Section):
    """Where to stop. What was done is kept, the rest is a fault of type `budget`."""

    max_cost_usd: float | None = Field(default=None, ge=0)
    max_requests: int | None = Field(default=None, ge=0)
    max_tokens: int | None = Field(default=None, ge=0)
    """Prompt and completion tokens of all requests together."""
    max_wall_s: float | None = Field(default=None, gt=0)
    """Seconds, of each start of the program."""


class RetriesSection(Section):
    """Retries of retryable faults before a reply exists; never because of what a reply says."""

    max_attempts: int = Field(default=4, ge=1, le=100)
    max_wait_s: float = Field(default=60.0, ge=0, le=3600)
    """Longest pause between two attempts."""
