"""A look at frozen replies with scripted sandboxes: nothing is asked, faults get a second chance, old looks go."""

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from crosspath.app import adapters, frozen
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating_replays import Place
from crosspath.app.replaying import StoredRepliesOnly
from crosspath.app.resolve import resolve
from crosspath.app.session import gather, open_evaluation
from crosspath.errors import ConfigError
from crosspath.pipeline.series import toolchain_digest
from crosspath.spec import load_spec
from crosspath.store.ledger import Ledger
from crosspath.testing.executor import FakeExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.testing.validator import FakeValidator
from crosspath.types import Command, Facts, Fault, FileEntry, Reply, Request, Toolchain
from crosspath.types.drift import ToolchainDrift

RIGHT = Effect(writes=(FileEntry(path=b"out.txt", content=b"right"),))
WRONG = Effect(writes=(FileEntry(path=b"out.txt", content=b"wrong"),))
PASSING = Effect(fault=Fault(boundary="sandbox", type="busy", message="try again", retryable=True))
NUMBER = 6
HERE = Place(None, "local", None)
Script = Callable[[str, int], Effect]
"""(task, how often it was executed before in the same look) -> what it does."""


class Programs:
    """What every sandbox does now, and with which bash."""

    def __init__(self) -> None:
        self.script: Script = lambda task, before: RIGHT
        self.bash = "bash 1"
        self.executed: Counter[str] = Counter()

    def __call__(self) -> FakeSandbox:
        self.executed.clear()
        made = FakeSandbox(self._effect)
        made.describe = lambda: Toolchain(sandbox="fake", programs={"bash": self.bash})
        return made

    def _effect(self, command: Command) -> Effect:
        task = command.argv[-1].decode()
        self.executed[task] += 1
        return self.script(task, self.executed[task] - 1)


@pytest.fixture
def programs(monkeypatch: pytest.MonkeyPatch) -> Programs:
    """The sandboxes of a test."""
    found = Programs()
    made = lambda *_: FakeExecutor(lambda: ScriptedModel({}), found)  # noqa: E731
    monkeypatch.setattr(adapters, "make_executor", made)
    monkeypatch.setattr(adapters, "make_validator", FakeValidator)
    return found


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path / "store")) as opened:
        yield opened


@pytest.fixture
def source(tmp_path: Path, ledger: Ledger, programs: Programs) -> Facts:
    """An evaluation in which every reply was right."""
    tasks = [
        {"id": f"t{n}", "family": f"t{n}", "instruction": f"t{n}", "expected": {"out.txt": "right"}, "oracle": f"t{n}"}
        for n in range(NUMBER)
    ]
    (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    spec = {"name": "few", "candidates": {"bot": {"model": "m"}}, "tasks": {"files": ["tasks.jsonl"]}}
    resolved = resolve(load_spec(json.dumps(spec), "spec"), tmp_path)
    replies = {f"t{n}": Reply(text=f"t{n}") for n in range(NUMBER)}
    executor = FakeExecutor(lambda: _Telling(replies), programs)
    return gather(ledger, resolved, open_evaluation(ledger, resolved), executor)


class _Telling:
    """A model that answers with the name of the task."""

    def __init__(self, replies: Mapping[str, Reply]) -> None:
        self._replies = replies

    async def generate(self, request: Request) -> Reply:
        return self._replies[request.trial.task]


def look(source: Facts, ledger: Ledger, earlier: ToolchainDrift | None = None, **further: Any) -> ToolchainDrift:
    evidence = earlier.evidence if earlier else ()
    return frozen_replays(source, "bot", evidence, place=HERE, ledger=ledger, **further)


def test_no_request(source: Facts, ledger: Ledger, programs: Programs) -> None:
    """Whatever asks for a reply is stopped: only stored ones are executed."""
    executor = StoredRepliesOnly(FakeExecutor(lambda: ScriptedModel({}), programs))
    request = source.trials[0].request
    with pytest.raises(AssertionError, match="only stored replies are executed"):
        asyncio.run(executor.generate(request))
    assert look(source, ledger).requests == 0


def test_always_anew(source: Facts, ledger: Ledger, programs: Programs) -> None:
    """Each look executes every reply, also right after another one."""
    for _ in range(2):
        assert look(source, ledger).status == "no drift"
        assert programs.executed == {f"t{n}": 1 for n in range(NUMBER)}


def test_once_more_where_it_may_pass(source: Facts, ledger: Ledger, programs: Programs) -> None:
    """A sandbox that fails once is asked once more; one that keeps failing leaves replies missing, and no answer if many."""
    programs.script = lambda task, before: PASSING if before == 0 else RIGHT
    assert look(source, ledger).missing == 0
    programs.script = lambda task, before: PASSING if task in ("t0", "t1") else RIGHT
    found = look(source, ledger)
    assert (found.status, found.missing, programs.executed["t0"]) == ("could not measure", 2, 2)
    assert all(head.status == "finished" for head in ledger.heads())
    programs.script = lambda task, before: RIGHT
    assert look(source, ledger).status == "no drift"


def test_flips_and_chance(source: Facts, ledger: Ledger, programs: Programs) -> None:
    """With another bash, what is wrong each of six times flipped, and what is wrong sometimes is racy, from then on."""
    programs.bash = "bash 2"
    programs.script = lambda task, before: WRONG if task == "t0" or (task == "t1" and before != 3) else RIGHT
    found = look(source, ledger)
    assert (found.status, [one.task for one in found.flips], found.unstable) == ("drift", ["t0"], (("t1", 0),))
    assert (programs.executed["t0"], programs.executed["t1"], programs.executed["t2"]) == (6, 6, 1)
    assert [(one.field, one.a, one.b) for one in found.changed] == [("toolchain.programs.bash", "bash 1", "bash 2")]
    assert found.fields["toolchain.programs.bash"] == "bash 2"
    programs.script = lambda task, before: WRONG if task == "t0" else RIGHT
    assert look(source, ledger, found).unstable == (("t1", 0),)


def test_mixed_before(source: Facts, ledger: Ledger, programs: Programs) -> None:
    """Where the frozen evaluation ran with several toolchains, its outcomes prove nothing of the one that it ran with last."""
    other = Toolchain(sandbox="fake", programs={"bash": "bash 0"})
    mixed = source.model_copy(update={"lock": source.lock.model_copy(update={"earlier_toolchains": (other,)})})
    programs.script = lambda task, before: WRONG if task == "t0" else RIGHT
    assert [one.task for one in look(mixed, ledger).flips] == ["t0"]
    assert [one for one, _ in look(source, ledger).unstable] == ["t0"]


def test_digest(source: Facts, ledger: Ledger, programs: Programs) -> None:
    """The toolchain of a look has the digest that the entries of its deployment have."""
    assert look(source, ledger).toolchain == toolchain_digest(source.lock)
    programs.bash = "bash 2"
    assert look(source, ledger).toolchain != toolchain_digest(source.lock)


def test_sandbox_that_is_none(source: Facts, ledger: Ledger) -> None:
    """A sandbox that does not exist is the user's mistake, and said as one."""
    with pytest.raises(ConfigError, match="'jail' is not a sandbox"):
        frozen_replays(source, "bot", place=Place(None, "local", "jail"), ledger=ledger)


def test_no_rows_are_left(source: Facts, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    """After many days there are the rows of three looks, in a file that no longer grows."""
    days = iter(range(1000))
    monkeypatch.setattr(frozen, "day_of", lambda _: str(next(days)))
    sizes: list[int] = []
    for _ in range(12):
        look(source, ledger)
        with closing(sqlite3.connect(ledger.path)) as opened:
            sizes.append(opened.execute("PRAGMA page_count").fetchone()[0])
    assert len(set(sizes[4:])) == 1
    with closing(sqlite3.connect(ledger.path)) as opened:
        rows = [row for table in ("replays", "trials", "sessions") for row in opened.execute(f"SELECT evaluation FROM {table}")]
    known = {name for (name,) in rows}
    assert known == {head.id for head in ledger.heads()}
    assert len(known) == 4
    assert ledger.facts(source.head.id).replays == source.replays
