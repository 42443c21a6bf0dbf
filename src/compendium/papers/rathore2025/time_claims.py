"""Claims of Rathore and Manwani (2025) about running times."""

import pandas as pd

from ...claim_rules import Answer, Source, both, by_parts, by_truth, rule
from ...store import MissingNumbersError, full, read_results
from .protocol import NAMES, PUBLISHED, TABLES
from .readings import SCALING, SUMMED, completed, curves, exponents, our_times, printed_times

TIMES = "rathore2025-times"
COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED


def _faster(slow: str, fast: str, titles: tuple[str, ...], factor: float) -> Answer:
    """Whether the time of ``fast`` is shorter by the factor on these data sets."""
    names = [NAMES[title] for title in titles]

    def measured() -> pd.DataFrame:
        some = {"protocol": SUMMED, "metric": "training time"}
        wide = our_times(read_results(TIMES, dataset=names, method=[slow, fast], **some))
        if wide.shape != (2, len(names)):
            raise MissingNumbersError(f"Not all of our times are there. Run the experiment {TIMES}.")
        return wide

    def told(source: Source) -> tuple[str, str]:
        wide = source()
        quotient = (wide.loc[slow] / wide.loc[fast])[names]
        words = ", ".join(f"{TABLES[name].title} {value:.3g}" for name, value in quotient.items())
        answer = by_parts((quotient > 1.0) & (quotient >= factor))
        return answer, f"time of {slow} over that of {fast}: {words}"

    return both(told, printed_times, measured)


def cubic_time() -> Answer:
    """R06: O(d^3), by the exponents of one step and of the whole run, and by whether the steps end."""
    rows = read_results(TIMES)
    step, whole = exponents(curves(rows, "seconds per step")), exponents(completed(rows))
    if JEVD not in step or JEVD not in whole:
        raise MissingNumbersError(f"There are no exponents of {JEVD}.")
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


def programme_time() -> Answer:
    """R07: the semidefinite programme within O(d^6.5): an upper bound, which a fitted exponent may stay below."""
    rows = read_results(TIMES, protocol=SCALING)
    found = curves(rows)
    found = found[found["method"] == PROGRAMME]
    if len(found) < rule("R07", "sizes"):
        raise MissingNumbersError(f"There are {len(found)} sizes only.")
    exponent = exponents(completed(rows))[PROGRAMME]
    last = found.iloc[-1]
    eigh = curves(rows, "time / eigh").query("method == @PROGRAMME")["time / eigh"].iloc[-1]
    bound = rule("R07", "exponent") + rule("R07", "allowed")
    answer = by_truth(exponent <= bound)
    return Answer(
        answer,
        f"Fitted exponent d^{exponent:.2f} over the upper half of d = {found['d'].min()} to {found['d'].max()}, by an "
        f"interior-point solver: below the bound. At d = {last['d']} it takes {last['seconds']:.2g} s, "
        f"{eigh:,.0f} eigendecompositions.",
    )


def programme_dominates() -> Answer:
    """R08: on each data set the share of the programme's step in the baseline's time, and what the baseline costs.

    It is expensive if it takes many times as long as the exact solver of the same problem.
    """
    rows = full(TIMES, protocol=SUMMED)
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
