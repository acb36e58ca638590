"""The figure of a candidate's funnels: how far trials get in each cell, and what stops the others."""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, get_args

from crosspath.reports.figures_drawing import (
    FONT,
    RIGHT,
    Box,
    axes_within,
    canvas,
    headed,
    png,
    put_boxes,
    put_inner_text,
    put_text,
    short,
)
from crosspath.types import Funnel
from crosspath.types.funnels import FunnelStage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STAGES: tuple[FunnelStage, ...] = get_args(FunnelStage)
_WORDS: Mapping[FunnelStage, str] = {
    "generated": "a reply came back",
    "answered": "it answers",
    "well_formed": "it is well formed",
    "executed": "it was executed",
    "right_state": "the state is right",
}
_BLOCK = 7.6
"""Rows of one cell: its heading, all that were attempted, five stages, and some room."""
_CAUSES = 3
"""So many causes are named beside a stage; the others are counted."""


def funnel_figure(candidate: str, funnels: Sequence[Funnel], deployed: str | None = None) -> bytes:
    """One block per cell: trials that reach each stage, from all that were attempted to a right final state.

    ``deployed``: name of the cell that is the candidate as deployed.
    """
    figure = canvas(11.0, 0.7 + 0.28 * _BLOCK * max(1, len(funnels)))
    axes = axes_within(figure, left=1.35, right=0.1, top=0.5, bottom=0.1)
    most = max([funnel.attempted for funnel in funnels], default=0) or 1
    for place, funnel in enumerate(funnels):
        _block(axes, place * _BLOCK, funnel, most, funnel.cell == deployed)
    _frame(axes, len(funnels), most)
    headed(figure, f"How far trials get: {short(candidate, 60)}")
    return png(figure)


def _frame(axes: Axes, blocks: int, most: int) -> None:
    stages = ["attempted", *(_WORDS[stage] for stage in STAGES)]
    rows = [block * _BLOCK + 1 + row for block in range(blocks) for row in range(len(stages))]
    axes.set_yticks(rows, stages * blocks, fontsize=9, family=FONT)
    axes.set_ylim(max(1, blocks) * _BLOCK - 0.6, -0.5)
    axes.set_xlim(0, most * 1.75)
    axes.set_xticks([])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    if not blocks:
        put_text(axes, most / 2, 3, "no cell was planned", 11)


def _block(axes: Axes, top: float, funnel: Funnel, most: int, deployed: bool) -> None:
    words = f"{funnel.cell}: told {short(funnel.contract, 36)}, run on {short(funnel.transport, 36)}"
    put_inner_text(axes, 0, top, words + (" (as deployed)" if deployed else ""), 10, ha="left", weight="bold")
    counts = [funnel.attempted, *(funnel.reached.get(stage, 0) for stage in STAGES)]
    rows = [top + 1 + row for row in range(len(counts))]
    faces = ["#ffffff", *["#c9dcea"] * (len(STAGES) - 1), RIGHT]
    put_boxes(axes, [_bar(row, 0, count) for row, count in zip(rows, counts, strict=True)], faces)
    lost = [(row, before, count) for row, before, count in zip(rows[1:], counts, counts[1:], strict=False) if before > count]
    put_boxes(axes, [_bar(row, count, before - count) for row, before, count in lost], "#ffffff", "#d55e00", "////")
    for row, before, count in lost:
        stopped = funnel.stopped.get(STAGES[round(row - top) - 2], {})
        put_inner_text(axes, before, row, f"  {short(f'{before - count} stop: {_causes(stopped)}', 62)}", 8.5, ha="left")
    for row, count in zip(rows, counts, strict=True):
        last = row == rows[-1]
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.2} if last and count > most * 0.05 else None
        put_inner_text(axes, most * 0.008, row, str(count), 9, ha="left", weight="bold" if last else "normal", bbox=box)


def _bar(row: float, left: float, width: float) -> Box:
    return left, row - 0.36, width, 0.72


def _causes(stopped: Mapping[str, int]) -> str:
    ordered = sorted(stopped.items(), key=lambda item: (-item[1], item[0]))
    named = [f"{count} {cause.removeprefix('fault:').replace('_', ' ')}" for cause, count in ordered[:_CAUSES]]
    more = sum(count for _, count in ordered[_CAUSES:])
    return ", ".join([*named, f"{more} other"] if more else named)
