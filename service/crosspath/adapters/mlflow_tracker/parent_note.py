"""The description of an evaluation's parent run: what to know first, one table of all candidates, and where the rest is."""

from collections.abc import Iterator

from crosspath.adapters.mlflow_tracker.notes import NO_NUMBER, interval_text
from crosspath.analysis.decompose import as_deployed
from crosspath.analysis.wording import control_word, table, title
from crosspath.escaping import markdown, one_line
from crosspath.reports.markdown import opening
from crosspath.reports.sections import headline_section, paragraphs, warning_lines
from crosspath.types import Decomposition, Facts, Judgement

MOST_IN_TABLE = 16
"""So many candidates at most; with the headlines before it more would not fit into MLflow's tag."""
_SHOWN = ("damage", "compensation", "matched_gap")


def parent_note(facts: Facts, judgement: Judgement) -> str:
    """Markdown; what is too long for MLflow's tag is cut by the caller, from its end."""
    told = headline_section(facts, judgement) or "\n".join(f"{markdown(text)}\n" for _, text in paragraphs(judgement))
    parts = (opening(facts, judgement), told, _candidates(judgement), *_warnings(judgement), _where(facts))
    return "\n".join(part for part in parts if part)


def _candidates(judgement: Judgement) -> str:
    """One line for each candidate: right as deployed, the effects with the interval that holds for all together, the control."""
    shown = [one for one in judgement.decompositions if one.effects][:MOST_IN_TABLE]
    if not shown:
        return ""
    head = ["candidate", "right as deployed", "damage", "compensation", "matched gap", "control"]
    more = len(judgement.decompositions) - len(shown)
    rest = f"\n{more} more in the report.\n" if more else ""
    heading = "Effects in points of pass rate for families like these, with 95 % intervals that hold for all of them together:"
    return f"{heading}\n\n{table(head, [_row(one) for one in shown])}{rest}"


def _row(decomposition: Decomposition) -> list[str]:
    own = as_deployed(decomposition)
    right = f"{own.passed} of {own.scored}" if own else NO_NUMBER
    return [title(decomposition), right, *(_effect(decomposition, name) for name in _SHOWN), control_word(decomposition)]


def _effect(decomposition: Decomposition, name: str) -> str:
    effect = decomposition.effect(name)
    if effect is None or (name == "compensation" and decomposition.undisclosed):
        return NO_NUMBER
    if decomposition.control.status == "broken":
        return "not to be used"
    return "can't be seen" if decomposition.blind else interval_text(effect.together or effect.population)


def _warnings(judgement: Judgement) -> Iterator[str]:
    for line in warning_lines(judgement):
        yield f"> {markdown(line)}\n"


def _where(facts: Facts) -> str:
    """What else there is, and how one gets to a single task."""
    report = one_line(facts.head.id).replace("`", "")
    return (
        f"Everything: `report.html` under *Artifacts*, or `crosspath report {report}`. Each candidate has a run of its own "
        "(*Child runs*): its *Traces* lead from each task to the reply, the command and how the final state differs.\n"
    )
