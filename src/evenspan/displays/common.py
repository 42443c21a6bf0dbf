"""What all displays share: axes to draw on, names and looks of estimators, the groups as the estimators see them."""

from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np

from ..core.errors import ConfigurationError, GroupError
from ..core.groups import label_text
from ..core.moments import GroupMoments
from ..methods import of_estimator
from ..metrics import linear_map
from ..metrics.group_input import input_moments
from ..metrics.linear_map import in_units, map_errors
from .method_looks import Look, looks
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


def dressed(names) -> dict[str, Look]:
    """A look for each name; names of no known method get colours and markers of their own."""
    return looks(names, others=True)


def seen_groups(fitted: Mapping, X, moments, sensitive_features, sample_weight=None) -> tuple[GroupMoments, int]:
    """The groups in the units that all estimators share, about the point that they share, and their k."""
    found, _, _ = input_moments(X, moments, sensitive_features, None, sample_weight, fitted=fitted, blocks=None)
    answers = {name: linear_map(estimator) for name, estimator in fitted.items()}
    first_name, first = next(iter(answers.items()))
    for name, answer in answers.items():
        unlike = [
            what
            for what, a, b in (
                ("n_components", first.V.shape, answer.V.shape),
                ("mean", first.mean, answer.mean),
                ("scale", _scale(first), _scale(answer)),
            )
            if np.shape(a) != np.shape(b) or not np.allclose(a, b, rtol=SAME, atol=SAME * np.abs(b).max(initial=0.0))
        ]
        if unlike:
            raise ConfigurationError(
                f"{first_name} and {name} differ in {', '.join(unlike)}, so that their errors do not lie in one "
                "figure. Fit them to the same rows, with the same n_components and standardize."
            )
    return in_units(found, first), first.V.shape[1]


def errors_by_name(fitted: Mapping, X, moments, sensitive_features, sample_weight=None) -> dict[str, np.ndarray]:
    """Errors (G,) of the groups under every estimator."""
    found, _, _ = input_moments(X, moments, sensitive_features, None, sample_weight, fitted=fitted, blocks=None)
    return {name: map_errors(found, linear_map(estimator)) for name, estimator in fitted.items()}


def texts(labels: np.ndarray) -> list[str]:
    """Labels of groups as a figure shows them: never read as a formula."""
    return [plain(label_text(label)) for label in labels]


def plain(text) -> str:
    """Text that matplotlib shows as it is."""
    return str(text).replace("$", r"\$")


def require_two(moments: GroupMoments, what: str) -> None:
    """GroupError unless there are two groups."""
    if moments.G != 2:
        raise GroupError(
            f"there are {moments.G} groups ({', '.join(texts(moments.labels)[:6])}); {what} is about two. Select two "
            "of them, or use FrontierDisplay with against='worst'."
        )


def _scale(answer) -> np.ndarray:
    return np.ones(len(answer.mean)) if answer.scale is None else answer.scale
