"""Certificates: never below the truth, zero at the optimum, small near it, and never satisfied by a wrong answer."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ortho_group

from evenspan import Certificate
from evenspan.core.answer import ky_fan_certificate


def problem(spectrum, seed=0):
    Q = ortho_group.rvs(len(spectrum), random_state=seed)
    return Q @ np.diag(spectrum) @ Q.T, Q


@given(st.integers(1, 6), st.data())
def test_the_bound_is_never_below_the_truth(m, data):
    k = data.draw(st.integers(1, m))
    spectrum = sorted(data.draw(st.lists(st.integers(-4, 4), min_size=m, max_size=m)), reverse=True)
    seed = data.draw(st.integers(0, 10_000))
    H, Q = problem(spectrum, seed) if m > 1 else (np.array([[float(spectrum[0])]]), np.eye(1))
    truth = float(sum(spectrum[:k]))
    random = np.linalg.qr(np.random.default_rng(seed).normal(size=(m, k)))[0]
    picked = Q[:, np.random.default_rng(seed).permutation(m)[:k]]
    for A in (random, picked, Q[:, :k]):
        certificate = ky_fan_certificate(H, A, "")
        assert certificate.primal == pytest.approx(np.trace(A.T @ H @ A), abs=1e-12)
        assert certificate.dual >= truth - 1e-11
        assert certificate.gap >= truth - certificate.primal - 1e-11
        if truth - certificate.primal > 1e-6:
            assert not certificate.is_optimal()


def test_what_optimal_means():
    good = Certificate("p", primal=100.0, dual=100.0 + 5e-8)
    assert good.gap == pytest.approx(5e-8)
    assert good.is_optimal()  # 5e-10 of the objective
    assert not good.is_optimal(rtol=1e-10)
    assert not dataclasses.replace(good, dual=100.0 + 5e-7).is_optimal()
    assert not dataclasses.replace(good, feasibility=1e-8).is_optimal(), "an infeasible answer is no answer"
    assert not dataclasses.replace(good, dual=99.9).is_optimal(), "beating the bound means that something is wrong"
    assert Certificate("p", 0.0, 0.0).is_optimal()
    assert not Certificate("p", 0.0, 1e-300).is_optimal()
    assert not Certificate("p", float("nan"), 1.0).is_optimal()
    with pytest.raises(dataclasses.FrozenInstanceError):
        good.primal = 1.0
