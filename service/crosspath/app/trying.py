"""``crosspath transports try``: one reply through one path, each hop shown, executed in a sandbox, the final state read."""

from collections.abc import Sequence
from typing import Any

from crosspath.app.adapters import make_sandbox
from crosspath.app.resolve import Own
from crosspath.errors import ConfigError, SandboxError
from crosspath.escaping import escape, one_line, unescape
from crosspath.reports.actions import action_lines
from crosspath.scoring.state_diff import readable
from crosspath.transports import REPORT, Path, Watch, Watched, assemble, find_path, watched
from crosspath.types import Action, Delivery, ExecResult, Execution, Fault, ReplayJob, ReplayKey, Reply, Task, TrialKey


def try_path(name: str, reply: str, *, contract: str = "raw", encoded: bool = False, own: Own | None = None) -> dict[str, Any]:
    """Hops, command, what arrives and happens, and the files that are left, starting from an empty directory.

    The reply travels twice: once to see what reaches the innermost program, which is then not run, and once for real.

    Raises:
        ConfigError: no such path or contract, or ``encoded`` for a path that can't be survived.
        SandboxError: the sandbox could not run it.
    """
    own = own or Own()
    path = assemble(find_path(name, own.path_specs()), own.contract(contract), "none")
    if path.fits is not None:
        raise ConfigError(f"{path.fits}; give --contract", field="--contract")
    if encoded and not path.survivable:
        raise ConfigError(f"{name!r} can't be survived: there is no encoding", field="--encoded")
    watches: tuple[Watch, ...] = ("hops", "arrivals")
    deliveries = [path.deliver(Reply(text=reply), encoded=encoded, watch=watch) for watch in watches]
    jobs = [_job(path, delivery, number, encoded) for number, delivery in enumerate(deliveries)]
    executed, arriving = make_sandbox(own.spec).run(jobs)
    if isinstance(executed, Fault):
        raise SandboxError(executed.message)
    arrived = [] if isinstance(arriving, Fault) else [watched(result.report).arrived for result in arriving.results]
    return _document(path, deliveries[0], executed, arrived)


def _job(path: Path, delivery: Delivery, number: int, encoded: bool) -> ReplayJob:
    key = ReplayKey(trial=TrialKey(generation="try", task="try", index=number), path=path.digest, encoded=encoded)
    return ReplayJob(key=key, task=Task(id="try", family="try"), commands=tuple(action.command for action in delivery.actions))


def _document(path: Path, delivery: Delivery, execution: Execution, arrived: Sequence[tuple[str, ...] | None]) -> dict[str, Any]:
    texts = [*arrived, *[None] * len(delivery.actions)]
    return {
        "transport": path.name,
        "imitated": list(path.imitated),
        "problem": delivery.problem,
        "reason": delivery.reason,
        "actions": [
            _action(action, result, text)
            for action, result, text in zip(delivery.actions, execution.results, texts, strict=False)
        ],
        "final_state": [
            {"path": escape(entry.path), "kind": entry.kind, "content": None if entry.content is None else escape(entry.content)}
            for entry in execution.state.entries
        ],
    }


def _action(action: Action, result: ExecResult, arrived: tuple[str, ...] | None) -> dict[str, Any]:
    inside = watched(result.report) if action.command.report == REPORT else Watched()
    return {
        "hops": [{"layer": hop.layer, "text": escape(hop.text)} for hop in (*action.hops, *inside.hops)],
        "gives_up": inside.gives_up,
        "argv": [escape(word) for word in action.command.argv],
        "arrived": None if arrived is None else [escape(text.encode("utf-8", "surrogateescape")) for text in arrived],
        "exit_code": result.exit_code,
        "timed_out": result.timed_out,
        "stdout": escape(result.stdout.data),
        "stderr": escape(result.stderr.data),
    }


def try_text(document: dict[str, Any]) -> str:
    """The document for a person."""
    lines: list[str] = []
    lines += [f"imitated: {what}" for what in document["imitated"]]
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
