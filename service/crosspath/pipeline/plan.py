"""From candidates to cells, requests and replays: what an evaluation will do, before anything is done.

Only what the candidates and their controls need is planned. Two candidates that share a generation share its replies; two
cells that share replies and path share replays.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeVar

from crosspath.errors import ConfigError
from crosspath.pipeline.disclosure import mismatch, same_path
from crosspath.pipeline.requests import build_request
from crosspath.styles import PLAIN
from crosspath.tasks.places import known_names
from crosspath.transports import Path, assemble, find_path
from crosspath.types import (
    Candidate,
    Contract,
    Generation,
    PathSpec,
    PlannedCell,
    Reference,
    ReplayKey,
    Request,
    RequestStyle,
    Side,
    Task,
    TrialKey,
)

_T = TypeVar("_T")

BENIGN_REPEATS = 2
"""How often the cells of an opaque path are replayed from the start: its control asks whether two replays agree."""


@dataclass(frozen=True)
class PlannedReplay:
    """One path that the replies of a generation go through, ``repeats`` times."""

    path: Path
    encoded: bool = False
    repeats: int = 1


@dataclass(frozen=True)
class Plan:
    """Everything that will be asked and executed. Sequences are in a fixed order: candidates, then tasks, then trials."""

    candidates: tuple[Candidate, ...]
    reference: Reference
    tasks: Mapping[str, Task]
    contracts: Mapping[str, Contract]
    path_specs: Mapping[str, PathSpec]
    trials: int
    cells: tuple[PlannedCell, ...]
    not_applicable: Mapping[str, str]
    paths: Mapping[str, Path]
    """Path digest -> path."""
    generations: Mapping[str, Generation] = field(default_factory=dict)
    styles: Mapping[str, RequestStyle] = field(default_factory=dict)
    """Those that a generation uses, by name."""

    @cached_property
    def requests(self) -> tuple[Request, ...]:
        """One per trial, each complete with its key."""
        return tuple(
            build_request(generation, self.contracts[generation.contract], self.styles[generation.request_style], task, index)
            for generation in self.generations.values()
            for task in self.tasks.values()
            for index in range(self.trials)
        )

    @cached_property
    def replays(self) -> Mapping[str, tuple[PlannedReplay, ...]]:
        """Generation digest -> the paths its replies go through."""
        found: dict[str, dict[tuple[str, bool], PlannedReplay]] = {key: {} for key in self.generations}
        for cell in self.cells:
            path = self.paths[cell.path]
            repeats = BENIGN_REPEATS if cell.done == "N" and not path.survivable else 1
            found[cell.generation.digest][cell.path, cell.encoded] = PlannedReplay(path, cell.encoded, repeats)
        return {key: tuple(planned.values()) for key, planned in found.items()}

    def replay_keys(self, trial: TrialKey) -> Iterator[tuple[PlannedReplay, ReplayKey]]:
        """Every replay that this trial's reply owes."""
        for planned in self.replays[trial.generation]:
            for repeat in range(planned.repeats):
                key = ReplayKey(trial=trial, path=planned.path.digest, encoded=planned.encoded, repeat=repeat)
                yield planned, key

    @property
    def replay_count(self) -> int:
        """Replays planned from the start; unstable controls add more."""
        per_generation = (sum(planned.repeats for planned in replays) for replays in self.replays.values())
        return len(self.tasks) * self.trials * sum(per_generation)


def make_plan(
    candidates: Sequence[Candidate],
    reference: Reference,
    tasks: Sequence[Task],
    contracts: Mapping[str, Contract],
    path_specs: Mapping[str, PathSpec],
    trials: int,
    styles: Mapping[str, RequestStyle] | None = None,
) -> Plan:
    """Plan the cells of each candidate and their controls. ``styles``: request styles by name; None: only ``plain``.

    Raises:
        ConfigError: a contract, a path or a request style is not known, or no task is left.
    """
    if not tasks:
        raise ConfigError("no task is left after the selection", field="tasks")
    cells: list[PlannedCell] = []
    not_applicable: dict[str, str] = {}
    paths: dict[str, Path] = {}
    for candidate in candidates:
        planner = _CandidatePlanner(candidate, reference, contracts, path_specs)
        cells += planner.cells()
        not_applicable |= planner.not_applicable
        paths |= {path.digest: path for path in planner.paths}
    generations = {cell.generation.digest: cell.generation for cell in cells}
    return Plan(
        candidates=tuple(candidates),
        reference=reference,
        tasks={task.id: task for task in tasks},
        contracts=contracts,
        path_specs=path_specs,
        trials=trials,
        cells=tuple(cells),
        not_applicable=not_applicable,
        paths=paths,
        generations=generations,
        styles=_styles_used(candidates, styles or {PLAIN.name: PLAIN}),
    )


def _styles_used(candidates: Sequence[Candidate], styles: Mapping[str, RequestStyle]) -> dict[str, RequestStyle]:
    places = {one.generation.request_style: f"candidates.{one.name}.request_style" for one in reversed(candidates)}
    return {name: _known(styles, name, places[name]) for name in sorted(places)}


class _CandidatePlanner:
    """The cells of one candidate."""

    def __init__(
        self,
        candidate: Candidate,
        reference: Reference,
        contracts: Mapping[str, Contract],
        path_specs: Mapping[str, PathSpec],
    ) -> None:
        self.candidate = candidate
        place = f"candidates.{candidate.name}"
        self.contract = _known(contracts, candidate.generation.contract, f"{place}.contract")
        self.told_reference = self._reference_contract(reference, contracts, place)
        self._specs: Mapping[Side, PathSpec] = {
            "N": _path_named(candidate.transport, path_specs, f"{place}.transport"),
            "R": _path_named(reference.transport, path_specs, "reference.transport"),
        }
        self._told: Mapping[Side, Contract] = {"N": self.contract, "R": self.told_reference}
        self.not_applicable: dict[str, str] = {}

    def _reference_contract(self, reference: Reference, contracts: Mapping[str, Contract], place: str) -> Contract:
        """The reference of the same reply shape: another shape has a reference cell of its own."""
        asked = _known(contracts, reference.contract, "reference.contract")
        if asked.shape == self.contract.shape:
            return asked
        return _known(contracts, self.contract.reference, f"{place}.contract ({self.contract.name}).reference")

    def _path(self, told: Side, done: Side) -> Path:
        """Its decoder is that of the contract which the replies were told: two of one shape may differ in the name of a field, in
        a tool, or in the form of declining."""
        return assemble(self._specs[done], self._told[told], self.candidate.harness)

    @property
    def paths(self) -> tuple[Path, ...]:
        sides: tuple[Side, ...] = ("R", "N")
        return tuple(self._path(told, done) for told in sides for done in sides)

    def cells(self) -> list[PlannedCell]:
        """RR always; the others where contract or path differ from the reference; one control where the path differs."""
        same_contract = self.contract.name == self.told_reference.name
        own = self._path("R", "N")
        same_path = own.digest == self._path("R", "R").digest
        told_sides: tuple[Side, ...] = ("R",) if same_contract else ("R", "N")
        done_sides: tuple[Side, ...] = ("R",) if same_path else ("R", "N")
        cells = [cell for told in told_sides for done in done_sides if (cell := self._cell(told, done))]
        if not same_path and own.survivable and (control := self._cell("R", "N", control=True)):
            cells.append(control)
        return cells

    def _cell(self, told: Side, done: Side, *, control: bool = False) -> PlannedCell | None:
        contract, path = self._told[told], self._path(told, done)
        if reason := path.fits:
            self.not_applicable[f"{self.candidate.name}/{told}{done}"] = reason
            return None
        return PlannedCell(
            candidate=self.candidate.name,
            told=told,
            done=done,
            generation=self.candidate.generation.model_copy(update={"contract": contract.name}),
            contract=contract.name,
            transport=path.name,
            path=path.digest,
            encoded=control,
            control=control,
            validator=self.candidate.validator,
        )


def matched_cell(cells: Sequence[PlannedCell], candidate: str) -> PlannedCell:
    """The cell that is the candidate as deployed: its own contract, its own path."""
    own = [cell for cell in cells if cell.candidate == candidate and not cell.control]
    return max(own, key=lambda cell: (cell.told == "N", cell.done == "N"))


def undisclosed(plan: Plan) -> tuple[str, ...]:
    """One sentence for each candidate that is told about another path than the one its replies run on."""
    return tuple(
        mismatch(candidate.name, contract, candidate.transport)
        for candidate in plan.candidates
        if any(cell.candidate == candidate.name and cell.told == "N" for cell in plan.cells)
        and (contract := plan.contracts[candidate.generation.contract])
        and not same_path(contract.discloses, candidate.transport, plan.path_specs)
    )


def _path_named(name: str, own: Mapping[str, PathSpec], place: str) -> PathSpec:
    try:
        return find_path(name, own)
    except ConfigError as error:
        raise ConfigError(error.problem, field=place) from None


def _known(table: Mapping[str, _T], name: str, place: str) -> _T:
    if name not in table:
        raise ConfigError(f"{name!r} is not known; {known_names(table, name)}", field=place)
    return table[name]
