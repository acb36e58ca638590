"""Whatever is wrong with the input: one clear line, the right exit code, and nothing half-written."""

import socket
import time
from pathlib import Path

import pytest

from crosspath import catalogue
from crosspath.cli.entry import run
from crosspath.store.ledger import Ledger

BASELINE = "tasks: {families: [exact-file]}\ncandidates: {a: {model: baseline/oracle}}\n"
EXACT = catalogue.suite_text("exact").content
TASK = '{"id": "%s", "family": "f", "instruction": "x", "expected": {"a": "1"}}\n'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory; the store lies elsewhere."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("CROSSPATH_STORE", str(tmp_path.parent / f"{tmp_path.name}-store"))
    return tmp_path


def evaluations(here: Path) -> list[str]:
    store = here.parent / f"{here.name}-store"
    if not store.exists():
        return []
    ledger = Ledger(store)
    try:
        return [head.id for head in ledger.heads()]
    finally:
        ledger.close()


def complaint(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed: nothing on standard output, one line on standard error."""
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("crosspath: ")
    assert err.count("\n") == 1
    assert "Traceback" not in err
    return err


SPECS: dict[str, tuple[str, list[str]]] = {
    "unknown field": ("candidats: {a: baseline/oracle}\n", ["spec.yaml:1", "candidats", "candidates"]),
    "unknown axis": ("candidates:\n  a: {model: baseline/oracle, tranport: raw}\n", ["spec.yaml:2", "tranport", "transport"]),
    "unknown path": (
        "defaults: {transport: nestd-shell}\ncandidates: {a: baseline/oracle}\n", ["spec.yaml", "transport", "nested-shell"],
    ),
    "unknown contract": ("candidates: {a: {model: baseline/oracle, contract: rwa}}\n", ["spec.yaml", "a.contract", "raw"]),
    "unknown baseline": ("candidates: {a: baseline/oracl}\n", ["baseline/oracl", "baseline/oracle"]),
    "unknown family": ("candidates: {a: baseline/oracle}\ntasks: {families: [exact]}\n", ["families", "exact-file"]),
    "unknown tag": ("candidates: {a: baseline/oracle}\ntasks: {tags: [dolar]}\n", ["tags", "dollar"]),
    "no such validator": ("candidates: {a: {model: baseline/oracle, validator: exat}}\n", ["exat", "exact"]),
    "no such task file": ("candidates: {a: baseline/oracle}\ntasks: {files: [no.jsonl]}\n", ["no.jsonl", "no such file"]),
    "no such recording": ("candidates: {a: recorded/no.jsonl}\n", ["no.jsonl", "no such file"]),
    "NUL in a task file": ('candidates: {a: baseline/oracle}\ntasks: {files: ["a\\0b"]}\n', ["NUL"]),
    "NUL in a contract": ('candidates: {a: baseline/oracle}\ncontracts: ["a\\0b"]\n', ["NUL"]),
    "NUL in a recording": ('candidates: {a: "recorded/a\\0b"}\n', ["NUL"]),
    "device": ("candidates: {a: baseline/oracle}\ntasks: {files: [/dev/zero]}\n", ["/dev/zero", "not a regular file"]),
    "validator too long": (f"candidates: {{a: {{model: baseline/oracle, validator: {'v' * 5000}}}}}\n", ["no such validator"]),
    "nothing to do": ("name: x\n", ["candidates"]),
    "no mapping": ("- 1\n", ["spec.yaml", "mapping"]),
    "broken YAML": ("candidates: {a: [\n", ["spec.yaml:"]),
    "key twice": ("trials: 1\ntrials: 2\ncandidates: {a: baseline/oracle}\n", ["spec.yaml:2", "trials"]),
    "empty": ("", ["spec.yaml"]),
    "price missing": (
        "models: {m: {model: openai/zork, api_base: 'http://127.0.0.1:9/v1'}}\nlimits: {max_cost_usd: 1}\n",
        ["max_cost_usd", "openai/zork", "prices"],
    ),
    "key missing": (
        "models: {m: {model: openai/zork, api_base: 'http://127.0.0.1:9/v1', api_key_env: CROSSPATH_TEST_NO_KEY}}\n",
        ["CROSSPATH_TEST_NO_KEY", "not set"],
    ),
    "harness missing": (
        "transports: {mine: {external: {argv: [python3, h.py], bind: [h.py]}}}\ncandidates: {a: baseline/oracle}\n",
        ["mine", "h.py", "does not exist"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", list(SPECS))
def test_wrong_spec(case: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong spec is refused with place and remedy, before the store is touched."""
    text, words = SPECS[case]
    (here / "spec.yaml").write_text(text)
    assert run(["run", "spec.yaml", "--executor", "local", "--json"]) == 2
    said = complaint(capsys)
    assert [word for word in words if word not in said] == []
    assert evaluations(here) == []
    assert [path.name for path in here.iterdir()] == ["spec.yaml"]


@pytest.mark.parametrize("second", ["A", "a", "ﬀ", "ﬀ".replace("ﬀ", "FF")])
def test_duplicate_task(second: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two tasks of one id are refused, also up to case and Unicode form."""
    first = "a" if second in "aA" else "ff"
    (here / "tasks.jsonl").write_text(TASK % first + TASK % second)
    (here / "spec.yaml").write_text("candidates: {a: baseline/oracle}\ntasks: {files: [tasks.jsonl]}\n")
    assert run(["run", "spec.yaml", "--executor", "local"]) == 2
    assert "tasks.jsonl:2" in complaint(capsys)
    assert evaluations(here) == []


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ("expect_column_pair_values_to_be_eqal", "did you mean expect_column_pair_values_to_be_equal"),
        ("expect_column_mean_to_be_between", "judges many rows together"),
    ],
)
def test_wrong_suite(wrong: str, words: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suite with a misspelt or an aggregate expectation is refused before anything is generated, and at `validate`."""
    (here / "mine.yaml").write_text(EXACT.replace("expect_column_pair_values_to_be_equal", wrong, 1))
    (here / "spec.yaml").write_text("candidates: {a: {model: baseline/oracle, validator: mine.yaml}}\n")
    for command in ("run", "plan"):
        assert run([command, "spec.yaml"]) == 2
        assert words in complaint(capsys)
    assert evaluations(here) == []


@pytest.mark.parametrize(
    "content", [b"\xff\xfe", b"candidates: {a: baseline/oracle}\n# caf\xe9\n", b"candidates: {a: baseline/oracle}\0\n"]
)
def test_spec_that_is_no_text(content: bytes, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A spec that is not UTF-8 text is refused by name."""
    (here / "spec.yaml").write_bytes(content)
    assert run(["plan", "spec.yaml"]) == 2
    assert "spec.yaml" in complaint(capsys)


def test_wrong_policy(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A policy that could decide nothing is refused by line and field, and so is one that is not there."""
    (here / "spec.yaml").write_text("candidates: {a: baseline/oracle}\n")
    (here / "policy.yaml").write_text("rules:\n  - {metric: pass_hat, at_least: 0.9}\n")
    assert run(["plan", "spec.yaml", "--policy", "policy.yaml"]) == 2
    assert "policy.yaml:2: rules[0].metric: pass_hat needs k" in complaint(capsys)
    assert run(["plan", "spec.yaml", "--policy", "no.yaml"]) == 2
    assert "no.yaml" in complaint(capsys)


@pytest.mark.parametrize("name", ["no.yaml", "."])
def test_spec_that_is_no_file(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing spec, or a directory, is refused by name."""
    assert run(["plan", name]) == 2
    assert name in complaint(capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "spec.yaml", "--executor", "spark"], "known: local, ray"),
        (["report", "nope"], "nope"),
        (["report"], "no evaluation"),
        (["show", "nope", "t"], "nope"),
        (["replay", "nope", "-t", "raw"], "nope"),
        (["replay", "nope", "-t", "raw", "--executor", "spark"], "known: local, ray"),
        (["validate", "nope", "--validator", "exact"], "nope"),
        (["log", "nope"], "nope"),
        (["log", "nope", "--traces", "-1"], "write 0 or more, or all"),
        (["transports", "show", "nstd-shell"], "nested-shell"),
        (["transports", "try", "nstd-shell", "x"], "nested-shell"),
        (["transports", "try", "raw", "x", "--contract", "nope"], "nope"),
        (["tasks", "show", "exact-file/wrd"], "exact-file/word"),
        (["tasks", "list", "--file", "no.yaml"], "no such file"),
    ],
)
def test_wrong_names(arguments: list[str], words: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A name that does not exist is refused, with those that do or are near."""
    (here / "spec.yaml").write_text(BASELINE)
    assert run(arguments) == 2
    assert words in complaint(capsys)
    assert not (here.parent / f"{here.name}-store").exists()


def test_unreachable_tracking_server(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracking server that does not answer is found within seconds, before anything is spent: exit code 5."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{silent.getsockname()[1]}")
        (here / "spec.yaml").write_text(BASELINE)
        started = time.monotonic()
        assert run(["run", "spec.yaml", "--executor", "local"]) == 5
    assert time.monotonic() - started < 25  # 10 s and a slow first import
    said = complaint(capsys)
    assert "MLflow" in said
    assert "--no-mlflow" in said
    assert evaluations(here) == []


@pytest.mark.parametrize("address", ["127.0.0.1:9", "ray://127.0.0.1:9"])
def test_unreachable_cluster(address: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A Ray cluster that is not there is found at once, before anything is written: exit code 5."""
    (here / "spec.yaml").write_text(BASELINE + f"executor: {{kind: ray, address: '{address}'}}\n")
    assert run(["run", "spec.yaml", "--no-mlflow"]) == 5
    assert f"no Ray cluster listens at {address}" in complaint(capsys)
    assert evaluations(here) == []


@pytest.mark.parametrize("store", ["/proc/crosspath", "spec.yaml", "spec.yaml/below"])
def test_unwritable_store(store: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A store that can't be written is refused by name: exit code 5."""
    (here / "spec.yaml").write_text(BASELINE)
    assert run(["run", "spec.yaml", "--executor", "local", "--store", store]) == 5
    assert store in complaint(capsys)


def test_store_of_something_else(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no ledger is left alone: exit code 5."""
    (here / "spec.yaml").write_text(BASELINE)
    (here / "store").mkdir()
    (here / "store" / "ledger.db").write_bytes(b"not a database, but long enough to be read as the header of one")
    assert run(["run", "spec.yaml", "--executor", "local", "--store", "store"]) == 5
    assert "ledger.db" in complaint(capsys)
    assert (here / "store" / "ledger.db").read_bytes().startswith(b"not a database")


def test_missing_sandbox(here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without bubblewrap no reply is executed, and the complaint says how to install it: exit code 5."""
    monkeypatch.setenv("PATH", str(here))
    (here / "spec.yaml").write_text(BASELINE)
    assert run(["run", "spec.yaml", "--executor", "local", "--no-mlflow"]) == 5
    assert "install" in complaint(capsys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("try", "make-recipe", "true", "--encoded"), "--encoded: 'make-recipe' can't be survived"),
        (("try", "tool-call", "true"), "give --contract"),
        (("try", "shh", "true"), "did you mean ssh"),
        (("show", "nested"), "did you mean nested-shell"),
        (("list", "--paths", "nowhere.yaml"), "nowhere.yaml"),
    ],
)
def test_paths_that_do_not_fit(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What can't be tried or shown is said in one line, before anything is run."""
    assert run(["transports", *words]) == 2
    assert said in complaint(capsys)
