"""The audit of a table: what principal components do to its groups, what can be done about it, and which to use."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from sklearn.pipeline import Pipeline

from ..core.errors import ComponentsError, ConfigurationError, LimitError
from ..core.estimator import SubspaceEstimator
from ..core.inputs import require_generator, require_memory, whole_number
from .analyse import Analysis, analyse, kept_groups
from .fitting import PCA, chosen_methods
from .frontier import COLUMNS as FRONTIER_COLUMNS
from .judge import COLUMNS
from .limits import TABLE
from .progress import progress_of
from .recommend import CONCERNS, Recommendation, of_attribute, recommend, require_concern
from .sample import Sample, options, read_sample, reading_options

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from .page.gallery import Drawn

#: Numbers of components that are looked at unless others are asked for.
MOST_COMPONENTS = 10
#: Bytes of a sample for the intervals: how often each block and each scored row is in it, and the drawing of these.
SAMPLE_BYTES = 2**16


@dataclass(frozen=True, eq=False)
class Audit:
    """What an audit found: tables, a recommendation for each attribute, fitted transformers, figures, a report.

    Parameters
    ----------
    sample : Sample
        What was read of the table.
    sizes : tuple of int
        Numbers of components that were looked at.
    methods : tuple of str
        Names of the methods, PCA first.
    settings : dict
        The arguments of the audit, and which versions computed it.
    tables : dict of str to DataFrame
        "columns", "groups", "pca" (what principal components do to each group), "methods" (every method, number of
        components, part, group and metric with its 95 % interval), "frontier" (what is possible at all),
        "recommendation" (one row for each attribute and concern) and "notes".
    recommendation : mapping of str to Recommendation
        By attribute, for the concern that was asked for.
    estimators : dict
        Fitted estimators by (attribute, method, k); methods without an answer are not in it.

    See Also
    --------
    audit : Makes one.
    """

    sample: Sample
    sizes: tuple[int, ...]
    methods: tuple[str, ...]
    settings: dict
    tables: dict[str, pd.DataFrame]
    recommendation: Mapping[str, Recommendation]
    estimators: dict[tuple[str, str, int], SubspaceEstimator] = field(repr=False)

    def __repr__(self) -> str:
        sample, sizes = self.sample, ", ".join(map(str, self.sizes))
        answers = "; ".join(f"{name}: {found.method}, k = {found.k}" for name, found in self.recommendation.items())
        return (
            f"Audit({sample.name}: {sample.n_used:,} rows, {sample.d:,} features, groups by "
            f"{', '.join(sample.attributes)}; k = {sizes}; {len(self.methods)} methods; recommended for {answers})"
        )

    def pipeline(self, method: str | None = None, k: int | None = None, attribute: str | None = None) -> Pipeline:
        """Encoder and fitted method in one: a transformer of raw rows such as those of the table.

        Parameters
        ----------
        method : str, optional
            Name of a method; the recommended one unless given.
        k : int, optional
            Number of components; the recommended one unless given.
        attribute : str, optional
            The groups that the method was fitted for; the first attribute unless given.

        Returns
        -------
        Pipeline
            Fitted. Rows need the columns of the features, groups are not needed.
        """
        attribute = self.sample.attributes[0] if attribute is None else attribute
        if attribute not in self.recommendation:
            raise ConfigurationError(
                f"attribute={attribute!r}; the attributes of this audit are {', '.join(self.recommendation)}."
            )
        advice = self.recommendation[attribute]
        key = (attribute, advice.method if method is None else method, advice.k if k is None else k)
        if key[1] not in self.methods or key[2] not in self.sizes:
            raise ConfigurationError(
                f"method={key[1]!r}, k={key[2]!r}; this audit has the methods {', '.join(self.methods)} and k of "
                f"{', '.join(map(str, self.sizes))}."
            )
        if key not in self.estimators:
            rows = self.tables["methods"]
            found = rows[(rows["attribute"] == key[0]) & (rows["method"] == key[1]) & (rows["k"] == key[2])]
            raise ConfigurationError(f"{key[1]} has no answer for k={key[2]}: {found['note'].iloc[0]}")
        return Pipeline([("encoder", self.sample.encoder), ("reduction", self.estimators[key])])

    @cached_property
    def _drawn(self) -> "dict[str, dict[str, Drawn]]":
        """The figures as the report shows them, by attribute; nobody else gets hold of them."""
        from .page.gallery import by_attribute

        return by_attribute(self)

    @property
    def drawings(self) -> dict[str, bytes]:
        """Figures of the report by name, as SVG; each is drawn once."""
        from .page.gallery import named

        return {name: drawn.svg for name, drawn in named(self._drawn).items()}

    @cached_property
    def figures(self) -> "dict[str, Figure]":
        """Figures of the report by name, made when they are first asked for; yours to change before ``write``."""
        from .page.gallery import gallery

        return {name: drawn.figure for name, drawn in gallery(self).items()}

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

    def write(self, folder) -> list[Path]:
        """Write report, tables, figures, transformers and settings to a folder.

        Parameters
        ----------
        folder : str or Path
            A new folder, an empty one, or one that holds an earlier audit and nothing else, not even a hidden file:
            it is replaced in one step when everything is written, but for the notebook beside it. A link is followed.
            Otherwise nothing is written, and a ConfigurationError names what is in the way.

        Returns
        -------
        list of Path
            What was written: ``report.html``, ``tables/*.csv``, ``figures/*.svg``, ``transformers/*.npz`` (as
            ``evenspan.save`` writes them) and ``settings.json``. In the CSV files a text that a spreadsheet would take
            for a formula (it begins with ``=``, ``+``, ``-``, ``@``, a tab or a line break, and is no number) has an
            apostrophe before it, and a carriage return is written ``\\r``.
        """
        from .writing import write

        return write(self, Path(folder))


def audit(
    table,
    *,
    sensitive,
    target: str | None = None,
    k=None,
    methods=None,
    concern: str = "losses",
    missing: str = "error",
    intersections: bool = False,
    standardize: bool = True,
    holdout: float = 0.3,
    exclude: Sequence[str] = (),
    keep: Sequence[str] = (),
    decimal: str | None = None,
    thousands: str | None = None,
    skip_rows: int = 0,
    header: bool | None = None,
    n_boot: int = 1000,
    random_state=0,
    progress=False,
) -> Audit:
    r"""What a reduction of dimension does to the groups of a table, and what can be done about it.

    The table is read into memory, and moments of every group in a hundred blocks of rows are kept, with some points.
    Everything linear is computed from the moments: principal components, the other methods, their errors, losses and
    means by group on the fitting and on the held-out part, intervals, and the frontiers that no projection passes.

    Parameters
    ----------
    table : DataFrame, str or Path
        A data frame, or a CSV, TSV, Parquet, Arrow, Feather or Excel file.
    sensitive : str or list of str
        The columns of the groups; never features.
    target : str, optional
        A column to be predicted later; never a feature. No method looks at it; classifiers say how much of it is left.
    k : int or list of int, optional
        Numbers of components, at most 10,000; all from 1 to 10, and below the number of features, unless given.
    methods : list of str or "all", optional
        Names of methods (``evenspan.methods.METHODS``); the quick ones unless given: those that
        moments determine, for as many groups as there are. "all" adds those that need points, which are fitted to at
        most 20,000 rows of the fitting part.
    concern : {"losses", "errors", "means"}
        What is to be alike between groups; decides what is recommended, nothing else. "losses": nobody much worse off
        than with directions of their own. "errors": all groups rebuilt equally well. "means": the groups in the same
        place.
    missing : {"error", "drop", "mean", "indicator"}
        What a missing cell does: it is an error; its row is dropped; it becomes the mean (or the most frequent
        category) of the fitting part; or that, with a further feature that says so.
    intersections : bool
        Whether each combination of the sensitive columns is a group too.
    standardize : bool
        Whether features are standardised by the fitting part.
    holdout : float
        Share of the rows that are held out, above 0 and below 1.
    exclude : sequence of str
        Columns that are no features.
    keep : sequence of str
        Columns of numbers that are features although they look as if they numbered the rows, which are left out
        otherwise.
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
    progress : bool
        Whether progress is shown on standard error.

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
    On the fitting part the frontiers are certified: no projection passes their bounds. Intervals are about the
    projection as it is fitted: other rows, not another fit. No number says that something is fair.

    Complexity
    ----------
    O(n d^2) for the moments, and the table in memory. After them a million rows cost what a thousand do: for 100
    features, 2 groups and k from 1 to 10 about two minutes on one core. Time grows with the third power of the
    features; where it is minutes, that is said first. ``GroupMoments.from_batches`` takes tables beyond memory.

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
    >>> found = audit(table, sensitive="team", k=2, methods=["Min-max loss"], n_boot=100)
    >>> found.recommendation["team"].method
    'Min-max loss'
    >>> found.pipeline().transform(table).shape
    (500, 2)
    """
    reading = {"decimal": decimal, "thousands": thousands, "skip_rows": skip_rows, "header": header}
    asked = require_arguments(
        sensitive=sensitive, target=target, k=k, methods=methods, concern=concern, missing=missing,
        intersections=intersections, holdout=holdout, exclude=exclude, keep=keep, n_boot=n_boot,
        random_state=random_state, **reading,
    )  # fmt: skip
    tell = progress_of(progress)
    seed = int(require_generator(random_state).integers(2**31))
    sample = read_sample(
        table, sensitive=sensitive, target=target, missing=missing, intersections=intersections,
        standardize=standardize, holdout=holdout, exclude=exclude, keep=keep, random_state=random_state, progress=tell,
        **reading,
    )  # fmt: skip
    sizes = _sizes(asked, sample.d)
    groups = {name: kept_groups(sample, name) for name in sample.attributes}
    names = chosen_methods(methods, [kept.G for kept in groups.values()])
    given = asked is not None and len(sizes) == 1
    found = {name: analyse(kept, sizes, names, given, n_boot, seed, tell) for name, kept in groups.items()}
    settings = {
        "table": sample.name, "sensitive": [sensitive] if isinstance(sensitive, str) else list(sensitive),
        "target": target, "k": list(sizes), "methods": list(names), "concern": concern, "missing": missing,
        "intersections": intersections, "standardize": standardize, "holdout": holdout, "exclude": list(exclude),
        "keep": list(keep), **reading,
        "n_boot": n_boot, "random_state": random_state if isinstance(random_state, Integral) else None,
        "warnings": list(sample.warnings),
    }  # fmt: skip
    return _audit(sample, sizes, names, settings, found, concern)


def require_arguments(
    *, sensitive, target, k, methods, concern, missing, intersections, holdout, exclude, keep, n_boot, random_state,
    **reading,
) -> tuple[int, ...] | None:  # fmt: skip
    """Refuse what no table can be audited with; the numbers of components that were asked for."""
    require_concern(concern)
    most, why = TABLE["draws of the bootstrap"]
    if whole_number("n_boot", n_boot, 20) > most:
        raise LimitError(f"n_boot={n_boot:,}; needed are at most {most:,} draws: {why}. Ask for fewer.")
    require_memory(SAMPLE_BYTES * n_boot, f"n_boot={n_boot:,}", "Ask for fewer draws: 1,000 are usual.")
    asked = _asked(k)
    require_generator(random_state)
    chosen_methods(methods, [2])
    options(None, sensitive, target, exclude, keep, missing, holdout, intersections)
    reading_options(**reading)
    return asked


def _audit(sample, sizes, names, settings, found: Mapping[str, Analysis], concern) -> Audit:
    advice, lines = {}, []
    for attribute, analysis in found.items():
        limits = of_attribute(sample, attribute, len(names), analysis.left_out)
        for one in CONCERNS:
            answer = recommend(analysis.seen, one, analysis.why_k, limits)
            lines.append(_line(answer, one == concern))
            if one == concern:
                advice[attribute] = answer
    methods = pd.concat([analysis.rows for analysis in found.values()], ignore_index=True)[COLUMNS]
    lines_of = [one.rows(name) for name, analysis in found.items() for one in analysis.frontiers.values()]
    frontier = pd.concat([pd.DataFrame(columns=FRONTIER_COLUMNS), *lines_of], ignore_index=True)
    tables = {
        "columns": sample.columns,
        "groups": _groups(sample, found),
        "pca": methods[methods["method"] == PCA].reset_index(drop=True),
        "methods": methods,
        "frontier": frontier[FRONTIER_COLUMNS],
        "recommendation": pd.DataFrame(lines),
        "notes": _notes(sample, methods, advice),
    }
    estimators = {
        (attribute, name, k): fit.estimator
        for attribute, analysis in found.items()
        for (name, k), fit in analysis.fits.items()
        if fit.estimator is not None
    }
    return Audit(sample, sizes, names, settings, tables, advice, estimators)


def _groups(sample: Sample, found: Mapping[str, Analysis]) -> pd.DataFrame:
    """The groups, with a note where one is not compared."""
    table = sample.groups.copy()
    for attribute, analysis in found.items():
        out = (table["attribute"] == attribute) & table["group"].astype(str).isin(analysis.left_out)
        told = "too few rows to be compared: left out of all that follows"
        table.loc[out, "note"] = [f"{note}; {told}" if note else told for note in table.loc[out, "note"]]
    return table


def _line(answer: Recommendation, asked: bool) -> dict:
    head = {"attribute": answer.attribute, "concern": answer.concern, "asked": asked, "method": answer.method}
    return head | {"k": answer.k} | dict(answer.figures) | {"reason": " ".join(answer.reason)}


def _notes(sample: Sample, methods: pd.DataFrame, advice: Mapping[str, Recommendation]) -> pd.DataFrame:
    rows = [("data", "", note) for note in sample.notes]
    said = methods[(methods["note"] != "") & (methods["metric"] == "average error") & (methods["part"] == "fitting")]
    # Reasons that differ by their numbers only are told once.
    kind = said["note"].str.replace(r"\d+", "", regex=True)
    for (attribute, name, _), some in said.groupby(["attribute", "method", kind], sort=False):
        rows.append(("method", attribute, f"{name}, k = {', '.join(map(str, some['k']))}: {some['note'].iloc[0]}"))
    rows += [("limit", name, sentence) for name, answer in advice.items() for sentence in answer.limits]
    return pd.DataFrame(rows, columns=["kind", "attribute", "note"])


def _asked(k) -> tuple[int, ...] | None:
    if k is None:
        return None
    one = isinstance(k, str) or not isinstance(k, Iterable)
    most = TABLE["features"][0]
    given = [k] if one else list(islice(k, most + 1))
    if not given:
        raise ConfigurationError("k is empty; needed are whole numbers of components, or None for 1 to 10.")
    if len(given) > most or max(whole_number("k", one, 1) for one in given) > most:
        raise LimitError(
            f"k asks for more than {most:,} components, or for more numbers than that; an audit takes at most {most:,} "
            "features. Ask for fewer."
        )
    return tuple(sorted({int(one) for one in given}))


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
