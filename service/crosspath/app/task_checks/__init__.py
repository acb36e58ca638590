"""``crosspath tasks check``: every task proves that it measures something, and a weak one is named with what would mend it.

* ``trials``: the right command passes raw, encoded through every path that can be survived, and in another environment; the
  tempting one passes on tier 0 and fails on the hostile tiers; doing nothing fails; forged observations are found out;
* ``audit``: every single change of the right final state is rejected by the validator;
* ``wording``: instruction and expected state agree, hazards are there;
* ``statics``: ids, canaries, held-out sections, nothing that is only so here and today.
"""

from crosspath.app.task_checks.checking import check
from crosspath.app.task_checks.findings import Finding, Report, Tally
from crosspath.app.task_checks.sources import Source, known_task, known_tasks, read_sources, task_text

__all__ = ["Finding", "Report", "Source", "Tally", "check", "known_task", "known_tasks", "read_sources", "task_text"]
