"""``recommend``: which path to take, and which contract, for each model of an evaluation that was replayed already."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

from crosspath.analysis.path_tables import aside_clauses, control_of, several, verdict_word
from crosspath.analysis.recommendation import LIMITS, Candidature, recommend, unit
from crosspath.analysis.wording import NONE, percent, span, table, with_interval
from crosspath.app.evaluation import Evaluation
from crosspath.escaping import markdown
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.types import Choice, Facts, PlannedCell, Recommendation, Trial

_Amount = TypeVar("_Amount", int, float)
MOST_EXAMPLES = 12
"""So many examples at most stand under a table."""


def recommendations(evaluation: Evaluation) -> tuple[Recommendation, ...]:
    """One per model and operating point, in the order of the spec. Nothing is asked, executed or judged anew."""
    facts, judgement = evaluation.facts, evaluation.judgement
    options = FactIndex(facts, judgement.scores).path_options(judgement.decompositions)
    spent = {digest: _spent(facts, digest) for digest in {cell.generation.digest for cell in facts.cells}}
    groups: dict[tuple[str, str], list[PlannedCell]] = {}
    for cell in _deployable(facts, options.cells()):
        groups.setdefault((_but_contract(cell), cell.validator), []).append(cell)
    return tuple(
        recommend(
            evaluation.id,
            cells[0].generation.model.name,
            validator,
            [Candidature(option, *spent[option.generation]) for option in options.options(cells)],
        )
        for (_, validator), cells in groups.items()
    )


def _but_contract(cell: PlannedCell) -> str:
    return cell.generation.model_copy(update={"contract": "", "tools": None}).digest


def _deployable(facts: Facts, cells: Sequence[PlannedCell]) -> Iterator[PlannedCell]:
    """Without replies that were told about one path and sent through the reference only to be compared with."""
    own = {(cell.generation.digest, cell.path) for cell in (matched_cell(facts.cells, one.name) for one in facts.lock.candidates)}
    for cell in cells:
        if (cell.told, cell.done) != ("N", "R") or (cell.generation.digest, cell.path) in own:
            yield cell


def _spent(facts: Facts, generation: str) -> tuple[int | None, float | None]:
    """Tokens and USD of all replies of a generation to tasks that can be done; None where those of one are not known."""
    feasible = {task.id for task in facts.tasks if task.infeasible is None}
    trials = [one for one in facts.trials if one.key.generation == generation and one.key.task in feasible and one.reply]
    tokens, usd = [_tokens(one) for one in trials], [one.reply.cost_usd if one.reply else None for one in trials]
    return _sum(tokens), _sum(usd)


def _tokens(trial: Trial) -> int | None:
    usage = trial.reply.usage if trial.reply else None
    if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
        return None
    return usage.prompt_tokens + usage.completion_tokens


def _sum(amounts: Sequence[_Amount | None]) -> _Amount | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(amounts) else None


# -- words -----------------------------------------------------------------------------------------------------------------


def title(found: Recommendation, among: Sequence[Recommendation]) -> str:
    """The model; with the validator where there are several."""
    validators = {one.validator for one in among}
    return f"{found.model}, judged by {found.validator}" if len(validators) > 1 else found.model


def columns_and_rows(found: Recommendation) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The ranked choices as a table; columns that say the same everywhere are left out."""
    rows = [_row(choice, found) for choice in found.choices if choice.path.rank]
    idle = {"told"} if found.generations == 1 else set[str]()
    idle |= {"cost of a right one"} if found.price is None else set()
    columns = tuple(column for column in (rows[0] if rows else ()) if column not in idle)
    return columns, [tuple(row[column] for column in columns) for row in rows]


def _row(choice: Choice, found: Recommendation) -> dict[str, str]:
    path, cell = choice.path, choice.path.cell
    return {
        "rank": str(path.rank),
        "path": path.path,
        "told": choice.contract,
        "right": f"{cell.passed}/{cell.scored}",
        "rate, 95 %": span(cell.rate.low, cell.rate.high, signed=False),
        "silent wrong": str(path.silent),
        "false alarms": str(sum(cell.alarm_kinds.values())) if cell.false_alarm else NONE,
        "less the best, 95 % together": with_interval(path.to_best, signed=True) if path.to_best else NONE,
        "verdict": verdict_word(path),
        "cost of a right one": _price(choice, found) + (" *" if choice.frontier and found.generations > 1 else ""),
        "control": control_of(path),
        "what broke": _broke(choice),
    }


def _broke(choice: Choice) -> str:
    """The most frequent cause, with how many of them were silent."""
    cell = choice.path.cell
    seen = sorted(((n, cause) for cause, n in cell.causes.items() if not cause.startswith("fault:")), reverse=True)
    return f"{seen[0][0]} {seen[0][1]}{_silently(cell.silent_causes, seen[0][1])}" if seen else NONE


def _silently(silent: Mapping[str, int], cause: str) -> str:
    return f" ({silent[cause]} silent)" if silent.get(cause) else ""


def notes(found: Recommendation) -> list[str]:
    """What stands under a table: examples, what is not ranked, the view of price and rate."""
    lines = [f"{_label(one, found)}: {one.example.command}" for one in _exemplary(found) if one.example]
    lines += [] if found.price else ["What generation cost is not known, so it plays no part."]
    lines += [f"{clause[0].upper()}{clause[1:]}." for clause in aside_clauses([one.path for one in found.choices])]
    if found.price and found.generations > 1:  # of one generation all replies cost the same, so the pass rate says it all
        on = [(one, percent(one.path.cell.rate.value), _price(one, found)) for one in on_frontier(found)]
        words = [f"{_label(one, found)} ({rate} for {price})" for one, rate, price in on]
        lines.append(f"* Nothing passes as often for less: {several(words)}.")
    return lines


def _label(one: Choice, found: Recommendation) -> str:
    return one.path.path if found.generations == 1 else f"{one.path.path} told {one.contract}"


def _price(one: Choice, found: Recommendation) -> str:
    return unit("usd", one.usd_per_pass) if found.price == "usd" else unit("tokens", one.tokens_per_pass)


def on_frontier(found: Recommendation) -> list[Choice]:
    """Choices that no other beats in both pass rate and price."""
    return [one for one in found.choices if one.frontier]


def _exemplary(found: Recommendation) -> list[Choice]:
    """Ranked choices with something that goes wrong; the best one in any case."""
    ranked = [one for one in found.choices if one.path.rank and one.example]
    return [one for place, one in enumerate(ranked) if not place or (one.example and not one.example.passed)][:MOST_EXAMPLES]


def recommendation_markdown(evaluation: Evaluation, found: Sequence[Recommendation]) -> str:
    """All of it as Markdown."""
    sections = [f"# Which path to take: {markdown(evaluation.id)}\n"]
    for one in found:
        sections.append(f"## {markdown(title(one, found))}\n\n{markdown(one.advice)}\n")
        sections.append(table(*columns_and_rows(one)))
        sections.append("".join(f"- {markdown(line)}\n" for line in notes(one)))
    sections.append("## What this does not say\n\n" + "".join(f"- {markdown(line)}\n" for line in LIMITS))
    return "\n".join(section for section in sections if section)
