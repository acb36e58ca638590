"""Whether the order of models survives a change of configuration, and which tasks hang on it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from crosspath.analysis.outcomes import Outcomes, arrange
from crosspath.analysis.rank_stability import rank_stability as stability_of
from crosspath.pipeline.fact_index import MAX_PAIRWISE, FactIndex
from crosspath.pipeline.model_groups import Configuration, arrangement_fields, arrangement_label, configurations, differing
from crosspath.pipeline.plan import matched_cell
from crosspath.types import Arrangement, Candidate, PlannedCell, RankStability

_Side = Mapping[str, tuple[Candidate, PlannedCell]]
"""Model -> its candidate and cell in one arrangement."""
_Identity = tuple[str, str, str]


def rank_stability(index: FactIndex, broken: Collection[str]) -> tuple[RankStability, ...]:
    """For each configuration of two models or more: the reference against the configuration as deployed, and against the same
    replies on its path; then configurations against each other as deployed, unless there are more than six.

    ``broken``: candidates whose control is broken; they take no part with what went through their path. Nothing is read or
    computed where no two models share a configuration.
    """
    groups = [group for group in configurations(index.facts.lock.candidates) if len(group.candidates) > 1]
    if not groups:
        return ()
    compared = _Compared(index, broken)
    found: dict[frozenset[tuple[str, _Identity, _Identity]], RankStability] = {}
    for first, second in _sides(index, groups):
        key = frozenset((model, _identity(first[model][1]), _identity(second[model][1])) for model in first)
        if key not in found and (stability := compared.stability(first, second)):
            found[key] = stability
    return tuple(found.values())


def _sides(index: FactIndex, groups: Sequence[Configuration]) -> Iterator[tuple[_Side, _Side]]:
    for group in groups:
        cells = {model: (candidate, index.cells_of(candidate.name)) for model, candidate in group.candidates.items()}
        own = matched_cell(index.facts.cells, next(iter(group.candidates.values())).name).name
        for name in dict.fromkeys((own, "RN")):
            if name != "RR" and all({"RR", name} <= planned.keys() for _, planned in cells.values()):
                yield _side(cells, "RR"), _side(cells, name)
    for one, other in combinations(groups, 2) if len(groups) <= MAX_PAIRWISE else ():
        models = [model for model in one.candidates if model in other.candidates]
        yield _deployed(index, one, models), _deployed(index, other, models)


def _side(cells: Mapping[str, tuple[Candidate, Mapping[str, PlannedCell]]], name: str) -> _Side:
    return {model: (candidate, planned[name]) for model, (candidate, planned) in cells.items()}


def _deployed(index: FactIndex, group: Configuration, models: Sequence[str]) -> _Side:
    chosen = {model: group.candidates[model] for model in models}
    return {model: (candidate, matched_cell(index.facts.cells, candidate.name)) for model, candidate in chosen.items()}


def _identity(cell: PlannedCell) -> _Identity:
    return cell.generation.digest, cell.path, cell.validator


@dataclass(frozen=True)
class _Compared:
    """Outcomes of cells as they are compared, each arranged once."""

    index: FactIndex
    broken: Collection[str]

    @cached_property
    def _known(self) -> dict[tuple[str, str], Outcomes]:
        return {}

    def outcomes(self, cell: PlannedCell) -> Outcomes:
        """A cell's outcomes, trials that are unstable on any path of its candidate left out."""
        key = (cell.candidate, cell.name)
        if key not in self._known:
            self._known[key] = arrange(self.index.rows_compared(cell))
        return self._known[key]

    def stability(self, first: _Side, second: _Side) -> RankStability | None:
        """None where fewer than two models are left."""
        reasons = {model: self._why_not(first[model][1], second[model][1]) for model in first}
        left = [model for model, reason in reasons.items() if not reason]
        if len(left) < 2:
            return None
        fields = [arrangement_fields(*side[left[0]]) for side in (first, second)]
        apart = differing(fields)
        labelled = [
            Arrangement(label=arrangement_label(one, apart), fields=tuple((field, one.get(field, "unset")) for field in apart))
            for one in fields
        ]
        sides = [{model: self.outcomes(side[model][1]) for model in left} for side in (first, second)]
        return stability_of(
            (labelled[0], sides[0]), (labelled[1], sides[1]), {model: reason for model, reason in reasons.items() if reason}
        )

    def _why_not(self, *cells: PlannedCell) -> str:
        if any(cell.done == "N" and cell.candidate in self.broken for cell in cells):
            return "its control is broken"
        return "" if all(self.outcomes(cell).used() for cell in cells) else "nothing was observed"
