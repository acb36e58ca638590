"""Harness cards and their check: what a card says, what it keeps to itself, and that nothing in it can be changed unseen."""

import json
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import evaluation
from card_evaluation import SEED, card_evaluation, without_times
from crosspath import __version__
from crosspath.app.verifying import verify_card
from crosspath.cli.card_commands import document
from crosspath.cli.entry import run
from crosspath.errors import ConfigError
from crosspath.reports.card import card_files, card_markdown, file_name, footer, page_digest, without_footer, written
from crosspath.reports.card_block import block, read_block
from crosspath.reports.card_changes import changed_lines
from crosspath.spec import load_spec
from crosspath.store.bundle import write_bundle
from crosspath.types import Card, CardVerification, Facts, Judgement, LayerSpec, PathSpec

CANDIDATES = ("told", "opaque", "plain")
BY_CLEAN_UP = {("losses", name) for name in ("shares", "lost", "kinds", "made_up", "not_made_up", "told_worse", "unmatched")}
"""Where trials were lost, which the other clean-up decides for some: the outcomes of a card don't hold that."""
SHELL = {"layer": "shell", "options": {}}


@pytest.fixture(scope="module")
def carded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Facts, Judgement]:
    """An evaluation with every kind of outcome."""
    facts, judgement = card_evaluation(tmp_path_factory.mktemp("cards") / "place-on-a-machine")
    return without_times(facts), judgement


@pytest.fixture(scope="module")
def texts(carded: tuple[Facts, Judgement]) -> dict[str, str]:
    """Candidate -> its card."""
    return {name: card_markdown(*carded, name) for name in CANDIDATES}


@pytest.fixture(scope="module")
def bundle(carded: tuple[Facts, Judgement], tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("bundles") / "bundle"
    write_bundle(*carded, directory)
    return directory


@pytest.fixture
def check(tmp_path: Path) -> Callable[..., CardVerification]:
    """Verifies a text."""

    def checked(text: str, **further: Any) -> CardVerification:
        (tmp_path / "card.md").write_bytes(text.encode("utf-8", "backslashreplace"))
        return verify_card(tmp_path / "card.md", **further)

    return checked


def value_of(text: str) -> dict[str, Any]:
    return read_block(text, "card.md").value


def named(entries: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(one for one in entries if one["name"] == name)


def rewritten(value: dict[str, Any]) -> str:
    """A card of these values with every digest made anew, as a careful forger would."""
    return written(Card.model_validate(value))


def differing(found: CardVerification) -> dict[str, list[str]]:
    """About -> the fields that differ."""
    return {one.about: [each.field for each in one.differences] for one in found.checks if one.status == "differs"}


# -- what it says --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_card_verifies(name: str, texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """As it was written a card holds: page, every cell and effect, control, losses, reliability, declining, words and digests,
    for a path that can be survived, for one that can't, and for the reference itself."""
    found = check(texts[name])
    assert differing(found) == {}
    assert found.holds
    held = {one.about for one in found.checks if one.status == "holds"}
    assert {"block", "page", "cell RR", "control", "reliability", "abstentions", "plain words"} <= held
    unknown = {one.about for one in found.checks if one.status == "unavailable"}
    own = {"path mine for raw"} if name == "opaque" else set[str]()
    together = set[str]() if name == "plain" else {"intervals that hold together"}
    heldout = {"tasks", "families and tiers", "choice of tasks"}
    by_clean_up = {"where trials were lost", "format damage"}
    assert unknown == {"cost", "stated only"} | heldout | by_clean_up | own | together


def test_the_page_states_the_whole_configuration(texts: dict[str, str], carded: tuple[Facts, Judgement]) -> None:
    """Model asked and served, contract and path with digests, layers, operating point with what is unset, suite, tasks, programs,
    versions, dates, and what it does not show."""
    page, lock = texts["told"].replace("\\", ""), carded[0].lock
    for part in (
        "openai/my-model", "my-model-2024", "an own one, in a private network", lock.contracts["nested-shell"],
        lock.suites["exact"], "operating point: temperature | 0.5", "operating point: top_p | unset", "trials a task | 3",
        "sandbox | fake", "2025-11-29", "The text is placed, without any escaping, between the double quotes", lock.digest,
        "## How to repeat it", "## What this does not show", "tier 0", "| heldout |", "exact-file/price", "limits not in force",
    ):  # fmt: skip
        assert part in page
    for task in carded[0].tasks:
        assert task.digest[:16] in page


def test_nothing_of_the_machine_is_on_it(texts: dict[str, str], carded: tuple[Facts, Judgement]) -> None:
    """No address of an endpoint, no place of a harness or in a server's message, and of held-out tasks neither id nor text."""
    heldout = [task for task in carded[0].tasks if task.partition == "heldout"]
    assert heldout
    for text in texts.values():
        for secret in ("10.1.2.3", ":8000", "place-on-a-machine", "/home/someone", "-heldout", SEED):
            assert secret not in text
        for task in heldout:
            assert task.id not in text
            assert task.instruction not in text
            assert text.count(task.digest) == 1


def test_its_spec_repeats_the_candidate(texts: dict[str, str], carded: tuple[Facts, Judgement]) -> None:
    """The YAML on the page is a spec that describes just this candidate, but for the address of its endpoint."""
    for candidate in carded[0].lock.candidates:
        found = re.search(r"```yaml\n(.*?)\n```\n", texts[candidate.name], re.DOTALL)
        assert found is not None
        (described,) = load_spec(found[1], "card-spec.yaml").candidates_resolved()
        model = described.generation.model.model_copy(update={"api_base": candidate.generation.model.api_base})
        generation = described.generation.model_copy(update={"model": model})
        assert described.model_copy(update={"generation": generation}) == candidate


def test_facts_of_old_bundles_have_a_card_too(check: Callable[..., CardVerification]) -> None:
    """Without contracts or losses on record, and with a layer that is not known any more, a card says what there is, and its page
    verifies."""
    facts, judgement = evaluation(fault=True)
    gone = PathSpec(name="nested-shell", layers=(LayerSpec(layer="gone"),))
    facts = facts.model_copy(update={"path_specs": (gone,)})
    for _, text in card_files(facts, judgement):
        (page,) = [one for one in check(text).checks if one.about == "page"]
        assert page.status == "holds"


def test_names_of_files_are_never_the_same() -> None:
    """Candidates that differ in signs or capitals only have different files, and a name of signs alone has one, too."""
    facts, judgement = evaluation(names=("a/b", "a b", "A b", "..."))
    names = [name for name, _ in card_files(facts, judgement)]
    assert names[0] == "a-b.md"
    assert len({name.lower() for name in names}) == 4
    assert file_name("") == "card.md"
    assert all(re.fullmatch(r"[A-Za-z0-9_-]+\.md", name) for name in names)


@pytest.mark.parametrize(
    "hostile", ["x` -->\n# done", "x <!-- crosspath-card sha256:", "```\n\u202egnp", "a | b\n---", "\ud800-->"]
)
def test_hostile_names_make_no_markup(hostile: str, check: Callable[..., CardVerification]) -> None:
    """A served model, a warning or a task with back quotes, comment signs or line ends changes neither page nor block."""
    facts, judgement = evaluation(names=("oracle",))
    reply = facts.trials[0].reply
    assert reply is not None
    trial = facts.trials[0].model_copy(update={"reply": reply.model_copy(update={"served_model": hostile})})
    task = facts.tasks[0].model_copy(update={"id": hostile})
    changed = facts.model_copy(update={"trials": (trial, *facts.trials[1:]), "tasks": (task, *facts.tasks[1:])})
    text = card_markdown(changed, judgement.model_copy(update={"warnings": (hostile,)}), "oracle")
    (page,) = [one for one in check(text).checks if one.about == "page"]
    assert page.status == "holds"
    assert [line[:20] for line in text.split("\n") if "<!--" in line or line.startswith("-->")] == ["<!-- crosspath-card ", "-->"]
    assert hostile not in text
    assert value_of(text)["warnings"] == [hostile]


# -- every change is found -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        ("| RN | 24 |", "| RN | 23 |", "| RN | 23 |"),
        ("## Results", "## Results\n\nThe best model of all.", "The best model of all."),
        ("## What this does not show", "## Notes", "## Notes"),
        ("operating point: temperature | 0.5", "operating point: temperature | 0.0", "| operating point: temperature | 0"),
    ],
)
def test_an_edited_line_is_named(
    before: str, after: str, line: str, texts: dict[str, str], check: Callable[..., CardVerification]
) -> None:
    """A number, a sentence or a setting that was changed on the page is named with its line, as it stands and as it was."""
    escaped = before.replace("0.5", r"0\.5"), after.replace("0.0", r"0\.0")
    assert escaped[0] in texts["told"]
    found = check(texts["told"].replace(*escaped))
    assert list(differing(found)) == ["page"]
    (page,) = [one for one in found.checks if one.about == "page"]
    (edited,) = [one for one in page.differences if one.field.startswith("line ")]
    assert line in edited.card
    assert edited.card != edited.found


def test_a_forger_s_page_is_made_again(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """Who changes the page and writes all digests anew is found, because the page follows from the block."""
    found = read_block(texts["told"], "card.md")
    body, _ = without_footer(found.page)
    edited = body.replace("## Results", "## Results (independently confirmed)")
    (page,) = differing(check(edited + rewritten_ending(found.value | {"page_sha256": page_digest(edited)}))).items()
    assert page == ("page", [f"line {body[: body.index('## Results')].count(chr(10)) + 1}"])


def test_another_version_does_not_vouch_for_a_page(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """A page that this version would write otherwise can't be checked, whatever version the block names."""
    found = read_block(texts["told"], "card.md")
    body, _ = without_footer(found.page)
    edited = body.replace("## Results", "## Results (independently confirmed)")
    value = found.value | {"crosspath": "0.0.1", "page_sha256": page_digest(edited)}
    (page,) = [one for one in check(edited + rewritten_ending(value)).checks if one.about == "page"]
    assert page.status == "unavailable"


def test_words_without_losses_differ(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """Leaving out the losses does not free the sentences at the top from their check."""
    value = value_of(texts["told"])
    del value["losses"]
    assert differing(check(rewritten(value)))["plain words"] == ["losses"]


@pytest.mark.parametrize("part", ["cells", "effects"])
def test_a_doubled_name_differs(part: str, texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """A cell or an effect that stands twice is a difference, even where both are right."""
    value = value_of(texts["told"])
    value["decomposition"][part].append(value["decomposition"][part][0])
    assert any(about.endswith(", each once") for about in differing(check(rewritten(value))))


def rewritten_ending(value: dict[str, Any]) -> str:
    ending = block(value)
    return footer(ending.split("\n", 1)[0].rpartition(":")[2]) + "\n\n" + ending


def leaves(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Places of all numbers that are results."""
    if isinstance(value, dict):
        return [one for key, inner in value.items() for one in leaves(inner, (*place, key))]
    if isinstance(value, list):
        return [one for number, inner in enumerate(value) for one in leaves(inner, (*place, number))]
    return [place] if isinstance(value, (int, float)) else []


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_forged_result_does_not_follow(
    data: st.DataObject, texts: dict[str, str], check: Callable[..., CardVerification]
) -> None:
    """Any number of the results that is changed, with page and digests made anew, does not follow from the outcomes; only what is
    said to be beyond a card (intervals over all candidates, cost, what clean-up decides) needs the bundle."""
    value = value_of(texts[data.draw(st.sampled_from(CANDIDATES))])
    results = {name: value[name] for name in ("decomposition", "losses", "reliability", "abstentions")}
    places = [place for place in leaves(results) if "together" not in place and not BY_CLEAN_UP & {place[:2]}]
    place = data.draw(st.sampled_from(places))
    inner: Any = value
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = not inner[place[-1]] if isinstance(inner[place[-1]], bool) else inner[place[-1]] + 1
    found = check(rewritten(value))
    assert differing(found), place
    assert not found.holds


def every_place(value: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place, *(one for key, each in inner for one in every_place(each, (*place, key)))]


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_no_card_is_worse_than_a_wrong_one(
    data: st.DataObject, texts: dict[str, str], check: Callable[..., CardVerification]
) -> None:
    """Whatever is taken out of a block or put in the place of a value, with its digest made anew: it differs, or it is refused
    with one line."""
    value = value_of(texts[data.draw(st.sampled_from(CANDIDATES))])
    place = data.draw(st.sampled_from(every_place(value)[1:]))
    inner: Any = value
    for step in place[:-1]:
        inner = inner[step]
    if data.draw(st.booleans()):
        del inner[place[-1]]
    else:
        inner[place[-1]] = data.draw(st.sampled_from((None, [], {}, "", "~1", -1, 10**18, 0.5, True, [1], {"a": 1})))
    with suppress(ConfigError):
        assert not check("# Card" + rewritten_ending(value)).holds


def test_a_forged_outcome_is_found(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """One outcome made right, with digests anew, contradicts the counts of its cell; a missing one is no card."""
    value = value_of(texts["told"])
    cell = value["cells"][0]
    number = next(number for number, code in enumerate(cell["outcomes"]) if code.startswith("f"))
    forged = cell | {"outcomes": [*cell["outcomes"][:number], "p", *cell["outcomes"][number + 1 :]]}
    found = check(rewritten(value | {"cells": [forged, *value["cells"][1:]]}))
    assert "cell RR" in differing(found)
    assert "passed" in differing(found)["cell RR"]
    short = cell | {"outcomes": cell["outcomes"][1:]}
    with pytest.raises(ValueError, match=r"outcomes\.RR: 23 entries; its tasks and trials make 24"):
        rewritten(value | {"cells": [short, *value["cells"][1:]]})


@pytest.mark.parametrize(
    ("about", "change"),
    [
        ("contract nested-shell", lambda value: named(value["contracts"], "nested-shell").update(text="Be nice.")),
        ("path nested-shell for raw", lambda value: named(value["paths"], "nested-shell")["spec"].update(layers=[SHELL])),
        ("validator exact", lambda value: value["suites"].update(exact="0" * 64)),
        ("request style plain", lambda value: value["style"].update(content="Please: {instruction}")),
        ("tasks", lambda value: value["tasks"][0].update(digest="0" * 64)),
        ("candidate", lambda value: value["candidate"].update(transport="raw")),
        ("spec", lambda value: value["spec"].update(trials=5)),
        ("spec", lambda value: value["spec"]["candidates"]["told"].update(harness="strip")),
        ("plain words", lambda value: value["headline"].update(sentence="told gets everything right.")),
    ],
)
def test_a_forged_text_is_found(
    about: str, change: Callable[[dict[str, Any]], None], texts: dict[str, str], check: Callable[..., CardVerification]
) -> None:
    """A contract, a path, a suite, a style or a task that is another one than its digest says, a candidate that its cells are not
    of, a spec that asks something else, and a sentence that the numbers do not say: each is named."""
    value = value_of(texts["told"])
    change(value)
    assert about in differing(check(rewritten(value)))


def test_blocks_of_two_candidates_can_t_be_swapped(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """The page of one with the block of the other differs from the first line on."""
    cut = "<!-- crosspath-card"
    swapped = texts["told"].partition(cut)[0] + cut + texts["opaque"].partition(cut)[2]
    assert {"digest in the last line", "page_sha256", "line 1"} <= set(differing(check(swapped))["page"])


def test_text_behind_the_block_is_found(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """What is added at the end of the file is no part of the card."""
    assert differing(check(texts["told"] + "\nSee also.\n")) == {"page": ["text after the block"]}


def test_a_field_too_many_is_no_card(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """A field that no card has is refused by name, and a card of a later form is not guessed at."""
    text = texts["plain"].replace('\n "abstentions"', '\n "a_field":1,\n "abstentions"')
    with pytest.raises(ConfigError, match=r"card.md: a_field: is no card .*; nor is its digest"):
        check(text)
    with pytest.raises(ConfigError, match="has format 2, written by Crosspath"):
        check(texts["plain"].replace('"format":1', '"format":2'))


def test_a_card_of_another_version_is_not_called_forged(texts: dict[str, str], check: Callable[..., CardVerification]) -> None:
    """Where another version wrote it, intervals and shipped texts that differ can't be checked here; counts can, and the page is
    compared by its digest where this version would write it otherwise."""
    value: dict[str, Any] = {**value_of(texts["told"]), "crosspath": "0.0.1"}
    value["decomposition"]["cells"][0]["population"]["low"] = 0.123
    value["suites"]["exact"] = "0" * 64
    found = check(rewritten(value))
    assert found.holds
    assert {"cell RR", "validator exact"} <= {one.about for one in found.checks if one.status == "unavailable"}
    value["decomposition"]["cells"][0]["passed"] += 1
    assert differing(check(rewritten(value)))["cell RR"] == ["passed"]

    older = value_of(texts["told"]) | {"crosspath": "0.0.1", "page_sha256": page_digest("# Old")}
    assert "would write it otherwise" in next(one.detail for one in check("# Old" + rewritten_ending(older)).checks[1:2])
    assert "page_sha256" in differing(check("# Odd" + rewritten_ending(older)))["page"]


# -- with a bundle, and with tasks of one's own --------------------------------------------------------------------------


@pytest.mark.parametrize("name", CANDIDATES)
def test_a_bundle_proves_the_rest(name: str, texts: dict[str, str], bundle: Path, check: Callable[..., CardVerification]) -> None:
    """With the bundle every score is judged again and every field of the card is made again; cost and joint intervals, too."""
    found = check(texts[name], bundle=bundle)
    assert differing(found) == {}
    assert [one.about for one in found.checks if one.about.startswith("bundle")] == [
        "bundle: files", "bundle: scores", "bundle: outcomes, judged again", "bundle: numbers", "bundle: tasks and texts",
        "bundle: configuration",
    ]  # fmt: skip
    assert not {"cost", "intervals that hold together"} & {one.about for one in found.checks}


def test_the_bundle_has_the_cards(texts: dict[str, str], bundle: Path) -> None:
    """Each candidate's card is a file of the bundle, which is what MLflow keeps."""
    assert {path.stem: path.read_text("utf-8") for path in (bundle / "cards").iterdir()} == texts


def test_a_forged_card_is_not_that_of_its_bundle(
    texts: dict[str, str], bundle: Path, check: Callable[..., CardVerification]
) -> None:
    """What a card alone can't prove, a bundle can: cost, settings, who served, and which replies they were."""
    value = value_of(texts["told"])
    value["cost"]["replies"] += 1
    value["candidate"]["generation"]["operating_point"]["temperature"] = 0.0
    value["served"] = {"another": 42}
    value["replies"]["R"][0] = "0" * 16
    found = differing(check(rewritten(value), bundle=bundle))
    assert found["bundle: numbers"] == ["cost.replies"]
    assert found["bundle: outcomes, judged again"] == ["replies.R[0]"]
    assert {"served.another", "candidate.generation.operating_point.temperature"} <= set(found["bundle: configuration"])


def test_a_changed_bundle_is_found(
    texts: dict[str, str], bundle: Path, tmp_path: Path, check: Callable[..., CardVerification]
) -> None:
    """A file that is another one than the index says is named, another evaluation's bundle has no such candidate, and a directory
    that is no bundle is one line."""
    torn = shutil.copytree(bundle, tmp_path / "torn")
    (torn / "scores.parquet").write_bytes(b"PAR1")
    found = next(one for one in check(texts["told"], bundle=torn).checks if one.about == "bundle: files")
    assert found.status == "differs"
    assert "scores.parquet" in found.detail
    write_bundle(*evaluation(), tmp_path / "other")
    assert "bundle: candidate" in differing(check(texts["told"], bundle=tmp_path / "other"))
    with pytest.raises(ConfigError, match="is no bundle of an evaluation"):
        check(texts["told"], bundle=tmp_path)


def test_tasks_of_one_s_own_are_known_by_digest(
    texts: dict[str, str], tmp_path: Path, check: Callable[..., CardVerification]
) -> None:
    """Held-out tasks are compared by digest where the seed is known; with another seed they are not here; a file with other tasks
    of the same names differs."""

    def tasks(**further: Any) -> Any:
        return next(one for one in check(texts["plain"], **further).checks if one.about == "tasks")

    assert tasks().status == "unavailable"
    assert re.search(r"13 of \d+ are of the installed catalogue, by digest; \d+ held-out are not here", tasks().detail)
    assert tasks(seed=SEED).status == "holds"
    assert tasks(seed="another seed of enough letters").status == "unavailable"
    line = {"id": "exact-file/word", "family": "exact-file", "instruction": "Another.", "expected": {"f": "x"}}
    (tmp_path / "own.jsonl").write_text(json.dumps(line) + "\n")
    found = tasks(task_files=(tmp_path / "own.jsonl",))
    assert (found.status, [one.field for one in found.differences]) == ("differs", ["task exact-file/word"])


# -- the command line ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "code"), [("as it is", 0), ("edited", 1), ("no card", 2), ("", 2)])
def test_exit_codes(text: str, code: int, texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """0 all that can be checked holds, 1 something differs, 2 no card; no ledger is looked for and none is made."""
    whole = texts["plain"]
    (tmp_path / "card.md").write_text({"as it is": whole, "edited": whole.replace("## Tasks", "## Exams")}.get(text, text))
    assert run(["verify", str(tmp_path / "card.md")]) == code
    out, err = capsys.readouterr()
    if code == 2:
        assert (out, len(err.splitlines())) == ("", 1)
        return
    assert out.splitlines()[0] == f"card of plain, evaluation {value_of(whole)['evaluation']['id']}"
    assert "can't be checked here  tasks:" in out
    assert ("DIFFERS  page" in out) == (code == 1)
    assert out.splitlines()[-1].startswith("Not proven: that the model really gave these replies")
    assert list(tmp_path.iterdir()) == [tmp_path / "card.md"]


def test_a_verification_as_json(texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One strict document with every check, the differences field by field, and what is not proven."""
    (tmp_path / "card.md").write_text(texts["plain"].replace("## Tasks", "## Exams"))
    assert run(["verify", str(tmp_path / "card.md"), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found == document(verify_card(tmp_path / "card.md"))
    assert found["holds"] is False
    (page,) = [one for one in found["checks"] if one["about"] == "page"]
    assert page["differences"][-1]["card"] == "## Exams"
    assert found["not_proven"]


def test_a_foreign_card_makes_no_line_of_its_own(
    texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Line ends and terminal codes in a card's own words are shown, not obeyed."""
    value = value_of(texts["plain"])
    value["evaluation"]["id"] = "x\nholds  everything: \x1b[31m"
    (tmp_path / "card.md").write_text(rewritten(value))
    run(["verify", str(tmp_path / "card.md")])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert not [line for line in out.splitlines() if line.startswith("holds  everything")]


def test_the_version_is_on_it(texts: dict[str, str]) -> None:
    """A reader knows which version to install."""
    assert value_of(texts["plain"])["crosspath"] == __version__


# -- pages that differ ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("page", "again", "changes"),
    [
        ("a\nb\nc", "a\nb\nc", []),
        ("a\nx\nc", "a\nb\nc", [(2, "x", "b")]),
        ("a\nnew\nb", "a\nb", [(2, "new", "")]),
        ("a\nc", "a\nb\nc", [(2, "", "b")]),
        ("", "a", [(1, "", "a")]),
        ("a\na\na", "a", [(2, "a", ""), (3, "a", "")]),
    ],
)
def test_changed_lines(page: str, again: str, changes: list[tuple[int, str, str]]) -> None:
    """One line that was changed, put in or taken out is one change, named by its number."""
    assert list(changed_lines(page, again)) == changes


def test_a_huge_page_is_compared_line_by_line() -> None:
    """A page of a million lines that was put in the place of another does not hold the check up."""
    changes = changed_lines("x\n" * 300_000, "y\nx\n" * 2_000)
    assert next(changes) == (1, "x", "y")
    assert sum(1 for _ in changes) > 290_000
