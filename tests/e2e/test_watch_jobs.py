"""Jobs that watch a deployment day by day: cron, Kubernetes, GitHub and GitLab, each command as it stands."""

import fcntl
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml
from markdown_it import MarkdownIt

import crosspath
from crosspath.catalogue import catalogue_tasks
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer

DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
WATCH = DEPLOY / "watch" / "watch.sh"
FAKE = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
case $1 in
  run) echo "what the run said"; test -z "$ADVICE" || echo "$ADVICE" >&2; exit "$RUN" ;;
  drift)
    mkdir -p "$4"
    printf '{"provider":{"status":"not enough","reference":"%s"}}' "$MEASURED" > "$4/drift.json"
    echo "what the look said"; echo "why it failed" >&2; exit "$LOOK" ;;
esac
"""
"""Stands for ``crosspath``, ``gh`` and ``sudo``: writes down how it is called, and ends as it is told."""
SAID = "what the run said\nnext: crosspath show\n"
ISSUES = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
for last; do :; done
case "$1 $2" in
  "issue list") python -c 'import json, pathlib
print(json.dumps([{"number": int(one.stem), "body": one.read_text()} for one in sorted(pathlib.Path("issues").glob("*.md"))]))' ;;
  "issue view") cat "issues/$3.md" ;;
  "issue create") mkdir -p issues; touch numbers; echo >> numbers; cp "$last" "issues/$(wc -l < numbers).md" ;;
  "issue edit") cp "$last" "issues/$3.md" ;;
  "issue close") rm "issues/$3.md" ;;
esac
"""
"""Stands for ``gh``: the text of the open issue N is ``issues/N.md``."""


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
        (log,) = self.place.glob("watch-*/*.log")
        return log.read_text()

    def fake(self, name: str, script: str = FAKE) -> None:
        """From now on a program of that name stands for the real one."""
        program = self.place / "bin" / name
        program.parent.mkdir(exist_ok=True)
        program.write_text(script)
        program.chmod(0o755)

    def start(self, *words: str, run: int = 0, look: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a program here, until it ends."""
        own = {
            "PATH": f"{self.place / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "CALLS": str(self.place / "calls"),
            "MEASURED": "watch-20261118-1",
            "ADVICE": "next: crosspath show",
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
        assert machine.calls == [f"run {machine.place / 'watch.yaml'}", "drift bot --output watch-bot/look --force"]

    def test_without_a_reference_it_says_so(self, machine: Machine) -> None:
        """A day that waits for evidence is silent; one that can't ever have any says which command is missing."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", look=3, MEASURED="")
        assert (done.returncode, done.stderr) == (3, "")
        assert done.stdout.startswith("bot has no reference")
        assert done.stdout.endswith(f": crosspath run {machine.place / 'watch.yaml'} --reference\n")

    def test_without_the_command_it_says_so(self, machine: Machine) -> None:
        """Cron's PATH has no virtual environment: one line says how it gets one, and nothing is started."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", PATH="/usr/bin:/bin")
        assert (done.returncode, machine.calls) == (2, [])
        assert done.stderr.startswith("watch.sh: there is no program crosspath on PATH; ")
        assert done.stderr.count("\n") == 1

    @pytest.mark.parametrize("run", [3, 4, 5])
    def test_a_run_that_failed_is_looked_at(self, machine: Machine, run: int) -> None:
        """A limit, a broken control or an endpoint that is away: the look says what the day is worth, and is not drowned out. A
        run that failed is told also where a look is content, with what an earlier one showed."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", run=run)
        told = f"bot: the look ended with 0\nthe run before it ended with 5:\n{SAID}"
        assert (done.returncode, done.stdout) == (0, told if run == 5 else "")
        assert len(machine.calls) == 2
        told = machine.start(str(WATCH), "bot", "watch.yaml", run=run, look=4)
        assert told.returncode == 4
        assert told.stdout == f"what the look said\nwhy it failed\n\nthe run before it ended with {run}:\n{SAID}"

    @pytest.mark.parametrize("run", [2, 130])
    def test_a_wrong_spec_ends_it(self, machine: Machine, run: int) -> None:
        """Where nothing could be evaluated at all there is no look, and the job says why with the run's own code."""
        done = machine.start(str(WATCH), "bot", "watch.yaml", run=run)
        assert done.returncode == run
        assert done.stdout == f"bot could not be watched: crosspath run ended with {run}\n{SAID}"
        assert len(machine.calls) == 1

    def test_it_does_not_overlap_itself(self, machine: Machine) -> None:
        """While one goes on a second one starts nothing, and says so."""
        (machine.place / "watch-bot").mkdir()
        with (machine.place / "watch-bot" / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            done = machine.start(str(WATCH), "bot", "watch.yaml")
            assert (done.returncode, machine.calls) == (4, [])
            assert done.stderr == "bot could not be watched: the job before still goes on\n"
            assert machine.start(str(WATCH), "another bot", "watch.yaml").returncode == 0
        assert machine.start(str(WATCH), "bot", "watch.yaml").returncode == 0

    def test_deployments_of_one_directory_share_nothing(self, machine: Machine) -> None:
        """Names that differ in a space, a slash or what stands for them have a log and a look each, in files of safe names."""
        names = ["my bot", "my/bot", "my%20bot", "my_bot", "..."]
        assert [machine.start(str(WATCH), name, "watch.yaml", MEASURED=name).returncode for name in names] == [0] * 5
        looks = {path.parent.parent.name: path.read_text() for path in machine.place.glob("watch-*/look/drift.json")}
        assert sorted(looks) == ["watch-...", "watch-my%20bot", "watch-my%2520bot", "watch-my%2Fbot", "watch-my_bot"]
        assert len(set(looks.values())) == len(names)
        assert len(list(machine.place.glob("watch-*/*.log"))) == len(names)

    def test_the_log_has_everything(self, machine: Machine) -> None:
        """Both commands with their output and codes, day after day, where nothing is printed, too."""
        for _ in range(2):
            machine.start(str(WATCH), "bot", "watch.yaml", run=5, look=3)
        for line in (
            "bot: the run ended with 5",
            "bot: the look ended with 3",
            "what the run said",
            "next: crosspath show",
            "what the look said",
            "why it failed",
        ):
            assert machine.log.count(line) == 2

    def test_keys_come_from_a_file_beside_it(self, machine: Machine) -> None:
        """Cron has no environment to speak of: watch.env sets it, for the commands only."""
        (machine.place / "watch.env").write_text(f"CALLS='{machine.place}/others'\n")
        machine.start(str(WATCH), "bot", "watch.yaml")
        assert (machine.place / "others").read_text().splitlines()[1] == "drift bot --output watch-bot/look --force"
        assert machine.calls == []

    def test_another_directory(self, machine: Machine) -> None:
        """Log, look and store may lie elsewhere than the spec."""
        (machine.place / "data").mkdir()
        assert machine.start("sh", str(WATCH), "bot", "watch.yaml", "data").returncode == 0
        assert [path.name for path in (machine.place / "data").glob("watch-bot/lock")] == ["lock"]
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
    assert "PATH=/opt/crosspath/.venv/bin:/usr/local/bin:/usr/bin:/bin" in lines
    *times, command = line.split(maxsplit=5)
    assert [field.isdigit() or field == "*" for field in times] == [True] * 5
    shutil.copy(WATCH, machine.place / "watch.sh")
    assert machine.start("sh", "-c", command.replace("/srv/watch", str(machine.place)), look=1).returncode == 1
    assert machine.calls[1] == "drift support-bot --output watch-support-bot/look --force"


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
        assert machine.calls[1] == "drift support-bot --output watch-support-bot/look --force"
        assert (done.stdout == "") == (look in (0, 3))

    def test_the_reference_is_measured_where_the_days_are(self, machine: Machine) -> None:
        """The comment's patch of a job made from the cron job: the same container, another command, the same directory."""
        head = (DEPLOY / "watch" / "cronjob.yaml").read_text().partition("apiVersion")[0]
        (shown,) = re.findall(r"--patch='(.+?)'", re.sub(r"\n# +", " ", head))
        (change,) = json.loads(shown)
        assert (change["op"], change["path"]) == ("replace", "/spec/template/spec/containers/0/args")
        (container,) = kubernetes()["CronJob"]["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        (machine.place / "data").mkdir()
        (script,) = change["value"]
        here = script.replace("/watch/", f"{machine.place}/").replace("/data ", f"{machine.place}/data ")
        assert machine.start(*container["command"], here).returncode == 0
        assert machine.calls == [f"run {machine.place / 'watch.yaml'} --reference"]


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


FORGOTTEN = SPEC.replace("[exact-file, env-value, csv-append], tiers: [0, 1]", "[env-value], tiers: [0]").replace(
    "support", "lost"
)
MEASURED_BEFORE = f"""\
#!/bin/sh
test "$1" = run || exec {Path(sys.executable).parent / "crosspath"} "$@"
"""
"""The real ``crosspath``, but for runs: what they would measure is in the database already."""


@dataclass
class Watched:
    """Deployments that were measured, with the server that their model answers from.

    ``support-bot`` has a reference and, in ``worse.db``, a day on which all failed; ``lost-bot`` has a day and no reference.
    """

    server: OpenAIServer
    place: Path

    def runner(self, place: Path, database: str = "mlflow.db") -> Machine:
        """A fresh checkout: the spec, and no store."""
        place.mkdir()
        copied(self.place / database, place / "copy.db")
        (place / "watch.yaml").write_text(SPEC.format(url=self.server.url))
        made = Machine(place, variables_of(place / "copy.db"))
        made.fake("gh")
        return made

    def evaluate(self, text: str, database: str, *, reference: bool = False) -> None:
        """Into the database, in this process: the libraries are there already, which is most of what a command takes."""
        (self.place / "watch.yaml").write_text(text.format(url=self.server.url))
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # MLflow's own, which a command doesn't show
            for name, value in variables_of(self.place / database).items():
                patch.setenv(name, value)
            made = crosspath.evaluate(self.place / "watch.yaml", reference=reference, store=self.place / "store")
        assert made.tracking_error is None


def variables_of(database: Path) -> dict[str, str]:
    return {"MLFLOW_TRACKING_URI": f"sqlite:///{database}", "OPENAI_API_KEY": "sk-test"}


def copied(database: Path, target: Path) -> None:
    """Whole, also while somebody has it open."""
    with closing(sqlite3.connect(database)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    """All that is measured, once."""
    answers = {"right": True}

    def answering(received: Received) -> Turn:
        command = ORACLES[received.body["messages"][-1]["content"]]
        return answer(command if answers["right"] else "true", model="m")

    with OpenAIServer(answering) as server:
        made = Watched(server, tmp_path_factory.mktemp("watched"))
        made.evaluate(SPEC, "mlflow.db", reference=True)
        assert len(server.requests) == 10 * len(TASKS)
        made.evaluate(FORGOTTEN, "mlflow.db")
        answers["right"] = False
        copied(made.place / "mlflow.db", made.place / "worse.db")
        made.evaluate(SPEC, "worse.db")
        yield made


@pytest.fixture(scope="module")
def worse(watched: Watched) -> tuple[Machine, subprocess.CompletedProcess[str]]:
    """Cron's job on the day on which everything failed, with the real look."""
    runner = watched.runner(watched.place / "cron", "worse.db")
    runner.fake("crosspath", MEASURED_BEFORE)
    return runner, runner.start(str(WATCH), "support-bot", "watch.yaml")


needs_bubblewrap = pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)")


def without_expressions(values: dict[str, Any]) -> dict[str, str]:
    """Variables of a job but for those that GitHub fills in."""
    return {key: str(value) for key, value in values.items() if "${{" not in str(value)}


@needs_bubblewrap
def test_github(worse: tuple[Machine, subprocess.CompletedProcess[str]], machine: Machine) -> None:
    """Every step's commands as they stand, with a real look's files: a model that got worse fails the job with the look's code,
    and the look is shown and told in an issue."""
    job = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())
    steps = {step["name"]: step["run"] for step in job["jobs"]["watch"]["steps"] if "run" in step}
    look = worse[0].place / "watch-support-bot" / "look"
    machine.fake("crosspath", f'#!/bin/sh\ntest $1 != drift || {{ cp -r {look} "$4"; exit 1; }}\n')
    machine.fake("gh", ISSUES)
    places = {"GITHUB_STEP_SUMMARY": str(machine.place / "summary.md"), "GITHUB_ENV": str(machine.place / "env")}
    variables = without_expressions(job["env"]) | places | {"GITHUB_REPOSITORY": "me/my-bot"}
    for name, script in steps.items():
        if name == "Close the issue":
            continue
        done = machine.bash(script, variables | steps_environment(job, name))
        assert done.returncode == (1 if name == "Look for drift" else 0), f"{name}: {done.stdout}{done.stderr}"
    assert (machine.place / "env").read_text() == "LOOK=1\nARTIFACT=crosspath-drift support-bot\n"
    assert (machine.place / "summary.md").read_text().startswith("DRIFT (provider): support-bot")
    assert all((machine.place / "crosspath-drift" / name).exists() for name in ("drift.json", "drift.md", "figures/drift.png"))
    assert [call for call in machine.calls if call.startswith("issue")][-1] == (
        "issue create --repo me/my-bot --label crosspath-drift --title Crosspath: support-bot needs a look"
        " --body-file crosspath-drift/issue.md"
    )
    written = (machine.place / "crosspath-drift" / "issue.md").read_text()
    assert re.match(r'<!-- crosspath drift of "support-bot" alarms [0-9a-f]{16} -->\nDRIFT \(provider\): support-bot', written)


def steps_environment(job: dict[str, Any], name: str) -> dict[str, str]:
    """What a step of the GitHub job sets for itself."""
    (step,) = [step for step in job["jobs"]["watch"]["steps"] if step.get("name") == name]
    return without_expressions(step.get("env", {}))


def alarm(cause: str, level: str = "alarm", *, sentence: str = "", tasks: tuple[str, ...] = ()) -> dict[str, Any]:
    return {"cause": cause, "level": level, "sentence": sentence, "fields": [], "tasks": list(tasks)}


class TestIssue:
    """What is told of one deployment: one open issue."""

    def told(self, machine: Machine, *alarms: dict[str, Any], text: str = "", **variables: str) -> list[str]:
        """The calls of ``gh`` that a day makes, but for questions."""
        job = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())
        name = "Open an issue, or write into the open one" if alarms else "Close the issue"
        (step,) = [step for step in job["jobs"]["watch"]["steps"] if step.get("name") == name]
        look = machine.place / "crosspath-drift"
        look.mkdir(exist_ok=True)
        (look / "drift.json").write_text(json.dumps({"alarms": alarms}))
        (look / "drift.md").write_text(text or "".join(f"{one['sentence']}\n" for one in alarms))
        machine.fake("gh", ISSUES)
        before = len(machine.calls)
        own = without_expressions(job["env"]) | steps_environment(job, name) | {"GITHUB_REPOSITORY": "me/my-bot"}
        done = machine.bash(step["run"], own | variables)
        assert done.returncode == 0, done.stderr
        made = (call.split(" ")[:2] for call in machine.calls[before:])
        return [verb for topic, verb in made if topic == "issue" and verb not in ("list", "view")]

    def test_one_comment_for_each_other_alarm(self, machine: Machine) -> None:
        """Who follows the issue gets a mail when something else is wrong, and none because the same figure moved."""
        worse = alarm("provider", sentence="-6.8 points", tasks=("a",))
        assert self.told(machine, worse) == ["create"]
        assert self.told(machine, worse | {"sentence": "-7.1 points", "tasks": ["a", "b"]}) == ["edit"]
        assert (machine.place / "issues" / "1.md").read_text().endswith("-7.1 points\n")
        assert self.told(machine, alarm("toolchain", tasks=("c",)), worse) == ["comment", "edit"]
        assert self.told(machine, alarm("toolchain", tasks=("c", "d")), worse) == ["comment", "edit"]
        assert self.told(machine, alarm("toolchain", tasks=("c", "d")), worse, alarm("provider", "notice")) == ["edit"]

    def test_it_is_closed_and_opened_again(self, machine: Machine) -> None:
        """A day without drift closes it, a day with one that is told of nowhere opens another."""
        assert self.told(machine) == []
        assert self.told(machine, alarm("configuration")) == ["create"]
        assert self.told(machine) == ["close"]
        assert self.told(machine, alarm("configuration")) == ["create"]

    def test_each_deployment_has_its_own(self, machine: Machine) -> None:
        """What is found of one closes and overwrites nothing of another, also where one's name begins with the other's."""
        assert self.told(machine, alarm("provider", sentence="A"), DEPLOYMENT="bot") == ["create"]
        assert self.told(machine, DEPLOYMENT="bot two") == []
        assert self.told(machine, alarm("provider", sentence="B"), DEPLOYMENT="bot two") == ["create"]
        assert self.told(machine, alarm("provider", sentence="C"), DEPLOYMENT="bot two") == ["edit"]
        texts = {path.stem: path.read_text().splitlines()[1] for path in machine.place.glob("issues/*.md")}
        assert texts == {"1": "A", "2": "C"}
        assert self.told(machine, DEPLOYMENT="bot") == ["close"]
        assert [path.stem for path in machine.place.glob("issues/*.md")] == ["2"]

    @pytest.mark.parametrize(("fence", "inside"), [("", False), ("```", True), ("~~~~", True)])
    def test_a_long_look_is_cut(self, machine: Machine, fence: str, inside: bool) -> None:
        """GitHub takes 65,536 characters: the text ends with a line of Markdown that says where the rest is, in no open fence."""
        text = f"begin\n\n```text\n~~~\n```\n\n{fence}\n" + "\N{GRINNING FACE} line\n" * 10_000
        assert self.told(machine, alarm("provider"), text=text) == ["create"]
        written = (machine.place / "issues" / "1.md").read_text()
        assert 55_000 < len(written) < 65_536
        *_, block, _, last, _ = MarkdownIt().parse(written)
        assert (block.type == "fence") == inside or block.type == "paragraph_open"
        assert last.content.startswith("Cut here, because GitHub takes no longer text")

    def test_a_usual_look_is_whole(self, machine: Machine) -> None:
        """Nothing is cut, and a name that GitHub would take for an issue of another's repository looks the same and is none."""
        self.told(machine, alarm("provider"), text="a/linux#1 is worse\n" * 3000)
        written = (machine.place / "issues" / "1.md").read_text()
        assert written.count("a/linux#\u200b1 is worse\n") == 3000
        assert "Cut here" not in written


@pytest.mark.parametrize(("look", "code"), [(0, 0), (1, 1), (3, 0), (4, 4), (5, 5)])
def test_the_look_decides_about_the_github_job(machine: Machine, look: int, code: int) -> None:
    """Too little evidence is no failure, as in the first days; there is an issue for drift and where there is no answer."""
    job = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())
    steps = {step["name"]: step for step in job["jobs"]["watch"]["steps"] if "run" in step}
    variables = {**without_expressions(job["env"]), "GITHUB_ENV": str(machine.place / "env"), "LOOK": str(look)}
    variables["DEPLOYMENT"] = "my/bot 1"
    assert machine.bash(steps["Look for drift"]["run"], variables).returncode == code
    assert (machine.place / "env").read_text() == f"LOOK={look}\nARTIFACT=crosspath-drift my%2Fbot 1\n"
    condition = steps["Open an issue, or write into the open one"]["if"]
    assert (f"env.LOOK == '{look}'" in condition) == (look in (1, 4))
    assert (f"env.LOOK == '{look}'" in steps["Close the issue"]["if"]) == (look == 0)


@needs_bubblewrap
def test_gitlab(watched: Watched, tmp_path: Path) -> None:
    """Every line as it stands: the job ends with the look's code, of which it allows only that for too little evidence, and the
    real look of a deployment whose reference was forgotten is recognised."""
    job = yaml.safe_load((DEPLOY / "ci" / "gitlab-watch.yml").read_text())["crosspath-watch"]
    runner = watched.runner(tmp_path / "gitlab")
    runner.fake("crosspath", MEASURED_BEFORE)
    variables = without_expressions(job["variables"]) | {"DEPLOYMENT": "lost-bot"}
    done = runner.bash("\n".join((*job["before_script"], *job["script"])), variables)
    assert done.returncode == 3, done.stdout + done.stderr
    assert job["allow_failure"] == {"exit_codes": [3]}
    assert all((runner.place / path / "drift.md").is_file() for path in job["artifacts"]["paths"])
    assert "lost-bot has no reference, so nothing is compared; " in done.stdout


@needs_bubblewrap
def test_the_script_with_the_real_command(worse: tuple[Machine, subprocess.CompletedProcess[str]]) -> None:
    """The day on which the model got worse prints who answers worse and by how much, and nothing of what went well."""
    runner, done = worse
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.startswith("DRIFT (provider): support-bot")
    assert "ALARM" in done.stdout
    assert "look ended with 1" in runner.log


def looks_of_ci() -> dict[str, str]:
    """What each CI job does for its look."""
    steps = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())["jobs"]["watch"]["steps"]
    (github,) = [step["run"] for step in steps if step.get("name") == "Look for drift"]
    gitlab = yaml.safe_load((DEPLOY / "ci" / "gitlab-watch.yml").read_text())["crosspath-watch"]
    return {"github": github, "gitlab": gitlab["script"][1]}


@pytest.mark.parametrize("system", ["github", "gitlab"])
@pytest.mark.parametrize("look", [0, 1, 3, 4])
@pytest.mark.parametrize("measured", ["", "watch-20261118-1"])
def test_a_missing_reference_is_said_where_it_is_missing(machine: Machine, system: str, look: int, measured: str) -> None:
    """A reference that can't be read (4) has no name in the look, too, and measuring another is not what mends that."""
    script = looks_of_ci()[system]
    done = machine.bash(script, {"DEPLOYMENT": "bot", "LOOK": str(look), "MEASURED": measured, "GITHUB_ENV": "/dev/null"})
    assert done.returncode == (0 if system == "github" and look == 3 else look)
    assert ("bot has no reference" in done.stdout) == (look == 3 and not measured)


def test_jobs_of_two_deployments_wait_for_nobody() -> None:
    """On GitHub a file is a deployment, on GitLab a job: what runs one after another has the one or the other in its name."""
    github = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())
    assert "${{ github.workflow_ref }}" in github["concurrency"]["group"]
    assert "env.ARTIFACT" in github["jobs"]["watch"]["steps"][-1]["with"]["name"]
    gitlab = yaml.safe_load((DEPLOY / "ci" / "gitlab-watch.yml").read_text())
    assert "$DEPLOYMENT" in gitlab["crosspath-watch"]["resource_group"]


CI_JOBS = {"github-watch.yml": ("jobs", "watch", "steps"), "gitlab-watch.yml": ("crosspath-watch", "script")}


@pytest.mark.parametrize(("job", "path"), CI_JOBS.items())
@pytest.mark.parametrize("reference", [False, True])
def test_the_reference_is_a_job_started_by_hand(machine: Machine, job: str, path: tuple[str, ...], reference: bool) -> None:
    """The same commands on the same image measure it; the schedule never does."""
    found = yaml.safe_load((DEPLOY / "ci" / job).read_text())
    for key in path:
        found = found[key]
    lines = [one["run"] for one in found if one.get("name") == "Evaluate"] if job == "github-watch.yml" else found[:1]
    machine.bash("\n".join(lines), {"SPEC": "watch.yaml", "REFERENCE": "1" if reference else ""})
    assert machine.calls == ["run watch.yaml" + " --reference" * reference]


@pytest.mark.parametrize("job", ["github-watch.yml", "gitlab-watch.yml", "github-actions.yml", "gitlab-ci.yml"])
def test_what_is_installed_has_no_default(machine: Machine, job: str) -> None:
    """The name on a public index may be another's package: without an address or a wheel the job ends with one line."""
    text = (DEPLOY / "ci" / job).read_text()
    assert re.findall(r"^ +CROSSPATH: (.*)$", text, re.MULTILINE) == ['""']
    (line,) = re.findall(r"command -v crosspath \|\| .+", text)
    done = machine.bash(line, {"CROSSPATH": "", "PATH": "/usr/bin:/bin"})
    assert done.returncode != 0
    assert done.stderr.count("\n") == 1
    assert "CROSSPATH: is not set; give a git address with a commit, or a wheel" in done.stderr


def test_variables_are_those_of_the_comments() -> None:
    """Both CI jobs have a user's own names in the same variables."""
    github = yaml.safe_load((DEPLOY / "ci" / "github-watch.yml").read_text())["env"]
    gitlab = yaml.safe_load((DEPLOY / "ci" / "gitlab-watch.yml").read_text())["crosspath-watch"]["variables"]
    assert gitlab.items() <= github.items()
