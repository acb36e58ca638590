"""Digests of what a card names: its own texts, and those that ship with this installation."""

from collections.abc import Iterator

from crosspath import __version__, catalogue
from crosspath.app.verifying_fields import difference, judged_check
from crosspath.errors import ConfigError
from crosspath.reports.card_portable import OWN_ENDPOINT
from crosspath.reports.card_settings import spec_yaml
from crosspath.spec import load_spec
from crosspath.transports import assemble, find_path
from crosspath.types import (
    Card,
    CardCheck,
    CardDifference,
    CardPath,
    Contract,
    PathSpec,
    RequestStyle,
    Text,
)


def text_checks(card: Card) -> Iterator[CardCheck]:
    """One check for each text that the card names by a digest, and for what its parts say of each other."""
    yield _candidate(card)
    yield _spec(card)
    contracts = {contract.name: contract for contract in card.contracts}
    for name, digest in card.contract_digests.items():
        yield _contract(card, name, digest, contracts.get(name))
    for path in card.paths:
        yield _path(card, path, contracts.get(path.contract))
    for name, digest in card.suites.items():
        yield _suite(card, name, digest)
    if card.style is not None:
        yield _style(card, card.style)


# -- what its parts say of each other ------------------------------------------------------------------------------------------


def _candidate(card: Card) -> CardCheck:
    """The cells are those of the candidate and the reference that the card names."""
    own, reference = card.candidate, card.reference
    found: list[CardDifference] = []
    for cell in card.cells:
        expected = {"transport": own.transport if cell.done == "N" else reference.transport, "validator": own.validator}
        if cell.told == "N":
            expected["contract"] = own.generation.contract
        shown = {name: getattr(cell, name) for name in expected}
        found += difference(shown, expected, f"cells.{cell.name}")
    found += difference(*_names(card))
    named = {cell.path for cell in card.cells}
    found += [
        CardDifference(field=f"cells: path {path[:16]}", card="used", found="not among the paths")
        for path in sorted(named - {path.digest for path in card.paths})
        if card.paths
    ]
    return judged_check("candidate", found, "the cells are told and run as it says")


def _names(card: Card) -> tuple[dict[str, str], dict[str, str]]:
    """What each part says of whom it is about."""
    parts = {
        "decomposition": card.decomposition,
        "headline": card.headline,
        "cost": card.cost,
        "format_damage": card.format_damage,
    }
    shown = {name: part.candidate for name, part in parts.items() if part is not None}
    return shown, dict.fromkeys(shown, card.candidate.name)


def _spec(card: Card) -> CardCheck:
    try:
        (described,) = load_spec(spec_yaml(card.spec), "the spec of the card").candidates_resolved()
    except (ConfigError, ValueError) as error:
        return CardCheck(about="spec", status="differs", detail=f"it can't be used: {error}")
    expected = card.candidate.model_dump(mode="json")
    shown = described.model_dump(mode="json")
    for one in (expected, shown):
        address = one["generation"]["model"].pop("api_base")
        if address not in (None, OWN_ENDPOINT):
            return CardCheck(about="spec", status="differs", detail="it names the address of an endpoint")
    found = [*difference(shown, expected), *difference(card.spec.get("trials"), card.trials, "trials")]
    return judged_check("spec", found, "describes this candidate")


# -- texts ---------------------------------------------------------------------------------------------------------------------


def _contract(card: Card, name: str, digest: str, kept: Contract | None) -> CardCheck:
    about = f"contract {name}"
    if kept is None:
        return _shipped_only(card, about, digest, _shipped_contract(name))
    if kept.digest != digest:
        return _other(card, about, digest, kept.digest, "its text on the card has another digest")
    return _against_shipped(card, about, digest, _shipped_contract(name))


def _shipped_contract(name: str) -> str | None:
    return catalogue.contract(name).digest if name in catalogue.contract_names() else None


def _path(card: Card, path: CardPath, contract: Contract | None) -> CardCheck:
    about = f"path {path.name} for {path.contract}"
    if path.spec.external is not None:
        why = f"a harness of one's own: its code, sha256 {path.spec.external.code_digest[:16] or 'not known'}, is not on the card"
        return CardCheck(about=about, status="unavailable", detail=why)
    if contract is None:
        return CardCheck(about=about, status="unavailable", detail="the contract that it is for is not on the card")
    try:
        again = assemble(path.spec, contract, path.cleanup)
    except ConfigError as error:
        return _other(card, about, path.digest, "none", f"its layers are not known here: {error}")
    if again.digest != path.digest:
        return _other(card, about, path.digest, again.digest, "its layers have another digest here")
    words = tuple(layer.sentence for layer in getattr(again.carrier, "layers", ()))
    if words != path.does:
        return _other(card, about, "; ".join(path.does), "; ".join(words), "its layers do something else here")
    return CardCheck(about=about, status="holds", detail=f"its layers give this digest{_preset_words(path.spec)}")


def _preset_words(spec: PathSpec) -> str:
    try:
        shipped = find_path(spec.name)
    except ConfigError:
        return ", a path of one's own"
    return ", as the one that ships" if shipped.layers == spec.layers else ", not those of the one that ships"


def _suite(card: Card, name: str, digest: str) -> CardCheck:
    try:
        shipped = None if "/" in name or name.endswith((".yaml", ".yml")) else catalogue.suite_text(name).digest
    except ConfigError:
        shipped = None
    return _shipped_only(card, f"validator {name}", digest, shipped)


def _style(card: Card, style: Text) -> CardCheck:
    about = f"request style {style.name}"
    again = RequestStyle(name=style.name, version=style.version, text=style.content).digest
    if again != style.digest:
        return _other(card, about, style.digest, again, "its text on the card has another digest")
    shipped = catalogue.request_style(style.name).digest if style.name in catalogue.request_style_names() else None
    return _against_shipped(card, about, style.digest, shipped)


def _shipped_only(card: Card, about: str, digest: str, shipped: str | None) -> CardCheck:
    if shipped is None:
        return CardCheck(about=about, status="unavailable", detail="it does not ship, and its text is not on the card")
    return _against_shipped(card, about, digest, shipped)


def _against_shipped(card: Card, about: str, digest: str, shipped: str | None) -> CardCheck:
    """Whether a text is the one of that name that ships. One of a user's own is what the card says."""
    if shipped is None:
        return CardCheck(about=about, status="holds", detail="its text on the card has this digest; it does not ship")
    if shipped == digest:
        return CardCheck(about=about, status="holds", detail="equals the one that ships")
    return _other(card, about, digest, shipped, "the one that ships here is another")


def _other(card: Card, about: str, digest: str, found: str, words: str) -> CardCheck:
    """Another digest: a difference, unless another version of Crosspath may have had another text or digest."""
    one = (CardDifference(field="sha256", card=digest, found=found),)
    if card.crosspath == __version__:
        return CardCheck(about=about, status="differs", detail=words, differences=one)
    why = f"{words}, but Crosspath {card.crosspath} wrote the card, and this is {__version__}"
    return CardCheck(about=about, status="unavailable", detail=why, differences=one)
