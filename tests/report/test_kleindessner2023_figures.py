"""Figures of kleindessner2023: every number is drawn where it belongs, panels and series are named and told apart."""

import itertools

import numpy as np
import pandas as pd
import pytest

from compendium.papers.kleindessner2023 import figures


def crossed(columns: dict, **values) -> pd.DataFrame:
    """Every combination of what the columns hold, each with the same values."""
    return pd.DataFrame(itertools.product(*columns.values()), columns=list(columns)).assign(**values)


def drawn(fig) -> set[float]:
    """All numbers that stand in lines, bars and points of a figure."""
    found = []
    for panel in fig.axes:
        found += [np.ravel(line.get_xydata()) for line in panel.lines]
        for marks in panel.collections:
            paths = marks.get_segments() if hasattr(marks, "get_segments") else [marks.get_offsets()]
            found += [np.ravel(path) for path in paths]
    return set(np.round(np.concatenate(found).astype(float), 6).tolist())


def texts(fig) -> tuple[list[str], list[str]]:
    """Titles of the panels, and entries of the legend, of the figure's own or of the first panel."""
    titles = [panel.get_title(loc="left") or panel.get_title() for panel in fig.axes]
    legend = (*fig.legends, fig.axes[0].get_legend())[0]
    return titles, [text.get_text() for text in legend.get_texts()]


METHODS, RANGE = {"method": ("PCA", "Fair PCA")}, {"smallest": 0.625, "largest": 0.875}
POINTS = {"dataset": ("adult", "bank"), "classifier": ("SVM",), "size": ("all",), "parameter": (0.2, 0.0, 0.1)}
AT = {"accuracy": 0.85, "gap": 0.04}
RIVALS = {"method": ("constant", "Fair PCA", "reductions")}
#: By figure: its data, and the other arguments.
GIVEN = {
    "embeddings": (crossed(METHODS | {"group": (0, 1), "x": (0.25, 7.5)}, y=-2.5), {}),
    "time_ratios": (crossed(METHODS | {"n": (336, 20_000), "d": (100, 20)}, median=0.7, **RANGE), {}),
    "times": (crossed(METHODS | {"n": (1000, 5000)}, mean=0.7, **RANGE), {"unit": "no fairness"}),
    "tradeoff": (crossed(RIVALS | POINTS, **AT), {"violation": "gap", "trivial": ("constant",)}),
}
ENDS, BOTH = set(RANGE.values()), list(METHODS["method"])


@pytest.mark.parametrize(
    ("name", "titles", "legend", "numbers"),
    [
        ("embeddings", BOTH, ["group 0", "group 1"], {0.25, 7.5, -2.5}),
        ("time_ratios", ["n = 336 rows", "n = 20,000 rows"], BOTH, ENDS | {20.0, 100.0, 0.7}),
        ("times", [""], BOTH, ENDS | {1000.0, 5000.0, 0.7}),
        ("tradeoff", ["adult, SVM\nall", "bank, SVM\nall"], ["Fair PCA", "reductions", "constant"], set(AT.values())),
    ],
)
def test_every_figure_draws_its_numbers_and_names_panels_and_series(name, titles, legend, numbers):
    data, others = GIVEN[name]
    fig = getattr(figures, name)(data, **others)
    fig.canvas.draw()
    assert texts(fig) == (titles, legend)
    assert numbers <= drawn(fig)
    # Series that share a panel are told apart without their colour.
    marks = [line.get_marker() for line in fig.axes[0].lines if line.get_marker() not in ("None", "_", "|", "")]
    assert len(set(marks)) == len(legend) or name == "embeddings"


def test_pictures_keep_their_pixels_and_their_scale():
    image = np.arange(9) / 10.0
    rows = [("original", "group 0", p, v) for p, v in enumerate(image)]
    rows += [("original", "direction", p, v - 0.4) for p, v in enumerate(image)]
    rows += [("PCA", "group 0", p, 1.0 - v) for p, v in enumerate(image)]
    shuffled = pd.DataFrame(rows, columns=["row", "column", "pixel", "value"]).iloc[::-1]
    ordered = shuffled.sort_values(["row", "column"], ascending=[False, False], kind="stable")
    shown = [panel.images for panel in figures.pictures(ordered, 3).axes]
    assert [len(images) for images in shown] == [1, 1, 1, 0]
    np.testing.assert_allclose(shown[0][0].get_array(), image.reshape(3, 3))
    np.testing.assert_allclose(shown[2][0].get_array(), 1.0 - image.reshape(3, 3))
    assert shown[0][0].get_clim() == (0.0, 1.0)
    assert shown[1][0].get_clim() == pytest.approx((-0.4, 0.4))
    assert "No picture" in figures.pictures(shuffled.iloc[:0], 3).axes[0].texts[0].get_text()
