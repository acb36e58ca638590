"""``crosspath transports try``: one reply through one path, each hop shown, executed in a sandbox, the final state read."""

from typing import Any

from crosspath.app.adapters import make_sandbox
from crosspath.app.resolve import Own
from crosspath.app.showing import action_lines
from crosspath.app.state_diff import readable
from crosspath.errors import SandboxError
from crosspath.escaping import escape, one_line, unescape
from crosspath.transports import assemble, find_path
from crosspath.types import Delivery, Execution, Fault, ReplayJob, ReplayKey, Reply, Task, TrialKey


def try_path(name: str, reply: str, *, contract: str = "raw", encoded: bool = False, own: Own | None = None) -> dict[str, Any]:
    """Hops, command, what happened, and the files that are left, starting from an empty directory.

    Raises:
        ConfigError: no such path or contract, or ``encoded`` for a path that can't be survived.
        SandboxError: the sandbox could not run it.
    """
    own = own or Own()
    path = assemble(find_path(name, own.path_specs()), own.contract(contract), "none")
    delivery = path.deliver(Reply(text=reply), encoded=encoded)
    key = ReplayKey(trial=TrialKey(generation="try", task="try", index=0), path=path.digest, encoded=encoded)
    job = ReplayJob(key=key, task=Task(id="try", family="try"), commands=tuple(action.command for action in delivery.actions))
    (execution,) = make_sandbox(own.spec).run([job])
    if isinstance(execution, Fault):
        raise SandboxError(execution.message)
    return _document(name, delivery, execution)


def _document(name: str, delivery: Delivery, execution: Execution) -> dict[str, Any]:
    return {
        "transport": name,
        "problem": delivery.problem,
        "reason": delivery.reason,
        "actions": [
            {
                "hops": [{"layer": hop.layer, "text": escape(hop.text)} for hop in action.hops],
                "argv": [escape(word) for word in action.command.argv],
                "exit_code": result.exit_code,
                "timed_out": result.timed_out,
                "stdout": escape(result.stdout.data),
                "stderr": escape(result.stderr.data),
            }
            for action, result in zip(delivery.actions, execution.results, strict=True)
        ],
        "final_state": [
            {"path": escape(entry.path), "kind": entry.kind, "content": None if entry.content is None else escape(entry.content)}
            for entry in execution.state.entries
        ],
    }


def try_text(document: dict[str, Any]) -> str:
    """The document for a person."""
    lines: list[str] = []
    if document["problem"]:
        lines.append(f"problem: {document['problem']}: {document['reason']}")
    for action in document["actions"]:
        lines += action_lines(action)
    if any(action["timed_out"] for action in document["actions"]):
        lines.append("! the time limit ended it: the state below is how far it came")
    lines.append("final state:" if document["final_state"] else "final state: empty directory")
    for entry in document["final_state"]:
        lines += _entry_lines(entry)
    return "\n".join(one_line(line, keep="\t") for line in lines)


def _entry_lines(entry: dict[str, Any]) -> list[str]:
    """A file's name and lines. Whether the last line is ended is said, because it can't be seen and often matters."""
    if entry["content"] is None:
        return [f"  {entry['path']}  ({entry['kind']})"]
    content = unescape(entry["content"])
    unended = "" if content.endswith(b"\n") or not content else ", no newline at the end"
    head = f"  {entry['path']}  ({entry['kind']}, {len(content)} {'byte' if len(content) == 1 else 'bytes'}{unended})"
    text = readable(content).removesuffix("\n")
    return [head, *(f"      | {line}" for line in text.split("\n"))] if content else [head]
