"""Numbers as words: the sentences that a reader meets first, and the forms that tables use."""

from collections.abc import Sequence

from crosspath.analysis.alarms import alarm_sentence
from crosspath.analysis.coverage import coverage, infeasible_only, losses, unobserved
from crosspath.escaping import markdown
from crosspath.types import Cell, Control, Decomposition, Effect, Estimate, Spend

NONE = "–"
"""What stands where there is no number."""


def points(value: float | None) -> str:
    """A difference of shares in percentage points, signed; zero has no sign."""
    if value is None:
        return NONE
    text = f"{100 * value:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text


def percent(value: float | None) -> str:
    """A share in per cent."""
    return NONE if value is None else f"{100 * value:.1f} %"


def false_rate(alpha: float, days: int) -> str:
    """How often a watch of so many days may be wrong, to all its digits: ``at most 1.25 % of watches of 60 days``."""
    return f"at most {100 * alpha:g} % of watches of {days} days"


def span(low: float | None, high: float | None, signed: bool) -> str:
    """Two ends of an interval or of a worst and best case."""
    form = points if signed else percent
    return NONE if low is None or high is None else f"{form(low)} to {form(high)}"


def with_interval(estimate: Estimate, signed: bool) -> str:
    """A rate, or with ``signed`` a difference, and its interval where there is one."""
    form = points if signed else percent
    interval = span(estimate.low, estimate.high, signed)
    return form(estimate.value) if interval == NONE else f"{form(estimate.value)} ({interval})"


def counts(cell: Cell) -> str:
    """``6 of 24``; with attempted, scored and lost apart where they differ."""
    if cell.scored == cell.planned:
        return f"{cell.passed} of {cell.planned}"
    if not cell.scored:
        return f"nothing observed of {cell.planned} ({losses(cell)})"
    lost = [
        f"{number} {word}"
        for number, word in ((cell.faults, _plural(cell.faults, "fault")), (cell.unstable, "unstable"))
        if number
    ]
    return f"{cell.passed} of {cell.scored} scored ({cell.planned} attempted, {', '.join(lost)})"


def _plural(number: int, word: str) -> str:
    return word if number == 1 else word + "s"


def where(cell: Cell) -> str:
    """What the model was told, and on which path its reply ran."""
    return (
        f"told and run {cell.contract}"
        if cell.contract == cell.transport
        else f"told {cell.contract} and run on {cell.transport}"
    )


def title(decomposition: Decomposition) -> str:
    """The candidate, with its path where the cells name one that isn't in the name already."""
    paths = [cell.transport for cell in decomposition.cells if cell.done == "N"]
    name = decomposition.candidate
    return f"{name} on {paths[0]}" if paths and paths[0] not in name else name


def paragraph(decomposition: Decomposition, wordings: str = "") -> str:
    """One candidate in plain words. ``wordings``: what stands beside its compensation."""
    seen = coverage(decomposition)
    sentences = [
        *([f"{seen}."] if seen else []),
        *(["none of the tasks can be done, so there is nothing to take apart."] if infeasible_only(decomposition) else []),
        *([] if unobserved(decomposition) else _cells(decomposition, wordings)),
        *_not_applicable(decomposition),
    ]
    text = f"{title(decomposition)}: {' '.join(sentences)}"
    warning = control_warning(decomposition)
    return f"{warning} {text}" if warning else text


def _cells(decomposition: Decomposition, wordings: str) -> list[str]:
    cell, effect = decomposition.cell, decomposition.effect
    sentences: list[str] = []
    if reference := cell("RR"):
        right = " right" if reference.scored else ""
        sentences.append(f"{counts(reference)}{right} when {where(reference)}{_ends(cell('RN'))}")
    if same := cell("RN"):
        sentences.append(
            f"the same replies on {same.transport}: {counts(same)}." if reference else f"{counts(same)} when {where(same)}."
        )
    if damage := effect("damage"):
        sentences.append(_unseen(damage) if decomposition.blind else _damage(damage))
    matched = cell("NN")
    if matched and (compensation := effect("compensation")):
        told = _told_of_another if decomposition.undisclosed else _compensation
        sentences.append(told(compensation, matched, decomposition, wordings and f"; {wordings}"))
    elif matched:
        sentences.append(f"{counts(matched)} when {where(matched)}.")
    if (gap := effect("matched_gap")) and not decomposition.blind:
        sentences.append(_gap(gap, decomposition))
    sentences.append(alarm_sentence(decomposition))
    return [sentence for sentence in sentences if sentence] or ["nothing was planned."]


def _ends(more: Cell | None) -> str:
    return ";" if more else "."


def _unseen(effect: Effect) -> str:
    mended = f" It mended {effect.gained}." if effect.gained else ""
    return f"No reply passes on the reference: there is nothing that the path could break, so damage can't be seen.{mended}"


def _damage(effect: Effect) -> str:
    value, n = effect.these.value, effect.these.n
    if value is None:
        return "Damage could not be measured."
    lost, gained = effect.lost or 0, effect.gained or 0
    if not lost and not gained:
        return f"The path broke none of {n} (damage 0.0)."
    mended = f" and mended {gained}" if gained else ""
    return f"The path broke {lost} of {n}{mended} (damage {points(value)} points)."


def effect_label(decomposition: Decomposition, name: str) -> str:
    """What to call an effect in words: ``matched gap``; ``compensation`` only where the candidate's own path was told."""
    if name == "compensation" and decomposition.undisclosed:
        return f"effect of telling about {decomposition.discloses}"
    return name.replace("_", " ")


def _told_of_another(effect: Effect, matched: Cell, decomposition: Decomposition, _: str) -> str:
    """The model was told about a path that is not this one: whatever that changes, it is no compensation."""
    told = f"told about {decomposition.discloses}, which is not this path: {counts(matched)}"
    if decomposition.blind:
        return f"T{told[1:]}."
    if effect.these.value is None:
        return f"T{told[1:]}; what telling changed could not be measured."
    return f"T{told[1:]} (effect of telling {_points_word(effect.these.value)}{_size(effect, matched)})."


def _size(effect: Effect, matched: Cell) -> str:
    """The number of trials behind an effect, where it is not the whole plan."""
    return "" if effect.these.n == matched.planned else f", n = {effect.these.n}"


def _points_word(value: float) -> str:
    return points(value) if points(value) == "0.0" else f"{points(value)} points"


def _compensation(effect: Effect, matched: Cell, decomposition: Decomposition, wordings: str) -> str:
    value, size = points(effect.these.value), _size(effect, matched) + wordings
    if decomposition.blind:
        return f"Told about the path: {counts(matched)}."
    if effect.these.value is None:
        return f"Told about the path: {counts(matched)}; compensation could not be measured."
    if value == "0.0":
        return f"Telling the model changed nothing (compensation 0.0{size})."
    turn = _turn(effect.these.value, decomposition.effect("damage"))
    words = f"the model {turn} {value.lstrip('+-')} points (compensation {value}{size})"
    return f"Told about the path, {words}: {counts(matched)}."


def _turn(value: float, damage: Effect | None) -> str:
    """Only what the path broke can be won back."""
    broken = damage is not None and bool(damage.lost)
    if value > 0:
        return "won back" if broken else "gained"
    return "lost a further" if broken else "lost"


def _gap(effect: Effect, decomposition: Decomposition) -> str:
    parts = [decomposition.effect(name) for name in ("damage", "compensation")]
    values = [points(part.these.value) for part in parts if part and part.these.value is not None]
    if effect.these.value is None or len(values) != 2:
        return ""
    first, second = values
    sign, size = ("-" if second.startswith("-") else "+"), second.lstrip("+-")
    score = "The score as deployed" if decomposition.undisclosed else "A matched score"
    return f"{score} shows only the sum: {points(effect.these.value)} = {first} {sign} {size}."


def _not_applicable(decomposition: Decomposition) -> list[str]:
    return [f"{name} is not applicable: {reason}." for name, reason in decomposition.not_applicable.items()]


def control_warning(decomposition: Decomposition) -> str:
    """A sentence where the control does not hold although there are effects to misread; empty otherwise."""
    control = decomposition.control
    if control.status == "broken":
        return f"NO VERDICT, the control is broken ({control.reason}): the instrument itself changes results."
    if control.status == "missing" and decomposition.effects and not unobserved(decomposition):
        return f"NOT PROVEN, the control is missing ({control.reason or 'nothing to compare'})."
    return ""


def control_line(decomposition: Decomposition) -> str:
    """The control in one line."""
    control = decomposition.control
    if control.kind == "none":
        return f"no control is needed: {control.reason}" if control.status == "holds" else f"no control: {control.reason}"
    name = f"{control.kind} control"
    if control.status == "holds" and decomposition.blind:
        return f"{name} proves nothing, because no reply passes on the reference ({control.reason})"
    if control.status == "holds" and control.compared < control.trials:
        return f"{name} holds on {control.compared} of {control.trials}: {_left_out(control)}"
    return f"{name} {control.status}: {control.reason or f'{control.compared} compared'}"


def _left_out(control: Control) -> str:
    unstable = len(control.unstable)
    lost = control.trials - control.compared - unstable
    parts = ((unstable, "unstable"), (lost, "could not be observed on both sides"))
    return ", ".join(f"{number} {words}" for number, words in parts if number)


def control_word(decomposition: Decomposition) -> str:
    """``holds``, ``broken`` or ``missing``; ``blind`` where it holds and proves nothing (see ``Decomposition.blind``)."""
    status = decomposition.control.status
    return "blind" if status == "holds" and decomposition.blind else status


def spend_line(spend: Spend) -> str:
    """What generation took, in one line."""
    failed = f" ({spend.requests_failed} failed)" if spend.requests_failed else ""
    parts = [f"{spend.requests} requests{failed}", f"{spend.replies} replies", tokens(spend), cost(spend)]
    if not spend.requests:
        parts = ["no request to any endpoint", f"{spend.replies} replies"]
    extra = (
        (spend.replies_local, "from baselines or recordings"),
        (spend.replies_reused, "replies of an earlier evaluation"),
        (spend.bought_again, "requests sent again after a kill"),
    )
    return ", ".join(parts + [f"{number} {words}" for number, words in extra if number])


def tokens(spend: Spend) -> str:
    """Tokens in and out; says for how many replies they are unknown."""
    if spend.prompt_tokens is None and spend.completion_tokens is None:
        return "tokens unknown"
    inward, outward = (NONE if count is None else f"{count:,}" for count in (spend.prompt_tokens, spend.completion_tokens))
    unknown = (
        f" (unknown for {spend.usage_unknown} {'reply' if spend.usage_unknown == 1 else 'replies'})"
        if spend.usage_unknown
        else ""
    )
    return f"{inward} tokens in, {outward} out{unknown}"


def cost(spend: Spend) -> str:
    """Cost in USD; unknown is said, never shown as zero."""
    if spend.cost_usd is None:
        return f"cost unknown (known part {spend.cost_known_usd:.4f} USD)"
    return f"{spend.cost_usd:.4f} USD"


def p_text(estimate: Estimate) -> str:
    """A p-value with its usual precision."""
    if estimate.p_value is None:
        return NONE
    return "< 0.001" if estimate.p_value < 0.001 else f"{estimate.p_value:.3f}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; its cells are text, and can't break out of it."""
    first, *rest = ([cell_text(value) for value in line] for line in (head, *rows))
    lines = [first, ["---"] * len(head), *rest]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def cell_text(value: object) -> str:
    """Text for one table cell: line ends visible, markup inert."""
    return markdown(str(value)) or NONE
