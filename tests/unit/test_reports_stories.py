"""Stories of failing tasks: the right trial, few that differ, every part bounded, and no text that could break out."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from builders import evaluation, task
from crosspath.catalogue import suite_text
from crosspath.escaping import one_line
from crosspath.pipeline.judge import judge
from crosspath.reports.blocks import code_span, fenced, shortened
from crosspath.reports.failing import Failing, chosen, failing
from crosspath.reports.stories import MOST_STORIES, SHOWN_LINES, stories, stories_section, story_text
from crosspath.testing.validator import FakeValidator
from crosspath.types import Action, Command, Delivery, Facts, Hop, Judgement, Replay, Reply, Story, ToolCall

HOSTILE = st.text(alphabet=st.sampled_from("`~\n\t <>&|*#[]()\\\r\u2028\x1b\u202ea1-+=@"), max_size=60)


def made(**how: object) -> Facts:
    """``oracle`` fails two of three tasks as deployed."""
    facts, _ = evaluation(**{"names": ("oracle",), **how})  # pyright: ignore[reportArgumentType]
    return facts.model_copy(update={"suites": (suite_text("exact"),)})


def judged(facts: Facts) -> Judgement:
    """By the plain validator."""
    return judge(facts, FakeValidator())


def told(facts: Facts) -> tuple[Story, ...]:
    """All stories."""
    return stories(facts, judged(facts))


def changed(facts: Facts, **update: object) -> Facts:
    """The replays with other fields."""
    return facts.model_copy(update={"replays": tuple(one.model_copy(update=update) for one in facts.replays)})


def with_action(facts: Facts, *actions: Action) -> Facts:
    """Every replay delivers these commands; they all ended alike."""
    replays: list[Replay] = []
    for one in facts.replays:
        assert one.execution is not None
        execution = one.execution.model_copy(update={"results": one.execution.results[:1] * len(actions)})
        replays.append(one.model_copy(update={"delivery": Delivery(actions=actions), "execution": execution}))
    return facts.model_copy(update={"replays": tuple(replays)})


def action(*hops: tuple[str, str], argv: tuple[bytes, ...] = (b"bash", b"-c", b"x")) -> Action:
    """One command with what each hop made of its text."""
    return Action(command=Command(argv=argv), hops=tuple(Hop(layer=layer, text=text.encode()) for layer, text in hops))


# -- which -----------------------------------------------------------------------------------------------------------------


def test_each_failing_task_of_a_candidate_as_deployed_has_one_story() -> None:
    """Tasks in their order; with several trials the story says how many fail."""
    found = told(made(trials=3))
    assert [(one.task, one.failed, one.trials, one.trial) for one in found] == [
        ("write-bytes/price", 3, 3, 0), ("write-bytes/plain", 3, 3, 0), ("rename-file/dash", 3, 3, 0),
    ]  # fmt: skip


def test_the_trial_with_the_shortest_reply_tells() -> None:
    """Of those with the smallest difference."""
    facts = made(trials=2)
    short = tuple(
        one.model_copy(update={"reply": Reply(text="x")}) if one.key.index == 1 and one.reply else one for one in facts.trials
    )
    assert {one.trial for one in told(facts.model_copy(update={"trials": short}))} == {1}


def test_an_unstable_trial_tells_nothing() -> None:
    """A further replay that ended otherwise contradicts it."""
    facts = made()
    own = facts.cells[-1]
    first = next(one for one in facts.replays if (one.key.path, one.key.trial.generation) == (own.path, own.generation.digest))
    right = next(one for one in facts.replays if one.execution and one.key.trial == first.key.trial and one.key.path != own.path)
    assert right.execution is not None
    again = first.key.model_copy(update={"repeat": 1})
    execution = right.execution.model_copy(update={"key": again})
    repeated = first.model_copy(update={"key": again, "execution": execution})
    found = told(facts.model_copy(update={"replays": (*facts.replays, repeated)}))
    assert first.key.trial.task not in {one.task for one in found}
    assert len(found) == 2


def test_few_stories_cover_causes_candidates_and_families_first() -> None:
    """The first of each cause come before a second of any; what is always the same story comes last."""
    tasks = tuple(task(f"f{number % 3}/{number}", f"f{number % 3}", 1) for number in range(9))
    facts = made(tasks=tasks, names=("oracle", "naive"))
    found = failing(facts, judged(facts))
    causes = ["refusal"] * 5 + ["wrong_state"] * 3 + ["tool_error"]
    mixed = [
        Failing(one.cell, one.task, one.score.model_copy(update={"cause": causes[number % 9]}), one.failed, one.trials)
        for number, one in enumerate(found)
    ]
    assert {one.cause for one in chosen(mixed, 3)} == set(causes)
    assert [one.cause for one in chosen(mixed, 6)].count("refusal") == 1
    assert {one.cell.candidate for one in chosen(mixed, 4)} == {"oracle", "naive"}
    assert len({one.task.family for one in chosen(mixed, 4)}) == 3
    assert chosen(mixed, 100) == tuple(mixed)


def test_a_report_tells_a_few_and_counts_the_rest() -> None:
    """With the command that shows one more."""
    tasks = tuple(task(f"f/{number}", "f", 1) for number in range(MOST_STORIES + 4))
    facts = made(tasks=tasks)
    text = stories_section(facts, judged(facts))
    assert text.count("\n### ") == MOST_STORIES
    assert "4 more failing tasks are shown by" in text
    assert f"crosspath show {facts.head.id} f/{MOST_STORIES} --candidate oracle" in text


def test_where_nothing_fails_there_is_nothing_to_tell() -> None:
    """No heading either."""
    facts = made(names=("adaptive",))
    right = tuple(one for one in facts.replays if one.execution and one.execution.state.entries[0].content == b"costs $5")
    facts = facts.model_copy(update={"replays": right})
    assert stories_section(facts, judged(facts)) == ""
    assert told(facts) == ()


# -- what ------------------------------------------------------------------------------------------------------------------


def test_the_first_layer_that_changes_the_text_is_named_and_so_is_what_was_run() -> None:
    """Layers that leave it alone are passed over; a later change shows in what was executed."""
    hops = (("reply", "a"), ("same", "a"), ("first", "b"), ("second", "c"))
    (one, *_) = told(with_action(made(), action(*hops)))
    assert (one.layer, one.before, one.after, one.handed, one.unseen) == ("first", "a", "b", "c", "")


def test_a_decoder_takes_the_text_out_and_does_not_change_it() -> None:
    """What it hands to the path is where the path begins."""
    hops = (("reply", '{"command": "a"}'), ("decode:tools", "a"), ("quoted", "'a'"))
    (one, *_) = told(with_action(made(), action(*hops)))
    assert (one.layer, one.before, one.after) == ("quoted", "a", "'a'")
    assert "What came to the path" in story_text(one)


@pytest.mark.parametrize(
    ("what", "words"),
    [
        (action(("reply", "a"), ("shell", "a")), "executed as it came"),
        (action(("reply", "a"), argv=(b"python3", b"{packages}/inside")), "inside the sandbox"),
        (action(argv=(b"agent",)), "given to the harness"),
    ],
)
def test_what_can_not_be_seen_of_a_path_is_said(what: Action, words: str) -> None:
    """Nothing is made up about what layers do inside the sandbox, or a harness."""
    (one, *_) = told(with_action(made(), what))
    assert (one.layer, one.after) == ("", "")
    assert words in one.unseen
    assert words in story_text(one)


def test_of_several_commands_the_first_that_a_layer_changed_is_told() -> None:
    """Where none failed; the story says which of how many."""
    (one, *_) = told(with_action(made(), action(("reply", "a"), ("shell", "a")), action(("reply", "b"), ("quoted", "'b'"))))
    assert (one.ended, one.before) == ("command 2 of 2: exit 0", "b")


def test_calls_of_tools_are_the_reply() -> None:
    """With their arguments as they were received."""
    facts = made()
    reply = Reply(tool_calls=(ToolCall(id="1", name="run_shell", arguments='{"command": "a\\u0000"}'),))
    trials = tuple(one.model_copy(update={"reply": reply}) for one in facts.trials)
    (one, *_) = told(facts.model_copy(update={"trials": trials}))
    assert one.reply == 'call run_shell {"command": "a\\u0000"}'


def test_a_reply_that_was_not_told_about_its_path_has_nothing_to_disclose() -> None:
    """Only told-N replies were told anything."""
    facts = made()
    untold = facts.model_copy(update={"cells": tuple(cell for cell in facts.cells if cell.told == "R")})
    assert {one.disclosure for one in told(untold)} == {""}
    assert {bool(one.disclosure) for one in told(facts)} == {True}


# -- hostile text ----------------------------------------------------------------------------------------------------------


def _lines(text: str) -> list[str]:
    return [one_line(line, keep="\t") for line in text.removesuffix("\n").split("\n")]


@given(HOSTILE)
@example("```\n# x\n```")
@example("   ````")
@example("~~~")
def test_a_block_shows_every_line_and_nothing_gets_out(text: str) -> None:
    """CommonMark sees one block of code between two paragraphs, and in it all that was put there."""
    tokens = MarkdownIt().parse(f"before\n\n{fenced(text)}\nafter\n")
    assert [token.type for token in tokens if token.level == 0] == [
        "paragraph_open", "paragraph_close", "fence", "paragraph_open", "paragraph_close",
    ]  # fmt: skip
    (block,) = (token for token in tokens if token.type == "fence")
    assert block.content.split("\n")[:-1] == _lines(text)


@given(HOSTILE)
@example("``a``")
@example("`")
def test_a_span_of_code_is_one_span(text: str) -> None:
    """On one line, whatever is in it."""
    span = code_span(text)
    assert "\n" not in span
    (inline,) = (token for token in MarkdownIt().parse(f"see {span}, then") if token.type == "inline")
    assert [child.type for child in inline.children or ()] == ["text", "code_inline", "text"]


@given(st.text(max_size=400), st.integers(1, 6), st.integers(1, 60))
def test_a_long_text_is_cut_and_says_how_much_is_missing(text: str, most_lines: int, most_characters: int) -> None:
    """What is shown and what is said to be missing are all of it."""
    shown = shortened(text, most_lines, most_characters)
    visible = "\n".join(one_line(line, keep="\t") for line in text.split("\n"))
    if shown == visible:
        return
    *kept, note = shown.split("\n")
    assert len(kept) <= most_lines
    assert len("\n".join(kept)) <= most_characters
    assert visible.startswith("\n".join(kept))
    missing = int(note.removesuffix(" characters").removesuffix(" more").split()[-1])
    assert missing >= len(visible) - len("\n".join(kept)) - 1
    assert "more" in note


def test_every_part_of_a_story_in_a_report_is_bounded() -> None:
    """However long reply and output are."""
    (one, *_) = told(made())
    long = one.model_copy(update={"reply": "line\n" * 500, "output": "y" * 50_000, "before": "line\n" * 500})
    text = story_text(long)
    assert len(text.split("\n")) < 7 * (SHOWN_LINES + 8)
    assert "485 more lines" in text
    assert "48800 more characters" in text


def test_control_characters_are_visible_in_every_part() -> None:
    """No escape sequence reaches a terminal, no mark turns the direction of text."""
    facts = made()
    trials = tuple(
        one.model_copy(update={"reply": Reply(text="a\x1b[2J\u202eb\r\nc\udc80")}) for one in facts.trials if one.reply
    )
    for one in told(facts.model_copy(update={"trials": trials})):
        assert one.reply == "a\\x1b[2J\\u202eb\\r\nc\\udc80"
        assert one.model_dump_json()
        story_text(one).encode()


@given(HOSTILE)
def test_no_name_breaks_the_heading_of_a_story(name: str) -> None:
    """Candidate and task are foreign text, too."""
    (first, *_) = _STORY
    one = first.model_copy(update={"candidate": name or "x", "task": name or "x", "reason": name})
    tokens = MarkdownIt().parse(story_text(one))
    assert [token.type for token in tokens if token.type == "heading_open"] == ["heading_open"]
    assert not any(token.type in ("html_block", "table_open", "blockquote_open", "bullet_list_open") for token in tokens)


_STORY = told(made())
