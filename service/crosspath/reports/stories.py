"""Failing tasks, each as the shortest story: instruction, reply, what the path made of it, how it ended, what differs.

Everything in a story is a stored fact. What layers do inside the sandbox is not stored, so there the story says where to look.
"""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from crosspath.escaping import markdown, one_line
from crosspath.reports.actions import actions_of, ended, interpreted_inside, literal
from crosspath.reports.blocks import code_span, fenced, shortened
from crosspath.reports.cause_words import cause_words
from crosspath.reports.failing import Failing, Place, chosen, failing, place_of
from crosspath.reports.told import told
from crosspath.scoring.state_diff import state_rows
from crosspath.types import Facts, Judgement, Replay, Reply, Story, Trial

MOST_STORIES = 12
"""So many are told in a report; the rest is counted."""
MOST_LINES, MOST_CHARACTERS = 200, 6_000
"""Longest part of a story."""
SHOWN_LINES, SHOWN_CHARACTERS = 16, 1_200
"""Longest part of a story in a report."""
_DECODER = "decode:"


def stories(facts: Facts, judgement: Judgement, most: int | None = None) -> tuple[Story, ...]:
    """One for each task that fails for a candidate as deployed, or the ``most`` that differ most; candidates and tasks in order.

    A trial without a verdict, one that is unstable on its path, and a task that can't be done are in none.
    """
    found = failing(facts, judgement)
    return _told_of(facts, found if most is None else chosen(found, most))


def stories_section(facts: Facts, judgement: Judgement) -> str:
    """A few stories as Markdown, the rest counted with the command that shows one; empty where no task fails."""
    found = failing(facts, judgement)
    if not found:
        return ""
    told_of = _told_of(facts, chosen(found, MOST_STORIES))
    disclosures = {one.contract: one.disclosure for one in told_of if one.disclosure}
    parts = [
        "## Failing tasks, each as a short story\n",
        *(_part(f"What {name} tells of the path", words) for name, words in disclosures.items()),
        *map(story_text, told_of),
        _rest(facts, found, told_of),
    ]
    return "\n".join(part for part in parts if part)


def _rest(facts: Facts, found: Sequence[Failing], shown: Sequence[Story]) -> str:
    """The failing tasks without a story: how many, and how to see one."""
    seen = {(one.candidate, one.task) for one in shown}
    rest = [one for one in found if (one.cell.candidate, one.task.id) not in seen]
    if not rest:
        return ""
    count = f"{len(rest)} more failing tasks are" if len(rest) > 1 else "One more failing task is"
    how = code_span("crosspath show EVALUATION TASK --candidate NAME")
    return f"{count} shown by {how}, for instance {code_span(_command(facts, rest[0]))}.\n"


# -- one story -------------------------------------------------------------------------------------------------------------


def _told_of(facts: Facts, found: Sequence[Failing]) -> tuple[Story, ...]:
    wanted = {place_of(one.score.key) for one in found}
    trials = {(one.key.generation, one.key.task, one.key.index): one for one in facts.trials}
    replays = dict(_firsts(facts.replays, wanted))
    disclosures = {name: words["disclosure"] for name, words in told(facts, [one.cell.contract for one in found]).items()}
    stories: list[Story] = []
    for one in found:
        generation, _, task, index = place = place_of(one.score.key)
        trial, replay = trials.get((generation, task, index)), replays.get(place)
        if trial and trial.reply and replay:
            about = disclosures[one.cell.contract] if one.cell.told == "N" else ""
            stories.append(_story(facts, one, trial, replay, about))
    return tuple(stories)


def _firsts(replays: Iterable[Replay], wanted: set[Place]) -> Iterator[tuple[Place, Replay]]:
    for replay in replays:
        if not replay.key.repeat and not replay.key.encoded and (place := place_of(replay.key)) in wanted:
            yield place, replay


def _story(facts: Facts, one: Failing, trial: Trial, replay: Replay, disclosure: str) -> Story:
    actions = list(actions_of(replay))
    number, action = _telling(actions)
    texts = {
        "reason": one.score.reason,
        "instruction": "\n".join([*(f"{each.role}: {each.content}" for each in one.task.messages), one.task.instruction]),
        "disclosure": disclosure,
        "reply": _reply_text(trial.reply) if trial.reply else "",
        "ended": _ended(one, replay, actions, number),
        "output": _output(action),
        "difference": _difference(one, replay),
        **(_hop(action) if action else {}),
    }
    return Story(
        candidate=one.cell.candidate,
        told=one.cell.told,
        done=one.cell.done,
        contract=one.cell.contract,
        transport=one.cell.transport,
        task=one.task.id,
        family=one.task.family,
        trial=trial.key.index,
        failed=one.failed,
        trials=one.trials,
        cause=one.cause,
        silent=one.score.silent_wrong,
        command=_command(facts, one),
        **{name: shortened(text, MOST_LINES, MOST_CHARACTERS) for name, text in texts.items()},
    )


def _telling(actions: Sequence[dict[str, Any]]) -> tuple[int, dict[str, Any] | None]:
    """The command to tell about: the first that failed, else the first that a layer changed, else the first."""
    if not actions:
        return 0, None
    failed = (number for number, each in enumerate(actions) if each["timed_out"] or each["exit_code"] != 0)
    changed = (number for number, each in enumerate(actions) if _first_change(each["hops"]))
    number = next(failed, next(changed, 0))
    return number, actions[number]


def _reply_text(reply: Reply) -> str:
    calls = [f"call {call.name} {call.arguments}" for call in reply.tool_calls]
    return "\n".join([*([reply.text] if reply.text else []), *calls])


def _first_change(hops: Sequence[dict[str, str]]) -> int | None:
    """Number of the first hop behind the decoder whose text is not that of the one before."""
    decoded = max((number for number, hop in enumerate(hops) if hop["layer"].startswith(_DECODER)), default=0)
    return next((number for number in range(decoded + 1, len(hops)) if hops[number]["text"] != hops[number - 1]["text"]), None)


def _hop(action: dict[str, Any]) -> dict[str, str]:
    """What the path made of the text, as far as it is stored."""
    hops = action["hops"]
    number = _first_change(hops)
    if number is None:
        return {"unseen": _unseen(action)}
    last = hops[-1]["text"]
    return {
        "layer": hops[number]["layer"],
        "before": literal(hops[number - 1]["text"]),
        "after": literal(hops[number]["text"]),
        "handed": literal(last) if last != hops[number]["text"] else "",
        "unseen": _unseen(action) if interpreted_inside(action) else "",
    }


def _unseen(action: dict[str, Any]) -> str:
    if not action["hops"]:
        return "the whole reply was given to the harness"
    if interpreted_inside(action):
        return "further layers interpret it inside the sandbox: crosspath transports try shows what they make of a text"
    return "it was executed as it came"


def _ended(one: Failing, replay: Replay, actions: Sequence[dict[str, Any]], number: int) -> str:
    problem = replay.delivery.problem
    beside = f" ({problem.replace('_', ' ')}: {replay.delivery.reason})" if problem and problem != one.cause else ""
    if not actions:
        return f"nothing was run{beside}"
    which = f"command {number + 1} of {len(actions)}: " if len(actions) > 1 else ""
    return f"{which}{ended(actions[number])}{beside}"


def _output(action: dict[str, Any] | None) -> str:
    return literal((action["stderr"] or action["stdout"]) if action else "").removesuffix("\n")


def _difference(one: Failing, replay: Replay) -> str:
    """Paths that differ, each with its diff, the one with the shortest diff first."""
    rows = [row for row in state_rows(one.task, replay, one.score) if not row["equal"]]
    rows.sort(key=lambda row: len(row.get("diff", ())))
    lines = [line for row in rows for line in (f"=== {row['path']}", *_without_place(row.get("diff", ())))]
    return "\n".join(one_line(line, keep="\t") for line in lines)


def _without_place(diff: Sequence[str]) -> Sequence[str]:
    """Where the lines stand matters only if there are several places."""
    places = [line for line in diff if line.startswith("@@")]
    return [line for line in diff if line not in places] if len(places) == 1 else diff


def _command(facts: Facts, one: Failing) -> str:
    index = one.score.key.trial.index
    words = ["crosspath", "show", facts.head.id, one.task.id, "--candidate", one.cell.candidate]
    return shlex.join(words + (["--trial", str(index)] if index else []))


# -- for a report ----------------------------------------------------------------------------------------------------------


def story_text(story: Story) -> str:
    """One story as Markdown, no part of it longer than a report holds."""
    return "\n".join([f"### {markdown(f'{story.candidate}: {story.task}')}\n", *_parts(story)])


def _parts(story: Story) -> Iterator[str]:
    yield markdown(_opening(story)) + "\n"
    yield _part("Instruction", story.instruction)
    yield _part("Reply", story.reply) if story.reply.strip() else f"Reply: {code_span(story.reply)}.\n"
    yield from _path_parts(story)
    yield f"How it ended: {markdown(story.ended)}" + (", and it wrote:\n" if story.output else ".\n")
    if story.output:
        yield _block(story.output)
    if story.difference:
        yield _part("What differs in the final state (- expected, + found)", story.difference, "diff")
    yield f"Hop by hop: {code_span(story.command)}\n"


def _opening(story: Story) -> str:
    silent = ", although the path told that all is well" if story.silent else ""
    why = f" ({story.reason})" if story.reason else ""
    which = "" if story.trials == 1 else f" {story.failed} of {story.trials} trials fail; this is trial {story.trial}."
    return f"{cause_words(story.cause)}{silent}{why}.{which} Told {story.contract}, run on {story.transport}."


def _path_parts(story: Story) -> Iterator[str]:
    if story.layer:
        if story.before != story.reply:
            yield _part("What came to the path", story.before)
        yield _part(f"What {story.layer} made of it", story.after)
        if story.handed:
            yield _part("What was executed in the end", story.handed)
    if story.unseen:
        yield f"What the path made of it: {markdown(story.unseen)}.\n"


def _part(title: str, text: str, language: str = "text") -> str:
    return f"{markdown(title)}:\n\n{_block(text, language)}"


def _block(text: str, language: str = "text") -> str:
    return fenced(shortened(text, SHOWN_LINES, SHOWN_CHARACTERS), language)
