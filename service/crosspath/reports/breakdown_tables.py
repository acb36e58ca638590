"""Where it breaks first: by family, tier and hazard; and which verdicts hang on the validator."""

from crosspath.types import Judgement


def breakdown_section(judgement: Judgement, candidate: str) -> str:
    """Not filled yet."""
    return ""


def validator_sensitivity_section(judgement: Judgement) -> str:
    """Not filled yet."""
    return ""
