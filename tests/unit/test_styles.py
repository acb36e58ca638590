"""Request styles: words around the instruction, which itself survives byte for byte."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from crosspath.catalogue import request_style, request_style_names
from crosspath.errors import ConfigError
from crosspath.styles import INSTRUCTION, MARKS, PLAIN, parse_style, wrap
from crosspath.types import RequestStyle

NAMES = ("plain", "bossy", "chatty", "exam", "production", "second-language", "terse", "ticket")
SHIPPED = {name: request_style(name) for name in request_style_names()}
HOSTILE = st.lists(
    st.one_of(st.text(), st.sampled_from([INSTRUCTION, "{", "}", "{}", "%s", "$x", "\\1", "\r\n", "\n", "\0", "{{ x }}", *MARKS]))
).map("".join)
CONTRACT_WORDS = re.compile(
    r"\b(files?|quot\w*|escap\w*|literal\w*|marks?|repl(?:y|ies)|answer\w*|explain\w*|explanation|comments?|commands?|shell|bash|"
    r"json|tools?|code|fences?|prompt|exactly|characters?|lines?|bytes?|refus\w*|declin\w*|impossible|cannot|must|always|never)\b",
    re.IGNORECASE,
)
"""What a contract or an instruction is about, and so nothing that a style may talk of."""


def parse(front: str, body: str = "Hi.\n\n{instruction}\n\nBye.") -> RequestStyle:
    """A style from its front matter and its text."""
    return parse_style(f"---\n{front}\n---\n{body}\n", "mine.md")


def test_the_styles_that_ship() -> None:
    """Eight styles, plain first, each with a version and a summary; exam and production name each other as their pair."""
    assert tuple(SHIPPED) == NAMES
    assert {name: style.pair for name, style in SHIPPED.items() if style.pair} == {"exam": "production", "production": "exam"}
    assert all(style.name == name and style.version == "1" and style.summary for name, style in SHIPPED.items())
    assert len({style.digest for style in SHIPPED.values()}) == len(SHIPPED)


@given(instruction=HOSTILE)
@example(instruction="")
@example(instruction=INSTRUCTION)
@example(instruction=f"a\r\n{INSTRUCTION}\r\n⟪{{x}}⟫\n")
def test_an_instruction_survives_byte_for_byte(instruction: str) -> None:
    """Whatever an instruction holds (line ends, marks, braces, the place of the instruction), a style only adds around it."""
    for style in SHIPPED.values():
        head, tail = wrap(style, "<<the one place>>").split("<<the one place>>")
        assert wrap(style, instruction).encode() == head.encode() + instruction.encode() + tail.encode()


@given(instruction=HOSTILE)
def test_plain_adds_nothing(instruction: str) -> None:
    """The plain style is the instruction, as a file and as the built-in one."""
    assert wrap(SHIPPED["plain"], instruction) == instruction == wrap(PLAIN, instruction)
    assert SHIPPED["plain"].digest == PLAIN.digest


@pytest.mark.parametrize("name", NAMES)
def test_words_of_a_style_that_ships_touch_nothing_else(name: str) -> None:
    """The words around the instruction hold no mark, and speak of nothing that a contract rules or a payload could hold."""
    text = SHIPPED[name].text.replace(INSTRUCTION, "")
    assert not any(mark in text for mark in MARKS)
    assert CONTRACT_WORDS.findall(text) == []
    assert not set(text) & set('`"$\\*<>|{}#~%;')


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"plain"}))
def test_the_instruction_stands_apart(name: str) -> None:
    """An empty line on each side, so that nobody reads the words around as a part of it."""
    paragraphs = SHIPPED[name].text.split("\n\n")
    assert paragraphs.count(INSTRUCTION) == 1
    assert len(paragraphs) > 1


def test_the_two_framings_differ_in_nothing_but_the_framing() -> None:
    """Exam and production have the same build and nearly the same length, so that only what they claim can make a difference."""
    exam, production = SHIPPED["exam"].text, SHIPPED["production"].text
    assert [len(re.findall(r"[.\n]", text)) for text in (exam, production)] == [4, 4]
    assert abs(len(exam) - len(production)) <= 5


def test_a_style_of_one_s_own() -> None:
    """The name is the file's, the version a number or a text; line ends of Windows and empty lines around it don't count."""
    style = parse_style("---\r\nversion: 2\r\nsummary: mine\r\n---\r\n\r\nHi.\r\n\r\n{instruction}\r\n", "some/dir/mine.md")
    assert (style.name, style.version, style.summary, style.pair) == ("mine", "2", "mine", None)
    assert style.text == "Hi.\n\n{instruction}"
    assert parse("name: a").digest == parse("name: b\nversion: 3\nsummary: s").digest != parse("name: a", "{instruction}").digest


@pytest.mark.parametrize(
    ("front", "body", "message"),
    [
        ("summary: s", "Hi.", r"text: holds \{instruction\} nowhere; it must stand there once, on a line of its own"),
        ("summary: s", "{instruction}\n\n{instruction}", r"text: holds \{instruction\} 2 times"),
        ("summary: s", "Please {instruction}", r"text: \{instruction\} must stand on a line of its own"),
        ("summary: s", "a\n {instruction}\nb", r"text: \{instruction\} must stand on a line of its own"),
        ("summary: s", "Write ⟪a⟫:\n{instruction}", r"text: holds U\+27EA or U\+27EB"),
        ("sumary: s", "{instruction}", "unknown field 'sumary'; did you mean summary"),
        ("summary: 7", "{instruction}", "summary: 7 is not a text"),
        ("version: 1.10", "{instruction}", "version: 1.1 is not a text"),
        ("name: ''", "{instruction}", "name: '' is not a text"),
        ("name: a\npair: a", "{instruction}", "pair: 'a' is this style itself"),
        ("- a", "{instruction}", "front matter: is not a mapping"),
        ("summary: s", " ", "has no text"),
    ],
)
def test_mistakes_are_one_clear_line(front: str, body: str, message: str) -> None:
    """Each mistake is a ConfigError that names the file, the field and what would be right."""
    with pytest.raises(ConfigError, match=message) as caught:
        parse(front, body)
    assert str(caught.value).startswith("mine.md:")
    assert "\n" not in str(caught.value)


def test_a_name_that_does_not_ship() -> None:
    """A misspelt name gets the near one."""
    with pytest.raises(ConfigError, match="no such request style: 'chaty'; did you mean 'chatty'"):
        request_style("chaty")
