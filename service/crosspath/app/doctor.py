"""``crosspath doctor``: is everything there that an evaluation needs, and the one fix for each trouble."""

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from crosspath.app import adapters
from crosspath.app.resolve import read_spec
from crosspath.errors import CrosspathError, SandboxError
from crosspath.spec import Spec
from crosspath.types import Command, Fault, ReplayJob, ReplayKey, Task, TrialKey

Status = Literal["ok", "warning", "trouble"]


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    what: str
    status: Status
    detail: str
    fix: str = ""


def diagnose(store: str | None = None, spec: Path | None = None) -> list[dict[str, Any]]:
    """Sandbox, limits in force, store, MLflow, Ray and, with a spec, its model endpoints. Spends no token."""
    directory = adapters.store_directory(store)
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("sandbox", _sandbox),
        ("store", lambda: _store(directory)),
        ("mlflow", lambda: _mlflow(directory)),
        ("ray", _ray),
    ]
    if spec is not None:
        checks.append(("models", lambda: _models(spec)))
    return [asdict(finding) for name, check in checks for finding in _guarded(name, check)]


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except CrosspathError as error:
        yield Finding(name, "trouble", str(error), _FIXES.get(name, ""))


_FIXES = {
    "sandbox": "install bubblewrap (Debian: apt-get install bubblewrap), or put `sandbox: none` into the spec to run unprotected",
    "store": "choose a writable directory: --store DIR or CROSSPATH_STORE=DIR",
    "mlflow": "start the server that MLFLOW_TRACKING_URI names, or unset it to use the embedded store",
    "ray": "install Ray again (pip install ray), or use --executor local",
}


def _sandbox() -> Iterator[Finding]:
    sandbox = adapters.make_sandbox(Spec())
    toolchain = sandbox.describe()
    key = ReplayKey(trial=TrialKey(generation="doctor", task="doctor", index=0), path="doctor")
    command = Command(argv=(b"bash", b"-c", b"printf fine > probe"))
    (execution,) = sandbox.run([ReplayJob(key=key, task=Task(id="doctor", family="doctor"), commands=(command,))])
    if isinstance(execution, Fault):
        raise SandboxError(execution.message)
    written = {entry.path: entry.content for entry in execution.state.entries}
    if written != {b"probe": b"fine"}:
        raise SandboxError(f"a probe command left {written!r} instead of one file")
    yield Finding("sandbox", "ok", f"{toolchain.sandbox}: a probe command ran and its final state was read")
    yield Finding("limits", "ok", f"in force: {', '.join(toolchain.limits_enforced) or 'none'}")
    if toolchain.limits_missing:
        yield Finding(
            "limits",
            "warning",
            f"not in force: {', '.join(toolchain.limits_missing)}",
            "run where cgroups are writable (as root, or with a delegated cgroup), or accept it: results will say so",
        )


def _store(directory: Path) -> Iterator[Finding]:
    from crosspath.store.ledger import Ledger

    existed = directory.exists()
    ledger = Ledger(directory)
    count = len(ledger.heads())
    ledger.close()
    yield Finding("store", "ok", f"{directory} is {'there' if existed else 'new'} and writable, {count} evaluations")


def _mlflow(directory: Path) -> Iterator[Finding]:
    tracker = adapters.make_tracker(directory)
    tracker.check()
    yield Finding("mlflow", "ok", f"{tracker.uri} answers")


def _ray() -> Iterator[Finding]:
    with tempfile.TemporaryDirectory(prefix="crosspath-doctor-"), adapters.make_executor("ray", Spec(), {}) as executor:
        toolchain = executor.toolchain()
    yield Finding("ray", "ok", f"a replay worker answered: Python {toolchain.python}, {toolchain.sandbox}")


def _models(spec: Path) -> Iterator[Finding]:
    from crosspath.adapters.litellm_model import probe

    asked, _ = read_spec(spec)
    models = {c.generation.model.name: c.generation.model for c in asked.candidates_resolved()}
    for name, model in models.items():
        trouble = probe(name, model.api_base, model.api_key_env)
        if trouble is None:
            yield Finding("model", "ok", f"{name} can be asked")
            continue
        variable = model.api_key_env
        missing_key = variable is not None and not os.environ.get(variable)
        fix = f"export {variable}=..." if missing_key else "start the server, or correct api_base in the spec"
        yield Finding("model", "trouble", trouble, fix)
