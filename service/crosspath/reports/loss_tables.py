"""Where a candidate's trials went, place by place, as a table."""

from collections.abc import Iterator

from crosspath.analysis.wording import NONE, table, with_interval
from crosspath.reports.cause_words import causes_counted
from crosspath.reports.headlines import PLACE_WORDS
from crosspath.types import Judgement, Loss, Losses

_NOTE = (
    "The mean counts each family the same. The intervals hold together over all candidates and places with 95 % confidence, for"
    " task families like these."
)
MOST_TASKS = 4
"""Tasks of a place that are named; the rest are counted."""


def losses_table(judgement: Judgement, candidate: str) -> str:
    """Kept trials and those that are lost to each place, with why and where; empty where nothing is known or planned."""
    found = next((one for one in judgement.losses if one.candidate == candidate), None)
    if found is None or not found.attempted:
        return ""
    head = ["place", "trials", "of scored: mean over families, 95 % together", "why", "tasks"]
    return "Where the trials went, as deployed:\n\n" + table(head, [_kept(found), *_rows(found)]) + _note(found)


def _kept(losses: Losses) -> list[object]:
    aside = f"{losses.made_up} where the plain reply breaks on this path" if losses.made_up else NONE
    return ["right", f"{losses.kept} of {losses.attempted}", NONE, aside, NONE]


def _rows(losses: Losses) -> Iterator[list[object]]:
    for place, words in PLACE_WORDS.items():
        share = losses.shares.get(place)
        yield [
            f"lost to {words}",
            losses.lost[place],
            with_interval(share, signed=False) if share else NONE,
            ", ".join(_reasons(losses, place)) or NONE,
            _tasks(losses, place),
        ]


def _reasons(losses: Losses, place: Loss) -> Iterator[str]:
    if kinds := losses.kinds.get(place):
        yield causes_counted(kinds)
    if place == "path" and losses.not_made_up:
        yield f"{losses.not_made_up} where the reply is wrong on the reference, too, and the plain one breaks here"
    if place == "model" and losses.told_worse:
        yield f"{losses.told_worse} right here when told nothing"
    if place == "model" and losses.unmatched:
        yield f"{losses.unmatched} with no plain reply to compare with"


def _tasks(losses: Losses, place: Loss) -> str:
    tasks = losses.tasks.get(place, ())
    more = f" and {len(tasks) - MOST_TASKS} more" if len(tasks) > MOST_TASKS else ""
    return ", ".join(tasks[:MOST_TASKS]) + more if tasks else NONE


def _note(losses: Losses) -> str:
    if not losses.shares:
        return ""
    return f"\n{_NOTE}\n"
