"""``crosspath doctor``: is everything there that an evaluation needs, and the one fix for each trouble."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from crosspath.app import adapters
from crosspath.app.cluster import require_listener
from crosspath.app.heldout import seed_in
from crosspath.app.resolve import read_spec
from crosspath.errors import CrosspathError, SandboxError, StoreError, boundary
from crosspath.pipeline.answers import provider
from crosspath.spec import Spec
from crosspath.spec.sections import ExecutorSection
from crosspath.store.ledger import Ledger
from crosspath.types import Command, Fault, ReplayJob, ReplayKey, Task, TrialKey

Status = Literal["ok", "warning", "trouble"]


@dataclass(frozen=True)
class Finding:
    """What one check found."""

    what: str
    status: Status
    detail: str
    fix: str = ""


def diagnose(
    store: str | None = None, spec: Path | None = None, notify: Callable[[str], None] = lambda _: None
) -> list[dict[str, Any]]:
    """Sandbox, limits in force, store, MLflow, Ray and, with a spec, its model endpoints.

    Spends no token and leaves nothing behind: a store that is not there yet is tried in a directory beside it.

    Raises:
        ConfigError: ``spec`` is not one.
    """
    asked = read_spec(spec)[0] if spec is not None else None
    directory = adapters.store_directory(store)
    checks: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("sandbox", _sandbox),
        ("store", lambda: _store(directory)),
        ("mlflow", lambda: _mlflow(directory)),
        ("ray", lambda: _ray(asked.executor.address if asked else None)),
    ]
    if asked is not None:
        checks.append(("models", lambda: _models(asked)))
    if asked is not None and asked.tasks.heldout_seed_env is not None:
        variable = asked.tasks.heldout_seed_env
        checks.append(("seed", lambda: _seed(variable)))
    findings: list[Finding] = []
    for name, check in checks:
        notify(f"checking {name} ...")
        findings += _guarded(name, check)
    return [asdict(finding) for finding in findings]


def _guarded(name: str, check: Callable[[], Iterator[Finding]]) -> Iterator[Finding]:
    try:
        yield from check()
    except CrosspathError as error:
        yield Finding(name, "trouble", str(error), _FIXES.get(name, ""))


_FIXES = {
    "sandbox": "apt-get install -y bubblewrap (or what the line above says); --sandbox none runs replies unprotected",
    "store": "choose a writable directory: --store DIR or CROSSPATH_STORE=DIR",
    "mlflow": "start the server that MLFLOW_TRACKING_URI names, or unset it to use the embedded store",
    "ray": "start the cluster that the spec names, install Ray again (pip install ray), or use --executor local",
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
    with _there(directory) as tried:
        ledger = Ledger(tried)
        count = len(ledger.heads())
        ledger.close()
    state = f"is writable, {count} evaluations" if directory.exists() else "can be made"
    yield Finding("store", "ok", f"{directory} {state}")


def _mlflow(directory: Path) -> Iterator[Finding]:
    with _there(directory) as tried:
        tracker = adapters.make_tracker(tried)
        tracker.check()
    shown = adapters.without_password(adapters.tracking_uri(directory))
    yield Finding("mlflow", "ok", f"{shown} {'answers' if tried == directory else 'can be made'}")


@contextmanager
def _there(directory: Path) -> Iterator[Path]:
    """The store, or something like it in the same place for as long as it is needed.

    Raises:
        StoreError: nothing can be written there.
    """
    if directory.exists():
        yield directory
        return
    parent = next(parent for parent in directory.absolute().parents if parent.exists())
    with ExitStack() as cleanup:
        with boundary(StoreError, f"{directory} can't be made"):
            temporary = cleanup.enter_context(tempfile.TemporaryDirectory(prefix=".crosspath-doctor-", dir=parent))
        yield Path(temporary)


def _ray(address: str | None) -> Iterator[Finding]:
    require_listener(address)
    spec = Spec(sandbox="none", executor=ExecutorSection(address=address))  # a missing sandbox is not Ray's trouble
    with adapters.make_executor("ray", spec, {}) as executor:
        toolchain = executor.toolchain()
    yield Finding("ray", "ok", f"a replay worker answered: Python {toolchain.python}")


def _seed(variable: str) -> Iterator[Finding]:
    seed_in(variable, "tasks.heldout_seed_env")
    yield Finding("seed", "ok", f"{variable} holds a seed for held-out tasks")


def _models(spec: Spec) -> Iterator[Finding]:
    """One finding per endpoint and key; a model without an endpoint of its own stands for itself."""
    from crosspath.adapters.litellm_model import probe

    for (place, api_base, variable), names in _ways(spec).items():
        found = probe(names[0], api_base, variable)
        where = f"{place} for {', '.join(names)}" if api_base else ", ".join(names)
        if found.ok:
            yield Finding("model", "ok", f"{where}: {found.said}")
        else:
            yield Finding("model", "trouble", found.said, _model_fix(api_base, variable))


def _ways(spec: Spec) -> dict[tuple[str, str | None, str | None], list[str]]:
    """Place (address, ``baseline``, ``recorded``, or a model's name), address and key variable -> names of models."""
    found: dict[tuple[str, str | None, str | None], list[str]] = {}
    for model in (candidate.generation.model for candidate in spec.candidates_resolved()):
        place = model.api_base or provider(model.name) or model.name
        names = found.setdefault((place, model.api_base, model.api_key_env), [])
        if model.name not in names:
            names.append(model.name)
    return found


def _model_fix(api_base: str | None, variable: str | None) -> str:
    if variable is not None and not os.environ.get(variable):
        return f"export {variable}=..."
    if api_base is None:
        return "export the key's variable, or give the model an api_base"
    return "start the server, or correct api_base in the spec"
