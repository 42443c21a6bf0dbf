"""Least-squares erasure: the theorem clause by clause, PCA as the control, and the least map by other routes."""

import numpy as np
import pandas as pd
import pytest

from evenspan import LEACE, FairPCA, GroupMoments, StandardPCA
from evenspan.core.errors import ConfigurationError, DataError
from evenspan.representation.leace import _certify, make_eraser

from .memory import peak_of
from .samples import Sample, angle, draw, group_gap, size

RNG = np.random.default_rng(3)
DEFICIENT = draw(d=5)
SAMPLES = {
    "three groups": draw(),
    "two groups": draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0),
    "dependent and constant features": Sample(
        np.hstack([DEFICIENT.X, DEFICIENT.X @ RNG.normal(size=(5, 3)), np.full((380, 1), 4.0)]), DEFICIENT.groups
    ),
    "fewer rows than features": Sample(RNG.normal(size=(9, 20)) + np.arange(9)[:, None] % 3, np.array([*"abcabcabb"])),
}
every_sample = pytest.mark.parametrize("s", SAMPLES.values(), ids=SAMPLES.keys())


def indicators(groups) -> np.ndarray:
    Z = (np.asarray(groups)[:, None] == np.unique(groups)[None]).astype(float)
    return Z - Z.mean(axis=0)


def centred(X) -> np.ndarray:
    return X - np.mean(X, axis=0)


def fitted(s: Sample, k=None, **options) -> LEACE:
    return LEACE(k, **options).fit(s.X, sensitive_features=s.groups)


@every_sample
def test_no_affine_score_is_correlated_with_a_group_and_the_least_is_moved_as_printed(s):
    Z, X = indicators(s.groups), centred(s.X)
    assert group_gap(StandardPCA(2).fit_transform(s.X), s.groups) > 0.2 * size(s.X)  # the control
    for k in (None, 2):
        T = fitted(s, k).transform(s.X)
        assert group_gap(T, s.groups) <= 1e-10 * size(s.X)
        assert np.abs(centred(T) @ np.linalg.pinv(centred(T), rcond=1e-9) @ Z).max() <= 1e-8
    model, C = fitted(s), X.T @ Z
    values, vectors = np.linalg.eigh(np.cov(s.X.T, ddof=0))
    kept = values > values[-1] * len(values) * 2.3e-16
    root, whitening = (
        (vectors[:, kept] * np.sqrt(values[kept]) ** power) @ vectors[:, kept].T for power in (1.0, -1.0)
    )
    u, lengths, _ = np.linalg.svd(whitening @ C, full_matrices=False)
    u = u[:, lengths > 1e-7 * lengths[0]]
    d, r = len(C), len(np.unique(s.groups)) - 1
    np.testing.assert_allclose(model.erasure_, np.eye(d) - root @ u @ u.T @ whitening, atol=1e-9)
    assert model.rank_removed_ == r
    erased = model.transform(s.X)
    np.testing.assert_allclose(erased, X @ model.erasure_.T + s.X.mean(axis=0), atol=1e-10 * size(s.X))
    assert model.displacement_ == pytest.approx(np.mean(np.sum((erased - s.X) ** 2, axis=1)), rel=1e-9)
    assert model.certificate_.is_optimal(1e-8)
    R, rng = np.linalg.svd(C)[0][:, r:], np.random.default_rng(0)
    for _ in range(20):  # no other feasible map passes the bound
        P = model.erasure_ + 0.1 * rng.normal(size=(d, d - r)) @ R.T
        assert np.mean(np.sum((X - X @ P.T) ** 2, axis=1)) >= model.certificate_.dual * (1 - 1e-9)


def test_what_rounding_put_outside_the_range_of_the_covariance_is_removed_as_well():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    S = (Q[:, :5] * [9.0, 4.0, 2.0, 1.0, 0.5]) @ Q[:, :5].T
    C, _ = np.linalg.qr(Q[:, :5] @ rng.normal(size=(5, 2)) + 1e-9 * rng.normal(size=(8, 2)))
    F, G = make_eraser(S, C)
    assert np.linalg.norm(C - Q[:, :5] @ (Q[:, :5].T @ C)) > 1e-10, "the constraints leave the range of S"
    assert np.linalg.norm(C - F @ (G.T @ C)) < 1e-14, "and nothing of them is left"


@every_sample
def test_components_are_principal_coordinates_of_the_erased_points(s):
    model, whole = fitted(s, 2), fitted(s)
    erased = whole.transform(s.X)
    control = StandardPCA(2).fit(erased)
    assert angle(model.axes_, control.components_.T) < 1e-7
    np.testing.assert_allclose(model.explained_variance_, control.explained_variance_, rtol=1e-9)
    kept = FairPCA(2).fit(s.X, sensitive_features=s.groups).explained_variance_.sum(axis=0)
    assert model.explained_variance_.sum(axis=0) > (1 - 1e-12) * kept  # fair PCA removes the same space
    T = model.transform(s.X)
    np.testing.assert_allclose(T, centred(s.X) @ model.components_.T, atol=1e-10)
    lost = np.sum((model.inverse_transform(T) - erased) ** 2, axis=None) / (len(s.X) - 1)
    assert lost == pytest.approx((whole.explained_variance_.sum() - model.explained_variance_.sum()), rel=1e-8)
    np.testing.assert_array_equal(whole.inverse_transform(erased), erased)


def test_a_bound_from_the_wrong_multiplier_is_not_taken_for_one():
    s = draw()
    S, C = np.cov(s.X.T, ddof=0), np.linalg.qr((s.rows(s.labels[0]).mean(axis=0) - s.X.mean(axis=0))[:, None])[0]
    assert _certify(*make_eraser(S, C), S, C, None).is_optimal()
    assert _certify(*make_eraser(np.eye(len(S)), C), S, C, None).feasibility > 0.01


def test_equal_means_leave_the_points_alone():
    s = draw()
    mirrored = LEACE().fit(np.vstack([s.X, -s.X]), sensitive_features=np.tile(s.groups, 2))
    assert mirrored.rank_removed_ == mirrored.displacement_ == 0
    np.testing.assert_array_equal(mirrored.transform(s.X), s.X)


def told(s: Sample) -> tuple[np.ndarray, np.ndarray]:
    """A target of three classes and one of two numbers, both going with groups and features."""
    rng = np.random.default_rng(0)
    score = centred(s.X) @ rng.normal(size=s.X.shape[1]) + 2.0 * (s.groups == s.labels[0])
    classes = np.array(["low", "middle", "high"])[np.digitize(score + rng.normal(size=len(score)), [-1.0, 2.0])]
    return classes, np.column_stack([score**2, 1e3 * rng.random(len(score)) + score])


@every_sample
def test_the_covariance_with_a_target_is_kept_and_least_is_moved(s):
    classes, values = told(s)
    X, C = centred(s.X), centred(s.X).T @ indicators(s.groups)
    for keep, y, Y in (("classes", classes, indicators(classes)), ("values", values, centred(values))):
        B = X.T @ Y
        model, plain = LEACE(keep=keep).fit(s.X, y, sensitive_features=s.groups), fitted(s)
        P = model.erasure_
        assert np.linalg.norm(P @ C) < 1e-11 * np.linalg.norm(C)
        assert np.linalg.norm(P @ B - B) < 1e-11 * np.linalg.norm(B)
        assert np.linalg.norm(plain.erasure_ @ B - B) > 0.02 * np.linalg.norm(B)  # the control
        assert model.certificate_.is_optimal(1e-7)
        shorter = LEACE(1, keep=keep).fit(s.X, y, sensitive_features=s.groups)
        assert group_gap(shorter.transform(s.X), s.groups) < 1e-9 * size(s.X)


def test_what_is_refused_is_said():
    s = draw()
    classes, values = told(s)
    moments = GroupMoments.from_data(s.X, pd.DataFrame({"colour": s.groups, "y": classes}))

    def fit(keep, y):
        return LEACE(keep=keep).fit(s.X, y, sensitive_features=s.groups)

    for call, error, words in (
        (lambda: fit("classes", s.groups == "azure"), DataError,
         r"share a direction: .* target span 1 and .* groups 2 of 6 dimensions.* sine .*set keep=None"),
        (lambda: fit("classes", None), DataError, r"needs the target, and there is none.* fit\(X, y"),
        (lambda: fit("values", classes), DataError, "y is not numeric.*Set keep='classes'"),
        (lambda: fit("values", np.where(values > 9.0, np.inf, values)), DataError, "NaN or infinite"),
        (lambda: fit("classes", pd.Series(classes).where(s.X[:, 0] > 0)), DataError, r"\d+ missing"),
        (lambda: LEACE(keep="classes").fit_moments(moments), ConfigurationError, "need the data themselves"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()


def test_many_groups_need_no_scatter_each():
    rng, d, G = np.random.default_rng(0), 300, 60
    groups = rng.integers(0, G, 4000)
    X = rng.normal(size=(4000, d)) + 0.3 * rng.normal(size=(G, d))[groups]
    batches = [(X[a : a + 400], groups[a : a + 400]) for a in range(0, 4000, 400)]

    def erase():
        return LEACE().fit_moments(GroupMoments.from_batches(batches, scatters="total"))

    (peak, eraser), (whole, fitted) = peak_of(erase), peak_of(lambda: LEACE().fit(X, sensitive_features=groups))
    assert peak < 6 * 8 * d**2
    assert whole < 0.4 * 8 * G * d**2
    each = LEACE().fit_moments(GroupMoments.from_data(X, groups))
    for one in (eraser, fitted):
        np.testing.assert_allclose(one.erasure_, each.erasure_, atol=1e-12)
        assert one.displacement_ == pytest.approx(each.displacement_, rel=1e-12)
