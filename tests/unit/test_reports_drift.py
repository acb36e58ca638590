"""A look at a deployment as text for a terminal, as Markdown and as figures."""

import re
from collections.abc import Callable

import pytest
from markdown_it import MarkdownIt

from crosspath.reports.drift_markdown import drift_markdown
from crosspath.reports.drift_terminal import drift_terminal
from crosspath.reports.figures_drift import drift_figures, planned_drift_figures
from crosspath.reports.figures_drift_marks import marks
from crosspath.reports.figures_drift_time import unused_points
from crosspath.types import Estimate
from crosspath.types.drift import Drift, FrozenOutcome, SeriesPoint, TaskChange, UnreadableEntry, WatchDay
from drifts import (
    change,
    configuration,
    difference,
    drift,
    evaluation,
    flips,
    point,
    provider,
    served_changed,
    share,
    signal,
    toolchain,
    watch_day,
)

PNG = b"\x89PNG\r\n\x1a\n"
NAMES = ["plain", "$x_{$ \\frac", "日本語 \x00 \ud800", "long-" * 60]
HOSTILE = "</details><b>x</b> \x00\x1b[31m\u202e `|` [a](http://b) | cell\n# next line"
EFFECTS = (("damage", -0.3), ("compensation", 0.25), ("matched_gap", -0.05))
FORMS = [drift_terminal, drift_markdown]


def two_causes() -> Drift:
    return drift(
        configuration=served_changed(48),
        toolchain=toolchain(*flips("awk/a", 3), *flips("awk/b", 1)),
        provider=provider(-0.128, 49, set_apart={"awk/a": "its frozen replies come out otherwise"}, signals=(signal(),)),
    )


def named(name: str) -> Drift:
    """A look in which everything that can have a foreign name has this one."""
    changed = difference(name, name, name + "2")
    return drift(
        deployment=name,
        candidate=name,
        configuration=configuration(changed, edited_tasks=(name,)),
        toolchain=toolchain(*flips(name, 2), changed=(changed,), unstable=((name, 1),), sentence=name),
        provider=provider(
            -0.1,
            20,
            tasks=(name,),
            set_apart={name: name},
            days=(watch_day(1, used=False, why_not=name, evaluations=(name,)), watch_day(2)),
            sentence=name,
        ),
        points=(point(0, role="reference"), point(1, effects=EFFECTS)),
        unreadable=(UnreadableEntry(run=name, evaluation=name, problem=name),),
    )


class TestText:
    def test_status_and_alarms_come_first(self) -> None:
        """First the status with the parts it comes from, then each alarm with its next step, then the parts, then the tables."""
        lines = drift_terminal(two_causes()).splitlines()
        assert lines[0] == "DRIFT (toolchain, provider): support-bot, looked at 2026-12-01 13:00 UTC"
        assert lines[1] == (
            "  candidate bot; 61 evaluations from 2026-10-02 to 2026-12-01;"
            " reference bot-watch-20261002-1 (10 trials a task, 2026-10-02)"
        )
        marks = ["  ALARM  toolchain: ", "         next: ", "  ALARM  provider: ", "         next: "]
        assert [line.startswith(mark) for line, mark in zip(lines[3:7], marks, strict=True)] == [True] * 4
        assert [line.split()[:2] for line in lines[8:11]] == [
            ["configuration", "NO"],
            ["toolchain", "DRIFT"],
            ["provider", "DRIFT"],
        ]
        headings = [line for line in lines[11:] if line and not line.startswith(" ")]
        assert headings == [
            "Changes of the configuration",
            "Frozen replies that come out otherwise",
            "Days of the watch",
            "Tasks that changed most",
            "What needs no score",
            "Tasks that are set apart",
            "What it took",
        ]

    @pytest.mark.parametrize("form", FORMS)
    def test_what_is_promised(self, form: Callable[[Drift], str]) -> None:
        """Both forms say that the toolchain's part sent nothing, and once how often the provider's part is wrong."""
        text = form(drift())
        assert "; no request was sent" in text
        assert text.count("; at most 5 % of watches of 60 days raise a false alarm, looked at every day") == 1
        assert "othing to act on" in text

    @pytest.mark.parametrize(("requests", "words"), [(0, ""), (1, "; 1 request sent for it"), (2, "; 2 requests sent for it")])
    def test_what_was_sent(self, requests: int, words: str) -> None:
        """Whatever its sentence says, requests that were sent to execute frozen replies are counted."""
        assert f"come out as before{words}\n" in drift_terminal(
            drift(toolchain=toolchain(requests=requests, sentence="all come out as before."))
        )

    @pytest.mark.parametrize(
        ("status", "word"), [("not enough", "NOT ENOUGH (provider): "), ("could not measure", "COULD NOT MEASURE (provider): ")]
    )
    def test_no_answer(self, status: str, word: str) -> None:
        """What could not be measured is no NO DRIFT: the first line says so, and which part it is."""
        text = drift_terminal(drift(provider=provider(status=status, sentence="only 3 days.")))
        assert text.startswith(word)
        assert "  NO ANSWER  provider: " in text

    def test_days(self) -> None:
        """The last 14 days: rate, change with interval, p value, and why one is not used; the day it was found on is marked."""
        days = (*(watch_day(number, -0.1) for number in range(1, 20)), watch_day(20, used=False, why_not="8 of 24 are faults"))
        text = drift_terminal(drift(provider=provider(-0.128, 18, days=days)))
        table = text[text.index("Days of the watch") :].splitlines()
        assert table[2].split("  ")[1] == "2026-10-09"
        assert "2026-10-20 *  24 of 24 scored  80.0 % (74.0 % to 86.0 %)  -10.0 (-17.0 to -3.0)     0.300  yes" in text
        assert table[15].endswith("no: 8 of 24 are faults")
        assert table[16:18] == [
            "  * found on this day: p, adjusted for all looks of the watch, is at most 0.05",
            "  not shown: 6 earlier",
        ]

    def test_a_day_that_is_not_shown(self) -> None:
        """Nothing is explained of a mark that no row has."""
        text = drift_terminal(drift(provider=provider(-0.128, 20)))
        assert "Days of the watch" in text
        assert "*" not in text

    @pytest.mark.parametrize(("alpha", "words"), [(0.05, "5"), (0.0125, "1.25"), (0.0004, "0.04"), (0.07, "7")])
    def test_how_often_it_is_wrong(self, alpha: float, words: str) -> None:
        """To all digits that the rule has: a rate that looks smaller than it is would be a promise."""
        text = drift_terminal(drift(provider=provider(alpha=alpha, horizon_days=30)))
        assert f"; at most {words} % of watches of 30 days raise a false alarm" in text

    @pytest.mark.parametrize("days", [(), (watch_day(1, None, used=False, p_drop=None, p_rise=None),)])
    def test_nothing_was_tested(self, days: tuple[WatchDay, ...]) -> None:
        """Without a test nothing is said of how often it is wrong: the rules of no reference are nobody's."""
        text = drift_terminal(
            drift(provider=provider(None, status="not enough", sentence="no reference", reference="", days=days))
        )
        assert "false alarm" not in text

    def test_the_timeline(self) -> None:
        """Each change has its date, field, both values cut short, and what it means; idle ones are counted."""
        timeline = (
            change(5, difference("contract.digest", "0a" * 32, "1b" * 32), "breaking"),
            change(6, difference("toolchain.limits_enforced", "a " * 100, "b"), "replayed"),
            change(7, difference("commit", "1", "2"), "none"),
        )
        text = drift_terminal(drift(configuration=configuration(timeline=timeline)))
        rows = text[text.index("Changes of the configuration") :].splitlines()
        assert " ".join(rows[2].split()) == (
            "2026-10-07 contract.digest 0a0a0a0a 1b1b1b1b breaking:"
            " a difference of scores across it is no change of the provider's"
        )
        assert "a a a a...a a a a" in rows[3]
        assert rows[3].endswith("judged by the frozen replies")
        assert rows[4] == "  not shown: 1 that no score depends on"

    def test_a_changed_program(self) -> None:
        """The table has a program's version, file and digest on both sides, the rest refers to it."""
        value = "grep (GNU grep) 3.8, /usr/bin/grep sha256 9a9c5a0c3b5d"
        grep = difference("toolchain.programs.grep", value, value.replace("9a9c5a0c3b5d", "597630e6adb6"), "toolchain")
        others = difference("toolchain.programs.others", "9 by name and size, sha256 0a", "9 by name and size, sha256 1b")
        timeline = (change(5, grep, "replayed"), change(5, others, "replayed"))
        look = drift(configuration=configuration(timeline=timeline))
        text = drift_terminal(look)
        assert "GNU grep 3.8, /usr/bin/grep, sha256 9a9c5a0c  GNU grep 3.8, /usr/bin/grep, sha256 597630e6  judged by" in text
        assert "9 files, sha256 0a" in text
        (mark,) = marks(look)
        assert mark.label.endswith("toolchain: grep: GNU grep 3.8 -> same version, other content (sha256 9a9c5a0c -> 597630e6)")

    @pytest.mark.parametrize("form", FORMS)
    def test_flips_by_task(self, form: Callable[[Drift], str]) -> None:
        """A row per task and way: how many of its replies, why, and one of them; the task with most flips first."""
        some = (*flips("awk/a", 1), *flips("quoting/a", 15), *flips("quoting/a", 1, passed_now=True))
        seen = tuple(FrozenOutcome(task="quoting/a", index=n % 20, toolchain=str(n // 20), passes=1) for n in range(40))
        text = form(drift(toolchain=toolchain(*some, evidence=seen)))
        rows = [line.split() for line in text.replace("|", " ").replace("\\", "").splitlines() if "prices.txt" in line]
        assert [" ".join(row) for row in rows] == [
            "quoting/a 15 of 20 right wrong (wrong state) prices.txt has other bytes reply 1",
            "quoting/a 1 of 20 wrong right prices.txt has other bytes reply 1",
            "awk/a 1 right wrong (wrong state) prices.txt has other bytes reply 1",
        ]
        assert "each was executed at least 6 times now, each time so" in text

    def test_flips_of_many_tasks(self) -> None:
        """Fifteen tasks have a row; the others are counted."""
        text = drift_terminal(drift(toolchain=toolchain(*(flip for number in range(18) for flip in flips(f"t/{number}", 4)))))
        assert text.count("prices.txt") == 15
        assert "not shown: 3 more tasks" in text

    def test_tasks_with_few_trials(self) -> None:
        """A task with fewer than five recent trials is no task that changed most; it is counted."""
        changes = [
            TaskChange(task=task, reference=1, recent=0, reference_trials=10, recent_trials=trials)
            for task, trials in (("few", 4), ("enough", 5))
        ]
        text = drift_terminal(drift(provider=provider(task_changes=tuple(changes))))
        table = text[text.index("Tasks that changed most") :].splitlines()
        assert table[2].split()[0] == "enough"
        assert table[3] == "  left out: 1 with fewer than 5 recent trials"

    @pytest.mark.parametrize("form", FORMS)
    def test_a_new_reference(self, form: Callable[[Drift], str]) -> None:
        """A reference in place of another one stands with both pass rates: whoever accepts a change sees how large it was."""
        points = (point(0, 0.917, role="reference"), point(1), point(2, 0.438, role="reference"), point(3))
        text = form(drift(points=points, provider=provider(reference=evaluation(2))))
        assert (
            f"reference {evaluation(2)} of 2026-10-04 (43.8 %, 10 trials a task),"
            f" in place of {evaluation(0)} of 2026-10-02 (91.7 %)"
        ) in MarkdownIt().renderInline(text)

    def test_a_finding_of_which_today_says_nothing(self) -> None:
        """The provider's row has the finding, and what is not known of today stands above, once."""
        text = drift_terminal(drift(provider=provider(-0.128, 49, unmeasured_today="nobody answered")))
        assert "  provider       DRIFT     " in text
        assert "  a change was found;" in text
        assert "  NO ANSWER  provider: nothing is known of today: nobody answered" in text
        assert text.count("nobody answered") == 1

    def test_cost(self) -> None:
        """Requests and cost of references and of days apart; an unknown cost is said, never counted as nothing."""
        unknown = point(2).model_copy(update={"cost_usd": None})
        text = drift_terminal(drift(points=(point(0, role="reference"), point(1), unknown)))
        assert [line.split() for line in text.splitlines()[-2:]] == [
            ["references", "1", "24", "24", "0.0031"],
            ["days", "2", "48", "24", "0.0031,", "unknown", "for", "1"],
        ]

    def test_effects(self) -> None:
        """Evaluations with all four cells have their effects in a table."""
        text = drift_terminal(drift(points=(point(0, role="reference"), point(1, effects=EFFECTS))))
        assert re.search("^  date        damage  +compensation  +matched gap$", text, re.M)
        assert "  2026-10-03  -30.0 (-36.0 to -24.0)  " in text

    def test_hostile_text_in_a_terminal(self) -> None:
        """No name or sentence can move the cursor, turn the text round or begin a line."""
        text = drift_terminal(named(HOSTILE))
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert not any(line.lstrip().startswith("# next line") for line in text.splitlines())

    def test_hostile_text_in_markdown(self) -> None:
        """No name or sentence becomes markup, a link, a heading or another cell."""
        text = drift_markdown(named(HOSTILE))
        html = MarkdownIt("commonmark", {"html": True}).enable("table").render(text)
        assert "<b>" not in html
        assert "<a " not in html
        assert "<h1>" not in html
        plain = MarkdownIt("commonmark", {"html": True}).enable("table").render(drift_markdown(named("plain")))
        assert html.count("<td>") == plain.count("<td>")

    def test_markdown_begins_with_plain_text(self) -> None:
        """What shows only the first lines shows the status and no markup."""
        assert drift_markdown(two_causes()).splitlines()[:2] == [
            "DRIFT (toolchain, provider): support-bot, looked at 2026-12-01 13:00 UTC",
            "",
        ]


class TestFigures:
    def test_which_there_are(self) -> None:
        """Time always, effects where evaluations have them, frozen replies where some come out otherwise."""
        assert list(drift_figures(drift())) == ["drift.png"]
        every = two_causes().model_copy(update={"points": (point(0, role="reference"), point(1, effects=EFFECTS))})
        assert [figure.name for figure in planned_drift_figures(every)] == [
            "drift.png",
            "drift-effects.png",
            "drift-frozen-replies.png",
        ]
        assert all("support-bot" in figure.caption for figure in planned_drift_figures(every))
        assert drift_figures(drift(points=())) == {}

    @pytest.mark.parametrize("count", [1, 60, 365])
    def test_any_length(self, count: int) -> None:
        """One evaluation, two months or a year: a PNG without warnings, byte for byte the same again."""
        points = tuple(point(number, 0.8 - number / 1000, effects=EFFECTS) for number in range(count))
        timeline = tuple(change(number, difference(), "breaking") for number in range(1, count, 9))
        look = drift(points=points, provider=provider(-0.1, count, length=count), configuration=configuration(timeline=timeline))
        first = drift_figures(look)
        assert all(picture.startswith(PNG) for picture in first.values())
        assert len(first) == 2
        assert first == drift_figures(look)

    @pytest.mark.parametrize(
        "points",
        [
            (point(1),),
            (point(1), point(2), point(3)),
            (point(0, role="reference"),),
            (point(0, role="reference"), point(1, role="reference"), point(1, role="reference")),
        ],
        ids=["one day", "days", "one reference", "references"],
    )
    def test_any_roles(self, points: tuple[SeriesPoint, ...]) -> None:
        """Days without any reference are drawn, and so are references without a day."""
        unknown = provider(None, days=(), status="not enough", sentence="", reference="", reference_trials=0)
        assert drift_figures(drift(points=points, provider=unknown))["drift.png"].startswith(PNG)

    @pytest.mark.parametrize("name", NAMES)
    def test_any_name(self, name: str) -> None:
        """No name can stop a figure, nor warn."""
        assert all(picture.startswith(PNG) for picture in drift_figures(named(name)).values())

    def test_many_flips(self) -> None:
        """Forty tasks of twelve flipped replies are still one figure of a bounded size."""
        some = drift_figures(drift(toolchain=toolchain(*(flip for number in range(40) for flip in flips(f"t/{number}", 12)))))
        assert int.from_bytes(some["drift-frozen-replies.png"][20:24], "big") < 1300

    def test_nothing_known(self) -> None:
        """Evaluations without a rate, changes without a value and days that are no dates are left out, not drawn as zero."""
        none = share(None, n=0)
        days = (watch_day(1, None), watch_day(2, 0.0, day="someday"), watch_day(3, 0.0, change=None))
        look = drift(points=(point(0, None, effects=(("damage", 0.1),)), point(1, None)), provider=provider(None, days=days))
        damaged = look.points[0].effects[0].model_copy(update={"estimate": none})
        assert list(drift_figures(look)) == ["drift.png", "drift-effects.png"]
        without = look.points[0].model_copy(update={"effects": (damaged,)})
        assert list(drift_figures(look.model_copy(update={"points": (without,)}))) == ["drift.png"]

    def test_a_rate_without_an_interval(self) -> None:
        """A point without an interval is drawn without one."""
        bare = Estimate(value=0.5, low=None, high=None, n=1, estimand="these_tasks", method="test")
        points = (point(0, role="reference").model_copy(update={"rate": bare}),)
        assert drift_figures(drift(points=points))["drift.png"].startswith(PNG)

    def test_what_is_not_used_looks_otherwise(self) -> None:
        """A day that is no measurement is not drawn like one that is."""
        used = drift(points=(point(0, role="reference"), point(1)), provider=provider(days=(watch_day(1),)))
        unused = drift(points=used.points, provider=provider(days=(watch_day(1, used=False, why_not=evaluation(1)),)))
        assert drift_figures(used) != drift_figures(unused)

    def test_a_day_without_a_rate(self) -> None:
        """A day of which no trial has a verdict has a mark, too."""
        faults = (watch_day(1), watch_day(2, None, used=False, why_not="24 of 24 are faults"))
        points = (point(0, role="reference"), point(1), point(2, None))
        marked = drift(points=points, provider=provider(days=faults))
        assert unused_points(marked) == [points[2]]
        assert drift_figures(marked) != drift_figures(drift(points=points[:2], provider=provider(days=faults)))

    def test_an_evaluation_beside_those_of_its_day(self) -> None:
        """Of two evaluations of one day the one that is not used is drawn as such; what stands before the watch is not."""
        again = point(1).model_copy(update={"evaluation": "again"})
        before = point(-1)
        look = drift(points=(before, point(0, role="reference"), point(1), again), provider=provider(days=(watch_day(1),)))
        assert unused_points(look) == [again]
