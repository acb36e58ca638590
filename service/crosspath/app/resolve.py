"""From a spec to a plan: reads the files that a spec names and joins them to one closed description."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crosspath import catalogue
from crosspath.app.harness_code import identify
from crosspath.contracts import parse_contract
from crosspath.errors import ConfigError
from crosspath.pipeline.answers import answers, provider, recorded_file
from crosspath.pipeline.budget import Limits
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.spec import Spec, load_spec
from crosspath.strict_yaml import load_yaml
from crosspath.tasks import require_unique, select
from crosspath.transports import parse_path, preset, preset_names
from crosspath.types import Candidate, Contract, PathSpec, RecordedReply, Reply, Task, Text, digest


@dataclass(frozen=True)
class Resolved:
    """A spec with everything that it names."""

    spec: Spec
    base: Path
    """Directory that relative file names of the spec start from."""
    plan: Plan
    suites: Mapping[str, Text]
    answers: Mapping[str, Reply]

    @property
    def limits(self) -> Limits:
        return Limits(**self.spec.limits.model_dump())

    @property
    def resume_digest(self) -> str:
        """Equal for two specs whose facts would be the same: limits, executor and names of files play no part."""
        return digest(
            {
                "requests": sorted(f"{r.key} {r.trial.to_json()}" for r in self.plan.requests),
                "cells": [cell.model_dump(mode="json") for cell in self.plan.cells],
                "tasks": {task.id: task.digest for task in self.plan.tasks.values()},
                "suites": {suite.name: suite.digest for suite in self.suites.values()},
                "answers": digest({key: reply.to_json() for key, reply in self.answers.items()}),
                "sandbox": [self.spec.sandbox, self.spec.sandbox_limits.model_dump(mode="json")],
            }
        )


def read_spec(source: str | Path) -> tuple[Spec, Path]:
    """A spec from a file, with the directory that its relative names start from.

    Raises:
        ConfigError: the file can't be read, or is not a spec.
    """
    path = Path(source)
    return load_spec(catalogue.read_text(path), str(path)), path.resolve().parent


def resolve(spec: Spec, base: Path) -> Resolved:
    """Read what the spec names and plan it.

    Raises:
        ConfigError: something that the spec names is missing or wrong.
    """
    candidates = spec.candidates_resolved()
    plan = make_plan(
        candidates,
        spec.reference,
        _tasks(spec, base),
        _contracts(spec, base, candidates),
        path_specs(spec.transports, base),
        spec.trials,
    )
    suites = {name: _suite(name, base) for name in sorted({candidate.validator for candidate in candidates})}
    return Resolved(spec, base, plan, suites, answers(plan, _recordings(candidates, base)))


def _tasks(spec: Spec, base: Path) -> tuple[Task, ...]:
    asked = spec.tasks
    own = [task for file in asked.files for task in catalogue.read_tasks(base / file)]
    shipped = () if asked.files else catalogue.catalogue_tasks()
    every = (*shipped, *own)
    require_unique(every)
    return select(every, families=asked.families, tiers=asked.tiers, tags=asked.tags)


def _contracts(spec: Spec, base: Path, candidates: Sequence[Candidate]) -> dict[str, Contract]:
    found = {name: catalogue.contract(name) for name in catalogue.contract_names()}
    for file in spec.contracts:
        contract = parse_contract(catalogue.read_text(base / file), str(file))
        if contract.name in found:
            raise ConfigError(f"a contract named {contract.name!r} exists already", source=str(file), field="name")
        found[contract.name] = contract
    return found


def path_specs(own: Mapping[str, Any], base: Path) -> dict[str, PathSpec]:
    """All presets and the user's own paths, by name; external harnesses with the digest of their code."""
    found = {name: preset(name) for name in preset_names()}
    for name, config in own.items():
        if name in found:
            raise ConfigError(f"{name!r} is the name of a preset; choose another", field=f"transports.{name}")
        found[name] = identify(parse_path(name, config, f"transports.{name}"), base)
    return found


@contextmanager
def errors_name(source: str) -> Iterator[None]:
    """Complaints about a field that don't say in which file it stands get ``source``.

    Raises:
        ConfigError: whatever the block raises.
    """
    try:
        yield
    except ConfigError as error:
        if error.source is not None:
            raise
        raise ConfigError(error.problem, source=source, field=error.field) from error


def read_paths(file: Path) -> dict[str, Any]:
    """Own paths by name from a YAML file, as in a spec's ``transports``.

    Raises:
        ConfigError: the file can't be read, or is not a mapping.
    """
    found = load_yaml(catalogue.read_text(file), str(file))
    if not isinstance(found, dict):
        raise ConfigError("must map names to paths", source=str(file))
    return found


def _suite(name: str, base: Path) -> Text:
    """The suite under the name that the spec gives it, so that a result does not depend on where the spec lies."""
    own = base / name
    return catalogue.suite_text(str(own) if own.is_file() else name).model_copy(update={"name": name})


def _recordings(candidates: Sequence[Candidate], base: Path) -> dict[str, tuple[RecordedReply, ...]]:
    names = sorted({c.generation.model.name for c in candidates if provider(c.generation.model.name) == "recorded"})
    files = {name: recorded_file(name)[0] for name in names}
    return {name: catalogue.read_recorded(base / file) for name, file in files.items()}
