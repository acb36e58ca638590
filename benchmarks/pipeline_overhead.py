"""What is added per replay to model and sandbox (which are fakes here): facts, validation, logging.

    python benchmarks/pipeline_overhead.py [replays]

Delivery, records and ledger; reading back; judgement with Great Expectations; the bundle; MLflow in an embedded store. Imports
and the making of MLflow's database come before the timing. Aim: below 1 ms a replay, all together, at 10,000 replays. Every
replay is wrong here, which is the dearest case for Great Expectations; judgement.py has shares between.
"""

import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from crosspath.adapters.gx_validator import GxValidator
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.catalogue import contract, contract_names, suite_text
from crosspath.pipeline.budget import Budget, Limits
from crosspath.pipeline.evaluate import Evaluator
from crosspath.pipeline.judge import judge
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.store.bundle import write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.executor import FakeExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import FakeSandbox
from crosspath.transports import preset, preset_names
from crosspath.types import (
    Candidate,
    EvaluationHead,
    Execution,
    Facts,
    Fault,
    FileEntry,
    Generation,
    Lock,
    ModelSpec,
    Reference,
    ReplayJob,
    Reply,
    Task,
)

TRIALS = 10
PER_TRIAL = 2.5
"""Told R: reference, path and control; told N: reference and path."""
CONCURRENCY = 8
REPLY = Reply(text="printf %s 'costs $5' > out.txt # " + "x" * 200, raw_response="y" * 1500)


class ProxyOfTime(FakeExecutor):
    """The fake executor; counts the time that is not the driver's."""

    elsewhere_s = 0.0

    async def replay(self, jobs: Sequence[ReplayJob]) -> tuple[Execution | Fault, ...]:
        started = time.perf_counter()
        results = await super().replay(jobs)
        self.elsewhere_s += time.perf_counter() - started
        return results


def plan_of(replays: int) -> Plan:
    """One candidate on a nested shell, enough tasks."""
    generation = Generation(model=ModelSpec(name="openai/m"), contract="nested-shell")
    tasks = [
        Task(
            id=f"task-{number}",
            family="f",
            instruction="Write the price.",
            fixture=(FileEntry(path=b"in.txt", content=b"a line\n" * 20),),
            expected=(FileEntry(path=b"out.txt", content=b"costs $5"),),
        )
        for number in range(max(1, round(replays / (2 * TRIALS * PER_TRIAL))))
    ]
    return make_plan(
        [Candidate(name="c", generation=generation, transport="nested-shell")],
        Reference(),
        tasks,
        {name: contract(name) for name in contract_names()},
        {name: preset(name) for name in preset_names()},
        TRIALS,
    )


def empty_facts(plan: Plan) -> Facts:
    """The frame of an evaluation of ``plan``."""
    lock = Lock(
        candidates=plan.candidates, reference=plan.reference, trials=TRIALS, tasks={}, contracts={}, transports={}, suites={}
    )
    head = EvaluationHead(id="benchmark-1", name="benchmark", created_at=0, spec={}, spec_digest="d")
    return Facts(
        head=head,
        lock=lock,
        tasks=tuple(plan.tasks.values()),
        cells=plan.cells,
        contracts=(),
        transports=(),
        suites=(suite_text("exact"),),
        trials=(),
        attempts=(),
        replays=(),
    )


def conclusion(facts: Facts, directory: Path) -> dict[str, float]:
    """Seconds of what follows once all facts are there."""
    validator, tracker = GxValidator(), MlflowTracker(f"sqlite:///{directory / 'mlflow.db'}")
    judge(facts.model_copy(update={"replays": facts.replays[:10]}), validator)
    tracker.check()
    moments = [time.perf_counter()]
    judgement = judge(facts, validator)
    moments.append(time.perf_counter())
    write_bundle(facts, judgement, directory / "bundle")
    moments.append(time.perf_counter())
    tracker.log(facts, judgement, directory / "bundle")
    moments.append(time.perf_counter())
    names = ("judgement", "bundle", "MLflow")
    return {name: after - before for name, before, after in zip(names, moments, moments[1:], strict=False)}


def main() -> None:
    plan = plan_of(int(sys.argv[1]) if len(sys.argv) > 1 else 5000)
    count = plan.replay_count
    with tempfile.TemporaryDirectory(dir=sys.argv[2] if len(sys.argv) > 2 else None) as directory:
        ledger = Ledger(Path(directory))
        facts = empty_facts(plan)
        ledger.open_evaluation(facts)
        session = ledger.start_session(facts.head.id, 0)
        with ProxyOfTime(lambda: ScriptedModel({"*": REPLY}), FakeSandbox) as executor:
            evaluator = Evaluator(
                plan, ledger, facts.head.id, session, executor, Budget(Limits()), concurrency=CONCURRENCY, replay_concurrency=4
            )
            wall, cpu = time.perf_counter(), time.process_time()
            asyncio.run(evaluator.run(facts))
            wall, cpu = time.perf_counter() - wall - executor.elsewhere_s, time.process_time() - cpu - executor.elsewhere_s
        print(f"{count} replays of {len(plan.requests)} replies, {CONCURRENCY} requests at once")
        print(f"{'facts, wall time':<28}{wall / count * 1e6:10.1f} µs per replay")
        print(f"{'facts, CPU time':<28}{cpu / count * 1e6:10.1f} µs per replay")
        started = time.perf_counter()
        found = ledger.facts(facts.head.id)
        reading = time.perf_counter() - started
        print(f"{'ledger':<28}{ledger.path.stat().st_size / count:10.0f} bytes per replay, {len(found.replays)} replays")
        parts = {"reading all back": reading, **conclusion(found, Path(directory))}
        for name, seconds in parts.items():
            print(f"{name:<28}{seconds / count * 1e6:10.1f} µs per replay, {seconds:.2f} s")
        print(f"{'all together':<28}{(wall + sum(parts.values())) / count * 1e6:10.1f} µs per replay")
        ledger.close()


if __name__ == "__main__":
    main()
