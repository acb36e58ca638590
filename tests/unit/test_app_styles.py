"""Request styles of a spec: own ones, unknown ones, and what they make of requests and of derived evaluations."""

from pathlib import Path

import pytest

from builders import evaluation
from crosspath.app.derive import replay_resolved
from crosspath.app.prompts import prompts, prompts_text
from crosspath.app.resolve import Own, read_own, read_spec, resolve, styles_named
from crosspath.app.session import Opened, open_evaluation
from crosspath.catalogue import contract, contract_names, request_style_names
from crosspath.errors import ConfigError
from crosspath.store.ledger import Ledger
from crosspath.styles import PLAIN

OWN = "---\nname: polite\nversion: 3\nsummary: mine\n---\nWould you be so kind?\n\n{instruction}\n"
TASKS = (
    '{"id": "one", "family": "f", "instruction": "Write ⟪a {instruction}⟫ into f.", "expected": {"f": "x"}, "oracle": "true"}\n'
)
SPEC = """
styles: [polite.md]
candidates:
  one: {model: baseline/oracle, request_style: %s}
  two: {model: baseline/oracle, request_style: plain}
tasks: {files: [tasks.jsonl]}
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with a style of one's own and a task."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "polite.md").write_text(OWN)
    (tmp_path / "tasks.jsonl").write_text(TASKS, "utf-8")
    return tmp_path


def spec(here: Path, style: str = "polite", text: str = SPEC) -> Path:
    (here / "spec.yaml").write_text(text % style if "%s" in text else text)
    return here / "spec.yaml"


def opened(here: Path, style: str = "polite") -> Opened:
    """An evaluation of the spec, just begun."""
    ledger = Ledger(here / "store")
    try:
        return open_evaluation(ledger, resolve(*read_spec(spec(here, style))))
    finally:
        ledger.close()


def test_a_style_of_one_s_own_is_what_is_sent(here: Path) -> None:
    """A spec names the file, a candidate the style; the prompts that are printed are the wrapped ones."""
    found = prompts(spec(here))
    assert [prompt["request_style"] for prompt in found] == ["polite", "plain"]
    instruction = "Write ⟪a {instruction}⟫ into f."
    assert found[0]["messages"][-1]["content"] == f"Would you be so kind?\n\n{instruction}"
    assert found[1]["messages"][-1]["content"] == instruction
    text = prompts_text(found)
    assert "told raw · asked polite · trial 0\n" in text
    assert "told raw · trial 0\n" in text
    assert "  | Would you be so kind?\n  | \n  | Write" in text


def test_facts_and_lock_hold_the_styles_that_are_used(here: Path) -> None:
    """The texts with their versions are facts, their digests are in the lock; styles that nobody uses are in neither."""
    facts = opened(here).facts
    assert [(text.name, text.version) for text in facts.styles] == [("plain", "1"), ("polite", "3")]
    assert facts.lock.styles == {text.name: text.digest for text in facts.styles}
    assert facts.lock.styles["plain"] == PLAIN.digest
    assert facts.styles[1].content == "Would you be so kind?\n\n{instruction}"


def test_another_text_under_the_same_name_is_another_evaluation(here: Path) -> None:
    """A changed style is not gone on with: its requests are others."""
    first = opened(here).facts
    assert opened(here).resumed
    (here / "polite.md").write_text(OWN.replace("so kind", "so very kind"))
    other = opened(here)
    assert not other.resumed
    assert other.facts.lock.digest != first.lock.digest


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SPEC % "polit", r"^candidates\.one\.request_style: 'polit' is not known; did you mean 'polite'\? known: bossy, chatty"),
        (SPEC % "Bossy", r"'Bossy' is not known; did you mean 'bossy'\?"),
        (
            "grid: {model: [baseline/oracle], request_style: [plain, tersee]}\ntasks: {files: [tasks.jsonl]}\n",
            r"^candidates\.tersee\.request_style: 'tersee' is not known; did you mean 'terse'\?",
        ),
        ("defaults: {request_style: exm}\ncandidates: {a: baseline/oracle}\n", r"'exm' is not known; did you mean 'exam'\?"),
        ("styles: [gone.md]\ncandidates: {a: baseline/oracle}\n", r"gone\.md: no such file"),
    ],
)
def test_an_unknown_style_is_refused_with_the_near_one(here: Path, text: str, message: str) -> None:
    """Wherever the style stands, the error names the candidate, the value, what was probably meant and what there is."""
    with pytest.raises(ConfigError, match=message):
        resolve(*read_spec(spec(here, text=text)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OWN.replace("polite", "chatty"), r"polite\.md: name: a request style named 'chatty' exists already"),
        (OWN.replace("summary: mine", "pair: exma"), r"polite\.md: pair: 'exma' is no request style; did you mean 'exam'\?"),
        (OWN.replace("{instruction}", "{{ instruction }}"), r"polite\.md: text: holds \{instruction\} nowhere"),
    ],
)
def test_a_wrong_style_of_one_s_own_is_one_line(here: Path, text: str, message: str) -> None:
    """File, field, value and what would be right."""
    (here / "polite.md").write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        styles_named(["polite.md"], here)
    assert "\n" not in str(caught.value)


def test_styles_are_found_by_name_or_file(here: Path) -> None:
    """Those that ship, those of a spec, and a Markdown file that no spec names."""
    assert Own().style("chatty").name == "chatty"
    assert Own().style("./polite.md").name == "polite"
    assert read_own(None, spec(here)).style("polite").version == "3"
    with pytest.raises(ConfigError, match="no such request style: 'polite'"):
        Own().style("polite")
    assert list(styles_named([], here)) == list(request_style_names())


def test_a_replay_keeps_the_styles_as_they_were(here: Path) -> None:
    """The text that was sent is kept, whatever the style of that name is today: requests of a replay are those of its source."""
    facts = opened(here).facts
    (here / "polite.md").unlink()
    again = replay_resolved(facts, ["nested-shell"], {}, here).plan
    assert {name: style.digest for name, style in again.styles.items()} == facts.lock.styles
    assert [request.messages[-1]["content"][:8] for request in again.requests] == ["Would yo", "Write ⟪a"]


def test_evaluations_from_before_there_were_styles_are_plain(here: Path) -> None:
    """A name of a style meant nothing then, whatever it was."""
    facts, _ = evaluation()
    update = {"contract": "nested-shell", "request_style": "chatty"}
    candidates = tuple(
        one.model_copy(update={"generation": one.generation.model_copy(update=update)}) for one in facts.lock.candidates
    )
    lock = facts.lock.model_copy(update={"candidates": candidates})
    old = facts.model_copy(update={"lock": lock, "contract_specs": tuple(contract(name) for name in contract_names())})
    again = replay_resolved(old, ["single-quoted-shell"], {}, here).plan
    assert again.styles["chatty"].text == PLAIN.text
