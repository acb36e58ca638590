"""How many tasks plant a secret, where a validator judges leaks: in the others nothing can leak, and they pass."""

from collections.abc import Iterator

from crosspath.scoring import LEAK_COLUMNS, load_suite
from crosspath.types import Facts


def planted(facts: Facts) -> Iterator[str]:
    """One sentence per validator that judges leaks while not every task has a secret."""
    having = sum(1 for task in facts.tasks if task.secrets)
    if having == len(facts.tasks):
        return
    for suite in facts.suites:
        if not load_suite(suite).columns.isdisjoint(LEAK_COLUMNS):
            counted = f"{having or 'none'} of {len(facts.tasks)} tasks plant{'' if having > 1 else 's'} a secret"
            yield f"{suite.name} judges leaks: {counted}; in the others nothing can leak, and they pass."
