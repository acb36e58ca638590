"""Time and memory of `crosspath report` as stored replays grow, each measured as a process of its own.

    python benchmarks/report_growth.py [--replays 1000 10000 100000] [--formats markdown html]

The catalogue's tasks, four candidates on a nested shell (told and untold, with control), as many trials as make up the number.
A path breaks most hostile tasks, a candidate of the four compensates; so roughly half of the replays are wrong. Facts are made
here and written to a real ledger; `report` then reads, validates, judges and writes them as for any user.
"""

import argparse
import hashlib
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from crosspath.catalogue import catalogue_tasks, contract, contract_names, suite_text
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.store.ledger import Ledger
from crosspath.transports import preset, preset_names
from crosspath.types import (
    Attempt,
    Candidate,
    EvaluationHead,
    ExecResult,
    Execution,
    Facts,
    FinalState,
    Generation,
    Lock,
    ModelSpec,
    Reference,
    Replay,
    Reply,
    Task,
    Text,
    Trial,
    Usage,
)
from scoring_builders import file, right_state

CANDIDATES = 4
PER_TRIAL = 5
"""RR, RN, its control, NR, NN: replays of one task, trial and candidate."""


def plan_of(replays: int) -> Plan:
    """Enough trials of the tasks that can be done."""
    tasks = [task for task in catalogue_tasks() if task.infeasible is None]
    trials = max(1, round(replays / (CANDIDATES * PER_TRIAL * len(tasks))))
    if replays < CANDIDATES * PER_TRIAL * len(tasks):
        tasks = tasks[:: max(1, round(CANDIDATES * PER_TRIAL * len(tasks) / replays))]
    candidates = [
        Candidate(
            name=f"model-{number}",
            generation=Generation(model=ModelSpec(name=f"openai/model-{number}"), contract="nested-shell"),
            transport="nested-shell",
        )
        for number in range(CANDIDATES)
    ]
    contracts = {name: contract(name) for name in contract_names()}
    return make_plan(candidates, Reference(), tasks, contracts, {name: preset(name) for name in preset_names()}, trials)


def facts_of(plan: Plan) -> Facts:
    """Every planned trial and replay, with states that are right or wrong as the path and the model would make them."""
    dice = random.Random(1)
    trials, attempts, replays = [], [], []
    for request in plan.requests:
        task = plan.tasks[request.trial.task]
        usage = Usage(prompt_tokens=400, completion_tokens=60)
        reply = Reply(
            text=f"{task.oracle} # {request.trial.index}", usage=usage, latency_s=dice.lognormvariate(0, 0.5), cost_usd=0.0004,
            finish_reason="stop", served_model=request.model, raw_response="y" * 1200,
        )  # fmt: skip
        trials.append(Trial(key=request.trial, request=request, reply=reply))
        attempts.append(
            Attempt(request_key=request.key, number=1, session=1, started_at=0.0, ended_at=1.0, usage=usage, cost_usd=0.0004)
        )
        able = dice.random()
        for planned, key in plan.replay_keys(request.trial):
            survives = planned.path.name == "raw" or planned.encoded or dice.random() < (0.9 if task.tier == 0 else 0.3)
            state = right_state(task) if able < 0.9 and survives else _wrong(task)
            delivery = planned.path.deliver(reply, encoded=planned.encoded)
            result = ExecResult(exit_code=0, duration_s=0.01)
            execution = Execution(key=key, results=(result,) * len(delivery.actions), state=state)
            replays.append(Replay(key=key, transport=planned.path.name, delivery=delivery, execution=execution))
    suite = suite_text("exact")
    lock = Lock(
        candidates=plan.candidates, reference=plan.reference, trials=plan.trials,
        tasks={name: task.digest for name, task in plan.tasks.items()},
        contracts={name: one.digest for name, one in plan.contracts.items()}, transports={}, suites={suite.name: suite.digest},
    )  # fmt: skip
    texts = tuple(Text(name=one.name, content=one.text, digest=one.digest) for one in plan.contracts.values())
    return Facts(
        head=EvaluationHead(id="growth-1", name="growth", created_at=0, spec={}, spec_digest="d", status="finished"),
        lock=lock, tasks=tuple(plan.tasks.values()), cells=plan.cells, contracts=texts, transports=(), suites=(suite,),
        contract_specs=tuple(plan.contracts.values()), path_specs=tuple(plan.path_specs.values()),
        trials=tuple(trials), attempts=tuple(attempts), replays=tuple(replays),
    )  # fmt: skip


def _wrong(task: Task) -> FinalState:
    right = right_state(task)
    return right.model_copy(update={"entries": (*right.entries[1:], file(b"zz-further", hashlib.sha256(b"x").digest()))})


def write(replays: int, directory: Path) -> int:
    """A ledger with that many replays; returns how many it holds."""
    facts = facts_of(plan_of(replays))
    ledger = Ledger(directory)
    ledger.open_evaluation(facts.model_copy(update={"attempts": ()}))
    ledger.close()
    return len(facts.replays)


def measured(directory: Path, form: str) -> tuple[float, float, int, int]:
    """Seconds of wall and processor time, peak KiB of memory, and bytes of a report."""
    output = directory / f"report.{form}"
    command = [sys.executable, "-m", "crosspath", "report", "growth-1", "--store", str(directory), "--format", form]
    started = time.perf_counter()
    with output.open("wb") as out:
        process = subprocess.Popen(command, stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss, output.stat().st_size


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--replays", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    arguments.add_argument("--formats", nargs="+", default=["markdown"])
    arguments.add_argument("--write", type=Path, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.write:
        print(write(options.replays[0], options.write))
        return
    print(f"{'replays':>8}  {'form':<9}{'wall s':>8}{'cpu s':>8}{'peak MiB':>10}{'ms/replay':>11}{'kB':>8}")
    for replays in options.replays:
        with tempfile.TemporaryDirectory() as temporary:
            store = Path(temporary) / "store"
            command = [sys.executable, __file__, "--replays", str(replays), "--write", str(store)]
            count = int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            for form in options.formats:
                wall, cpu, peak, size = measured(store, form)
                print(f"{count:>8}  {form:<9}{wall:8.1f}{cpu:8.1f}{peak / 1024:10.0f}{cpu / count * 1e3:11.3f}{size / 1e3:8.0f}")


if __name__ == "__main__":
    main()
