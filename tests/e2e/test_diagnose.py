"""``transports diagnose`` finds what was planted in chains, programs and functions that it knows nothing about."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from crosspath.app import probing
from crosspath.app.probing import Bench, Shot
from crosspath.cli.entry import run
from crosspath.transports.outcomes import Outcome

CHAINS = """
tidied: [{layer: replace, find: "\\t", with: "    "}, entities, shell]
cut: [{layer: max-length, characters: 2000}, {layer: prefix, text: "set -e; "}, shell]
logged: [{layer: replace, find: "'", with: '"'}, {layer: suffix, text: " 2>&1 | tee last.log"}, shell]
"""
HARNESS = """
import json, os, subprocess
reply = json.load(open(os.environ["REPLY_FILE"]))
command = os.path.expandvars(reply["text"].strip())
done = subprocess.run(["bash", "-c", command], cwd=os.environ["WORK"], capture_output=True, text=True)
report = {"exit": done.returncode, "output": done.stdout, "error": done.stderr}
json.dump(report, open(os.environ["RESULT_FILE"], "w"))
"""
AGENT = """
import json, subprocess
QUIET = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

def run_reply(reply, work):
    command = json.loads('"' + reply["text"] + '"')
    return subprocess.run(f'bash -c "{command}"', shell=True, executable="/bin/bash", cwd=work, **QUIET).returncode
"""
HARNESSES = """
ours: {external: {argv: [python3, harness.py], bind: [harness.py]}}
agent: {callable: "agent:run_reply"}
crashes: {external: {argv: [python3, crashes.py], bind: [crashes.py]}}
kills: {external: {argv: [python3, kills.py], bind: [kills.py]}}
fills: {external: {argv: [python3, fills.py], bind: [fills.py]}}
hangs: {external: {argv: [sleep, "100"]}}
lacks: {external: {argv: [no-such-program]}}
"""
FILES = {
    "chains.yaml": CHAINS,
    "one.yaml": "only: [{layer: replace, find: '!', with: ''}, shell]\n",
    "spec.yaml": "transports: {only: [first-line, shell]}\ncandidates: {ours: {model: baseline/oracle}}\n",
    "harnesses.yaml": HARNESSES,
    "harness.py": HARNESS,
    "agent.py": AGENT,
    "crashes.py": "raise RuntimeError('no \\x1b[31m')",
    "kills.py": "import os\nos.kill(os.getppid(), 9)\nos.kill(0, 9)\n",
    "fills.py": "import os, sys\nsys.stdout.buffer.write(os.urandom(100000))\nopen('big', 'wb').write(bytes(2**28))\n",
}

Diagnose = Callable[..., dict[str, Any]]


class Remembering(Bench):
    """What ``bash -c`` itself does with a probe is found out once for all paths."""

    raw: ClassVar[dict[tuple[str, str], Outcome]] = {}
    """Digest of that path in the shape of a contract, name of a probe -> what came of it."""

    def outcomes(self, shots: Sequence[Shot], what: str) -> list[Outcome]:
        def key(shot: Shot) -> tuple[str, str]:
            return shot.path.digest, shot.probe.name

        here = [shot for shot in shots if shot.path.name != "raw" or key(shot) not in self.raw]
        found = dict(zip(map(id, here), super().outcomes(here, what), strict=True))
        self.raw.update((key(shot), found[id(shot)]) for shot in here if shot.path.name == "raw")
        return [found[id(shot)] if id(shot) in found else self.raw[key(shot)] for shot in shots]


@pytest.fixture(autouse=True)
def _remembering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "Bench", Remembering)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def diagnose(here: Path, capsys: pytest.CaptureFixture[str]) -> Diagnose:
    def found(*arguments: str) -> dict[str, Any]:
        assert run(["transports", "diagnose", *arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return found


def sentences(document: dict[str, Any], harm: str) -> list[str]:
    return [finding["sentence"] for finding in document["findings"] if finding["harm"] == harm]


def test_a_chain_that_expands_tabs_and_decodes_entities(diagnose: Diagnose) -> None:
    """Both are found, silent, and nothing else; the chain's own encoding brings the whole battery through."""
    found = diagnose("chains.yaml", "tidied")
    silent = sentences(found, "silent")
    assert "A tab becomes `    ` between single quotes and between double quotes." in silent
    assert "`&lt;` and `&amp;` between single quotes are decoded." in silent
    assert {finding["harm"] for finding in found["findings"]} == {"silent"}
    tabs = [name for finding in found["findings"] for name in finding["probes"] if "U+0009" in name or "tabs" in name]
    assert len(tabs) == found["different"] - 2, "all but the entities and the text with an indented line are about tabs"
    assert found["encoding"]["computed"]
    assert found["encoding"]["survives"]
    assert "(2) HTML entities in the text" in found["disclosure"]


def test_a_chain_with_a_limit_and_set_e(diagnose: Diagnose) -> None:
    """The limit is measured to the character; what -e ends is said; encoding mends all but what is too long."""
    found = diagnose("chains.yaml", "cut")
    assert found["survives"]["longest"] == 2000
    assert {"The first command that fails ends it.", "The first line that fails ends it."} <= set(sentences(found, "loud"))
    assert sentences(found, "silent") == []
    assert not found["encoding"]["survives"]
    assert found["encoding"]["left"] == ["length: a line of 5000 characters", "length: a command of 60000 characters"]


def test_a_chain_that_changes_quotes_and_keeps_a_log(diagnose: Diagnose) -> None:
    """The log that it leaves is told, and ignored in all else; variables are expanded, and failures told as success."""
    found = diagnose("chains.yaml", "logged")
    assert "Files of its own are left in the work directory: last.log." in sentences(found, "silent")
    assert any("`$HOME`" in one and one.endswith("between single quotes are expanded.") for one in sentences(found, "silent"))
    (masked,) = sentences(found, "masked")
    assert masked.startswith("With `exit 3` at the end")
    assert masked.endswith("success is reported in place of the failure.")
    assert "quoting: an argument that begins with a dash" in found["survives"]["shapes"]


def test_a_program_that_fills_in_variables(diagnose: Diagnose) -> None:
    """Its every fault is found: variables, the reply on standard input, strict decoding, waiting; base64 mends what can be."""
    found = diagnose("harnesses.yaml", "ours")
    assert found["kind"] == "external"
    assert "`$HOME` and `${HOME}` between single quotes are expanded." in sentences(found, "silent")
    assert sentences(found, "alarm") == ["With output that is no UTF-8, a failure is reported though all was done."]
    example = next(
        one["example"] for one in found["findings"] if "operators: a command that reads standard input" in one["probes"]
    )
    assert json.loads(example["here"]["files"]["got"])["text"] == example["sent"]
    assert found["encoding"]["name"] == "base64 into bash"
    assert not found["encoding"]["survives"]
    assert "report: output that is no UTF-8" in found["encoding"]["left"]
    assert found["disclosure"].startswith("Your command is not executed as you write it (`$HOME` and `${HOME}`")


def test_a_function_that_pastes_into_json_and_double_quotes(diagnose: Diagnose) -> None:
    """Of a black box the two steps of escaping are found, in their order, and bring the whole battery through."""
    found = diagnose("harnesses.yaml", "agent")
    assert found["kind"] == "callable"
    assert found["encoding"]["name"] == "double-quote escaping, then JSON escaping"
    assert found["encoding"]["survives"]
    assert found["encoding"]["left"] == []
    assert 'first write a backslash before each of \\ " $ and `; then' in found["disclosure"]


@pytest.mark.parametrize(("name", "told"), [("crashes", 1), ("kills", 137), ("fills", 1)])
def test_a_harness_that_carries_nothing_out(name: str, told: int, diagnose: Diagnose) -> None:
    """One finding says so, with what was told; nothing survives and nothing can be told to a model."""
    found = diagnose("harnesses.yaml", name, "--quick")
    assert found["same"] == 0
    (finding,) = found["findings"]
    assert finding["sentence"] == "Not even `touch got` leaves its file in the work directory."
    assert finding["example"]["here"]["told"] == told
    assert found["disclosure"] == ""


def test_a_harness_that_hangs_is_not_waited_for_again_and_again(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After the plainest commands it is given up, and that is said."""
    monkeypatch.setattr(probing, "TIMEOUT_S", 0.5)
    assert run(["transports", "diagnose", "harnesses.yaml", "hangs"]) == 0
    assert capsys.readouterr().out.endswith("Not even the 5 plainest commands were answered in time; nothing more was tried.\n")


def test_text_for_people(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file with one path needs no name; each finding stands with what was sent, what is right and what is here."""
    assert run(["transports", "diagnose", "one.yaml", "--quick"]) == 0
    out = capsys.readouterr().out
    assert "Wrong, and success is reported (silent):\n" in out
    assert "    right  " in out
    assert "What survives:\n  characters between single quotes: all but " in out
    assert "Encoding:\n  exists, computed from the layers" in out
    assert out.endswith("For the contract:\n  " + out.rsplit("\n  ", 1)[1])


def test_a_whole_spec_and_a_preset(diagnose: Diagnose) -> None:
    """The only path of a spec, and a name that ships; raw does what raw does, and a path of JSON is sent JSON."""
    assert sentences(diagnose("spec.yaml", "--quick"), "silent")[0] == "Everything after the first line is dropped."
    raw = diagnose("json", "--contract", "json", "--quick")
    assert (raw["different"], raw["findings"], raw["encoding"]) == (0, [], None)
    assert raw["disclosure"] == "Your command is executed exactly as you write it."


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["chains.yaml"], 2, "chains.yaml: has the paths tidied, cut, logged; say which: FILE NAME"),
        (["chains.yaml", "cutt"], 2, "transport: unknown path 'cutt' (did you mean cut?)"),
        (["absent.yaml"], 2, "absent.yaml: "),
        (["raw", "cut"], 2, "raw: 'raw' is no file, so 'cut' names no path in it"),
        (["json"], 2, "name a contract of that shape, such as --contract json or tool-call"),
        (["harnesses.yaml", "lacks"], 5, "there is no program 'no-such-program'"),
    ],
)
def test_what_can_not_be_diagnosed(
    arguments: list[str], code: int, complaint: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One clear line, and the exit code of the table."""
    assert run(["transports", "diagnose", *arguments]) == code
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("crosspath: ")
    assert complaint in error
