"""Words that every form of a verdict shares."""

from crosspath.types import GateSide, RuleResult, Verdict

STATE_WORDS = {"shown": "shown", "violated": "VIOLATED", "undecided": "not decided", "unusable": "no evidence"}
MEANINGS = {
    "PASS": "every blocking rule is shown",
    "FAIL": "a blocking rule is shown to be violated",
    "INCONCLUSIVE": "the evidence can't tell",
    "INVALID": "the evidence can't be used",
}


def headline(verdict: Verdict) -> str:
    """``PASS: every blocking rule is shown (policy release, alpha 0.05)``."""
    return f"{verdict.status}: {MEANINGS[verdict.status]} ({policy_words(verdict)})"


def policy_words(verdict: Verdict) -> str:
    """``policy release, alpha 0.05``."""
    return f"policy {verdict.policy.name or 'without a name'}, alpha {verdict.policy.alpha:g}"


def side_words(side: GateSide) -> str:
    """``oracle of few-20261130-1``."""
    return f"{side.candidate} of {side.evaluation}" + (f" ({side.ref})" if side.ref.model else "")


def sides_words(verdict: Verdict) -> str:
    """Who was compared with whom."""
    against = f", against {side_words(verdict.baseline)}" if verdict.baseline else ""
    return f"{side_words(verdict.candidate)}{against}"


def rule_label(rule: RuleResult) -> str:
    """The state of a rule; one that only warns says so."""
    return STATE_WORDS[rule.state] + (" (warns only)" if rule.tier == "warn" else "")


def rule_words(rule: RuleResult) -> str:
    """Why, and what would decide it where it is not decided."""
    needs = f" To decide it: {rule.needs.rstrip('.')}." if rule.needs else ""
    return f"{rule.sentence.rstrip('.')}.{needs}"
