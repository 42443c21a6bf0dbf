"""Claims of Rathore and Manwani (2025) about their tables: counted by one rule in the printed tables and in ours.

Words of degree have the numbers of ``data/tolerances.yml``. Our first counts were known when they were chosen; the
evidence gives the counts, so that others can choose differently. Reconstruction errors are read on two scales, relative
to the baselines and in shares of the total variance (the scale of V.E.); where the two readings disagree the answer is
"holds in part".
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial

import numpy as np
import pandas as pd

from evenspan.reconstruction.disparity import Family, search_reference
from evenspan.reconstruction.group_errors import errors

from ... import claim_rules, paths
from ... import data as datasets
from ...claim_rules import (
    HOLDS,
    IN_PART,
    NOT_JUDGED,
    NOT_SO,
    Answer,
    Source,
    by_share,
    by_truth,
    rule,
)
from ...data import group_moments
from ...store import MissingNumbersError, read_results
from .protocol import HALF_DIGIT, NAMES, PRINTED, PUBLISHED, RELEASED, TABLES, matrices, possible_totals, printed
from .theorems import claims as theorem_claims
from .theorems import errors_and_shares, shift_invariance
from .time_claims import TIMES
from .time_claims import claims as time_claims

EXPERIMENT = "rathore2025-tables"

COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED
FAIR, BASELINES = [COVARIANCE, PROGRAMME], [COVARIANCE, PROGRAMME, PCA]
#: Room for the rounding of binary sums, as in ``HALF_DIGIT``.
SLACK = 1e-9

#: The numbers of one data set: a line for each k, columns (method, metric). A source gives them by its name.
Wide = pd.DataFrame
#: Good cases of a source, cases, and the same in words.
Counted = tuple[int, int, str]


def ours(dataset: str) -> Wide:
    """Our numbers of the methods of the paper, rounded as the paper prints them; refuses where some are missing."""
    rows = read_results(EXPERIMENT, dataset=dataset, protocol=RELEASED, method=PUBLISHED, metric=PRINTED)
    wide = rows.pivot_table(index="k", columns=["method", "metric"], values="value", aggfunc="mean").round(2)
    if wide.empty or wide.shape[1] < len(PUBLISHED) * len(PRINTED) or wide.isna().any(axis=None):
        raise MissingNumbersError(f"{dataset} has not all of our numbers. Run the experiment {EXPERIMENT}.")
    return wide


def both(told: Callable[[Source], tuple[str, str]], before: str = "", after: str = "") -> Answer:
    """One rule applied to the printed tables and to ours, with what else is said."""
    found = claim_rules.both(told, printed, ours)
    return found._replace(numbers=before + found.numbers + after)


def counted(count: Callable[[Source], Counted], in_part: float, before: str = "") -> Answer:
    """The verdict on a count, in the printed tables and in ours."""

    def told(source: Source) -> tuple[str, str]:
        good, total, words = count(source)
        return by_share(good, total, in_part), words

    return both(told, before)


def on_both_scales(
    count: Callable[[Source, float, bool], Counted], relative: float, share: float, in_part: float, *said: str
) -> Answer:
    """Both readings of R.E., relative and in shares of the total variance; where they differ: holds in part.

    The count is given a source, the limit and whether it is one of shares.
    """

    def told(source: Source) -> tuple[str, str]:
        (*one, words), (*other, more) = (count(source, relative, False), count(source, share, True))
        first, second = by_share(*one, in_part), by_share(*other, in_part)
        return (first if first == second else IN_PART), (
            f"relative to the baselines (limit {relative:.0%}) {words}: {first}; in shares of the total variance "
            f"(limit {share:g}) {more}: {second}"
        )

    return both(told, *said)


# -- what printed numbers must satisfy ---------------------------------------------------------------------------------


def implied_totals(source: Source | None = None) -> pd.DataFrame:
    """Total variance that the rounded R.E. and V.E. of each column leave possible: the intersection over all rows.

    R.E. = total (1 - V.E.) on centred data with orthonormal U. ``low_k`` and ``high_k`` are the rows with the bounds.
    """
    rows = []
    for dataset, table in TABLES.items():
        cells = (source or printed)(dataset)
        for method in PUBLISHED:
            least, most = possible_totals(cells[method])
            low, high = float(least.max(axis=0)), float(most.min(axis=0))
            rows.append((table.title, method, low, int(least.idxmax()), high, int(most.idxmin()), low <= high))
    return pd.DataFrame(rows, columns=["dataset", "method", "low", "low_k", "high", "high_k", "possible"])


def least_total(title: str, shares: bool = True) -> float | None:
    """The least total variance that the printed StandardPCA column leaves possible: no share of it is too low.

    None where errors are not read as shares.
    """
    return float(possible_totals(printed(NAMES[title])[PCA])[0].max(axis=0)) if shares else None


def pca_errors(dataset: str, without: str = "") -> tuple[int, int]:
    """How many printed R.E. of StandardPCA come out, of how many, from the columns that do not begin with a word."""
    moments = group_moments(dataset)
    kept = [name for name in moments.feature_names if not (without and name.startswith(without))]
    values = np.linalg.eigvalsh(moments.select(kept).scatter / moments.n)[::-1]
    theirs = printed(dataset)[PCA, "R.E."]
    return sum(int(abs(values[k:].sum(axis=0) - value) <= HALF_DIGIT) for k, value in theirs.items()), len(theirs)


def printed_errors_and_shares() -> Answer:
    """R19: R.E. = total variance times (1 - V.E.), for the algebra and for every column."""
    algebra = errors_and_shares()
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

    return both(told, f"The identity is {'true' if true else 'not true'} on random points (difference {algebra:.1g}). ")


def impossible(source: Source | None = None) -> pd.DataFrame:
    """Numbers that no orthonormal projection of one data set can have, beyond what rounding explains.

    By default of the printed tables. No projection leaves less error or keeps more variance than PCA; MMD^2 is at most
    the squared distance of the group means; and it cannot fall where columns are only added, as in StandardPCA and, U
    being the same for all r, JevdPCA.
    """
    rows = []
    for name, table in TABLES.items():
        wide, moments = (source or printed)(name), group_moments(name)
        known = datasets.entry(name).matches_paper
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
    told = (
        f"{row.method} on {row.dataset} at r = {row.r} ({row.value:.2f}, {row.limit:.2f})"
        for row in broken.itertuples()
    )
    return ", ".join(told) or "none"


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
        return by_share(good, 2 * rows, rule("R20", "in part from")), words

    return both(told, after=" For orthonormal columns of one data set it is a theorem; R19 takes both together.")


def mean_distance_is_monotone() -> Answer:
    """R21: MMD^2 never falls as columns are added, and is at most the distance of the means."""

    def told(source: Source) -> tuple[str, str]:
        found = impossible(source)
        falls, above = (found[found["what"].str.startswith(name)] for name in ("MMD^2 falls", "MMD^2 above"))
        steps = sum(2 * (len(source(name)) - 1) for name in TABLES)
        words = f"MMD^2 of StandardPCA and JevdPCA does not fall in {steps - len(falls)} of {steps} steps from r to "
        words += f"r + 1, but does for {_where(falls)}" if len(falls) else "r + 1"
        words += f"; above the squared distance of the group means: {_where(above)}" if len(above) else ""
        answer = by_share(steps - len(falls), steps, rule("R21", "in part from"))
        return (IN_PART if answer == HOLDS and len(above) else answer), words

    change = shift_invariance()
    nested = "are" if change < rule("R21", "unchanged") else "need not be"
    about = (
        f" The r-dependent shift of the matrices changes U by at most {change:.1g}: under any fixed order the columns "
    )
    return both(told, after=f"{about}{nested} nested.")


#: The forms of the cited method, and whether a cap binds its errors.
FORMS = {"u-FPCA": False, "c-FPCA": True}
#: The columns of the label begin with these words.
LABELS = {"npha": "Number of Doctors Visited", "obesity": "NObeyesdad"}


def beyond(wide: Wide, metric: str, baselines: Iterable[str], total: float | None = None) -> pd.Series:
    """How far JEVD-PCA is outside the range of the baselines: relative to its nearer end, or absolute for V.E.

    With a total variance errors are measured in shares of it.
    """
    mine, others = wide[JEVD, metric], wide.xs(metric, axis=1, level="metric")[list(baselines)]
    low, high = others.min(axis=1), others.max(axis=1)
    above, below = (mine - high).clip(lower=0.0), (low - mine).clip(lower=0.0)
    if metric == "V.E.":
        return above + below
    if total is not None:
        return (above + below) / total
    return above / high.replace(0.0, np.nan) + below / low.replace(0.0, np.nan)


def similar(wide: Wide, metric: str, baselines: Iterable[str], allowed: float, total: float | None = None) -> pd.Series:
    """For every k whether JEVD-PCA is within the allowed distance of the range of the baselines."""
    return beyond(wide, metric, baselines, total).fillna(0.0) <= allowed + SLACK


def _lowest(title: str, huge_gap: float, in_part: float) -> Answer:
    """R12, R13: MMD^2 strictly below every baseline, and by a huge gap."""

    def count(source: Source) -> Counted:
        wide = source(NAMES[title]).xs("MMD^2", axis=1, level="metric")
        best = wide[BASELINES].min(axis=1)
        lower, tied = wide[JEVD] < best, wide[JEVD] == best
        huge = lower & (best >= huge_gap * wide[JEVD])
        words = f"strictly lowest at {lower.sum()} of {len(wide)} r, tied at {tied.sum()}; the best baseline has at "
        words += f"least {huge_gap:g} times as much at {huge.sum()}"
        # Both halves of the claim count: lower, and by how much.
        return int(lower.sum()) + int(huge.sum()), 2 * len(wide), words

    return counted(count, in_part)


def _near(
    source: Source, allowed: float, shares: bool = False, *, titles: Iterable[str], metric: str, baselines: list[str]
) -> Counted:
    near, parts = [], []
    for title in titles:
        wide, total = source(NAMES[title]), least_total(title, shares)
        near.append(similar(wide, metric, baselines, allowed, total))
        far = beyond(wide, metric, baselines, total).max()
        unit = f"{far:.2f}" if metric == "V.E." else f"{far:.3f}" if shares else f"{far:.0%}"
        parts.append(f"{title} {near[-1].sum()} of {len(wide)} (outside by at most {unit})")
    return int(sum(n.sum() for n in near)), sum(map(len, near)), ", ".join(parts)


def comparable_errors() -> Answer:
    """R15: R.E. within the allowed distance of the range of the baselines, on either scale."""
    count = partial(_near, titles=("Diabetes", "LSAC", "Obesity"), metric="R.E.", baselines=BASELINES)
    relative, share = rule("R15", "comparable, relative"), rule("R15", "comparable, of the variance")
    return on_both_scales(count, relative, share, rule("R15", "in part from"))


def _comparable(titles: Iterable[str], metric: str, baselines: list[str], allowed: float, in_part: float) -> Answer:
    """R14, R16: within the allowed distance of the range of the baselines."""
    limit = f"{allowed:g}" if metric == "V.E." else f"{allowed:.0%}"
    count = partial(_near, allowed=allowed, titles=titles, metric=metric, baselines=baselines)
    return counted(count, in_part, f"{metric} outside the range of the baselines by at most {limit}. ")


def small_margin() -> Answer:
    """R17: on NPHA worse by a small margin only, for larger r."""
    larger = rule("R17", "larger r")
    relative, limit = rule("R17", "small margin, relative"), rule("R17", "small margin, of the variance")

    def count(source: Source, allowed: float, shares: bool) -> Counted:
        wide, total = source(NAMES["NPHA"]).loc[larger:], least_total("NPHA", shares)
        error = similar(wide, "R.E.", BASELINES, allowed, total)
        share = similar(wide, "V.E.", BASELINES, limit, total)
        words = f"R.E. within the limit at {error.sum()} of {len(wide)} r "
        if shares:
            words += f"(outside by at most {beyond(wide, 'R.E.', BASELINES, total).max():.3f})"
        else:
            over = wide[JEVD, "R.E."] / wide[PCA, "R.E."] - 1.0
            words += f"({over.min():.0%} to {over.max():.0%} above StandardPCA)"
        words += f", V.E. within {limit:g} at {share.sum()}"
        return int(error.sum()) + int(share.sum()), 2 * len(wide), words

    return on_both_scales(count, relative, limit, rule("R17", "in part from"), f"r from {larger} on. ")


def fairer_at_similar_error() -> Answer:
    """R18: MMD^2 below every baseline while R.E. stays similar; and the losses that the paper defines fairness by."""
    relative, limit = rule("R18", "similar, relative"), rule("R18", "similar, of the variance")

    def count(source: Source, allowed: float, shares: bool) -> Counted:
        both = lower = rows = highest = 0
        for name, table in TABLES.items():
            wide, total = source(name), least_total(table.title, shares)
            mmd, error = (wide.xs(metric, axis=1, level="metric") for metric in ("MMD^2", "R.E."))
            fair = mmd[JEVD] < mmd[BASELINES].min(axis=1)
            both += int((fair & similar(wide, "R.E.", BASELINES, allowed, total)).sum())
            lower, rows = lower + int(fair.sum()), rows + len(wide)
            highest += int((error[JEVD] > error[BASELINES].max(axis=1)).sum())
        words = f"MMD^2 strictly lowest in {lower} of {rows} rows, with a similar R.E. in {both} of them"
        return both, rows, words if shares else words + f"; R.E. highest in {highest}"

    return on_both_scales(count, relative, limit, rule("R18", "in part from"), "", _losses())


def _losses() -> str:
    rows = read_results(EXPERIMENT, metric="worst loss", protocol=RELEASED, method=[JEVD, PROGRAMME, PCA])
    wide = rows.pivot_table(index=["dataset", "k"], columns="method", values="value", aggfunc="mean")
    if not {JEVD, PROGRAMME, PCA} <= set(wide.columns):
        return " The losses of the groups are not reported."
    wide = wide.dropna(subset=[JEVD, PROGRAMME, PCA])
    least, slack = wide[PROGRAMME], SLACK * wide[PCA].abs().max()
    over, than = (int((wide[JEVD] > limit + slack).sum()) for limit in (least, wide[PCA]))
    return (
        f" The losses of the groups, the paper's own criterion, are not reported; in our {len(wide)} rows the larger "
        f"loss of JevdPCA is above the least possible in {over}, and above that of plain PCA in {than}."
    )


def diabetes_counted() -> Answer:
    """R22: 253,680 instances and 21 features."""
    rows, features = _counted("diabetes")
    good = (rows == rule("R22", "rows")) + (features == rule("R22", "features"))
    equal, printed_rows = pca_errors("diabetes")
    return Answer(
        by_share(good, 2, rule("R22", "in part from")),
        f"The file has {rows:,} rows and {features} columns without the label, sex among them; PCA of all of these "
        f"gives {equal} of {printed_rows} printed R.E. of StandardPCA. The paper also speaks of 35 features.",
    )


def _counted(name: str) -> tuple[int, int]:
    """Rows and columns, counted when the moments were computed."""
    moments = group_moments(name)
    return int(moments.n), moments.d


def others_counted() -> Answer:
    """R23: LSAC about 27,000 rows, NPHA 714 rows and 14 features, Obesity 2,111 rows and 16 features."""
    table = datasets.entry(NAMES["LSAC"])
    (lsac, _), (npha, features), (obesity, _) = (_counted(name) for name in ("lsac", "npha", "obesity"))
    # One-hot columns are called column_level; the table has as many columns as there are different first words.
    columns = len({name.partition("_")[0] for name in group_moments("obesity").feature_names})
    checks = (
        abs(lsac / rule("R23", "rows of LSAC") - 1.0) <= rule("R23", "about"),
        npha == rule("R23", "rows of NPHA"),
        features - 1 == rule("R23", "features of NPHA"),
        obesity == rule("R23", "rows of Obesity"),
        columns - 1 == rule("R23", "features of Obesity"),
    )
    told = []
    for name, label in LABELS.items():
        (given, number), (left, _) = pca_errors(name), pca_errors(name, label)
        needed = "its label too" if given == number > left else "not its label" if left == number else "something else"
        told.append(
            f"{TABLES[name].title} needs {needed} (printed R.E. of StandardPCA with the label among the columns "
            f"{given} of {number}, without it {left})"
        )
    return Answer(
        by_share(sum(checks), len(checks), rule("R23", "in part from")),
        f"The cited LSAC file has {lsac:,} rows, NPHA {npha} rows and {features - 1} columns beside the "
        f"label, Obesity {obesity:,} rows and {columns - 1} columns beside the label. For its printed "
        f"table {' and '.join(told)}. The LSAC table that {'gives' if table.matches_paper else 'comes nearest to'} "
        f"Table 4 is {'the same' if table.rows == lsac else 'another one'}, with {table.rows:,} rows.",
    )


def two_algorithms() -> Answer:
    """R24: two algorithms in the cited paper: counted in the sentence, and by what the two forms of the method do.

    Forms that answer alike on every data set of the tables would be one algorithm.
    """
    claimed, apart = rule("R24", "algorithms"), rule("R24", "different")
    listed = pd.read_csv(paths.data("paper", "claims.csv"), dtype=str).set_index("id")
    named = [form for form in FORMS if form in listed.loc["R24", "note"]]
    evidence = f"After the colon the sentence names {len(named)}: {', '.join(named) or 'none'}."
    differ, compared = {}, sum(table.largest for table in TABLES.values())
    for name, table in TABLES.items():
        moments = group_moments(name)
        S, shares = matrices(moments, "global"), moments.counts / moments.n
        differ[table.title] = 0
        for k in range(1, table.largest + 1):
            family = Family(S, shares, k)
            one, other = (errors(S, search_reference(family, capped)[0]) for capped in FORMS.values())
            differ[table.title] += int(np.abs(one - other).max(axis=0) > apart * max(one.max(), other.max()))
    where, rows = [f"{title} {count}" for title, count in differ.items() if count], sum(differ.values())
    evidence += " The cited method has two forms, u-FPCA without and c-FPCA with a cap on the errors. On the data sets "
    evidence += f"of the tables they return different answers in {rows} of {compared} rows"
    evidence += f" ({', '.join(where)})." if where else "."
    return Answer(by_truth((len(FORMS) if where else 1) == claimed), evidence, by_truth(len(named) == claimed))


def figure_shows_the_tables() -> Answer:
    """R25: the panels of Figure 1 against the tables: needs the numbers of the figure."""
    numbers = sorted(paths.data("paper").glob("rathore2025_figure1*.csv"))
    cells = pd.concat([pd.read_csv(paths.data("paper", f"{t.stem}.csv"), dtype=str) for t in TABLES.values()])
    if not numbers:
        return Answer(
            None,
            "The text that we have of the paper has no figures: of the twelve panels only captions. Twelve panels of "
            f"the {len(cells)} printed numbers can be drawn, but not compared.",
            NOT_JUDGED,
        )
    drawn = pd.concat([pd.read_csv(path, dtype=str) for path in numbers])
    both = cells.merge(drawn, on=["dataset", "method", "metric", "k"], how="left", suffixes=("", "_drawn"))
    off = (both["value"].astype(float) - both["value_drawn"].astype(float)).abs()
    good = int((off <= HALF_DIGIT).sum())
    told = f"{good} of {len(cells)} printed numbers stand in the figure as printed."
    return Answer(None, told, by_share(good, len(cells), rule("R25", "in part from")))


claims: Mapping[str, Callable[[], Answer]] = {
    "R12": lambda: _lowest("LSAC", rule("R12", "huge gap"), rule("R12", "in part from")),
    "R13": lambda: _lowest("NPHA", rule("R13", "huge gap"), rule("R13", "in part from")),
    "R14": lambda: _comparable(
        ("Diabetes", "Obesity"), "MMD^2", FAIR, rule("R14", "comparable"), rule("R14", "in part from")
    ),
    "R15": comparable_errors,
    "R16": lambda: _comparable(
        ("Diabetes", "LSAC", "Obesity"), "V.E.", BASELINES, rule("R16", "comparable"), rule("R16", "in part from")
    ),
    "R17": small_margin,
    "R18": fairer_at_similar_error,
    "R19": printed_errors_and_shares,
    "R20": pca_is_best,
    "R21": mean_distance_is_monotone,
    "R22": diabetes_counted,
    "R23": others_counted,
    "R24": two_algorithms,
    "R25": figure_shows_the_tables,
}
#: By experiment: the functions that answer claims.
CLAIMS = {EXPERIMENT: theorem_claims | claims, TIMES: time_claims}
