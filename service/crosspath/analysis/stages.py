"""Where a reply was lost: causes grouped by the stage that a reply passes through, in that order."""

from collections.abc import Mapping
from typing import get_args

from crosspath.types import Cause

STAGES: Mapping[str, tuple[str, ...]] = {
    "reply": ("refusal", "truncated", "empty"),
    "delivery": ("contract_error", "undeliverable"),
    "shell": ("shell_syntax",),
    "tool": ("tool_error", "runtime_error"),
    "limit": ("timeout", "resource_limit"),
    "state": ("extra_files", "wrong_state"),
}
"""Stage -> its causes. Every ``Cause`` has exactly one stage."""
NOT_OBSERVED = "not observed"
"""The stage of faults: they are never causes."""
CAUSES: tuple[str, ...] = get_args(Cause)
_STAGE_OF = {cause: stage for stage, causes in STAGES.items() for cause in causes}


def stage_of(cause: str) -> str:
    """The stage of a ``Cause`` or of a ``fault:TYPE``; ``other`` for what has no stage."""
    return NOT_OBSERVED if cause.startswith("fault:") else _STAGE_OF.get(cause, "other")


def by_stage(causes: Mapping[str, int]) -> dict[str, int]:
    """Stage -> how many, in the order of the stages; stages without any are left out."""
    counts = dict.fromkeys((*STAGES, "other", NOT_OBSERVED), 0)
    for cause, count in causes.items():
        counts[stage_of(cause)] += count
    return {stage: count for stage, count in counts.items() if count}
