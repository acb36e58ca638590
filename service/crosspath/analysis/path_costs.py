"""What each path costs: replies on several paths, ranked by pass rate, then by how often a wrong state is reported as fine.

**Damage** of a path is taken over the same replies on the reference path, and so exact for these replies.

**Told apart from the best.** Every ranked path is compared with the first one: paired by task, tasks averaged within family, t on
family means. The intervals of one ranking hold together (Bonferroni). The first path was picked by looking, which costs no more:
if another path is truly best, its difference to each of the other k - 1 is at least 0, and it is only missed if one of the k - 1
intervals of that width misses (Gupta 1965; Hsu 1981). So with 95 % confidence the best path for families like these is among
those that are not told apart. Max-t (multivariate t with the observed correlation) would be 0.6 % narrower for 44 comparisons
over 28 families of simulated differences, for seconds of integration.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from crosspath.analysis.compare import paired
from crosspath.analysis.coverage import MISSING_PROGRAM
from crosspath.analysis.decompose import CellInput, decompose
from crosspath.analysis.stats import ALPHA
from crosspath.analysis.wording import control_word
from crosspath.types import Apart, Cell, CellRow, Control, Effect, Estimate, PathCost, PathRanking, Side, Standing


@dataclass(frozen=True)
class PathOption:
    """One path for the replies of one generation, and every planned trial of it."""

    path: str
    candidate: str
    told: Side
    done: Side
    contract: str
    generation: str
    """Digest of the generation: options that share it share their replies."""
    rows: tuple[CellRow, ...]
    on_reference: tuple[CellRow, ...] | None
    """The same replies on the reference path; None where that is not planned, or for the reference itself."""
    control: Control
    reference: bool = False
    needs: str = ""
    """What is missing where a program is missing, in words."""


@dataclass(frozen=True)
class _Judged:
    option: PathOption
    cost: PathCost


def path_ranking(model: str, options: Sequence[PathOption]) -> PathRanking:
    """The ranking of paths that carried the replies of one generation.

    Raises:
        ValueError: no option; or two rows of one option are the same trial.
    """
    if not options:
        raise ValueError("nothing to rank")
    paths = rank_paths(options)
    ranked = sum(path.rank is not None for path in paths)
    return PathRanking(
        model=model, contract=options[0].contract, told=options[0].told, paths=paths, comparisons=max(0, ranked - 1)
    )


def rank_paths(options: Sequence[PathOption]) -> tuple[PathCost, ...]:
    """The options, best first, whatever order they come in; those that can't be ranked come last.

    Options of several generations may be mixed; differences between generations hold the chance of both draws.

    Raises:
        ValueError: two rows of one option are the same trial, or two options disagree about a task's family.
    """
    judged = [_Judged(option, _cost(option)) for option in options]
    ranked = sorted((one for one in judged if one.cost.apart is None), key=_order)
    aside = sorted((one for one in judged if one.cost.apart), key=lambda one: (one.cost.apart, _name(one.option)))
    places = [_merit(one) for one in ranked]
    alpha = ALPHA / max(1, len(ranked) - 1)
    first = [one.cost.model_copy(update={"rank": 1, "standing": "best"}) for one in ranked[:1]]
    others = [
        one.cost.model_copy(update={"rank": 1 + places.index(_merit(one))} | _against(one, ranked[0], alpha))
        for one in ranked[1:]
    ]
    return (*first, *others, *(one.cost for one in aside))


def _merit(one: _Judged) -> tuple[float, float]:
    """What ranks; the lower the better."""
    cell = one.cost.cell
    return -(cell.rate.value or 0.0), cell.silent_wrong.value or 0.0


def _order(one: _Judged) -> tuple[object, ...]:
    """Ties: the reference first, then by what happened to each task, so that no name decides who is compared with whom."""
    outcomes = sorted((row.task, row.index, _state(row)) for row in one.option.rows)
    return _merit(one), not one.option.reference, outcomes, _name(one.option)


def _state(row: CellRow) -> int:
    return -1 if row.passed is None or row.unstable else int(row.passed) + 2 * row.silent_wrong


def _name(option: PathOption) -> tuple[str, str, str]:
    return option.contract, option.path, option.candidate


# -- one path --------------------------------------------------------------------------------------------------------------


def _cost(option: PathOption) -> PathCost:
    """Its cell and its damage, not yet ranked."""
    own = CellInput("R", "N", option.contract, option.path, option.rows)
    reference = [CellInput("R", "R", option.contract, "the reference", option.on_reference)] if option.on_reference else []
    found = decompose(option.candidate, [*reference, own], option.control)
    cell = next(cell for cell in found.cells if cell.done == "N").model_copy(update={"told": option.told, "done": option.done})
    effect = None if found.blind or option.control.status == "broken" else found.effect("damage")
    apart, reason = _apart(option, cell)
    control = "none" if option.reference else control_word(found)
    cost = PathCost(path=option.path, candidate=option.candidate, cell=cell, reference=option.reference, control=control)
    return cost.model_copy(update={"apart": apart, "reason": reason, **_damage(effect)})


def _damage(effect: Effect | None) -> dict[str, object]:
    if effect is None or effect.these.value is None:
        return {}
    return {"damage": effect.these, "damage_population": effect.population, "lost": effect.lost, "gained": effect.gained}


def _apart(option: PathOption, cell: Cell) -> tuple[Apart | None, str]:
    if cell.causes.get(MISSING_PROGRAM, 0) == cell.planned > 0:
        return "untried", option.needs or "a program that it needs is missing"
    if option.control.status == "broken":
        return "broken_control", option.control.reason
    if 2 * cell.scored < cell.planned or not cell.scored:
        return "unobserved", f"{cell.scored} of {cell.planned} trials have a verdict"
    return None, ""


# -- against the best ------------------------------------------------------------------------------------------------------


def _against(one: _Judged, best: _Judged, alpha: float) -> dict[str, object]:
    difference = paired(one.option.rows, best.option.rows, alpha)
    comparisons = round(ALPHA / alpha)
    if comparisons > 1:
        p_value = None if difference.p_value is None else min(1.0, comparisons * difference.p_value)
        together = f"{difference.method}; Bonferroni over {comparisons} comparisons"
        difference = difference.model_copy(update={"p_value": p_value, "method": together})
    same = one.option.generation == best.option.generation
    changed = _changed(one.option.rows, best.option.rows) if same else None
    return {"to_best": difference, "changed": changed, "standing": _standing(difference, changed)}


def _changed(rows: Sequence[CellRow], others: Sequence[CellRow]) -> int:
    """Trials with another outcome, of those that count on both sides."""
    states = {(row.task, row.index): _state(row) for row in others}
    pairs = [(_state(row), states.get((row.task, row.index), -1)) for row in rows]
    return sum(mine != other for mine, other in pairs if mine >= 0 and other >= 0)


def _standing(difference: Estimate, changed: int | None) -> Standing:
    """Told apart only where neither the interval nor what is missing leaves room for the path to be as good."""
    if changed == 0 and not difference.missing and not difference.unstable:
        return "equal"
    below = difference.high is not None and difference.high < 0
    complete = difference.best is not None and difference.best < 0
    return "told_apart" if below and complete else "not_told_apart"


def standing_word(standing: Standing | None) -> Literal["best", "the same", "not told apart", "told apart", ""]:
    """The standing in words, for tables."""
    words: dict[Standing, Literal["best", "the same", "not told apart", "told apart"]] = {
        "best": "best",
        "equal": "the same",
        "not_told_apart": "not told apart",
        "told_apart": "told apart",
    }
    return words[standing] if standing else ""
