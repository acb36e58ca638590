"""The spec as a record, and the candidates that it describes."""

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, field_validator

from crosspath.spec.resolution import check_kind, require_deployed, resolve_candidates
from crosspath.spec.sections import (
    NAME_PATTERN,
    CandidateEntry,
    DeploymentSection,
    ExecutorSection,
    GridSection,
    LimitsSection,
    ModelEntry,
    RetriesSection,
    Section,
    Shorthand,
    TasksSection,
)
from crosspath.types import JSON, Candidate, Reference, SandboxLimits, digest

FREE_PREFIXES = ("baseline/", "recorded/")
"""Models that send no request to anybody."""


class Spec(Section):
    """What is asked: candidates against a reference, over tasks."""

    model_config = ConfigDict(hide_input_in_errors=True)  # a key or a seed that was written into it is not repeated

    name: str = Field(default="", pattern=r"^$|" + NAME_PATTERN)
    """Name of the evaluation. Default: the file's name without its ending."""
    experiment: str = Field(default="crosspath", min_length=1, max_length=200)
    """MLflow's experiment: the question that is asked."""
    kind: Literal["model", "deployment"] = "deployment"
    """`model`: everything but the model must be the same in all candidates."""
    models: dict[str, Annotated[ModelEntry, Shorthand("model")]] = Field(default_factory=dict)
    """Name -> a litellm string, or how to reach the model."""
    defaults: CandidateEntry = CandidateEntry()
    """Axis values of all candidates."""
    candidates: dict[str, Annotated[CandidateEntry, Shorthand("model")]] = Field(default_factory=dict)
    """Name -> one value per axis. Default: one candidate per model of `models`."""
    grid: GridSection | None = None
    """Lists of axis values; every combination becomes a candidate."""
    reference: Reference = Reference()
    """What damage is measured against."""
    transports: dict[str, JSON] = Field(default_factory=dict)
    """Your own paths: name -> a list of layers, or your harness: `external:` a program, `callable:` a function."""
    contracts: tuple[str, ...] = ()
    """Your own contracts: Markdown files, relative to the spec."""
    styles: tuple[str, ...] = ()
    """Your own request styles: Markdown files, relative to the spec."""
    tasks: TasksSection = TasksSection()
    trials: int = Field(default=1, ge=1, le=10_000)
    """Independent model attempts per task."""
    deployment: Annotated[DeploymentSection, Shorthand("name")] | None = None
    """The deployment that this evaluation is one of, or its name."""
    executor: Annotated[ExecutorSection, Shorthand("kind")] = ExecutorSection()
    sandbox: Literal["bubblewrap", "none"] = "bubblewrap"
    """`none` executes model output on this machine unprotected."""
    sandbox_limits: SandboxLimits = SandboxLimits()
    limits: LimitsSection = LimitsSection()
    retries: RetriesSection = RetriesSection()
    reuse: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """MLflow experiments whose replies are taken before anything is asked: the same request is not bought again."""

    @field_validator("transports")
    @classmethod
    def _are_chains_or_programs(cls, value: dict[str, JSON]) -> dict[str, JSON]:
        for name, path in value.items():
            if not isinstance(path, (list, dict)):
                raise ValueError(f"{name} must be a list of layers, or a mapping with `external:` or `callable:`, not {path!r}")
        return value

    def candidates_resolved(self) -> tuple[Candidate, ...]:
        """Every candidate with every default written out, in the order of the spec, those of ``grid`` last.

        Raises:
            ConfigError: a model is not known, a name stands twice, or ``kind: model`` does not hold.
        """
        candidates = resolve_candidates(self.models, self.defaults, self.candidates, self.grid)
        if self.kind == "model":
            check_kind(candidates)
        return candidates

    def deployed(self) -> str | None:
        """The candidate that the deployment is; None where the spec names no deployment.

        Raises:
            ConfigError: no such candidate, or several and none is named, or replies would be taken from elsewhere.
        """
        if self.deployment is None:
            return None
        names = [candidate.name for candidate in self.candidates_resolved()]
        return require_deployed(self.deployment, names, self.reuse, self.trials)

    def models_without_prices(self) -> tuple[str, ...]:
        """litellm names of models that are asked over the network and have no prices of their own in this spec."""
        models = [candidate.generation.model for candidate in self.candidates_resolved()]
        bare = (model.name for model in models if model.prices is None and not model.name.startswith(FREE_PREFIXES))
        return tuple(dict.fromkeys(bare))

    def resolved(self) -> dict[str, Any]:
        """The spec as plain JSON values with every default written out; it holds no secrets."""
        value = self.model_dump(mode="json", exclude={"models", "defaults", "candidates", "grid"})
        value["candidates"] = {candidate.name: _axes(candidate) for candidate in self.candidates_resolved()}
        return value

    @property
    def digest(self) -> str:
        """SHA-256 over what affects a reply or a replay: not names, money, executor or retries.

        A seed is not in it, as it does not stand in a spec: the tasks that were drawn from it have digests of their own.
        """
        value = self.resolved()
        for name in ("name", "experiment", "deployment", "executor", "limits", "retries", "reuse"):
            del value[name]
        del value["tasks"]["heldout_seed_env"]
        for axes in value["candidates"].values():
            axes["model"] = {key: axes["model"][key] for key in ("name", "api_base", "params")}
        return digest(value)


def _axes(candidate: Candidate) -> JSON:
    """One candidate with its axes side by side, as in the spec."""
    value: dict[str, Any] = candidate.model_dump(mode="json", exclude={"name"})
    return {**value.pop("generation"), **value}
