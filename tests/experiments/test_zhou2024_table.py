"""Table 1 of Zhou et al. (2024): the counts judge alone, the fixed settings, the known answer, and the claims."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from compendium.data.clustering import ClusterData, load_clustering
from compendium.experiments import zhou2024_methods as methods
from compendium.experiments import zhou2024_summary, zhou2024_table, zhou2024_variants
from compendium.experiments.store import read_results
from compendium.experiments.zhou2024_judge import JointCounts, judge_clustering
from evenspan.clustering import FairKernelKMeans, KernelKMeans
from evenspan.core.errors import ConfigurationError


@pytest.fixture(scope="module")
def made():
    return methods.Problem(methods.made_set())


@pytest.fixture(scope="module")
def build():
    """What a build computes for Jaffe."""
    return zhou2024_table.run("jaffe")


def means(rows: pd.DataFrame, **where) -> pd.DataFrame:
    for name, value in where.items():
        rows = rows[rows[name] == value]
    return rows.pivot_table(index="method", columns="metric", values="value")


def test_on_crossed_structure_only_fair_methods_are_fair(build):
    """The made set: who ignores groups finds them; the fair row updates and both fair rivals do not."""
    found = means(build, dataset=zhou2024_table.MADE, protocol=zhou2024_table.MADE)
    for method in ("K-means", "KKM", "SC", "FKKM-f"):
        assert found.loc[method, "Bal"] == 0.0, method
        assert found.loc[method, "fair gap"] > 0.3, method
    for method in ("FKKM", "FKKM (swaps)", "VFC", "FFC"):
        assert found.loc[method, "Bal"] > 0.5, method
        assert found.loc[method, "MNCE"] > 0.98, method
        assert found.loc[method, "ACC"] > 0.95, method
    assert set(zhou2024_table.published()["method"]) < set(found.index)


def test_the_start_is_kkm_and_the_steps_are_those_of_the_estimator(made):
    """FKKM of the table and ``FairKernelKMeans`` on the same kernel and seed: same start, labels, objective, search."""
    K, groups = made.kernel(methods.KERNEL), made.data.groups
    for weight, method in ((0.0, "FKKM-f"), ("auto", "FKKM")):
        model = FairKernelKMeans(3, weight, kernel="precomputed", random_state=4).fit(K, sensitive_features=groups)
        run = methods.METHODS[method](made, 4)
        np.testing.assert_array_equal(run.labels, model.labels_)
        assert run.facts["objective"] == pytest.approx(model.objective_, rel=1e-12)
        assert run.facts["certificate bound"] == pytest.approx(model.certificate_.dual, rel=1e-9)
        assert run.facts["weight"] == model.fairness_weight_
        tried = [weight for weight, name, _ in run.search if name == "MNCE"]
        assert tried == [found["fairness_weight"] for found in model.search_]
        np.testing.assert_array_equal(model.initial_labels_, methods.METHODS["KKM"](made, 4).labels)
    kkm = KernelKMeans(3, algorithm="relaxed", kernel="precomputed", random_state=4).fit(K)
    np.testing.assert_array_equal(kkm.labels_, methods.METHODS["KKM"](made, 4).labels)


def test_objectives_stay_below_their_bounds(made):
    for method in ("FKKM-f", "FKKM", "FKKM (swaps)"):
        facts = methods.METHODS[method](made, 1).facts
        assert facts["objective"] <= facts["certificate bound"], method
    swapped = methods.METHODS["FKKM (swaps)"](made, 1).facts
    assert swapped["objective"] >= methods.METHODS["FKKM"](made, 1).facts["objective"] - 1e-9


def test_stored_counts_give_every_metric_again(made):
    rows = zhou2024_table._frame(zhou2024_table._seeds("jaffe", "KKM", methods.METHODS["KKM"], made, seeds=range(2)))
    for seed, text in rows.loc[rows["metric"] == zhou2024_table.COUNTED, ["split", "counts"]].itertuples(index=False):
        again = judge_clustering(JointCounts.from_text(text))
        own = rows[(rows["split"] == seed) & (rows["protocol"] == "released")].set_index("metric")["value"]
        assert {name: own[name] for name in again} == again
        assert JointCounts.from_text(text).n == own[zhou2024_table.COUNTED] == len(made.data.y)


def test_names_of_clusters_do_not_matter():
    labels = np.array([2, 2, 0, 1, 0, 2])
    np.testing.assert_array_equal(methods.by_first_row(labels), [0, 0, 1, 2, 1, 0])
    np.testing.assert_array_equal(methods.by_first_row(np.array([5, 9, 7])[labels]), methods.by_first_row(labels))


def test_without_a_stored_run_the_build_says_so(monkeypatch):
    empty = read_results("zhou2024-table", names=[])
    monkeypatch.setattr(zhou2024_table, "read_results", lambda *args: empty)
    monkeypatch.setattr(zhou2024_table, "METHODS", {"KKM": methods.METHODS["KKM"]})
    rows = zhou2024_table.run("jaffe")
    stored = rows[rows["protocol"] == "released"]
    assert set(stored["metric"]) == set(zhou2024_table.JUDGED)
    assert stored["value"].isna().all()
    assert (stored["reason"] == zhou2024_table.NOTHING_STORED).all()


def test_factor_and_rotated_features_keep_inner_products(made):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 80), density=0.2, rng=rng, format="csr")
    groups = rng.integers(2, size=30)
    problem = methods.Problem(ClusterData("made", sparse.csr_matrix(X), None, groups, groups, 2, ""))
    np.testing.assert_allclose(problem.features @ problem.features.T, (X @ X.T).toarray(), atol=1e-12)
    K = made.kernel(methods.LINEAR)
    Z = methods.factor(K)
    np.testing.assert_allclose(Z @ Z.T, K, atol=1e-10)
    assert Z.shape[1] < len(Z)


def test_data_that_are_not_at_hand_are_rows_with_a_reason(monkeypatch, tmp_path):
    monkeypatch.setenv("EVENSPAN_DATA", str(tmp_path))
    for dataset in zhou2024_table.MISSING:
        rows = zhou2024_table.run_task(missing=dataset)
        assert set(rows["method"]) == set(methods.METHODS)
        assert set(rows["metric"]) == set(zhou2024_table.JUDGED)
        assert rows["value"].isna().all()
        assert rows["reason"].str.contains("not at hand").all()
    tasks = zhou2024_table.tasks()
    assert {task.get("dataset") or task["missing"] for task in tasks} == set(zhou2024_summary.NAMES)


def test_tasks_are_checked():
    with pytest.raises(ConfigurationError, match="method='PCA'"):
        zhou2024_table.run_task("jaffe", "PCA")
    with pytest.raises(ConfigurationError, match="family='rest'"):
        zhou2024_table.run_task("jaffe", "KKM", "rest")
    assert all(task["dataset"] != "jaffe" for task in zhou2024_table.tasks() if task.get("family") == "scaling")
    assert set(zhou2024_variants.SCALINGS_READ) < set(methods.METHODS)
    assert set(zhou2024_variants.VARIANTS) == set(methods.METHODS) - {"FKKM (swaps)"}


def test_shuffled_rows_get_their_own_labels_back(made):
    """On the made set the answer does not depend on the order, so that the clusters are the same."""
    run = zhou2024_variants.shuffled(made, 3)
    np.testing.assert_array_equal(
        methods.by_first_row(run.labels), methods.by_first_row(methods.METHODS["FKKM"](made, 3).labels)
    )


def test_rows_before_scaling_have_the_directions_of_those_after(raw):
    """What the readings of the scaling use are the loader's rows, but for their lengths."""
    raw("mnist_usps")
    problem = methods.Problem(load_clustering("mnist_usps"))
    rows = zhou2024_variants.unscaled(problem)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.ptp(lengths, axis=None) > 1.0
    np.testing.assert_allclose(rows / lengths, problem.features, atol=1e-12)


def test_jaffe_has_the_known_answer(raw):
    """Weight 2, every person found, and the balance of the true classes, from every seed; KKM is not there."""
    raw("jaffe")
    problem = methods.Problem(load_clustering("jaffe"))
    for seed in range(3):
        run = methods.METHODS["FKKM"](problem, seed)
        found = judge_clustering(JointCounts.from_labels(problem.data.y, run.labels, problem.data.groups))
        assert (found["ACC"], found["NMI"], found["Bal"]) == (1.0, 1.0, 0.5)
        assert found["MNCE"] == pytest.approx(0.98931, abs=1e-5)
        assert run.facts["weight"] == 2.0
        start = methods.METHODS["KKM"](problem, seed)
        assert (
            judge_clustering(JointCounts.from_labels(problem.data.y, start.labels, problem.data.groups))["Bal"] == 0.0
        )


def test_readings_are_ordered_by_their_distance_from_print():
    theirs = zhou2024_summary.printed().query("dataset == 'jaffe' and method == 'SC'")
    key = {"dataset": "jaffe", "method": "SC", "source": "full run"}
    rows = [
        {**key, "variant": variant, "protocol": protocol, "metric": metric, "mean": value + off}
        for variant, protocol, off in (("", "released", 0.1), ("near", "variants", 0.01), ("far", "variants", 0.3))
        for metric, value in theirs[["metric", "mean"]].itertuples(index=False)
    ]
    found = zhou2024_summary.readings(pd.DataFrame(rows), "jaffe")
    assert found["reading"].tolist() == [zhou2024_summary.FIXED, "near", "far"]
    np.testing.assert_allclose(found["deviation"], [0.1, 0.01, 0.3])
    assert found["nearest"].tolist() == [False, True, False]
    assert "0 of 1 methods; another one is nearer for SC (near: 0.010, not 0.100)" in (
        zhou2024_summary.nearest_in_words(found)
    )


def test_claims_are_counted_in_print_and_can_fail(monkeypatch):
    assert zhou2024_summary.most_even().printed == "holds"
    assert zhou2024_summary.best_on_half().printed == "holds"
    _, evidence, answer = zhou2024_summary.marks()
    assert answer == "does not hold"
    assert "22 of 24 rows" in evidence
    cells = zhou2024_summary.printed()
    worse = cells["mean"].where((cells["method"] != "FKKM") | (cells["dataset"] != "k1b"), 0.0)
    monkeypatch.setattr(zhou2024_summary, "printed", lambda: cells.assign(mean=worse))
    assert zhou2024_summary.most_even().printed == "holds in part"
    everywhere = cells["mean"].where(cells["method"] != "FKKM", 1.0)
    monkeypatch.setattr(zhou2024_summary, "printed", lambda: cells.assign(mean=everywhere))
    assert zhou2024_summary.best_on_half().printed == "holds in part"
