"""Whether the cells of a card are those that its configuration asks for, and whether its outcomes can all be true at once.

The numbers of a card follow from its outcomes, so a forger leaves out what contradicts a claim (the control, a cell) or writes
outcomes that no scoring gives. Both can be seen without a bundle: cells follow from candidate, contracts and paths, and a code
says several things of one trial that depend on each other.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import get_args

from crosspath import __version__, catalogue
from crosspath.app.verifying_fields import difference, judged_check
from crosspath.errors import ConfigError
from crosspath.pipeline.plan import make_plan
from crosspath.reports.card_outcomes import Answered, Outcome, answered, declining_code, outcome, repeats, repeats_code
from crosspath.styles import PLAIN
from crosspath.types import AlarmKind, Card, CardCell, CardCheck, CardDifference, CardTask, Cause, Contract, PlannedCell, Task

_CAUSES, _ALARMS = frozenset(get_args(Cause)), frozenset(get_args(AlarmKind))


def cell_checks(card: Card) -> Iterator[CardCheck]:
    """The cells against the configuration, and the outcomes against each other."""
    yield _cells(card)
    yield judged_check("codes of outcomes", list(_contradictions(card)), "none contradicts itself, another one or a lost reply")


# -- cells -------------------------------------------------------------------------------------------------------------------


def _cells(card: Card) -> CardCheck:
    about = "planned cells"
    try:
        cells, not_applicable = _planned(card)
    except ConfigError as error:
        return CardCheck(about=about, status="unavailable", detail=f"they can't be planned here: {error}")
    ours = {cell.name: _plain(cell) for cell in card.cells}
    theirs = {"control" if cell.control else cell.name: _plain(cell) for cell in cells}
    own = {path.digest for path in card.paths if path.spec.external is not None}  # its digest is over code that is not here
    found = [
        CardDifference(field=name, card=_there(name in ours), found="planned" if name in theirs else "not planned")
        for name in dict.fromkeys((*ours, *theirs))
        if (name in ours) != (name in theirs)
    ]
    for name in ours.keys() & theirs.keys():
        found += difference(ours[name], theirs[name], name, {"path"} if ours[name]["path"] in own else ())
    if card.decomposition.not_applicable.keys() != not_applicable.keys():
        shown, expected = (", ".join(sorted(names)) or "none" for names in (card.decomposition.not_applicable, not_applicable))
        found.append(CardDifference(field="not applicable", card=shown, found=expected))
    if found and card.crosspath != __version__:
        why = f"Crosspath {card.crosspath} planned it, and {__version__} would plan other ones"
        return CardCheck(about=about, status="unavailable", detail=why, differences=tuple(found))
    return judged_check(about, found, "just those that the configuration asks for, the control included")


def _there(there: bool) -> str:
    return "stands on it" if there else "missing"


def _planned(card: Card) -> tuple[tuple[PlannedCell, ...], Mapping[str, str]]:
    """The cells that the configuration of the card asks for, and why the others are none."""
    plan = make_plan(
        (card.candidate,),
        card.reference,
        (Task(id="any", family="any"),),
        _contracts(card),
        {path.spec.name: path.spec for path in card.paths},
        card.trials,
        {card.candidate.generation.request_style: PLAIN},
    )
    return plan.cells, {name.rpartition("/")[2]: why for name, why in plan.not_applicable.items()}


def _contracts(card: Card) -> Mapping[str, Contract]:
    """Those on the card; one that no cell of it tells stands for itself only where it ships."""
    found = {contract.name: contract for contract in card.contracts}
    wanted = {card.reference.contract, card.candidate.generation.contract}
    return {name: catalogue.contract(name) for name in (wanted - found.keys()) & set(catalogue.contract_names())} | found


def _plain(cell: CardCell | PlannedCell) -> dict[str, object]:
    return {name: getattr(cell, name) for name in ("contract", "transport", "path", "encoded", "validator")}


# -- outcomes ----------------------------------------------------------------------------------------------------------------


def _contradictions(card: Card) -> Iterator[CardDifference]:
    lost = {side: [digest is None for digest in digests] for side, digests in card.replies.items()}
    every = [(task, number) for number, task in enumerate(task for task in card.tasks for _ in range(card.trials))]
    for cell in card.cells:
        try:
            yield from _of_cell(card, cell, every, lost[cell.told])
        except ValueError as error:
            yield CardDifference(field=f"cell {cell.name}", card=str(error), found="a code that can be read")
    yield from _lost_alike(card, every)
    yield from _replies_counted(card)


def _of_cell(card: Card, cell: CardCell, every: Sequence[tuple[CardTask, int]], lost: Sequence[bool]) -> Iterator[CardDifference]:
    feasible = [(task, number) for task, number in every if not task.infeasible]
    seen = {number: code for (_, number), code in zip(feasible, cell.outcomes, strict=True)}
    states = dict(zip((number for task, number in feasible if task.tier == 0), cell.states, strict=False))
    ways = dict(enumerate(cell.declining))
    for task, number in every:
        code, state, way = seen.get(number), states.get(number), ways.get(number)
        problems = [
            *(_of_code(card, cell, code) if code is not None else ()),
            *(_of_states(code, state) if code is not None and state is not None else ()),
            *(_of_way(task, code, way) if way is not None else ()),
            *(["there is no reply, so nothing can have been observed"] if lost[number] and not _unseen(code, way) else ()),
        ]
        shown = ", ".join(one for one in (code, state, way) if one is not None)
        where = f"cell {cell.name}, {task.label}#{number % card.trials}"
        yield from (CardDifference(field=where, card=shown, found=words) for words in problems)


def _unseen(code: str | None, way: str | None) -> bool:
    return (code is None or outcome(code).passed is None) and (way is None or answered(way).way is None)


def _of_code(card: Card, cell: CardCell, code: str) -> Iterator[str]:
    found = outcome(code)
    if _written(code, found) != code:
        yield f"would be written {_written(code, found)}"
    if len(found.repeats) == 1 or (found.repeats and found.repeats[0] is not found.passed):
        yield "its repeats begin with the verdict itself, and are several"
    if found.passed is None:
        if found.cause is None or found.alarm is not None:
            yield "what was not observed has a fault and no false alarm"
        return
    known = card.crosspath == __version__  # another version may have had other words
    if known and not {found.cause} - {None} <= _CAUSES:
        yield "no such cause"
    if known and not {found.alarm} - {None} <= _ALARMS:
        yield "no such false alarm"
    if words := _of_verdict(cell, found):
        yield words


def _of_verdict(cell: CardCell, found: Outcome) -> str | None:
    """A cause stands just where the state is wrong or the path told failure; a false alarm beside a right state only."""
    told_otherwise = found.alarm not in (None, "masked")
    if found.silent:
        return None if found.cause and not found.alarm else "a silent wrong has a cause and no false alarm"
    if found.passed:
        return None if bool(found.cause) == told_otherwise else "what is right has a cause just where the path told failure"
    lax = cell.validator != "exact" and not found.alarm  # a suite of one's own may ask for an exit status of its own
    if found.cause:
        return None if found.alarm != "masked" else "a path that masks a status told success, so there is no cause"
    return None if found.alarm == "masked" or lax else "what is wrong has a cause, but where only the exit status is"


def _written(code: str, found: Outcome) -> str:
    tail = f"~{repeats_code(found.repeats)}" if found.repeats else ""
    cause, alarm = (f":{found.cause}" if found.cause or code[0] == "x" else ""), (f"!{found.alarm}" if found.alarm else "")
    return f"{code[0]}{cause}{alarm}{tail}"


def _of_states(code: str, state: str) -> Iterator[str]:
    """What passes has a right state; what was not observed has none."""
    found, marks = outcome(code), repeats(state)
    if len(marks) != len(found.passes):
        yield "verdict and state have as many repeats"
        return
    if any(
        (passed is None) != (right is None) or (passed and not right) for passed, right in zip(found.passes, marks, strict=True)
    ):
        yield "what passes has a right state, and what was not observed has none"
    if found.passed is False and bool(marks[0]) != (found.alarm is not None) and not (marks[0] and not found.cause):
        yield "a false alarm stands beside a right state, and only there"


def _of_way(task: CardTask, code: str | None, way: str) -> Iterator[str]:
    found = answered(way)
    if declining_code(found) != way:
        yield f"would be written {declining_code(found)}"
    if code is not None:
        if found.touched or found.repeats:
            yield "of a task that can be done, what became of it stands among the outcomes"
        if (found.way is None) != (outcome(code).passed is None):
            yield "how it answered is known just where an outcome is"
    elif not _rightly(found):
        yield "its repeats begin with what it says itself"


def _rightly(found: Answered) -> bool:
    if not found.repeats:
        return found.way is not None or not found.touched
    return found.repeats[0] == (None if found.way is None else found.way == "form" and not found.touched)


def _lost_alike(card: Card, every: Sequence[tuple[CardTask, int]]) -> Iterator[CardDifference]:
    """A reply that was never given was lost to one fault, which is the same in all cells that it would have gone through."""
    places = [number for task, number in every if not task.infeasible]
    for side, digests in card.replies.items():
        cells = [cell for cell in card.cells if cell.told == side]
        for place, number in enumerate(places):
            codes = {cell.outcomes[place] for cell in cells}
            if digests[number] is None and len(codes) > 1:
                where = f"told {side}, {every[number][0].label}#{number % card.trials}"
                yield CardDifference(
                    field=where, card=", ".join(sorted(codes)), found="one fault in all cells: there is no reply"
                )


def _replies_counted(card: Card) -> Iterator[CardDifference]:
    replies = sum(digest is not None for digests in card.replies.values() for digest in digests)
    for name, counted in (("served", card.served), ("fingerprints", card.fingerprints)):
        if counted and (sum(counted.values()) != replies or min(counted.values()) < 1):
            yield CardDifference(field=name, card=f"{sum(counted.values())} replies", found=f"{replies} replies have a digest")
