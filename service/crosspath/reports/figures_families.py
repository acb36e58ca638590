"""The figure of pass rates by family of tasks and cell or path: where a path hurts."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import cos, radians, sin
from typing import TYPE_CHECKING

from crosspath.reports.figures_drawing import (
    FONT,
    INK,
    Box,
    axes_within,
    canvas,
    headed,
    legend_of,
    png,
    put_boxes,
    put_repeated,
    put_text,
    short,
)
from crosspath.types import Breakdown, Judgement, PathRanking, Side

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_COLUMNS, MOST_FAMILIES = 20, 40
MOST_LABEL = 44
"""Characters of a column's name."""
SLANT = 40
"""Degrees by which the names of columns rise."""
_CHARACTER, _TITLE = 0.075, 0.4
"""Inches that a character and the title take."""
LOW = 0.5
"""Rates below are hatched."""
_FULL, _EMPTY = (1.0, 1.0, 1.0), (0.48, 0.18, 0.0)
"""From white (all right) to a dark vermilion (none right): darker in grey, too."""
_UNSEEN = "#e4e4e4"


@dataclass(frozen=True)
class Column:
    """One cell of a candidate, and what it is called in the figure."""

    candidate: str
    told: Side
    done: Side
    label: str


def family_map(columns: Sequence[Column], breakdowns: Sequence[Breakdown], title: str) -> bytes:
    """Families x columns: passed of scored trials as a number, darker where it is lower, hatched below one half."""
    chosen = columns[:MOST_COLUMNS]
    wanted = {(column.candidate, column.told, column.done): place for place, column in enumerate(chosen)}
    found = {
        (one.group, wanted[one.candidate, one.told, one.done]): one
        for one in breakdowns
        if one.by == "family" and (one.candidate, one.told, one.done) in wanted
    }
    families = _ordered(sorted({family for family, _ in found}), found)
    shown = families[:MOST_FAMILIES]
    left = 0.4 + _CHARACTER * max([len(short(family, 34)) for family in shown], default=0)
    longest = _CHARACTER * max([len(short(column.label, MOST_LABEL)) for column in chosen], default=0)
    top, right = (0.3 + turn(radians(SLANT)) * longest for turn in (sin, cos))
    figure = canvas(left + right + max(3.4, 0.62 * len(chosen)), _TITLE + top + 0.5 + 0.25 * max(3, len(shown)))
    axes = axes_within(figure, left=left, right=right, top=_TITLE + top, bottom=0.5)
    _squares(axes, shown, len(chosen), found)
    _frame(axes, shown, chosen)
    low, enough = (_shade(0.25), "//"), (_shade(0.75), "")
    legend_of(figure, {"below 50 %": low, "50 % or more": enough, "nothing scored": (_UNSEEN, "xx")})
    headed(figure, _title(title, len(families) - len(shown), len(columns) - len(chosen)))
    return png(figure)


def cell_columns(judgement: Judgement) -> list[Column]:
    """All cells of the candidates while there is room, else each as deployed."""
    every = [
        Column(one.candidate, cell.told, cell.done, f"{cell.name}  {one.candidate}")
        for one in judgement.decompositions
        for cell in one.cells
    ]
    if len(every) <= MOST_COLUMNS:
        return every
    return [
        Column(one.candidate, cell.told, cell.done, f"{cell.name}  {one.candidate}")
        for one in judgement.decompositions
        for cell in one.cells[-1:]
    ]


def path_columns(ranking: PathRanking) -> list[Column]:
    """The ranked paths, best first; of very many the first and the last ones."""
    ranked = [path for path in ranking.paths if path.rank is not None]
    half = MOST_COLUMNS // 2
    ends = ranked if len(ranked) <= MOST_COLUMNS else [*ranked[:half], *ranked[-half:]]
    return [Column(path.candidate, path.cell.told, path.cell.done, f"{path.rank}  {path.path}") for path in ends]


def _ordered(families: Sequence[str], found: Mapping[tuple[str, int], Breakdown]) -> list[str]:
    """Families that lose most first."""
    totals = {family: [0, 0] for family in families}
    for (family, _), one in found.items():
        totals[family][0] += one.passed
        totals[family][1] += one.scored
    return sorted(families, key=lambda family: (totals[family][0] / totals[family][1] if totals[family][1] else 2.0, family))


def _shade(rate: float) -> str:
    mixed = (round(255 * (empty + rate * (full - empty))) for full, empty in zip(_FULL, _EMPTY, strict=True))
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _squares(axes: Axes, families: Sequence[str], columns: int, found: Mapping[tuple[str, int], Breakdown]) -> None:
    every = [(row, place, found.get((family, place))) for row, family in enumerate(families) for place in range(columns)]
    rated = [(row, place, one, one.passed / one.scored) for row, place, one in every if one and one.scored]
    unseen = [(row, place) for row, place, one in every if not one or not one.scored]
    low = [(row, place, _shade(rate)) for row, place, _, rate in rated if rate < LOW]
    others = [(row, place, _shade(rate)) for row, place, _, rate in rated if rate >= LOW]
    put_boxes(axes, [_box(row, place) for row, place, _ in others], [face for *_, face in others], "#999999", line=0.5)
    put_boxes(axes, [_box(row, place) for row, place, _ in low], [face for *_, face in low], "#ffffff", "//", 0.5)
    put_boxes(axes, [_box(row, place, 0.24, 0.2) for row, place, _ in low], [face for *_, face in low], "none", line=0)
    put_boxes(axes, [_box(row, place) for row, place in unseen], _UNSEEN, "#999999", "xx", 0.5)
    numbers: dict[tuple[str, bool], list[tuple[float, float]]] = {}
    for row, place, one, rate in rated:
        numbers.setdefault((f"{one.passed}/{one.scored}", rate < LOW), []).append((place, row))
    for (text, dark), places in numbers.items():
        put_repeated(axes, text, places, 8, "#ffffff" if dark else INK, "bold" if dark else "normal")


def _box(row: int, place: int, across: float = 0.0, down: float = 0.0) -> Box:
    """A square of the map, or the plate behind its number."""
    return place - 0.5 + across, row - 0.5 + down, 1 - 2 * across, 1 - 2 * down


def _frame(axes: Axes, families: Sequence[str], columns: Sequence[Column]) -> None:
    axes.set_xlim(-0.5, max(1, len(columns)) - 0.5)
    axes.set_ylim(max(1, len(families)) - 0.5, -0.5)
    axes.set_yticks(range(len(families)), [short(family, 34) for family in families], fontsize=8.5, family=FONT, parse_math=False)
    labels = [short(column.label, MOST_LABEL) for column in columns]
    axes.set_xticks(
        range(len(columns)), labels, fontsize=8.5, family=FONT, parse_math=False, rotation=SLANT, ha="left",
        rotation_mode="anchor",
    )  # fmt: skip
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if not families:
        put_text(axes, 0, 0, "no family was scored", 11)


def _title(title: str, families: int, columns: int) -> str:
    left_out = [f"{number} more {what}" for number, what in ((families, "families"), (columns, "columns")) if number > 0]
    return f"{title} ({', '.join(left_out)} not shown)" if left_out else title
