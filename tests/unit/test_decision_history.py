"""The fold over a history of decisions, whatever the order in which several people write to it."""

from hypothesis import given
from hypothesis import strategies as st

from crosspath.analysis.decision_history import history, judged, place
from crosspath.types import Decision


def entry(number: int, after: int, **more: object) -> Decision:
    values = {"kind": "promote", "alias": "champion", "from_version": None, "to_version": number, "state": "done", **more}
    return Decision.model_validate({"number": number, "after": after, "model": "m", "decided_at": 0.0, **values})


@st.composite
def written_at_once(draw: st.DrawFn) -> list[Decision]:
    """A history whose writers each knew of some earlier state of it, not necessarily of the last one."""
    entries: list[Decision] = []
    for number in range(1, draw(st.integers(1, 12)) + 1):
        seen = history(entries[: draw(st.integers(0, len(entries)))], "champion")
        states = st.sampled_from(["done", "unfinished", "withdrawn"])
        entries.append(entry(number, seen.head.number if seen.head else 0, state=draw(states)))
    return entries


@given(written_at_once())
def test_one_of_those_that_knew_the_same(entries: list[Decision]) -> None:
    """Of the entries that were written with the same knowledge exactly one counts: the first."""
    known = history(entries, "champion")
    for after in {one.after for one in entries}:
        rivals = [one for one in known.entries if one.after == after]
        in_force = [one for one in rivals if one.state != "overtaken"]
        assert len(in_force) <= 1
        assert in_force in ([], rivals[:1])


@given(written_at_once())
def test_what_counts_is_never_taken_back(entries: list[Decision]) -> None:
    """Whether an entry counts is known as soon as it is written, and later entries do not change it."""
    last = {one.number: one.state for one in history(entries, "champion").entries}
    for length in range(1, len(entries) + 1):
        assert all(last[one.number] == one.state for one in history(entries[:length], "champion").entries)


@given(written_at_once())
def test_order_of_reading(entries: list[Decision]) -> None:
    """The numbers order the history, not the order in which it is read."""
    assert judged(reversed(entries)) == judged(entries) == history(entries, "champion").entries


def test_overtaken() -> None:
    """Of two that knew of the first entry the third one is overtaken; the next one builds on the second."""
    known = history([entry(1, 0), entry(2, 1), entry(3, 1), entry(4, 2)], "champion")
    assert [one.state for one in known.entries] == ["done", "done", "overtaken", "done"]
    assert known.head
    assert known.head.number == 4


def test_deleted_entry() -> None:
    """Where somebody deleted an entry of the history, those after it still count."""
    known = history([entry(1, 0), entry(3, 2)], "champion")
    assert [one.state for one in known.entries] == ["done", "done"]


def test_standing_promotions() -> None:
    """A rollback uncovers the promotion before the one that it takes back; a withdrawn one never stood."""
    back = {"kind": "rollback", "undoes": 2, "to_version": 1}
    known = history([entry(1, 0), entry(2, 1), entry(3, 2, **back), entry(4, 3, state="withdrawn")], "champion")
    assert known.standing
    assert known.standing.number == 1
    assert place(known) == 1
    assert history([], "champion").standing is None


def test_unfinished_is_only_the_head() -> None:
    """An unfinished entry that a later one followed is no longer anybody's concern."""
    back = {"kind": "rollback", "undoes": 1, "to_version": None}
    assert history([entry(1, 0, state="unfinished")], "champion").unfinished
    assert history([entry(1, 0, state="unfinished"), entry(2, 1, **back)], "champion").unfinished is None
