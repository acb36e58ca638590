"""Candidates that differ in nothing but the words in which they are told about one path."""

from collections.abc import Iterable, Mapping

from crosspath.types import Candidate, Contract, digest


def wording_groups(
    candidates: Iterable[Candidate], contracts: Mapping[str, Contract]
) -> tuple[Mapping[str, tuple[Candidate, Contract]], ...]:
    """Contract -> candidate and contract for each group of at least two, in the order given.

    Wordings are contracts that disclose the same path for the same reply shape, against the same plain contract, generated or
    written by hand. Of two candidates that are alike in everything the first stands for both.
    """
    groups: dict[tuple[str, ...], dict[str, tuple[Candidate, Contract]]] = {}
    for candidate in candidates:
        contract = contracts.get(candidate.generation.contract)
        if contract is None or contract.reference == contract.name:
            continue
        generation = candidate.generation.model_copy(update={"contract": _but_the_words(contract)})
        alike = (generation.digest, candidate.transport, candidate.harness, candidate.validator)
        groups.setdefault(alike, {}).setdefault(contract.name, (candidate, contract))
    return tuple(group for group in groups.values() if len(group) > 1)


def _but_the_words(contract: Contract) -> str:
    return digest(contract.model_dump(mode="json", exclude={"name", "version", "text"}))
