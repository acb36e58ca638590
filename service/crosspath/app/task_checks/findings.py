"""What the proofs of a catalogue found, and how it is told as one document."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from crosspath.scoring.mutations import Fact

Status = Literal["holds", "fails", "not tried"]


@dataclass(frozen=True)
class Finding:
    """One proof of one task, file or validator. ``not tried``: it lacks what the proof needs, which is no failure."""

    subject: str
    """A task's id, the name of a file, or ``validator NAME``."""
    proof: str
    status: Status
    detail: str = ""
    """What is wrong, or what is lacking."""
    mend: str = ""
    """How to mend it."""


def holds(subject: str, proof: str) -> Finding:
    """A proof that holds."""
    return Finding(subject, proof, "holds")


def not_tried(subject: str, proof: str, lacking: str) -> Finding:
    """A proof that needs what is lacking."""
    return Finding(subject, proof, "not tried", lacking)


def proved(subject: str, proof: str, problem: str | None, mend: str) -> Finding:
    """A proof that holds where there is no problem."""
    return Finding(subject, proof, "fails", problem, mend) if problem else holds(subject, proof)


@dataclass(frozen=True)
class Tally:
    """One kind of mutation: how many there were, and how many of them a validator rejected."""

    fact: Fact
    applicable: int
    rejected: int


@dataclass(frozen=True)
class Report:
    """Everything that was found."""

    tasks: int
    validator: str
    findings: tuple[Finding, ...]
    mutations: Mapping[str, Tally] = field(default_factory=dict[str, Tally])
    """By kind."""

    def having(self, status: Status) -> tuple[Finding, ...]:
        """The findings of one status, in their order."""
        return tuple(finding for finding in self.findings if finding.status == status)

    @property
    def counts(self) -> dict[Status, int]:
        """How many proofs hold, fail, and were not tried."""
        counted = Counter(finding.status for finding in self.findings)
        statuses: Sequence[Status] = ("holds", "fails", "not tried")
        return {status: counted[status] for status in statuses}

    @property
    def audit(self) -> tuple[int, int]:
        """Mutations rejected, and mutations in all."""
        tallies = self.mutations.values()
        return sum(tally.rejected for tally in tallies), sum(tally.applicable for tally in tallies)

    def as_document(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "tasks": self.tasks,
            "validator": self.validator,
            "proofs": self.counts,
            "mutations": {kind: asdict(tally) for kind, tally in self.mutations.items()},
            "findings": [asdict(finding) for finding in self.findings],
        }
