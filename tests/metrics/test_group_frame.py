"""GroupFrame against the judge's own functions, against the points, and against fairlearn's MetricFrame."""

import itertools

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame

from evenspan import LEACE, FairKernelPCA, FairPCA, FairSubspace, GroupFrame, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError, GroupError
from evenspan.metrics.group_input import default_blocks
from evenspan.reconstruction.group_errors import group_matrices, losses

COUNTS = (200, 120, 60)


@pytest.fixture(scope="module")
def sample():
    rng = np.random.default_rng(8)
    at = np.repeat(np.arange(3), COUNTS)
    scales, centres = np.array([1.0, 2.5, 0.5]), np.array([[0, 0, 1, 0, 2.0], [3, 1, 0, 0, 0], [0, -2, 0, 1, 1]])
    X = centres[at] + scales[at, None] * rng.normal(size=(380, 5)) * [3, 2, 1, 1, 0.5] + 20.0
    order = rng.permutation(380)
    frame = pd.DataFrame({"colour": np.array(["azure", "beige", "crimson"])[at], "shape": rng.choice([1, 2, 3], 380)})
    return X[order], frame.iloc[order].reset_index(drop=True)


def residuals(estimator, X):
    scale = 1.0 if estimator.subspace_.scale is None else estimator.subspace_.scale
    return (((X - estimator.inverse_transform(estimator.transform(X))) / scale) ** 2).sum(axis=1)


# -- values -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("standardize", [False, True])
def test_named_metrics_are_those_of_the_judge_and_of_the_points(sample, standardize):
    X, groups = sample
    fitted = FairPCA(2, standardize=standardize).fit(X[:250], sensitive_features=groups["colour"][:250])
    names = list(metrics.GROUP_METRICS)
    frame = GroupFrame(estimator=fitted, X=X, sensitive_features=groups["colour"], metrics=names)
    moments = GroupMoments.from_data(X, groups["colour"])
    np.testing.assert_allclose(frame.by_group["error"], metrics.group_errors(moments, fitted.subspace_), rtol=1e-12)
    assert frame.overall["error"] == pytest.approx(metrics.average_error(moments, fitted.subspace_), rel=1e-12)
    scale = 1.0 if fitted.subspace_.scale is None else fitted.subspace_.scale
    Z, T = (X - fitted.mean_) / scale, fitted.transform(X)
    for label, rows in [*groups.groupby("colour").indices.items(), (None, np.arange(380))]:
        found = frame.overall if label is None else frame.by_group.loc[label]
        error = residuals(fitted, X)[rows].mean(axis=0)
        own = np.linalg.svd(Z[rows], full_matrices=False)[1]
        assert found["error"] == pytest.approx(error, rel=1e-9)
        assert found["loss"] == pytest.approx(error - (own[2:] ** 2).sum(axis=0) / len(rows), rel=1e-7)
        assert found["relative error"] == pytest.approx(error / (Z[rows] ** 2).sum(axis=1).mean(axis=0), rel=1e-9)
        kept = T[rows].var(axis=0).sum(axis=0) / Z[rows].var(axis=0).sum(axis=0)
        assert found["explained variance"] == pytest.approx(kept, rel=1e-9)
        assert found["mean distance"] == pytest.approx(np.linalg.norm(T[rows].mean(axis=0)), abs=1e-9)
        assert found["count"] == len(rows)
    assert frame.by_group.index.name == "colour"
    assert frame.by_group["error"].max() > 1.5 * frame.by_group["error"].min()


def test_loss_is_that_of_the_methods(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    moments = GroupMoments.from_data(X, groups["colour"])
    frame = GroupFrame(estimator=fitted, moments=moments, metrics="loss")
    np.testing.assert_allclose(frame.by_group, losses(group_matrices(moments), fitted.components_.T), rtol=1e-9)


def test_the_distance_of_two_means_is_the_judges_gap(sample):
    X, groups = sample
    two = groups["colour"] != "beige"
    fitted = StandardPCA(2).fit(X)
    moments = GroupMoments.from_data(X[two], groups["colour"][two])
    frame = GroupFrame(estimator=fitted, moments=moments, metrics={"gap": lambda m, s: m.means[0] @ s.V[:, 0]})
    one = StandardPCA(1).fit(X)
    assert abs(frame.difference()["gap"]) == pytest.approx(metrics.mean_gap(moments, one.components_.T))


def test_a_map_that_does_not_project_is_judged_as_it_is_applied(sample):
    X, groups = sample
    fitted = LEACE(2).fit(X, sensitive_features=groups["colour"])
    frame = GroupFrame(estimator=fitted, X=X, sensitive_features=groups["colour"],
                       metrics=["error", "mean distance", "explained variance", "loss"], n_boot=20,
                       ci_quantiles=[0.5])  # fmt: skip
    T = fitted.transform(X)
    error = ((X - fitted.mean_ - T @ fitted.subspace_.V.T) ** 2).sum(axis=1)
    for label, rows in groups.groupby("colour").indices.items():
        found = frame.by_group.loc[label]
        assert found["error"] == pytest.approx(error[rows].mean(axis=0))
        assert found["mean distance"] == pytest.approx(np.linalg.norm(T[rows].mean(axis=0)), abs=1e-8)
        kept = T[rows].var(axis=0).sum(axis=0) / X[rows].var(axis=0).sum(axis=0)
        assert found["explained variance"] == pytest.approx(kept)
    projected = GroupFrame(estimator=fitted.subspace_, X=X, sensitive_features=groups["colour"], metrics="error")
    assert (projected.by_group < frame.by_group["error"] - 1e-3).any()
    np.testing.assert_allclose(frame.by_group_ci[0]["error"], frame.by_group["error"], rtol=0.3)


def test_rows_given_twice_change_no_metric_but_the_count(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    names = list(metrics.GROUP_METRICS)
    moments = GroupMoments.from_data(X, groups)
    once = GroupFrame(estimator=fitted, moments=moments, metrics=names)
    twice = GroupFrame(estimator=fitted, moments=moments + moments, metrics=names)
    weighted = GroupFrame(
        estimator=fitted, X=X, sensitive_features=groups, metrics=names, sample_weight=np.full(380, 2)
    )
    for other in (twice, weighted):
        np.testing.assert_allclose(other.by_group[names[:-1]], once.by_group[names[:-1]], rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(other.by_group["count"], 2 * once.by_group["count"])
    assert weighted.by_group.index.equals(once.by_group.index)


def test_rows_and_moments_give_the_same(sample):
    X, groups = sample
    fitted = FairPCA(2).fit(X, sensitive_features=groups["colour"])
    moments = GroupMoments.from_data(X, groups.assign(block=metrics.assign_blocks(380, 10, 0)))
    for sensitive in ("colour", ["colour"], ["shape", "colour"]):
        by_rows = GroupFrame(estimator=fitted, X=X, sensitive_features=groups[sensitive])
        by_moments = GroupFrame(estimator=fitted, moments=moments, sensitive_features=sensitive)
        pd.testing.assert_frame_equal(by_rows.by_group, by_moments.by_group, rtol=1e-9)
        pd.testing.assert_series_equal(by_rows.overall, by_moments.overall, rtol=1e-9)
    every = GroupFrame(estimator=fitted, moments=moments)
    assert every.sensitive_levels == ["colour", "shape"]
    assert every.by_group.index.names == ["colour", "shape"]
    assert len(every.by_group) == 9


# -- as fairlearn -------------------------------------------------------------------------------------------------


def spread(moments, subspace):
    """A metric with both signs that both libraries can compute: mean of the first feature, less 20."""
    return moments.means[0, 0] - 20.0


def first_mean(y_true, y_pred):
    """The same for fairlearn."""
    return np.mean(y_pred, axis=0)


def size(moments, subspace):
    """Largest less smallest mean of a feature."""
    return float(np.ptp(moments.means[0], axis=0))


@pytest.mark.parametrize("control", [None, "shape"])
@pytest.mark.parametrize("several", [False, True])
def test_members_mean_what_they_mean_in_fairlearn(sample, control, several):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    error = residuals(fitted, X)
    groups = groups.assign(tone=np.where(X[:, 1] > 20, "dark", "light"))
    sensitive = groups[["colour", "tone"]] if several else groups["colour"]
    controls = None if control is None else groups[control]
    theirs = MetricFrame(
        metrics={"first": first_mean, "error": lambda y_true, y_pred: np.mean(y_true, axis=0)},
        y_true=error, y_pred=X[:, 0] - 20.0, sensitive_features=sensitive, control_features=controls,
    )  # fmt: skip
    ours = GroupFrame(
        metrics={"first": spread, "error": "error"}, estimator=fitted, X=X, sensitive_features=sensitive,
        control_features=controls,
    )  # fmt: skip
    same = {"check_dtype": False, "check_names": True, "rtol": 1e-8}
    occurring = theirs.by_group.astype(float).dropna()  # theirs has a row of nan for what does not occur
    pd.testing.assert_frame_equal(ours.by_group, occurring, **same)
    assert ours.sensitive_levels == theirs.sensitive_levels
    assert ours.control_levels == theirs.control_levels
    compare = pd.testing.assert_frame_equal if control else pd.testing.assert_series_equal
    compare(ours.overall, theirs.overall.astype(float), **same)
    for member in ("group_min", "group_max"):
        compare(getattr(ours, member)(), getattr(theirs, member)().astype(float), **same)
    for member, method in itertools.product(("difference", "ratio"), ("between_groups", "to_overall")):
        found, expected = getattr(ours, member)(method=method), getattr(theirs, member)(method=method)
        compare(found, expected.astype(float), **same)
    # Something to compare: neither all equal nor all of one sign.
    assert (ours.by_group["first"] < 0).any()
    assert ours.ratio(method="to_overall").to_numpy().min() < 0.9


@pytest.mark.parametrize("control", [None, "shape"])
def test_a_single_metric_gives_numbers_and_series_as_in_fairlearn(sample, control):
    X, groups = sample
    controls = None if control is None else groups[control]
    fitted = StandardPCA(2).fit(X)
    theirs = MetricFrame(metrics=first_mean, y_true=X[:, 0], y_pred=X[:, 0] - 20.0,
                         sensitive_features=groups["colour"], control_features=controls)  # fmt: skip
    ours = GroupFrame(
        metrics=spread, estimator=fitted, X=X, sensitive_features=groups["colour"], control_features=controls
    )
    pd.testing.assert_series_equal(ours.by_group, theirs.by_group, check_names=False)
    assert ours.by_group.name == "spread"
    for found, expected in ((ours.overall, theirs.overall), (ours.difference(), theirs.difference()),
                            (ours.ratio("to_overall"), theirs.ratio(method="to_overall"))):  # fmt: skip
        if control is None:
            assert isinstance(found, float)
            assert found == pytest.approx(expected)
        else:
            pd.testing.assert_series_equal(found, expected, check_names=False)


def test_ratios_with_zeros_are_those_of_fairlearn():
    X = np.array([[1.0, 0], [-1, 0], [0, 2], [0, -2], [0.5, 0], [-0.5, 0]])
    groups = ["a", "a", "b", "b", "c", "c"]
    flat = FairSubspace(np.array([[1.0], [0.0]]), np.zeros(2), None)
    frame = GroupFrame(estimator=flat, X=X, sensitive_features=groups, metrics=["error", "mean distance"])
    error = (X[:, 1] ** 2).tolist()
    theirs = MetricFrame(metrics={"error": lambda y, p: np.mean(p)}, y_true=error, y_pred=error,
                         sensitive_features=groups)  # fmt: skip
    assert frame.by_group["error"].tolist() == [0, 4, 0]
    assert frame.ratio()["error"] == theirs.ratio()["error"] == 0
    assert frame.ratio("to_overall")["error"] == theirs.ratio(method="to_overall")["error"] == 0
    assert np.isnan(frame.ratio()["mean distance"])  # 0 / 0


def test_a_ratio_to_the_whole_is_below_one_for_groups_above_it_too():
    X = np.array([[0, 1.0]] * 8 + [[0, 2.0]] * 2)  # errors 1 and 4, of all 1.6: the larger group is nearer to all
    groups = ["many"] * 8 + ["few"] * 2
    flat = FairSubspace(np.array([[1.0], [0.0]]), np.zeros(2), None)
    frame = GroupFrame(estimator=flat, X=X, sensitive_features=groups, metrics="error")
    assert frame.overall == pytest.approx(1.6)
    assert frame.ratio("to_overall") == pytest.approx(1.6 / 4)
    assert frame.difference("to_overall") == pytest.approx(2.4)
    assert frame.ratio() == pytest.approx(1 / 4)


# -- several estimators -------------------------------------------------------------------------------------------


def test_estimators_side_by_side(sample):
    X, groups = sample
    fits = {"PCA": StandardPCA(2).fit(X), "fair": FairPCA(2).fit(X, sensitive_features=groups["colour"])}
    both = GroupFrame(estimator=fits, X=X, sensitive_features=groups["colour"], metrics=["error", "mean distance"])
    for name, fit in fits.items():
        alone = GroupFrame(estimator=fit, X=X, sensitive_features=groups["colour"], metrics=["error", "mean distance"])
        pd.testing.assert_frame_equal(both.by_group[name], alone.by_group, check_names=False)
        pd.testing.assert_series_equal(both.difference()[name], alone.difference(), check_names=False)
    assert both.by_group.columns.names == ["estimator", "metric"]
    assert both.difference()["fair", "mean distance"] < 1e-9 < 1 < both.difference()["PCA", "mean distance"]
    one = GroupFrame(estimator=fits, X=X, sensitive_features=groups["colour"], metrics="error")
    assert one.by_group.columns.tolist() == ["PCA", "fair"]
    tidy = both.tidy()
    assert tidy.columns.tolist() == ["estimator", "metric", "colour", "value"]
    row = tidy[(tidy["estimator"] == "fair") & (tidy["metric"] == "error") & (tidy["colour"] == "beige")]
    assert row["value"].item() == both.by_group["fair", "error"]["beige"]


# -- intervals ----------------------------------------------------------------------------------------------------


def test_sums_and_moments_draw_the_same_samples(sample):
    X, groups = sample
    names = {"error": "error", "again": lambda m, s: metrics.group_errors(m, s)[0],
             "mean distance": "mean distance", "length": lambda m, s: np.linalg.norm((m.means[0] - s.mean) @ s.V),
             "count": "count", "rows": lambda m, s: m.n}  # fmt: skip
    for control in (None, groups["shape"]):
        frame = GroupFrame(
            estimator=StandardPCA(2).fit(X), X=X, sensitive_features=groups["colour"], control_features=control,
            metrics=names, n_boot=60, ci_quantiles=[0.1, 0.5, 0.9], random_state=3, n_blocks=40,
        )  # fmt: skip
        for found in (*frame.by_group_ci, *frame.difference_ci(), *frame.ratio_ci("to_overall"), *frame.overall_ci,
                      *frame.group_min_ci(), *frame.group_max_ci()):  # fmt: skip
            for quick, slow in (("error", "again"), ("mean distance", "length"), ("count", "rows")):
                np.testing.assert_allclose(found[quick], found[slow], rtol=1e-8)
        low, middle, high = frame.by_group_ci
        assert ((low < middle) & (middle < high)).to_numpy().all()
        assert low.index.equals(frame.by_group.index)


def test_moments_in_blocks_give_intervals_like_those_of_the_rows(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    frame = groups.assign(block=metrics.assign_blocks(380, 95, 1))
    options = {"estimator": fitted, "n_boot": 800, "ci_quantiles": [0.05, 0.95], "metrics": ["error", "loss"]}
    by_moments = GroupFrame(moments=GroupMoments.from_data(X, frame), sensitive_features="colour", random_state=0,
                            **options)  # fmt: skip
    by_rows = GroupFrame(X=X, sensitive_features=groups["colour"], random_state=5, **options)
    width = by_rows.by_group_ci[1] - by_rows.by_group_ci[0]
    for a, b in zip(by_moments.by_group_ci, by_rows.by_group_ci, strict=True):
        assert (np.abs(a - b) < 0.3 * width).to_numpy().all()
    again = GroupFrame(X=X, sensitive_features=groups["colour"], random_state=5, **options)
    pd.testing.assert_frame_equal(again.by_group_ci[0], by_rows.by_group_ci[0])
    assert by_rows.tidy().columns.tolist()[-2:] == ["q0.05", "q0.95"]


def test_intervals_are_as_wide_as_those_of_fairlearn(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    error = residuals(fitted, X)
    theirs = MetricFrame(metrics=lambda y, p: np.mean(p), y_true=error, y_pred=error, n_boot=120,
                         ci_quantiles=[0.1, 0.9], sensitive_features=groups["colour"], random_state=1)  # fmt: skip
    ours = GroupFrame(estimator=fitted, X=X, sensitive_features=groups["colour"], metrics="error", n_boot=2000,
                      ci_quantiles=[0.1, 0.9], random_state=1)  # fmt: skip
    width = np.array([high - low for low, high in (ours.by_group_ci, theirs.by_group_ci)])
    np.testing.assert_allclose(width[0], width[1], rtol=0.35)
    gap = np.array([high - low for low, high in (ours.difference_ci(), theirs.difference_ci())])
    assert gap[0] == pytest.approx(gap[1], rel=0.35)


def test_intervals_of_the_difference_cover_it():
    rng = np.random.default_rng(3)
    subspace = FairSubspace(np.eye(3)[:, :1], np.zeros(3), None)
    scales, hits = np.array([1.0, 1.6]), []
    for _ in range(120):
        at = np.repeat([0, 1], [150, 90])
        X = scales[at, None] * rng.normal(size=(240, 3))
        frame = GroupFrame(estimator=subspace, X=X, sensitive_features=at, metrics="error", n_boot=300,
                           ci_quantiles=[0.05, 0.95], random_state=rng)  # fmt: skip
        low, high = frame.difference_ci()
        hits.append(low <= 2 * (1.6**2 - 1.0) <= high)
    assert 0.82 < np.mean(hits) < 0.97  # the share of 120 with chance .9 has a standard deviation of .027


def test_blocks_are_as_many_as_memory_allows():
    assert default_blocks(60, 2, 10) == 60
    assert default_blocks(10_000, 2, 10) == 100
    assert default_blocks(10_000, 2, 600) == 46
    assert default_blocks(10_000, 8, 2000) == 20


# -- refusals -----------------------------------------------------------------------------------------------------


def test_what_cannot_be_used_is_refused(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    colour, moments = groups["colour"], GroupMoments.from_data(X, groups)

    def refused(error, match, **options):
        with pytest.raises(error, match=match):
            GroupFrame(**{"estimator": fitted, "metrics": "error", **options})

    refused(ConfigurationError, "neither given")
    refused(ConfigurationError, "both given", X=X, moments=moments, sensitive_features=colour)
    refused(GroupError, "sensitive_features is None", X=X)
    refused(GroupError, "has 379 rows but X has 380", X=X, sensitive_features=colour[:-1])
    refused(GroupError, "missing value", X=X, sensitive_features=colour.where(colour != "beige"))
    refused(GroupError, "'block' is taken", X=X, sensitive_features=colour.rename("block"))
    refused(GroupError, "colour cannot be used", X=X, sensitive_features=colour, control_features=colour)
    refused(GroupError, "no attribute 'size', but colour, shape", moments=moments, sensitive_features="size")
    refused(GroupError, "at least one sensitive feature", moments=moments, control_features=["colour", "shape"])
    refused(ConfigurationError, "sample_weight goes with X", moments=moments, sample_weight=np.ones(380))
    refused(DataError, "needed are GroupMoments", moments=X)
    refused(DataError, "4 features, the estimator was fitted to 5", X=X[:, :4], sensitive_features=colour)
    refused(DataError, "StandardPCA without subspace_", estimator=StandardPCA(2), moments=moments)
    kernel = FairKernelPCA(1, gamma=0.1).fit(X[:80], sensitive_features=colour[:80])
    refused(DataError, "kernel methods have no subspace", estimator=kernel, moments=moments)
    both = FairPCA(2, tradeoff=0.5).fit(X, sensitive_features=colour)
    refused(DataError, "4 columns, of which 2 are of the subspace", estimator=both, moments=moments)
    assert GroupFrame(estimator=both.subspace_, moments=moments).by_group.shape == (9, 4)
    refused(ConfigurationError, "empty dict", estimator={}, moments=moments)
    refused(ConfigurationError, "no metric 'errors'; needed is one of 'error'", metrics="errors", moments=moments)
    refused(ConfigurationError, "metrics is empty", metrics=[], moments=moments)
    refused(ConfigurationError, "have the same name", metrics=["error", "error"], moments=moments)
    refused(DataError, "metric 'vector' returned a ndarray of shape", metrics={"vector": lambda m, s: m.means[0]},
            moments=moments)  # fmt: skip
    for pair in ({"n_boot": 10}, {"ci_quantiles": [0.5]}):
        refused(ConfigurationError, "needed are both", X=X, sensitive_features=colour, **pair)
    for wrong in ([], [0.0], [95], [0.1, 1.0]):
        refused(ConfigurationError, "needed are numbers between 0 and 1", X=X, sensitive_features=colour, n_boot=9,
                ci_quantiles=wrong)  # fmt: skip
    refused(GroupError, "no 'block', so no samples", moments=moments, n_boot=10, ci_quantiles=[0.5])
    rare = np.where(np.arange(380) < 2, "rare", colour)
    refused(GroupError, "'rare' has no value in", X=X, sensitive_features=rare, n_boot=200, ci_quantiles=[0.5],
            random_state=0)  # fmt: skip
    frame = GroupFrame(estimator=fitted, moments=moments)
    for member in (frame.difference_ci, frame.ratio_ci, frame.group_min_ci, lambda: frame.by_group_ci):
        with pytest.raises(ConfigurationError, match="no samples were drawn"):
            member()
    with pytest.raises(ConfigurationError, match="method='between'"):
        frame.difference("between")
    constant = np.where((colour == "beige").to_numpy()[:, None], 1.0, X)
    refused(DataError, "group 'beige' has nothing to keep a share of", X=constant, sensitive_features=colour,
            metrics="explained variance")  # fmt: skip


def test_features_in_another_order_are_refused(sample):
    X, groups = sample
    table = pd.DataFrame(X, columns=list("abcde"))
    fitted = StandardPCA(2).fit(table)
    assert GroupFrame(estimator=fitted, X=table, sensitive_features=groups["colour"]).by_group.shape == (3, 4)
    with pytest.raises(DataError, match="the estimator was fitted to a, b, c, d, e"):
        GroupFrame(estimator=fitted, X=table[list("edcba")], sensitive_features=groups["colour"])


def test_features_may_come_in_many_ways(sample):
    X, groups = sample
    fitted = StandardPCA(2).fit(X)
    plain = GroupFrame(estimator=fitted, X=X, sensitive_features=groups["colour"]).by_group
    for same in (groups["colour"].to_numpy(), groups["colour"].tolist(), groups[["colour"]],
                 {"colour": groups["colour"].tolist()}, groups[["colour"]].to_numpy()):  # fmt: skip
        found = GroupFrame(estimator=fitted, X=X, sensitive_features=same).by_group
        pd.testing.assert_frame_equal(found, plain, check_names=False)
    pairs = GroupFrame(estimator=fitted, X=X, sensitive_features=groups.to_numpy(dtype=str))
    assert pairs.by_group.index.names == ["attribute0", "attribute1"]
    assert len(pairs.by_group) == 9
