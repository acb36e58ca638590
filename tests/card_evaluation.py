"""One evaluation with all that a card must be able to say: several trials, faults, unstable replays, false alarms, silent wrongs,
code fences, tasks that can't be done, held-out ones, a path that can be survived and one that can't. No model, no sandbox.
"""

import hashlib
import itertools
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from crosspath.adapters.local_executor import LocalExecutor
from crosspath.app.resolve import resolve
from crosspath.app.session import gather, open_evaluation
from crosspath.errors import ModelError
from crosspath.pipeline.judge import judge
from crosspath.spec import load_spec
from crosspath.store.ledger import Ledger
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.testing.validator import FakeValidator
from crosspath.types import Command, Facts, FileEntry, Judgement, Reply, Request, Usage

SEED = "a seed of enough letters"
SPEC = """
name: carded
models:
  m: {{model: openai/my-model, api_base: "http://10.1.2.3:8000/v1", api_key_env: KEY_OF_TEST, params: {{user: tester}}}}
candidates:
  told: {{model: m, contract: nested-shell, transport: nested-shell, operating_point: {{temperature: 0.5}}}}
  opaque: {{model: m, transport: mine, harness: strip}}
  plain: {{model: m}}
transports:
  mine: {{external: {{argv: [python3, {place}/harness/run.py], bind: [{place}/harness]}}}}
tasks: {{families: [exact-file, infeasible], partition: both, heldout_seed_env: SEED_OF_TEST}}
trials: {trials}
retries: {{max_attempts: 1, max_wait_s: 0}}
"""
SAID = re.compile(r"do (?P<task>\S+) (?P<number>\d) (?P<contract>\S+) (?P<price>\\*\$5)")
"""A reply, wherever it stands in a command; a path that was encoded for has backslashes in it."""
WRONG = Effect(writes=(FileEntry(path=b"surplus.txt", content=b"?"),))
OUTCOMES = ("right", "right", "right", "silent", "told", "racy", "late", "fault")


def chance(*parts: object) -> int:
    """A number that depends on nothing but ``parts``."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:4])


class Script:
    """What the model replies and what commands do: drawn from what they are about, so that every kind of outcome occurs."""

    def __init__(self) -> None:
        self.effects: dict[str, Effect] = {}
        self._seen: Counter[str] = Counter()

    def reply(self, request: Request) -> Reply | ModelError:
        """A text that names its trial; some trials are lost, some decline."""
        task, index = request.trial.task, request.trial.index
        number = chance(task, index, request.contract)
        if number % 11 == 0:
            return ModelError("status 529: no /home/someone/secret.txt", type_="server_error")
        declines = task.startswith("infeasible") and number % 3 > 0
        text = "CANNOT: it is not there" if declines else f"do {task} {number % 3} {request.contract} $5"
        if number % 7 == 3 and not declines:
            text = f"```sh\n{text}\n```"
        usage = Usage(prompt_tokens=10, completion_tokens=5) if number % 5 else None
        return Reply(text=text, usage=usage, served_model="my-model-2024", fingerprint="fp", latency_s=0.1)

    def effect(self, command: Command) -> Effect:
        """Right, wrong, late, racy or lost, by what the reply says; a path that nobody encoded for breaks half of the rest."""
        words = b" ".join(command.argv) + command.stdin + b"".join(file.content for file in command.files)
        text = words.decode("utf-8", "replace")
        said = SAID.search(text)
        if said is None:
            return Effect()
        task = said["task"]
        if task.startswith("infeasible"):
            return WRONG if chance(text) % 2 else Effect()
        encoded = said["price"] != "$5"
        if "```" in text.replace("\\", ""):
            return Effect(exit_code=127, stderr=b"bash: sh: command not found")
        broken = ('"do ' in text or "run.py" in text) and not encoded and "/word" not in task and chance(said[0]) % 2
        kind = "silent" if broken else OUTCOMES[chance(task, said["number"], said["contract"]) % len(OUTCOMES)]
        return self._outcome(kind, self.effects[task], text)

    def _outcome(self, kind: str, right: Effect, text: str) -> Effect:
        self._seen[text] += 1
        if kind == "fault":
            return Effect(timed_out=True, exit_code=None)
        if kind == "racy":
            return right if self._seen[text] % 2 else WRONG
        if kind == "late":
            return Effect(writes=right.writes, timed_out=True, exit_code=None)
        return {"right": right, "silent": WRONG, "told": Effect(exit_code=3, stderr=b"bash: no")}[kind]


def card_evaluation(place: Path, trials: int = 3) -> tuple[Facts, Judgement]:
    """Facts and judgement of that evaluation, in ``place``."""
    (place / "harness").mkdir(parents=True)
    (place / "harness" / "run.py").write_text("print('harness')\n")
    os.environ["SEED_OF_TEST"] = SEED
    try:
        resolved = resolve(load_spec(SPEC.format(place=place, trials=trials), "carded.yaml"), place)
    finally:
        del os.environ["SEED_OF_TEST"]
    script = Script()
    script.effects = {task.id: Effect(writes=task.expected) for task in resolved.plan.tasks.values()}
    executor = LocalExecutor(lambda: ScriptedModel(script.reply), sandbox(script), replay_workers=1)
    ledger = Ledger(place / "store")
    try:
        facts = gather(ledger, resolved, open_evaluation(ledger, resolved), executor)
    finally:
        ledger.close()
    return facts, judge(facts, FakeValidator())


def sandbox(script: Script) -> Callable[[], FakeSandbox]:
    """Makes the sandbox of a worker."""
    return lambda: FakeSandbox(script.effect)


def without_times(facts: Facts) -> Facts:
    """The same facts at fixed moments, so that what is made of them is the same each time."""
    head = facts.head.model_copy(update={"id": "carded-20261129-1", "created_at": 1_764_400_000.0})
    moments = itertools.count(1_764_400_000.0, 60.0)
    return facts.model_copy(update={"head": head, "sessions": tuple((next(moments), next(moments)) for _ in facts.sessions)})
