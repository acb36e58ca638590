"""Every figure of a look at a deployment: which there are, what they are called, and what each of them shows."""

from collections.abc import Iterator
from functools import partial

from crosspath.reports.figures import PlannedFigure
from crosspath.reports.figures_drift_parts import drawn_effects, effects_over_time, flipped_replies
from crosspath.reports.figures_drift_time import watch_over_time
from crosspath.types.drift import Drift


def drift_figures(drift: Drift) -> dict[str, bytes]:
    """File name -> PNG: the same bytes for the same look and version of Matplotlib."""
    return {figure.name: figure.draw() for figure in planned_drift_figures(drift)}


def planned_drift_figures(drift: Drift) -> tuple[PlannedFigure, ...]:
    """What :func:`drift_figures` draws, in the order in which people read it."""
    return tuple(_planned(drift))


def _planned(drift: Drift) -> Iterator[PlannedFigure]:
    if drift.points:
        caption = f"{drift.deployment}: pass rate of each evaluation, change against the reference, and what changed when."
        yield PlannedFigure("drift.png", None, caption, partial(watch_over_time, drift))
    if drawn_effects(drift):
        caption = f"{drift.deployment}: damage, compensation and matched gap of each evaluation that has them."
        yield PlannedFigure("drift-effects.png", None, caption, partial(effects_over_time, drift))
    if drift.toolchain.flips:
        caption = f"{drift.deployment}: frozen replies that come out otherwise with today's programs, by task."
        yield PlannedFigure("drift-frozen-replies.png", None, caption, partial(flipped_replies, drift))
