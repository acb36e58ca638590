"""The path of each candidate as deployed with the other clean-up of replies: what is replayed beside the plan, at no model cost.

A clean-up that leaves a reply as it is leaves its outcome, so only replies that it changes are replayed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from crosspath.errors import ConfigError
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import Plan, matched_cell
from crosspath.transports import Path, assemble, clean, find_path
from crosspath.types import Candidate, Cleanup, Contract, Facts, PathSpec, PlannedCell, Reference, ReplayKey, Task, TrialKey

MOST_CANDIDATES = 16
"""So many candidates at most are replayed with another clean-up: each adds up to a replay per reply."""
TOO_MANY = f"only the first {MOST_CANDIDATES} candidates of an evaluation are replayed with another clean-up"
_TOOL_CALLS = "its replies are tool calls, which no clean-up of text touches"
_NO_RECORD = "its contract is not kept as a record, so that its path can't be built again"
_OTHER_PATH = "this version of Crosspath builds its path in another way"


@dataclass(frozen=True)
class Alternative:
    """A candidate's cell as deployed, and the same path with another clean-up; ``path`` None: not replayed, and why."""

    cell: PlannedCell
    own: Cleanup
    path: Path | None = None
    unmeasured: str = ""

    @property
    def other(self) -> Cleanup:
        return other_clean_up(self.own)

    @property
    def strict(self) -> Cleanup:
        """Of the two, the one that takes no fence off."""
        return self.other if self.own == "fenced-block" else self.own

    @property
    def cleaned(self) -> Cleanup:
        """Of the two, the one that does."""
        return "fenced-block"

    @property
    def beside(self) -> PlannedCell:
        """The cell as it would be with the other clean-up; the same one where there is no path for that."""
        return self.cell.model_copy(update={"path": self.path.digest}) if self.path else self.cell


def other_clean_up(own: Cleanup) -> Cleanup:
    """What a harness is compared with: without its fences taken off, or with."""
    return "none" if own == "fenced-block" else "fenced-block"


def alternatives(facts: Facts) -> tuple[Alternative, ...]:
    """One for each candidate that has a cell, in the order of the candidates."""
    contracts = {contract.name: contract for contract in facts.contract_specs}
    specs = {spec.name: spec for spec in facts.path_specs}
    return _alternatives(facts.lock.candidates, facts.lock.reference, facts.cells, contracts, specs)


def most_replays(plan: Plan) -> int:
    """How many replays may come to those of a plan at most: if the other clean-up of each candidate changed every reply."""
    planned = {(one.path.digest, generation) for generation, replays in plan.replays.items() for one in replays}
    found = _alternatives(plan.candidates, plan.reference, plan.cells, plan.contracts, plan.path_specs)
    further = {(one.path.digest, one.cell.generation.digest) for one in found if one.path} - planned
    return len(further) * plan.trials * sum(task.infeasible is None for task in plan.tasks.values())


def _alternatives(
    candidates: Sequence[Candidate],
    reference: Reference,
    cells: Sequence[PlannedCell],
    contracts: Mapping[str, Contract],
    specs: Mapping[str, PathSpec],
) -> tuple[Alternative, ...]:
    planned = {cell.candidate for cell in cells if not cell.control}
    found: list[Alternative] = []
    for candidate in candidates:
        if candidate.name in planned:
            cell = matched_cell(cells, candidate.name)
            transport = candidate.transport if cell.done == "N" else reference.transport
            several = len(found) >= MOST_CANDIDATES
            path, why = (
                (None, TOO_MANY) if several else _other_path(cell, candidate, contracts.get(cell.contract), transport, specs)
            )
            found.append(Alternative(cell, candidate.harness, path, why))
    return tuple(found)


def _other_path(
    cell: PlannedCell, candidate: Candidate, contract: Contract | None, transport: str, specs: Mapping[str, PathSpec]
) -> tuple[Path | None, str]:
    """The cell's path with the other clean-up, or why there is none."""
    if contract is None:
        return None, _NO_RECORD
    if contract.shape == "tools":
        return None, _TOOL_CALLS
    try:
        own = assemble(find_path(transport, specs), contract, candidate.harness)
    except ConfigError:  # a path of an older version
        return None, _OTHER_PATH
    return (replace(own, cleanup=other_clean_up(own.cleanup)), "") if own.digest == cell.path else (None, _OTHER_PATH)


def changed_replies(index: FactIndex, one: Alternative) -> Iterator[tuple[Task, TrialKey]]:
    """The trials whose text the two clean-ups leave different; those of tasks that can't be done are left out."""
    for task, _, key in index.keys(one.cell):
        trial = index.trial_of(key)
        if trial and trial.reply and trial.reply.text is not None and changes(trial.reply.text, one.own):
            yield task, key


def changes(text: str, own: Cleanup) -> bool:
    """Whether the other clean-up makes something else of a reply's text."""
    return clean(text, own) != clean(text, other_clean_up(own))


@dataclass(frozen=True)
class Owed:
    """What is still to be replayed beside the plan: paths by digest, and the replays of each trial."""

    paths: Mapping[str, Path]
    keys: Mapping[TrialKey, tuple[ReplayKey, ...]]


def owed_replays(facts: Facts) -> Owed:
    """Every reply that the other clean-up of its candidate changes, through the path with that clean-up; what was executed
    already is left out."""
    index = FactIndex(facts, ())
    done = frozenset(replay.key for replay in facts.replays if replay.execution)
    paths: dict[str, Path] = {}
    keys: dict[TrialKey, dict[ReplayKey, None]] = {}
    for one in alternatives(facts):
        if one.path is not None:
            paths[one.path.digest] = one.path
            for _, trial in changed_replies(index, one):
                if (key := ReplayKey(trial=trial, path=one.path.digest)) not in done:
                    keys.setdefault(trial, {})[key] = None
    return Owed(paths, {trial: tuple(own) for trial, own in keys.items()})
