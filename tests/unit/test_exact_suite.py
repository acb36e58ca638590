"""Mutation audit of the suite `exact`: the right final state is accepted, and every single change of it is not."""

import hashlib
from collections.abc import Callable
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.catalogue import suite_text
from crosspath.scoring import build_tables
from crosspath.scoring.edits import content_edits, name_edits
from crosspath.scoring.mutations import Fact, mutations
from crosspath.scoring.mutations import Mutation as Mutated
from crosspath.testing.validator import FakeValidator
from crosspath.types import CheckResult, FileEntry, FinalState, Replay, StateEntry, Task
from scoring_builders import file, replay, result, rich_task, right_state, task, wanted

EXACT = suite_text("exact")
Mutation = Callable[[FinalState], FinalState]


def failed(of: Task, what: Replay) -> tuple[CheckResult, ...]:
    return FakeValidator().validate(EXACT, build_tables({of.id: of}, [what]))[0]


def with_entry(state: FinalState, path: bytes, **changes: object) -> FinalState:
    entries = [entry.model_copy(update=changes) if entry.path == path else entry for entry in state.entries]
    return state.model_copy(update={"entries": tuple(entries)})


def with_content(state: FinalState, path: bytes, content: bytes) -> FinalState:
    digest = hashlib.sha256(content).hexdigest()
    return with_entry(state, path, content=content, sha256=digest, size=len(content))


def without(state: FinalState, path: bytes) -> FinalState:
    return state.model_copy(update={"entries": tuple(entry for entry in state.entries if entry.path != path)})


def plus(state: FinalState, *entries: StateEntry) -> FinalState:
    return state.model_copy(update={"entries": (*state.entries, *entries)})


def observing(state: FinalState, **changes: object) -> FinalState:
    return state.model_copy(update={"observations": (state.observations[0].model_copy(update=changes),)})


MUTATIONS: dict[str, Mutation] = {
    "flipped byte": lambda state: with_content(state, b"a.txt", b"ooe\n"),
    "flipped byte in a long file": lambda state: with_content(state, b"long.bin", bytes(range(256)) * 3 + bytes(256)),
    "flipped byte above the content cap": lambda state: with_entry(state, b"long.bin", content=None, sha256="0" * 64),
    "dropped newline": lambda state: with_content(state, b"a.txt", b"one"),
    "empty file": lambda state: with_content(state, b"a.txt", b""),
    "missing file": lambda state: without(state, b"a.txt"),
    "missing symlink": lambda state: without(state, b"link"),
    "missing empty directory": lambda state: without(state, b"empty"),
    "extra file": lambda state: plus(state, file(b"b.txt")),
    "extra file with an odd name": lambda state: plus(state, file(b"a.txt\r")),
    "extra file that is named like an observer": lambda state: plus(state, file(b"observer:log", b"message\n")),
    "extra symlink": lambda state: plus(state, StateEntry(path=b"s", kind="symlink", mode=0o777, target=b"a.txt")),
    "extra empty directory": lambda state: plus(state, StateEntry(path=b"d", kind="directory", mode=0o755)),
    "extra fifo": lambda state: plus(state, StateEntry(path=b"p", kind="fifo", mode=0o644)),
    "extra socket": lambda state: plus(state, StateEntry(path=b"p", kind="socket", mode=0o644)),
    "file became a symlink": lambda state: with_entry(state, b"a.txt", kind="symlink", target=b"x", content=None, sha256=""),
    "file became a directory": lambda state: with_entry(state, b"a.txt", kind="directory", content=None, sha256=""),
    "file became a fifo": lambda state: with_entry(state, b"a.txt", kind="fifo", content=None, sha256=""),
    "symlink became a file": lambda state: with_entry(state, b"link", kind="file", target=b"", content=b"one\n"),
    "directory became a file": lambda state: with_entry(state, b"empty", kind="file", content=b""),
    "executable bit": lambda state: with_entry(state, b"a.txt", mode=0o744),
    "executable bit lost": lambda state: with_entry(state, b"dir/tool", mode=0o644),
    "set-user-id bit": lambda state: with_entry(state, b"dir/tool", mode=0o4755),
    "other symlink target": lambda state: with_entry(state, b"link", target=b"./a.txt"),
    "other observation": lambda state: observing(state, output=b"message"),
    "observation cut off": lambda state: observing(state, truncated=True),
    "observer was killed": lambda state: observing(state, exit_code=None),
    "missing observation": lambda state: state.model_copy(update={"observations": ()}),
    "listing cut off": lambda state: state.model_copy(update={"truncated": True}),
}


def test_right_state_is_accepted() -> None:
    """The declared final state meets every expectation."""
    assert failed(rich_task(), replay(rich_task())) == ()


@pytest.mark.parametrize("mutate", list(MUTATIONS.values()), ids=list(MUTATIONS))
def test_mutation_is_rejected(mutate: Mutation) -> None:
    """One change of the right final state fails exactly one expectation about one path."""
    checks = failed(rich_task(), replay(rich_task(), mutate(right_state(rich_task()))))
    assert len(checks) == 1


@pytest.mark.parametrize("mutation", list(mutations(rich_task(), replay(rich_task()))), ids=lambda each: each.name[:60])
def test_product_mutation_is_rejected(mutation: Mutated) -> None:
    """What `crosspath tasks check` tries is rejected, too."""
    assert failed(rich_task(), mutation.replay)


def test_product_mutations_cover_every_kind_of_thing() -> None:
    """Files, modes, links, directories, surplus, observers and exit status each have mutations, under unique names."""
    found = list(mutations(rich_task(), replay(rich_task())))
    assert len({each.name for each in found}) == len(found)
    assert {each.fact for each in found} == set(get_args(Fact))
    kinds = {each.kind for each in found}
    assert kinds >= {"missing", "renamed", "first byte", "executable bit", "dangling symlink", "missing directory", "extra file"}
    assert kinds >= {"other observation", "observation cut off", "other exit status", "listing cut off", "command never run"}


def test_product_mutations_leave_out_what_does_not_count() -> None:
    """A content that the comparison overlooks, an ignored path and an exit that plays no part give no mutation."""
    of = task(wanted(b"a", b"x\n", compare="text"), wanted(b"b"), ignore=("b*", "*surplus*", "sur plus", "a~"))
    found = list(mutations(of, replay(of)))
    assert not [each for each in found if "newline" in each.kind or "extra" in each.kind or "backup" in each.kind]
    assert not [each for each in found if each.subject.startswith("'b") or each.fact == "exit"]


def test_product_mutations_know_what_was_there_before() -> None:
    """A file left as it was, one of another file's content, and one that should be gone are among the wrong states."""
    before = (wanted(b"a", b"old\n"), wanted(b"b", b"gone\n"), FileEntry(path=b"l", kind="symlink", target=b"x"))
    link = FileEntry(path=b"l", kind="symlink", target=b"a")
    of = task(wanted(b"a", b"new\n"), wanted(b"c", b"third\n"), link, fixture=before)
    names = {each.name for each in mutations(of, replay(of))}
    assert names >= {"left as it was: 'a'", "target left as it was: 'l'", "content of another file: 'a'", "left over: 'b'"}
    assert all(failed(of, each.replay) for each in mutations(of, replay(of)))


@given(content=st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_every_edit_is_a_change(content: bytes) -> None:
    """No edit of a content gives it back, no two are equal, and a name stays one that a file can have."""
    edits = [changed for _, changed in content_edits(content)]
    assert content not in edits
    assert len(set(edits)) == len(edits)
    assert not [name for _, name in name_edits(content) if not name or set(name) & set(b"/\0")]


def test_other_exit_is_rejected() -> None:
    """Another exit status than the task's fails, and says so as the subject `exit`."""
    (check,) = failed(rich_task(), replay(rich_task(), None, result(1)))
    assert (check.subject, check.expected, check.actual) == (b"exit", "0", "1")


def test_exit_that_does_not_matter_is_accepted() -> None:
    """A task without an exit status accepts any."""
    of = task(wanted(b"a"))
    assert failed(of, replay(of, None, result(7))) == ()


def test_command_that_was_not_run_is_rejected() -> None:
    """A delivery of two commands of which one has no result is not the declared execution."""
    what = replay(rich_task(), None, result(), result())
    assert what.execution is not None
    short = what.model_copy(update={"execution": what.execution.model_copy(update={"results": (result(),)})})
    assert [check.subject for check in failed(rich_task(), short)] == [b"commands"]


@pytest.mark.parametrize(
    "harmless",
    [
        lambda state: plus(state, file(b".git/config", b"x")),
        lambda state: plus(state, StateEntry(path=b".git", kind="directory", mode=0o755), file(b".git/HEAD")),
        lambda state: with_entry(state, b"a.txt", mode=0o600),
        lambda state: with_entry(state, b"a.txt", content=None),
        lambda state: with_entry(state, b"long.bin", content=None),
        lambda state: with_entry(state, b"link", mode=0o755),
    ],
)
def test_what_does_not_count_is_accepted(harmless: Mutation) -> None:
    """Ignored paths, modes without an executable bit and contents known by digest change nothing."""
    assert failed(rich_task(), replay(rich_task(), harmless(right_state(rich_task())))) == ()


def test_directories_do_not_count_unless_listed() -> None:
    """Without a list of directories, extra ones are accepted."""
    of = task(wanted(b"a"))
    assert failed(of, replay(of, plus(right_state(of), StateEntry(path=b"d", kind="directory", mode=0o755)))) == ()


contents = st.binary(max_size=300)


@given(
    files=st.dictionaries(st.binary(min_size=1, max_size=6).filter(lambda n: not set(n) & set(b"/\0.")), contents, min_size=1),
    data=st.data(),
)
def test_any_change_of_any_file_is_rejected(files: dict[bytes, bytes], data: st.DataObject) -> None:
    """Whatever the names and bytes: the right files are accepted, a changed, missing or further one is not."""
    of = task(*(wanted(path, content) for path, content in files.items()))
    right = right_state(of)
    path = data.draw(st.sampled_from(sorted(files)))
    other = data.draw(contents.filter(lambda content: content != files[path]))
    further = data.draw(st.binary(min_size=1, max_size=6).filter(lambda n: not set(n) & set(b"/\0.") and n not in files))
    assert failed(of, replay(of, right)) == ()
    for wrong in (
        with_content(right, path, other),
        without(right, path),
        plus(right, file(further)),
        with_entry(right, path, mode=0o755),
    ):
        (check,) = failed(of, replay(of, wrong))
        assert check.subject in (path, further, b"./" + path, b"./" + further)


@given(content=contents, position=st.integers(0, 299), bit=st.integers(0, 7))
def test_every_flipped_bit_is_seen(content: bytes, position: int, bit: int) -> None:
    """One flipped bit anywhere in a file is a difference."""
    of = task(wanted(b"a", content))
    flipped = bytearray(content or b"\0")
    flipped[position % len(flipped)] ^= 1 << bit
    assert len(failed(of, replay(of, with_content(right_state(of), b"a", bytes(flipped))))) == 1
