"""The bundle: lossless, complete or absent, and refused when something in it changed."""

import hashlib
import json
import os
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import estimate, evaluation
from crosspath.errors import StoreError
from crosspath.reports.figures import planned_figures
from crosspath.store.bundle import index_digest, read_bundle, read_judgement, write_bundle
from crosspath.types import Facts, Judgement, Reply, StyleSpread, Text, ToolCall

TEXTS = st.text(st.characters(codec=None), max_size=20)
"""Any text, lone surrogates and NUL included."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, Judgement, Path]:
    facts, judgement = evaluation(fault=True)
    directory = tmp_path_factory.mktemp("bundle") / "one"
    write_bundle(facts, judgement, directory)
    return facts, judgement, directory


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle that is only copied: its figures take a second to draw."""
    directory = tmp_path_factory.mktemp("whole") / "bundle"
    write_bundle(*evaluation(), directory)
    return directory


@pytest.fixture
def bundle(whole: Path, tmp_path: Path) -> Path:
    """A bundle of its own for each test."""
    return Path(shutil.copytree(whole, tmp_path / "bundle"))


def test_round_trip(written: tuple[Facts, Judgement, Path]) -> None:
    """Facts and judgement come back equal: bytes, faults and unknown values included."""
    facts, judgement, directory = written
    assert read_bundle(directory) == facts
    assert read_judgement(directory) == judgement


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS, arguments=TEXTS, name=TEXTS, content=TEXTS)
def test_any_text_survives(text: str, arguments: str, name: str, content: str, tmp_path: Path) -> None:
    """Whatever a model wrote and whatever a contract is called, the bundle returns it character by character."""
    facts, judgement = evaluation(names=("oracle",))
    reply = Reply(text=text, tool_calls=(ToolCall(id="1", name="run_shell", arguments=arguments),))
    contract = Text(name=name, content=content, digest="0")
    changed = facts.model_copy(
        update={
            "trials": (facts.trials[0].model_copy(update={"reply": reply}), *facts.trials[1:]),
            "contracts": (contract, contract.model_copy(update={"version": "2"}), *facts.contracts),
        }
    )
    write_bundle(changed, judgement, tmp_path / "bundle", pages=False)  # its figures would be drawn for each example
    assert read_bundle(tmp_path / "bundle") == changed


def test_styles_and_what_follows_from_them(tmp_path: Path) -> None:
    """Texts of request styles are files of the bundle, and how far they move a rate comes back equal."""
    facts, judgement = evaluation()
    style = Text(name="polite", version="3", content="Please:\n\n{instruction}", digest="0")
    spread = StyleSpread(
        candidates={"plain": "oracle", "polite": "adaptive"},
        told="R",
        done="R",
        rates={"plain": estimate(0.5, rate=True), "polite": estimate(None, 0, rate=True)},
        differences={"polite": estimate(None, 0)},
        spread=None,
    )
    facts, judgement = facts.model_copy(update={"styles": (style,)}), judgement.model_copy(update={"style_spreads": (spread,)})
    write_bundle(facts, judgement, tmp_path / "bundle")
    assert (tmp_path / "bundle" / "styles" / "polite.md").read_text() == style.content
    assert read_bundle(tmp_path / "bundle") == facts
    assert read_judgement(tmp_path / "bundle") == judgement
    assert pq.read_table(tmp_path / "bundle" / "trials.parquet").to_pylist()[0]["request_style"] == "plain"


def test_a_bundle_from_before_there_were_styles(bundle: Path) -> None:
    """Its plan names no styles, and it is read all the same."""
    plan = json.loads((bundle / "plan.json").read_text())
    del plan["styles"]
    (bundle / "plan.json").write_text(json.dumps(plan))
    data = (bundle / "plan.json").read_bytes()
    index = json.loads((bundle / "index.json").read_text())
    index["files"]["plan.json"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (bundle / "index.json").write_text(json.dumps(index | {"format": 1}))
    assert read_bundle(bundle) == evaluation()[0]


def test_readable_without_crosspath(written: tuple[Facts, Judgement, Path]) -> None:
    """Any Parquet reader shows what was replied, executed and scored."""
    _, _, directory = written
    scores = pq.read_table(directory / "scores.parquet").to_pylist()
    assert {"task", "trial", "passed", "cause", "silent_wrong", "false_alarm"} <= scores[0].keys()
    replays = pq.read_table(directory / "replays.parquet").to_pylist()
    assert replays[0]["commands"][0].startswith("bash -c printf")
    cells = pq.read_table(directory / "cells.parquet").to_pylist()
    assert [(row["candidate"], row["cell"]) for row in cells][:2] == [("oracle", "RR"), ("oracle", "RN")]
    effects = pq.read_table(directory / "effects.parquet").to_pylist()
    assert {row["effect"] for row in effects} == {"damage", "compensation", "matched_gap"}


def test_texts_and_figures(written: tuple[Facts, Judgement, Path]) -> None:
    """Contracts, paths and suites are there as the texts that they are; figures are those that are planned."""
    facts, judgement, directory = written
    assert (directory / "contracts" / "nested.md").read_text() == facts.contracts[1].content
    assert (directory / "report.md").read_text().strip()
    figures = list((directory / "figures").iterdir())
    assert {path.name for path in figures} == {figure.name for figure in planned_figures(facts, judgement)}
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in figures)


def test_strict_json(written: tuple[Facts, Judgement, Path]) -> None:
    """Every JSON file is ASCII and free of NaN and infinity, so that any parser reads it."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    for path in written[2].glob("*.json"):
        json.loads(path.read_bytes().decode("ascii"), parse_constant=refuse)


def test_same_facts_same_digest(tmp_path: Path) -> None:
    """The same evaluation written twice has the same identity."""
    for name in ("a", "b"):
        write_bundle(*evaluation(), tmp_path / name)
    assert index_digest(tmp_path / "a") == index_digest(tmp_path / "b")


def test_replaces_as_a_whole(bundle: Path) -> None:
    """Writing again leaves nothing of the old bundle, and nothing beside the new one."""
    (bundle / "stale.txt").write_text("from before")
    facts, judgement = evaluation("quoting-20261129-2")
    write_bundle(facts, judgement, bundle)
    assert read_bundle(bundle) == facts
    assert not (bundle / "stale.txt").exists()
    assert list(bundle.parent.iterdir()) == [bundle]


@pytest.mark.parametrize("name", ["trials.parquet", "head.json", "contracts/raw.md", "report.md", "plan.json"])
def test_cut_file(bundle: Path, name: str) -> None:
    """A file that lost its last bytes makes the whole bundle unreadable, in one line that names the file."""
    path = bundle / name
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(StoreError, match=path.name) as caught:
        read_bundle(bundle)
    assert "\n" not in str(caught.value)


def test_missing_file(bundle: Path) -> None:
    """A bundle without one of its files is torn."""
    (bundle / "replays.parquet").unlink()
    with pytest.raises(StoreError, match=r"torn bundle: .*replays\.parquet is missing"):
        read_bundle(bundle)


def listed(bundle: Path, name: str) -> None:
    """Make the index list one more name, with the entry of a file that is there."""
    index = json.loads((bundle / "index.json").read_text())
    index["files"][name] = index["files"]["head.json"]
    (bundle / "index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("name", ["surplus.md", "contracts/surplus.md", "empty/.hidden"])
def test_surplus_file(bundle: Path, name: str) -> None:
    """A file that the index does not list is no part of the bundle, wherever it lies; every reader refuses it by name."""
    (bundle / name).parent.mkdir(exist_ok=True)
    (bundle / name).write_text("from elsewhere")
    for read in (read_bundle, read_judgement):
        with pytest.raises(StoreError, match=f"its index does not list '{name}'") as caught:
            read(bundle)
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    ["../head.json", "contracts/../head.json", "./head.json", "contracts//raw.md", "a\\b", "C:head.json", "a\0b", "", "x/"],
)
def test_names_that_lead_elsewhere(bundle: Path, name: str) -> None:
    """A name with ``..``, an empty part or another system's signs is refused, even where it leads to a file with that content."""
    (bundle.parent / "head.json").write_bytes((bundle / "head.json").read_bytes())
    listed(bundle, name)
    with pytest.raises(StoreError, match=r"its index lists .*, which is no name of a file in it") as caught:
        read_bundle(bundle)
    assert "\n" not in str(caught.value)


def test_an_absolute_name(bundle: Path) -> None:
    """An absolute name is refused, even the right one of a file of the bundle."""
    listed(bundle, str(bundle / "head.json"))
    with pytest.raises(StoreError, match="is no name of a file in it"):
        read_bundle(bundle)


@pytest.mark.parametrize("place", ["report.md", "contracts", "surplus", "index.json"])
def test_symbolic_links(bundle: Path, place: str) -> None:
    """A link in the place of a file, of a directory or of the index is refused, though what it points to is unchanged."""
    if (bundle / place).exists():
        (bundle / place).rename(bundle.parent / "moved")
    else:
        (bundle.parent / "moved").write_text("")
    (bundle / place).symlink_to(bundle.parent / "moved")
    with pytest.raises(StoreError, match=f"'{place}' is a symbolic link"):
        read_bundle(bundle)


def test_a_fifo_is_not_opened(bundle: Path) -> None:
    """What is no regular file is refused before anything is read from it."""
    (bundle / "report.md").unlink()
    os.mkfifo(bundle / "report.md")
    with pytest.raises(StoreError, match=r"'report\.md' is no regular file"):
        read_bundle(bundle)


def test_a_text_elsewhere(bundle: Path) -> None:
    """A plan whose text lies outside is refused, though the index fits the plan."""
    plan = json.loads((bundle / "plan.json").read_text())
    plan["contracts"][0]["file"] = "../secret.md"
    (bundle.parent / "secret.md").write_text("not for this")
    (bundle / "plan.json").write_text(json.dumps(plan))
    index = json.loads((bundle / "index.json").read_text())
    data = (bundle / "plan.json").read_bytes()
    index["files"]["plan.json"] = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
    (bundle / "index.json").write_text(json.dumps(index))
    with pytest.raises(StoreError, match=r"its plan names '\.\./secret\.md', which is no name of a file in it"):
        read_bundle(bundle)


def test_a_link_to_the_whole_bundle(bundle: Path) -> None:
    """The directory itself may be reached by a link: what is in it is the same."""
    (bundle.parent / "latest").symlink_to(bundle)
    assert read_bundle(bundle.parent / "latest") == read_bundle(bundle)


def test_missing_rows(bundle: Path) -> None:
    """Rows that are fewer than the index says are noticed even where the checksum was adjusted."""
    index = json.loads((bundle / "index.json").read_text())
    index["rows"]["trials"] += 1
    (bundle / "index.json").write_text(json.dumps(index))
    with pytest.raises(StoreError, match=r"trials\.parquet has 12 rows, the index says 13"):
        read_bundle(bundle)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": NaN}', '{"format": 1}'])
def test_damaged_index(bundle: Path, text: str) -> None:
    """Nonsense in the index is a StoreError, not a traceback."""
    (bundle / "index.json").write_text(text)
    with pytest.raises(StoreError, match="reading the bundle"):
        read_bundle(bundle)


def test_newer_format(bundle: Path) -> None:
    """A bundle of a later Crosspath is refused with what to do."""
    index = json.loads((bundle / "index.json").read_text())
    (bundle / "index.json").write_text(json.dumps(index | {"format": 3, "crosspath": "9.0"}))
    with pytest.raises(StoreError, match=r"was written by Crosspath 9\.0; this is .*: update it"):
        read_bundle(bundle)


def test_no_bundle(tmp_path: Path) -> None:
    """An empty directory is no bundle."""
    with pytest.raises(StoreError, match="no bundle of an evaluation"):
        read_bundle(tmp_path)


def test_unwritable_place(tmp_path: Path) -> None:
    """A place that can't be written is one StoreError, and nothing is left there."""
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="writing the bundle"):
        write_bundle(*evaluation(), tmp_path / "file" / "bundle")
