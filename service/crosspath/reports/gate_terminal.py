"""A verdict for a terminal: the verdict first, then each rule in one line, then what to do next."""

from collections.abc import Iterator

from crosspath.escaping import one_line
from crosspath.reports.gate_words import headline, needs_words, rule_label, sides_words
from crosspath.types import Verdict


def gate_terminal(verdict: Verdict) -> str:
    """The verdict as plain text; hostile characters are shown, not obeyed."""
    return "\n".join(map(one_line, _lines(verdict))) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    yield headline(verdict)
    yield f"  {sides_words(verdict)}"
    yield from (f"  {reason}" for reason in verdict.reasons)
    yield ""
    labels = [rule_label(rule) for rule in verdict.rules]
    wide = max(map(len, labels), default=0)
    for rule, label in zip(verdict.rules, labels, strict=True):
        needs = f" {needs_words(rule)}" if rule.needs else ""
        yield f"  {label:<{wide}}  {rule.name}: {rule.sentence}{needs}"
    failed = [check for check in verdict.checks if not check.ok]
    yield f"  evidence: {len(verdict.checks) - len(failed)} of {len(verdict.checks)} checks hold"
    yield from (f"  NOT MET  {check.name}: {check.sentence}" for check in failed)
    if verdict.next_steps:
        yield ""
        yield "next:"
        yield from (f"  {step}" for step in verdict.next_steps)
