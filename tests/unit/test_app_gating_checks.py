"""What a gate asks of its evidence beside the policy, and where it may write."""

import os
import time
from pathlib import Path

import pytest

from builders import evaluation
from crosspath.app.gating_checks import (
    baseline_check,
    candidate_configuration,
    paths_check,
    replies_digest,
    sides_check,
    spec_check,
    toolchain_check,
    with_checks,
)
from crosspath.app.gating_places import NOTE_KEPT_S, VERDICT, clear_leftovers
from crosspath.app.gating_verdict import policy_text
from crosspath.app.placing import fresh_place, put_in_place, require_place
from crosspath.errors import ConfigError, StoreError
from crosspath.pipeline.gate import GateOutcome
from crosspath.spec.policy import load_policy
from crosspath.types import Evidence, Facts, Reply, Toolchain
from gate_verdicts import check, rule

PASSING = GateOutcome("PASS", (check(),), (rule(),), ("pass rate is at least 90 %",), ())


@pytest.fixture
def facts() -> Facts:
    """A small evaluation of two candidates."""
    return evaluation("few-1")[0]


def evidence(facts: Facts) -> Evidence:
    return Evidence(head=facts.head, lock=facts.lock, cells=facts.cells)


class TestChecks:
    def test_same_paths(self, facts: Facts) -> None:
        """Replays of some candidates only, on the paths of the evaluation, are what was evaluated."""
        some = facts.model_copy(update={"cells": facts.cells[:2]})
        assert paths_check("candidate", evidence(facts), some).ok

    def test_changed_path(self, facts: Facts) -> None:
        """A path with another digest is named, once, with both digests."""
        name = facts.cells[-1].transport
        cells = tuple(cell.model_copy(update={"path": "f" * 64}) if cell.transport == name else cell for cell in facts.cells)
        found = paths_check("baseline", evidence(facts), facts.model_copy(update={"cells": cells}))
        assert (found.name, found.ok) == ("baseline paths", False)
        assert found.sentence.count("is not what was evaluated") == 1
        assert f"the path {name} " in found.sentence
        assert "now ffffffffffff" in found.sentence

    def test_mixed_toolchains(self, facts: Facts) -> None:
        """Replays that ran with two versions of a program are no evidence."""
        now = facts.lock.toolchain or Toolchain(sandbox="fake")
        lock = facts.lock.model_copy(update={"toolchain": now, "earlier_toolchains": (Toolchain(sandbox="other"),)})
        assert toolchain_check(facts).ok
        assert not toolchain_check(facts.model_copy(update={"lock": lock})).ok

    def test_spec(self, facts: Facts) -> None:
        """Fields that a spec decides have to be equal, and those that differ are named with both values; what only a run tells
        (served model, toolchain, packages) is not asked of a spec."""
        known = candidate_configuration(evidence(facts), facts, facts.lock.candidates[0].name)
        other = known | {"op.temperature": "0.7", "toolchain.sandbox": "another", "packages.mlflow": "0", "model.served": "x"}
        assert spec_check(known, known).ok
        found = spec_check(known, other)
        assert not found.ok
        assert found.sentence == "it is not what was evaluated: op.temperature (0.0, now 0.7)"
        missing = {name: value for name, value in known.items() if name != "harness"}
        assert f"harness ({known['harness']}, now unset)" in spec_check(known, missing).sentence

    def test_one_side_twice(self, facts: Facts) -> None:
        """A candidate against itself is no comparison, in the same evaluation or in another that holds the same replies; one
        reply or one field of the configuration makes it one."""
        one, two = (candidate.name for candidate in facts.lock.candidates[:2])
        ours = evidence(facts), facts
        assert sides_check(ours, ours, [(one, two), ("nobody", one)]).ok
        assert sides_check(ours, ours, [(two, two)], unchanged=True).ok
        found = sides_check(ours, ours, [(one, two), (two, two)])
        assert (found.name, found.ok) == ("two sides", False)
        assert found.sentence.startswith(f"{two} of few-1 and {two} of few-1 are the same replies of the same configuration")
        later = facts.model_copy(update={"head": facts.head.model_copy(update={"id": "few-2", "created_at": 9e8})})
        assert not sides_check(ours, (evidence(later), later), [(one, one)]).ok
        first = next(t for t in facts.trials if t.key.generation == facts.lock.candidates[0].generation.digest)
        changed = tuple(t.model_copy(update={"reply": Reply(text="x")}) if t is first else t for t in facts.trials)
        assert sides_check(ours, (evidence(later), later.model_copy(update={"trials": changed})), [(one, one)]).ok
        candidates = tuple(c.model_copy(update={"harness": "strip"}) for c in facts.lock.candidates)
        cleaned = facts.model_copy(update={"lock": facts.lock.model_copy(update={"candidates": candidates})})
        assert sides_check(ours, (evidence(cleaned), cleaned), [(one, one)]).ok


class TestOutcome:
    def test_what_holds_changes_nothing(self) -> None:
        """Checks that hold are added, and the verdict stays."""
        found = with_checks(PASSING, [check("spec")])
        assert (found.status, found.reasons) == ("PASS", PASSING.reasons)
        assert [one.name for one in found.checks] == ["spec", "control"]

    def test_one_that_fails_is_enough(self) -> None:
        """The best rates are INVALID over evidence that is not about what would be released, and reasons for PASS are dropped."""
        found = with_checks(PASSING, [check("spec", False, "it is not what was evaluated")])
        assert (found.status, found.reasons) == ("INVALID", ("spec: it is not what was evaluated",))
        assert "crosspath run" in found.next_steps[0]

    def test_reasons_of_the_policy_stay(self) -> None:
        """Where the policy finds the evidence wanting, too, both are told."""
        invalid = GateOutcome("INVALID", (), (), ("faults: too many",), ("run again",))
        found = with_checks(invalid, [baseline_check("gone-1 can't be used: no such evaluation")])
        assert found.reasons == ("baseline: gone-1 can't be used: no such evaluation", "faults: too many")
        assert found.next_steps[-1] == "run again"


class TestFiles:
    def test_replies_digest(self, facts: Facts) -> None:
        """The order of trials plays no part; one letter of a reply does."""
        first, *others = facts.trials
        changed = first.model_copy(update={"reply": Reply(text="rm -r .")})
        assert replies_digest(facts.trials) == replies_digest(facts.trials[::-1])
        assert replies_digest(facts.trials) != replies_digest((changed, *others))

    def test_policy_comes_back(self) -> None:
        """A policy with its defaults written out reads as the same policy."""
        rules = "[{metric: pass_hat, k: 3, at_least: 0.5}, {metric: usd_per_pass, times_baseline: 1.5}]"
        text = f"name: p\nbaseline: models:/bot@champion\nrules: {rules}\n"
        policy = load_policy(text, "p.yaml")
        assert load_policy(policy_text(policy), "policy.yaml") == policy

    def test_place(self, tmp_path: Path) -> None:
        """An empty or a new directory is taken; a verdict only with force; anything else never."""
        (tmp_path / "empty").mkdir()
        (tmp_path / "file").write_text("x")
        (tmp_path / "link").symlink_to(tmp_path / "empty")
        (tmp_path / "mine").mkdir()
        (tmp_path / "mine" / "thesis.txt").write_text("x")
        require_place(tmp_path / "new", VERDICT, "verdict", force=False)
        require_place(tmp_path / "empty", VERDICT, "verdict", force=False)
        for name, words in (("file", "is no directory"), ("link", "is no directory"), ("mine", "holds no verdict")):
            for force in (False, True):
                with pytest.raises(ConfigError, match=words):
                    require_place(tmp_path / name, VERDICT, "verdict", force=force)

    def test_place_that_can_t_be_written(self, tmp_path: Path) -> None:
        """Names that are too long, places below a file and where nothing can be made are found before anything is replayed, in
        one line; a probe leaves nothing behind, and a long name that can be written is written."""
        (tmp_path / "file").write_text("x")
        long = "x" * 300
        places = (tmp_path / long, tmp_path / "new" / "er" / long, tmp_path / "file" / "sub", Path("/proc/xx/o"), Path("a\0b"))
        for place in places:
            with pytest.raises(ConfigError, match="can't be written") as caught:
                require_place(place, VERDICT, "verdict", force=False)
            assert "\n" not in str(caught.value)
        for place in (Path(), Path("/"), tmp_path / ".."):
            with pytest.raises(ConfigError, match="name a directory in it"):
                require_place(place, VERDICT, "verdict", force=True)
        require_place(tmp_path / "new" / "er", VERDICT, "verdict", force=False)
        assert [path.name for path in tmp_path.iterdir()] == ["file"]
        for _ in range(2):
            put_in_place(fresh_place(tmp_path / ("x" * 255)), tmp_path / ("x" * 255))

    def test_replacing_that_fails(self, tmp_path: Path) -> None:
        """Where the new result can't be put there, the earlier one is where it was."""
        place = tmp_path / "out"
        place.mkdir()
        (place / "verdict.json").write_text("first")
        with pytest.raises(StoreError, match="writing"):
            put_in_place(tmp_path / ".filling-gone", place)
        assert (place / "verdict.json").read_text() == "first"
        assert [path.name for path in tmp_path.iterdir()] == ["out"]
        with pytest.raises(StoreError, match="writing"):
            put_in_place(tmp_path / ".filling-gone", tmp_path / "new")

    def test_leftovers(self, tmp_path: Path) -> None:
        """What killed gates were filling goes, and notes that are too old to go on with; verdicts, an earlier one that was being
        replaced, young notes and what somebody else put there stay."""
        clear_leftovers(tmp_path / "none")
        kept = {"gate-20261130-220000-abcdef", ".old.filling-1", ".unfinished-young.json", "notes.txt"}
        gone = {".filling-12345678", ".filling-abcdefgh", ".unfinished-old.json", ".unfinished-young.new"}
        for name in kept | gone:
            if "gate-" in name or "filling-" in name:
                (tmp_path / name / "candidate").mkdir(parents=True)
            else:
                (tmp_path / name).write_text("{}")
        past = time.time() - NOTE_KEPT_S - 60
        os.utime(tmp_path / ".unfinished-old.json", (past, past))
        clear_leftovers(tmp_path)
        assert {path.name for path in tmp_path.iterdir()} == kept

    def test_replacing(self, tmp_path: Path) -> None:
        """A verdict is put in the place of an earlier one as a whole."""
        place = tmp_path / "out"
        for text in ("first", "second"):
            fresh = fresh_place(place)
            (fresh / "verdict.json").write_text(text)
            put_in_place(fresh, place)
            assert (place / "verdict.json").read_text() == text
            assert [path.name for path in tmp_path.iterdir()] == ["out"]
            with pytest.raises(ConfigError, match="holds a verdict already"):
                require_place(place, VERDICT, "verdict", force=False)
            require_place(place, VERDICT, "verdict", force=True)
