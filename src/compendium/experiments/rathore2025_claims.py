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

from .. import data as datasets
from .. import paths
from .claim_rules import HOLDS, NOT_COMPUTABLE, NOT_SO, OPEN, Answer, rule
from .rathore2025_counting import EXPERIMENT, NAMES, SLACK, Source, Wide, counted, on_both_scales, verdict
from .rathore2025_divergence import moments_of
from .rathore2025_identities import least_total, mean_distance_is_monotone, pca_errors, pca_is_best
from .rathore2025_protocol import HALF_DIGIT, PUBLISHED, RELEASED, TABLES, matrices
from .store import read_results

COVARIANCE, PROGRAMME, JEVD, PCA = PUBLISHED
FAIR, BASELINES = [COVARIANCE, PROGRAMME], [COVARIANCE, PROGRAMME, PCA]
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

    def count(source: Source) -> tuple[int, int, str]:
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
    source: Source, titles: Iterable[str], metric: str, baselines: Iterable[str], allowed: float, shares: bool = False
) -> tuple[int, int, str]:
    near, parts = [], []
    for title in titles:
        wide, total = source(NAMES[title]), least_total(NAMES[title]) if shares else None
        near.append(similar(wide, metric, baselines, allowed, total))
        far = beyond(wide, metric, baselines, total).max()
        unit = f"{far:.2f}" if metric == "V.E." else f"{far:.3f}" if shares else f"{far:.0%}"
        parts.append(f"{title} {near[-1].sum()} of {len(wide)} (outside by at most {unit})")
    return int(sum(n.sum() for n in near)), sum(map(len, near)), ", ".join(parts)


def comparable_errors() -> Answer:
    """R15: R.E. within the allowed distance of the range of the baselines, on either scale."""
    relative, share = rule("R15", "comparable, relative"), rule("R15", "comparable, of the variance")

    def count(source: Source, *, shares: bool) -> tuple[int, int, str]:
        titles, allowed = ("Diabetes", "LSAC", "Obesity"), share if shares else relative
        return _near(source, titles, "R.E.", BASELINES, allowed, shares)

    return on_both_scales(count, relative, share, rule("R15", "in part from"))


def _comparable(titles: Iterable[str], metric: str, baselines: Iterable[str], allowed: float, in_part: float) -> Answer:
    """R14, R16: within the allowed distance of the range of the baselines."""
    found = counted(partial(_near, titles=titles, metric=metric, baselines=baselines, allowed=allowed), in_part)
    limit = f"{allowed:g}" if metric == "V.E." else f"{allowed:.0%}"
    about = f"{metric} outside the range of the baselines by at most {limit}. "
    return found._replace(evidence=about + found.evidence)


def small_margin() -> Answer:
    """R17: on NPHA worse by a small margin only, for larger r."""
    larger = rule("R17", "larger r")
    relative, limit = rule("R17", "small margin, relative"), rule("R17", "small margin, of the variance")

    def count(source: Source, *, shares: bool) -> tuple[int, int, str]:
        wide, total = source(NAMES["NPHA"]).loc[larger:], least_total(NAMES["NPHA"]) if shares else None
        error = similar(wide, "R.E.", BASELINES, limit if shares else relative, total)
        share = similar(wide, "V.E.", BASELINES, limit, total)
        words = f"R.E. within the limit at {error.sum()} of {len(wide)} r "
        if shares:
            words += f"(outside by at most {beyond(wide, 'R.E.', BASELINES, total).max():.3f})"
        else:
            over = wide[JEVD, "R.E."] / wide[PCA, "R.E."] - 1.0
            words += f"({over.min():.0%} to {over.max():.0%} above StandardPCA)"
        words += f", V.E. within {limit:g} at {share.sum()}"
        return int(error.sum()) + int(share.sum()), 2 * len(wide), words

    found = on_both_scales(count, relative, limit, rule("R17", "in part from"))
    return found._replace(evidence=f"r from {larger} on. {found.evidence}")


def fairer_at_similar_error() -> Answer:
    """R18: MMD^2 below every baseline while R.E. stays similar; and the losses that the paper defines fairness by."""
    relative, limit = rule("R18", "similar, relative"), rule("R18", "similar, of the variance")

    def count(source: Source, *, shares: bool) -> tuple[int, int, str]:
        both = lower = rows = highest = 0
        for name in TABLES:
            wide, total = source(name), least_total(name) if shares else None
            mmd, error = (wide.xs(metric, axis=1, level="metric") for metric in ("MMD^2", "R.E."))
            fair = mmd[JEVD] < mmd[BASELINES].min(axis=1)
            both += int((fair & similar(wide, "R.E.", BASELINES, limit if shares else relative, total)).sum())
            lower, rows = lower + int(fair.sum()), rows + len(wide)
            highest += int((error[JEVD] > error[BASELINES].max(axis=1)).sum())
        words = f"MMD^2 strictly lowest in {lower} of {rows} rows, with a similar R.E. in {both} of them"
        return both, rows, words if shares else words + f"; R.E. highest in {highest}"

    found = on_both_scales(count, relative, limit, rule("R18", "in part from"))
    return found._replace(evidence=found.evidence + _losses())


def _losses() -> str:
    rows = read_results(EXPERIMENT, metric="worst loss", protocol=RELEASED, method=[JEVD, PROGRAMME, PCA])
    wide = rows.pivot_table(index=["dataset", "k"], columns="method", values="value", aggfunc="mean")
    if not {JEVD, PROGRAMME, PCA} <= set(wide.columns):
        return " The losses of the groups are not reported."
    wide = wide.dropna(subset=[JEVD, PROGRAMME, PCA])
    least, slack = wide[PROGRAMME], SLACK * wide[PCA].abs().max()
    over = int((wide[JEVD] > least + slack).sum())
    than = int((wide[JEVD] > wide[PCA] + slack).sum())
    return (
        f" The losses of the groups, the paper's own criterion, are not reported; in our {len(wide)} rows the larger "
        f"loss of JevdPCA is above the least possible in {over}, and above that of plain PCA in {than}."
    )


def diabetes_counted() -> Answer:
    """R22: 253,680 instances and 21 features."""
    rows, features = _counted("diabetes")
    good = (rows == rule("R22", "rows")) + (features == rule("R22", "features"))
    told = f"The file has {rows:,} rows and {features} columns without the label, sex among them"
    if moments_of("diabetes") is not None:
        equal, printed_rows = pca_errors("diabetes")
        told += f"; PCA of all of these gives {equal} of {printed_rows} printed R.E. of StandardPCA"
    return Answer(verdict(good, 2, rule("R22", "in part from")), f"{told}. The paper also speaks of 35 features.")


def _counted(name: str) -> tuple[int, int]:
    """Rows and columns, counted when the moments were computed; those of the registry where none are shipped."""
    moments, entry = moments_of(name), datasets.entry(name)
    return (entry.rows, entry.features) if moments is None else (int(moments.n), moments.d)


def others_counted() -> Answer | None:
    """R23: LSAC about 27,000 rows, NPHA 714 rows and 14 features, Obesity 2,111 rows and 16 features."""
    table = datasets.entry(NAMES["LSAC"])
    (lsac, _), (npha, features), (obesity, _) = (_counted(name) for name in ("lsac", "npha", "obesity"))
    moments = moments_of("obesity")
    if moments is None or moments_of("npha") is None:
        return None
    # One-hot columns are called column_level; the table has as many columns as there are different first words.
    columns = len({name.partition("_")[0] for name in moments.feature_names})
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
    same = "the same" if table.rows == lsac else "another one"
    return Answer(
        verdict(sum(checks), len(checks), rule("R23", "in part from")),
        f"The cited LSAC file has {lsac:,} rows, NPHA {npha} rows and {features - 1} columns beside the "
        f"label, Obesity {obesity:,} rows and {columns - 1} columns beside the label. For its printed "
        f"table {' and '.join(told)}. The LSAC table that {'gives' if table.matches_paper else 'comes nearest to'} "
        f"Table 4 is {same}, with {table.rows:,} rows.",
    )


def two_algorithms() -> Answer:
    """R24: two algorithms in the cited paper: counted in the sentence, and by what the two forms of the method do.

    Forms that answer alike on every data set of the tables would be one algorithm.
    """
    claimed, apart = rule("R24", "algorithms"), rule("R24", "different")
    listed = pd.read_csv(paths.data("paper", "claims.csv"), dtype=str).set_index("id")
    named = [form for form in FORMS if form in listed.loc["R24", "note"]]
    evidence = f"After the colon the sentence names {len(named)}: {', '.join(named) or 'none'}."
    differ, compared = {}, 0
    for name, table in TABLES.items():
        moments = moments_of(name)
        if moments is None:
            continue
        S, shares = matrices(moments, "global"), moments.counts / moments.n
        compared, differ[table.title] = compared + table.largest, 0
        for k in range(1, table.largest + 1):
            family = Family(S, shares, k)
            one, other = (errors(S, search_reference(family, capped)[0]) for capped in FORMS.values())
            differ[table.title] += int(np.abs(one - other).max(axis=0) > apart * max(one.max(), other.max()))
    where, rows = [f"{title} {count}" for title, count in differ.items() if count], sum(differ.values())
    printed = HOLDS if len(named) == claimed else NOT_SO
    if not compared:
        return Answer(OPEN, evidence, printed)
    evidence += " The cited method has two forms, u-FPCA without and c-FPCA with a cap on the errors. On the data sets "
    evidence += f"of the tables they return different answers in {rows} of {compared} rows"
    evidence += f" ({', '.join(where)})." if where else "."
    found = len(FORMS) if where else 1
    return Answer(HOLDS if found == claimed else NOT_SO, evidence, printed)


def figure_shows_the_tables() -> Answer:
    """R25: the panels of Figure 1 against the tables: needs the numbers of the figure."""
    numbers = sorted(paths.data("paper").glob("rathore2025_figure1*.csv"))
    cells = pd.concat([pd.read_csv(paths.data("paper", f"{t.stem}.csv"), dtype=str) for t in TABLES.values()])
    if not numbers:
        return Answer(
            None,
            "The text that we have of the paper has no figures: of the twelve panels only captions. Twelve panels of "
            f"the {len(cells)} printed numbers can be drawn, but not compared.",
            NOT_COMPUTABLE,
        )
    drawn = pd.concat([pd.read_csv(path, dtype=str) for path in numbers])
    keys = ["dataset", "method", "metric", "k"]
    both = cells.merge(drawn, on=keys, how="left", suffixes=("", "_drawn"))
    off = (both["value"].astype(float) - both["value_drawn"].astype(float)).abs()
    good = int((off <= HALF_DIGIT).sum())
    words = f"{good} of {len(cells)} printed numbers stand in the figure as printed."
    return Answer(None, words, verdict(good, len(cells), rule("R25", "in part from")))


claims: Mapping[str, Callable[[], Answer | None]] = {
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
    "R20": pca_is_best,
    "R21": mean_distance_is_monotone,
    "R22": diabetes_counted,
    "R23": others_counted,
    "R24": two_algorithms,
    "R25": figure_shows_the_tables,
}
