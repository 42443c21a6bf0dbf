"""The audit of a table: what principal components do to its groups, what can be done about it, and which to use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ..core.errors import ComponentsError, ConfigurationError, LimitError
from ..core.estimator import SubspaceEstimator
from ..core.inputs import require_generator, whole_number
from .analyse import FRONTIER_COLUMNS, Analysis, Frontier, analyse, compared_groups
from .evaluation import TRAINING
from .fitting import PCA, chosen_methods
from .limits import TABLE
from .passes import Sample, options, read_sample
from .progress import progress_of
from .recommend import CONCERNS, Recommendation, ask_target, of_attribute, recommend, require_concern

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .page.figures import Drawn

#: Numbers of components that are looked at unless others are asked for.
MOST_COMPONENTS = 10


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found: tables, answers for each attribute, fitted transformers, figures, a report.

    Parameters
    ----------
    sample : Sample
        What was read of the table.
    sizes : tuple of int
        Numbers of components that were looked at.
    methods : tuple of str
        Names of the methods, PCA first.
    settings : dict
        The arguments of the audit, and its warnings.
    tables : dict of str to DataFrame
        "columns", "groups", "pca" (what principal components do to each group), "methods" (every method, number of
        components, part, group and metric with its 95 % interval), "frontier" (what is possible at all),
        "recommendation" (one row for each attribute and concern) and "notes".
    recommendation : dict of str to dict of str to Recommendation
        By attribute, then by concern: those that were asked for.
    estimators : dict
        Fitted estimators by (attribute, method, k); methods without an answer are not in it.
    frontiers : dict of str to Frontier
        What is possible at all, by attribute.

    See Also
    --------
    audit : Makes one.
    """

    sample: Sample
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    settings: dict
    tables: dict[str, pd.DataFrame]
    recommendation: Mapping[str, Mapping[str, Recommendation]]
    estimators: dict[tuple[str, str, int], SubspaceEstimator]
    frontiers: dict[str, Frontier]

    def __repr__(self) -> str:
        sample, answers = (
            self.sample,
            [one.sentence for found in self.recommendation.values() for one in found.values()],
        )
        head = f"{sample.name}: {sample.n_used:,} rows, {sample.d:,} features, groups by {', '.join(sample.attributes)}"
        return "\n  ".join([f"Audit({head}; {len(self.methods)} methods)", *answers])

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
        if concern is not None and concern not in answers:
            raise ConfigurationError(f"concern={concern!r}; this audit answers {', '.join(answers)}.")
        if method is None:
            named = {one.method for name, one in answers.items() if concern in (None, name)}
            if len(named) != 1 or "" in named:
                told = "; ".join(f"{name}: {one.advice}" for name, one in answers.items())
                raise ConfigurationError(f"no one method is recommended ({told}). Name a concern or a method.")
            (method,) = named
        key = (attribute, method, next(iter(answers.values())).k if k is None else k)
        if key not in self.estimators:
            rows = self.tables["methods"]
            found = rows[(rows["attribute"] == key[0]) & (rows["method"] == method) & (rows["k"] == key[2])]
            why = found["note"].iloc[0] if len(found) else "it was not fitted; name method and k when auditing"
            raise ConfigurationError(f"there is no {method} with k={key[2]} for {attribute}: {why}")
        return Pipeline([("encoder", self.sample.encoder), ("reduction", self.estimators[key])])

    @cached_property
    def _drawn(self) -> "dict[str, dict[str, Drawn]]":
        """The figures with their captions, by attribute."""
        from .page.figures import of_attribute

        return {attribute: of_attribute(self, attribute) for attribute in self.sample.attributes}

    @property
    def _named(self) -> "dict[str, Drawn]":
        from .writing import file_names

        stems = file_names(self._drawn)
        return {f"{stems[a]}-{name}": one for a, drawn in self._drawn.items() for name, one in drawn.items()}

    @property
    def figures(self) -> "dict[str, Figure]":
        """Figures of the report by name; yours to change before the report is made."""
        return {name: one.figure for name, one in self._named.items()}

    @property
    def drawings(self) -> dict[str, bytes]:
        """The same as SVG, each drawn once."""
        return {name: one.svg for name, one in self._named.items()}

    def to_html(self, path=None) -> str:
        """The report as one page that needs no other file.

        Parameters
        ----------
        path : str or Path, optional
            Where the page is written to as well.

        Returns
        -------
        str
            The page.
        """
        from .page.report import render

        page = render(self)
        if path is not None:
            Path(path).write_text(page, encoding="utf-8")
        return page

    def write(self, folder, *, overwrite: bool = False) -> list[Path]:
        """Write report, tables, figures, transformers and settings to a folder.

        Parameters
        ----------
        folder : str or Path
            A new folder, an empty one, or one that holds an earlier report, which is replaced when everything is
            written.
        overwrite : bool
            Whether the folder may hold anything else: files with the names of a report are replaced, all others stay.

        Returns
        -------
        list of Path
            What was written: ``report.html``, ``tables/*.csv``, ``transformers/*.npz`` (as ``evenspan.save`` writes
            them), ``figures/*.svg`` and ``settings.json``. In the CSV files a text that a spreadsheet would take for a
            formula has an apostrophe before it.
        """
        from .writing import write

        return write(self, Path(folder), overwrite)


def audit(
    table,
    *,
    sensitive,
    target: str | None = None,
    k=None,
    methods=None,
    concern: str = "all",
    missing: str = "error",
    intersections: bool = False,
    standardize: bool = True,
    holdout: float = 0.3,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    n_boot: int = 1000,
    random_state=0,
    progress=False,
) -> Audit:
    r"""What a reduction of dimension does to the groups of a table, and what can be done about it.

    Moments of every group in a hundred blocks of rows are kept of the table, and some points. Everything linear is
    computed from the moments: principal components, the other methods, their errors and means by group on the training
    set and on held-out rows, intervals, and the frontier that no projection passes.

    Parameters
    ----------
    table : DataFrame, str or Path
        A data frame, or a CSV, TSV, Parquet, Arrow, Feather or Excel file.
    sensitive : str or list of str
        The columns of the groups; never features.
    target : str, optional
        A column to be predicted later; never a feature. No method looks at it; one fixed classifier says how much of it
        is left, and which rates of selection and error follow, for all rows and every group.
    k : int or list of int, optional
        Numbers of components at which all methods are compared. Unless given, the smallest of 1 to 10 with which PCA
        retains 80 % of the variance.
    methods : list of str or "all", optional
        Names of methods (``evenspan.methods.METHODS``); the quick ones unless given. "all" adds those that need points,
        which are fitted to at most 20,000 training rows.
    concern : {"all", "means", "errors", "classification"}
        Which questions are answered: whether the groups lie in the same place, whether all are reconstructed equally
        well, whether the group can be predicted. Each has its own effect, interval and recommendation.
    missing : {"error", "drop", "mean", "indicator"}
        What a missing cell does: it is an error; its row is dropped; it becomes the mean (or the most frequent
        category) of the training set; or that, with a further feature that says so.
    intersections : bool
        Whether each combination of the sensitive columns is a group too.
    standardize : bool
        Whether features are standardised by the training set.
    holdout : float
        Share of the rows that are held out, above 0 and below 1.
    exclude : sequence of str
        Columns that are no features.
    keep : sequence of str
        Columns of numbers that are features although they look as if they numbered the rows, which are left out
        otherwise.
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
        Where the table, a group or an argument cannot be used; the message says what was seen and what to do. A method
        that has no answer is no error: its row in the tables says why.

    Guarantees
    ----------
    On the training set the frontier is certified: no projection passes their bounds. Intervals are about the
    projection as it is fitted: other rows, not another fit. No number says that something is fair.

    Complexity
    ----------
    One pass over the table, O(n d^2). After it a million rows cost what a thousand do; time grows with the third power
    of the features: 20 take seconds, 768 some minutes, which is said first.

    References
    ----------
    What each method is and where it is from: the comparison of all linear methods in the book.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> rng = np.random.default_rng(0)
    >>> wide = rng.normal(size=(300, 4)) * [3.0, 2.0, 1.0, 0.5]
    >>> table = pd.DataFrame(np.vstack([wide, wide[:200, ::-1]]), columns=list("abcd"))
    >>> table["team"] = ["red"] * 300 + ["blue"] * 200
    >>> found = audit(table, sensitive="team", k=2, methods=["Min-max error"], concern="errors", n_boot=100)
    >>> found.recommendation["team"]["errors"].method
    'Min-max error'
    >>> found.pipeline().transform(table).shape
    (500, 2)
    """
    asked = require_arguments(
        sensitive=sensitive, target=target, k=k, methods=methods, concern=concern, missing=missing,
        intersections=intersections, holdout=holdout, exclude=exclude, keep=keep, n_boot=n_boot,
        random_state=random_state,
    )  # fmt: skip
    tell = progress_of(progress)
    seed = int(require_generator(random_state).integers(2**31))
    sample = read_sample(
        table, sensitive=sensitive, target=target, missing=missing, intersections=intersections,
        standardize=standardize, holdout=holdout, exclude=exclude, keep=keep, random_state=random_state, progress=tell,
    )  # fmt: skip
    sizes = _sizes(asked, sample.d)
    groups = {name: compared_groups(sample, name) for name in sample.attributes}
    names = chosen_methods(methods, [one.G for one in groups.values()])
    with threadpool_limits(1):  # many small matrices, for which threads wait; and sums depend on their number
        found = {
            name: analyse(one, sizes, names, asked is not None, n_boot, seed, tell) for name, one in groups.items()
        }
    settings = {
        "table": sample.name, "sensitive": [sensitive] if isinstance(sensitive, str) else list(sensitive),
        "target": target, "k": None if asked is None else list(asked), "methods": list(names), "concern": concern,
        "missing": missing, "intersections": intersections, "standardize": standardize, "holdout": holdout,
        "exclude": list(exclude), "keep": list(keep), "n_boot": n_boot,
        "random_state": random_state if isinstance(random_state, Integral) else None,
        "warnings": [*sample.warnings, *filter(None, [ask_target(sample)])],
    }  # fmt: skip
    return _audit(sample, sizes, names, settings, found)


def require_arguments(
    *, sensitive, target, k, methods, concern, missing, intersections, holdout, exclude, keep, n_boot, random_state
) -> tuple[int, ...] | None:
    """Refuse what no table can be audited with; the numbers of components that were asked for."""
    require_concern(concern)
    most, why = TABLE["draws of the bootstrap"]
    if whole_number("n_boot", n_boot, 20) > most:
        raise LimitError(f"n_boot={n_boot:,}; needed are at most {most:,} draws: {why}. Ask for fewer.")
    require_generator(random_state)
    chosen_methods(methods, [2])
    options(None, sensitive, target, exclude, keep, missing, holdout, intersections)
    if k is None:
        return None
    asked = [k] if isinstance(k, str) or not isinstance(k, Iterable) else list(k)
    if not asked:
        raise ConfigurationError("k is empty; needed are whole numbers of components, or None for 1 to 10.")
    return tuple(sorted({int(whole_number("k", one, 1)) for one in asked}))


def _sizes(asked: tuple[int, ...] | None, d: int) -> tuple[int, ...]:
    if d < 2:
        raise ComponentsError(
            f"the table has {d} feature(s) after encoding; needed are at least 2, or there is nothing to reduce. Name "
            "fewer columns in exclude, or look at what was left out."
        )
    if asked is None:
        return tuple(range(1, min(MOST_COMPONENTS, d - 1) + 1))
    if asked[-1] > d - 1:
        raise ComponentsError(
            f"k={asked[-1]}, but the table has {d} features after encoding: with at most {d - 1} components something "
            "is left out. Ask for fewer."
        )
    return asked


def _audit(sample: Sample, sizes, names, settings: dict, found: Mapping[str, Analysis]) -> Audit:
    asked, answers, lines = require_concern(settings["concern"]), {}, []
    for attribute, analysis in found.items():
        limits = of_attribute(sample, analysis, len(names))
        every = {concern: recommend(analysis, concern, limits) for concern in CONCERNS}
        answers[attribute] = {concern: every[concern] for concern in asked}
        lines += [_line(one, one.concern in asked) for one in every.values()]
    methods = pd.concat([analysis.rows for analysis in found.values()], ignore_index=True)
    frontiers = {name: one.frontier for name, one in found.items() if one.frontier is not None}
    possible = [one.rows(name, found[name].k) for name, one in frontiers.items()]
    tables = {
        "columns": sample.columns,
        "groups": _groups(sample, found),
        "pca": methods[methods["method"] == PCA].reset_index(drop=True),
        "methods": methods,
        "frontier": pd.concat(possible or [pd.DataFrame(columns=FRONTIER_COLUMNS)], ignore_index=True),
        "recommendation": pd.DataFrame(lines),
        "notes": _notes(sample, methods, answers),
    }
    estimators = {
        (attribute, name, k): fit.estimator
        for attribute, analysis in found.items()
        for (name, k), fit in analysis.fits.items()
        if fit.estimator is not None
    }
    return Audit(sample, sizes, names, settings, tables, answers, estimators, frontiers)


def _line(one: Recommendation, asked: bool) -> dict:
    head = {"attribute": one.attribute, "concern": one.concern, "asked": asked, "verdict": one.verdict}
    return (
        head | {"method": one.method, "k": one.k} | dict(one.figures) | {"reason": " ".join([*one.reason, *one.costs])}
    )


def _groups(sample: Sample, found: Mapping[str, Analysis]) -> pd.DataFrame:
    """The groups, with a note where one is not compared."""
    table = sample.groups.copy()
    for attribute, analysis in found.items():
        out = (table["attribute"] == attribute) & table["group"].astype(str).isin(analysis.left_out)
        told = "too few rows to be compared: left out of all that follows"
        table.loc[out, "note"] = [f"{note}; {told}" if note else told for note in table.loc[out, "note"]]
    return table


def _notes(sample: Sample, methods: pd.DataFrame, answers: Mapping) -> pd.DataFrame:
    """What was done to the data, why methods have no answer or warned, and what the numbers do not say; each once."""
    rows = [("data", "", note) for note in sample.notes]
    told = (
        methods["metric"].isin(["average error", "seconds"]) & (methods["part"] == TRAINING) & (methods["note"] != "")
    )
    said = methods[told]
    kind = said["note"].str.replace(r"\d+", "", regex=True)  # reasons that differ by their numbers only
    for (attribute, name, _), some in said.groupby(["attribute", "method", kind], sort=False):
        rows.append(("method", attribute, f"{name}, k = {', '.join(map(str, some['k']))}: {some['note'].iloc[0]}"))
    for name, found in answers.items():
        limits = dict.fromkeys(sentence for one in found.values() for sentence in one.limits)
        rows += [("limit", name, sentence) for sentence in limits]
    return pd.DataFrame(rows, columns=["kind", "attribute", "note"])
