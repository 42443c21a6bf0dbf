"""INLP and RLACE: the iteration as printed, games whose end is known, and what is left is reported."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from compendium.papers.kleindessner2023.published_inlp import PublishedINLP
from evenspan import INLP, RLACE, StandardPCA
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    SingleGroupWarning,
    SurplusComponentsWarning,
)
from evenspan.representation import IncompleteErasureWarning

from .samples import CENTRES, Sample, angle, draw


def standardised(X, groups) -> Sample:
    return Sample((X - np.mean(X, axis=0)) / np.std(X, axis=0), groups)


def wide(counts, d=14) -> Sample:
    """Standardised groups that differ in mean along a few of many directions."""
    rng = np.random.default_rng(4)
    codes = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    shift = np.hstack([CENTRES[: len(counts)], np.zeros((len(counts), d - 6))])
    return standardised(rng.normal(size=(len(codes), d)) * np.linspace(2, 0.5, d) + shift[codes], codes)


PAIR, TRIPLE = wide((150, 70)), wide((200, 120, 60))
TWO, THREE = (standardised(s.X, s.groups) for s in (draw(counts=(150, 70), d=5, seed=0), draw()))


def fitted(s: Sample, k=None, method=INLP, **options):
    return method(k, **options).fit(s.X, sensitive_features=s.groups)


def game(s: Sample, k=None, **options) -> RLACE:
    return fitted(s, k, RLACE, **({"learning_rate": 0.02, "epsilon": 0.02, "evaluate_every": 250} | options))


def probe(T, groups) -> float:
    """Accuracy of a fresh classifier with an intercept."""
    return LogisticRegression(max_iter=2000).fit(T, groups).score(T, groups)


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


@pytest.mark.parametrize("s", [PAIR, TRIPLE], ids=["two groups", "three groups"])
def test_the_projection_is_that_of_the_literal_iteration_which_ends_when_nothing_is_learnt(s):
    for iterations in (2, 3):
        model = fitted(s, 2, max_iter=iterations)
        P, weights = literal(s.X, s.groups, iterations)
        np.testing.assert_allclose(model.projection_, P, atol=1e-8)
        assert all(np.linalg.norm(W @ model.projection_) <= 1e-8 * np.linalg.norm(W) for W in weights)
        assert model.n_iter_ == iterations
        assert model.accuracies_[0] > model.majority_share_ + 0.1
    model = fitted(s)
    assert model.converged_
    assert model.score_ == model.accuracies_[-1] <= model.majority_share_ < model.accuracies_[1:-1].min(initial=1.0)
    control = StandardPCA(s.X.shape[1] - model.rank_removed_).fit_transform(s.X)
    assert probe(model.transform(s.X), s.groups) < model.majority_share_ + 0.1 < probe(control, s.groups)


def test_vanished_weights_end_the_iteration_without_changing_it():
    low = Sample(PAIR.X[:, :4] @ np.random.default_rng(0).normal(size=(4, 14)), PAIR.groups)
    with pytest.warns(SurplusComponentsWarning, match="2 of 2 components carry no variance"):
        model = fitted(low, 2, max_iter=12)  # four directions carry everything
    P, weights = literal(low.X, low.groups, 12)
    assert model.converged_
    assert len(weights) == model.n_iter_ == model.rank_removed_ <= 4
    np.testing.assert_allclose(model.projection_, P, atol=1e-8)
    means = np.array([PAIR.rows(label).mean(axis=0) for label in PAIR.labels])[PAIR.groups]
    assert fitted(Sample(10.0 * (PAIR.X - means), PAIR.groups)).n_iter_ == 0  # equal means: there is nothing to find


def test_the_first_classifier_is_removed_though_the_majority_beats_it():
    rare, X = np.arange(300) < 45, np.random.default_rng(0).normal(size=(300, 4))
    X[rare, 0] += 0.8
    model = fitted(Sample(X, rare))
    assert model.accuracies_[0] < model.majority_share_
    assert model.n_iter_ == 1


@pytest.mark.parametrize("s", [TWO, THREE], ids=["two groups", "three groups"])
def test_the_game_finds_the_mean_differences(s):
    model = game(s, max_iter=3000)
    d, r = s.X.shape[1], len(s.labels) - 1
    means = np.array([np.mean(s.rows(label), axis=0) for label in s.labels])
    differences = np.linalg.qr((means[1:] - means[0]).T)[0]
    assert angle(np.linalg.svd(np.eye(d) - model.projection_)[0][:, :r], differences) < 0.1
    assert angle(StandardPCA(r).fit(s.X).components_.T, differences) > 0.25
    assert model.converged_
    control = StandardPCA(d - r).fit_transform(s.X)
    assert probe(model.transform(s.X), s.groups) < model.majority_share_ + 0.05 < probe(control, s.groups)


def test_the_answer_is_the_probe_of_largest_loss_even_if_the_game_went_on():
    with pytest.warns(IncompleteErasureWarning):
        model = fitted(TWO, None, RLACE, rank=3, max_iter=200, evaluate_every=50, epsilon=1e-9)
    losses = model.probes_[:, 1]
    assert losses[-1] < 0.9 * losses.max()
    T = model.transform(TWO.X)
    solved = LogisticRegression(C=1e4 / len(T), max_iter=10_000).fit(T, TWO.groups)
    assert log_loss(TWO.groups, solved.predict_proba(T)) == pytest.approx(losses.max(), abs=0.03)


# -- both ------------------------------------------------------------------------------------------------------------

SHORT = {INLP: {"max_iter": 3}, RLACE: {"rank": 3, "max_iter": 50, "epsilon": 1.0}}
both = pytest.mark.parametrize("method", SHORT)


@both
def test_the_projection_and_the_components_inside_it(method):
    options = {"method": method} | SHORT[method]
    best, whole = fitted(PAIR, 2, **options), fitted(PAIR, **options)
    P = best.projection_
    np.testing.assert_allclose(P @ P, P, atol=1e-13)
    assert len(P) - best.rank_removed_ == round(np.trace(P)) == 11
    assert angle(best.components_.T, StandardPCA(2).fit(PAIR.X @ P).components_.T) < 1e-7
    np.testing.assert_allclose(whole.components_.T @ whole.components_, P, atol=1e-12)
    assert best.certificate_.is_optimal()


def test_the_published_components_are_a_random_subspace_of_what_survives():
    best = fitted(PAIR, 2, **SHORT[INLP])
    drawn, other = (fitted(PAIR, 2, PublishedINLP, random_state=seed, **SHORT[INLP]) for seed in (0, 1))
    assert angle(drawn.components_.T, other.components_.T) > 0.1
    np.testing.assert_allclose(drawn.components_ @ best.projection_, drawn.components_, atol=1e-12)
    assert 0 < drawn.certificate_.primal < best.certificate_.primal == pytest.approx(drawn.certificate_.dual)
    constant = Sample(np.hstack([PAIR.X[:, :6], np.full((220, 8), 3.0)]), PAIR.groups)
    drawn = fitted(constant, 3, PublishedINLP, max_iter=2)
    np.testing.assert_array_equal(drawn.components_[:, 6:], 0.0)


@both
@pytest.mark.filterwarnings("ignore::evenspan.representation.IncompleteErasureWarning")
def test_each_attribute_is_erased_or_their_combinations_or_nothing(method):
    rng = np.random.default_rng(0)
    groups = np.column_stack([rng.random(400) < 0.6, rng.random(400) < 0.3]).astype(int)
    s = standardised(rng.normal(size=(400, 5)) + 4.0 * np.pad(groups, ((0, 0), (0, 3))), groups)
    model = fitted(s) if method is INLP else game(s, epsilon=0.04, max_iter=3000)
    T = model.transform(s.X)
    for z in groups.T:
        assert probe(T, z) < max(z.mean(axis=0), 1 - z.mean(axis=0)) + 0.1 < probe(s.X, z)
    cells = Sample(s.X, groups @ [2, 1])
    options = {"method": method, "k": 1} | SHORT[method] | {"max_iter": 1}
    joint = fitted(s, attributes="intersection", **options)
    np.testing.assert_array_equal(joint.projection_, fitted(cells, **options).projection_)
    with pytest.warns(SingleGroupWarning, match="nothing for (INLP|RLACE) to erase"):
        nothing = fitted(Sample(s.X, ["all"] * 400), 2, method, on_single_group="warn")
    np.testing.assert_array_equal(nothing.projection_, np.eye(5))


def test_what_is_left_is_reported_and_what_is_refused_is_said():
    for s, k, options in (
        (TRIPLE, 12, {}),  # too many are asked for
        (PAIR, 2, {"max_iter": 1}),
        (Sample(1e-6 * TWO.X, TWO.groups), None, {"method": RLACE, "max_iter": 5}),  # its penalty is for unit size
    ):
        with pytest.warns(IncompleteErasureWarning, match=r"still has training accuracy 0\.\d+ \(the majority"):
            model = fitted(s, k, **options)
        assert not model.converged_
        assert model.score_ > model.majority_share_
    for options, error, words in (
        ({"k": 14}, ComponentsError, "at most 13: there are 14"),
        ({"k": 12, "max_iter": 4}, ComponentsError, r"at most \d+: there are .* erased in \d iteration"),
        ({"method": RLACE, "rank": 14}, ComponentsError, "rank=14; needed is at most 13"),
        ({"classifier": KNeighborsClassifier()}, ConfigurationError, "has no coef_ after fitting"),
    ):
        with pytest.raises(error, match=words):
            fitted(PAIR, **options)
