"""Policies: what is read, and what is refused with which line."""

import json
from pathlib import Path

import pytest

from crosspath.errors import ConfigError
from crosspath.spec.policy import load_policy, parse_ref, policy_schema
from crosspath.types import EvidenceRef, PolicyRule

DEPLOY = Path(__file__).parent.parent.parent / "deploy"
POLICIES = sorted((DEPLOY / "policies").glob("*.yaml"))


def refused(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_policy(text, "p.yaml")
    return str(caught.value)


def refused_rule(rule: str) -> str:
    return refused(f"name: x\nrules:\n  - {rule}\n")


def test_a_policy_has_the_name_of_its_file_and_defaults() -> None:
    """What is left out is written out: name, alpha, tiers, what the rules generalise to."""
    policy = load_policy("rules: [{metric: pass_rate, margin: 0.1}, {metric: usd_per_pass, at_most: 0.01}]", "dir/mine.yaml")
    assert (policy.name, policy.alpha, policy.on_inconclusive) == ("mine", 0.05, "fail")
    assert [rule.generalises_to for rule in policy.rules] == ["task_population", "these_replies"]
    assert [rule.title for rule in policy.rules] == ["pass_rate margin 0.1", "usd_per_pass at most 0.01"]
    assert policy.evidence.suites == ("exact",)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("{metric: pass_rate}", "rules[0].metric: pass_rate has no bound: give one of at_least, at_most, margin, times_baseline"),
        ("{metric: pass_rate, at_least: 0.8, margin: 0.1}", "rules[0].margin: a second bound beside at_least"),
        ("{metric: pass_hat, at_least: 0.8}", "pass_hat needs k"),
        ("{metric: pass_rate, at_least: 0.8, k: 3}", "rules[0].k: 3: belongs to pass_hat, not to pass_rate"),
        ("{metric: pass_rate, times_baseline: 2}", "rules[0].times_baseline: 2: pass_rate is a share: write margin"),
        ("{metric: usd_per_pass, margin: 0.1}", "rules[0].margin: 0.1: usd_per_pass is no share: write times_baseline"),
        ("{metric: damage, at_most: 0.05}", "rules[0].at_most: 0.05: damage is better when it is higher: write at_least"),
        ("{metric: silent_wrong, at_least: 0.05}", "silent_wrong is better when it is lower: write at_most"),
        ("{metric: pass_rate, at_least: 90}", "rules[0].at_least: must be a share from 0 to 1 (0.05 is five points), not 90"),
        ("{metric: pass_rate, at_least: 0}", "0 is met by anything"),
        ("{metric: silent_wrong, at_most: 0}", "0 is shown by no number of trials: write what is near enough"),
        ("{metric: pass_rate, margin: 5}", "must be a difference of shares, such as 0.05 for five points, not 5"),
        ("{metric: latency_p90_s, at_most: 0}", "must be greater than 0, not 0"),
        (
            "{metric: pass_rate, margin: 0.1, over: these_replies}",
            "rules[0].over: these_replies: pass_rate of these very replies",
        ),
        ("{metric: usd_per_pass, at_most: 1, over: these_tasks}", "rules[0].over: these_tasks: usd_per_pass is known of these"),
        ("{metric: pass_rte, margin: 0.1}", "did you mean pass_rate?"),
        ("{metric: pass_rate, marign: 0.1}", "rules[0].marign: unknown field; did you mean margin?"),
        ("{metric: pass_rate, margin: much}", "rules[0].margin: must be a number, not 'much'"),
        ("{metric: pass_rate, margin: 0.1, tier: blok}", "did you mean block?"),
    ],
)
def test_a_wrong_rule_is_one_line_with_what_would_be_right(rule: str, said: str) -> None:
    """File, line, field, value, and what to write instead."""
    line = refused_rule(rule)
    assert line.startswith("p.yaml:3: rules[0]")
    assert said in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "p.yaml: a policy is a mapping with at least `rules:`"),
        ("alpha: 0.05", "p.yaml:1: rules: is missing"),
        ("alpha: 0.9\nrules: [{metric: pass_rate, margin: 0.1}]", "p.yaml:1: alpha: must be less than 0.5, not 0.9"),
        ("rules: [{metric: pass_rate, margin: 0.1, tier: warn}]", "no rule has `tier: block`, so nothing would decide"),
        ("rules: [{metric: pass_rate, margin: 0.1}, {metric: pass_rate, margin: 0.1}]", "two rules are called"),
        ("rules: []", "p.yaml:1: rules: must have at least 1 item, not []"),
        ("candidate: 3\nrules: [{metric: pass_rate, margin: 0.1}]", "p.yaml:1: candidate: must be an evaluation"),
        ("name: {}\nrules: [{metric: pass_rate, margin: 0.1}]", "p.yaml:1: name: must be a text, not {}"),
        ("evidence: {min_familes: 3}\nrules: [{metric: pass_rate, margin: 0.1}]", "did you mean min_families?"),
        ("baseline: models:/m\nrules: [{metric: pass_rate, margin: 0.1}]", "p.yaml:1: baseline: must be models:/NAME/VERSION"),
        ("candidate: 'x:'\nrules: [{metric: pass_rate, margin: 0.1}]", "p.yaml:1: candidate: must be an evaluation"),
    ],
)
def test_a_wrong_policy_is_one_line(text: str, said: str) -> None:
    """The same for everything around the rules."""
    assert said in refused(text)


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("latest", EvidenceRef(evaluation="latest")),
        ("quoting-20261129-1:a b", EvidenceRef(evaluation="quoting-20261129-1", candidate="a b")),
        ("models:/m/3", EvidenceRef(model="m", version=3)),
        ("models:/m@champion", EvidenceRef(model="m", alias="champion")),
    ],
)
def test_evidence_is_named_in_one_text_and_shown_as_it_was_typed(text: str, ref: EvidenceRef) -> None:
    """An evaluation with or without a candidate, or a version of a model by number or alias; in a policy, too."""
    assert parse_ref(text, "candidate") == ref
    assert str(ref) == text
    policy = load_policy(f"baseline: '{text}'\nrules: [{{metric: pass_rate, margin: 0.1}}]", "p.yaml")
    assert policy.baseline == ref


@pytest.mark.parametrize("policy", POLICIES, ids=lambda path: path.name)
def test_policies_that_ship_are_read(policy: Path) -> None:
    """Each shipped example is a policy that names itself as its file."""
    assert load_policy(policy.read_text("utf-8"), str(policy)).name == policy.stem


def test_the_schema_beside_the_specs_is_the_one_of_the_records() -> None:
    """`deploy/policy.schema.json` is written from the records; see CONTRIBUTING.md."""
    assert json.loads((DEPLOY / "policy.schema.json").read_text("utf-8")) == policy_schema()


def test_rules_made_in_python_are_held_to_the_same() -> None:
    """A rule that nothing could decide is refused wherever it is made."""
    with pytest.raises(ValueError, match="pass_hat needs k"):
        PolicyRule(metric="pass_hat", at_least=0.5)
