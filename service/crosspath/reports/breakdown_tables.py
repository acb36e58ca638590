"""Where it breaks first: by family, tier and hazard; and which verdicts hang on the validator."""

from collections.abc import Mapping, Sequence

from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.path_tables import several
from crosspath.analysis.wording import NONE, points, table
from crosspath.escaping import markdown
from crosspath.reports.cause_words import causes_counted
from crosspath.types import Breakdown, Grouping, Judgement, ValidatorSensitivity

MOST_GROUPS = 8
"""Longest table of groups; the rest is counted."""
MOST_CANDIDATES = 20
"""Longest table of candidates whose verdicts hang on the validator."""
_MOST_CAUSES = 3
_PLURALS: Mapping[Grouping, str] = {"family": "families", "tier": "tiers", "hazard": "hazards"}


# -- groups ----------------------------------------------------------------------------------------------------------------


def breakdown_section(judgement: Judgement, candidate: str) -> str:
    """One table each for families, tiers and hazards: the groups that fail most as deployed first; empty where nothing fails."""
    own = [one for one in judgement.breakdowns if one.candidate == candidate]
    deployed = next((as_deployed(one) for one in judgement.decompositions if one.candidate == candidate), None)
    if not own or deployed is None:
        return ""
    usable = next(one.control.status != "broken" for one in judgement.decompositions if one.candidate == candidate)
    parts = [_groups([one for one in own if one.by == by], by, deployed.name, usable) for by in _PLURALS]
    text = "\n".join(part for part in parts if part)
    return f"Where it breaks first\n\n{text}" if text else ""


def _groups(found: Sequence[Breakdown], by: Grouping, deployed: str, usable: bool) -> str:
    """``found``: one grouping in all cells. Groups in which every cell passes are only counted. ``usable``: damage is shown."""
    groups: dict[str, dict[str, Breakdown]] = {}
    for one in found:
        groups.setdefault(one.group, {})[one.cell] = one
    failing = {name: cells for name, cells in groups.items() if any(one.passed < one.planned for one in cells.values())}
    if not failing or len(groups) < 2:
        return ""
    ranked = sorted(failing.items(), key=lambda item: (*_trouble(item[1], deployed), item[0]))
    names = list(dict.fromkeys(one.cell for one in found))
    damaged = [name for name in names if usable and any(name in cells and cells[name].damage for cells in groups.values())]
    head = [
        by, "tasks", *(f"{name} passed" for name in names), *(f"damage {name} - {name[0]}R" for name in damaged),
        f"silent wrong in {deployed}", f"why {deployed} fails",
    ]  # fmt: skip
    rows = [_row(name, cells, names, damaged, deployed) for name, cells in ranked[:MOST_GROUPS]]
    return table(head, rows) + _rest(len(failing) - len(rows), len(groups) - len(failing), by)


def _trouble(cells: Mapping[str, Breakdown], deployed: str) -> tuple[float, float, int]:
    """The smaller, the earlier: the rate as deployed, then the worst rate of any cell, then more failing trials."""
    rates = {name: one.passed / one.scored for name, one in cells.items() if one.scored}
    wrong = sum(one.scored - one.passed for one in cells.values())
    return rates.get(deployed, 2.0), min(rates.values(), default=2.0), -wrong


def _row(name: str, cells: Mapping[str, Breakdown], names: Sequence[str], damaged: Sequence[str], deployed: str) -> list[object]:
    own = cells.get(deployed)
    causes = {cause: count for cause, count in own.causes.items() if not cause.startswith("fault:")} if own else {}
    return [
        name, max(one.tasks for one in cells.values()), *(_passed(cells.get(cell)) for cell in names),
        *(_damage(cells, cell) for cell in damaged), own.silent_wrong if own else NONE,
        causes_counted(causes, _MOST_CAUSES) or NONE,
    ]  # fmt: skip


def _passed(one: Breakdown | None) -> str:
    if one is None:
        return NONE
    lost = one.planned - one.scored
    return f"{one.passed} of {one.scored}" + (f" (+{lost} missing)" if lost else "")


def _damage(cells: Mapping[str, Breakdown], cell: str) -> str:
    """Where nothing passes on the reference path there is nothing that the path could break."""
    one, reference = cells.get(cell), cells.get(f"{cell[0]}R")
    if one is None or one.damage is None or (reference and not reference.passed and not one.passed):
        return NONE
    return points(one.damage.value)


def _rest(failing: int, passing: int, by: Grouping) -> str:
    """What the table leaves out."""
    parts = [
        f"{count} more {by if count == 1 else _PLURALS[by]} {words}"
        for count, words in ((failing, "with failures"), (passing, "where every trial passes in every cell"))
        if count
    ]
    return f"\n{'; '.join(parts)}.\n" if parts else ""


# -- validators ------------------------------------------------------------------------------------------------------------


def validator_sensitivity_section(judgement: Judgement) -> str:
    """Which verdicts as deployed hang on the validator; empty where that was not compared."""
    found = [one for one in judgement.validator_sensitivity if one.compared]
    if not found:
        return ""
    depending = [one for one in found if one.own_only or one.other_only]
    same = sum(one.compared for one in found) - sum(one.own_only + one.other_only for one in depending)
    text = "" if depending else _none(found)
    if depending:
        head = [
            "candidate",
            "cell",
            "its validator",
            "compared with",
            "verdicts",
            "pass by its own alone",
            "pass by the other alone",
            "tasks",
        ]
        text = table(head, list(map(_validator_row, depending[:MOST_CANDIDATES])))
        more = len(depending) - MOST_CANDIDATES
        text += f"\n{more} more candidates have such verdicts.\n" if more > 0 else ""
        text += f"\n{same} verdicts are the same by both.\n"
    more = (
        "`crosspath validate EVALUATION --validator NAME` compares any others (`content`, `json-equal`, `lenient-text`, a file)."
    )
    return f"## What hangs on the validator\n\n{text}\n{more}\n"


def _none(found: Sequence[ValidatorSensitivity]) -> str:
    pairs = dict.fromkeys((one.own, one.other) for one in found)
    named = several([f"{own} and {other}" for own, other in pairs])
    return f"No verdict does: {markdown(named)} agree on all {sum(one.compared for one in found)} replays as deployed.\n"


def _validator_row(one: ValidatorSensitivity) -> list[object]:
    return [one.candidate, one.cell, one.own, one.other, one.compared, one.own_only, one.other_only, several(one.tasks)]
