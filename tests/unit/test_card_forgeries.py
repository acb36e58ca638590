"""Cards by a careful forger: every number and every digest is made anew, and still it is found, or said to be beyond a card."""

import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from card_evaluation import SEED, card_evaluation, without_times
from crosspath.app.card_numbers import recompute
from crosspath.app.verifying import verify_card
from crosspath.app.verifying_cells import cell_checks
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.reports.card import card_markdown, footer, written
from crosspath.reports.card_block import block, read_block
from crosspath.reports.headlines import sentence, sure
from crosspath.store.bundle import write_bundle
from crosspath.types import Card, CardVerification, Facts, Judgement

Value = dict[str, Any]


@pytest.fixture(scope="module")
def carded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, Judgement]:
    """An evaluation of three candidates with every kind of outcome, one trial a task."""
    facts, judgement = card_evaluation(tmp_path_factory.mktemp("forged") / "place", trials=1)
    return without_times(facts), judgement


@pytest.fixture(scope="module")
def text(carded: tuple[Facts, Judgement]) -> str:
    return card_markdown(*carded, "told")


@pytest.fixture(scope="module")
def bundle(carded: tuple[Facts, Judgement], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bundles") / "bundle"
    write_bundle(*carded, directory)
    return directory


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., CardVerification]:
    """Verifies a text."""

    def checked(card: str, **further: Any) -> CardVerification:
        (tmp_path / "card.md").write_bytes(card.encode("utf-8", "backslashreplace"))
        return verify_card(tmp_path / "card.md", **further)

    return checked


def value_of(text: str) -> Value:
    return read_block(text, "card.md").value


def ending(value: Value) -> str:
    """Footer and block of any value, with the digest made anew."""
    made = block(value)
    return footer(made.split("\n", 1)[0].rpartition(":")[2]) + "\n\n" + made


def forged(value: Value) -> str:
    """A card on which every number and sentence follows from its outcomes."""
    card = Card.model_validate(value)
    again = recompute(card)
    unit = "task" if card.trials == 1 else "trial"
    said = {"sentence": sentence(again.decomposition, again.losses, unit), "sure": sure(again.decomposition, again.losses)}
    numbers = {name: getattr(again, name) for name in ("decomposition", "losses", "reliability", "abstentions")}
    assert card.headline is not None
    numbers |= {"headline": card.headline.model_copy(update=said), "format_damage": None, "cost": None}
    return written(card.model_copy(update=numbers))


def about(found: CardVerification, status: str) -> set[str]:
    return {one.about for one in found.checks if one.status == status}


def cell(value: Value, name: str) -> Value:
    return next(one for one in value["cells"] if one["name"] == name)


def without_cell(name: str) -> Callable[[Value], None]:
    return lambda value: value.update(cells=[one for one in value["cells"] if one["name"] != name])


def with_code(name: str, code: str, place: int = 0) -> Callable[[Value], None]:
    def change(value: Value) -> None:
        cell(value, name)["outcomes"][place] = code

    return change


def swapped(value: Value, field: str, one: int, other: int) -> None:
    tasks = value["tasks"]
    tasks[one][field], tasks[other][field] = tasks[other][field], tasks[one][field]


def without_first_task(value: Value) -> None:
    del value["tasks"][0]
    for side in value["replies"].values():
        del side[0]
    for one in value["cells"]:
        del one["outcomes"][0]
        one["declining"] = one["declining"][1:]
    number = sum(digest is not None for side in value["replies"].values() for digest in side)
    value.update(served={"my-model-2024": number}, fingerprints={"fp": number})


def lost(value: Value, side: str) -> int:
    """Index, among tasks that can be done, of one whose reply was lost; makes one where there is none."""
    value["replies"][side][0] = None
    for one in value["cells"]:
        if one["told"] == side:
            one["outcomes"][0] = "x:server_error"
            one["declining"] = ["x", *one["declining"][1:]] if one["declining"] else []
    replies = sum(digest is not None for digests in value["replies"].values() for digest in digests)
    value.update(served={"m": replies}, fingerprints={"fp": replies})
    return 0


FORGERIES: dict[str, tuple[str, Callable[[Value], None]]] = {
    "families of two tasks swapped": ("families and tiers", lambda value: swapped(value, "family", 0, 4)),
    "tiers of two tasks swapped": ("families and tiers", lambda value: swapped(value, "tier", 0, 3)),
    "a family made two": ("families and tiers", lambda value: value["tasks"][0].update(family="another")),
    "a public task called held-out": ("families and tiers", lambda value: value["tasks"][0].update(id=None, partition="heldout")),
    "a task left out": ("choice of tasks", without_first_task),
    "control left out": ("planned cells", without_cell("control")),
    "a cell left out": ("planned cells", without_cell("NR")),
    "a cell on another path": ("planned cells", lambda value: cell(value, "RN").update(path="0" * 64)),
    "a cell called encoded": ("planned cells", lambda value: cell(value, "RN").update(encoded=True)),
    "right with a cause": ("codes of outcomes", with_code("NN", "p:wrong_state")),
    "silent without a cause": ("codes of outcomes", with_code("NN", "s")),
    "silent with a false alarm": ("codes of outcomes", with_code("NN", "s:extra_files!timeout")),
    "wrong without a cause": ("codes of outcomes", with_code("NN", "f")),
    "repeats unlike the verdict": ("codes of outcomes", with_code("NN", "p~01")),
    "one repeat": ("codes of outcomes", with_code("NN", "p~1")),
    "not observed and right": ("codes of outcomes", with_code("NN", "x:fault!timeout")),
    "not observed for no reason": ("codes of outcomes", with_code("NN", "x")),
    "an empty cause": ("codes of outcomes", with_code("NN", "p:")),
    "replies that were not served": ("codes of outcomes", lambda value: value.update(served={"m": 3})),
    "states of an opaque path's control": (
        "codes of outcomes", lambda value: cell(value, "RR").update(states=["0"] * 2),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_a_careful_forgery_is_found(name: str, text: str, check: Callable[..., CardVerification]) -> None:
    """Where tasks, cells or outcomes are other ones and all numbers were made anew from them, the contradiction with digests,
    configuration or each other is named."""
    where, change = FORGERIES[name]
    value = value_of(text)
    change(value)
    assert where in about(check(forged(value)), "differs")


def test_made_up_outcomes_need_the_bundle(text: str, bundle: Path, check: Callable[..., CardVerification]) -> None:
    """A wrong outcome made right, which nothing contradicts, with all numbers anew: a card that holds. The bundle shows it."""
    value = value_of(text)
    place = next(place for place, code in enumerate(cell(value, "NN")["outcomes"]) if code.startswith("s:"))
    cell(value, "NN")["outcomes"][place] = "p"
    assert check(forged(value)).holds
    assert "bundle: outcomes, judged again" in about(check(forged(value), bundle=bundle), "differs")


@pytest.mark.parametrize("name", ["right all the same", "another fault here", "how it answered is known"])
def test_a_lost_reply_is_seen_nowhere(name: str, text: str) -> None:
    """A reply that there is not can't have been observed in any cell, and was lost to the same fault in all of them."""
    value = value_of(text)
    place = lost(value, "N")
    assert [one.status for one in cell_checks(Card.model_validate(value))] == ["holds", "holds"]
    if name == "how it answered is known":
        cell(value, "NN")["declining"][place] = "acted"
    else:
        cell(value, "NN")["outcomes"][place] = "p" if name == "right all the same" else "x:not_done"
    _, codes = cell_checks(Card.model_validate(value))
    assert codes.status == "differs"


STATED: dict[str, tuple[str, Callable[[Value], None]]] = {
    "a cause that there is not": ("codes of outcomes", with_code("NN", "f:bad_luck")),
    "a false alarm that there is not": ("codes of outcomes", with_code("NN", "p:timeout!bell")),
    "losses left out": ("where trials were lost", lambda value: value.update(losses=None, headline=None, format_damage=None)),
    "words left out": ("plain words", lambda value: value.update(headline=None)),
    "declining left out": ("abstentions", lambda value: value.update(abstentions=[])),
    "a loss narrower": (
        "where trials were lost", lambda value: value["losses"]["shares"]["path"].update(low=0.1, high=0.2, method="exact"),
    ),
    "intervals together narrower": (
        "intervals that hold together",
        lambda value: value["decomposition"]["effects"][0].update(
            together=value["decomposition"]["effects"][0]["population"] | {"low": -0.01, "high": 0.01}
        ),
    ),
    "intervals together left out": (
        "intervals that hold together", lambda value: value["decomposition"]["effects"][0].update(together=None),
    ),
    "paid for more right ones": ("cost", lambda value: value["cost"].update(passed=24)),
    "fewer replies than verdicts": ("cost", lambda value: value["cost"].update(replies=0)),
    "negative format damage": ("format damage", lambda value: value["format_damage"].update(lost=-3)),
    "format damage that does not add up": ("format damage", lambda value: value["format_damage"].update(lost=0)),
    "another candidate's words": ("candidate", lambda value: value["headline"].update(candidate="plain")),
}  # fmt: skip


@pytest.mark.parametrize("name", STATED)
def test_a_forged_statement_is_found(name: str, text: str, check: Callable[..., CardVerification]) -> None:
    """What is left out of a card, made narrower than possible, or counted otherwise than the outcomes do, differs."""
    where, change = STATED[name]
    value = value_of(text)
    if where == "format damage":
        value[where.replace(" ", "_")] |= {
            "changed": 5,
            "scored": 5,
            "cleaned_passed": 1,
            "strict_passed": 0,
            "lost": 1,
            "gained": 0,
        }
    before = about(check(written(Card.model_validate(value))), "differs")
    change(value)
    assert where in about(check(written(Card.model_validate(value))), "differs") - before


def test_intervals_of_losses_are_those_of_all_candidates(text: str, check: Callable[..., CardVerification]) -> None:
    """Over more candidates the intervals of losses are others: the number that the card states has to fit them."""
    value = value_of(text)
    value["format_damage"] = None
    value["tasks"][1]["family"] = "another"  # one family has no interval
    assert "where trials were lost" not in about(check(forged(value)), "differs")
    value = value_of(forged(value))
    value["evaluation"]["candidates"] += 1
    assert "where trials were lost" in about(check(written(Card.model_validate(value))), "differs")


def test_a_field_that_is_left_out_is_named(text: str, check: Callable[..., CardVerification]) -> None:
    """A field with a default may not be missing from a card of this version, nor a number stand in another form."""
    value = value_of(text)
    del value["decomposition"]["cells"][0]["silent_causes"]
    found = check("# Card" + ending(value)).checks[0]
    assert [one.field for one in found.differences] == ["decomposition.cells[RR].silent_causes"]
    assert "block" in about(check("# Card" + ending(value_of(text) | {"trials": 1.0})), "differs")


def test_what_a_card_can_t_prove_is_said(text: str, bundle: Path, check: Callable[..., CardVerification]) -> None:
    """An honest card says what it only states and which tasks it can say anything of; the bundle and the seed settle that."""
    found = check(text)
    assert found.holds
    assert {"stated only", "cost", "format damage", "families and tiers", "choice of tasks"} <= about(found, "unavailable")
    assert not about(check(text, bundle=bundle, seed=SEED), "unavailable")
    value = value_of(text)
    heldout = next(task for task in value["tasks"] if task["partition"] == "heldout")
    heldout["family"] = "another"
    assert "families and tiers" in about(check(forged(value)), "unavailable")
    assert "families and tiers" in about(check(forged(value), seed=SEED), "differs")


# -- numbers that nothing can be computed with -----------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["9" * 400, "-" + "9" * 400, "9" * 31, "9" * 400 + ".5", "1e400"])
def test_huge_numbers_are_one_line(number: str, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A number of hundreds of digits, wherever it stands, is one short line and exit code 2."""
    for field in ('"attempted":', '"latency_known":', '"trials":'):
        start = text.index(field, text.index("<!--")) + len(field)
        end = min(text.index(sign, start) for sign in ",}\n")
        (tmp_path / "card.md").write_text(text[:start] + number + text[end:])
        assert run(["verify", str(tmp_path / "card.md")]) == 2
        out, err = capsys.readouterr()
        assert (out, len(err.splitlines())) == ("", 1)
        assert len(err) < 300 + len(str(tmp_path))


@pytest.mark.parametrize("number", [10**29, -(10**29), -1, 0, 1e308, -1e308, 5e-324])
def test_impossible_counts_only_differ(number: float, text: str, check: Callable[..., CardVerification]) -> None:
    """Counts below nothing and beyond everything, in any of the results, differ; none is an error of the program."""
    for place in (("losses", "attempted"), ("cost", "latency_known"), ("evaluation", "candidates"), ("evaluation", "created_at")):
        value = value_of(text)
        value[place[0]][place[1]] = number
        with suppress(ConfigError):  # where a share stands for a count
            assert not check("# Card" + ending(value)).holds
    value = value_of(text)
    for one in value["decomposition"]["cells"]:
        one.update(planned=int(number), scored=int(number), passed=int(number))
    with suppress(ConfigError):
        assert not check("# Card" + ending(value)).holds


def test_a_bundle_with_a_file_too_many_is_refused(
    text: str, bundle: Path, tmp_path: Path, check: Callable[..., CardVerification]
) -> None:
    """One line names what does not belong to the bundle; nothing is judged from it."""
    more = shutil.copytree(bundle, tmp_path / "more")
    (more / "notes.md").write_text("from elsewhere")
    found = check(text, bundle=more)
    (files,) = [one for one in found.checks if one.about.startswith("bundle")]
    assert (files.status, "does not list 'notes.md'" in files.detail) == ("differs", True)
