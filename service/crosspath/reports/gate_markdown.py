"""A verdict as a comment on a pull request: short, with the table of rules folded below."""

from collections.abc import Iterator

from crosspath.escaping import markdown
from crosspath.reports.gate_words import MEANINGS, policy_words, rule_label, rule_words, sides_words
from crosspath.types import Verdict

MARK = "<!-- crosspath gate -->"
"""First line, so that a job finds its own earlier comment."""


def gate_markdown(verdict: Verdict) -> str:
    """The comment; whatever comes from a model, a name or a server is escaped."""
    return "\n".join(_lines(verdict)) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    yield MARK
    yield f"### Crosspath gate: {verdict.status}"
    yield ""
    meaning = MEANINGS[verdict.status].capitalize()
    yield f"**{meaning}** ({markdown(policy_words(verdict))}): {markdown(sides_words(verdict))}."
    yield ""
    yield from (f"- {markdown(reason)}" for reason in verdict.reasons)
    if verdict.next_steps:
        yield ""
        yield "Next:"
        yield ""
        yield from (f"- {markdown(step)}" for step in verdict.next_steps)
    yield ""
    yield from _folded(verdict)
    yield ""
    yield f"Verdict `{verdict.id}`; `crosspath audit` draws it again from its directory, offline."


def _folded(verdict: Verdict) -> Iterator[str]:
    held = sum(check.ok for check in verdict.checks)
    yield "<details>"
    yield f"<summary>{len(verdict.rules)} rules; {held} of {len(verdict.checks)} checks of the evidence hold</summary>"
    yield ""
    yield "| rule | | why |"
    yield "|---|---|---|"
    for rule in verdict.rules:
        yield f"| {markdown(rule.name)} | {markdown(rule_label(rule))} | {markdown(rule_words(rule))} |"
    for check in verdict.checks:
        yield f"| {markdown(check.name)} | {'holds' if check.ok else 'NOT MET'} | {markdown(check.sentence)} |"
    yield ""
    yield "</details>"
