"""Figures of the findings."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from evenspan.displays.style import COLOURS, INK

_MARKS = {"printed": ("X", COLOURS[6]), "with": ("o", COLOURS[1]), "without": ("s", COLOURS[0])}
_WORDS = {
    "printed": "JevdPCA, as printed",
    "with": "sensitive column among the features",
    "without": "sensitive column left out",
}


def advantages(found: pd.DataFrame) -> Figure:
    """Mean advantage in MMD^2 over PCA, one line for each data set and method: printed, with and without the column.

    Parameters
    ----------
    found : DataFrame
        As ``findings_data.advantages`` gives it.
    """
    fig, ax = plt.subplots(figsize=(7.6, 0.42 * len(found) + 1.2), layout="constrained")
    places = np.arange(len(found))[::-1]
    for name, (marker, colour) in _MARKS.items():
        ax.plot(found[name], places, marker, color=colour, markersize=8, label=_WORDS[name])
    ax.hlines(places, found["without"], found["with"], color="#bbbbbb", zorder=0)
    ax.axvline(0.0, color=INK, linewidth=1)
    ax.set_yticks(places, [f"{data}: {method}" for data, method in zip(found["data"], found["method"], strict=True)])
    ax.set_xlabel("mean advantage in MMD² over PCA of the same features")
    fig.legend(loc="outside upper center", ncols=3)
    return fig


def gaps(found: pd.DataFrame) -> Figure:
    """All gaps of errors that projections can reach, one interval for each data set, over the largest of its ends.

    Parameters
    ----------
    found : DataFrame
        As ``findings_theory.gaps`` gives it.
    """
    fig, ax = plt.subplots(figsize=(7.6, 0.3 * len(found) + 1.1), layout="constrained")
    places = np.arange(len(found))[::-1]
    scale = found[["low", "high"]].abs().max(axis=1)
    for exists, (marker, colour, words) in {
        True: ("o", COLOURS[0], "zero is among them"),
        False: ("s", COLOURS[1], "zero is not attained"),
    }.items():
        some = (found["exists"] == exists).to_numpy()
        low, high = (found["low"] / scale)[some], (found["high"] / scale)[some]
        ax.hlines(places[some], low, high, color=colour, linewidth=2)
        ends = np.r_[low, high], np.r_[places[some], places[some]]
        ax.plot(*ends, marker, color=colour, markersize=6, label=words)
    ax.axvline(0.0, color=INK, linewidth=1)
    ax.set_yticks(places, found["data"])
    ax.set_xlabel("error of group 0 less error of group 1, over its largest absolute value")
    fig.legend(loc="outside upper center", ncols=2)
    return fig
