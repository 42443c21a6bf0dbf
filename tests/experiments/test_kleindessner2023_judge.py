"""What is measured of one method of the table: each row from the part its protocol names, each gap with a reason."""

import warnings
from types import SimpleNamespace

import numpy as np
import pytest

from compendium.data import Dataset
from compendium.papers.kleindessner2023 import judge
from evenspan import ConvexFairPCA, FairKernelPCA, FairPCA, GroupMoments, StandardPCA, metrics


def draw(n, seed) -> Dataset:
    """Two groups of unequal size, mean and scale."""
    rng = np.random.default_rng(seed)
    groups = (np.arange(n) % 3 == 0).astype(int)
    X = rng.normal(size=(n, 5)) * [3, 2, 1.5, 1, 0.7] * np.array([[1.0], [0.5]])[groups]
    X += np.outer(groups, [1.0, -2.0, 0.5, 0.0, 1.0])
    y = (X[:, 0] + X[:, 2] + rng.normal(size=n) > 1.0).astype(int)
    return Dataset("made", X, y, groups, tuple("abcde"))


@pytest.fixture(scope="module")
def parts():
    return draw(90, 1), draw(60, 2)


@pytest.fixture(scope="module")
def fitted(parts):
    return FairPCA(2, center=False).fit(parts[0].X, sensitive_features=parts[0].groups)


@pytest.fixture(scope="module")
def kernel(parts):
    return FairKernelPCA(2, center=False).fit(parts[0].X, sensitive_features=parts[0].groups)


def values(rows) -> dict[tuple[str, str], float]:
    rows = list(rows)
    found = {(protocol, metric): value for protocol, metric, value, _ in rows}
    assert len(found) == len(rows), "a metric was measured twice under one protocol"
    return found


def gaps(part: Dataset, V) -> tuple[float, float]:
    sides = [part.X[part.groups == g] @ V for g in (0, 1)]
    mean = np.linalg.norm(sides[0].mean(axis=0) - sides[1].mean(axis=0))
    return mean, np.linalg.norm(np.cov(sides[0], rowvar=False) - np.cov(sides[1], rowvar=False), ord=2)


def test_what_moments_give_is_what_the_points_give(parts, fitted):
    train, test = parts
    V = fitted.components_.T
    found = values(judge.judge_moments("Fair PCA", fitted, *(GroupMoments.from_data(p.X, p.groups) for p in parts)))
    share = (test.X @ V).var(axis=0).sum(axis=0) / test.X.var(axis=0).sum(axis=0)
    assert found.pop(("released", "%Var")) == pytest.approx(100 * share)
    expected = {
        (protocol, metric): gap
        for protocol, part in (("in sample", train), ("held-out", test))
        for metric, gap in zip(("mean gap", "covariance gap"), gaps(part, V), strict=True)
    }
    assert found == pytest.approx(expected, abs=1e-12)
    assert found["held-out", "mean gap"] > 0.05 > 1e-10 > found["in sample", "mean gap"]


def test_variance_is_that_of_the_map_as_it_is_applied(parts):
    """Loadings that are no basis are judged as they are; a judge of subspaces would refuse them."""
    moments = [GroupMoments.from_data(p.X, p.groups) for p in parts]
    B = np.array([[2.0, 0.0], [0.0, 0.5], [0.0, 0.0], [0.0, 0.5], [0.0, 0.0]])
    found = values(judge.judge_moments("FPCA (0, 0.01)", SimpleNamespace(components_=B.T), *moments))
    share = (parts[1].X @ B).var(axis=0).sum(axis=0) / parts[1].X.var(axis=0).sum(axis=0)
    assert found["released", "%Var"] == pytest.approx(100 * share) != 100


def test_the_published_columns_are_judged_on_the_test_part(parts, fitted):
    test = parts[1]
    rows = list(judge.judge_released("Fair PCA", fitted, test, 1.7))
    found = values(rows)
    assert {protocol for protocol, _ in found} == {"released"}
    assert {metric for _, metric in found} == {*judge.METRICS, *(f"Delta_EO ({c})" for c in judge.CLASSIFIERS)} - {
        "%Var"
    }
    E = test.X @ fitted.components_.T
    assert found["released", "MMD^2"] == pytest.approx(metrics.mmd2(E, test.groups, 1.7))
    for name in ("Kernel SVM", "Linear SVM"):
        guess = judge.CLASSIFIERS[name]().fit(E, test.y).predict(E)
        assert found["released", f"%Acc ({name})"] == pytest.approx(100 * np.mean(guess == test.y, axis=0))
        rates = [guess[test.groups == g].mean(axis=0) for g in (0, 1)]
        assert found["released", f"Delta_DP ({name})"] == pytest.approx(abs(rates[0] - rates[1]))
        hits = [guess[(test.groups == g) & (test.y == 1)].mean(axis=0) for g in (0, 1)]
        assert found["released", f"Delta_EO ({name})"] == pytest.approx(abs(hits[0] - hits[1]))
    assert all(reason == "" for *_, reason in rows)


def test_held_out_classifiers_learn_from_the_training_part(parts, fitted):
    train, test = parts
    found = values(judge.judge_points("Fair PCA", fitted, train, test, 1.7))
    E, F = (part.X @ fitted.components_.T for part in parts)
    for name in ("Kernel SVM", "Linear SVM"):
        guess = judge.CLASSIFIERS[name]().fit(E, train.y).predict(F)
        assert found["held-out", f"%Acc ({name})"] == pytest.approx(100 * np.mean(guess == test.y, axis=0))
    assert found["in sample", "MMD^2"] == pytest.approx(metrics.mmd2(E, train.groups, 1.7))
    positive = test.y.mean(axis=0)
    assert found["released", "%Majority"] == pytest.approx(100 * max(positive, 1 - positive))
    for reader in metrics.READERS:
        fit = E, train.groups
        assert found["in sample", f"AUC of the group ({reader})"] == metrics.group_auc(reader, fit, fit)
        assert found["held-out", f"AUC of the group ({reader})"] == metrics.group_auc(reader, fit, (F, test.groups))


def test_no_reader_hides_that_plain_pca_tells_the_group(parts, fitted):
    plain = StandardPCA(2).fit(parts[0].X)
    for protocol in ("in sample", "held-out"):
        key = (protocol, "AUC of the group (linear)")
        control, fair = (values(judge.judge_points("PCA", one, *parts, 1.7))[key] for one in (plain, fitted))
        assert fair < 0.62 < 0.7 < control


def test_metrics_of_linear_maps_are_left_out_of_the_kernel_method(parts, kernel):
    moments = [GroupMoments.from_data(p.X, p.groups) for p in parts]
    assert not list(judge.judge_moments("Fair Kernel PCA", kernel, *moments))
    rows = [
        *judge.judge_released("Fair Kernel PCA", kernel, parts[1], 1.7),
        *judge.judge_points("Fair Kernel PCA", kernel, *parts, 1.7),
    ]
    found = {metric for _, metric in values(rows)}
    assert not found & {"%Var", "MMD^2", "mean gap"}
    assert found >= {*judge.PREDICTION_METRICS, "%Majority", "AUC of the group (kernel)"}


def test_where_a_disparity_does_not_exist_the_row_says_why(parts, fitted):
    test = parts[1]
    E = fitted.transform(test.X)
    one = np.where(test.groups == 1, 0, test.y)  # group 1 has no positive label
    rows = list(judge.judge_classifier("Linear SVM", None, (E, one, test.groups), "released"))
    assert [metric for _, metric, _, _ in rows] == [f"{m} (Linear SVM)" for m in ("%Acc", "Delta_DP", "Delta_EO")]
    for protocol, _, value, reason in rows:
        assert protocol == "released"
        assert np.isnan(value)
        assert "'1' has no row with label 1" in reason


def test_only_refusals_become_reasons(monkeypatch, parts):
    def broken(*args, **kwargs):
        raise ValueError("a bug")

    monkeypatch.setattr(judge, "downstream", broken)
    test = parts[1]
    with pytest.raises(ValueError, match="a bug"):
        list(judge.judge_classifier("MLP", None, (test.X, test.y, test.groups), "released"))


def test_basis_study_changes_the_basis_and_nothing_else(monkeypatch):
    rng = np.random.default_rng(6)
    data = Dataset("made", rng.normal(size=(60, 5)), rng.integers(0, 2, 60), rng.integers(0, 2, 60), tuple("abcde"))
    fitted = FairPCA(2, center=False).fit(data.X, sensitive_features=data.groups)
    seen = []

    def answer(name, train, test, protocol):
        assert (name, protocol) == ("MLP", "released")
        seen.append(test[0])
        return {"accuracy": 0.5, "demographic_parity": 0.25, "equal_opportunity": 0.0}

    monkeypatch.setattr(judge, "downstream", answer)
    rows = list(judge.judge_bases(fitted, data, 5))
    assert len(rows) == 2 * judge.DRAWS
    assert rows[:2] == [("signs 00", "%Acc (MLP)", 50.0, ""), ("signs 00", "Delta_DP (MLP)", 0.25, "")]
    assert len({protocol for protocol, *_ in rows}) == judge.DRAWS
    assert len({E.tobytes() for E in seen}) == 4, "two columns have four bases"
    T = fitted.transform(data.X)
    for E in seen:
        np.testing.assert_allclose(np.abs(E), np.abs(T[:, ::-1]), atol=1e-12)
        assert len(np.unique(np.sign(E / T[:, ::-1]), axis=0)) == 1, "one sign for a column"
    # The same signs on every split of a draw, others for another seed.
    signs = [np.sign(E / T[:, ::-1])[0] for E in seen]
    seen.clear()
    other = fitted.transform(data.X[:30])
    half = Dataset("made", data.X[:30], data.y[:30], data.groups[:30], data.feature_names)
    list(judge.judge_bases(fitted, half, 5))
    np.testing.assert_array_equal([np.sign(E / other[:, ::-1])[0] for E in seen], signs)
    seen.clear()
    list(judge.judge_bases(fitted, half, 6))
    assert not np.array_equal([np.sign(E / other[:, ::-1])[0] for E in seen], signs)


def test_convergence_is_kept_where_there_is_something_to_converge(fitted, kernel):
    assert not [*judge.judge_fit(fitted), *judge.judge_fit(kernel)]
    done = SimpleNamespace(n_iter_=np.array([3, 7, 5]), converged_=True, residual_=1e-9)
    assert list(judge.judge_fit(done)) == [
        ("fit", "iterations", 7.0, ""),
        ("fit", "converged", 1.0, ""),
        ("fit", "residual", 1e-9, ""),
    ]
    (row,) = judge.judge_fit(SimpleNamespace(converged_=np.False_))
    assert row[:3] == ("fit", "converged", 0.0)
    assert "not converged" in row[3]


def test_of_a_convex_program_the_steps_alone_are_kept(parts):
    moments = GroupMoments.from_data(parts[0].X, parts[0].groups)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # that the answer is far from a projector is not the point
        solved = ConvexFairPCA(2, delta=0.0, mu=0.01, covariance=True, penalty="sum", tol=1e-5).fit_moments(moments)
    assert [row[1] for row in judge.judge_fit(solved)] == ["iterations"]
