"""Figures of the image experiment: the pictures themselves, what each setting leaves, and memory against features."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from evenspan.displays.method_looks import looks
from evenspan.displays.style import COLOURS, INK, MARKERS

#: Metrics of the panels, and how they are headed.
PANELS = {
    "AUC (linear)": "AUC, linear reader",
    "AUC (kernel)": "AUC, kernel reader",
    "kept share of what glasses change": "share of the glasses kept",
    "explained variance ratio": "share of variance kept",
}


def pictures(shown: Mapping[str, np.ndarray]) -> Figure:
    """Colour pictures in rows, one row a title.

    Parameters
    ----------
    shown : mapping of str to ndarray of shape (c, h, w, 3)
        As many pictures in every row, with values between 0 and 1.
    """
    across = {len(images) for images in shown.values()}
    if len(across) != 1:
        raise ValueError(f"the rows have {sorted(across)} pictures; needed is one number for all of them.")
    height, width = next(iter(shown.values())).shape[1:3]
    columns = across.pop()
    fig, axes = plt.subplots(
        len(shown), columns, figsize=(1.15 * columns + 1.7, 1.15 * height / width * len(shown) + 0.2), squeeze=False,
        layout="constrained",
    )  # fmt: skip
    for line, (title, images) in zip(axes, shown.items(), strict=True):
        for panel, image in zip(line, images, strict=True):
            panel.imshow(image, vmin=0.0, vmax=1.0, interpolation="nearest")
            panel.set(xticks=[], yticks=[])
            panel.grid(visible=False)
            for spine in panel.spines.values():
                spine.set_visible(False)
        line[0].set_ylabel(title.replace(", ", ",\n", 1), rotation=0, ha="right", va="center", color=INK)
    return fig


def by_setting(found: pd.DataFrame, along: str) -> Figure:
    """What is left of the glasses and of the variance, one panel a metric and one line a size of the images.

    Parameters
    ----------
    found : DataFrame
        Columns ``dataset``, the one named by ``along``, and those of ``PANELS``; optionally ``source``.
    along : str
        The column of the horizontal axis, in the order of its rows.
    """
    keys = ["dataset", *(["source"] if "source" in found else [])]
    places = list(dict.fromkeys(found[along]))
    if pd.api.types.is_numeric_dtype(found[along]):
        places = sorted(places)
    fig, axes = plt.subplots(1, len(PANELS), figsize=(3.1 * len(PANELS), 3.9), layout="constrained")
    for panel, (metric, title) in zip(axes, PANELS.items(), strict=True):
        for number, (name, some) in enumerate(found.groupby(keys, sort=False)):
            some = some.drop_duplicates(along).set_index(along).reindex(places)
            panel.plot(
                range(len(places)), some[metric], color=COLOURS[number], marker=MARKERS[number], linewidth=1,
                label=", ".join(name),
            )  # fmt: skip
        if metric.startswith("AUC"):
            panel.axhline(0.5, color=INK, linestyle="--", linewidth=1)
            panel.set_ylim(0.4, 1.02)
        else:
            panel.set_ylim(0.0, 1.02)
        panel.set_title(title, fontsize="medium")
        panel.set_xticks(range(len(places)), [str(place) for place in places], rotation=35, ha="right")
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=2, fontsize="small")
    return fig


def memory(models: pd.DataFrame, n: int, limit: float, marked: int) -> Figure:
    """Bytes against features for n rows, as the measured peaks say when they are carried on.

    Parameters
    ----------
    models : DataFrame
        Columns ``method`` and the coefficients ``d^2``, ``n d``, ``n^2``, ``d``, ``n``.
    n : int
        Number of rows.
    limit : float
        Bytes of the horizontal line.
    marked : int
        Number of features of the vertical line.
    """
    fig, panel = plt.subplots(figsize=(7.4, 4.6), layout="constrained")
    d = np.geomspace(100, 10**7, 21)
    own = looks(models["method"])
    for number, line in enumerate(models.to_dict("records")):
        values = line["d^2"] * d * d + line["n d"] * n * d + line["n^2"] * n * n + line["d"] * d + line["n"] * n
        panel.plot(d, values, markevery=(number, 9), linewidth=1.2, **own[line["method"]].line())
    panel.axhline(limit, color=INK, linestyle=":", linewidth=1.2)
    panel.annotate(f"{limit / 1e9:.0f} GB", (d[0], limit), (2, 4), textcoords="offset points", fontsize="small")
    panel.axvline(marked, color=INK, linestyle=":", linewidth=1.2)
    panel.annotate(f"{marked:,} features", (marked, 1e5), (4, 2), textcoords="offset points", fontsize="small")
    panel.set(xscale="log", yscale="log", xlabel="features d", ylabel=f"bytes for {n:,} rows", ylim=(5e4, 1e15))
    panel.legend(loc="upper left", fontsize="small", ncols=2)
    return fig
