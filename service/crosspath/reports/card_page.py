"""A card as a page that people read and print: Markdown, made of the card alone, so that anyone can make it again and compare."""

from datetime import UTC, datetime

from crosspath.analysis.abstention import one_sentence
from crosspath.analysis.alarms import alarm_counts
from crosspath.analysis.wording import (
    NONE,
    control_line,
    control_warning,
    counts,
    effect_label,
    p_text,
    paragraph,
    percent,
    points,
    span,
    table,
    title,
)
from crosspath.escaping import markdown
from crosspath.reports.card_settings import configuration, how_to_repeat, path_chains, toolchain
from crosspath.reports.card_tasks import by_group, task_set, trial_by_trial
from crosspath.reports.headlines import PLACE_WORDS
from crosspath.types import Card, Cell, Decomposition, Effect, Estimate, FormatDamage, Losses, Origin, Usages

_EFFECT_HEAD = (
    "about", "value", "95 % interval", "95 % together", "n", "missing", "unstable", "worst to best", "p", "method",
)  # fmt: skip
_ORIGINS: tuple[Origin, ...] = ("fresh", "stored", "retried", "local")

_NOT_SHOWN = """\
- That the model really gave these replies, or that the endpoint serves the model it names: a card proves that its numbers
  follow from its outcomes, and the bundle that the outcomes follow from its stored final states. Nobody can see from either where
  replies and states came from.
- What other tasks would show. `these_replies` and `these_tasks` are about exactly these; `task_population` speaks of families
  like these, and becomes narrow with more families, not with more trials.
- What the next draw of replies would show, where the operating point is not deterministic. Compensation compares two draws.
- Anything where the control does not hold, or where no reply passes on the reference path.
- That one candidate is better than another: compare them over the same tasks, paired, in one evaluation. Intervals on this page
  are 95 % each; *together* holds over all effects of the evaluation.
- How to mend anything. It says which stage broke.
"""


def card_page(card: Card) -> str:
    """The page, without the line that states the card's digest."""
    found = card.decomposition
    sections = [
        f"# Harness card: {markdown(title(found))}\n",
        _intention(card),
        _warnings(card),
        "## In plain words\n",
        _plain_words(card),
        "## Results\n",
        _two_by_two(found),
        _rates(found),
        _effects(found),
        f"Control: {markdown(control_line(found))}.\n",
        _lost(card.losses),
        _format(card.format_damage),
        by_group(card),
        _repeated(card),
        _declining(card),
        _cost(card),
        "## Configuration\n",
        configuration(card),
        path_chains(card),
        toolchain(card),
        "## Tasks\n",
        task_set(card),
        trial_by_trial(card),
        "## How to repeat it\n",
        how_to_repeat(card),
        "## What this does not show\n",
        _NOT_SHOWN,
    ]
    text = "\n".join(section for section in sections if section)
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


def _intention(card: Card) -> str:
    about, ended = card.evaluation, card.evaluation.sessions[-1][1] if card.evaluation.sessions else None
    until = f" to {when(ended)}" if ended is not None else ""
    stopped = "" if about.status == "finished" else f" It is {about.status}: what is missing is a fault, not a failure."
    return (
        f"Candidate {markdown(card.candidate.name)} of evaluation {markdown(about.id)}, {when(about.created_at)}{until}.{stopped}"
        " All that is needed to compare it or to repeat it; the outcome of every trial stands below. Check this file offline with"
        " `crosspath verify`.\n"
    )


def when(seconds: float) -> str:
    """A moment in UTC, to the minute; seconds since 1970."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
    except (OverflowError, ValueError, OSError):
        return f"{seconds} s after 1970"


def _warnings(card: Card) -> str:
    warning = control_warning(card.decomposition)
    return "".join(f"> **{markdown(line)}**\n>\n" for line in (*([warning] if warning else []), *card.warnings))


def _plain_words(card: Card) -> str:
    if card.headline is None:
        return markdown(paragraph(card.decomposition)) + "\n"
    return f"{markdown(card.headline.sentence)} {markdown(card.headline.sure)}\n"


# -- the four cells --------------------------------------------------------------------------------------------------------


def _two_by_two(found: Decomposition) -> str:
    told, done = (dict.fromkeys(cell.name[place] for cell in found.cells) for place in (0, 1))
    columns = [f"run on {_named(found, side, 1)} ({side})" for side in done]
    rows = [[f"told {_named(found, side, 0)} ({side})", *(_square(found, side + other) for other in done)] for side in told]
    return table(["right", *columns], rows)


def _named(found: Decomposition, side: str, place: int) -> str:
    """The contract (place 0) or path (place 1) of a side."""
    return ", ".join({(cell.contract, cell.transport)[place]: None for cell in found.cells if cell.name[place] == side})


def _square(found: Decomposition, name: str) -> str:
    cell = found.cell(name)
    if cell is None:
        reason = found.not_applicable.get(name)
        return f"not applicable: {reason}" if reason else "not planned"
    return f"{counts(cell)}, {percent(cell.rate.value)}"


def _rates(found: Decomposition) -> str:
    head = [
        "cell", "attempted", "observed", "missing", "unstable", "right", "of observed", "95 % interval", "worst to best",
        "silent wrong", "false alarms", "method",
    ]  # fmt: skip
    return table(head, [_rate_row(cell) for cell in found.cells])


def _rate_row(cell: Cell) -> list[object]:
    rate = cell.rate
    return [
        cell.name, cell.planned, cell.scored, cell.faults, cell.unstable, cell.passed, percent(rate.value),
        span(rate.low, rate.high, signed=False), span(rate.worst, rate.best, signed=False), sum(cell.silent_causes.values()),
        alarm_counts(cell), f"{rate.method} ({rate.estimand})",
    ]  # fmt: skip


def _effects(found: Decomposition) -> str:
    if not found.effects:
        return ""
    return table(["effect, points", *_EFFECT_HEAD], [row for effect in found.effects for row in _effect_rows(found, effect)])


def _effect_rows(found: Decomposition, effect: Effect) -> list[list[object]]:
    name = f"{effect_label(found, effect.name)} ({effect.minuend} - {effect.subtrahend})"
    if found.control.status == "broken":
        return [[name, "not to be used: the control is broken", *[NONE] * 9]]
    if found.blind and effect.name == "damage":
        return [[name, "can't be seen: no reply passes on the reference", *[NONE] * 9]]
    return [[name, *_effect_row(effect.population, effect.together)], [name, *_effect_row(effect.these, None)]]


def _effect_row(estimate: Estimate, together: Estimate | None) -> list[object]:
    return [
        estimate.estimand, points(estimate.value), span(estimate.low, estimate.high, signed=True),
        span(together.low, together.high, signed=True) if together else NONE, estimate.n, estimate.missing, estimate.unstable,
        span(estimate.worst, estimate.best, signed=True), p_text(estimate), estimate.method,
    ]  # fmt: skip


# -- beside the four cells ---------------------------------------------------------------------------------------------------


def _lost(losses: Losses | None) -> str:
    if losses is None or not losses.attempted:
        return ""
    rows: list[list[object]] = [["kept", losses.kept, NONE, NONE]]
    for place in PLACE_WORDS:
        share = losses.shares.get(place)
        kinds = ", ".join(f"{kind} {number}" for kind, number in losses.kinds.get(place, {}).items())
        rows.append(
            [
                f"lost to {PLACE_WORDS[place]}",
                losses.lost[place],
                span(share.low, share.high, signed=False) if share else NONE,
                kinds,
            ]
        )
    head = ["as deployed", f"of {losses.attempted} trials", "95 % interval, families like these", "kinds"]
    return f"Where trials were lost ({losses.cell})\n\n" + table(head, rows)


def _format(found: FormatDamage | None) -> str:
    """What another clean-up of replies would have made of the same replies."""
    if found is None:
        return ""
    if found.effect is None or found.population is None:
        return f"Another clean-up of replies: not measured, {markdown(found.unmeasured or 'no reason given')}.\n"
    other = found.cleaned if found.own == found.strict else found.strict
    rows = [["format damage", *_effect_row(one, None)] for one in (found.population, found.effect)]
    words = (
        f"Clean-up {found.own}; with {other} {found.changed} of {found.replies} replies come out otherwise: {found.lost} right"
        f" only with {found.cleaned}, {found.gained} only with {found.strict}. {found.strict} - {found.cleaned}:\n\n"
    )
    return words + table(["effect, points", *_EFFECT_HEAD], rows)


def _repeated(card: Card) -> str:
    if not card.reliability:
        return ""
    rows = [
        [f"{one.cell}, {k} of {k}", percent(estimate.value), span(estimate.low, estimate.high, signed=False), estimate.n,
         estimate.missing, estimate.unstable, span(estimate.worst, estimate.best, signed=False)]
        for one in card.reliability
        for k, estimate in one.pass_hat.items()
    ]  # fmt: skip
    head = ["all of k trials right", "chance", "95 % interval", "n", "missing", "unstable", "worst to best"]
    return "Repeated trials of a task\n\n" + table(head, rows)


def _declining(card: Card) -> str:
    planned = [one for one in card.abstentions if one.planned]
    return "".join(f"- {one.cell}, {markdown(one_sentence(one))}\n" for one in planned)


def _cost(card: Card) -> str:
    cost = card.cost
    if cost is None:
        return ""
    rows: list[list[object]] = [[origin, *_usage_row(cost.by_origin[origin])] for origin in _ORIGINS if origin in cost.by_origin]
    rows.append(["replies with a verdict", *_usage_row(cost.counted)])
    head = ["what replies as deployed took", "rows", "tokens in", "tokens out", "usage unknown", "USD", "cost unknown"]
    return table(head, rows) + f"\n{_per_right(card)}\n"


def _usage_row(usages: Usages) -> list[object]:
    money = NONE if usages.cost_usd is None else f"{usages.cost_usd:.4f}"
    inward, outward = (NONE if count is None else f"{count:,}" for count in (usages.prompt_tokens, usages.completion_tokens))
    return [usages.rows, inward, outward, usages.unknown_usage, money, usages.unknown_cost]


def _per_right(card: Card) -> str:
    cost = card.cost
    assert cost is not None
    usd = "unknown" if cost.usd_per_pass is None else f"{cost.usd_per_pass:.6f} USD"
    tokens = "unknown" if cost.tokens_per_pass is None else f"{cost.tokens_per_pass:,.1f} tokens"
    latency = ", ".join(f"{name} {seconds:.3f} s" for name, seconds in cost.latency_s.items())
    known = f" (known for {cost.latency_known} of {cost.replies} replies)" if cost.latency_known < cost.replies else ""
    return f"For each right one: {usd}, {tokens}. Latency: {latency or 'unknown'}{known}."
