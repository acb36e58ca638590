"""Tasks as JSON lines."""

import contextlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crosspath.errors import ConfigError
from crosspath.tasks import parse_tasks
from crosspath.types import Message, Task

INCIDENTS = Path(__file__).parent.parent / "data" / "incidents.jsonl"


def one(**fields: object) -> Task:
    """The task of one line with these fields."""
    base: dict[str, object] = {"id": "own/a", "instruction": "Do it.", "expected": {}}
    return parse_tasks(json.dumps({**base, **fields}), "own.jsonl")[0]


def complaint(**fields: object) -> str:
    """What is said about such a line."""
    with pytest.raises(ConfigError) as caught:
        one(**fields)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith("own.jsonl:1")
    return str(caught.value)


def test_every_published_incident_is_a_task() -> None:
    """All 51 incidents are read, with oracle, expected files, environment, settling time and free meta."""
    tasks = {task.id: task for task in parse_tasks(INCIDENTS.read_text(encoding="utf-8"), "incidents.jsonl")}
    assert len(tasks) == 51
    assert all(task.oracle and task.expected_exit is not None and task.meta["source"] for task in tasks.values())
    assert tasks["incident/a59"].env == (("HOME", "{work}/home"),)
    assert tasks["incident/a51"].settle_s == 2.5


def test_defaults() -> None:
    """The shortest task has a family from its id, no tier, ten seconds, and no directories compared."""
    task = one()
    assert (task.family, task.tier, task.hazards, task.timeout_s, task.directories, task.expected_exit) == (
        "own", None, (), 10.0, None, None,
    )  # fmt: skip


def test_entries_in_all_forms() -> None:
    """A file is a text, text or base64 with an octal mode, or a symlink; a fixture may hold an empty directory."""
    fixture = {
        "a.txt": "é\0",
        "b/run": {"text": "#!/bin/sh\n", "mode": "0755"},
        "c": {"base64": "//4="},
        "d": {"symlink": "../x"},
        "e": {"directory": True},
    }
    entries = {entry.path: entry for entry in one(fixture=fixture).fixture}
    assert entries[b"a.txt"].content == "é\0".encode()
    assert entries[b"b/run"].mode == 0o755
    assert entries[b"c"].content == b"\xff\xfe"
    assert (entries[b"d"].kind, entries[b"d"].target) == ("symlink", b"../x")
    assert entries[b"e"].kind == "directory"


def test_a_backslash_in_a_path_or_content_is_itself() -> None:
    """Paths and content of a task file are plain text, not the escaped text of tables."""
    entry = one(fixture={"a\\x41": "b\\\\"}).fixture[0]
    assert (entry.path, entry.content) == (b"a\\x41", b"b\\\\")


def test_comparison_and_observers() -> None:
    """`compare` goes to the expected file; an observer without an expected output is only recorded."""
    task = one(
        expected={"a.json": "{}", "b": ""},
        compare={"a.json": "json"},
        observe={"head": "git log", "free": "date"},
        expected_observed={"head": {"base64": "/w=="}},
    )
    assert [entry.compare for entry in task.expected] == ["json", "bytes"]
    assert [(observer.name, observer.expected) for observer in task.observers] == [("head", b"\xff"), ("free", None)]


def test_a_conversation_in_place_of_the_instruction() -> None:
    """A task may bring its own messages, but not both."""
    messages = [{"role": "user", "content": "Hello"}]
    assert one(instruction=None, messages=messages).messages == (Message(role="user", content="Hello"),)
    assert "either 'instruction' or 'messages'" in complaint(messages=messages)
    assert "unknown role 'robot'" in complaint(instruction=None, messages=[{"role": "robot", "content": ""}])


@pytest.mark.parametrize("path", ["/etc/passwd", "../a", "a/../b", "./a", "a//b", "a/", "", "a\0b", "x" * 256, "\ud800"])
def test_paths_must_stay_below_the_work_directory(path: str) -> None:
    """An absolute path, a `..`, a NUL, an empty part, a name no file system takes: refused in fixture and expected state."""
    assert "fixture" in complaint(fixture={path: ""})
    assert "expected" in complaint(expected={path: ""})


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"tier": 4}, "tier: 4 is not a whole number from 0 to 3"),
        ({"tier": True}, "tier: true is not a whole number"),
        ({"expcted": {}}, "unknown field \"expcted\"; did you mean 'expected'?"),
        ({"expected": None}, "expected: missing; give every file that must exist afterwards, {} for none"),
        ({"instruction": ""}, "instruction: must not be empty"),
        ({"instruction": 3}, "instruction: 3 is not a text"),
        ({"id": "a\nb"}, "id: "),
        ({"id": None}, "id: missing"),
        ({"hazards": "dollar"}, "hazards: \"dollar\" is not a list"),
        ({"fixture": []}, "fixture: [] is not an object"),
        ({"fixture": {"a": {"text": "x", "mode": 755}}}, "fixture.a.mode: 755 is not a mode"),
        ({"fixture": {"a": {"text": "x", "mode": "0999"}}}, "fixture.a.mode"),
        ({"fixture": {"a": {"text": "x", "base64": ""}}}, "fixture.a: "),
        ({"fixture": {"a": {"base64": "?"}}}, "fixture.a.base64: \"?\" is not base64"),
        ({"fixture": {"a": {"symlink": "b", "mode": "0777"}}}, "a symlink has neither content nor mode"),
        ({"fixture": {"a": "", "a/b": ""}}, "'a' is a file, so nothing can be below it"),
        ({"fixture": {"a": {"symlink": "/etc"}, "a/b": ""}}, "'a' is a symlink"),
        ({"expected": {"a": {"directory": True}}}, "unknown field \"directory\""),
        ({"compare": {"a": "json"}}, "compare.a: no such file in 'expected'"),
        ({"expected": {"a": "x"}, "compare": {"a": "json"}}, "expected content is itself no JSON"),
        ({"expected": {"a": "x"}, "compare": {"a": "exact"}}, "unknown comparison 'exact'"),
        ({"expected_observed": {"a": ""}}, "no observer 'a' in 'observe'"),
        ({"expected_exit": 256}, "expected_exit: 256"),
        ({"env": {"A=B": ""}}, "environment variable"),
        ({"settle_s": 61}, "a number of seconds from 0 to 60"),
        ({"timeout_s": 0}, "timeout_s: 0"),
        ({"timeout_s": "5"}, "timeout_s: \"5\""),
        ({"oracle": "a\0b"}, "oracle"),
        ({"programs": {"x": {"kind": "recorder"}}}, "programs.x.kind: unknown program kind 'recorder'"),
        ({"programs": {"a/b": {"kind": "script", "text": "x"}}}, "a program's name"),
        ({"programs": {"x": {"kind": "stub", "answers": [], "record": "../x"}}}, "programs.x.record: "),
        ({"programs": {"x": {"kind": "stub", "answers": [], "record": ["x"]}}}, "programs.x.record: ["),
        ({"meta": 1}, "meta: 1 is not an object"),
    ],
)  # fmt: skip
def test_complaints_name_field_value_and_what_would_be_right(fields: dict[str, object], said: str) -> None:
    """Each mistake gives one line with file, line number, field, value and a way out."""
    assert said in complaint(**fields)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "own.jsonl:2: not readable as JSON"),
        ("[]", "own.jsonl:2: [] is not an object"),
        ('{"id": "a", "id": "b"}', "the field 'id' stands here twice"),
        ('{"fixture": {"a": "", "a": ""}}', "the field 'a' stands here twice"),
        ('{"meta": NaN}', "NaN is no JSON number"),
        ("1" * 5000, "a number is too long"),
        ("[" * 100_000, "own.jsonl:2"),
    ],
)
def test_lines_that_are_no_strict_json(line: str, said: str) -> None:
    """Broken JSON, repeated keys, NaN and endless nesting are refused with the number of the line."""
    with pytest.raises(ConfigError) as caught:
        parse_tasks(f"\n{line}\n", "own.jsonl")
    assert said in str(caught.value)


@pytest.mark.parametrize("twin", ["own/a", "OWN/A", "own/ａ"])
def test_ids_are_unique_up_to_case_and_unicode_form(twin: str) -> None:
    """A second task with the same id, in other case or as a full-width letter, names the line of the first."""
    lines = [json.dumps({"id": name, "instruction": "x", "expected": {}}) for name in ("own/a", twin)]
    with pytest.raises(ConfigError, match=r"own\.jsonl:2: id: .* is taken by the task at own\.jsonl:1"):
        parse_tasks("\n".join(lines), "own.jsonl")


def test_a_file_without_tasks_is_refused() -> None:
    """An empty file would be an evaluation of nothing."""
    with pytest.raises(ConfigError, match="no task in this file"):
        parse_tasks(" \n\n", "own.jsonl")


def test_line_separators_inside_of_texts_do_not_end_lines() -> None:
    """U+2028 may stand unescaped in JSON; a byte order mark and CRLF line ends do no harm."""
    text = '\ufeff{"id": "a", "instruction": "x\u2028y", "expected": {}}\r\n'
    assert parse_tasks(text, "own.jsonl")[0].instruction == "x\u2028y"


def test_a_canary_is_let_through() -> None:
    """The field `canary` is known and has no effect yet."""
    assert one(canary="guid").digest == one().digest


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_any_text_is_kept_byte_for_byte(text: str) -> None:
    """Whatever Unicode text a file holds, the task has exactly its UTF-8 bytes, before and after a round trip."""
    task = one(fixture={"f": text}, expected={"f": {"text": text}})
    assert task.fixture[0].content == task.expected[0].content == text.encode()
    assert Task.from_json(task.to_json()) == task


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_no_json_value_is_answered_with_anything_but_a_config_error(value: object) -> None:
    """Any JSON as a line, or as any field of a task, is a task or a ConfigError."""
    for candidate in (
        value,
        *({"id": "a", "instruction": "x", "expected": {}, name: value} for name in ("fixture", "programs", "env")),
    ):
        with contextlib.suppress(ConfigError):
            parse_tasks(json.dumps(candidate), "own.jsonl")


LOCKED = {
    "in/a.txt": "é\n",
    "in/run": {"text": "#!/bin/sh\n", "mode": "0755"},
    "link": {"symlink": "in/a.txt"},
    "locked": {"directory": True, "mode": "0555"},
    "locked/b.txt": {"text": "b", "mode": "0444"},
    "empty": {"directory": True},
}


def impossible(**fields: object) -> Task:
    """A task that can't be done, with ``expected`` left out."""
    return one(infeasible="there is no such file", fixture=LOCKED, **{"expected": None, **fields})


def test_what_can_t_be_done_leaves_the_fixture_as_it_was() -> None:
    """Without `expected`: every entry of the fixture with the mode that it was given, and no other empty directory."""
    task = impossible()
    assert {entry.path: (entry.kind, entry.mode) for entry in task.expected} == {
        b"in/a.txt": ("file", 0o644),
        b"in/run": ("file", 0o755),
        b"link": ("symlink", None),
        b"locked": ("directory", 0o555),
        b"locked/b.txt": ("file", 0o444),
        b"empty": ("directory", 0o755),
    }
    assert [entry.content for entry in task.expected] == [entry.content for entry in task.fixture]
    assert task.directories == (b"empty",)
    assert one(infeasible="x", expected=None).expected == ()


def test_an_expected_state_of_what_can_t_be_done_is_held_against_the_fixture() -> None:
    """The same files may be written out; others are a mistake. After a setup line only the writer knows what there was."""
    same = {"in/a.txt": "é\n", "in/run": "#!/bin/sh\n", "link": {"symlink": "in/a.txt"}, "locked/b.txt": "b"}
    assert impossible(expected=same).expected == impossible(expected=LOCKED).expected == impossible().expected
    assert "leaves the fixture as it was: leave 'expected' out" in complaint(infeasible="x", fixture=LOCKED, expected={"c": ""})
    assert "expected: missing" in complaint(infeasible="x", setup="git init -q", expected=None)
    after = one(infeasible="x", setup="touch made", expected={"made": ""})
    assert ([entry.path for entry in after.expected], after.directories) == ([b"made"], None)


def test_what_can_t_be_done_has_no_right_command() -> None:
    """Neither an oracle nor an exit status can be right."""
    assert "oracle: a task that can't be done ('infeasible') has no right command" in complaint(infeasible="x", oracle="true")
    assert "expected_exit: " in complaint(infeasible="x", expected_exit=1)
