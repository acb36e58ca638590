"""A user's own function as a path: called inside the sandbox, by the user's own Python, whatever the reply does there."""

import base64
import hashlib
import json
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.adapters.bubblewrap_sandbox import BubblewrapSandbox
from crosspath.adapters.process_sandbox import ProcessSandbox
from crosspath.app.harness_code import identify
from crosspath.ports import Sandbox
from crosspath.scoring.reported import reported_exit, told
from crosspath.transports import assemble, parse_path
from crosspath.types import Execution, FileEntry, ReplayJob, ReplayKey, Reply, SandboxLimits, Task, ToolCall, TrialKey

RUNS = """
import subprocess

def run_reply(reply, work):
    done = subprocess.run(["bash", "-c", reply["text"]], cwd=work, capture_output=True, text=True, errors="replace")
    return {"exit": done.returncode, "output": done.stdout, "error": done.stderr}
"""
JOINS_LINES = RUNS.replace('reply["text"]', '" ".join(reply["text"].splitlines())')


@pytest.fixture(scope="module")
def bubblewrap() -> Iterator[Sandbox]:
    made = BubblewrapSandbox()
    yield made
    made.close()


def execute(sandbox: Sandbox, base: Path, reply: Reply | str, config: dict[str, Any] | None = None, **task: Any) -> Execution:
    spec = identify(parse_path("ours", {"callable": "agent:run_reply", **(config or {})}, "transports.ours"), base)
    told = Reply(text=reply) if isinstance(reply, str) else reply
    commands = tuple(action.command for action in assemble(spec).deliver(told).actions)
    key = ReplayKey(trial=TrialKey(generation="g", task="t", index=0), path="p")
    (result,) = sandbox.run([ReplayJob(key=key, task=Task(id="t", family="f", **task), commands=commands)])
    assert isinstance(result, Execution), result
    return result


def files(execution: Execution) -> dict[bytes, bytes | None]:
    return {entry.path: entry.content for entry in execution.state.entries if entry.kind == "file"}


def agent(base: Path, body: str) -> Path:
    (base / "agent.py").write_text(f"import os, subprocess, sys, pathlib\n\ndef run_reply(reply, work):\n    {body}\n")
    return base


@pytest.mark.parametrize("kind", ["bubblewrap", "none"])
def test_a_function_gets_the_reply(kind: str, bubblewrap: Sandbox, tmp_path: Path) -> None:
    """Text and tool calls as they came, the work directory, and its environment; its return value is the report."""
    body = """
    (work / "seen").write_text(repr([reply, pathlib.Path.cwd() == work, os.environ["MODE"], sys.stdin.read(),
                                     [name for name in ("REPLY_FILE", "RESULT_FILE") if name in os.environ]]))
    return {"exit": 3, "output": "out", "error": b"err"}
"""
    calls = (ToolCall(id="1", name="run", arguments='{"command": "x'),)
    sandbox = bubblewrap if kind == "bubblewrap" else ProcessSandbox()
    found = execute(sandbox, agent(tmp_path, body.strip()), Reply(text=None, tool_calls=calls), {"env": {"MODE": "fast"}})
    seen = [{"text": None, "tool_calls": [{"id": "1", "name": "run", "arguments": '{"command": "x'}]}, True, "fast", "", []]
    assert files(found) == {b"seen": repr(seen).encode()}
    assert told(found.results[0]).__dict__ == {"exit": 3, "output": "out", "error": "err"}
    assert found.results[0].exit_code == 3
    assert not (tmp_path / "__pycache__").exists()


def test_what_the_function_imports_is_there(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """Modules beside it that it imports, and bound ones, are visible; everything else beside it is not."""
    (tmp_path / "agent.py").write_text("import joining\n" + JOINS_LINES.replace("def run_reply", "def unused") + """
def run_reply(reply):
    import importlib
    return {"output": joining.NAME + importlib.import_module("late").NAME + " ".join(sorted(__import__("os").listdir(here())))}
def here():
    return __file__.rpartition("/")[0]
""")  # fmt: skip
    (tmp_path / "joining").mkdir()
    (tmp_path / "joining" / "__init__.py").write_text("from joining.names import NAME\n")
    (tmp_path / "joining" / "names.py").write_text("NAME = 'joined '\n")
    (tmp_path / "late.py").write_text("NAME = 'late '\n")
    (tmp_path / ".env").write_text("SECRET=1\n")
    found = execute(bubblewrap, tmp_path, "x", {"bind": ["late.py"]})
    assert told(found.results[0]).output == "joined late agent.py joining late.py"


def test_files_of_a_task_are_not_the_users_code(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """A module in the work directory is never imported in place of the function's or Python's own."""
    fixture = tuple(FileEntry(path=name, content=b"raise SystemExit(9)\n") for name in (b"agent.py", b"json.py", b"tools.py"))
    (tmp_path / "tools.py").write_text("")
    body = "import tools, json; return 4"
    assert reported_exit(execute(bubblewrap, agent(tmp_path, body), "x", fixture=fixture)) == 4


@pytest.mark.parametrize(
    ("body", "exit_", "error"),
    [
        ("return None", 0, ""),
        ("return 7", 7, ""),
        ("return {'error': 'no'}", 1, "no"),
        ("sys.exit(5)", 5, ""),
        ("sys.exit('enough')", 1, "enough"),
        ("raise KeyError('x')", 1, "KeyError: 'x'"),
        ("raise KeyboardInterrupt", 1, "KeyboardInterrupt"),
        ("return run_reply(reply, work)", 1, "RecursionError: "),
        ("return True", 1, "agent:run_reply returned a bool; return None, an exit status, or a dict of exit, output and error"),
        ("return 3.5", 1, "agent:run_reply returned a float; "),
        ("return {'status': 0}", 1, "agent:run_reply returned a dict with 'status'; "),
        ("return {'exit': '0'}", 1, "agent:run_reply returned an exit of type str; it must be a whole number"),
        ("return {'exit': 10 ** 5000}", 1, "agent:run_reply returned an exit that is no exit status"),
        ("return {'output': ['x']}", 1, "agent:run_reply returned output of type list; it must be text or bytes"),
        ("import no_such_module", 1, "ModuleNotFoundError: No module named 'no_such_module'"),
    ],
)
def test_what_a_function_may_return(body: str, exit_: int, error: str, bubblewrap: Sandbox, tmp_path: Path) -> None:
    """Nothing, an exit status or a report; an exception and everything else is a failure with its reason."""
    said = told(execute(bubblewrap, agent(tmp_path, body), "x").results[0])
    assert said.exit == exit_
    assert said.error.startswith(error)


def test_the_traceback_is_the_users(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """Standard error shows where in the user's code an exception came from, and nothing of how it was called."""
    trace = execute(bubblewrap, agent(tmp_path, "import no_such_module"), "x").results[0].stderr.data.decode()
    assert f'File "{tmp_path}/agent.py", line 4, in run_reply' in trace
    assert "calling.py" not in trace


def test_an_asynchronous_function(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """It is run to its end."""
    text = "import asyncio\n\nasync def run_reply(reply):\n    await asyncio.sleep(0)\n    return 6\n"
    (tmp_path / "agent.py").write_text(text)
    assert reported_exit(execute(bubblewrap, tmp_path, "x")) == 6


@pytest.mark.parametrize(
    ("reply", "exit_"),
    [
        ("kill -9 $PPID", 137),
        ('echo \'{"exit": 0}\' > "$OUT/result.json"; exit 3', 3),
        ('mkdir -p "$OUT/result.json/x"; chmod 0 "$OUT"; exit 3', 3),
        ('ln -s "$WORK/elsewhere" "$OUT/result.json"; exit 3', 3),
        ("head -c 3000000 /dev/zero | tr '\\0' 'x'; exit 3", 3),
        ("echo '{\"exit\": 0}'; exit 3", 3),
    ],
    ids=["kills the caller", "forges", "a directory and no way in", "a link", "much output", "prints a report"],
)
def test_replies_that_attack_the_report(reply: str, exit_: int, bubblewrap: Sandbox, tmp_path: Path) -> None:
    """What the function returned is told, whatever the reply left under the report's name or printed."""
    (tmp_path / "agent.py").write_text(RUNS)
    found = execute(bubblewrap, tmp_path, reply)
    assert reported_exit(found) == exit_
    assert files(found) == {}


def test_a_full_disk(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """Where the report can't be written the exit status tells what it would have."""
    (tmp_path / "agent.py").write_text(RUNS)
    made = BubblewrapSandbox(SandboxLimits(disk_bytes=1024 * 1024))
    found = execute(made, tmp_path, "head -c 3000000 /dev/zero > f; exit 3")
    made.close()
    assert reported_exit(found) == 3


@pytest.mark.parametrize(("body", "exit_"), [("os._exit(0)", 0), ("os._exit(9)", 9), ("os.kill(os.getpid(), 11)", 139)])
def test_a_function_that_takes_its_caller_along(body: str, exit_: int, bubblewrap: Sandbox, tmp_path: Path) -> None:
    """Without a report the exit status of the process is what was told."""
    found = execute(bubblewrap, agent(tmp_path, body), "x")
    assert found.results[0].report is None
    assert reported_exit(found) == exit_


def test_a_function_that_never_returns(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """It is killed when the task's time is over, and what it did until then is judged."""
    found = execute(bubblewrap, agent(tmp_path, "(work / 'f').write_text('x'); import time; time.sleep(60)"), "x", timeout_s=1.5)
    assert (found.results[0].timed_out, reported_exit(found)) == (True, None)
    assert files(found) == {b"f": b"x"}


def test_texts_that_no_argument_can_carry(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """NUL and lone surrogates reach the function; an error with them in it is told all the same."""
    hostile = "a\0b\ud800 \udfff\n\U0001f600"
    body = "(work / 'f').write_text(ascii(reply['text'])); raise ValueError(reply['text'])"
    found = execute(bubblewrap, agent(tmp_path, body), hostile)
    assert files(found) == {b"f": ascii(hostile).encode()}
    assert told(found.results[0]).error == f"ValueError: {hostile}"


def environment(place: Path, *, commit: str = "") -> Path:
    """A virtual environment with a distribution ``team-agent`` in it; returns its Python."""
    venv.create(place, symlinks=True)
    site = place / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    code = "from myteam.agent.running import run_reply\n"
    contents = {"myteam/agent/__init__.py": code, "myteam/agent/running.py": JOINS_LINES, "myteam/__init__.py": ""}
    about = site / "team_agent-1.0.dist-info"
    record = ""
    for name, text in contents.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
        found = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={found},{len(text)}\n"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: team-agent\nVersion: 1.0\n")
    (about / "RECORD").write_text(record + "team_agent-1.0.dist-info/RECORD,,\n")
    return place / "bin" / "python"


def test_an_installed_function(bubblewrap: Sandbox, tmp_path: Path) -> None:
    """A function of an installed package, called by the Python of its environment, wherever that lies."""
    home = tmp_path / "home" / "user"
    python = environment(home / "agent env")
    home.chmod(0o700)
    config = {"callable": "myteam.agent:run_reply", "python": str(python)}
    found = execute(bubblewrap, tmp_path, "printf '%s' \"$0\" > f\necho >> f", config)
    assert files(found) == {b"f": b"bashecho"}
    assert reported_exit(found) == 0


def test_the_same_package_elsewhere_is_the_same_path(tmp_path: Path) -> None:
    """What is installed is identified by its files: not by its place, but by every changed line, which also makes it dirty."""
    specs = []
    for place in ("one", "two", "three"):
        python = environment(tmp_path / place)
        if place == "three":
            changed = next((tmp_path / place).glob("lib/*/site-packages/myteam/agent/running.py"))
            changed.write_text(RUNS)
        config = {"callable": "myteam.agent:run_reply", "python": str(python)}
        specs.append(identify(parse_path("ours", config, "transports.ours"), tmp_path))
    assert specs[0].digest == specs[1].digest != specs[2].digest
    assert [spec.external.dirty for spec in specs if spec.external] == [False, False, True]


def evaluation_spec(base: Path, code: str) -> Path:
    """An evaluation of two tasks with right commands, through a function."""
    (base / "agent.py").write_text(code)
    plain = {"id": "plain", "family": "lines", "tier": 0, "instruction": "one", "expected": {"a": ""}, "oracle": "touch a"}
    lines = {"id": "lines", "family": "lines", "tier": 2, "instruction": "two", "expected": {"b": "one\ntwo\n"}}
    lines["oracle"] = "cat > b <<'END'\none\ntwo\nEND\n"
    (base / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in (plain, lines)))
    spec = {
        "name": "function",
        "transports": {"ours": {"callable": "agent:run_reply"}},
        "candidates": {"c": {"model": "baseline/oracle", "transport": "ours"}},
        "tasks": {"files": ["tasks.jsonl"]},
        "executor": {"replay_workers": 2},
    }
    (base / "spec.yaml").write_text(json.dumps(spec))
    return base / "spec.yaml"


def test_damage_of_a_function(tmp_path: Path) -> None:
    """An evaluation on such a path: its damage is found, its control holds, and edited code is another path."""
    first = crosspath.evaluate(evaluation_spec(tmp_path, JOINS_LINES), store=tmp_path / "store", track=False)
    decomposition = first.decomposition("c")
    assert (decomposition.control.kind, decomposition.control.status) == ("benign", "holds")
    damage = decomposition.effect("damage")
    assert damage is not None
    assert (damage.lost, damage.gained) == (1, 0)
    second = crosspath.evaluate(evaluation_spec(tmp_path, RUNS), store=tmp_path / "store", track=False)
    repaired = second.decomposition("c").effect("damage")
    assert repaired is not None
    assert (repaired.lost, repaired.gained) == (0, 0)
    assert first.facts.lock.transports["ours"] != second.facts.lock.transports["ours"]
