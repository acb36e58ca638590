"""Facts and scores, looked up by cell, and what the cells of an evaluation add up to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from crosspath.analysis import (
    CandidateInput,
    CellInput,
    Pair,
    compare,
    compare_together,
    decompose_together,
    judge_control,
    needs_repeats,
)
from crosspath.analysis.abstention import Declining, abstention, way_of
from crosspath.analysis.partitions import partition_gap
from crosspath.analysis.style_spreads import style_spread
from crosspath.analysis.wording_spreads import Worded, wording_spread
from crosspath.pipeline.disclosure import same_path
from crosspath.pipeline.path_options import PathOptions
from crosspath.pipeline.plan import matched_cell
from crosspath.pipeline.style_groups import style_groups
from crosspath.pipeline.wording_groups import wording_groups
from crosspath.types import (
    Abstention,
    Candidate,
    CellRow,
    Comparison,
    Contract,
    Control,
    Decomposition,
    Facts,
    PartitionGap,
    PathSpec,
    PlannedCell,
    Replay,
    ReplayKey,
    Score,
    StyleSpread,
    Task,
    Trial,
    TrialKey,
    WordingSpread,
)

MAX_PAIRWISE = 6
"""Up to so many candidates, every pair is compared; beyond that, each with the first."""

Passes = dict[tuple[str, int], tuple[bool | None, ...]]
"""(task, trial index) -> passed, per repeat; None where a fault stands."""


@dataclass(frozen=True)
class FactIndex:
    """Facts and scores, looked up by cell."""

    facts: Facts
    scores: Sequence[Score]

    @cached_property
    def _scores(self) -> dict[tuple[str, ReplayKey], Score]:
        return {(score.validator, score.key): score for score in self.scores}

    @cached_property
    def _trials(self) -> dict[TrialKey, Trial]:
        return {trial.key: trial for trial in self.facts.trials}

    @cached_property
    def _replays(self) -> dict[ReplayKey, Replay]:
        return {replay.key: replay for replay in self.facts.replays}

    @cached_property
    def _contracts(self) -> dict[str, Contract]:
        return {contract.name: contract for contract in self.facts.contract_specs}

    @cached_property
    def _path_specs(self) -> dict[str, PathSpec]:
        return {spec.name: spec for spec in self.facts.path_specs}

    @cached_property
    def _unstable(self) -> dict[str, dict[str, set[tuple[str, int]]]]:
        """Candidate -> generation -> trials that are unstable on one of its paths: found once, because many ask."""
        return {}

    @cached_property
    def _compared(self) -> dict[tuple[str, str, str, bool], tuple[CellRow, ...]]:
        """Candidate, told, done, control -> the rows of that cell: made once, because many ask."""
        return {}

    @cached_property
    def _repeats(self) -> dict[tuple[TrialKey, str, bool], int]:
        """How many repeats there are of each replay."""
        found: dict[tuple[TrialKey, str, bool], int] = defaultdict(int)
        for key in self._replays:
            found[key.trial, key.path, key.encoded] = max(found[key.trial, key.path, key.encoded], key.repeat + 1)
        return found

    def keys(self, cell: PlannedCell, *, infeasible: bool = False) -> Iterable[tuple[Task, int, TrialKey]]:
        """Planned trials of the tasks that can be done, or of those that can't: the two are never mixed."""
        for task in self.facts.tasks:
            if (task.infeasible is not None) != infeasible:
                continue
            for index in range(self.facts.lock.trials):
                yield task, index, TrialKey(generation=cell.generation.digest, task=task.id, index=index)

    def trial_of(self, key: TrialKey) -> Trial | None:
        """The trial, where anything is known of it."""
        return self._trials.get(key)

    def replay_of(self, cell: PlannedCell, trial: TrialKey, repeat: int = 0) -> Replay | None:
        """The replay of a trial in a cell, where there is one."""
        return self._replays.get(ReplayKey(trial=trial, path=cell.path, encoded=cell.encoded, repeat=repeat))

    def score_of(self, cell: PlannedCell, trial: TrialKey, repeat: int = 0) -> Score | None:
        """The verdict on a trial in a cell by the cell's validator; None: it was not observed."""
        key = ReplayKey(trial=trial, path=cell.path, encoded=cell.encoded, repeat=repeat)
        return self._scores.get((cell.validator, key))

    def _passed(self, cell: PlannedCell, trial: TrialKey, repeat: int) -> bool | None:
        found = self.score_of(cell, trial, repeat)
        return None if found is None else found.passed

    def passes(self, cell: PlannedCell) -> Passes:
        """Passed per repeat, for all tasks."""
        return {
            (task.id, index): tuple(
                self._passed(cell, key, repeat) for repeat in range(max(1, self._repeats[key, cell.path, cell.encoded]))
            )
            for task, index, key in self.keys(cell)
        }

    def _states(self, cell: PlannedCell) -> Passes:
        """Whether the final state is right, per repeat, for the tasks of tier 0.

        What a path tells of it is the path's own: one that masks every exit status is faulty, and no fault of the instrument.
        """
        return {
            (task.id, index): tuple(
                None if found is None else found.state_ok
                for repeat in range(max(1, self._repeats[key, cell.path, cell.encoded]))
                for found in (self.score_of(cell, key, repeat),)
            )
            for task, index, key in self.keys(cell)
            if task.tier == 0
        }

    def rows(self, cell: PlannedCell, unstable: Iterable[tuple[str, int]] = ()) -> tuple[CellRow, ...]:
        """One row per planned trial of a cell; a trial without a score is a row without a verdict."""
        shaky = set(unstable)
        return tuple(self._row(cell, task, index, key, (task.id, index) in shaky) for task, index, key in self.keys(cell))

    def _row(self, cell: PlannedCell, task: Task, index: int, trial: TrialKey, unstable: bool) -> CellRow:
        key = ReplayKey(trial=trial, path=cell.path, encoded=cell.encoded)
        found = self._scores.get((cell.validator, key))
        return CellRow(
            task=task.id,
            family=task.family,
            tier=task.tier,
            index=index,
            passed=None if found is None else found.passed,
            silent_wrong=found is not None and found.silent_wrong,
            false_alarm=found.false_alarm if found else None,
            cause=self._fault(trial, key) if found is None else found.cause,
            unstable=unstable,
        )

    def _fault(self, trial: TrialKey, key: ReplayKey) -> str:
        known, replay = self._trials.get(trial), self._replays.get(key)
        fault = (known.fault if known else None) or (replay.fault if replay else None)
        return f"fault:{fault.type if fault else 'not_done'}"

    # -- one candidate -------------------------------------------------------------------------------------------------

    def cells_of(self, candidate: str) -> dict[str, PlannedCell]:
        """``RR``, ``RN``, ``NR``, ``NN`` and ``control``, those that are planned."""
        return {"control" if c.control else c.name: c for c in self.facts.cells if c.candidate == candidate}

    def decompositions(self) -> tuple[Decomposition, ...]:
        """Every candidate's score, taken apart; in the order of the spec, with intervals of effects that hold together."""
        candidates = self.facts.lock.candidates
        found = decompose_together([self._candidate_input(candidate) for candidate in candidates])
        return tuple(
            one.model_copy(update=self._disclosure(candidate, self.cells_of(candidate.name)))
            for candidate, one in zip(candidates, found, strict=True)
        )

    def _candidate_input(self, candidate: Candidate) -> CandidateInput:
        cells = self.cells_of(candidate.name)
        control, unstable = self.control(cells)
        inputs = [
            CellInput(
                told=cell.told,
                done=cell.done,
                contract=cell.contract,
                transport=cell.transport,
                rows=self.rows(cell, unstable.get(cell.generation.digest, ())),
            )
            for name, cell in cells.items()
            if name != "control"
        ]
        prefix = f"{candidate.name}/"
        missing = {k.removeprefix(prefix): v for k, v in self.facts.not_applicable.items() if k.startswith(prefix)}
        return CandidateInput(candidate.name, inputs, control, missing)

    def _disclosure(self, candidate: Candidate, cells: Mapping[str, PlannedCell]) -> dict[str, object]:
        """What the contract of the N-told cells discloses; nothing where there is none, or its record is not kept."""
        contract = self._contracts.get(candidate.generation.contract)
        if contract is None or all(cell.told == "R" for cell in cells.values()):
            return {}
        same = same_path(contract.discloses, candidate.transport, self._path_specs)
        return {"discloses": contract.discloses, "undisclosed": not same}

    def control_sides(self, cells: Mapping[str, PlannedCell]) -> tuple[Literal["encoded", "benign"], Passes, Passes] | None:
        """Kind of control, reference passes and control passes; None where the candidate's path is the reference."""
        reference = cells.get("RR")
        if "control" in cells and reference:
            return "encoded", self.passes(reference), self.passes(cells["control"])
        if "RN" in cells and reference:
            return "benign", self._states(reference), self._states(cells["RN"])
        return None

    def control(self, cells: Mapping[str, PlannedCell]) -> tuple[Control, dict[str, set[tuple[str, int]]]]:
        """The control's verdict, and per generation the trials that are unstable on some path of this candidate."""
        sides = self.control_sides(cells)
        unstable: dict[str, set[tuple[str, int]]] = defaultdict(set)
        for cell in cells.values():
            unstable[cell.generation.digest] |= _disagreeing(self.passes(cell))
        if sides is None:
            return Control(kind="none", status="holds", compared=0, reason="the path is the reference"), unstable
        kind, reference, control = sides
        return judge_control(kind, reference, control), unstable

    def repeats_owed(self) -> dict[TrialKey, set[tuple[str, bool]]]:
        """Trial -> (path, encoded) of both sides of every control that differs and was not repeated yet."""
        owed: dict[TrialKey, set[tuple[str, bool]]] = defaultdict(set)
        for candidate in self.facts.lock.candidates:
            cells = self.cells_of(candidate.name)
            sides = self.control_sides(cells)
            if sides is None:
                continue
            pair = (cells["RR"], cells["control" if sides[0] == "encoded" else "RN"])
            for task, index in needs_repeats(sides[1], sides[2]):
                for cell in pair:
                    key = TrialKey(generation=cell.generation.digest, task=task, index=index)
                    owed[key].add((cell.path, cell.encoded))
        return owed

    # -- beside the decomposition ---------------------------------------------------------------------------------------

    def abstentions(self) -> tuple[Abstention, ...]:
        """How each cell's replies decline; empty without an infeasible task."""
        if all(task.infeasible is None for task in self.facts.tasks):
            return ()
        return tuple(self._abstention(cell) for cell in self.facts.cells if not cell.control)

    def _abstention(self, cell: PlannedCell) -> Abstention:
        keys = [*self.keys(cell), *self.keys(cell, infeasible=True)]
        told = self._contracts.get(cell.contract)
        return abstention(cell, told.abstain if told else None, [self._declining(cell, task, key) for task, _, key in keys])

    def _declining(self, cell: PlannedCell, task: Task, trial: TrialKey) -> Declining:
        key = ReplayKey(trial=trial, path=cell.path, encoded=cell.encoded)
        found, replay = self._scores.get((cell.validator, key)), self._replays.get(key)
        infeasible = task.infeasible is not None
        if found is None or replay is None:
            return Declining(task.id, infeasible, None)
        repeats = range(1, self._repeats[trial, cell.path, cell.encoded])
        unstable = infeasible and (not found.passed) in (self._passed(cell, trial, repeat) for repeat in repeats)
        return Declining(task.id, infeasible, way_of(replay.delivery), found.state_ok, unstable)

    def partition_gaps(self) -> tuple[PartitionGap, ...]:
        """Public against held-out tasks, for RR and the cell that is the candidate as deployed; empty without both partitions."""
        feasible = [task for task in self.facts.tasks if task.infeasible is None]
        if len({task.partition for task in feasible}) < 2:
            return ()
        public = {task.id for task in feasible if task.partition == "public"}
        twins = {task.id: task.twin for task in feasible if task.partition == "heldout" and task.twin in public}
        return tuple(
            partition_gap(candidate.name, cell.told, cell.done, self.rows_compared(cell), twins)
            for candidate in self.facts.lock.candidates
            for cell in self._shown(candidate.name)
        )

    def _shown(self, candidate: str) -> tuple[PlannedCell, ...]:
        """The reference cell and the candidate as deployed."""
        cells = self.cells_of(candidate)
        names = [name for name in ("RR", "RN", "NR", "NN") if name in cells]
        return tuple(cells[name] for name in names if name in ("RR", names[-1]))

    def style_spreads(self, decompositions: Sequence[Decomposition]) -> tuple[StyleSpread, ...]:
        """Candidates that differ in their request style alone, in RR and in the cell as deployed; empty without any."""
        by_name = {decomposition.candidate: decomposition for decomposition in decompositions}
        return tuple(
            self._style_spread(group, name, by_name)
            for group in style_groups(self.facts.lock.candidates)
            for name in self._shared_cells([candidate.name for candidate in group.values()])
        )

    def _shared_cells(self, candidates: Sequence[str]) -> list[str]:
        own = matched_cell(self.facts.cells, candidates[0]).name
        planned = [self.cells_of(name) for name in candidates]
        return [name for name in dict.fromkeys(("RR", own)) if all(name in cells for cells in planned)]

    def _style_spread(
        self, group: Mapping[str, Candidate], name: str, decompositions: Mapping[str, Decomposition]
    ) -> StyleSpread:
        cells = {style: self.cells_of(candidate.name)[name] for style, candidate in group.items()}
        first = next(iter(cells.values()))
        return style_spread(
            {style: decompositions[candidate.name] for style, candidate in group.items()},
            {style: self.rows_compared(cell) for style, cell in cells.items()},
            first.told,
            first.done,
        )

    def wording_spreads(self, decompositions: Sequence[Decomposition]) -> tuple[WordingSpread, ...]:
        """Candidates that are told about their own path in other words and else are alike, in NN; empty without any."""
        by_name = {decomposition.candidate: decomposition for decomposition in decompositions}
        found: list[WordingSpread] = []
        for group in wording_groups(self.facts.lock.candidates, self._contracts):
            cells = {name: self.cells_of(candidate.name) for name, (candidate, _) in group.items()}
            candidate, contract = next(iter(group.values()))
            told = same_path(contract.discloses, candidate.transport, self._path_specs)
            if told and all({"RN", "NN"} <= one.keys() for one in cells.values()):
                worded = {name: self._worded(by_name[group[name][0].name], own) for name, own in cells.items()}
                found.append(wording_spread(contract.discloses, candidate.transport, worded))
        return tuple(found)

    def _worded(self, decomposition: Decomposition, cells: Mapping[str, PlannedCell]) -> Worded:
        return Worded(decomposition, self.rows_compared(cells["NN"]), self.rows_compared(cells["RN"]))

    # -- several candidates --------------------------------------------------------------------------------------------

    def comparisons(self) -> tuple[Comparison, ...]:
        """Matched cells of two candidates, side by side, with intervals that hold together over all pairs."""
        names = [candidate.name for candidate in self.facts.lock.candidates]
        firsts = names if len(names) <= MAX_PAIRWISE else names[:1]
        pairs = [(a, b) for i, a in enumerate(firsts) for b in names[i + 1 :]]
        return compare_together([self._pair(a, b) for a, b in pairs])

    def comparison(self, a: str, b: str) -> Comparison:
        """``b`` - ``a``, as deployed, by itself."""
        pair = self._pair(a, b)
        return compare(pair.a, pair.b, pair.rows_a, pair.rows_b, pair.changed)

    def _pair(self, a: str, b: str) -> Pair:
        by_name = {candidate.name: candidate for candidate in self.facts.lock.candidates}
        rows = [self.rows_compared(matched_cell(self.facts.cells, name)) for name in (a, b)]
        return Pair(a, b, rows[0], rows[1], changed_fields(by_name[a], by_name[b]))

    def path_options(self, decompositions: Sequence[Decomposition]) -> PathOptions:
        """The paths that the replies of each generation went through."""
        controls = {decomposition.candidate: decomposition.control for decomposition in decompositions}
        return PathOptions(self.facts, self._rows_of_path, controls)

    def _rows_of_path(self, cell: PlannedCell) -> tuple[CellRow, ...]:
        """As compared; on the reference path only what disagrees there is unstable, because many candidates share it."""
        return self.rows(cell, _disagreeing(self.passes(cell))) if cell.done == "R" else self.rows_compared(cell)

    def rows_compared(self, cell: PlannedCell) -> tuple[CellRow, ...]:
        """The rows of a cell, trials that are unstable on any path of its candidate marked."""
        known = cell.candidate, cell.told, cell.done, cell.control
        if known not in self._compared:
            self._compared[known] = self.rows(cell, self._unstable_of(cell))
        return self._compared[known]

    def _unstable_of(self, cell: PlannedCell) -> Iterable[tuple[str, int]]:
        if cell.candidate not in self._unstable:
            self._unstable[cell.candidate] = self.control(self.cells_of(cell.candidate))[1]
        return self._unstable[cell.candidate].get(cell.generation.digest, ())


def _disagreeing(passes: Passes) -> set[tuple[str, int]]:
    return {key for key, seen in passes.items() if len({value for value in seen if value is not None}) > 1}


def flatten(value: object, prefix: str = "") -> dict[str, str]:
    """Nested mappings as dotted keys; leaves as text, ``unset`` for None."""
    if isinstance(value, Mapping):
        parts = [flatten(inner, f"{prefix}.{key}" if prefix else str(key)) for key, inner in value.items()]
        return {key: text for part in parts for key, text in part.items()}
    return {prefix: "unset" if value is None else str(value)}


def changed_fields(a: Candidate, b: Candidate) -> tuple[tuple[str, str, str], ...]:
    """Configuration fields in which two candidates differ."""
    left, right = (flatten(c.model_dump(mode="json", exclude={"name"})) for c in (a, b))
    return tuple(
        (key, left.get(key, "unset"), right.get(key, "unset"))
        for key in sorted(left.keys() | right.keys())
        if left.get(key, "unset") != right.get(key, "unset")
    )
