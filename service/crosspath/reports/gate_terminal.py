"""A verdict for a terminal: the verdict first, then each rule in one line, then what to do next."""

from collections.abc import Iterator

from crosspath.escaping import one_line
from crosspath.reports.gate_words import headline, rule_label, sides_words
from crosspath.types import Verdict


def gate_terminal(verdict: Verdict) -> str:
    """The verdict as plain text; hostile characters are shown, not obeyed."""
    return "\n".join(map(one_line, _lines(verdict))) + "\n"


def _lines(verdict: Verdict) -> Iterator[str]:
    yield headline(verdict)
    yield f"  {sides_words(verdict)}"
    failed = [check for check in verdict.checks if not check.ok]
    told = {rule.sentence for rule in verdict.rules} | {f"{check.name}: {check.sentence}" for check in failed}
    yield from (f"  {reason}" for reason in verdict.reasons if reason not in told)  # what stands below is not said twice
    yield ""
    labels = [rule_label(rule) for rule in verdict.rules]
    wide = max(map(len, (*labels, "NOT MET")))
    yield from (f"  {'NOT MET':<{wide}}  {check.name}: {check.sentence}" for check in failed)
    for rule, label in zip(verdict.rules, labels, strict=True):
        yield f"  {label:<{wide}}  {rule.name}: {rule.sentence}"
    yield f"  evidence: {len(verdict.checks) - len(failed)} of {len(verdict.checks)} checks hold"
    if verdict.next_steps:
        yield ""
        yield "next:"
        yield from (f"  {step}" for step in verdict.next_steps)
