"""One failing task as a short story."""

from crosspath.types.base import Record
from crosspath.types.results import Side


class Story(Record):
    """Why one task fails for one candidate as deployed, told by one of its failing trials.

    Every text is for people: control characters are visible, bytes that are no UTF-8 are escaped, and what is long is cut and
    says how much is missing. None of it is markup.
    """

    candidate: str
    told: Side
    done: Side
    contract: str
    transport: str
    task: str
    family: str
    trial: int
    """Index of the one that tells it: the failing one with the smallest difference and the shortest reply."""
    failed: int
    trials: int
    """Trials of the task with a stable verdict; ``failed`` of them fail."""
    cause: str
    """A ``Cause``, an ``AlarmKind`` or ``unknown``."""
    silent: bool
    """The path told its caller that all is well."""
    reason: str
    instruction: str
    disclosure: str = ""
    """What the model was told about its path; empty where it was told the reference contract."""
    reply: str
    layer: str = ""
    """The first layer that changed the text; empty where none did that can be seen, and ``unseen`` says why."""
    before: str = ""
    after: str = ""
    handed: str = ""
    """The text that was executed in the end, where further layers changed it again."""
    unseen: str = ""
    ended: str
    """How the command ended, or why nothing was run."""
    output: str = ""
    """What it wrote: its errors, else its output."""
    difference: str
    """Paths of the final state that differ, each with its lines (- expected, + found)."""
    command: str
    """The command that shows all of it."""
