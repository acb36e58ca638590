"""What a model was told about its path: the part of a contract that its reference has not."""

from collections.abc import Iterable

from crosspath.types import Facts


def told(facts: Facts, contracts: Iterable[str]) -> dict[str, dict[str, str]]:
    """Contract -> its ``text``, and the part that its reference contract has not (``disclosure``)."""
    texts = {text.name: text.content for text in facts.contracts}
    references = {contract.name: contract.reference for contract in facts.contract_specs}
    found: dict[str, dict[str, str]] = {}
    for name in dict.fromkeys(contracts):
        text = texts.get(name, "")
        found[name] = {"text": text, "disclosure": disclosure(text, texts.get(references.get(name, name), text))}
    return found


def disclosure(text: str, reference: str) -> str:
    """Paragraphs of ``text`` that ``reference`` has not; for a reference the first two, which say how a reply travels."""
    paragraphs = text.strip("\n").split("\n\n")
    own = [paragraph for paragraph in paragraphs if paragraph not in reference.strip("\n").split("\n\n")]
    return "\n\n".join(own or paragraphs[:2])
