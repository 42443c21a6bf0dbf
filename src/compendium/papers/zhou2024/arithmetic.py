"""What the numbers of Zhou et al. (2024) say about the groups before anything is clustered.

With two groups, both Bal and MNCE are decided by the least balanced cluster of a run: with b its ratio,
``MNCE = H2(b / (1 + b)) / H2(p)``, H2 the binary entropy and p the share of one group in the whole sample. Each column
therefore states p. Means over runs do not: H2(b / (1 + b)) is concave in b, so that means with balance b allow
``b / (p / (1 - p)) <= MNCE <= H2(b / (1 + b)) / H2(p)``, and nothing outside.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy.optimize import brentq

from . import readings
from .protocol import METRICS, NAMES

#: Data sets with two groups, by our names.
DATASETS = {name: NAMES[name] for name in ("credit_card", "k1b", "mnist_usps")}
HALF_DIGIT = 0.0005


def printed(dataset: str) -> pd.DataFrame:
    """The published metrics (rows) of the eight methods (columns), in the paper's order."""
    wide = readings.printed().query("dataset == @dataset").pivot(index="metric", columns="method", values="mean")
    return wide.loc[list(METRICS), list(readings.METHODS)].rename_axis(index=None, columns=None)


def binary_entropy(share):
    """Entropy in nats of two groups, one of which has this share; 0 for shares 0 and 1."""
    share = np.asarray(share, dtype=float)
    inner = np.clip(share, 1e-300, 1.0 - 1e-16)
    return np.where((share <= 0) | (share >= 1), 0.0, -inner * np.log(inner) - (1.0 - inner) * np.log1p(-inner))


def entropy_of_balance(balance):
    """Entropy in nats of a cluster of two groups with this ratio of the rarer to the more frequent."""
    balance = np.asarray(balance, dtype=float)
    return binary_entropy(balance / (1.0 + balance))


def share_of_entropy(entropy: float) -> float:
    """The smaller share whose binary entropy this is; NaN above ln 2."""
    if not 0.0 <= entropy <= np.log(2.0):
        return np.nan
    return brentq(lambda share: float(binary_entropy(share)) - entropy, 0.0, 0.5)


def implied(dataset: str) -> pd.DataFrame:
    """For each method: the entropy of the groups that its Bal and MNCE state if it is one run, and the shares."""
    table = printed(dataset).loc[["Bal", "MNCE"]].T.rename_axis("method").reset_index()
    table["entropy"] = entropy_of_balance(table["Bal"]) / table["MNCE"]
    table[["entropy from", "entropy to"]] = [implied_range(*pair) for pair in table[["Bal", "MNCE"]].to_numpy()]
    table["share from"] = table["entropy from"].map(share_of_entropy)
    table["share to"] = table["entropy to"].clip(upper=np.log(2.0)).map(share_of_entropy)
    return table.assign(entropy=table["entropy"].where(table["entropy from"].notna()))


def implied_range(balance: float, mnce: float) -> tuple[float, float]:
    """The entropies that one run can have whose rounded numbers are these; NaN where the balance is 0."""
    if balance <= 0.0 or mnce <= 0.0:
        return np.nan, np.nan
    low = entropy_of_balance(balance - HALF_DIGIT) / (mnce + HALF_DIGIT)
    return float(low), float(entropy_of_balance(min(balance + HALF_DIGIT, 1.0)) / (mnce - HALF_DIGIT))


def consistency(dataset: str, share: float) -> pd.DataFrame:
    """For groups of one share: which columns can be one run, and which can be means over runs on the same sample."""
    entropy, largest = float(binary_entropy(share)), min(share, 1.0 - share) / max(share, 1.0 - share)
    lines = []
    for method, (balance, mnce) in printed(dataset).loc[["Bal", "MNCE"]].items():
        low, high = implied_range(balance, mnce)
        ceiling = min(float(entropy_of_balance(balance + HALF_DIGIT)) / entropy, 1.0) + HALF_DIGIT
        floor = (balance - HALF_DIGIT) / largest - HALF_DIGIT
        means = balance - HALF_DIGIT <= largest and floor <= mnce <= ceiling
        lines.append((method, bool(low <= entropy <= high), bool(means)))
    return pd.DataFrame(lines, columns=["method", "one run", "means over runs"])


def shares_allowed(dataset: str) -> tuple[float, float]:
    """Smaller shares of two groups with which every column can be means over runs on one and the same sample.

    From the largest balance, to the column that states the smallest entropy."""
    found, largest = implied(dataset), float(printed(dataset).loc["Bal"].max()) - HALF_DIGIT
    return largest / (1.0 + largest), share_of_entropy(min(float(found["entropy to"].min()), np.log(2.0)))


def out_of_order(dataset: str) -> pd.DataFrame:
    """Pairs of methods that Bal and MNCE put in different orders: with two groups and one run each there is none."""
    lines, half = [], np.array([[-HALF_DIGIT], [HALF_DIGIT]])
    for pair in combinations(printed(dataset).items(), 2):
        methods, columns = zip(*pair, strict=True)
        balances, entropies = (np.array([column[name] for column in columns]) for name in ("Bal", "MNCE"))
        # Equal rounded balances allow MNCE to differ by what half a digit of the balance moves.
        slack = np.diff(entropy_of_balance(balances + half), axis=0).max() / np.log(2.0) + 2 * HALF_DIGIT
        by_balance, by_entropy = np.diff(balances)[0], np.diff(entropies)[0]
        if np.sign(by_balance) != np.sign(by_entropy) and abs(by_entropy) > slack:
            shown = (", ".join(f"{value:.3f}" for value in values) for values in (balances, entropies))
            lines.append((", ".join(methods), *shown))
    return pd.DataFrame(lines, columns=["methods", "Bal", "MNCE"])
