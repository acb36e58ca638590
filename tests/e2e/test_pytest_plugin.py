"""A spec as pytest items: real evaluation, real pytest in a process of its own."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from crosspath.store.ledger import Ledger

pytest_plugins = ["pytester"]

SPEC = """\
name: items
tasks: {families: [exact-file], tiers: [0, 1]}
defaults: {contract: nested-shell, transport: nested-shell}
candidates:
  naive: baseline/naive
  recorded: recorded/replies.jsonl
"""
RECORDED = [
    {"model": "mine", "task": "exact-file/word", "contract": contract, "trial": 0, "reply": "echo ready > status.txt"}
    for contract in ("raw", "nested-shell")
]
PLUGIN = ("-p", "crosspath.pytest_plugin", "-p", "no:cacheprovider")


@pytest.fixture
def alone(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A directory with a spec and one test, where no other plugin is loaded."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    (pytester.path / "items.yaml").write_text(SPEC)
    (pytester.path / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in RECORDED))
    pytester.makepyfile(test_own="def test_mine() -> None:\n    pass\n")
    return pytester


@pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")
def test_items_of_a_spec(alone: pytest.Pytester) -> None:
    """Wrong states fail with their story and no traceback, faults are errors. Two workers make one evaluation, and the next run
    uses it."""
    asked = (*PLUGIN, "-Werror", "--crosspath-spec", "items.yaml", "--crosspath-store", "store")
    first = alone.runpytest_subprocess(*asked, "--strict-markers", "--import-mode=importlib", "-p", "xdist", "-n", "2")
    first.assert_outcomes(passed=3, failed=1, errors=1)
    text = first.stdout.str()
    assert "2 candidates, 2 tasks, trials of each: 1; no request to any endpoint" in text
    assert "naive fails exact-file/price: wrong state, although the path told that all is well" in text
    assert "FAILED items.yaml::naive::exact-file/price" in text
    assert "ERROR items.yaml::recorded::exact-file/price" in text
    assert "no verdict: 1 of 1 trials have no verdict: fault:" in text
    assert "Traceback" not in text
    assert "pytest_plugin.py" not in text
    again = alone.runpytest_inprocess(*asked, "items.yaml::naive", "-k", "word")
    again.assert_outcomes(passed=1, deselected=1)
    assert "holds it already: nothing is asked or executed" in again.stdout.str()
    ledger = Ledger(alone.path / "store", reading=True)
    assert len(ledger.heads()) == 1
    ledger.close()


def test_mistakes_are_told_before_anything_is_done(alone: pytest.Pytester) -> None:
    """A spec that is not there is a usage error, one that is wrong an error of its collection, in one line each."""
    missing = alone.runpytest_inprocess(*PLUGIN, "--crosspath-spec", "nothing.yaml")
    assert missing.ret == pytest.ExitCode.USAGE_ERROR
    (alone.path / "items.yaml").write_text("candidates: {a: baseline/nobody}\n")
    wrong = alone.runpytest_subprocess(*PLUGIN, "--crosspath-spec", "items.yaml")
    assert wrong.ret == pytest.ExitCode.INTERRUPTED
    assert "Traceback" not in wrong.stdout.str()
    assert not (alone.path / ".crosspath").exists()


def test_without_its_option_the_plugin_imports_nothing(alone: pytest.Pytester) -> None:
    """Whoever has Crosspath installed pays nothing for it in other test suites."""
    (alone.path / "items.yaml").write_text("no: spec\n")
    code = (
        "import sys, pytest\n"
        f"done = pytest.main({['-q', *PLUGIN]!r})\n"
        "heavy = sorted(name for name in sys.modules if name.partition('.')[0] in ('pydantic', 'pandas', 'litellm', 'mlflow'))\n"
        "ours = sorted(name for name in sys.modules if name.startswith('crosspath'))\n"
        "assert (done, heavy, ours) == (0, [], ['crosspath', 'crosspath.pytest_plugin']), (done, heavy, ours)\n"
    )
    assert alone.run(sys.executable, "-c", code).ret == 0
    assert not Path(".crosspath").exists()
