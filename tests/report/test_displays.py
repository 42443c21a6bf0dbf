"""Displays draw the numbers they say, leave matplotlib's settings alone, and refuse what does not fit together."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA

import evenspan as es
from evenspan import FrontierDisplay, GroupGapDisplay, GroupMoments, JointRangeDisplay, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, GroupError
from evenspan.methods import METHODS, of_estimator

COUNTS = (200, 120, 60)


@pytest.fixture(scope="module")
def three():
    rng = np.random.default_rng(4)
    at = np.repeat(np.arange(3), COUNTS)
    X = rng.normal(size=(380, 6)) * np.array([[3, 2, 1, 1, 0.5, 1], [1, 1, 4, 1, 2, 1], [0.5, 2, 1, 3, 1, 1]])[at] + 7
    X += np.array([[0, 0, 1, 0, 2, 0], [2, 1, 0, 0, 0, 0], [0, -2, 0, 1, 1, 0]])[at]
    return X, np.array(["azure", "beige", "crimson"])[at]


@pytest.fixture(scope="module")
def two(three):
    return three[0][:320], three[1][:320]


def fits(X, groups):
    fitted = {
        "PCA": StandardPCA(2).fit(X),
        "Min-max error": es.MinMaxFairPCA(2, objective="error").fit(X, sensitive_features=groups),
        "Fair PCA": es.FairPCA(2).fit(X, sensitive_features=groups),
        "my own": StandardPCA(2).fit(X),
    }
    if len(np.unique(groups)) == 2:
        fitted["u-FPCA"] = es.DisparityFairPCA(2).fit(X, sensitive_features=groups)
    return fitted


def projections(d, k, n=400):
    rng = np.random.default_rng(0)
    return [np.linalg.qr(rng.normal(size=(d, k)))[0] for _ in range(n)]


def errors_of(moments, V, mean):
    """Errors (G,) of a projection about a point, from the moments."""
    return metrics.operator_errors(moments, V @ V.T, mean=mean, centring="fitted")


def test_the_frontier_of_the_gap_is_passed_by_no_projection_and_its_ends_are_known_methods(two):
    X, groups = two
    fitted, moments = fits(X, groups), GroupMoments.from_data(X, groups)
    display = FrontierDisplay.from_estimator(fitted, X, sensitive_features=groups)
    curve, shares = display.curve, moments.counts / moments.n
    for V in projections(6, 2):
        e = errors_of(moments, V, X.mean(axis=0))
        assert np.ptp(e) >= curve.least(shares @ e) - 1e-9
    x, y = curve.points.T
    # The first is PCA, alone in having so small an average error: no line through it bounds the gap there.
    np.testing.assert_allclose(y[1:], curve.least(x[1:]), atol=1e-6 * y[0])
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    drawn = {line.get_label(): line.get_xydata()[0] for line in display.lines_}
    assert list(drawn) == list(fitted)
    for name, fit in fitted.items():
        expected = shares @ metrics.group_errors(moments, fit.subspace_), metrics.error_gap(moments, fit.subspace_)
        np.testing.assert_allclose(drawn[name], expected, rtol=1e-9)
    np.testing.assert_allclose([x[0], y[0]], drawn["PCA"], rtol=1e-9)
    np.testing.assert_allclose([x[-1], y[-1]], drawn["u-FPCA"], rtol=1e-4, atol=1e-6 * y[0])
    assert np.isinf(curve.least(x[0] * 0.99))
    pd.testing.assert_frame_equal(FrontierDisplay.from_estimator(fitted, moments=moments).frame_, display.frame_)


def test_the_frontier_of_the_worst_error_is_passed_by_no_projection(three):
    X, groups = three
    pca, moments = StandardPCA(2).fit(X), GroupMoments.from_data(X, groups)
    display = FrontierDisplay.from_estimator(pca, X, sensitive_features=groups)
    curve, shares = display.curve, moments.counts / moments.n
    assert display.against == "worst"
    assert display.points == {"PCA": pytest.approx((curve.points[0, 0], curve.points[0, 1]), rel=1e-6)}
    for V in projections(6, 2):
        e = errors_of(moments, V, X.mean(axis=0))
        assert e.max() >= curve.least(shares @ e) - 1e-9
    x, y = curve.points.T
    assert (y >= curve.least(x) - 1e-9).all()
    best = es.MinMaxFairPCA(2, objective="error", center="overall").fit(X, sensitive_features=groups)
    assert curve.least(10 * x[-1]) == pytest.approx(best.certificate_.dual, rel=1e-3)
    assert y[-1] == pytest.approx(best.group_errors_.max(), rel=0.02)
    assert y[0] > 1.02 * y[-1]


def test_the_group_gap_shows_the_frame_of_groups_with_its_intervals(three):
    X, groups = three
    fitted = fits(X, groups)
    display = GroupGapDisplay.from_estimator(fitted, X, sensitive_features=groups, metric="loss", n_boot=100)
    frame = es.GroupFrame(estimator=fitted, X=X, sensitive_features=groups, metrics="loss")
    assert [line.get_label() for line in display.lines_] == list(fitted)
    for line, bars in zip(display.lines_, display.intervals_, strict=True):
        name, segments = line.get_label(), bars.get_segments()
        np.testing.assert_allclose(line.get_ydata(), [*frame.by_group[name], frame.overall[name]], atol=1e-9)
        rows = display.frame_[display.frame_["estimator"] == name]
        np.testing.assert_array_equal([segment[:, 1] for segment in segments], rows[["low", "high"]])
        np.testing.assert_array_equal([segment[0, 0] for segment in segments], line.get_xdata())
    assert (display.frame_["low"] <= display.frame_["high"]).all()


def test_the_joint_range_shows_the_errors_of_the_two_groups(two):
    X, groups = two
    fitted, moments = fits(X, groups), GroupMoments.from_data(X, groups)
    display = JointRangeDisplay.from_estimator(fitted, X, sensitive_features=groups)
    edge = display.edge_.get_xydata()
    for line, (name, fit) in zip(display.lines_, fitted.items(), strict=True):
        errors = metrics.group_errors(moments, fit.subspace_)
        assert line.get_label() == name
        np.testing.assert_allclose(line.get_xydata()[0], errors, rtol=1e-9)
        assert not (edge > errors + 1e-9).all(axis=1).any()  # no point of the edge is worse for both groups


def test_what_does_not_fit_together_is_refused(three, two):
    X, _ = two
    pca = StandardPCA(2).fit(X)
    scaled, half = StandardPCA(2, standardize=True).fit(X), StandardPCA(2).fit(X[:100])
    every = StandardPCA(2).fit(three[0])
    for error, match, kind, estimator, part, options in [
        (ConfigurationError, "differ in n_comp", JointRangeDisplay, {"a": pca, "b": StandardPCA(3).fit(X)}, two, {}),
        (ConfigurationError, "differ in .*scale", JointRangeDisplay, {"a": pca, "b": scaled}, two, {}),
        (ConfigurationError, "differ in mean", FrontierDisplay, {"a": pca, "b": half}, two, {}),
        (GroupError, "3 groups .*; the joint range", JointRangeDisplay, every, three, {}),
        (GroupError, "with against='worst'", FrontierDisplay, every, three, {"against": "gap"}),
        (ConfigurationError, "against='loss'", FrontierDisplay, pca, two, {"against": "loss"}),
        (ConfigurationError, "a display shows one", GroupGapDisplay, pca, two, {"metric": ["error", "loss"]}),
        (ConfigurationError, "level=95", GroupGapDisplay, pca, two, {"level": 95}),
    ]:
        with pytest.raises(error, match=match):
            kind.from_estimator(estimator, part[0], sensitive_features=part[1], **options)


def test_estimators_are_known_by_class_and_settings():
    made = {name: of_estimator(method.make(2, 0)) for name, method in METHODS.items()}
    assert made == {name: name for name in METHODS}
    others = {"FKKM": es.FairKernelKMeans(2), "Fair kernel PCA": es.FairKernelPCA(2),
              "Streaming mean matching": es.StreamingFairPCA(2, constraint="mean"),
              "PCA": es.StreamingFairPCA(2, constraint="vanilla")}  # fmt: skip
    assert {name: of_estimator(estimator) for name, estimator in others.items()} == {name: name for name in others}
    with pytest.raises(ConfigurationError, match="PCA is no method"):
        of_estimator(PCA(2))
