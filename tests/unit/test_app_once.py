"""A spec that is evaluated once, whoever asks again."""

from pathlib import Path
from typing import Any

import pytest

from builders import evaluation
from crosspath.app import api
from crosspath.app.evaluation import Evaluation
from crosspath.app.once import evaluate_once
from crosspath.app.readiness import resolved_spec
from crosspath.app.resolve import Resolved
from crosspath.store.ledger import Ledger
from crosspath.types import digest

SPEC = "tasks: {families: [exact-file]}\ncandidates: {a: baseline/oracle}\n"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Asks for the evaluation in a session, with what is made for it having the given status; says whether it was made."""
    spec = tmp_path / "spec.yaml"
    spec.write_text(SPEC)
    resolved: Resolved = resolved_spec(spec)
    made: list[str] = []
    monkeypatch.setattr(api, "load", lambda known, store: Evaluation(*evaluation(known)))

    def ask(session: str | None, status: str = "finished") -> tuple[str, bool]:
        def evaluate(_: Path, store: Path, **__: object) -> Evaluation:
            facts, judgement = evaluation(f"spec-20261129-{len(made) + 1}")
            identity = {"id": facts.head.id, "status": status, "spec_digest": digest([resolved.resume_digest, None])}
            facts = facts.model_copy(update={"head": facts.head.model_copy(update=identity)})
            ledger = Ledger(store)
            ledger.open_evaluation(facts)
            ledger.close()
            made.append(facts.head.id)
            return Evaluation(facts, judgement)

        monkeypatch.setattr(api, "evaluate", evaluate)
        before = len(made)
        return evaluate_once(spec, resolved, store=tmp_path / "store", session=session).id, len(made) > before

    return ask


def test_what_is_finished_is_used_by_everybody(asked: Any) -> None:
    """The second one to ask gets what the first one made, in whatever session."""
    assert asked(None) == ("spec-20261129-1", True)
    assert asked(None) == ("spec-20261129-1", False)
    assert asked("other") == ("spec-20261129-1", False)


def test_what_is_stopped_is_gone_on_with_once_in_a_session(asked: Any) -> None:
    """Faults are tried again by the next session, and not by each worker of this one."""
    assert asked("one", "stopped") == ("spec-20261129-1", True)
    assert asked("one", "stopped") == ("spec-20261129-1", False)
    assert asked("two", "stopped")[1]
