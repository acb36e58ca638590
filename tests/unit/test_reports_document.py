"""The JSON document: all of the judgement, strict, under keys that are always there."""

import json

from builders import evaluation
from crosspath.catalogue import suite_text
from crosspath.pipeline.judge import judge
from crosspath.reports.document import evaluation_document
from crosspath.testing.validator import FakeValidator
from crosspath.types import Judgement, Spend


def test_everything_of_the_judgement_is_in_it() -> None:
    """Each field of the judgement but single verdicts has its key, with headlines and the tables of what is not right."""
    facts, _ = evaluation(trials=2, fault=True)
    found = judge(facts.model_copy(update={"suites": (suite_text("exact"),)}), FakeValidator())
    document = evaluation_document(facts, found)
    assert set(Judgement.model_fields) - {"scores"} <= set(document)
    assert {"document", "format", "headlines", "failures", "misreports", "evaluation", "status"} <= set(document)
    text = json.dumps(document, allow_nan=False)
    assert json.loads(text) == document
    assert [one["candidate"] for one in document["headlines"]] == ["oracle", "adaptive"]
    assert [one["blind"] for one in document["decompositions"]] == [False, False]
    assert document["losses"][0]["attempted"] == document["losses"][0]["kept"] + sum(document["losses"][0]["lost"].values())


def test_keys_do_not_depend_on_what_was_evaluated() -> None:
    """An empty judgement has the same keys, and lists in the place of what it lacks."""
    facts, full = evaluation()
    empty = evaluation_document(facts, Judgement(scores=(), decompositions=(), spend=Spend()))
    assert list(empty) == list(evaluation_document(facts, full))
    assert [key for key, value in empty.items() if value == []] == [
        *("headlines", "decompositions", "comparisons"),
        *[key for key in list(empty) if key in Judgement.model_fields and key not in ("decompositions", "comparisons", "spend")],
        "failures",
        "misreports",
    ]
