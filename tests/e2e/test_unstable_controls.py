"""Racy commands are found, listed and left out; only a difference that stays breaks a control."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from crosspath.app.evaluation import Evaluation
from crosspath.app.resolve import Resolved, resolve
from crosspath.app.session import gather, open_evaluation
from crosspath.cli.finishing import exit_code
from crosspath.pipeline.judge import judge
from crosspath.spec import load_spec
from crosspath.store.ledger import Ledger
from crosspath.testing.executor import FakeExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.testing.validator import FakeValidator
from crosspath.types import Command, Facts, FileEntry, Reply

REPLY = "printf %s right > out.txt"
RIGHT = Effect(writes=(FileEntry(path=b"out.txt", content=b"right"),))
WRONG = Effect(writes=(FileEntry(path=b"out.txt", content=b"wrong"),))


def _resolved(directory: Path, transport: str = "nested-shell") -> Resolved:
    task = {"id": "t", "family": "f", "tier": 0, "instruction": "go", "expected": {"out.txt": "right"}, "oracle": REPLY}
    (directory / "tasks.jsonl").write_text(json.dumps(task) + "\n")
    spec = {
        "name": "racy",
        "candidates": {"c": {"model": "baseline/oracle", "transport": transport}},
        "tasks": {"files": ["tasks.jsonl"]},
    }
    return resolve(load_spec(json.dumps(spec), "spec"), directory)


class Sandboxes:
    """Fake sandboxes with one script: (is it the raw command?, how often was this text executed before?) -> right or wrong."""

    def __init__(self, passes: Callable[[bool, int], bool]) -> None:
        self.executed: Counter[bytes] = Counter()
        self._passes = passes

    def __call__(self) -> FakeSandbox:
        return FakeSandbox(self._effect)

    def _effect(self, command: Command) -> Effect:
        text = command.argv[-1]
        self.executed[text] += 1
        return RIGHT if self._passes(text == REPLY.encode(), self.executed[text] - 1) else WRONG


def _run(directory: Path, passes: Callable[[bool, int], bool]) -> tuple[Evaluation, Sandboxes]:
    sandboxes, resolved = Sandboxes(passes), _resolved(directory)
    ledger = Ledger(directory / "store")
    executor = FakeExecutor(lambda: ScriptedModel({"*": Reply(text=REPLY)}), sandboxes)
    facts: Facts = gather(ledger, resolved, open_evaluation(ledger, resolved), executor)
    ledger.close()
    return Evaluation(facts, judge(facts, FakeValidator())), sandboxes


def test_a_control_that_agrees_is_not_repeated(tmp_path: Path) -> None:
    """One replay per planned path, and nothing more."""
    found, sandboxes = _run(tmp_path, lambda raw, before: True)
    assert found.decomposition("c").control.status == "holds"
    assert sandboxes.executed.total() == 3  # reference, path, control
    assert exit_code(found) == 0


def test_a_racy_command_is_listed_left_out_and_bounded(tmp_path: Path) -> None:
    """A reply that is right every other time makes the control differ; three more replays on both sides show who is unstable."""
    found, sandboxes = _run(tmp_path, lambda raw, before: raw and before % 2 == 0)
    decomposition = found.decomposition("c")
    assert sandboxes.executed[REPLY.encode()] == 1 + 3
    assert sandboxes.executed.total() == 3 + 3 + 3
    assert decomposition.control.unstable == ("t#0",)
    assert decomposition.control.differing == ()
    assert decomposition.control.status != "broken"
    for cell in decomposition.cells:
        assert (cell.unstable, cell.scored) == (1, 0)
        assert (cell.rate.worst, cell.rate.best) == (0.0, 1.0)


def test_a_difference_that_stays_breaks_the_control(tmp_path: Path) -> None:
    """Four times right here and four times wrong there is no race: no verdict is given, and the exit code says so."""
    found, sandboxes = _run(tmp_path, lambda raw, before: raw)
    control = found.decomposition("c").control
    assert (control.status, control.differing, control.unstable) == ("broken", ("t#0",), ())
    assert sandboxes.executed.total() == 9
    assert exit_code(found) == 4
    assert any("the control is broken" in warning for warning in found.judgement.warnings)
