"""What a rule of a gate is about, trial by trial: the least and the greatest value of each planned trial of one side.

Where a place of loss hangs on another replay (the same reply on the reference path, the plain reply, the reply with the other
clean-up), and that one is missing, every place that it could give counts: no fault makes a path look better.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosspath.analysis.candidate_costs import PERCENTILES
from crosspath.analysis.decompose import may_be_used
from crosspath.analysis.gate_rules import Amount, Evidence, Measured, Span
from crosspath.analysis.losses import Seen, place
from crosspath.pipeline.candidate_costs import local_keys
from crosspath.pipeline.clean_ups import Alternative, alternatives, changed_replies
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.pipeline.scores import score_replays
from crosspath.ports import Validator
from crosspath.types import CellRow, Decomposition, Facts, Judgement, Loss, Metric, PlannedCell, PolicyRule, Reply

_NOT_KNOWN: Span = (0, 1)
_LOST: Mapping[Metric, Loss] = {"lost_to_path": "path", "lost_to_model": "model", "lost_to_format": "format"}
_OF_ROWS: Mapping[Metric, Callable[[CellRow], bool]] = {
    "pass_rate": lambda row: bool(row.passed),
    "reference_rate": lambda row: bool(row.passed),
    "pass_hat": lambda row: bool(row.passed),
    "silent_wrong": lambda row: row.silent_wrong,
    "false_alarm": lambda row: row.false_alarm is not None,
    "refusals": lambda row: row.cause == "refusal",
    "truncated": lambda row: row.cause == "truncated",
}
_CELLS: Mapping[Metric, tuple[str, str]] = {
    "damage": ("RN", "RR"), "compensation": ("NN", "RN"), "matched_gap": ("NN", "RR"),
}  # fmt: skip
_AS_REFERENCE = "its path is the reference path, so that there is nothing to lose on it"


@dataclass(frozen=True)
class Evaluated:
    """One evaluation as a gate reads it: facts and judgement, looked up by cell."""

    facts: Facts
    judgement: Judgement
    validator: Validator | None = None

    @cached_property
    def index(self) -> FactIndex:
        return FactIndex(self.facts, self.judgement.scores)

    @cached_property
    def _cleaned(self) -> tuple[FactIndex, Mapping[str, Alternative]] | None:
        """Scores of replies with the other clean-up, too; they are in no judgement. None: there is nothing to judge them with.

        Raises:
            ValidatorError: a suite could not be carried out.
        """
        if self.validator is None:
            return None
        others = alternatives(self.facts)
        scores = score_replays(self.facts, self.validator, others)
        return FactIndex(self.facts, scores), {one.cell.candidate: one for one in others}

    @property
    def candidates(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.facts.lock.candidates if self.index.cells_of(one.name))

    def decomposition(self, candidate: str) -> Decomposition | None:
        return next((one for one in self.judgement.decompositions if one.candidate == candidate), None)

    def own_cell(self, candidate: str) -> PlannedCell:
        """The candidate as deployed."""
        return matched_cell(self.facts.cells, candidate)

    def evidence(self, rule: PolicyRule, candidate: str) -> Evidence:
        """What the rule's metric is of this candidate; a text says why there is nothing."""
        if candidate not in self.candidates:
            return f"{candidate!r} is no candidate of the evaluation {self.facts.head.id}"
        if rule.metric in _CELLS:
            return self._effect(rule.metric, candidate)
        if rule.metric in _LOST:
            return self._lost(candidate, _LOST[rule.metric])
        if rule.metric in _OF_ROWS:
            return self._of_rows(rule.metric, candidate)
        return _amount(rule.metric, list(self._replies(candidate)))

    # -- shares ----------------------------------------------------------------------------------------------------------

    def _of_rows(self, metric: Metric, candidate: str) -> Evidence:
        cell = self.index.cells_of(candidate).get("RR") if metric == "reference_rate" else self.own_cell(candidate)
        if cell is None:
            return f"the reference path was not planned for {candidate}"
        asked = _OF_ROWS[metric]
        rows = self.index.rows_compared(cell)
        return _measured(rows, [_span(row, asked) for row in rows])

    def _effect(self, metric: Metric, candidate: str) -> Evidence:
        cells, found = self.index.cells_of(candidate), self.decomposition(candidate)
        if metric == "damage" and self.own_cell(candidate).done == "R":
            rows = self.index.rows_compared(self.own_cell(candidate))
            return _measured(rows, [(0, 0)] * len(rows), _AS_REFERENCE)
        missing = [name for name in _CELLS[metric] if name not in cells]
        if missing:
            why = self.facts.not_applicable.get(
                f"{candidate}/{missing[0]}", "it was not planned: nothing is told, or no path differs"
            )
            return f"the cell {missing[0]}, which it is made of, has no number ({why})"
        if found is None or not may_be_used(found, metric):  # pyright: ignore[reportArgumentType]
            return "the control is broken, or no reply passes on the reference path: it may not be used"
        minuend, subtrahend = (self.index.rows_compared(cells[name]) for name in _CELLS[metric])
        spans = [
            (low - other_high, high - other_low)
            for (low, high), (other_low, other_high) in zip(
                (_span(row, _OF_ROWS["pass_rate"]) for row in minuend),
                (_span(row, _OF_ROWS["pass_rate"]) for row in subtrahend),
                strict=True,
            )
        ]
        return _measured(minuend, spans)

    # -- places of loss --------------------------------------------------------------------------------------------------

    def _lost(self, candidate: str, where: Loss) -> Evidence:
        own = self.own_cell(candidate)
        rows = self.index.rows_compared(own)
        if where == "path" and own.done == "R":
            return _measured(rows, [(0, 0)] * len(rows), _AS_REFERENCE)
        cleaned = self._cleaned
        if cleaned is None:
            return "no validator is at hand to judge replies with the other clean-up"
        possible = [_places(one) for one in self._seen(candidate, own, rows, cleaned)]
        return _measured(rows, [(int(places == {where}), int(where in places)) for places in possible])

    def _seen(
        self, candidate: str, own: PlannedCell, rows: Sequence[CellRow], cleaned: tuple[FactIndex, Mapping[str, Alternative]]
    ) -> Iterator["_Unsure"]:
        """Each trial, with what is known of it elsewhere; of a replay that is missing both ends are possible."""
        cells = self.index.cells_of(candidate)
        reference = self._verdicts(cells.get(own.told + "R"))
        plain = self._verdicts(cells.get("RR")), self._verdicts(cells.get("R" + own.done))
        otherwise = _otherwise(*cleaned, candidate)
        for row in rows:
            key = row.task, row.index
            pair = tuple(side[key] if side is not None else None for side in plain)
            yield _Unsure(
                row,
                on_reference=reference[key] if reference is not None else False,
                plain=pair if None not in plain else (False, False),  # pyright: ignore[reportArgumentType]
                cleaned=otherwise.get(key, False),
            )

    def _verdicts(self, cell: PlannedCell | None) -> Mapping[tuple[str, int], bool | None] | None:
        if cell is None:
            return None
        return {(row.task, row.index): None if row.unstable else row.passed for row in self.index.rows_compared(cell)}

    # -- amounts ---------------------------------------------------------------------------------------------------------

    def _replies(self, candidate: str) -> Iterator["_Taken"]:
        cell, local = self.own_cell(candidate), local_keys(self.facts)
        rows = self.index.rows_compared(cell)
        for row, (_, _, key) in zip(rows, self.index.keys(cell), strict=True):
            trial = self.index.trial_of(key)
            reply = trial.reply if trial else None
            yield _Taken(reply, None if row.unstable else row.passed, bool(trial and trial.request.key in local))


def _measured(rows: Sequence[CellRow], spans: Sequence[Span], known: str = "") -> Measured:
    found: dict[str, list[tuple[int, Span]]] = {}
    for row, span in zip(rows, spans, strict=True):
        found.setdefault(row.task, []).append((row.index, span))
    ordered = {task: [span for _, span in sorted(trials)] for task, trials in sorted(found.items())}
    return Measured(ordered, {row.task: row.family for row in rows}, known)


def _span(row: CellRow, asked: Callable[[CellRow], bool]) -> Span:
    if row.unstable or row.passed is None:
        return _NOT_KNOWN
    return int(asked(row)), int(asked(row))


@dataclass(frozen=True)
class _Unsure:
    """One trial as deployed; None where a verdict elsewhere is missing."""

    row: CellRow
    on_reference: bool | None
    plain: tuple[bool | None, bool | None]
    cleaned: bool | None


def _places(one: _Unsure) -> set[Loss | None]:
    """Every place that the trial may belong to; also ``kept`` (None) where it has no verdict itself."""
    if one.row.unstable or one.row.passed is None:
        return {None, "path", "model", "format"}
    return {
        place(Seen(one.row, on_reference, (first, second), cleaned)).place
        for on_reference in _either(one.on_reference)
        for first in _either(one.plain[0])
        for second in _either(one.plain[1])
        for cleaned in _either(one.cleaned)
    }


def _either(value: bool | None) -> tuple[bool, ...]:
    return (False, True) if value is None else (value,)


def _otherwise(index: FactIndex, others: Mapping[str, Alternative], candidate: str) -> Mapping[tuple[str, int], bool | None]:
    """Whether replies that the other clean-up changes pass with it; None: that was not observed."""
    one = others.get(candidate)
    if one is None or one.path is None:
        return {}
    scores = {key: index.score_of(one.beside, key) for _, key in changed_replies(index, one)}
    return {(key.task, key.index): found.passed if found else None for key, found in scores.items()}


@dataclass(frozen=True)
class _Taken:
    """One planned trial with its reply; ``passed`` None: no verdict that counts."""

    reply: Reply | None
    passed: bool | None
    local: bool


def _amount(metric: Metric, taken: Sequence[_Taken]) -> Evidence:
    if metric.startswith("latency"):
        return _latency(int(metric.split("_")[1][1:]), taken)
    amounts = [_usd(one) if metric == "usd_per_pass" else _tokens(one) for one in taken]
    unknown = sum(amount is None for one, amount in zip(taken, amounts, strict=True) if one.reply is not None)
    if unknown:
        what = "the cost" if metric == "usd_per_pass" else "the number of tokens"
        return f"{what} of {unknown} of {len(taken)} replies is unknown, and what is unknown is never taken for cheap"
    if not any(one.reply for one in taken):
        return "there is no reply"
    return _per_pass(taken, amounts)


def _usd(one: _Taken) -> float | None:
    """A reply of a baseline or a recording cost nobody anything, which says nothing of what it would cost."""
    return one.reply.cost_usd if one.reply and not one.local else None


def _tokens(one: _Taken) -> float | None:
    usage = one.reply.usage if one.reply else None
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def _per_pass(taken: Sequence[_Taken], amounts: Sequence[float | None]) -> Amount:
    """Of scored replies; at worst all others failed, and a reply that is missing may have taken anything."""
    known = math.fsum(amount for amount in amounts if amount is not None)
    passed = sum(bool(one.passed) for one in taken)
    open_ = sum(one.passed is None for one in taken)
    scored = math.fsum(a for one, a in zip(taken, amounts, strict=True) if one.passed is not None and a is not None)
    bounded = all(one.reply is not None for one in taken)
    return Amount(
        value=scored / passed if passed else None,
        best=known / (passed + open_) if passed + open_ else None,
        worst=known / passed if passed and bounded else None,
        replies=sum(one.reply is not None for one in taken),
        missing=open_,
    )


def _latency(percent: int, taken: Sequence[_Taken]) -> Evidence:
    """By the nearest-rank rule, as ``analysis.candidate_costs`` has it; a latency that is missing may be anything."""
    assert percent in PERCENTILES
    known = sorted(one.reply.latency_s for one in taken if one.reply and one.reply.latency_s is not None)
    if not known:
        return "no latency is known"
    missing = len(taken) - len(known)
    rank = math.ceil(percent * len(taken) / 100)
    return Amount(
        value=known[math.ceil(percent * len(known) / 100) - 1],
        best=known[rank - missing - 1] if rank > missing else 0.0,
        worst=known[rank - 1] if rank <= len(known) else None,
        replies=len(known),
        missing=missing,
    )
