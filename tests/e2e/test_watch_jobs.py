"""Jobs that watch a deployment day by day: cron, Kubernetes, GitHub and GitLab, each command as it stands."""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from crosspath.catalogue import catalogue_tasks
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
WATCH = DEPLOY / "watch" / "watch.sh"
FAKE = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case $1 in
  run) echo "what the run said"; exit "$RUN" ;;
  drift) echo "what the look said"; echo "why it failed" >&2; exit "$LOOK" ;;
esac
"""
"""Stands for ``crosspath``, ``gh`` and ``sudo``: writes down how it is called, and ends as it is told."""


@dataclass
class Machine:
    """A directory with a spec, and programs that stand for others."""

    place: Path
    environment: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def calls(self) -> list[str]:
        """What the programs were called with."""
        written = self.place / "calls"
        return written.read_text().splitlines() if written.exists() else []

    @property
    def log(self) -> str:
        """What the job wrote down."""
        (log,) = self.place.glob("watch-*.log")
        return log.read_text()

    def fake(self, name: str) -> None:
        """From now on a program of that name stands for the real one."""
        program = self.place / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(FAKE)
        program.chmod(0o755)

    def start(self, *words: str, run: int = 0, look: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program here, until it ends."""
        own = {
            "PATH": f"{self.place / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CALLS": str(self.place / "calls"),
        }
        whole = {**os.environ, **own, "RUN": str(run), "LOOK": str(look), **self.environment, **variables}
        return subprocess.run(words, cwd=self.place, env=whole, capture_output=True, text=True, check=False, timeout=300)

    def bash(self, script: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """As a CI system runs a script: it ends with the first command that fails."""
        self.environment = {**self.environment, **variables}
        return self.start("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """One on which ``crosspath`` is a fake."""
    made = Machine(tmp_path)
    made.fake("crosspath")
    (tmp_path / "watch.yaml").write_text("candidates: {bot: baseline/oracle}\n")
    return made


# -- cron ------------------------------------------------------------------------------------------------------------------


class TestScript:
    @pytest.mark.parametrize("look", [0, 1, 2, 3, 4, 5])
    def test_the_exit_code_is_the_looks(self, machine: Machine, look: int) -> None:
        """Whatever the look ends with is what the job ends with; it prints nothing where nobody has to act."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", look=look)
        assert done.returncode == look
        assert done.stdout == {0: "", 3: "", 1: "what the look said\n"}.get(look, "what the look said\nwhy it failed\n")
        assert done.stderr == ""
        assert machine.calls == [f"run {machine.place / 'watch.yaml'}", "drift bot --output look --force"]

    @pytest.mark.parametrize("run", [3, 4, 5])
    def test_a_run_that_failed_is_looked_at(self, machine: Machine, run: int) -> None:
        """A limit, a broken control or an endpoint that is away: the look says what the day is worth, and is not drowned out."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", run=run)
        assert (done.returncode, done.stdout) == (0, "")
        assert len(machine.calls) == 2
        told = machine.start(str(WATCH), "bot", "watch.yaml", run=run, look=4)
        assert told.returncode == 4
        assert told.stdout == f"what the look said\nwhy it failed\n\nthe run before it ended with {run}:\nwhat the run said\n"

    @pytest.mark.parametrize("run", [2, 130])
    def test_a_wrong_spec_ends_it(self, machine: Machine, run: int) -> None:
        """Where nothing could be evaluated at all there is no look, and the job says why with the run's own code."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", run=run)
        assert done.returncode == run
        assert done.stdout == f"bot could not be watched: crosspath run ended with {run}\nwhat the run said\n"
        assert len(machine.calls) == 1

    def test_it_does_not_overlap_itself(self, machine: Machine) -> None:
        """While one goes on a second one starts nothing, and says so."""
        with (machine.place / "watch.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = machine.start(str(WATCH), "bot", "watch.yaml")
        assert (done.returncode, machine.calls) == (4, [])
        assert done.stderr == "bot could not be watched: the job before still goes on\n"
        assert machine.start(str(WATCH), "bot", "watch.yaml").returncode == 0

    def test_the_log_has_everything(self, machine: Machine) -> None:
        """Both commands with their output and codes, day after day, where nothing is printed, too."""
        for _ in range(2):
            machine.start(str(WATCH), "bot", "watch.yaml", run=5, look=3)
        for line in (
            "bot: the run ended with 5",
            "bot: the look ended with 3",
            "what the run said",
            "what the look said",
            "why it failed",
        ):
            assert machine.log.count(line) == 2

    def test_keys_come_from_a_file_beside_it(self, machine: Machine) -> None:
        """Cron has no environment to speak of: watch.env sets it, for the commands only."""
        (machine.place / "watch.env").write_text(f"CALLS='{machine.place}/others'\n")
        machine.start(str(WATCH), "bot", "watch.yaml")
        assert (machine.place / "others").read_text().splitlines()[1] == "drift bot --output look --force"
        assert machine.calls == []

    def test_another_directory(self, machine: Machine) -> None:
        """Log, look and store may lie elsewhere than the spec."""
        (machine.place / "data").mkdir()
        assert machine.start("sh", str(WATCH), "bot", "watch.yaml", "data").returncode == 0
        assert [path.name for path in (machine.place / "data").glob("watch*")].count("watch.lock") == 1
        assert machine.calls[0] == f"run {machine.place / 'watch.yaml'}"

    @pytest.mark.parametrize("words", [(), ("bot",), ("bot", "missing.yaml")])
    def test_wrong_arguments(self, machine: Machine, words: tuple[str, ...]) -> None:
        """Too few arguments or a spec that is not there are one line, and nothing is started."""
        done = machine.start(str(WATCH), *words)
        assert (done.returncode, machine.calls) == (2, [])
        assert done.stderr.startswith("usage: watch.sh DEPLOYMENT SPEC [DIRECTORY]")
        assert done.stderr.count("\n") == 1


def test_the_crontab_calls_the_script(machine: Machine) -> None:
    """Its line has five fields and a command that works once both files lie where it says."""
    lines = (DEPLOY / "watch" / "crontab").read_text().splitlines()
    (line,) = [line for line in lines if line and not line.startswith("#") and "=" not in line.split(" ")[0]]
    *times, command = line.split(maxsplit=5)
    assert [field.isdigit() or field == "*" for field in times] == [True] * 5
    shutil.copy(WATCH, machine.place / "watch.sh")
    assert machine.start("sh", "-c", command.replace("/srv/watch", str(machine.place)), look=1).returncode == 1
    assert machine.calls[1] == "drift support-bot --output look --force"


# -- Kubernetes ------------------------------------------------------------------------------------------------------------


def kubernetes() -> dict[str, dict[str, Any]]:
    return {document["kind"]: document for document in yaml.safe_load_all((DEPLOY / "watch" / "cronjob.yaml").read_text())}


class TestKubernetes:
    def test_one_at_a_time_and_never_twice(self) -> None:
        """Days don't overlap, a look that found drift is not repeated, keys come from a secret, the ledger outlives the pod."""
        documents = kubernetes()
        spec = documents["CronJob"]["spec"]
        job = spec["jobTemplate"]["spec"]
        pod = job["template"]["spec"]
        (container,) = pod["containers"]
        assert (spec["concurrencyPolicy"], job["backoffLimit"], pod["restartPolicy"]) == ("Forbid", 0, "Never")
        assert spec["successfulJobsHistoryLimit"] > 0
        assert spec["failedJobsHistoryLimit"] > 0
        secret = {one["name"] for one in container["env"] if "secretKeyRef" in one.get("valueFrom", {})}
        assert secret == {"MLFLOW_TRACKING_URI", "OPENAI_API_KEY"}
        claims = [one["persistentVolumeClaim"]["claimName"] for one in pod["volumes"] if "persistentVolumeClaim" in one]
        assert claims == [documents["PersistentVolumeClaim"]["metadata"]["name"]]
        assert {one["name"] for one in container["volumeMounts"]} == {one["name"] for one in pod["volumes"]}
        assert container["securityContext"] == {"privileged": True}

    @pytest.mark.parametrize(("look", "code"), [(0, 0), (1, 1), (3, 0), (4, 4), (5, 5)])
    def test_the_command(self, machine: Machine, look: int, code: int) -> None:
        """The job fails with the look's code, but not because there is too little evidence yet; it prints what is to be done."""
        (container,) = kubernetes()["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        shutil.copy(WATCH, machine.place / "watch.sh")
        (machine.place / "data").mkdir()
        (script,) = container["args"]
        here = script.replace("/watch/", f"{machine.place}/").replace(" /data ", f" {machine.place}/data ")
        done = machine.start(*container["command"], here, look=look, DEPLOYMENT="support-bot")
        assert done.returncode == code
        assert machine.calls[1] == "drift support-bot --output look --force"
        assert (done.stdout == "") == (look in (0, 3))


# -- CI --------------------------------------------------------------------------------------------------------------------

FAMILIES = ("exact-file", "env-value", "csv-append")
TASKS = [task for task in catalogue_tasks() if task.family in FAMILIES and task.tier in (0, 1)]
ORACLES = {task.instruction: task.oracle for task in TASKS}
SPEC = """\
name: watched
deployment: support-bot
tasks: {{families: [exact-file, env-value, csv-append], tiers: [0, 1]}}
trials: 2
models:
  m: {{model: openai/m, api_base: {url}, api_key_env: OPENAI_API_KEY}}
candidates: {{bot: {{model: m}}}}
executor: {{kind: local, replay_workers: 2}}
"""


@dataclass
class Watched:
    """A deployment whose reference is measured, with the server that its model answers from."""

    server: OpenAIServer
    environment: dict[str, str]
    answers: dict[str, bool]

    def runner(self, place: Path) -> Machine:
        """A fresh checkout: the spec, and no store."""
        place.mkdir()
        (place / "watch.yaml").write_text(SPEC.format(url=self.server.url))
        made = Machine(place, self.environment)
        made.fake("gh")
        return made


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """The reference, measured once."""
    place = tmp_path_factory.mktemp("watched")
    answers = {"right": True}

    def answering(received: Received) -> Turn:
        command = ORACLES[received.body["messages"][-1]["content"]]
        return answer(command if answers["right"] else "true", model="m")

    with OpenAIServer(answering) as server:
        made = Watched(server, {"MLFLOW_TRACKING_URI": f"sqlite:///{place}/mlflow.db", "OPENAI_API_KEY": "sk-test"}, answers)
        done = made.runner(place / "first").start("crosspath", "run", "watch.yaml", "--reference")
        assert done.returncode == 0, done.stdout + done.stderr
        assert len(server.requests) == 10 * len(TASKS)
        yield made


@pytest.fixture
def watched(measured: Watched, tmp_path: Path) -> Watched:
    """The deployment with nothing but its reference, in a database of its own."""
    database = measured.environment["MLFLOW_TRACKING_URI"].removeprefix("sqlite:///")
    shutil.copy(database, tmp_path / "mlflow.db")
    measured.answers["right"] = True
    return replace(measured, environment={**measured.environment, "MLFLOW_TRACKING_URI": f"sqlite:///{tmp_path}/mlflow.db"})


needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")


def without_expressions(values: dict[str, Any]) -> dict[str, str]:
    """Variables of a job but for those that GitHub fills in."""
    return {key: str(value) for key, value in values.items() if "${{" not in str(value)}


@needs_bubblewrap
def test_github(watched: Watched, tmp_path: Path) -> None:
    """Every step's commands as they stand, on a fresh runner: a model that got worse fails the job with the look's code, and the
    look is shown and told in an issue."""
    job = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())
    steps = {step["name"]: step["run"] for step in job["jobs"]["watch"]["steps"] if "run" in step}
    watched.answers["right"] = False
    runner = watched.runner(tmp_path / "github")
    places = {"GITHUB_STEP_SUMMARY": str(runner.place / "summary.md"), "GITHUB_ENV": str(runner.place / "env")}
    variables = without_expressions(job["env"]) | places | {"GITHUB_REPOSITORY": "me/my-bot"}
    for name, script in steps.items():
        done = runner.bash(script, variables)
        assert done.returncode == (1 if name == "Look for drift" else 0), f"{name}: {done.stdout}{done.stderr}"
    assert (runner.place / "env").read_text() == "LOOK=1\n"
    assert (runner.place / "summary.md").read_text().startswith("DRIFT (provider): support-bot")
    assert all((runner.place / "crosspath-drift" / name).exists() for name in ("drift.json", "drift.md", "figures/drift.png"))
    assert runner.calls[-1] == (
        "issue create --repo me/my-bot --label crosspath-drift --title Crosspath: support-bot needs a look"
        " --body-file crosspath-drift/drift.md"
    )


@pytest.mark.parametrize(("look", "code"), [(0, 0), (1, 1), (3, 0), (4, 4), (5, 5)])
def test_the_look_decides_about_the_github_job(machine: Machine, look: int, code: int) -> None:
    """Too little evidence is no failure, as in the first days; there is an issue for drift and where there is no answer."""
    job = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())
    steps = {step["name"]: step for step in job["jobs"]["watch"]["steps"] if "run" in step}
    variables = {**without_expressions(job["env"]), "GITHUB_ENV": str(machine.place / "env"), "LOOK": str(look)}
    assert machine.bash(steps["Look for drift"]["run"], variables).returncode == code
    assert (machine.place / "env").read_text() == f"LOOK={look}\n"
    condition = steps["Open an issue, or write into the open one"]["if"]
    assert (f"env.LOOK == '{look}'" in condition) == (look in (1, 4))


@needs_bubblewrap
def test_gitlab(watched: Watched, tmp_path: Path) -> None:
    """Every line as it stands: the job ends with the look's code, of which it allows only that for too little evidence."""
    job = yaml.safe_load((DEPLOY / "ci" / "gitlab-watch.yml").read_text())["crosspath-watch"]
    runner = watched.runner(tmp_path / "gitlab")
    variables = without_expressions(job["variables"])
    done = runner.bash("\n".join((*job["before_script"], *job["script"])), variables)
    assert done.returncode == 3, done.stdout + done.stderr
    assert job["allow_failure"] == {"exit_codes": [3]}
    assert all((runner.place / path / "drift.md").is_file() for path in job["artifacts"]["paths"])


@needs_bubblewrap
def test_the_script_with_the_real_command(watched: Watched, tmp_path: Path) -> None:
    """The day on which the model got worse prints who answers worse and by how much, and nothing of what went well."""
    watched.answers["right"] = False
    runner = watched.runner(tmp_path / "cron")
    worse = runner.start(str(WATCH), "support-bot", "watch.yaml")
    assert worse.returncode == 1, worse.stdout + worse.stderr
    assert worse.stdout.startswith("DRIFT (provider): support-bot")
    assert "ALARM" in worse.stdout
    assert "look ended with 1" in runner.log


def test_variables_are_those_of_the_comments() -> None:
    """Both CI jobs have a user's own names in the same variables."""
    github = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())["env"]
    gitlab = yaml.safe_load((DEPLOY / "ci" / "gitlab-watch.yml").read_text())["crosspath-watch"]["variables"]
    assert gitlab.items() <= github.items()
