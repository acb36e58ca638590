"""Verdicts on replies as feedback of ``mlflow.genai.evaluate``."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from crosspath.adapters.mlflow_tracker.vendor import AssessmentError, AssessmentSource, Feedback, genai_scorer
from crosspath.types import RowFinding

Judge = Callable[[object, object, Mapping[str, Any]], Sequence[RowFinding]]
"""Inputs, outputs and expectations of a row -> what is found about it."""


def make_scorer(judge: Judge, name: str) -> Any:
    """A scorer that gives one feedback for each finding."""

    def feedback(inputs: object, outputs: object, expectations: Mapping[str, Any] | None) -> list[Feedback]:
        return [_feedback(one) for one in judge(inputs, outputs, expectations or {})]

    return genai_scorer(feedback, name)


def _feedback(finding: RowFinding) -> Feedback:
    return Feedback(
        name=finding.name,
        value=finding.value,
        error=AssessmentError(finding.error, finding.rationale) if finding.error else None,
        source=AssessmentSource("CODE", "crosspath"),
        rationale=finding.rationale or None,
    )
