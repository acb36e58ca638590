"""The report as one HTML file: it loads and runs nothing, can be read without seeing it, and no text breaks out of its place."""

import base64
import hashlib
import itertools
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest

from builders import evaluation
from crosspath.catalogue import suite_text
from crosspath.pipeline.judge import judge
from crosspath.reports.figures import planned_figures
from crosspath.reports.html import report_html
from crosspath.reports.html_rendering import blocks
from crosspath.testing.validator import FakeValidator
from crosspath.types import Facts, Judgement

VOID = {"meta", "br", "img", "hr"}
LIVE = {"script", "iframe", "object", "embed", "form", "input", "button", "link", "base", "svg", "video", "audio", "template"}
PICTURE = base64.b64decode("iVBORw0KGgo=")


@dataclass
class Page(HTMLParser):
    """What a browser would see: tags in order with their attributes, and that all are closed."""

    tags: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    text: str = ""

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def having(self, tag: str) -> list[dict[str, str]]:
        return [attributes for name, attributes in self.tags if name == tag]


def parsed(page: str) -> Page:
    """The page, well formed to the last tag."""
    found = Page()
    found.feed(page)
    found.close()
    assert found.open == []
    return found


def judged(trials: int = 2) -> tuple[Facts, Judgement]:
    """Two candidates, one of which fails everywhere on its path."""
    facts, _ = evaluation(trials=trials, fault=True)
    facts = facts.model_copy(update={"suites": (suite_text("exact"),)})
    return facts, judge(facts, FakeValidator())


def page_of(facts: Facts, judgement: Judgement) -> str:
    """The page with a stand-in for each figure: drawing them is another test's part."""
    return report_html(facts, judgement, {figure.name: PICTURE for figure in planned_figures(facts, judgement)})


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(*judged())


def test_it_needs_nothing_else(page: str) -> None:
    """No script, no request, no foreign style: a strict policy with the style sheet's own hash, figures as data, links within."""
    found = parsed(page)
    assert LIVE & {tag for tag, _ in found.tags} == set()
    [policy] = [meta["content"] for meta in found.having("meta") if meta.get("http-equiv") == "Content-Security-Policy"]
    style = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    assert policy == f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert len(style) == 1
    assert "url(" not in style[0]
    assert "@import" not in style[0]
    assert {image["src"].partition(",")[0] for image in found.having("img")} == {"data:image/png;base64"}
    assert [link["href"] for link in found.having("a") if not link["href"].startswith("#")] == []
    assert not [name for _, attributes in found.tags for name in attributes if name.startswith("on") or name == "style"]


def test_links_lead_to_sections(page: str) -> None:
    """Every entry of the contents has its section, and no anchor is taken twice."""
    found = parsed(page)
    anchors = [attributes["id"] for _, attributes in found.tags if "id" in attributes]
    assert len(anchors) == len(set(anchors))
    assert {link["href"][1:] for link in found.having("a")} == set(anchors)


def test_it_can_be_read_without_seeing_it(page: str) -> None:
    """Headings go down one level at a time, header cells have a scope, tables and figures say what they are."""
    found = parsed(page)
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h[1-6]", tag)]
    assert levels[0] == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    assert levels.count(1) == 1
    assert all(cell["scope"] in ("col", "row") for cell in found.having("th"))
    regions = [division for division in found.having("div") if division.get("class") == "table"]
    assert len(regions) == len(found.having("table"))
    assert all(region["aria-label"] and region["tabindex"] == "0" for region in regions)
    assert all(image["alt"] for image in found.having("img"))
    assert found.having("html") == [{"lang": "en"}]


def test_what_matters_comes_first(page: str) -> None:
    """Headlines, then what must not be missed, plain words, figures, candidates, stories, and at the end the limits."""
    titles = re.findall(r'<section id="([^"]+)"', page)
    wanted = ["what-to-know-first", "what-must-not-be-missed", "in-plain-words", "oracle-on-nested-shell"]
    assert [title for title in titles if title in wanted] == wanted
    assert titles[0] == wanted[0]
    assert titles[-1] == "limits-of-the-method"


ATTACKS = {
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "link": "[click](javascript:alert(1)) ![x](http://127.0.0.1:9/p.png) <http://evil.example> www.evil.example",
    "closing": "</details></section></main><h1>forged</h1>",
    "data": "data:text/html;base64,PHNjcmlwdD4= <a href='data:text/html,x'>x</a>",
    "template": "{{ 7 * 7 }}{% raw %}",
    "markdown": "| a | b | # h ``` ~~~ > q * l **b** `c` &lt;i&gt; &#60;",
    "bidi": "\u202egnp.exe\u2066\u200b",
    "blocks": "x\n\n# forged\n\n```\n</code></pre>\n- l\n\n| a |\n|---|\n",
}


def with_texts(facts: Facts, judgement: Judgement, text: str) -> tuple[Facts, Judgement]:
    """The same evaluation with ``text`` for a candidate's name, in every reply, output, file, reason, instruction and warning."""
    inside = json.dumps(text)[1:-1]

    def changed(record: str) -> str:
        record = re.sub(r'("(?:candidate|name|a)"\s*:\s*)"oracle"', lambda found: f'{found[1]}"{inside}"', record)
        return record.replace("costs $5", inside).replace("the served model's name", inside)

    return Facts.from_json(changed(facts.to_json())), Judgement.from_json(changed(judgement.to_json()))


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_no_text_breaks_out(attack: str) -> None:
    """Whatever names, replies, outputs and reasons hold, the page has the same tags, no link outwards, and shows the text."""
    facts, judgement = judged()
    judgement = judgement.model_copy(update={"warnings": ("the served model's name is odd",)})
    usual, hostile = (parsed(page_of(*with_texts(facts, judgement, text))) for text in ("usual", attack))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in usual.tags]
    assert {name for _, attributes in hostile.tags for name in attributes} == {n for _, a in usual.tags for n in a}
    assert [link["href"] for link in hostile.having("a") if not link["href"].startswith("#")] == []
    assert not re.search("[\u202a-\u202e\u2066-\u2069\u200b]", hostile.text)


def test_links_and_html_do_nothing_even_unescaped() -> None:
    """The parser itself makes no link, image or element of a text, should one ever get past the escaping."""
    found = parsed("".join(block.body for block in blocks("\n\n".join(ATTACKS.values()), 1)))
    assert {tag for tag, _ in found.tags} & (LIVE | {"a", "img", "details", "section", "main"}) == set()


def test_the_same_facts_give_the_same_page(page: str) -> None:
    """To the byte, so that a bundle's digest is one of its content."""
    assert page_of(*judged()) == page


def test_a_long_report_stays_usable() -> None:
    """Many candidates: the contents name them all, and every title is told apart by its anchor."""
    facts, judgement = evaluation(names=tuple(f"c{number}" for number in range(40)))
    found = parsed(report_html(facts, judgement, {}))
    entries = [item for item in found.having("li") if item.get("class") == "candidate"]
    assert len(entries) == 1 + 40  # one that folds, and what it holds
    assert found.having("details")
