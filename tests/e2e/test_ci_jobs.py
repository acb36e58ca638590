"""The CI jobs under ``deploy/ci``: every command of theirs, exactly as it stands, on a fresh runner beside one MLflow store."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

import crosspath
from crosspath.app import adapters, promoting
from crosspath.catalogue import catalogue_tasks
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer
from warm_commands import warm_commands

pytestmark = [
    pytest.mark.skipif(shutil.which("bwrap") is None, reason="needs bubblewrap (make deps)"),
    # MLflow 3.17 uses what SQLAlchemy 2.1 deprecates; it says so when its tables are first used.
    pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning"),
]

JOBS = Path(__file__).resolve().parents[2] / "deploy" / "ci"
FAMILIES = ("exact-file", "env-value", "csv-append", "json-value", "cron-line", "config-edit")
TASKS = [task for task in catalogue_tasks() if task.family in FAMILIES and task.tier in (0, 1)]
ORACLES = {task.instruction: task.oracle for task in TASKS}
SPEC = """\
name: release
reuse: [crosspath]
tasks: {{families: [{families}], tiers: [0, 1]}}
models:
  m: {{model: openai/m, api_base: {url}, api_key_env: OPENAI_API_KEY}}
candidates: {{new: {{model: m}}}}
executor: {{kind: local, replay_workers: 2}}
"""
POLICY = """\
evidence: {control: none, min_mutations_rejected: 0}
rules:
  - {metric: pass_rate, at_least: 0.5}
"""
AGAINST = POLICY + "  - {metric: pass_rate, margin: 0.45}\n"
FAKE = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$CALLS"
"""
"""Stands for ``gh`` and ``curl``: writes down how it is called, and says nothing."""


def answering(received: Received) -> Turn:
    """The oracle's command."""
    return answer(ORACLES[received.body["messages"][-1]["content"]], model="m")


@dataclass
class House:
    """What all runners share: an MLflow store, a model's server, and programs that stand for the CI system's own."""

    directory: Path
    server: OpenAIServer
    environment: dict[str, str] = field(default_factory=dict[str, str])

    def runner(self, name: str, policy: str) -> Path:
        """A fresh checkout: the spec and the policy, and no store."""
        place = self.directory / name
        place.mkdir()
        (place / "crosspath.yaml").write_text(SPEC.format(families=", ".join(FAMILIES), url=self.server.url))
        (place / "policy.yaml").write_text(policy)
        return place

    def bash(self, place: Path, script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """As a CI system runs a script: it ends with the first command that fails."""
        whole = {**os.environ, **self.environment, **environment}
        words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(words, cwd=place, env=whole, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A store whose registered model ``my-bot`` has a champion: an earlier evaluation that a gate let pass."""
    place = tmp_path_factory.mktemp("ci")
    programs = place / "bin"
    programs.mkdir()
    for name in ("gh", "curl"):
        (programs / name).write_text(FAKE)
        (programs / name).chmod(0o755)
    path = f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    uri = f"sqlite:///{place}/mlflow.db"
    with OpenAIServer(answering) as server, pytest.MonkeyPatch.context() as patch:
        house = House(
            place, server, {"PATH": path, "MLFLOW_TRACKING_URI": uri, "OPENAI_API_KEY": "sk-test", "CALLS": str(place / "calls")}
        )
        first = house.runner("first", POLICY)
        for name, value in house.environment.items():
            patch.setenv(name, value)
        done = crosspath.evaluate(first / "crosspath.yaml", store=first / "store")
        assert done.run_id
        registry = adapters.make_registry(first / "store")
        promoting.register(registry, done.id, None, "my-bot", store=first / "store")
        gate = crosspath.gate(first / "policy.yaml", candidate=done.id, promote="champion", model="my-bot", store=first / "store")
        assert gate.decision, gate
        assert len(server.requests) == len(TASKS)
        yield house


def without_expressions(values: dict[str, Any]) -> dict[str, str]:
    """Variables of a job but for those that GitHub fills in."""
    return {key: str(value) for key, value in values.items() if "${{" not in str(value)}


def test_github(house: House) -> None:
    """Every step's commands run as they stand: the champion's replies are not bought again, the gate passes, and its verdict is
    shown and sent as a comment."""
    job = yaml.safe_load((JOBS / "github-actions.yml").read_text())
    place = house.runner("github", AGAINST)
    spec = (place / "crosspath.yaml").read_text()
    priced = spec.replace("_KEY}\n", "_KEY, prices: {gpu_usd_per_hour: 1}}\n")  # the champion itself would be INVALID
    (place / "crosspath.yaml").write_text(priced)
    bought = len(house.server.requests)
    variables = without_expressions(job["env"]) | {
        "GITHUB_STEP_SUMMARY": str(place / "summary.md"),
        "GITHUB_REPOSITORY": "me/my-bot",
        "NUMBER": "7",
    }
    for step in job["jobs"]["gate"]["steps"]:
        if "run" in step:
            done = house.bash(place, step["run"], variables)
            assert done.returncode == 0, f"{step.get('name')}: {done.stdout}{done.stderr}"
    assert len(house.server.requests) == bought
    assert "### Crosspath gate: PASS" in (place / "summary.md").read_text()
    assert ET.parse(place / "crosspath-gate" / "junit.xml").getroot().get("failures") == "0"
    assert "repos/me/my-bot/issues/7/comments --field body=@crosspath-gate/verdict.md" in (house.directory / "calls").read_text()


def test_gitlab(house: House, tmp_path: Path) -> None:
    """Every line runs as it stands; a policy that is not met fails the job with the gate's own exit code, and what is published
    is there all the same. (The installed program is started by the other job; here it is forked from a warm process.)"""
    job = yaml.safe_load((JOBS / "gitlab-ci.yml").read_text())["crosspath-gate"]
    place = house.runner("gitlab", POLICY + "  - {metric: tokens_per_pass, at_most: 1}\n")
    bought = len(house.server.requests)
    variables = without_expressions(job["variables"]) | {
        "CI_MERGE_REQUEST_IID": "7",
        "CI_API_V4_URL": "https://gitlab.invalid/api/v4",
        "CI_PROJECT_ID": "1",
        "GATE_TOKEN": "secret",
    }
    with warm_commands(tmp_path / "warm") as programs:
        path = {"PATH": f"{programs}:{house.environment['PATH']}"}
        done = house.bash(place, "\n".join((*job["before_script"], *job["script"])), variables | path)
    assert len(list(tmp_path.glob("warm/*/stdout"))) == 2
    assert done.returncode == 1, done.stdout + done.stderr
    assert done.stdout.rstrip().splitlines()[-1].startswith("to check it: crosspath audit crosspath-gate")
    after = house.bash(place, "\n".join(job["after_script"]), variables)
    assert after.returncode == 0, after.stderr
    assert len(house.server.requests) == bought
    assert (place / job["artifacts"]["reports"]["junit"]).is_file()
    assert all((place / path).is_dir() for path in job["artifacts"]["paths"])
    assert "https://gitlab.invalid/api/v4/projects/1/merge_requests/7/notes" in (house.directory / "calls").read_text()


def test_variables_are_those_of_the_comments() -> None:
    """Both jobs say where a user's own names go: spec, policy, both sides, and what is installed."""
    github = yaml.safe_load((JOBS / "github-actions.yml").read_text())["env"]
    gitlab = yaml.safe_load((JOBS / "gitlab-ci.yml").read_text())["crosspath-gate"]["variables"]
    assert gitlab.items() <= github.items()
