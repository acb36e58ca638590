"""What generation took."""

from crosspath.analysis.wording import (
    spend_line,
)
from crosspath.escaping import markdown
from crosspath.types import Judgement


def spend_section(judgement: Judgement) -> str:
    """What generation took, as a section."""
    spend = judgement.spend
    words = markdown(spend_line(spend))
    return f"## Spend\n\n{words}. Requests took {spend.generation_s:.1f} s in {spend.sessions} session(s).\n"
