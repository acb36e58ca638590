"""Which evaluation and which candidate each side of a gate is: from what was typed to stored facts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crosspath.app import adapters
from crosspath.app.finding import find_facts, looks_like_a_run
from crosspath.errors import ConfigError, CrosspathError
from crosspath.store.ledger import Ledger
from crosspath.types import Evidence, EvidenceRef, Facts, Policy


@dataclass(frozen=True)
class Side:
    """The evidence of one side, before it is replayed."""

    ref: EvidenceRef
    """With ``latest`` and aliases resolved."""
    facts: Facts
    candidate: str
    run: str | None

    @property
    def evidence(self) -> Evidence:
        """What is kept of it beside the verdict; where it was logged is no part of it."""
        head = self.facts.head.model_copy(update={"mlflow_run": None, "mlflow_uri": None})
        return Evidence(head=head, lock=self.facts.lock, cells=self.facts.cells)


def find_side(ledger: Ledger, ref: EvidenceRef, field: str) -> Side:
    """The evaluation that ``ref`` names, and its candidate.

    Raises:
        ConfigError: there is none, it is unfinished, or it is not clear which candidate is meant; names ``field``.
        BoundaryError: it can't be read.
    """
    if ref.model is not None:
        version = adapters.make_registry(ledger.directory).find(ref)
        facts, run = find_facts(ledger, version.evaluation_run), version.evaluation_run
        resolved = EvidenceRef(model=ref.model, version=version.version)
        return Side(resolved, _usable(facts, field), _candidate(facts, version.candidate, field), run)
    asked = str(ref.evaluation)
    facts = _usable(find_facts(ledger, asked), field)
    candidate = _candidate(facts, ref.candidate, field)
    run = asked if looks_like_a_run(asked) else facts.head.mlflow_run
    named = asked if looks_like_a_run(asked) else facts.head.id
    return Side(EvidenceRef(evaluation=named, candidate=candidate), facts, candidate, run)


def find_baseline(ledger: Ledger, ref: EvidenceRef, needed: bool, notify: Callable[[str], None]) -> tuple[Side | None, str]:
    """The baseline, or why it can't be used: no reason for an error, because the verdict has to say so."""
    try:
        return find_side(ledger, ref, "--baseline"), ""
    except CrosspathError as error:
        reason = f"{ref} can't be used: {error}"
        if not needed:
            notify(f"baseline: {reason}; no rule asks for it")
        return None, reason if needed else ""


def needs_baseline(policy: Policy) -> bool:
    """Whether any rule compares with it."""
    return any(rule.against_baseline for rule in policy.rules)


def wanted_candidates(policy: Policy, side: Side) -> tuple[str, ...]:
    """The gated candidate, and the others of its evaluation that rules are about.

    Raises:
        ConfigError: a rule names one that is not there.
    """
    further = [rule.candidate for rule in policy.rules if rule.candidate is not None]
    for name in further:
        _candidate(side.facts, name, "rules.candidate")
    return tuple(dict.fromkeys((side.candidate, *further)))


def _usable(facts: Facts, field: str) -> Facts:
    if facts.head.status == "running":
        raise ConfigError(
            f"{facts.head.id} is unfinished: it was interrupted, or it still runs; the command that began it goes on with it",
            field=field,
        )
    return facts


def _candidate(facts: Facts, name: str | None, field: str) -> str:
    names = [candidate.name for candidate in facts.lock.candidates]
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        raise ConfigError(
            f"{facts.head.id} has {len(names)} candidates: add one, as in {facts.head.id}:NAME; {_known(names)}", field=field
        )
    if name not in names:
        raise ConfigError(f"{name!r} is not a candidate of {facts.head.id}; {_known(names)}", field=field)
    return name


def _known(names: Sequence[str]) -> str:
    return f"it has: {', '.join(names)}"
