"""Several kernels: weights on the simplex, nearly equal under the shift, and baselines that are what they say."""

import numpy as np
import pandas as pd
import pytest

from compendium.experiments import zhou2024_multiple as protocol
from compendium.experiments import zhou2024_multiple_summary as summary
from compendium.experiments.zhou2024_methods import made_set
from evenspan.clustering import base_kernels
from evenspan.core.errors import ConfigurationError
from evenspan.metrics.clustering import clustering_accuracy


@pytest.fixture(scope="module")
def made():
    return protocol.Several.of(made_set())


@pytest.fixture(scope="module")
def build():
    """What a build computes for Jaffe."""
    return protocol.run("jaffe")


def test_the_kernels_are_the_twelve_of_the_data(made):
    np.testing.assert_allclose(made.stack[6], base_kernels.base_kernel(made.data.X, 7), atol=1e-12)
    np.testing.assert_allclose(made.average.K, made.stack.mean(axis=0), atol=1e-12)
    assert made.stack.dtype == np.float64


def test_the_shift_makes_kernel_weights_nearly_equal(build):
    """The theorem: the common term dominates. The control: without fairness or without shift weights differ."""
    weights = summary.gammas(build, protocol.MADE)
    sums = weights.groupby("method")["mean"].sum()
    np.testing.assert_allclose(sums, 1.0, atol=1e-12)
    off = weights.assign(off=(12 * weights["mean"] - 1).abs()).groupby("method")["off"].max()
    assert off["FMKKM"] < 0.01
    for method in ("FMKKM-f", "FMKKM (unshifted)"):
        assert off[method] > 0.2


def test_what_is_reached_stays_below_the_bound(made):
    for method in ("FMKKM", "FMKKM-f", "FMKKM (unshifted)"):
        facts = protocol.METHODS[method](made, 1).facts
        assert facts["trace reached"] <= facts["trace bound"], method
        if method != "FMKKM (unshifted)":
            assert facts["rises of the objective"] == 0, method


def test_fair_methods_are_fair_and_the_others_are_not(build):
    found = summary.spreads(build, protocol.MADE).pivot(index="method", columns="metric", values="mean")
    for method in ("FMKKM", "FMKKM (unshifted)", "FKKM (average kernel)"):
        assert found.loc[method, "MNCE"] > 0.9, method
    for method in ("FMKKM-f", "KKM (average kernel)", "MKKM", "KKM (best kernel by its objective)"):
        assert found.loc[method, "MNCE"] < 0.5, method


def test_the_best_kernel_is_the_best_of_twelve(made):
    answers = [protocol._single(made, K, 0) for K in made.stack]
    by_share = protocol.best_kernel(oracle=False)(made, 0)
    assert by_share.facts["explained share"] == max(share for _, share in answers)
    by_classes = protocol.best_kernel(oracle=True)(made, 0)
    accuracies = [clustering_accuracy(made.data.y, labels) for labels, _ in answers]
    assert clustering_accuracy(made.data.y, by_classes.labels) == max(accuracies)
    share = answers[0][1]
    assert 0.0 < share < 1.0


def test_plain_weights_are_a_fixed_point_and_lower_the_objective(made):
    stack = made.stack[5:9]  # of full rank: no remainder is zero
    gamma, _, settled = protocol._plain_weights(stack, 3)
    assert settled
    assert gamma.sum() == pytest.approx(1.0)

    def objective(weights):
        values = np.linalg.eigvalsh(np.tensordot(weights**2, stack, axes=1))
        return values.sum() - values[-3:].sum()  # min over H of tr K (I - H H')

    best = objective(gamma)
    assert best < objective(np.full(4, 0.25)) - 1e-3
    rng = np.random.default_rng(0)
    near = [np.abs(gamma + 0.01 * rng.normal(size=4)) for _ in range(20)]
    assert all(best <= objective(weights / weights.sum()) + 1e-6 for weights in near)


def test_what_is_not_there_is_said():
    with pytest.raises(ConfigurationError, match="method='PCA'"):
        protocol.run_task("jaffe", "PCA")
    assert len(protocol.tasks()) == len(protocol.DATASETS) * len(protocol.METHODS)
    nothing = pd.DataFrame({"protocol": [], "metric": pd.Series(dtype=str), "value": [], "method": []})
    assert "No kernel weight is at hand" in summary.in_words(nothing)


def test_words_say_how_far_weights_are_from_equal():
    rows = [("A", f"gamma {p:02d}", v) for p, v in ((1, 0.4), (2, 0.6))]
    rows = pd.DataFrame(rows, columns=["method", "metric", "value"]).assign(protocol="twelve kernels: fit")
    assert summary.in_words(rows) == "Kernel weights lie off equal ones by: A -20.00 % to +20.00 %."
