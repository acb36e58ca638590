"""A verdict as JUnit XML, which every CI system shows: one test case per rule and per check of the evidence.

Violated is a failure; what the evidence can't tell or can't be used for is an error, because nothing was shown to be wrong. A
rule that only warns never fails.
"""

import re
from xml.sax.saxutils import escape, quoteattr

from crosspath.escaping import one_line
from crosspath.reports.gate_words import headline, rule_label, rule_words, side_words
from crosspath.types import EvidenceCheck, RuleResult, Verdict

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't hold, not even as a reference."""


def gate_junit(verdict: Verdict) -> str:
    """The whole file."""
    rules = [_rule(rule) for rule in verdict.rules]
    checks = [_check(check) for check in verdict.checks]
    cases = [*rules, *checks]
    failures, errors = (sum(f"<{kind} " in case for case in cases) for kind in ("failure", "error"))
    counts = f'tests="{len(cases)}" failures="{failures}" errors="{errors}"'
    name = _attribute(f"crosspath gate {verdict.policy.name}".strip())
    facts = {
        "verdict": verdict.status,
        "id": verdict.id,
        "candidate": side_words(verdict.candidate),
        **({"baseline": side_words(verdict.baseline)} if verdict.baseline else {}),
    }
    properties = "".join(f"<property name={_attribute(key)} value={_attribute(value)}/>" for key, value in facts.items())
    said = "\n".join((headline(verdict), *verdict.reasons, *(f"next: {step}" for step in verdict.next_steps)))
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<testsuites {counts}>\n<testsuite name={name} {counts}>\n"
        f"<properties>{properties}</properties>\n"
        + "".join(f"{case}\n" for case in cases)
        + f"<system-out>{_text(said)}</system-out>\n</testsuite>\n</testsuites>\n"
    )


def _rule(rule: RuleResult) -> str:
    said = rule_words(rule)
    if rule.state == "shown":
        return _case("rules", rule.name, _output(said))
    if rule.tier == "warn":
        return _case("rules", f"{rule.name} (warns only)", _output(f"{rule_label(rule)}: {said}"))
    kind = "failure" if rule.state == "violated" else "error"
    return _case(
        "rules", rule.name, f"<{kind} message={_attribute(rule.sentence)} type={_attribute(rule.state)}>{_text(said)}</{kind}>"
    )


def _check(check: EvidenceCheck) -> str:
    if check.ok:
        return _case("evidence", check.name, _output(check.sentence))
    said = _attribute(check.sentence)
    return _case("evidence", check.name, f'<error message={said} type="invalid">{_text(check.sentence)}</error>')


def _case(kind: str, name: str, inner: str) -> str:
    return f'<testcase classname="crosspath.gate.{kind}" name={_attribute(name)} time="0">{inner}</testcase>'


def _output(text: str) -> str:
    return f"<system-out>{_text(text)}</system-out>"


def _text(text: str) -> str:
    return escape(_legal(text, keep="\n"))


def _attribute(text: str) -> str:
    return quoteattr(_legal(text))


def _legal(text: str, keep: str = "") -> str:
    """Control characters as ``\\xNN``, and what XML forbids besides as a replacement character."""
    return _FORBIDDEN.sub("\ufffd", one_line(text, keep=keep))
