"""Min-max projections in many dimensions: the answers of the dense solver, certified without eigendecompositions."""

import numpy as np
import pytest

from evenspan.core.errors import ComponentsError, ConfigurationError
from evenspan.reconstruction import min_max, min_max_krylov
from evenspan.reconstruction.group_errors import errors, losses
from evenspan.reconstruction.min_max import solve_dense, solve_min_max
from evenspan.reconstruction.min_max_krylov import solve_min_max_krylov
from evenspan.reconstruction.multi_criteria import criteria_offsets


def draw_pair(kind, d, seed=0):
    """Covariance matrices with fast or slowly decaying spectra, of plain noise, or of unlike directions and scales."""
    rng = np.random.default_rng(seed)
    if kind == "flat":
        return np.array([A.T @ A / n for n in (3 * d, d // 2) for A in [rng.normal(size=(n, d))]])
    decay = np.arange(1, d + 1) ** {"fast": 1.0, "slow": 0.25, "unlike": 0.5}[kind]
    S = np.array([A.T @ A / d for A in rng.normal(size=(2, d, d)) / decay])
    if kind == "unlike":
        order = rng.permutation(d)
        S[1] = 7.0 * S[1][np.ix_(order, order)]
    return S


@pytest.fixture
def dense_calls(monkeypatch):
    """How often the dense solver was called."""
    calls = []

    def counted(*arguments, **settings):
        calls.append(len(arguments[0]))
        return solve_dense(*arguments, **settings)

    monkeypatch.setattr(min_max_krylov, "solve_dense", counted)
    return calls


@pytest.mark.parametrize("objective", ["loss", "error"])
@pytest.mark.parametrize(("kind", "k"), [("fast", 6), ("slow", 3), ("unlike", 5), ("flat", 4)])
def test_it_is_the_answer_of_the_dense_solver(kind, k, objective, dense_calls):
    S = draw_pair(kind, 240)
    V, certificate = solve_min_max_krylov(*S, k, objective)
    assert not dense_calls
    _, dense = solve_dense(*S, k, objective, rtol=1e-10)
    assert certificate.primal == pytest.approx(dense.primal, rel=1e-8)
    assert certificate.weights == pytest.approx(dense.weights, abs=1e-3)
    assert np.abs(V.T @ V - np.eye(k)).max() < 1e-12
    reached = (losses if objective == "loss" else errors)(S, V)
    assert certificate.primal == pytest.approx(reached.max(), rel=1e-8)
    rounding = 1e-12 * criteria_offsets(S, k, objective).max()
    assert -rounding <= certificate.gap <= 1e-8 * certificate.primal
    # Weak duality: the value is not below the largest dual value, and the bound is not above it.
    assert certificate.primal >= dense.dual - rounding
    assert certificate.dual <= dense.primal + rounding


def test_the_bound_is_below_the_dual_function_at_its_weight():
    S = draw_pair("slow", 200, seed=3)
    for rtol in (1e-3, 1e-6, 1e-9):
        V, certificate = solve_min_max_krylov(*S, 5, rtol=rtol)
        w = np.array(certificate.weights)
        phi = w @ criteria_offsets(S, 5, "loss") - np.linalg.eigvalsh(np.tensordot(w, S, axes=1))[-5:].sum()
        assert certificate.dual <= phi + 1e-12
        assert certificate.primal >= losses(S, V).max() - 1e-12
        assert certificate.gap <= rtol * certificate.primal


def test_a_tie_at_the_cut_is_left_to_the_dense_solver(dense_calls):
    # The pair with the known answer 1.8 in three dimensions of many, rotated.
    d = 120
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(d, d)))[0]
    spectra = np.full((2, d), 1e-3)
    spectra[:, :3] = [[3.0, 2.0, 0.0], [0.0, 2.0, 5.0]]
    S = np.array([(Q * s) @ Q.T for s in spectra])
    V, certificate = solve_min_max_krylov(*S, 1)
    assert dense_calls == [d]
    assert certificate.primal == pytest.approx(1.8, rel=1e-8)
    np.testing.assert_allclose(losses(S, V), [1.8, 1.8], rtol=1e-7)


def test_a_direction_that_the_krylov_spaces_missed_is_noticed(monkeypatch, dense_calls):
    """With a start orthogonal to the leading eigenvector only the factorisation can tell."""
    d, k = 160, 4
    rng = np.random.default_rng(2)
    spectra = np.array([1.0 / np.arange(1, d + 1), 1.5 / np.arange(1, d + 1) ** 1.2])
    spectra[:, -1] = [4.0, 3.0]
    S = np.array([np.diag(s) for s in spectra])
    S[1, :20, :20] += 0.02 * np.cov(rng.normal(size=(20, 40)))

    class Blind:
        def normal(self, size):
            block = rng.normal(size=size)
            block[..., -1] = 0.0
            return block

    _, right = solve_dense(*S, k, "loss", rtol=1e-10)
    monkeypatch.setattr(min_max_krylov.np.random, "default_rng", lambda seed: Blind())
    _, blind = solve_min_max_krylov(*S, k, certify=False)
    assert not dense_calls
    assert blind.primal != pytest.approx(right.primal, rel=1e-3)
    _, proved = solve_min_max_krylov(*S, k)
    assert dense_calls == [d]
    assert proved.primal == pytest.approx(right.primal, rel=1e-8)


def test_one_group_can_decide_the_errors(dense_calls):
    S = draw_pair("fast", 200) * np.array([50.0, 0.01])[:, None, None]
    _, certificate = solve_min_max_krylov(*S, 4, "error")
    assert certificate.weights == (1.0, 0.0)
    assert certificate.primal == pytest.approx(np.linalg.eigvalsh(S[0])[:-4].sum(), rel=1e-9)


def test_identical_groups_lose_nothing():
    S = np.array([draw_pair("fast", 200)[0]] * 2)
    V, certificate = solve_min_max_krylov(*S, 4)
    assert certificate.primal == pytest.approx(0.0, abs=1e-10)
    assert np.abs(losses(S, V)).max() < 1e-10


def test_large_problems_are_handed_over_and_wide_ranks_are_not(monkeypatch):
    monkeypatch.setattr(min_max, "LARGE", 100)
    seen = []
    monkeypatch.setattr(min_max_krylov, "solve_min_max_krylov", lambda *a, **settings: seen.append(a[2]))
    S = draw_pair("fast", 100)
    for k in (3, 40):
        solve_min_max(*S, k)
    assert seen == [3]


def test_what_means_nothing_is_refused():
    S = draw_pair("fast", 60)
    with pytest.raises(ConfigurationError, match="objective"):
        solve_min_max_krylov(*S, 2, "variance")
    with pytest.raises(ComponentsError):
        solve_min_max_krylov(*S, 60)
