"""``crosspath verify``: whether a card is as it was written, and whether its numbers follow from its outcomes. Offline.

It reads the card, what ships with this installation, and the bundle where one is given; no ledger, no MLflow, no network.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from crosspath import __version__, catalogue
from crosspath.app.card_numbers import recompute
from crosspath.app.verifying_bundle import bundle_checks
from crosspath.app.verifying_fields import difference, differences, judged_check
from crosspath.app.verifying_texts import Known, text_checks
from crosspath.errors import ConfigError
from crosspath.reports.card import footer, page_digest, without_footer
from crosspath.reports.card_block import CardFile, read_block
from crosspath.reports.card_changes import changed_lines
from crosspath.reports.card_page import card_page
from crosspath.reports.headlines import sentence, sure
from crosspath.types import CARD_FORMAT, Card, CardCheck, CardDifference, CardVerification, Losses

NOT_PROVEN = (
    "Not proven: that the model really gave these replies, that the endpoint serves the model it names, that the stored final"
    " states are what the replies left, and that the digest is the one that its author published. Whoever can write a card can"
    " write its digest, too: compare it with one from another place."
)
_LOST = "where trials were lost"
MOST_LINES = 20
"""Lines of a page that are named where they differ."""


def verify_card(
    file: Path, *, bundle: Path | None = None, task_files: Sequence[Path] = (), seed: str | None = None
) -> CardVerification:
    """Check one card.

    Args:
        file: the card.
        bundle: directory of the evaluation's bundle: its stored final states are judged again.
        task_files: files with tasks of one's own, which the card knows by digest only.
        seed: of the held-out tasks.

    Raises:
        ConfigError: no such file, no card, one that can't be read, or no bundle.
        ValidatorError: the stored final states could not be judged.
    """
    read = read_block(catalogue.read_text(file), str(file))
    card = _card(read, str(file))
    known = Known.of(card, task_files, seed)
    checks = [_block(read), _page(read, card), *_numbers(read, card)]
    checks += _not_from_a_card(card) if bundle is None else bundle_checks(card, read.value, bundle)
    checks += text_checks(card, known)
    return CardVerification(card=read.digest, candidate=card.candidate.name, evaluation=card.evaluation.id, checks=tuple(checks))


def _card(read: CardFile, source: str) -> Card:
    written = read.value.get("format")
    if isinstance(written, int) and written > CARD_FORMAT:
        raise ConfigError(
            f"has format {written}, written by Crosspath {read.value.get('crosspath')!r}; this is {__version__}: update it",
            source=source,
        )
    try:
        return Card.model_validate(read.value)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        stated = "" if read.stated == read.digest else "; nor is its digest the one that it states"
        raise ConfigError(f"is no card that can be read: {first['msg']}{stated}", source=source, field=place) from None


# -- as it was written -------------------------------------------------------------------------------------------------------


def _block(read: CardFile) -> CardCheck:
    found: list[CardDifference] = []
    if read.stated != read.digest:
        found.append(CardDifference(field="sha256 of the block", card=read.stated, found=read.digest))
    if read.changed_line is not None:
        found.append(
            CardDifference(field=f"line {read.changed_line}", card="not in the form that is written", found="another text")
        )
    return judged_check("block", found, f"sha256 {read.digest}, as it states")


def _page(read: CardFile, card: Card) -> CardCheck:
    body, stated = without_footer(read.page)
    found: list[CardDifference] = []
    if stated != read.stated:
        found.append(CardDifference(field="digest in the last line", card=stated or "none", found=read.stated))
    if stated is not None and not read.page.endswith(footer(stated)):
        found.append(CardDifference(field="last line", card=read.page.split("\n")[-1], found=footer(stated).strip()))
    if read.after:
        found.append(CardDifference(field="text after the block", card=read.after.split("\n")[0], found=""))
    if (again := page_digest(body)) != card.page_sha256:
        found.append(CardDifference(field="page_sha256", card=card.page_sha256, found=again))
    return _made_again(card, body, found)


def _made_again(card: Card, body: str, found: list[CardDifference]) -> CardCheck:
    """The page once more from the block, so that whoever wrote the digests anew as well is found, too.

    Another version may put it otherwise: then a page with the right digest can't be checked, and what differs is not named.
    """
    try:
        again = card_page(card)
    except (ValueError, KeyError, StopIteration) as error:
        found.append(CardDifference(field="page", card="a page", found=f"none can be made of the block: {error}"))
        return judged_check("page", found, "")
    lines = list(islice(changed_lines(body, again), MOST_LINES + 1))
    if lines and not found and card.crosspath != __version__:
        words = f"Crosspath {card.crosspath} wrote it, and {__version__} would write it otherwise"
        return CardCheck(about="page", status="unavailable", detail=f"{words}: install that one to check it")
    found += [CardDifference(field=f"line {number}", card=line, found=should) for number, line, should in lines[:MOST_LINES]]
    more = f"; only the first {MOST_LINES} lines that differ are named" if len(lines) > MOST_LINES else ""
    return judged_check("page", found, "says what the block says", more)


# -- numbers -------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Number:
    """A part of the card and what it should be."""

    about: str
    card: object
    again: object


def _numbers(read: CardFile, card: Card) -> Iterator[CardCheck]:
    try:
        again = recompute(card)
    except (ValueError, KeyError, StopIteration, IndexError) as error:
        yield CardCheck(about="outcomes", status="differs", detail=f"no numbers follow from them: {error}")
        return
    value, found = read.value, again.decomposition.model_dump(mode="json")
    shown = value["decomposition"]
    parts = [
        *_named("cell", shown["cells"], found["cells"], "told", "done"),
        *_named("effect", shown["effects"], found["effects"], "name"),
        _Number("control", shown["control"], found["control"]),
        _Number("told about its own path", *({k: one.get(k) for k in ("discloses", "undisclosed")} for one in (shown, found))),
    ]
    if card.losses is not None and not _decided_by_clean_up(card):
        parts.append(_Number(_LOST, value["losses"], again.losses.model_dump(mode="json")))
    for name, what in (("reliability", again.reliability), ("abstentions", again.abstentions)):
        if value.get(name):
            parts.append(_Number(name, value[name], [one.model_dump(mode="json") for one in what]))
    for what, entries, keys in (("cell", shown["cells"], ("told", "done")), ("effect", shown["effects"], ("name",))):
        yield from _twice(what, entries, *keys)
    yield from (_number(card, part) for part in parts)
    yield from _half_of_the_losses(card, again.losses)
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
    ours, theirs = (
        {"attempted": one.attempted, "kept": one.kept, "missing": one.lost["infrastructure"]} for one in (card.losses, again)
    )
    if found := list(difference(ours, theirs)):
        yield judged_check(_LOST, found, "")
        return
    why = f"how many were kept holds; which {number} would be right with the other clean-up is not on the card: give the bundle"
    yield CardCheck(about=_LOST, status="unavailable", detail=why)


def _words(card: Card) -> Iterator[CardCheck]:
    """The sentences at the top, made again from the numbers that they are about."""
    if card.headline is None:
        return
    if card.losses is None:
        lacking = CardDifference(field="losses", card="nothing", found="numbers that the words are about")
        yield judged_check("plain words", [lacking], "")
        return
    unit = "task" if card.trials == 1 else "trial"
    again = {
        "sentence": sentence(card.decomposition, card.losses, unit),
        "sure": sure(card.decomposition, card.losses),
    }
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
    if part.about == _LOST and card.evaluation.candidates > 1:
        skipped |= {"low", "high", "method"}
    if any(task.id is None for task in card.tasks):
        skipped |= {"reason"}  # it names the first tasks by id, and a card does not have the ids
    found = list(difference(part.card, part.again, skipped=skipped))
    return differences(part.about, found, "follows from the outcomes", other_version=_other_version(card))


def _other_version(card: Card) -> str:
    return "" if card.crosspath == __version__ else f"Crosspath {card.crosspath} computed it, and this is {__version__}"


def _not_from_a_card(card: Card) -> Iterator[CardCheck]:
    if card.evaluation.candidates > 1 and any(effect.together for effect in card.decomposition.effects):
        why = f"they are over all {card.evaluation.candidates} candidates of the evaluation: give its bundle"
        yield CardCheck(about="intervals that hold together", status="unavailable", detail=why)
    if card.cost is not None:
        yield CardCheck(about="cost", status="unavailable", detail="it is added up from request rows: give the bundle")
