"""What the format of replies costs each candidate: its cell as deployed, with the other clean-up."""

from collections.abc import Mapping, Sequence

from crosspath.analysis.format_damage import Taken, with_effect
from crosspath.pipeline.clean_ups import Alternative, changed_replies
from crosspath.pipeline.fact_index import FactIndex
from crosspath.types import FormatDamage, Trial, TrialKey


def format_damage(index: FactIndex, alternatives: Sequence[Alternative]) -> tuple[FormatDamage, ...]:
    """One for each of ``alternatives``; what was not measured says why.

    ``index`` has to hold the scores of the replays with the other clean-up, too.
    """
    return tuple(_format_damage(index, one) for one in alternatives)


def right_otherwise(index: FactIndex, one: Alternative) -> Mapping[tuple[str, int], bool]:
    """Task and trial index -> whether the reply passes with the other clean-up, where that changes it and there is a verdict."""
    beside = one.beside
    scores = {key: index.score_of(beside, key) for _, key in changed_replies(index, one)} if one.path else {}
    return {(key.task, key.index): found.passed for key, found in scores.items() if found}


def _format_damage(index: FactIndex, one: Alternative) -> FormatDamage:
    cell = one.cell
    found = FormatDamage(
        candidate=cell.candidate,
        told=cell.told,
        done=cell.done,
        own=one.own,
        strict=one.strict,
        cleaned=one.cleaned,
        replies=sum(_is_text(index.trial_of(key)) for _, _, key in index.keys(cell)),
        unmeasured=one.unmeasured,
    )
    if one.path is None:
        return found
    changed = [key for _, key in changed_replies(index, one)]
    found = found.model_copy(update={"changed": len(changed)})
    beside = one.beside
    if changed and not any(index.replay_of(beside, key) for key in changed):
        return found.model_copy(update={"unmeasured": _never_replayed(len(changed))})
    return with_effect(found, _taken(index, one, changed))


def _is_text(trial: Trial | None) -> bool:
    return trial is not None and trial.reply is not None and trial.reply.text is not None


def _never_replayed(changed: int) -> str:
    return f"none of the {changed} replies that it would change was replayed that way: an older version ran it, or it was stopped"


def _taken(index: FactIndex, one: Alternative, changed: Sequence[TrialKey]) -> list[Taken]:
    """Every planned trial both ways; a reply that is not changed is the same row twice."""
    differs, taken, beside = set(changed), list[Taken](), one.beside
    for (_, _, key), own in zip(index.keys(one.cell), index.rows_compared(one.cell), strict=True):
        if key not in differs:
            taken.append(Taken(own, own, changed=False))
            continue
        score = index.score_of(beside, key)
        other = own.model_copy(update={"passed": None if score is None else score.passed})
        taken.append(Taken(*((other, own) if one.own == one.cleaned else (own, other)), changed=True))
    return taken
