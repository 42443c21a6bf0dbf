"""The common look of figures: contrast of text and marks, colours apart, and nothing heavy imported."""

import subprocess
import sys
from itertools import combinations, islice

import matplotlib as mpl
import pytest

from compendium.report.sight import contrast, distance
from evenspan.displays import style

WHITE = "#ffffff"


def test_text_can_be_read_and_lines_be_seen():
    for key in ("axes.labelcolor", "text.color", "xtick.color", "ytick.color"):
        assert contrast(style.SETTINGS[key], WHITE) >= 4.5, key
    assert contrast(style.SETTINGS["axes.edgecolor"], WHITE) >= 3.0
    assert min(contrast(colour, WHITE) for colour in style.COLOURS) >= 3.0
    assert contrast(style.SETTINGS["grid.color"], WHITE) < 1.5  # the grid stays behind everything that says something


@pytest.mark.parametrize("missing", ["none", "protanopia", "deuteranopia"])
def test_colours_can_be_told_apart(missing):
    assert min(distance(a, b, missing) for a, b in combinations(style.COLOURS, 2)) >= 20


def test_the_first_pairs_are_different():
    assert len(set(islice(style.looks(), 49))) == 49


def test_settings_are_known_to_matplotlib():
    with mpl.rc_context(style.settings()):
        assert mpl.rcParams["axes.prop_cycle"].by_key()["color"] == list(style.COLOURS)


def test_the_style_is_imported_without_matplotlib_or_a_kernel():
    """People who draw a display in a script need no notebook."""
    heavy = "matplotlib", "ipykernel", "matplotlib_inline", "IPython"
    program = (
        "import sys; from evenspan.displays import style, method_looks; method_looks.look('PCA'); "
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "[]\n"
