"""One story as plain text, for places that show neither Markdown nor a terminal's tables: a test's failure."""

from collections.abc import Iterator

from crosspath.reports.blocks import shortened
from crosspath.reports.cause_words import cause_words
from crosspath.types import Story

MOST_LINES, MOST_CHARACTERS = 16, 1_200
"""Longest part of it."""


def plain_story(story: Story) -> str:
    """Why the task fails, the reply, what the path made of it, how it ended, what differs, and the command that shows all."""
    return "\n".join(_lines(story))


def _lines(story: Story) -> Iterator[str]:
    silent = ", although the path told that all is well" if story.silent else ""
    which = "" if story.trials == 1 else f" ({story.failed} of {story.trials} trials fail; this is trial {story.trial})"
    yield f"{story.candidate} fails {story.task}: {cause_words(story.cause)}{silent}{which}"
    if story.reason:
        yield f"  {story.reason}"
    yield f"  told {story.contract}, run on {story.transport}"
    yield from _part("instruction", story.instruction)
    yield from _part("reply", story.reply)
    if story.layer:
        yield from _part("what came to the path", story.before if story.before != story.reply else "")
        yield from _part(f"what {story.layer} made of it", story.after)
        yield from _part("what was executed in the end", story.handed)
    if story.unseen:
        yield f"what the path made of it: {story.unseen}"
    yield f"how it ended: {story.ended}"
    yield from _part("it wrote", story.output)
    yield from _part("what differs in the final state (- expected, + found)", story.difference)
    yield f"all of it: {story.command}"


def _part(title: str, text: str) -> Iterator[str]:
    if text.strip():
        yield f"{title}:"
        yield from (f"    {line}" for line in shortened(text, MOST_LINES, MOST_CHARACTERS).split("\n"))
