"""Iterative null-space projection: what it removes, that it stops where the literal iteration stands still."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from evenspan import GroupMoments, StandardPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, GroupError, SurplusComponentsWarning
from evenspan.representation.erasure import IncompleteErasureWarning
from evenspan.representation.inlp import INLP

from .samples import CENTRES, Sample, angle


def standardised(s: Sample) -> Sample:
    return Sample((s.X - np.mean(s.X, axis=0)) / np.std(s.X, axis=0), s.groups)


def wide(counts, d=14, seed=4, spread=1.0) -> Sample:
    """Groups that differ in mean along a few of many directions."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    shift = np.hstack([CENTRES[: len(counts)], np.zeros((len(counts), d - 6))])
    return Sample(rng.normal(size=(len(codes), d)) * np.linspace(2, 0.5, d) + spread * shift[codes], codes)


PAIR, TRIPLE = standardised(wide((150, 70))), standardised(wide((200, 120, 60)))
SAMPLES = pytest.mark.parametrize("s", [PAIR, TRIPLE], ids=["two groups", "three groups"])


def literal(X, groups, iterations):
    """The iteration as printed: sum of row-space projectors, null space of the sum, no early end."""
    d = X.shape[1]
    P, total, weights = np.eye(d), np.zeros((d, d)), []
    for _ in range(iterations):
        W = LinearSVC(dual=False, fit_intercept=False).fit(X @ P, groups).coef_
        if np.abs(W).max() > 1e-8:
            weights.append(W)
            B = np.linalg.svd(W, full_matrices=False)
            rows = B[2][B[1] > 1e-12 * B[1][0]]
            total += rows.T @ rows
        values, vectors = np.linalg.eigh(total)
        E = vectors[:, values > 1e-12 * values[-1]]
        P = np.eye(d) - E @ E.T
    return P, weights


def test_the_first_classifier_is_removed_though_the_majority_beats_it():
    rng = np.random.default_rng(0)
    rare = np.arange(300) < 45
    X = rng.normal(size=(300, 4))
    X[rare, 0] += 0.8
    model = INLP().fit(X, sensitive_features=rare)
    # Without intercept: zero of the score lies at the mean, far from the best threshold for rare groups.
    assert model.accuracies_[0] < model.majority_share_
    assert model.n_iter_ == 1
    c = X[rare].mean(axis=0) - X[~rare].mean(axis=0)
    assert np.linalg.norm(model.projection_ @ c) < 0.2 * np.linalg.norm(c)


@SAMPLES
@pytest.mark.parametrize("iterations", [2, 3])
def test_the_projection_is_that_of_the_literal_iteration(s, iterations):
    model = INLP(2, max_iter=iterations).fit(s.X, sensitive_features=s.groups)
    P, weights = literal(s.X, s.groups, iterations)
    np.testing.assert_allclose(model.projection_, P, atol=1e-8)
    np.testing.assert_allclose(model.projection_, model.projection_.T, atol=1e-15)
    np.testing.assert_allclose(model.projection_ @ model.projection_, model.projection_, atol=1e-13)
    for W in weights:
        assert np.linalg.norm(W @ model.projection_) <= 1e-8 * np.linalg.norm(W)
    assert model.rank_ == np.linalg.matrix_rank(P) >= 14 - iterations * len(weights[0])
    assert model.n_iter_ == iterations
    assert model.accuracies_[0] > model.majority_share_ + 0.1
    assert model.certificate_.is_optimal()


def test_vanished_weights_end_the_iteration_without_changing_it():
    rng = np.random.default_rng(0)
    low = PAIR.X[:, :4] @ rng.normal(size=(4, 14))  # four directions carry everything
    with pytest.warns(SurplusComponentsWarning, match="2 of 2 components carry no variance"):
        model = INLP(2, max_iter=12).fit(low, sensitive_features=PAIR.groups)
    assert model.vanished_
    assert model.converged_
    assert model.n_iter_ <= 4
    P, weights = literal(low, PAIR.groups, 12)
    assert len(weights) == model.n_iter_
    assert model.rank_ == 14 - model.n_iter_
    np.testing.assert_allclose(model.projection_, P, atol=1e-8)


@SAMPLES
def test_without_a_number_it_goes_on_until_a_classifier_learns_nothing(s):
    model = INLP().fit(s.X, sensitive_features=s.groups)
    assert model.converged_
    assert model.score_ == model.accuracies_[-1] <= model.majority_share_
    assert (model.accuracies_[1:-1] > model.majority_share_).all()
    assert model.components_.shape == (model.rank_, 14)

    def probe(T):
        return LogisticRegression(max_iter=1000).fit(T, s.groups).score(T, s.groups)

    # A fresh classifier of another kind, which has an intercept.
    control = StandardPCA(model.rank_).fit(s.X).transform(s.X)
    assert probe(model.transform(s.X)) < model.majority_share_ + 0.1 < probe(control)


def test_an_iteration_that_would_leave_too_little_is_reported():
    with pytest.warns(IncompleteErasureWarning, match="after 0 iteration.*Ask for fewer components"):
        model = INLP(12).fit(TRIPLE.X, sensitive_features=TRIPLE.groups)
    assert not model.converged_
    assert model.components_.shape == (12, 14)
    with pytest.warns(IncompleteErasureWarning, match=r"still has training accuracy 0\.\d+.*Raise max_iter"):
        assert not INLP(2, max_iter=1).fit(PAIR.X, sensitive_features=PAIR.groups).converged_


def test_weights_that_vanish_because_the_features_are_small_are_no_erasure():
    small = 1e-7 * PAIR.X
    with pytest.warns(IncompleteErasureWarning, match="after 0 iteration.*features are too small.*StandardScaler"):
        model = INLP().fit(small, sensitive_features=PAIR.groups)
    assert model.vanished_
    assert not model.converged_
    assert model.score_ > model.majority_share_
    with pytest.warns(IncompleteErasureWarning, match="features are too small"):  # whatever accuracy is asked for
        INLP(min_accuracy=1.0).fit(small, sensitive_features=PAIR.groups)
    # Smaller still, and groups so unequal that a classifier without intercept is no better than the majority.
    rare = np.arange(len(PAIR.X)) % 10 == 0
    tiny = 1e-12 * (PAIR.X + rare[:, None])
    with pytest.warns(IncompleteErasureWarning, match="features are too small"):
        model = INLP().fit(tiny, sensitive_features=rare)
    assert model.score_ <= model.majority_share_
    # Where the group means coincide there is nothing to find, whatever the scale.
    means = np.array([PAIR.rows(label).mean(axis=0) for label in PAIR.labels])
    for scale in (1.0, 1e-7):
        equal = scale * (PAIR.X - means[np.searchsorted(PAIR.labels, PAIR.groups)])
        model = INLP().fit(equal, sensitive_features=PAIR.groups)
        assert model.converged_
        assert model.n_iter_ == 0


def test_the_last_direction_is_kept():
    with pytest.warns(IncompleteErasureWarning, match="Removing it, too, would leave nothing"):
        INLP().fit(PAIR.X[:, :1] + 3.0 * (PAIR.groups == PAIR.labels[0])[:, None], sensitive_features=PAIR.groups)


def test_components_of_largest_variance_and_arbitrary_ones():
    options = {"max_iter": 3}
    best = INLP(2, **options).fit(PAIR.X, sensitive_features=PAIR.groups)
    whole = INLP(**options).fit(PAIR.X, sensitive_features=PAIR.groups)
    erased = PAIR.X @ best.projection_
    assert angle(best.components_.T, StandardPCA(2).fit(erased).components_.T) < 1e-7
    np.testing.assert_allclose(whole.components_.T @ whole.components_, best.projection_, atol=1e-12)
    draws = [
        INLP(2, select="arbitrary", random_state=seed, **options).fit(PAIR.X, sensitive_features=PAIR.groups)
        for seed in (0, 0, 1)
    ]
    assert np.array_equal(draws[0].components_, draws[1].components_)
    assert angle(draws[0].components_.T, draws[2].components_.T) > 0.1
    for model in draws:
        V = model.components_.T
        np.testing.assert_allclose(V.T @ V, np.eye(2), atol=1e-12)
        np.testing.assert_allclose(best.projection_ @ V, V, atol=1e-12)
        assert model.certificate_.dual == pytest.approx(best.certificate_.primal)
        assert 0 < model.certificate_.primal < best.certificate_.primal


def test_arbitrary_components_leave_constant_features_out_while_they_can():
    X = np.hstack([PAIR.X[:, :6], np.full((220, 8), 3.0)])
    few = INLP(3, max_iter=2, select="arbitrary").fit(X, sensitive_features=PAIR.groups)
    np.testing.assert_array_equal(few.components_[:, 6:], 0.0)
    with pytest.warns(UserWarning, match="carry no variance"):  # the best ten have to take constants
        many = INLP(10, max_iter=2).fit(X, sensitive_features=PAIR.groups)
    mixed = INLP(10, max_iter=2, select="arbitrary").fit(X, sensitive_features=PAIR.groups)
    assert many.rank_ == mixed.rank_ == 12
    assert np.linalg.matrix_rank(mixed.components_) == 10
    assert np.abs(mixed.components_[:, 6:]).max() > 0.1


def test_the_place_of_the_origin_and_the_axes_do_not_matter():
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(14, 14)))[0]
    V = INLP(2).fit(PAIR.X, sensitive_features=PAIR.groups).components_.T
    W = INLP(2).fit(PAIR.X @ Q + 50.0, sensitive_features=PAIR.groups).components_.T
    assert angle(Q.T @ V, W) < 1e-6
    assert angle(V, W) > 0.1


def test_any_linear_classifier_will_do():
    model = INLP(2, classifier=RidgeClassifier(fit_intercept=False)).fit(PAIR.X, sensitive_features=PAIR.groups)
    assert model.converged_
    other = INLP(2).fit(PAIR.X, sensitive_features=PAIR.groups)
    assert angle(model.components_.T, other.components_.T) > 1e-3
    drawing = LinearSVC(dual=True, fit_intercept=False, max_iter=100_000)
    one, two = (INLP(2, classifier=drawing).fit(PAIR.X, sensitive_features=PAIR.groups) for _ in range(2))
    assert np.array_equal(one.components_, two.components_)
    assert drawing.random_state is None
    assert not hasattr(drawing, "coef_")
    with pytest.raises(ConfigurationError, match="has no coef_ after fitting"):
        INLP(2, classifier=KNeighborsClassifier()).fit(PAIR.X, sensitive_features=PAIR.groups)


def test_classifiers_that_stop_early_are_counted_and_other_warnings_passed_on():
    early = LinearSVC(dual=False, fit_intercept=False, max_iter=1)
    model = INLP(2, classifier=early, max_iter=4).fit(PAIR.X, sensitive_features=PAIR.groups)
    assert 1 <= model.classifier_warnings_ <= 5
    assert INLP(2).fit(PAIR.X, sensitive_features=PAIR.groups).classifier_warnings_ == 0

    class Talks(RidgeClassifier):
        def fit(self, X, y):
            warnings.warn("by the way", RuntimeWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(RuntimeWarning, match="by the way"):
        INLP(2, classifier=Talks(fit_intercept=False)).fit(PAIR.X, sensitive_features=PAIR.groups)


def test_a_weak_classifier_is_not_removed():
    strict = INLP(2, max_iter=5, min_accuracy=0.8)
    with pytest.warns(IncompleteErasureWarning, match="Lower min_accuracy"):
        strict.fit(PAIR.X, sensitive_features=PAIR.groups)
    assert strict.n_iter_ == 1
    assert strict.accuracies_[0] >= 0.8 > strict.accuracies_[1]


def test_refusals():
    X, groups = PAIR.X, PAIR.groups
    with pytest.raises(ComponentsError, match="at most 13 are possible"):
        INLP(14).fit(X, sensitive_features=groups)
    with pytest.raises(ComponentsError, match=r"at most \d+ are possible.*erased in \d iteration"):
        INLP(12, max_iter=4).fit(X, sensitive_features=groups)
    with pytest.raises(ConfigurationError, match="max_iter=0"):
        INLP(2, max_iter=0).fit(X, sensitive_features=groups)
    with pytest.raises(ConfigurationError, match="min_accuracy=2"):
        INLP(2, min_accuracy=2).fit(X, sensitive_features=groups)
    with pytest.raises(ConfigurationError, match="select='best'"):
        INLP(2, select="best").fit(X, sensitive_features=groups)
    with pytest.raises(GroupError, match="one group only"):
        INLP(2).fit(X, sensitive_features=np.zeros(len(X), dtype=int))
    with pytest.raises(ConfigurationError, match="needs the points themselves"):
        INLP(2).fit_moments(GroupMoments.from_data(X, groups))
