"""What all figures share: canvas, text that any name survives, colours, and the bytes of a PNG.

Matplotlib through its object interface only: no global state, no display, the same bytes for the same input and version. Colours
are from Okabe and Ito's palette, and no meaning hangs on colour alone (hatching, markers, labels, numbers).
"""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from crosspath.analysis.stages import NOT_OBSERVED

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DPI = 120
FONT = "DejaVu Sans"
INK, PALE, GREY = "#222222", "#f4f4f4", "#bbbbbb"
RIGHT = "#009e73"
STAGE_COLOURS: Mapping[str, str] = {
    "reply": "#cc79a7",
    "delivery": "#e69f00",
    "shell": "#56b4e9",
    "tool": "#0072b2",
    "limit": "#f0e442",
    "state": "#d55e00",
    "other": "#999999",
    NOT_OBSERVED: "#ffffff",
}


def canvas(width: float, height: float, layout: Literal["constrained"] | None = None) -> Figure:
    """An empty figure of so many inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def png(figure: Figure) -> bytes:
    """The figure as a PNG, without the version of what drew it."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()


def put_text(axes: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    """Text at a place of the axes, whatever characters it holds; centred unless ``style`` says otherwise."""
    style = {"ha": "center", "va": "center", "color": INK} | style
    axes.text(x, y, drawable(text), fontsize=size, family=FONT, parse_math=False, **style)


def drawable(text: str) -> str:
    """Text with everything escaped that the font may lack (a missing glyph would be a box and a warning)."""
    return "".join(
        char if char == "\n" or " " <= char <= "ɏ" or char in "–…−" else char.encode("unicode_escape").decode() for char in text
    )


def short(text: str, width: int) -> str:
    """Drawable text of at most ``width`` characters; the middle gives way, because both ends of a name tell names apart."""
    text = drawable(text)
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[-tail:]}"


def wrapped(text: str, width: int, lines: int) -> str:
    """Drawable text in at most ``lines`` lines of ``width`` characters."""
    return "\n".join(textwrap.wrap(short(text, width * lines - lines), width, break_on_hyphens=True))


def legend_of(figure: Figure, parts: Mapping[str, tuple[str, str]]) -> None:
    """A legend below the axes: label -> colour and hatch."""
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=INK, label=label) for label, (colour, hatch) in parts.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=4, frameon=False, fontsize=9, handleheight=1.4)
