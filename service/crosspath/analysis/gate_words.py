"""What came of a rule, in one sentence with its numbers, and what would decide it where nothing does."""

from collections.abc import Callable, Mapping
from typing import Literal

from crosspath.analysis.gate_bounds import Sample
from crosspath.analysis.gate_rules import Weighed
from crosspath.analysis.variance import variance_sources
from crosspath.analysis.wording import percent, points
from crosspath.types import AMOUNTS, EFFECTS, Estimate, Metric, PolicyRule, RuleResult, RuleState

METRIC_WORDS: Mapping[Metric, str] = {
    "pass_rate": "pass rate",
    "reference_rate": "pass rate on the reference path",
    "silent_wrong": "silently wrong",
    "false_alarm": "false alarms",
    "damage": "damage",
    "compensation": "compensation",
    "matched_gap": "matched gap",
    "pass_hat": "pass^k",
    "lost_to_path": "lost to the path",
    "lost_to_model": "lost to the model",
    "lost_to_format": "lost to the format",
    "refusals": "refusals",
    "truncated": "truncated replies",
    "usd_per_pass": "USD per pass",
    "tokens_per_pass": "tokens per pass",
    "latency_p50_s": "median latency",
    "latency_p90_s": "90th percentile of latency",
    "latency_p99_s": "99th percentile of latency",
}
_MOST = 10
"""So many times the families or trials are thought of; what takes more is told as out of reach."""


def rule_result(weighed: Weighed, alpha: float, holm: float | None = None) -> RuleResult:
    """The rule's state at ``alpha``, in words. ``holm``: its p-value against it, adjusted; None: by itself."""
    against = weighed.p_violated if holm is None else holm
    state: RuleState = "undecided"
    if weighed.unusable:
        state = "unusable"
    elif weighed.p_shown is not None and weighed.p_shown <= alpha:
        state = "shown"
    elif against is not None and against <= alpha:
        state = "violated"
    return RuleResult(
        name=weighed.rule.title,
        metric=weighed.rule.metric,
        tier=weighed.rule.tier,
        state=state,
        sentence=_sentence(weighed, state, alpha, against),
        bound=weighed.bound,
        direction="at_least" if weighed.sign > 0 else "at_most",
        estimate=weighed.estimate,
        p_shown=weighed.p_shown,
        p_violated=weighed.p_violated,
        p_violated_holm=holm,
        needs=_needs(weighed, alpha) if state == "undecided" else "",
    )


# -- the sentence --------------------------------------------------------------------------------------------------------


def _sentence(weighed: Weighed, state: RuleState, alpha: float, against: float | None) -> str:
    rule, estimate = weighed.rule, weighed.estimate
    if estimate is None:
        return f"{_label(rule)}: {weighed.unusable}"
    said = f"{_label(rule)} {_value(rule, estimate)}{_scope(weighed, estimate)}; {_asked(weighed)}"
    exact = estimate.estimand == "these_replies" or weighed.hopeful is None or not estimate.method.startswith("Gaffke")
    chance = {"shown": weighed.p_shown, "violated": against}.get(state)
    shown = "" if exact or chance is None else f" ({_p(chance)})"
    words = {
        "shown": "which is so" if exact else "which is shown",
        "violated": "which is not so" if exact else "which is shown not to be so",
        "undecided": f"which is neither shown nor refuted at {percent(alpha)}",
        "unusable": "",
    }
    return f"{said}, {words[state]}{shown}"


def _label(rule: PolicyRule) -> str:
    word = f"pass^{rule.k}" if rule.metric == "pass_hat" else METRIC_WORDS[rule.metric]
    return f"{rule.candidate}: {word}" if rule.candidate else word


def _value(rule: PolicyRule, estimate: Estimate) -> str:
    form = _form(rule)
    value = "unknown" if estimate.value is None else form(estimate.value)
    bare = points if form(0.0).endswith(" points") else form
    ends = " to ".join("no end" if end is None else bare(end) for end in (estimate.low, estimate.high))
    certain = estimate.low == estimate.high
    against = " against the baseline" if rule.against_baseline else ""
    return f"{value}{'' if certain else f' ({ends})'}{against}"


def _form(rule: PolicyRule) -> Callable[[float], str]:
    if rule.times_baseline is not None:
        return lambda value: f"{value:.3g} times"
    if rule.metric in AMOUNTS:
        unit = " s" if rule.metric.startswith("latency") else ""
        return lambda value: f"{value:.4g}{unit}"
    signed = rule.margin is not None or rule.metric in EFFECTS
    return (lambda value: f"{points(value)} points") if signed else percent


def _scope(weighed: Weighed, estimate: Estimate) -> str:
    tasks = len(weighed.families or ())
    families = len(set((weighed.families or {}).values()))
    lost = f", {estimate.missing} more without a verdict" if estimate.missing else ""
    if estimate.estimand == "task_population":
        return f" over families like these {families} ({tasks} tasks, {estimate.n} {_unit(weighed.rule)}{lost})"
    if estimate.estimand == "these_tasks":
        return f" on these {tasks} tasks ({estimate.n} {_unit(weighed.rule)}{lost})"
    return f" for these {estimate.n} {_unit(weighed.rule) if weighed.families else 'replies'}{lost}"


def _unit(rule: PolicyRule) -> str:
    return "pairs of trials" if rule.against_baseline else "trials"


def _asked(weighed: Weighed) -> str:
    rule, form = weighed.rule, _form(weighed.rule)
    if rule.margin is not None:
        return f"at most {100 * rule.margin:.10g} points worse is asked"
    word = "at least" if weighed.sign > 0 else "at most"
    return f"{word} {form(weighed.bound)} is asked"


def _p(chance: float) -> str:
    return "p < 0.001" if chance < 0.001 else f"p = {chance:.3f}"


# -- what would decide ---------------------------------------------------------------------------------------------------

_Goal = Literal["show", "refute"]


def _needs(weighed: Weighed, alpha: float) -> str:
    """What would decide an undecided rule, as far as the evidence can tell."""
    estimate, observed = weighed.estimate, weighed.observed
    missing = estimate.missing if estimate else 0
    if missing and _missing_decides(weighed, alpha):
        return f"the {missing} trials without a verdict: run the same command again, which asks for what is missing only"
    if observed is None or weighed.families is None or estimate is None:
        return "evidence that can be compared"
    goal: _Goal = "show" if observed.mean > weighed.threshold else "refute"
    found = [*_by_trials(weighed, observed, alpha, goal), *_by_families(weighed, observed, alpha, goal)]
    outcome = "would show it, if they turn out as these" if goal == "show" else "would refute it, if they turn out as these"
    if not found:
        return f"not even {_MOST} times the families or trials would, if they turn out as these: it is too near the bound"
    return f"{' or '.join(found)} {outcome}"


def _missing_decides(weighed: Weighed, alpha: float) -> bool:
    if weighed.hopeful is None:
        return True
    if weighed.p_shown in (0.0, 1.0) and not str(weighed.estimate.method if weighed.estimate else "").startswith("Gaffke"):
        return True
    return weighed.hopeful.p_not_above(weighed.threshold) <= alpha


def _reached(sample: Sample, threshold: float, alpha: float, goal: _Goal) -> bool:
    chance = sample.p_not_above(threshold) if goal == "show" else sample.p_not_below(threshold)
    return chance <= alpha


def _by_families(weighed: Weighed, observed: Sample, alpha: float, goal: _Goal) -> list[str]:
    if weighed.rule.generalises_to != "task_population":
        return []
    families = round(observed.size)
    for number in range(families + 1, _MOST * families + 1):
        if _reached(observed.grown(number / families), weighed.threshold, alpha, goal):
            return [f"about {number} families instead of {families}"]
    return []


def _by_trials(weighed: Weighed, observed: Sample, alpha: float, goal: _Goal) -> list[str]:
    """Trials narrow a rule over families only as far as draws of replies make families differ."""
    trials = max((len(values) for values in weighed.trials[0].values()), default=0) if weighed.trials else 0
    if trials and weighed.rule.generalises_to == "these_tasks":
        return _first(trials, lambda times: _reached(observed.grown(times), weighed.threshold, alpha, goal))
    share = _share_of_draws(weighed) if trials and weighed.rule.k is None else None
    if share is None:
        return []
    return _first(
        trials,
        lambda times: _reached(observed.drawn_in((1 - share * (1 - 1 / times)) ** 0.5), weighed.threshold, alpha, goal),
    )


def _first(trials: int, reached: Callable[[float], bool]) -> list[str]:
    for number in range(trials + 1, _MOST * trials + 1):
        if reached(number / trials):
            return [f"about {number} trials a task instead of {trials}"]
    return []


def _share_of_draws(weighed: Weighed) -> float | None:
    """Of the variance between family means; None where one trial a task can't tell."""
    assert weighed.families is not None
    values = [{task: [float(value) for value in trials] for task, trials in side.items()} for side in weighed.trials]
    sources = variance_sources(values, weighed.families)
    named = {source.name: source.share or 0.0 for source in sources}
    return named.get("replies", 0.0) + named.get("other_replies", 0.0) if "replies" in named else None
