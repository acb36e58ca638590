"""From outcomes of probes to findings: how harmful, what has happened, in which words; and the encodings that are tried."""

from collections.abc import Sequence

import pytest

from crosspath.transports.battery import CONTROLS, REDIRECTION, SINGLE, WORDS, battery, hard_probes
from crosspath.transports.findings import Finding, findings
from crosspath.transports.outcomes import Deviation, Outcome, deviation
from crosspath.transports.probes import Probe
from crosspath.transports.shapes import LINES, LONG_COMMAND
from crosspath.transports.tried_encodings import composed_encodings, single_encodings
from crosspath.transports.visible import joined, quoted, shown, unit_names

PROBES = {probe.name: probe for probe in battery()}
PARTS = {part.name: part for probe in PROBES.values() for part in (*probe.parts, probe)}


def outcome(told: int | None = 0, /, duration_s: float = 0.0, error: str = "", **files: str) -> Outcome:
    return Outcome({name: content.encode() for name, content in files.items()}, told, error, duration_s=duration_s)


def named(*files: str) -> Outcome:
    return Outcome(dict.fromkeys(files, b""), 0)


def differing(probe: Probe, raw: Outcome, here: Outcome) -> Deviation:
    found = deviation(probe, raw, here)
    assert found is not None
    return found


def character(unit: str, here: Outcome, place: str = "single quotes") -> Deviation:
    probe = next(part for part in PARTS.values() if part.units == (unit,) and part.name.startswith(place))
    return differing(probe, named(f"a{unit}z"), here)


def sentences(deviations: Sequence[Deviation]) -> list[str]:
    return [f"{one.harm}: {one.sentence}" for one in findings(deviations)]


@pytest.mark.parametrize(
    ("raw", "here", "harm"),
    [
        (outcome(a=""), outcome(a=""), None),
        (outcome(a=""), outcome(), "silent"),
        (outcome(a="x"), outcome(a="y"), "silent"),
        (outcome(a=""), outcome(1), "loud"),
        (outcome(a=""), outcome(None), "loud"),
        (outcome(3, a=""), outcome(0, a=""), "masked"),
        (outcome(3, a=""), outcome(0), "silent"),
        (outcome(a=""), outcome(1, a=""), "alarm"),
        (outcome(a=""), Outcome({"a": b""}, 0, timed_out=True), "alarm"),
        (outcome(3, a=""), outcome(1, a=""), "status"),
        (outcome(3, a=""), outcome(3, a=""), None),
        (outcome(a=""), outcome(a="", duration_s=4.0), "slow"),
        (outcome(a=""), outcome(a="", duration_s=1.5), None),
    ],
)
def test_harm_is_told_from_the_state_and_the_status(raw: Outcome, here: Outcome, harm: str | None) -> None:
    """A wrong state told as success is silent; a right one may be told wrongly or late; equal ones are no deviation."""
    found = deviation(WORDS, raw, here)
    assert (found.harm if found else None) == harm


def test_a_path_that_is_slow_for_all_is_not_late() -> None:
    """Late is what takes much longer than the path takes for the plainest command."""
    assert deviation(WORDS, outcome(a=""), outcome(a="", duration_s=4.0), usual_s=3.0) is None


@pytest.mark.parametrize(
    ("unit", "left", "sentence"),
    [
        ('"', ["az"], '`"` is dropped between single quotes'),
        ("<", ["a&lt;z"], "`<` becomes `&lt;` between single quotes"),
        ("%", ["a"], "What stands behind `%` is dropped between single quotes"),
        (" ", ["a", "z"], "The text is split in two at a blank between single quotes"),
        ("!", ["x"], "`!` is changed between single quotes"),
        ("$", ["a"], "`$` before a letter is expanded between single quotes"),
        ("$", ["a\\\\$z"], "`$` before a letter becomes `\\$` between single quotes"),
        ("\n", [], "With a line end between single quotes, nothing is left"),
        ("é", ["aÃ©z"], "`é` becomes `Ã©` between single quotes"),
    ],
)
def test_what_happens_to_a_character_is_said(unit: str, left: list[str], sentence: str) -> None:
    """It stood between two letters: what stands there now tells."""
    assert sentences([character(unit, named(*left))]) == [f"silent: {sentence}"]


def test_characters_that_suffer_the_same_are_told_together() -> None:
    """One sentence for all characters, and for all places."""
    places = ("single quotes", "double quotes", "no quotes")
    deviations = [character(unit, named(f"a&{name};z"), place) for place in places for unit, name in (("<", "lt"), (">", "gt"))]
    assert sentences(deviations) == ["silent: `<` becomes `&lt;` and `>` becomes `&gt;` everywhere"]
    dropped = [character(unit, named("az")) for unit in (" ", "\t", "é")]
    assert sentences(dropped) == ["silent: A blank, a tab and `é` are dropped between single quotes"]


def test_what_must_have_happened_is_said_in_its_own_words() -> None:
    """Where the files that are left allow but one explanation, that is the sentence."""
    whole = named("a", "b", "c")
    assert sentences([differing(LINES, whole, named("a"))]) == ["silent: Everything after the first line is dropped"]
    assert sentences([differing(LINES, whole, named("a", "b", "c", "touch"))]) == ["silent: Lines are joined to one"]
    assert sentences([differing(LINES, whole, named("b"))]) == ["silent: With several lines, only a part is carried out"]


def test_a_command_that_no_shell_understood_was_not_ended_by_a_failure() -> None:
    """Nothing is left of ``false; touch a`` in a shell with -e, and where there is no shell: only one of them is explained so."""
    probe = PROBES["report: a command in the middle that fails"]
    ended, misread = differing(probe, named("a"), outcome(1)), differing(probe, named("a"), outcome(127))
    assert sentences([ended]) == ["loud: The first command that fails ends it"]
    assert sentences([misread]) == ["loud: With a command in the middle that fails, nothing is left"]


@pytest.mark.parametrize(
    ("arrived", "sentence"),
    [
        ("/home/x", "`$HOME` between single quotes is expanded"),
        ("\\$HOME", "`$HOME` between single quotes is changed"),
        ("", "`$HOME` between single quotes is replaced by nothing"),
    ],
)
def test_only_what_lost_its_sign_was_expanded(arrived: str, sentence: str) -> None:
    """A variable that arrives with a backslash more was changed, and not expanded."""
    probe = PROBES["between single quotes: `$HOME`"]
    assert sentences([differing(probe, outcome(got="$HOME"), outcome(got=arrived))]) == [f"silent: {sentence}"]


def test_what_is_written_in_a_form_that_fails_is_not_explained_by_itself() -> None:
    """Where nothing can be redirected, probes that redirect are named under that finding, those that are worse are not."""
    redirecting = PROBES["quoting: an empty argument"]
    control = differing(REDIRECTION, outcome(got="ab\n"), outcome(1))
    alike = differing(redirecting, outcome(got="x"), outcome(2))
    worse = differing(PROBES["expansions: `~`"], outcome(got="x"), outcome(0))
    found = findings([alike, control, worse])
    assert [(one.harm, [each.probe.name for each in one.also]) for one in found] == [
        ("silent", []),
        ("loud", [redirecting.name]),
    ]
    assert found[1].sentence == "Output can't be redirected to a file"


def test_silent_damage_stands_first() -> None:
    """Findings are sorted by harm, whatever the order of the probes; what is explained stands before what is not."""
    report = PROBES["report: `exit 3` at the end"]
    shape = PROBES["quoting: an empty argument"]
    deviations = [
        differing(report, outcome(3, a=""), outcome(0, a="")),
        differing(SINGLE, named("got"), outcome(2)),
        differing(shape, outcome(got="x"), outcome(got="y")),
        character('"', named("az")),
    ]
    assert sentences(deviations) == [
        'silent: `"` is dropped between single quotes',
        "silent: An empty argument is changed",
        "masked: With `exit 3` at the end, success is reported in place of the failure",
        "loud: With a plain word between single quotes, nothing is left",
    ]
    assert [one.harm for one in findings(deviations[::-1])] == ["silent", "silent", "masked", "loud"]


def test_wrong_reports_say_what_is_told() -> None:
    """Another status, and a failure beside a right state."""
    report = PROBES["report: `exit 3` at the end"]
    assert sentences([differing(report, outcome(3, a=""), outcome(1, a=""))]) == [
        "status: With `exit 3` at the end, 1 is reported in place of 3"
    ]
    output = PROBES["report: output that is no UTF-8"]
    assert sentences([differing(output, outcome(a=""), outcome(1, a=""))]) == [
        "alarm: With output that is no UTF-8, a failure is reported though all was done"
    ]


def test_an_example_is_short() -> None:
    """The first one that shows it, unless another is much shorter."""
    expanded = [
        differing(PROBES[f"between single quotes: {name}"], outcome(got="$ $"), outcome(got="x"))
        for name in ("`$HOME`", "`${HOME}`", "`$$`")
    ]
    (found,) = findings(expanded)
    assert isinstance(found, Finding)
    assert found.example.probe.subject == "`$HOME`"


def test_the_battery_is_of_a_bearable_size() -> None:
    """Names are unique, a probe in the short battery says so, and every group of characters can be taken apart."""
    assert len(PROBES) == len(battery()) <= 170
    assert len(battery(quick=True)) <= 40
    assert all(len(probe.parts) == len(probe.units) for probe in PROBES.values() if len(probe.units) > 1)
    assert len(hard_probes()) < 20
    assert max(len(probe.command) for probe in (*CONTROLS, *PROBES.values())) < LONG_COMMAND + 100


@pytest.mark.parametrize(
    ("place", "lacking"),
    [("between single quotes", "'"), ("between double quotes", ""), ("outside of quotes (escaped)", "\n")],
)
def test_every_character_of_ascii_is_tried_everywhere(place: str, lacking: str) -> None:
    """But for the slash, which no file's name can hold and which is a shape, and for what can't stand there at all."""
    units = {unit for probe in PROBES.values() if probe.place == place for unit in probe.units}
    assert {chr(code) for code in range(1, 128)} - units == {"/", *lacking}
    assert "between single quotes: a slash" in PROBES


def test_encodings_are_named_once() -> None:
    """Every encoding has a name and an instruction of its own, single or composed."""
    found = [*single_encodings(), *composed_encodings()]
    assert len({one.name for one in found}) == len({one.instruction for one in found}) == len(found)


def test_texts_are_shown_on_one_line_and_nothing_is_mistaken() -> None:
    """What can't be seen has a name, a backslash is one, and a long text says how long it is."""
    assert shown("a\\n\n\r\t\x1b[1m\ufeff\u202e") == "a\\n‹LF›‹CR›‹TAB›‹ESC›[1m‹U+FEFF›‹U+202E›"
    assert shown(b"\xff\xfea") == "‹FF›‹FE›a"
    assert shown("x" * 100) == "x" * 60 + " ... (100 characters)"
    assert (quoted("`"), quoted("a"), quoted("")) == ("`` ` ``", "`a`", "nothing")
    assert unit_names("abc") == "`a`, `b` and `c`"
    assert unit_names([" ", "\n", "\x01"]) == "a blank, a line end and U+0001"
    assert joined([str(number) for number in range(20)]) == "0, 1, 2, 3, 4, 5, 6, 7 and 12 more"
