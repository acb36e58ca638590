"""Tasks as users write them: YAML families, task files and recorded replies; which of them an evaluation takes."""

from crosspath.tasks.choosing import require_unique, select
from crosspath.tasks.exchange import parse_tasks
from crosspath.tasks.families import expand_family
from crosspath.tasks.heldout import expand_heldout, has_heldout
from crosspath.tasks.plain_lists import parse_yaml_tasks
from crosspath.tasks.recordings import parse_recorded
from crosspath.tasks.schema import family_schema
from crosspath.types.recorded import RecordedReply

__all__ = [
    "RecordedReply",
    "expand_family",
    "expand_heldout",
    "family_schema",
    "has_heldout",
    "parse_recorded",
    "parse_tasks",
    "parse_yaml_tasks",
    "require_unique",
    "select",
]
