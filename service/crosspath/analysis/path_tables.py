"""What each path costs, in words, tables and rows."""

from collections.abc import Iterator, Sequence

from crosspath.analysis.path_costs import standing_word
from crosspath.analysis.stages import stage_of
from crosspath.analysis.wording import NONE, counts, p_text, points, table, with_interval
from crosspath.escaping import markdown
from crosspath.types import Estimate, PathCost, PathRanking

MOST_NAMED = 4
"""So many paths at most are named in a sentence."""
MOST_EXPLAINED = 2
"""So many paths that are not ranked have their own reason in a sentence."""
_NOTES = """\
- Ranked by pass rate, then by how often a wrong state is reported as fine; equal ones share a rank.
- Damage for these replies is exact: the same replies on this path and on the reference path. Beside it the same for the
  population of task families, each interval 95 % for itself.
- Differences to the first path are paired by task, for the population of families, and their intervals hold *together*
  (Bonferroni): with 95 % confidence the best path for families like these is among those not told apart from the first.
- A path whose control is broken, or that could not be tried, has no rank: what it shows is no finding about the path.
"""


def several(names: Sequence[str], most: int = MOST_NAMED) -> str:
    """``a, b and c``; of many only the first, and how many more."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most} more"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part) if names else ""


def path_lines(rankings: Sequence[PathRanking]) -> list[str]:
    """One plain sentence for each ranking."""
    return [f"{_title(ranking)}: {'; '.join(_clauses(ranking))}." for ranking in rankings]


def _title(ranking: PathRanking) -> str:
    return f"The replies of {ranking.model}, told {ranking.contract}, on {len(ranking.paths)} paths"


def _clauses(ranking: PathRanking) -> Iterator[str]:
    best = next((path for path in ranking.paths if path.standing == "best"), None)
    if best:
        yield f"best {best.path}, {counts(best.cell)} right"
    for standing, words in (("equal", "the same on every task"), ("not_told_apart", "not told apart from it")):
        if names := [path.path for path in ranking.paths if path.standing == standing]:
            yield f"{words}: {several(names)}"
    if worse := [path for path in ranking.paths if path.standing == "told_apart"]:
        last = worse[-1]
        silent = f", {last.silent} of them silently" if last.silent else ""
        yield f"told apart: {len(worse)}, the last {last.path} ({last.wrong} of {last.cell.scored} wrong{silent})"
    yield from aside_clauses(ranking.paths)


def aside_clauses(paths: Sequence[PathCost]) -> Iterator[str]:
    """What is not ranked, and why."""
    for apart, words in (("broken_control", "control broken, not ranked"), ("unobserved", "too little observed to be ranked")):
        if reasons := {path.path: path.reason for path in paths if path.apart == apart}:
            in_full = [f"{name} ({reason})" for name, reason in reasons.items()] if len(reasons) <= MOST_EXPLAINED else [*reasons]
            yield f"{words}: {several(in_full)}"
    untried: dict[str, list[str]] = {}
    for path in paths:
        if path.apart == "untried":
            untried.setdefault(path.reason, []).append(path.path)
    for reason, names in untried.items():
        yield f"could not be tried ({reason}): {several([*dict.fromkeys(names)])}"


# -- report ----------------------------------------------------------------------------------------------------------------


def path_section(rankings: Sequence[PathRanking]) -> str:
    """A section of the report in Markdown; empty where no replies went through several paths."""
    if not rankings:
        return ""
    tables = "".join(
        f"{markdown(line)}\n\n{path_table(ranking)}\n" for line, ranking in zip(path_lines(rankings), rankings, strict=True)
    )
    return f"## What each path costs\n\n{tables}{_NOTES}"


def path_table(ranking: PathRanking) -> str:
    """One ranking as a Markdown table."""
    damage = "damage" if ranking.told == "R" else "less the reference"
    head = [
        "rank", "path", "right", "rate, 95 %", "silent wrong, 95 %", "false alarms", f"{damage}, these replies", "broke, mended",
        f"{damage}, families, 95 %", "less the first, 95 % together", "p", "against the first", "control", "missing", "causes",
    ]  # fmt: skip
    return table(head, list(map(_row, ranking.paths)))


def _row(path: PathCost) -> list[object]:
    cell, scored = path.cell, bool(path.cell.scored)
    return [
        path.rank or NONE, path.path, f"{cell.passed} of {cell.scored}" if scored else NONE, _rate(cell.rate),
        f"{path.silent}: {_rate(cell.silent_wrong)}" if scored else NONE, _rate(cell.false_alarm) if scored else NONE,
        *_damage(path), with_interval(path.to_best, signed=True) if path.to_best else NONE,
        p_text(path.to_best) if path.to_best else NONE, standing_word(path.standing) or path.reason, control_of(path),
        cell.planned - cell.scored, _causes(path),
    ]  # fmt: skip


def _rate(estimate: Estimate | None) -> str:
    return with_interval(estimate, signed=False) if estimate else NONE


def _damage(path: PathCost) -> list[object]:
    if path.damage is None:
        return ["the reference" if path.reference else NONE, NONE, NONE]
    families = with_interval(path.damage_population, signed=True) if path.damage_population else NONE
    return [points(path.damage.value), f"{path.lost}, {path.gained}", families]


def _causes(path: PathCost) -> str:
    """The two most frequent causes with their stage."""
    seen = sorted(((count, cause) for cause, count in path.cell.causes.items() if not cause.startswith("fault:")), reverse=True)
    return ", ".join(f"{count} {cause} ({stage_of(cause)})" for count, cause in seen[:2]) or NONE


# -- rows ------------------------------------------------------------------------------------------------------------------

PATH_COLUMNS = (
    "model", "contract", "told", "rank", "path", "candidate", "cell", "control", "planned", "scored", "passed", "missing",
    "unstable", "rate", "rate_low", "rate_high", "silent", "silent_wrong", "silent_low", "silent_high", "false_alarm",
    "damage", "damage_low", "damage_high", "lost", "gained", "damage_population", "damage_population_low",
    "damage_population_high", "to_best", "to_best_low", "to_best_high", "p_value", "changed", "standing", "apart", "reason",
    "method",
)  # fmt: skip


def path_rows(rankings: Sequence[PathRanking]) -> list[dict[str, object]]:
    """One flat row per ranking and path, as ``PATH_COLUMNS``, for a DataFrame.

    Rates are shares (0 to 1), damage and differences -1 to 1. ``to_best`` is the difference to the first path; its
    intervals hold together within a ranking.
    """
    return [_flat(ranking, path) for ranking in rankings for path in ranking.paths]


def _flat(ranking: PathRanking, path: PathCost) -> dict[str, object]:
    cell, difference = path.cell, path.to_best
    who: dict[str, object] = {"model": ranking.model, "contract": ranking.contract, "told": ranking.told, "cell": cell.name}
    who |= {name: getattr(path, name) for name in ("rank", "path", "candidate", "control", "silent", "lost", "gained", "changed")}
    who |= {name: getattr(path, name) for name in ("standing", "apart", "reason")}
    who |= {name: getattr(cell, name) for name in ("planned", "scored", "passed", "unstable")} | {"missing": cell.faults}
    numbers = {
        **_parts("rate", cell.rate), **_parts("silent_wrong", cell.silent_wrong, "silent"), **_parts("damage", path.damage),
        **_parts("damage_population", path.damage_population), **_parts("to_best", difference),
        "false_alarm": cell.false_alarm and cell.false_alarm.value, "p_value": difference and difference.p_value,
        "method": difference and difference.method,
    }  # fmt: skip
    found = who | numbers
    return {column: found[column] for column in PATH_COLUMNS}


def _parts(name: str, estimate: Estimate | None, stem: str = "") -> dict[str, object]:
    stem = stem or name
    return {
        name: estimate and estimate.value, f"{stem}_low": estimate and estimate.low, f"{stem}_high": estimate and estimate.high,
    }  # fmt: skip


# -- terminal --------------------------------------------------------------------------------------------------------------

SHORT_COLUMNS = ("rank", "path", "right", "rate, 95 %", "silent wrong", "false alarms", "damage", "less the first", "", "control")
"""Heads of :func:`short_row`."""


def short_row(path: PathCost) -> tuple[str, ...]:
    """One path in few and narrow columns."""
    cell = path.cell
    alarms = sum(cell.alarm_kinds.values()) if cell.false_alarm else NONE
    seen = (f"{cell.passed}/{cell.scored}", _rate(cell.rate), str(path.silent), str(alarms)) if cell.scored else (NONE,) * 4
    damage = points(path.damage.value) if path.damage else NONE
    difference = with_interval(path.to_best, signed=True) if path.to_best else NONE
    return str(path.rank or NONE), path.path, *seen, damage, difference, verdict_word(path), control_of(path)


def control_of(path: PathCost) -> str:
    """``holds``, ``broken``, ``missing`` or ``blind``; a dash for the reference, which needs none."""
    return NONE if path.control == "none" else path.control


def verdict_word(path: PathCost) -> str:
    """Its standing, or that it has none."""
    return standing_word(path.standing) or ("could not be tried" if path.apart == "untried" else "not ranked")
