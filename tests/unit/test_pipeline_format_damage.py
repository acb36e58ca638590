"""What the format of replies costs: the other clean-up, replayed after the session, on the same path and without a request."""

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from crosspath.app.planning import plan_document, plan_text
from crosspath.app.resolve import Resolved, resolve
from crosspath.app.session import gather, open_evaluation
from crosspath.pipeline import clean_ups
from crosspath.pipeline.clean_ups import alternatives, changes, owed_replays
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.format_damage import right_otherwise
from crosspath.pipeline.judge import judge
from crosspath.pipeline.scores import score_replays
from crosspath.spec import load_spec
from crosspath.store.bundle import read_bundle, write_bundle
from crosspath.store.ledger import Ledger
from crosspath.testing.executor import FakeExecutor
from crosspath.testing.model import ScriptedModel
from crosspath.testing.sandbox import Effect, FakeSandbox
from crosspath.testing.validator import FakeValidator
from crosspath.types import Command, Facts, FileEntry, Judgement, ReplayJob, Reply, Request

RIGHT = Effect(writes=(FileEntry(path=b"out.txt", content=b"right"),))
WRONG = Effect(writes=(FileEntry(path=b"out.txt", content=b"wrong"),))
PLAIN = "printf right > out.txt"
FENCED = f"Here you go:\n\n```bash\n{PLAIN}\n```\n"
MADE_WORSE = "```\nprintf wrong > out.txt\n```\nprintf right > out.txt"
REPLIES = {"a": PLAIN, "b": FENCED, "c": FENCED, "d": MADE_WORSE}
"""Task -> reply: as it is it is right for ``a`` and ``d`` alone, without its fence for all but ``d``."""


def effect(command: Command) -> Effect:
    """A shell that takes nothing but the first word of a text for a command."""
    text = command.argv[-1].decode()
    return RIGHT if text.removeprefix('bash -c "').startswith("printf right") or text.endswith(PLAIN) else WRONG


@dataclass
class Counting:
    """Executes by script and counts; from the ``dies``-th list of jobs on every worker dies over it."""

    dies: int = 10**9
    runs: Counter[bytes] = field(default_factory=Counter[bytes])
    lists: int = 0

    def executor(self) -> FakeExecutor:
        script = ScriptedModel(lambda request: Reply(text=REPLIES[request.trial.task], finish_reason="stop"))
        return FakeExecutor(lambda: script, lambda: FakeSandbox(self._effect), dies=self._killed)

    def _effect(self, command: Command) -> Effect:
        self.runs[command.argv[-1]] += 1
        return effect(command)

    def _killed(self, work: Request | Sequence[ReplayJob]) -> bool:
        self.lists += not isinstance(work, Request)
        return self.lists >= self.dies and not isinstance(work, Request)


Specify = Callable[..., Resolved]


@pytest.fixture
def specify(tmp_path: Path) -> Specify:
    """A spec of four tasks for one model behind an endpoint."""

    def made(**candidates: dict[str, str]) -> Resolved:
        tasks = [
            {"id": name, "family": f"f-{name}", "tier": 1, "instruction": "go", "expected": {"out.txt": "right"}}
            for name in REPLIES
        ]
        (tmp_path / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
        spec = {
            "name": "formats",
            "models": {"m": {"model": "openai/m", "api_base": "http://127.0.0.1:9/v1"}},
            "candidates": {name.replace("_", " "): {"model": "m", **axes} for name, axes in candidates.items()},
            "tasks": {"files": ["tasks.jsonl"]},
            "limits": {"max_requests": 100},
        }
        (tmp_path / "spec.yaml").write_text(json.dumps(spec))
        return resolve(load_spec(json.dumps(spec), "spec"), tmp_path)

    return made


def run(resolved: Resolved, store: Path, counting: Counting | None = None) -> Facts:
    """One session."""
    ledger = Ledger(store)
    try:
        return gather(ledger, resolved, open_evaluation(ledger, resolved), (counting or Counting()).executor())
    finally:
        ledger.close()


def judged(facts: Facts) -> Judgement:
    """By the plain validator."""
    return judge(facts, FakeValidator())


def without(facts: Facts) -> Facts:
    """As an older version would have left them: nothing beside the plan."""
    planned = {(cell.path, cell.generation.digest) for cell in facts.cells}
    kept = tuple(one for one in facts.replays if (one.key.path, one.key.trial.generation) in planned)
    return facts.model_copy(update={"replays": kept})


def test_the_format_costs_what_a_clean_up_would_have_saved(specify: Specify, tmp_path: Path) -> None:
    """Two of four replies are right only without their fence, one only with it; the one without a fence is not replayed."""
    facts = run(specify(c={}), tmp_path / "store")
    (found,) = judged(facts).format_damage
    assert (found.own, found.strict, found.cleaned, found.cell) == ("none", "none", "fenced-block", "RR")
    assert (found.replies, found.changed, found.scored) == (4, 3, 3)
    assert (found.strict_passed, found.cleaned_passed, found.lost, found.gained) == (1, 2, 2, 1)
    assert found.tasks == ("b", "c", "d")
    assert found.effect is not None
    assert (found.effect.value, found.effect.n, found.effect.estimand) == (-0.25, 4, "these_replies")
    assert found.population is not None
    assert (found.population.value, found.population.estimand) == (-0.25, "task_population")


def test_a_harness_that_cleans_is_compared_with_one_that_does_not(specify: Specify, tmp_path: Path) -> None:
    """The same number from the other side: strict minus cleaned."""
    facts = run(specify(c={"harness": "fenced-block"}), tmp_path / "store")
    (found,) = judged(facts).format_damage
    assert (found.own, found.strict, found.cleaned) == ("fenced-block", "none", "fenced-block")
    assert (found.strict_passed, found.cleaned_passed, found.lost, found.gained) == (1, 2, 2, 1)
    assert found.effect is not None
    assert found.effect.value == -0.25


def test_white_space_that_a_harness_strips_is_compared_with_a_fence_taken_off(specify: Specify, tmp_path: Path) -> None:
    """``strip`` takes no fence off, so it is the strict side."""
    facts = run(specify(c={"harness": "strip"}), tmp_path / "store")
    (found,) = judged(facts).format_damage
    assert (found.own, found.strict, found.cleaned, found.changed) == ("strip", "strip", "fenced-block", 3)


def test_replays_with_another_clean_up_change_nothing_else(specify: Specify, tmp_path: Path) -> None:
    """No rate, effect, control, score, spend or warning, and no request; only where a failing trial was lost."""
    facts = run(specify(c={"transport": "nested-shell", "contract": "nested-shell"}), tmp_path / "store")
    further = set(facts.replays) - set(without(facts).replays)
    assert len(further) == 3
    assert {one.key.encoded for one in further} == {False}
    assert len(facts.attempts) == 8
    with_, plain = judged(facts), judged(without(facts))
    same = set(Judgement.model_fields) - {"format_damage", "losses"}  # what is lost to the format follows from them
    assert {name for name in same if getattr(with_, name) != getattr(plain, name)} == set()
    assert all(score.key.path in {cell.path for cell in facts.cells} for score in with_.scores)


def test_an_evaluation_without_these_replays_says_that_it_was_not_measured(specify: Specify, tmp_path: Path) -> None:
    """An older version left none: no effect, and the reason."""
    (found,) = judged(without(run(specify(c={}), tmp_path / "store"))).format_damage
    assert (found.changed, found.effect, found.population) == (3, None, None)
    assert "none of the 3 replies that it would change was replayed that way" in found.unmeasured


def test_a_reply_whose_replay_is_a_fault_is_missing(specify: Specify, tmp_path: Path) -> None:
    """What could not be observed with the other clean-up bounds the effect and is not guessed."""
    facts = run(specify(c={}), tmp_path / "store")
    planned = {cell.path for cell in facts.cells}
    lost = next(one for one in facts.replays if one.key.path not in planned)
    (found,) = judged(facts.model_copy(update={"replays": tuple(one for one in facts.replays if one != lost)})).format_damage
    assert (found.changed, found.scored) == (3, 2)
    assert found.effect is not None
    assert (found.effect.n, found.effect.missing) == (3, 1)


def test_a_session_that_stopped_goes_on_and_executes_nothing_twice(specify: Specify, tmp_path: Path) -> None:
    """Stopped between two replays of the other clean-up: the next session does the rest, with no request."""
    resolved = specify(c={})
    stopped, further = Counting(dies=len(REPLIES) + 2), Counting()
    assert run(resolved, tmp_path / "store", stopped).head.status == "stopped"
    facts = run(resolved, tmp_path / "store", further)
    assert (facts.head.status, len(facts.sessions), len(facts.attempts)) == ("finished", 2, 4)
    assert (stopped.runs.total(), further.runs.total(), len(facts.replays)) == (5, 2, 7)
    (found,) = judged(facts).format_damage
    assert found.scored == 3


def test_candidates_that_differ_in_their_clean_up_share_their_replays(specify: Specify, tmp_path: Path) -> None:
    """Each is the other's alternative, so that nothing is left to replay."""
    facts = run(specify(as_is={}, cleaned={"harness": "fenced-block"}), tmp_path / "store")
    assert without(facts).replays == facts.replays
    assert owed_replays(facts).keys == {}
    strict, cleaned = judged(facts).format_damage
    assert strict.effect == cleaned.effect
    assert (strict.lost, cleaned.lost) == (2, 2)


def test_many_candidates_are_not_all_replayed_and_the_rest_says_so(
    specify: Specify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beyond the most, the record has a reason in place of an effect."""
    monkeypatch.setattr(clean_ups, "MOST_CANDIDATES", 1)
    facts = run(specify(first={}, second={"transport": "nested-shell"}), tmp_path / "store")
    first, second = judged(facts).format_damage
    assert (first.unmeasured, first.effect is None) == ("", False)
    assert second.effect is None
    assert "first 16 candidates" in second.unmeasured


def test_tool_calls_have_no_text_to_clean(specify: Specify, tmp_path: Path) -> None:
    """Nothing is replayed, and the reason is given."""
    resolved = specify(c={"contract": "tool-call-nested-shell"})
    facts = run(resolved, tmp_path / "store")
    assert owed_replays(facts).keys == {}
    (found,) = judged(facts).format_damage
    assert "tool calls" in found.unmeasured


def test_a_bundle_keeps_what_was_measured(specify: Specify, tmp_path: Path) -> None:
    """From its files alone any machine finds the same effect, with the same path under the same digest."""
    facts = run(specify(c={}), tmp_path / "store")
    write_bundle(facts, judged(facts), tmp_path / "bundle")
    assert judged(read_bundle(tmp_path / "bundle")).format_damage == judged(facts).format_damage


def test_what_was_measured_is_not_guessed_in_a_warning(specify: Specify, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether a fence should be taken off is known then; before, the replies that are one fenced block are counted."""
    monkeypatch.setitem(REPLIES, "b", "```\nprintf right > out.txt\n```")
    facts = run(specify(c={}), tmp_path / "store")
    assert not any("code fence" in line for line in judged(facts).warnings)
    assert any("code fence" in line for line in judged(without(facts)).warnings)


def test_what_is_right_otherwise_is_known_trial_by_trial(specify: Specify, tmp_path: Path) -> None:
    """For whoever asks where a trial was lost."""
    facts = run(specify(c={}), tmp_path / "store")
    (one,) = alternatives(facts)
    index = FactIndex(facts, score_replays(facts, FakeValidator(), [one]))
    assert right_otherwise(index, one) == {("b", 0): True, ("c", 0): True, ("d", 0): False}


def test_a_plan_says_how_many_more_may_come(specify: Specify, tmp_path: Path) -> None:
    """The most: every reply of every candidate; what is planned for another one already is not counted again."""
    specify(c={}, d={"transport": "nested-shell"}, e={"harness": "fenced-block"})
    document = plan_document(tmp_path / "spec.yaml")
    assert document["replays_of_another_clean_up_at_most"] == 4
    assert "and up to 4 more" in plan_text(document)


def test_only_a_clean_up_that_changes_something_asks_for_a_replay() -> None:
    """A fence does, plain text does not, and white space only where the harness strips it."""
    assert changes(FENCED, "none")
    assert not changes(PLAIN + "\n", "none")
    assert changes(PLAIN + "\n", "strip")
    assert not changes(PLAIN, "strip")
