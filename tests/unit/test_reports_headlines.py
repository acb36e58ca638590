"""What a reader meets first: right and lost in plain words, how sure, and one thing to do."""

import pytest

from builders import evaluation
from crosspath.analysis.losses import PLACES, losses_of
from crosspath.reports.headlines import headlines
from crosspath.types import (
    Cell,
    Control,
    Decomposition,
    Estimate,
    Facts,
    FormatDamage,
    Headline,
    Judgement,
    Loss,
    Losses,
    Side,
    Spend,
)

CODES = ("RR", "RN", "NR", "NN")
SHARE = Estimate(value=0.37, low=0.2, high=0.5, n=108, estimand="task_population", method="t on 28 family means")
SIDES: tuple[tuple[Side, Side], ...] = (("R", "R"), ("R", "N"), ("N", "N"))
BROKEN = Control(kind="encoded", status="broken", compared=9, reason="3 differ every time")
HOLDS = Control(kind="encoded", status="holds", compared=108, trials=108)


def lost(kept: int = 61, share: Estimate = SHARE, **places: int) -> Losses:
    """Losses of a candidate that was told and run its own way; ``kinds``: the usual ones."""
    numbers: dict[Loss, int] = {name: places.get(name, 0) for name in PLACES}
    kind = {"path": "wrong_state", "model": "wrong_state", "format": "contract_error", "infrastructure": "fault:rate_limit"}
    found: list[Loss] = [name for name, count in numbers.items() if count]
    return Losses(
        candidate="oracle", told="N", done="N", attempted=kept + sum(numbers.values()), kept=kept, lost=numbers,
        kinds={name: {kind[name]: numbers[name]} for name in found},
        tasks=dict.fromkeys(found, ("write-bytes/price",)),
        examples=dict.fromkeys(found, ("write-bytes/price", 1)),
        shares={name: share for name in found if name != "infrastructure"},
    )  # fmt: skip


def headline(
    losses: Losses, control: Control = HOLDS, facts: Facts | None = None, blind: bool = False, **update: object
) -> Headline:
    """The headline of one candidate with these losses; ``update``: other fields of the judgement."""
    facts = facts or evaluation()[0]
    scored = losses.attempted - losses.lost["infrastructure"]
    rate = Estimate(value=0.9, low=0.8, high=1.0, n=scored, estimand="task_population", method="t on 28 family means")
    cells = [
        Cell(
            told=told, done=done, contract="nested" if told == "N" else "raw", transport="nested-shell" if done == "N" else "raw",
            planned=losses.attempted, scored=scored, passed=0 if blind else losses.kept, faults=losses.attempted - scored,
            unstable=0, rate=rate, silent_wrong=rate, population=rate,
        )
        for told, done in SIDES
    ]  # fmt: skip
    decomposition = Decomposition(candidate="oracle", cells=tuple(cells), effects=(), control=control)
    judgement = Judgement(scores=(), decompositions=(decomposition,), spend=Spend(), losses=(losses,))
    [found] = headlines(facts, judgement.model_copy(update=update))
    assert not [code for code in CODES if code in f"{found.sentence} {found.sure} {found.next_step}"]
    return found


def test_one_sentence_says_what_is_right_and_where_the_rest_is_lost() -> None:
    """Counts of tasks, the four places in one order, and no cell codes."""
    found = headline(lost(path=40, model=4, format=2, infrastructure=1))
    assert found.sentence == (
        "oracle on nested-shell gets 61 of 108 tasks right as deployed: 40 are lost to the path, 4 to the model, 2 to the format"
        " and 1 to the infrastructure."
    )
    several = evaluation(trials=2)[0]
    assert " of 108 trials right" in headline(lost(path=47), facts=several).sentence
    assert headline(lost(path=1)).sentence.endswith("61 of 62 tasks right as deployed: 1 is lost to the path.")
    assert headline(lost(0, path=9)).sentence.endswith("none of 9 tasks right as deployed: all 9 are lost to the path.")


def test_a_score_that_hides_a_broken_path_says_so() -> None:
    """What the model makes up for, and what telling broke, stand in the sentence."""
    made_up = lost(108).model_copy(update={"made_up": 81})
    assert headline(made_up).sentence == (
        "oracle on nested-shell gets all 108 tasks right as deployed (81 of them only because it was told about the path and"
        " writes around it): nothing is lost."
    )
    told = lost(100, model=8).model_copy(update={"told_worse": 5})
    assert "8 are lost to the model (5 of them right on the same path when it is told nothing)." in headline(told).sentence
    other = lost(75, path=33).model_copy(update={"not_made_up": 30})
    assert (
        "33 are lost to the path (in 30 of them the path breaks the plain reply, and what the model wrote"
        in headline(other).sentence
    )


def test_how_sure_is_observed_trials_an_interval_and_the_control() -> None:
    """Missing trials with worst and best case, the interval of the biggest loss, and whether the instrument works."""
    assert headline(lost(path=47)).sure == (
        "All 108 were observed. Expect 20.0 % to 50.0 % lost to the path in other task families like these (95 % sure for all"
        " candidates together). The control holds on all 108: the instrument itself changes nothing."
    )
    missing = headline(lost(path=40, infrastructure=7)).sure
    assert missing.startswith("101 of 108 have a verdict (7 missing: rate limit): at worst 61, at best 68 are right. Expect ")
    alone = SHARE.model_copy(update={"low": None, "high": None, "method": "no interval: one family says nothing about others"})
    assert "can't be said: one family says nothing about others." in headline(lost(path=47, share=alone)).sure
    assert "Expect at least 80.0 % right in other task families" in headline(lost(108)).sure


def test_why_nothing_may_be_concluded() -> None:
    """A broken control, a blind one, a missing one, and fewer than half observed are said in place of certainty."""
    broken = headline(lost(path=47), BROKEN)
    assert broken.sentence.endswith("right as deployed. Where the wrong ones were lost can't be told.")
    assert broken.sure.startswith("Nothing may be concluded: the control is broken (3 differ every time)")
    thin = headline(lost(3, path=5, infrastructure=100)).sure
    assert thin.startswith(
        "Nothing may be concluded: only 8 of 108 trials (told raw, run on raw) have a verdict, fewer than half."
    )
    assert "not one trial" in headline(lost(0, infrastructure=5)).sure
    assert "what the path breaks can't be seen" in headline(lost(0, model=9), blind=True).sure
    missing = Control(kind="encoded", status="missing", compared=0)
    assert "Not proven: there is no control" in headline(lost(path=47), missing).sure


@pytest.mark.parametrize(
    ("losses", "control", "command", "words"),
    [
        (lost(path=47), BROKEN, "crosspath transports diagnose nested-shell", "mend the harness or the instrument"),
        (lost(path=1, infrastructure=9), HOLDS, "", "the same command again: it asks only for what is missing"),
        (lost(path=40), HOLDS, "crosspath replay quoting-20261129-1 --all-transports", "then crosspath recommend"),
        (lost(format=40, path=1), HOLDS, "", "set harness: fenced-block"),
        (
            lost(model=40),
            HOLDS,
            "crosspath show quoting-20261129-1 write-bytes/price --candidate oracle --trial 1",
            "another model or contract",
        ),
        (lost(model=40, share=SHARE.model_copy(update={"low": 0.0})), HOLDS, "crosspath plan SPEC", "more task families"),
        (lost(), HOLDS, "", "nothing to mend"),
    ],
)
def test_the_next_step_is_one_command_or_setting(losses: Losses, control: Control, command: str, words: str) -> None:
    """The first rule that applies: instrument, what is missing, and then the biggest loss; the model's only where it is sure."""
    found = headline(losses, control)
    assert (found.command, words in found.next_step) == (command, True)
    assert found.command in found.next_step


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("fault:budget", "raise the limits"),
        ("fault:not_recorded", "crosspath prompts SPEC --json"),
        ("fault:missing_program", "crosspath doctor SPEC"),
        ("unstable", "make the racy task or command steady: it is shown by crosspath show"),
    ],
)
def test_what_is_missing_is_brought_by_what_caused_it(kind: str, words: str) -> None:
    """A limit, a recording, a program and a racy command each have a remedy of their own."""
    losses = lost(infrastructure=20).model_copy(update={"kinds": {"infrastructure": {kind: 20}}})
    assert words in headline(losses).next_step


def test_the_clean_up_that_was_measured_is_proposed() -> None:
    """Fences that nobody takes off: take them off; a clean-up that breaks replies: drop it; neither: look at one."""
    measured = FormatDamage(candidate="oracle", told="N", done="N", own="none", strict="none", cleaned="fenced-block", lost=9)
    measured = measured.model_copy(update={"replies": 40, "changed": 12})
    step = headline(lost(format=40), format_damage=(measured,)).next_step
    assert "harness: fenced-block" in step
    assert step.endswith(": 12 of 40 replies come out differently then, and 9 of those are right only then")
    harmful = measured.model_copy(update={"own": "fenced-block", "lost": 0, "gained": 9})
    assert "harness: none" in headline(lost(format=40), format_damage=(harmful,)).next_step
    neither = measured.model_copy(update={"lost": 0})
    assert headline(lost(format=40), format_damage=(neither,)).command.startswith("crosspath show")


def test_what_the_model_was_told_is_looked_at_first() -> None:
    """Told of another path, told to its harm, or cut off: a setting, before another model is tried."""
    cut = lost(model=9).model_copy(update={"kinds": {"model": {"truncated": 9}}})
    assert "max_tokens" in headline(cut).next_step
    worse = lost(model=9).model_copy(update={"told_worse": 8})
    assert "tell the model nothing of the path" in headline(worse).next_step


def test_names_are_quoted_in_commands() -> None:
    """A task or candidate whose name a shell would read otherwise stands between quotes."""
    losses = lost(model=40).model_copy(update={"examples": {"model": ("a b/$(rm)", 0)}})
    assert "'a b/$(rm)'" in headline(losses).command


def test_tasks_that_cant_be_done_have_no_losses() -> None:
    """A candidate that was asked for nothing that can be done is told by how it declines."""
    nothing = losses_of("oracle", "N", "N", [])
    found = headline(nothing)
    assert found.sentence == "oracle on nested-shell was given no task that can be done: only declining is measured."
    assert "read how it declines" in found.next_step


def test_a_judgement_from_before_has_no_headlines() -> None:
    """Where losses were never told apart nothing is said, rather than something wrong."""
    facts, judgement = evaluation()
    assert headlines(facts, judgement) == ()
