"""What may have to be alike between groups, and what a recommendation sees of one attribute."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...core.errors import ConfigurationError
from ...methods import METHODS
from .fitting import PCA, Fitted
from .frontier import Frontier
from .judging import Judgement, Row


@dataclass(frozen=True)
class Concern:
    """What is to be alike.

    Parameters
    ----------
    gap : str
        The metric that tells whether it is alike under principal components.
    metric : str
        The metric that methods compete in.
    words : str
        What is to be alike, for a reader.
    equalises : tuple of str
        What the methods that are made for it say they equalise.
    """

    gap: str
    metric: str
    words: str
    equalises: tuple[str, ...]


CONCERNS: Mapping[str, Concern] = {
    "losses": Concern("loss gap", "worst loss", "nobody much worse off than with directions of their own", ("losses",)),
    "errors": Concern("error gap", "error gap", "all groups rebuilt equally well", ("errors",)),
    "means": Concern(
        "mean distance",
        "mean distance",
        "the means of all groups in the same place",
        ("means", "means and covariances", "distributions"),
    ),
}


def require_concern(concern: str) -> Concern:
    """The concern of that name."""
    if not isinstance(concern, str) or concern not in CONCERNS:
        raise ConfigurationError(f"concern={concern!r}; needed is one of {', '.join(map(repr, CONCERNS))}.")
    return CONCERNS[concern]


@dataclass(frozen=True, eq=False)
class Seen:
    """What the rule sees of one attribute: at k components, the methods, what they do, and what is possible.

    Parameters
    ----------
    attribute : str
        The groups.
    k : int
        Number of components.
    fits : mapping of str to Fitted
        By method.
    judged : mapping of str to Judgement
        By method with an answer; on the held-out part, or on the fitting part where nothing is held out.
    fitted : mapping of str to Judgement
        The same on the fitting part.
    rows : mapping of str to list of Row
        What was measured on the part of ``judged``, with what readers find.
    frontier : Frontier or None
        Of the fitting part; None where k directions are all that vary.
    """

    attribute: str
    k: int
    fits: Mapping[str, Fitted]
    judged: Mapping[str, Judgement]
    fitted: Mapping[str, Judgement]
    rows: Mapping[str, Sequence[Row]]
    frontier: Frontier | None

    def row(self, method: str, metric: str) -> Row | None:
        """One number about all rows; None where it was not measured."""
        found = (r for r in self.rows[method] if r.metric == metric and not r.group and np.isfinite(r.value))
        return next(found, None)

    @property
    def held_out(self) -> bool:
        """Whether the methods are judged on rows they were not fitted to."""
        return self.judged[PCA].part.name == "held out"

    @property
    def where(self) -> str:
        """The rows that the methods are judged on, in words."""
        return "on held-out rows" if self.held_out else "on the rows it was fitted to"

    def made_for(self, what: Concern) -> list[str]:
        """The methods that were asked for and are made for a concern, with or without an answer."""
        return [name for name in self.fits if METHODS[name].equalises in what.equalises]

    def possible(self, method: str, what: Concern) -> dict[str, float]:
        """How a method stands to the frontier of the fitting part; nothing where there is no such curve for it."""
        curves = {} if self.frontier is None else self.frontier.curves
        curve, estimator = curves.get(what.metric), self.fits[method].estimator
        # The frontier is one of projections; encoder and decoder of an oblique map differ.
        if curve is None or not np.allclose(estimator.components_, estimator.subspace_.V.T):
            return {}
        y, x = self.fitted[method].statistic(what.metric)[0], self.fitted[method].average
        return {
            "cheapest": min(float(curve.cheapest(y)), x),  # bounds are met to rounding
            "average, fitting": x,
            "average of PCA, fitting": self.fitted[PCA].average,
            "metric, fitting": y,
            "smallest possible": float(curve.points[-1, 1]),
        }
