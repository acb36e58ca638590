"""Cells, effects and failures as plain rows, ready for a DataFrame: one flat dict per row, numbers as numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crosspath.analysis.alarms import ALARM_WORDS
from crosspath.analysis.stages import stage_of
from crosspath.analysis.wording import control_word, effect_label
from crosspath.types import Abstention, Cell, Decomposition, Estimate, Judgement, PlannedCell, ReplayKey, Score

Row = dict[str, object]


_DECLINING_COUNTS = (
    "candidate", "cell", "contract", "transport", "form", "planned", "scored", "declined", "declined_otherwise", "acted",
    "feasible", "declined_feasible",
)  # fmt: skip
_SHARE = ("", "low", "high", "worst", "best", "method")
"""Parts of ``precision`` and ``recall``; the value has no suffix."""
DECLINING_COLUMNS = (*_DECLINING_COUNTS, *(f"{name}{part and '_'}{part}" for name in ("precision", "recall") for part in _SHARE))
"""Columns of ``Tables.abstentions``."""


@dataclass(frozen=True)
class Tables:
    """``cells``: one row per cell; ``effects``: one per effect and estimand; ``failures``: one per replay that did not pass;
    ``misreports``: one per replay about which the path told its caller something wrong; ``abstentions``: one per cell where
    there are tasks that can't be done, which are in none of the others.

    Units: ``value``, ``low``, ``high``, ``worst`` and ``best`` are shares (0 to 1) in ``cells`` and differences of shares (-1 to
    1) in ``effects``; times 100 they are the per cent and the points of texts and reports. ``effect`` is the key of an effect,
    ``label`` what it is called in words. ``control`` is ``holds``, ``broken``, ``missing`` or ``blind``.
    """

    cells: list[Row]
    effects: list[Row]
    failures: list[Row]
    misreports: list[Row]
    abstentions: list[Row]


def decomposition_tables(judgement: Judgement, planned: Sequence[PlannedCell] = ()) -> Tables:
    """The rows of one judgement. ``planned`` gives failures their candidate and cell; a replay that serves two has two rows."""
    return Tables(
        cells=[_cell(item, cell) for item in judgement.decompositions for cell in item.cells],
        effects=[row for item in judgement.decompositions for row in _effects(item)],
        failures=list(_failures(judgement.scores, planned)),
        misreports=list(_misreports(judgement.scores, planned)),
        abstentions=list(map(_abstention, judgement.abstentions)),
    )


def _cell(decomposition: Decomposition, cell: Cell) -> Row:
    who: Row = {"candidate": decomposition.candidate, "cell": cell.name, "control": control_word(decomposition)}
    counted: Row = {
        field: getattr(cell, field) for field in ("contract", "transport", "planned", "scored", "passed", "faults", "unstable")
    }
    rate = {field: value for field, value in _estimate(cell.rate).items() if field != "p_value"}
    told: Row = {"silent_wrong": sum(cell.silent_causes.values()), "false_alarm": sum(cell.alarm_kinds.values())}
    told |= {f"alarm_{kind}": cell.alarm_kinds.get(kind, 0) for kind in ALARM_WORDS}
    return who | counted | told | rate


def _effects(decomposition: Decomposition) -> Iterable[Row]:
    for effect in decomposition.effects:
        who: Row = {"candidate": decomposition.candidate, "effect": effect.name, "control": control_word(decomposition)}
        who["label"] = effect_label(decomposition, effect.name)
        who |= {"minuend": effect.minuend, "subtrahend": effect.subtrahend}
        yield who | _estimate(effect.population) | _together(effect.together)
        yield who | _estimate(effect.these) | _together(None)


def _together(estimate: Estimate | None) -> Row:
    """The interval that holds together with those of all other effects, and the adjusted p-value; of the population only."""
    fields = ("low", "high", "p_value")
    return {f"together_{field}": getattr(estimate, field) if estimate else None for field in fields}


def _abstention(found: Abstention) -> Row:
    row: Row = {field: getattr(found, field) for field in _DECLINING_COUNTS}
    for name, estimate in (("precision", found.precision), ("recall", found.recall)):
        row |= {f"{name}{field and '_'}{field}": getattr(estimate, field or "value") for field in _SHARE}
    return row


def _estimate(estimate: Estimate) -> Row:
    fields = ("value", "low", "high", "n", "missing", "unstable", "worst", "best", "p_value", "estimand", "method")
    return {field: getattr(estimate, field) for field in fields}


_Places = Mapping[tuple[str, str, bool], Sequence[PlannedCell]]
"""Generation, path and whether it is encoded -> the cells of which a replay is a part."""


def _places(planned: Iterable[PlannedCell]) -> _Places:
    places: dict[tuple[str, str, bool], list[PlannedCell]] = {}
    for cell in planned:
        places.setdefault((cell.generation.digest, cell.path, cell.encoded), []).append(cell)
    return places


def _failures(scores: Iterable[Score], planned: Sequence[PlannedCell]) -> Iterable[Row]:
    places = _places(planned)
    for score in scores:
        if not score.passed and not score.infeasible:
            yield from _located(score, places, _failure(score))


def _failure(score: Score) -> Row:
    return {
        "stage": stage_of(score.cause or "unknown"),
        "cause": score.cause, "silent_wrong": score.silent_wrong, "false_alarm": score.false_alarm, "reason": score.reason,
    }  # fmt: skip


def _misreports(scores: Iterable[Score], planned: Sequence[PlannedCell]) -> Iterable[Row]:
    places = _places(planned)
    for score in scores:
        if (score.silent_wrong or score.false_alarm) and not score.infeasible:
            yield from _located(score, places, _misreport(score))


def _misreport(score: Score) -> Row:
    return {
        "misreport": "silent_wrong" if score.silent_wrong else "false_alarm", "kind": score.false_alarm,
        "passed": score.passed, "cause": score.cause, "reason": score.reason,
    }  # fmt: skip


def _located(score: Score, places: _Places, what: Row) -> Iterable[Row]:
    """``what`` with the replay in front of it, once per cell that the replay serves."""
    key: ReplayKey = score.key
    which: Row = {"task": key.trial.task, "trial": key.trial.index, "repeat": key.repeat}
    cells = places.get((key.trial.generation, key.path, key.encoded), ())
    if not cells:
        yield {"candidate": None, "cell": None, "control": key.encoded} | which | what
    for cell in cells:
        yield {"candidate": cell.candidate, "cell": cell.name, "control": cell.control} | which | what
