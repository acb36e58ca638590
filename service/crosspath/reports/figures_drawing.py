"""What all figures share: canvas, text that any name survives, colours, and the bytes of a PNG.

Matplotlib through its object interface only: no global state, no display, the same bytes for the same input and version. Colours
are from Okabe and Ito's palette, and no meaning hangs on colour alone (hatching, markers, labels, numbers).
"""

# Matplotlib's own annotations leave **kwargs unknown.
# pyright: reportUnknownMemberType=false
from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
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


OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#222222")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""Told apart without colour; more than eight series start again with the next colour."""


def series_style(number: int) -> tuple[str, str]:
    """Colour and marker of the n-th series: 64 differ in at least one of the two."""
    return OKABE_ITO[(number + number // len(MARKERS)) % len(OKABE_ITO)], MARKERS[number % len(MARKERS)]


def headed(figure: Figure, title: str) -> None:
    """A title at the upper left; it may hold foreign names."""
    figure.suptitle(drawable(title), x=0.01, ha="left", fontsize=12, family=FONT, weight="bold", parse_math=False)


def canvas(width: float, height: float, layout: Literal["constrained"] | None = None) -> Figure:
    """An empty figure of so many inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=DPI, layout=layout, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def axes_within(figure: Figure, left: float, right: float, top: float, bottom: float) -> Axes:
    """Axes with margins in inches. Where their size is known this takes half the time of a layout that measures every text."""
    width, height = (float(inches) for inches in figure.get_size_inches())
    return figure.add_axes((left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height))


def png(figure: Figure) -> bytes:
    """The figure as a PNG, without the version of what drew it."""
    buffer = io.BytesIO()
    figure.savefig(
        buffer, format="png", metadata={"Software": None}, pil_kwargs={"compress_level": 3}
    )  # 6 saves 3 %, in twice the time
    return buffer.getvalue()


def put_text(axes: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    """Text at a place of the axes, whatever characters it holds; centred unless ``style`` says otherwise."""
    style = {"ha": "center", "va": "center", "color": INK} | style
    axes.text(x, y, drawable(text), fontsize=size, family=FONT, parse_math=False, **style)


def put_inner_text(axes: Axes, x: float, y: float, text: str, size: float, **style: Any) -> None:
    """The same for text that lies within the axes: the layout need not measure it, which saves most of the time of many texts."""
    put_text(axes, x, y, text, size, in_layout=False, **style)


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


def legend_of(figure: Figure, parts: Mapping[str, tuple[str, str]], columns: int = 4) -> None:
    """A legend at the lower edge: label -> colour and hatch."""
    from matplotlib.patches import Patch

    patches = [Patch(facecolor=colour, hatch=hatch, edgecolor=INK, label=label) for label, (colour, hatch) in parts.items()]
    if patches:
        figure.legend(handles=patches, loc="lower center", ncols=columns, frameon=False, fontsize=9, handleheight=1.4)


Box = tuple[float, float, float, float]
"""Left, bottom, width, height, in units of the axes."""


def put_boxes(
    axes: Axes, boxes: Sequence[Box], faces: str | Sequence[str], edge: str = INK, hatch: str = "", line: float = 0.8
) -> None:
    """Many rectangles of one kind at once: a figure with hundreds of patches takes seconds otherwise."""
    from matplotlib.collections import PatchCollection
    from matplotlib.patches import Rectangle

    patches = [Rectangle((left, bottom), width, height) for left, bottom, width, height in boxes]
    axes.add_collection(PatchCollection(patches, facecolors=faces, edgecolors=edge, linewidths=line, hatch=hatch or None))


def put_repeated(axes: Axes, text: str, places: Sequence[tuple[float, float]], size: float, colour: str, weight: str) -> None:
    """The same short text at many places, drawn once and stamped: ten times as fast as so many texts."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    path = TextPath((0, 0), drawable(text), size=size, prop=FontProperties(family=FONT, weight=weight), usetex=False)
    box = path.get_extents()
    path = path.transformed(Affine2D().translate(-(box.x0 + box.x1) / 2, -(box.y0 + box.y1) / 2))
    width, height = box.x1 - box.x0, box.y1 - box.y0
    xs, ys = zip(*places, strict=True)
    large = max(width, height)  # a marker is scaled to that
    axes.plot(xs, ys, linestyle="", marker=path, markersize=large, markerfacecolor=colour, markeredgecolor="none")


def spread(places: Sequence[float], least: float) -> list[float]:
    """Places moved apart so that neighbours are at least ``least`` apart, in the same order and about as far up as before."""
    order = sorted(range(len(places)), key=lambda number: (places[number], number))
    moved = [places[number] for number in order]
    for _ in range(200):
        pushed = False
        for low, high in zip(range(len(moved)), range(1, len(moved)), strict=False):
            overlap = least - (moved[high] - moved[low])
            if overlap > 1e-6:
                moved[low], moved[high], pushed = moved[low] - overlap / 2, moved[high] + overlap / 2, True
        if not pushed:
            break
    found = [0.0] * len(places)
    for number, place in zip(order, moved, strict=True):
        found[number] = place
    return found
