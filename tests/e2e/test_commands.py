"""Every command once, over one real evaluation: real sandbox, real ledger, real MLflow on SQLite, executor local."""

import io
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

import crosspath
from crosspath.catalogue import catalogue_tasks, suite_text
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.testing.openai_server import OpenAIServer, fails

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)"),
    # MLflow 3.17 uses what SQLAlchemy 2.1 deprecates; it says so when its tables are first used.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"),
]

SPEC = """\
name: few
tasks: {families: [exact-file, commit-message], tiers: [0, 1]}
defaults: {contract: nested-shell, transport: nested-shell}
candidates:
  oracle: baseline/oracle
  adaptive: baseline/adaptive
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a spec and a store that holds its evaluation."""
    place = tmp_path_factory.mktemp("few")
    (place / "few.yaml").write_text(SPEC)
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("MLFLOW_TRACKING_URI", raising=False)
        patch.setenv("CROSSPATH_STORE", str(place / "store"))
        done = crosspath.evaluate(place / "few.yaml", executor="local")
        assert done.tracking_error is None
        (place / "run").write_text(done.run_id or "")
        (place / "id").write_text(done.id)
    return place


@pytest.fixture(autouse=True)
def here(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Another current directory than the spec's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setenv("CROSSPATH_STORE", str(place / "store"))
    return tmp_path


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Any:
    """Run a command with ``--json`` and give its document."""

    def document(*arguments: str, code: int = 0) -> Any:
        assert run([*arguments, "--json"]) == code
        return json.loads(capsys.readouterr().out, parse_constant=pytest.fail)

    return document


def first(place: Path) -> str:
    return (place / "id").read_text()


def test_plan_says_all_before_it_is_done(place: Path, command: Any) -> None:
    """A plan counts requests, replays and cells, and a plan of baselines costs nothing."""
    plan = command("plan", str(place / "few.yaml"))
    assert (plan["requests"], plan["worst_cost_usd"], plan["tasks"]) == (0, 0, 4)
    assert plan["replays"] == 4 * (2 * 3 + 2 * 2 - 0)
    assert {cell["cell"] for cell in plan["cells"]} == {"RR", "RN", "NR", "NN", "control"}


def test_plan_says_how_likely_a_policy_lets_an_equal_candidate_pass(place: Path, here: Path, command: Any) -> None:
    """As the tasks came out before: who passed each time passes whatever so few tasks can show."""
    (here / "policy.yaml").write_text(
        "candidate: latest:adaptive\nrules: [{metric: pass_rate, margin: 0.8, over: these_tasks}]\n"
    )
    plan = command("plan", str(place / "few.yaml"), "--policy", "policy.yaml", "--like", first(place))["policy"]
    assert plan["like"] == f"{first(place)}:adaptive"
    assert (plan["passes"], plan["trials_needed"]) == (1.0, 1)
    assert any(line.startswith("4 tasks that can be done") for line in plan["refused"])


def test_report_gives_the_decomposition(place: Path, command: Any) -> None:
    """The oracle is damaged and does not compensate; the adaptive one compensates all of it."""
    document = command("report", first(place))
    by_name = {d["candidate"]: {e["name"]: e["these"]["value"] for e in d["effects"]} for d in document["decompositions"]}
    assert by_name["oracle"]["damage"] < 0
    assert by_name["oracle"]["compensation"] == 0
    assert by_name["adaptive"]["matched_gap"] == 0
    assert all(d["control"]["status"] == "holds" for d in document["decompositions"])


def test_report_by_mlflow_run_and_for_people(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An evaluation is also found by its MLflow run; the report begins in plain words."""
    assert run(["report", (place / "run").read_text()]) == 0
    out, err = capsys.readouterr()
    assert "## In plain words" in out
    assert err == ""


def test_report_in_every_form(place: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One evaluation for a terminal, as Markdown, as HTML with its figures and as JSON; into a file that is no one else's."""
    say = "oracle on nested-shell gets 2 of 4 tasks right as deployed: 2 are lost to the path."
    for form in ("terminal", "markdown"):
        assert run(["report", first(place), "--format", form]) == 0
        assert say in " ".join(capsys.readouterr().out.split())
    assert run(["report", first(place), "--output", "report.html"]) == 0
    assert "report.html  (html: few-" in capsys.readouterr().out
    page = (here / "report.html").read_text("utf-8")
    assert say in page
    assert page.count("<img ") >= 4
    assert run(["report", first(place), "--json", "--output", "report.html"]) == 0
    assert json.loads((here / "report.html").read_text("utf-8"))["headlines"][0]["sentence"] == say
    (here / "mine.md").write_text("mine\n")
    assert run(["report", first(place), "--output", "mine.md"]) == 2
    assert "mine.md exists and is no report of Crosspath" in capsys.readouterr().err


def test_report_from_mlflow_alone(place: Path, here: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that only knows the MLflow store finds the whole evaluation there, and can replay it."""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{place / 'store' / 'mlflow.db'}")
    document = command("report", (place / "run").read_text(), "--store", str(here / "empty"))
    assert document["evaluation"] == first(place)
    replayed = command(
        "replay", (place / "run").read_text(), "-t", "raw", "--executor", "local", "--no-mlflow", "--store", str(here / "empty")
    )
    assert replayed["derived_from"] == first(place)


def test_run_prints_the_answer_first(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`run` ends with plain words, the table, and where the result is; without a terminal each stage is one line elsewhere."""
    (here / "spec.yaml").write_text("tasks: {families: [exact-file], tiers: [0]}\ncandidates: {a: baseline/oracle}\n")
    assert run(["run", "spec.yaml", "--executor", "local", "--no-mlflow", "--store", "own"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("a gets its one task right as deployed: nothing is lost.")
    assert "\na: 1 of 1 right" in out
    assert "crosspath report spec-" in out
    assert err == "asking and replaying: 1 trials, 1 replays ...\njudging ...\n"


def test_replay_goes_another_way_without_a_model(place: Path, command: Any) -> None:
    """Stored replies go through a path that was not in the spec, and no request is made."""
    document = command("replay", first(place), "-t", "script-file", "--executor", "local", "--no-mlflow")
    assert document["derived_from"] == first(place)
    assert document["spend"]["requests"] == 0
    assert {d["candidate"] for d in document["decompositions"]} == {"oracle via script-file", "adaptive via script-file"}
    again = command("replay", document["evaluation"], "-t", "raw", "--executor", "local", "--no-mlflow")
    assert {d["candidate"] for d in again["decompositions"]} == {"oracle via raw", "adaptive via raw"}


def test_replay_refuses_an_unknown_path_by_its_option(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A path that is not known is a complaint about `--transport`, not about a candidate that nobody named."""
    assert run(["replay", first(place), "-t", "nestd-shell", "--executor", "local", "--no-mlflow"]) == 2
    err = capsys.readouterr().err
    assert "--transport" in err
    assert "nested-shell" in err
    assert "candidates" not in err


def test_replay_says_what_nobody_named(here: Path, place: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """A replay of `latest` says what that is where it was derived itself, and of the reference path what can't be seen."""
    command("run", str(place / "few.yaml"), "--executor", "local", "--no-mlflow", "--store", "own")
    chain = "own-path-with-a-name-that-goes-on-and-on-and-on-x"
    (here / "spec.yaml").write_text(
        f"transports: {{{chain}: [double-quoted-shell, shell]}}\ncandidates: {{a: baseline/oracle}}\n"
    )
    found = command(
        *("replay", "latest", "-t", chain, "--spec", "spec.yaml", "--executor", "local", "--no-mlflow", "--store", "own")
    )
    assert {d["candidate"] for d in found["decompositions"]} == {
        f"oracle via {chain}",
        "adaptive via own-path-with" + "..." + chain[-26:],
    }
    capsys.readouterr()
    assert run(["replay", "latest", "-t", "raw", "--executor", "local", "--no-mlflow", "--store", "own"]) == 0
    err = capsys.readouterr().err
    assert f"latest is {found['evaluation']}: replay through {chain}, derived from few-" in err
    assert "raw is the reference path" in err


def test_validate_judges_anew_without_a_sandbox(place: Path, here: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A validator of one's own judges stored states; neither sandbox nor model is there."""
    monkeypatch.setenv("PATH", str(here))
    (here / "mine.yaml").write_text(suite_text("exact").content.replace("name: exact", "name: mine"))
    document = command("validate", first(place), "--validator", "mine.yaml", "--no-mlflow")
    assert document["derived_from"] == first(place)
    report = command("report", first(place))
    assert [d["effects"] for d in document["decompositions"]] == [d["effects"] for d in report["decompositions"]]


def test_bad_suite_leaves_nothing_behind(place: Path, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`validate` with a suite that is refused makes no evaluation."""
    (here / "bad.yaml").write_text("name: bad\nfinal_state: []\n")
    before = crosspath.load("latest").id
    assert run(["validate", first(place), "--validator", "bad.yaml", "--no-mlflow"]) == 2
    assert "bad.yaml" in capsys.readouterr().err
    assert crosspath.load("latest").id == before


def test_log_again(place: Path, command: Any) -> None:
    """An evaluation can be logged once more; its run is named."""
    assert command("log", first(place))["mlflow"]["run"]


def test_show_follows_a_task(place: Path, command: Any) -> None:
    """Per cell: reply, hops, command, exit, and the final state with its difference."""
    document = command("show", first(place), "exact-file/price", "--candidate", "oracle")
    cells = {cell["cell"]: cell for cell in document["cells"]}
    assert set(cells) == {"RR", "RN", "NR", "NN", "control"}
    assert cells["RN"]["actions"][0]["hops"][0]["layer"] == "reply"
    assert cells["RR"]["score"]["passed"]
    assert not cells["RN"]["score"]["passed"]
    (row,) = [row for row in cells["RN"]["state"] if not row["equal"]]
    assert any(line.startswith("- ") and "$40" in line for line in row["diff"])


def test_show_for_people(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The text names verdicts first and shows texts as they are, backslashes not doubled; cells are named in any case."""
    assert run(["show", first(place), "exact-file/price", "--candidate", "oracle", "--cell", "rn"]) == 0
    out = capsys.readouterr().out
    assert "oracle  RN       failed: wrong_state, although the path told that all is well" in out
    assert "hop double-quoted-shell:" in out
    assert "      - Two seats for $40" in out


def test_show_says_what_the_model_was_told(place: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The text has what each contract says about the path, `--full` all of it; JSON the very messages."""
    assert run(["show", first(place), "exact-file/price", "--candidate", "oracle"]) == 0
    out = capsys.readouterr().out
    assert "told nested-shell (--full for all of it):\n  | The text is placed, without any escaping" in out
    assert "Rules:" not in out
    assert run(["show", first(place), "exact-file/price", "--candidate", "oracle", "--full"]) == 0
    assert "Rules:" in capsys.readouterr().out
    document = command("show", first(place), "exact-file/price", "--candidate", "oracle", "--cell", "NN")
    (cell,) = document["cells"]
    assert [message["role"] for message in cell["messages"]] == ["system", "user"]
    assert cell["messages"][0]["content"] == document["contracts"]["nested-shell"]["text"]


def test_show_begins_with_what_matters(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without `--cell` there are all verdicts, the blocks of RR and the candidate's own cell, and how to see the others."""
    assert run(["show", first(place), "exact-file/price"]) == 0
    out = capsys.readouterr().out
    assert out.count("== ") == 4
    assert "[RN]" not in out
    assert out.endswith("more: --cell RN, --cell NR, --cell control, or --all\n")
    assert "hop reply" not in out
    assert run(["show", first(place), "exact-file/price", "--all"]) == 0
    out = capsys.readouterr().out
    assert out.count("== ") == 10
    assert "more:" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["exact-file/prce"], "exact-file/price"),
        (["exact-file/price", "--candidate", "orcle"], "oracle"),
        (["exact-file/price", "--cell", "XX"], "RR"),
        (["exact-file/price", "--trial", "1"], "0 to 0"),
    ],
)
def test_show_suggests_near_names(arguments: list[str], words: str, place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A task, candidate, cell or trial that is not there is answered with those that are."""
    assert run(["show", first(place), *arguments]) == 2
    assert words in capsys.readouterr().err


def test_shell_opens_just_before_the_command(
    place: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`show --shell` enters the sandbox: fixture and setup are there, the command was not run, and its exit status is ours."""
    lines = io.TextIOWrapper(io.BytesIO(b'git log --format=%s; git status --short; echo "[$HISTFILE]"; exit 7\n'))
    monkeypatch.setattr(sys, "stdin", lines)
    assert run(["show", first(place), "commit-message/charge", "--cell", "RN", "--shell"]) == 7
    out, err = capfdbinary.readouterr()
    assert out == b"base\nA  notes.txt\n[]\n"
    assert b"git commit -q -m 'Charge $3 a call" in err.replace(b"'\"'\"'", b"'")


def test_transports_try(command: Any) -> None:
    """One reply through one path: hops, exit, and what was left."""
    document = command("transports", "try", "nested-shell", 'printf %s "$HOME" > a')
    assert document["final_state"][0]["path"] == "a"
    assert document["actions"][0]["exit_code"] == 0
    assert (
        command("transports", "try", "nested-shell", "printf %s '$HOME' > a", "--encoded")["final_state"][0]["content"] == "$HOME"
    )
    refused = command("transports", "try", "raw", "no json", "--contract", "json")
    assert refused["problem"] == "contract_error"


def test_transports_of_a_spec_can_be_tried(here: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """`--spec` finds a spec's chains, harnesses (beside the spec) and contracts; a spec is no file of paths."""
    (here / "below").mkdir()
    (here / "below" / "harness.py").write_text("print('from the harness')\n")
    (here / "below" / "told.md").write_text(
        "---\nname: told\nshape: json\ndiscloses: raw\nreference: json\n---\nReply as JSON.\n"
    )
    own = "{mine: {external: {argv: [python3, harness.py], bind: [harness.py]}}, chain: [shell]}"
    spec = f"transports: {own}\ncontracts: [told.md]\ncandidates: {{a: baseline/oracle}}\n"
    (here / "below" / "spec.yaml").write_text(spec)
    (here / "below" / "paths.yaml").write_text("mine: {external: {argv: [python3, harness.py], bind: [harness.py]}}\n")
    for option, file in (("--spec", "below/spec.yaml"), ("--paths", "below/paths.yaml")):
        assert command("transports", "try", "mine", "x", option, file)["actions"][0]["stdout"] == "from the harness\n"
        assert command("transports", "show", "mine", option, file)["external"]["argv"][1].endswith("below/harness.py")
    tried = command("transports", "try", "chain", '{"command": "echo x > f"}', "--contract", "told", "--spec", "below/spec.yaml")
    assert tried["final_state"][0]["content"] == "x\n"
    assert run(["transports", "try", "mine", "x", "--paths", "below/spec.yaml"]) == 2
    assert "--spec" in capsys.readouterr().err
    assert run(["transports", "try", "mine", "x", "--paths", "below/paths.yaml", "--spec", "below/spec.yaml"]) == 2


def test_try_shows_line_ends_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    """A file whose last line is ended has no further empty line; one whose last line is not ended says so."""
    assert run(["transports", "try", "raw", "echo one > a; printf two > b; : > c; printf '3\\n\\n' > d"]) == 0
    out = capsys.readouterr().out
    state = out[out.index("final state:") :]
    assert state == (
        "final state:\n  a  (file, 4 bytes)\n      | one\n  b  (file, 3 bytes, no newline at the end)\n      | two\n"
        "  c  (file, 0 bytes)\n  d  (file, 3 bytes)\n      | 3\n      | \n"
    )


def test_ui_says_what_it_would_start(command: Any) -> None:
    """`ui --json` gives address and command, and starts nothing."""
    document = command("ui", "--port", "5055")
    assert document["url"].endswith(":5055")
    assert document["command"]


def test_python_api_gives_frames(place: Path) -> None:
    """Cells, effects and failures are DataFrames; two candidates can be compared; unknown ones are refused."""
    loaded = crosspath.load(first(place))
    assert set(loaded.cells["cell"]) >= {"RR", "RN", "NR", "NN"}
    assert set(loaded.effects["effect"]) >= {"damage", "compensation", "matched_gap"}
    assert "cause" in loaded.failures
    assert loaded.decomposition("oracle").candidate == "oracle"
    assert crosspath.compare(first(place), "oracle", "adaptive").difference.value == 0.5
    with pytest.raises(ConfigError, match="oracle, adaptive"):
        crosspath.compare(first(place), "oracle", "nobody")


def test_python_api_takes_a_mapping(here: Path) -> None:
    """A spec may be a mapping; a second evaluation of the same is a new one."""
    spec = {"tasks": {"families": ["exact-file"], "tiers": [0]}, "candidates": {"a": "baseline/naive"}}
    one = crosspath.evaluate(spec, store=here / "s", track=False)
    two = crosspath.evaluate(spec, store=here / "s", track=False)
    assert one.id != two.id
    assert one.cells["passed"].tolist() == two.cells["passed"].tolist() == [1]
    assert one.failures.empty
    assert one.effects.empty
    assert {"task", "cause"} <= set(one.failures.columns)
    assert {"effect", "value"} <= set(one.effects.columns)


# -- recorded replies ----------------------------------------------------------------------------------------------------


def recording(place: Path) -> None:
    """Replies of two models; the second one has none to one task under one contract."""
    tasks = [task for task in catalogue_tasks() if task.family == "exact-file" and (task.tier or 0) < 2]
    lines = [
        {"model": model, "task": task.id, "contract": contract, "trial": 0, "reply": task.oracle}
        for model in ("org/one", "two")
        for task in tasks
        for contract in ("raw", "nested-shell")
        if (model, task.tier, contract) != ("two", 1, "nested-shell")
    ]
    (place / "replies.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (place / "spec.yaml").write_text(
        "tasks: {families: [exact-file], tiers: [0, 1]}\n"
        "defaults: {contract: nested-shell, transport: nested-shell}\n"
        "candidates:\n  one: recorded/replies.jsonl#org/one\n  two: recorded/replies.jsonl#two\n"
    )


def test_recorded_replies_end_to_end(here: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Replies recorded elsewhere are decomposed at no cost; a missing line is missing, not wrong, and no failure."""
    (here / "below").mkdir()
    recording(here / "below")
    assert command("plan", "below/spec.yaml")["local_requests_without_answer"] == 1
    document = command("run", "below/spec.yaml", "--executor", "local", "--no-mlflow", "--store", "s")
    assert document["status"] == "finished"
    assert any("not_recorded 1" in warning for warning in document["warnings"])
    two = next(d for d in document["decompositions"] if d["candidate"] == "two")
    matched = next(cell for cell in two["cells"] if (cell["told"], cell["done"]) == ("N", "N"))
    assert (matched["planned"], matched["scored"]) == (2, 1)
    capsys.readouterr()
    replayed = command("replay", "latest", "-t", "script-file", "--executor", "local", "--no-mlflow", "--store", "s")
    assert replayed["spend"]["requests"] == 0
    assert run(["show", "latest", "exact-file/price", "--candidate", "two via script-file", "--store", "s"]) == 0
    assert "not_recorded" in capsys.readouterr().out


def test_prompts_become_a_recording(here: Path, command: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """Lines of `prompts --json` for a recording that does not exist yet, answered elsewhere, are that recording."""
    (here / "spec.yaml").write_text(
        "tasks: {families: [exact-file], tiers: [0]}\n"
        "defaults: {contract: tool-call-nested-shell, transport: nested-shell}\n"
        "candidates: {one: 'recorded/replies.jsonl#org/one'}\n"
    )
    assert run(["prompts", "spec.yaml", "--json"]) == 0
    prompts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [prompt.keys() for prompt in prompts] == [
        {"model", "task", "contract", "request_style", "trial", "messages", "tools"}
    ] * 2
    assert {(prompt["model"], prompt["contract"]) for prompt in prompts} == {
        ("org/one", "tool-call"),
        ("org/one", "tool-call-nested-shell"),
    }
    assert prompts[0]["tools"][0]["function"]["name"] == "run_shell"
    assert run(["prompts", "spec.yaml"]) == 0
    assert "tools: run_shell, write_file" in capsys.readouterr().out
    oracles = {task.id: task.oracle for task in catalogue_tasks()}
    for prompt in prompts:
        prompt["tool_calls"] = [{"name": "run_shell", "arguments": json.dumps({"command": oracles[prompt["task"]]})}]
    (here / "replies.jsonl").write_text("".join(json.dumps(prompt) + "\n" for prompt in prompts))
    document = command("run", "spec.yaml", "--executor", "local", "--no-mlflow", "--store", "s")
    assert [cell["passed"] for cell in document["decompositions"][0]["cells"]] == [1, 1, 1, 1]


def test_recording_without_any_answer_is_not_enough(here: Path, command: Any) -> None:
    """Where a whole cell has no reply there is no verdict: exit code 3."""
    line = {"model": "m", "task": "exact-file/word", "contract": "raw", "trial": 0, "reply": "true"}
    (here / "replies.jsonl").write_text(json.dumps(line) + "\n")
    (here / "spec.yaml").write_text(
        "tasks: {families: [exact-file], tiers: [0]}\ncandidates: {m: {model: recorded/replies.jsonl, contract: nested-shell}}\n"
    )
    command("run", "spec.yaml", "--executor", "local", "--no-mlflow", "--store", "s", code=3)


# -- tasks and the house -------------------------------------------------------------------------------------------------


def test_without_a_sandbox_only_on_demand(
    here: Path, command: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where bubblewrap is missing nothing is executed, until `--sandbox none` says so; the result then says it, too."""
    programs = here / "programs"
    programs.mkdir()
    for name in ("bash", "sh", "git"):
        (programs / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(programs))
    (here / "spec.yaml").write_text("tasks: {families: [exact-file], tiers: [0]}\ncandidates: {a: baseline/oracle}\n")
    assert run(["run", "spec.yaml", "--executor", "local", "--no-mlflow", "--store", "s"]) == 5
    assert "bubblewrap is not installed" in capsys.readouterr().err
    document = command("run", "spec.yaml", "--executor", "local", "--no-mlflow", "--store", "s", "--sandbox", "none")
    assert any("WITHOUT a sandbox" in warning for warning in document["warnings"])
    assert run(["show", "latest", "exact-file/word", "--shell", "--store", "s"]) == 2
    assert "without a sandbox" in capsys.readouterr().err
    assert run(["run", "spec.yaml", "--sandbox", "docker", "--store", "s"]) == 2


def test_doctor_names_each_trouble_with_a_fix(here: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """No sandbox, no tracking server, no model: three troubles with one fix each, exit code 5, and nothing left behind."""
    monkeypatch.setenv("PATH", str(here))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    monkeypatch.setattr("crosspath.app.doctor._ray", lambda _: iter(()))  # Ray has tests of its own, and takes its time
    (here / "spec.yaml").write_text(
        "models:\n"
        "  a: {model: openai/a, api_base: 'http://127.0.0.1:9/v1'}\n"
        "  b: {model: openai/b, api_key_env: CROSSPATH_TEST_NO_KEY}\n"
    )
    findings = command("doctor", "--spec", "spec.yaml", "--store", "new", code=5)
    troubles = {finding["what"]: finding for finding in findings if finding["status"] == "trouble"}
    assert set(troubles) == {"sandbox", "mlflow", "model"}
    assert all(finding["fix"] for finding in troubles.values())
    assert "export CROSSPATH_TEST_NO_KEY=..." in [finding["fix"] for finding in findings]
    assert [path.name for path in here.iterdir()] == ["spec.yaml"]


def test_doctor_refuses_a_wrong_spec(capsys: pytest.CaptureFixture[str]) -> None:
    """A spec that does not exist is the user's mistake, not a trouble of the installation."""
    for arguments in (["--spec", "no.yaml"], ["no.yaml"]):
        assert run(["doctor", *arguments]) == 2
        assert "no.yaml" in capsys.readouterr().err
    assert run(["doctor", "no.yaml", "--spec", "no.yaml"]) == 2
    assert "once" in capsys.readouterr().err


def test_doctor_has_one_line_per_endpoint(here: Path, command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two models of one server that offers no list are one finding without trouble; baselines need no endpoint."""
    monkeypatch.setattr("crosspath.app.doctor._ray", lambda _: iter(()))
    with OpenAIServer(models=fails(501)) as server:
        (here / "spec.yaml").write_text(
            f"models:\n  a: {{model: openai/a, api_base: '{server.url}'}}\n  b: {{model: openai/b, api_base: '{server.url}'}}\n"
            "candidates: {a: a, b: b, c: baseline/oracle, d: baseline/naive}\n"
        )
        findings = command("doctor", "spec.yaml", "--store", "new")
    assert [finding["detail"] for finding in findings if finding["what"] == "model"] == [
        f"{server.url} for openai/a, openai/b: reachable; it offers no /models (501)",
        "baseline/oracle, baseline/naive: needs no endpoint",
    ]
