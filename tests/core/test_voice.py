"""One voice: what every estimator says to the same mistake, and of which kind its error or warning is."""

import inspect
import warnings
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    FairError,
    FeatureTypeError,
    GroupError,
)

from .every import ALL, CLUSTERERS, PLAIN, TRANSFORMERS, fit, make
from .samples import draw

S = draw(counts=(60, 40, 20))
X, GROUPS = S.X, S.groups  # 120 rows, 6 features, 3 groups
FAIR = {name for name in ALL if name not in PLAIN}
#: Those that compare two groups by nature, and those to which six groups leave no direction of six.
TWO_GROUPS = {"ConvexFairPCA", "DisparityFairPCA", "FairAlignmentClustering", "RobustFairPCA"}


def spoilt(value):
    bad = X.copy()
    bad[7, 2] = value
    return bad


MISTAKES = {
    "missing entries": (spoilt(np.nan), GROUPS, {}, DataError, ["NaN or inf", "2 (1)", "finite"], set(ALL)),
    "a column of text": (pd.DataFrame(X, columns=list("uvwxyz")).assign(w="high"), GROUPS, {}, FeatureTypeError,
                         ["'w'", "not numeric", "Encode"], set(ALL)),
    "too few groups": (X, GROUPS[:50], {}, GroupError, ["50 rows", "X has 120", "one entry for each row"], FAIR),
    "a missing label": (X, pd.Series(GROUPS).where(np.arange(120) > 2), {}, GroupError, ["3 missing", "Drop"], FAIR),
    "one group": (X, ["all"] * 120, {}, GroupError, ["one group only", "'all'"], FAIR),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_same_mistake_has_the_same_answer(name):
    table, groups, options, kind, words, whom = MISTAKES[name]
    offenders = []
    for estimator in sorted(whom):
        with pytest.raises(ValueError) as told:
            fit(make(estimator, **options), table, groups)
        said = [type(told.value).__name__, *(word for word in words if word not in str(told.value))]
        offenders += [] if said == [kind.__name__] else [(estimator, *said, str(told.value))]
    assert offenders == []


@pytest.mark.parametrize("size", [0, 2.5, True, 200])
def test_the_number_of_components_or_clusters(size):
    """What was asked for, and how many there can be."""
    offenders = []
    for name in ALL:
        with pytest.raises(FairError) as told:
            fit(make(name, size), X, GROUPS)
        word = f"{'n_clusters' if name in CLUSTERERS else 'n_components'}={size!r}"
        right = type(told.value) is ComponentsError and word in str(told.value)
        offenders += [] if right else [(name, type(told.value).__name__, str(told.value))]
    assert offenders == []


def test_every_option_is_checked_by_its_name():
    offenders = []
    for name, kind in ALL.items():
        for option in {one.name for one in fields(kind)} - {"n_components", "n_clusters", "positive_label"}:
            with pytest.raises(ConfigurationError) as told:
                fit(make(name, **{option: object()}), X, GROUPS)
            if not (str(told.value).startswith(f"{option}=<object") and "needed is" in str(told.value)):
                offenders.append((name, option, str(told.value)))
    assert offenders == []
    assert {option for kind in ALL.values() for option in kind().get_params()} >= {"tol", "max_iter", "attributes"}


def test_components_have_an_order_and_none_stands_for_as_many_as_there_can_be():
    wide = np.hstack([X, np.random.default_rng(0).normal(size=(len(X), 6))])
    for name in TRANSFORMERS:
        groups = GROUPS if name not in TWO_GROUPS else GROUPS == "azure"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(make(name), wide, groups)
            if hasattr(model, "subspace_") and name != "StreamingFairPCA":
                assert (np.diff(model.explained_variance_) <= 1e-9 * model.explained_variance_[0]).all(), name
                if name not in ("SparseFairPCA", "JEVDPCA"):  # whose columns are told apart by more than variance
                    V, S = model.components_.T, np.cov(wide.T)
                    np.testing.assert_allclose((V.T @ S @ V)[0, 1], 0.0, atol=1e-6 * np.trace(S), err_msg=name)
                most = fit(make(name, None), wide, groups)
                assert len(most.explained_variance_) >= wide.shape[1] - (11 if name == "INLP" else 5), name


def test_weights_are_frequencies_whose_unit_does_not_matter():
    """Only radii and differences of covariances know how many rows there are."""
    w, known = np.random.default_rng(1).integers(1, 4, len(X)).astype(float), []
    for name in TRANSFORMERS:
        if "sample_weight" not in inspect.signature(ALL[name].fit).parameters:
            continue
        known.append(name)
        groups = GROUPS if name not in {*TWO_GROUPS, "NullItOutPCA", "StreamingFairPCA"} else GROUPS == "azure"
        twice, *others = (
            make(name).fit(rows, sensitive_features=labels, sample_weight=weights)
            for rows, labels, weights in (
                (np.repeat(X, w.astype(int), axis=0), np.repeat(groups, w.astype(int)), None),
                (X, groups, w), (X, groups, w / w.sum()), (X, groups, 1e9 * w),
            )
        )  # fmt: skip
        scores = np.abs(twice.transform(X))
        for model, n in zip(others, (w.sum(), np.inf, np.inf), strict=True):
            rtol = {"RobustFairPCA": 0.02, "NullItOutPCA": 0.02, "SparseFairPCA": 1e-3}.get(name, 1e-7)
            np.testing.assert_allclose(np.abs(model.transform(X)), scores, rtol=rtol, atol=rtol, err_msg=name)
            if hasattr(model, "explained_variance_"):
                ratio = (1.0 if n == np.inf else n / (n - 1)) / (w.sum() / (w.sum() - 1))
                variances = ratio * twice.explained_variance_
                np.testing.assert_allclose(model.explained_variance_, variances, rtol=rtol, err_msg=name)
    assert {"FairPCA", "LEACE", "MinMaxFairPCA", "FairKernelPCA", "NullItOutPCA"} <= {*known}
    with pytest.raises(GroupError, match=r"has 0\.2 sample"):
        make("MinMaxFairPCA").fit(X, sensitive_features=np.arange(len(X)) == 3, sample_weight=0.2 * np.ones(len(X)))


def test_single_precision_is_given_back_and_never_computed_in():
    for name in TRANSFORMERS:
        groups = GROUPS if name not in {*TWO_GROUPS, "NullItOutPCA", "StreamingFairPCA"} else GROUPS == "azure"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mixed = pd.DataFrame(X.astype(np.float32), columns=list("abcdef")).astype({"a": float})
            assert fit(make(name), mixed, groups).transform(mixed).dtype == np.float64, name
            single, double, whole = (
                fit(make(name), table, groups)
                for table in (X.astype(np.float32), X.astype(np.float32).astype(float), (8 * X).astype(np.int64))
            )
        found = single.transform(X)
        assert [one.transform(X).dtype for one in (single, double, whole)] == [np.float32, np.float64, np.float64], name
        if hasattr(single, "inverse_transform"):
            assert single.inverse_transform(found).dtype == np.float32, name
        if name != "StreamingFairPCA":  # whose blocks of single numbers stay single
            np.testing.assert_array_equal(found, double.transform(X).astype(np.float32), err_msg=name)


def test_iterations_say_whether_they_converged():
    for name in [name for name in ALL if "max_iter" in ALL[name]().get_params()]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = fit(make(name), X, GROUPS if name not in TWO_GROUPS else GROUPS == "azure")
        assert type(model.converged_) is bool, name
        assert type(model.n_iter_) is int, name
