"""From entries and defaults to candidates. Every error says where it stands, so that a line can be given for it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any

from crosspath.errors import ConfigError
from crosspath.spec.sections import NAME_PATTERN, CandidateEntry, DeploymentSection, GridSection, ModelEntry
from crosspath.types import PLAIN_PATHS, TELL, Candidate, Generation, ModelSpec, OperatingPoint, Telling
from crosspath.types.drift import LEAST_REFERENCE_TRIALS

MAX_GRID = 1000
"""Candidates that a grid may describe."""

_GENERATION_AXES = ("contract", "operating_point", "request_style", "tools")
_REPLAY_AXES = ("transport", "harness", "validator")


class Misplaced(ConfigError):
    """A mistake with its place in the document (keys, outermost first)."""

    def __init__(self, problem: str, *place: str) -> None:
        self.place = place
        super().__init__(problem, field=".".join(place))


def resolve_candidates(
    models: Mapping[str, ModelEntry],
    defaults: CandidateEntry,
    entries: Mapping[str, CandidateEntry],
    grid: GridSection | None,
) -> tuple[Candidate, ...]:
    """All candidates of a spec; without entries and grid, one per model.

    Raises:
        ConfigError: no candidate at all, a bad or repeated name, an unknown model.
    """
    if not entries and grid is None:
        entries = {name: CandidateEntry(model=name) for name in models}
    if not entries and grid is None:
        raise Misplaced("no candidate: give `candidates:` or `models:`", "candidates")
    named = [(name, entry, ("candidates", name)) for name, entry in entries.items()]
    named += [(name, entry, ("grid",)) for name, entry in _cross(grid)] if grid else []
    found = [(one, place) for name, entry, place in named for one in _worded(name, defaults, entry, models, place)]
    _require_names((one.name, place) for one, place in found)
    return tuple(one for one, _ in found)


def check_kind(candidates: Iterable[Candidate]) -> None:
    """Require that candidates differ in nothing but the model.

    Raises:
        ConfigError: naming the field, both candidates and both values.
    """
    first, *others = candidates
    for other in others:
        for axis in (*_GENERATION_AXES, *_REPLAY_AXES):
            here, there = _axis(first, axis), _axis(other, axis)
            if here != there:
                raise Misplaced(
                    f"kind: model holds everything but the model fixed, but {axis} is {_shown(here)} in {first.name!r} "
                    f"and {_shown(there)} in {other.name!r}; make them equal or write kind: deployment",
                    "candidates",
                    other.name,
                    axis,
                )


def require_deployed(deployment: DeploymentSection, names: Sequence[str], reuse: Sequence[str], trials: int) -> str:
    """The candidate that a deployment is.

    Raises:
        ConfigError: no such candidate, or several and none is named; replies would be taken from elsewhere; a reference with too
            few trials.
    """
    if deployment.reference and trials < LEAST_REFERENCE_TRIALS:
        raise Misplaced(f"{trials} is too few: a reference has at least {LEAST_REFERENCE_TRIALS} trials a task", "trials")
    if reuse:
        raise Misplaced("a deployment is sampled anew each time: replies can't be taken from elsewhere, leave it out", "reuse")
    if deployment.candidate is None and len(names) > 1:
        raise Misplaced(f"is missing: which candidate is it? one of: {', '.join(names)}", "deployment", "candidate")
    if deployment.candidate is not None and deployment.candidate not in names:
        problem = f"{deployment.candidate!r} is no candidate; {near(deployment.candidate, names)}"
        raise Misplaced(problem, "deployment", "candidate")
    return deployment.candidate or names[0]


def near(name: str, known: Iterable[str]) -> str:
    """The end of a sentence that names what was probably meant, or what there is."""
    names = sorted(known)
    close = get_close_matches(name, names, n=2, cutoff=0.8) or get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return "did you mean " + " or ".join(close) + "?"
    return "known: " + ", ".join(names) if names else "none is known"


def _worded(
    name: str, defaults: CandidateEntry, entry: CandidateEntry, models: Mapping[str, ModelEntry], place: tuple[str, ...]
) -> list[Candidate]:
    """The candidate of an entry; with ``wordings`` that and one more for each further wording of its generated contract.

    ``wordings`` among the defaults is for the generated contracts only.
    """
    axes = _merged(defaults, entry)
    wordings, asked = axes.pop("wordings", 1), axes.get("contract", "raw")
    first = _candidate(name, axes, models, place)
    telling = Telling.named(first.generation.contract)
    if entry.wordings is not None and asked != TELL and (telling is None or telling.wording > 1):
        problem = f"there are no {wordings} wordings of {asked!r}; write contract: {TELL}, or {TELL}:PATH"
        raise Misplaced(problem, *place, "wordings")
    further = range(2, wordings + 1) if telling and telling.wording == 1 else ()
    return [first, *(_in_wording(first, telling, number) for number in further if telling)]


def _in_wording(first: Candidate, telling: Telling, number: int) -> Candidate:
    contract = telling.model_copy(update={"wording": number}).name
    generation = first.generation.model_copy(update={"contract": contract})
    return first.model_copy(update={"name": f"{first.name} wording {number}", "generation": generation})


def _told(contract: str, transport: str) -> str:
    """The contract's name; ``tell`` alone is about the path of the candidate, and about the raw path nothing is to be told."""
    if contract != TELL:
        return contract
    return PLAIN_PATHS.get(transport) or Telling(path=transport).name


def _candidate(name: str, axes: Mapping[str, Any], models: Mapping[str, ModelEntry], place: tuple[str, ...]) -> Candidate:
    model = _model(axes.get("model"), models, place)
    generation = {axis: axes[axis] for axis in _GENERATION_AXES if axis in axes}
    replay = {axis: axes[axis] for axis in _REPLAY_AXES if axis in axes}
    generation["contract"] = _told(generation.get("contract", "raw"), replay.get("transport", "raw"))
    return Candidate(name=name, generation=Generation(model=model, **generation), **replay)


def _model(asked: str | None, models: Mapping[str, ModelEntry], place: tuple[str, ...]) -> ModelSpec:
    if asked is None and len(models) == 1:
        asked = next(iter(models))
    if asked is None:
        raise Misplaced(f"model is missing; {near('', models)}", *place)
    if asked in models:
        entry = models[asked]
        return ModelSpec(name=entry.model, **entry.model_dump(exclude={"model", "prices"}), prices=entry.prices)
    if models and "/" not in asked:
        problem = f"{asked!r} is neither in models nor a litellm string (provider/model)"
        raise Misplaced(f"{problem}; {near(asked, models)}", *place, "model")
    return ModelSpec(name=asked)


def _merged(defaults: CandidateEntry, entry: CandidateEntry) -> dict[str, Any]:
    """Axis -> value: the entry's over the defaults', the operating point field by field."""
    axes = {**_given(defaults), **_given(entry)}
    points = [point for point in (defaults.operating_point, entry.operating_point) if point is not None]
    if points:
        fields = {name: getattr(point, name) for point in points for name in sorted(point.model_fields_set)}
        axes["operating_point"] = OperatingPoint(**fields)
    return axes


def _given(entry: CandidateEntry) -> dict[str, Any]:
    values = {name: getattr(entry, name) for name in entry.model_fields_set}
    return {name: value for name, value in values.items() if value is not None or name == "tools"}


def _axis(candidate: Candidate, axis: str) -> object:
    return getattr(candidate.generation if axis in _GENERATION_AXES else candidate, axis)


def _shown(value: object) -> str:
    if isinstance(value, OperatingPoint):
        return str(value.model_dump(exclude_defaults=True) or "the default")
    return repr(value)


def _cross(grid: GridSection) -> list[tuple[str, CandidateEntry]]:
    axes = {name: getattr(grid, name) for name in GridSection.model_fields if getattr(grid, name) is not None}
    size = 1
    for values in axes.values():
        size *= len(values)
    if size > MAX_GRID:
        raise Misplaced(f"describes {size} candidates; at most {MAX_GRID} are possible", "grid")
    varied = {name for name, values in axes.items() if len(values) > 1} or set(axes)
    found: list[tuple[str, CandidateEntry]] = []
    for combination in product(*axes.values()):
        chosen = dict(zip(axes, combination, strict=True))
        label = " ".join(_label(value) for name, value in chosen.items() if name in varied)
        found.append((label, CandidateEntry(**chosen)))
    return found


def _label(value: object) -> str:
    """A grid value as part of a candidate's name."""
    if isinstance(value, OperatingPoint):
        fields = ((name, getattr(value, name)) for name in sorted(value.model_fields_set))
        value = " ".join(f"{name}-{item:g}" if isinstance(item, float) else f"{name}-{item}" for name, item in fields)
    if isinstance(value, tuple):
        value = "-".join(str(item) for item in value) or "no-tools"  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    return re.sub(r"[^A-Za-z0-9_.\-/ ]", "-", str(value)) or "default"


def _require_names(names: Iterable[tuple[str, tuple[str, ...]]]) -> None:
    seen: dict[str, str] = {}
    for name, place in names:
        problem = name_problem(name)
        if problem:
            raise Misplaced(f"{name!r} {problem}", *place)
        if name.casefold() in seen:
            raise Misplaced(f"the name {name!r} is taken by {seen[name.casefold()]!r}; names differ in more than case", *place)
        seen[name.casefold()] = name


def name_problem(name: str) -> str | None:
    """Why ``name`` can't name a candidate or an evaluation; None if it can."""
    if not re.fullmatch(NAME_PATTERN, name):
        return "is no name: 1-60 letters, digits, spaces or _ - . / are possible"
    if name != name.strip() or any(part in ("", ".", "..") for part in name.split("/")):
        return "is no name: no space at either end, no empty, '.' or '..' part between slashes"
    if name.startswith("-"):
        return "is no name: no '-' at the beginning, which commands would read as an option"
    return None
