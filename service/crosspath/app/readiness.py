"""A spec in any form, resolved, and what must hold before anything is sent, executed or written for it."""

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from crosspath.app import heldout
from crosspath.app.costs import cost_sentence, unpriced
from crosspath.app.resolve import Resolved, errors_name, read_spec, resolve
from crosspath.errors import ConfigError
from crosspath.pipeline.answers import unused_lines
from crosspath.pipeline.plan import undisclosed
from crosspath.scoring import load_suite
from crosspath.spec import Spec, load_spec
from crosspath.types import canonical_json

EXECUTORS = ("local", "ray")
SANDBOXES = ("bubblewrap", "none")


def resolved_spec(spec: Spec | str | Path | dict[str, Any], *, reference: bool = False) -> Resolved:
    """Any form of a spec, resolved. ``reference``: as the measurement that its deployment is compared with.

    Raises:
        ConfigError: the spec, or something that it names, is wrong.
    """
    read = as_reference if reference else Spec.model_copy
    if isinstance(spec, Spec):
        return resolve(read(spec), Path.cwd())
    if isinstance(spec, dict):
        return resolve(read(load_spec(canonical_json(spec), "spec")), Path.cwd())
    with errors_name(str(spec)):
        asked, base = read_spec(spec)
        return resolve(read(asked), base)


def as_reference(spec: Spec) -> Spec:
    """The spec with as many trials as the reference of its deployment has.

    Raises:
        ConfigError: it names no deployment.
    """
    if spec.deployment is None:
        raise ConfigError("is missing: a reference belongs to a deployment; write deployment: NAME", field="deployment")
    deployment = spec.deployment.model_copy(update={"reference": True})
    return spec.model_copy(update={"deployment": deployment, "trials": spec.deployment.reference_trials})


def check_ready(resolved: Resolved, executor: str | None) -> None:
    """Refuse what would only fail after something was spent or written.

    Raises:
        ConfigError: no such executor, a cost limit that can't be kept, a suite that is not acceptable, a key that is not set.
    """
    require_executor(executor)
    check_prices(resolved)
    check_suites(resolved)
    if missing := missing_keys(resolved):
        raise ConfigError(f"the environment variable {missing[0]} is not set; export {missing[0]}=...", field="api_key_env")


def require_executor(executor: str | None) -> None:
    """Refuse an executor that does not exist.

    Raises:
        ConfigError: naming those that do.
    """
    if executor not in (None, *EXECUTORS):
        raise ConfigError(f"{executor!r} is not an executor; known: {', '.join(EXECUTORS)}", field="executor")


def executor_kind(resolved: Resolved, executor: str | None) -> str:
    """What the caller says, else what the spec says, else this process."""
    return executor or resolved.spec.executor.kind or "local"


def in_sandbox(resolved: Resolved, sandbox: str | None) -> Resolved:
    """The same with another sandbox, where the caller names one.

    Raises:
        ConfigError: there is no such sandbox.
    """
    if sandbox is None:
        return resolved
    if sandbox not in SANDBOXES:
        raise ConfigError(f"{sandbox!r} is not a sandbox; known: {', '.join(SANDBOXES)}", field="sandbox")
    return replace(resolved, spec=resolved.spec.model_copy(update={"sandbox": sandbox}))


def check_suites(resolved: Resolved) -> None:
    """Refuse suites that could not judge, before anything is judged by them.

    Raises:
        ConfigError: naming file, expectation and what would be right.
    """
    for suite in resolved.suites.values():
        load_suite(suite)


def missing_keys(resolved: Resolved) -> tuple[str, ...]:
    """Names of the environment variables that hold keys according to the spec, and don't."""
    named = {request.api_key_env for request in resolved.plan.requests if request.api_key_env}
    return tuple(sorted(name for name in named if not os.environ.get(name)))


def beforehand(resolved: Resolved) -> Iterator[str]:
    """What a user should know before anything is asked.

    The cost, partitions that lack tasks, who is told about another path, recorded lines without use.
    """
    if sentence := cost_sentence(resolved):
        yield sentence
    yield from heldout.notes(resolved.spec.tasks, resolved.base, tuple(resolved.plan.tasks.values()))
    yield from undisclosed(resolved.plan)
    yield from unused_lines(resolved.plan, resolved.recordings)


def check_prices(resolved: Resolved) -> None:
    """Refuse a cost limit that can't be kept.

    Raises:
        ConfigError: a cost limit stands beside a model without a price, or without a bound on its reply.
    """
    if resolved.limits.max_cost_usd is None:
        return
    if lacking := unpriced(resolved.plan):
        raise ConfigError(
            f"max_cost_usd is set, but there is no price for {', '.join(lacking)}; give prices under models, or drop the limit",
            field="limits.max_cost_usd",
        )
