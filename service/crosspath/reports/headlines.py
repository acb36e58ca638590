"""What a reader has to know about each candidate first: what it gets right, where the rest is lost, how sure that is, what to do.

Plain sentences without cell codes. They are text, not Markdown: whoever prints them escapes them for the place.
"""

from collections.abc import Iterable

from crosspath.analysis.coverage import inconclusive, unobserved
from crosspath.analysis.wording import percent, title
from crosspath.reports.next_steps import next_step
from crosspath.types import Cell, Control, Decomposition, Estimate, Facts, Headline, Judgement, Loss, Losses

PLACE_WORDS: dict[Loss, str] = {
    "path": "the path",
    "model": "the model",
    "format": "the format",
    "infrastructure": "the infrastructure",
}


def headlines(facts: Facts, judgement: Judgement) -> tuple[Headline, ...]:
    """One per candidate, in the order of the candidates; none for a judgement from before losses were told apart."""
    by_name = {one.candidate: one for one in judgement.losses}
    return tuple(
        _headline(facts, judgement, one, by_name[one.candidate]) for one in judgement.decompositions if one.candidate in by_name
    )


def _headline(facts: Facts, judgement: Judgement, decomposition: Decomposition, losses: Losses) -> Headline:
    words, command = next_step(facts, judgement, decomposition, losses)
    return Headline(
        candidate=decomposition.candidate,
        sentence=sentence(decomposition, losses, "task" if facts.lock.trials == 1 else "trial"),
        sure=sure(decomposition, losses),
        next_step=words,
        command=command,
    )


# -- what it gets right, and where the rest is lost --------------------------------------------------------------------


def sentence(decomposition: Decomposition, losses: Losses, unit: str) -> str:
    """``X gets 61 of 108 tasks right as deployed: 40 are lost to the path, 4 to the model and 2 to the format.``"""
    name = title(decomposition)
    if not losses.attempted:
        return f"{name} was given no task that can be done: only declining is measured."
    units = unit if losses.attempted == 1 else f"{unit}s"
    aside = _made_up(decomposition, losses)
    if losses.kept == losses.attempted:
        every = f"all {losses.attempted} {units}" if losses.attempted > 1 else f"its one {unit}"
        return f"{name} gets {every} right as deployed{aside}: nothing is lost."
    right = f"{name} gets {losses.kept or 'none'} of {losses.attempted} {units} right as deployed{aside}"
    if decomposition.control.status == "broken":
        return f"{right}. Where the wrong ones were lost can't be told."
    return f"{right}: {_enumerated(list(_lost(losses)))}."


def _lost(losses: Losses) -> Iterable[str]:
    """``40 are lost to the path``, ``4 to the model (3 of them right when it is told nothing)``."""
    places: list[Loss] = [place for place in PLACE_WORDS if losses.lost[place]]
    for number, place in enumerate(places):
        count = losses.lost[place]
        verb = "" if number else " is lost" if count == 1 else " are lost"
        aside = _told_worse(losses) if place == "model" else _not_made_up(losses) if place == "path" else ""
        yield f"{'all ' if count == losses.attempted > 1 else ''}{count}{verb} to {PLACE_WORDS[place]}{aside}"


def _not_made_up(losses: Losses) -> str:
    """Where the blame rests on another reply than the one that was run."""
    if not losses.not_made_up:
        return ""
    how_many = "there" if losses.not_made_up == losses.lost["path"] else f"in {losses.not_made_up} of them"
    return f" ({how_many} the path breaks the plain reply, and what the model wrote when told about it is wrong, too)"


def _told_worse(losses: Losses) -> str:
    if not losses.told_worse:
        return ""
    how_many = "" if losses.told_worse == losses.lost["model"] else f"{losses.told_worse} of them "
    return f" ({how_many}right on the same path when it is told nothing)"


def _made_up(decomposition: Decomposition, losses: Losses) -> str:
    """What a score as deployed hides: a broken path that the model works around."""
    if not losses.made_up or decomposition.control.status == "broken":
        return ""
    about = "another path" if decomposition.undisclosed else "the path"
    which = "" if losses.made_up == losses.attempted == 1 else f"{losses.made_up} of them "
    return f" ({which}only because it was told about {about} and writes around it)"


def _enumerated(parts: list[str]) -> str:
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


# -- how sure -------------------------------------------------------------------------------------------------------------


def sure(decomposition: Decomposition, losses: Losses) -> str:
    """How far the sentence can be relied on, or why nothing may be concluded."""
    if not losses.attempted:
        return "There is no rate, loss or effect to estimate; how often it declines rightly stands below."
    if why := _nothing_to_conclude(decomposition, losses):
        return why
    parts = [_observed(losses), _how_many(decomposition, losses), _instrument(decomposition)]
    return " ".join(part for part in parts if part)


def _nothing_to_conclude(decomposition: Decomposition, losses: Losses) -> str:
    control = decomposition.control
    if control.status == "broken":
        return f"Nothing may be concluded: the control is broken ({control.reason}), so the instrument itself changes results."
    if unobserved(decomposition):
        return "Nothing may be concluded: not one trial could be observed."
    if not inconclusive(decomposition):
        return ""
    thin = min(decomposition.cells, key=lambda cell: cell.scored / cell.planned if cell.planned else 1.0)
    return (
        f"Nothing may be concluded: only {thin.scored} of {thin.planned} trials {_where(thin)} have a verdict, "
        f"fewer than half. {_observed(losses)}"
    )


def _where(cell: Cell) -> str:
    return f"(told {cell.contract}, run on {cell.transport})"


def _observed(losses: Losses) -> str:
    """How many trials have a verdict; where some lack one, the worst and the best case."""
    missing = losses.lost["infrastructure"]
    if not missing:
        return f"All {losses.attempted} were observed." if losses.attempted > 1 else "It was observed."
    how = _missing_words(losses.kinds.get("infrastructure", {}))
    ends = f"at worst {losses.kept}, at best {losses.kept + missing} are right"
    return f"{losses.attempted - missing} of {losses.attempted} have a verdict ({missing} missing: {how}): {ends}."


def _missing_words(kinds: dict[str, int]) -> str:
    """``rate limit``; ``5 rate limit, 2 unstable`` where there are several kinds."""
    words = {kind: kind.removeprefix("fault:").replace("_", " ") for kind in kinds}
    return words[next(iter(kinds))] if len(kinds) == 1 else ", ".join(f"{count} {words[kind]}" for kind, count in kinds.items())


def _how_many(decomposition: Decomposition, losses: Losses) -> str:
    """The interval of the biggest loss, or of what is right where nothing is lost, for task families like these."""
    shown: list[Loss] = [
        one for one in PLACE_WORDS if one in losses.shares
    ]  # of equals the first, in whatever order they were read
    place = max(shown, key=lambda one: losses.lost[one], default=None)
    if place:
        return _interval(f"lost to {PLACE_WORDS[place]}", losses.shares[place], "95 % sure for all candidates together")
    cells = (cell for cell in decomposition.cells if cell.name == losses.cell)
    rate = next((cell.population for cell in cells), None)
    return _interval("right", rate, "95 % sure") if rate else ""


def _interval(what: str, share: Estimate, confidence: str) -> str:
    if share.value is None:
        return ""
    if share.low is None or share.high is None:
        return f"How many would be {what} in other task families can't be said: {share.method.removeprefix('no interval: ')}."
    low, high = (percent(end) for end in (share.low, share.high))
    between = f"{low} to {high}" if share.high < 1 else f"at least {low}"
    return f"Expect {between} {what} in other task families like these ({confidence})."


def _instrument(decomposition: Decomposition) -> str:
    control = decomposition.control
    if decomposition.blind:
        return "No reply passes on the reference path either, so what the path breaks can't be seen."
    if control.kind == "none":
        return ""
    if control.status == "missing":
        return "Not proven: there is no control that shows the instrument works."
    return f"The control holds{_control_count(control)}: the instrument itself changes nothing."


def _control_count(control: Control) -> str:
    return f" on all {control.compared}" if control.compared >= control.trials else f" on {control.compared} of {control.trials}"
