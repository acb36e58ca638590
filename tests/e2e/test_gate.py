"""The gate on baselines, recorded replies and a real HTTP server: its four verdicts, what faults may do to them, and its audit.

One evaluation holds every candidate, so that each gate replays only what it is about.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.app import adapters
from crosspath.app.auditing import audit
from crosspath.app.auditing_files import UnreadableError
from crosspath.app.gating import Gate, gate
from crosspath.catalogue import catalogue_tasks
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.pipeline.evaluate import Progress
from crosspath.pipeline.judge import judge
from crosspath.store.bundle import read_bundle, write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

FAMILIES = ("exact-file", "env-value", "csv-append", "json-value", "cron-line", "config-edit")
TASKS = [task for task in catalogue_tasks() if task.family in FAMILIES and task.tier in (0, 1)]
ORACLES = {task.instruction: task.oracle for task in TASKS}
LOST = {TASKS[number].instruction for number in (1, 4, 8)}
"""A quarter of the tasks: the model ``broken`` never answers them."""
SPEC = """\
name: few
tasks: {{families: [{families}], tiers: [0, 1]}}
models:
  steady: {{model: openai/steady, api_base: {url}, api_key_env: KEY_OF_TEST}}
  shaky: {{model: openai/shaky, api_base: {url}, api_key_env: KEY_OF_TEST}}
  broken: {{model: openai/broken, api_base: {url}, api_key_env: KEY_OF_TEST}}
candidates:
  steady: {{model: steady}}
  shaky: {{model: shaky}}
  broken: {{model: broken}}
  told: {{model: baseline/adaptive, contract: nested-shell, transport: nested-shell}}
  recorded: {{model: recorded/replies.jsonl, transport: nested-shell}}
retries: {{max_attempts: 4, max_wait_s: 0.01}}
executor: {{kind: local, replay_workers: 2}}
"""
OTHER = """\
name: other
tasks: {{families: [{families}], tiers: [0, 1]}}
candidates: {{oracle: baseline/oracle}}
executor: {{kind: local, replay_workers: 2}}
"""
POLICY = """\
evidence: {control: none, min_families: 6, min_tasks: 12, min_mutations_rejected: 0}
rules:
  - {metric: pass_rate, at_least: 0.5}
"""
AGAINST = POLICY.replace(", min_mutations_rejected: 0", "") + "  - {metric: pass_rate, margin: 0.45}\n"
"""With a rule against the baseline, and with an audit of the suite."""
TOLERANT = POLICY.replace("control: none", "control: none, max_faults: 0.5, min_coverage: 0.5")


class Answering:
    """The oracle's command; ``shaky`` refuses a fifth of the tasks when they are first asked, ``broken`` never answers some."""

    def __init__(self) -> None:
        self._refused: set[str] = set()

    def __call__(self, received: Received) -> Turn:
        asked = received.body["messages"][-1]["content"]
        model = received.body["model"]
        if model == "broken" and asked in LOST:
            return fails(500)
        if model == "shaky" and asked in list(ORACLES)[::5] and asked not in self._refused:
            self._refused.add(asked)
            return fails(429 if len(self._refused) % 2 else 503, retry_after="0")
        return answer(ORACLES[asked], model=model)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A directory with a store of two evaluations, and policies; the server is gone when the gates run, and so is the key."""
    place = tmp_path_factory.mktemp("gate")
    lines = [{"model": "recorded", "task": task.id, "contract": "raw", "trial": 0, "reply": task.naive} for task in TASKS]
    (place / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    for name, text in (("policy", POLICY), ("against", AGAINST), ("tolerant", TOLERANT)):
        (place / f"{name}.yaml").write_text(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("CROSSPATH_STORE", str(place / "store"))
        (place / "other.yaml").write_text(OTHER.format(families=", ".join(FAMILIES)))
        with OpenAIServer(Answering()) as server, pytest.MonkeyPatch.context() as keyed:
            keyed.setenv("KEY_OF_TEST", "sk-test")
            (place / "few.yaml").write_text(SPEC.format(families=", ".join(FAMILIES), url=server.url))
            crosspath.evaluate(place / "other.yaml", track=False)
            (place / "id").write_text(crosspath.evaluate(place / "few.yaml", track=False).id)
            assert len(server.requests) > 3 * len(TASKS)
        yield place


@pytest.fixture(scope="module")
def gated(place: Path) -> Callable[..., Gate]:
    """Gate a candidate of the evaluation; the same gate once for all tests."""
    done: dict[str, Gate] = {}
    few = (place / "id").read_text()

    def once(policy: str, candidate: str, baseline: str | None = None) -> Gate:
        key = f"{policy}-{candidate}-{baseline}"
        if key not in done:
            other = f"{few}:{baseline}" if baseline else None
            done[key] = gate(place / f"{policy}.yaml", candidate=f"{few}:{candidate}", baseline=other, track=False)
        return done[key]

    return once


def broken_rules(done: Gate) -> list[str]:
    return [f"{rule.metric}: {rule.state}" for rule in done.verdict.rules]


class TestVerdicts:
    def test_pass(self, gated: Callable[..., Gate]) -> None:
        """A candidate that gets everything right passes, by itself and against another, and its control holds."""
        done = gated("against", "told", "steady")
        assert (done.verdict.status, done.exit_code) == ("PASS", 0)
        assert broken_rules(done) == ["pass_rate: shown", "pass_rate: shown"]
        assert done.verdict.candidate.bundle == "candidate"

    def test_fail(self, gated: Callable[..., Gate], place: Path) -> None:
        """Recorded replies that lose half of the tasks to the path fail a rule that asks for nearly all."""
        (place / "strict.yaml").write_text(POLICY.replace("0.5", "0.95"))
        done = gated("strict", "recorded")
        assert (done.verdict.status, done.exit_code) == ("FAIL", 1)
        assert broken_rules(done) == ["pass_rate: violated"]

    def test_inconclusive(self, gated: Callable[..., Gate], place: Path) -> None:
        """Six families can't show a pass rate of 90 %, and the verdict says what would decide it."""
        (place / "high.yaml").write_text(POLICY.replace("0.5", "0.9"))
        done = gated("high", "steady")
        assert (done.verdict.status, done.exit_code) == ("INCONCLUSIVE", 3)
        assert "families" in done.verdict.rules[0].needs

    def test_invalid(self, gated: Callable[..., Gate], place: Path) -> None:
        """Evidence that the policy does not take gives no verdict, however good the rates are."""
        (place / "many.yaml").write_text(POLICY.replace("min_families: 6", "min_families: 20"))
        done = gated("many", "steady")
        assert (done.verdict.status, done.exit_code) == ("INVALID", 4)
        assert "candidate families" in done.verdict.reasons[0]

    def test_itself(self, gated: Callable[..., Gate]) -> None:
        """A candidate that is its own baseline is compared with nothing, and is never a PASS; the audit says so, too."""
        done = gated("against", "steady", "steady")
        assert (done.verdict.status, done.exit_code) == ("INVALID", 4)
        assert done.verdict.reasons[0].startswith("two sides: steady of few-")
        assert "what is deployed today" in done.verdict.next_steps[0]
        assert audit(done.directory).holds


class TestFaults:
    def test_retried(self, gated: Callable[..., Gate]) -> None:
        """429s and 5xx on a fifth of the requests, with retries, change nothing: the verdict is that of an undisturbed run."""
        calm, shaken = gated("policy", "steady").verdict, gated("policy", "shaky").verdict
        assert calm.status == shaken.status == "PASS"
        assert calm.rules == shaken.rules

    def test_beyond_retries(self, gated: Callable[..., Gate]) -> None:
        """Trials that stay without a reply make the evidence INVALID; a policy that takes them gets no verdict from them."""
        assert gated("policy", "broken").verdict.status == "INVALID"
        assert any("fault" in reason for reason in gated("policy", "broken").verdict.reasons)
        assert gated("tolerant", "broken").verdict.status == "INCONCLUSIVE"
        assert gated("tolerant", "steady").verdict.status == "PASS"


class TestEvidence:
    def test_no_request(self, place: Path, gated: Callable[..., Gate]) -> None:
        """Replies come from the ledger: no attempt is made, and the replays are new ones of this gate."""
        done = gated("policy", "steady")
        facts = read_bundle(done.directory / "candidate")
        assert facts.attempts == ()
        assert len(facts.trials) == len(TASKS)
        assert facts.head.derived_from == (place / "id").read_text()
        assert [candidate.name for candidate in facts.lock.candidates] == ["steady"]

    def test_latest_is_no_replay_of_a_gate(self, place: Path, gated: Callable[..., Gate]) -> None:
        """What a gate replayed is not what ``latest`` means afterwards."""
        gated("policy", "steady")
        assert crosspath.load("latest").id == (place / "id").read_text()

    def test_unfinished_and_missing(self, place: Path, tmp_path: Path) -> None:
        """A candidate that is missing, not named or unfinished is one clear line, and nothing is written."""
        few = (place / "id").read_text()
        for candidate, words in (
            ("nothing-1", "no evaluation 'nothing-1'"),
            (few, "has 5 candidates"),
            (f"{few}:nobody", "'nobody' is not a candidate"),
        ):
            with pytest.raises(ConfigError, match=words) as caught:
                gate(place / "policy.yaml", candidate=candidate, track=False, output=tmp_path / "out")
            assert "\n" not in str(caught.value)
        assert not (tmp_path / "out").exists()

    def test_running(self, place: Path, tmp_path: Path) -> None:
        """An evaluation that was interrupted is refused, with what goes on with it."""
        source = crosspath.load((place / "id").read_text()).facts
        ledger = Ledger(tmp_path / "store")
        ledger.open_evaluation(source.model_copy(update={"head": source.head.model_copy(update={"status": "running"})}))
        ledger.close()
        with pytest.raises(ConfigError, match="is unfinished"):
            gate(place / "policy.yaml", candidate="latest:steady", track=False, store=tmp_path / "store")

    def test_unreadable_baseline(self, place: Path, gated: Callable[..., Gate]) -> None:
        """A baseline that can't be read is INVALID where a rule needs it, and says why; where none does, it is left out."""
        few = (place / "id").read_text()
        done = gate(place / "against.yaml", candidate=f"{few}:steady", baseline="gone-1", track=False)
        assert (done.verdict.status, done.exit_code, done.verdict.baseline) == ("INVALID", 4, None)
        assert "gone-1 can't be used: no evaluation 'gone-1'" in done.verdict.reasons[0]
        assert audit(done.directory).holds
        with pytest.raises(ConfigError, match="--baseline"):
            gate(place / "against.yaml", candidate=f"{few}:steady", track=False)

    def test_interrupted(self, place: Path) -> None:
        """A gate that dies goes on: what was replayed of either side is kept, and the verdict is that of both."""
        few, asked = (place / "id").read_text(), place / "against.yaml"
        sides: dict[str, Any] = {"candidate": f"{few}:steady", "baseline": "other-" + few.removeprefix("few-"), "track": False}

        def dying(progress: Progress) -> None:
            if progress.replays_done == 5 and "other" in progress_names:
                raise RuntimeError("killed")

        progress_names: list[str] = []
        with pytest.raises(RuntimeError, match="killed"):
            gate(asked, **sides, progress=Progress(changed=dying, began=lambda words: _note_second(progress_names, words)))
        said: list[str] = []
        done = gate(asked, **sides, notify=said.append)
        assert any("was replayed before this gate was interrupted" in line for line in said)
        assert any(line.startswith("going on with other-") for line in said)
        assert done.verdict.status == "PASS"
        assert {done.verdict.candidate.bundle, done.verdict.baseline and done.verdict.baseline.bundle} == {
            "candidate",
            "baseline",
        }
        assert not list((place / "store" / "gates").glob(".unfinished-*"))

    def test_spec(self, place: Path) -> None:
        """With the spec, the candidate there has to be what was evaluated; the fields that differ are named."""
        few = (place / "id").read_text()
        changed = (
            (place / "few.yaml").read_text().replace("{model: steady}", "{model: steady, operating_point: {temperature: 0.7}}")
        )
        (place / "changed.yaml").write_text(changed)
        done = gate(place / "policy.yaml", candidate=f"{few}:steady", spec=place / "changed.yaml", track=False)
        assert done.verdict.status == "INVALID"
        assert "op.temperature" in done.verdict.reasons[0]
        assert audit(done.directory).holds


def _note_second(names: list[str], words: str) -> None:
    """Which of the two sessions has begun."""
    if words.startswith("replaying:"):
        names.append("other" if names else "first")


class TestCommand:
    def test_forms(self, place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """The command prints the form that is asked for, writes its directory, and ends with the verdict's exit code."""
        few, out = (place / "id").read_text(), tmp_path / "out"
        words = ["gate", str(place / "policy.yaml"), "--candidate", f"{few}:steady", "--no-mlflow", "--executor", "local"]
        assert run([*words, "--output", str(out), "--format", "json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert printed == json.loads((out / "verdict.json").read_text())
        assert (out / "junit.xml").read_text().startswith("<?xml")
        assert run([*words, "--output", str(out)]) == 2
        assert "holds a verdict already" in capsys.readouterr().err
        assert run(["audit", str(out / "verdict.json")]) == 0
        assert capsys.readouterr().out.startswith("audit holds: PASS of gate-")


class TestAudit:
    @pytest.fixture
    def copy(self, gated: Callable[..., Gate], tmp_path: Path) -> Path:
        """A verdict that may be tampered with."""
        return Path(shutil.copytree(gated("policy", "steady").directory, tmp_path / "verdict"))

    def test_holds(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A verdict that nobody touched follows from what is beside it, wherever that lies."""
        assert audit(copy).holds
        assert audit(copy / "verdict.json").differences == ()

    def edited(self, copy: Path, change: Callable[[dict[str, Any]], object]) -> tuple[str, ...]:
        document = json.loads((copy / "verdict.json").read_text())
        change(document)
        (copy / "verdict.json").write_text(json.dumps(document))
        return audit(copy).differences

    def test_status(self, copy: Path) -> None:
        """A status that was edited by hand is named with the one that follows."""
        found = self.edited(copy, lambda verdict: verdict.update(status="FAIL"))
        assert found[0] == 'verdict.json: status is "FAIL", and "PASS" follows from the evidence'

    def test_rule_dropped(self, copy: Path) -> None:
        """A rule that is missing from the results, or from the policy in the verdict, is found."""
        found = self.edited(copy, lambda verdict: verdict.update(rules=[]))
        assert found == ("verdict.json: rules is a list of 0, and a list of 1 follows from the evidence",)

    def test_number(self, copy: Path) -> None:
        """One changed number is enough."""
        found = self.edited(copy, lambda verdict: verdict["rules"][0].update(p_shown=0.001))
        assert len(found) == 1
        assert "rules[0].p_shown is 0.001" in found[0]

    def test_another_candidate(self, copy: Path) -> None:
        """A verdict can't be passed off as that of another candidate or another day."""
        found = self.edited(
            copy, lambda verdict: (verdict["candidate"]["ref"].update(candidate="told"), verdict.update(created_at=1e9))
        )
        assert "which is not the time in" in found[0]
        assert "candidate.ref is" in found[1]

    def test_what_was_asked(self, place: Path, gated: Callable[..., Gate], tmp_path: Path) -> None:
        """Which version, run or candidate it was, and whether there was a spec or a baseline, is kept beside the verdict:
        an edit of the verdict alone is found, whatever would be drawn from it."""
        copy = Path(shutil.copytree(gated("against", "told", "steady").directory, tmp_path / "sides"))
        changes: dict[str, Callable[[dict[str, Any]], object]] = {
            "candidate.ref.model is": lambda it: it["candidate"].update(ref={"model": "k", "version": 99}),
            "candidate.run is": lambda it: it["candidate"].update(run="f" * 32),
            "candidate.candidate is": lambda it: it["candidate"].update(candidate="steady"),
            "spec_configuration is": lambda it: it.update(spec_configuration={}),
            "baseline_unreadable is": lambda it: it.update(baseline_unreadable="gone"),
            "it has no baseline, and one was asked for": lambda it: it.update(baseline=None),
        }
        original = (copy / "verdict.json").read_text()
        for words, change in changes.items():
            assert any(words in found for found in self.edited(copy, change)), words
            (copy / "verdict.json").write_text(original)
        assert audit(copy).holds

    def test_margin(self, copy: Path) -> None:
        """A policy with another bound than the verdict's is found, by value and by digest."""
        text = (copy / "policy.yaml").read_text()
        (copy / "policy.yaml").write_text(text.replace("at_least: 0.5\n", "at_least: 0.4\n"))
        found = audit(copy).differences
        assert "verdict.json: policy.rules[0].at_least is 0.5, and policy.yaml has 0.4" in found
        assert any("its digest is" in difference for difference in found)

    def test_reply(self, copy: Path) -> None:
        """A bundle with one changed reply is found: by its index, and where that was written anew, by the commands that ran."""
        bundle = copy / "candidate"
        facts = read_bundle(bundle)
        trial = facts.trials[0]
        assert trial.reply
        changed = trial.model_copy(update={"reply": trial.reply.model_copy(update={"text": "rm -r ."})})
        facts = facts.model_copy(update={"trials": (changed, *facts.trials[1:])})
        write_bundle(facts, judge(facts, adapters.make_validator()), bundle)
        found = " ".join(audit(copy).differences)
        assert f"are not what the paths make of the stored replies: {trial.key.task}#0" in found
        assert "candidate.bundle_digest" in found
        assert "candidate.replies_digest" in found
        (bundle / "trials.parquet").write_bytes((bundle / "trials.parquet").read_bytes() + b"x")
        assert "torn bundle" in audit(copy).differences[0]

    def test_evidence(self, copy: Path) -> None:
        """What the evidence said of itself is covered, too."""
        file = copy / "candidate-evidence.json"
        evidence = json.loads(file.read_text())
        evidence["head"]["created_at"] += 60
        evidence["lock"]["trials"] = 7
        file.write_text(json.dumps(evidence))
        found = " ".join(audit(copy).differences)
        assert "candidate.created_at" in found
        assert "candidate.lock_digest" in found
        assert "candidate.configuration.trials" in found

    def test_pages(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """A comment or test report that says something else than the verdict is found; of another version's it is said that
        nobody looked."""
        (copy / "verdict.md").write_text("### Crosspath gate: PASS\n")
        assert audit(copy).differences == ("verdict.md does not say what follows from the evidence",)
        assert self.edited(copy, lambda verdict: verdict.update(crosspath="0.0.1")) == ()
        assert run(["audit", str(copy)]) == 0
        assert "Not checked: verdict.md and junit.xml were not compared: Crosspath 0.0.1 wrote them" in capsys.readouterr().out

    def test_unreadable(self, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """What can't be read is one line and exit code 4, never a verdict that holds."""
        (copy / "policy.yaml").write_text("rules: 3\n")
        with pytest.raises(UnreadableError, match=r"policy\.yaml"):
            audit(copy)
        (copy / "verdict.json").write_text("{}")
        assert run(["audit", str(copy)]) == 4
        assert len(capsys.readouterr().err.splitlines()) == 1
        assert run(["audit", str(copy / "nowhere")]) == 4
        assert "there is no " in capsys.readouterr().err
