"""Writes the logs in tests/data/logged with the libraries whose formats they are.

    PYTHONPATH=service python scripts/write_logs.py inspect     needs inspect-ai and openai (written by 0.3.285)
    PYTHONPATH=service python scripts/write_logs.py langfuse    needs langfuse and openai (written by 5.0.4)

Each in an environment of its own; neither library is a dependency of Crosspath. Nothing is asked but a server on this machine.
"""

import json
import os
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from crosspath.testing.openai_server import OpenAIServer, Received, Turn, answer

HERE = Path(__file__).parents[1] / "tests" / "data" / "logged"
SYSTEM = "Answer with shell text."
REPLIES = {
    "exact-file/word": ("Write 'ready' and a line end to status.txt.", "echo ready > status.txt"),
    "exact-file/price": (
        "Write this line to offer.txt: ⟪Two seats for $40, three for $55⟫",
        "printf '%s\\n' 'Two seats for $40, three for $55' > offer.txt",
    ),
    "other/task": ("Say hello.", "echo hello"),
}
"""Task -> instruction and reply."""
CALLED = ("exact-file/remark", "Call the tool to write the remark.", '{"command":  "printf done > remark.md" }')
"""Task, instruction and arguments of a reply that calls a tool; two blanks tell whether the text was kept."""


def reply_to(text: str) -> Turn:
    """What the model says to an instruction."""
    if text == CALLED[1]:
        return answer(tool_calls=[("run_shell", CALLED[2])])
    return answer(next(reply for instruction, reply in REPLIES.values() if instruction == text))


def scripted(received: Received) -> Turn:
    """The server's answer: a reply, or a last word after a tool has been called."""
    last = received.body["messages"][-1]
    return answer("Done.") if last["role"] == "tool" else reply_to(last["content"])


def write_inspect() -> None:
    """The mock model as .json, two epochs of it graded by a model as .eval, and OpenAI's client as .eval."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import model_graded_qa
    from inspect_ai.solver import generate, system_message, use_tools
    from inspect_ai.tool import tool

    @tool
    def run_shell() -> Any:
        async def execute(command: str) -> str:
            """Run shell text.

            Args:
                command: The shell text.
            """
            return "done"

        return execute

    def mocked(messages: Any, *_: Any) -> Any:
        last = messages[-1]
        if last.role == "tool":
            output = ModelOutput.from_content("mockllm/model", "Done.")
        elif last.text == CALLED[1]:
            output = ModelOutput.for_tool_call("mockllm/model", "run_shell", json.loads(CALLED[2]), content="")
        else:
            said = next((reply for instruction, reply in REPLIES.values() if instruction == last.text), "GRADE: C")
            output = ModelOutput.from_content("mockllm/model", said)
        output.usage = ModelUsage(input_tokens=20, output_tokens=7, total_tokens=27)
        return output

    pairs = [*((task, instruction) for task, (instruction, _) in REPLIES.items()), CALLED[:2]]
    samples = [Sample(id=number, input=text, target="", metadata={"task": task}) for number, (task, text) in enumerate(pairs, 1)]

    def task(**more: Any) -> Any:
        solver = [system_message(SYSTEM), use_tools(run_shell()), generate()]
        return Task(dataset=MemoryDataset(samples), solver=solver, name="shell", **more)

    grader = get_model("mockllm/grader", custom_outputs=mocked)
    graded = task(scorer=model_graded_qa(model=grader, template="{answer}", instructions=""), epochs=2)
    for evaluated, ending in ((task(), "json"), (graded, "eval")):
        model = get_model("mockllm/model", custom_outputs=mocked)
        keep(eval(evaluated, model=model, log_format=ending, display="none")[0].location, f"inspect-mock.{ending}")
    with OpenAIServer(scripted) as server:
        model = get_model("openai/gpt-example", base_url=server.url, api_key="sk-not-a-real-key", responses_api=False)
        keep(eval(task(), model=model, log_format="eval", display="none")[0].location, "inspect-openai.eval")


def keep(written: str, name: str) -> None:
    """Copy a log to its place."""
    (HERE / name).write_bytes(Path(written.removeprefix("file://")).read_bytes())


def write_langfuse() -> None:
    """A page of the observations API, with what the SDK's wrapper of OpenAI's client records of each call."""
    from langfuse import Langfuse
    from langfuse.api import ObservationsV2Response
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter = InMemorySpanExporter()
    client = Langfuse(public_key="pk", secret_key="sk", base_url="http://127.0.0.1:9", span_exporter=exporter)
    from langfuse.openai import OpenAI

    with OpenAIServer(scripted) as server:
        asked = OpenAI(base_url=server.url, api_key="sk-not-a-real-key", max_retries=0)
        for task, text in [*((task, instruction) for task, (instruction, _) in REPLIES.items()), CALLED[:2]]:
            messages: Any = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
            asked.chat.completions.create(model="gpt-example", messages=messages, metadata={"task": task})
    client.flush()
    page = [_observation(span, number) for number, span in enumerate(exporter.get_finished_spans())]
    checked = ObservationsV2Response.model_validate({"data": page, "meta": {}})
    document = json.loads(checked.json())
    (HERE / "langfuse-observations.json").write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", "utf-8")


def _observation(span: Any, number: int) -> dict[str, Any]:
    """A span as Langfuse's server shows it."""
    said = {name.removeprefix("langfuse.observation."): value for name, value in span.attributes.items()}
    moment = [datetime.fromtimestamp(at / 1e9, UTC).isoformat() for at in (span.start_time, span.end_time)]
    metadata = {name.removeprefix("metadata."): _value(value) for name, value in said.items() if name.startswith("metadata.")}
    return {
        "id": f"{span.context.span_id:016x}",
        "trace_id": f"{span.context.trace_id:032x}",
        "project_id": "project",
        "type": said["type"].upper(),
        "name": span.name,
        "start_time": moment[0],
        "end_time": moment[1],
        "input": json.loads(said["input"]),
        "output": _value(said["output"]),
        "metadata": metadata,
        "model": said["model.name"],
        "usage_details": {name: count for name, count in json.loads(said["usage_details"]).items() if isinstance(count, int)},
    }


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def main() -> None:
    """Write the logs of one library, from a directory that no log can name."""
    os.chdir(tempfile.mkdtemp())
    HERE.mkdir(parents=True, exist_ok=True)
    {"inspect": write_inspect, "langfuse": write_langfuse}[sys.argv[1]]()


if __name__ == "__main__":
    main()
