"""Two candidates of any evaluations beside each other: whether they can be compared, and what each difference explains.

Cells of both evaluations (and of further ones) are points in the space of axes, see :mod:`crosspath.pipeline.axes`; what the axes
explain is found by walking from one candidate as deployed to the other one, see :mod:`crosspath.analysis.explaining`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from crosspath.analysis import compare, effect_label
from crosspath.analysis.decompose import may_be_used
from crosspath.analysis.explaining import Attribution, Point, Walked, attribute
from crosspath.pipeline.axes import SEPARABLE, Place, differences
from crosspath.pipeline.compared import Judged, Side, rows_of
from crosspath.pipeline.separating import comparable_by, separating
from crosspath.types import (
    Axis,
    Comparability,
    ComparedSide,
    Comparison,
    Decomposition,
    Explanation,
    Facts,
    FieldDifference,
    IdentifiedEffect,
    Part,
    PartStep,
    PlannedCell,
)

LEAST_SHARED = 0.5
"""A cell on the way must have a verdict on so many of the compared tasks: otherwise one cell's faults would take all tasks."""


def explain(a: Side, b: Side, others: Sequence[Judged] = ()) -> Explanation:
    """``b`` beside ``a``; ``others``: further evaluations whose cells may lie between them."""
    changed = differences(a.fields, b.fields)
    tasks = _Tasks(a.judged.facts, b.judged.facts)
    labels = (a.candidate, b.candidate) if a.candidate != b.candidate else (a.name, b.name)
    reasons = tuple(_impossible(a, b, tasks))
    comparison = None if reasons else _comparison(a, b, labels, tasks.common, changed)
    status: Comparability = "not_comparable"
    if comparison:
        reasons = tuple(_lacking(a, b, labels, comparison))
        status = "not_enough_evidence" if reasons else "comparable"
    explanation = Explanation(
        a=ComparedSide(evaluation=a.evaluation, candidate=a.candidate, cell=a.cell.name, label=labels[0]),
        b=ComparedSide(evaluation=b.evaluation, candidate=b.candidate, cell=b.cell.name, label=labels[1]),
        differences=changed, status=status, reasons=reasons, tasks=tasks.common,
        only_a=tasks.only_a, only_b=tasks.only_b, changed_tasks=tasks.changed, comparison=comparison,
    )  # fmt: skip
    if not comparison:
        return explanation.model_copy(update={"next_steps": comparable_by(a, b)})
    sides = dict(zip(labels, (a, b), strict=True))
    between = _Between(a, b, tasks.common, others)
    return explanation.model_copy(
        update={
            "effects": tuple(one for label, side in sides.items() for one in _effects(label, side.decomposition)),
            "unidentified": tuple(one for label, side in sides.items() for one in _unidentified(label, side)),
            **_explained(a, b, between),
        }
    )


def beyond_the_model(changed: Iterable[FieldDifference]) -> tuple[str, ...]:
    """Fields that differ, may matter, and are not the model's."""
    return tuple(one.field for one in changed if not one.inert and one.axis not in ("model", "served model"))


# -- whether they can be compared ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tasks:
    """Which tasks both evaluations have."""

    a: Facts
    b: Facts

    @cached_property
    def common(self) -> tuple[str, ...]:
        """Those with the same digest that can be done; others have no part in a pass rate."""
        known = self.b.lock.tasks
        return tuple(task.id for task in self.a.tasks if task.infeasible is None and known.get(task.id) == task.digest)

    @property
    def changed(self) -> tuple[str, ...]:
        first, second = self.a.lock.tasks, self.b.lock.tasks
        return tuple(sorted(task for task in first.keys() & second.keys() if first[task] != second[task]))

    @property
    def only_a(self) -> int:
        return len(self.a.lock.tasks.keys() - self.b.lock.tasks.keys())

    @property
    def only_b(self) -> int:
        return len(self.b.lock.tasks.keys() - self.a.lock.tasks.keys())


def _impossible(a: Side, b: Side, tasks: _Tasks) -> Iterator[str]:
    suites = [(side.cell.validator, side.judged.facts.lock.suites.get(side.cell.validator)) for side in (a, b)]
    if suites[0] != suites[1]:
        (first, one), (second, other) = suites
        named = (first, second) if first != second else (f"{first} ({str(one)[:12]})", f"{second} ({str(other)[:12]})")
        yield f"they are judged by different rules: {a.name} by {named[0]}, {b.name} by {named[1]}"
    if not tasks.common:
        also = f"; {len(tasks.changed)} have the same id and another content" if tasks.changed else ""
        yield f"they have no task in common that can be done and has the same digest{also}"
    for side in {side.name: side for side in (a, b)}.values():
        control = side.decomposition.control
        if control.status == "broken":
            yield f"the control of {side.name} is broken: {control.reason or 'a faithful path would have given other results'}"


def _comparison(
    a: Side, b: Side, labels: tuple[str, str], tasks: Sequence[str], changed: Sequence[FieldDifference]
) -> Comparison:
    rows_a, rows_b = (rows_of(side.judged, side.cell, tasks) for side in (a, b))
    return compare(*labels, rows_a, rows_b, [(one.field, one.a, one.b) for one in changed if not one.inert])


def _lacking(a: Side, b: Side, labels: tuple[str, str], comparison: Comparison) -> Iterator[str]:
    for label, side in dict(zip(labels, (a, b), strict=True)).items():
        if side.judged.facts.head.status != "finished":
            yield f"{side.evaluation} is {side.judged.facts.head.status}: the command that began it goes on with it"
        if side.decomposition.control.status == "missing":
            reason = side.decomposition.control.reason
            why = f" ({reason})" if reason else ""
            yield f"the control of {label} is missing{why}: nothing shows that it was really run on its path"
    difference = comparison.difference
    if difference.value is None or difference.low is None:
        yield f"there is no interval: {difference.method}"
    if comparison.warning and (difference.worst is None or difference.best is None or difference.worst <= 0 <= difference.best):
        yield comparison.warning


# -- which effects there are -----------------------------------------------------------------------------------------------

_NEEDED = {"RN": "damage", "NN": "compensation, matched gap", "NR": "contract effect"}
"""Cell -> the effects that there are none of without it."""


def _effects(label: str, decomposition: Decomposition) -> Iterator[IdentifiedEffect]:
    for effect in decomposition.effects:
        if may_be_used(decomposition, effect.name) and effect.population.value is not None:
            cells = f"{effect.minuend} - {effect.subtrahend}"
            name = effect_label(decomposition, effect.name)
            yield IdentifiedEffect(side=label, effect=name, cells=cells, estimate=effect.population)


def _unidentified(label: str, side: Side) -> Iterator[str]:
    decomposition, own = side.decomposition, side.cell
    if decomposition.blind:
        yield f"{label}: damage and compensation, because no reply is right on the reference path"
    missing = [(cell, names) for cell, names in _NEEDED.items() if decomposition.cell(cell) is None]
    fits = [names for cell, names in missing if cell not in decomposition.not_applicable]
    if fits and own.name != "NN":
        words = {"RR": "it is told and run the reference", "RN": "it is told the reference contract"}
        yield f"{label}: {', '.join(fits)}, because {words.get(own.name, 'it runs on the reference path')}"
    for cell, names in missing:
        if reason := decomposition.not_applicable.get(cell):
            yield f"{label}: {names}, because {cell} is not applicable ({reason})"


# -- what each axis explains -----------------------------------------------------------------------------------------------


class _Between:
    """The cells that lie between two sides."""

    def __init__(self, a: Side, b: Side, tasks: Sequence[str], others: Sequence[Judged]) -> None:
        self._a, self._b, self._tasks, self._wanted = a, b, tasks, frozenset(tasks)
        self._evaluations = list({one.facts.head.id: one for one in (a.judged, b.judged, *others)}.values())
        first, second = a.fields.place, b.fields.place
        changed: list[Axis] = [axis for axis in SEPARABLE if first[axis] != second[axis]]
        # Another model is served under another name: that is no second difference.
        self.axes: tuple[Axis, ...] = tuple(axis for axis in changed if axis != "served model" or "model" not in changed)
        self._free = {"served model"} if "model" in changed else set[str]()
        self.left_out: list[str] = []
        self.points = tuple(self._points())

    def _points(self) -> Iterator[Point]:
        ends = {frozenset[str](): self._a, frozenset(map(str, self.axes)): self._b}
        taken: dict[frozenset[str], Point] = {}
        for changed, side in ends.items():
            taken[changed] = self._point(changed, side.judged, side.cell)
        own = {point.replies for point in taken.values()}
        found = [self._point(*one) for one in self._cells()]
        for point in sorted(found, key=lambda one: one.replies not in own):  # the same replies as an end are worth most
            if point.changed not in taken and self._is_filled(point):
                taken[point.changed] = point
        yield from taken.values()

    def _cells(self) -> Iterator[tuple[frozenset[str], Judged, PlannedCell]]:
        """Cells that have the value of one of the ends on every axis."""
        for judged in self._evaluations:
            for cell in judged.facts.cells:
                if not cell.control and self._same_rules(judged, cell):
                    changed = self._changed(judged.configurations.of(cell).place)
                    if changed is None or len(changed) in (0, len(self.axes)):
                        continue
                    if cell.done == "N" and judged.controls.get(cell.candidate) == "broken":
                        self.left_out.append(f"{self._called(judged, cell)}: its control is broken")
                    else:
                        yield changed, judged, cell

    def _same_rules(self, judged: Judged, cell: PlannedCell) -> bool:
        known, own = judged.facts.lock, self._a.judged.facts.lock
        rules = known.suites.get(cell.validator) == own.suites.get(self._a.cell.validator)
        return rules and all(known.tasks.get(task) == own.tasks[task] for task in self._tasks)

    def _changed(self, place: Place) -> frozenset[str] | None:
        first, second = self._a.fields.place, self._b.fields.place
        if any(place[axis] != first[axis] for axis in SEPARABLE if axis not in self.axes and axis not in self._free):
            return None
        if any(place[axis] not in (first[axis], second[axis]) for axis in self.axes):
            return None
        return frozenset(str(axis) for axis in self.axes if place[axis] == second[axis])

    def _point(self, changed: frozenset[str], judged: Judged, cell: PlannedCell) -> Point:
        rows = rows_of(judged, cell, self._tasks)
        return Point(changed, rows, judged.replies(cell, self._wanted), self._called(judged, cell))

    def _called(self, judged: Judged, cell: PlannedCell) -> str:
        name = f"{cell.candidate} {cell.name}"
        return name if len(self._evaluations) == 1 else f"{judged.facts.head.id}:{name}"

    def _is_filled(self, point: Point) -> bool:
        seen = {row.task for row in point.rows if row.passed is not None and not row.unstable}
        if len(seen) >= LEAST_SHARED * len(self._tasks):
            return True
        self.left_out.append(f"{point.label}: {len(seen)} of {len(self._tasks)} tasks have a verdict")
        return False


def _explained(a: Side, b: Side, between: _Between) -> dict[str, object]:
    found = attribute(between.axes, between.points) if between.axes else None
    if found is None:
        return {"left_out": tuple(dict.fromkeys(between.left_out))}
    parts = tuple(_parts(found))
    return {
        "parts": parts,
        "explained": float(found.total),
        "explained_tasks": found.tasks,
        "orders": found.orders,
        "every_order": found.every_order,
        "left_out": tuple(dict.fromkeys(between.left_out)),
        "next_steps": tuple(step for part in parts if part.confounded for step in separating(a, b, part.axes)),
    }


def _parts(found: Attribution) -> Iterator[Part]:
    for share in found.shares:
        values = [float(one.value) for one in share.walked]
        axes: tuple[Axis, ...] = tuple(axis for axis in SEPARABLE if axis in share.axes)
        yield Part(
            axes=axes, estimate=share.estimate, these_tasks=float(share.these_tasks),
            same_replies=all(one.same_replies for one in share.walked),
            least=min(values), most=max(values), steps=tuple(map(_step, share.walked)),
        )  # fmt: skip


def _step(walked: Walked) -> PartStep:
    before, after = walked.before.label, walked.after.label
    return PartStep(before=before, after=after, value=float(walked.value), same_replies=walked.same_replies)
