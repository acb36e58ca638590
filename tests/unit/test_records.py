"""The JSON form of records, whichever parser reads it."""

import json

from hypothesis import given
from hypothesis import strategies as st

from crosspath.types import FileEntry, Reply, StateEntry

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
"""Lone surrogates included: a model's JSON can hold them."""


@given(ANY_TEXT, st.none() | st.floats(min_value=0, allow_infinity=False, allow_nan=False))
def test_any_text_survives_in_ascii(text: str, cost: float | None) -> None:
    """A record comes back as it was, and its JSON is ASCII that any strict parser reads."""
    reply = Reply(text=text, cost_usd=cost)
    written = reply.to_json()
    assert written.isascii()
    assert Reply.from_json(written) == reply
    assert json.loads(written)["text"] == text


@given(st.binary(), st.binary())
def test_any_bytes_survive(path: bytes, content: bytes) -> None:
    """Names and contents that are no text come back byte for byte."""
    entry = FileEntry(path=path, content=content)
    assert FileEntry.from_json(entry.to_json()) == entry
    state = StateEntry(path=path, kind="file", mode=0o644, content=content)
    assert StateEntry.from_json(state.to_json()) == state
