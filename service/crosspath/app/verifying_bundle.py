"""A card against the bundle of its evaluation: every file, every score judged again, every field of the card made again."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from crosspath import __version__
from crosspath.app import adapters
from crosspath.app.verifying_fields import IMPOSSIBLE, difference, differences, judged_check, said
from crosspath.errors import ConfigError, StoreError
from crosspath.pipeline.judge import judge
from crosspath.reports.card_build import CardMaker
from crosspath.store.bundle import INDEX, index_digest, read_bundle, read_judgement
from crosspath.types import Card, CardCheck, CardDifference, Facts, Judgement, Score

_WRITING = frozenset({"crosspath", "format", "page_sha256"})
"""Fields about the writing of the card itself."""
_GROUPS: Mapping[str, Collection[str]] = {
    "outcomes, judged again": ("cells", "replies"),
    "numbers": ("decomposition", "losses", "format_damage", "reliability", "abstentions", "cost"),
    "tasks and texts": ("tasks", "contracts", "contract_digests", "paths", "suites", "style"),
}
"""About -> fields of the card; all others are its configuration."""
MOST_DIGITS = 30
"""Of a foreign number that are shown."""
_WORDS = frozenset({"headline", "warnings"})
"""Sentences, which another version may put otherwise."""


def bundle_checks(card: Card, value: Mapping[str, Any], directory: Path) -> Iterator[CardCheck]:
    """Compare the card with a bundle.

    Raises:
        ConfigError: there is no bundle.
        ValidatorError: its final states could not be judged.
    """
    if not (directory / INDEX).is_file():
        raise ConfigError(f"is no bundle of an evaluation: it has no {INDEX}", source=str(directory))
    try:
        facts, stored = read_bundle(directory), read_judgement(directory)
    except StoreError as error:
        yield CardCheck(about="bundle: files", status="differs", detail=str(error))
        return
    yield CardCheck(
        about="bundle: files", status="holds", detail=f"each as its index says (sha256 of the index {index_digest(directory)})"
    )
    names = [candidate.name for candidate in facts.lock.candidates]
    if card.candidate.name not in names:
        one = CardDifference(field="candidate", card=card.candidate.name, found=", ".join(names))
        yield CardCheck(about="bundle: candidate", status="differs", detail="it is not in the bundle", differences=(one,))
        return
    if facts.lock.trials != card.trials:  # before anything is counted: a hostile bundle may say any number
        one = CardDifference(field="trials", card=str(card.trials), found=str(facts.lock.trials)[:MOST_DIGITS])
        yield CardCheck(about="bundle: trials", status="differs", detail="the bundle has other ones", differences=(one,))
        return
    try:
        judged = judge(facts, adapters.make_validator())
        yield _scores(stored, judged)
        yield from _fields(card, value, facts, judged)
    except IMPOSSIBLE as error:
        yield CardCheck(about="bundle: facts", status="differs", detail=f"they can't be judged: {said(error)}")


def _scores(stored: Judgement, judged: Judgement) -> CardCheck:
    ours, theirs = ({_score_name(score): _verdict(score) for score in found.scores} for found in (stored, judged))
    found = [
        CardDifference(field=name, card=str(ours.get(name, "nothing")), found=str(theirs.get(name, "nothing")))
        for name in dict.fromkeys((*ours, *theirs))
        if ours.get(name) != theirs.get(name)
    ]
    return judged_check("bundle: scores", found, f"all {len(ours)} are given again by the stored final states")


def _score_name(score: Score) -> str:
    key = score.key
    place = f"{key.path[:12]}{', encoded' if key.encoded else ''}, repeat {key.repeat}"
    return f"{key.trial.task}#{key.trial.index} ({key.trial.generation[:12]}, {place}, {score.validator})"


def _verdict(score: Score) -> tuple[object, ...]:
    return score.passed, score.state_ok, score.reported_ok, score.cause, score.false_alarm


def _fields(card: Card, value: Mapping[str, Any], facts: Facts, judged: Judgement) -> Iterator[CardCheck]:
    again = CardMaker(facts, judged).card(card.candidate.name).model_dump(mode="json")
    if again["evaluation"]["mlflow_run"] is None:  # a bundle is written before its run has an id
        again["evaluation"]["mlflow_run"] = value["evaluation"].get("mlflow_run")
    grouped = {name for fields in _GROUPS.values() for name in fields}
    rest = [name for name in value if name not in grouped | _WRITING]
    other = "" if card.crosspath == __version__ else f"Crosspath {card.crosspath} wrote it, and this is {__version__}"
    for about, fields in (*_GROUPS.items(), ("configuration", rest)):
        kept = [name for name in fields if name in value and not (other and name in _WORDS)]
        yield differences(f"bundle: {about}", _compared(value, again, kept), "as the bundle gives it", other_version=other)


def _compared(value: Mapping[str, Any], again: Mapping[str, Any], fields: Sequence[str]) -> list[CardDifference]:
    return [one for name in fields for one in difference(value[name], again[name], name)]
