"""The two figures of a decomposition: the 2x2 with its effects, and where replies were lost in each cell."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from crosspath.analysis.stages import NOT_OBSERVED, by_stage
from crosspath.analysis.wording import control_word, percent, points
from crosspath.reports.figures_drawing import (
    FONT,
    GREY,
    INK,
    PALE,
    RIGHT,
    STAGE_COLOURS,
    axes_within,
    canvas,
    headed,
    legend_of,
    png,
    put_text,
    short,
    wrapped,
)
from crosspath.reports.lead_table import over_families
from crosspath.types import Cell, Decomposition, Effect

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_PLACES: Mapping[str, tuple[float, float]] = {"RR": (3.0, 4.6), "RN": (8.2, 4.6), "NR": (3.0, 1.4), "NN": (8.2, 1.4)}
_HALF_WIDTH, _HALF_HEIGHT = 1.45, 0.85


def two_by_two(decomposition: Decomposition) -> bytes:
    """The 2x2 with counts and rates; arrows carry damage, compensation, matched gap and contract effect in points."""
    figure = canvas(11.0, 7.4)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-0.3, 10.7)
    axes.set_ylim(0.0, 7.4)
    axes.axis("off")
    _heading(axes, 0.0, 7.0, decomposition)
    for side, x in (("R", 3.0), ("N", 8.2)):
        put_text(axes, x, 5.95, f"done {side}", 12, weight="bold")
        put_text(axes, x, 5.65, short(_name(decomposition, side, 1), 34), 10)
    for side, y in (("R", 4.6), ("N", 1.4)):
        put_text(axes, 0.7, y + 0.25, f"told {side}", 12, weight="bold")
        put_text(axes, 0.7, y + 0.05, wrapped(_name(decomposition, side, 0), 16, 3), 10, va="top")
    for name in _PLACES:
        _square(axes, decomposition, name)
    _arrows(axes, decomposition)
    return png(figure)


def causes_by_stage(decomposition: Decomposition) -> bytes:
    """One bar per cell: right, wrong by stage (silent ones hatched), not observed, unstable; widths are numbers of trials."""
    cells = decomposition.cells
    figure = canvas(11.0, 2.2 + 0.85 * max(1, len(cells)))
    axes = axes_within(figure, left=2.6, right=0.15, top=0.5, bottom=1.35)
    most = max([cell.planned for cell in cells], default=0) or 1
    shown: dict[str, tuple[str, str]] = {}
    for row, cell in enumerate(cells):
        _bar(axes, row, cell, most, shown)
    _bar_axes(axes, cells, most)
    _legend(figure, shown)
    title = f"Where replies were lost: {short(decomposition.candidate, 56)}"
    headed(figure, title)
    return png(figure)


def _name(decomposition: Decomposition, side: str, place: int) -> str:
    names = [(cell.contract, cell.transport)[place] for cell in decomposition.cells if cell.name[place] == side]
    return names[0] if names else "not planned"


_VERDICTS = {
    "holds": "holds",
    "blind": "proves nothing: no reply passes in RR, damage can't be seen",
    "broken": "broken: EFFECTS NOT TO BE USED",
    "missing": "missing: effects are not proven",
}


def _heading(axes: Axes, x: float, y: float, decomposition: Decomposition) -> None:
    put_text(axes, x, y, short(decomposition.candidate, 72), 14, weight="bold", ha="left")
    control = decomposition.control
    word = control_word(decomposition)
    broken = control.status != "holds"
    line = "no control is needed" if control.kind == "none" and not broken else f"{control.kind} control {_VERDICTS[word]}"
    put_text(axes, x, y - 0.42, line, 10.5, ha="left", weight="bold" if broken else "normal", color="#a03000" if broken else INK)


def _square(axes: Axes, decomposition: Decomposition, name: str) -> None:
    from matplotlib.patches import Rectangle

    x, y = _PLACES[name]
    cell = decomposition.cell(name)
    corner, width, height = (x - _HALF_WIDTH, y - _HALF_HEIGHT), 2 * _HALF_WIDTH, 2 * _HALF_HEIGHT
    style: dict[str, Any] = {"edgecolor": INK, "linewidth": 1.3, "facecolor": "white"}
    if cell is None:
        style |= {"edgecolor": GREY, "linestyle": "--", "facecolor": PALE}
    axes.add_patch(Rectangle(corner, width, height, **style))
    if cell and cell.rate.value:
        axes.add_patch(Rectangle(corner, width * cell.rate.value, height, facecolor=RIGHT, alpha=0.28, edgecolor="none"))
    put_text(axes, corner[0] + 0.1, y + _HALF_HEIGHT - 0.17, name, 9, ha="left")
    if cell:
        _cell_text(axes, x, y, cell)
    else:
        _absent_text(axes, x, y, decomposition.not_applicable.get(name))


def _cell_text(axes: Axes, x: float, y: float, cell: Cell) -> None:
    put_text(
        axes, x, y + 0.3, percent(cell.rate.value) if cell.scored else "nothing scored", 15 if cell.scored else 12, weight="bold"
    )
    mean = f"{cell.passed} of {cell.scored} right" + ("; % over families" if over_families(cell) else "")
    put_text(axes, x, y - 0.15, mean, 10 if over_families(cell) else 11)
    lost = [f"{count} {word}" for count, word in ((cell.faults, "faults"), (cell.unstable, "unstable")) if count]
    if lost:
        put_text(axes, x, y - 0.52, f"{cell.planned} attempted: {', '.join(lost)}", 8.5, style="italic")


def _absent_text(axes: Axes, x: float, y: float, reason: str | None) -> None:
    put_text(axes, x, y + 0.35, "not applicable" if reason else "not planned", 11, color="#666666")
    if reason:
        put_text(axes, x, y - 0.2, wrapped(reason, 30, 3), 8.5, color="#666666")


def _arrows(axes: Axes, decomposition: Decomposition) -> None:
    """Each label stands beside its own arrow, in room that no square uses."""
    (left, top), (right, bottom) = _PLACES["RR"], _PLACES["NN"]
    side, end = _HALF_WIDTH + 0.06, _HALF_HEIGHT + 0.06
    ink = INK if decomposition.control.status == "holds" else "#777777"
    if effect := decomposition.effect("damage"):
        _arrow(axes, (left + side, top), (right - side, top))
        seen = None if decomposition.blind else effect
        _label(axes, (left + right) / 2, top + 0.12, "damage", seen, va="bottom", color=ink)
    if effect := decomposition.effect("compensation"):
        _arrow(axes, (right, top - end), (right, bottom + end))
        told = f"told about\n{short(decomposition.discloses or '', 18)}" if decomposition.undisclosed else "compensation"
        _label(axes, right + 0.15, 3.0, told, effect, ha="left", color=ink)
    if effect := decomposition.effect("contract_effect"):
        _arrow(axes, (left, top - end), (left, bottom + end))
        _label(axes, left - 0.15, 3.0, "contract effect", effect, ha="right", color=ink)
    if effect := decomposition.effect("matched_gap"):
        _arrow(axes, (left + side, top - end + 0.1), (right - side, bottom + end - 0.1))
        _label(
            axes,
            (left + right) / 2,
            3.0,
            "matched gap",
            effect,
            color=ink,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 3},
        )


def _arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": INK, "linewidth": 1.6})


def _label(axes: Axes, x: float, y: float, words: str, effect: Effect | None, **style: Any) -> None:
    """An effect's name and value; None: it can't be seen."""
    value = "not measured" if effect is None or effect.these.value is None else f"{points(effect.these.value)} points"
    put_text(axes, x, y, f"{words}\n{value}", 11.5, weight="bold", linespacing=1.3, **style)


def _segments(cell: Cell) -> list[tuple[str, int, str, str]]:
    """(label, trials, colour, hatch) from left to right: right, then silent and reported wrong by stage, then what was lost."""
    reported = {cause: count - cell.silent_causes.get(cause, 0) for cause, count in cell.causes.items()}
    segments = [("right", cell.passed, RIGHT, "")]
    segments += [
        (f"{stage}, silent", count, STAGE_COLOURS[stage], "////") for stage, count in by_stage(cell.silent_causes).items()
    ]
    for stage, count in by_stage(reported).items():
        lost = stage == NOT_OBSERVED
        segments.append((stage if lost else f"{stage}, reported", count, STAGE_COLOURS[stage], ".." if lost else ""))
    return [*segments, ("unstable", cell.unstable, "#dddddd", "xx")]


def _bar(axes: Axes, row: int, cell: Cell, most: int, shown: dict[str, tuple[str, str]]) -> None:
    start = 0
    for label, count, colour, hatch in _segments(cell):
        if not count:
            continue
        shown.setdefault(label, (colour, hatch))
        axes.barh(row, count, left=start, height=0.62, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.8)
        if count / most > 0.004 + 0.01 * len(str(count)):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.9}
            put_text(axes, start + count / 2, row, str(count), 10, bbox=box)
        start += count
    if not start:
        put_text(axes, most * 0.01, row, "nothing attempted", 10, ha="left", style="italic")


def _bar_axes(axes: Axes, cells: tuple[Cell, ...], most: int) -> None:
    from matplotlib.ticker import MaxNLocator

    labels = [f"{cell.name}\ntold {short(cell.contract, 26)}\ndone {short(cell.transport, 26)}" for cell in cells]
    axes.set_yticks(range(len(cells)), labels, fontsize=9, family=FONT, parse_math=False)
    axes.set_ylim(max(1, len(cells)) - 0.5, -0.5)
    axes.set_xlim(0, most * 1.01)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("trials attempted", family=FONT)
    axes.spines[["top", "right"]].set_visible(False)
    if not cells:
        put_text(axes, most / 2, 0, "no cell was planned", 11)


def _legend(figure: Figure, shown: Mapping[str, tuple[str, str]]) -> None:
    order = [
        "right",
        *(f"{stage}, {kind}" for kind in ("silent", "reported") for stage in STAGE_COLOURS),
        NOT_OBSERVED,
        "unstable",
    ]
    legend_of(figure, {label: shown[label] for label in order if label in shown}, columns=5)
