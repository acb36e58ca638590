"""A small evaluation of recorded replies, run for real once: stages, formats, validators and stories follow from its facts."""

import json
import shlex
from pathlib import Path

import pytest

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.app.showing import select, show_document, show_text
from crosspath.reports.stories import stories, stories_section
from crosspath.types import Story

PRICE = "costs $5"
HOSTILE = "Write the price.\n```\n# not a heading\n</code><script>alert(1)</script>\n"
REPLIES = {
    "price": f"printf %s '{PRICE}' > out.txt",
    "fence": "```bash\nprintf %s plain > out.txt\n```\nThis writes plain > out.txt\n",
    "cut": "printf %s 'plain",
    "refused": "I'm sorry, I can't help with that.",
    "empty": "",
    "right": "printf %s plain > out.txt",
    "extra": "printf %s plain > out.txt; touch notes.txt",
}
CAUSES = {"price": "wrong_state", "cut": "truncated", "refused": "refusal", "empty": "empty", "extra": "extra_files"}
"""What the replies fail of on the nested shell; that of ``fence``, whose last line is taken for a command, is the shell's."""


def _task(name: str) -> dict[str, object]:
    expected = PRICE if name == "price" else "plain"
    return {
        "id": name,
        "family": f"family-{name}",
        "tier": int(name != "right"),
        "hazards": ["dollar"] if name == "price" else [],
        "instruction": HOSTILE if name == "price" else "Write plain.",
        "fixture": {"out.txt": "nothing\n"},
        "expected": {"out.txt": expected},
    }


def _recorded(name: str, contract: str, trial: int) -> dict[str, object]:
    """The second reply to ``extra`` leaves nothing else behind."""
    text = REPLIES["right"] if (name, trial) == ("extra", 1) else REPLIES[name]
    reason = "length" if name == "cut" else "stop"
    return {"model": "m", "task": name, "contract": contract, "trial": trial, "reply": text, "finish_reason": reason}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the evaluation is kept."""
    return tmp_path_factory.mktemp("where") / "store"


@pytest.fixture(scope="module")
def evaluation(store: Path) -> Evaluation:
    """Two trials of each task, told about the nested shell and run on it."""
    base = store.parent
    lines = [_recorded(name, told, trial) for name in REPLIES for told in ("raw", "nested-shell") for trial in (0, 1)]
    (base / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (base / "tasks.jsonl").write_text("".join(json.dumps(_task(name)) + "\n" for name in REPLIES))
    spec = {
        "name": "where",
        "defaults": {"contract": "nested-shell", "transport": "nested-shell"},
        "candidates": {"c": "recorded/replies.jsonl"},
        "tasks": {"files": ["tasks.jsonl"]},
        "trials": 2,
    }
    (base / "spec.yaml").write_text(json.dumps(spec))
    return crosspath.evaluate(base / "spec.yaml", store=store, executor="local", track=False)


@pytest.fixture(scope="module")
def told(evaluation: Evaluation) -> dict[str, Story]:
    """The story of each failing task."""
    return {one.task: one for one in evaluation.stories}


def test_every_failing_task_has_a_story_with_its_cause(told: dict[str, Story]) -> None:
    """And the one that passes has none."""
    assert set(told) == set(REPLIES) - {"right"}
    assert {name: told[name].cause for name in CAUSES} == CAUSES
    assert {(one.candidate, one.contract, one.transport, one.told, one.done) for one in told.values()} == {
        ("c", "nested-shell", "nested-shell", "N", "N")
    }


def test_a_story_follows_the_reply_to_the_difference(told: dict[str, Story]) -> None:
    """What was told, what was replied, which layer changed it first and into what, how it ended, which bytes are wrong."""
    one = told["price"]
    assert one.instruction.startswith("Write the price.")
    assert "double quotes of bash -c" in one.disclosure
    assert one.reply == one.before == REPLIES["price"]
    assert (one.layer, one.after, one.handed) == ("double-quoted-shell", f'bash -c "{REPLIES["price"]}"', "")
    assert (one.ended, one.output, one.silent) == ("exit 0", "", True)
    assert one.difference.split("\n") == [
        "=== out.txt",
        "- costs $5",
        "\\ no newline at the end",
        "+ costs ",
        "\\ 1 blank at the end",
        "\\ no newline at the end",
    ]
    assert (one.failed, one.trials) == (2, 2)


def test_a_reply_without_a_command_says_that_nothing_was_run(told: dict[str, Story]) -> None:
    """There is nothing that a path could have made of it."""
    one = told["empty"]
    assert (one.reply, one.ended, one.layer) == ("", "nothing was run", "")
    assert one.difference.split("\n")[:2] == ["=== out.txt", "- plain"]


def test_a_failing_program_is_told_with_what_it_wrote(told: dict[str, Story]) -> None:
    """Exit status and standard error."""
    one = told["refused"]
    assert one.ended == "exit 127"
    assert "command not found" in one.output


def test_the_story_is_told_by_a_trial_that_fails(told: dict[str, Story]) -> None:
    """Of two trials one passes; the other one tells, and says so."""
    one = told["extra"]
    assert (one.trial, one.failed, one.trials) == (0, 1, 2)
    assert one.difference.split("\n")[0] == "=== notes.txt"


def test_the_command_of_a_story_shows_that_trial(evaluation: Evaluation, told: dict[str, Story]) -> None:
    """As it is typed it names task, candidate and trial."""
    for one in told.values():
        program, command, id_, task, flag, candidate, *trial = shlex.split(one.command)
        assert (program, command, id_, flag) == ("crosspath", "show", evaluation.id, "--candidate")
        found = select(evaluation.facts, task, candidate=candidate, trial=int(trial[1]) if trial else 0)
        assert one.task in show_text(show_document(evaluation, found))


def test_stories_of_a_report_show_foreign_text_as_text(evaluation: Evaluation) -> None:
    """A fence in an instruction ends no block, and markup in it stays inside."""
    text = stories_section(evaluation.facts, evaluation.judgement)
    inside = text[text.index("````text\nWrite the price.") :]
    assert inside[: inside.index("\n````\n")].count("<script>") == 1
    assert text.count("<script>") == 1
    assert "1 of 2 trials fail; this is trial 0." in text


def test_stages_count_every_trial_once(evaluation: Evaluation) -> None:
    """Refused, cut off and empty replies are told apart, and what the shell could not take."""
    rows = evaluation.funnels.query("cell == 'NN'").set_index("stage")
    assert rows["attempted"].tolist() == [14] * 5
    assert rows.loc["answered", "causes"] == "empty 2, refusal 2, truncated 2"
    assert rows["stopped"].sum() + rows.loc["right_state", "reached"] == 14
    assert rows.loc["right_state", "reached"] == 3


def test_a_fence_that_the_path_can_not_take_is_format_damage(evaluation: Evaluation) -> None:
    """Both replies in a fence are right without it, found without a request, by replays beside the plan."""
    (found,) = evaluation.judgement.format_damage
    assert (found.replies, found.changed, found.strict_passed, found.cleaned_passed, found.lost) == (14, 2, 0, 2, 2)
    assert found.tasks == ("fence",)
    assert found.effect is not None
    assert found.effect.value == pytest.approx(-2 / 14)
    planned = {cell.path for cell in evaluation.facts.cells}
    assert sum(one.key.path not in planned for one in evaluation.facts.replays) == 2


def test_a_further_file_hangs_on_the_validator(evaluation: Evaluation) -> None:
    """``content`` does not mind it."""
    (found,) = evaluation.judgement.validator_sensitivity
    assert (found.own, found.other, found.compared, found.own_only, found.other_only) == ("exact", "content", 14, 0, 1)
    assert found.tasks == ("extra",)


def test_stored_facts_give_the_same_answers_again(evaluation: Evaluation, store: Path) -> None:
    """From the ledger, without a model and without a sandbox."""
    again = crosspath.load(evaluation.id, store=store)
    for name in ("funnels", "breakdowns", "format_damage", "validator_sensitivity"):
        assert getattr(again.judgement, name) == getattr(evaluation.judgement, name)
    assert stories(again.facts, again.judgement) == stories(evaluation.facts, evaluation.judgement)
