"""What all displays share: axes to draw on, names and looks of estimators, the groups as the estimators see them."""

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

import numpy as np

from ..core.errors import ConfigurationError, GroupError
from ..core.groups import label_text
from ..core.inputs import first_few, require_package
from ..core.moments import GroupMoments
from ..methods import of_estimator
from ..metrics import linear_map
from ..metrics.group_frame import input_moments
from ..metrics.linear_map import in_units, map_errors, second_moments
from .method_styles import styles_of
from .style import settings


@contextmanager
def drawing(ax):
    """Axes to draw on, a new figure's unless given; the look of the book holds inside and nothing global changes."""
    mpl = require_package("matplotlib.pyplot", "audit")
    with mpl.rc_context(settings()):
        if ax is None:
            _, ax = mpl.pyplot.subplots(figsize=(7.2, 5.0), layout="constrained")
        yield ax


def key(axes) -> None:
    """The legend below the axes, where it hides nothing."""
    axes.legend(fontsize="small", loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)


def named(estimator) -> dict[str, object]:
    """Estimators by name: the keys of a dict, or what the method is called."""
    if isinstance(estimator, Mapping):
        if not estimator:
            raise ConfigurationError("estimator is an empty dict; needed is at least one fitted estimator.")
        return {str(name): fitted for name, fitted in estimator.items()}
    try:
        return {of_estimator(estimator): estimator}
    except (ConfigurationError, AttributeError):
        return {type(estimator).__name__: estimator}


@dataclass(frozen=True, eq=False)
class Judged:
    """The groups in the units that all estimators share, about the point that they share, and what each leaves them."""

    seen: GroupMoments  # of the rows less the shared mean, over the shared scale
    k: int
    errors: dict[str, np.ndarray]  # mean squared errors (G,) under every estimator

    @classmethod
    def of(cls, estimator, X, moments, sensitive_features, sample_weight=None) -> "Judged":
        """Judge one or several estimators on rows or moments; ConfigurationError where they do not fit together."""
        fitted = named(estimator)
        found, _ = input_moments(X, moments, sensitive_features, sample_weight, fitted=fitted, blocks=None)
        answers = {name: linear_map(one) for name, one in fitted.items()}
        first_name, first = next(iter(answers.items()))
        noise = {"mean": found.scale().max()}  # a mean near zero has rounding errors of the size of the rows
        for name, answer in answers.items():
            pairs = {what: (part(first), part(answer), noise.get(what, 0.0)) for what, part in SHARED.items()}
            if unlike := [what for what, pair in pairs.items() if not _same(*pair)]:
                raise ConfigurationError(
                    f"{first_name} and {name} differ in {', '.join(unlike)}, so that their errors do not lie in one "
                    "figure. Fit them to the same rows, with the same n_components and standardize."
                )
        errors = {name: map_errors(found, answer) for name, answer in answers.items()}
        return cls(in_units(found, first), first.V.shape[1], errors)

    @property
    def second_moments(self) -> np.ndarray:
        """Mean squares and products (G, d, d) of every group about the point that the estimators subtract."""
        return second_moments(self.seen)

    def require_two(self, what: str) -> None:
        """GroupError unless there are two groups."""
        if self.seen.G != 2:
            seen = f"there are {self.seen.G} groups ({first_few(texts(self.seen.labels))}); {what} is about two"
            raise GroupError(f"{seen}. Select two of them, or use FrontierDisplay with against='worst'.")


class RangeDisplay:
    """A figure of all that projections reach, with estimators as marks; made from rows or from moments."""

    @classmethod
    def from_estimator(
        cls, estimator, X=None, *, moments=None, sensitive_features=None, sample_weight=None, ax=None, **kwargs
    ) -> Self:
        """Judge fitted estimators, find what is possible on the same rows, and draw.

        Parameters
        ----------
        estimator : fitted linear estimator, FairSubspace, or dict of them
            All with the same number of components, mean and scale.
        X, moments, sensitive_features, sample_weight : optional
            Rows or moments to judge on, and their groups, as in ``GroupFrame``.
        ax : Axes, optional
            Axes of matplotlib to draw on; those of a new figure unless given.
        **kwargs : dict
            For ``plot``; for ``FrontierDisplay`` also ``against``.

        Returns
        -------
        Display
            Drawn.
        """
        return cls._drawn(Judged.of(estimator, X, moments, sensitive_features, sample_weight), ax, **kwargs)


def marks(axes, points: Mapping[str, tuple[float, float]], **options) -> list:
    """An open mark for every estimator, of falling size: those with the same answer stay visible inside each other."""
    lines = []
    for number, (name, look) in enumerate(styles_of(points).items()):
        dress = {"markersize": max(13 - number, 5), "markeredgewidth": 1.8, "label": plain(name), "zorder": 4}
        lines += axes.plot(*points[name], **look.open() | dress | {"linestyle": "none"} | options)
    return lines


def texts(labels: np.ndarray) -> list[str]:
    """Labels of groups as a figure shows them: never read as a formula."""
    return [plain(label_text(label)) for label in labels]


def plain(text) -> str:
    """Text that matplotlib shows as it is."""
    return str(text).replace("$", r"\$")


#: What estimators in one figure have in common.
SHARED = {
    "n_components": lambda answer: np.array(answer.V.shape),
    "mean": lambda answer: answer.mean,
    "scale": lambda answer: np.ones(len(answer.mean)) if answer.scale is None else answer.scale,
}


def _same(a: np.ndarray, b: np.ndarray, noise: float) -> bool:
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-9, atol=1e-9 * max(np.abs(b).max(initial=0.0), noise))
