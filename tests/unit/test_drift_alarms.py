"""Alarms of a look at a deployment: cause, fields or tasks, size, and what to do next; in the order in which to act."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import series
from crosspath.analysis.drift_alarms import alarms
from crosspath.app.drifting import not_executed
from crosspath.escaping import one_line
from crosspath.types.drift import Alarm
from drifts import (
    AWK,
    REFERENCE,
    SERVED,
    change,
    configuration,
    difference,
    evaluation,
    flips,
    provider,
    served_changed,
    share,
    signal,
    toolchain,
    watch_day,
)

GREP = "grep (GNU grep) 3.8, /usr/bin/grep sha256 9a9c5a0c3b5d"
HOSTILE = "a\nALARM \x1b[31m\u202e[x](http://y) | `z` <b>"


def found(configured=None, tools=None, provided=None) -> tuple[Alarm, ...]:
    """Alarms of a look in which the parts that are not given found nothing."""
    return alarms(configured or configuration(), tools or toolchain(), provided or provider(), "support-bot")


def only(*parts) -> Alarm:
    (alarm,) = found(*parts)
    return alarm


def test_nothing_changed() -> None:
    """Without any change there is nothing to say."""
    assert found() == ()


class TestConfiguration:
    def test_an_edited_contract(self) -> None:
        """The field, both values, the day it was seen, what a difference of scores across it is not, and what to do."""
        alarm = only(configuration(difference("contract.digest", "0a" * 32, "1b" * 32, "contract"), on=20))
        assert (alarm.cause, alarm.level, alarm.fields) == ("configuration", "alarm", ("contract.digest",))
        assert "1 field of support-bot changed" in alarm.sentence
        assert "contract.digest (0a0a0a0a -> 1b1b1b1b, seen on 2026-10-22)" in alarm.sentence
        assert alarm.sentence.endswith("a difference of scores across it is no change of the provider's")
        assert alarm.next_step == (
            "change it back, or measure what is deployed now with enough trials and gate that: crosspath run SPEC --reference"
            f" (it accepts the change in the watch), then crosspath gate POLICY --candidate latest --baseline {REFERENCE}"
        )

    def test_many_fields(self) -> None:
        """Three fields are named and the rest is counted; all are in the record."""
        alarm = only(configuration(*(difference(f"op.f{number}") for number in range(5))))
        assert "5 fields" in alarm.sentence
        assert "op.f2 (" in alarm.sentence
        assert "op.f3" not in alarm.sentence
        assert " and 2 more" in alarm.sentence
        assert len(alarm.fields) == 5

    def test_edited_tasks(self) -> None:
        """Tasks with another content are no drift by themselves: they are set apart, and a notice names them."""
        notice = only(configuration(edited_tasks=("quoting/a", "heredoc/b")))
        assert (notice.level, notice.tasks) == ("notice", ("quoting/a", "heredoc/b"))
        assert "2 tasks of support-bot edited" in notice.sentence
        assert "set apart: quoting/a, heredoc/b" in notice.sentence

    def test_what_no_score_depends_on(self) -> None:
        """A changed price is told on the day it is seen, and not again on the next; that a day has fewer trials is no news."""
        prices = difference("model.prices.input", "1.0", "2.0", "model")
        trials = difference("trials", "10", "1", "tasks")
        today = configuration(timeline=(change(60, prices, "none"), change(60, trials, "none")))
        assert only(today).fields == ("model.prices.input",)
        assert found(configuration(timeline=(change(59, prices, "none"),))) == ()


class TestToolchain:
    def test_flips(self) -> None:
        """How many replies of how many, the changed program, which way, the tasks, and that nothing was sent."""
        alarm = only(None, toolchain(*flips("awk/a", 3), *flips("awk/b", 1)))
        assert (alarm.cause, alarm.level, alarm.tasks) == ("toolchain", "alarm", ("awk/a", "awk/b"))
        assert "4 of 240 frozen replies" in alarm.sentence
        assert "(awk: mawk 1.3.4 -> gawk 5.2.1), 4 fail now; no reply was asked for" in alarm.sentence
        assert alarm.sentence.endswith("2 tasks: awk/a (3), awk/b (1)")
        assert alarm.fields == ("toolchain.programs.awk",)
        assert "go back to the programs of bot-watch-20261002-1" in alarm.next_step
        assert "crosspath show bot-watch-frozen-1 awk/a" in alarm.next_step

    def test_both_ways(self) -> None:
        """Replies that fail now and such that pass now are counted apart."""
        assert "3 fail now and 1 pass now" in only(None, toolchain(*flips("a", 3), *flips("b", 1, passed_now=True))).sentence

    def test_other_programs_without_flips(self) -> None:
        """An image with other programs that changed no outcome is a notice."""
        notice = only(None, toolchain(changed=(AWK,)))
        assert notice.level == "notice"
        assert "awk: mawk 1.3.4 -> gawk 5.2.1 changed, and none of 240 frozen replies comes out otherwise" in notice.sentence

    def test_unstable_replies_and_other_causes(self) -> None:
        """Replies that come out both ways, and those that fail for another cause, are notices that name their tasks."""
        unstable, otherwise = found(None, toolchain(unstable=(("race/a", 0), ("race/a", 4)), otherwise=flips("awk/a", 2)))
        assert unstable.tasks == ("race/a",)
        assert "2 of 240 frozen replies come out both ways with the same programs" in unstable.sentence
        assert otherwise.tasks == ("awk/a",)
        assert {unstable.level, otherwise.level} == {"notice"}

    def test_could_not_measure(self) -> None:
        """Where replies can't be executed the alarm says why, and asks for the doctor."""
        alarm = only(None, toolchain(status="could not measure", sentence="bwrap is missing."))
        assert alarm.level == "unmeasured"
        assert alarm.sentence == "toolchain: could not measure: bwrap is missing"
        assert "crosspath doctor" in alarm.next_step

    def test_no_replay(self) -> None:
        """Where nobody asked for the replies to be executed the step is to ask for it; the words are those of the look."""
        entry = series.reference()
        alarm = only(None, not_executed(entry, ()))
        assert alarm.sentence == "toolchain: could not measure: the frozen replies were not executed"
        assert alarm.next_step == "leave --no-replay out: crosspath drift support-bot"
        assert "crosspath doctor" in only(None, not_executed(entry, (), "no sandbox works")).next_step

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            (GREP, GREP.replace("9a9c5a0c3b5d", "597630e6adb6"), "grep: GNU grep 3.8 -> same version, other content"),
            (GREP, GREP.replace("3.8", "3.11"), "grep: GNU grep 3.8 (/usr/bin/grep) -> GNU grep 3.11 (/usr/bin/grep)"),
            (GREP, GREP.replace("/usr", ""), "GNU grep 3.8 -> same version, another file (/usr/bin/grep -> /bin/grep)"),
            ("/bin/dash sha256 0a", "/bin/bash sha256 1b", "grep: /bin/dash -> /bin/bash"),
            (GREP, "/bin/grep sha256 1b", "grep: GNU grep 3.8 (/usr/bin/grep) -> no version, sha256 1b (/bin/grep)"),
            ("/bin/grep sha256 1b", GREP, "grep: no version, sha256 1b (/bin/grep) -> GNU grep 3.8 (/usr/bin/grep)"),
            ("/bin/dash sha256 0a", "/bin/dash sha256 1b", "/bin/dash -> same version, other content (sha256 0a -> 1b)"),
            ("node 20, /bin/node 40000000 bytes", "node 20, /bin/node 40000001 bytes", "(40000000 bytes -> 40000001 bytes)"),
            (
                "ls (GNU coreutils) 9.1, 23 of them sha256 0a",
                "ls (GNU coreutils) 9.1, 23 of them sha256 1b",
                "grep: GNU coreutils 9.1 -> same version, other content (sha256 0a -> 1b)",
            ),
            ("unset", GREP, "grep: unset -> GNU grep 3.8, /usr/bin/grep, sha256 9a9c5a0c"),
        ],
    )
    def test_a_program(self, before: str, after: str, words: str) -> None:
        """A program has its version and place, or what else differs of the same version; nothing is cut in the middle."""
        changed = difference("toolchain.programs.grep", before, after, "toolchain")
        assert words in only(None, toolchain(changed=(changed,))).sentence

    def test_digests_over_all_files(self) -> None:
        """They stand only where no named program changed; three named programs are two and a count."""
        others, libraries = (
            difference(f"toolchain.programs.{name}", "1143 by name and size, sha256 0a", "1144 by name and size, sha256 1b")
            for name in ("others", "libraries")
        )
        assert (
            "other programs on the path, shared libraries changed" in only(None, toolchain(changed=(others, libraries))).sentence
        )
        sentence = only(None, toolchain(*flips("a", 1), changed=(others, AWK, AWK, AWK, libraries))).sentence
        assert "gawk 5.2.1 and 1 more)" in sentence
        assert "librar" not in sentence

    def test_commands_can_be_copied(self) -> None:
        """A task's name is one word of the command, whatever a shell would make of it."""
        alarm = only(None, toolchain(*flips("$(touch x); a", 1)))
        assert "crosspath show bot-watch-frozen-1 '$(touch x); a')" in alarm.next_step


class TestProvider:
    def test_a_drop(self) -> None:
        """Direction, day, size with its interval, tasks, reference, what moved most, the newest day, the changed model."""
        alarm = only(served_changed(48), None, provider(-0.128, 49))
        assert (alarm.cause, alarm.level) == ("provider", "alarm")
        assert alarm.sentence == (
            "provider: support-bot answers worse, found on 2026-11-20: -12.8 points [-19.8, -5.8] over the last 7 days"
            f" on 2 tasks against the reference {REFERENCE}, most on quoting/a, heredoc/b;"
            " 80.0 % pass on 2026-12-01; the served model changed from x-0501 to x-1101 on 2026-11-19"
        )
        assert alarm.tasks == ("quoting/a", "heredoc/b")
        assert alarm.next_step == (
            "pin the served model x-0501 if the provider still has it; else measure what is served now with enough trials"
            " and gate that: crosspath run SPEC --reference (it accepts the change in the watch), then"
            f" crosspath gate POLICY --candidate latest --baseline {REFERENCE}"
        )

    def test_the_named_evaluations_are_one_word(self) -> None:
        """A reference with a blank in its name is still one word of the command."""
        named = "bot watch-20261002-1"
        assert only(None, None, provider(-0.1, 20, reference=named)).next_step.endswith(f" --baseline '{named}'")

    def test_a_rise(self) -> None:
        """Better is a change, too."""
        assert "support-bot answers better" in only(None, None, provider(0.1, 30)).sentence

    def test_it_may_be_gone_again(self) -> None:
        """An alarm stays until a new reference; what the last window shows is said beside what was found."""
        days = tuple(watch_day(number, -0.12 if number == 30 else -0.01) for number in range(1, 61))
        sentence = only(None, None, provider(-0.128, 30).model_copy(update={"days": days, "change": share(-0.01, 0.07)})).sentence
        assert (
            "-12.0 points [-19.0, -5.0] then and -1.0 points [-8.0, +6.0] over the last 7 days (it may be gone again)" in sentence
        )

    def test_another_served_model_with_the_same_rate(self) -> None:
        """A renamed model without another pass rate is a notice, with the interval that says how sure that is."""
        notice = only(served_changed(48))
        assert (notice.cause, notice.level, notice.fields) == ("provider", "notice", ("model.served",))
        assert (
            "from x-0501 to x-1101 on 2026-11-19; no change of the pass rate was found: 0.0 points [-7.0, +7.0]"
            in notice.sentence
        )

    def test_a_served_model_that_came_back(self) -> None:
        """A model that is served as in the reference again is no news."""
        back = SERVED.model_copy(update={"a": SERVED.b, "b": SERVED.a})
        assert found(configuration(timeline=(change(40, SERVED, "provider"), change(48, back, "provider")))) == ()

    def test_a_signal_alone(self) -> None:
        """Longer replies with the same pass rate are a notice with both values."""
        notice = only(None, None, provider(signals=(signal(), signal("refusals", changed=False))))
        assert (notice.level, notice.fields) == ("notice", ("reply length",))
        assert "reply length 61 characters -> 104 characters" in notice.sentence

    @pytest.mark.parametrize(
        ("fields", "step"),
        [
            ({"status": "could not measure", "reference": ""}, "measure a reference: crosspath run SPEC --reference"),
            ({"status": "could not measure"}, "measure a reference: crosspath run SPEC --reference"),
            ({"status": "not enough"}, "go on evaluating it: crosspath run SPEC"),
        ],
    )
    def test_no_answer(self, fields: dict[str, Any], step: str) -> None:
        """What is missing decides what is to be run; a reference that is no use is measured anew."""
        alarm = only(None, None, provider(sentence="why.", **fields))
        assert alarm.level == "unmeasured"
        assert alarm.sentence.endswith(": why")
        assert alarm.next_step == step

    def test_too_little(self) -> None:
        """That too little was observed is said once."""
        sentence = "no change found, and too little was observed: a drop would be found with a chance of about 37 %"
        too_little = provider(status="not enough", sentence=sentence, why="too little")
        assert only(None, None, too_little).sentence == f"provider: {sentence}"
        reference = "there is nothing to compare with"
        alarm = only(None, None, provider(status="not enough", sentence=reference))
        assert alarm.sentence == f"provider: not enough was observed: {reference}"

    def test_nothing_is_known_of_today(self) -> None:
        """It is said once, with the endpoint and the daily job to look at."""
        why = "100 % of the trials of w have no verdict (24 timeout)"
        days = (watch_day(60, used=False, why_not=why),)
        fields = {"why": "day", "unmeasured_today": why, "days": days}
        alarm = only(None, None, provider(status="could not measure", sentence=f"could not measure: {why}", **fields))
        assert (alarm.level, alarm.sentence) == ("unmeasured", f"provider: nothing is known of today: {why}")
        assert alarm.next_step == (
            f"check the endpoint and the daily job (crosspath report {evaluation(60)} says what failed), then crosspath run SPEC"
        )

    def test_nothing_is_known_of_today_beside_a_finding(self) -> None:
        """A finding stays; that nothing is known of today is a line of its own behind it."""
        stopped = provider(-0.128, 49, why="stopped", unmeasured_today="the newest evaluation is of 2026-11-28.")
        moved, today = found(None, None, stopped)
        assert (moved.level, today.level) == ("alarm", "unmeasured")
        assert "today" not in moved.sentence
        assert today.sentence == "provider: nothing is known of today: the newest evaluation is of 2026-11-28"
        assert today.next_step == "see to it that the daily job runs: crosspath run SPEC"


def test_two_causes_at_once() -> None:
    """Toolchain and provider are two alarms, the toolchain's first, and the provider's says what is set apart."""
    apart = {"awk/a": "its frozen replies come out otherwise", "awk/b": "edited"}
    first, second = found(None, toolchain(*flips("awk/a", 3), *flips("awk/b", 1)), provider(-0.128, 49, set_apart=apart))
    assert (first.cause, second.cause) == ("toolchain", "provider")
    assert "beyond the toolchain: the 2 tasks whose frozen replies come out otherwise are set apart" in second.sentence


def test_order() -> None:
    """Alarms stand before what could not be measured, and that before notices; in each the configuration is first."""
    look = found(
        configuration(difference(), edited_tasks=("a",)),
        toolchain(*flips("b", 1), unstable=(("c", 1),)),
        provider(status="could not measure", sentence="another configuration.", signals=(signal(),)),
    )
    assert [(alarm.level, alarm.cause) for alarm in look] == [
        ("alarm", "configuration"),
        ("alarm", "toolchain"),
        ("unmeasured", "provider"),
        ("notice", "toolchain"),
        ("notice", "provider"),
    ]
    assert look[2].next_step.startswith("decide about the configuration first")


@given(st.text(max_size=300))
def test_names_and_values_stay_on_their_line(name: str) -> None:
    """Whatever a reply, a model, a task or a server is called: each sentence and each step is one bounded line."""
    for text in (name, HOSTILE):
        look = alarms(
            configuration(
                difference(text, text, text + "2"),
                timeline=(change(5, difference("model.served", text, text + "2"), "provider"),),
                since_reference=(difference("model.served", text, text + "2"),),
                edited_tasks=(text,),
            ),
            toolchain(
                *flips(text, 2),
                changed=(difference(text, text, text), difference("toolchain.programs.x", text, f"{text}, /{text} {text}")),
                unstable=((text, 1),),
                replayed_as=text,
                frozen=text,
            ),
            provider(-0.1, 20, tasks=(text, "b"), reference=text, unmeasured_today=text or "x"),
            text,
        )
        assert len(look) == 5
        for alarm in look:
            assert one_line(alarm.sentence) == alarm.sentence
            assert one_line(alarm.next_step) == alarm.next_step
            assert len(alarm.sentence) < 2000
