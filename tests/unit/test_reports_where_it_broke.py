"""What a reader sees of stages, groups, formats and validators: bounded tables in plain words that no name can break."""

import pytest

from builders import TASKS, estimate, evaluation, task
from crosspath.analysis.breakdowns import breakdown_rows
from crosspath.analysis.funnels import funnel_rows
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import suite_text
from crosspath.pipeline.judge import judge
from crosspath.reports.breakdown_tables import MOST_GROUPS, breakdown_section, validator_sensitivity_section
from crosspath.reports.cause_words import cause_words, causes_counted
from crosspath.reports.format_tables import MOST_LINES, format_lines, format_section
from crosspath.reports.funnel_tables import funnel_section
from crosspath.testing.validator import FakeValidator
from crosspath.types import Facts, FormatDamage, Judgement, ValidatorSensitivity


def facts_of(**how: object) -> Facts:
    """Two candidates; one trial of the first has no reply."""
    made, _ = evaluation(fault=True, **how)  # pyright: ignore[reportArgumentType]
    return made.model_copy(update={"suites": (suite_text("exact"),)})


@pytest.fixture(scope="module")
def judged() -> Judgement:
    """Their judgement."""
    return judge(facts_of(), FakeValidator())


def format_damage(candidate: str = "c", **how: object) -> FormatDamage:
    """Of ten replies four are changed; three of these are right only when cleaned."""
    base: dict[str, object] = {
        "candidate": candidate, "told": "N", "done": "N", "own": "none", "strict": "none", "cleaned": "fenced-block",
        "replies": 10, "changed": 4, "scored": 4, "strict_passed": 1, "cleaned_passed": 4, "lost": 3, "gained": 0,
        "effect": estimate(-0.3), "population": estimate(-0.3), "tasks": ("a", "b"),
    }  # fmt: skip
    return FormatDamage.model_validate(base | how)


def with_(judgement: Judgement, **parts: object) -> Judgement:
    """The judgement with other parts."""
    return judgement.model_copy(update=parts)


def with_control(judgement: Judgement, status: str) -> Judgement:
    """The judgement with such a control for every candidate."""
    decompositions = tuple(
        one.model_copy(update={"control": one.control.model_copy(update={"status": status})}) for one in judgement.decompositions
    )
    return with_(judgement, decompositions=decompositions)


# -- stages ----------------------------------------------------------------------------------------------------------------


def test_a_funnel_is_a_table_of_stages_by_cells(judged: Judgement) -> None:
    """In words, with what stopped how many; each cell says what was told and where it ran."""
    text = funnel_section(judged, "oracle")
    assert "RN: told raw, run on nested-shell" in text
    assert "| attempted | 3 | 3 | 3 | 3 |" in text
    assert "| a reply came back | 2 (-1: 1 fault (server\\_error)) |" in text.replace("server_error", "server\\_error")
    assert "| it passes: the final state is right | 2 | 0 (-2: 2 wrong state)" in text


def test_a_candidate_without_trials_has_no_funnel(judged: Judgement) -> None:
    """Nothing is said where there is nothing to say, as for a judgement from before there were funnels."""
    assert funnel_section(judged, "nobody") == ""
    assert funnel_section(with_(judged, funnels=()), "oracle") == ""


def test_every_cell_but_the_control_is_a_funnel_that_agrees_with_its_counts(judged: Judgement) -> None:
    """Passed, faults and causes of funnels and groups are those of the cells."""
    for decomposition in judged.decompositions:
        for cell in decomposition.cells:
            (one,) = (each for each in judged.funnels if (each.candidate, each.cell) == (decomposition.candidate, cell.name))
            stops = [(cause, count) for causes in one.stopped.values() for cause, count in causes.items()]
            assert (one.attempted, one.reached["right_state"]) == (cell.planned, cell.passed)
            assert dict(stops) == cell.causes
            families = [
                each
                for each in judged.breakdowns
                if (each.candidate, each.cell, each.by) == (decomposition.candidate, cell.name, "family")
            ]
            assert sum(each.planned for each in families) == cell.planned
            assert sum(each.passed for each in families) == cell.passed


def test_causes_are_said_in_the_words_of_the_vocabulary() -> None:
    """Most frequent first; many kinds are counted together; a fault is called one."""
    assert causes_counted({"tool_error": 1, "wrong_state": 3, "empty": 1}, 2) == "3 wrong state, 1 empty, 1 of other causes"
    assert [cause_words(cause) for cause in ("timeout", "masked", "unknown", "fault:rate_limit", "unstable")] == [
        "timeout", "lost exit status", "wrong exit status", "fault (rate_limit)", "unstable",
    ]  # fmt: skip


# -- groups ----------------------------------------------------------------------------------------------------------------


def test_groups_that_fail_most_as_deployed_come_first(judged: Judgement) -> None:
    """By family, tier and hazard; all cells side by side, damage beside them, causes of the cell as deployed."""
    text = breakdown_section(with_control(judged, "holds"), "oracle")
    families = text.split("| tier ")[0]
    assert families.index("rename-file") < families.index("write-bytes")
    assert "damage RN - RR" in text
    assert "| 1 wrong state |" in text
    assert "(+1 missing)" in text


def test_a_candidate_that_passes_everywhere_has_no_table_of_groups() -> None:
    """There is no group where anything broke."""
    made, _ = evaluation(names=("adaptive",))
    judgement = judge(made.model_copy(update={"suites": (suite_text("exact"),)}), FakeValidator())
    whole = tuple(one.model_copy(update={"passed": one.planned, "scored": one.planned}) for one in judgement.breakdowns)
    assert breakdown_section(with_(judgement, breakdowns=whole), "adaptive") == ""


def test_many_groups_are_cut_and_counted() -> None:
    """The table stays short; how many more there are is said."""
    tasks = tuple(task(f"f{number}/t", f"f{number}", 1) for number in range(MOST_GROUPS + 5))
    made, _ = evaluation(tasks=tasks, names=("oracle",))
    text = breakdown_section(judge(made.model_copy(update={"suites": (suite_text("exact"),)}), FakeValidator()), "oracle")
    assert "5 more families with failures." in text
    assert text.count("| f") == MOST_GROUPS + 1  # with the head


def test_a_broken_control_shows_no_damage_of_groups(judged: Judgement) -> None:
    """Effects may not be used then, in no table."""
    assert "damage" not in breakdown_section(with_control(judged, "broken"), "oracle")


def test_names_can_not_break_a_table() -> None:
    """A family that holds a pipe, a line end and markup stays in its cell."""
    evil = "f|x\n**b** <script>"
    tasks = (task("a/1", evil, 1), task("b/2", "g", 0))
    made, _ = evaluation(tasks=tasks, names=("oracle",))
    text = breakdown_section(judge(made.model_copy(update={"suites": (suite_text("exact"),)}), FakeValidator()), "oracle")
    assert "<script>" not in text
    assert "f\\|x\\\\n\\*\\*b\\*\\*" in text or "f\\|x\\n\\*\\*b\\*\\*" in text


def test_groups_and_stages_are_frames_of_an_evaluation(judged: Judgement) -> None:
    """For whoever counts on their own: rows as the reports have them."""
    found = Evaluation(facts_of(), judged)
    assert found.funnels.to_dict("records") == funnel_rows(judged.funnels)
    assert found.breakdowns.shape[0] == len(breakdown_rows(judged.breakdowns))
    assert set(found.breakdowns["group"]) >= {family for _, family, _ in TASKS}
    empty = Evaluation(facts_of(), with_(judged, funnels=(), breakdowns=()))
    assert list(empty.funnels.columns) == list(found.funnels.columns)
    assert list(empty.breakdowns.columns) == list(found.breakdowns.columns)


# -- formats ---------------------------------------------------------------------------------------------------------------


def test_a_clean_up_that_gains_is_the_next_step(judged: Judgement) -> None:
    """Said in one line with its numbers."""
    (line,) = format_lines(with_(judged, format_damage=(format_damage(),)))
    assert "would change 4 of 10 replies" in line
    assert (
        "4 are right when cleaned and 1 when taken strictly (format damage -30.0 points: taken strictly fewer are right)" in line
    )
    assert line.endswith("Next: set harness: fenced-block for it.")


def test_a_clean_up_that_helps_already_is_no_step(judged: Judgement) -> None:
    """What it does is said; there is nothing to set."""
    (line,) = format_lines(with_(judged, format_damage=(format_damage(own="fenced-block"),)))
    assert "the clean-up fenced-block changes 4 of 10" in line
    assert "Next" not in line


def test_a_clean_up_that_harms_is_to_be_left_out(judged: Judgement) -> None:
    """More are right with their fences on."""
    harms = format_damage(own="fenced-block", lost=0, gained=2, strict_passed=3, cleaned_passed=1, effect=estimate(0.2))
    assert format_lines(with_(judged, format_damage=(harms,)))[0].endswith("Next: set harness: none for it.")


def test_what_was_not_measured_is_said_with_its_reason(judged: Judgement) -> None:
    """In the line and in the section; never as no effect."""
    unknown = format_damage(effect=None, population=None, scored=0, lost=0, unmeasured="an older version ran it")
    judgement = with_(judged, format_damage=(unknown,))
    assert "was not measured (an older version ran it)" in format_lines(judgement)[0]
    assert "Not measured for c: an older version ran it." in format_section(judgement)


def test_replies_without_a_fence_need_no_table(judged: Judgement) -> None:
    """One sentence, and no line at the top."""
    plain = format_damage(changed=0, scored=0, lost=0, strict_passed=0, cleaned_passed=0, effect=estimate(0.0), tasks=())
    judgement = with_(judged, format_damage=(plain,))
    assert format_lines(judgement) == []
    assert "Nothing to clean in any reply of c" in format_section(judgement)
    assert "| candidate" not in format_section(judgement)


def test_the_format_table_has_both_sides_and_the_tasks(judged: Judgement) -> None:
    """Counts, effect, interval over families, tasks."""
    text = format_section(with_(judged, format_damage=(format_damage(),)))
    assert "| c | NN | none | none - fenced-block | 10 | 4 | 4 | 1 | 4 | 3 | 0 | -30.0 |" in text
    assert "a and b" in text


def test_many_candidates_share_a_line(judged: Judgement) -> None:
    """The top of a report stays short."""
    many = tuple(format_damage(f"c{number}") for number in range(MOST_LINES + 3))
    lines = format_lines(with_(judged, format_damage=many))
    assert len(lines) == MOST_LINES + 1
    assert "3 more candidates" in lines[-1]


def test_judgements_from_before_say_nothing(judged: Judgement) -> None:
    """Old bundles have none of it."""
    old = with_(judged, format_damage=(), validator_sensitivity=())
    assert (format_section(old), format_lines(old), validator_sensitivity_section(old)) == ("", [], "")


# -- validators ------------------------------------------------------------------------------------------------------------


def test_verdicts_that_hang_on_the_validator_are_a_table() -> None:
    """Whose, how many either way, in which tasks; the others are counted."""
    hanging = ValidatorSensitivity(
        candidate="c", told="N", done="N", own="exact", other="content", compared=9, own_only=0, other_only=2, tasks=("a", "b")
    )
    made, judgement = evaluation()
    text = validator_sensitivity_section(with_(judgement, validator_sensitivity=(hanging,)))
    assert made
    assert "| c | NN | exact | content | 9 | 0 | 2 | a and b |" in text
    assert "7 verdicts are the same by both." in text


def test_agreement_of_validators_is_one_sentence(judged: Judgement) -> None:
    """No table where no verdict depends on it, and how to compare others."""
    text = validator_sensitivity_section(judged)
    assert "No verdict does: exact and content agree on all 5 replays as deployed." in text
    assert "crosspath validate" in text
