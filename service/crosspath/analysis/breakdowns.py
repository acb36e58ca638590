"""By family, tier and hazard: where a cell's trials fail, and what the path does to the same replies there."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crosspath.analysis.effects import these_replies
from crosspath.analysis.funnels import counted
from crosspath.analysis.same_replies import same_replies
from crosspath.types import Breakdown, CellRow, Grouping, PlannedCell

Hazards = Mapping[str, Sequence[str]]
"""Task -> its hazards."""
_Group = tuple[Grouping, str]


def breakdowns(
    cell: PlannedCell, rows: Sequence[CellRow], on_reference: Sequence[CellRow] | None, hazards: Hazards
) -> tuple[Breakdown, ...]:
    """The groups of one cell: families, tiers, hazards, each in alphabetical order.

    ``on_reference``: rows of the same replies on the reference path; None: there are none to compare with.
    """
    there = _grouped(on_reference or (), hazards)
    return tuple(
        _breakdown(cell, group, found, there.get(group)) for group, found in sorted(_grouped(rows, hazards).items(), key=_order)
    )


_ORDER: tuple[Grouping, ...] = ("family", "tier", "hazard")


def _order(item: tuple[_Group, Sequence[CellRow]]) -> tuple[int, str]:
    (by, group), _ = item
    return _ORDER.index(by), group


def _grouped(rows: Sequence[CellRow], hazards: Hazards) -> dict[_Group, list[CellRow]]:
    found: dict[_Group, list[CellRow]] = {}
    for row in rows:
        for group in _groups(row, hazards):
            found.setdefault(group, []).append(row)
    return found


def _groups(row: CellRow, hazards: Hazards) -> Iterator[_Group]:
    yield "family", row.family
    if row.tier is not None:
        yield "tier", str(row.tier)
    for hazard in dict.fromkeys(hazards.get(row.task, ())):
        yield "hazard", hazard


def _breakdown(cell: PlannedCell, group: _Group, rows: Sequence[CellRow], there: Sequence[CellRow] | None) -> Breakdown:
    scored = [row for row in rows if row.passed is not None and not row.unstable]
    wrong = [row for row in scored if not row.passed]
    faults = [row.cause or "fault:unknown" for row in rows if row.passed is None and not row.unstable]
    causes = Counter([row.cause or row.false_alarm or "unknown" for row in wrong] + faults)
    return Breakdown(
        candidate=cell.candidate,
        told=cell.told,
        done=cell.done,
        by=group[0],
        group=group[1],
        tasks=len({row.task for row in rows}),
        planned=len(rows),
        scored=len(scored),
        passed=len(scored) - len(wrong),
        silent_wrong=sum(row.silent_wrong for row in wrong),
        causes=dict(sorted(causes.items())),
        damage=these_replies(same_replies(rows, there)) if there else None,
    )


BREAKDOWN_COLUMNS = (
    "candidate", "cell", "by", "group", "tasks", "planned", "scored", "passed", "silent_wrong", "causes", "damage",
    "damage_worst", "damage_best", "damage_n",
)  # fmt: skip


def breakdown_rows(found: Sequence[Breakdown]) -> list[dict[str, object]]:
    """Rows for a DataFrame, one per cell and group. ``damage`` (-1 to 1) is exact for these replies, ``damage_worst`` and
    ``damage_best`` what the trials without a verdict leave open; None where the same replies have no other path beside them."""
    return [
        {
            "candidate": one.candidate, "cell": one.cell, "by": one.by, "group": one.group, "tasks": one.tasks,
            "planned": one.planned, "scored": one.scored, "passed": one.passed, "silent_wrong": one.silent_wrong,
            "causes": counted(one.causes), "damage": one.damage and one.damage.value,
            "damage_worst": one.damage and one.damage.worst, "damage_best": one.damage and one.damage.best,
            "damage_n": one.damage and one.damage.n,
        }
        for one in found
    ]  # fmt: skip
