"""Abstention: a reply that declines a task in the form that its contract states.

The form is a promise that harness and model make each other, so it is read as strictly as a command is: the text must begin with
the marker, letter by letter; a JSON object must hold the field and no other. Whoever calls a tool does not decline. What a reply
says after the marker is its own business, an empty reason included.
"""

from crosspath.escaping import one_line
from crosspath.transports.strict_json import ContractBreachError, read_object
from crosspath.types import Contract, Reply

LONGEST_REASON = 200
"""Characters of a reply's own words that a delivery repeats."""


def abstention(reply: Reply, contract: Contract | None) -> str | None:
    """The words with which a reply, cleaned up already, declines in its contract's form (may be empty); None: it does not."""
    if contract is None or contract.abstain is None or reply.tool_calls:
        return None
    text = reply.text or ""
    if contract.shape == "json":
        return _only_field(text, contract.abstain)
    return text.removeprefix(contract.abstain).strip() if text.startswith(contract.abstain) else None


def _only_field(text: str, field: str) -> str | None:
    try:
        found = read_object(text, "the reply")
    except ContractBreachError:
        return None
    value: object = found.get(field)
    return value.strip() if len(found) == 1 and isinstance(value, str) else None


def declined(words: str) -> str:
    """The reason of a delivery that abstains."""
    said = one_line(words)
    said = said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 3] + "..."
    return f"the reply declines in the form of its contract: {said or '(no reason)'}"
