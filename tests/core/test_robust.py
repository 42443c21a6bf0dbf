"""RobustFairPCA: limits, the paper's toy example, certificates, refusals."""

import numpy as np
import pytest

from evenspan import GroupMoments
from evenspan.core.errors import ConfigurationError, GroupError
from evenspan.core.estimator import NotConvergedWarning
from evenspan.reconstruction import StandardPCA
from evenspan.reconstruction.group_errors import errors, group_matrices
from evenspan.reconstruction.robust import RobustFairPCA
from evenspan.reconstruction.robust_descent import objective

from .samples import angle

#: Appendix D.2.1 at population moments; 500 and 200 points as in the figure.
TOY = GroupMoments(
    np.array(["majority", "minority"]),
    np.array([500.0, 200.0]),
    np.zeros((2, 2)),
    np.array([500.0, 200.0])[:, None, None] * np.array([[[4.0, 0.0], [0.0, 0.2]], [[0.2, 0.4], [0.4, 3.0]]]),
)


def direction(fitted) -> float:
    x, y = fitted.components_[0]
    return float(np.degrees(np.arctan2(y, x)) % 180.0)


@pytest.mark.parametrize(
    ("penalty", "degrees"), [(0.0, 3.40), (0.2, 16.59), (0.25, 29.17), (0.2713, 37.22), (5, 37.22)]
)
def test_toy_directions(penalty, degrees):
    fitted = RobustFairPCA(1, alpha=0.0, penalty=penalty).fit_moments(TOY)
    assert direction(fitted) == pytest.approx(degrees, abs=0.006 if penalty != 0.2713 else 0.1)
    assert fitted.certificate_.is_optimal(1e-8)
    if penalty == 5:
        np.testing.assert_allclose(fitted.group_errors_, 1.5903, atol=5e-5)


@pytest.mark.parametrize("solver", ["exact", "subgradient"])
@pytest.mark.parametrize("standardize", [False, True])
def test_without_radius_and_penalty_it_is_pca(pair, solver, standardize):
    fitted = RobustFairPCA(2, alpha=0.0, penalty=0.0, solver=solver, standardize=standardize, max_iter=2000)
    fitted.fit(pair.X, sensitive_features=pair.groups)
    plain = StandardPCA(2, standardize=standardize).fit(pair.X)
    assert angle(fitted.components_.T, plain.components_.T) < 1e-8
    shares = fitted.group_counts_ / fitted.group_counts_.sum(axis=0)
    assert fitted.objective_ == pytest.approx(shares @ fitted.group_errors_, rel=1e-12)


def test_penalty_closes_the_gap_that_pca_leaves(pair):
    gaps = {
        penalty: float(np.ptp(fitted.group_errors_, axis=0))
        for penalty in (0.0, 20.0)
        for fitted in [RobustFairPCA(2, alpha=0.0, penalty=penalty).fit(pair.X, sensitive_features=pair.groups)]
    }
    assert gaps[20.0] < 0.5 * gaps[0.0]


def test_objective_and_certificate_of_both_solvers(pair):
    moments = GroupMoments.from_data(pair.X, pair.groups)
    exact = RobustFairPCA(2, alpha=0.1, penalty=1.0).fit_moments(moments)
    with pytest.warns(NotConvergedWarning, match="solver='exact'"):
        descent = RobustFairPCA(2, alpha=0.1, penalty=1.0, solver="subgradient", max_iter=200).fit_moments(moments)
    assert exact.converged_
    assert not descent.converged_
    for fitted in (exact, descent):
        q = errors(group_matrices(moments), fitted.components_.T)
        value = objective(q, moments.counts / moments.n, fitted.radii_, 1.0)
        assert fitted.objective_ == pytest.approx(float(value), rel=1e-10)
        assert fitted.certificate_.primal == fitted.objective_
    assert exact.certificate_.is_optimal(1e-8)
    assert exact.runs_ is None
    assert descent.runs_.shape == (21,)
    assert descent.objective_ >= exact.certificate_.dual
    assert descent.certificate_.dual == pytest.approx(exact.certificate_.dual, rel=1e-12)


@pytest.mark.filterwarnings("ignore::evenspan.core.estimator.NotConvergedWarning")
def test_several_groups(sample):
    fair = RobustFairPCA(2, alpha=0.05, penalty=0.3, solver="subgradient", standardize=True)
    fair.fit(sample.X, sensitive_features=sample.groups)
    plain = RobustFairPCA(2, alpha=0.05, penalty=0.0, solver="subgradient", standardize=True)
    plain.fit(sample.X, sensitive_features=sample.groups)
    assert np.ptp(fair.group_errors_, axis=0) < 0.2 * np.ptp(plain.group_errors_, axis=0)
    certificate = fair.certificate_
    assert 0.0 <= certificate.gap <= 0.05 * certificate.primal
    assert len(certificate.weights) == 3
    with pytest.raises(GroupError, match="solver='subgradient'"):
        RobustFairPCA(2).fit(sample.X, sensitive_features=sample.groups)


@pytest.mark.filterwarnings("ignore::evenspan.core.estimator.NotConvergedWarning")
def test_same_seed_same_answer(pair):
    one, other = (
        RobustFairPCA(2, solver="subgradient", max_iter=50, random_state=7).fit(pair.X, sensitive_features=pair.groups)
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.components_, other.components_)


def test_violated_conditions_are_told():
    # With the last direction almost empty in the second group, a large ball reaches below its smallest error.
    scatters = TOY.counts[:, None, None] * np.array([np.diag([3.0, 2.0, 1.0]), np.diag([4.0, 0.01, 0.001])])
    moments = GroupMoments(TOY.labels, TOY.counts, np.zeros((2, 3)), scatters)
    settings = {"n_components": 1, "alpha": 1.0, "penalty": 1.0}
    exact = RobustFairPCA(**settings).fit_moments(moments)
    share, radius = exact.violations_["minority"]
    assert share == pytest.approx(1.0 - 2 / 7)
    assert radius == pytest.approx(1 / np.sqrt(200) - 0.011)
    assert not RobustFairPCA(1, alpha=0.0).fit_moments(moments).violations_


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"solver": "paper"}, "solver"),
        ({"alpha": -1.0}, "alpha"),
        ({"penalty": float("nan")}, "penalty"),
        ({"penalty": "1"}, "penalty"),
        ({"restarts": -1}, "restarts"),
        ({"max_iter": 0}, "max_iter"),
        ({"solver": "subgradient", "random_state": "a"}, "random_state='a'"),
    ],
)
def test_refusals(wrong, match):
    with pytest.raises(ConfigurationError, match=match):
        RobustFairPCA(1, **wrong).fit_moments(TOY)
