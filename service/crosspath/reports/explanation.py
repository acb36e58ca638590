"""Two configurations beside each other, as text for a terminal's tables and as Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from crosspath.analysis.wording import NONE, points, span, table, with_interval
from crosspath.escaping import markdown, one_line
from crosspath.reports.blocks import code_span
from crosspath.types import Explanation, FieldDifference, Part

LONGEST_VALUE = 60
"""So much of a value is shown; JSON has all of it."""
SHOWN_DIGITS = 12
"""Of a digest."""
_STATUS = {
    "comparable": "comparable",
    "not_enough_evidence": "not enough evidence",
    "not_comparable": "not comparable",
}


@dataclass(frozen=True)
class Block:
    """A heading (or none), sentences, and a table."""

    heading: str = ""
    lines: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    commands: bool = False
    """The lines hold commands."""


def blocks(found: Explanation) -> tuple[Block, ...]:
    """All that is said, in order; blocks without content are left out."""
    return tuple(block for block in _blocks(found) if block.lines or block.rows)


def _blocks(found: Explanation) -> Iterator[Block]:
    yield Block(lines=tuple(_first(found)))
    yield Block("What explains it", tuple(_about_parts(found)), _PART_COLUMNS, tuple(map(_part_row, found.parts)))
    yield Block("Step by step", (), ("axis", "from", "to", "points", "replies"), tuple(_step_rows(found)))
    yield Block("What to run next", found.next_steps, commands=True)
    rows = tuple((one.side, one.effect, one.cells, with_interval(one.estimate, signed=True)) for one in found.effects)
    gone = tuple(f"not identified: {sentence}" for sentence in found.unidentified)
    yield Block("Effects that the cells of each side give", gone, ("side", "effect", "cells", "points, 95 %"), rows)
    telling = [one for one in found.differences if not one.inert]
    yield Block("What differs", tuple(_about_fields(found, telling)), _FIELD_COLUMNS, tuple(map(_field_row, telling)))
    inert = [one for one in found.differences if one.inert]
    shown = tuple((*_field_row(one), one.why) for one in inert)
    yield Block("What differs and can't affect a reply or a replay", (), (*_FIELD_COLUMNS, "because"), shown)


# -- what is said first ----------------------------------------------------------------------------------------------------


def _first(found: Explanation) -> Iterator[str]:
    a, b = found.a, found.b
    if found.comparison:
        difference = found.comparison.difference
        about = f"{len(found.tasks)} tasks, {difference.n} pairs of trials; {difference.method}"
        yield f"{b.label} - {a.label}, as deployed: {with_interval(difference, signed=True)} points ({about})"
    yield f"{_STATUS[found.status]}" + (f": {'; '.join(found.reasons)}" if found.reasons else "")
    for name, side in (("A", a), ("B", b)):
        yield f"{name}: {side.candidate} of {side.evaluation}, cell {side.cell}"
    yield from _about_tasks(found)
    if found.comparison and found.comparison.warning and found.comparison.warning not in found.reasons:
        yield f"! {found.comparison.warning}"


def _about_tasks(found: Explanation) -> Iterator[str]:
    apart = [f"{count} only in {side}" for side, count in (("A", found.only_a), ("B", found.only_b)) if count]
    if found.changed_tasks:
        apart.append(f"{len(found.changed_tasks)} of the same id with another content, for instance {found.changed_tasks[0]}")
    if apart:
        yield f"compared are the {len(found.tasks)} tasks that both have with the same digest; left out: {', '.join(apart)}"


# -- what each axis explains -----------------------------------------------------------------------------------------------

MOST_STEPS = 6
"""So many steps of one part are shown; JSON has all."""
_PART_COLUMNS = ("axis", "points, 95 % (families)", "on these tasks", "over the orders", "replies")


def _about_parts(found: Explanation) -> Iterator[str]:
    if found.explained is None:
        if found.comparison and not found.parts and not any(not one.inert for one in found.differences):
            yield "Nothing differs that could affect a reply or a replay: what is left are other draws of replies."
        return
    if found.every_order and found.orders > 1:
        orders = f"each is the mean over all {found.orders} orders in which they can be changed (Shapley value)"
    elif found.orders > 1:
        orders = f"each is the mean over the {found.orders} orders for which there are cells"
    else:
        orders = "there are cells for one order only" if len(found.parts) > 1 else "one step"
    yield f"The parts add up to {points(found.explained)} points on {found.explained_tasks} tasks; {orders}."
    for part in found.parts:
        if part.confounded:
            yield f"confounded: {' with '.join(part.axes)} (no cell separates them)"
    yield from (f"left out: {one}" for one in found.left_out)


def _named(part: Part) -> str:
    return " with ".join(part.axes)


def _part_row(part: Part) -> tuple[str, ...]:
    varies = part.least != part.most
    return (
        _named(part),
        with_interval(part.estimate, signed=True),
        points(part.these_tasks) + (" exactly" if part.same_replies else ""),
        span(part.least, part.most, signed=True) if varies else NONE,
        "the same" if part.same_replies else "others" if not any(one.same_replies for one in part.steps) else "both",
    )


def _step_rows(found: Explanation) -> Iterator[tuple[str, ...]]:
    for part in found.parts:
        for step in part.steps[:MOST_STEPS]:
            yield _named(part), step.before, step.after, points(step.value), "the same" if step.same_replies else "others"
        if len(part.steps) > MOST_STEPS:
            yield _named(part), f"{len(part.steps) - MOST_STEPS} more", "", "", ""


# -- which fields differ ---------------------------------------------------------------------------------------------------

_FIELD_COLUMNS = ("axis", "field", "A", "B")


def _about_fields(found: Explanation, telling: Sequence[FieldDifference]) -> Iterator[str]:
    if not telling:
        yield "No field that could affect a reply or a replay."
    if any(one.axis == "tasks" for one in telling) and found.comparison:
        yield "Tasks that are not the same are compared with nothing, so they explain nothing."


def _field_row(one: FieldDifference) -> tuple[str, ...]:
    longest = SHOWN_DIGITS if one.field.endswith("digest") else LONGEST_VALUE
    return one.axis, one.field, _shown(one.a, longest), _shown(one.b, longest)


def _shown(value: str, longest: int) -> str:
    line = one_line(value)
    return line if len(line) <= longest else f"{line[:longest]}..."


# -- forms -----------------------------------------------------------------------------------------------------------------


def explanation_markdown(found: Explanation) -> str:
    """All of it as Markdown."""
    parts = [f"# {markdown(f'{found.b.label} beside {found.a.label}')}\n"]
    for block in blocks(found):
        if block.heading:
            parts.append(f"## {markdown(block.heading)}\n")
        if block.lines:
            parts.append("".join(f"- {code_span(line) if block.commands else markdown(line)}\n" for line in block.lines))
        if block.rows:
            parts.append(table(block.columns, block.rows))
    return "\n".join(parts)
