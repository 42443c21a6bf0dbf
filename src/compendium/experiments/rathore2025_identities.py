"""Identities that printed numbers must satisfy if the columns are orthonormal and the data are one table."""

import numpy as np
import pandas as pd

from .. import data as datasets
from .claim_rules import HOLDS, IN_PART, NOT_SO, Answer, rule
from .rathore2025_counting import SLACK, Source, both, verdict
from .rathore2025_divergence import moments_of, shift_invariance
from .rathore2025_equal_losses import SEED, rotation
from .rathore2025_protocol import HALF_DIGIT, PUBLISHED, TABLES, printed

JEVD, PCA = PUBLISHED[2:]


def implied_totals(source: Source | None = None) -> pd.DataFrame:
    """Total variance that the rounded R.E. and V.E. of each column leave possible: the intersection over all rows.

    R.E. = total (1 - V.E.) on centred data with orthonormal U. ``low_k`` and ``high_k`` are the rows with the bounds.
    """
    rows = []
    for dataset, table in TABLES.items():
        cells = (source or printed)(dataset)
        for method in PUBLISHED:
            error, share = cells[method, "R.E."], cells[method, "V.E."]
            least = (error - HALF_DIGIT).clip(lower=0.0) / (1.0 - (share - HALF_DIGIT))
            room = 1.0 - (share + HALF_DIGIT)
            most = ((error + HALF_DIGIT) / room.where(room > 0)).fillna(np.inf)
            low, high = float(least.max(axis=0)), float(most.min(axis=0))
            rows.append((table.title, method, low, int(least.idxmax()), high, int(most.idxmin()), low <= high))
    return pd.DataFrame(rows, columns=["dataset", "method", "low", "low_k", "high", "high_k", "possible"])


def least_total(dataset: str) -> float:
    """The least total variance that the printed StandardPCA column leaves possible: no share of it is too low."""
    found = implied_totals()
    return float(found.loc[(found["dataset"] == TABLES[dataset].title) & (found["method"] == PCA), "low"].iloc[0])


def pca_errors(dataset: str, without: str = "") -> tuple[int, int]:
    """How many printed R.E. of StandardPCA come out, of how many, from the columns that do not begin with a word."""
    moments = moments_of(dataset)
    kept = [name for name in moments.feature_names if not (without and name.startswith(without))]
    values = np.linalg.eigvalsh(moments.select(kept).scatter / moments.n)[::-1]
    theirs = printed(dataset)[PCA, "R.E."]
    return sum(int(abs(values[k:].sum(axis=0) - value) <= HALF_DIGIT) for k, value in theirs.items()), len(theirs)


def identity_on_random_data() -> float:
    """Largest relative difference of R.E. and total (1 - V.E.), on random points and orthonormal U."""
    worst = 0.0
    for trial in range(20):
        rng = np.random.default_rng((SEED, 6, trial))
        X = rng.normal(size=(40, 6)) * rng.uniform(0.3, 3.0, size=6)
        X -= X.mean(axis=0)
        U = rotation(rng, 6)[:, : 1 + trial % 5]
        total = X.var(axis=0).sum(axis=0)
        residual = ((X - X @ U @ U.T) ** 2).sum(axis=1).mean(axis=0)
        worst = max(worst, abs(residual - total * (1.0 - (X @ U).var(axis=0).sum(axis=0) / total)) / total)
    return worst


def printed_errors_and_shares() -> Answer:
    """R19: R.E. = total variance times (1 - V.E.), for the algebra and for every column."""
    algebra = identity_on_random_data()
    true = bool(algebra <= rule("R19", "rounding"))

    def told(source: Source) -> tuple[str, str]:
        found = implied_totals(source)
        broken, good = found[~found["possible"]], int(found["possible"].sum(axis=0))
        where = "; ".join(
            f"{row.method} on {row.dataset}: at most {row.high:.1f} by r = {row.high_k}, "
            f"at least {row.low:.1f} by r = {row.low_k}"
            for row in broken.itertuples()
        )
        answer = NOT_SO if not true or not good else HOLDS if broken.empty else IN_PART
        words = f"one total variance fits all rows for {good} of {len(found)} columns"
        return answer, words + (f"; not for {where}" if where else "")

    found = both(told)
    identity = f"The identity is {'true' if true else 'not true'} on random points (difference {algebra:.1g})."
    return found._replace(evidence=f"{identity} {found.evidence}")


def impossible(source: Source | None = None) -> pd.DataFrame:
    """Numbers that no orthonormal projection of one data set can have, beyond what rounding explains.

    By default of the printed tables. No projection leaves less error or keeps more variance than PCA; MMD^2 is at most
    the squared distance of the group means; and it cannot fall where columns are only added, as in StandardPCA and, U
    being the same for all r, JevdPCA.
    """
    rows = []
    for name, table in TABLES.items():
        wide, moments = (source or printed)(name), moments_of(name)
        known = moments is not None and datasets.entry(name).matches_paper
        ceiling = float(((moments.means[0] - moments.means[1]) ** 2).sum(axis=0)) if known else np.inf
        for method in PUBLISHED:
            for k, row in wide[method].iterrows():
                best = wide[PCA].loc[k]
                limits = [
                    ("R.E. below StandardPCA", -row["R.E."], -best["R.E."], HALF_DIGIT),
                    ("V.E. above StandardPCA", row["V.E."], best["V.E."], HALF_DIGIT),
                    ("MMD^2 above the distance of the means", row["MMD^2"], ceiling, 0.0),
                ]
                if method in (PCA, JEVD) and k > 1:
                    before = wide[method].loc[k - 1, "MMD^2"]
                    limits.append(("MMD^2 falls", -row["MMD^2"], -before, HALF_DIGIT))
                rows += [
                    (table.title, method, k, what, abs(value), abs(bound))
                    for what, value, bound, also in limits
                    if value - HALF_DIGIT - also > bound - SLACK
                ]
    return pd.DataFrame(rows, columns=["dataset", "method", "r", "what", "value", "limit"])


def _where(broken: pd.DataFrame) -> str:
    listed = ", ".join(
        f"{row.method} on {row.dataset} at r = {row.r} ({row.value:.2f}, {row.limit:.2f})"
        for row in broken.itertuples()
    )
    return listed or "none"


def pca_is_best() -> Answer:
    """R20: StandardPCA has the lowest R.E. and the highest V.E. of every row, as far as rounding lets tell."""

    def told(source: Source) -> tuple[str, str]:
        rows, low, above = 0, 0, []
        for name, table in TABLES.items():
            wide = source(name)
            error, share = (wide.xs(metric, axis=1, level="metric")[list(PUBLISHED)] for metric in ("R.E.", "V.E."))
            rows, low = rows + len(wide), low + int((error[PCA] <= error.min(axis=1)).sum(axis=0))
            best = share.max(axis=1)
            above += [
                f"{share.loc[k].idxmax()} on {table.title} at r = {k} ({best[k]:.2f}, {share.loc[k, PCA]:.2f})"
                for k in wide.index[best > share[PCA]]
            ]
        found = impossible(source)
        broken = found[found["what"].str.match("V.E.|R.E.")]
        good = 2 * rows - len(broken.drop_duplicates(["dataset", "r", "what"]))
        words = f"lowest R.E. in {low} of {rows} rows, highest V.E. in {rows - len(above)}"
        words += f"; above it {', '.join(above)}" if above else ""
        words += f"; beyond what rounding of the two numbers alone could explain: {_where(broken)}"
        return verdict(good, 2 * rows, rule("R20", "in part from")), words

    found = both(told)
    return found._replace(
        evidence=f"{found.evidence} For orthonormal columns of one data set it is a theorem; R19 takes both together."
    )


def mean_distance_is_monotone() -> Answer:
    """R21: MMD^2 never falls as columns are added, and is at most the distance of the means."""

    def told(source: Source) -> tuple[str, str]:
        found = impossible(source)
        falls, above = (found[found["what"].str.startswith(name)] for name in ("MMD^2 falls", "MMD^2 above"))
        steps = sum(2 * (len(source(name)) - 1) for name in TABLES)
        words = f"MMD^2 of StandardPCA and JevdPCA does not fall in {steps - len(falls)} of {steps} steps from r to "
        words += f"r + 1, but does for {_where(falls)}" if len(falls) else "r + 1"
        words += f"; above the squared distance of the group means: {_where(above)}" if len(above) else ""
        answer = verdict(steps - len(falls), steps, rule("R21", "in part from"))
        return (IN_PART if answer == HOLDS and len(above) else answer), words

    found, shifts = both(told), shift_invariance()
    if shifts.empty:
        return found
    change = shifts["largest change of U"].max()
    nested = "are" if change < rule("R21", "unchanged") else "need not be"
    return found._replace(
        evidence=f"{found.evidence} The r-dependent shift of the matrices changes U by at most {change:.1g}: under any "
        f"fixed order the columns {nested} nested."
    )
