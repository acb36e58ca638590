"""Registered models: candidates become versions, and an alias moves on a PASS verdict only, by decisions that are kept."""

from typing import Literal

from crosspath.errors import ConfigError
from crosspath.ports import Registry
from crosspath.types import Decision, ModelVersion, Verdict

NOW: Literal["now"] = "now"


def alias_version(registry: Registry, model: str, alias: str) -> int | None:
    """Version that an alias points to; None: there is no such alias (or model) yet.

    A gate asks this before it starts, and gives the answer to :func:`promote`: who moves the alias meanwhile is not overrun.
    """
    return registry.aliases(model).get(alias)


def promote(
    registry: Registry, verdict: Verdict, run_id: str, model: str, alias: str, expected: int | Literal["now"] | None = NOW
) -> Decision:
    """Move ``alias`` to the version of ``model`` that the verdict is about.

    Args:
        registry: where the model is.
        verdict: must be PASS.
        run_id: MLflow run of the verdict.
        model: name of the registered model.
        alias: it is created where it doesn't exist.
        expected: what :func:`alias_version` said when the gate started.

    Raises:
        ConfigError: not PASS, no version of this configuration, or the alias was moved meanwhile; nothing was moved.
        TrackerError: the server can't be reached; the message says whether anything was moved.
    """
    if verdict.status != "PASS":
        raise ConfigError(f"the verdict is {verdict.status}: only a PASS is promoted; nothing was moved")
    version = version_of(registry, verdict, model)
    place = alias_version(registry, model, alias) if expected == NOW else expected
    return registry.promote(version, alias, place, verdict, run_id)


def version_of(registry: Registry, verdict: Verdict, model: str) -> ModelVersion:
    """The version of ``model`` that the verdict's evidence stands for."""
    raise ConfigError(f"no version of {model} stands for {verdict.candidate.candidate}")
