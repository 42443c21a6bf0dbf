"""The audit of a table: what principal components do to its groups, what can be done about it, and which to use."""

from collections.abc import Mapping, Sequence
from numbers import Integral

import pandas as pd

from ..core.errors import ComponentsError, ConfigurationError
from ..core.estimator import require_generator
from ..core.inputs import whole_number
from .analysis.attribute import Analysis, analyse
from .analysis.fitting import PCA, chosen_methods
from .analysis.frontier import COLUMNS as FRONTIER_COLUMNS
from .analysis.judging import COLUMNS
from .analysis.kept import kept_groups
from .analysis.limits import of_attribute
from .analysis.recommendation import CONCERNS, Recommendation, recommend, require_concern
from .progress import progress_of
from .result import Audit
from .sample import Sample
from .table.passes import read_sample

#: Numbers of components that are looked at unless others are asked for.
MOST_COMPONENTS = 10


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
    n_boot: int = 1000,
    random_state=0,
    progress=False,
) -> Audit:
    r"""What a reduction of dimension does to the groups of a table, and what can be done about it.

    The table is read in two passes, which leave moments of every group in a hundred blocks of rows, and some points.
    Everything linear is computed from the moments: principal components, the other methods, their errors, losses and
    means by group on the fitting and on the held-out part, intervals, and the frontiers that no projection passes.

    Parameters
    ----------
    table : DataFrame, str or Path
        A data frame, or a CSV, TSV, Parquet, Arrow, Feather or Excel file.
    sensitive : str or list of str
        The columns of the groups; never features.
    target : str, optional
        A column to be predicted later; never a feature. No method looks at it, readers tell how much of it is left.
    k : int or list of int, optional
        Numbers of components; all from 1 to 10, and below the number of features, unless given.
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
    n_boot : int
        Samples for the intervals.
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
    Two passes over the table, O(n d^2), in bounded memory. After them a million rows cost what a thousand do: for 100
    features, 2 groups and k from 1 to 10 about two minutes on one core.

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
    require_concern(concern)
    n_boot = whole_number("n_boot", n_boot, 20)
    tell, asked = progress_of(progress), _asked(k)
    seed = int(require_generator(random_state).integers(2**31))
    sample = read_sample(
        table, sensitive=sensitive, target=target, missing=missing, intersections=intersections,
        standardize=standardize, holdout=holdout, exclude=exclude, keep=keep, random_state=random_state, progress=tell,
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
        "keep": list(keep),
        "n_boot": n_boot, "random_state": random_state if isinstance(random_state, Integral) else None,
    }  # fmt: skip
    return _audit(sample, sizes, names, settings, found, concern)


def _audit(sample, sizes, names, settings, found: Mapping[str, Analysis], concern) -> Audit:
    advice, lines = {}, []
    for attribute, analysis in found.items():
        limits = of_attribute(sample, attribute, len(names), analysis.held_out, analysis.left_out)
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
    given = [k] if isinstance(k, Integral) and not isinstance(k, bool) else list(k) if not isinstance(k, str) else [k]
    if not given:
        raise ConfigurationError("k is empty; needed are whole numbers of components, or None for 1 to 10.")
    return tuple(sorted({whole_number("k", one, 1) for one in given}))


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
