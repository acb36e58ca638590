"""What the format of replies costs, in words: with the clean-up of a code fence and without it."""

from collections.abc import Iterator, Sequence

from crosspath.analysis.path_tables import several
from crosspath.analysis.wording import NONE, points, span, table, with_interval
from crosspath.escaping import markdown
from crosspath.types import Estimate, FormatDamage, Judgement

MOST_CANDIDATES = 20
"""Longest table; the rest is counted."""
MOST_LINES = 6
"""So many candidates at most have a sentence of their own."""
_NOTE = """\
The same replies on the same path, taken strictly and with a code fence taken off; the effect is strict - cleaned over all trials
of the candidate as deployed, in points. A reply that the clean-up leaves as it is ends in the same way, so only the changed ones
were replayed: no model was asked.
"""


def format_lines(judgement: Judgement) -> list[str]:
    """A plain sentence with the next step for each candidate whose replies end otherwise by their clean-up, or could."""
    telling = [one for one in judgement.format_damage if one.changed and (one.effect is None or one.lost or one.gained)]
    lines = list(map(_line, telling[:MOST_LINES]))
    more = len(telling) - MOST_LINES
    return [*lines, *([f"The clean-up of replies matters to {more} more candidates."] if more > 0 else [])]


def _line(one: FormatDamage) -> str:
    what = f"{one.candidate}: the clean-up {one.cleaned} {_changes(one)} {one.changed} of {one.replies} replies"
    if one.effect is None:
        return f"{what}; what that does was not measured ({one.unmeasured})."
    missing = "" if one.scored == one.changed else f" ({one.scored} of them observed both ways)"
    counted = f"of these {one.cleaned_passed} are right when cleaned and {one.strict_passed} when taken strictly"
    return f"{what}{missing}; {counted} ({_cost(one.effect)}).{_step(one)}"


def _changes(one: FormatDamage) -> str:
    return "changes" if one.own == one.cleaned else "would change"


def _cost(estimate: Estimate) -> str:
    """What taking replies strictly does to the pass rate."""
    value = estimate.value
    if value is None or points(value) == "0.0":
        return f"format damage {points(value)}"
    return f"format damage {points(value)} points: taken strictly {'fewer' if value < 0 else 'more'} are right"


def _step(one: FormatDamage) -> str:
    better = one.cleaned if one.lost > one.gained else one.strict if one.gained > one.lost else one.own
    return "" if better == one.own else f" Next: set harness: {better} for it."


def format_section(judgement: Judgement) -> str:
    """What the clean-up of replies decides, candidate by candidate; empty for a judgement from before it was asked."""
    found = judgement.format_damage
    if not found:
        return ""
    return "\n".join(["## What the format of replies costs\n", *_parts(found)])


def _parts(found: Sequence[FormatDamage]) -> Iterator[str]:
    changed = [one for one in found if one.changed and one.effect]
    if changed:
        yield _NOTE
        yield _table(changed)
    if same := [one.candidate for one in found if one.effect and not one.changed]:
        yield f"Nothing to clean in any reply of {markdown(several(same))}: there the format costs nothing.\n"
    reasons: dict[str, list[str]] = {}
    for one in found:
        if one.effect is None:
            reasons.setdefault(one.unmeasured, []).append(one.candidate)
    yield from (f"Not measured for {markdown(several(names))}: {markdown(why)}.\n" for why, names in reasons.items())


def _table(found: Sequence[FormatDamage]) -> str:
    head = [
        "candidate", "cell", "its clean-up", "compared", "replies", "changed", "observed both ways", "right strictly",
        "right cleaned", "only right cleaned", "only right strictly", "effect, these replies", "worst to best",
        "families, 95 %", "tasks",
    ]  # fmt: skip
    more = len(found) - MOST_CANDIDATES
    rest = f"\n{more} more candidates have replies that it changes.\n" if more > 0 else ""
    return table(head, list(map(_row, found[:MOST_CANDIDATES]))) + rest


def _row(one: FormatDamage) -> list[object]:
    effect, population = one.effect, one.population
    return [
        one.candidate, one.cell, one.own, f"{one.strict} - {one.cleaned}", one.replies, one.changed, one.scored,
        one.strict_passed, one.cleaned_passed, one.lost, one.gained, points(effect.value) if effect else NONE,
        span(effect.worst, effect.best, signed=True) if effect else NONE,
        with_interval(population, signed=True) if population else NONE, several(one.tasks) or NONE,
    ]  # fmt: skip
