"""What became of the calls of a log: counts, and reasons with examples."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from crosspath.escaping import one_line

EXAMPLES = 3
MAX_REASONS = 12
"""Kinds of reasons that are told apart; the rest is one more."""


@dataclass
class Reasons:
    """Counts by reason, with the first places of each."""

    counts: dict[str, int] = field(default_factory=dict)
    places: dict[str, list[str]] = field(default_factory=dict)

    def add(self, reason: str, place: str) -> None:
        """Count one call."""
        kept = reason if reason in self.counts or len(self.counts) < MAX_REASONS else "other reasons"
        self.counts[kept] = self.counts.get(kept, 0) + 1
        examples = self.places.setdefault(kept, [])
        if len(examples) < EXAMPLES:
            examples.append(place)

    def document(self) -> list[dict[str, Any]]:
        """The reasons, most frequent first."""
        ordered = sorted(self.counts, key=lambda reason: -self.counts[reason])
        return [{"reason": reason, "count": self.counts[reason], "examples": self.places[reason]} for reason in ordered]


@dataclass
class Counts:
    """What became of the calls of a log."""

    read: int = 0
    matched: int = 0
    lossy: int = 0
    """Of those that matched."""
    further_turns: int = 0
    """Of those that matched."""
    unshaped: int = 0
    """Matched replies that call tools although they are taken as told ``raw``, which asks for a text."""
    tasks: set[str] = field(default_factory=set)
    models: dict[str, int] = field(default_factory=dict)
    unmatched: Reasons = field(default_factory=Reasons)
    without_reply: Reasons = field(default_factory=Reasons)
    losses: Reasons = field(default_factory=Reasons)
    too_long: bool = False
    """The recording is longer than a file that a spec may name."""
    suggestions: dict[str, int] = field(default_factory=dict)
    """Expressions that find ids of known tasks in calls that did not match."""

    def document(self) -> dict[str, Any]:
        """The counts as ``--json`` prints them."""
        return {
            "read": self.read,
            "matched": self.matched,
            "tasks": len(self.tasks),
            "models": self.models,
            "unmatched": sum(self.unmatched.counts.values()),
            "without_reply": sum(self.without_reply.counts.values()),
            "lossy": self.lossy,
            "further_turns": self.further_turns,
            "unmatched_reasons": self.unmatched.document(),
            "without_reply_reasons": self.without_reply.document(),
            "losses": self.losses.document(),
            "suggestions": self.suggested(),
        }

    def suggested(self) -> list[str]:
        """Expressions that may be meant, the best one first."""
        return sorted(self.suggestions, key=lambda one: (-self.suggestions[one], len(one)))[:EXAMPLES]


def counts_text(counts: Counts) -> str:
    """For a person: a line of counts, then reasons with examples."""
    document = counts.document()
    head = (
        f"{counts.read} calls read: {counts.matched} matched (tasks: {len(counts.tasks)}), {document['unmatched']} unmatched, "
        f"{document['without_reply']} without a reply; {counts.lossy} of the matched ones are lossy"
    )
    lines = [head, *(f"model {model}: {number} replies" for model, number in counts.models.items())]
    for title in ("unmatched", "without_reply", "losses"):
        reasons = document["losses" if title == "losses" else f"{title}_reasons"]
        word = {"without_reply": "without a reply", "losses": "lossy"}.get(title, title)
        lines += [f"{word}: {one['count']}, {one['reason']} ({'; '.join(one['examples'])})" for one in reasons]
    return "\n".join(one_line(line) for line in (*lines, *_remarks(counts)))


def _remarks(counts: Counts) -> Iterator[str]:
    if counts.further_turns:
        yield f"{counts.further_turns} of them are further turns of a conversation: an evaluation takes each trial's first turn"
    if counts.unshaped:
        yield f"{counts.unshaped} of them call tools, and are taken as told 'raw', which asks for a text: see --contract"
    if counts.too_long:
        yield "the recording is too long for a spec to name it: take --no-messages, or import it in parts"
    if counts.suggested():
        yield f"ids of tasks stand at: {', '.join(counts.suggested())}"
