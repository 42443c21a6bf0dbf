"""The judge of reconstruction against the same quantities computed from the points."""

import numpy as np
import pytest

from evenspan import FairPCA, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError


@pytest.mark.parametrize("standardize", [False, True])
def test_errors_are_those_of_the_points_about_every_centre(sample, standardize):
    X, frame = sample
    fit, new = X[:250], X[250:]
    colour = frame["colour"][250:].to_numpy()
    fitted = FairPCA(2, standardize=standardize).fit(fit, sensitive_features=frame["colour"][:250])
    moments, V = GroupMoments.from_data(new, colour), fitted.subspace_.V
    scale = X[:250].std(axis=0) if standardize else np.ones(5)
    P = 0.3 * np.random.default_rng(2).normal(size=(5, 5))
    training = moments.means + np.random.default_rng(3).normal(size=(3, 5))
    at = np.unique(colour, return_inverse=True)[1]
    for centring, means, centre in [
        ("fitted", None, np.tile(fitted.mean_, (3, 1))),
        ("group", None, moments.means),
        ("group", training, training),
    ]:
        Z, options = (new - centre[at]) / scale, {"centring": centring, "means": means}
        for operator in (V @ V.T, P):
            literal = [(((Z - Z @ operator.T)[at == g]) ** 2).sum(axis=1).mean(axis=0) for g in range(3)]
            found = metrics.operator_errors(moments, operator, mean=fitted.mean_, scale=scale, **options)
            np.testing.assert_allclose(found, literal, rtol=1e-9)
            if operator is not P:
                errors = metrics.group_errors(moments, fitted.subspace_, **options)
                np.testing.assert_allclose(errors, literal, rtol=1e-9)
                assert errors.max() > 1.5 * errors.min()  # the groups really differ, so a mix-up would show


def test_summaries_are_of_the_rows_and_split_the_total_variance(sample):
    X, frame = sample
    moments, fitted = GroupMoments.from_data(X, frame["colour"]), StandardPCA(2).fit(X)
    squares = ((X - fitted.inverse_transform(fitted.transform(X))) ** 2).sum(axis=1)
    errors = [squares[frame["colour"] == label].mean(axis=0) for label in moments.labels]
    subspace, V = fitted.subspace_, fitted.components_.T
    assert metrics.error_gap(moments, subspace) == pytest.approx(max(errors) - min(errors))
    lost = squares.mean(axis=0) / X.var(axis=0).sum(axis=0)
    assert metrics.explained_variance(moments, V) == pytest.approx(1 - lost)


def test_variance_is_about_the_samples_own_mean_and_that_of_the_map_as_it_is_applied(sample):
    X, frame = sample
    new, V = X[250:], StandardPCA(2).fit(X[:250]).components_.T
    moments = GroupMoments.from_data(new, frame["colour"][250:])

    def share(B):
        return (new @ B).var(axis=0).sum(axis=0) / new.var(axis=0).sum(axis=0)

    assert metrics.explained_variance(moments, V) == pytest.approx(share(V))
    B = np.array([[2.0, 1.0], [0.0, -3.0], [1.0, 0.0], [0.0, 0.5], [0.1, 0.0]])
    assert metrics.retained_variance(moments, B) == pytest.approx(share(B))
    assert share(B) > 1, "a map that stretches: not the variance that its span would keep"
    assert metrics.explained_variance(moments, np.linalg.qr(B)[0]) < 1


def test_what_has_no_value_is_refused(sample):
    X, frame = sample
    moments, fitted = GroupMoments.from_data(X, frame["colour"]), StandardPCA(2).fit(X)
    flat = GroupMoments.from_data(np.ones((4, 5)), ["a", "a", "b", "b"])
    I = np.eye(5)[:, :2]  # noqa: E741
    for error, match, call in [
        (DataError, "no variance", lambda: metrics.explained_variance(flat, I)),
        (DataError, "no variance", lambda: metrics.retained_variance(flat, I)),
        (DataError, "not orthonormal.*orthonormalise", lambda: metrics.explained_variance(moments, 2 * I)),
        (DataError, "5 features", lambda: metrics.explained_variance(moments, I[1:])),
        (DataError, r"\(5, k\)", lambda: metrics.retained_variance(moments, I[1:])),
        (DataError, r"\(5, k\)", lambda: metrics.retained_variance(moments, np.ones(5))),
        (DataError, r"\(d, d\)", lambda: metrics.operator_errors(moments, I, mean=fitted.mean_, centring="fitted")),
        (ConfigurationError, "fitted.*group",
         lambda: metrics.group_errors(moments, fitted.subspace_, centring="global")),
        (ConfigurationError, "go with centring='group'",
         lambda: metrics.group_errors(moments, fitted.subspace_, means=moments.means)),
    ]:  # fmt: skip
        with pytest.raises(error, match=match):
            call()
