"""What the commands about registered models say where there is nothing to do."""

from pathlib import Path

import pytest

from crosspath.cli.entry import run


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.delenv("CROSSPATH_STORE", raising=False)
    return tmp_path


@pytest.mark.parametrize(
    "arguments",
    [
        ["decisions", "shell"],
        ["rollback", "shell", "champion"],
        ["promote", "shell", "champion", "--finish"],
        ["register", "latest", "--model", "shell"],
    ],
)
def test_without_a_store(here: Path, capsys: pytest.CaptureFixture[str], arguments: list[str]) -> None:
    """Whoever asks where nothing was ever logged is told so in one line, and leaves no empty store behind."""
    assert run(arguments) == 2
    assert capsys.readouterr().err.startswith("crosspath: nothing was logged to sqlite:///")
    assert list(here.iterdir()) == []


def test_promotion_without_a_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    """There is no promotion but a gate's: the command that makes one is named."""
    assert run(["promote", "shell", "champion"]) == 2
    assert "crosspath gate POLICY --candidate ... --promote champion --model shell" in capsys.readouterr().err
