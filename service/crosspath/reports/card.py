"""The harness card of one candidate: one page that states all that is needed to compare or to repeat it, and can be verified.

The idea of a card that discloses the whole harness: arXiv 2605.23950.
"""

import hashlib
import json
import re
from collections.abc import Iterator

from crosspath.reports.card_block import block
from crosspath.reports.card_build import CardMaker
from crosspath.reports.card_page import card_page
from crosspath.types import Card, Facts, Judgement, canonical_json

_FOOTER = re.compile(r"\n\nDigest of this card: sha256 `(?P<digest>[0-9a-f]{64})`\.[^\n]*\Z")


def card_markdown(facts: Facts, judgement: Judgement, candidate: str) -> str:
    """The card of one candidate as Markdown, with its machine-readable block at the end.

    Raises:
        ConfigError: there is no such candidate.
    """
    return written(CardMaker(facts, judgement).card(candidate))


def card_files(facts: Facts, judgement: Judgement) -> Iterator[tuple[str, str]]:
    """File name and card of every candidate, in their order."""
    maker = CardMaker(facts, judgement)
    taken: set[str] = set()
    for number, candidate in enumerate(facts.lock.candidates, 1):
        name = file_name(candidate.name)
        name = name if name.lower() not in taken else file_name(f"{candidate.name}-{number}")
        taken.add(name.lower())
        yield name, written(maker.card(candidate.name))


def file_name(candidate: str) -> str:
    """A name for the file of a candidate's card: letters, digits, ``-`` and ``_``."""
    safe = "".join(letter if letter.isascii() and (letter.isalnum() or letter in "-_") else "-" for letter in candidate)
    return f"{safe[:80] or 'card'}.md"


def written(card: Card) -> str:
    """Page and block of a card."""
    # As it will be read: the block's keys are sorted, and the page must not depend on another order.
    card = Card.model_validate(json.loads(canonical_json(card.model_dump(mode="json"))))
    page = card_page(card)
    whole = card.model_copy(update={"page_sha256": page_digest(page)})
    ending = block(whole.model_dump(mode="json"))
    stated = ending.split("\n", 1)[0].rpartition(":")[2]
    return page + footer(stated) + "\n\n" + ending


def page_digest(page: str) -> str:
    """SHA-256 of a page as it is read: without white space at the end of lines."""
    return hashlib.sha256(page.encode("utf-8", "backslashreplace")).hexdigest()


def footer(digest: str) -> str:
    """The last line of a page, which names the card's digest."""
    return f"\n\nDigest of this card: sha256 `{digest}`. The file ends with the same in a machine-readable form, as a comment."


def without_footer(page: str) -> tuple[str, str | None]:
    """A page as it was read: what stands above its last line, and the digest that this names; None where it names none."""
    found = _FOOTER.search(page)
    return (page, None) if found is None else (page[: found.start()], found["digest"])
