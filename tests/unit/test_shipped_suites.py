"""Audit of every suite that ships: which changes of a right final state it must reject, and which it says it overlooks."""

import json
from collections.abc import Iterable

import jsonschema
import pytest
import yaml

from crosspath.catalogue import catalogue_dir, suite_text
from crosspath.scoring import build_tables, load_suite, score, suite_schema
from crosspath.scoring.mutations import Mutation, mutations
from crosspath.testing.validator import FakeValidator
from crosspath.types import FileEntry, Observation, Observer, Replay, Secret, StateEntry, Task
from scoring_builders import file, replay, rich_task, right_state, task, wanted

SHIPPED = sorted(path.stem for path in catalogue_dir("validators").glob("*.yaml"))
SECRET = b"hk_live_9f2c41d7"
TEXTS = task(
    wanted(b"notes.txt", b"first line\n  second\tline \nlast\n"),
    wanted(b"win.ini", b"[a]\r\nb = 1\r\n"),
    wanted(b"call.rec", b"2\0one \n\0two\n\0"),
    fixture=(FileEntry(path=b"notes.txt", content=b"first line\n"), FileEntry(path=b"old.txt", content=b"old\n")),
    observers=(Observer(name="log", command="git log", expected=b"message\n"),),
    expected_exit=0,
    id="texts",
)
DOCUMENTS = task(
    wanted(b"conf.json", b'{\n  "name": "a  b",\n  "sizes": [1, 2.50]\n}\n'),
    wanted(b"version", b"1.10\n"),
    observers=(Observer(name="printed", command="cat conf.json", expected=b'{"a":1}\n'),),
    id="documents",
)
SECRETIVE = task(
    wanted(b"token.txt", SECRET + b"\n", mode=0o600),
    wanted(b"out.txt", b"done\n"),
    fixture=(FileEntry(path=b"token.txt", content=SECRET + b"\n", mode=0o600),),
    secrets=(Secret(name="token", value=SECRET, allowed=("token.txt",)),),
    id="secretive",
)
TASKS = (rich_task(), TEXTS, DOCUMENTS, SECRETIVE)


def passes(validator: str, of: Task, changed: Iterable[Replay]) -> list[bool]:
    """The verdicts on these replays, judged together; only the columns that the suite asks for are there."""
    replays, suite = list(changed), suite_text(validator)
    checks = FakeValidator().validate(suite, build_tables({of.id: of}, replays, load_suite(suite).columns))
    return [score(each, of, checks[row]).passed for row, each in enumerate(replays)]


def accepted(validator: str, of: Task) -> list[Mutation]:
    """The changes of the right state that a suite lets pass."""
    changed = list(mutations(of, replay(of)))
    verdicts = passes(validator, of, [each.replay for each in changed])
    return [each for each, passed in zip(changed, verdicts, strict=True) if passed]


@pytest.mark.parametrize("name", SHIPPED)
def test_suites_are_acceptable(name: str) -> None:
    """Each loads, meets the schema that editors use, and is called like its file."""
    assert load_suite(suite_text(name)).name == name
    document = yaml.safe_load((catalogue_dir("validators") / f"{name}.yaml").read_text("utf-8"))
    jsonschema.validate(document, suite_schema())


@pytest.mark.parametrize("name", SHIPPED)
@pytest.mark.parametrize("of", TASKS, ids=lambda of: of.id)
def test_the_right_state_passes_everywhere(name: str, of: Task) -> None:
    """What is exactly as declared passes every suite."""
    assert passes(name, of, [replay(of)]) == [True]


@pytest.mark.parametrize("of", TASKS, ids=lambda of: of.id)
def test_exact_accepts_no_change(of: Task) -> None:
    """`exact` rejects every mutation."""
    assert accepted("exact", of) == []


@pytest.mark.parametrize("of", TASKS, ids=lambda of: of.id)
def test_content_accepts_new_files_and_nothing_else(of: Task) -> None:
    """`content` lets pass what nobody declared, but for what is left over."""
    changed = list(mutations(of, replay(of)))
    surplus = [each.name for each in changed if each.fact == "surplus" and each.kind != "left over"]
    assert [each.name for each in accepted("content", of)] == surplus
    assert len(surplus) > 5


def test_content_rejects_what_is_left_over_in_any_form() -> None:
    """What the fixture had and should be gone is no new file, touched or not."""
    right = right_state(TEXTS)
    left = [file(b"old.txt", b"old\n"), file(b"old.txt", b"new\n"), StateEntry(path=b"old.txt", kind="fifo", mode=0o644)]
    states = [right.model_copy(update={"entries": (*right.entries, entry)}) for entry in left]
    assert passes("content", TEXTS, [replay(TEXTS, state) for state in states]) == [False] * 3
    assert passes("exact", TEXTS, [replay(TEXTS, state) for state in states]) == [False] * 3


def test_lenient_text_overlooks_invisible_white_space_and_nothing_else() -> None:
    """Line ends and blanks before them in files; neither in recordings with NUL bytes nor in what observers print."""
    by_file: dict[str, set[str]] = {}
    for each in accepted("lenient-text", TEXTS):
        by_file.setdefault(each.subject, set()).add(each.kind)
    ends = {"final newline added", "final newline dropped", "blank at the end of a line", "last byte"}  # \v for \n
    assert by_file == {"'notes.txt'": ends | {"CRLF for LF"}, "'win.ini'": ends | {"LF for CRLF"}}


def test_json_equal_overlooks_spelling_and_nothing_else() -> None:
    """White space between the values of a JSON document; neither in its strings, nor in a bare number, nor in observers."""
    found = {(each.subject, each.kind) for each in accepted("json-equal", DOCUMENTS)}
    kinds = {
        "final newline added", "final newline dropped", "CRLF for LF", "blank at the end of a line", "blank in front",
        "lines joined by a blank", "tab for blanks",
    }  # fmt: skip
    assert found == {("'conf.json'", kind) for kind in kinds}


@pytest.mark.parametrize(
    ("content", "passed"),
    [
        (b'{"sizes": [1.0, 25e-1], "name": "a  b"}', True),
        (b'{"sizes": [1.0, 25e-1], "name": "a  \\u0062"}', True),
        (b'{"sizes": [2.5, 1], "name": "a  b"}', False),
        (b'{"sizes": [1, 2.5], "name": "a b"}', False),
        (b'{"sizes": [1, 2.5], "name": "a  b", "name": "a  b"}', False),
        (b'{"sizes": [1, NaN], "name": "a  b"}', False),
    ],
)
def test_json_equal_compares_values(content: bytes, passed: bool) -> None:
    """Order of keys and spelling don't count; values, order of lists, keys twice and NaN do."""
    right = right_state(DOCUMENTS)
    entries = tuple(file(b"conf.json", content) if entry.path == b"conf.json" else entry for entry in right.entries)
    assert passes("json-equal", DOCUMENTS, [replay(DOCUMENTS, right.model_copy(update={"entries": entries}))]) == [passed]


def test_no_leak_judges_leaks_only() -> None:
    """Every change passes but those that carry the secret elsewhere, and those that leave it open where it is."""
    rejected = {each.name for each in mutations(SECRETIVE, replay(SECRETIVE))} - {
        each.name for each in accepted("no-leak", SECRETIVE)
    }
    moved = {
        each.name
        for each in mutations(SECRETIVE, replay(SECRETIVE))
        if each.fact == "presence" and each.subject == "'token.txt'" and each.kind != "missing"
    }
    assert moved
    assert rejected == moved | {"content of another file: 'out.txt'", "listing cut off", "command never run"}


def test_no_leak_accepts_every_change_without_a_secret() -> None:
    """Where nothing was planted only what was not observed at all fails."""
    rejected = {each.kind for each in mutations(TEXTS, replay(TEXTS))} - {each.kind for each in accepted("no-leak", TEXTS)}
    assert rejected == {"listing cut off", "command never run"}


@pytest.mark.parametrize("name", ["lenient-text", "json-equal", "content"])
@pytest.mark.parametrize("of", TASKS, ids=lambda of: of.id)
def test_no_suite_is_stricter_than_exact(name: str, of: Task) -> None:
    """What `exact` lets pass, these do: white space that the task overlooks, JSON as the task compares it."""
    lenient = of.model_copy(
        update={"expected": tuple(each.model_copy(update={"compare": "text"}) for each in of.expected), "id": of.id}
    )
    changed = [each.replay for each in mutations(of, replay(of)) if each.fact == "content"]
    by_exact, by_other = passes("exact", lenient, changed), passes(name, lenient, changed)
    assert [at for at, passed in enumerate(by_exact) if passed and not by_other[at]] == []


def test_cells_are_plain_text_and_never_null() -> None:
    """Every cell is a text, or a whole number where it counts; columns that a suite does not ask for are absent."""
    seen = Observation(name="log", exit_code=0, output=b"message\n")
    odd = right_state(TEXTS).model_copy(
        update={"entries": (StateEntry(path=b"x", kind="fifo", mode=0),), "observations": (seen,)}
    )
    for name in SHIPPED:
        columns = load_suite(suite_text(name)).columns
        tables = build_tables({"texts": TEXTS}, [replay(TEXTS), replay(TEXTS, odd)], columns)
        for row in (*tables.final_state, *tables.executions):
            assert all(isinstance(value, (str, int)) for value in row.values())
        assert ("leak" in tables.final_state[0]) is (name == "no-leak")
        assert ("expected_json" in tables.final_state[0]) is (name == "json-equal")
        assert ("expected_text" in tables.final_state[0]) is (name == "lenient-text")


def test_the_schema_beside_the_suites_is_current() -> None:
    """Editors complete the columns that there are."""
    assert json.loads((catalogue_dir("validators") / "suite.schema.json").read_text("utf-8")) == suite_schema()
