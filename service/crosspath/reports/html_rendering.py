"""Markdown of the report as HTML: tables that can be read aloud and scrolled, headings as they are, nothing that loads or links.

The Markdown holds foreign texts, escaped. What renders it trusts that no further: raw HTML, links and images are switched off, so
that a hole in the escaping shows text and does nothing; control and format characters are made visible.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from crosspath.escaping import one_line

_OFF = ("html_inline", "html_block", "link", "image", "autolink", "reference")
_LABEL = "label"
"""Where a table's token keeps the heading above it."""


@dataclass(frozen=True)
class Block:
    """A heading with what stands under it. ``level`` 0: what stands before any heading."""

    level: int
    title: str
    """HTML."""
    name: str
    """The title as text."""
    body: str
    """HTML."""


def blocks(text: str, level: int) -> Iterator[Block]:
    """The Markdown ``text``, split at its headings of up to ``level``."""
    tokens = _parsed(text)
    start, title = 0, None
    for place, token in enumerate(tokens):
        if token.type == "heading_open" and token.level == 0 and int(token.tag[1]) <= level:
            if title is not None or place > start:
                yield _block(title, tokens[start:place])
            title, start = tokens[place : place + 2], place + 3
    if title is not None or tokens[start:]:
        yield _block(title, tokens[start:])


def _parsed(text: str) -> list[Token]:
    """Tokens without the spaces of no width that break mentions in Markdown: here is nobody to mention, and names are copied."""
    tokens = _PARSER.parse(one_line(text, keep="\n\t"))
    for child in (child for token in tokens for child in token.children or ()):
        child.content = child.content.replace("\u200b", "")
    return tokens


def _block(title: Sequence[Token] | None, tokens: Sequence[Token]) -> Block:
    """``title``: the opening and the inline token of the heading."""
    level, name, shown = 0, "", ""
    if title:
        level, name = int(title[0].tag[1]), _text(title[1])
        shown = _PARSER.renderer.render([title[1]], _PARSER.options, {})
    _make_readable(tokens, name)
    return Block(level, shown, name, _PARSER.renderer.render(tokens, _PARSER.options, {}))


def _text(token: Token) -> str:
    kept = (child.content for child in token.children or () if child.type in ("text", "text_special", "code_inline"))
    return "".join(kept)


def _make_readable(tokens: Sequence[Token], heading: str) -> None:
    """Give header cells their scope, make the first cell of each row a header, and tell each table what it is about."""
    first = False
    for token, inner in zip_longest(tokens, tokens[1:]):
        if token.type == "heading_open" and inner:
            heading = _text(inner)
        elif token.type == "table_open":
            token.meta[_LABEL] = heading
        elif token.type == "th_open":
            token.attrSet("scope", "col")
        elif token.type == "tr_open":
            first = True
        elif token.type == "td_open" and first:
            token.tag = "th"
            token.attrSet("scope", "row")
        elif token.type == "td_close" and first:
            token.tag, first = "th", False


def _table_open(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    label = escape(tokens[place].meta.get(_LABEL) or "table")
    return f'<div class="table" role="region" tabindex="0" aria-label="{label}">\n<table>\n'


def _table_close(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    return "</table>\n</div>\n"


def _fence(_: RendererHTML, tokens: Sequence[Token], place: int, options: OptionsDict, env: EnvType) -> str:
    return f'<pre tabindex="0"><code>{escape(tokens[place].content)}</code></pre>\n'


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "linkify": False}).enable("table").disable(list(_OFF))
    rules: Mapping[str, object] = {"table_open": _table_open, "table_close": _table_close, "fence": _fence, "code_block": _fence}
    for name, rule in rules.items():
        parser.add_render_rule(name, rule)
    return parser


_PARSER = _parser()
