"""The spec: what a person asks for, in YAML.

``load_spec`` reads it strictly (one clear line for each mistake), ``Spec.candidates_resolved`` gives every candidate with its
defaults written out. Pure: texts in, records out; what a name stands for (contract, path, suite) is looked up elsewhere.
"""

from crosspath.spec.reading import load_spec
from crosspath.spec.schema import spec_schema
from crosspath.spec.sections import (
    CandidateEntry,
    ExecutorSection,
    GridSection,
    LimitsSection,
    ModelEntry,
    RetriesSection,
    TasksSection,
)
from crosspath.spec.specification import Spec

__all__ = [
    "CandidateEntry",
    "ExecutorSection",
    "GridSection",
    "LimitsSection",
    "ModelEntry",
    "RetriesSection",
    "Spec",
    "TasksSection",
    "load_spec",
    "spec_schema",
]
