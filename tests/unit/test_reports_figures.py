import subprocess
import sys

import pytest

from crosspath.analysis import CellInput, decompose, judge_control
from crosspath.reports.figures_cells import causes_by_stage, two_by_two
from crosspath.types import CellRow, Decomposition

PNG = b"\x89PNG\r\n\x1a\n"


def decomposition(name: str, n: int) -> Decomposition:
    """Two cells of ``n`` rows, the first of them a fault, and one that is not applicable."""
    rows = tuple(
        CellRow(
            task=f"t{i}", family=f"f{i % 3}", passed=None if i == 0 else i % 2 == 0, cause="fault:budget" if i == 0 else "timeout"
        )
        for i in range(n)
    )
    cells = [CellInput("R", "R", name, "raw", rows), CellInput("R", "N", name, name, rows)]
    return decompose(name, cells, judge_control("none", {}, {}), {"NN": "the reply's shape does not fit " * 5})


@pytest.mark.parametrize("name", ["plain", "$x_{$ \\frac", "日本語 \x00 \ud800", "long-" * 60])
@pytest.mark.parametrize("n", [0, 1, 24])
def test_figures_are_drawn_the_same_each_time(name: str, n: int) -> None:
    """Any name and any number of rows gives a PNG without warnings, byte for byte the same again."""
    drawn = decomposition(name, n)
    for figure in (two_by_two, causes_by_stage):
        picture = figure(drawn)
        assert picture.startswith(PNG)
        assert picture == figure(drawn)


def test_figures_without_cells() -> None:
    """A candidate without any cell still has figures that say so."""
    empty = decompose("x", [], judge_control("none", {}, {}))
    assert two_by_two(empty).startswith(PNG)
    assert causes_by_stage(empty).startswith(PNG)


def test_importing_the_analysis_loads_no_vendor() -> None:
    """Neither SciPy nor Matplotlib nor NumPy is imported before it is needed."""
    check = "import sys, crosspath.analysis; print([name for name in ('scipy', 'matplotlib', 'numpy') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout.strip() == "[]"
