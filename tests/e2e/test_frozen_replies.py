"""Stored replies executed again on a machine with another shell or awk: what flips, what is racy, what kills leave."""

import json
import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path

import pytest

import crosspath
from crosspath.app import frozen
from crosspath.app.finding import find_head
from crosspath.app.frozen import frozen_replays
from crosspath.app.gating_replays import Place
from crosspath.store.ledger import Ledger
from crosspath.types import Facts
from crosspath.types.drift import FrozenOutcome, ToolchainDrift
from other_image import run_in, with_bash_as_sh, with_literal_awk

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")

LOOK = Path(__file__).parents[1] / "frozen_look.py"
COIN = "if [ $((RANDOM % 2)) = 0 ]; then printf heads; else printf tails; fi > out.txt"
REPLIES = {
    "steady": ("right", "printf right > out.txt"),
    "wrong": ("right", "printf wrong > out.txt"),
    "awk-tab": ("a\tb", """awk -v text='a\\tb' 'BEGIN { printf "%s", text }' > out.txt"""),
    "awk-path": ("C:\\temp", """awk -v text='C:\\temp' 'BEGIN { printf "%s", text }' > out.txt"""),
    "sh-echo": ("a\tb\n", """sh -c 'echo "a\\tb"' > out.txt"""),
    "sh-braces": ("123", "sh -c 'printf %s {1..3}' > out.txt"),
    "coin": ("heads", COIN),
}
"""Task -> what ``out.txt`` has to hold, and the reply."""
TRIALS = 2
FLIPS = {"awk": {"awk-tab": False, "awk-path": True}, "sh": {"sh-echo": False, "sh-braces": True}}
"""Image -> task -> whether it passes there; here it is the other way round."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a store of one evaluation; the file of recorded replies is gone when they are executed again."""
    place = tmp_path_factory.mktemp("frozen")
    tasks = [
        {"id": name, "family": name, "tier": 0, "instruction": name, "expected": {"out.txt": text}, "oracle": "true"}
        for name, (text, _) in REPLIES.items()
    ]
    lines = [
        {"model": "recorded", "task": name, "contract": "raw", "trial": trial, "reply": reply}
        for name, (_, reply) in REPLIES.items()
        for trial in range(TRIALS)
    ]
    (place / "tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    (place / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    spec = {
        "name": "few",
        "tasks": {"files": ["tasks.jsonl"]},
        "trials": TRIALS,
        "candidates": {"bot": {"model": "recorded/replies.jsonl"}, "other": {"model": "baseline/oracle"}},
        "deployment": {"name": "support-bot", "candidate": "bot"},
    }
    (place / "spec.json").write_text(json.dumps(spec))
    (place / "id").write_text(crosspath.evaluate(place / "spec.json", store=place / "store", track=False).id)
    (place / "replies.jsonl").unlink()
    return place


def facts_of(place: Path) -> Facts:
    ledger = Ledger(place / "store", reading=True)
    try:
        return ledger.facts((place / "id").read_text())
    finally:
        ledger.close()


def look(place: Path, earlier: tuple[FrozenOutcome, ...] = (), said: list[str] | None = None) -> ToolchainDrift:
    """One look in this process, with the programs of this machine."""
    ledger, notes = Ledger(place / "store"), said if said is not None else []
    try:
        return frozen_replays(
            ledger.facts((place / "id").read_text()),
            "bot",
            earlier,
            place=Place(None, "local", None),
            ledger=ledger,
            notify=notes.append,
        )
    finally:
        ledger.close()


def look_in(
    image: Mapping[Path, Path], place: Path, earlier: ToolchainDrift | None = None, killed_after: int = -1
) -> tuple[int, ToolchainDrift | None, list[str]]:
    """One look as a process on a machine with other programs: its exit code, what it found, what it said."""
    evidence = place / "evidence.json"
    evidence.write_text(json.dumps({"found": earlier.model_dump(mode="json") if earlier else None}))
    words = [str(LOOK), str(place / "store"), (place / "id").read_text(), str(evidence) if earlier else "-", str(killed_after)]
    done = run_in(image, words)
    if done.returncode:
        return done.returncode, None, [done.stderr]
    document = json.loads(done.stdout)
    return 0, ToolchainDrift.model_validate(document["found"]), document["said"]


def derived(place: Path) -> list[tuple[str, str]]:
    """Evaluations that looks have left: id and status."""
    ledger = Ledger(place / "store", reading=True)
    try:
        return [(head.id, head.status) for head in ledger.heads() if head.derived_from]
    finally:
        ledger.close()


@pytest.fixture(scope="module")
def known(place: Path) -> ToolchainDrift:
    """Looks on this machine, until the coin was seen both ways for each trial: it is no more than even each time."""
    found = look(place)
    for _ in range(60):
        if len(found.unstable) == TRIALS:
            return found
        found = look(place, found.evidence)
    raise AssertionError(f"60 looks saw one side of a coin only: {found.sentence}")


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Mapping[Path, Path]]:
    """Machines with other programs."""
    return {"awk": with_literal_awk(tmp_path_factory.mktemp("awk")), "sh": with_bash_as_sh()}


class TestThisMachine:
    def test_as_before(self, place: Path, known: ToolchainDrift) -> None:
        """With the same programs every reply comes out as before, failing ones as well; what chance decides is set apart."""
        assert (known.status, known.flips, known.changed) == ("no drift", (), ())
        assert known.unstable == (("coin", 0), ("coin", 1))
        assert (known.replies, known.compared, known.missing) == (len(REPLIES) * TRIALS, (len(REPLIES) - 1) * TRIALS, 0)
        assert known.frozen == (place / "id").read_text()

    def test_nobody_asked_for_it(self, place: Path, known: ToolchainDrift) -> None:
        """A look is no evaluation that anybody asked for: ``latest`` passes it over, and nothing was sent for it."""
        ledger = Ledger(place / "store", reading=True)
        head = find_head(ledger, "latest")
        replayed = ledger.facts(known.replayed_as)
        ledger.close()
        assert head is not None
        assert head.id == (place / "id").read_text()
        assert (known.requests, replayed.attempts, replayed.head.spec["deployment"]) == (0, (), None)
        assert "no request was sent" in known.sentence

    def test_only_as_deployed(self, place: Path, known: ToolchainDrift) -> None:
        """Only the candidate's own cell is replayed, once each, and what came out otherwise six times."""
        ledger = Ledger(place / "store", reading=True)
        replayed = ledger.facts(known.replayed_as)
        ledger.close()
        assert [(cell.candidate, cell.control) for cell in replayed.cells] == [("bot", False)]
        assert {replay.key.repeat for replay in replayed.replays if replay.key.trial.task != "coin"} == {0}
        assert {replay.key.repeat for replay in replayed.replays} <= set(range(6))


@pytest.fixture(scope="module")
def elsewhere(place: Path, known: ToolchainDrift, images: Mapping[str, Mapping[Path, Path]]) -> dict[str, ToolchainDrift]:
    """One look on each of those machines."""
    found = {name: look_in(image, place, known) for name, image in images.items()}
    assert all(one for _, one, _ in found.values()), found
    return {name: one for name, (_, one, _) in found.items() if one}


class TestOtherMachines:
    @pytest.mark.parametrize("name", ["awk", "sh"])
    def test_flips(self, elsewhere: Mapping[str, ToolchainDrift], name: str) -> None:
        """Another program makes exactly those replies pass or fail that are about it, each time; the racy ones stay apart."""
        found = elsewhere[name]
        assert {flip.task: flip.passed_now for flip in found.flips} == FLIPS[name]
        assert all(flip.times == 6 and flip.passed_before is not flip.passed_now for flip in found.flips)
        assert (found.status, len(found.flips), found.unstable) == ("drift", 2 * TRIALS, (("coin", 0), ("coin", 1)))
        assert (found.requests, found.missing) == (0, 0)
        assert f"4 of 12 frozen replies, of 2 tasks ({', '.join(FLIPS[name])}), come out otherwise" in found.sentence
        assert f"toolchain.programs.{name}" in {one.field for one in found.changed}
        assert found.fields[f"toolchain.programs.{name}"] in {one.b for one in found.changed}

    def test_the_same_name(self, known: ToolchainDrift, elsewhere: Mapping[str, ToolchainDrift]) -> None:
        """An awk that calls itself the same is told from the old one by what its file holds."""
        (awk,) = [one for one in elsewhere["awk"].changed if one.field == "toolchain.programs.awk"]
        assert awk.a.split(", ")[0] == awk.b.split(", ")[0]
        assert awk.a != awk.b
        assert elsewhere["awk"].toolchain != known.toolchain

    def test_back_again(self, place: Path, known: ToolchainDrift, elsewhere: Mapping[str, ToolchainDrift]) -> None:
        """The old programs again, and everything comes out as before: what another toolchain showed makes nothing racy."""
        back = look(place, elsewhere["sh"].evidence)
        assert (back.status, back.flips, back.unstable) == ("no drift", (), known.unstable)


@pytest.fixture(scope="module")
def interrupted(place: Path, known: ToolchainDrift, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int]:
    """The store with a look that was killed on this machine, and how its process ended."""
    own = tmp_path_factory.mktemp("killed") / "own"
    shutil.copytree(place, own)
    return own, look_in({}, own, killed_after=5)[0]


class TestKilled:
    @pytest.fixture
    def own(self, place: Path, tmp_path: Path) -> Path:
        """A copy of the store."""
        shutil.copytree(place, tmp_path / "own")
        return tmp_path / "own"

    @pytest.fixture
    def killed_here(self, interrupted: tuple[Path, int], tmp_path: Path) -> Path:
        """A copy of the store with a look that was killed on this machine."""
        shutil.copytree(interrupted[0], tmp_path / "killed-here")
        return tmp_path / "killed-here"

    def test_goes_on(self, killed_here: Path, interrupted: tuple[Path, int], known: ToolchainDrift) -> None:
        """What a killed look replayed is kept by the next one, also what it was just writing; a finished look is never taken for
        another one."""
        own = killed_here
        assert interrupted[1] in (-signal.SIGKILL, 128 + signal.SIGKILL)
        ((killed, status), said) = derived(own)[-1], list[str]()
        assert status == "running"
        found = look(own, known.evidence, said)
        (kept,) = re.findall(rf"^going on with {killed}: (\d+) replays are kept$", "\n".join(said))
        assert 5 <= int(kept) <= known.replies
        assert len(said) == 1
        assert (found.replayed_as, found.status, found.compared) == (killed, "no drift", known.compared)
        assert look(own, known.evidence).replayed_as != killed

    def test_too_long_ago(self, killed_here: Path, known: ToolchainDrift, monkeypatch: pytest.MonkeyPatch) -> None:
        """A look that was killed long ago is none of today: it goes, and everything is replayed."""
        own = killed_here
        killed, said = derived(own)[-1][0], list[str]()
        monkeypatch.setattr(frozen, "GOES_ON_S", -1.0)
        found = look(own, known.evidence, said)
        assert said == [f"{killed} was interrupted, and that is too long ago: it is replayed anew"]
        assert found.compared == known.compared
        assert all(status == "finished" for _, status in derived(own))

    def test_other_programs(self, own: Path, known: ToolchainDrift, images: Mapping[str, Mapping[Path, Path]]) -> None:
        """A look that was killed on another machine is not gone on with: nothing is mixed."""
        look_in(images["sh"], own, killed_after=5)
        said = list[str]()
        found = look(own, known.evidence, said)
        assert len(said) == 1
        assert "other programs are installed since" in said[0]
        assert (found.status, found.flips) == ("no drift", ())


class TestRoom:
    def test_years(self, place: Path, tmp_path: Path, known: ToolchainDrift, monkeypatch: pytest.MonkeyPatch) -> None:
        """A look a day leaves the newest three in the ledger, and the evaluations that were asked for."""
        shutil.copytree(place, tmp_path / "own")
        days = iter(range(1000))
        monkeypatch.setattr(frozen, "day_of", lambda _: str(next(days)))
        found = [look(tmp_path / "own", known.evidence) for _ in range(4)]
        assert [name for name, _ in derived(tmp_path / "own")] == [one.replayed_as for one in found[-3:]]
        assert facts_of(tmp_path / "own").trials


class TestNoAnswer:
    def test_without_a_sandbox(self, place: Path, known: ToolchainDrift, monkeypatch: pytest.MonkeyPatch) -> None:
        """Where nothing can be executed there is no answer; what was seen before is kept."""
        monkeypatch.setenv("PATH", "/nowhere")
        found = look(place, known.evidence)
        assert (found.status, found.evidence, found.frozen) == ("could not measure", known.evidence, known.frozen)
        assert "bubblewrap is not installed" in found.sentence

    def test_no_such_candidate(self, place: Path) -> None:
        """A candidate that the frozen evaluation does not have is no answer either."""
        ledger = Ledger(place / "store")
        try:
            found = frozen_replays(facts_of(place), "nobody", place=Place(None, "local", None), ledger=ledger)
        finally:
            ledger.close()
        assert found.status == "could not measure"
        assert "it has no candidate 'nobody'" in found.sentence
