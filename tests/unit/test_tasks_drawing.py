"""Payloads drawn from a seed: the same for the same seed, with every hazard that is asked for and no other."""

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.errors import ConfigError
from crosspath.tasks.drawing import SHAPES, Draw, draw
from crosspath.tasks.hazards import HAZARDS, found_in
from crosspath.tasks.places import Place

SEED = "a seed of enough letters"
PLACE = Place("own.yaml", "heldout.draw")
ON_ONE_LINE = sorted(set(HAZARDS) - {"newline"})

seeds = st.integers(0, 10**12).map(lambda number: f"seed {number:020d}")
any_hazards = st.sets(st.sampled_from(sorted(HAZARDS)))
line_hazards = st.sets(st.sampled_from(ON_ONE_LINE))


def drawn(shape: dict[str, object], hazards: Iterable[str] = (), seed: str = SEED, purpose: str = "test") -> object:
    """One payload."""
    return draw({"it": shape}, sorted(hazards), Draw(seed, purpose), PLACE)["it"]


def text(shape: dict[str, object], hazards: Iterable[str] = (), seed: str = SEED) -> str:
    found = drawn(shape, hazards, seed)
    assert isinstance(found, str)
    return found


def implied(hazards: Iterable[str]) -> set[str]:
    """What a payload with these hazards holds: a combining character is one outside of ASCII, too."""
    return {*hazards, *(["non-ascii"] if "combining" in hazards else [])}


class TestHazards:
    @pytest.mark.parametrize("tag", [tag for tag, hazard in HAZARDS.items() if hazard.atoms])
    def test_atoms(self, tag: str) -> None:
        """Every way to write a hazard holds it, and at least three hold no other."""
        atoms = HAZARDS[tag].atoms
        assert all(tag in found_in(atom) for atom in atoms)
        assert sum(found_in(atom) == implied([tag]) for atom in atoms) >= 3

    @pytest.mark.parametrize(
        ("payload", "tags"),
        [
            ("", set[str]()),
            ("two words", set[str]()),
            ("it's", {"apostrophe"}),
            ("a-b", set[str]()),
            ("-a", {"leading-dash"}),
            ("a\n-b", {"leading-dash", "newline"}),
            ("[]", set[str]()),
            ("[a]", {"glob"}),
            (" a", {"blank"}),
            ("a  b", {"blank"}),
            ("e\u0301", {"combining", "non-ascii"}),
            ("é", {"non-ascii"}),
            ("a\r\nb", {"carriage-return", "newline"}),
        ],
    )
    def test_found(self, payload: str, tags: set[str]) -> None:
        """A hazard is where it means something, not where its character merely occurs."""
        assert found_in(payload) == tags


class TestEveryHazard:
    @given(seeds, line_hazards, st.integers(1, 20), st.sampled_from([" ", "", "-", ", "]))
    def test_line(self, seed: str, hazards: set[str], words: int, glue: str) -> None:
        """A line holds exactly the hazards that are asked for, however its words are joined."""
        found = text({"shape": "line", "words": words, "glue": glue}, hazards, seed)
        assert found_in(found) == implied(hazards)
        assert found

    @given(seeds, any_hazards, st.integers(2, 20))
    def test_text(self, seed: str, hazards: set[str], lines: int) -> None:
        """A text holds exactly what is asked for; it has several lines only where a line break is."""
        found = text({"shape": "text", "lines": lines}, hazards, seed)
        assert found_in(found) == implied(hazards)
        assert found.count("\n") == (lines - 1 if "newline" in hazards else 0)

    @given(seeds, any_hazards, st.integers(1, 5), st.sampled_from(["", ".txt", ".tar.gz"]))
    def test_name(self, seed: str, hazards: set[str], words: int, ending: str) -> None:
        """A name is one that a file system takes: no slash, no NUL, at most 255 bytes; its ending is kept."""
        shape: dict[str, object] = {"shape": "name", "words": words, "ending": ending, "carries": sorted(HAZARDS)}
        found = text(shape, hazards, seed)
        assert found_in(found.removesuffix(ending)) == implied(hazards)
        assert found.endswith(ending)
        assert "/" not in found
        assert "\0" not in found
        assert 0 < len(found.encode()) <= 255
        assert found not in (".", "..")

    @given(seeds, line_hazards, st.integers(1, 20))
    def test_list(self, seed: str, hazards: set[str], count: int) -> None:
        """Each hazard stands in exactly one of the values (but for those outside of ASCII twice over)."""
        found = drawn({"shape": "list", "count": count, "of": {"shape": "line"}}, hazards, seed)
        assert isinstance(found, list)
        assert len(found) == count
        tags = [tag for value in found for tag in found_in(value)]
        assert set(tags) == implied(hazards)
        assert len(tags) - len(set(tags)) <= 1

    @given(seeds, any_hazards)
    def test_plain_shapes(self, seed: str, hazards: set[str]) -> None:
        """Words, tokens and numbers hold none, whatever is asked of their neighbours."""
        shapes: dict[str, object] = {
            "word": {"shape": "word"}, "token": {"shape": "token"}, "number": {"shape": "number"}, "text": {"shape": "text"},
        }  # fmt: skip
        found = draw(shapes, sorted(hazards), Draw(seed, "test"), PLACE)
        assert not found_in(f"{found['word']}{found['token']}{found['number']}")


class TestShapes:
    def test_word(self) -> None:
        """A plain word with its ending; no word twice in one task."""
        shapes: dict[str, object] = {str(number): {"shape": "word", "ending": ".txt"} for number in range(100)}
        words = list(draw(shapes, [], Draw(SEED, "test"), PLACE).values())
        assert len(set(words)) == 100
        assert all(isinstance(word, str) and word.removesuffix(".txt").isalpha() for word in words)

    def test_words_may_run_out(self) -> None:
        """A task that wants more words than there are gets some again."""
        stream = Draw(SEED, "test")
        assert len([stream.word() for _ in range(1000)]) == 1000

    @given(seeds, st.integers(-50, 50), st.integers(0, 20))
    def test_number(self, seed: str, low: int, span: int) -> None:
        """A whole number between both ends, both included."""
        found = drawn({"shape": "number", "from": low, "to": low + span}, seed=seed)
        assert isinstance(found, int)
        assert low <= found <= low + span

    def test_both_ends_are_reached(self) -> None:
        """Neither end of a range is left out, nor any value of a choice."""
        numbers = {drawn({"shape": "number", "from": 1, "to": 3}, purpose=str(n)) for n in range(100)}
        assert numbers == {1, 2, 3}
        values = {drawn({"shape": "choice", "of": ["a", 2, None]}, purpose=str(n)) for n in range(100)}
        assert values == {"a", 2, None}

    def test_token(self) -> None:
        """Letters and digits that are not mistaken for each other, as many as asked."""
        found = text({"shape": "token", "length": 200})
        assert len(found) == 200
        assert found.isalnum()
        assert not set(found) & set("lIO01")

    def test_names_without_hazards_have_no_blank(self) -> None:
        """A benign name can stand unquoted."""
        assert " " not in text({"shape": "name", "words": 3})
        assert text({"shape": "name", "words": 3}).count("-") == 2

    def test_carries_and_without(self) -> None:
        """A payload holds what it may carry and leaves the rest to another."""
        shapes: dict[str, object] = {
            "key": {"shape": "line", "carries": ["dollar"]},
            "value": {"shape": "line", "without": ["dollar"]},
        }
        found = draw(shapes, ["dollar", "apostrophe"], Draw(SEED, "test"), PLACE)
        assert found_in(str(found["key"])) == {"dollar"}
        assert found_in(str(found["value"])) == {"apostrophe"}


class TestStream:
    def test_the_same_everywhere(self) -> None:
        """Known values: another version or machine that gives others would make another evaluation of the same seed."""
        stream = Draw("0123456789abcdef", "family/variant/0")
        assert [stream.below(1000) for _ in range(5)] == [872, 187, 753, 280, 724]
        assert stream.shuffled("abcdef") == ["a", "f", "e", "d", "b", "c"]

    @given(seeds, st.integers(1, 10**9))
    def test_bounds(self, seed: str, bound: int) -> None:
        """Every draw is below its bound."""
        stream = Draw(seed, "test")
        assert all(0 <= stream.below(bound) < bound for _ in range(5))

    @given(seeds, st.lists(st.integers()))
    def test_shuffling_loses_nothing(self, seed: str, values: list[int]) -> None:
        """What is shuffled is all there."""
        assert sorted(Draw(seed, "test").shuffled(values)) == sorted(values)

    def test_seeds_and_purposes_are_apart(self) -> None:
        """Another seed or another variant is another stream."""
        streams = [Draw(seed, purpose) for seed in (SEED, SEED + "!") for purpose in ("a", "b")]
        assert len({tuple(stream.below(10**6) for _ in range(5)) for stream in streams}) == 4

    @given(seeds, any_hazards, st.sampled_from(["line", "text", "name"]))
    def test_twice_the_same(self, seed: str, hazards: set[str], shape: str) -> None:
        """The same seed gives the same payload, whatever order the hazards stand in."""
        shapes: dict[str, object] = {"it": {"shape": shape}, "rest": {"shape": "text"}}
        first, second = (draw(shapes, order, Draw(seed, "p"), PLACE) for order in (sorted(hazards), sorted(hazards)[::-1]))
        assert first == second


@pytest.mark.parametrize(
    ("shape", "hazards", "line"),
    [
        ({}, [], "it.shape: unknown shape None; known: choice, "),
        ({"shape": "lines"}, [], "it.shape: unknown shape 'lines'; did you mean 'line'?"),
        ({"shape": ["line"]}, [], "it.shape: unknown shape ['line']; did you mean 'line'?"),
        ("line", [], 'it: "line" is not an object of named fields'),
        ({"shape": "word", "words": 2}, [], 'it: unknown field "words"; known: ending, shape'),
        ({"shape": "word", "carries": ["dollar"]}, [], 'it: unknown field "carries"; known: ending, shape'),
        ({"shape": "line", "words": 0}, [], "it.words: 0 is not a whole number from 1 to 20"),
        ({"shape": "line", "words": True}, [], "it.words: true is not a whole number from 1 to 20"),
        ({"shape": "line", "glue": 3}, [], "it.glue: 3 is not a text"),
        ({"shape": "line", "carries": "dollar"}, [], 'it.carries: "dollar" is not a list'),
        ({"shape": "line", "carries": ["dolar"]}, ["dollar"], "it: unknown hazard 'dolar'; did you mean 'dollar'?"),
        ({"shape": "line", "without": ["dollar"]}, ["dollar"], "no payload may carry the hazard 'dollar'; let a line, text,"),
        ({"shape": "line"}, ["newline"], "no payload may carry the hazard 'newline'"),
        ({"shape": "word"}, ["apostrophe"], "no payload may carry the hazard 'apostrophe'"),
        ({"shape": "line"}, ["quote"], "payloads can't be drawn for the hazard 'quote'; known: ampersand, "),
        ({"shape": "text", "lines": 1}, ["newline"], "it.lines: 1 is not a whole number from 2 to 20"),
        ({"shape": "name", "words": 6}, [], "it.words: 6 is not a whole number from 1 to 5"),
        ({"shape": "name", "glue": "/"}, [], "it: gives a name that is too long or holds a slash"),
        ({"shape": "name", "ending": "x" * 200}, [], "it: gives a name that is too long or holds a slash"),
        ({"shape": "choice"}, [], "it.of: null is not a list"),
        ({"shape": "choice", "of": []}, [], "it.of: give at least one value"),
        ({"shape": "number", "from": 5, "to": 4}, [], "it.to: 4 is not a whole number from 5 to "),
        ({"shape": "token", "length": 0}, [], "it.length: 0 is not a whole number from 1 to 200"),
        ({"shape": "list"}, [], "it.of: null is not an object of named fields"),
        ({"shape": "list", "of": {"shape": "word"}, "count": 21}, [], "it.count: 21 is not a whole number from 1 to 20"),
        ({"shape": "list", "of": {"shape": "wort"}}, [], "it.of.shape: unknown shape 'wort'; did you mean 'word'?"),
    ],
)  # fmt: skip
def test_a_bad_shape_is_one_line(shape: object, hazards: list[str], line: str) -> None:
    """The place in the family, what is wrong, and what would be right."""
    with pytest.raises(ConfigError) as caught:
        draw({"it": shape}, hazards, Draw(SEED, "test"), PLACE)
    message = str(caught.value)
    assert message.startswith("own.yaml: heldout.draw")
    assert line in message
    assert "\n" not in message
    assert SEED not in message


def test_every_shape_is_tried_here() -> None:
    """A new shape needs tests of its own."""
    assert set(SHAPES) == {"word", "number", "choice", "token", "line", "text", "name", "list"}
