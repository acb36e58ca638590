"""From a spec to a plan: reads the files that a spec names and joins them to one closed description."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from crosspath import catalogue
from crosspath.app.harness_code import identify
from crosspath.app.heldout import tasks_of
from crosspath.contracts import parse_contract
from crosspath.errors import ConfigError
from crosspath.pipeline.answers import answers, provider, recorded_file
from crosspath.pipeline.budget import Limits
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.pipeline.telling import told_contract, with_told
from crosspath.spec import Spec, load_spec
from crosspath.spec.policy import load_policy
from crosspath.strict_yaml import load_yaml
from crosspath.styles import parse_style
from crosspath.tasks.places import known_names
from crosspath.transports import parse_path, preset, preset_names
from crosspath.types import Candidate, Contract, PathSpec, Policy, RecordedReply, Reply, RequestStyle, Text, digest, is_reserved


@dataclass(frozen=True)
class Resolved:
    """A spec with everything that it names."""

    spec: Spec
    base: Path
    """Directory that relative file names of the spec start from."""
    plan: Plan
    suites: Mapping[str, Text]
    answers: Mapping[str, Reply]
    recordings: Mapping[str, Sequence[RecordedReply]] = field(default_factory=dict)
    """Model name (``recorded/FILE...``) -> the lines of its file."""

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


def read_policy(source: str | Path) -> Policy:
    """A gate's policy from a file.

    Raises:
        ConfigError: the file can't be read, or is not a policy.
    """
    path = Path(source)
    return load_policy(catalogue.read_text(path), str(path))


def resolve(spec: Spec, base: Path) -> Resolved:
    """Read what the spec names and plan it.

    Raises:
        ConfigError: something that the spec names is missing or wrong.
    """
    plan = planned(spec, base)
    suites = {name: _suite(name, base) for name in sorted({candidate.validator for candidate in plan.candidates})}
    recordings = _recordings(plan.candidates, base)
    return Resolved(spec, base, plan, suites, answers(plan, recordings), recordings)


def planned(spec: Spec, base: Path) -> Plan:
    """The plan alone: recordings and validators need not be there yet.

    Raises:
        ConfigError: a task file, a contract, a request style or a path is missing or wrong.
    """
    candidates, specs = spec.candidates_resolved(), path_specs(spec.transports, base)
    asked = [(one.generation.contract, f"candidates.{one.name}.contract") for one in candidates]
    asked.append((spec.reference.contract, "reference.contract"))
    return make_plan(
        candidates,
        spec.reference,
        tasks_of(spec.tasks, base),
        with_told(contracts_named(spec.contracts, base), asked, specs),
        specs,
        spec.trials,
        styles_named(spec.styles, base),
    )


def contracts_named(files: Sequence[str], base: Path) -> dict[str, Contract]:
    """All contracts that ship and those in ``files``, by name.

    Raises:
        ConfigError: a file can't be read, is no contract, or takes a name that exists.
    """
    found = {name: catalogue.contract(name) for name in catalogue.contract_names()}
    for file in files:
        contract = parse_contract(catalogue.read_text(base / file), str(file))
        if contract.name in found:
            raise ConfigError(f"a contract named {contract.name!r} exists already", source=str(file), field="name")
        found[contract.name] = contract
    return found


def styles_named(files: Sequence[str], base: Path) -> dict[str, RequestStyle]:
    """All request styles that ship and those in ``files``, by name.

    Raises:
        ConfigError: a file can't be read, is no style, takes a name that exists, or names a pair that does not.
    """
    found = {name: catalogue.request_style(name) for name in catalogue.request_style_names()}
    own: dict[str, str] = {}
    for file in files:
        style = parse_style(catalogue.read_text(base / file), str(file))
        if style.name in found:
            raise ConfigError(f"a request style named {style.name!r} exists already", source=str(file), field="name")
        found[style.name], own[style.name] = style, str(file)
    for name, file in own.items():
        pair = found[name].pair
        if pair is not None and pair not in found:
            raise ConfigError(f"{pair!r} is no request style; {known_names(found, pair)}", source=file, field="pair")
    return found


def path_specs(own: Mapping[str, Any], base: Path, file: str | None = None) -> dict[str, PathSpec]:
    """All presets and the user's own paths (of ``file``), by name; external harnesses with the digest of their code."""
    at = f"{file}: transports" if file else "transports"
    found = {name: preset(name) for name in preset_names()}
    for name, config in own.items():
        if name in found:
            raise ConfigError(f"{name!r} is the name of a preset; choose another", field=f"transports.{name}")
        found[name] = identify(parse_path(name, config, f"{at}.{name}"), base)
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
    """Own paths by name from a YAML file: the mapping of a spec's ``transports``, or a file that holds only that section.

    Raises:
        ConfigError: the file can't be read, is not a mapping, or is a whole spec.
    """
    found = load_yaml(catalogue.read_text(file), str(file))
    if not isinstance(found, dict):
        raise ConfigError("must map names to paths", source=str(file))
    if found.keys() == {"transports"} and isinstance(found["transports"], dict):
        return found["transports"]
    if found and found.keys() <= Spec.model_fields.keys():
        raise ConfigError("is a whole spec, not paths by name; give it as --spec in place of --paths", source=str(file))
    return found


@dataclass(frozen=True)
class Own:
    """What a user's file adds to the paths, contracts and request styles that ship."""

    paths: Mapping[str, Any] = field(default_factory=dict)
    base: Path = field(default_factory=Path.cwd)
    """Directory that relative names in it start from."""
    contracts: tuple[str, ...] = ()
    styles: tuple[str, ...] = ()
    spec: Spec = field(default_factory=Spec)
    """Says in which sandbox to try them."""
    source: str | None = None

    def path_specs(self) -> dict[str, PathSpec]:
        """All presets and own paths by name.

        Raises:
            ConfigError: one of them is wrong.
        """
        with errors_name(self.source) if self.source else nullcontext():
            return path_specs(self.paths, self.base, self.source)

    def contract(self, name: str) -> Contract:
        """A contract that ships, one of the spec's, a Markdown file, or one that is generated from a path: ``tell:PATH``.

        Raises:
            ConfigError: there is none.
        """
        known = contracts_named(self.contracts, self.base)
        if is_reserved(name):
            return told_contract(name, known, self.path_specs())
        return known[name] if name in known else catalogue.contract(name)

    def style(self, name: str) -> RequestStyle:
        """A request style that ships, one of the spec's, or a Markdown file.

        Raises:
            ConfigError: there is none.
        """
        known = styles_named(self.styles, self.base)
        return known[name] if name in known else catalogue.request_style(name)


def read_own(paths: Path | None, spec: Path | None) -> Own:
    """Own paths from a file of paths or from a whole spec.

    Raises:
        ConfigError: a file can't be read or is wrong, or both are given.
    """
    if paths and spec:
        raise ConfigError("give --paths or --spec, not both")
    if paths:
        return Own(read_paths(paths), paths.resolve().parent, source=str(paths))
    if spec is None:
        return Own()
    if _only_transports(spec):
        return Own(read_paths(spec), spec.resolve().parent, source=str(spec))
    read, base = read_spec(spec)
    return Own(read.transports, base, read.contracts, read.styles, read, str(spec))


def named_path(source: str, name: str | None, paths: Path | None, spec: Path | None) -> tuple[str, Own]:
    """The path that ``FILE``, ``FILE NAME`` or ``NAME`` stands for, with all that may be named beside it.

    Raises:
        ConfigError: the file holds none or several and no name is given, or it can't be read or is wrong.
    """
    file = Path(source)
    if paths or spec or not (_is_file(file) or file.suffix in (".yaml", ".yml")):
        if name is not None:
            raise ConfigError(f"{source!r} is no file, so {name!r} names no path in it", source=source)
        return source, read_own(paths, spec)
    found = load_yaml(catalogue.read_text(file), source)
    whole = isinstance(found, dict) and bool(found) and found.keys() <= Spec.model_fields.keys()
    own = read_own(None, file) if whole else read_own(file, None)
    if name is None and len(own.paths) != 1:
        held = f"has the paths {', '.join(map(str, own.paths))}; say which: FILE NAME" if own.paths else "has no path"
        raise ConfigError(held, source=source)
    return name or next(iter(own.paths)), own


def _only_transports(file: Path) -> bool:
    """Whether a file holds the paths of a spec and nothing else: enough to look at them."""
    found = load_yaml(catalogue.read_text(file), str(file))
    return isinstance(found, dict) and found.keys() == {"transports"} and isinstance(found["transports"], dict)


def _suite(name: str, base: Path) -> Text:
    """The suite under the name that the spec gives it, so that a result does not depend on where the spec lies."""
    own = base / name
    return catalogue.suite_text(str(own) if _is_file(own) else name).model_copy(update={"name": name})


def _is_file(path: Path) -> bool:
    """False also where no file could have such a name."""
    try:
        return path.is_file()
    except OSError:
        return False


def _recordings(candidates: Sequence[Candidate], base: Path) -> dict[str, tuple[RecordedReply, ...]]:
    names = sorted({c.generation.model.name for c in candidates if provider(c.generation.model.name) == "recorded"})
    files = {name: recorded_file(name)[0] for name in names}
    return {name: catalogue.read_recorded(base / file) for name, file in files.items()}
