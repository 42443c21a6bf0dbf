"""What an audit found, and what can be done with it: a pipeline, figures, a report, a folder."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
from sklearn.pipeline import Pipeline

from ..core.errors import ConfigurationError
from ..core.estimator import SubspaceEstimator
from .analysis.recommendation import Recommendation
from .sample import Sample

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
    def figures(self) -> "dict[str, Figure]":
        """Figures of the report by name, made when they are first asked for."""
        from .page.figures import make

        return make(self)

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
            A new folder, an empty one, or one that holds an earlier audit and nothing else, which is replaced.
            Otherwise nothing is written, and a ConfigurationError names what is in the way.

        Returns
        -------
        list of Path
            What was written: ``report.html``, ``tables/*.csv``, ``figures/*.svg``, ``transformers/*.npz`` (as
            ``evenspan.save`` writes them) and ``settings.json``.
        """
        from .writing import write

        return write(self, Path(folder))
