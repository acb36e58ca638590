"""The report on a terminal: every line fits, nothing but text, and the same facts as in the other forms."""

import pytest

from builders import evaluation
from crosspath.catalogue import suite_text
from crosspath.pipeline.judge import judge
from crosspath.reports.headlines import headlines
from crosspath.reports.terminal import report_terminal
from crosspath.testing.validator import FakeValidator
from crosspath.types import Control, Estimate, Facts, Judgement, Published, PublishedModel


@pytest.fixture(scope="module")
def judged() -> tuple[Facts, Judgement]:
    """Two candidates whose control holds; the first got no reply to one task."""
    facts, _ = evaluation(trials=2, fault=True)
    facts = facts.model_copy(update={"suites": (suite_text("exact"),)})
    found = judge(facts, FakeValidator())
    holds = Control(kind="encoded", status="holds", compared=6, trials=6)
    held = tuple(one.model_copy(update={"control": holds}) for one in found.decompositions)
    return facts, found.model_copy(update={"decompositions": held})


@pytest.mark.parametrize("width", [60, 80, 120])
def test_every_line_fits(judged: tuple[Facts, Judgement], width: int) -> None:
    """In narrow and in wide terminals no line is longer than the terminal, and there are no control characters."""
    text = report_terminal(*judged, width)
    assert max(map(len, text.splitlines())) <= width
    assert text.isprintable() or set(filter(lambda one: not one.isprintable(), text)) == {"\n"}


def test_a_candidate_has_all_on_one_screen(judged: tuple[Facts, Judgement]) -> None:
    """Headline with how sure and what next, the 2x2, effects with intervals, the funnel and where trials went."""
    text = report_terminal(*judged, 150)
    first = text[text.index("== oracle on nested-shell") : text.index("== adaptive on nested-shell")]
    [told, _] = headlines(*judged)
    flat = " ".join(first.split())
    for words in (told.sentence, f"How sure: {told.sure}", f"Next: {told.next_step}", "Control: encoded control holds"):
        assert " ".join(words.split()) in flat
    for words in ("done on raw", "0 of 4 right, 0.0 % (+2 without a verdict)", "damage", "matched gap", "lost to the path"):
        assert words in first
    assert "a reply came back" in first
    assert len(first.splitlines()) < 50


def test_bars_are_left_out_where_there_is_no_room(judged: tuple[Facts, Judgement]) -> None:
    """A wide terminal draws intervals and counts as bars, a narrow one keeps the numbers alone."""
    assert "####" in report_terminal(*judged, 120)
    assert "####" not in report_terminal(*judged, 70)


def test_an_interval_is_drawn_between_its_ends(judged: tuple[Facts, Judgement]) -> None:
    """The scale goes from -100 to 100 points: the value where it belongs, its interval around it."""
    facts, judgement = judged
    one = judgement.decompositions[0]
    half = Estimate(value=-0.5, low=-1.0, high=0.0, n=9, estimand="task_population", method="t")
    effects = tuple(effect.model_copy(update={"population": half, "together": None}) for effect in one.effects[:1])
    changed = judgement.model_copy(update={"decompositions": (one.model_copy(update={"effects": effects}),)})
    assert "-----o-----.........." in report_terminal(facts, changed, 120)


def test_a_broken_control_forbids_effects(judged: tuple[Facts, Judgement]) -> None:
    """What may not be used says so before anything else and above its numbers."""
    facts, judgement = judged
    broken = Control(kind="encoded", status="broken", compared=2, reason="2 differ every time")
    one = judgement.decompositions[0].model_copy(update={"control": broken})
    text = report_terminal(facts, judgement.model_copy(update={"decompositions": (one,)}), 120)
    assert text.splitlines()[3].startswith("! oracle: NO VERDICT, the control is broken")
    assert "effect: NOT TO BE USED" in text


def test_hostile_texts_are_shown_not_obeyed(judged: tuple[Facts, Judgement]) -> None:
    """Escape sequences, line ends and markup of rich in names and warnings are text of one line."""
    facts, judgement = judged
    evil = "\x1b[31mred\x1b[0m\n== forged [bold]x[/bold] \u202e"
    one = judgement.decompositions[0].model_copy(update={"candidate": evil})
    text = report_terminal(facts, judgement.model_copy(update={"decompositions": (one,), "warnings": (evil,)}), 120)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n== forged" not in text
    assert "[bold]x[/bold]" in text


def test_published_counts_stand_apart(judged: tuple[Facts, Judgement]) -> None:
    """A published table has a heading of its own, its citation, and no part in any number."""
    model = PublishedModel(model="theirs", n=56, passed={"RR": 50, "RN": 14, "NN": 48})
    table = Published(name="bench", citation="Somebody 2026, table 2", models=(model,), sha256="0" * 64, imported_at=0.0)
    text = report_terminal(*judged, 120, [table])
    assert "== published beside it: bench" in text
    assert "Not measured here, and part of no number above. Source: Somebody 2026, table 2." in text
    assert "50/56" in text
