"""Writes what this version leaves behind to tests/data/formats, as long as its formats are not released.

    PYTHONPATH=service:tests python scripts/write_format_fixtures.py

Files of older versions stay as those versions wrote them: only what is called like a version of today is replaced. It needs
bubblewrap; nothing is asked but a server on this machine.
"""

import gzip
import json
import os
import platform
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import crosspath
from crosspath.app.evaluation import Evaluation
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating import gate
from crosspath.app.gating_replays import Place
from crosspath.pipeline.drift import Material, judge_drift
from crosspath.pipeline.series import entry_of
from crosspath.store.bundle import write_bundle
from crosspath.store.ledger import Ledger
from crosspath.store.ledger_schemas import LEDGER
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails
from crosspath.types import Attempt
from crosspath.types.drift import SeriesHistory
from formats import DIGESTS, FORMATS, RECORDS, records_digest

SEED = "a seed for fixtures only 0123456789"
DAY_S = 86_400.0
STARTED_AT = 1_796_083_200.0
"""2026-12-01 00:00 UTC."""
COIN = {"heads": "if ((RANDOM % 2)); then printf heads; else printf tails; fi > coin.txt", "same": "printf heads > coin.txt"}
POLICY = """\
evidence: {control: none, max_faults: 0.5, min_coverage: 0.4, min_families: 2, min_tasks: 2, min_mutations_rejected: 0}
rules:
  - {metric: pass_rate, at_least: 0.1, over: these_tasks}
  - {metric: pass_rate, margin: 0.9, over: these_tasks}
"""


def tasks() -> str:
    """One that is done, one whose result is drawn by lot, one that the endpoint never answers."""
    return "".join(
        json.dumps({"id": f"{family}/{name}", "family": family, "tier": tier, "instruction": f"Do {name}.", **further}) + "\n"
        for family, tier, name, further in (
            (
                "small",
                0,
                "word",
                {"expected": {"out.txt": "ready"}, "oracle": "printf ready > out.txt", "naive": "printf $1"},
            ),
            ("other", 1, "coin", {"expected": {"coin.txt": "heads"}, "oracle": COIN["same"]}),
            ("small", 1, "lost", {"expected": {"out.txt": "€ $5"}, "oracle": "printf '%s' '€ $5' > out.txt"}),
        )
    )


def scripted(received: Received) -> Turn:
    """The endpoint: one command that is right, one that is right half of the time, and one error."""
    asked = received.body["messages"][-1]["content"]
    if "Do lost." in asked:
        return fails(500)
    return answer(COIN["heads"] if "Do coin." in asked else "printf ready > out.txt", model="served-1")


def spec(url: str, **further: Any) -> dict[str, Any]:
    """Every reply shape, a style, held-out tasks and a deployment."""
    told = {"contract": "nested-shell", "transport": "nested-shell"}
    return {
        "name": "formats",
        "models": {"hosted": {"model": "openai/hosted", "api_base": url, "api_key_env": "KEY_OF_TEST"}},
        "candidates": {
            "deployed": {"model": "hosted", **told},
            "by tool calls": {"model": "baseline/adaptive", **told, "contract": "tool-call-nested-shell"},
            "as json and terse": {
                "model": "baseline/adaptive", **told, "contract": "json-nested-shell", "request_style": "terse"
            },
        },
        "executor": {"kind": "local", "replay_workers": 2},
        "retries": {"max_attempts": 1},
        **further,
    }  # fmt: skip


def evaluated(directory: Path, url: str, day: int) -> Evaluation:
    """One evaluation of the deployment; the first one is its reference."""
    watched = {"name": "bot", "candidate": "deployed", "reference": day == 0}
    made = spec(url, tasks={"files": ["tasks.jsonl"]}, deployment=watched, trials=10 if day == 0 else 3)
    made["candidates"] = {"deployed": made["candidates"]["deployed"]} if day == 0 else made["candidates"]
    return crosspath.evaluate(made, store=directory / "store", track=False, clock=lambda: STARTED_AT + DAY_S * day)


def heldout(directory: Path) -> Evaluation:
    """Tasks that were drawn afresh, in words of one's own."""
    chosen = {"families": ["exact-file"], "tiers": [0, 1], "partition": "both", "heldout_seed_env": "SEED_OF_TEST"}
    made = spec("http://127.0.0.1:9/v1", tasks=chosen)
    made["candidates"].pop("deployed")
    return crosspath.evaluate(made, store=directory / "store", track=False, clock=lambda: STARTED_AT)


def keep_ledger(directory: Path, evaluation: Evaluation) -> None:
    """The database as a program leaves it that was killed while a request was in flight."""
    ledger = Ledger(directory / "store")
    head = evaluation.facts.head.model_copy(update={"id": "formats-unfinished", "status": "running"})
    nothing = {"head": head, "trials": (), "attempts": (), "replays": (), "sessions": (), "bought_again": 0}
    ledger.open_evaluation(evaluation.facts.model_copy(update=nothing))
    ledger.start_session(head.id, STARTED_AT)
    ledger.append(head.id, [Attempt(request_key="in flight", number=1, session=1, started_at=STARTED_AT)])
    ledger.close()
    with closing(sqlite3.connect(directory / "store" / "ledger.db")) as database:
        database.execute("VACUUM INTO ?", (str(directory / "ledger.db"),))
    number = len(LEDGER.older) + 1
    (FORMATS / f"ledger-{number}.db.gz").write_bytes(gzip.compress((directory / "ledger.db").read_bytes(), mtime=0))


def keep_verdict(directory: Path, days: list[Evaluation]) -> None:
    """A gate of the last day against the one before."""
    place = FORMATS / f"verdict-{RECORDS['verdict'][0].version}"
    (directory / "policy.yaml").write_text(POLICY)
    gate(
        directory / "policy.yaml", candidate=f"{days[2].id}:deployed", baseline=f"{days[1].id}:deployed", output=place,
        force=True, store=directory / "store", track=False,
    )  # fmt: skip


def keep_series(directory: Path, days: list[Evaluation]) -> None:
    """An entry of the series, and a look at all of them."""
    entries = [entry for day in days if (entry := entry_of(day.facts, day.judgement))]
    ledger = Ledger(directory / "store")
    toolchain = frozen_replays(days[0].facts, "deployed", (), place=Place("local", "local", None), ledger=ledger)
    ledger.close()
    history = SeriesHistory(deployment="bot", experiment="crosspath", entries=tuple(entries))
    look = judge_drift(Material(history, toolchain, STARTED_AT + 2.5 * DAY_S), "drift-20261203-120000-abcdef")
    for name, record in (("entry", entries[-1]), ("drift", look)):
        (FORMATS / f"{name}-{RECORDS[name][0].version}.json").write_text(record.to_json() + "\n")


def main() -> None:
    """All of it."""
    os.environ |= {"KEY_OF_TEST": "k", "SEED_OF_TEST": SEED}
    platform.platform = lambda *_, **__: "Linux-x86_64"  # not this machine's
    FORMATS.mkdir(parents=True, exist_ok=True)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as temporary, OpenAIServer(scripted) as server:
        directory = Path(temporary)
        os.chdir(directory)  # no path of this machine is in what is written
        Path("tasks.jsonl").write_text(tasks())
        days = [evaluated(directory, server.url, day) for day in range(3)]
        if not any(cell.unstable for one in days[1].judgement.decompositions for cell in one.cells):
            raise SystemExit("every replay came out alike, as one of eight runs does: run it again")
        drawn = heldout(directory)
        for name, one in (("", days[1]), ("-heldout", drawn)):
            place = FORMATS / f"bundle-{RECORDS['bundle'][0].version}{name}"
            shutil.rmtree(place, ignore_errors=True)
            write_bundle(one.facts, one.judgement, place, pages=False)
        (FORMATS / f"card-{RECORDS['card'][0].version}.md").write_text(days[1].card("deployed"))
        keep_verdict(directory, days)
        keep_series(directory, days)
        keep_ledger(directory, days[1])
    known: dict[str, dict[str, str]] = json.loads(DIGESTS.read_text()) if DIGESTS.exists() else {}
    for name, (form, _) in RECORDS.items():
        known.setdefault(name, {})[str(form.version)] = records_digest(name)
    DIGESTS.write_text(json.dumps(known, indent=2) + "\n")
    print(f"{FORMATS}: written in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
