"""What people read about reliability and cost: words without cell codes, tables that say what is unknown, frames with all."""

import pytest

from builders import evaluation
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import suite_text
from crosspath.pipeline.judge import judge
from crosspath.reports.cost_tables import COST_COLUMNS, cost_lines, spend_section, usd
from crosspath.reports.reliability_tables import RELIABILITY_COLUMNS, reliability_lines, reliability_section, shown_k
from crosspath.testing.validator import FakeValidator
from crosspath.types import Facts, Judgement, Reliability, Trial

HOSTILE = "a|b\n# [x](http://evil)"


def asked(facts: Facts, cost_usd: float | None = 0.001) -> Facts:
    """The same facts with replies of an endpoint, and each trial of a task with a reply of its own."""

    def changed(trial: Trial) -> Trial:
        reply = trial.reply and trial.reply.model_copy(
            update={"cost_usd": cost_usd, "text": f"{trial.reply.text} {trial.key.index}", "latency_s": 1.0 + trial.key.index}
        )
        return trial.model_copy(update={"reply": reply, "request": trial.request.model_copy(update={"model": "openai/m"})})

    attempts = tuple(a if a.fault else a.model_copy(update={"cost_usd": cost_usd}) for a in facts.attempts)
    return facts.model_copy(update={"trials": tuple(map(changed, facts.trials)), "attempts": attempts})


def plain(text: str) -> str:
    """Markdown without the backslashes that keep a number from opening a list."""
    return text.replace("\\.", ".")


def judged(facts: Facts) -> Judgement:
    """As it is judged by the suite that ships."""
    return judge(facts.model_copy(update={"suites": (suite_text("exact"),)}), FakeValidator())


@pytest.fixture(scope="module")
def facts() -> Facts:
    """Two candidates, three trials a task, and a first task that got no reply."""
    return asked(evaluation(trials=3, fault=True)[0])


@pytest.fixture(scope="module")
def judgement(facts: Facts) -> Judgement:
    """What follows from them."""
    return judged(facts)


def test_each_candidate_has_its_reference_and_its_own_cell(judgement: Judgement) -> None:
    """RR and the candidate as deployed, with every k."""
    assert [(one.candidate, one.cell) for one in judgement.reliability] == [
        ("oracle", "RR"),
        ("oracle", "NN"),
        ("adaptive", "RR"),
        ("adaptive", "NN"),
    ]
    assert all(list(one.pass_hat) == [1, 2, 3] for one in judgement.reliability)


def test_pass_1_is_the_rate_that_the_report_shows(judgement: Judgement) -> None:
    """The same number under both names, for every cell."""
    cells = {(d.candidate, cell.name): cell for d in judgement.decompositions for cell in d.cells}
    for one in judgement.reliability:
        population = cells[one.candidate, one.cell].population
        assert population is not None
        assert (one.every.value, one.every.low, one.every.high) == (population.value, population.low, population.high)


def test_the_sentence_has_no_cell_code(judgement: Judgement) -> None:
    """Tasks by how often they are right, the chance of all trials and of one, in plain words; what is missing beside it."""
    first, second = reliability_lines(judgement)
    assert first.startswith("oracle on nested-shell: of 2 tasks tried 3 times each, ")
    assert "(1 more lack a verdict on some trial)" in first
    assert second.startswith(
        "adaptive on nested-shell: of 3 tasks tried 3 times each, 3 were right each time, 0 sometimes and 0 never. "
        "The chance that all 3 trials of a task are right is 100.0 %"
    )
    for line in (first, second):
        assert not {"RR", "NN", "RN", "pass^"} & set(line.split())


def test_the_section_says_what_the_trials_show(judgement: Judgement) -> None:
    """pass^k per cell, tasks by how often they are right, first trials against all, and how many replies were the same."""
    text = plain(reliability_section(judgement))
    assert text.startswith("## Reliability over repeated trials\n")
    assert "| candidate | cell | pass^1 | pass^2 | pass^3 | worst to best of the last | its tasks |" in text
    assert "| adaptive | NN | 3 | 3 | 0 | 0 | 0 | 100.0 % | 100.0 % | 0.0, 1.000 | 3 of 3 | 0 of 3 | 3.0 |" in text


def test_one_trial_says_nothing_about_reliability() -> None:
    """Where each task has one trial there is no section, no sentence and an empty frame with its columns."""
    facts = asked(evaluation()[0])
    found = judged(facts)
    assert (found.reliability, reliability_section(found), reliability_lines(found)) == ((), "", [])
    assert list(Evaluation(facts, found).reliability.columns) == list(RELIABILITY_COLUMNS)


def test_an_older_judgement_has_no_sections(judgement: Judgement) -> None:
    """One that was read from an old bundle lacks the fields: nothing is claimed."""
    old = Judgement(scores=judgement.scores, decompositions=judgement.decompositions, spend=evaluation()[1].spend)
    assert (reliability_section(old), reliability_lines(old), cost_lines(old)) == ("", [], [])
    assert spend_section(old).count("\n") == 3


def test_the_same_reply_each_time_is_said() -> None:
    """Where all trials of all tasks got one reply, more trials would say nothing new."""
    facts, _ = evaluation(trials=3)
    line = reliability_lines(judged(facts))[1]
    assert line.endswith("Each of 3 tasks got the same reply every time, to the byte: more trials say nothing new about them.")


def test_unsteady_tasks_are_named_and_foreign_names_are_inert(judgement: Judgement) -> None:
    """Tasks that pass and fail stand with their counts; a long list is cut; a hostile name breaks no table."""
    unsteady = {f"t{number:02}": (1, 3) for number in range(40)} | {HOSTILE: (2, 3)}
    changed = [one.model_copy(update={"candidate": HOSTILE, "unsteady": unsteady}) for one in judgement.reliability[:1]]
    text = reliability_section(judgement.model_copy(update={"reliability": tuple(changed)}))
    assert "t29 (1 of 3), and 11 more." in text
    assert "\n# [x]" not in text
    (_, first), (_, second) = (lines.split("\n| ---", 1) for lines in text.split("\n| candidate | ")[1:])
    assert {first.splitlines()[1].count(" | "), second.splitlines()[1].count(" | ")} == {6, 12}


def test_many_trials_show_a_choice_of_k() -> None:
    """Up to six all, beyond that a few and the last."""
    assert shown_k(3) == [1, 2, 3]
    assert shown_k(6) == [1, 2, 3, 4, 5, 6]
    assert shown_k(32) == [1, 2, 3, 5, 10, 20, 32]


def test_frames_have_a_row_per_k_and_a_row_per_candidate(facts: Facts, judgement: Judgement) -> None:
    """``evaluation.reliability`` and ``evaluation.costs``, with plain values."""
    found = Evaluation(facts, judgement)
    assert list(found.reliability.columns) == list(RELIABILITY_COLUMNS)
    assert len(found.reliability) == 4 * 3
    own = found.reliability.query("candidate == 'adaptive' and cell == 'NN' and k == 3").iloc[0]
    assert (own["value"], own["always"], own["same_reply"], own["repeated_replies"]) == (1.0, 3, 0, 3)
    assert list(found.costs.columns) == list(COST_COLUMNS)
    adaptive = found.costs.set_index("candidate").loc["adaptive"]
    assert (adaptive["fresh"], adaptive["passed"], adaptive["latency_p50_s"], adaptive["latency_max_s"]) == (9, 9, 2.0, 3.0)
    assert adaptive["usd_per_pass"] == pytest.approx(0.001)
    assert found.costs["retried"].tolist() == [3, 0]


def test_what_each_candidate_takes_is_said(judgement: Judgement) -> None:
    """Tokens and dollars of a right answer, and how long replies took."""
    assert cost_lines(judgement)[1] == (
        "adaptive on nested-shell: a right answer takes 134 tokens and 0.0010 USD; half of the replies came within 2.00 s, 99 % "
        "within 3.00 s."
    )
    text = plain(spend_section(judgement))
    assert "| fresh: requests that were answered | 30 | 3,600 | – | 420 | – | 0 | 0.030 | 0 |" in text
    assert "| failed: requests that were sent again or given up | 6 | 0 | – | 0 | – | 0 | 0.00 | 0 |" in text
    assert "| adaptive | 9 | 9 | 9 | 134 | 134 | 0.0010 | 0.0010 | 0 | 2.00 s | 3.00 s | 3.00 s | 3.00 s |" in text


def test_an_unknown_price_is_said_and_never_zero() -> None:
    """Without a price: unknown in the sentence, in both tables, and how many replies lack one."""
    found = judged(asked(evaluation(trials=2)[0], cost_usd=None))
    assert "a right answer takes 134 tokens and an unknown cost" in cost_lines(found)[1]
    text = plain(spend_section(found))
    assert "| fresh: requests that were answered | 24 | 2,880 | – | 336 | – | 0 | – | 24 |" in text
    assert "| adaptive | 6 | 6 | 6 | 134 | 134 | – | – | 6 |" in text


def test_sessions_are_listed() -> None:
    """Two starts of the program, with begin, end and their share (https://github.com/UKGovernmentBEIS/inspect_ai/issues/2628)."""
    facts = asked(evaluation()[0])
    moved = tuple(a.model_copy(update={"session": 1 + place % 2}) for place, a in enumerate(facts.attempts))
    starts = ((1_764_400_000.0, None), (1_764_500_000.0, 1_764_500_060.0))
    text = spend_section(judged(facts.model_copy(update={"attempts": moved, "sessions": starts})))
    assert "| 1 | 2025-11-29 07:06:40 | – | 6 | 0 | 0 | 720 | – | 84 |" in text
    assert "| 2 | 2025-11-30 10:53:20 | 2025-11-30 10:54:20 | 6 | 0 | 0 | 720 | – | 84 |" in text
    assert "By session" not in spend_section(judged(facts))


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0, "0.00"), (12.345, "12.35"), (0.5, "0.50"), (0.0000123, "0.000012")]
)
def test_dollars_have_no_exponent(value: float | None, shown: str) -> None:
    """Two digits that count, however small."""
    assert usd(value) == shown


def test_nothing_right_has_no_price(judgement: Judgement) -> None:
    """A candidate without a right answer is told so."""
    cost = judgement.costs[1].model_copy(update={"passed": 0, "usd_per_pass": None, "tokens_per_pass": None})
    (line,) = cost_lines(judgement.model_copy(update={"costs": (cost,)}))
    assert "nothing was right, so a right answer has no price" in line


def test_the_records_survive_json(judgement: Judgement) -> None:
    """Numbers as keys come back as numbers."""
    for one in judgement.reliability:
        assert Reliability.from_json(one.to_json()) == one
    assert Judgement.from_json(judgement.to_json()) == judgement
