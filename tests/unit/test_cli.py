"""The command line without sandbox, model or tracking server: help, arguments, exit codes, and what is printed how."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from builders import evaluation
from crosspath.app.evaluation import Evaluation
from crosspath.catalogue import catalogue_tasks
from crosspath.cli import entry
from crosspath.cli.entry import run
from crosspath.cli.finishing import document_of, exit_code, finish
from crosspath.cli.output import OutputClosed, print_table, progress_counts, remark, say
from crosspath.pipeline.evaluate import Progress
from crosspath.types import Facts, Fault, Judgement

COMMANDS = (
    "run", "plan", "replay", "validate", "report", "show", "log", "prompts", "import", "tasks", "contracts", "styles",
    "transports", "ui", "doctor", "demo",
)  # fmt: skip
HEAVY = ("mlflow", "ray", "litellm", "great_expectations", "pandas", "scipy", "matplotlib", "pyarrow", "rich")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`crosspath COMMAND --help` says what the command does, and leaves with 0."""
    assert run([command, "--help"]) == 0
    assert f"Usage: crosspath {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [*COMMANDS[:9], "contracts list", "contracts show", "styles list", "styles show", "doctor", "demo", "ui", "tasks list",
     "tasks show", "tasks check", "transports list", "transports show", "transports try"],
)  # fmt: skip
def test_every_command_has_json(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every command that gives something takes `--json`."""
    assert run([*command.split(), "--help"]) == 0
    assert "--json" in capsys.readouterr().out


def test_help_imports_nothing_heavy() -> None:
    """`crosspath --help` loads no vendor, and nothing that draws."""
    code = (
        "import sys; from crosspath.cli.entry import run; code = run(['--help']);"
        f"print('LOADED', [name for name in {HEAVY} if name in sys.modules]); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "LOADED []" in done.stdout


def test_plan_of_baselines_imports_no_vendor(tmp_path: Path) -> None:
    """What costs nothing needs neither prices nor a server to be planned."""
    spec = tmp_path / "spec.yaml"
    spec.write_text("candidates: {a: baseline/oracle}\n")
    code = (
        f"import sys; from crosspath.cli.entry import run; code = run(['plan', {str(spec)!r}]);"
        "print('LOADED', [name for name in ('mlflow', 'ray', 'litellm', 'great_expectations') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "LOADED []" in done.stdout
    assert list(tmp_path.iterdir()) == [spec]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run"], "Missing argument"),
        (["run", "a.yaml", "--stroe", "x"], "No such option: --stroe"),
        (["runn"], "Did you mean 'run'?"),
        (["show", "latest", "t", "--trial", "-1"], "--trial"),
        (["ui", "--port", "0"], "--port"),
        (["replay", "latest"], "--transport"),
        (["tasks", "shwo"], "No such command 'shwo'"),
    ],
)
def test_wrong_arguments_are_one_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong argument gives one line on standard error that says where to look, nothing else, and exit code 2."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert words in err
    assert "--help)" in err


@pytest.mark.parametrize("arguments", [[], ["tasks"], ["styles"], ["transports"]])
def test_no_command_shows_help(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Without a command there is help, as an answer and not as a complaint."""
    assert run(arguments) == 2
    out, err = capsys.readouterr()
    assert "Commands:" in out
    assert err == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the version alone."""
    assert run(["--version"]) == 0
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*\n", capsys.readouterr().out)


def test_names_are_no_markup(capsys: pytest.CaptureFixture[str]) -> None:
    """A candidate that is called like a markup tag is printed as it is called."""
    print_table(("[b]name[/b]",), [("[red]x[/red] :smile:",)])
    out = capsys.readouterr().out
    assert "[red]x[/red] :smile:" in out
    assert "[b]name[/b]" in out


def test_hostile_text_does_not_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """Escape sequences of a reply are shown, not obeyed; line ends and tabs stay."""
    say("a\x1b[31mb\x9bc\rd\te\nf")
    print_table(("x",), [("\x1b[2J",)])
    assert capsys.readouterr().out.startswith("a\\x1b[31mb\\u009bc\\rd\te\nf\n")


def test_table_folds_on_a_narrow_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    """A long cell loses nothing where standard output is no terminal."""
    print_table(("long",), [("x" * 150,)])
    assert "x" * 150 in capsys.readouterr().out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_terminal_encoding_works(encoding: str) -> None:
    """What a terminal can't show is escaped there; nothing crashes."""
    command = [sys.executable, "-m", "crosspath", "tasks", "show", "exact-file/script"]
    environment = os.environ | {"PYTHONIOENCODING": encoding}
    done = subprocess.run(command, capture_output=True, encoding=encoding, env=environment, timeout=60, check=False)
    assert done.returncode == 0
    assert done.stderr == ""
    assert ("caf\\xe9" if encoding == "ascii" else "café") in done.stdout


def test_closed_pipe_is_silent() -> None:
    """`crosspath tasks show ... | head -1` ends without a traceback and with the code of a closed pipe."""
    line = f"{sys.executable} -m crosspath tasks list --json | head -c 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=True)
    assert done.stderr == ""
    assert done.stdout.split("[")[-1].strip() in ("141", "0")  # 0: the pipe took everything before head was gone


def test_output_that_nobody_reads_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A closed pipe becomes one exception that no command catches."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        monkeypatch.setattr(sys, "stdout", closed)
        with pytest.raises(OutputClosed):
            say("x")
        os.dup2(os.open(os.devnull, os.O_WRONLY), write)


def test_remarks_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    """Standard output is for results only."""
    remark("waiting")
    assert capsys.readouterr() == ("", "waiting\n")


def test_progress_names_faults() -> None:
    """Live counts say replays, retries and each kind of fault."""
    assert progress_counts(Progress(replays_done=3, retries=2, faults={"timeout": 1})) == "3 replays, 2 retries, 1 timeout"


def facts() -> Facts:
    """A finished evaluation without a fault."""
    found, _ = evaluation()
    return found


def judgement() -> Judgement:
    _, found = evaluation()
    return found


@pytest.mark.parametrize(
    ("fault", "code"),
    [
        (Fault(boundary="model", type="not_recorded", message="no reply"), 0),
        (Fault(boundary="budget", type="budget", message="limit max_requests reached"), 3),
        (Fault(boundary="model", type="server_error", message="500"), 5),
        (Fault(boundary="sandbox", type="start_failed", message="no bwrap"), 5),
    ],
)
def test_exit_code_of_faults(fault: Fault, code: int) -> None:
    """A limit is 3, a failing outside is 5; a reply that a recording never held is missing data, announced before the start."""
    stored = facts()
    trial = stored.trials[0].model_copy(update={"reply": None, "fault": fault})
    made = Evaluation(stored.model_copy(update={"trials": (trial,), "replays": ()}), judgement())
    assert exit_code(made) == code


@pytest.mark.parametrize(("scored", "code"), [(0, 3), (4, 3), (5, 0), (10, 0)])
def test_exit_code_with_few_verdicts(scored: int, code: int) -> None:
    """A cell in which fewer than half of the trials could be scored is not enough evidence: 3."""
    assert exit_code(Evaluation(facts(), judged(planned=10, scored=scored, passed=0))) == code


def judged(**counts: int) -> Judgement:
    """One decomposition whose cells all have these counts."""
    first = judgement().decompositions[0]
    cells = tuple(cell.model_copy(update=counts) for cell in first.cells)
    return judgement().model_copy(update={"decompositions": (first.model_copy(update={"cells": cells}),)})


def test_blind_candidates_have_no_effects(capsys: pytest.CaptureFixture[str]) -> None:
    """Where nothing passes on the reference path, the table has no damage and no control that holds; JSON says it, too."""
    blind = Evaluation(facts(), judged(planned=3, scored=3, passed=0))
    finish(blind, as_json=False)
    row = next(line for line in capsys.readouterr().out.splitlines() if line.split()[:2] == ["oracle", "0/3"])
    assert row.split()[-4:] == ["-", "-", "-", "blind"]
    assert [d["blind"] for d in document_of(blind)["decompositions"]] == [True]
    assert not any(d["blind"] for d in document_of(Evaluation(facts(), judgement()))["decompositions"])


def test_exit_code_of_a_broken_control() -> None:
    """A broken control is evidence that can't be used: 4, whatever else happened."""
    first = judgement().decompositions[0]
    broken = first.model_copy(update={"control": first.control.model_copy(update={"status": "broken"})})
    assert exit_code(Evaluation(facts(), judgement().model_copy(update={"decompositions": (broken,)}))) == 4


def test_exit_code_of_a_result_that_mlflow_lacks() -> None:
    """Done, but not logged: 5."""
    stored = facts()
    assert exit_code(Evaluation(stored, judgement())) == 0
    assert exit_code(Evaluation(stored, judgement(), tracking_error="server gone")) == 5


def test_contracts_are_shown_word_for_word(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Shipped contracts, a spec's own and a file's are listed and shown: text, tools, shape, and what they disclose."""
    own = "---\nname: mine\nshape: text\ndiscloses: script-file\nreference: raw\n---\nYour reply is saved as a script.\n"
    (tmp_path / "mine.md").write_text(own)
    spec = tmp_path / "spec.yaml"
    spec.write_text("contracts: [mine.md]\ncandidates: {a: {model: baseline/oracle, contract: mine}}\n")
    assert run(["contracts", "list", "--spec", str(spec), "--json"]) == 0
    listed = {contract["name"]: contract for contract in json.loads(capsys.readouterr().out)}
    assert listed.keys() > {"raw", "tool-call", "mine"}
    assert listed["mine"]["discloses"] == "script-file"
    assert run(["contracts", "list"]) == 0
    assert "run_shell, write_file" in capsys.readouterr().out
    for arguments in (["mine", "--spec", str(spec)], [str(tmp_path / "mine.md")]):
        assert run(["contracts", "show", *arguments]) == 0
        assert capsys.readouterr().out.endswith("reference    raw\n\nYour reply is saved as a script.\n")
    assert run(["contracts", "show", "tool-call", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [tool["name"] for tool in shown["tools"]] == ["run_shell", "write_file"]
    assert run(["contracts", "show", "tool-cal"]) == 2
    assert "tool-call" in capsys.readouterr().err


def test_generated_contracts_are_listed_one_line_a_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every survivable path, a spec's own among them, has one line with the names of its wordings; each can be shown."""
    spec = tmp_path / "spec.yaml"
    spec.write_text("transports: {ours: [trim, double-quoted-shell, shell]}\ncandidates: {a: baseline/oracle}\n")
    assert run(["contracts", "list", "--spec", str(spec)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    generated = [line for line in lines if line and line[0].startswith("tell:")]
    assert all(line == [line[0], f"{line[0]}#2", f"{line[0]}#3"] for line in generated)
    assert {"tell:nested-shell", "tell:ssh", "tell:ours"} <= {line[0] for line in generated}
    assert not {"tell:raw", "tell:json", "tell:make-recipe"} & {line[0] for line in generated}
    assert run(["contracts", "list", "--spec", str(spec), "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [one["wordings"] for one in listed if one["wordings"]] == generated
    assert run(["contracts", "show", "tell:tools:ours#3", "--spec", str(spec)]) == 0
    shown = capsys.readouterr().out
    assert "discloses    ours\nreference    tool-call\n" in shown
    assert "(1) White space at both ends of the text is removed. (2) The text is placed" in shown
    assert run(["contracts", "show", "tell:our", "--spec", str(spec)]) == 2
    assert "unknown path 'our' (did you mean ours" in capsys.readouterr().err


def test_lists_are_strict_json(capsys: pytest.CaptureFixture[str]) -> None:
    """Lists of tasks and paths are one JSON document each."""
    assert run(["tasks", "list", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)) == len(catalogue_tasks())
    assert run(["transports", "list", "--json"]) == 0
    fields = {"name", "version", "survivable", "summary", "accepts", "imitated", "source", "layers", "digest"}
    assert fields == set(json.loads(capsys.readouterr().out)[0])
    assert run(["transports", "show", "nested-shell", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["name"] == "nested-shell"
    assert run(["tasks", "show", "exact-file/word", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["id"] == "exact-file/word"


@pytest.mark.parametrize(
    ("redirection", "reason"),
    [(">/dev/full", "No space left on device"), (">&-", "Bad file descriptor"), ("<&- >&-", "Bad file")],
)
@pytest.mark.parametrize("command", ["contracts list", "contracts list --json", "--help"])
def test_output_that_cant_be_written_is_one_line(command: str, redirection: str, reason: str) -> None:
    """A full disk, or no standard output at all: one line on standard error and exit code 5, no traceback."""
    line = f"{sys.executable} -m crosspath {command} {redirection}"
    done = subprocess.run(["bash", "-c", line], stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode == 5
    assert re.fullmatch(rf"crosspath: standard output can't be written: {reason}.*\n", done.stderr)


def test_what_nobody_expected_is_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A fault of the program itself ends with 5 and shows where; Python's own code would say FAIL or drift."""
    monkeypatch.setattr(entry, "run", lambda: {}["no such key"])
    with pytest.raises(SystemExit) as ended:
        entry.main()
    told = capsys.readouterr().err
    assert ended.value.code == 5
    assert "KeyError" in told
    assert told.endswith("crosspath: this is a fault of crosspath itself; nothing was decided\n")
