"""Replies that evaluations in MLflow bought already are taken into a ledger by the key of their request."""

from pathlib import Path

import pytest

from crosspath.app import adapters
from crosspath.app.readiness import resolved_spec
from crosspath.app.resolve import Resolved
from crosspath.app.reusing import reuse_source, reused
from crosspath.app.session import Opened, open_evaluation, planned_facts
from crosspath.errors import ConfigError, TrackerError
from crosspath.pipeline.judge import judge
from crosspath.store.bundle import write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.tracker import MemoryTracker
from crosspath.testing.validator import FakeValidator
from crosspath.types import Fault, Reply, Trial

SPEC = {
    "name": "few",
    "tasks": {"families": ["exact-file"]},
    "models": {"m": {"model": "openai/m", "api_base": "http://127.0.0.1:9/v1"}},
    "candidates": {"new": {"model": "m"}, "oracle": "baseline/oracle"},
    "reuse": ["crosspath"],
}
LOST = Fault(boundary="model", type="server_error", message="500")


def trials_of(resolved: Resolved, text: str) -> list[Trial]:
    """Every trial of the model, answered."""
    asked = [request for request in resolved.plan.requests if request.model == "openai/m"]
    return [Trial(key=request.trial, request=request, reply=Reply(text=text)) for request in asked]


class House:
    """A tracker with some evaluations, and a ledger without any."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.resolved = resolved_spec(SPEC)
        self.tracker = MemoryTracker(directory / "memory")
        self.ledger = Ledger(directory / "store")
        self.said: list[str] = []
        self.trials = trials_of(self.resolved, "true")

    def log(self, name: str, trials: list[Trial], created_at: float = 1.0, experiment: str = "crosspath") -> str:
        facts = planned_facts(self.resolved, name, created_at, "0")
        head = facts.head.model_copy(update={"experiment": experiment})
        facts = facts.model_copy(update={"trials": tuple(trials), "head": head})
        judgement = judge(facts, FakeValidator())
        write_bundle(facts, judgement, self.directory / name)
        return self.tracker.log(facts, judgement, self.directory / name).run_id

    def reuse(self, resolved: Resolved | None = None) -> Opened:
        resolved = resolved or self.resolved
        opened = open_evaluation(self.ledger, resolved)
        return reused(self.ledger, resolved, opened, self.tracker, self.said.append)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def replies(opened: Opened) -> list[str | None]:
    return [trial.reply.text if trial.reply else None for trial in opened.facts.trials]


def test_everything_is_there(house: House) -> None:
    """A ledger without a reply has all of them afterwards, without an attempt, and it is said from where."""
    run = house.log("few-1", house.trials)
    opened = house.reuse()
    assert replies(opened) == ["true"] * len(house.trials)
    assert opened.facts.attempts == ()
    assert house.said[0] == f"{len(house.trials)} replies are taken from few (run {run}) and not asked for again"
    assert house.said[1].startswith(f"reuse: {len(house.trials)} of {len(house.trials)} replies were stored in MLflow, 0 are")


def test_part_of_it(house: House) -> None:
    """What is missing stays missing, what the ledger has is not taken again, and a trial without a reply gives none."""
    house.ledger.append(open_evaluation(house.ledger, house.resolved).facts.head.id, house.trials[:1])
    lost = Trial(key=house.trials[1].key, request=house.trials[1].request, fault=LOST)
    house.log("few-1", [*trials_of(house.resolved, "other")[:1], lost, *house.trials[2:3]])
    assert replies(house.reuse()) == ["true", "true"]
    assert (
        house.said[-1]
        == f"reuse: 1 of {len(house.trials) - 1} replies were stored in MLflow, {len(house.trials) - 2} are to be asked for"
    )


def test_newest_first(house: House) -> None:
    """Of several evaluations with the same request the newest one's reply is taken."""
    house.log("few-1", trials_of(house.resolved, "old"), created_at=1.0)
    house.log("few-2", house.trials[:1], created_at=2.0)
    assert replies(house.reuse()) == ["true", *["old"] * (len(house.trials) - 1)]


def test_other_parameters_are_other_requests(house: House) -> None:
    """A candidate with another temperature takes nothing from the one before."""
    house.log("few-1", house.trials)
    other = resolved_spec(SPEC | {"candidates": {"new": {"model": "m", "operating_point": {"temperature": 0.7}}}})
    assert replies(house.reuse(other)) == []


def test_damaged(house: House) -> None:
    """A bundle whose trials were changed is left out with a warning, and an older one still gives its replies."""
    house.log("few-1", house.trials, created_at=1.0)
    run = house.log("few-2", house.trials, created_at=2.0)
    bundle = house.tracker.runs[run].bundle
    assert bundle
    (bundle / "trials.parquet").write_bytes(b"PAR1")
    assert replies(house.reuse()) == ["true"] * len(house.trials)
    assert house.said[0].startswith(f"reuse: few (run {run}) is left out: torn bundle")


def test_experiments(house: House) -> None:
    """The spec's own experiment may be still to be made; another one that is missing is a mistake in the spec."""
    assert replies(house.reuse()) == []
    assert house.said[0] == "reuse: there is no experiment 'crosspath' yet, so nothing is taken from it"
    wrong = resolved_spec(SPEC | {"reuse": ["crosspaht"]})
    with pytest.raises(ConfigError, match="reuse: there is no experiment 'crosspaht'"):
        house.reuse(wrong)


def test_server_down(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not answer is one line before anything is asked; a spec that buys nothing needs none."""
    monkeypatch.setattr(adapters, "make_tracker", lambda _: MemoryTracker(house.directory, reachable=False))
    with pytest.raises(TrackerError, match=r"reuse: MLflow at memory: can't be used .* nothing was asked"):
        reuse_source(house.resolved, house.ledger)
    assert reuse_source(resolved_spec(SPEC | {"candidates": {"oracle": "baseline/oracle"}}), house.ledger) is None
    assert reuse_source(resolved_spec(SPEC | {"reuse": []}), house.ledger) is None
