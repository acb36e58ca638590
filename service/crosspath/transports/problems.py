"""Delivery problems: what a reply's own evidence says, and which problem names the delivery where there are several.

Structure counts first (finish reason, emptiness, shape). Of the wording only the very beginning counts, and only for a refusal:
"I can't" further on may be the content of a file, but no command begins with it.
"""

import re
from collections.abc import Sequence

from crosspath.transports.decoders import Defect, is_blank
from crosspath.types import Action, Delivery, DeliveryProblem, Reply

PRECEDENCE: tuple[DeliveryProblem, ...] = ("refusal", "truncated", "empty", "contract_error", "undeliverable")
"""The earlier one explains the later ones: a filtered reply is cut, a cut reply is often blank or not JSON any more."""

_CUT = frozenset({"length", "max_tokens", "max_output_tokens"})
_FILTERED = frozenset({"content_filter", "refusal", "safety"})
_REFUSES = re.compile(
    r"""[>*_"'`\u201c\u2018]{0,3}\ ?(?:
        I(?:['\u2019]?m|\ am)\ (?:(?:very|so|really|truly)\ )?(?:sorry|unable|not\ able)\b
      | Sorry,?\ (?:but|I)\b
      | I\ (?:can(?:['\u2019]t|\ ?not)|won['\u2019]t|will\ not|apologi[sz]e,?\ but)\b
      | As\ an\ AI\b
    )""",
    re.VERBOSE | re.IGNORECASE,
)
"""English openers of refusals, after an optional quote or markdown sign (``#`` is none of them: it opens a shell comment)."""
_FENCES = ("```", "~~~")


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
    if opener := _declining_words(reply):
        found.append(Defect("refusal", f"the reply declines in words: {opener} ..."))
    if is_blank(reply):
        found.append(Defect("empty", "neither a tool call nor text other than white space"))
    return found


def _declining_words(reply: Reply) -> str:
    """The words with which the whole reply declines; empty where it does not, calls a tool, or offers a block of code."""
    text = reply.text or ""
    if reply.tool_calls or any(fence in text for fence in _FENCES):
        return ""
    opener = _REFUSES.match(text.lstrip())
    return opener[0] if opener else ""
