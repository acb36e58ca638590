"""Published counts beside what was measured: a section of their own, and the words for a terminal."""

from collections.abc import Sequence

from crosspath.analysis.published import NO_INTERVAL, PublishedOrder, published_effects, published_orders
from crosspath.analysis.wording import NONE, points, table
from crosspath.escaping import markdown
from crosspath.types import Decomposition, Judgement, Published, PublishedModel

_CELLS = ("RR", "RN", "NR", "NN")
_EFFECTS = ("damage", "compensation", "matched_gap")
COLUMNS = ("model", *_CELLS, "damage", "compensation", "matched gap")
"""Of :func:`published_rows`."""


def published_rows(published: Published) -> list[tuple[str, ...]]:
    """One row per model: passed of n in each cell, and the effects in points of pass rate to one decimal."""
    return [_row(model) for model in published.models]


def published_lines(published: Published) -> list[str]:
    """What follows from the counts, as sentences: orders of models and their reversed pairs, and what does not follow."""
    lines = [line for order in published_orders(published) for line in _order_lines(order)]
    return [*lines, f"{NO_INTERVAL[0].upper()}{NO_INTERVAL[1:]}."]


def published_section(published: Published, judgement: Judgement) -> str:
    """The table with its citation, and the measured cells as a table of their own for reading side by side."""
    parts = [
        f"## Published counts: {markdown(published.name)}",
        f"Published, not measured here, and part of no number above. Source: {markdown(published.citation)}.",
        table(COLUMNS, published_rows(published)),
        "\n".join(f"- {markdown(line)}" for line in published_lines(published)),
        _measured(judgement.decompositions),
    ]
    return "\n\n".join(part.rstrip() for part in parts if part) + "\n"


def _row(model: PublishedModel) -> tuple[str, ...]:
    effects = published_effects(model)
    cells = [f"{model.passed[cell]}/{model.n}" if cell in model.passed else NONE for cell in _CELLS]
    return model.model, *cells, *(points(float(effects[name])) if name in effects else NONE for name in _EFFECTS)


def _order_lines(order: PublishedOrder) -> list[str]:
    about = f"Order of the models, {order.first} against {order.second}"
    found = order.rankings
    if found is None:
        return [f"{about}: {order.reason}."]
    taus = ", ".join(
        f"{name} {NONE if tau is None else f'{tau:.3f}'}" for name, tau in (("tau-a", found.tau_a), ("tau-b", found.tau_b))
    )
    reversals = f"{len(found.reversals)} strict reversal{'' if len(found.reversals) == 1 else 's'}"
    counts = f"{found.comparable_pairs} comparable pairs, {reversals}, {found.unambiguous} unambiguous"
    pairs = "; ".join(f"{one.a} and {one.b}{' (unambiguous)' if one.unambiguous else ''}" for one in found.reversals)
    listed = [f"Reversed from {order.first} to {order.second}: {pairs}."] if pairs else []
    return [f"{about}: {counts} (more than one task on both sides); {taus}.", *listed]


def _measured(decompositions: Sequence[Decomposition]) -> str:
    rows = [_measured_row(one) for one in decompositions if one.cells]
    if not rows:
        return ""
    lead = "Measured in this evaluation, on its own tasks, paths and models: to be read beside it, not to be added to it."
    return f"{lead}\n\n{table(('candidate', *COLUMNS[1:], 'control'), rows)}"


def _measured_row(one: Decomposition) -> list[str]:
    cells = [one.cell(name) for name in _CELLS]
    effects = [one.effect(name) for name in _EFFECTS]
    return [
        one.candidate,
        *(f"{cell.passed}/{cell.scored}" if cell else NONE for cell in cells),
        *(points(effect.these.value) if effect and not one.blind else NONE for effect in effects),
        one.control.status,
    ]
