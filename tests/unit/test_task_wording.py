"""What `tasks check` says about the words of a task: what is demanded is checked, what is checked is demanded."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.app.task_checks import read_sources
from crosspath.app.task_checks.findings import Finding
from crosspath.app.task_checks.texts import MarksError, payloads
from crosspath.app.task_checks.wording import DEMANDED, MARKS, TAGGED, TOLD, wording
from crosspath.tasks import parse_tasks
from crosspath.types import FileEntry, Message, Observer, Task


def task(instruction: str = "", **fields: Any) -> Task:
    return Task(id="f/t", family="f", instruction=instruction, **fields)


def file(path: str, content: str = "") -> FileEntry:
    return FileEntry(path=path.encode(), content=content.encode())


def found(of: Task) -> dict[str, Finding]:
    return {finding.proof: finding for finding in wording(of)}


def test_payloads_stand_between_marks() -> None:
    """Whatever is between a pair of marks is a payload: blanks, line breaks, or nothing at all."""
    assert payloads("write ⟪a  b⟫, ⟪x\ny⟫ and ⟪⟫") == ("a  b", "x\ny", "")
    assert payloads("no marks") == ()


@pytest.mark.parametrize(
    ("text", "words"),
    [("⟪a", "never closed"), ("a⟫", "nothing is open"), ("⟪a⟪b⟫⟫", "a second one opens"), ("⟪a⟫ ⟫", "nothing is open")],
)
def test_marks_that_do_not_pair_up(text: str, words: str) -> None:
    """A mark without a partner, or inside of another pair, is named with its place and how to mend it."""
    with pytest.raises(MarksError, match=words):
        payloads(text)
    finding = found(task(text))[MARKS]
    assert finding.status == "fails"
    assert words in finding.detail
    assert "close each" in finding.mend


@given(st.lists(st.text().filter(lambda text: not set(text) & set("⟪⟫"))))
def test_any_payload_comes_back(texts: list[str]) -> None:
    """Every text without marks is found again between them."""
    assert payloads(" and ".join(f"⟪{text}⟫" for text in texts)) == tuple(texts)


def test_a_mark_inside_of_a_payload() -> None:
    """Content with a mark in it can't be delimited by marks."""
    finding = found(task("write ⟪a⟫", expected=(file("a", "1 ⟫ 2"),)))[MARKS]
    assert (finding.status, "1 ⟫ 2" in finding.detail) == ("fails", True)


def test_conversations_have_marks_too() -> None:
    """A task that brings messages is read as a whole."""
    talk = (Message(role="user", content="write ⟪a"), Message(role="user", content="or not"))
    assert found(Task(id="a", family="f", messages=talk))[MARKS].status == "fails"


def test_a_payload_that_nothing_checks() -> None:
    """An instruction that demands another text than the expected one is a task that nobody can solve."""
    of = task("put ⟪it's ready⟫ into ⟪a.txt⟫", expected=(file("a.txt", "it is ready\n"),))
    finding = found(of)[DEMANDED]
    assert finding.status == "fails"
    assert '"it\'s ready"' in finding.detail
    assert "same payload" in finding.mend


@pytest.mark.parametrize(
    "content",
    [
        'say "hi" & go\\',
        '{"text": "say \\"hi\\" & go\\\\"}',
        'x,"say ""hi"" & go\\"',
        "say &quot;hi&quot; &amp; go\\",
        "say%20%22hi%22%20%26%20go%5C",
        "7361792022686922202620676f5c",
        "c2F5ICJoaSIgJiBnb1w=",
        "'say \"hi\" & go\\'",
    ],
)
def test_formats_write_payloads_in_their_own_way(content: str) -> None:
    """A payload counts as there when JSON, CSV, HTML, a URL, hex, base64 or a shell writes it down."""
    assert found(task('take ⟪say "hi" & go\\⟫', expected=(file("a", content),)))[DEMANDED].status == "holds"


def test_payloads_may_be_elsewhere_than_in_a_file() -> None:
    """Names, patterns, the environment, programs, observers and single lines are places, too."""
    of = task(
        "⟪old⟫ ⟪*.log⟫ ⟪X=1 2⟫ ⟪run --all now⟫ ⟪orders⟫ ⟪one\n\n  two⟫ ⟪message⟫",
        fixture=(file("old"), file("logs/a.log")),
        env=(("X", "1 2"),),
        programs=(file("run", "is '--all' && is 'now'"),),
        observers=(Observer(name="o", command="sqlite3 d 'select * from orders'"),),
        expected=(file("b", "- one\n- two\n"), file("message")),
    )
    assert found(of)[DEMANDED].status == "holds"


def test_what_only_the_right_command_knows() -> None:
    """A word that the oracle spells out and neither instruction nor fixture tells can't be guessed."""
    of = task("write the greeting into a.txt", expected=(file("a.txt", "hello\n"),), oracle="echo hello > a.txt")
    finding = found(of)[TOLD]
    assert finding.status == "fails"
    assert "'hello'" in finding.detail
    assert "say it in the instruction" in finding.mend


def test_what_a_command_works_out_need_not_be_told() -> None:
    """What follows from the fixture and is not spelled out in the right command is known to whoever runs it."""
    of = task("sort words.txt", fixture=(file("words.txt", "b\na\n"),), expected=(file("words.txt", "a\nb\n"),))
    assert found(of)[TOLD].status == "not tried"
    assert found(of.model_copy(update={"oracle": "sort -o words.txt words.txt"}))[TOLD].status == "holds"
    shout = task("in capitals", fixture=(file("a", "hello"),), expected=(file("a", "HELLO"),), oracle="tr a-z A-Z < a")
    assert found(shout)[TOLD].status == "holds"


@pytest.mark.parametrize("written", ["one\\ntwo", "caf\\u00e9 one", "one%20two", "one&amp;two", "one\\303\\251two"])
def test_an_escape_is_no_part_of_a_word(written: str) -> None:
    """What a format puts in the place of a character makes no word that nobody can know."""
    of = task("write ⟪one\ntwo⟫ and caf", expected=(file("a", written),), oracle=f"printf '{written}' > a")
    assert found(of)[TOLD].status == "holds"


def test_tags_that_are_not_there() -> None:
    """A hazard that results are sliced by is in a payload; other tags are the user's own affair."""
    of = task("write ⟪it's⟫", hazards=("apostrophe", "dollar", "newline", "slow"), expected=(file("a", "it's\n"),))
    finding = found(of)[TAGGED]
    assert finding.detail.startswith("dollar, newline:")
    assert "drop the tag" in finding.mend
    assert found(of.model_copy(update={"hazards": ("apostrophe",)}))[TAGGED].status == "holds"
    assert found(of.model_copy(update={"hazards": ("slow",)}))[TAGGED].status == "not tried"


def test_without_marks_most_is_not_tried() -> None:
    """A plain instruction fails nothing, and says what it lacks."""
    (plain,) = parse_tasks('{"id": "a", "instruction": "make a", "expected": {"a": "1"}}', "x")
    assert {finding.status for finding in wording(plain)} == {"not tried"}
    assert {finding.detail for finding in wording(plain)} == {
        "no marks in the instruction",
        "no right command (oracle)",
        "no tag of a known hazard",
    }


@pytest.mark.parametrize("seed", [None, "first seed of three", "second seed of three", "third seed of three"])
def test_the_catalogue_agrees_with_itself(seed: str | None) -> None:
    """No task that ships or is drawn has an unchecked payload, a demand that nobody can know, or a tag without its hazard."""
    tasks = [of for source in read_sources(seed=seed) for of in source.tasks]
    assert len(tasks) > 20
    assert [finding for of in tasks for finding in wording(of) if finding.status == "fails"] == []
