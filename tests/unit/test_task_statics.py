"""Proofs that need no sandbox: ids, canaries, held-out sections, and nothing that is only so here and today."""

from datetime import date
from pathlib import Path
from typing import Any

import pytest

from crosspath.app.task_checks import read_sources
from crosspath.app.task_checks.sources import Source
from crosspath.app.task_checks.statics import CANARY, HELDOUT, Surroundings, anywhere, ids, of_source
from crosspath.errors import ConfigError
from crosspath.tasks.families import expand_family
from crosspath.types import FileEntry, Observer, Task

HERE = Surroundings((date(2031, 7, 5),), "harbour-9", "jo", "/home/joan")
FAMILY = """\
name: small
{canary}
instruction: "Write ⟪{{{{ word }}}}⟫ into a."
expected: {{a: "{{{{ word }}}}"}}
variants:
  - {{name: one, tier: 0, hazards: [], vars: {{word: hello}}, oracle: printf hello > a, naive: printf hello > a}}
{heldout}
"""
HELDOUT_SECTION = (
    "heldout: {draw: {word: {shape: word}}, vars: {}, oracle: 'printf {{ word }} > a', naive: 'printf {{ word }} > a'}"
)
SEED = "a seed of the tests, 1234"


def family(tmp_path: Path, canary: str = "canary: this is a canary, 1", heldout: str = "") -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(FAMILY.format(canary=canary, heldout=heldout))
    return path


def task(name: str = "t", **fields: Any) -> Task:
    return Task(id=name, family="f", instruction="do it", **fields)


def by_proof(source: Source) -> dict[str, Any]:
    return {finding.proof: finding for finding in of_source(source)}


def test_ids_are_unique_over_files() -> None:
    """Two ids that differ in case or Unicode form only are a finding that names both files."""
    sources = [Source("a.jsonl", (task("f/Caf\u00e9"),)), Source("b.jsonl", (task("f/cafe\u0301"), task("g")))]
    first, second, third = ids(sources)
    assert (first.status, second.status, third.status) == ("holds", "fails", "holds")
    assert "a.jsonl" in second.detail
    assert "b.jsonl" in second.detail


def test_a_family_needs_a_canary(tmp_path: Path) -> None:
    """A family without a canary fails, and the line to add is given: it makes the family pass."""
    (source,) = read_sources([family(tmp_path, canary="")])
    finding = by_proof(source)[CANARY]
    assert finding.status == "fails"
    line = finding.mend.removeprefix("add the line").strip()
    (mended,) = read_sources([family(tmp_path, canary=line)])
    assert by_proof(mended)[CANARY].status == "holds"
    (other,) = read_sources([family(tmp_path, canary=line.replace("canary ", "bird "))])
    assert "the word 'canary'" in by_proof(other)[CANARY].detail


def test_two_canaries_are_not_the_same(tmp_path: Path) -> None:
    """Each line that is offered holds a number of its own."""
    (source,) = read_sources([family(tmp_path, canary="")])
    assert by_proof(source)[CANARY].mend != by_proof(source)[CANARY].mend


def test_a_plain_list_needs_neither(tmp_path: Path) -> None:
    """JSON lines and lists have no canary and draw nothing: not tried."""
    (tmp_path / "mine.jsonl").write_text('{"id": "a", "instruction": "x", "expected": {}}\n')
    (tmp_path / "list.yaml").write_text("- {id: b, instruction: x, expected: {}}\n")
    for source in read_sources(directory=tmp_path):
        assert {finding.status for finding in of_source(source)} == {"not tried"}


def test_only_shipped_families_must_draw(tmp_path: Path) -> None:
    """A family without a section of held-out tasks is a user's choice, and a gap in the catalogue."""
    (mine,) = read_sources([family(tmp_path)])
    assert by_proof(mine)[HELDOUT].status == "not tried"
    shipped = Source(mine.name, mine.tasks, family=True, shipped=True)
    assert by_proof(shipped)[HELDOUT].status == "fails"
    (drawing,) = read_sources([family(tmp_path, heldout=HELDOUT_SECTION)])
    assert by_proof(drawing)[HELDOUT].status == "holds"


def test_a_section_that_draws_nothing(tmp_path: Path) -> None:
    """A section of held-out tasks that can't be drawn fails with the reason, with a seed and without one."""
    path = family(tmp_path, heldout="heldout: {draw: {word: {shape: wrod}}, vars: {}}")
    for seed in (None, SEED):
        finding = by_proof(read_sources([path], seed=seed)[0])[HELDOUT]
        assert finding.status == "fails"
        assert "wrod" in finding.detail
        assert SEED not in finding.detail


def test_the_catalogue_has_both() -> None:
    """Every family that ships has a canary and draws held-out tasks."""
    sources = read_sources()
    assert len(sources) > 5
    assert [finding for source in sources for finding in of_source(source) if finding.status != "holds"] == []


def test_tasks_drawn_from_a_seed_stand_in_place_of_the_public_ones(tmp_path: Path) -> None:
    """With a seed a family gives its held-out tasks; the same seed the same ones; a family that draws nothing none."""
    path = family(tmp_path, heldout=HELDOUT_SECTION)
    (drawn,) = read_sources([path], seed=SEED)
    assert [each.twin for each in drawn.tasks] == ["small/one"]
    assert drawn.tasks == read_sources([path], seed=SEED)[0].tasks
    with pytest.raises(ConfigError, match="nothing to draw"):
        read_sources([family(tmp_path)], seed=SEED)
    with pytest.raises(ConfigError, match="at least 16"):
        read_sources([path], seed="short")


def test_a_directory_and_files_are_read_once(tmp_path: Path) -> None:
    """A file that is named twice, or also lies in the directory, counts once; other files of it are left alone."""
    path = family(tmp_path)
    (tmp_path / "readme.md").write_text("no tasks")
    assert [source.name for source in read_sources([path, path], tmp_path)] == [str(path)]


def test_a_directory_without_tasks_is_refused(tmp_path: Path) -> None:
    """A directory that holds no task file, and one that is not there, are the user's mistake."""
    for directory in (tmp_path, tmp_path / "no"):
        with pytest.raises(ConfigError, match="--tasks-dir"):
            read_sources(directory=directory)


@pytest.mark.parametrize("text", ["done 2031-07-05\n", "at 05 Jul 2031,", "on harbour-9:", "/home/joan/x", "20310705"])
def test_what_is_only_so_here_and_today(text: str) -> None:
    """Today's date, this host and this home in an expected content or observation are found."""
    of_file = task(expected=(FileEntry(path=b"a", content=text.encode()),))
    of_observer = task(observers=(Observer(name="o", command="x", expected=text.encode()),))
    for of in (of_file, of_observer):
        finding = anywhere(of, HERE)
        assert finding.status == "fails"
        assert "everywhere" in finding.mend


def test_what_the_task_itself_brings_is_no_accident() -> None:
    """A date that the instruction gives, a name that is part of a word, and a short name are fine."""
    content = FileEntry(path=b"a", content=b"2031-07-05 harbour-91 jo\n")
    assert anywhere(task(expected=(content,)), HERE).status == "fails"
    told = task(expected=(content,)).model_copy(update={"instruction": "write 2031-07-05 harbour-91"})
    assert anywhere(told, HERE).status == "holds"


def test_every_expanded_task_carries_the_canary(tmp_path: Path) -> None:
    """The canary of a family is in each of its tasks."""
    path = family(tmp_path)
    assert {each.meta["canary"] for each in expand_family(path.read_text(), "x")} == {"this is a canary, 1"}
