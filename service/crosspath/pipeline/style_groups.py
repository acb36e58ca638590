"""Candidates that differ in nothing but their request style."""

from collections.abc import Iterable, Mapping

from crosspath.types import Candidate

FIRST = "plain"


def style_groups(candidates: Iterable[Candidate]) -> tuple[Mapping[str, Candidate], ...]:
    """Style -> candidate for each group of at least two; ``plain`` first, the rest in the order given.

    Of two candidates that are alike in everything the first stands for both.
    """
    groups: dict[tuple[str, ...], dict[str, Candidate]] = {}
    for candidate in candidates:
        generation = candidate.generation.model_copy(update={"request_style": ""})
        alike = (generation.digest, candidate.transport, candidate.harness, candidate.validator)
        groups.setdefault(alike, {}).setdefault(candidate.generation.request_style, candidate)
    return tuple(_plain_first(group) for group in groups.values() if len(group) > 1)


def _plain_first(group: Mapping[str, Candidate]) -> dict[str, Candidate]:
    return {style: group[style] for style in sorted(group, key=lambda style: style != FIRST)}
