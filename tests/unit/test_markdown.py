"""Untrusted text in Markdown: what is rendered is the text, and nothing else."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from builders import evaluation
from crosspath.adapters.mlflow_tracker.layout import RunContent, layout
from crosspath.adapters.mlflow_tracker.names import NOTE_TAG
from crosspath.escaping import markdown, one_line
from crosspath.reports.markdown import report_markdown, summary_text
from crosspath.types import (
    Candidate,
    Cell,
    Control,
    Decomposition,
    Estimate,
    EvaluationHead,
    Facts,
    Generation,
    Judgement,
    Lock,
    ModelSpec,
    Reference,
    Spend,
)

APART = "\u200b"
"""What keeps a mention from being one. Of a text's own there is none left: it is shown as ``\\u200b``."""
PARSER = MarkdownIt("gfm-like", {"linkify": False})
LIVE = {"link_open", "image", "html_inline", "html_block", "em_open", "strong_open", "s_open", "code_inline", "fence", "hr"}
ATTACKS = (
    "![x](http://127.0.0.1:9/p.png) [click](http://evil)",
    "<img src=x onerror=alert(1)>",
    "x\n# forged\n\n| a |\n|---|\n[a]: http://evil\n![a]",
    "` code ` ~~s~~ **b** __u__ <http://evil> &lt;b&gt; &#60;",
    "a|b\\|c\\",
    "@name and me@a.example, #12 (@org/team)", "$x^2$ $", "12. x", "123456789) x",
    "# h", "- x", "1. x", "> q", "===", "---", "\\", "```", "x\\\n---",
)  # fmt: skip
MENTION = re.compile(r"(?:^|[^A-Za-z0-9])(?:@[A-Za-z0-9]|#[0-9])|[@][A-Za-z0-9_-]+[.]")
"""A person, a team, an issue or an address in rendered text, as GitHub looks for them."""
HOSTILE = st.one_of(st.sampled_from(ATTACKS), st.text("![]()<>*_`~|\\#&;:/-=+@$. \n\tab12", max_size=30), st.text(max_size=20))


def tokens(text: str) -> list[Token]:
    """All tokens, the inner ones, too."""
    return [inner for token in PARSER.parse(text) for inner in (token, *(token.children or ()))]


@given(HOSTILE)
@example("a\\")
@example("&amp;")
def test_a_text_is_shown_as_it_is(text: str) -> None:
    """In a paragraph, in a heading and in a cell: no markup at all, and the very text."""
    shown = markdown(text)
    expected = re.sub(" +", " ", one_line(text).strip())
    for around in ("x {} x", "## x {}", "> x {} x\n>", "| a |\n|---|\n| x {} x |"):
        found = tokens(around.format(shown))
        assert {token.type for token in found} & LIVE == set()
        rendered = "".join(t.content for t in found if t.type in ("text", "text_special"))
        assert re.sub(" +", " ", rendered.replace(APART, "")).count(expected)
        assert MENTION.search(rendered) is None
    assert {token.type for token in tokens(shown)} & (LIVE | {"heading_open", "table_open", "blockquote_open"}) == set()


@pytest.mark.parametrize(
    "plain_text",
    ["nested-shell", "-75.0", "baseline/oracle#2", "wrong_state", "a & b", "-", "+0.5 to 1", "x -> y", "12.5 s", "m@20241101"],
)
def test_usual_texts_are_not_changed(plain_text: str) -> None:
    """Names and numbers stay readable where the Markdown itself is read."""
    assert markdown(plain_text) == plain_text


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/x", "HTTPS://a.example", "www.example.org", "mailto:a"])
def test_addresses_are_no_links(address: str) -> None:
    """What turns bare addresses into links finds none."""
    shown = markdown(address)
    assert address not in shown
    assert shown.replace("\\", "") == address


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("12. a", "12\\. a"),
        ("ask @org/team", "ask @&#8203;org/team"),
        ("see #12", "see \\#&#8203;12"),
        ("me@a.example", "me@&#8203;a.example"),
        ("$x$", "&#36;x&#36;"),
    ],
)
def test_what_lists_mentions_and_formulas_become(text: str, shown: str) -> None:
    """A backslash doesn't keep GitHub from reading a mention: a space without width does, and all stays readable."""
    assert markdown(text) == shown


def hostile_report(text: str) -> str:
    """A report in which every text that somebody else chooses is ``text``."""
    generation = Generation(model=ModelSpec(name=f"openai/{text}", params={text or "p": text}), contract=text)
    lock = Lock(
        candidates=(Candidate(name=text, generation=generation, transport=text),), reference=Reference(), trials=1,
        tasks={text: "d"}, contracts={text: "d"}, transports={text: "d"}, suites={text: "d"},
        served_models={"m": (text,)}, fingerprints={"m": (text,)},
    )  # fmt: skip
    head = EvaluationHead(
        id=text, name=text, created_at=0.0, status="stopped", spec={}, spec_digest="d",
        derived_from=text, derivation=text,
    )  # fmt: skip
    nothing = Estimate(value=None, low=None, high=None, n=0, estimand="these_replies", method=text)
    cell = Cell(
        told="N", done="N", contract=text, transport=text, planned=1, scored=0, passed=0, faults=1, unstable=0, rate=nothing,
        silent_wrong=nothing, causes={f"fault:{text}": 1},
    )  # fmt: skip
    control = Control(kind="encoded", status="broken", compared=1, reason=text, differing=(text,), unstable=(text,))
    decomposition = Decomposition(candidate=text, cells=(cell,), effects=(), control=control, not_applicable={"RN": text})
    judgement = Judgement(scores=(), decompositions=(decomposition,), comparisons=(), spend=Spend(), warnings=(text,))
    assert len(summary_text(judgement).splitlines()) == len(summary_text(judgement).split("\n")) - 1 == 4
    facts = Facts(
        head=head, lock=lock, tasks=(), cells=(), contracts=(), transports=(), suites=(), trials=(), attempts=(), replays=()
    )
    return report_markdown(facts, judgement)


@given(HOSTILE)
def test_a_report_holds_only_our_markup(text: str) -> None:
    """Whatever models, servers and names say, a report has the same blocks, and no link, image or HTML."""
    usual, hostile = (PARSER.parse(hostile_report(each)) for each in ("usual", text if text.strip() else "x"))
    assert [token.type for token in hostile] == [token.type for token in usual]
    inner = {child.type for token in hostile for child in token.children or ()}
    assert inner & {"link_open", "image", "html_inline", "em_open", "s_open"} == set()


def described(text: str) -> tuple[RunContent, ...]:
    """The nested MLflow runs of a candidate that chose ``text`` wherever it can."""
    facts, judgement = evaluation()
    first = judgement.decompositions[0]
    cells = tuple(cell.model_copy(update={"contract": text, "transport": text}) for cell in first.cells)
    control = first.control.model_copy(update={"reason": text})
    more = {"candidate": text, "cells": cells, "control": control, "not_applicable": {text: text}}
    return layout(facts, judgement.model_copy(update={"decompositions": (first.model_copy(update=more),)}), 10).nested


@pytest.mark.parametrize("text", ATTACKS)
def test_rationales_in_mlflow_are_text(text: str) -> None:
    """The reason of a score, which MLflow renders, has no markup, whatever a program wrote."""
    facts, judgement = evaluation()
    scores = tuple(score.model_copy(update={"reason": text}) for score in judgement.scores)
    runs = layout(facts, judgement.model_copy(update={"scores": scores}), 10).nested
    reasons = {verdict.rationale for run in runs for row in run.rows for verdict in row.verdicts if verdict.name == "cause"}
    assert markdown(text) in reasons


@pytest.mark.parametrize("text", [*ATTACKS, "a\u202eb\x1b[2J"])
def test_descriptions_in_mlflow_hold_only_our_markup(text: str) -> None:
    """The notes of runs have the same blocks for every name, and a run's name is one line that turns no text."""
    for usual, hostile in zip(described("usual"), described(text), strict=True):
        shown = [PARSER.parse(run.tags[NOTE_TAG]) for run in (usual, hostile)]
        assert [token.type for token in shown[0]] == [token.type for token in shown[1]]
        inner = {child.type for token in shown[1] for child in token.children or ()}
        assert inner & {"link_open", "image", "html_inline", "s_open"} == set()
        assert not {"\n", "\u202e", "\x1b"} & set(hostile.name)
