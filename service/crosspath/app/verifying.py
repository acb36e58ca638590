"""``crosspath verify``: whether a card is as it was written, and whether its numbers follow from its outcomes. Offline.

It reads the card, what ships with this installation, and the bundle where one is given; no ledger, no MLflow, no network.
"""

from collections.abc import Sequence
from itertools import islice
from pathlib import Path

from pydantic import ValidationError

from crosspath import __version__, catalogue
from crosspath.app.verifying_bundle import bundle_checks
from crosspath.app.verifying_cells import cell_checks
from crosspath.app.verifying_fields import IMPOSSIBLE, LONGEST, judged_check, left_out, said
from crosspath.app.verifying_numbers import LOST, beyond, number_checks
from crosspath.app.verifying_tasks import FAMILIES, Known, task_checks
from crosspath.app.verifying_texts import text_checks
from crosspath.errors import ConfigError, StoreError
from crosspath.reports.card import footer, page_digest, without_footer
from crosspath.reports.card_block import CardFile, read_block
from crosspath.reports.card_changes import changed_lines
from crosspath.reports.card_page import card_page
from crosspath.store.migrations import CARD
from crosspath.types import CARD_FORMAT, Card, CardCheck, CardDifference, CardVerification, canonical_json

NOT_PROVEN = (
    "Not proven: that the model really gave these replies, that the endpoint serves the model it names, that the stored final"
    " states are what the replies left, and that the digest is the one that its author published. Whoever can write a card can"
    " write its digest, too: compare it with one from another place."
)
_BY_A_BUNDLE = frozenset({LOST, FAMILIES})
"""Checks that the comparison with a bundle makes needless where they can't be made."""
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
    checks = [_block(read, card), _page(read, card), *cell_checks(card), *number_checks(read.value, card)]
    checks += beyond(card) if bundle is None else bundle_checks(card, read.value, bundle)
    checks += [*text_checks(card), *task_checks(card, known)]
    if bundle is not None:
        checks = [check for check in checks if check.status != "unavailable" or check.about not in _BY_A_BUNDLE]
    return CardVerification(card=read.digest, candidate=card.candidate.name, evaluation=card.evaluation.id, checks=tuple(checks))


def _card(read: CardFile, source: str) -> Card:
    written = read.value.get("format", 1)
    if isinstance(written, int) and written > CARD_FORMAT:
        raise ConfigError(
            f"has format {written}, written by Crosspath {read.value.get('crosspath')!r}; this is {__version__}: update it",
            source=source,
        )
    try:
        return Card.model_validate(CARD.upgraded(read.value, written) | {"format": CARD_FORMAT})
    except StoreError as error:
        raise ConfigError(f"is no card that can be read: {error}", source=source, field="format") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(map(str, first["loc"]))
        stated = "" if read.stated == read.digest else "; nor is its digest the one that it states"
        raise ConfigError(f"is no card that can be read: {first['msg']}{stated}", source=source, field=place[:LONGEST]) from None


# -- as it was written -------------------------------------------------------------------------------------------------------


def _block(read: CardFile, card: Card) -> CardCheck:
    found: list[CardDifference] = []
    if read.stated != read.digest:
        found.append(CardDifference(field="sha256 of the block", card=read.stated, found=read.digest))
    if read.changed_line is not None:
        found.append(
            CardDifference(field=f"line {read.changed_line}", card="not in the form that is written", found="another text")
        )
    if card.crosspath == __version__ and canonical_json(whole := card.model_dump(mode="json")) != canonical_json(read.value):
        place = next(left_out(read.value, whole), "a number or a text")
        found.append(CardDifference(field=place, card="left out, or in another form", found="as this version writes it"))
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
    except IMPOSSIBLE as error:
        found.append(CardDifference(field="page", card="a page", found=f"none can be made of the block: {said(error)}"))
        return judged_check("page", found, "")
    lines = list(islice(changed_lines(body, again), MOST_LINES + 1))
    if lines and not found and card.crosspath != __version__:
        words = f"Crosspath {card.crosspath} wrote it, and {__version__} would write it otherwise"
        return CardCheck(about="page", status="unavailable", detail=f"{words}: install that one to check it")
    found += [CardDifference(field=f"line {number}", card=line, found=should) for number, line, should in lines[:MOST_LINES]]
    more = f"; only the first {MOST_LINES} lines that differ are named" if len(lines) > MOST_LINES else ""
    return judged_check("page", found, "says what the block says", more)
