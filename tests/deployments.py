"""Evaluations of a deployment and looks at it, for tests of where they are kept."""

from pathlib import Path
from typing import Any

import builders
import series
from crosspath.pipeline.drift import Material, judge_drift
from crosspath.types import Facts, Judgement
from crosspath.types.drift import Drift, SeriesHistory

SECTION: dict[str, Any] = {
    "candidate": "oracle", "reference": False, "reference_trials": 10, "chosen_on": None,
    "alpha": 0.05, "horizon_days": 60, "max_age_days": 2.0, "max_missing": 0.2,
}  # fmt: skip


def deployed(deployment: str, day: int = 0, experiment: str = "watch") -> tuple[Facts, Judgement]:
    """The evaluation of the n-th day of a deployment."""
    facts, judgement = builders.evaluation(f"{deployment.replace(' ', '-')}-{experiment}-{day}", experiment=experiment)
    spec = {**facts.head.spec, "deployment": {"name": deployment, **SECTION}}
    head = facts.head.model_copy(update={"spec": spec, "created_at": series.NOON + day * series.DAY_S})
    return facts.model_copy(update={"head": head}), judgement


def look(deployment: str, day: float = 1, number: str = "a", experiment: str = "watch", passes: float = 1.0) -> Drift:
    """A look on the n-th day of a quiet watch; ``passes``: the share of tasks that passed on each of its days."""
    entries = (series.reference(), *(series.entry(one, passes) for one in range(1, int(day) + 1)))
    history = SeriesHistory(deployment=deployment, experiment=experiment, entries=entries)
    return judge_drift(Material(history, series.executed(), series.NOON + day * series.DAY_S), f"drift-{day}-{number}")


def written(drift: Drift, directory: Path) -> Path:
    """The files of a look, as far as every series needs them."""
    (directory / "figures").mkdir(parents=True, exist_ok=True)
    (directory / "drift.json").write_text(drift.to_json())
    (directory / "drift.md").write_text("# A look\n")
    (directory / "figures" / "rate.svg").write_text("<svg/>")
    return directory
