"""What the times say: printed and ours as ratios, growth with the number of features, and the claims about them."""

import numpy as np
import pandas as pd

from .. import paths
from .claim_rules import Answer, MissingNumbersError, Source, both, by_parts, rule
from .rathore2025_counting import NAMES
from .rathore2025_protocol import PUBLISHED, TABLES
from .store import read_results

EXPERIMENT = "rathore2025-times"
SUMMED, SCALING = "summed over r", "scaling"
#: The printed methods and ours, in the order of tables and figures.
METHODS = (*PUBLISHED, "JevdPCA (orthogonal)", "min-max loss (certified)")
JEVD, PROGRAMME, COVARIANCE, PCA = "JevdPCA", "FairPCA_SDP_LP", "covFairPCA", "StandardPCA"


def printed_times() -> pd.DataFrame:
    """The printed seconds: methods by data sets, the latter by our names."""
    frame = pd.read_csv(paths.data("paper", "rathore2025_table1_times.csv"))
    wide = frame.pivot(index="method", columns="dataset", values="value")
    return wide[[one.title for one in TABLES.values()]].set_axis(list(TABLES), axis=1)


def our_times(rows: pd.DataFrame, metric: str = "training time") -> pd.DataFrame:
    """Our seconds, mean over the repetitions: methods by data sets."""
    some = rows[(rows["protocol"] == SUMMED) & (rows["metric"] == metric)]
    wide = some.pivot_table(index="method", columns="dataset", values="value", aggfunc="mean")
    return wide.reindex(index=[m for m in METHODS if m in wide.index], columns=[n for n in TABLES if n in wide])


def ratios(rows: pd.DataFrame, metric: str = "training time") -> pd.DataFrame:
    """Times as multiples of StandardPCA's on the same data: printed, and ours beside it."""
    parts = []
    for source, wide in (("printed", printed_times()), ("ours", our_times(rows, metric))):
        if "StandardPCA" in wide.index:
            parts.append((wide / wide.loc["StandardPCA"]).stack().rename(source))
    found = pd.concat(parts, axis=1).rename_axis(["method", "dataset"]).reset_index()
    order = {name: i for i, name in enumerate((*TABLES, *METHODS))}
    return found.sort_values(["dataset", "method"], key=lambda c: c.map(order), ignore_index=True)


def same_order(rows: pd.DataFrame, metric: str = "training time") -> pd.DataFrame:
    """For each data set: the printed methods from fast to slow, ours, and how many of the six pairs agree."""
    theirs, mine = printed_times(), our_times(rows, metric).reindex(index=list(PUBLISHED))
    found = []
    for dataset in mine.dropna(axis=1):
        one, other = theirs[dataset].sort_values(), mine[dataset].sort_values()
        ahead = [(a, b) for i, a in enumerate(one.index) for b in one.index[i + 1 :]]
        agree = sum(bool(other[a] < other[b]) for a, b in ahead)
        found.append((dataset, ", ".join(one.index), ", ".join(other.index), agree, len(ahead)))
    return pd.DataFrame(found, columns=["dataset", "printed", "ours", "pairs that agree", "pairs"])


def curves(rows: pd.DataFrame, metric: str = "seconds", over: str = "median") -> pd.DataFrame:
    """A metric of the scaling study, by default its median over the repetitions: ``method``, ``d`` and the metric."""
    some = rows[(rows["protocol"] == SCALING) & (rows["metric"] == metric)]
    some = some.assign(d=some["dataset"].str.removeprefix("synthetic-d").astype(int))
    order = {name: i for i, name in enumerate(("eigh", *METHODS))}
    found = some.groupby(["method", "d"])["value"].agg(over).rename(metric).reset_index()
    return found.sort_values(
        ["method", "d"], key=lambda c: c.map(order) if c.name == "method" else c, ignore_index=True
    )


def completed(rows: pd.DataFrame, metric: str = "seconds") -> pd.DataFrame:
    """``curves`` without the sizes at which a method did not converge on every pair: breaking off early is not fast."""
    ended = curves(rows, "converged", "min")
    found = curves(rows, metric).merge(ended[ended["converged"] < 1.0], on=["method", "d"], how="left")
    return found[found["converged"].isna()].drop(columns="converged").reset_index(drop=True)


def exponents(found: pd.DataFrame) -> pd.Series:
    """Slope of log time over log d by least squares, over the upper half of the sizes of each method of ``curves``."""

    def slope(line: pd.DataFrame) -> float:
        upper = line.sort_values("d").iloc[len(line) // 2 :]
        return float(np.polyfit(np.log(upper["d"]), np.log(upper.iloc[:, -1]), 1)[0]) if len(upper) > 1 else np.nan

    return pd.Series({method: slope(line) for method, line in found.groupby("method", sort=False)}, name="exponent")


def growth(rows: pd.DataFrame) -> pd.DataFrame:
    """For every method of the scaling study: exponents of a run and of a step, largest d, how many pairs converge."""
    whole, step = exponents(completed(rows)), exponents(curves(rows, "seconds per step"))
    ended = rows[(rows["protocol"] == SCALING) & (rows["metric"] == "converged")].groupby("method")["value"]
    told = ended.agg(lambda v: f"{v.sum():.0f} of {len(v)}")
    largest = curves(rows).groupby("method")["d"].max()
    table = pd.DataFrame(
        {"exponent": whole, "exponent of a step": step, "largest d": largest.astype("Int64"), "converged": told}
    )
    order = ("eigh", *METHODS, f"{JEVD} (from U = I)")
    table = table.reindex([method for method in order if method in table.index]).round(2)
    return table.rename_axis("method").reset_index()


def at_hand(results: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """Rows to show, and their metric: the full run's from the points, or this build's solvers from shipped moments."""
    full = results[results["source"] == "full run"]
    return (full, "training time") if "training time" in set(full["metric"]) else (results, "solver")


def _faster(slow: str, fast: str, titles: tuple[str, ...], factor: float) -> Answer:
    """Whether the time of ``fast`` is shorter by the factor on these data sets."""
    names = [NAMES[title] for title in titles]

    def ours() -> pd.DataFrame:
        some = {"protocol": SUMMED, "metric": "training time"}
        wide = our_times(read_results(EXPERIMENT, dataset=names, method=[slow, fast], **some))
        if wide.shape != (2, len(names)):
            raise MissingNumbersError(f"Not all of our times are there. Run the experiment {EXPERIMENT}.")
        return wide

    def told(source: Source) -> tuple[str, str]:
        wide = source()
        quotient = (wide.loc[slow] / wide.loc[fast])[names]
        words = ", ".join(f"{TABLES[name].title} {value:.3g}" for name, value in quotient.items())
        return by_parts((quotient > 1.0) & (quotient >= factor)), f"time of {slow} over that of {fast}: {words}"

    return both(told, printed_times, ours)


def cubic_time() -> Answer | None:
    """R06: O(d^3), by the exponents of one step and of the whole run, and by whether the steps end."""
    rows = read_results(EXPERIMENT)
    step, whole = exponents(curves(rows, "seconds per step")), exponents(completed(rows))
    if JEVD not in step or JEVD not in whole:
        return None
    ended = rows[rows["metric"] == "converged"].groupby(["protocol", "method"])["value"].agg(["sum", "size"])
    steps = curves(rows, "steps").query("method == @JEVD")["steps"]

    def count(protocol: str, method: str) -> str:
        return "{:.0f} of {:.0f}".format(*ended.loc[(protocol, method)])

    needed = our_times(rows, "steps").loc[JEVD]
    sizes = curves(rows, "converged", "min").query("method == @JEVD").set_index("d")["converged"]
    failed = sizes.index[sizes < 1.0]
    bound = rule("R06", "exponent") + rule("R06", "allowed")
    cubic = [exponent <= bound for exponent in (step[JEVD], whole[JEVD])]
    always = (ended.xs(JEVD, level="method")["sum"] == ended.xs(JEVD, level="method")["size"]).all()
    as_printed = (SCALING, f"{JEVD} (from U = I)")
    answer = "does not hold"
    if cubic[0]:
        answer = "holds" if cubic[1] and always and ended.loc[as_printed, "sum"] > 0 else "holds in part"
    return Answer(
        answer,
        f"Fitted exponents: one step d^{step[JEVD]:.2f}, a whole run, where it converges, d^{whole[JEVD]:.2f} (one "
        f"eigendecomposition d^{whole['eigh']:.2f}); {steps.min():.0f} to {steps.max():.0f} steps on random pairs from "
        f"the pooled eigenvectors, of which {count(SCALING, JEVD)} converge"
        + (f" (the first that does not has d = {failed.min()})" if len(failed) else "")
        + f"; from U = I as printed {count(*as_printed)}. Data sets, from the pooled eigenvectors: "
        + ", ".join(f"{TABLES[name].title} {value:.0f} steps" for name, value in needed.items())
        + f"; {count(SUMMED, JEVD)} converge. The moments, O(nd^2), are not counted.",
    )


def programme_time() -> Answer | None:
    """R07: the semidefinite programme within O(d^6.5): an upper bound, which a fitted exponent may stay below."""
    rows = read_results(EXPERIMENT, protocol=SCALING)
    found = curves(rows)
    found = found[found["method"] == PROGRAMME]
    if len(found) < rule("R07", "sizes"):
        return None
    exponent = exponents(completed(rows))[PROGRAMME]
    last = found.iloc[-1]
    eigh = curves(rows, "time / eigh").query("method == @PROGRAMME")["time / eigh"].iloc[-1]
    bound = rule("R07", "exponent") + rule("R07", "allowed")
    answer = "holds" if exponent <= bound else "does not hold"
    return Answer(
        answer,
        f"Fitted exponent d^{exponent:.2f} over the upper half of d = {found['d'].min()} to {found['d'].max()}, by an "
        f"interior-point solver: below the bound. At d = {last['d']} it takes {last['seconds']:.2g} s, "
        f"{eigh:,.0f} eigendecompositions.",
    )


def programme_dominates() -> Answer | None:
    """R08: on each data set the share of the programme's step in the baseline's time, and what the baseline costs.

    It is expensive if it takes many times as long as the exact solver of the same problem.
    """
    rows = read_results(EXPERIMENT, protocol=SUMMED)
    if our_times(rows).empty:
        return None
    parts = {step: our_times(rows, metric).loc[PROGRAMME] for step, metric in (
        ("all", "training time"), ("SDP", "solver, SDP"), ("LP", "solver, LP"), ("moments", "moments"))}  # fmt: skip
    shares = {step: parts[step] / parts["all"] for step in ("SDP", "LP", "moments")}
    slower = parts["all"] / our_times(rows).loc["min-max loss (certified)"]
    main, costly = shares["SDP"] > rule("R08", "share of the time"), slower >= rule("R08", "times as long")
    told = "; ".join(
        f"{TABLES[name].title} SDP {shares['SDP'][name]:.0%}, LP {shares['LP'][name]:.0%}, moments "
        f"{shares['moments'][name]:.0%}, {slower[name]:.0f} times the exact solver of the same problem"
        for name in parts["all"].index
    )
    printed = ", ".join(f"{TABLES[name].title} {v:.1f} s" for name, v in printed_times().loc[PROGRAMME].items())
    return Answer(
        by_parts(main & costly),
        f"Shares of the time summed over r, moments included: {told}. The printed times run against d: {printed}.",
    )


claims = {
    "R06": cubic_time,
    "R07": programme_time,
    "R08": programme_dominates,
    "R09": lambda: _faster(PROGRAMME, JEVD, tuple(NAMES), rule("R09", "times faster")),
    "R10": lambda: _faster(COVARIANCE, JEVD, ("Diabetes", "LSAC"), rule("R10", "times faster")),
    "R11": lambda: _faster(JEVD, PCA, tuple(NAMES), rule("R11", "times as long")),
}
