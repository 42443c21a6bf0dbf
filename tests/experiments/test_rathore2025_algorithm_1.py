"""Algorithm 1 as Rathore and Manwani print it: its step, and how it fails; the order of its columns."""

import warnings

import numpy as np
import pytest

from compendium.papers.rathore2025.algorithm_1 import (
    PrintedJEVDPCA,
    algorithm_1,
    joint_criterion,
    orthonormal_columns,
)
from compendium.papers.rathore2025.methods import order_columns
from evenspan import joint_diagonalise
from evenspan.core.errors import ConfigurationError
from evenspan.reconstruction import JointDiagonalisationWarning


def standardised_apart() -> tuple[np.ndarray, np.ndarray]:
    """Rows of two groups, each standardised on its own, and who is in which: equal variances, and correlations."""
    rng = np.random.default_rng(0)
    parts = [rng.normal(size=(n, 6)) @ rng.normal(size=(6, 6)) for n in (150, 70)]
    X = np.vstack([(part - part.mean(axis=0)) / part.std(axis=0) for part in parts])
    return X, np.repeat(["a", "b"], (150, 70))


def test_one_step_is_that_of_the_paper():
    factors = np.random.default_rng(7).normal(size=(2, 8, 4))
    A, B = factors.transpose(0, 2, 1) @ factors
    V = np.zeros((4, 4))
    for m in range(4):
        for n in range(4):
            if m != n:
                a, b = A[m, m] - A[n, n], B[m, m] - B[n, n]
                V[m, n] = -(A[m, n] * a + B[m, n] * b) / (a * a + b * b)
    found = algorithm_1([A, B], init="identity", max_iter=1)
    np.testing.assert_allclose(found.U, np.eye(4) + V, rtol=1e-12)


def test_the_printed_algorithm_diverges_from_the_identity():
    factors = np.random.default_rng(55).integers(-2, 3, size=(2, 8, 6))
    S = (factors.transpose(0, 2, 1) @ factors).astype(float)
    assert np.linalg.eigvalsh(S).min() > 0
    found = algorithm_1(S, init="identity")
    assert found.status == "diverged"
    assert not found.path[-1] <= 1e6 * found.path[0]
    assert not np.isnan(found.path).any()
    # What is handed back is the best it had.
    assert np.isfinite(found.U).all()
    assert found.criterion == min(found.path)
    assert joint_criterion(found.U, S) == pytest.approx(found.criterion)
    assert joint_diagonalise(S, init="identity").status == "converged"


def test_the_printed_step_is_undefined_for_groups_standardised_on_their_own():
    X, groups = standardised_apart()
    S = np.array([np.cov(X[groups == g].T, ddof=0) for g in "ab"])
    found = algorithm_1(S, init="identity")
    assert (found.status, found.n_iter, found.skipped) == ("undefined step", 0, 15)
    assert np.array_equal(found.U, np.eye(6))
    assert not np.isnan(found.path).any()
    skipping = algorithm_1(S, init="identity", undefined="skip")
    assert skipping.skipped == 15
    assert np.array_equal(skipping.U, np.eye(6))  # nothing else is left to do


def test_divergence_and_undefined_steps_are_warned_of():
    seen = {}
    for seed in range(40):
        factors = np.random.default_rng(seed).integers(-2, 3, size=(2, 12, 10))
        factors = factors - factors.mean(axis=1, keepdims=True)
        fitted = PrintedJEVDPCA(2, init="identity", center="group")
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted.fit(np.vstack(factors), sensitive_features=np.repeat(["a", "b"], 12))
        seen.setdefault(fitted.status_, str(caught[0].message) if caught else "")
        assert bool(caught) == (fitted.status_ != "converged")
        assert np.isfinite(fitted.components_).all()
        assert fitted.certificate_.gap >= -1e-9
    assert "diverged after" in seen["diverged"]
    apart, groups = standardised_apart()
    with pytest.warns(JointDiagonalisationWarning, match=r"step 1 .*zero by zero at 15 pair"):
        PrintedJEVDPCA(2, init="identity", center="group").fit(apart, sensitive_features=groups)


def test_orders():
    matrices = np.array([np.diag([9.0, 1.0, 4.0, 0.0]), np.diag([0.0, 7.0, 4.0, 1.0])])
    U = np.diag([1.0, 5.0, -2.0, 1.0])  # of lengths that must not matter
    # Alone: losses (0, 7), (8, 0), (5, 3), (9, 6). With the third: (4, 7), (7, 0) and (9, 6).
    orders = {"pooled": [0, 2, 1], "average": [0, 1, 2], "as_is": [0, 1, 2], "maxmin": [2, 0, 1]}
    for order, columns in orders.items():
        assert order_columns(U, matrices, np.array([0.9, 0.1]), 2, order).tolist() == columns[:2]


def test_dependent_columns_are_refused():
    with pytest.raises(ConfigurationError, match="2 chosen columns"):
        orthonormal_columns(np.array([[1.0, 3.0], [1.0, 3.0], [0.0, 1e-12]]))
