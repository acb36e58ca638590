"""Which verdicts hang on the validator."""

from crosspath.pipeline.fact_index import FactIndex
from crosspath.ports import Validator
from crosspath.types import ValidatorSensitivity


def validator_sensitivity(index: FactIndex, validator: Validator) -> tuple[ValidatorSensitivity, ...]:
    """Not filled yet."""
    return ()
