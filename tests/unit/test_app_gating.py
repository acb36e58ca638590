"""What becomes of a verdict once it is drawn: it is logged, and an alias moves on PASS only."""

from dataclasses import replace
from pathlib import Path

import pytest

from crosspath.app.gating import Gate, Promotion, concluded
from crosspath.testing.registry import MemoryRegistry
from crosspath.testing.tracker import MemoryTracker
from crosspath.types import GateStatus, ModelVersion
from gate_verdicts import verdict

ASKED = Promotion("bot", "champion", None)


@pytest.fixture
def registry(tmp_path: Path) -> MemoryRegistry:
    """A registered model whose only version is the gated candidate; it has no alias."""
    side = verdict().candidate
    about = {"evaluation": side.evaluation, "candidate": side.candidate, "configuration": side.configuration}
    version = ModelVersion.model_validate({"model": "bot", "version": 1, "evaluation_run": "r", **about})
    return MemoryRegistry(MemoryTracker(tmp_path / "memory"), models={"bot": [version]})


@pytest.fixture
def drawn(tmp_path: Path) -> Gate:
    """A verdict in its directory."""
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "verdict.json").write_text("{}")
    return Gate(verdict(), tmp_path / "out", store=tmp_path)


def told(_: str) -> None:
    """Nobody listens."""


def test_logged_and_promoted(registry: MemoryRegistry, drawn: Gate) -> None:
    """A PASS is logged, and moves the alias where that was asked for."""
    done = concluded(drawn, registry, ASKED, told)
    assert done.run is not None
    assert done.decision is not None
    assert (done.decision.to_version, done.exit_code) == (1, 0)
    assert registry.aliases("bot") == {"champion": 1}


def test_not_asked(registry: MemoryRegistry, drawn: Gate) -> None:
    """Without the wish nothing is moved."""
    assert concluded(drawn, registry, None, told).decision is None
    assert registry.aliases("bot") == {}


@pytest.mark.parametrize(("status", "code"), [("FAIL", 1), ("INCONCLUSIVE", 3), ("INVALID", 4)])
def test_other_verdicts(registry: MemoryRegistry, drawn: Gate, status: GateStatus, code: int) -> None:
    """No other verdict moves anything; it keeps its exit code, and says so."""
    said: list[str] = []
    done = concluded(replace(drawn, verdict=verdict(status)), registry, ASKED, said.append)
    assert (done.decision, done.exit_code) == (None, code)
    assert said == ["bot@champion stays as it is: only a PASS is promoted"]
    assert registry.aliases("bot") == {}


def test_registry_down(registry: MemoryRegistry, drawn: Gate) -> None:
    """A verdict that could not be logged is kept in its directory; nothing is promoted on it, and the exit code is 5."""
    registry.tracker.reachable = False
    done = concluded(drawn, registry, ASKED, told)
    assert (done.run, done.decision, done.exit_code) == (None, None, 5)
    assert str(done.tracking_error).endswith("nothing was promoted")
    registry.tracker.reachable = True
    assert registry.aliases("bot") == {}


def test_alias_moved_meanwhile(registry: MemoryRegistry, drawn: Gate) -> None:
    """An alias that was elsewhere when the gate started is not overrun."""
    done = concluded(drawn, registry, Promotion("bot", "champion", 7), told)
    assert (done.decision, done.exit_code) == (None, 5)
    assert done.promotion_error
    assert registry.aliases("bot") == {}


def test_stale_version(registry: MemoryRegistry, drawn: Gate) -> None:
    """A version whose configuration is not the evidence's is not promoted; the field is named."""
    side = drawn.verdict.candidate.model_copy(update={"configuration": {"model": "another"}})
    done = concluded(replace(drawn, verdict=verdict(candidate=side)), registry, ASKED, told)
    assert done.exit_code == 5
    assert "model is baseline/adaptive there and another in the evidence" in str(done.promotion_error)
