"""The figure of a ranking of paths."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from typing import TYPE_CHECKING

from crosspath.analysis.stages import NOT_OBSERVED
from crosspath.reports.figures_drawing import (
    FONT,
    INK,
    RIGHT,
    STAGE_COLOURS,
    axes_within,
    canvas,
    headed,
    legend_of,
    png,
    put_text,
    short,
)
from crosspath.types import PathCost, PathRanking

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def ranked_paths(ranking: PathRanking) -> bytes:
    """One bar per path, best first: right with its 95 % interval, wrong silently (hatched), wrong and reported, not observed."""
    paths = ranking.paths
    figure = canvas(11.0, 1.8 + 0.3 * len(paths))
    axes = axes_within(figure, left=4.0, right=0.3, top=0.5, bottom=1.0)
    for row, path in enumerate(paths):
        _path_bar(axes, row, path)
    labels = [f"{path.rank or 'not ranked'}  {short(path.path, 40)}" for path in paths]
    axes.set_yticks(range(len(paths)), labels, fontsize=8.5, family=FONT, parse_math=False)
    axes.set_ylim(len(paths) - 0.5, -0.5)
    axes.set_xlim(0, 1.12)
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.set_xlabel("share of trials", family=FONT)
    axes.spines[["top", "right"]].set_visible(False)
    legend_of(figure, _PATH_PARTS)
    title = f"What each path costs: {short(ranking.model, 40)}, told {short(ranking.contract, 24)}"
    headed(figure, title)
    return png(figure)


_PATH_PARTS = {
    "right": (RIGHT, ""),
    "wrong, silently": (STAGE_COLOURS["state"], "////"),
    "wrong, reported": (STAGE_COLOURS["shell"], ""),
    NOT_OBSERVED: ("#ffffff", ".."),
}


def _path_bar(axes: Axes, row: int, path: PathCost) -> None:
    cell, start = path.cell, 0.0
    parts = (cell.passed, path.silent, path.wrong - path.silent, cell.planned - cell.scored)
    for count, (colour, hatch) in zip(parts, _PATH_PARTS.values(), strict=True):
        width = count / cell.planned if cell.planned else 0.0
        if width:
            faded = 1.0 if path.rank else 0.35
            axes.barh(row, width, left=start, height=0.66, color=colour, hatch=hatch, edgecolor=INK, linewidth=0.6, alpha=faded)
        start += width
    rate = cell.rate
    if path.rank and rate.low is not None and rate.high is not None:
        axes.plot([rate.low, rate.high], [row, row], color=INK, linewidth=1.4, solid_capstyle="butt")
    words = f"{cell.passed}/{cell.scored}" if path.apart != "untried" else "not tried"
    put_text(axes, 1.01, row, words, 8.5, ha="left")
