"""Iterative null-space projection: what it removes, that it stops where the literal iteration stands still."""

import warnings

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from evenspan import INLP, GroupMoments, StandardPCA
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    GroupError,
    SingleGroupWarning,
    SurplusComponentsWarning,
)
from evenspan.representation import IncompleteErasureWarning

from .memory import peak_of
from .samples import CENTRES, Sample, angle, two_attributes


def wide(counts, d=14) -> Sample:
    """Standardised groups that differ in mean along a few of many directions."""
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    shift = np.hstack([CENTRES[: len(counts)], np.zeros((len(counts), d - 6))])
    X = rng.normal(size=(len(codes), d)) * np.linspace(2, 0.5, d) + shift[codes]
    return Sample((X - X.mean(axis=0)) / X.std(axis=0), codes)


PAIR, TRIPLE = wide((150, 70)), wide((200, 120, 60))
SAMPLES = pytest.mark.parametrize("s", [PAIR, TRIPLE], ids=["two groups", "three groups"])


def fitted(s: Sample, k=None, **options) -> INLP:
    return INLP(k, **options).fit(s.X, sensitive_features=s.groups)


def literal(X, groups, iterations):
    """The iteration as printed: sum of row-space projectors, null space of the sum, no early end."""
    d = X.shape[1]
    P, total, weights = np.eye(d), np.zeros((d, d)), []
    for _ in range(iterations):
        W = LinearSVC(dual=False, fit_intercept=False).fit(X @ P, groups).coef_
        if np.abs(W).max() > 1e-8:
            weights.append(W)
            _, lengths, rows = np.linalg.svd(W, full_matrices=False)
            rows = rows[lengths > 1e-12 * lengths[0]]
            total += rows.T @ rows
        values, vectors = np.linalg.eigh(total)
        E = vectors[:, values > 1e-12 * values[-1]]
        P = np.eye(d) - E @ E.T
    return P, weights


@SAMPLES
def test_the_projection_is_that_of_the_literal_iteration(s):
    for iterations in (2, 3):
        model = fitted(s, 2, max_iter=iterations)
        P, weights = literal(s.X, s.groups, iterations)
        np.testing.assert_allclose(model.projection_, P, atol=1e-8)
        np.testing.assert_allclose(model.projection_ @ model.projection_, model.projection_, atol=1e-13)
        assert all(np.linalg.norm(W @ model.projection_) <= 1e-8 * np.linalg.norm(W) for W in weights)
        assert model.rank_ == np.linalg.matrix_rank(P) >= 14 - iterations * len(weights[0])
        assert model.n_iter_ == iterations
        assert model.accuracies_[0] > model.majority_share_ + 0.1
        assert model.certificate_.is_optimal()


def test_nearly_parallel_weights_are_made_orthogonal_to_the_last_digit():
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(14, 3)))[0]

    class Given(LinearSVC):
        """A classifier whose second weights are nearly its first ones."""

        def fit(self, X, y):
            super().fit(X, y)
            seen = np.linalg.norm(X @ Q[:, 0]) < 1e-6
            self.coef_ = (Q[:, 0] + 1e-6 * Q[:, 1])[None] if seen else Q[:, :1].T.copy()
            return self

    model = fitted(PAIR, 2, max_iter=2, classifier=Given(dual=False, fit_intercept=False))
    P = model.projection_
    np.testing.assert_allclose(P, np.eye(14) - Q[:, :2] @ Q[:, :2].T, atol=1e-9)
    assert np.abs(P @ P - P).max() < 1e-13
    assert np.linalg.norm(P @ Q[:, 1]) < 1e-9


def test_vanished_weights_end_the_iteration_without_changing_it():
    low = Sample(PAIR.X[:, :4] @ np.random.default_rng(0).normal(size=(4, 14)), PAIR.groups)
    with pytest.warns(SurplusComponentsWarning, match="2 of 2 components carry no variance"):
        model = fitted(low, 2, max_iter=12)  # four directions carry everything
    P, weights = literal(low.X, low.groups, 12)
    assert model.vanished_
    assert model.converged_
    assert len(weights) == model.n_iter_ == 14 - model.rank_ <= 4
    np.testing.assert_allclose(model.projection_, P, atol=1e-8)


@SAMPLES
def test_without_a_number_it_goes_on_until_a_classifier_learns_nothing(s):
    model = fitted(s)
    assert model.converged_
    assert model.score_ == model.accuracies_[-1] <= model.majority_share_ < model.accuracies_[1:-1].min(initial=1.0)

    def probe(T):  # a fresh classifier of another kind, which has an intercept
        return LogisticRegression(max_iter=1000).fit(T, s.groups).score(T, s.groups)

    control = StandardPCA(model.rank_).fit(s.X).transform(s.X)
    assert probe(model.transform(s.X)) < model.majority_share_ + 0.1 < probe(control)


def test_the_first_classifier_is_removed_though_the_majority_beats_it():
    rare, X = np.arange(300) < 45, np.random.default_rng(0).normal(size=(300, 4))
    X[rare, 0] += 0.8
    model = fitted(Sample(X, rare))
    # Without intercept: zero of the score lies at the mean, far from the best threshold for rare groups.
    assert model.accuracies_[0] < model.majority_share_
    assert model.n_iter_ == 1


def test_what_is_left_is_reported():
    with pytest.warns(IncompleteErasureWarning, match="after 0 iteration.*Ask for fewer components"):
        model = fitted(TRIPLE, 12)
    assert not model.converged_
    with pytest.warns(IncompleteErasureWarning, match=r"still has training accuracy 0\.\d+.*Raise max_iter"):
        assert not fitted(PAIR, 2, max_iter=1).converged_
    with pytest.warns(IncompleteErasureWarning, match="Removing it, too, would leave nothing"):
        fitted(Sample(PAIR.X[:, :1] + 3.0 * (PAIR.groups == 0)[:, None], PAIR.groups))


def test_weights_that_vanish_because_the_features_are_small_are_no_erasure():
    rare = np.arange(220) % 10 == 0
    for small, options in (
        (Sample(1e-7 * PAIR.X, PAIR.groups), {}),
        (Sample(1e-12 * (PAIR.X + rare[:, None]), rare), {}),  # no better than the majority either
    ):
        with pytest.warns(IncompleteErasureWarning, match="after 0 iteration.*features are too small.*StandardScaler"):
            model = fitted(small, **options)
        assert model.vanished_
        assert not model.converged_
    means = np.array([PAIR.rows(label).mean(axis=0) for label in PAIR.labels])
    for scale in (1.0, 10.0):  # where the group means coincide there is nothing to find
        model = fitted(Sample(scale * (PAIR.X - means[PAIR.groups]), PAIR.groups))
        assert model.converged_
        assert model.n_iter_ == 0


def test_components_of_largest_variance_and_arbitrary_ones():
    best, whole = fitted(PAIR, 2, max_iter=3), fitted(PAIR, max_iter=3)
    assert angle(best.components_.T, StandardPCA(2).fit(PAIR.X @ best.projection_).components_.T) < 1e-7
    np.testing.assert_allclose(whole.components_.T @ whole.components_, best.projection_, atol=1e-12)
    one, again, other = (fitted(PAIR, 2, max_iter=3, select="arbitrary", random_state=seed) for seed in (0, 0, 1))
    assert np.array_equal(one.components_, again.components_)
    assert angle(one.components_.T, other.components_.T) > 0.1
    for model in (one, other):
        np.testing.assert_allclose(model.components_ @ best.projection_, model.components_, atol=1e-12)
        assert model.certificate_.dual == pytest.approx(best.certificate_.primal)
        assert 0 < model.certificate_.primal < best.certificate_.primal
    constant = Sample(np.hstack([PAIR.X[:, :6], np.full((220, 8), 3.0)]), PAIR.groups)
    np.testing.assert_array_equal(fitted(constant, 3, max_iter=2, select="arbitrary").components_[:, 6:], 0.0)
    mixed = fitted(constant, 10, max_iter=2, select="arbitrary")  # ten have to take constants
    assert np.linalg.matrix_rank(mixed.components_) == 10
    assert np.abs(mixed.components_[:, 6:]).max() > 0.1


def test_any_linear_classifier_will_do_and_its_warnings_are_counted_or_passed_on():
    assert angle(fitted(PAIR, 2, classifier=RidgeClassifier()).components_.T, fitted(PAIR, 2).components_.T) > 1e-3
    drawing = LinearSVC(dual=True, fit_intercept=False, max_iter=100_000)
    assert np.array_equal(*(fitted(PAIR, 2, classifier=drawing).components_ for _ in range(2)))
    assert drawing.random_state is None
    with pytest.raises(ConfigurationError, match="has no coef_ after fitting"):
        fitted(PAIR, 2, classifier=KNeighborsClassifier())
    early = LinearSVC(dual=False, fit_intercept=False, max_iter=1)
    assert 1 <= fitted(PAIR, 2, classifier=early, max_iter=4).classifier_warnings_ <= 5
    assert fitted(PAIR, 2).classifier_warnings_ == 0

    class Talks(RidgeClassifier):
        def fit(self, X, y):
            warnings.warn("by the way", RuntimeWarning, stacklevel=2)
            return super().fit(X, y)

    with pytest.warns(RuntimeWarning, match="by the way"):
        fitted(PAIR, 2, classifier=Talks(fit_intercept=False))


def test_each_attribute_is_erased_or_their_combinations_or_nothing():
    X, groups = two_attributes(d=20)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = INLP().fit(X, sensitive_features=groups)
    assert model.converged_
    assert model.accuracies_.shape == (model.n_iter_ + 1, 2)
    shares = [np.unique(column, return_counts=True)[1].max() / len(X) for column in groups.T]
    assert (model.accuracies_[-1] <= shares).all()
    assert (model.accuracies_[0] > np.add(shares, 0.1)).all()
    cells = np.array(["/".join(row) for row in groups.tolist()])
    joint = INLP(1, max_iter=2, attributes="intersection").fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(joint.projection_, INLP(1, max_iter=2).fit(X, sensitive_features=cells).projection_)
    with pytest.warns(SingleGroupWarning, match="nothing for INLP to erase"):
        nothing = INLP(2, on_single_group="warn").fit(X, sensitive_features=["all"] * len(X))
    np.testing.assert_array_equal(nothing.projection_, np.eye(20))
    assert nothing.converged_
    assert angle(nothing.components_.T, StandardPCA(2).fit(X).components_.T) < 1e-7


def test_one_copy_of_the_points_is_held():
    rng = np.random.default_rng(0)
    X, groups = rng.normal(size=(16_000, 300)), np.arange(16_000) % 3 == 0
    peak, _ = peak_of(lambda: INLP(2, max_iter=2, classifier=RidgeLike()).fit(X, sensitive_features=groups))
    assert peak < 1.9 * X.nbytes


class RidgeLike(RidgeClassifier):
    """A linear classifier that needs next to no memory."""

    def fit(self, X, y):
        """Weights along the difference of the means."""
        self.coef_, self.intercept_, self.classes_ = (y - y.mean(axis=0))[None] @ X / len(X), 0.0, np.unique(y)
        return self

    def score(self, X, y):
        """Share of rows on the right side."""
        return float(np.mean((X @ self.coef_[0] > 0) == y, axis=0))


def test_what_is_refused_is_said():
    for options, error, words in (
        ({"k": 14}, ComponentsError, "at most 13 are possible"),
        ({"k": 12, "max_iter": 4}, ComponentsError, r"at most \d+ are possible.*erased in \d iteration"),
        ({"max_iter": 0}, ConfigurationError, "max_iter=0"),
        ({"select": "best"}, ConfigurationError, "select='best'"),
    ):
        with pytest.raises(error, match=words):
            fitted(PAIR, **options)
    with pytest.raises(GroupError, match="one group only"):
        fitted(Sample(PAIR.X, np.zeros(220, dtype=int)))
    with pytest.raises(ConfigurationError, match="needs the points themselves"):
        INLP(2).fit_moments(GroupMoments.from_data(PAIR.X, PAIR.groups))
