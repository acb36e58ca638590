"""Logged commands through paths to a recorder: what arrives changed, how, from which line; no model and no tasks."""

import asyncio
import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from crosspath.cli.entry import run

HERE_DOCUMENT = "cat > note <<'EOF'\nfor $USER\nEOF"
COMMANDS = [HERE_DOCUMENT, 'echo "a  b" $HOME', "ls -la", 'grep -c x "f"', "echo it\\'s"]


def lines(*values: object) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


@pytest.fixture
def commands(tmp_path: Path) -> str:
    """Five commands, one of them twice."""
    file = tmp_path / "commands.jsonl"
    file.write_text(lines(*({"command": one, "model": "m"} for one in [*COMMANDS, "ls -la"])))
    return str(file)


def scanned(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["scan", *arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert run(["scan", *arguments]) == 2
    return capsys.readouterr().err


def hows(document: dict[str, Any], path: str) -> dict[str, list[str]]:
    """Place of each changed command -> how."""
    (found,) = [one for one in document["paths"] if one["transport"] == path]
    assert found["not_scanned"] is None
    return {one["place"].rpartition(":")[2]: one["how"] for one in found["worst"]}


def test_each_path_in_its_own_way(commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A here-document, quotes and variables meet an outer shell, a parser, a line limit and a wrapper's suffix."""
    names = ["nested-shell", "ssh", "json-string", "first-line", "status-suffix", "raw"]
    document = scanned(capsys, commands, *(word for name in names for word in ("-t", name)))
    assert (document["commands"], document["different"]) == (6, 5)
    assert hows(document, "nested-shell") == {"1": ["expanded"], "2": ["cut off", "quotes lost"]}
    assert hows(document, "ssh") == {"1": ["cut off"], "2": ["expanded", "quotes lost"], "5": ["backslashes lost"]}
    assert hows(document, "json-string") == {str(line): ["refused by a parser"] for line in (1, 2, 4, 5)}
    assert hows(document, "first-line") == {"1": ["cut off"]}
    assert hows(document, "status-suffix") == {"1": ["wrapper inside it"]}
    assert hows(document, "raw") == {}
    nested, ssh = document["paths"][0], document["paths"][1]
    assert (nested["commands"], nested["changed"], nested["changed_percent"], nested["same_words"]) == (6, 2, 33.3, 1)
    assert ssh["worst"][0]["arrived"] == ["cat"]
    assert {"how": "quotes lost", "commands": 1, "examples": ['" -> (nothing)']} in ssh["how"]
    assert document["paths"][4]["wrapper"] == "<command>; rc=$?; printf 'FENCE_1'; exit $rc"
    assert [one["in_sandbox"] for one in document["paths"]] == [True, True, True, False, False, False]


def test_text_for_a_person(commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The report names file, line and model, shows what changed, and how to look further."""
    assert run(["scan", commands, "-t", "docker-exec", "--worst", "1"]) == 0
    shown = capsys.readouterr().out
    assert "2 of these 6 commands arrive changed (33.3 %)" in shown
    assert "commands.jsonl:2, m: cut off, quotes lost" in shown
    assert 'echo [-"-]a[-  b" $HOME-]' in shown
    assert "crosspath transports try docker-exec -- 'echo \"a  b\" $HOME'" in shown
    assert run(["scan", commands, "-t", "raw", "-t", "crlf"]) == 0
    table = capsys.readouterr().out
    assert "6 of 6" in table
    assert "0 of 6" in table


def test_the_command_to_look_further_works(commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What is printed for a text of several lines is one line that a shell takes for the same text."""
    document = scanned(capsys, commands, "-t", "first-line")
    assert document["paths"][0]["worst"][0]["try"].endswith(r"try first-line -- $'cat > note <<\'EOF\'\nfor $USER\nEOF'")


def test_an_outer_shell_that_runs_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It is ended after a few seconds; what it was given before is known, and what it runs in the background is waited for."""
    (tmp_path / "c").write_text("true; sleep 100\nls &\n")
    document = scanned(capsys, str(tmp_path / "c"), "-t", "ssh")
    assert hows(document, "ssh") == {"1": ["cut off"], "2": ["cut off"]}
    assert [one["arrived"] for one in document["paths"][0]["worst"]] == [["true"], ["ls"]]


@pytest.mark.parametrize(
    ("function", "changed"),
    [
        ('["bash", "-c", " ".join(text.split("\\n"))]', {"1": ["line ends"]}),
        ('["bash", "-lc", "cd . && " + text + "; echo done"]', {"1": ["wrapper inside it"]}),
        ('["bash", "-c", f"bash -c \'{text}\'"]', {"1": ["quotes lost"], "5": ["nothing arrives"]}),
        ("f'bash -c \"{text}\"', shell=True", {"1": ["expanded"], "2": ["cut off", "quotes lost"]}),
    ],
)
def test_a_harness(function: str, changed: dict[str, Any], commands: str, tmp_path: Path, capsys: Any) -> None:
    """Recorders stand in front of the shells that it finds on PATH; its own text around each command is no change."""
    (tmp_path / "agent.py").write_text(
        f"import subprocess\ndef run_reply(reply):\n    text = reply['text']\n    subprocess.run({function})\n"
    )
    (tmp_path / "paths.yaml").write_text('ours: {callable: "agent:run_reply"}\n')
    document = scanned(capsys, commands, "-t", "ours", "--paths", str(tmp_path / "paths.yaml"))
    assert hows(document, "ours") == changed


def test_a_harness_that_is_a_script(commands: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell that runs the harness itself is real; the one that it gives the command to is a recorder."""
    read = "import json, os; print(json.load(open(os.environ['REPLY_FILE']))['text'])"
    (tmp_path / "run.sh").write_text(f'text=$(python3 -c "{read}")\nsh -c $text\n')
    (tmp_path / "paths.yaml").write_text("ours: {external: {argv: [bash, run.sh], bind: [run.sh]}}\n")
    refused(capsys, commands, "-t", "ours", "--paths", str(tmp_path / "paths.yaml"))  # of the probe's two words one arrives
    (tmp_path / "run.sh").write_text(f'text=$(python3 -c "{read}")\nsh -c "$text"\n')
    assert hows(scanned(capsys, commands, "-t", "ours", "--paths", str(tmp_path / "paths.yaml")), "ours") == {}


def test_a_harness_that_can_not_be_watched(commands: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A shell that is called by its full path is no recorder: that is said, not counted as a change."""
    (tmp_path / "agent.py").write_text("import os\ndef run_reply(reply):\n    os.system(reply['text'])\n")
    (tmp_path / "paths.yaml").write_text('ours: {callable: "agent:run_reply"}\n')
    error = refused(capsys, commands, "-t", "ours", "--paths", str(tmp_path / "paths.yaml"))
    assert "ours can't be scanned" in error
    document = scanned(capsys, commands, "-t", "ours", "-t", "raw", "--paths", str(tmp_path / "paths.yaml"))
    assert "full path" in document["paths"][0]["not_scanned"]
    assert document["paths"][0]["changed_percent"] is None


def test_recorded_replies(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Texts and tool calls, each in the shape of the contract that its line names; places are lines."""
    call = {"id": "1", "name": "run_shell", "arguments": json.dumps({"command": 'echo "$A"'})}
    told = {"model": "m", "task": "t"}
    (tmp_path / "r.jsonl").write_text(
        lines(
            {**told, "reply": 'echo "$A"'},
            {**told, "contract": "tool-call", "tool_calls": [call]},
            {**told, "contract": "json", "reply": json.dumps({"command": "ls"})},
            {**told, "contract": "json", "trial": 1, "reply": "ls"},
        )
    )
    document = scanned(capsys, str(tmp_path / "r.jsonl"), "-t", "nested-shell")
    assert (document["form"], document["commands"], document["different"]) == ("recorded", 3, 2)
    assert document["apart"][0]["count"] == 1
    assert "does not fit contract json" in document["apart"][0]["reason"]
    assert hows(document, "nested-shell") == {"1": ["expanded"]}


def test_tool_calls_of_a_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shell argument of each call is a command, also as the words of bash -lc; what else a log holds is counted apart."""

    def logged(*calls: tuple[str, dict[str, Any]], text: str | None = None) -> dict[str, Any]:
        named = [
            {"id": f"c{number}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for number, (name, arguments) in enumerate(calls)
        ]
        message = {"role": "assistant", "content": text, **({"tool_calls": named} if named else {})}
        return {"request": {"model": "m", "messages": []}, "response": {"choices": [{"message": message}]}}

    (tmp_path / "log.jsonl").write_text(
        lines(
            logged(("shell", {"command": ["bash", "-lc", "echo '$A'"]}), ("read", {"path": "x"})),
            logged(("run", {"line": "ls"})),
            logged(text="All done."),
        )
    )
    log = str(tmp_path / "log.jsonl")
    document = scanned(capsys, log, "--from", "openai", "-t", "single-quoted-shell")
    assert document["paths"][0]["worst"][0]["place"] == f"{log}:1, call c0"
    assert [one["count"] for one in document["apart"]] == [1, 1, 1]
    assert "call of read without shell text" in json.dumps(document["apart"])
    assert scanned(capsys, log, "--from", "openai", "--argument", "line", "-t", "raw")["commands"] == 1
    assert scanned(capsys, log, "--from", "openai", "--contract", "raw", "-t", "raw")["commands"] == 1


def test_plain_lists(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A command a line, or entries that end with NUL, which may have several lines."""
    (tmp_path / "a").write_text("ls\n\necho '$A'\n")
    assert hows(scanned(capsys, str(tmp_path / "a"), "-t", "single-quoted-shell"), "single-quoted-shell") == {"3": ["expanded"]}
    (tmp_path / "b").write_text("ls\0echo a\necho b\0")
    document = scanned(capsys, str(tmp_path / "b"), "-t", "first-line")
    assert (document["form"], document["commands"], document["paths"][0]["changed"]) == ("nul", 2, 1)


@pytest.mark.parametrize(
    ("content", "options", "expected"),
    [
        ('{"command": "ls"}\n{"command": \n', (), ":2: not readable as JSON"),
        ('{"command": "ls"}\n[1]\n', (), ":2: [1] is not an object"),
        ('{"command": 7}\n', (), ":1: command: 7 is not a text"),
        ('{"cmd": "ls"}\n', (), "no line has the field 'command'; name one with --field: cmd"),
        ("", (), "no command in it"),
        ("\n \n", (), "no command in it"),
        ('{"command": "ls"}\n', ("--from", "slack"), "'slack' is no form"),
        ('{"command": "ls"}\n', ("--from", "lines", "--field", "x"), "--field"),
        ('{"model": "m", "task": "t"}\n', (), ":1: neither 'reply' nor 'tool_calls'"),
        ("\x80", (), "is not UTF-8"),
    ],
)
def test_wrong_files(content: str, options: Sequence[str], expected: str, tmp_path: Path, capsys: Any) -> None:
    """One line says which line of the file is wrong, and what would be right."""
    file = tmp_path / "in.jsonl"
    file.write_bytes(content.encode("latin-1"))
    error = refused(capsys, str(file), "-t", "raw", *options)
    assert expected in error
    assert error.count("\n") == 1


def test_wrong_arguments(commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A path has to be named, and known."""
    assert "--all-transports" in refused(capsys, commands)
    assert "unknown path 'rwa' (did you mean raw" in refused(capsys, commands, "-t", "rwa")
    assert "no such file" in refused(capsys, "nowhere.jsonl", "-t", "raw")


def test_hostile_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A NUL, a lone surrogate, 200 KiB and control characters are counted, never obeyed."""
    long = "echo " + "x" * 200_000
    hostile = ["echo \0", "echo \ud800", long, "echo \x1b[2J'", "echo $(touch /tmp/pwned; rm -rf ~)"]
    (tmp_path / "h.jsonl").write_text(lines(*({"command": one} for one in hostile)))
    document = scanned(
        capsys, str(tmp_path / "h.jsonl"), "-t", "raw", "-t", "nested-shell", "-t", "script-file", "-t", "make-recipe"
    )
    raw, nested, script, make = document["paths"]
    assert [sum(one["count"] for one in path["undeliverable"]) for path in (raw, nested, script, make)] == [3, 3, 1, 1]
    assert hows(document, "nested-shell") == {"5": ["expanded"]}
    assert raw["changed"] == script["changed"] == 0
    assert not Path("/tmp/pwned").exists()
    assert run(["scan", str(tmp_path / "h.jsonl"), "-t", "crlf"]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_sampling_and_exit_codes(commands: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--limit takes commands from all over the file; --fail-on-change is for CI."""
    document = scanned(capsys, commands, "-t", "crlf", "--limit", "2")
    assert document["chosen"] == 2
    assert set(hows(document, "crlf")) == {"1", "3"}
    assert run(["scan", commands, "-t", "crlf", "--fail-on-change"]) == 1
    assert run(["scan", commands, "-t", "raw", "--fail-on-change"]) == 0


def test_an_interrupted_scan_tells_what_it_has(commands: str, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C ends the work in order; the report says that it is not all."""
    from crosspath.app import scanning

    first = iter([True])

    async def stop(*_: object) -> None:
        if next(first, False):
            os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(60)

    monkeypatch.setattr(scanning._Scanner, "_work", stop)
    assert run(["scan", commands, "-t", "ssh", "--json"]) == 130
    captured = capsys.readouterr()
    assert json.loads(captured.out)["interrupted"] is True
    assert "begins anew" in captured.err
