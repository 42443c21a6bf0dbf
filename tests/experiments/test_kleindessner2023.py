"""The protocols of the first paper: moments and points agree, stored results come out again, claims can fail."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import linalg

from evenspan import FairPCA, GroupMoments, metrics
from evenspan.datasets import Dataset
from evenspan.experiments import kleindessner2023_runtime as runtime
from evenspan.experiments import kleindessner2023_table as table
from evenspan.experiments import kleindessner2023_theorems as theorems
from evenspan.experiments import tasks
from evenspan.experiments.store import read_results


@pytest.fixture(scope="module")
def full():
    return table.summary(read_results("kleindessner2023-table"))


@pytest.mark.parametrize(("dataset", "k"), [("adult", 10), ("compas", 2), ("german", 10)])
def test_shipped_moments_give_the_stored_numbers(dataset, k):
    """The embedded profile recomputes, from moments, what the full run computed from points."""
    mine = table.run(dataset, k)
    stored = read_results("kleindessner2023-table")
    keys = ["dataset", "method", "k", "split", "protocol", "metric"]
    both = mine.astype({"split": str}).merge(stored.astype({"split": str}), on=keys, suffixes=("", "_stored"))
    assert len(both) == len(mine) > 0
    np.testing.assert_allclose(both["value"], both["value_stored"], rtol=1e-7, atol=1e-9)


def test_variance_column_equals_the_printed_digits(full):
    """A published number as an oracle, independent of the ledger."""
    printed = {"PCA": 21.77, "Fair PCA": 19.62, "Fair PCA-S (0.5)": 12.75, "Fair PCA-S (0.85)": 15.79}
    rows = full[(full["dataset"] == "adult") & (full["k"] == 10) & (full["metric"] == "%Var")].set_index("method")
    assert {method: round(rows.loc[method, "mean"], 2) for method in printed} == printed


@pytest.mark.raw
def test_a_task_from_raw_data_comes_out_as_stored(raw):
    raw("compas")
    comparisons, failed = tasks.check("kleindessner2023-table", only=["compas-k2-fair_pca"], progress=False)
    assert not failed
    assert all(comparison.ok for comparison in comparisons)


def test_algorithm_1_as_printed_spans_the_same_subspace():
    rng = np.random.default_rng(4)
    groups = np.repeat([0, 1], [150, 90])
    X = rng.normal(size=(240, 7)) * [4, 3, 2, 1.5, 1, 1, 1] + np.outer(groups, rng.normal(size=7))
    for method, fraction in {"Fair PCA": None, "Fair PCA-S (0.5)": 0.5, "Fair PCA-S (0.85)": 0.85}.items():
        U = runtime.algorithm_1(X, groups, 3, fraction)
        fitted = table.fit(method, 3, GroupMoments.from_data(X, groups))
        assert linalg.subspace_angles(U, fitted.components_.T).max() < 1e-7
        assert (np.diff(((X @ U) ** 2).sum(axis=0)) > 0).all(), "the program returns increasing eigenvalues"


def test_basis_study_changes_the_basis_and_nothing_else(monkeypatch):
    rng = np.random.default_rng(6)
    data = Dataset("made", rng.normal(size=(60, 5)), rng.integers(0, 2, 60), rng.integers(0, 2, 60), tuple("abcde"))
    fitted = table.fit("Fair PCA", 2, GroupMoments.from_data(data.X, data.groups))
    seen = []

    def judge(name, train, test, protocol):
        seen.append(test[0])
        return {"accuracy": 0.5, "demographic_parity": 0.0}

    monkeypatch.setattr(metrics, "downstream", judge)
    rows = list(table.judge_bases(fitted, data))
    assert len(rows) == 2 * table.DRAWS
    assert len({E.tobytes() for E in seen}) > 1
    T = fitted.transform(data.X)
    for E in seen:
        np.testing.assert_allclose(np.abs(E), np.abs(T[:, ::-1]), atol=1e-12)


def test_summary_uses_the_population_deviation():
    rows = pd.DataFrame(
        [("d", "PCA", 2, s, "released", "%Var", v) for s, v in enumerate([1.0, 3.0])], columns=table.COLUMNS
    )
    assert table.summary(rows)[["mean", "std", "splits"]].iloc[0].tolist() == [2.0, 1.0, 2]


def test_theorem_searches_hold_and_would_notice(monkeypatch):
    for claim, answer in theorems.claims.items():
        assert answer()[0] == "holds", claim

    # A wrong algorithm, plain PCA in place of Fair PCA, must be found out by the searches that use it.
    class Wrong(FairPCA):
        def _answer(self, moments):
            from evenspan.reconstruction.standard_pca import principal_subspace

            return principal_subspace(moments, self.n_components)

    monkeypatch.setattr(theorems, "FairPCA", Wrong)
    assert theorems.claims["K08"]()[0] == "does not hold"
    monkeypatch.setattr(theorems, "fair_basis", lambda constraints, size: np.eye(len(constraints)))
    assert theorems.claims["K01"]()[0] == "does not hold"
    monkeypatch.setattr(theorems, "FairPCA", lambda k, **options: _Suboptimal(k, **options))
    assert theorems.claims["K03"]()[0] == "does not hold"


class _Suboptimal(FairPCA):
    """Feasible, but with the directions of least variance."""

    def _answer(self, moments):
        from evenspan.certificate import ky_fan_certificate
        from evenspan.representation.constraints import fair_basis, mean_constraints
        from evenspan.subspace import FairSubspace

        R = fair_basis(mean_constraints(moments), np.sqrt(np.trace(moments.second_moment)))
        self.constraint_rank_, self.standard_subspace_ = moments.d - R.shape[1], None
        H = R.T @ moments.second_moment @ R
        A = np.linalg.eigh(H)[1][:, : self.n_components]
        return FairSubspace(R @ A, np.zeros(moments.d), ky_fan_certificate(H, A, "least variance"))


def test_claims_from_results_can_fail(monkeypatch):
    rows = read_results("kleindessner2023-table")
    assert table.covariances_come_closer()[0] == "holds"
    assert table.protocol_facts()[0] == "holds"
    worse = rows.assign(value=np.where(rows["method"] == "Fair PCA", 0.0, rows["value"]))
    monkeypatch.setattr(table, "read_results", lambda name: worse)
    assert table.covariances_come_closer()[0] == "does not hold"
    monkeypatch.setattr(table, "read_results", lambda name: rows.assign(value=60.0))
    assert table.protocol_facts()[0] == "does not hold"
    monkeypatch.setattr(table, "read_results", lambda name: rows.iloc[:0])
    assert table.covariances_come_closer() is None
    assert table.protocol_facts() is None


def test_running_times_are_ratios_within_a_repetition():
    rows = runtime.run_task(60, 8, 2, repetitions=2)
    assert set(rows.loc[rows["method"] == "PCA", "value"]) == {1.0}
    assert (rows["value"] > 0).all()
    curve = runtime.curve(rows)
    assert curve[["n", "d"]].drop_duplicates().to_numpy().tolist() == [[60, 8]]
    assert (curve["smallest"] <= curve["median"]).all()


def test_the_judge_sees_memory_in_the_published_protocol(full):
    """The finding of the experiments chapter as a test: the kernel SVM's score is mostly memory."""
    rows = full[(full["dataset"] == "adult") & (full["k"] == 10) & (full["metric"] == "%Acc (Kernel SVM)")]
    wide = rows.pivot(index="method", columns="protocol", values="mean")
    assert (wide["released"] - wide["held-out"] > 8).all()
    assert set(metrics.CLASSIFIERS) == {"Kernel SVM", "Linear SVM", "MLP"}


def test_basis_ranges_are_over_draws_only():
    rows = [("PCA", "%Acc (MLP)", f"signs {i:02d}", v) for i, v in enumerate([3.0, 1.0, 2.0])]
    rows += [("PCA", "%Acc (MLP)", "released", 9.0)]
    found = table.basis_ranges(pd.DataFrame(rows, columns=["method", "metric", "protocol", "mean"]))
    assert found[["smallest", "median", "largest", "draws"]].to_numpy().tolist() == [[1.0, 2.0, 3.0, 3]]


def test_times_are_told_as_multiples_of_those_of_pca(monkeypatch):
    seconds = itertools.cycle(np.arange(1.0, len(runtime.METHODS) + 1) / 4)
    monkeypatch.setattr(runtime, "best_time", lambda work: next(seconds))
    rows = runtime.run_task(n=20, d=3, k=2, repetitions=2)
    assert next(iter(runtime.METHODS)) == "PCA"
    assert rows["value"].tolist() == 2 * list(range(1, len(runtime.METHODS) + 1))


def test_the_running_time_claim_can_fail(monkeypatch):
    def rows(ratio):
        sizes = [(n, d) for n in (336, 20_000) for d in (20, 60, 100)]
        data = [
            (f"two_latent_groups-n{n}-d{d}", "Fair PCA", 5, 0, "side by side", "time / PCA", ratio(d)) for n, d in sizes
        ]
        return pd.DataFrame(data, columns=table.COLUMNS)

    def answer(ratio):
        monkeypatch.setattr(runtime, "read_results", lambda name: rows(ratio))
        return runtime.same_order_as_pca()[0]

    assert answer(lambda d: 1.2) == "holds"
    assert answer(lambda d: d / 50) == "does not hold", "a ratio that grows like d, though never above 3"
    assert answer(lambda d: 4.0) == "does not hold", "a constant ratio, but a large one"
    monkeypatch.setattr(runtime, "read_results", lambda name: rows(lambda d: 1.0).iloc[:0])
    assert runtime.same_order_as_pca() is None
