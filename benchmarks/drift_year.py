"""A year of daily evaluations and looks in one MLflow store: what a look costs by then, and what a day adds.

    python benchmarks/drift_year.py [--days 365] [--store DIRECTORY] [--rows 0]

A sentinel set of 24 tasks is evaluated once a day, one trial each, after a reference of ten trials; model and sandbox are fakes,
everything after them is what `crosspath run` and `crosspath drift` do. One evaluation in seven is logged with its reports and
figures, the others without: making them is not what is measured. A second start with the same directory goes on where the first
one ended, and measures. `--rows 0` leaves out the row and trace of each task, a third of what a day takes.
"""

import argparse
import asyncio
import contextlib
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from crosspath.adapters.gx_validator import GxValidator
from crosspath.adapters.mlflow_tracker import MlflowTracker
from crosspath.adapters.mlflow_tracker.addresses import embedded_uri
from crosspath.adapters.mlflow_tracker.layout import MAX_ROWS
from crosspath.adapters.mlflow_tracker.series import MlflowSeries
from crosspath.app.drift_looks import write_look
from crosspath.app.drifting import look_id, not_executed
from crosspath.catalogue import contract, contract_names, suite_text
from crosspath.errors import ConfigError
from crosspath.pipeline.budget import Budget, Limits
from crosspath.pipeline.drift import Material, frozen_of, judge_drift
from crosspath.pipeline.evaluate import Evaluator
from crosspath.pipeline.judge import judge
from crosspath.pipeline.plan import Plan, make_plan
from crosspath.store.bundle import write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.executor import FakeExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.transports import preset, preset_names
from crosspath.types import (
    Candidate,
    Command,
    EvaluationHead,
    Facts,
    FileEntry,
    Generation,
    Judgement,
    Lock,
    ModelSpec,
    Reference,
    Reply,
    Request,
    Task,
    Usage,
)
from crosspath.types.drift import Drift, SeriesHistory, ToolchainDrift

DEPLOYMENT, EXPERIMENT = "support-bot", "support-bot watch"
FIRST_DAY = 1_767_225_600.0 + 6 * 3600
"""2026-01-01 at six (UTC)."""
DAY_S = 86400.0
COLD = "history, nothing in the cache"
TASKS, REFERENCE_TRIALS = 24, 10
SAMPLES = 12
"""Days that differ in which replies are wrong."""
Taken = tuple[float, float]
"""Seconds: wall time, and processor time of this process."""
SECTION = {
    "name": DEPLOYMENT, "candidate": None, "reference_trials": REFERENCE_TRIALS, "chosen_on": None, "alpha": 0.05,
    "horizon_days": 60, "max_age_days": 2.0, "max_missing": 0.2,
}  # fmt: skip


def tasks() -> list[Task]:
    return [
        Task(
            id=f"family-{number % 6}/task-{number:02d}",
            family=f"family-{number % 6}",
            instruction="Write the price into out.txt.",
            fixture=(FileEntry(path=b"in.txt", content=b"a line\n" * 20),),
            expected=(FileEntry(path=b"in.txt", content=b"a line\n" * 20), FileEntry(path=b"out.txt", content=b"costs $5")),
        )
        for number in range(TASKS)
    ]


def plan_of(trials: int) -> Plan:
    """The one cell of a watch: the reference is told and executed as the candidate is."""
    generation = Generation(model=ModelSpec(name="openai/support-bot-0501"), contract="nested-shell")
    return make_plan(
        [Candidate(name="bot", generation=generation, transport="nested-shell")],
        Reference(contract="nested-shell", transport="nested-shell"),
        tasks(),
        {name: contract(name) for name in contract_names()},
        {name: preset(name) for name in preset_names()},
        trials,
    )


def sampled(seed: int, trials: int) -> tuple[Facts, Judgement]:
    """One evaluation: a reply is right with its task's chance, from 60 to 100 %."""
    dice, plan = random.Random(seed), plan_of(trials)

    def answer(request: Request) -> Reply:
        chance = 0.6 + 0.4 * (int(request.trial.task[-2:]) / TASKS)
        text = "printf %s ok > out.txt" if dice.random() < chance else "echo no > out.txt"
        usage = Usage(prompt_tokens=420, completion_tokens=18)
        return Reply(
            text=text,
            usage=usage,
            finish_reason="stop",
            latency_s=dice.uniform(0.4, 0.9),
            served_model="bot-0501",
            cost_usd=0.0004,
        )

    def effect(command: Command) -> Effect:
        right = b"ok" in b" ".join(command.argv)
        return Effect(writes=(FileEntry(path=b"out.txt", content=b"costs $5" if right else b"no\n"),))

    lock = Lock(
        candidates=plan.candidates, reference=plan.reference, trials=trials, tasks={}, contracts={}, transports={}, suites={}
    )
    head = EvaluationHead(id="watch-1", name="watch", created_at=0, spec={}, spec_digest="d", experiment=EXPERIMENT)
    facts = Facts(
        head=head, lock=lock, tasks=tuple(plan.tasks.values()), cells=plan.cells, contracts=(), transports=(),
        suites=(suite_text("exact"),), trials=(), attempts=(), replays=(),
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as directory:
        ledger = Ledger(Path(directory))
        ledger.open_evaluation(facts)
        session = ledger.start_session(head.id, 0)
        with FakeExecutor(lambda: ScriptedModel(answer), lambda: FakeSandbox(effect)) as executor:
            asyncio.run(Evaluator(plan, ledger, head.id, session, executor, Budget(Limits())).run(facts))
        found = ledger.facts(head.id)
        ledger.close()
    return found, judge(found, GxValidator())


def dated(facts: Facts, day: int, *, reference: bool = False) -> Facts:
    """The same evaluation on the n-th day."""
    at = FIRST_DAY + day * DAY_S
    spec = facts.head.spec | {"deployment": SECTION | {"reference": reference}}
    name = f"watch-{time.strftime('%Y%m%d', time.gmtime(at))}-{1 if reference else 2}"
    head = facts.head.model_copy(update={"id": name, "created_at": at, "spec": spec, "status": "finished"})
    return facts.model_copy(update={"head": head, "sessions": ((at, at + 40),)})


def unchanged(history: SeriesHistory, toolchain: str) -> ToolchainDrift:
    """Frozen replies that came out as before: executing them is not what is measured here."""
    source = frozen_of(history.entries)
    found = not_executed(source, ())
    passed = sum(trial.passed is not None for trial in source.trials)
    more = {
        "status": "no drift",
        "sentence": f"{passed} frozen replies come out as before",
        "replies": passed,
        "compared": passed,
        "toolchain": toolchain,
    }
    return found.model_copy(update=more)


class Year:
    """The store, and everything that is logged to it."""

    def __init__(self, directory: Path, rows: int) -> None:
        self.directory = directory
        uri = embedded_uri(directory)
        self.tracker = MlflowTracker(uri, max_rows=rows)
        self.series = MlflowSeries(uri, cache=directory / "series")
        self.tracker.check()

    def build(self, days: int) -> tuple[list[Taken], list[Taken], list[Taken]]:
        """Seconds that each day's evaluation took to log with its reports and without, and its look."""
        done = self._days()
        if done < 0:
            self._log(*sampled(0, REFERENCE_TRIALS), 0, reference=True)
        samples = [sampled(1 + number, 1) for number in range(SAMPLES)]
        with_pages: list[Taken] = []
        without: list[Taken] = []
        looks: list[Taken] = []
        for day in range(max(done, 0) + 1, days + 1):
            pages = day % 7 == 0
            (with_pages if pages else without).append(self._log(*samples[day % SAMPLES], day, pages=pages))
            looks.append(self._look(day, figures=day % 30 == 0 or day == days))
            if day % 30 == 0:
                print(f"  {day} days", flush=True)
        return with_pages, without, looks

    def _days(self) -> int:
        """The last day that is there; -1: none."""
        try:
            return round((self.series.history(DEPLOYMENT).entries[-1].created_at - FIRST_DAY) / DAY_S)
        except ConfigError:
            return -1

    def _log(self, facts: Facts, judgement: Judgement, day: int, *, reference: bool = False, pages: bool = True) -> Taken:
        bundle, found = self.directory / "bundle", dated(facts, day, reference=reference)
        write_bundle(found, judgement, bundle, pages=pages)
        with timed() as taken:
            self.tracker.log(found, judgement, bundle)
        return taken[0]

    def _look(self, day: int, *, figures: bool) -> Taken:
        history = self.series.history(DEPLOYMENT)
        drift = self._drift(history, FIRST_DAY + day * DAY_S + 60)
        directory = self.directory / "look"
        if figures or not directory.exists():
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
            write_look(drift, directory, print)
        else:
            (directory / "drift.json").write_text(drift.to_json(), "ascii")
        with timed() as taken:
            self.series.log_look(drift, directory)
        return taken[0]

    @staticmethod
    def _drift(history: SeriesHistory, now: float) -> Drift:
        return judge_drift(Material(history, unchanged(history, history.entries[-1].toolchain), now), look_id(now))

    def measure(self, days: int) -> Iterator[tuple[str, Taken]]:
        """Names and seconds of the parts of one more look."""
        shutil.rmtree(self.directory / "series", ignore_errors=True)
        with timed() as cold:
            history = self.series.history(DEPLOYMENT)
        yield COLD, cold[0]
        times: list[Taken] = []
        for _ in range(3):
            with timed() as warm:
                history = self.series.history(DEPLOYMENT)
            times.append(warm[0])
        yield "history, all of it in the cache", middle(times)
        with timed() as last:
            self.series.last_look(DEPLOYMENT, EXPERIMENT)
        yield "the last look", last[0]
        now = FIRST_DAY + days * DAY_S + 3600
        with timed() as judged:
            drift = self._drift(history, now)
        yield "all three parts, without executing frozen replies", judged[0]
        with tempfile.TemporaryDirectory() as temporary:
            with timed() as wrote:
                write_look(drift, Path(temporary), print)
            yield "JSON, Markdown and figures", wrote[0]
            with timed() as logged:
                self.series.log_look(drift, Path(temporary))
        yield "the look into MLflow, in the place of another of its day", logged[0]


@contextlib.contextmanager
def timed() -> Iterator[list[Taken]]:
    taken: list[Taken] = []
    began, busy = time.perf_counter(), time.process_time()
    yield taken
    taken.append((time.perf_counter() - began, time.process_time() - busy))


def middle(times: Sequence[Taken]) -> Taken:
    """Medians."""
    return statistics.median(wall for wall, _ in times), statistics.median(busy for _, busy in times)


def line(name: str, taken: Taken, more: str = "") -> str:
    return f"{name:<62}{taken[0]:8.2f} s, processor {taken[1]:.2f} s{more}"


def size_of(directory: Path) -> float:
    """MiB of all files."""
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file()) / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--days", type=int, default=365)
    parser.add_argument("--store", type=Path)
    parser.add_argument("--rows", type=int, default=MAX_ROWS)
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        directory = asked.store or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        year = Year(directory, asked.rows)
        for name, times in zip(("evaluation, with reports", "evaluation", "look"), year.build(asked.days), strict=True):
            if not times:
                continue
            tenth = max(1, len(times) // 10)
            more = f" (wall: {middle(times[:tenth])[0]:.2f} at first, {middle(times[-tenth:])[0]:.2f} at last)"
            print(line(f"logging a day: {name}", middle(times), more))
        parts = {}
        for name, taken in year.measure(asked.days):
            parts[name] = taken
            print(line(name, taken))
        warm = [taken for name, taken in parts.items() if name != COLD]
        print(line("one look, with a warm cache", (sum(wall for wall, _ in warm), sum(busy for _, busy in warm))))
        for name in ("mlflow.db", "artifacts", "series"):
            place = directory / name
            print(f"{'on disk: ' + name:<62}{place.stat().st_size / 2**20 if place.is_file() else size_of(place):8.1f} MiB")


if __name__ == "__main__":
    main()
