"""One kernel and several (Zhou et al. 2024): the counts judge alone, the fixed settings, what is known beforehand."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from compendium.data.clustering import ClusterData, load_clustering
from compendium.papers.zhou2024 import protocol as zhou2024
from compendium.papers.zhou2024 import readings, variants
from compendium.papers.zhou2024.protocol import JointCounts, judge_clustering
from evenspan.clustering import FairKernelKMeans
from evenspan.metrics.clustering import balance


@pytest.fixture(scope="module")
def table(cells_of):
    """Names of the notebook on Table 1, for the made set."""
    return cells_of("zhou2024-table", dataset="made", seeds=2)


@pytest.fixture(scope="module")
def several(cells_of):
    """Names of the notebook on several kernels, for the made set."""
    return cells_of("zhou2024-multiple", dataset="made", seeds=2)


@pytest.fixture(scope="module")
def made():
    return zhou2024.Problem(zhou2024.made_set())


@pytest.fixture(scope="module")
def run(made):
    """A method of a notebook on the made set, with a seed."""
    return lambda space, method, seed: zhou2024.fitted(
        space["METHODS"][method][0], space["METHODS"][method][1](made), made.data, seed
    )


# -- data and counts --------------------------------------------------------------------------------------------------


def test_factor_and_rotated_features_keep_inner_products(made):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 80), density=0.2, rng=rng, format="csr")
    groups = rng.integers(2, size=30)
    problem = zhou2024.Problem(ClusterData("made", sparse.csr_matrix(X), None, groups, groups, 2, ""))
    Z = zhou2024.features(problem)
    np.testing.assert_allclose(Z @ Z.T, (X @ X.T).toarray(), atol=1e-12)
    K = zhou2024.kernel(1)(made)
    Z = zhou2024.factor(K)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-10)
    assert Z.shape[1] < len(Z)


# -- one kernel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("experiment", "unfair", "fair"),
    [
        ("table", ["K-means", "KKM", "SC", "FKKM-f"], ["FKKM", "FKKM (swaps)", "VFC", "FFC"]),
        (
            "several",
            ["FMKKM-f", "KKM (average kernel)", "MKKM", "KKM (best kernel by its objective)"],
            ["FMKKM", "FMKKM (unshifted)", "FKKM (average kernel)"],
        ),
    ],
)
def test_on_crossed_structure_only_fair_methods_are_fair(request, experiment, unfair, fair):
    """The made set: who ignores groups finds them; the fair row updates and both fair rivals do not."""
    rows = request.getfixturevalue(experiment)["results"]
    rows = rows[rows["protocol"].isin(["released", "twelve kernels"])]
    found = rows.pivot_table(index="method", columns="metric", values="value")
    assert (found.loc[unfair, "MNCE"] < 0.5).all()
    assert (found.loc[unfair, "fair gap"] > 0.2).all()
    assert (found.loc[fair, "MNCE"] > 0.9).all()
    if experiment == "table":
        assert (found.loc[unfair, "Bal"] == 0.0).all()
        assert (found.loc[fair, ["Bal", "MNCE", "ACC"]] > [0.5, 0.98, 0.95]).all(axis=None)
        assert set(readings.METHODS) == set(readings.printed()["method"]) < set(found.index)


def test_the_start_is_kkm_and_its_rows_say_what_the_estimator_does(table, run, made):
    fair, start = run(table, "FKKM", 4), run(table, "KKM", 4)
    np.testing.assert_array_equal(fair.initial_labels_, start.labels_)
    K, groups = zhou2024.kernel(7)(made), made.data.groups
    model = FairKernelKMeans(3, kernel="precomputed", random_state=4).fit(K, sensitive_features=groups)
    np.testing.assert_array_equal(fair.labels_, model.labels_)
    rows = pd.DataFrame(zhou2024.rows_of(fair, K, made.data, 0.0, protocol="p", method="FKKM"))
    facts = rows[rows["protocol"] == "p: fit"].set_index("metric")["value"]
    assert facts["objective"] == model.objective_ <= facts["certificate bound"]
    tried = rows[(rows["protocol"] == "p: search") & (rows["metric"] == "MNCE")]
    assert tried["value"].tolist() == [step["mnce"] for step in model.search_]
    assert tried["variant"].iloc[-1] == f"weight {facts['weight']:g}"
    # Swaps come after the moves.
    swapped = run(table, "FKKM (swaps)", 4)
    facts = zhou2024.said(swapped, K, groups)
    assert fair.objective_ - 1e-9 <= swapped.objective_ <= facts["certificate bound"]
    assert facts["moves"] == fair.n_moves_


def test_rows_before_scaling_have_the_directions_of_those_after(raw):
    """What the readings of the scaling use are the loader's rows, but for their lengths."""
    raw("mnist_usps")
    problem = zhou2024.Problem("mnist_usps")
    rows = variants.unscaled(problem)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.ptp(lengths, axis=None) > 1.0
    np.testing.assert_allclose(rows / lengths, zhou2024.features(problem), atol=1e-12)


def test_jaffe_has_the_known_answer(raw, table):
    """Weight 2, every person found, and the balance of the true classes, from every seed; KKM is not there."""
    raw("jaffe")
    data = load_clustering("jaffe")
    for seed in range(3):
        fair, plain = (
            zhou2024.fitted(table["METHODS"][method][0], data.kernels[6].astype(float), data, seed)
            for method in ("FKKM", "KKM")
        )
        judged = judge_clustering(JointCounts.from_labels(data.y, fair.labels_, data.groups))
        assert (judged["ACC"], judged["NMI"], judged["Bal"]) == (1.0, 1.0, 0.5)
        assert judged["MNCE"] == pytest.approx(0.98931, abs=1e-5)
        assert fair.fairness_weight_ == 2.0
        assert balance(plain.labels_, data.groups) == 0.0


# -- several kernels --------------------------------------------------------------------------------------------------


def test_plain_weights_are_a_fixed_point_and_lower_the_objective(several, made):
    stack = zhou2024.stack(above=3000)(made)[5:9]  # of full rank: no remainder is zero
    model = several["MultipleKernelKMeans"](n_clusters=3).fit(stack)
    gamma = model.kernel_weights_
    assert model.converged_
    assert gamma.sum() == pytest.approx(1.0)

    def objective(weights):
        values = np.linalg.eigvalsh(np.tensordot(weights**2, stack, axes=1))
        return values.sum() - values[-3:].sum()  # min over H of tr K (I - H H')

    best = objective(gamma)
    assert best < objective(np.full(4, 0.25)) - 1e-3
    rng = np.random.default_rng(0)
    near = [np.abs(gamma + 0.01 * rng.normal(size=4)) for _ in range(20)]
    assert all(best <= objective(weights / weights.sum()) + 1e-6 for weights in near)
