"""Added time per replay for judgement: tables, Great Expectations, scores. Aim: well below 1 ms a replay at 10,000 replays.

    python benchmarks/judgement.py [replays] [share of wrong ones] [validator ...]

Half of the wrong replays leave a further file, half another content; each replay has three files, a symlink and an observer. For
`no-leak` the task plants a secret as well. Processor time: what else runs on the machine does not count.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from crosspath.adapters.gx_validator import GxValidator
from crosspath.catalogue import suite_text
from crosspath.scoring import build_tables, load_suite, score
from crosspath.testing.validator import FakeValidator
from crosspath.types import FinalState, Replay, Secret, Task
from scoring_builders import file, replay, rich_task, right_state

T = TypeVar("T")


def replays(count: int, wrong_share: float) -> list[Replay]:
    """Replays of one task, wrong ones spread evenly."""
    right = right_state(rich_task())
    extra = right.model_copy(update={"entries": (*right.entries, file(b"further"))})
    other = tuple(file(b"a.txt", b"two\n") if entry.path == b"a.txt" else entry for entry in right.entries)
    wrong: tuple[FinalState, ...] = (extra, right.model_copy(update={"entries": other}))
    made: list[Replay] = []
    for number in range(count):
        before, after = int(number * wrong_share), int((number + 1) * wrong_share)
        made.append(replay(rich_task(), wrong[after % 2] if after > before else right, index=number))
    return made


def timed(name: str, count: int, run: Callable[[], T]) -> T:
    """Run, and print microseconds per replay."""
    start = time.process_time()
    value = run()
    print(f"{name:<28}{(time.process_time() - start) / count * 1e6:10.1f} µs per replay")
    return value


def planting(task: Task) -> Task:
    """The same task with a secret in its long file, where it may stand."""
    secret = Secret(name="token", value=b"hk_live_9f2c41d7", allowed=("long.bin",))
    return task.model_copy(update={"secrets": (secret,)})


def judged(validator: str, facts: list[Replay]) -> None:
    """Tables, validation and scores by one validator."""
    task = planting(rich_task()) if validator == "no-leak" else rich_task()
    suite, columns = suite_text(validator), load_suite(suite_text(validator)).columns
    print(f"\n{validator}")
    start = time.process_time()
    tables = timed("tables", len(facts), lambda: build_tables({task.id: task}, facts, columns))
    checks = timed("validation (GX)", len(facts), lambda: GxValidator().validate(suite, tables))
    scores = timed("scores", len(facts), lambda: [score(each, task, checks[row]) for row, each in enumerate(facts)])
    total = time.process_time() - start
    print(f"{'together':<28}{total / len(facts) * 1e6:10.1f} µs per replay, {total:.2f} s; {len(tables.final_state)} rows")
    if validator == "exact":
        timed("(plain-Python validator)", len(facts), lambda: FakeValidator().validate(suite, tables))
    print(f"passed: {sum(each.passed for each in scores)} of {len(facts)}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    share = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    facts, task = replays(count, share), rich_task()
    GxValidator().validate(suite_text("exact"), build_tables({task.id: task}, facts[:2]))  # imports and context: once
    print(f"{count} replays, {share:.0%} wrong")
    for validator in sys.argv[3:] or ("exact", "content", "lenient-text", "json-equal", "no-leak"):
        judged(validator, facts)


if __name__ == "__main__":
    main()
