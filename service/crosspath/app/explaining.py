"""``crosspath compare``: two candidates, wherever their evaluations are, and what each difference between them explains."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from crosspath.app import adapters
from crosspath.app.collecting import without_collection
from crosspath.app.finding import find_facts, looks_like_a_run
from crosspath.errors import ConfigError
from crosspath.pipeline.compared import Judged, Side
from crosspath.pipeline.explaining import beyond_the_model
from crosspath.pipeline.explaining import explain as explain_sides
from crosspath.pipeline.judge import judge
from crosspath.spec.policy import parse_ref
from crosspath.store.ledger import Ledger
from crosspath.types import EvidenceRef, Explanation, Facts

Kind = Literal["model", "deployment"]
KINDS = ("model", "deployment")
NAMED_FIELDS = 6
"""So many fields at most are named where a comparison of models is refused."""


def explain(
    a: str,
    b: str,
    *,
    further: Sequence[str] = (),
    kind: str | None = None,
    store: str | Path | None = None,
) -> Explanation:
    """Candidate ``b`` beside candidate ``a``: what differs, whether they are comparable, what each difference explains.

    Args:
        a: ``EVALUATION``, ``EVALUATION:CANDIDATE``, an MLflow run, ``models:/NAME/VERSION`` or ``models:/NAME@ALIAS``.
        b: the same.
        further: evaluations whose cells may lie between the two, for instance a replay of one of them.
        kind: ``model`` refuses a comparison where anything but the model differs; default: what both evaluations say.
        store: directory of the ledger; default ``$CROSSPATH_STORE`` or ``.crosspath``.

    Raises:
        ConfigError: there is no such evaluation or candidate, or more than the model differs where only that may.
        BoundaryError: the ledger or the tracking server failed.
    """
    if kind not in (None, *KINDS):
        raise ConfigError(f"{kind!r} is not a kind; known: {', '.join(KINDS)}", field="--kind")
    refs = [parse_ref(text, field) for text, field in ((a, "A"), (b, "B"))]
    directory = adapters.store_directory(store)
    _require_store(directory, refs)
    known = _Evaluations(directory)
    try:
        first, second = (known.side(ref, field) for ref, field in zip(refs, ("A", "B"), strict=True))
        others = [known.judged(name) for name in further]
    finally:
        known.close()
    if first.name == second.name:
        raise ConfigError(f"A and B are the same: {first.name}", field="B")
    found = explain_sides(first, second, others)
    if kind == "model" or (kind is None and _only_models(first, second)):
        _refuse_more(found)
    return found


def _only_models(*sides: Side) -> bool:
    return all(side.judged.facts.head.kind == "model" for side in sides)


def _refuse_more(found: Explanation) -> None:
    more = beyond_the_model(found.differences)
    if more:
        rest = f" and {len(more) - NAMED_FIELDS} more" if len(more) > NAMED_FIELDS else ""
        raise ConfigError(
            f"a comparison of models holds everything but the model fixed, but {', '.join(more[:NAMED_FIELDS])}{rest} differ;"
            " make them equal, or give --kind deployment",
            field="--kind",
        )


def _require_store(directory: Path, refs: Sequence[EvidenceRef]) -> None:
    """Whoever only asks must not leave an empty store behind."""
    for ref in refs:
        if not directory.exists() and ref.evaluation is not None and not looks_like_a_run(ref.evaluation):
            raise ConfigError(f"no evaluation {ref.evaluation!r}: there is no store {directory} here; name it with --store")


class _Evaluations:
    """Evaluations by name, each read and judged once."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._ledger = Ledger(directory, reading=True)
        self._judged: dict[str, Judged] = {}

    def close(self) -> None:
        self._ledger.close()

    def judged(self, name: str) -> Judged:
        facts = find_facts(self._ledger, name)
        if facts.head.id not in self._judged:
            with without_collection():
                self._judged[facts.head.id] = Judged(facts, judge(facts, adapters.make_validator()))
        return self._judged[facts.head.id]

    def side(self, ref: EvidenceRef, field: str) -> Side:
        """The candidate that a reference names.

        Raises:
            ConfigError: there is none, or it is not clear which.
        """
        name, candidate = ref.evaluation, ref.candidate
        if ref.model is not None:
            version = adapters.make_registry(self._directory).find(ref)
            name, candidate = version.evaluation_run, version.candidate
        judged = self.judged(str(name))
        return Side(judged, _candidate(judged.facts, candidate, field))


def _candidate(facts: Facts, name: str | None, field: str) -> str:
    names = [candidate.name for candidate in facts.lock.candidates]
    if name is None and len(names) == 1:
        return names[0]
    if name is None:
        problem = f"{facts.head.id} has {len(names)} candidates; name one, as in {facts.head.id}:{names[0]}"
        raise ConfigError(f"{problem}; it has: {', '.join(names)}", field=field)
    if name not in names:
        raise ConfigError(f"{name!r} is not a candidate of {facts.head.id}; it has: {', '.join(names)}", field=field)
    return name
