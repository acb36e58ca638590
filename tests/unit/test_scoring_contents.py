"""Contents are equal in the way that a task asks for, and never by accident."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.scoring import content_key
from crosspath.scoring.contents import entry_key
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
def test_content_above_the_cap_is_known_by_its_digest(compare: str) -> None:
    """Without its content a file equals byte for byte, or not at all."""
    content = json.dumps(list(range(200))).encode()
    kept = file(b"a", content)
    unread = kept.model_copy(update={"content": None})
    other = unread.model_copy(update={"sha256": "0" * 64})
    expected = content_key(content, compare)  # pyright: ignore[reportArgumentType]
    assert entry_key(kept, content, compare) == expected  # pyright: ignore[reportArgumentType]
    assert entry_key(unread, content, compare) == expected  # pyright: ignore[reportArgumentType]
    assert entry_key(other, content, compare) != expected  # pyright: ignore[reportArgumentType]
