"""What became of the printed numbers of a paper, in one picture."""

import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.figure import Figure

from ..figures import line_each
from .verdicts import Kind

#: Colour and hatch of a verdict; what is not judged is grey.
LOOKS = {
    Kind.EXACT.value: ("#009E73", ""),
    Kind.CLOSE.value: ("#0072B2", ""),
    Kind.RANK.value: ("#8FC1E3", "///"),
    Kind.DIFFERS.value: ("#D55E00", "xxx"),
}


def verdict_bars(numbers: pd.DataFrame, by: str) -> Figure:
    """A bar for each value of a column of the ledger, as long as there are numbers, divided by the verdicts."""
    some = numbers[numbers[by] != ""]
    counted = some.groupby([by, "verdict"], sort=False).size().unstack("verdict", fill_value=0)
    counted = counted.loc[some[by].unique(), [kind.value for kind in Kind if kind.value in counted]]
    fig, panel = plt.subplots(figsize=(7.2, 0.24 * len(counted) + 1.0), layout="constrained")
    left = np.zeros(len(counted))
    for verdict, count in counted.items():
        colour, hatch = LOOKS.get(verdict, ("#BBBBBB", ""))
        bars = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7}
        panel.barh(range(len(counted)), count, left=left, label=verdict, **bars)
        left += count
    line_each(panel, counted.index)
    panel.tick_params(axis="y", labelsize="small")
    panel.set_xlabel("printed numbers")
    panel.grid(visible=False)
    panel.legend(loc="upper left", bbox_to_anchor=(1, 1), fontsize="small")
    return fig
