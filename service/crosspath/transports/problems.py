"""Delivery problems: what a reply's own evidence says, and which problem names the delivery where there are several.

Only structure counts (finish reason, emptiness, shape), never the wording of a text: "I can't" may be the content of a file.
"""

from collections.abc import Sequence

from crosspath.transports.decoders import Defect, is_blank
from crosspath.types import Action, Delivery, DeliveryProblem, Reply

PRECEDENCE: tuple[DeliveryProblem, ...] = ("refusal", "truncated", "empty", "contract_error", "undeliverable")
"""The earlier one explains the later ones: a filtered reply is cut, a cut reply is often blank or not JSON any more."""

_CUT = frozenset({"length", "max_tokens", "max_output_tokens"})
_FILTERED = frozenset({"content_filter", "refusal", "safety"})


def conclude(reply: Reply, actions: Sequence[Action], defects: Sequence[Defect]) -> Delivery:
    """The delivery of a reply. Actions are kept whatever the problem, which says what to blame if the state is wrong."""
    found = [*_structural(reply), *defects]
    if not found:
        return Delivery(actions=tuple(actions))
    problem: DeliveryProblem = next(problem for problem in PRECEDENCE if any(defect.problem == problem for defect in found))
    return Delivery(actions=tuple(actions), problem=problem, reason="; ".join(defect.reason for defect in found))


def _structural(reply: Reply) -> list[Defect]:
    reason = (reply.finish_reason or "").lower()
    found: list[Defect] = []
    if reason in _FILTERED:
        found.append(Defect("refusal", f"the provider withheld the reply or its rest (finish reason {reason})"))
    if reason in _CUT:
        found.append(Defect("truncated", f"the reply was cut off (finish reason {reason})"))
    if is_blank(reply):
        found.append(Defect("empty", "neither a tool call nor text other than white space"))
    return found
