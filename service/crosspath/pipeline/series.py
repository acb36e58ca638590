"""What one evaluation says of its deployment: the small record that drift is found from."""

from collections.abc import Mapping, Sequence

from crosspath.analysis.drift_change import Lost, day_rate
from crosspath.pipeline.configurations import configuration_of
from crosspath.pipeline.fact_index import FactIndex
from crosspath.pipeline.plan import matched_cell
from crosspath.types import CellRow, Decomposition, Estimate, Facts, Judgement, Lock, PlannedCell, Reply, TrialKey, digest
from crosspath.types.drift import SHOWN_EFFECTS, EntryEffect, EntryTrial, SeriesEntry, WatchRules

_DIGEST_LETTERS = 16


def entry_of(facts: Facts, judgement: Judgement) -> SeriesEntry | None:
    """The entry of an evaluation in its deployment's series; None where its spec names no deployment, or where it was made from
    the replies of another evaluation: nothing was sampled for it."""
    section = facts.head.spec.get("deployment")
    if not section or facts.head.derived_from:
        return None
    name = section["candidate"] or facts.lock.candidates[0].name
    candidate = next(one for one in facts.lock.candidates if one.name == name)
    cell = matched_cell(facts.cells, name)
    decomposition = next(one for one in judgement.decompositions if one.candidate == name)
    tasks = [task for task in facts.tasks if task.infeasible is None]
    trials = _trials(facts, judgement, cell)
    return SeriesEntry(
        evaluation=facts.head.id,
        created_at=facts.head.created_at,
        deployment=section["name"],
        candidate=name,
        role="reference" if section["reference"] else "day",
        rules=rules_of(section),
        chosen_on=section["chosen_on"],
        # A lock's digest of a path is under its name alone, so another candidate's contract could stand in its place.
        configuration=configuration_of(facts, candidate) | {"transport.digest": cell.path},
        toolchain=toolchain_digest(facts.lock),
        tasks={task.id: task.digest for task in tasks},
        families={task.id: task.family for task in tasks},
        planned_trials=facts.lock.trials,
        control=decomposition.control.status,
        rate=_rate(trials),
        effects=_effects(decomposition),
        trials=trials,
        requests=judgement.spend.requests,
        cost_usd=judgement.spend.cost_usd,
    )


def rules_of(section: Mapping[str, object]) -> WatchRules:
    """The rules of a watch, as a spec's section ``deployment`` has them."""
    return WatchRules.model_validate({name: section[name] for name in WatchRules.model_fields if name in section})


def toolchain_digest(lock: Lock) -> str:
    """Digest of everything that a replay runs with: sandbox, limits, programs, platform, packages."""
    toolchain = lock.toolchain.model_dump(mode="json") if lock.toolchain else None
    return digest([toolchain, dict(lock.packages)])[:_DIGEST_LETTERS]


def reply_digest(reply: Reply) -> str:
    """Equal for replies with the same text and the same tool calls, whatever their calls' ids."""
    calls = [[call.name, call.arguments] for call in reply.tool_calls]
    return digest([reply.text, calls])[:_DIGEST_LETTERS]


def _rate(trials: Sequence[EntryTrial]) -> Estimate:
    """About exactly these tasks, with however many trials: what days and references are drawn with beside each other."""
    counts: dict[str, tuple[int, int]] = {}
    lost: dict[str, Lost] = {}
    for trial in trials:
        passed, seen = counts.get(trial.task, (0, 0))
        missing, unstable = lost.get(trial.task, (0, 0))
        if trial.passed is None:
            lost[trial.task] = Lost(missing + (not trial.unstable), unstable + trial.unstable)
        else:
            counts[trial.task] = (passed + trial.passed, seen + 1)
    return day_rate(counts, lost) or Estimate(
        value=None, low=None, high=None, n=0, missing=len(trials), estimand="these_tasks", method="nothing has a verdict"
    )


def _effects(decomposition: Decomposition) -> tuple[EntryEffect, ...]:
    wanted = [effect for effect in decomposition.effects if effect.name in SHOWN_EFFECTS]
    return tuple(EntryEffect(effect=one.name, estimate=one.these) for one in wanted)


def _trials(facts: Facts, judgement: Judgement, cell: PlannedCell) -> tuple[EntryTrial, ...]:
    index = FactIndex(facts, judgement.scores)
    keys = index.keys(cell)
    rows = index.rows_compared(cell)
    return tuple(_trial(index, cell, row, key) for row, (_, _, key) in zip(rows, keys, strict=True))


def _trial(index: FactIndex, cell: PlannedCell, row: CellRow, key: TrialKey) -> EntryTrial:
    trial, replay = index.trial_of(key), index.replay_of(cell, key)
    reply = trial.reply if trial else None
    problem = replay.delivery.problem if replay else None
    return EntryTrial(
        task=row.task,
        index=row.index,
        passed=None if row.unstable else row.passed,
        silent_wrong=row.silent_wrong,
        cause=row.cause,
        unstable=row.unstable,
        refused=problem == "refusal",
        truncated=problem == "truncated",
        reply=reply_digest(reply) if reply else "",
        length=_length(reply) if reply else None,
        latency_s=reply.latency_s if reply else None,
        completion_tokens=reply.usage.completion_tokens if reply and reply.usage else None,
        served_model=reply.served_model if reply else None,
    )


def _length(reply: Reply) -> int:
    return len(reply.text or "") + sum(len(call.arguments) for call in reply.tool_calls)
