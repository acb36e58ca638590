"""Which tasks a spec takes, and where the seed of the held-out ones comes from."""

import json
from pathlib import Path
from typing import Any

import pytest

from crosspath.app.heldout import notes, seed_in, tasks_of
from crosspath.app.planning import plan_document, plan_text
from crosspath.app.prompts import prompts
from crosspath.app.resolve import planned, read_spec, resolve
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.spec.sections import TasksSection
from crosspath.types import Task

SEED = "a seed of enough letters"
FAMILY = """
name: {name}
instruction: Write exactly ⟪{{{{ text }}}}⟫ and a final newline into out.txt.
expected: {{out.txt: "{{{{ text }}}}\\n"}}
naive: echo "{{{{ text }}}}" > out.txt
{heldout}
variants:
  - {{name: calm, tier: 0, vars: {{text: ready}}, oracle: echo ready > out.txt}}
  - {{name: price, tier: 2, hazards: [dollar], vars: {{text: costs $5}}, oracle: "echo 'costs $5' > out.txt"}}
"""
HELDOUT = "heldout: {draw: {text: {shape: line}}, oracle: 'echo {{ text | quote }} > out.txt'}"


@pytest.fixture(autouse=True)
def _seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEED_OF_TEST", SEED)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A directory with a family that can be drawn, one that can't, and a plain list that says its partitions itself."""
    (tmp_path / "drawn.yaml").write_text(FAMILY.format(name="drawn", heldout=HELDOUT))
    (tmp_path / "fixed.yaml").write_text(FAMILY.format(name="fixed", heldout=""))
    stated = [_line("a"), _line("b"), _line("a-2", partition="heldout", twin="a")]
    (tmp_path / "stated.jsonl").write_text("".join(json.dumps(line) + "\n" for line in stated))
    return tmp_path


def _line(name: str, **further: str) -> dict[str, object]:
    return {"id": name, "family": "list", "instruction": name, "expected": {}, **further}


def section(*names: str, partition: str = "both", seed: bool = True, **further: Any) -> TasksSection:
    seeded = {"heldout_seed_env": "SEED_OF_TEST"} if seed and partition != "public" else {}
    return TasksSection.model_validate({"files": names, "partition": partition, **seeded, **further})


def ids(tasks: tuple[Task, ...]) -> list[str]:
    return [task.id for task in tasks]


class TestSeed:
    def test_it_is_read_from_the_environment(self) -> None:
        """The variable's value as it is."""
        assert seed_in("SEED_OF_TEST", "field") == SEED

    @pytest.mark.parametrize(
        "value", ["", "too-short", "x" * 15, b"caf\xe9-not-utf-8-but-long".decode("utf-8", "surrogateescape")]
    )
    def test_a_bad_one_is_one_line_without_it(self, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
        """Missing, short or no text: the variable and the way out are named, the value is not."""
        monkeypatch.setenv("SEED_OF_TEST", value)
        with pytest.raises(ConfigError) as caught:
            seed_in("SEED_OF_TEST", "tasks.heldout_seed_env")
        line = str(caught.value)
        assert line.startswith("tasks.heldout_seed_env: the ")
        assert "export SEED_OF_TEST=" in line
        assert "\n" not in line
        assert not value or value not in line
        assert caught.value.__cause__ is None

    def test_nothing_is_read_before_it_is_there(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        """A missing seed is said first, before any file is opened."""
        monkeypatch.delenv("SEED_OF_TEST")
        with pytest.raises(ConfigError, match="SEED_OF_TEST is not set"):
            tasks_of(section("nowhere.yaml"), tmp_path)


class TestPartitions:
    def test_public_tasks_are_the_default(self, files: Path) -> None:
        """Without a word about partitions nothing is drawn, and what a list holds out is left out and said."""
        asked = section("drawn.yaml", "stated.jsonl", partition="public")
        tasks = tasks_of(asked, files)
        assert ids(tasks) == ["drawn/calm", "drawn/price", "a", "b"]
        assert list(notes(asked, files, tasks)) == ["1 held-out tasks of tasks.files are left out: tasks.partition is public"]

    def test_held_out_tasks_alone(self, files: Path) -> None:
        """Each variant once more, drawn from the seed, with its own hazards and its twin's name."""
        tasks = tasks_of(section("drawn.yaml", partition="heldout", heldout_draws=2), files)
        assert ids(tasks) == ["drawn/calm-heldout", "drawn/calm-heldout2", "drawn/price-heldout", "drawn/price-heldout2"]
        assert {task.partition for task in tasks} == {"heldout"}
        assert [task.twin for task in tasks] == ["drawn/calm"] * 2 + ["drawn/price"] * 2
        assert [task.tier for task in tasks] == [0, 0, 2, 2]

    def test_both(self, files: Path) -> None:
        """Public tasks first, then their draws; families that can't be drawn have public tasks only, which is said."""
        asked = section("drawn.yaml", "fixed.yaml")
        tasks = tasks_of(asked, files)
        assert ids(tasks) == [
            "drawn/calm",
            "drawn/price",
            "fixed/calm",
            "fixed/price",
            "drawn/calm-heldout",
            "drawn/price-heldout",
        ]
        (note,) = notes(asked, files, tasks)
        assert note == "without held-out twins, and so no part of the contamination alarm: tasks of fixed"

    def test_a_list_says_itself_what_is_held_out(self, files: Path) -> None:
        """Nothing is to be drawn there, so no seed is needed."""
        assert ids(tasks_of(section("stated.jsonl", seed=False), files)) == ["a", "b", "a-2"]
        assert ids(tasks_of(section("stated.jsonl", partition="heldout", seed=False), files)) == ["a-2"]

    def test_drawn_and_stated_together(self, files: Path) -> None:
        """Both kinds of held-out tasks stand side by side."""
        tasks = tasks_of(section("drawn.yaml", "stated.jsonl", partition="heldout"), files)
        assert ids(tasks) == ["a-2", "drawn/calm-heldout", "drawn/price-heldout"]

    def test_selection_applies_to_both(self, files: Path) -> None:
        """Families, tiers and tags choose public and held-out tasks alike."""
        for asked in (section("drawn.yaml", tiers=[2]), section("drawn.yaml", tags=["dollar"])):
            assert ids(tasks_of(asked, files)) == ["drawn/price", "drawn/price-heldout"]
        chosen = tasks_of(section("drawn.yaml", "fixed.yaml", families=["drawn"]), files)
        assert {task.family for task in chosen} == {"drawn"}

    def test_the_seed_alone_decides(self, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same seed gives the same tasks under any variable; another seed gives others."""
        first = tasks_of(section("drawn.yaml"), files)
        monkeypatch.setenv("ANOTHER_NAME", SEED)
        assert tasks_of(section("drawn.yaml", heldout_seed_env="ANOTHER_NAME"), files) == first
        monkeypatch.setenv("SEED_OF_TEST", SEED + "!")
        other = tasks_of(section("drawn.yaml"), files)
        assert ids(other) == ids(first)
        assert [a.digest == b.digest for a, b in zip(first, other, strict=True)] == [True, True, False, False]

    @pytest.mark.parametrize(
        ("asked", "line"),
        [
            (section("fixed.yaml"), "tasks.files: no family in tasks.files has a section 'heldout', so there is nothing to draw"),
            (section("fixed.yaml", partition="heldout", seed=False), "tasks.files: no family in tasks.files has a section 'held"),
            (
                section("stated.jsonl"),
                "tasks.files: no family in tasks.files has a section 'heldout', so there is nothing to draw",
            ),
            (section("drawn.yaml", seed=False), "tasks.heldout_seed_env: is missing: name the environment variable that holds"),
            (
                section("drawn.yaml", "fixed.yaml", families=["fixed"]),
                "tasks.partition: no held-out task has all that was chosen",
            ),
            (section("drawn.yaml", families=["nothing"]), "tasks.families: no task has 'nothing'; known: drawn"),
            (section("drawn.yaml", "fixed.yaml", partition="heldout", families=["fixed"]), "tasks.families: no task has 'fixed'"),
        ],
    )
    def test_what_can_t_be_had_is_said(self, asked: TasksSection, line: str, files: Path) -> None:
        """Nothing to draw, no seed named, nothing left to compare: one line with the field."""
        with pytest.raises(ConfigError) as caught:
            tasks_of(asked, files)
        assert str(caught.value).startswith(line)
        assert SEED not in str(caught.value)

    def test_a_list_of_held_out_tasks_alone_is_no_public_evaluation(self, files: Path) -> None:
        """Without any public task the default partition has nothing to ask for."""
        (files / "only.jsonl").write_text(json.dumps(_line("x", partition="heldout")) + "\n")
        with pytest.raises(ConfigError, match="no task is public; write partition: heldout, or both"):
            tasks_of(section("only.jsonl", partition="public"), files)


class TestSpecs:
    @pytest.fixture
    def spec(self, files: Path) -> Path:
        """A spec file over both partitions."""
        file = files / "spec.yaml"
        file.write_text(
            "candidates: {m: {model: recorded/replies.jsonl}}\n"
            "tasks: {files: [drawn.yaml], partition: both, heldout_seed_env: SEED_OF_TEST}\n"
        )
        return file

    def test_plan_counts_held_out_tasks(self, spec: Path, files: Path) -> None:
        """Before anything is sent, a user sees how many tasks are held out."""
        (files / "replies.jsonl").write_text(json.dumps({"model": "m", "task": "drawn/calm", "contract": "raw", "reply": "x"}))
        document = plan_document(spec)
        assert (document["tasks"], document["heldout_tasks"]) == (4, 2)
        assert plan_text(document).startswith("spec: 4 tasks (2 held-out) x 1 trials")
        assert SEED not in json.dumps(document)

    def test_held_out_tasks_are_answered_elsewhere(self, spec: Path, files: Path) -> None:
        """Prompts come with the drawn payloads, and a recording of their answers is taken for the same tasks."""
        lines = prompts(spec)
        assert [line["task"] for line in lines] == ["drawn/calm", "drawn/price", "drawn/calm-heldout", "drawn/price-heldout"]
        assert "$" in lines[3]["messages"][-1]["content"]
        (files / "replies.jsonl").write_text("".join(json.dumps(line | {"reply": "true"}) + "\n" for line in lines))
        resolved = resolve(*read_spec(spec))
        assert len(resolved.answers) == 4

    def test_resuming_follows_the_tasks(self, spec: Path, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The same seed is the same evaluation, another seed is another one."""
        (files / "replies.jsonl").write_text(json.dumps({"model": "m", "task": "drawn/calm", "contract": "raw", "reply": "x"}))
        first = resolve(*read_spec(spec)).resume_digest
        assert resolve(*read_spec(spec)).resume_digest == first
        monkeypatch.setenv("SEED_OF_TEST", "another seed of enough letters")
        assert resolve(*read_spec(spec)).resume_digest != first

    def test_the_plan_holds_no_seed(self, spec: Path) -> None:
        """Nothing that is handed on, as text, has the seed in it."""
        plan = planned(*read_spec(spec))
        assert SEED not in repr(plan)
        assert SEED not in "".join(request.to_json() for request in plan.requests)


class TestCommands:
    @pytest.mark.parametrize("command", [["list"], ["show", "drawn/price-heldout"]])
    def test_drawn_tasks_can_be_looked_at(self, command: list[str], files: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """`tasks list` and `tasks show` take what the seed draws in place of the public tasks."""
        options = ["--file", str(files / "drawn.yaml"), "--heldout-seed-env", "SEED_OF_TEST", "--json"]
        assert run(["tasks", *command, *options]) == 0
        out, _ = capsys.readouterr()
        found = json.loads(out)
        named = found if isinstance(found, list) else [found]
        assert named[-1]["id"] == "drawn/price-heldout"
        assert (named[-1]["partition"], named[-1]["twin"]) == ("heldout", "drawn/price")
        assert SEED not in out

    @pytest.mark.parametrize("command", [["list"], ["show", "drawn/price-heldout"], ["check"]])
    def test_a_bad_seed_is_one_line(
        self, command: list[str], files: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A short seed, or none, is refused by each of them and not repeated."""
        options = ["--file", str(files / "drawn.yaml"), "--heldout-seed-env", "SEED_OF_TEST"]
        for value in ("", "hunter2"):
            monkeypatch.setenv("SEED_OF_TEST", value)
            assert run(["tasks", *command, *options]) == 2
            out, err = capsys.readouterr()
            assert out == ""
            assert err.startswith("crosspath: --heldout-seed-env: the ")
            assert err.count("\n") == 1
            assert "SEED_OF_TEST" in err
            assert "hunter2" not in err

    def test_nothing_to_draw_is_said(self, files: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """Without a section `heldout` there is nothing to list."""
        assert run(["tasks", "list", "--file", str(files / "fixed.yaml"), "--heldout-seed-env", "SEED_OF_TEST"]) == 2
        assert "no family has a section 'heldout'" in capsys.readouterr().err
