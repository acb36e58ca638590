"""Which rows a bundle holds, and the readable columns of each table. The ``json`` column beside them is the truth."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crosspath.types import (
    Attempt,
    Cell,
    Effect,
    Fault,
    Judgement,
    PathCost,
    Record,
    Replay,
    ReplayKey,
    Score,
    Task,
    Trial,
    TrialKey,
)

Column = tuple[pa.DataType, Callable[[Any], Any]]
"""Arrow type, and how to get the value from a record."""
STRING, INT, FLOAT, BOOL = pa.string(), pa.int64(), pa.float64(), pa.bool_()


@dataclass(frozen=True)
class Table:
    """One Parquet file: its name, its record, and its readable columns."""

    name: str
    record: type[Record]
    columns: Mapping[str, Column]


class CellOf(Record):
    """A cell with the candidate that it belongs to."""

    candidate: str
    cell: Cell


class EffectOf(Record):
    """An effect with the candidate that it belongs to."""

    candidate: str
    effect: Effect


class FailedCheck(Record):
    """One unmet expectation of one replay."""

    key: ReplayKey
    expectation: str
    cause: str
    subject: str
    expected: str
    actual: str


def readable(text: str | None) -> str | None:
    """Text that any UTF-8 reader can show: lone surrogates as escapes."""
    return None if text is None else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _shown(data: bytes) -> str:
    return data.decode("utf-8", "backslashreplace")


def _fault_type(fault: Fault | None) -> str | None:
    return fault and f"{fault.boundary}:{fault.type}"


def _trial_columns(key: Callable[[Any], TrialKey]) -> dict[str, Column]:
    return {
        "generation": (STRING, lambda one: key(one).generation),
        "task": (STRING, lambda one: readable(key(one).task)),
        "trial": (INT, lambda one: key(one).index),
    }


def _replay_columns(key: Callable[[Any], ReplayKey]) -> dict[str, Column]:
    return {
        **_trial_columns(lambda one: key(one).trial),
        "path": (STRING, lambda one: key(one).path),
        "encoded": (BOOL, lambda one: key(one).encoded),
        "repeat": (INT, lambda one: key(one).repeat),
    }


def _reply(pick: Callable[[Any], Any]) -> Callable[[Trial], Any]:
    return lambda trial: None if trial.reply is None else pick(trial.reply)


def _exit_codes(replay: Replay) -> list[int | None]:
    return [result.exit_code for result in replay.execution.results] if replay.execution else []


def _commands(replay: Replay) -> list[str]:
    return [" ".join(_shown(word) for word in action.command.argv) for action in replay.delivery.actions]


FACT_TABLES: tuple[Table, ...] = (
    Table(
        "tasks",
        Task,
        {
            "id": (STRING, lambda one: readable(one.id)),
            "family": (STRING, lambda one: readable(one.family)),
            "tier": (INT, lambda one: one.tier),
            "instruction": (STRING, lambda one: readable(one.instruction)),
            "infeasible": (STRING, lambda one: readable(one.infeasible)),
            "digest": (STRING, lambda one: one.digest),
        },
    ),
    Table(
        "trials",
        Trial,
        {
            **_trial_columns(lambda one: one.key),
            "model": (STRING, lambda one: readable(one.request.model)),
            "contract": (STRING, lambda one: readable(one.request.contract)),
            "request_style": (STRING, lambda one: readable(one.request.request_style)),
            "request_key": (STRING, lambda one: one.request.key),
            "reply": (STRING, _reply(lambda reply: readable(reply.text))),
            "tool_calls": (INT, _reply(lambda reply: len(reply.tool_calls))),
            "finish_reason": (STRING, _reply(lambda reply: readable(reply.finish_reason))),
            "served_model": (STRING, _reply(lambda reply: readable(reply.served_model))),
            "cost_usd": (FLOAT, _reply(lambda reply: reply.cost_usd)),
            "latency_s": (FLOAT, _reply(lambda reply: reply.latency_s)),
            "fault": (STRING, lambda one: _fault_type(one.fault)),
        },
    ),
    Table(
        "attempts",
        Attempt,
        {
            "request_key": (STRING, lambda one: one.request_key),
            "number": (INT, lambda one: one.number),
            "session": (INT, lambda one: one.session),
            "started_at": (FLOAT, lambda one: one.started_at),
            "ended_at": (FLOAT, lambda one: one.ended_at),
            "cost_usd": (FLOAT, lambda one: one.cost_usd),
            "fault": (STRING, lambda one: _fault_type(one.fault)),
        },
    ),
    Table(
        "replays",
        Replay,
        {
            **_replay_columns(lambda one: one.key),
            "transport": (STRING, lambda one: readable(one.transport)),
            "problem": (STRING, lambda one: one.delivery.problem),
            "abstained": (BOOL, lambda one: one.delivery.abstained),
            "commands": (pa.list_(STRING), _commands),
            "exit_codes": (pa.list_(INT), _exit_codes),
            "paths": (INT, lambda one: len(one.execution.state.entries) if one.execution else None),
            "fault": (STRING, lambda one: _fault_type(one.fault)),
        },
    ),
)
"""Field of ``Facts`` -> its table."""

_SCORES = Table(
    "scores",
    Score,
    {
        **_replay_columns(lambda one: one.key),
        "passed": (BOOL, lambda one: one.passed),
        "state_ok": (BOOL, lambda one: one.state_ok),
        "reported_ok": (BOOL, lambda one: one.reported_ok),
        "silent_wrong": (BOOL, lambda one: one.silent_wrong),
        "false_alarm": (STRING, lambda one: one.false_alarm),
        "infeasible": (BOOL, lambda one: one.infeasible),
        "cause": (STRING, lambda one: one.cause),
        "reason": (STRING, lambda one: readable(one.reason)),
    },
)
_CELLS = Table(
    "cells",
    CellOf,
    {
        "candidate": (STRING, lambda one: readable(one.candidate)),
        "cell": (STRING, lambda one: one.cell.name),
        "contract": (STRING, lambda one: readable(one.cell.contract)),
        "transport": (STRING, lambda one: readable(one.cell.transport)),
        **{
            name: (INT, lambda one, name=name: getattr(one.cell, name))
            for name in ("planned", "scored", "passed", "faults", "unstable")
        },
        "rate": (FLOAT, lambda one: one.cell.rate.value),
        "rate_low": (FLOAT, lambda one: one.cell.rate.low),
        "rate_high": (FLOAT, lambda one: one.cell.rate.high),
        "silent_wrong": (FLOAT, lambda one: one.cell.silent_wrong.value),
        "false_alarm": (FLOAT, lambda one: one.cell.false_alarm and one.cell.false_alarm.value),
    },
)
_EFFECTS = Table(
    "effects",
    EffectOf,
    {
        "candidate": (STRING, lambda one: readable(one.candidate)),
        "effect": (STRING, lambda one: one.effect.name),
        "minuend": (STRING, lambda one: one.effect.minuend),
        "subtrahend": (STRING, lambda one: one.effect.subtrahend),
        "these": (FLOAT, lambda one: one.effect.these.value),
        "population": (FLOAT, lambda one: one.effect.population.value),
        "population_low": (FLOAT, lambda one: one.effect.population.low),
        "population_high": (FLOAT, lambda one: one.effect.population.high),
    },
)
_PATHS = Table(
    "paths",
    PathCost,
    {
        "path": (STRING, lambda one: readable(one.path)),
        "candidate": (STRING, lambda one: readable(one.candidate)),
        "cell": (STRING, lambda one: one.cell.name),
        "contract": (STRING, lambda one: readable(one.cell.contract)),
        "rank": (INT, lambda one: one.rank),
        "standing": (STRING, lambda one: one.standing),
        "apart": (STRING, lambda one: one.apart),
        "control": (STRING, lambda one: one.control),
        **{name: (INT, lambda one, name=name: getattr(one.cell, name)) for name in ("planned", "scored", "passed")},
        **{name: (INT, lambda one, name=name: getattr(one, name)) for name in ("silent", "lost", "gained", "changed")},
        "damage": (FLOAT, lambda one: one.damage and one.damage.value),
        "to_best": (FLOAT, lambda one: one.to_best and one.to_best.value),
        "to_best_low": (FLOAT, lambda one: one.to_best and one.to_best.low),
        "to_best_high": (FLOAT, lambda one: one.to_best and one.to_best.high),
    },
)
_CHECKS = Table(
    "checks",
    FailedCheck,
    {
        **_replay_columns(lambda one: one.key),
        **{
            name: (STRING, lambda one, name=name: readable(getattr(one, name)))
            for name in ("expectation", "cause", "subject", "expected", "actual")
        },
    },
)


def judgement_tables(judgement: Judgement) -> Iterator[tuple[Table, Sequence[Record]]]:
    """The tables of the judgement with their rows: scores, failed checks, cells, effects, and what each path costs."""
    yield _SCORES, judgement.scores
    yield _CHECKS, tuple(_failed_checks(judgement))
    yield _CELLS, tuple(CellOf(candidate=one.candidate, cell=cell) for one in judgement.decompositions for cell in one.cells)
    yield (
        _EFFECTS,
        tuple(EffectOf(candidate=one.candidate, effect=effect) for one in judgement.decompositions for effect in one.effects),
    )
    if judgement.path_rankings:
        yield _PATHS, tuple(path for ranking in judgement.path_rankings for path in ranking.paths)


def _failed_checks(judgement: Judgement) -> Iterator[FailedCheck]:
    for score in judgement.scores:
        for check in score.checks:
            yield FailedCheck(
                key=score.key,
                expectation=check.expectation,
                cause=check.cause,
                subject=_shown(check.subject),
                expected=check.expected,
                actual=check.actual,
            )
