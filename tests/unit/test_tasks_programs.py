"""The built-in programs, run for real in temporary directories."""

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crosspath.tasks.places import Place
from crosspath.tasks.programs import (
    StubAnswer,
    argv_record,
    argv_recorder,
    env_record,
    env_recorder,
    remote_shell,
    stub,
)
from crosspath.tasks.toolbox import read_programs


def call(
    program: str, argv: list[str], work: Path, env: dict[str, str] | None = None, stdin: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    """Run a program's text as the sandbox would, with the work directory filled in."""
    path = work.parent / "program"
    path.write_text(program.replace("{work}", str(work)))
    path.chmod(0o755)
    base = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    return subprocess.run([path, *argv], cwd=work, env={**base, **(env or {})}, input=stdin, capture_output=True, timeout=10)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A work directory with a blank and an apostrophe in its name."""
    path = tmp_path / "it's work"
    path.mkdir()
    return path


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\0"), max_size=20), max_size=5))
def test_argv_is_recorded_byte_for_byte(tmp_path: Path, argv: list[str]) -> None:
    """Whatever the arguments are, the record is their number and each of them, ended by NUL."""
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    (work / "rec").unlink(missing_ok=True)
    assert call(argv_recorder("rec"), argv, work).returncode == 0
    assert (work / "rec").read_bytes() == argv_record(argv).encode()


def test_two_calls_are_two_records(work: Path) -> None:
    """A second call is appended, so that calling twice is not the same as calling once; no argument is not one empty one."""
    for argv in (["a"], [], [""]):
        call(argv_recorder("rec"), argv, work)
    assert (work / "rec").read_bytes() == b"1\0a\0" + b"0\0" + b"1\0\0"


def test_bytes_that_are_no_text_are_recorded(work: Path) -> None:
    """Arguments that are not UTF-8 arrive unchanged."""
    call(argv_recorder("rec"), [os.fsdecode(b"\xff\n")], work)
    assert (work / "rec").read_bytes() == b"1\0\xff\n\0"


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300))
def test_standard_input_is_recorded_byte_for_byte(tmp_path: Path, stdin: bytes) -> None:
    """NUL bytes, no final newline or nothing at all: what comes in is what is kept, apart from the arguments."""
    work = tmp_path / "work"
    work.mkdir(exist_ok=True)
    for name in ("rec", "in"):
        (work / name).unlink(missing_ok=True)
    assert call(argv_recorder("rec", "in"), ["a"], work, stdin=stdin).returncode == 0
    assert (work / "rec").read_bytes() == argv_record(["a"]).encode()
    assert (work / "in").read_bytes() == stdin


def test_a_reply_can_not_put_itself_between_input_and_record(work: Path) -> None:
    """Neither another cat on PATH nor an exported function reads the input."""
    other = work.parent / "bin"
    other.mkdir()
    (other / "cat").write_text("#!/bin/sh\necho forged\n")
    (other / "cat").chmod(0o755)
    env = {"PATH": f"{other}:/usr/bin:/bin", "BASH_FUNC_cat%%": "() { echo forged; }"}
    assert call(argv_recorder("rec", "in"), [], work, env, stdin=b"secret").stdout == b""
    assert (work / "in").read_bytes() == b"secret"


def test_exported_functions_do_not_reach_a_recorder(work: Path) -> None:
    """What a reply puts into the environment can't change what is recorded."""
    env = {"BASH_FUNC_printf%%": "() { echo forged; }", "BASH_ENV": "/nowhere", "ENV": "/nowhere"}
    call(argv_recorder("rec"), ["a"], work, env)
    assert (work / "rec").read_bytes() == argv_record(["a"]).encode()


def test_environment_is_recorded(work: Path) -> None:
    """Set, empty and missing variables differ in the record."""
    call(env_recorder("rec", ["A", "B", "C"]), [], work, {"A": "x $y\n", "B": ""})
    assert (work / "rec").read_bytes() == env_record(["A", "B", "C"], {"A": "x $y\n", "B": ""}).encode() == b"A=x $y\n\0B=\0C\0"


def test_remote_arguments_are_read_twice(work: Path) -> None:
    """Arguments are joined with spaces and read by a second bash in the host's home, without the caller's environment."""
    (work / "h").mkdir()
    done = call(remote_shell({"web": "h"}), ["web", "echo", "a  b", "$SECRET", '"$HOME"', "; pwd"], work, {"SECRET": "s"})
    assert done.stdout.decode() == f"a b {work}/h\n{work}/h\n"


def test_remote_passes_input_and_exit_status(work: Path) -> None:
    """Standard input reaches the remote command, its status comes back; without a command, bash reads its input."""
    (work / "h").mkdir()
    assert call(remote_shell({"web": "h"}), ["web", "cat > f; exit 7"], work, stdin=b"\xffx").returncode == 7
    assert (work / "h" / "f").read_bytes() == b"\xffx"
    assert call(remote_shell({"web": "h"}), ["web"], work, stdin=b"echo hi").stdout == b"hi\n"


def test_unknown_hosts_are_refused(work: Path) -> None:
    """A host that the task does not have, and none at all, end with ssh's status for trouble of its own."""
    for argv in (["db", "true"], []):
        done = call(remote_shell({"web": "h"}), argv, work)
        assert (done.returncode, done.stdout) == (255, b"")
        assert b"no such host" in done.stderr


@pytest.mark.parametrize(
    ("argv", "expected"),
    [
        (["get", "po[d]s"], (0, b"it's $1\n", b"")),
        (["get", "pods"], (64, b"", b"program: no answer for these arguments\n")),
        (["get"], (64, b"", b"program: no answer for these arguments\n")),
        (["del", "x.y", "--now", "z"], (3, b"", b"gone")),
        (["del", "x.y"], (3, b"", b"gone")),
        (["del"], (64, b"", b"program: no answer for these arguments\n")),
        (["del", "xyz"], (64, b"", b"program: no answer for these arguments\n")),
    ],
)
def test_stubs_answer_patterns(work: Path, argv: list[str], expected: tuple[int, bytes, bytes]) -> None:
    """The first matching answer is given; `*` and `?` match, brackets are literal, a last `**` takes all further arguments."""
    answers = [StubAnswer(("get", "po[d]*"), stdout="it's $1\n"), StubAnswer(("d?l", "*.*", "**"), stderr="gone", exit=3)]
    done = call(stub(answers), argv, work)
    assert (done.returncode, done.stdout, done.stderr) == expected


def test_stubs_record_every_call(work: Path) -> None:
    """Answered or refused, each call is appended in the form of a recorder's, and its answer stays the same."""
    program = stub([StubAnswer(("get", "*"), stdout="it's $1\n", exit=3)], record="calls.rec")
    done = [call(program, argv, work) for argv in (["get", "a\n\\0'"], ["drop", ""], [])]
    assert [(each.returncode, each.stdout) for each in done] == [(3, b"it's $1\n"), (64, b""), (64, b"")]
    records = argv_record(["get", "a\n\\0'"]) + argv_record(["drop", ""]) + argv_record([])
    assert (work / "calls.rec").read_bytes() == records.encode()


def test_stubs_without_a_record_write_nothing(work: Path) -> None:
    """A stub that is not asked to record leaves the work directory alone."""
    call(stub([StubAnswer(("get",))]), ["get"], work)
    assert list(work.iterdir()) == []


def test_a_task_says_where_its_stub_records() -> None:
    """The setting ``record`` of a stub is its record file; null means the same as leaving it out."""
    answers = [{"argv": ["get"], "stdout": "pods\n"}]
    for record, wanted in (("a/calls.rec", "a/calls.rec"), (None, None)):
        fields = {"kind": "stub", "answers": answers, "record": record}
        (program,) = read_programs({"kubectl": fields}, Place("own.yaml", "programs"))
        assert program.content.decode() == stub([StubAnswer(("get",), stdout="pods\n")], wanted)
