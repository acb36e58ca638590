"""Contents are equal in the way that a task asks for, and never by accident."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.scoring import content_key
from crosspath.scoring.contents import WAYS, Way, content_rule
from crosspath.types import Compare
from scoring_builders import file

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=10,
)


@given(st.binary(max_size=400), st.binary(max_size=400))
def test_bytes_are_equal_only_if_they_are(first: bytes, second: bytes) -> None:
    """Two keys are equal if and only if the contents are."""
    assert (content_key(first) == content_key(second)) == (first == second)


@given(JSON_VALUES)
def test_json_ignores_spelling(value: object) -> None:
    """White space, key order and escapes of the same value make no difference."""
    spellings = (json.dumps(value), json.dumps(value, indent=3, sort_keys=True), json.dumps(value, ensure_ascii=False))
    assert len({content_key(spelling.encode("utf-8", "surrogatepass"), "json") for spelling in spellings}) == 1


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (b'{"a":1,"b":2}', b'{ "b" : 2, "a" : 1 }\n', True),
        (b"1", b"1.0", True),
        (b"10", b"1e1", True),
        (b"-0", b"0", True),
        (b"120", b"1.2e2", True),
        (b"0.1", b"0.1000000000000000055511151231257827", False),
        (b"1e400", b"1e401", False),
        (b"12345678901234567890123", b"12345678901234567890124", False),
        (b"1", b'"1"', False),
        (b"1", b"true", False),
        (b"null", b"0", False),
        (b"[1,2]", b"[2,1]", False),
        (b'"\\u00e9"', b'"\xc3\xa9"', True),
        (b'"\\/"', b'"/"', True),
        (b'{"a":1,"a":1}', b'{"a":1}', False),
        (b'{"a":NaN}', b'{"a":null}', False),
        (b"\xef\xbb\xbf1", b"1", False),
        (b"\xff", b"1", False),
        (b"1 2", b"1", False),
        (b"[" * 100_000, b"[]", False),
        (b"", b"null", False),
    ],
)
def test_json_cases(first: bytes, second: bytes, equal: bool) -> None:
    """Values are compared, exactly; duplicate keys, NaN, other encodings and broken text equal no value."""
    assert (content_key(first, "json") == content_key(second, "json")) is equal


@pytest.mark.parametrize(
    ("first", "second", "equal"),
    [
        (b"a\nb\n", b"a\r\nb\r\n", True),
        (b"a\n", b"a", True),
        (b"a\n\n\n", b"a", True),
        (b"a\rb", b"a\nb", True),
        (b"a \n", b"a\n", False),
        (b"\na", b"a", False),
        (b"a\n\nb", b"a\nb", False),
    ],
)
def test_text_cases(first: bytes, second: bytes, equal: bool) -> None:
    """Line-end style and trailing line ends don't count; everything else does."""
    assert (content_key(first, "text") == content_key(second, "text")) is equal


@pytest.mark.parametrize("compare", ["bytes", "json", "text"])
@pytest.mark.parametrize("way", WAYS)
def test_content_above_the_cap_is_known_by_its_digest(compare: Compare, way: Way) -> None:
    """Without its content a file equals byte for byte, or not at all."""
    content = json.dumps(list(range(200))).encode()
    kept = file(b"a", content)
    unread = kept.model_copy(update={"content": None})
    other = unread.model_copy(update={"sha256": "0" * 64})
    unknown = unread.model_copy(update={"sha256": ""})
    rule = content_rule(content, compare, way)
    assert rule.of(kept) == rule.right
    assert rule.of(unread) == rule.right
    assert rule.right not in (rule.of(other), rule.of(unknown))


# -- the ways of validators: text and json -----------------------------------------------------------------------------------


COMPARES: tuple[Compare, ...] = ("bytes", "text", "json")
LINES = st.lists(st.text(alphabet='ab \t\r\\{}[]1.0"é', max_size=6), min_size=1, max_size=5)


def equal(first: bytes, second: bytes, way: Way, compare: Compare = "bytes") -> bool:
    rule = content_rule(first, compare, way)
    return rule.of(file(b"a", second)) == rule.right


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (b"a\nb\n", b"a  \t\nb\n", True),
        (b"a\nb\n", b"a\r\nb\r\n", True),
        (b"a\nb\n", b"a \r\nb\n", True),
        (b"a\n", b"a\f\v", True),
        (b"a\n", b"a", True),
        (b"a\n", b"a\n\n \n\t", True),
        (b"", b"\n", True),
        (b" a\n", b"a\n", False),
        (b"a b\n", b"a  b\n", False),
        (b"a\n\nb", b"a\nb", False),
        (b"\na", b"a", False),
        (b"a\rb", b"a\nb", False),
        (b"a\r", b"a", True),
        (b"a\r \r\n", b"a\n", True),
        (b"a\n", b"A\n", False),
        (b"a\xc2\xa0\n", b"a\n", False),
        (b"1\0x \n\0", b"1\0x\n\0", False),
        (b"a\n", b"a\n\0", False),
    ],
)
def test_text_cases_of_validators(first: bytes, second: bytes, same: bool) -> None:
    """White space at the end of lines and final newlines don't count; all else does, and all of it in binary content."""
    assert equal(first, second, "text") is same
    assert equal(second, first, "text") is same


@given(LINES, st.data())
def test_text_overlooks_what_it_says(lines: list[str], data: st.DataObject) -> None:
    """Blanks before any line's end, either line end and any number of final newlines give the same key."""
    blanks = st.text(alphabet=" \t\f\v", max_size=3)
    bare = [line.rstrip(" \t\r") for line in lines]
    spelt = "".join(line + data.draw(blanks) + data.draw(st.sampled_from(["\n", "\r\n"])) for line in bare)
    assert equal("\n".join(bare).encode(), spelt.encode() + b"\n" * data.draw(st.integers(0, 2)), "text")


@given(LINES, LINES)
def test_text_overlooks_nothing_else(first: list[str], second: list[str]) -> None:
    """Two contents with the same key have the same lines once blanks at their ends are gone."""
    one, other = ("\n".join(line.rstrip(" \t\r") for line in lines) for lines in (first, second))
    assert equal(one.encode(), other.encode(), "text") is (one.rstrip("\n") == other.rstrip("\n"))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (b'{"a":1,"b":[2]}\n', b'{\r\n "b" : [2.0], "a" : 10e-1 }', True),
        (b"[1]", b"[1]\n\n", True),
        (b'["\\u00e9"]', b'["\xc3\xa9"]', True),
        (b'{"a":1}', b'{"a":1,"a":1}', False),
        (b'{"a":1}', b'{"a":NaN}', False),
        (b'{"a":NaN}', b'{"a": NaN}', False),
        (b'{"a":1}', b'{"a":1,}', False),
        (b'{"a":1}', b"", False),
        (b"[1,2]", b"[2,1]", False),
        (b'{"a":"1"}', b'{"a":1}', False),
        (b"1.10\n", b"1.1\n", False),
        (b"[x]\n", b"[x]", False),
        (b"plain\n", b"plain", False),
        (b"plain\n", b'{"a":1}', False),
    ],
)
def test_json_cases_of_validators(first: bytes, second: bytes, same: bool) -> None:
    """Objects and arrays are compared as values; what is no JSON, or only a number, byte for byte."""
    assert equal(first, second, "json") is same


@given(JSON_VALUES.filter(lambda value: isinstance(value, (dict, list))), JSON_VALUES)
def test_json_overlooks_spelling_and_nothing_else(first: object, second: object) -> None:
    """Two documents are equal if and only if their values are."""
    same = content_key(json.dumps(first).encode(), "json") == content_key(json.dumps(second).encode(), "json")
    assert equal(json.dumps(first, indent=2).encode(), json.dumps(second, sort_keys=True).encode(), "json") is same


@given(st.sampled_from(COMPARES), st.sampled_from(WAYS), LINES, st.sampled_from(["\n", "\r\n", "\r", " \n"]))
def test_no_way_is_stricter_than_the_task(compare: Compare, way: Way, lines: list[str], glue: str) -> None:
    """What is equal as the task compares is equal in every way."""
    first, second = "\n".join(lines).encode(), glue.join(lines).encode()
    if content_key(first, compare) == content_key(second, compare):
        assert equal(first, second, way, compare)


def test_blanks_without_end_are_read_in_linear_time() -> None:
    """A megabyte of blanks is compared in no time."""
    start = time.process_time()
    assert not equal(b"a", b" " * 2**20 + b"x", "text")
    assert time.process_time() - start < 1
