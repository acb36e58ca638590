"""Replies that need no endpoint: the three baselines, and replies that were recorded elsewhere.

They are handed to the model adapter as a table from request key to reply, so that they travel the same way as any provider's.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches

from crosspath.errors import ConfigError
from crosspath.pipeline.plan import Plan
from crosspath.transports import assemble, express, express_abstention
from crosspath.types import Contract, RecordedReply, Reply, Request, Task

MAX_REASONS = 5
"""Longest list of reasons in one sentence about lines that are not used; the rest is counted."""
BASELINES = ("oracle", "naive", "adaptive")


def provider(model: str) -> str | None:
    """``baseline`` or ``recorded`` for models that need no endpoint, else None."""
    head = model.partition("/")[0]
    return head if head in ("baseline", "recorded") else None


def recorded_file(model: str) -> tuple[str, str | None]:
    """File and model name within it, of ``recorded/FILE`` or ``recorded/FILE#MODEL``."""
    file, _, name = model.removeprefix("recorded/").partition("#")
    return file, name or None


def answers(plan: Plan, recordings: Mapping[str, Sequence[RecordedReply]]) -> dict[str, Reply]:
    """Request key -> reply, for every request of the plan that needs no endpoint and has an answer.

    Args:
        plan: the plan whose requests are answered.
        recordings: model name (``recorded/FILE...``) -> the lines of its file.

    Raises:
        ConfigError: an unknown baseline, or a recording of several models without saying which.
    """
    found: dict[str, Reply] = {}
    lookups = {name: _Recording(name, lines) for name, lines in recordings.items()}
    for request in plan.requests:
        kind = provider(request.model)
        if kind == "baseline":
            reply = _baseline(plan, request)
        elif kind == "recorded":
            reply = lookups[request.model].reply_for(request)
        else:
            continue
        if reply is not None:
            found[request.key] = reply
    return found


def _baseline(plan: Plan, request: Request) -> Reply | None:
    name = request.model.partition("/")[2]
    task, contract = plan.tasks[request.trial.task], plan.contracts[request.contract]
    if name not in BASELINES:
        raise ConfigError(f"{request.model!r} is not a baseline; known: {', '.join(f'baseline/{b}' for b in BASELINES)}")
    if task.infeasible is not None and name != "naive":
        return _abstention(contract, task.infeasible)
    command = task.naive if name == "naive" else task.oracle
    if command is None:
        return None
    if name == "adaptive":
        command = _encoded(plan, contract, task, command)
    return None if command is None else express(contract, command)


def _abstention(contract: Contract, reason: str) -> Reply | None:
    """What is right for a task that can't be done; None where the contract states no form of declining: then no reply is."""
    return None if contract.abstain is None else express_abstention(contract, reason)


def _encoded(plan: Plan, contract: Contract, task: Task, command: str) -> str | None:
    """The command as the disclosed path needs it; None where that path can't be survived."""
    spec = plan.path_specs.get(contract.discloses)
    if spec is None:
        raise ConfigError(f"contract {contract.name!r} discloses the path {contract.discloses!r}, which is not known")
    path = assemble(spec, contract, "none")
    if not path.survivable:
        return None
    try:
        return path.encode(command)
    except ValueError:
        return None


class _Recording:
    """One recorded file, by task, contract, request style and trial."""

    def __init__(self, model: str, lines: Sequence[RecordedReply]) -> None:
        file, wanted = recorded_file(model)
        names = sorted({line.model for line in lines})
        if wanted is None and len(names) > 1:
            raise ConfigError(
                f"holds replies of several models; name one as recorded/{file}#MODEL: {', '.join(names)}", source=file
            )
        if wanted is not None and wanted not in names:
            raise ConfigError(f"holds no reply of model {wanted!r}; it has: {', '.join(names)}", source=file)
        self.lines = tuple(line for line in lines if wanted is None or line.model == wanted)
        self._replies = {
            (line.task, line.contract, line.request_style, line.trial): line.reply
            for line in sorted(self.lines, key=lambda line: -(line.turn or 0))  # a task is one request: the first turn answers it
        }

    def reply_for(self, request: Request) -> Reply | None:
        trial = request.trial
        return self._replies.get((trial.task, request.contract, request.request_style, trial.index))


def unanswered(requests: Iterable[Request], table: Mapping[str, Reply]) -> Iterator[Request]:
    """Requests to a baseline or recording that have no answer: they will be faults of type ``not_recorded``."""
    return (request for request in requests if provider(request.model) and request.key not in table)


def unused_lines(plan: Plan, recordings: Mapping[str, Sequence[RecordedReply]]) -> tuple[str, ...]:
    """One sentence for each recording with lines that answer no request of the plan, and why: mostly names with typing errors.

    Lines of another model than the one that is named (``recorded/FILE#MODEL``) are not meant, and not counted.

    Raises:
        ConfigError: a recording of several models without saying which.
    """
    return tuple(
        sentence
        for model, lines in sorted(recordings.items())
        if (sentence := _unused(plan, model, _Recording(model, lines).lines)) is not None
    )


def _unused(plan: Plan, model: str, lines: Sequence[RecordedReply]) -> str | None:
    told: dict[str, set[str]] = {}
    for request in plan.requests:
        if request.model == model:
            told.setdefault(request.contract, set()).add(request.request_style)
    reasons = Counter(reason for line in lines if (reason := _why_unused(plan, told, line)) is not None)
    if not reasons:
        return None
    shown = list(reasons)[:MAX_REASONS]
    rest = f"; and {len(reasons) - len(shown)} more reasons" if len(reasons) > len(shown) else ""
    file, _ = recorded_file(model)
    number = reasons.total()
    return f"{number} of {len(lines)} lines of {file} {'is' if number == 1 else 'are'} not used: {'; '.join(shown)}{rest}"


def _why_unused(plan: Plan, told: Mapping[str, Collection[str]], line: RecordedReply) -> str | None:
    """``told``: contract -> request styles in which it is told."""
    if line.task not in plan.tasks:
        return f"task {line.task!r} is not in this evaluation{_near(line.task, plan.tasks)}"
    if line.contract not in told:
        return f"contract {line.contract!r} is told by no candidate of it{_near(line.contract, told)}"
    if line.request_style not in told[line.contract]:
        near = _near(line.request_style, told[line.contract])
        return f"request style {line.request_style!r} is used by no candidate that is told {line.contract!r}{near}"
    if line.turn:
        return "further turns of a conversation are not evaluated, only the first one of each trial"
    if line.trial >= plan.trials:
        return f"trial {line.trial} is not asked for (trials: {plan.trials}, counted from 0)"
    return None


def _near(name: str, known: Iterable[str]) -> str:
    near = get_close_matches(name, sorted(known), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""
