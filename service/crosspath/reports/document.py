"""An evaluation as one strict JSON document: everything of the judgement, under the same keys whatever was evaluated.

A key that has nothing to hold is an empty list, never left out. Shares and differences are numbers from -1 to 1, what could not
be estimated is null, and NaN can't occur. The verdict on each single replay is not in it (the bundle's ``scores`` are);
``failures`` and ``misreports`` name those that are not right.
"""

from typing import Any

from crosspath.analysis import decomposition_tables
from crosspath.reports.headlines import headlines
from crosspath.types import Facts, Judgement

DOCUMENT = "crosspath report"
"""What the document says that it is."""
FORMAT = 1
"""Version of the document. Keys may be added within a version; none is taken away or changes its meaning."""


def evaluation_document(facts: Facts, judgement: Judgement) -> dict[str, Any]:
    """The document: JSON values only."""
    head, tables = facts.head, decomposition_tables(judgement, facts.cells)
    judged = judgement.model_dump(mode="json", exclude={"scores"})
    for one, document in zip(judgement.decompositions, judged["decompositions"], strict=True):
        document["blind"] = one.blind
    return {
        "document": DOCUMENT,
        "format": FORMAT,
        "evaluation": head.id,
        "name": head.name,
        "status": head.status,
        "created_at": head.created_at,
        "derived_from": head.derived_from,
        "derivation": head.derivation,
        "lock_digest": facts.lock.digest,
        "headlines": [one.model_dump(mode="json") for one in headlines(facts, judgement)],
        **judged,
        "failures": tables.failures,
        "misreports": tables.misreports,
    }
