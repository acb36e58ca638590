"""``crosspath noise``: how much the replies to one and the same request differ, alone and under load."""

import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from crosspath.analysis.noise import Repeats, noise_floor
from crosspath.analysis.spend import attempt_row, usages
from crosspath.app import adapters
from crosspath.app.costs import expected_usd, money, with_known_price, worst_case_at_known_price
from crosspath.app.interruption import interruptible, run_interruptibly
from crosspath.app.readiness import check_prices, resolved_spec
from crosspath.app.resolve import Resolved
from crosspath.errors import ConfigError
from crosspath.pipeline.answers import provider
from crosspath.pipeline.asking import Asker, Retries
from crosspath.pipeline.budget import Budget, spent_before, worst_case
from crosspath.pipeline.noise import Place, Prober, last_rows, probe_digest, settled_places
from crosspath.pipeline.plan import Plan, matched_cell
from crosspath.pipeline.workers import attempt
from crosspath.spec import Spec
from crosspath.store.noise_file import NoiseFile
from crosspath.tasks.places import known_names
from crosspath.types import Request
from crosspath.types.noise import Load, NoiseFloor, NoiseReport, NoiseRow

REPEATS = 30


@dataclass(frozen=True)
class Asked:
    """One generation: who uses it, and its request for each task."""

    candidates: tuple[str, ...]
    requests: tuple[Request, ...]


def noise(
    spec: Spec | str | Path | dict[str, Any],
    *,
    repeats: int = REPEATS,
    concurrency: int | None = None,
    tasks: Sequence[str] = (),
    candidates: Sequence[str] = (),
    store: str | Path | None = None,
    notify: Callable[[str], None] = lambda _: None,
    began: Callable[[int], Callable[[], None]] = lambda _: lambda: None,
) -> NoiseReport:
    """Send the same requests ``repeats`` times alone and as often with ``concurrency`` at once, and compare the replies.

    What an interrupted probe has is kept in a file below the store, and the same call goes on with it.

    Args:
        spec: a spec, its file, or its content as a mapping. Its limits bound the probe by itself.
        repeats: under each of the two loads.
        concurrency: requests in flight at once; default the ``executor.model_concurrency`` of the spec.
        tasks: ids; default the first task of the spec.
        candidates: names; default all that an endpoint answers. Those that are told and asked the same are probed once.
        store: directory of the ledger; default ``$CROSSPATH_STORE`` or ``.crosspath``.
        notify: called with sentences that a user should see before anything is sent.
        began: called with the number of replies that are owed; returns what is called after each.

    Raises:
        ConfigError: the spec or an argument is wrong, or no endpoint would be asked; nothing was sent.
        BoundaryError: something outside failed; what was done is kept.
        KeyboardInterrupt: Ctrl-C or SIGTERM; what was done is kept.
    """
    resolved = resolved_spec(spec)
    at_once = resolved.spec.executor.model_concurrency if concurrency is None else concurrency
    _check_numbers(repeats, at_once)
    asked = chosen(resolved.plan, candidates, tasks)
    _check_ready(resolved, asked)
    requests = [request for one in asked for request in one.requests]
    for sentence in beforehand(resolved, asked, repeats, at_once):
        notify(sentence)
    directory = adapters.store_directory(store)
    with closing(NoiseFile.open(directory, resolved.spec.name, probe_digest(requests, at_once), at_once)) as file:
        if file.known:
            notify(_resumption(file))
        return _Probe(resolved, asked, repeats, at_once, file).run(began)


def _check_numbers(repeats: int, concurrency: int) -> None:
    if repeats < 2:
        raise ConfigError(f"{repeats} is too few to differ; give 2 or more", field="repeats")
    if concurrency < 2:
        raise ConfigError(f"{concurrency} at once is no load; give 2 or more", field="concurrency")


# -- what is asked -------------------------------------------------------------------------------------------------------


def chosen(plan: Plan, candidates: Sequence[str], tasks: Sequence[str]) -> tuple[Asked, ...]:
    """The requests of the candidates as deployed, one for each task; each generation once.

    Raises:
        ConfigError: no such candidate or task, or one that no endpoint answers.
    """
    names = _candidates(plan, candidates)
    wanted = _tasks(plan, tasks)
    by_place = {(request.trial.generation, request.trial.task): request for request in plan.requests if not request.trial.index}
    users: dict[str, list[str]] = {}
    for name in names:
        if all(cell.candidate != name for cell in plan.cells):
            raise ConfigError(f"{name!r} has no cell that applies, so it asks for nothing", field="candidate")
        users.setdefault(matched_cell(plan.cells, name).generation.digest, []).append(name)
    return tuple(Asked(tuple(names), tuple(by_place[generation, task] for task in wanted)) for generation, names in users.items())


def _candidates(plan: Plan, named: Sequence[str]) -> list[str]:
    models = {candidate.name: candidate.generation.model.name for candidate in plan.candidates}
    for name in named:
        if name not in models:
            raise ConfigError(f"{name!r} is no candidate; {known_names(models, name)}", field="candidate")
    local = {name: kind for name, model in models.items() if (kind := provider(model)) is not None}
    if refused := [name for name in named or models if name in local]:
        left = [name for name in models if name not in local]
        if named or not left:
            kind = "baseline" if local[refused[0]] == "baseline" else "recording"
            raise ConfigError(
                f"{refused[0]!r} is answered by a {kind} ({models[refused[0]]}), which gives the same reply each time; noise asks"
                " endpoints",
                field="candidate",
            )
        return left
    return list(dict.fromkeys(named or models))


def _tasks(plan: Plan, named: Sequence[str]) -> list[str]:
    for name in named:
        if name not in plan.tasks:
            near = get_close_matches(name, plan.tasks, n=1)
            guess = f"; did you mean {near[0]!r}?" if near else ""
            raise ConfigError(f"{name!r} is none of the {len(plan.tasks)} tasks of the spec{guess}", field="task")
    feasible = [task.id for task in plan.tasks.values() if task.infeasible is None] or list(plan.tasks)
    return list(dict.fromkeys(named)) or feasible[:1]


def _check_ready(resolved: Resolved, asked: Sequence[Asked]) -> None:
    check_prices(resolved)
    keys = {request.api_key_env for one in asked for request in one.requests if request.api_key_env}
    for name in sorted(keys):
        if not os.environ.get(name):
            raise ConfigError(f"the environment variable {name} is not set; export {name}=...", field="api_key_env")


# -- before and after ----------------------------------------------------------------------------------------------------


def beforehand(resolved: Resolved, asked: Sequence[Asked], repeats: int, concurrency: int) -> list[str]:
    """What will be sent and what it costs, before a cent is spent."""
    requests = [request for one in asked for request in one.requests]
    total = 2 * repeats * len(requests)
    sent = [
        f"{', '.join(one.candidates)}: {request.model} told {request.contract}, {request.trial.task}, {_temperature(request)}"
        for one in asked
        for request in one.requests
    ]
    each = "the same request" if len(requests) == 1 else f"each of {len(requests)} requests"
    plan = f"{each} {repeats} times alone and {repeats} times with {concurrency} at once: {total} requests, and retries"
    return [*sent, f"{plan}; {_price(requests, 2 * repeats)}", *_short(resolved, total)]


def _temperature(request: Request) -> str:
    temperature = request.params.get("temperature")
    return "temperature not set" if temperature is None else f"temperature {temperature:g}"


def _price(requests: Sequence[Request], times: int) -> str:
    unknown = sorted({request.model for request in requests if not _has_price(request)})
    if unknown:
        return f"what they cost is unknown (no price for {', '.join(unknown)})"
    worst = times * sum(worst_case_at_known_price(request).cost_usd for request in requests)
    return f"about {money(times * sum(map(expected_usd, requests)))} USD, {money(worst)} USD at worst without retries"


def _has_price(request: Request) -> bool:
    priced = with_known_price(request)
    tokens = priced.input_usd_per_mtok is not None and priced.output_usd_per_mtok is not None
    return tokens or priced.gpu_usd_per_hour is not None


def _short(resolved: Resolved, total: int) -> list[str]:
    limit = resolved.limits.max_requests
    if limit is None or limit >= total:
        return []
    return [f"max_requests {limit} is below that: the probe will stop early, and go on with a higher limit"]


def _resumption(file: NoiseFile) -> str:
    replies = sum(row.reply is not None for row in file.known)
    open_ = sum(row.attempt.ended_at is None for row in file.known)
    cut = f"; {open_} requests were in flight when it was interrupted and may be paid twice" if open_ else ""
    return f"going on with {file.head.id}: {replies} replies are kept{cut}"


# -- the probe -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Probe:
    """One start of a probe."""

    resolved: Resolved
    asked: Sequence[Asked]
    repeats: int
    concurrency: int
    file: NoiseFile

    def run(self, began: Callable[[int], Callable[[], None]]) -> NoiseReport:
        """Ask for all that is owed, and report on everything that there is.

        Raises:
            BoundaryError: a row can't be kept.
            KeyboardInterrupt: see :func:`noise`.
        """
        rows, started = list(self.file.known), time.monotonic()

        def append(row: NoiseRow) -> None:
            self.file.append(row)
            rows.append(row)

        done = settled_places(rows)
        prober = Prober(self._asker(rows), append, began(len(self._wanted() - done)))

        async def work() -> None:
            for one in self.asked:
                await prober.run(one.requests, self.repeats, self.concurrency, done)

        with interruptible():
            run_interruptibly(work())
        finished = self._wanted() <= settled_places(rows)
        if finished:
            self.file.finish()
        return self._report(_ends(rows), prober.limit, finished, time.monotonic() - started)

    def _wanted(self) -> set[Place]:
        loads: tuple[Load, ...] = ("alone", "together")
        keys = [request.key for one in self.asked for request in one.requests]
        return {(key, load, repeat) for key in keys for load in loads for repeat in range(self.repeats)}

    @property
    def _session(self) -> int:
        return max((row.attempt.session for row in self.file.known), default=0) + 1

    def _asker(self, rows: Sequence[NoiseRow]) -> Asker:
        requests = {request.key: request for one in self.asked for request in one.requests}
        attempts = [row.attempt for row in rows]
        limits, retries = self.resolved.limits, Retries(**self.resolved.spec.retries.model_dump())
        worst_of = worst_case if limits.max_cost_usd is None else worst_case_at_known_price
        budget = Budget(limits, spent=spent_before(requests, attempts, worst_of))
        asker = Asker(partial(attempt, adapters.make_model({})), budget, self._session, worst_of=worst_of, retries=retries)
        asker.remember(attempts)
        return asker

    def _report(self, rows: Sequence[NoiseRow], limit: str | None, finished: bool, duration_s: float) -> NoiseReport:
        attempts = [row.attempt for row in rows]
        return NoiseReport(
            id=self.file.head.id,
            file=str(self.file.path),
            status="finished" if finished else "stopped",
            stopped_by=limit,
            repeats=self.repeats,
            concurrency=self.concurrency,
            floors=tuple(self._floor(one, rows) for one in self.asked),
            requests=len(attempts),
            failed=sum(attempt.fault is not None for attempt in attempts),
            usages=usages(map(attempt_row, attempts)),
            sessions=self._session,
            duration_s=duration_s,
        )

    def _floor(self, one: Asked, rows: Sequence[NoiseRow]) -> NoiseFloor:
        keys = {request.key for request in one.requests}
        own = [row for row in rows if row.attempt.request_key in keys]
        repeats = Repeats(self.repeats * len(one.requests), self.concurrency, last_rows(own))
        return noise_floor(one.candidates, one.requests, repeats, [row.attempt for row in own])


def _ends(rows: Iterable[NoiseRow]) -> list[NoiseRow]:
    """Of each request its last row."""
    return list({(row.attempt.request_key, row.attempt.number): row for row in rows}.values())
