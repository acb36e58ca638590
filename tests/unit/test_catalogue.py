"""What ships, and the reading of users' files."""

import os
from collections import Counter
from pathlib import Path

import pytest

from crosspath.catalogue import (
    catalogue_dir,
    catalogue_tasks,
    contract,
    contract_names,
    read_recorded,
    read_tasks,
    read_text,
    suite_text,
)
from crosspath.errors import ConfigError
from crosspath.tasks import require_unique
from crosspath.tasks.exchange import untouched
from crosspath.tasks.hazards import HAZARDS

FAMILIES = 27
"""Families whose tasks can be done; one more holds those that can't."""


def test_every_family_has_four_tiers() -> None:
    """Each family has one task at each of the tiers 0 to 3, and no two tasks can be mistaken for each other."""
    require_unique(catalogue_tasks())
    tasks = [task for task in catalogue_tasks() if task.infeasible is None]
    assert len({task.family for task in tasks}) == FAMILIES
    assert Counter((task.family, task.tier) for task in tasks) == {(task.family, tier): 1 for task in tasks for tier in range(4)}


def test_every_shipped_task_is_complete() -> None:
    """Each has an oracle unless it can't be done, a naive command, a public incident and known hazards; tier 0 has none that a
    shell reads."""
    for task in catalogue_tasks():
        assert bool(task.oracle) is (task.infeasible is None)
        assert task.naive
        assert task.meta["incident"].startswith("https://")
        assert set(task.hazards) <= HAZARDS.keys()
        assert set(task.hazards) <= {"newline"} if task.tier == 0 else task.hazards


def test_one_family_can_t_be_done() -> None:
    """It has tasks of every tier, each of which says why; whoever declines leaves the fixture as it was."""
    tasks = [task for task in catalogue_tasks() if task.infeasible is not None]
    assert {task.family for task in tasks} == {"infeasible"}
    assert {task.tier for task in tasks} == {0, 1, 2, 3}
    assert all(task.expected == untouched(task.fixture) and task.setup is None for task in tasks)


def test_every_hazard_occurs() -> None:
    """No hazard of the list is left out by the catalogue."""
    assert {hazard for task in catalogue_tasks() for hazard in task.hazards} == HAZARDS.keys()


def test_marks_delimit_payloads() -> None:
    """Literal payloads stand between U+27EA and U+27EB, and no payload holds such a mark."""
    for task in catalogue_tasks():
        assert task.instruction.count("⟪") == task.instruction.count("⟫") > 0
        assert all(part.count("⟪") == 1 for part in task.instruction.split("⟫")[:-1])


def test_suites_by_name_and_by_path(tmp_path: Path) -> None:
    """The shipped suite is found by its name, a user's by its path; an unknown name lists those that ship."""
    shipped = suite_text("exact")
    own = tmp_path / "own.yaml"
    own.write_text(shipped.content)
    assert suite_text(str(own)).digest == shipped.digest
    with pytest.raises(ConfigError, match=r"no such validator: 'exakt'; did you mean 'exact'\? known: .*exact"):
        suite_text("exakt")


def test_contracts_by_name_and_by_path(tmp_path: Path) -> None:
    """Every shipped contract can be read by its name; a user's by its path."""
    assert "raw" in contract_names()
    assert [contract(name).name for name in contract_names()] == list(contract_names())
    with pytest.raises(ConfigError, match="no such contract: 'rwa'"):
        contract("rwa")
    with pytest.raises(ConfigError, match="no such file"):
        contract(str(tmp_path / "none.md"))


def test_files_of_tasks_and_replies(tmp_path: Path) -> None:
    """A YAML file is a family, any other holds JSON lines; complaints name the file."""
    family = tmp_path / "own.yaml"
    family.write_text("name: own\ninstruction: x\nexpected: {}\nvariants: [{name: a}]\n")
    lines = tmp_path / "own.jsonl"
    lines.write_text('{"id": "own/a", "instruction": "x", "expected": {}}\n')
    assert [task.id for path in (family, lines) for task in read_tasks(path)] == ["own/a", "own/a"]
    with pytest.raises(ConfigError, match=r"own\.jsonl:1: "):
        read_recorded(lines)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    """A missing file, a directory, and bytes that are no UTF-8 give one clear line."""
    binary = tmp_path / "binary.jsonl"
    binary.write_bytes(b"ab\xff")
    for path, said in ((tmp_path / "none", "no such file"), (tmp_path, "can't be read"), (binary, "byte 3 can't be decoded")):
        with pytest.raises(ConfigError, match=said):
            read_text(path)


@pytest.mark.parametrize("kind", ["tasks", "validators", "deploy"])
def test_what_ships_is_found(kind: str) -> None:
    """The directories of the checkout, or of the wheel, are there."""
    assert catalogue_dir(kind).is_dir()  # type: ignore[arg-type]


def test_only_regular_files_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe is not waited for, a device is not read to its end, and nothing else that is no file ends in a traceback."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.setattr("crosspath.catalogue.MAX_BYTES", 2**20)
    (tmp_path / "long").write_bytes(b"x" * (2**20 + 1))
    for name, problem in {
        "pipe": "is not a regular file",
        "/dev/zero": "is not a regular file",
        ".": "can't be read: Is a directory",
        "long": "is longer than 1 MiB",
        "loop": "can't be read: Too many levels",
        "a" * 5000: "can't be read: File name too long",
        "a\0b": "no file has a NUL in its name",
    }.items():
        with pytest.raises(ConfigError, match=problem):
            read_text(tmp_path / name)
