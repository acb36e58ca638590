"""How far replies get: each planned trial of a cell stands at the last stage that it reached, and nowhere else."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from crosspath.analysis.stages import NOT_OBSERVED, stage_of
from crosspath.types import CellRow, Funnel, FunnelStage, PlannedCell

FUNNEL_STAGES: tuple[FunnelStage, ...] = get_args(FunnelStage)
UNSTABLE = "unstable"
_STOPS: Mapping[str, FunnelStage] = {
    "reply": "answered",
    "delivery": "well_formed",
    "shell": "executed",
    NOT_OBSERVED: "executed",
}
"""Stage of a cause -> the stage of the funnel that it keeps a reply from; every other one: the last."""


@dataclass(frozen=True)
class Passage:
    """One planned trial on its way. ``replied``: a reply came back, whatever became of it."""

    row: CellRow
    replied: bool


def stop_of(passage: Passage) -> tuple[FunnelStage, str] | None:
    """The first stage that a trial does not reach, and what keeps it; None: it passes.

    An unstable trial passed on some replay, so it stops at the last stage; one that this cell never observed does not get there.
    """
    row = passage.row
    if not passage.replied:
        return "generated", row.cause or "fault:unknown"
    if row.unstable:
        return ("executed" if row.passed is None else "right_state"), UNSTABLE
    if row.passed is None:
        return "executed", row.cause or "fault:unknown"
    if row.passed:
        return None
    cause = row.cause or row.false_alarm or "unknown"
    return _STOPS.get(stage_of(cause), "right_state"), cause


def funnel(cell: PlannedCell, passages: Iterable[Passage]) -> Funnel:
    """One cell as a funnel."""
    stops = list(map(stop_of, passages))
    left = len(stops)
    reached: dict[FunnelStage, int] = {}
    stopped: dict[FunnelStage, dict[str, int]] = {}
    for stage in FUNNEL_STAGES:
        here = Counter(stop[1] for stop in stops if stop and stop[0] == stage)
        left -= here.total()
        reached[stage] = left
        stopped |= {stage: dict(sorted(here.items()))} if here else {}
    return Funnel(
        candidate=cell.candidate,
        told=cell.told,
        done=cell.done,
        contract=cell.contract,
        transport=cell.transport,
        attempted=len(stops),
        reached=reached,
        stopped=stopped,
    )


FUNNEL_COLUMNS = ("candidate", "cell", "contract", "transport", "attempted", "stage", "reached", "stopped", "causes")


def funnel_rows(funnels: Sequence[Funnel]) -> list[dict[str, object]]:
    """Rows for a DataFrame, one per cell and stage: how many trials reached it, how many stopped just before, and of what."""
    return [
        {
            "candidate": one.candidate, "cell": one.cell, "contract": one.contract, "transport": one.transport,
            "attempted": one.attempted, "stage": stage, "reached": one.reached[stage],
            "stopped": sum(one.stopped.get(stage, {}).values()), "causes": counted(one.stopped.get(stage, {})),
        }
        for one in funnels
        for stage in FUNNEL_STAGES
    ]  # fmt: skip


def counted(causes: Mapping[str, int]) -> str:
    """``tool_error 3, timeout 1``: most frequent first, so that a cell of a table can hold it."""
    return ", ".join(f"{cause} {count}" for cause, count in sorted(causes.items(), key=lambda item: (-item[1], item[0])))
