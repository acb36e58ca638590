"""From stored facts to verdicts: tables for validators, suites as data, causes with one precedence, scores."""

from crosspath.scoring.causes import PRECEDENCE, Rule, Signs, cause_of
from crosspath.scoring.contents import content_key
from crosspath.scoring.score import score
from crosspath.scoring.suites import Expectation, Suite, load_suite, suite_schema
from crosspath.scoring.tables import LEAK_COLUMNS, Tables, build_tables, scorable
from crosspath.scoring.verdicts import collect, require_complete

__all__ = [
    "LEAK_COLUMNS",
    "PRECEDENCE",
    "Expectation",
    "Rule",
    "Signs",
    "Suite",
    "Tables",
    "build_tables",
    "cause_of",
    "collect",
    "content_key",
    "load_suite",
    "require_complete",
    "scorable",
    "score",
    "suite_schema",
]
