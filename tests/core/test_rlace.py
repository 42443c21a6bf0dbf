"""Adversarial erasure: steps inside the fantope against dense ones, and games whose end is known."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from evenspan import FairPCA, GroupMoments, StandardPCA
from evenspan.core.errors import ComponentsError, ConfigurationError, GroupError, SingleGroupWarning
from evenspan.reconstruction.fantope import project_fantope
from evenspan.representation.erasure import IncompleteErasureWarning
from evenspan.representation.rlace import RLACE, FantopePoint, _residuals

from .samples import Sample, angle, draw

QUICK = {"max_iter": 3000, "evaluate_every": 250}


def standardised(s: Sample) -> Sample:
    return Sample((s.X - np.mean(s.X, axis=0)) / np.std(s.X, axis=0), s.groups)


PAIR = standardised(draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0))
TRIPLE = standardised(draw())


def differences(s: Sample) -> np.ndarray:
    """Orthonormal basis of the span of the mean differences."""
    means = np.array([np.mean(s.rows(label), axis=0) for label in s.labels])
    return np.linalg.qr((means[1:] - means[0]).T)[0]


# -- the fantope ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("r", [1, 3, 20, 27])
@pytest.mark.parametrize("t", [1, 2])
def test_low_rank_steps_are_those_of_the_dense_projection(r, t):
    rng = np.random.default_rng(r)
    start = 0.1 * rng.normal(size=(30, 30))
    point, A = FantopePoint(start, r), project_fantope(start, r)
    swap = 0.05 * np.kron([[0.0, 1.0], [1.0, 0.0]], np.eye(t))
    smallest = 30
    for step in range(300):
        U = 0.3 * rng.normal(size=(30, 2 * t))
        point.step(0.999, U, swap)
        A = project_fantope(0.999 * A + U @ swap @ U.T, r)
        if step % 50 == 0:
            point.orthonormalise()
        smallest = min(smallest, len(np.unique(point.values)))
        assert point.values.min() >= 0.0
        assert point.values.max() <= 1.0
        assert point.values.sum(axis=0) == pytest.approx(r, abs=1e-9)
    np.testing.assert_allclose(point.times(np.eye(30)), A, atol=1e-11)
    assert smallest < 28  # some eigenvalues were repeated, so that the short way was taken
    values, vectors = np.linalg.eigh(A)
    if values[-r] - values[-r - 1] > 1e-6:
        assert angle(point.leading(r), vectors[:, -r:]) < 1e-6
    again = project_fantope(A, r)
    np.testing.assert_allclose(again, A, atol=1e-11)


# -- the game -------------------------------------------------------------------------------------------------------


def squared_loss(X, Z, E) -> float:
    """The smallest squared error of a linear predictor of Z on the points with the columns of E erased."""
    kept = X - X @ E @ E.T
    return float(np.sum((Z - kept @ np.linalg.lstsq(kept, Z, rcond=1e-10)[0]) ** 2, axis=None))


@pytest.mark.parametrize("s", [PAIR, TRIPLE], ids=["two groups", "three groups"])
def test_for_the_squared_loss_the_null_space_of_fair_pca_wins(s):
    d, r = s.X.shape[1], len(s.labels) - 1
    Z = (s.groups[:, None] == s.labels[None]).astype(float)
    Z -= np.mean(Z, axis=0)
    R = FairPCA(d - r).fit(s.X, sensitive_features=s.groups).components_.T
    E = np.linalg.svd(R)[0][:, d - r :]
    assert angle(E, differences(s)) < 1e-7
    constant = np.sum(Z**2, axis=None)  # what any predictor can be forced to at most
    assert squared_loss(s.X, Z, E) == pytest.approx(constant, rel=1e-10)
    rng = np.random.default_rng(0)
    for size in (1e-2, 1e-1, 10.0):
        other = np.linalg.qr(E + size * rng.normal(size=E.shape))[0]
        assert squared_loss(s.X, Z, other) < (1 - 1e-7) * constant
    principal = StandardPCA(r).fit(s.X).components_.T
    assert squared_loss(s.X, Z, principal) < 0.95 * constant


@pytest.mark.parametrize("s", [PAIR, TRIPLE], ids=["two groups", "three groups"])
def test_the_game_finds_the_mean_differences(s):
    model = RLACE(learning_rate=0.02, epsilon=0.02, **QUICK).fit(s.X, sensitive_features=s.groups)
    d, r = s.X.shape[1], len(s.labels) - 1
    E = np.linalg.svd(np.eye(d) - model.projection_)[0][:, :r]
    assert angle(E, differences(s)) < 0.1
    assert angle(StandardPCA(r).fit(s.X).components_.T, differences(s)) > 0.25
    assert model.converged_
    T, control = model.transform(s.X), StandardPCA(d - r).fit(s.X).transform(s.X)

    def probe(T):
        return LogisticRegression(max_iter=2000).fit(T, s.groups).score(T, s.groups)

    assert probe(T) < model.majority_share_ + 0.05 < probe(control)


def test_the_game_ends_when_a_probe_sees_the_majority_only():
    model, again, other = (
        RLACE(2, rank=3, evaluate_every=100, epsilon=0.1, random_state=seed).fit(PAIR.X, sensitive_features=PAIR.groups)
        for seed in (0, 0, 1)
    )
    steps, losses, accuracies = model.history_.T
    near = np.abs(accuracies - model.majority_share_) < 0.1
    assert near[-1]
    assert not near[:-1].any()
    np.testing.assert_array_equal(steps, 100 * np.arange(len(steps)))
    assert model.n_iter_ == max(steps[-1], 2) + 1 < 10_000
    # The answer is the probed projection of largest loss.
    assert model.loss_ == losses.max()
    T = model.transform(PAIR.X)
    solved = LogisticRegression(C=1e4 / len(T), max_iter=10_000).fit(T, PAIR.groups)
    assert model.score_ == pytest.approx(solved.score(T, PAIR.groups), abs=0.01)
    np.testing.assert_array_equal(again.components_, model.components_)
    assert angle(other.components_.T, model.components_.T) > 1e-3


def test_the_answer_is_the_probe_of_largest_loss_even_if_the_game_went_on():
    with pytest.warns(IncompleteErasureWarning):
        model = RLACE(rank=3, max_iter=200, evaluate_every=50, epsilon=1e-9).fit(PAIR.X, sensitive_features=PAIR.groups)
    losses = model.history_[:, 1]
    assert np.argmax(losses) < len(losses) - 1
    assert losses[-1] < 0.9 * losses.max()
    T = model.transform(PAIR.X)
    solved = LogisticRegression(C=1e4 / len(T), max_iter=10_000).fit(T, PAIR.groups)
    loss = log_loss(PAIR.groups, solved.predict_proba(T))
    assert loss == pytest.approx(losses.max(), abs=0.03)
    assert model.loss_ == losses.max()


def test_a_game_cut_short_is_reported_however_small_the_features():
    for scale in (1.0, 1e-6):  # the penalty of the regression that judges is for features of unit size
        with pytest.warns(IncompleteErasureWarning, match=r"has accuracy 0\.\d+, more than 0\.0015 above"):
            model = RLACE(max_iter=5).fit(scale * PAIR.X, sensitive_features=PAIR.groups)
        assert not model.converged_
        assert model.score_ > model.majority_share_ + 0.1
        assert scale < 1 or model.history_[:, 0].tolist() == [0, 4]


def test_the_projection_and_the_components_inside_it():
    for rank in (1, 2, 4):
        model = RLACE(rank=rank, max_iter=50, epsilon=1.0).fit(TRIPLE.X, sensitive_features=TRIPLE.groups)
        P = model.projection_
        np.testing.assert_array_equal(P, P.T)
        np.testing.assert_allclose(P @ P, P, atol=1e-13)
        assert np.trace(P) == pytest.approx(6 - rank)
        np.testing.assert_allclose(model.components_.T @ model.components_, P, atol=1e-12)
    options = {"rank": 2, "max_iter": 500, "epsilon": 0.5}
    best, drawn = (
        RLACE(2, select=select, **options).fit(PAIR.X, sensitive_features=PAIR.groups)
        for select in ("pca", "arbitrary")
    )
    assert angle(best.components_.T, StandardPCA(2).fit(PAIR.X @ best.projection_).components_.T) < 1e-7
    assert best.certificate_.is_optimal()
    np.testing.assert_array_equal(drawn.projection_, best.projection_)
    np.testing.assert_allclose(best.projection_ @ drawn.components_.T, drawn.components_.T, atol=1e-12)
    assert drawn.certificate_.primal < best.certificate_.primal


def test_each_attribute_is_erased_or_their_combinations_or_nothing():
    rng = np.random.default_rng(0)
    groups = np.column_stack([rng.random(400) < 0.6, rng.random(400) < 0.3]).astype(int)
    X = rng.normal(size=(400, 5)) + 4.0 * np.pad(groups, ((0, 0), (0, 3)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"learning_rate": 0.02, "epsilon": 0.04, **QUICK}
    model = RLACE(**options).fit(X, sensitive_features=groups)
    alone = RLACE(**options).fit(X, sensitive_features=groups[:, 0])
    assert (model.rank_, alone.rank_) == (3, 4)
    assert model.converged_
    assert np.diag(model.projection_)[:2].max() < 0.1
    assert alone.projection_[1, 1] > 0.9
    cells = np.array(["/".join(row) for row in groups.astype(str).tolist()])
    short = {"max_iter": 60, "epsilon": 1.0}
    joint = RLACE(attributes="intersection", **short).fit(X, sensitive_features=groups)
    np.testing.assert_array_equal(joint.projection_, RLACE(**short).fit(X, sensitive_features=cells).projection_)
    with pytest.warns(SingleGroupWarning, match="nothing for RLACE to erase"):
        nothing = RLACE(2, on_single_group="warn").fit(X, sensitive_features=["all"] * len(X))
    np.testing.assert_array_equal(nothing.projection_, np.eye(5))
    assert angle(nothing.components_.T, StandardPCA(2).fit(X).components_.T) < 1e-7


def test_what_is_refused_is_said():
    X, groups = PAIR.X, PAIR.groups
    for options, error, words in (
        ({"rank": 0}, ComponentsError, r"rank=0, but there are 5 feature\(s\).*from 1 to 4"),
        ({"rank": 5}, ComponentsError, "rank=5"),
        ({"n_components": 5}, ComponentsError, "at most 4 are possible"),
        ({"rank": 1.5}, ConfigurationError, r"rank=1\.5"),
        ({"max_iter": 0}, ConfigurationError, "max_iter=0"),
        ({"learning_rate": 0}, ConfigurationError, "learning_rate=0"),
        ({"epsilon": np.inf}, ConfigurationError, "epsilon=inf"),
    ):
        with pytest.raises(error, match=words):
            RLACE(**options).fit(10 * X, sensitive_features=groups)
    with pytest.raises(GroupError, match="one group only"):
        RLACE().fit(X, sensitive_features=np.zeros(len(X), dtype=int))
    with pytest.raises(ConfigurationError, match="needs the points themselves"):
        RLACE().fit_moments(GroupMoments.from_data(X, groups))


def test_every_attribute_has_probabilities_of_its_own():
    rng = np.random.default_rng(0)
    X, weights, bias = rng.normal(size=(7, 4)), rng.normal(size=(4, 4)), rng.normal(size=4)
    Z = np.zeros((7, 4))
    together = _residuals(X, weights, bias, Z, np.array([0, 1, 4])) * 7
    scores = X @ weights + bias
    np.testing.assert_allclose(together[:, 0], 1 / (1 + np.exp(-scores[:, 0])))
    three = np.exp(scores[:, 1:])
    np.testing.assert_allclose(together[:, 1:], three / three.sum(axis=1, keepdims=True))
