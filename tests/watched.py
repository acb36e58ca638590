"""A deployment that is watched over real HTTP: an endpoint whose behaviour changes by the day, and the days themselves."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import crosspath
from crosspath.app.drift_looks import Look
from crosspath.app.drifting import drift
from crosspath.app.evaluation import Evaluation
from crosspath.testing.openai_server import Received, Turn, answer

DAY_S = 86_400.0
FIRST = 1_790_769_600.0
"""2026-09-30 12:00 UTC: the reference."""
BOT = "bot"
PLAIN = {f"plain-{number:02}": ("right", "printf right > out.txt") for number in range(10)}
AWK = {f"awk-{name}": (f"{name}\tb", f"""awk -v text='{name}\\tb' 'BEGIN {{ printf "%s", text }}' > out.txt""") for name in "xy"}
REPLIES: Mapping[str, tuple[str, str]] = PLAIN | AWK
"""Task -> what ``out.txt`` has to hold, and the command that does it with the programs of this machine."""
TASKS = tuple(f"{name}/t" for name in REPLIES)
TRIALS = 3
"""A day; the reference has ten."""
EDIT = "Write as little as you can."
CONTRACT = "---\nversion: 1\nshape: text\ndiscloses: raw\n---\nReply with shell text for bash and nothing else.\n"


@dataclass
class Endpoint:
    """A model server's script; its fields change from day to day."""

    served: str = "x-0501"
    fingerprint: str = "fp_1"
    worse: frozenset[str] = frozenset()
    """Families that it can't do any more."""
    dead: bool = False
    asked: list[Received] = field(default_factory=list)

    def __call__(self, received: Received) -> Turn:
        self.asked.append(received)
        if self.dead:
            return Turn(body=b"{}", reset_after=0)
        family = received.body["messages"][-1]["content"]
        command = "printf wrong > out.txt" if family in self.worse else REPLIES[family][1]
        return answer(command, model=self.served, fingerprint=self.fingerprint)


@dataclass(frozen=True)
class Watch:
    """A directory with a spec, its tasks and its contract, and a store."""

    place: Path
    url: str
    store: Path

    @property
    def spec(self) -> Path:
        return self.place / "watch.json"

    def written(self, **further: Any) -> "Watch":
        """The files of the watch."""
        self.place.mkdir(exist_ok=True)
        (self.place / "mine.md").write_text(CONTRACT)
        tasks = [
            {"id": f"{name}/t", "family": name, "tier": 0, "instruction": name, "expected": {"out.txt": text}, "oracle": command}
            for name, (text, command) in REPLIES.items()
        ]
        (self.place / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
        document = {
            "name": "watch",
            "tasks": {"files": ["tasks.jsonl"]},
            "contracts": ["mine.md"],
            "reference": {"contract": "mine", "transport": "raw"},
            "trials": TRIALS,
            "models": {"hosted": {"model": "openai/hosted", "api_base": self.url, "api_key_env": "KEY_OF_TEST"}},
            "candidates": {BOT: {"model": "hosted", "contract": "mine", "transport": "raw"}},
            "deployment": {"name": BOT, "horizon_days": 20},
            "retries": {"max_attempts": 1},
            "executor": {"kind": "local", "replay_workers": 2},
        }
        self.spec.write_text(json.dumps(document | further))
        return self

    def with_edited_contract(self) -> "Watch":
        """The same watch from another directory, told in other words."""
        other = replace(self, place=self.store.parent / "edited").written()
        (other.place / "mine.md").write_text(CONTRACT + EDIT + "\n")
        return other

    def evaluated(self, day: int, **arguments: Any) -> Evaluation:
        """The daily run of a day; on day 0 the reference."""
        return crosspath.evaluate(self.spec, reference=day == 0, store=self.store, clock=lambda: noon(day), **arguments)

    def look(self, day: float, **arguments: Any) -> Look:
        """A look an hour after that day's run."""
        return drift(BOT, store=self.store, clock=lambda: noon(day) + 3600, **arguments)


def noon(day: float) -> float:
    """Of the day so many days after the reference, in seconds since 1970."""
    return FIRST + DAY_S * day


def date(day: int) -> str:
    """The UTC date."""
    return f"2026-10-{day:02}" if day else "2026-09-30"
