"""Figures of what methods promise and what is left of it on new data."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from evenspan.displays.style import COLOURS

LOOKS = {"in sample": (COLOURS[1], "o", "white"), "held-out": (COLOURS[0], "s", COLOURS[0])}


def promises(found: pd.DataFrame, metrics: dict[str, str], *, chance: dict[str, float] | None = None) -> Figure:
    """One panel a promise, one line a method: mean and interval in sample and held out.

    Parameters
    ----------
    found : DataFrame
        Columns ``method``, ``metric``, ``protocol`` ("in sample" or "held-out"), ``mean``, ``low``, ``high``.
    metrics : dict of str to str
        Title of a panel -> metric that it shows.
    chance : dict of str to float, optional
        Metric -> value at which nothing is learnt, drawn as a dashed line.
    """
    methods = list(dict.fromkeys(found["method"]))
    size = (2.6 * len(metrics) + 1.6, 0.36 * len(methods) + 1.3)
    fig, axes = plt.subplots(1, len(metrics), figsize=size, sharey=True, squeeze=False, layout="constrained")
    for panel, (title, metric) in zip(axes[0], metrics.items(), strict=True):
        for shift, (protocol, (colour, marker, fill)) in zip((-0.13, 0.13), LOOKS.items(), strict=True):
            some = found[(found["metric"] == metric) & (found["protocol"] == protocol)]
            some = some.set_index("method").reindex(methods)
            reach = [some["mean"] - some["low"], some["high"] - some["mean"]]
            panel.errorbar(
                some["mean"], np.arange(len(methods)) + shift, xerr=reach, fmt=marker, color=colour,
                markerfacecolor=fill, markersize=5, capsize=2, linewidth=1,
            )  # fmt: skip
        if chance and metric in chance:
            panel.axvline(chance[metric], color="#777777", linestyle="--", linewidth=1)
        panel.set_title(title)
        panel.set_xlabel(metric.replace("^2", "²"))
        panel.set_yticks(range(len(methods)), methods)
        panel.set_ylim(len(methods) - 0.5, -0.5)
    handles = [
        Line2D([], [], color=colour, marker=marker, markerfacecolor=fill, linestyle="", label=protocol)
        for protocol, (colour, marker, fill) in LOOKS.items()
    ]
    fig.legend(handles=handles, loc="outside lower center", ncols=2)
    return fig
