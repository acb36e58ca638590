"""From an evaluation to the spec of a daily watch: loadable from wherever it lies, one cell, and nothing of it is overwritten."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from builders import evaluation, task
from crosspath.app import api, plan_watch
from crosspath.app.evaluation import Evaluation
from crosspath.app.plan_watch import seen_tasks, watch_document, watch_lines
from crosspath.app.planning import plan_document, plan_text
from crosspath.app.readiness import resolved_spec
from crosspath.app.sentinel import Asked, Written, watch_spec, write
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.strict_yaml import load_yaml
from crosspath.tasks.writing import exchange_object
from crosspath.types import Task

FEW = tuple(task(f"write-{at % 5}/{at}", f"write-{at % 5}", at % 4).model_copy(update={"fixture": ()}) for at in range(20))
ASKED = Asked(tasks=8, deployment="support-bot")
SPEC = """\
models: {m: {model: baseline/adaptive, params: {user: me}}}
defaults: {contract: nested-shell, transport: nested-shell, operating_point: {temperature: 0.5}}
candidates:
  adaptive: {model: m}
  oracle: baseline/oracle
tasks: {files: [tasks.jsonl]}
limits: {max_cost_usd: 2}
trials: 3
"""


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """No search for more trials: what is tested is no number of it."""
    monkeypatch.setattr(plan_watch, "_MOST_TRIALS", 2)


@pytest.fixture
def evaluated() -> Evaluation:
    return Evaluation(*evaluation(names=("oracle", "adaptive"), tasks=FEW, trials=2))


def written_spec(directory: Path, text: str = SPEC, tasks: Sequence[Task] = FEW) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / "tasks.jsonl").write_text("".join(json.dumps(exchange_object(one)) + "\n" for one in tasks))
    (directory / "spec.yaml").write_text(text)
    return directory / "spec.yaml"


def watch(spec: Path, evaluated: Evaluation, output: Path, asked: Asked = ASKED, candidate: str | None = "adaptive") -> Written:
    written = watch_spec(spec, evaluated, candidate, output, asked)
    write(written, force=False)
    return written


def test_the_spec_runs_the_chosen_tasks_in_one_cell(tmp_path: Path, evaluated: Evaluation) -> None:
    """Eight tasks, one trial, the candidate as it was, told and run on its own path alone; from another directory, too."""
    output = tmp_path / "deep" / "er" / "watch.yaml"
    output.parent.mkdir(parents=True)
    written = watch(written_spec(tmp_path / "specs"), evaluated, output)
    resolved = resolved_spec(output)
    (cell,) = resolved.plan.cells
    assert (cell.candidate, cell.contract, cell.transport, cell.name) == ("adaptive", "nested-shell", "nested-shell", "RR")
    assert (cell.generation.model.params, cell.generation.operating_point.temperature) == ({"user": "me"}, 0.5)
    assert set(resolved.plan.tasks) == {one.task for one in written.chosen}
    assert len(resolved.plan.requests) == len(written.chosen) == 8
    assert resolved.spec.deployment is not None
    assert (resolved.spec.deployment.name, resolved.spec.deployment.chosen_on) == ("support-bot", evaluated.id)
    assert resolved.spec.limits.max_cost_usd == 2
    assert resolved.spec.experiment == "support-bot watch"
    assert len(resolved_spec(output, reference=True).plan.requests) == 8 * 20
    head = output.read_text().partition("name:")[0]
    assert "crosspath run watch.yaml --reference\n" in head
    assert "crosspath run watch.yaml; crosspath drift support-bot\n" in head
    assert f"8 of 20 tasks, chosen on {evaluated.id}:adaptive (2 trials a task)" in head


def test_names_with_spaces_are_quoted_in_the_commands(tmp_path: Path, evaluated: Evaluation) -> None:
    """What the written comment says can be pasted into a shell, as what the command prints: both names stand in quotes."""
    asked = replace(ASKED, deployment="support bot")
    head = watch(written_spec(tmp_path), evaluated, tmp_path / "my watch.yaml", asked).text.partition("name:")[0]
    assert "#   crosspath run 'my watch.yaml' --reference\n" in head
    assert "#   crosspath run 'my watch.yaml'; crosspath drift 'support bot'\n" in head


def test_a_series_stays_in_its_experiment(tmp_path: Path, evaluated: Evaluation) -> None:
    """A spec that is of the deployment already is in an experiment, and its watch goes there; another deployment gets its own."""
    text = SPEC + "experiment: bots\ndeployment: {name: support-bot, candidate: adaptive}\n"
    spec = written_spec(tmp_path / "specs", text)
    watch(spec, evaluated, tmp_path / "same.yaml")
    watch(spec, evaluated, tmp_path / "other.yaml", Asked(tasks=8, deployment="night-bot"))
    assert resolved_spec(tmp_path / "same.yaml").spec.experiment == "bots"
    assert resolved_spec(tmp_path / "other.yaml").spec.experiment == "night-bot watch"


def test_a_directory_that_is_not_there(tmp_path: Path, evaluated: Evaluation) -> None:
    """It is named as such before anything is chosen, not as a task file that can't be found from it."""
    with pytest.raises(ConfigError, match=r"there is no directory .*none; make it"):
        watch(written_spec(tmp_path / "specs"), evaluated, tmp_path / "none" / "watch.yaml")


def test_own_files_are_named_from_where_the_watch_lies(tmp_path: Path, evaluated: Evaluation) -> None:
    """Contracts, styles, a program, a function beside the spec, a suite and recorded replies are found from another directory."""
    base = tmp_path / "specs"
    text = SPEC.replace("baseline/adaptive", "recorded/replies.jsonl#x").replace(
        "contract: nested-shell, transport: nested-shell", "contract: own, transport: mine, validator: suite.yaml"
    )
    text += """\
contracts: [own.md]
styles: [dry.md]
transports:
  mine: {external: {argv: [python3, tool/run.py], bind: [tool]}}
  function: {callable: "beside:run"}
"""
    spec = written_spec(base, text)
    (base / "tool").mkdir()
    (base / "tool" / "run.py").write_text("print()\n")
    (base / "beside.py").write_text("def run(reply): ...\n")
    (base / "suite.yaml").write_text((Path(__file__).parents[2] / "validators" / "exact.yaml").read_text())
    (base / "own.md").write_text(
        "---\nname: own\nversion: 1\ndiscloses: nested-shell\nreference: raw\n---\nAnswer with one command.\n"
    )
    (base / "dry.md").write_text("---\nname: dry\nversion: 1\n---\n{instruction}\n")
    (base / "replies.jsonl").write_text(json.dumps({"model": "x", "task": FEW[0].id, "contract": "own", "reply": "true"}) + "\n")
    output = tmp_path / "elsewhere" / "watch.yaml"
    output.parent.mkdir()
    watch(spec, evaluated, output)
    document = load_yaml(output.read_text(), "watch.yaml")
    assert isinstance(document, dict)
    assert document["contracts"] == ["../specs/own.md"]
    assert document["styles"] == ["../specs/dry.md"]
    assert document["tasks"]["files"] == ["../specs/tasks.jsonl"]
    assert document["models"]["watched"]["model"] == "recorded/../specs/replies.jsonl#x"
    assert document["transports"]["mine"]["external"] == {
        "argv": ["python3", "../specs/tool/run.py"],
        "bind": ["../specs/tool"],
    }
    assert document["transports"]["function"]["bind"] == ["../specs/beside.py"]
    assert document["candidates"]["adaptive"]["validator"] == "../specs/suite.yaml"
    then, now = resolved_spec(spec), resolved_spec(output)
    paths = [one.plan.paths[cell.path] for one in (then, now) for cell in one.plan.cells if cell.transport == "mine"]
    assert len({path.spec.digest for path in paths}) == 1


def test_beside_the_spec_names_stay(tmp_path: Path, evaluated: Evaluation) -> None:
    """Nothing is rewritten where nothing has to be."""
    spec = written_spec(tmp_path)
    watch(spec, evaluated, tmp_path / "watch.yaml")
    assert "files:\n    - tasks.jsonl\n" in (tmp_path / "watch.yaml").read_text()


def test_an_existing_file_is_kept_without_force(tmp_path: Path, evaluated: Evaluation) -> None:
    """It is named, and with force replaced."""
    (tmp_path / "watch.yaml").write_text("mine\n")
    written = watch_spec(written_spec(tmp_path), evaluated, "adaptive", tmp_path / "watch.yaml", ASKED)
    with pytest.raises(ConfigError, match=r"watch.yaml: --output: exists; name another file, or give --force"):
        write(written, force=False)
    assert (tmp_path / "watch.yaml").read_text() == "mine\n"
    write(written, force=True)
    assert "support-bot" in (tmp_path / "watch.yaml").read_text()


@pytest.mark.parametrize(
    ("asked", "candidate", "problem"),
    [
        (replace(ASKED, deployment=None), "adaptive", "--deployment: is missing"),
        (
            replace(ASKED, tasks=21),
            "adaptive",
            "--tasks: asks for 21 tasks; 20 of the spec's have a verdict in .*; ask for 20 at most",
        ),
        (ASKED, "adaptiv", "--from: 'adaptiv' is no candidate of .*; did you mean adaptive"),
        (ASKED, None, "--from: .* has 2 candidates; write --from .*:NAME with one of: oracle, adaptive"),
        (replace(ASKED, deployment=" x"), "adaptive", "--deployment: ' x' is no name"),
        (replace(ASKED, reference_trials=9), "adaptive", "deployment.reference_trials"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, evaluated: Evaluation, asked: Asked, candidate: str | None, problem: str) -> None:
    """What is wrong, where, and what would be right; nothing is written."""
    with pytest.raises(ConfigError, match=problem) as caught:
        watch(written_spec(tmp_path), evaluated, tmp_path / "watch.yaml", asked, candidate)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "watch.yaml").exists()


def test_a_candidate_that_the_spec_lacks_is_named(tmp_path: Path, evaluated: Evaluation) -> None:
    """The evaluation has it, the spec has not."""
    text = SPEC.replace("  oracle: baseline/oracle\n", "")
    with pytest.raises(ConfigError, match=r"candidates: 'oracle' is no candidate of the spec; known: adaptive"):
        watch(written_spec(tmp_path, text), evaluated, tmp_path / "watch.yaml", candidate="oracle")


def test_edited_tasks_are_not_chosen_by_their_old_outcomes(tmp_path: Path, evaluated: Evaluation) -> None:
    """Half of the tasks have another instruction now: the others are left to choose from."""
    now = [one.model_copy(update={"instruction": one.instruction + "!"}) if at < 10 else one for at, one in enumerate(FEW)]
    written = watch(written_spec(tmp_path, tasks=now), evaluated, tmp_path / "watch.yaml")
    assert {one.task for one in written.chosen} <= {one.id for one in FEW[10:]}


def test_another_configuration_than_evaluated_is_said(tmp_path: Path, evaluated: Evaluation) -> None:
    """The tasks are chosen on what the candidate did then."""
    (remark,) = watch(written_spec(tmp_path), evaluated, tmp_path / "watch.yaml").remarks
    assert remark.startswith("adaptive is another configuration in the spec than it was in")


def test_a_sample_of_one_trial_is_called_luck(tmp_path: Path) -> None:
    """It is chosen on all the same, and said."""
    once = Evaluation(*evaluation(names=("adaptive",), tasks=FEW, trials=1))
    first, *_ = watch(written_spec(tmp_path), once, tmp_path / "watch.yaml").remarks
    assert first.startswith(f"{once.id} has one trial a task: what passed may have passed by luck")


def test_outcomes_are_those_as_deployed(evaluated: Evaluation) -> None:
    """Of the candidate's own cell; a trial without a reply is no verdict."""
    assert {(one.passed, one.trials) for one in seen_tasks(evaluated, "adaptive")} == {(2, 2)}
    lost = Evaluation(*evaluation(names=("adaptive",), tasks=FEW, trials=2, fault=True))
    assert [one.trials for one in seen_tasks(lost, "adaptive")] == [0, *[2] * 19]


def test_plan_says_what_a_day_and_the_reference_take(tmp_path: Path, evaluated: Evaluation) -> None:
    """Requests of both, and how likely a drop is found: by stated rates, or as an evaluation showed it."""
    watch(written_spec(tmp_path), evaluated, tmp_path / "watch.yaml")
    document = plan_document(tmp_path / "watch.yaml")
    assert document["watch"]["day"]["local_requests"] == 8
    assert document["watch"]["reference"]["local_requests"] == 160
    assert [one["if"] for one in document["watch"]["power"]] == [
        "9 of 10 replies of each task pass", "7 of 10 replies of each task pass",
    ]  # fmt: skip
    text = plan_text(document)
    assert "precision" not in text
    assert "watch of support-bot: candidate adaptive, 8 tasks, tasks chosen on " in text
    assert "each run (a day)  1 trial a task: 0 requests and 8 answered by baselines or recordings, no cost" in text
    assert "a drop of 15 points of every task is found within 14 days in " in text
    assert "looked at once a day it raises a false provider alarm in 5 % of watches of 60 days at most" in text
    (like,) = plan_document(tmp_path / "watch.yaml", like=evaluated, candidate="adaptive")["watch"]["power"]
    assert (like["if"], like["needs"]) == ("tasks pass as they did", None)
    assert like["found"] > 0.9


def test_a_plan_without_a_deployment_has_no_watch(tmp_path: Path) -> None:
    """None in the document, nothing in the text."""
    resolved = resolved_spec(written_spec(tmp_path))
    assert watch_document(resolved) is None
    assert watch_lines(None) == []


# -- the command -----------------------------------------------------------------------------------------------------------


def command(*arguments: object) -> int:
    return run(["sentinel", *map(str, arguments)])


def test_the_command_writes_and_says_what_comes_next(
    tmp_path: Path, evaluated: Evaluation, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each task with its outcome, the costs, the power, and the two commands that follow; as JSON the same facts."""
    monkeypatch.setattr(api, "load", lambda name, store: evaluated)
    spec, output = written_spec(tmp_path), tmp_path / "watch.yaml"
    asked = (spec, "--from", f"{evaluated.id}:adaptive", "--tasks", 8, "--deployment", "support bot", "-o", output)
    assert command(*asked) == 0
    text = capsys.readouterr().out
    assert text.count("passed 2 of 2") == 8
    assert "looked at once a day" in text
    assert f"next: crosspath run {output} --reference\n" in text
    assert text.endswith(f"then every day: crosspath run {output}; crosspath drift 'support bot'\n")
    assert command(*asked) == 2
    assert "exists; name another file, or give --force to replace it" in capsys.readouterr().err
    assert command(*asked, "--force", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (len(found["tasks"]), found["watch"]["deployment"], found["file"]) == (8, "support bot", str(output))


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--tasks", 0), "'--tasks'"),
        (("--trials", 0), "'--trials'"),
        (("--reference-trials", 9), "'--reference-trials'"),
        (("--store", "none-here"), "there is no store none-here here"),
    ],
)
def test_a_wrong_option_is_a_usage_error(
    tmp_path: Path, arguments: tuple[object, ...], problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit code 2, the option is named, and nothing is written."""
    output = tmp_path / "watch.yaml"
    assert command(written_spec(tmp_path), "--from", "latest", "--deployment", "bot", "-o", output, *arguments) == 2
    assert problem in capsys.readouterr().err
    assert not output.exists()
