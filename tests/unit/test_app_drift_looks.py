"""Where a look is kept, and what never costs its verdict."""

import json
import tempfile
from pathlib import Path

import pytest
from pydantic import ValidationError

import drifts
from crosspath.app import drift_looks
from crosspath.app.drift_looks import DOCUMENT, MARKDOWN, kept, write_look
from crosspath.app.drifting import evidence_of, not_executed, toolchain_part
from crosspath.errors import StoreError
from crosspath.testing.series import MemorySeries
from crosspath.testing.tracker import MemoryTracker
from crosspath.types.drift import Drift, FrozenOutcome, SeriesHistory, UnreadableEntry
from series import NOON, entry, reference

FOUND = drifts.drift(provider=drifts.provider(-0.1, found=50))
SEEN = (FrozenOutcome(task="a/b", index=0, toolchain="t", passes=1, fails=1),)


def silent(_: str) -> None:
    """Nobody listens."""


def test_a_look_is_files(tmp_path: Path) -> None:
    """JSON that is read back as the same look, Markdown, and figures."""
    write_look(FOUND, tmp_path, silent)
    assert Drift.from_json((tmp_path / DOCUMENT).read_text()) == FOUND
    assert (tmp_path / MARKDOWN).read_text().startswith("DRIFT")
    assert any((tmp_path / "figures").glob("*.png"))


def test_the_files_say_what_the_text_says(tmp_path: Path) -> None:
    """Status and exit code stand in the JSON, too. They follow from the parts: whoever edits them edits nothing."""
    write_look(FOUND, tmp_path, silent)
    document = json.loads((tmp_path / DOCUMENT).read_text())
    assert (document["status"], document["exit_code"]) == ("drift", 1)
    assert Drift.from_json(json.dumps(document | {"status": "no drift", "exit_code": 0})) == FOUND
    assert json.loads(drifts.drift().to_json())["exit_code"] == 0
    earlier = {key: value for key, value in document.items() if key not in ("status", "exit_code")}
    assert Drift.from_json(json.dumps(earlier)).exit_code == 1
    with pytest.raises(ValidationError):
        Drift.from_json(json.dumps(document | {"another": 1}))


def test_a_figure_that_can_t_be_drawn_costs_the_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The look is written without figures, and that is said."""

    def broken(_: Drift) -> dict[str, bytes]:
        raise ValueError("zip() argument 2 is longer than argument 1")

    monkeypatch.setattr(drift_looks, "drift_figures", broken)
    told: list[str] = []
    write_look(FOUND, tmp_path, told.append)
    assert json.loads((tmp_path / DOCUMENT).read_text())["id"] == FOUND.id
    assert told == ["the look has no figures: drawing the figures: ValueError: zip() argument 2 is longer than argument 1"]


def test_a_full_temporary_disk_costs_the_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The verdict is there with its exit code, and why MLflow does not have it; nothing is lost but what was asked for."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "gone"))
    series = MemorySeries(MemoryTracker(tmp_path / "mlflow"), lambda _facts, _judgement: None)
    found = kept(FOUND, series, tmp_path / "store", None, silent)
    assert (found.drift, found.exit_code) == (FOUND, 1)
    assert found.tracking_error
    assert "writing the look" in found.tracking_error
    assert kept(FOUND, None, tmp_path / "store", None, silent).tracking_error is None
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError):
        kept(FOUND, series, tmp_path / "store", tmp_path / "file" / "look", silent)


def test_evidence_is_of_the_same_replies() -> None:
    """An id alone does not tell, because fresh runners begin the day's ids anew; without replays what was seen is kept."""
    source = entry(0)
    earlier = drifts.drift(toolchain=not_executed(source, SEEN))
    assert evidence_of(earlier, source) == SEEN
    assert evidence_of(earlier, entry(0, created_at=NOON + 60)) == ()
    assert evidence_of(earlier, entry(1, created_at=NOON)) == ()
    assert evidence_of(None, source) == ()


def test_evidence_outlives_a_reference_that_can_t_be_read() -> None:
    """No other evaluation's replies take its place: what was seen of its own is there when it can be read again."""
    source = reference()
    earlier = drifts.drift(toolchain=not_executed(source, SEEN))
    lost = UnreadableEntry(run="r", evaluation="watch-000", problem="no such file", role="reference", at=source.created_at)
    history = SeriesHistory(deployment="bot", experiment="watch", entries=(entry(1), entry(2)), unreadable=(lost,))
    found = toolchain_part(history, earlier, not_executed)
    assert found.status == "could not measure"
    assert "the newest reference, watch-000, can't be read" in found.sentence
    again = history.model_copy(update={"entries": (source, entry(1)), "unreadable": ()})
    assert toolchain_part(again, drifts.drift(toolchain=found), not_executed).evidence == SEEN
    assert toolchain_part(history, None, not_executed).evidence == ()
