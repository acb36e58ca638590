"""How often a watch raises a false alarm, and how often it finds a drop of 15 points: simulated histories of 60 days.

    python benchmarks/drift_watch.py [HISTORIES] [PART ...]

Parts: `alarms` (nothing changes; how often anything is found), `found` (a drop that begins on a random day; how often it is found
within 14 days, with the shipped design), `designs` (the same for other numbers of tasks and trials), `interval` (how often the
interval of the change holds the true change), `enough` (what `no drift` rests on), `signals` (false alarms of what needs no
score, and replies of other lengths), `selection` (what it does to use the sample on which tasks were chosen as the reference),
`others` (tests that were tried and left). Everything is judged by the functions that judge a real watch; how often
`provider_drift` itself says the same is printed beside. Default: 2,000 histories a line, all parts; about 45 minutes on one core.
"""

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
from scipy.stats import beta

from crosspath.analysis.drift_chance import chance_of_finding
from crosspath.analysis.drift_change import change_interval
from crosspath.analysis.drift_power import Counted, drawn, first_found
from crosspath.analysis.drift_signals import signals
from crosspath.analysis.provider_drift import Day, provider_drift
from crosspath.analysis.sentinels import SeenTask, choose
from crosspath.analysis.sequential import DROPS, WINDOWS, Split, looks, tails
from crosspath.types import Estimate
from crosspath.types.drift import EntryTrial, SeriesEntry, WatchRules

RULES = WatchRules()
DAYS = RULES.horizon_days
DROP = 0.15
WITHIN = 14
PUBLISHED = 108
"""Tasks of the catalogue that can be done, in 27 families."""


@dataclass(frozen=True)
class Design:
    """How a watch samples."""

    tasks: int
    trials: int
    reference_trials: int

    def __str__(self) -> str:
        return f"{self.tasks} tasks x {self.trials} a day, reference {self.reference_trials}"

    @property
    def words(self) -> str:
        whole = self.tasks * (self.reference_trials + self.trials * DAYS)
        return f"{self} ({self.tasks * self.trials} requests a day, {whole:,} in {DAYS} days with the reference)"


SHIPPED = Design(24, 1, 20)
DESIGNS = (Design(24, 1, 10), Design(40, 1, 10), Design(24, 2, 10), Design(32, 1, 20), Design(16, 2, 20), Design(8, 3, 30))


def one_rate(rate: float) -> Callable[[np.random.Generator, int], np.ndarray]:
    return lambda _, tasks: np.full(tasks, rate)


def mostly_all(random: np.random.Generator, tasks: int) -> np.ndarray:
    return np.where(random.random(tasks) < 0.25, random.random(tasks), 1.0)


def bimodal(random: np.random.Generator, tasks: int) -> np.ndarray:
    return np.where(random.random(tasks) < 0.7, random.beta(8, 0.5, tasks), random.beta(0.5, 8, tasks))


LAWS: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "all tasks always": one_rate(1.0),
    "all tasks 90 %": one_rate(0.9),
    "3 of 4 always, others uniform": mostly_all,
    "two humps, near 94 % and 6 %": bimodal,
    "one hump around 67 %": lambda random, tasks: random.beta(4, 2, tasks),
    "uniform from 0 to 100 %": lambda random, tasks: random.random(tasks),
    "all tasks 70 %": one_rate(0.7),
    "all tasks 50 %": one_rate(0.5),
}
"""Pass probabilities of tasks; drawn anew for each history."""


def all_tasks(random: np.random.Generator, rates: np.ndarray) -> np.ndarray:
    return np.maximum(rates - DROP, 0.0)


def a_third(random: np.random.Generator, rates: np.ndarray) -> np.ndarray:
    """The same drop in the mean, in a third of the tasks alone: 45 points in each, where there are so many to lose."""
    lost = random.permutation(len(rates)) < round(len(rates) / 3)
    return np.where(lost, np.maximum(rates - DROP * len(rates) / lost.sum(), 0.0), rates)


SHAPES = {"every task": all_tasks, "a third of them": a_third}


def upper(hits: int, number: int) -> float:
    """Clopper-Pearson's upper limit, one-sided at 95 %."""
    return float(beta.ppf(0.95, hits + 1, number - hits)) if hits < number else 1.0


def lower(hits: int, number: int) -> float:
    """The lower one."""
    return float(beta.ppf(0.05, hits, number - hits + 1)) if hits else 0.0


# -- nothing changes -----------------------------------------------------------------------------------------------------


def false_alarms(number: int) -> None:
    print(f"Nothing changes: how often a watch of {DAYS} days finds anything, looked at every day; {number:,} histories each.")
    print(f"Stated: at most {100 * RULES.alpha:.0f} %. In brackets the upper limit (Clopper-Pearson, 95 % one-sided).")
    designs = (SHIPPED, Design(24, 2, 10), Design(8, 3, 10))
    print(f"{'':<32}" + "".join(f"{design!s:<38}" for design in designs) + "the first, 1 in 10 trials missing")
    worst, same, checked = 0.0, 0, 0
    for place, (name, law) in enumerate(LAWS.items()):
        cells = []
        for design, missing in (*((one, 0.0) for one in designs), (SHIPPED, 0.1)):
            random = np.random.default_rng([1, place, design.tasks, design.trials, int(100 * missing)])
            drops = rises = 0
            for history in range(number):
                counted = with_missing(steady(law, design, random), missing, random)
                found = first_found(counted, RULES, margin=1.65)
                drops, rises = drops + (found is not None and found.worse), rises + (found is not None and not found.worse)
                if history < 20:
                    same, checked = same + agrees(counted, found.at if found else None), checked + 1
            hits = drops + rises
            worst = max(worst, upper(hits, number))
            cells.append(f"{100 * hits / number:4.2f} % ({100 * upper(hits, number):4.2f}), {drops} drops, {rises} rises")
        print(f"{name:<32}" + "".join(f"{cell:<38}" for cell in cells), flush=True)
    print(f"highest upper limit: {100 * worst:.2f} %; provider_drift finds the same day, or nothing: {same} of {checked}")


def steady(law: Callable[[np.random.Generator, int], np.ndarray], design: Design, random: np.random.Generator) -> Counted:
    rates = law(random, design.tasks)
    return drawn(rates, rates, DAYS, DAYS, design.trials, design.reference_trials, random)


def with_missing(counted: Counted, share: float, random: np.random.Generator) -> Counted:
    """Each trial is missing with this chance, whatever came of it."""
    if not share:
        return counted
    passed = random.binomial(counted.passed, 1 - share)
    failed = random.binomial(counted.trials - counted.passed, 1 - share)
    return Counted(counted.before, counted.before_trials, passed, passed + failed)


def agrees(counted: Counted, at: int | None) -> bool:
    """Whether ``provider_drift`` finds it on the same day."""
    days = [
        Day(_date(place), (entry(f"day-{place}", passed, trials),), True, "")
        for place, (passed, trials) in enumerate(zip(counted.passed, counted.trials, strict=True))
    ]
    found = provider_drift(entry("reference", counted.before, counted.before_trials), days, {})
    first = min((day.day for day in found.days if min(day.p_drop or 1.0, day.p_rise or 1.0) <= RULES.alpha), default=None)
    return first == (None if at is None else _date(at))


def _date(place: int) -> str:
    return str(date(2026, 1, 1) + timedelta(place))


def entry(name: str, passed: np.ndarray, trials: np.ndarray) -> SeriesEntry:
    none = Estimate(value=None, low=None, high=None, n=0, estimand="these_tasks", method="not asked for")
    tasks = {f"t{number:03}": "same" for number in range(len(trials))}
    rows = tuple(
        EntryTrial(task=task, index=index, passed=index < wins)
        for task, wins, there in zip(tasks, passed.tolist(), trials.tolist(), strict=True)
        for index in range(there)
    )
    return SeriesEntry(
        evaluation=name, created_at=0.0, deployment="bench", candidate="bench", role="day", rules=RULES, configuration={},
        toolchain="", tasks=tasks, families=tasks, planned_trials=int(max(trials)), control="holds", rate=none,
        trials=rows,
    )  # fmt: skip


# -- a drop --------------------------------------------------------------------------------------------------------------


def share_found(law_name: str, shape: str, design: Design, number: int, first_day: bool = False) -> tuple[int, float]:
    """Histories in which a drop is found within 14 days, and the mean drop in points. An alarm before it is none."""
    random = np.random.default_rng([2, list(LAWS).index(law_name), list(SHAPES).index(shape), design.tasks, design.trials])
    hits, lost = 0, 0.0
    for _ in range(number):
        before = LAWS[law_name](random, design.tasks)
        after = SHAPES[shape](random, before)
        onset = 0 if first_day else int(random.integers(0, DAYS - WITHIN + 1))
        counted = drawn(before, after, onset, onset + WITHIN, design.trials, design.reference_trials, random)
        found = first_found(counted, RULES)
        hits += found is not None and found.worse and found.at >= onset
        lost += float(before.mean() - after.mean())
    return hits, 100 * lost / number


def drops_found(number: int) -> None:
    print(f"\nA drop of 15 points begins on a random day: how often it is found within 14 days; {number:,} histories each.")
    print(f"{SHIPPED.words}; in brackets the lower limit (Clopper-Pearson, 95 % one-sided).")
    print(f"{'':<32}{'every task':<30}{'... from the first day on':<28}a third of them, 45 points each")
    for name in LAWS:
        cells = []
        for shape, first_day in (("every task", False), ("every task", True), ("a third of them", False)):
            hits, lost = share_found(name, shape, SHIPPED, number, first_day)
            mean = "" if abs(lost - 100 * DROP) < 0.05 else f", mean {lost:.1f}"
            cells.append(f"{100 * hits / number:5.1f} % ({100 * lower(hits, number):4.1f}){mean}")
        print(f"{name:<32}{cells[0]:<30}{cells[1]:<28}{cells[2]}", flush=True)
    print("mean: the mean drop in points, where tasks have fewer to lose")


def other_designs(number: int) -> None:
    print(
        f"\nThe same with other designs, {number:,} histories each: every task / a third of them, lowest limit in the last line."
    )
    for design in (SHIPPED, *DESIGNS):
        print(design.words)
        lowest = 1.0
        for name in LAWS:
            hits = [share_found(name, shape, design, number)[0] for shape in SHAPES]
            lowest = min(lowest, lower(hits[0], number))
            print(f"  {name:<32}{100 * hits[0] / number:5.1f} % / {100 * hits[1] / number:5.1f} %", flush=True)
        print(f"  every task, lowest lower limit: {100 * lowest:.1f} %")


# -- the interval --------------------------------------------------------------------------------------------------------


def coverage(number: int) -> None:
    print(
        f"\nHow often the 95 % interval of the change holds the true one; {number:,} each; in brackets its mean width in points."
    )
    changes: dict[str, Callable[[np.random.Generator, np.ndarray], np.ndarray]] = {
        "no change": lambda _, rates: rates,
        "15 points in every task": all_tasks,
        "15 points in a third": a_third,
        "3 points in every task": lambda _, rates: np.maximum(rates - 0.03, 0.0),
    }
    lowest = 1.0
    for tasks, reference, recent in ((24, 20, 7), (24, 20, 1), (24, 10, 14), (6, 10, 7), (4, 10, 2), (108, 10, 5)):
        print(f"{tasks} tasks, {reference} trials before, {recent} recent ones" + "".join(f"{name:>26}" for name in changes))
        for place, (name, law) in enumerate(LAWS.items()):
            cells = []
            for shape, (_, change) in enumerate(changes.items()):
                random = np.random.default_rng([3, place, shape, tasks, recent])
                held, width = covered(law, change, (tasks, reference, recent), number, random)
                lowest = min(lowest, held)
                cells.append(f"{100 * held:.1f} % ({100 * width:.1f})")
            print(f"  {name:<40}" + "".join(f"{cell:>26}" for cell in cells), flush=True)
    print(f"lowest: {100 * lowest:.1f} %")


def covered(law, change, sizes: tuple[int, int, int], number: int, random: np.random.Generator) -> tuple[float, float]:
    tasks, reference, recent = sizes
    held, width = 0, 0.0
    for _ in range(number):
        before = law(random, tasks)
        after = change(random, before)
        was, now = random.binomial(reference, before).tolist(), random.binomial(recent, after).tolist()
        low, high = change_interval([Split(a, reference, b, recent) for a, b in zip(was, now, strict=True)])
        held += low - 1e-9 <= after.mean() - before.mean() <= high + 1e-9
        width += high - low
    return held / number, width / number


# -- when nothing was found ----------------------------------------------------------------------------------------------


def enough(number: int) -> None:
    """What `no drift` rests on: tasks that are alike, and a drop that is there in all days."""
    number = min(number, 500)
    print("\nA drop of 15 points in every task, in all of the days: chance of finding it today, as a look says it, and")
    print(f"how often the best window found it ({number} each). 24 tasks x 1 a day; from 50 % on it is `no drift`.")
    days = (1, 2, 3, 5, 6, 7, 10, 14)
    print(f"{'pass rate, reference':<24}" + "".join(f"{f'day {day}':>16}" for day in days))
    for reference in (20, 10):
        for rate in (1.0, 0.9, 0.7, 0.5):
            cells = [f"{said:.0f} %, {was:.0f} %" for said, was in (said_and_found(rate, reference, day, number) for day in days)]
            print(f"{100 * rate:5.0f} %, {reference:<16}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


def said_and_found(rate: float, reference: int, days: int, number: int) -> tuple[float, float]:
    """The mean chance that is said of the best window where nothing changes, and how often it finds such a drop."""
    random = np.random.default_rng([8, int(100 * rate), reference, days])
    said = dict.fromkeys(WINDOWS, 0.0)
    hits = dict.fromkeys(WINDOWS, 0)
    for _ in range(number):
        before = random.binomial(reference, rate, 24).tolist()
        for window in WINDOWS:
            trials = min(days, window.days)
            level = RULES.alpha * DROPS * window.part(DAYS)
            same, dropped = (random.binomial(trials, chance, 24).tolist() for chance in (rate, rate - DROP))
            said[window] += chance_of_finding([Split(a, reference, b, trials) for a, b in zip(before, same, strict=True)], level)
            found = tails([Split(a, reference, b, trials) for a, b in zip(before, dropped, strict=True)]).low <= level
            hits[window] += found
    best = max(said, key=lambda window: said[window])
    return 100 * said[best] / number, 100 * hits[best] / number


# -- signals -------------------------------------------------------------------------------------------------------------


Value = Callable[[np.random.Generator, int], float]
"""How long a reply of the task with this number is, as a share of what is usual."""

VALUES: dict[str, Value] = {
    "all alike": lambda _, task: 1 + task / 10,
    "alike but for 1 in 20": lambda random, task: 1 + task / 10 + (random.random() < 0.05) * (random.random() - 0.5),
    "one of three": lambda random, task: 1 + task / 10 + float(random.choice([0.0, 0.2, -0.3], p=[0.6, 0.3, 0.1])),
    "continuous": lambda random, _: float(random.lognormal(0, 0.5)),
}
"""Laws of the lengths and latencies of a task: with ties, and without any."""


def signal_alarms(number: int) -> None:
    """Looked at every day of the horizon; nothing changes."""
    print(f"\nSignals that need no score, looked at on each of {DAYS} days, nothing changes: {number} histories of 24 tasks.")
    print("Lengths and latencies of a task; histories in which any signal changed (upper limit); which ones")
    for place, (law, value) in enumerate(VALUES.items()):
        random = np.random.default_rng([4, place])
        histories = [signals_found(random, value) for _ in range(number)]
        hits = sum(bool(found) for found in histories)
        names = Counter(name for found in histories for name in found)
        share = f"{100 * hits / number:.2f} % ({100 * upper(hits, number):.2f})"
        print(f"  {law:<24}{share:<16}{', '.join(f'{name} {count}' for name, count in names.items()) or 'none'}", flush=True)
    lengths_found(number)


def signals_found(random: np.random.Generator, value: Value) -> set[str]:
    reference, days = replies(random, 20, value), [replies(random, 1, value) for _ in range(DAYS)]
    return {
        one.name
        for at in range(DAYS)
        for one in signals(reference, [one for day in days[max(0, at - 6) : at + 1] for one in day], RULES)
        if one.changed
    }


def lengths_found(number: int) -> None:
    """One look on the seventh day: 20 of the reference against 7."""
    print(f"\nReplies of other lengths, one look after 7 days, {number} each: how often `reply length` changed.")
    changes = {
        "a 25th as long": (1.0, 0.04),
        "30 % shorter": (1.0, 0.7),
        "30 % longer": (1.0, 1.3),
        "half, 1 in 4 of them": (0.25, 0.5),
    }
    print(f"  {'':<24}" + "".join(f"{name:>22}" for name in changes))
    for place, (law, value) in enumerate(VALUES.items()):
        cells = []
        for at, (share, factor) in enumerate(changes.values()):
            random = np.random.default_rng([7, place, at])
            hits = sum(length_changed(random, value, share, factor) for _ in range(number))
            cells.append(f"{100 * hits / number:.1f} %")
        print(f"  {law:<24}" + "".join(f"{cell:>22}" for cell in cells), flush=True)


def length_changed(random: np.random.Generator, value: Value, share: float, factor: float) -> bool:
    recent = [
        one.model_copy(update={"length": round((one.length or 0) * factor)}) if random.random() < share else one
        for one in replies(random, 7, value)
    ]
    return next(one.changed for one in signals(replies(random, 20, value), recent, RULES) if one.name == "reply length")


def replies(random: np.random.Generator, trials: int, value: Value) -> list[EntryTrial]:
    """Of 24 tasks: one to eight usual texts, some never given twice; few refusals, few replies cut off."""
    rows = []
    for number in range(24):
        for index in range(trials):
            text = f"{random.integers(number % 8 + 1)}" if random.random() < 0.9 else f"own {random.integers(10**9)}"
            rows.append(
                EntryTrial(
                    task=f"t{number}", index=index, passed=True, reply=text, length=round(150 * value(random, number)),
                    latency_s=2 * value(random, number), refused=bool(random.random() < 0.03),
                    truncated=bool(random.random() < 0.02),
                )
            )  # fmt: skip
    return rows


# -- choosing ------------------------------------------------------------------------------------------------------------


def selection(number: int) -> None:
    print(f"\nTasks are chosen on one sample and sampled again, nothing changes: {number:,} choices of 24 of {PUBLISHED} tasks.")
    print(
        "points: pass rate on the sample they were chosen on, less the true one; alarms: watches of 60 days that find something"
    )
    for trials in (1, 3, 10):
        for name, law in LAWS.items():
            if name in ("all tasks always", "all tasks 90 %"):
                continue
            random = np.random.default_rng([5, trials])
            gaps, wrong, right, truth = [], 0, 0, []
            for _ in range(number):
                rates = law(random, PUBLISHED)
                seen = random.binomial(trials, rates)
                tasks = [SeenTask(f"{at}", f"{at % 27}", int(passed), trials) for at, passed in enumerate(seen)]
                chosen = [int(task.task) for task in choose(tasks, 24)]
                gaps.append(seen[chosen].mean() / trials - rates[chosen].mean())
                truth.append(rates[chosen].mean() - rates.mean())
                if len(gaps) <= number // 5:
                    wrong += alarmed(rates[chosen], seen[chosen], trials, random)
                    right += alarmed(rates[chosen], random.binomial(20, rates[chosen]), 20, random)
            few = number // 5
            print(
                f"  {trials:>2} trials, {name:<32}{100 * float(np.mean(gaps)):+5.1f} points; alarms against that sample"
                f" {100 * wrong / few:5.1f} %, against another {100 * right / few:4.1f} %;"
                f" chosen tasks pass {100 * float(np.mean(truth)):+5.1f} points more often than all",
                flush=True,
            )


def alarmed(rates: np.ndarray, before: np.ndarray, trials: int, random: np.random.Generator) -> bool:
    days = random.binomial(1, np.broadcast_to(rates, (DAYS, len(rates))))
    counted = Counted(before, np.full(len(rates), trials), days, np.ones_like(days))
    return first_found(counted, RULES) is not None


# -- what was tried and left ---------------------------------------------------------------------------------------------


def others(number: int) -> None:
    print(f"\nOther tests, the shipped design, every task loses 15 points on a random day; {number:,} histories each: found.")
    tests = {
        "as shipped": shipped,
        "earlier days added to the reference": grown_reference,
        "mixture of likelihood ratios": mixture,
    }
    print(f"{'':<32}" + "".join(f"{name:>38}" for name in tests))
    for place, (name, law) in enumerate(LAWS.items()):
        random = np.random.default_rng([6, place])
        hits = dict.fromkeys(tests, 0)
        for _ in range(number):
            before = law(random, SHIPPED.tasks)
            onset = int(random.integers(0, DAYS - WITHIN + 1))
            after = np.maximum(before - DROP, 0.0)
            counted = drawn(before, after, onset, onset + WITHIN, SHIPPED.trials, SHIPPED.reference_trials, random)
            for test, finds in tests.items():
                at = finds(counted)
                hits[test] += at is not None and at >= onset
        print(f"{name:<32}" + "".join(f"{100 * hit / number:36.1f} %" for hit in hits.values()), flush=True)


def shipped(counted: Counted) -> int | None:
    found = first_found(counted, RULES)
    return found.at if found and found.worse else None


def grown_reference(counted: Counted) -> int | None:
    """Each window against the reference and all days before it: also exact, and no longer a change since the reference."""
    for look in looks(range(len(counted.passed))):
        passed, trials = (one[look.start] for one in counted.sums)
        known = Counted(counted.before + passed, counted.before_trials + trials, counted.passed, counted.trials)
        if known.score(look) < -2 and tails(known.splits(look)).low <= RULES.alpha * DROPS * look.window.part(DAYS):
            return look.at
    return None


def mixture(counted: Counted) -> int | None:
    """Test martingale against drops of 5 to 30 points that begin on any day; rates as if known exactly, which favours it."""
    rates = np.clip((counted.before + 0.5) / (counted.before_trials + 1), 0.01, 0.99)
    sizes = (0.05, 0.1, 0.15, 0.2, 0.3)
    logs = np.zeros((len(sizes), len(counted.passed)))
    for place, size in enumerate(sizes):
        less = np.clip(rates - size, 0.005, 0.99)
        won, lost = np.log(less / rates), np.log((1 - less) / (1 - rates))
        logs[place] = (counted.passed * won + (counted.trials - counted.passed) * lost).sum(axis=1)
    for at in range(len(counted.passed)):
        since = np.exp(np.cumsum(logs[:, at::-1], axis=1))
        value = (since.mean(axis=0).sum() + (DAYS - at - 1)) / DAYS
        if value >= 1 / (RULES.alpha * DROPS):
            return at
    return None


def main() -> None:
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 2_000
    parts = sys.argv[2:] or ["alarms", "found", "designs", "interval", "enough", "signals", "selection", "others"]
    started = time.perf_counter()
    table = {
        "alarms": false_alarms, "found": drops_found, "designs": other_designs, "interval": coverage, "selection": selection,
        "others": others, "enough": enough,
    }  # fmt: skip
    for part in parts:
        if part == "signals":
            signal_alarms(max(100, number // 5))
        else:
            table[part](number)
    print(f"\n{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
