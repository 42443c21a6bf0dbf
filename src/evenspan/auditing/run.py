"""The audit of a table: what principal components do to its groups, what can be done about it, and at which price."""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from math import ceil
from numbers import Integral
from pathlib import Path

import pandas as pd
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ..core.errors import ComponentsError, ConfigurationError, LimitError
from ..core.estimator import SubspaceEstimator
from ..core.inputs import require_generator
from ..core.options import whole
from ..metrics.attackers import FITTED
from .analyse import FRONTIER_COLUMNS, Analysis, analyse, compared_groups
from .clusters import clusters_sentence
from .columns import MISSING_CODES
from .fitting import PCA, chosen_methods
from .given import given_sentence
from .output_folder import EXAMPLE_TABLE
from .recommend import Recommendation, ask_target, recommend, require_concern
from .sample import Sample, options, read_sample, silent

#: Samples for the intervals at most; 1,000 are usual.
MAX_DRAWS = 100_000
#: Seconds above which it is said first how long an audit takes.
LONG = 15
PEOPLE = Path(__file__).with_name(EXAMPLE_TABLE)
#: What ``audit_example`` asks of this table: few methods, so that it takes seconds.
EXAMPLE = {"sensitive": ["sex"], "target": "hired", "methods": ["Min-max loss", "Min-max error", "Fair PCA", "LEACE"]}


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What an audit found; ``evenspan.audit`` makes it.

    Parameters
    ----------
    sample : Sample
        What was read of the table.
    methods, settings : tuple of str, dict
        Names of the methods, PCA first; the arguments of the audit, and its warnings.
    tables : dict of str to DataFrame
        "columns", "groups", "pca" and "methods" (every method, number of components, part, group and metric with its
        95 % interval), "frontier" (what is possible at all) and "recommendation" (of each attribute and concern).
    recommendation : dict of str to dict of str to Recommendation
        By attribute, then by concern: those that were asked for.
    estimators : dict
        Fitted estimators by (attribute, method, k); methods without an answer are not in it.
    analyses : dict of str to Analysis
        What was found for each attribute.
    """

    sample: Sample
    methods: tuple[str, ...]
    settings: dict
    tables: dict[str, pd.DataFrame]
    recommendation: Mapping[str, Mapping[str, Recommendation]]
    estimators: dict[tuple[str, str, int], SubspaceEstimator]
    analyses: dict[str, Analysis]

    def __repr__(self) -> str:
        sample = self.sample
        head = f"{sample.name}: {sample.n_used:,} rows, {sample.d:,} features, {len(self.methods)} methods"
        return "\n  ".join([f"Audit({head})", *self.sentences])

    @property
    def sentences(self) -> list[str]:
        """The answers, a line each."""
        told = [one.sentence for found in self.recommendation.values() for one in found.values()]
        told += [given_sentence(found) for found in self.analyses.values() if self.sample.given]
        return told + [clusters_sentence(found.clusters) for found in self.analyses.values() if self.sample.clusters]

    def pipeline(
        self, method: str | None = None, k: int | None = None, attribute: str | None = None, concern: str | None = None
    ) -> Pipeline:
        """Encoder and fitted method in one: a transformer of raw rows such as those of the table.

        Parameters
        ----------
        method : str, optional
            Name of a method; the recommended one unless given.
        k : int, optional
            Number of components; that of the recommendation unless given.
        attribute : str, optional
            The groups that the method was fitted for; the first attribute unless given.
        concern : {"means", "errors", "classification"}, optional
            Whose recommendation is followed; needed where several were asked for and differ.

        Returns
        -------
        Pipeline
            Fitted. Rows need the columns of the features, groups are not needed.
        """
        attribute = self.sample.attributes[0] if attribute is None else attribute
        if attribute not in self.recommendation:
            raise ConfigurationError(f"attribute={attribute!r}; this audit has {', '.join(self.recommendation)}.")
        answers = self.recommendation[attribute]
        named = {one.method for name, one in answers.items() if concern in (None, name)} if method is None else {method}
        if len(named) != 1 or "" in named:
            told = "; ".join(f"{name}: {one.advice}" for name, one in answers.items())
            why = f"no one method is recommended ({told}). Name a concern or a method."
            raise ConfigurationError(f"concern={concern!r}: {why}")
        key = (attribute, *named, self.analyses[attribute].k if k is None else k)
        if key not in self.estimators:
            there = ", ".join(f"{name} with k={size}" for one, name, size in self.estimators if one == attribute)
            raise ConfigurationError(f"there is no {key[1]} with k={key[2]} for {attribute}; there is {there}.")
        return Pipeline([("encoder", self.sample.encoder), ("reduction", self.estimators[key])])

    @cached_property
    @threadpool_limits.wrap(limits=1)
    def figures(self) -> dict:
        """Figures of the report by name; each ``figure`` is yours to change before the report is made."""
        from .page.figures import draw

        return draw(self)

    def to_html(self) -> str:
        """The report as one page that needs no other file.

        Returns
        -------
        str
            HTML with its style and figures inside.
        """
        from .page.report import render

        return render(self)

    def write(self, folder, *, overwrite: bool = False) -> list[Path]:
        """Write report, tables, figures, transformers and settings to a folder.

        Parameters
        ----------
        folder : str or Path
            A new folder, an empty one, or one with an earlier report, which is replaced when everything is written.
        overwrite : bool
            Whether the folder may hold anything else: files with the names of a report are replaced, all others stay.

        Returns
        -------
        list of Path
            What was written: ``report.html``, ``tables/*.csv``, ``figures/*.svg``, ``transformers/*.npz`` (as
            ``evenspan.save`` writes them) and ``settings.json``.
        """
        from .writing import write

        return write(self, Path(folder), overwrite)


@threadpool_limits.wrap(limits=1)  # many small matrices, for which threads wait; and sums depend on their number
def audit(
    table,
    *,
    sensitive,
    target: str | None = None,
    weights: str | None = None,
    k=None,
    methods=None,
    concern: str = "all",
    missing: str = "error",
    intersections: bool = False,
    standardize: bool = True,
    holdout: float = 0.33,
    exclude=(),
    keep=(),
    missing_codes=(),
    clusters: str | None = None,
    representation=None,
    decimal: str | None = None,
    thousands: str | None = None,
    skip_rows: int = 0,
    header: bool | None = None,
    n_boot: int = 1000,
    random_state=0,
    progress=False,
) -> Audit:
    r"""What a reduction of dimension does to the groups of a table, and what can be done about it.

    Moments of every group in a hundred blocks of rows are kept of the table, and some points. From the moments follow
    principal components and the other methods, their errors and means by group on the training set and on held-out
    rows, intervals, and the frontier that no projection passes.

    Parameters
    ----------
    table : DataFrame, str or Path
        A data frame, or a CSV, TSV, Parquet, Arrow, Feather or Excel file.
    sensitive : str or list of str
        The columns of the groups; never features.
    target : str, optional
        A column to be predicted later; never a feature, and no method looks at it. One fixed classifier says how much
        of it is left, and which rates of selection and error follow, for all rows and every group.
    weights : str, optional
        A column of weights, how many people each row stands for; never a feature. They count wherever rows do, in the
        fits, all numbers, shares of groups and the written transformers, in any unit: their mean over the rows that are
        used becomes 1. Weights 1, 2, 3 mean the same as rows given once, twice, three times, but where the problem of a
        method or a classifier has the number of rows in it (a radius, n - 1, a penalty, rows of a leaf). Rows of weight
        0 are left out. Limits by numbers of rows, null quantiles and intervals of areas and shares go by effective
        sizes, (sum w)^2 / sum w^2, which stand in the table of groups. Rows are taken for independent: strata and
        clusters of a survey are not known.
    k : int or list of int, optional
        Numbers of components at which all methods are compared. Unless given, the smallest with which PCA retains
        80 % of the variance; if there is none, nothing is recommended. Attackers see that number alone.
    methods : list of str or "all", optional
        Names of methods (``evenspan.methods.METHODS``); the quick ones unless given. "all" adds those that need points,
        which are fitted to at most 20,000 training rows.
    concern : {"all", "means", "errors", "classification"}
        Which questions are answered, each by itself: whether the groups lie in the same place, whether all are
        reconstructed equally well, whether the group can be predicted.
    missing : {"error", "drop", "mean", "indicator"}
        A missing cell is an error; has its row dropped; becomes the mean (or most frequent category) of the training
        set; or that, with a further feature that says so.
    intersections : bool
        Whether each combination of the sensitive columns is a group too.
    standardize : bool
        Whether features are standardised by the training set.
    holdout : float
        Share of the rows that are held out, above 0 and below 0.5: methods are described on them. As many others, the
        validation rows, choose the method; the rest is the training set.
    exclude : sequence of str
        Columns that are no features.
    keep : sequence of str
        Columns of numbers that are features although they look as if they numbered the rows.
    missing_codes : list, or dict of lists by column
        What stands for no answer, such as ``[-999, 99]`` or ``{"trust": [8, 9]}``: these cells are missing, here and in
        new rows. Likely codes are named in ``sample.warnings``, and never taken for missing by themselves.
    clusters : str, optional
        A column of clusters that somebody has, from 2 to 50; never a feature. The report says who is in which, which
        differ from all rows beyond chance, and what a fair clustering costs.
    representation : array-like of shape (n, m), DataFrame, str or Path, optional
        A representation that somebody has, or a .npy or .parquet file of it: finite numbers, in the order of the rows
        of the table. It stands beside the methods as "given representation".
    decimal : {".", ","}, optional
        How decimals are written in texts; a column becomes numbers if there is one reading of it, unless given.
    thousands : {",", ".", " ", "'"}, optional
        What stands between thousands in texts.
    skip_rows : int
        Lines of a file above the names of its columns.
    header : bool, optional
        Whether a file names its columns; found out, or asked, unless given. Without names they are ``column 1``, ...
    n_boot : int
        Samples for the intervals, from 20 to 100,000.
    random_state : None, int or Generator
        Decides the split, the blocks, the samples and whatever a method draws. The same number gives the same tables.
    progress : bool or callable
        Whether progress is shown on standard error; or ``progress(stage, done, total)`` is called.

    Returns
    -------
    Audit

    Raises
    ------
    FairError
        Where the table, a group or an argument cannot be used. Of a method without an answer its row says why.

    Guarantees
    ----------
    On the training set the frontier is certified: no projection passes its bounds. Intervals are about the
    projection as it is fitted: other rows, not another fit. No number says that something is fair.

    Complexity
    ----------
    O(n d^2) for the moments, and the table in memory (``GroupMoments.from_batches`` takes larger ones). After it a
    million rows cost what ten thousand do; time grows with the third power of the features: 20 take seconds, 768 some
    minutes. What takes long is said first.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> table = pd.DataFrame(rng.normal(size=(1500, 4)) * [3.0, 2.0, 1.0, 0.5], columns=list("abcd"))
    >>> table["team"] = ["red"] * 900 + ["blue"] * 600
    >>> table.loc[900:, "a"] += 4.0
    >>> found = audit(table, sensitive="team", k=2, methods=["Fair PCA"], concern="means", n_boot=100)
    >>> found.recommendation["team"]["means"].method
    'Fair PCA'
    >>> found.pipeline().transform(table).shape
    (1500, 2)
    """
    given = {name: value for name, value in locals().items() if name not in ("table", "progress")}
    asked = require_arguments(**given)
    tell = progress if callable(progress) else _line if progress else silent
    seed = int(require_generator(random_state).integers(2**31))
    reading = {name: value for name, value in given.items() if name not in ("k", "methods", "concern", "n_boot")}
    size = {"methods": len(chosen_methods(methods, [2])), "sizes": len(asked or [None])}
    sample = read_sample(table, tell=tell, expect=partial(expected, **size), **reading)
    names = chosen_methods(methods, [compared_groups(sample, name)[0].moments(name).G for name in sample.attributes])
    most = asked[-1] if asked else 1
    if most > sample.d - 1:
        raise ComponentsError(
            f"k={most}, but the table has {sample.d} feature(s) after encoding: with at most {sample.d - 1} components "
            "something is left out. Ask for fewer, or look at what columns became."
        )
    choice = "classification" in (concerns := require_concern(concern))
    found = {one: analyse(sample, one, asked, names, n_boot, seed, tell, choice) for one in sample.attributes}
    settings = given | {
        "table": sample.name, "sensitive": [sensitive] if isinstance(sensitive, str) else list(sensitive),
        "k": None if asked is None else list(asked), "methods": list(names), "exclude": list(exclude),
        "keep": list(keep), "random_state": random_state if isinstance(random_state, Integral) else None,
        "representation": str(representation) if isinstance(representation, str | Path) else None,
        "warnings": [*sample.warnings, *filter(None, [ask_target(sample)])],
    }  # fmt: skip
    answers = {one: {name: recommend(seen, name) for name in concerns} for one, seen in found.items()}
    groups = sample.groups.copy()
    for attribute, seen in found.items():
        out = (groups["attribute"] == attribute) & groups["group"].astype(str).isin(seen.left_out)
        groups.loc[out, "note"] = "too few rows to be compared: left out of all that follows"
    rows = pd.concat([seen.rows for seen in found.values()], ignore_index=True)
    possible = [seen.frontier.rows(name, seen.k) for name, seen in found.items() if seen.frontier is not None]
    tables = {
        "columns": sample.columns, "groups": groups, "methods": rows,
        "pca": rows[rows["method"] == PCA].reset_index(drop=True),
        "frontier": pd.concat(possible or [pd.DataFrame(columns=FRONTIER_COLUMNS)], ignore_index=True),
        "recommendation": pd.DataFrame([one.line for every in answers.values() for one in every.values()]),
    }  # fmt: skip
    if clusters is not None:
        tables["clusters"] = pd.concat([seen.clusters for seen in found.values()], ignore_index=True)
    fits = {(one, *key): fit.estimator for one, seen in found.items() for key, fit in seen.fits.items()}
    estimators = {key: estimator for key, estimator in fits.items() if estimator is not None}
    return Audit(sample, names, settings, tables, answers, estimators, found)


def audit_example() -> Audit:
    """The audit of ``people.csv``, which comes along: 400 people who do not exist, with random numbers for features.

    Returns
    -------
    Audit
    """
    return audit(PEOPLE, **EXAMPLE)


def expected(n: int, d: int, attributes: int, *, methods: int, sizes: int) -> str:
    """How long an audit takes, if above ``LONG``: a rough rule, not a fit to measured times."""
    attackers = 2.4 * methods * (0.2 + 1.5e-4 * min(n / 3, FITTED))  # 26 times eleven methods, where all is asked
    seconds = 5 + 5e-7 * n * d + attributes * (attackers + (2e-8 * methods * sizes + 3e-8) * d**3)
    step = 10 if seconds < 100 else 60
    return f" ({n:,} rows, {d:,} features: about {step * ceil(seconds / step):,} s)" if seconds > LONG else ""


def _line(stage: str, done: float, total: float | None) -> None:
    if not done:
        print(stage, file=sys.stderr, flush=True)


def require_arguments(
    *, concern, n_boot, random_state, methods, k, decimal=None, thousands=None, skip_rows=0, header=None,
    standardize=True, missing_codes=(), representation=None, **columns,
):  # fmt: skip
    """Refuse what no table can be audited with; the numbers of components that were asked for, or None."""
    require_concern(concern)
    if whole(20).require("n_boot", n_boot) > MAX_DRAWS:
        raise LimitError(f"n_boot={n_boot:,}; needed are at most {MAX_DRAWS:,} draws. Ask for fewer.")
    require_generator(random_state)
    chosen_methods(methods, [2])
    MISSING_CODES.require("missing_codes", missing_codes)
    options(None, **columns)
    if k is None:
        return None
    asked = [k] if isinstance(k, str) or not isinstance(k, Iterable) else list(k)
    if not asked:
        raise ConfigurationError("k is empty; needed are whole numbers of components, or None.")
    return tuple(sorted({int(whole(1).require("k", one)) for one in asked}))
