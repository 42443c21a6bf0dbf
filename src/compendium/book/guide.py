"""The guide: which method for what, found by trying, and messages in the words that a reader will meet.

What a method takes and answers is not typed: every method of the comparison, with its setting there, fair kernel PCA
and the clusterers meet one small sample, once with three groups and, where they refuse, with two.
"""

import html
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import NamedTuple

import numpy as np
import pandas as pd
from IPython.display import HTML
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from evenspan.clustering import (
    FairAssignmentKMeans,
    FairKernelKMeans,
    FairMultipleKernelKMeans,
    FairnessFirstClustering,
    FairSpectralClustering,
    VariationalFairClustering,
)
from evenspan.core.errors import ConfigurationError, ExecutionError, FairError, GroupError
from evenspan.core.moments import GroupMoments
from evenspan.displays.method_looks import Look
from evenspan.displays.style import INK
from evenspan.methods import METHODS
from evenspan.representation import FairKernelPCA

from ..papers.across import tables as across_tables
from ..papers.across.protocol import CLOSED, EXPECTED
from .tables import table

KERNEL_MEANS, SHARES = "means, kernel", "shares in clusters"
ANY, TWO = "any number", "two"
MOMENTS, ROWS = "moments", "rows"
MET, BOUND, NONE = "met", "a bound", "none"
CERTIFICATES = {MET: "bound met", BOUND: "bound, not met", NONE: "none"}
#: Methods outside of the linear comparison, with what they make alike.
FURTHER: Mapping[str, tuple[str, Callable[[], BaseEstimator]]] = {
    "Fair kernel PCA": (KERNEL_MEANS, lambda: FairKernelPCA(2)),
    "FKKM": (SHARES, lambda: FairKernelKMeans(2)),
    "FMKKM": (SHARES, lambda: FairMultipleKernelKMeans(2)),
    "FairSC": (SHARES, lambda: FairSpectralClustering(2)),
    "FFC": (SHARES, lambda: FairnessFirstClustering(2)),
    "Fair assignment": (SHARES, lambda: FairAssignmentKMeans(2)),
    "VFC": (SHARES, lambda: VariationalFairClustering(2)),
}
#: The page of the book, below its root, that derives the method: that of the comparison, or one that says more.
CHAPTERS: Mapping[str, str] = across_tables.CHAPTERS | {
    "PCA": "foundations/moments",
    "u-FPCA": "papers/vu2022/findings",
    "c-FPCA": "papers/vu2022/findings",
    "RLACE": "papers/kleindessner2023/erasure",
    "Streaming null-it-out": "papers/lee2023/scale",
    "Fair kernel PCA": "papers/kleindessner2023/kernel",
    "FKKM": "papers/zhou2024/derivation",
    "FMKKM": "papers/zhou2024/multiple-kernels",
    "FairSC": "papers/zhou2024/rivals",
    "FFC": "papers/zhou2024/rivals",
    "Fair assignment": "papers/zhou2024/rivals",
    "VFC": "papers/zhou2024/rivals",
}
#: Rows of the three groups, and features, of the sample on which everything is tried.
SIZES, FEATURES = (12, 8, 5), 10


def sample() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table (n, d) whose groups differ in size, mean and spread, with its three groups and the last two as one."""
    rng = np.random.default_rng(0)
    three = np.repeat(["a", "b", "c"], SIZES)
    X = rng.normal(size=(len(three), FEATURES)) * np.linspace(2.0, 0.5, FEATURES)
    for label, shift, spread in zip("abc", (0.0, 1.0, 2.0), (1.0, 1.5, 0.7), strict=True):
        own = three == label
        X[own, -1] += shift
        X[own] *= spread * np.exp(0.4 * rng.normal(size=FEATURES))
    return X / X.std(axis=0), three, np.where(three == "c", "b", three)


@cache
def facts() -> pd.DataFrame:
    """One row for each method, in the order of the comparison.

    Returns
    -------
    DataFrame
        ``method``; ``class``; ``alike``: what it asks to be alike between groups; ``groups``: ``"two"`` or
        ``"any number"``; ``refusal``: what it says to three; ``needs``: ``"moments"`` or ``"rows"``; ``certificate``:
        whether the bound that comes with the answer was ``"met"`` on the sample, stayed ``"a bound"``, or there is
        ``"none"``; ``certifies``: the problem that it speaks of; ``new rows``: whether rows that were not fitted can be
        transformed or assigned; ``quantities`` and ``label``: whether it takes sensitive columns that are numbers, and
        a favourable label; ``chapter``.
    """
    makers = {name: (method.equalises, lambda m=method: m.make(2, 0)) for name, method in METHODS.items()}
    # A hundred rounds of an adversary's game say here what its ten thousand say.
    makers["RLACE"] = (METHODS["RLACE"].equalises, lambda: METHODS["RLACE"].make(2, 0).set_params(max_iter=100))
    tried = {name: _tried(*maker) for name, maker in (makers | FURTHER).items()}
    rows = [{"method": name, **found, "chapter": CHAPTERS[name]} for name, found in tried.items()]
    return pd.DataFrame(rows)


def shortlist(*, alike: str | None = None, groups: int = 2, rows: bool = True) -> list[str]:
    """Methods that answer a question, in the order of the comparison.

    Parameters
    ----------
    alike : str, optional
        One of the values of ``facts()["alike"]``; everything unless given.
    groups : int
        How many groups there are.
    rows : bool
        Whether the rows themselves are at hand, and not only moments.

    Returns
    -------
    list of str
    """
    table = facts()
    if alike is not None:
        kinds = list(dict.fromkeys(table["alike"]))
        if alike not in kinds:
            raise ConfigurationError(f"alike={alike!r}; needed is one of {', '.join(map(repr, kinds))}.")
        table = table[table["alike"] == alike]
    table = table if groups <= 2 else table[table["groups"] == ANY]
    return list((table if rows else table[table["needs"] == MOMENTS])["method"])


def _tried(alike: str, make: Callable[[], BaseEstimator]) -> dict:
    X, three, two = sample()
    with warnings.catch_warnings():
        for category in (*EXPECTED, ConvergenceWarning):
            warnings.simplefilter("ignore", category)
        try:
            fitted, groups, refusal = make().fit(X, sensitive_features=three), ANY, ""
        except (GroupError, ConfigurationError) as error:
            fitted, groups, refusal = make().fit(X, sensitive_features=two), TWO, str(error)
        needs = MOMENTS if _answers_from(make(), GroupMoments.from_data(X, two)) else ROWS
    certificate = getattr(fitted, "certificate_", None)
    return {
        "class": type(fitted).__name__,
        "alike": alike,
        "groups": groups,
        "refusal": refusal,
        "needs": needs,
        "certificate": NONE if certificate is None else MET if certificate.is_optimal(CLOSED) else BOUND,
        "certifies": "" if certificate is None else certificate.problem,
        "new rows": hasattr(fitted, "transform") or hasattr(fitted, "predict"),
        "quantities": "numeric_attributes" in fitted.get_params(),
        "label": "criterion" in fitted.get_params(),
    }


def _answers_from(estimator: BaseEstimator, moments: GroupMoments) -> bool:
    """Whether an estimator fits to group moments; one that says that it needs the points does not."""
    if not hasattr(estimator, "fit_moments"):
        return False
    try:
        estimator.fit_moments(moments)
    except ConfigurationError as error:
        if "needs the points" not in str(error):
            raise
        return False
    except FairError as error:
        raise ConfigurationError(f"{type(estimator).__name__} does not fit to the sample: {error}") from error
    return True


# ---- tables of a page that lies one folder below the book's root ----


def methods(facts: pd.DataFrame) -> HTML:
    """All methods: what they make alike, what they take, and what their answer says about itself."""
    shown = pd.DataFrame(
        {
            "method": _linked(facts) + "<br><code>" + facts["class"] + "</code>",
            "alike": facts["alike"],
            "groups": facts["groups"],
            "fits to": facts["needs"],
            "new rows": facts["new rows"].map({True: "yes", False: "no"}),
            "certificate": facts["certificate"].map(CERTIFICATES),
        }
    )
    caption = "What each method takes and answers, found by trying it on one small sample"
    return table(shown, caption=caption, classes="result-table words-3")


def certified(facts: pd.DataFrame) -> HTML:
    """What each certificate speaks of, for methods that have one."""
    some = facts[facts["certificate"] != NONE]
    texts = {"certificate": some["certificate"].map(CERTIFICATES), "it speaks of": some["certifies"].map(html.escape)}
    shown = pd.DataFrame({"method": _linked(some), **texts})
    return table(shown, caption="The problem that each certificate is about", classes="result-table words-3")


def refusals(facts: pd.DataFrame) -> HTML:
    """What methods for two groups say to three."""
    some = facts[facts["refusal"] != ""]
    shown = pd.DataFrame({"method": _linked(some), "what it says": some["refusal"].map(html.escape)})
    return table(shown, caption="What methods for two groups say to three", classes="result-table words-2")


def _linked(facts: pd.DataFrame) -> pd.Series:
    """The names of methods as links to the chapters that derive them."""
    return '<a href="../' + facts["chapter"] + '.html">' + facts["method"].map(html.escape) + "</a>"


# ---- the figure: an outline from questions to names ----

#: What a method is for, then what has to be alike, as in the facts.
OUTLINE: Mapping[str, Mapping[str, str]] = {
    "Points are rebuilt from it: compress, impute, denoise": {
        "errors": "how well each group is rebuilt",
        "losses": "what each group gives up, against directions of its own",
    },
    "Something is predicted or compared from it": {
        "means": "where the groups lie: their means",
        KERNEL_MEANS: "their means in the feature space of a kernel",
        "means and covariances": "their means and how they spread",
        "distributions": "their whole distributions, as far as a kernel sees them",
    },
    "Rows are put into clusters": {SHARES: "the shares of the groups in every cluster"},
    "Nothing has to be alike": {"nothing": "the control: as little error over all rows as possible"},
}
GREY, LINE = "#555555", "#999999"
#: Inches a line; the place of each depth and column on the width; the inches that the width is drawn on.
STEP, INDENT = 0.3, 0.42
COLUMNS = (4.95, 6.75)
WIDTH, INCHES = 7.9, 5.4


class Row(NamedTuple):
    """A line of the outline: its depth, its words, and the row of the facts that it shows, if it is a method."""

    depth: int
    text: str
    method: pd.Series | None = None


def rows(facts: pd.DataFrame) -> list[Row]:
    """The lines of the outline; a method that has no place in it is an error."""
    found, placed = [], set()
    for purpose, kinds in OUTLINE.items():
        found.append(Row(0, purpose))
        for alike, words in kinds.items():
            found.append(Row(1, words))
            some = facts[facts["alike"] == alike]
            found += [Row(2, fact["method"], fact) for _, fact in some.iterrows()]
            placed |= set(some["method"])
    missing = [name for name in facts["method"] if name not in placed]
    if missing:
        raise ConfigurationError(f"{', '.join(missing)}: no place in the outline. Add what they make alike to OUTLINE.")
    return found


def outline(facts: pd.DataFrame, dressed: Mapping[str, Look]) -> Figure:
    """Questions in bold, answers below them, and at the end the methods with what they take.

    Parameters
    ----------
    facts : DataFrame
        As :func:`facts` gives them.
    dressed : mapping of str to Look
        By method.

    Returns
    -------
    Figure
        Tall and narrow, so that it can be read on a telephone.
    """
    lines = rows(facts)
    fig, panel = plt.subplots(figsize=(INCHES, STEP * (len(lines) + 1.6)), layout="constrained")
    panel.set(xlim=(0.0, WIDTH), ylim=(len(lines) - 0.3, -1.5))
    panel.axis("off")
    for x, words in zip(COLUMNS, ("groups", "needs"), strict=True):
        panel.text(x, -1.0, words, color=GREY, va="center", style="italic")
    panel.text(0.0, -1.0, "for what, and what is alike", color=GREY, va="center", style="italic")
    for y, line in enumerate(lines):
        if line.method is None:
            panel.text(
                line.depth * INDENT, y, line.text, va="center", color=INK, weight="bold" if not line.depth else None
            )
        else:
            _method(panel, y, line.method, dressed[line.text])
    _branches(panel, lines)
    return fig


def _method(panel: Axes, y: int, fact: pd.Series, look: Look) -> None:
    x = 2 * INDENT
    size = 8.5 * (1.3 if isinstance(look.marker, tuple) else 1.0)
    panel.plot(x + 0.12, y, **look.mark() | {"linestyle": "", "markersize": size})
    panel.text(x + 0.42, y, fact["method"], va="center", color=INK)
    for place, key in zip(COLUMNS, ("groups", "needs"), strict=True):
        strong = fact[key] == TWO
        panel.text(
            place, y, fact[key], va="center", fontsize="small",
            color=INK if strong else GREY, weight="bold" if strong else None,
        )  # fmt: skip


def _branches(panel: Axes, lines: Sequence[Row]) -> None:
    """A thin line down from every question to its last answer."""
    for depth in (0, 1):
        x, start, last = depth * INDENT + 0.08, None, -1
        for y, line in enumerate([*lines, Row(0, "")]):
            if line.depth <= depth:
                if start is not None and last > start:
                    panel.plot([x, x], [start + 0.42, last], color=LINE, linewidth=0.9)
                start = y if line.depth == depth else None
            if line.depth == depth + 1:
                last = y
                panel.plot([x, x + 0.25], [y, y], color=LINE, linewidth=0.9)


# ---- errors and warnings raised on purpose ----

#: Characters of a line; longer ones would be cut off at the edge of a narrow screen.
NARROW = 84


@contextmanager
def told(*expected: type[BaseException], width: int = NARROW) -> Iterator[None]:
    """Print what the block raises or warns of, in the words of a terminal.

    The block must raise one of the errors in ``expected``, if there are any, and give every warning in it. Anything
    else that happens, and any of these that does not, is an error of the page.
    Lines have at most ``width`` characters.

    >>> with told(ZeroDivisionError):
    ...     1 / 0
    ZeroDivisionError: division by zero
    """
    errors = tuple(kind for kind in expected if not issubclass(kind, Warning))
    wanted = [kind for kind in expected if issubclass(kind, Warning)]
    raised = None
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            yield
        except errors as error:
            raised = error
    for warning in heard:
        if not any(issubclass(warning.category, kind) for kind in wanted):
            raise ExecutionError(f"the block warned of something else: {spoken(warning.message)}")
    missing = [kind for kind in wanted if not any(issubclass(warning.category, kind) for warning in heard)]
    missing += [kind for kind in errors if raised is None]
    if missing or not expected:
        names = ", ".join(kind.__name__ for kind in missing) or "an exception or warning class"
        raise ExecutionError(f"the block was to give {names}, and did not. Correct the page.")
    texts = list(dict.fromkeys(spoken(warning.message) for warning in heard))
    texts += [] if raised is None else [spoken(raised)]
    # In one piece: print sends the end of a line by itself, which a busy kernel shows as an output of its own.
    lines = [line for text in texts for line in text.splitlines()]
    sys.stdout.write("".join(textwrap.fill(line, width, subsequent_indent="  ") + "\n" for line in lines))


def spoken(error: BaseException) -> str:
    """An error or warning as Python ends a traceback with it: ``GroupError: sensitive feature ...``."""
    return f"{type(error).__name__}: {error}"
