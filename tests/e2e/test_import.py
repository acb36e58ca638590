"""From a log that a library has written itself to an evaluation: openai's client, MLflow's autolog, Inspect, litellm."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest

import crosspath
from crosspath.catalogue import catalogue_tasks
from crosspath.cli.entry import run
from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer, fails

LOGS = Path(__file__).parents[1] / "data" / "logged"
TASKS = {task.id: task for task in catalogue_tasks() if task.family == "exact-file"}
KEY = "sk-not-a-real-key"
ARGUMENTS = '{"command":  "echo ready > status.txt" }'
"""Two blanks: only the text as it came has them."""


def scripted(received: Received) -> Turn:
    """The right command for the task that is asked, as a tool call where there are tools."""
    if received.body.get("tools"):
        return answer(tool_calls=[("run_shell", ARGUMENTS)])
    asked = received.body["messages"][-1]["content"]
    known = next((task for task in TASKS.values() if task.instruction == asked), None)
    return answer(known.oracle) if known else fails(400, code="unknown")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the program stands in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    """A server that answers the tasks of one family."""
    with OpenAIServer(scripted) as running:
        yield running


def log_calls(url: str, file: Path) -> None:
    """What a team does that logs each request and response of openai's client with a hook: the headers as well."""

    def log(response: httpx.Response) -> None:
        response.read()
        request = response.request
        sent: dict[str, Any] = {"url": str(request.url), "headers": dict(request.headers), "body": json.loads(request.content)}
        got = {"status_code": response.status_code, "headers": dict(response.headers), "body": response.text}
        with file.open("a") as lines:
            lines.write(json.dumps({"request": sent, "response": got}) + "\n")

    with httpx.Client(event_hooks={"response": [log]}) as http:
        given: Any = http
        client = openai.OpenAI(base_url=url, api_key=KEY, max_retries=0, http_client=given)
        for task in [*TASKS.values(), *TASKS.values()]:
            client.chat.completions.create(
                model="gpt-example", messages=[{"role": "user", "content": task.instruction}], metadata={"task": task.id}
            )
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="gpt-example", messages=[{"role": "user", "content": "?"}])


def evaluated(place: Path, transport: str = "nested-shell", said: list[str] | None = None, **more: Any) -> crosspath.Evaluation:
    spec = {"candidates": {"logged": {"model": f"recorded/{place / 'replies.jsonl'}", "transport": transport, **more}}}
    spec |= {"tasks": {"families": ["exact-file"]}, "trials": 2}
    return crosspath.evaluate(spec, store=place / "store", track=False, notify=(said if said is not None else []).append)


def passed(evaluation: crosspath.Evaluation, done: str) -> dict[str, bool]:
    """Task -> whether its first trial passed."""
    path = {cell.path for cell in evaluation.facts.cells if cell.transport == done}
    keys = [score.key for score in evaluation.judgement.scores]
    wanted = [key for key in keys if key.trial.index == 0 and key.path in path and not key.encoded and not key.repeat]
    return {score.key.trial.task: score.passed for score in evaluation.judgement.scores if score.key in wanted}


def test_logs_of_openais_client_end_to_end(place: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Pairs with headers, logged by a hook: found by their metadata or their instruction, two trials of each task, evaluated with
    the scores of the same replies given directly; no key in the recording."""
    log_calls(server.url, place / "log.jsonl")
    assert KEY in (place / "log.jsonl").read_text()
    source = ["import", "log.jsonl", "--from", "openai", "--out", "replies.jsonl"]
    assert run([*source, "--task-key", "request.body.metadata.task"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("9 calls read: 8 matched (tasks: 4), 0 unmatched, 1 without a reply; 0 of the matched ones are lossy")
    assert run([*source, "--match-instruction"]) == 0  # the same recording, or it would be refused
    recording = (place / "replies.jsonl").read_text()
    assert KEY not in recording
    assert "authorization" not in recording.lower()
    found = evaluated(place)
    assert [trial.reply and trial.reply.text for trial in found.facts.trials] == [
        task.oracle for task in TASKS.values() for _ in range(2)
    ]
    direct = {"oracle": {"model": "baseline/oracle", "contract": "raw", "transport": "nested-shell"}}
    same = crosspath.evaluate({"candidates": direct, "tasks": {"families": ["exact-file"]}}, store=place / "other", track=False)
    for done in ("raw", "nested-shell"):
        assert passed(found, done) == passed(same, done) != {}
    assert set(passed(found, "raw").values()) == {True}
    assert set(passed(found, "nested-shell").values()) == {True, False}


AUTOLOG = """
import sys
import mlflow, openai
from crosspath.catalogue import catalogue_tasks

mlflow.set_tracking_uri(sys.argv[2])
mlflow.set_experiment("production")
mlflow.openai.autolog()
client = openai.OpenAI(base_url=sys.argv[1], api_key="sk-not-a-real-key", max_retries=0)
tool = {"type": "function", "function": {"name": "run_shell", "parameters": {"type": "object", "properties": {}}}}
with mlflow.start_run() as run:
    for task in [task for task in catalogue_tasks() if task.family == "exact-file"]:
        with mlflow.start_span("handle"):
            mlflow.update_current_trace(tags={"task": task.id})
            more = {"tools": [tool]} if task.id == "exact-file/word" else {}
            client.chat.completions.create(
                model="gpt-example", messages=[{"role": "user", "content": task.instruction}],
                extra_headers={"X-Key": "sk-not-a-real-key"}, **more,
            )
mlflow.flush_trace_async_logging()
traces = mlflow.search_traces(return_type="list")
with open("traces.jsonl", "w") as file:
    file.writelines(trace.to_json() + "\\n" for trace in traces)
print(run.info.run_id)
"""


@pytest.mark.filterwarnings("ignore:The ``noload`` loader strategy is deprecated:DeprecationWarning")  # MLflow's own
def test_traces_by_mlflow_end_to_end(place: Path, server: OpenAIServer, capsys: pytest.CaptureFixture[str]) -> None:
    """Traces that MLflow's autolog of openai's client has written: by experiment, by run and from a file of to_json(), with
    argument strings to the letter; the key that a header of the inputs holds stays in MLflow."""
    uri = f"sqlite:///{place / 'mlflow.db'}"
    quiet = {"MLFLOW_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "true", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    written = [sys.executable, "-c", AUTOLOG, server.url, uri]
    done = subprocess.run(written, env=os.environ | quiet, capture_output=True, text=True, timeout=120, check=True)
    options = ["--from", "mlflow", "--task-key", "trace.tags.task", "--tracking-uri", uri, "--json"]
    found: list[tuple[dict[str, Any], str]] = []
    for number, source in enumerate(("production", done.stdout.split()[-1], "traces.jsonl")):
        assert run(["import", source, *options, "--out", f"{number}.jsonl"]) == 0
        found.append((json.loads(capsys.readouterr().out), (place / f"{number}.jsonl").read_text()))
    assert [(document["read"], document["matched"], document["lossy"]) for document, _ in found] == [(4, 4, 0)] * 3
    assert "sk-" not in found[0][1]
    assert found[0][1] == found[1][1]
    assert sorted(found[0][1].splitlines()) == sorted(found[2][1].splitlines())
    by_task = {line["task"]: line for line in map(json.loads, found[0][1].splitlines())}
    assert by_task["exact-file/word"]["tool_calls"][0]["arguments"] == ARGUMENTS
    assert by_task["exact-file/price"]["reply"] == TASKS["exact-file/price"].oracle
    assert run(["import", "nowhere", *options]) == 2
    assert "the experiments here: production" in capsys.readouterr().err.replace("Default, ", "")


def test_a_log_by_inspect_end_to_end(place: Path) -> None:
    """Two epochs of a log that Inspect has written are two trials; a tool call of it is executed as one."""
    options = ["--from", "inspect", "--task-key", "sample.metadata.task", "--out", "replies.jsonl", "--force"]
    assert run(["import", str(LOGS / "inspect-mock.eval"), *options]) == 0
    said: list[str] = []
    found = evaluated(place, said=said)
    assert "further turns of a conversation are not evaluated" in said[0]
    assert passed(found, "raw") == {"exact-file/word": True, "exact-file/price": True, "exact-file/remark": False}
    assert passed(found, "nested-shell")["exact-file/price"] is False
    assert run(["import", str(LOGS / "inspect-openai.eval"), *options, "--contract", "tool-call"]) == 0
    called = evaluated(place, contract="tool-call", transport="raw")
    (remark,) = [replay for replay in called.facts.replays if replay.key.trial.task == "exact-file/remark"][:1]
    assert remark.execution is not None
    assert {entry.path: entry.content for entry in remark.execution.state.entries} == {b"remark.md": b"done"}
