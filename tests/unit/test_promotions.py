"""A promotion that is killed, overrun or cut off at any of its steps: the alias is never between two versions."""

from collections.abc import Callable
from pathlib import Path

import pytest

from crosspath.errors import ConfigError, TrackerError
from crosspath.testing.registry import MemoryRegistry
from crosspath.testing.tracker import MemoryTracker
from crosspath.types import Decision, ModelVersion
from verdicts import verdict

STEPS = range(1, 12)
"""More than any decision has."""


class Killed(BaseException):
    """As a signal would: nothing catches it."""


class Bench:
    """A registry whose alias points to version 1 by an earlier decision, and a way to act between two steps."""

    def __init__(self, directory: Path) -> None:
        self.registry = MemoryRegistry(MemoryTracker(directory), before=self._step)
        self.versions = [
            ModelVersion(model="m", version=number, evaluation_run="r", evaluation="e", candidate=f"c{number}")
            for number in (1, 2, 3)
        ]
        self.registry.models["m"] = list(self.versions)
        self._left = 0
        self._act: Callable[[], None] = lambda: None
        self.promote(1, None)

    def _step(self, _name: str) -> None:
        self._left -= 1
        if self._left == 0:
            self._act()

    def at(self, step: int, act: Callable[[], None]) -> None:
        """Do this right before the given step of what comes next, counted from 1."""
        self._left, self._act = step, act

    @property
    def done(self) -> bool:
        """Whether what comes next had fewer steps than that."""
        return self._left > 0

    def settle(self) -> None:
        """No more interruptions."""
        self._left = 0
        self.registry.tracker.reachable = True

    @property
    def alias(self) -> int | None:
        return self.registry.places.get(("m", "champion"))

    def promote(self, version: int, expected: int | None) -> Decision:
        one = self.versions[version - 1]
        return self.registry.promote(one, "champion", expected, verdict(one, number=version), "run")

    def history(self) -> list[tuple[str, int | None, str]]:
        return [(one.kind, one.to_version, one.state) for one in self.registry.decisions("m")]


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def failure(act: Callable[[], object], kind: type[Exception]) -> str:
    """What it says when it fails; empty: it does not."""
    try:
        act()
    except kind as error:
        return str(error)
    return ""


def kill() -> None:
    raise Killed


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("way_out", ["finish", "rollback"])
def test_killed_promotion(bench: Bench, step: int, way_out: str) -> None:
    """Killed before any step, a promotion has not begun, or is unfinished and can be carried out or taken back."""
    bench.at(step, kill)
    try:
        bench.promote(2, 1)
    except Killed:
        bench.settle()
    if len(bench.history()) == 1:
        assert bench.alias == 1
        bench.promote(2, 1)
        return
    if bench.history()[-1][2] == "done":
        assert (bench.alias, bench.done) == (2, True)
        return
    assert bench.alias in (1, 2)
    with pytest.raises(
        ConfigError, match=r"decision 2 .*is unfinished.*nothing was moved.*--finish.*crosspath rollback m champion$"
    ):
        bench.promote(3, bench.alias)
    getattr(bench.registry, way_out)("m", "champion")
    assert bench.alias == (2 if way_out == "finish" else 1)
    assert bench.history()[-1][2] == "done"


@pytest.mark.parametrize("step", STEPS)
def test_killed_rollback(bench: Bench, step: int) -> None:
    """A rollback that was killed is carried out by the same command."""
    bench.promote(2, 1)
    bench.at(step, kill)
    try:
        bench.registry.rollback("m", "champion")
    except Killed:
        bench.settle()
        assert bench.alias in (1, 2)
        if bench.history()[-1] != ("rollback", 1, "done"):
            bench.registry.rollback("m", "champion")
    assert bench.alias == 1
    assert bench.history()[-1] == ("rollback", 1, "done")


@pytest.mark.parametrize("step", STEPS)
def test_two_at_once(bench: Bench, step: int) -> None:
    """Another promotion that runs between any two steps: exactly one of the two counts, and the alias is where that one says."""
    outcomes: list[object] = []

    def attempt(version: int) -> None:
        try:
            outcomes.append(bench.promote(version, 1))
        except ConfigError as refusal:
            outcomes.append(refusal)

    bench.at(step, lambda: attempt(3))
    attempt(2)
    if bench.done:
        bench.settle()
        attempt(3)
    won = [one for one in outcomes if isinstance(one, Decision)]
    lost = [one for one in outcomes if isinstance(one, ConfigError)]
    assert (len(won), len(lost)) == (1, 1)
    assert bench.alias == won[0].to_version
    assert [state for _, _, state in bench.history()].count("done") == 2
    assert "decision 2 (promote" in str(lost[0])
    assert "nothing was moved" in str(lost[0])


@pytest.mark.parametrize("step", STEPS)
def test_server_goes_down(bench: Bench, step: int) -> None:
    """A registry that fails before any step: one line that says whether the alias was moved, and what to type; and it is true."""
    bench.at(step, lambda: setattr(bench.registry.tracker, "reachable", False))
    message = failure(lambda: bench.promote(2, 1), TrackerError)
    if not message:
        assert bench.done
        return
    bench.settle()
    assert "\n" not in message
    if bench.alias == 2:
        assert "m@champion points to version 2 now" in message
    elif "whether m@champion was moved is not known" not in message:
        assert "nothing was moved" in message
    if len(bench.history()) > 1:
        assert "crosspath promote m champion --finish" in message or "crosspath decisions m --alias champion" in message
        bench.registry.finish("m", "champion")
        assert bench.alias == 2


@pytest.mark.parametrize("step", STEPS)
def test_moved_by_hand(bench: Bench, step: int) -> None:
    """Whoever moves the alias by hand before it is moved by a decision is not overrun: the decision is withdrawn."""
    bench.at(step, lambda: bench.registry.places.update({("m", "champion"): 3}))
    message = failure(lambda: bench.promote(2, 1), ConfigError)
    if not message:
        return
    assert "nothing was moved" in message
    assert bench.alias == 3
    assert bench.history()[1:] in ([], [("promote", 2, "withdrawn")])
    bench.settle()
    assert bench.promote(2, 3).state == "done"  # nothing stands in the way of the next one


def test_rolled_back_while_asleep(bench: Bench) -> None:
    """A promotion that slept between its entry and its move, and was taken for dead meanwhile, gives way to the rollback."""
    steps = iter(range(100))

    def before(name: str) -> None:
        if name == "move" and next(steps) == 0:
            bench.registry.rollback("m", "champion")

    bench.registry.before = before
    with pytest.raises(ConfigError, match=r"decision 2 .* was overtaken by decision 3 \(rollback.*points to version 1$"):
        bench.promote(2, 1)
    assert bench.alias == 1
    assert bench.history()[1:] == [("promote", 2, "unfinished"), ("rollback", 1, "done")]
    assert bench.promote(3, 1).state == "done"


def test_version_that_is_gone(bench: Bench) -> None:
    """A decision that can't be carried out, because its version was deleted, is withdrawn and stands in nobody's way."""
    del bench.registry.models["m"][1]
    with pytest.raises(ConfigError, match="models:/m/2 does not exist any more"):
        bench.promote(2, 1)
    assert bench.history()[-1] == ("promote", 2, "withdrawn")
    assert bench.promote(3, 1).state == "done"


def test_answer_that_got_lost(bench: Bench) -> None:
    """An entry whose answer was lost, and that was written twice because of that, counts once."""
    history = bench.registry._history
    append = history.append

    def twice(entry: Decision) -> None:
        append(entry)
        append(entry)
        raise TrackerError("connection reset")

    history.append = twice
    assert bench.promote(2, 1).state == "done"
    assert bench.alias == 2
    assert bench.history()[1:] == [("promote", 2, "done"), ("promote", 2, "overtaken")]
