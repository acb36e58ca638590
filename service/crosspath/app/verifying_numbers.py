"""The numbers of a card, each computed again from its outcomes; and which of them a card alone can't prove."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crosspath import __version__
from crosspath.app.card_numbers import recompute
from crosspath.app.verifying_fields import IMPOSSIBLE, difference, differences, judged_check, said
from crosspath.reports.headlines import PLACE_WORDS, sentence, sure
from crosspath.types import Card, CardCheck, CardDifference, Decomposition, Estimate, Loss, Losses

LOST = "where trials were lost"
_TOGETHER = "intervals that hold together"
_ROUNDED = 1e-9
_LESS = frozenset({"path", "model"})
"""Places from which another clean-up may take trials, to the format."""
_STATED = (
    "who answered and what was sent, programs and packages, commit, times, lock, how many candidates there were, replies behind"
    " their digests, warnings, the next step"
)
"""What nothing on a card depends on."""


@dataclass(frozen=True)
class _Number:
    """A part of the card and what it should be."""

    about: str
    card: object
    again: object


def number_checks(value: Mapping[str, Any], card: Card) -> Iterator[CardCheck]:
    """Every number of the card beside what follows from its outcomes; ``value``: the card as it was read."""
    try:
        again = recompute(card)
    except IMPOSSIBLE as error:
        yield CardCheck(about="outcomes", status="differs", detail=f"no numbers follow from them: {said(error)}")
        return
    found = again.decomposition.model_dump(mode="json")
    shown = value["decomposition"]
    parts = [
        *_named("cell", shown["cells"], found["cells"], "told", "done"),
        *_named("effect", shown["effects"], found["effects"], "name"),
        _Number("control", shown["control"], found["control"]),
        _Number("told about its own path", *({k: one.get(k) for k in ("discloses", "undisclosed")} for one in (shown, found))),
    ]
    older = card.crosspath != __version__  # which did not write everything
    if not _decided_by_clean_up(card) and not (older and card.losses is None):
        parts.append(_Number(LOST, value.get("losses"), again.losses.model_dump(mode="json")))
    for name, what in (("reliability", again.reliability), ("abstentions", again.abstentions)):
        if value.get(name) or (what and not older):
            parts.append(_Number(name, value.get(name, []), [one.model_dump(mode="json") for one in what]))
    for what, entries, keys in (("cell", shown["cells"], ("told", "done")), ("effect", shown["effects"], ("name",))):
        yield from _twice(what, entries, *keys)
    yield from (_number(card, part) for part in parts)
    yield from _half_of_the_losses(card, again.losses)
    yield from _not_narrower(card, again.decomposition)
    yield from _counted_beside(card, again.decomposition)
    yield from _words(card)


def _decided_by_clean_up(card: Card) -> int:
    """Trials that are wrong and would be right with the other clean-up, which puts them among those lost to the format."""
    found = card.format_damage
    return 0 if found is None else found.lost if found.own == found.strict else found.gained


def _half_of_the_losses(card: Card, again: Losses) -> Iterator[CardCheck]:
    """Where clean-up decides, a card shows how many trials were kept and how many not observed, not where the rest was lost."""
    number = _decided_by_clean_up(card)
    if card.losses is None or not number:
        return
    ours, theirs = card.losses, again
    found = [
        *difference(_certain(ours), _certain(theirs)),
        *(_outside(f"lost.{place}", ours.lost[place], 0, theirs.lost[place]) for place in PLACE_WORDS if place in _LESS),
        *(_outside(name, getattr(ours, name), 0, getattr(theirs, name)) for name in ("not_made_up", "told_worse", "unmatched")),
        *(_outside(f"kinds.{name}", sum(kinds.values()), ours.lost[name], ours.lost[name]) for name, kinds in ours.kinds.items()),
    ]
    same: list[Loss] = [place for place in PLACE_WORDS if ours.lost[place] == theirs.lost[place]]  # then they are the same trials
    shown, expected = (_of_places(one, same) for one in (ours, theirs))
    if firm := [one for one in found if one is not None]:
        yield judged_check(LOST, firm, "")
        return
    if found := list(difference(shown, expected)):
        yield differences(LOST, found, "", other_version=_other_version(card))
        return
    known = f", and what was lost to {' and '.join(PLACE_WORDS[place] for place in same)}," if same else ""
    why = (
        f"how many were kept{known} holds; which {number} would be right with the other clean-up is not on the card, and so the"
        " rest with its intervals is not proven: give the bundle"
    )
    yield CardCheck(about=LOST, status="unavailable", detail=why)


def _certain(found: Losses) -> dict[str, object]:
    """What another clean-up of replies does not change."""
    beside = {
        "kept": found.kept,
        "made_up": found.made_up,
        "wrong": sum(found.lost.values()),
        "missing": found.lost["infrastructure"],
    }
    return {"attempted": found.attempted, "told": found.told, "done": found.done, **beside}


def _of_places(found: Losses, places: Sequence[Loss]) -> dict[str, object]:
    """Kinds and share of what was lost in these places."""
    shares = {name: share.model_dump(mode="json") for name, share in found.shares.items() if name in places}
    return {"kinds": {name: kinds for name, kinds in found.kinds.items() if name in places}, "shares": shares}


def _outside(field: str, number: float, low: float, high: float) -> CardDifference | None:
    """A difference where a number is beyond what is possible."""
    if low <= number <= high:
        return None
    return CardDifference(field=field, card=str(number), found=str(low) if low == high else f"{low} to {high}")


def _not_narrower(card: Card, again: Decomposition) -> Iterator[CardCheck]:
    """Intervals over all effects of several candidates: more effects make them wider, and p-values greater."""
    if card.evaluation.candidates == 1:
        return
    found: list[CardDifference] = []
    for effect in card.decomposition.effects:
        other = again.effect(effect.name)
        if other is not None:
            found += _narrower(f"{effect.name}.together", effect.together, other.together)
    if found:
        yield differences(_TOGETHER, found, "", other_version=_other_version(card))


def _narrower(field: str, shown: Estimate | None, alone: Estimate | None) -> Iterator[CardDifference]:
    """``alone``: over the effects of this candidate only."""
    if shown is None or alone is None:
        yield from difference(shown and "an interval", alone and "an interval", field)
        return
    beyond_a_card = {"low", "high", "p_value", "method"}
    yield from difference(shown.model_dump(mode="json"), alone.model_dump(mode="json"), field, beyond_a_card)
    for name, sign in (("low", -1), ("high", 1), ("p_value", 1)):
        one, least = getattr(shown, name), getattr(alone, name)
        if (one is None) != (least is None) or (one is not None and least is not None and sign * (one - least) < -_ROUNDED):
            words = "nothing" if least is None else f"{least} or {'less' if sign < 0 else 'more'}"
            yield CardDifference(field=f"{field}.{name}", card="nothing" if one is None else str(one), found=words)


def _counted_beside(card: Card, again: Decomposition) -> Iterator[CardCheck]:
    """What cost and clean-up count of the same trials; money and the replays with another clean-up stand in the bundle only."""
    own = max(again.cells, key=lambda cell: (cell.told == "N", cell.done == "N"), default=None)
    if own is None:
        return
    if cost := card.cost:
        found = list(difference({"scored": cost.scored, "passed": cost.passed}, {"scored": own.scored, "passed": own.passed}))
        found += filter(None, [_outside("replies", cost.replies, own.scored, own.planned)])
        if found:
            yield judged_check("cost", found, "")
    if formats := card.format_damage:
        limits = {"replies": own.planned, "changed": formats.replies, "scored": formats.changed, "strict_passed": formats.scored}
        limits |= {"cleaned_passed": formats.scored, "lost": formats.cleaned_passed, "gained": formats.strict_passed}
        found = [_outside(name, getattr(formats, name), 0, limit) for name, limit in limits.items()]
        gap = formats.cleaned_passed - formats.strict_passed
        found.append(_outside("lost - gained", formats.lost - formats.gained, gap, gap))
        if found := list(filter(None, found)):
            yield judged_check("format damage", found, "")


def _words(card: Card) -> Iterator[CardCheck]:
    """The sentences at the top, made again from the numbers that they are about."""
    if card.headline is None and (card.losses is None or card.crosspath != __version__):
        return
    if card.headline is None:
        yield judged_check("plain words", [CardDifference(field="headline", card="nothing", found="two sentences")], "")
        return
    if card.losses is None:
        lacking = CardDifference(field="losses", card="nothing", found="numbers that the words are about")
        yield judged_check("plain words", [lacking], "")
        return
    unit = "task" if card.trials == 1 else "trial"
    try:
        again = {
            "sentence": sentence(card.decomposition, card.losses, unit),
            "sure": sure(card.decomposition, card.losses),
        }
    except IMPOSSIBLE as error:
        yield CardCheck(about="plain words", status="differs", detail=f"no words can be made of the numbers: {said(error)}")
        return
    found = list(difference({name: getattr(card.headline, name) for name in again}, again))
    if found and card.crosspath != __version__:
        yield CardCheck(about="plain words", status="unavailable", detail=f"{_other_version(card)}: it may put them otherwise")
    else:
        yield judged_check("plain words", found, "say what the numbers say")


def _named(what: str, card: Sequence[dict[str, object]], again: Sequence[dict[str, object]], *keys: str) -> Iterator[_Number]:
    """Entries of two lists with the same name side by side; what stands in one only is a difference."""
    ours, theirs = ({"".join(str(one[key]) for key in keys): one for one in found} for found in (card, again))
    for name in dict.fromkeys((*ours, *theirs)):
        yield _Number(f"{what} {name.replace('_', ' ')}", ours.get(name), theirs.get(name))


def _twice(what: str, entries: Sequence[dict[str, object]], *keys: str) -> Iterator[CardCheck]:
    """Names that stand more than once: the page may show one entry and the check see the other."""
    names = ["".join(str(one[key]) for key in keys) for one in entries]
    for name in dict.fromkeys(name for name in names if names.count(name) > 1):
        found = [CardDifference(field=f"{what} {name}", card=f"stands {names.count(name)} times", found="once")]
        yield judged_check(f"{what} {name.replace('_', ' ')}, each once", found, "")


def _number(card: Card, part: _Number) -> CardCheck:
    skipped = {"together"} if card.evaluation.candidates > 1 else set[str]()
    if any(task.id is None for task in card.tasks):
        skipped |= {"reason"}  # it names the first tasks by id, and a card does not have the ids
    found = list(difference(part.card, part.again, skipped=skipped))
    return differences(part.about, found, "follows from the outcomes", other_version=_other_version(card))


def _other_version(card: Card) -> str:
    return "" if card.crosspath == __version__ else f"Crosspath {card.crosspath} computed it, and this is {__version__}"


# -- beyond a card -------------------------------------------------------------------------------------------------------------


def beyond(card: Card) -> Iterator[CardCheck]:
    """What only the bundle can prove, said so that nobody takes it for proven."""
    if card.evaluation.candidates > 1 and any(effect.together for effect in card.decomposition.effects):
        number = card.evaluation.candidates
        why = f"not narrower than over this candidate alone, but they are over all {number} of the evaluation: give its bundle"
        yield CardCheck(about=_TOGETHER, status="unavailable", detail=why)
    if card.cost is not None:
        yield CardCheck(about="cost", status="unavailable", detail="it is added up from request rows: give the bundle")
    if card.format_damage is not None:
        why = "it is made of replays with another clean-up, which are not on the card: give the bundle"
        yield CardCheck(about="format damage", status="unavailable", detail=why)
    yield CardCheck(about="stated only", status="unavailable", detail=f"{_STATED}: give the bundle")
