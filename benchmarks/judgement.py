"""Added time per replay for judgement: tables, Great Expectations, scores. Aim: well below 1 ms a replay at 10,000 replays.

    python benchmarks/judgement.py [replays] [share of wrong ones]

Half of the wrong replays leave a further file, half another content; each replay has three files, a symlink and an observer.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from crosspath.adapters.gx_validator import GxValidator
from crosspath.catalogue import suite_text
from crosspath.scoring import build_tables, score
from crosspath.testing.validator import FakeValidator
from crosspath.types import FinalState, Replay
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
    start = time.perf_counter()
    value = run()
    print(f"{name:<28}{(time.perf_counter() - start) / count * 1e6:10.1f} µs per replay")
    return value


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    share = float(sys.argv[2]) if len(sys.argv) > 2 else 0.5
    facts, task, suite = replays(count, share), rich_task(), suite_text("exact")
    tables = build_tables({task.id: task}, facts[:2])
    GxValidator().validate(suite, tables)  # imports and the process's context: once, not per replay
    print(f"{count} replays, {share:.0%} wrong")
    start = time.perf_counter()
    tables = timed("tables", count, lambda: build_tables({task.id: task}, facts))
    checks = timed("validation (GX)", count, lambda: GxValidator().validate(suite, tables))
    scores = timed("scores", count, lambda: [score(each, task, checks[row]) for row, each in enumerate(facts)])
    total = time.perf_counter() - start
    print(f"{'together':<28}{total / count * 1e6:10.1f} µs per replay, {total:.2f} s; {len(tables.final_state)} rows")
    timed("(plain-Python validator)", count, lambda: FakeValidator().validate(suite, tables))
    print(f"passed: {sum(each.passed for each in scores)} of {count}")


if __name__ == "__main__":
    main()
