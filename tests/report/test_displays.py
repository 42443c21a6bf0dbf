"""Displays draw the numbers they say, leave matplotlib's settings alone, and refuse what does not fit together."""

import builtins
import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from evenspan import (
    LEACE,
    DisparityFairPCA,
    FairPCA,
    FrontierDisplay,
    GroupFrame,
    GroupGapDisplay,
    GroupMoments,
    JointRange,
    JointRangeDisplay,
    MinMaxFairPCA,
    StandardPCA,
    metrics,
)
from evenspan.core.errors import ConfigurationError, GroupError
from evenspan.reconstruction.frontier_curves import Hull, gap_curve
from evenspan.reconstruction.group_errors import group_matrices

COUNTS = (200, 120, 60)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(4)
    at = np.repeat(np.arange(3), COUNTS)
    X = rng.normal(size=(380, 6)) * np.array([[3, 2, 1, 1, 0.5, 1], [1, 1, 4, 1, 2, 1], [0.5, 2, 1, 3, 1, 1]])[at] + 7
    X += np.array([[0, 0, 1, 0, 2, 0], [2, 1, 0, 0, 0, 0], [0, -2, 0, 1, 1, 0]])[at]
    return X, np.array(["azure", "beige", "crimson"])[at]


@pytest.fixture(scope="module")
def two(sample):
    X, groups = sample
    return X[:320], groups[:320]


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


def fits(X, groups):
    fitted = {
        "PCA": StandardPCA(2).fit(X),
        "Min-max error": MinMaxFairPCA(2, objective="error").fit(X, sensitive_features=groups),
        "Fair PCA": FairPCA(2).fit(X, sensitive_features=groups),
        "my own": StandardPCA(2).fit(X),
    }
    if len(np.unique(groups)) == 2:
        fitted["u-FPCA"] = DisparityFairPCA(2).fit(X, sensitive_features=groups)
    return fitted


def projections(d, k, n=400):
    rng = np.random.default_rng(0)
    return [np.linalg.qr(rng.normal(size=(d, k)))[0] for _ in range(n)]


# -- the frontier is one ------------------------------------------------------------------------------------------


def test_no_projection_passes_the_frontier_of_the_gap_and_its_vertices_are_reached(two):
    X, groups = two
    moments = GroupMoments.from_data(X, groups)
    shares, matrices = moments.counts / moments.n, group_matrices(moments)
    joint = JointRange(*matrices, 2)
    curve = gap_curve(joint, shares, "error gap", np.zeros(2))
    for V in projections(6, 2):
        pair = joint.pair(V)
        assert abs(pair[0] - pair[1]) >= curve.least(shares @ pair) - 1e-9
    x, y = curve.points.T
    # The first is PCA, alone in having so small an average error: no line through it bounds the gap there.
    np.testing.assert_allclose(y[1:], curve.least(x[1:]), atol=1e-6 * y[0])
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    # Its ends are PCA and the cheapest projection with equal errors, which the method for it finds on its own.
    fair = DisparityFairPCA(2).fit(X, sensitive_features=groups)
    assert y[-1] == pytest.approx(fair.gap_, abs=1e-6 * y[0])
    assert x[-1] == pytest.approx(metrics.average_error(moments, fair.subspace_), rel=1e-4)
    assert x[0] == pytest.approx(metrics.average_error(moments, StandardPCA(2).fit(X).subspace_), rel=1e-9)
    assert np.isinf(curve.least(x[0] * 0.99))
    # The chord between vertices is reached as well (the set is convex); it is nearly the bound.
    middle = 0.5 * (x[1:] + x[:-1])
    assert (0.5 * (y[1:] + y[:-1]) - curve.least(middle) < 0.02 * y[0]).all()


def test_a_gap_that_cannot_close_has_a_frontier_that_says_so():
    # The second group has ten times the spread in every direction.
    rng = np.random.default_rng(1)
    X = np.vstack([rng.normal(size=(100, 4)), 10 * rng.normal(size=(60, 4))])
    moments = GroupMoments.from_data(X, np.repeat(["a", "b"], [100, 60]))
    matrices = group_matrices(moments)
    joint = JointRange(*matrices, 1)
    curve = gap_curve(joint, moments.counts / moments.n, "error gap", np.zeros(2))
    smallest = -joint.extreme_gaps()[1]
    assert curve.points[-1, 1] == pytest.approx(smallest, rel=1e-9)
    assert curve.least(1e6) == pytest.approx(smallest, rel=1e-9)


def test_no_projection_passes_the_frontier_of_the_worst_error(sample):
    X, groups = sample
    moments = GroupMoments.from_data(X, groups)
    shares, matrices = moments.counts / moments.n, group_matrices(moments)
    curve = Hull(matrices, shares, 2).worst_curve("worst error", np.zeros(len(shares)))
    traces = np.trace(matrices, axis1=1, axis2=2)
    for V in projections(6, 2):
        e = traces - np.einsum("dk,gde,ek->g", V, matrices, V)
        assert e.max() >= curve.least(shares @ e) - 1e-9
    x, y = curve.points.T
    assert (y >= curve.least(x) - 1e-9).all()
    best = MinMaxFairPCA(2, objective="error", centring="fitted").fit(X, sensitive_features=groups)
    assert curve.least(10 * x[-1]) == pytest.approx(best.certificate_.dual, rel=1e-3)
    assert y[-1] == pytest.approx(best.group_errors_.max(), rel=0.02)
    assert y[0] > 1.02 * y[-1]


# -- what is drawn ------------------------------------------------------------------------------------------------


def test_frontier_display(two, sample):
    X, groups = two
    fitted = fits(X, groups)
    display = FrontierDisplay.from_estimator(fitted, X, sensitive_features=groups)
    moments = GroupMoments.from_data(X, groups)
    drawn = {line.get_label(): line.get_xydata()[0] for line in display.lines_}
    assert list(drawn) == list(fitted)
    for name, fit in fitted.items():
        expected = metrics.average_error(moments, fit.subspace_), metrics.error_gap(moments, fit.subspace_)
        np.testing.assert_allclose(drawn[name], expected, rtol=1e-9)
    frame = display.frame_
    assert frame.columns.tolist() == ["kind", "name", "average", "other", "bound"]
    points = frame[frame["kind"] == "estimator"]
    assert points["name"].tolist() == list(fitted)
    assert (points["other"] >= points["bound"] - 1e-9).all()
    np.testing.assert_array_equal(display.line_.get_xydata(), display.curve.points)
    assert display.figure_ is display.ax_.figure
    assert "gap" not in display.ax_.get_ylabel()
    assert display.ax_.get_ylabel() == "largest less smallest error of a group"
    by_moments = FrontierDisplay.from_moments(fitted, moments)
    pd.testing.assert_frame_equal(by_moments.frame_, frame)
    worst = FrontierDisplay.from_estimator(StandardPCA(2).fit(sample[0]), sample[0], sensitive_features=sample[1])
    assert worst.against == "worst"
    assert worst.frame_["name"].iloc[-1] == "PCA"
    assert worst.frame_["other"].iloc[-1] == pytest.approx(worst.curve.points[0, 1], rel=1e-6)


def test_joint_range_display(two):
    X, groups = two
    fitted = fits(X, groups) | {"LEACE": LEACE(2).fit(X, sensitive_features=groups)}
    display = JointRangeDisplay.from_estimator(fitted, X, sensitive_features=groups)
    moments = GroupMoments.from_data(X, groups)
    drawn = {line.get_label(): line.get_xydata()[0] for line in display.lines_}
    for name in ("PCA", "Fair PCA"):
        np.testing.assert_allclose(drawn[name], metrics.group_errors(moments, fitted[name].subspace_), rtol=1e-9)
    T = fitted["LEACE"].transform(X)
    residual = ((X - fitted["LEACE"].mean_ - T @ fitted["LEACE"].axes_.T) ** 2).sum(axis=1)
    np.testing.assert_allclose(drawn["LEACE"], [residual[groups == g].mean(axis=0) for g in ("azure", "beige")])
    edge = display.edge_.get_xydata()
    joint = JointRange.from_moments(moments, 2)
    for V in projections(6, 2, 100):  # no point of the edge is worse for both groups than what a projection reaches
        assert not (edge > joint.pair(V) + 1e-9).all(axis=1).any()
    assert display.ax_.get_xlabel() == "error of azure"
    assert display.ax_.get_ylabel() == "error of beige"
    assert set(display.frame_["kind"]) == {"boundary", "edge", "estimator"}
    near = JointRangeDisplay.from_moments({"PCA": fitted["PCA"], "u-FPCA": fitted["u-FPCA"]}, moments, zoom=True)
    assert np.ptp(near.ax_.get_xlim()) < 0.8 * np.ptp(display.ax_.get_xlim())


def test_the_range_is_about_the_point_that_the_estimators_subtract(two):
    X, groups = two
    half = np.random.default_rng(0).permutation(320) < 150
    fitted = fits(X[half], groups[half])
    display = JointRangeDisplay.from_estimator(fitted, X[~half], sensitive_features=groups[~half])
    held_out = GroupMoments.from_data(X[~half], groups[~half])
    for name, pair in display.points.items():
        np.testing.assert_allclose(pair, metrics.group_errors(held_out, fitted[name].subspace_), rtol=1e-9)
        np.testing.assert_allclose(pair, display.joint.pair(fitted[name].components_.T), rtol=1e-9)


def test_group_gap_display(sample):
    X, groups = sample
    fitted = fits(X, groups)
    display = GroupGapDisplay.from_estimator(fitted, X, sensitive_features=groups, metric="loss", n_boot=100)
    frame = GroupFrame(estimator=fitted, X=X, sensitive_features=groups, metrics="loss")
    assert [line.get_label() for line in display.lines_] == list(fitted)
    for line, bars in zip(display.lines_, display.intervals_, strict=True):
        name = line.get_label()
        np.testing.assert_allclose(line.get_ydata(), [*frame.by_group[name], frame.overall[name]], atol=1e-9)
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        rows = display.frame_[display.frame_["estimator"] == line.get_label()]
        np.testing.assert_array_equal(ends, rows[["low", "high"]])
        np.testing.assert_array_equal([segment[0, 0] for segment in bars.get_segments()], line.get_xdata())
    assert (display.frame_["low"] <= display.frame_["high"]).all()
    assert [label.get_text() for label in display.ax_.get_xticklabels()] == [
        "azure", "beige", "crimson", "all rows"
    ]  # fmt: skip
    assert display.ax_.get_ylabel() == "loss"
    # No two series look alike, with or without colours.
    looks = [(line.get_marker(), line.get_fillstyle(), line.get_markerfacecolor()) for line in display.lines_]
    assert len(set(looks)) == len(looks)


def test_one_estimator_shows_groups_by_their_own_looks(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    display = GroupGapDisplay.from_estimator(fitted, X, sensitive_features=groups, n_boot=None)
    assert len({line.get_marker() for line in display.lines_}) == 4
    assert len(display.plot(overall=False).lines_) == 3
    assert display.intervals_ == []
    assert display.ax_.get_title(loc="left") == "PCA"
    moments = GroupMoments.from_data(X, pd.DataFrame({"block": np.arange(380) % 40, "$tone$": groups}))
    drawn = GroupGapDisplay.from_moments(fitted, moments, n_boot=50, metric=lambda m, s: m.n)
    assert drawn.frame_["value"].tolist() == [200, 120, 60, 380]
    pairs = pd.DataFrame({"colour": groups, "price": np.array(["$1", "$2"])[np.arange(380) % 2]})
    display = GroupGapDisplay.from_estimator(fitted, X, sensitive_features=pairs, n_boot=None)
    assert display.frame_["group"].iloc[0] == "colour=azure, price=$1"
    display.figure_.canvas.draw()  # a dollar sign is no formula


# -- as scikit-learn's --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [FrontierDisplay, JointRangeDisplay, GroupGapDisplay])
def test_axes_are_given_or_made_and_settings_stay(kind, two):
    X, groups = two
    before = dict(mpl.rcParams)
    figure, panels = plt.subplots(1, 2)
    fitted = fits(X, groups)
    display = kind.from_estimator(fitted, X, sensitive_features=groups, ax=panels[1])
    assert display.ax_ is panels[1]
    assert display.figure_ is figure
    assert not panels[0].has_data()
    again = display.plot()
    assert again is display
    assert display.ax_ is not panels[1]
    assert display.figure_.get_layout_engine() is not None
    assert display.ax_.get_legend() is not None
    display.plot(legend=False)
    assert display.ax_.get_legend() is None
    display.figure_.canvas.draw()
    assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_extra_is_named(two, monkeypatch):
    X, groups = two
    found = builtins.__import__

    def no_matplotlib(name, *args, **kwargs):
        if name.partition(".")[0] == "matplotlib":
            raise ImportError("No module named 'matplotlib'")
        return found(name, *args, **kwargs)

    for name in [name for name in sys.modules if name.partition(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    with pytest.raises(ConfigurationError, match=r"pip install 'evenspan\[audit\]'"):
        JointRangeDisplay.from_estimator(StandardPCA(2).fit(X), X, sensitive_features=groups)


def test_what_does_not_fit_together_is_refused(sample, two):
    X, groups = two
    pca = StandardPCA(2).fit(X)

    def refused(error, match, kind, estimator, X=X, groups=groups, **options):
        with pytest.raises(error, match=match):
            kind.from_estimator(estimator, X, sensitive_features=groups, **options)

    for kind in (FrontierDisplay, JointRangeDisplay):
        refused(ConfigurationError, "PCA and three differ in n_components", kind,
                {"PCA": pca, "three": StandardPCA(3).fit(X)})  # fmt: skip
        refused(ConfigurationError, "PCA and scaled differ in scale", kind,
                {"PCA": pca, "scaled": StandardPCA(2, standardize=True).fit(X)})  # fmt: skip
        refused(ConfigurationError, "differ in mean", kind, {"PCA": pca, "half": StandardPCA(2).fit(X[:100])})
        refused(ConfigurationError, "empty dict", kind, {})
    three = StandardPCA(2).fit(sample[0])
    refused(GroupError, "there are 3 groups .*; the joint range is about two", JointRangeDisplay, three, *sample)
    refused(GroupError, "use FrontierDisplay with against='worst'", FrontierDisplay, three, *sample, against="gap")
    refused(ConfigurationError, "against='loss'", FrontierDisplay, pca, against="loss")
    refused(GroupError, "one group only", FrontierDisplay, pca, groups=np.zeros(320, dtype=int))
    refused(ConfigurationError, "a display shows one", GroupGapDisplay, pca, metric=["error", "loss"])
    refused(ConfigurationError, "level=95", GroupGapDisplay, pca, level=95)
