"""The two figures of a decomposition and the one of a ranking of paths, as PNG bytes.

Matplotlib through its object interface only: no global state, no display, the same bytes for the same input and version. Colours
are from Okabe and Ito's palette, and no meaning hangs on colour alone (hatching, labels, numbers).
"""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from crosspath.analysis.stages import NOT_OBSERVED, by_stage
from crosspath.analysis.wording import control_word, percent, points
from crosspath.types import Cell, Decomposition, Effect, PathCost, PathRanking

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DPI = 120
_FONT = "DejaVu Sans"
_INK, _PALE, _GREY = "#222222", "#f4f4f4", "#bbbbbb"
_RIGHT = "#009e73"
_STAGE_COLOURS: Mapping[str, str] = {
    "reply": "#cc79a7",
    "delivery": "#e69f00",
    "shell": "#56b4e9",
    "tool": "#0072b2",
    "limit": "#f0e442",
    "state": "#d55e00",
    "other": "#999999",
    NOT_OBSERVED: "#ffffff",
}
_PLACES: Mapping[str, tuple[float, float]] = {"RR": (3.0, 4.6), "RN": (8.2, 4.6), "NR": (3.0, 1.4), "NN": (8.2, 1.4)}
_HALF_WIDTH, _HALF_HEIGHT = 1.45, 0.85


def two_by_two(decomposition: Decomposition) -> bytes:
    """The 2x2 with counts and rates; arrows carry damage, compensation, matched gap and contract effect in points."""
    figure = _figure(11.0, 7.4)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-0.3, 10.7)
    axes.set_ylim(0.0, 7.4)
    axes.axis("off")
    _heading(axes, 0.0, 7.0, decomposition)
    for side, x in (("R", 3.0), ("N", 8.2)):
        _text(axes, x, 5.95, f"done {side}", 12, weight="bold")
        _text(axes, x, 5.65, _short(_name(decomposition, side, 1), 34), 10)
    for side, y in (("R", 4.6), ("N", 1.4)):
        _text(axes, 0.7, y + 0.25, f"told {side}", 12, weight="bold")
        _text(axes, 0.7, y + 0.05, _wrapped(_name(decomposition, side, 0), 16, 3), 10, va="top")
    for name in _PLACES:
        _square(axes, decomposition, name)
    _arrows(axes, decomposition)
    return _png(figure)


def causes_by_stage(decomposition: Decomposition) -> bytes:
    """One bar per cell: right, wrong by stage (silent ones hatched), not observed, unstable; widths are numbers of trials."""
    cells = decomposition.cells
    figure = _figure(11.0, 2.6 + 0.85 * max(1, len(cells)), layout="constrained")
    axes = figure.add_subplot()
    most = max([cell.planned for cell in cells], default=0) or 1
    shown: dict[str, tuple[str, str]] = {}
    for row, cell in enumerate(cells):
        _bar(axes, row, cell, most, shown)
    _bar_axes(axes, cells, most)
    _legend(figure, shown)
    title = f"Where replies were lost: {_short(decomposition.candidate, 56)}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, family=_FONT, weight="bold", parse_math=False)
    return _png(figure)


def ranked_paths(ranking: PathRanking) -> bytes:
    """One bar per path, best first: right with its 95 % interval, wrong silently (hatched), wrong and reported, not observed."""
    paths = ranking.paths
    figure = _figure(11.0, 1.9 + 0.3 * len(paths), layout="constrained")
    axes = figure.add_subplot()
    for row, path in enumerate(paths):
        _path_bar(axes, row, path)
    labels = [f"{path.rank or 'not ranked'}  {_short(path.path, 40)}" for path in paths]
    axes.set_yticks(range(len(paths)), labels, fontsize=8.5, family=_FONT, parse_math=False)
    axes.set_ylim(len(paths) - 0.5, -0.5)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("share of trials", family=_FONT)
    axes.spines[["top", "right"]].set_visible(False)
    _legend_of(figure, _PATH_PARTS)
    title = f"What each path costs: {_short(ranking.model, 40)}, told {_short(ranking.contract, 24)}"
    figure.suptitle(title, x=0.01, ha="left", fontsize=12, family=_FONT, weight="bold", parse_math=False)
    return _png(figure)


_PATH_PARTS = {
    "right": (_RIGHT, ""),
    "wrong, silently": (_STAGE_COLOURS["state"], "////"),
    "wrong, reported": (_STAGE_COLOURS["shell"], ""),
    NOT_OBSERVED: ("#ffffff", ".."),
}


def _path_bar(axes: Axes, row: int, path: PathCost) -> None:
    cell, start = path.cell, 0.0
    parts = (cell.passed, path.silent, path.wrong - path.silent, cell.planned - cell.scored)
    for count, (colour, hatch) in zip(parts, _PATH_PARTS.values(), strict=True):
        width = count / cell.planned if cell.planned else 0.0
        if width:
            faded = 1.0 if path.rank else 0.35
            axes.barh(row, width, left=start, height=0.66, color=colour, hatch=hatch, edgecolor=_INK, linewidth=0.6, alpha=faded)
        start += width
    rate = cell.rate
    if path.rank and rate.low is not None and rate.high is not None:
        axes.plot([rate.low, rate.high], [row, row], color=_INK, linewidth=1.4, solid_capstyle="butt")
    words = f"{cell.passed}/{cell.scored}" if path.apart != "untried" else "not tried"
    _text(axes, 1.01, row, words, 8.5, ha="left")


def _legend_of(figure: Figure, parts: Mapping[str, tuple[str, str]]) -> None:
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=_INK, label=label) for label, (colour, hatch) in parts.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=4, frameon=False, fontsize=9, handleheight=1.4)


def _figure(width: float, height: float, layout: Literal["constrained"] | None = None) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=_DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def _png(figure: Figure) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def _text(axes: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    style = {"ha": "center", "va": "center", "color": _INK} | style
    axes.text(x, y, _drawable(text), fontsize=size, family=_FONT, parse_math=False, **style)


def _drawable(text: str) -> str:
    """Text with everything escaped that the font may lack (a missing glyph would be a box and a warning)."""
    return "".join(
        char if char == "\n" or " " <= char <= "ɏ" or char in "–…−" else char.encode("unicode_escape").decode() for char in text
    )


def _short(text: str, width: int) -> str:
    """Drawable text of at most ``width`` characters; the middle gives way, because both ends of a name tell names apart."""
    text = _drawable(text)
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def _wrapped(text: str, width: int, lines: int) -> str:
    return "\n".join(textwrap.wrap(_short(text, width * lines - lines), width, break_on_hyphens=True))


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
    _text(axes, x, y, _short(decomposition.candidate, 72), 14, weight="bold", ha="left")
    control = decomposition.control
    word = control_word(decomposition)
    broken = control.status != "holds"
    line = "no control is needed" if control.kind == "none" and not broken else f"{control.kind} control {_VERDICTS[word]}"
    _text(axes, x, y - 0.42, line, 10.5, ha="left", weight="bold" if broken else "normal", color="#a03000" if broken else _INK)


def _square(axes: Axes, decomposition: Decomposition, name: str) -> None:
    from matplotlib.patches import Rectangle

    x, y = _PLACES[name]
    cell = decomposition.cell(name)
    corner, width, height = (x - _HALF_WIDTH, y - _HALF_HEIGHT), 2 * _HALF_WIDTH, 2 * _HALF_HEIGHT
    style: dict[str, Any] = {"edgecolor": _INK, "linewidth": 1.3, "facecolor": "white"}
    if cell is None:
        style |= {"edgecolor": _GREY, "linestyle": "--", "facecolor": _PALE}
    axes.add_patch(Rectangle(corner, width, height, **style))
    if cell and cell.rate.value:
        axes.add_patch(Rectangle(corner, width * cell.rate.value, height, facecolor=_RIGHT, alpha=0.28, edgecolor="none"))
    _text(axes, corner[0] + 0.1, y + _HALF_HEIGHT - 0.17, name, 9, ha="left")
    if cell:
        _cell_text(axes, x, y, cell)
    else:
        _absent_text(axes, x, y, decomposition.not_applicable.get(name))


def _cell_text(axes: Axes, x: float, y: float, cell: Cell) -> None:
    _text(
        axes, x, y + 0.3, percent(cell.rate.value) if cell.scored else "nothing scored", 15 if cell.scored else 12, weight="bold"
    )
    _text(axes, x, y - 0.15, f"{cell.passed} of {cell.scored} right", 11)
    lost = [f"{count} {word}" for count, word in ((cell.faults, "faults"), (cell.unstable, "unstable")) if count]
    if lost:
        _text(axes, x, y - 0.52, f"{cell.planned} attempted: {', '.join(lost)}", 8.5, style="italic")


def _absent_text(axes: Axes, x: float, y: float, reason: str | None) -> None:
    _text(axes, x, y + 0.35, "not applicable" if reason else "not planned", 11, color="#666666")
    if reason:
        _text(axes, x, y - 0.2, _wrapped(reason, 30, 3), 8.5, color="#666666")


def _arrows(axes: Axes, decomposition: Decomposition) -> None:
    """Each label stands beside its own arrow, in room that no square uses."""
    (left, top), (right, bottom) = _PLACES["RR"], _PLACES["NN"]
    side, end = _HALF_WIDTH + 0.06, _HALF_HEIGHT + 0.06
    ink = _INK if decomposition.control.status == "holds" else "#777777"
    if effect := decomposition.effect("damage"):
        _arrow(axes, (left + side, top), (right - side, top))
        seen = None if decomposition.blind else effect
        _label(axes, (left + right) / 2, top + 0.12, "damage", seen, va="bottom", color=ink)
    if effect := decomposition.effect("compensation"):
        _arrow(axes, (right, top - end), (right, bottom + end))
        told = f"told about\n{_short(decomposition.discloses or '', 18)}" if decomposition.undisclosed else "compensation"
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
    axes.annotate("", xy=end, xytext=start, arrowprops={"arrowstyle": "-|>", "color": _INK, "linewidth": 1.6})


def _label(axes: Axes, x: float, y: float, words: str, effect: Effect | None, **style: Any) -> None:
    """An effect's name and value; None: it can't be seen."""
    value = "not measured" if effect is None or effect.these.value is None else f"{points(effect.these.value)} points"
    _text(axes, x, y, f"{words}\n{value}", 11.5, weight="bold", linespacing=1.3, **style)


def _segments(cell: Cell) -> list[tuple[str, int, str, str]]:
    """(label, trials, colour, hatch) from left to right: right, then silent and reported wrong by stage, then what was lost."""
    reported = {cause: count - cell.silent_causes.get(cause, 0) for cause, count in cell.causes.items()}
    segments = [("right", cell.passed, _RIGHT, "")]
    segments += [
        (f"{stage}, silent", count, _STAGE_COLOURS[stage], "////") for stage, count in by_stage(cell.silent_causes).items()
    ]
    for stage, count in by_stage(reported).items():
        lost = stage == NOT_OBSERVED
        segments.append((stage if lost else f"{stage}, reported", count, _STAGE_COLOURS[stage], ".." if lost else ""))
    return [*segments, ("unstable", cell.unstable, "#dddddd", "xx")]


def _bar(axes: Axes, row: int, cell: Cell, most: int, shown: dict[str, tuple[str, str]]) -> None:
    start = 0
    for label, count, colour, hatch in _segments(cell):
        if not count:
            continue
        shown.setdefault(label, (colour, hatch))
        axes.barh(row, count, left=start, height=0.62, color=colour, hatch=hatch, edgecolor=_INK, linewidth=0.8)
        if count / most > 0.004 + 0.01 * len(str(count)):
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.9}
            _text(axes, start + count / 2, row, str(count), 10, bbox=box)
        start += count
    if not start:
        _text(axes, most * 0.01, row, "nothing attempted", 10, ha="left", style="italic")


def _bar_axes(axes: Axes, cells: tuple[Cell, ...], most: int) -> None:
    from matplotlib.ticker import MaxNLocator

    labels = [f"{cell.name}\ntold {_short(cell.contract, 26)}\ndone {_short(cell.transport, 26)}" for cell in cells]
    axes.set_yticks(range(len(cells)), labels, fontsize=9, family=_FONT, parse_math=False)
    axes.set_ylim(max(1, len(cells)) - 0.5, -0.5)
    axes.set_xlim(0, most * 1.01)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("trials attempted", family=_FONT)
    axes.spines[["top", "right"]].set_visible(False)
    if not cells:
        _text(axes, most / 2, 0, "no cell was planned", 11)


def _legend(figure: Figure, shown: Mapping[str, tuple[str, str]]) -> None:
    from matplotlib.patches import Patch

    order = [
        "right",
        *(f"{stage}, {kind}" for kind in ("silent", "reported") for stage in _STAGE_COLOURS),
        NOT_OBSERVED,
        "unstable",
    ]
    patches = [
        Patch(facecolor=shown[label][0], hatch=shown[label][1], edgecolor=_INK, label=label) for label in order if label in shown
    ]
    if patches:
        figure.legend(handles=patches, loc="outside lower center", ncols=5, frameon=False, fontsize=9, handleheight=1.4)
