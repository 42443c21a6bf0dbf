"""GroupFrame against the judge's own functions, against the points, and against fairlearn's MetricFrame."""

import itertools

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame

from evenspan import LEACE, FairKernelPCA, FairPCA, GroupFrame, GroupMoments, StandardPCA, metrics
from evenspan.core.errors import ConfigurationError, DataError, GroupError

NAMES = list(metrics.GROUP_METRICS)
ESTIMATORS = {
    "plain": lambda X, z: FairPCA(2).fit(X, sensitive_features=z),
    "standardised": lambda X, z: FairPCA(2, standardize=True).fit(X, sensitive_features=z),
    "no projection": lambda X, z: LEACE(2).fit(X, sensitive_features=z),
}


@pytest.fixture(scope="module")
def rows(sample):
    """Rows and the two attributes, without blocks."""
    return sample[0], sample[1][["colour", "shape"]]


@pytest.fixture(scope="module")
def pca(rows):
    return StandardPCA(2).fit(rows[0])


@pytest.mark.parametrize("name", ESTIMATORS)
def test_named_metrics_are_those_of_the_points(rows, name):
    X, groups = rows
    fitted = ESTIMATORS[name](X[:250], groups["colour"][:250])
    answer = metrics.linear_map(fitted)
    frame = GroupFrame(estimator=fitted, X=X, sensitive_features=groups["colour"], metrics=NAMES)
    scale = 1.0 if answer.scale is None else answer.scale
    Z, T = (X - fitted.mean_) / scale, fitted.transform(X)
    squares = ((Z - T @ answer.V.T) ** 2).sum(axis=1)
    for label, at in [*groups.groupby("colour").indices.items(), (None, np.arange(380))]:
        found = frame.overall if label is None else frame.by_group.loc[label]
        best = (np.linalg.svd(Z[at], full_matrices=False)[1][2:] ** 2).sum(axis=0) / len(at)
        error, size = squares[at].mean(axis=0), (Z[at] ** 2).sum(axis=1).mean(axis=0)
        assert found["error"] == pytest.approx(error, rel=1e-9)
        assert found["loss"] == pytest.approx(error - best, rel=1e-7)
        assert found["relative error"] == pytest.approx(error / size, rel=1e-9)
        kept = T[at].var(axis=0).sum(axis=0) / Z[at].var(axis=0).sum(axis=0)
        assert found["explained variance"] == pytest.approx(kept, rel=1e-9)
        assert found["mean distance"] == pytest.approx(np.linalg.norm(T[at].mean(axis=0)), abs=1e-9)
        assert found["count"] == len(at)
    assert frame.by_group["error"].max() > 1.5 * frame.by_group["error"].min()


def test_rows_moments_and_weights_give_the_same_and_twice_the_rows_only_another_count(rows, pca):
    X, groups = rows
    moments = GroupMoments.from_data(X, groups.assign(block=metrics.assign_blocks(380, 10, 0)))
    for sensitive in ("colour", ["shape", "colour"]):
        expected = GroupFrame(estimator=pca, X=X, sensitive_features=groups[sensitive], metrics=NAMES).by_group
        found = GroupFrame(estimator=pca, moments=moments, sensitive_features=sensitive, metrics=NAMES).by_group
        pd.testing.assert_frame_equal(found, expected, rtol=1e-9)
        weighted = {"X": X, "sensitive_features": groups[sensitive], "sample_weight": np.full(380, 2)}
        found = GroupFrame(estimator=pca, metrics=NAMES, **weighted).by_group
        pd.testing.assert_frame_equal(found, expected.assign(count=2 * expected["count"]), rtol=1e-9)
    every = GroupFrame(estimator=pca, moments=moments)
    assert every.by_group.index.names == every.sensitive_levels == ["colour", "shape"]
    assert len(every.by_group) == 9


def first_mean(moments, subspace):
    """A metric with both signs that both libraries can compute: mean of the first feature, less 20."""
    return moments.means[0, 0] - 20.0


def inverse_error(moments, subspace):
    """Of values whose ratios to all rows are the inverse ones the smallest ratio is another."""
    return 1.0 / metrics.group_errors(moments, subspace)[0]


def residuals(estimator, X):
    return ((X - estimator.inverse_transform(estimator.transform(X))) ** 2).sum(axis=1)


@pytest.mark.parametrize("several", [False, True])
def test_members_mean_what_they_mean_in_fairlearn(rows, pca, several):
    X, groups = rows
    groups = groups.assign(place=np.arange(380) % 2)
    shared = {"sensitive_features": groups[["colour", "place"]] if several else groups["colour"]}
    several_metrics = {
        "first": lambda y, p: np.mean(p), "error": lambda y, p: np.mean(y), "inverse": lambda y, p: 1.0 / np.mean(y),
    }  # fmt: skip
    for single in (True, False):
        theirs = MetricFrame(
            metrics=several_metrics["first"] if single else several_metrics,
            y_true=residuals(pca, X), y_pred=X[:, 0] - 20.0, **shared,
        )  # fmt: skip
        named = {"first": first_mean, "error": "error", "inverse": inverse_error}
        ours = GroupFrame(metrics=first_mean if single else named, estimator=pca, X=X, **shared)
        assert ours.sensitive_levels == theirs.sensitive_levels
        pairs = [(ours.by_group, theirs.by_group), (ours.overall, theirs.overall)]
        for name, method in itertools.product(("difference", "ratio"), ("between_groups", "to_overall")):
            pairs.append((getattr(ours, name)(method), getattr(theirs, name)(method=method)))
        for found, expected in pairs:
            if isinstance(found, float):
                assert found == pytest.approx(expected)
                continue
            kind = pd.testing.assert_frame_equal if found.ndim == 2 else pd.testing.assert_series_equal
            # theirs has rows of nan for combinations that do not occur
            kind(found, expected.astype(float).dropna(), check_dtype=False, check_names=False, rtol=1e-8)
        assert ours.by_group.index.names == theirs.by_group.index.names


def test_quick_sums_and_moments_of_every_sample_agree(rows):
    """The named metrics that are sums over blocks, and the same computed from the moments of each sample."""
    X, groups = rows

    def slow(name):
        return lambda m, s: float(metrics.GROUP_METRICS[name](m, s)[0])

    for fitted in (ESTIMATORS[name](X, groups["colour"]) for name in ESTIMATORS):
        quick = ("error", "mean distance", "count")
        frame = GroupFrame(
            estimator=fitted, X=X, sensitive_features=groups["colour"], n_boot=15,
            metrics={**{name: name for name in quick}, **{f"slow {name}": slow(name) for name in quick}},
            ci_quantiles=[0.1, 0.5, 0.9], random_state=3, n_blocks=95,
        )  # fmt: skip
        for of in ("by_group", "overall", "difference", "ratio"):
            for found, name in itertools.product(frame.interval(of, "to_overall"), quick):
                np.testing.assert_allclose(found[name], found[f"slow {name}"], rtol=1e-8)
        low, middle, high = (found[["error", "mean distance"]] for found in frame.interval())
        assert ((low <= middle) & (middle <= high)).to_numpy().all()
        assert (low < high).to_numpy().all()


def test_what_cannot_be_used_is_refused(rows, pca):
    X, groups = rows
    colour, moments = groups["colour"], GroupMoments.from_data(X, groups)
    table = pd.DataFrame(X, columns=list("abcde"))
    given = {"X": X, "sensitive_features": colour}
    drawn = {**given, "n_boot": 200, "ci_quantiles": [0.5], "random_state": 0}
    kernel = FairKernelPCA(1, gamma=0.1).fit(X[:80], sensitive_features=colour[:80])
    both = FairPCA(2, tradeoff=0.5).fit(X, sensitive_features=colour)
    rare = np.where(np.arange(380) < 2, "rare", colour)
    constant = np.where((colour == "beige").to_numpy()[:, None], 1.0, X)
    for error, match, options in [
        (ConfigurationError, "neither given", {}),
        (GroupError, "'block' is taken", given | {"sensitive_features": colour.rename("block")}),
        (GroupError, "='size' with moments; needed are .* colour", {"moments": moments, "sensitive_features": "size"}),
        (DataError, "fitted to a, b", given | {"X": table[list("edcba")], "estimator": StandardPCA(2).fit(table)}),
        (DataError, "kernel methods", {"estimator": kernel, "moments": moments}),
        (DataError, "4 columns, of which 2", {"estimator": both, "moments": moments}),
        (ConfigurationError, "no metric 'errors'", {"metrics": "errors", "moments": moments}),
        (DataError, "'vector' returned", {"metrics": {"vector": lambda m, s: m.means[0]}, "moments": moments}),
        (DataError, "'beige' has nothing to keep", given | {"X": constant, "metrics": "explained variance"}),
        (ConfigurationError, "needed are both", given | {"n_boot": 10}),
        (GroupError, "'rare' has no value in", drawn | {"sensitive_features": rare}),
    ]:
        with pytest.raises(error, match=match):
            GroupFrame(**({"estimator": pca, "metrics": "error"} | options))
    with pytest.raises(ConfigurationError, match="no samples were drawn"):
        GroupFrame(estimator=pca, moments=moments).interval()
