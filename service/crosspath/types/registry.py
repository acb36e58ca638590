"""Registered models: versions that stand for candidates, and the decisions that moved their aliases."""

from typing import Literal

from pydantic import Field

from crosspath.types.base import Record

DecisionState = Literal["done", "unfinished", "overtaken", "withdrawn"]


class ModelVersion(Record):
    """One version of a registered model: a candidate of an evaluation."""

    model: str
    version: int
    aliases: tuple[str, ...] = ()
    evaluation_run: str
    """MLflow run of the evaluation (the parent): where the evidence is."""
    evaluation: str
    candidate: str
    configuration: dict[str, str] = Field(default_factory=dict[str, str])
    """The candidate's configuration when it was registered, see ``crosspath.pipeline.configurations``."""


class Decision(Record):
    """One entry of the history of an alias. Entries are only ever added; they are numbered from 1 in the order of the store."""

    number: int
    kind: Literal["promote", "rollback"]
    model: str
    alias: str
    after: int
    """Number of the last entry in force when this one was written, 0 for none: an entry is in force only if no other one came
    between."""
    from_version: int | None
    """Version that the alias pointed to; None: it did not exist."""
    to_version: int | None
    """None: the alias is taken away (rollback of the first promotion)."""
    undoes: int = 0
    """Of a rollback: the number of the promotion that it takes back."""
    verdict: str = ""
    """Id of the verdict; of a rollback: of the promotion that it takes back."""
    verdict_digest: str = ""
    verdict_run: str = ""
    decided_at: float
    """Seconds since 1970."""
    state: DecisionState
    """``done``: the alias was moved; ``unfinished``: the entry is in force and the alias was not moved yet, or nobody saw it;
    ``overtaken``: another entry came first, so this one never counted; ``withdrawn``: it was in force, but the alias was no more
    where it should have been, so nothing was moved."""
    token: str = ""
    """Random: whoever wrote the entry finds it again, even where the answer of the server was lost."""
