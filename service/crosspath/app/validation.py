"""One evaluation under several validators."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath

from crosspath import catalogue
from crosspath.analysis.verdict_sensitivity import Judged, VerdictSensitivity, verdict_sensitivity
from crosspath.app.evaluation import Evaluation
from crosspath.errors import ConfigError
from crosspath.types import Facts, Text

OWN = "own"
"""What the source's verdicts are called where its candidates have several validators, or its own has the name of another one."""


@dataclass(frozen=True)
class Validation:
    """``source`` and one evaluation for each validator that was named, in that order; ``source`` itself stands for its own."""

    source: Evaluation
    evaluations: tuple[Evaluation, ...]

    @cached_property
    def sensitivity(self) -> VerdictSensitivity:
        """Which verdicts depend on the validator; the source's own is always compared, and comes first."""
        others = [each for each in self.evaluations if each.id != self.source.id]
        names = _labels([_validator(each) for each in (self.source, *others)])
        return verdict_sensitivity(
            [
                Judged(name, each.facts.cells, each.judgement.scores)
                for name, each in zip(names, (self.source, *others), strict=True)
            ]
        )


def chosen_suites(validators: Sequence[str], base: Path, notify: Callable[[str], None]) -> tuple[Text, ...]:
    """The suites that are named, each once; a file of ``base`` comes before a name that ships.

    Raises:
        ConfigError: there is no such suite, or none was named.
    """
    if not validators:
        raise ConfigError("name at least one validator", field="--validator")
    found: dict[str, Text] = {}
    for validator in validators:
        own = base / validator
        suite = catalogue.suite_text(str(own) if own.is_file() else validator)
        first = found.setdefault(suite.digest, suite)
        if first is not suite:
            same = "named twice" if first.name == suite.name else f"the same as {first.name}"
            notify(f"{validator} is {same}: it is judged once")
    return tuple(found.values())


def is_own(source: Facts, suite: Text) -> bool:
    """Whether every candidate is judged by just this suite already."""
    return {source.lock.suites.get(candidate.validator) for candidate in source.lock.candidates} == {suite.digest}


def _validator(evaluation: Evaluation) -> str:
    names = {candidate.validator for candidate in evaluation.facts.lock.candidates}
    return names.pop() if len(names) == 1 else OWN


def _labels(names: Sequence[str]) -> list[str]:
    """Short and different: a file's name without its directories where that is enough."""
    short = [PurePath(name).name for name in names]
    labels = [end if short.count(end) == 1 else name for end, name in zip(short, names, strict=True)]
    return [OWN if at == 0 and labels.count(label) > 1 else label for at, label in enumerate(labels)]
