"""What all displays share: axes to draw on, names and looks of estimators, the groups as the estimators see them."""

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from ..core.errors import ConfigurationError, GroupError
from ..core.groups import label_text
from ..core.moments import GroupMoments
from ..methods import of_estimator
from ..metrics import linear_map
from ..metrics.group_frame import input_moments
from ..metrics.linear_map import in_units, map_errors, second_moments
from .method_looks import looks
from .style import settings

#: Means and scales of estimators are the same up to this share of their size.
SAME = 1e-9


@contextmanager
def drawing(ax):
    """Axes to draw on, a new figure's unless given; the look of the book holds inside and nothing global changes."""
    try:
        import matplotlib as mpl
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ConfigurationError(
            "drawing needs matplotlib, which is not installed: pip install 'evenspan[audit]'."
        ) from error
    with mpl.rc_context(settings()):
        if ax is None:
            _, ax = plt.subplots(figsize=(7.2, 5.0), layout="constrained")
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
        for name, answer in answers.items():
            pairs = {
                "n_components": (first.V.shape, answer.V.shape),
                "mean": (first.mean, answer.mean),
                "scale": (_scale(first), _scale(answer)),
            }
            unlike = [what for what, (a, b) in pairs.items() if np.shape(a) != np.shape(b) or not _same(a, b)]
            if unlike:
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
            raise GroupError(
                f"there are {self.seen.G} groups ({', '.join(texts(self.seen.labels)[:6])}); {what} is about two. "
                "Select two of them, or use FrontierDisplay with against='worst'."
            )


class RangeDisplay:
    """A figure of all that projections reach, with estimators as marks; made from rows or from moments."""

    @classmethod
    def from_estimator(
        cls, estimator, X=None, *, moments=None, sensitive_features=None, sample_weight=None, ax=None, **kwargs
    ):
        """Judge fitted estimators, find what is possible on the same rows, and draw.

        Parameters
        ----------
        estimator : fitted linear estimator, FairSubspace, or dict of them
            All with the same number of components, mean and scale.
        X : array-like or DataFrame of shape (n, d), optional
            Rows to judge on. Either these or ``moments``.
        moments : GroupMoments, optional
            Moments to judge on.
        sensitive_features : array-like of shape (n,) or (n, p), Series or DataFrame; or str, list of str
            Groups of the rows; with moments which of their attributes make the groups, all but "block" unless given.
        sample_weight : array-like of shape (n,), optional
            Frequency weights of the rows.
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
    for number, (name, look) in enumerate(looks(points).items()):
        dress = {"markersize": max(13 - number, 5), "markeredgewidth": 1.8, "label": plain(name), "zorder": 4}
        lines += axes.plot(*points[name], **look.open() | dress | {"linestyle": "none"} | options)
    return lines


def texts(labels: np.ndarray) -> list[str]:
    """Labels of groups as a figure shows them: never read as a formula."""
    return [plain(label_text(label)) for label in labels]


def plain(text) -> str:
    """Text that matplotlib shows as it is."""
    return str(text).replace("$", r"\$")


def _same(a, b) -> bool:
    return np.allclose(a, b, rtol=SAME, atol=SAME * np.abs(b).max(initial=0.0))


def _scale(answer) -> np.ndarray:
    return np.ones(len(answer.mean)) if answer.scale is None else answer.scale
