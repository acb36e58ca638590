"""Generated contracts: the plain contract with one sentence exchanged, in three wordings."""

from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.contracts import LONGEST_TOLD, ToldStep, parse_contract, tell
from crosspath.contracts.telling import plain_sentence
from crosspath.errors import ConfigError
from crosspath.types import PLAIN_CONTRACTS, WORDINGS, Contract, Shape, Telling

_TEXTS = files("crosspath.contracts").joinpath("texts")
PLAIN = {
    shape: parse_contract(_TEXTS.joinpath(f"{name}.md").read_text("utf-8"), f"{name}.md")
    for shape, name in PLAIN_CONTRACTS.items()
}
QUOTED = ToldStep('The text is placed between the double quotes of bash -c "<text>".', 'bash -c "<text>"')
TRIMMED = ToldStep("White space at both ends of the text is dropped.")
SAVED = ToldStep("The text is written to a file, and bash executes that file.")

steps = st.builds(
    ToldStep, st.text("ab <>.$`\n", min_size=1, max_size=60), st.sampled_from(["", "x <text> y", "'<text>'", "{\n<text>\n}"])
)


def told(wording: int, *before: ToldStep, last: ToldStep | None = None, shape: Shape = "text") -> Contract:
    """The contract about a path ``p``."""
    return tell(Telling(path="p", wording=wording), "p", PLAIN[shape], before, last)


def sentence(contract: Contract) -> str:
    """What stands in the place of the plain contract's sentence; what is around it is the plain contract's."""
    before, after = PLAIN[contract.shape].text.split(plain_sentence(contract.shape))
    assert contract.text.startswith(before)
    assert contract.text.endswith(after)
    return contract.text[len(before) : -len(after)]


@given(st.lists(steps, min_size=1, max_size=4), st.none() | steps, st.sampled_from(list(PLAIN)))
def test_only_the_sentence_about_the_path_differs(before: list[ToldStep], last: ToldStep | None, shape: Shape) -> None:
    """Whatever layers say: shape, tools, form of declining and all other words are the plain contract's, in three wordings that
    differ, each the same when it is written again.
    """
    found = [told(number, *before, last=last, shape=shape) for number in range(1, WORDINGS + 1)]
    assert all(0 < len(sentence(contract)) <= LONGEST_TOLD for contract in found)
    assert len({contract.text for contract in found}) == len({contract.digest for contract in found}) == WORDINGS
    assert found == [told(number, *before, last=last, shape=shape) for number in range(1, WORDINGS + 1)]
    same = {"shape", "tools", "field", "abstain"}
    assert all(contract.model_dump(include=same) == PLAIN[shape].model_dump(include=same) for contract in found)
    assert {(contract.discloses, contract.reference) for contract in found} == {("p", PLAIN_CONTRACTS[shape])}


def test_what_happens_to_the_text() -> None:
    """The first wording is what the layers say, in their order."""
    assert sentence(told(1, QUOTED)) == f"Your whole reply travels as follows. {QUOTED.sentence}"
    assert sentence(told(1, TRIMMED, QUOTED, last=SAVED)) == (
        "Your whole reply travels as follows. Each step takes what the one before it made."
        f" (1) {TRIMMED.sentence} (2) {QUOTED.sentence} (3) {SAVED.sentence}"
    )


def test_the_form_that_the_text_is_placed_in() -> None:
    """The second wording shows forms, one within the other, and says in sentences only what has none."""
    assert sentence(told(2, QUOTED)) == (
        'Your whole reply takes, exactly as you write it, the place of <text> in `bash -c "<text>"`.'
        " The result is the one argument of `bash -c`."
    )
    inner = ToldStep("It is quoted.", "bash -c '<text>'")
    assert "in `bash -c \"bash -c '<text>'\"`. The result" in sentence(told(2, inner, QUOTED))
    assert sentence(told(2, TRIMMED, QUOTED, last=SAVED)) == (
        "Your whole reply goes through these steps. Each step takes what the one before it made."
        f' (1) {TRIMMED.sentence} (2) The text takes the place of <text> in `bash -c "<text>"`. (3) {SAVED.sentence}'
    )
    assert sentence(told(2, TRIMMED)) == (
        f"Your whole reply is not simply the one argument of `bash -c`. This happens to it: {TRIMMED.sentence}"
    )


def test_forms_of_several_lines_and_with_backticks_stay_readable() -> None:
    """Lines stand below the sentence, indented; a form with backticks is quoted by two."""
    heredoc = sentence(told(2, ToldStep("A heredoc.", "cat <<'EOF'\n<text>\nEOF")))
    assert "the place of <text> in this:\n\n    cat <<'EOF'\n    <text>\n    EOF\n\nThe result is" in heredoc
    assert "in ``echo `<text>` ``. The" in sentence(told(2, ToldStep("In backticks.", "echo `<text>` ")))


def test_what_to_do_about_it() -> None:
    """The third wording asks for a text that still does the same after what happens to it."""
    text = sentence(told(3, QUOTED))
    assert "Write your reply so that what is executed in the end is still what you mean" in text
    assert text.endswith(QUOTED.sentence)


@pytest.mark.parametrize(
    ("shape", "begins"),
    [
        ("text", "Your whole reply "),
        ("json", "After the JSON is decoded, that shell text "),
        ("tools", "The `command` of `run_shell` "),
    ],
)
@pytest.mark.parametrize("wording", [1, 2, 3])
def test_each_shape_speaks_of_its_own_text(shape: Shape, begins: str, wording: int) -> None:
    """The sentence is about what the shape calls its shell text."""
    assert sentence(told(wording, QUOTED, shape=shape)).startswith(begins)


def test_the_first_wording_is_the_handwritten_one() -> None:
    """For the other shapes the contracts that ship about the nested shell say word for word what is generated."""
    placed = 'The text is placed, without any escaping, between the double quotes of bash -c "<text>"'
    quoted = ToldStep(f"{placed}, and an outer bash parses that first.")
    by_shape: dict[Shape, str] = {"json": "json-nested-shell", "tools": "tool-call-nested-shell"}
    for shape, name in by_shape.items():
        by_hand = parse_contract(_TEXTS.joinpath(f"{name}.md").read_text("utf-8"), f"{name}.md")
        assert told(1, quoted, shape=shape).text == by_hand.text


def test_nothing_to_tell_and_too_much_to_tell() -> None:
    """The raw path has its contract; a path that takes pages is for a person to describe; another text is not taken for plain."""
    with pytest.raises(ConfigError, match="path p is told by contract json already; write contract: json"):
        told(1, shape="json")
    with pytest.raises(ConfigError, match=f"takes 13[0-9]+ characters, more than {LONGEST_TOLD}; write a contract of your own"):
        told(1, ToldStep("x" * 1300))
    other = PLAIN["text"].model_copy(update={"text": "Write."})
    with pytest.raises(ValueError, match="contract raw does not say once: Your whole reply"):
        tell(Telling(path="p"), "p", other, [QUOTED])


@pytest.mark.parametrize(
    ("name", "path", "wording"),
    [
        ("tell:nested-shell", "nested-shell", 1),
        ("tell:nested-shell#2", "nested-shell", 2),
        ("tell:json:my.own_path#3", "json:my.own_path", 3),
    ],
)
def test_names_and_what_they_ask_for(name: str, path: str, wording: int) -> None:
    """A name says path and wording, and back."""
    assert Telling.named(name) == Telling(path=path, wording=wording)
    assert Telling(path=path, wording=wording).name == name


@pytest.mark.parametrize(
    "name", ["tell", "tell:", "tell:#2", "tell:a#1", "tell:a#4", "tell:a#2#3", "tell:a#", "nested-shell", "tells:a"]
)
def test_names_of_no_generated_contract(name: str) -> None:
    """Each contract has one name, so the first wording has no number."""
    assert Telling.named(name) is None


@pytest.mark.parametrize("name", ["tell", "tell:nested-shell", "tell:mine"])
def test_the_names_are_kept_free(name: str) -> None:
    """A contract of one's own can't be called like a generated one."""
    with pytest.raises(ConfigError, match=rf"mine\.md: name: '{name}' is for contracts that are generated \(tell:PATH\)"):
        parse_contract(f"---\nname: '{name}'\n---\nText.\n", "mine.md")
