"""Least-squares erasure: the theorem clause by clause, PCA as the control, and the least map by other routes."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import linalg, optimize
from sklearn.linear_model import LogisticRegression

from evenspan import LEACE, FairPCA, GroupMoments, StandardPCA
from evenspan.core.errors import (
    ComponentsError,
    ConfigurationError,
    DataError,
    GroupError,
    SingleGroupWarning,
    SurplusComponentsWarning,
)
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
def test_no_affine_score_is_correlated_with_a_group(s):
    Z, control = indicators(s.groups), StandardPCA(2).fit(s.X).transform(s.X)
    for options in ({}, {"k": 1}, {"k": 2}):
        T = fitted(s, **options).transform(s.X)
        assert group_gap(T, s.groups) <= 1e-10 * size(s.X)
        assert np.abs(centred(T) @ np.linalg.pinv(centred(T), rcond=1e-9) @ Z).max() <= 1e-8
    assert group_gap(control, s.groups) > 0.2 * size(s.X)


def test_a_logistic_regression_predicts_a_constant():
    s = SAMPLES["three groups"]

    def slope(T):
        probe = LogisticRegression(tol=1e-10, max_iter=10_000).fit(T / np.std(T, axis=0), s.groups)
        return float(np.abs(probe.coef_).max())

    assert slope(fitted(s, 3).transform(s.X)) < 1e-5 < 0.3 < slope(StandardPCA(3).fit(s.X).transform(s.X))


@every_sample
def test_the_closed_form_as_printed_moves_the_points_least(s):
    model, X, C = fitted(s), centred(s.X), centred(s.X).T @ indicators(s.groups)
    values, vectors = np.linalg.eigh(np.cov(s.X.T, ddof=0))
    kept = values > values[-1] * len(values) * 2.3e-16
    root, whitening = (
        (vectors[:, kept] * np.sqrt(values[kept]) ** power) @ vectors[:, kept].T for power in (1.0, -1.0)
    )
    u, lengths, _ = np.linalg.svd(whitening @ C, full_matrices=False)
    u = u[:, lengths > 1e-7 * lengths[0]]
    d, r = len(C), len(np.unique(s.groups)) - 1
    np.testing.assert_allclose(model.erasure_, np.eye(d) - root @ u @ u.T @ whitening, atol=1e-9)
    np.testing.assert_allclose(model.erasure_ @ model.erasure_, model.erasure_, atol=1e-11)
    assert model.rank_removed_ == r == d - np.linalg.matrix_rank(model.erasure_, tol=1e-8)
    erased = model.transform(s.X)
    np.testing.assert_allclose(erased, X @ model.erasure_.T + s.X.mean(axis=0), atol=1e-10 * size(s.X))
    np.testing.assert_allclose(np.mean(erased, axis=0), np.mean(s.X, axis=0), atol=1e-11)
    np.testing.assert_allclose(model.explained_variance_, np.var(erased, axis=0, ddof=1), atol=1e-10 * size(s.X) ** 2)
    assert model.displacement_ == pytest.approx(np.mean(np.sum((erased - s.X) ** 2, axis=1)), rel=1e-9)
    assert model.certificate_.is_optimal(1e-8)
    R, rng = np.linalg.svd(C)[0][:, r:], np.random.default_rng(0)
    assert np.mean(np.sum((X - X @ R @ R.T) ** 2, axis=1)) > (1 + 1e-3) * model.displacement_
    for _ in range(20):  # no other feasible map passes the bound
        P = model.erasure_ + 0.1 * rng.normal(size=(d, d - r)) @ R.T
        assert np.mean(np.sum((X - X @ P.T) ** 2, axis=1)) >= model.certificate_.dual * (1 - 1e-9)


def test_the_least_map_by_numerical_optimisation():
    s = SAMPLES["two groups"]
    X = centred(s.X)
    R = np.linalg.svd(X.T @ indicators(s.groups)[:, :1])[0][:, 1:]  # P = K R' for free K

    def loss(flat):
        D = X @ (np.eye(5) - flat.reshape(5, 4) @ R.T).T
        return float(np.mean(np.sum(D**2, axis=1))), (-2 * (D.T @ X @ R) / len(X)).ravel()

    best = optimize.minimize(loss, R.ravel(), jac=True, method="BFGS", options={"gtol": 1e-10})
    assert fitted(s).displacement_ == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(fitted(s).erasure_, best.x.reshape(5, 4) @ R.T, atol=1e-5)


def test_what_rounding_put_outside_the_range_of_the_covariance_is_removed_as_well():
    rng = np.random.default_rng(0)
    Q, _ = np.linalg.qr(rng.normal(size=(8, 8)))
    S = (Q[:, :5] * [9.0, 4.0, 2.0, 1.0, 0.5]) @ Q[:, :5].T
    C, _ = np.linalg.qr(Q[:, :5] @ rng.normal(size=(5, 2)) + 1e-9 * rng.normal(size=(8, 2)))
    eraser = make_eraser(S, C)
    assert np.linalg.norm(C - Q[:, :5] @ (Q[:, :5].T @ C)) > 1e-10, "the constraints leave the range of S"
    assert np.linalg.norm(C - eraser.F @ (eraser.G.T @ C)) < 1e-14, "and nothing of them is left"


def test_fair_pca_removes_the_same_space_moves_the_points_further_and_keeps_less_variance():
    s = draw()
    for k in (1, 3):
        kept = FairPCA(k).fit(s.X, sensitive_features=s.groups).explained_variance_.sum(axis=0)
        assert fitted(s, k).explained_variance_.sum(axis=0) > (1 + 1e-4) * kept
    fair, model = FairPCA(4).fit(s.X, sensitive_features=s.groups), fitted(s)
    moved = [np.mean(np.sum((one - s.X) ** 2, axis=1)) for one in (
        fair.inverse_transform(fair.transform(s.X)), model.transform(s.X))]  # fmt: skip
    assert moved[0] > 1.01 * moved[1]
    assert model.certificate_.dual == pytest.approx(moved[1], rel=1e-8)


@every_sample
def test_components_are_principal_coordinates_of_the_erased_points(s):
    model, whole = fitted(s, 2), fitted(s)
    erased = whole.transform(s.X)
    control = StandardPCA(2).fit(erased)
    assert angle(model.axes_, control.components_.T) < 1e-7
    np.testing.assert_allclose(model.explained_variance_, control.explained_variance_, rtol=1e-9)
    T = model.transform(s.X)
    np.testing.assert_allclose(T, centred(s.X) @ model.components_.T, atol=1e-10)
    total = np.sum(np.var(s.X, axis=0, ddof=1))
    np.testing.assert_allclose(model.explained_variance_ratio_ * total, np.var(T, axis=0, ddof=1), rtol=1e-9)
    assert model.axes_certificate_.is_optimal()
    lost = np.sum((model.inverse_transform(T) - erased) ** 2, axis=None) / (len(s.X) - 1)
    assert lost == pytest.approx((whole.explained_variance_.sum() - model.explained_variance_.sum()), rel=1e-8)
    np.testing.assert_array_equal(whole.inverse_transform(erased), erased)


def test_the_model_and_what_transform_holds_are_thin():
    rng = np.random.default_rng(0)
    groups, X = np.repeat([0, 1, 2], [300, 200, 100]), rng.normal(size=(600, 300)).astype(np.float32)
    X[groups == 1, 0] += 3
    for k, r in ((None, 2), (3, 5)):
        model = LEACE(k).fit(X, sensitive_features=groups)
        assert len(pickle.dumps(model)) < 8 * 300 * (2 * r + 8) + 5000 < 300 * 300 * 8 / 10
    many, model = np.tile(X, (40, 1)), LEACE().fit(X, sensitive_features=groups)
    peak, T = peak_of(lambda: model.transform(many))
    assert peak < 1.5 * T.nbytes


def test_a_bound_from_the_wrong_multiplier_is_not_taken_for_one():
    s = draw()
    S, C = np.cov(s.X.T, ddof=0), np.linalg.qr((s.rows(s.labels[0]).mean(axis=0) - s.X.mean(axis=0))[:, None])[0]
    least, orthogonal = make_eraser(S, C), make_eraser(np.eye(len(S)), C)
    assert _certify(least, S, C, least.displacement(S)).is_optimal()
    assert _certify(orthogonal, S, C, orthogonal.displacement(S)).feasibility > 0.01


def test_two_attributes_weights_moments_and_single_groups(crossed):
    X, groups = crossed
    cells = np.array(["/".join(row) for row in groups.tolist()])
    marginal, joint = (LEACE(attributes=a).fit(X, sensitive_features=groups) for a in ("marginal", "intersection"))
    assert (marginal.rank_removed_, joint.rank_removed_) == (3, 5)
    T = marginal.transform(X)
    assert max(group_gap(T, groups[:, j]) for j in (0, 1)) < 1e-10 * size(X) < 0.1 * size(X) < group_gap(T, cells)
    assert group_gap(joint.transform(X), cells) < 1e-10 * size(X)
    s = draw()
    weights = np.random.default_rng(0).integers(1, 4, 380)
    rows = np.repeat(np.arange(380), weights)
    weighted = LEACE(2).fit(s.X, sensitive_features=s.groups, sample_weight=weights)
    repeated = LEACE(2).fit_moments(GroupMoments.from_data(s.X[rows], s.groups[rows]))
    np.testing.assert_allclose(weighted.erasure_, repeated.erasure_, atol=1e-11)
    mirrored = LEACE().fit(np.vstack([s.X, -s.X]), sensitive_features=np.tile(s.groups, 2))
    with pytest.warns(SingleGroupWarning, match="nothing for LEACE to erase"):
        single = LEACE(on_single_group="warn").fit(s.X, sensitive_features=np.full(380, "all"))
    for model in (mirrored, single):
        np.testing.assert_array_equal(model.erasure_, np.eye(6))
        assert model.rank_removed_ == model.displacement_ == 0
        assert model.certificate_.is_optimal()
        np.testing.assert_array_equal(model.transform(s.X), s.X)
    assert make_eraser(np.diag([4.0, 1.0, 0.25]), np.eye(3)).displacement(np.diag([4.0, 1.0, 0.25])) == 5.25


def test_every_affine_change_of_the_features_changes_the_erased_points_alike():
    s = draw()
    for B in (np.random.default_rng(0).normal(size=(6, 6)), np.diag(10.0 ** np.arange(-3, 3))):
        moved = fitted(Sample(s.X @ B + 7.0, s.groups)).transform(s.X @ B + 7.0) - 7.0
        np.testing.assert_allclose(moved @ np.linalg.inv(B), fitted(s).transform(s.X), atol=1e-7)


def test_what_is_refused_is_said():
    s = draw()
    for options, error, words in (
        ({"k": 5}, ComponentsError, "at most 4 are possible: 6 feature"),
        ({"attributes": "both"}, ConfigurationError, "attributes='both'"),
        ({"on_single_group": "ignore"}, ConfigurationError, "on_single_group='ignore'"),
    ):
        with pytest.raises(error, match=words):
            fitted(s, **options)
    with pytest.raises(GroupError, match=r"one group only \('all', 380 row\(s\), one class\)"):
        fitted(Sample(s.X, np.full(380, "all")))
    with pytest.warns(SurplusComponentsWarning, match="4 of 10 components carry no variance"):
        fitted(SAMPLES["fewer rows than features"], 10)


# -- quantities, and a target whose covariance is kept -------------------------------------------------------------


def told(s: Sample, seed=0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A target of three classes and one of two numbers, both going with groups and features, and an age."""
    rng = np.random.default_rng(seed)
    score = centred(s.X) @ rng.normal(size=s.X.shape[1]) + 2.0 * (s.groups == s.labels[0])
    classes = np.array(["low", "middle", "high"])[np.digitize(score + rng.normal(size=len(score)), [-1.0, 2.0])]
    return (
        classes,
        np.column_stack([score**2, 1e3 * rng.random(len(score)) + score]),
        40.0 + score + rng.normal(size=len(score)),
    )


def left(T, Z, X) -> float:
    """What a linear reader has of Z: the covariance with it, against that of X by its size."""
    return float(np.linalg.norm(centred(T).T @ centred(Z)) / (np.linalg.norm(centred(X)) * np.linalg.norm(centred(Z))))


@pytest.mark.parametrize("deficient", [False, True], ids=["full rank", "rank 40"])
@pytest.mark.parametrize("classes", [1, 2, 5, 20])
def test_no_linear_reader_at_the_size_of_an_embedding(classes, deficient):
    """One class stands for one number, which is what one column of a concept is."""
    rng, n, d = np.random.default_rng(classes), 2048, 128
    codes = rng.choice(classes, p=np.arange(1, classes + 1) / sum(range(classes + 1)), size=n) if classes > 1 else None
    concept = np.exp(rng.normal(size=n)) if codes is None else codes
    Z = concept[:, None] if codes is None else indicators(codes)
    X = 5.0 + rng.normal(size=(n, d)) * np.linspace(3.0, 0.1, d) + Z @ rng.normal(size=(Z.shape[1], d))
    X = X[:, :40] @ rng.normal(size=(40, d)) if deficient else X
    y = (X[:, 0] + rng.normal(size=n) > np.median(X[:, 0])).astype(int)
    seen = pd.DataFrame({"z": concept})
    numeric = {"numeric_attributes": ["z"]} if codes is None else {}
    assert left(StandardPCA(8).fit_transform(X), Z, X) > 1e-3  # the control
    for model in (LEACE(**numeric), LEACE(8, **numeric), LEACE(keep="classes", **numeric)):
        model.fit(X, y, sensitive_features=seen)
        T = centred(model.transform(X))
        assert left(T, Z, X) < 1e-13
        assert np.abs(T @ (np.linalg.pinv(T, rcond=1e-9) @ centred(Z))).max() < 1e-8 * np.abs(centred(Z)).max()
        assert model.certificate_.is_optimal(1e-8)


@every_sample
def test_the_covariance_with_a_target_is_kept_and_least_is_moved_as_printed(s):
    classes, values, _ = told(s)
    X, C, d = centred(s.X), centred(s.X).T @ indicators(s.groups), s.X.shape[1]
    for keep, y, Y in (("classes", classes, indicators(classes)), ("values", values, centred(values))):
        B = X.T @ Y
        model, plain = LEACE(keep=keep).fit(s.X, y, sensitive_features=s.groups), fitted(s)
        P = model.erasure_
        assert np.linalg.norm(P @ C) < 1e-11 * np.linalg.norm(C)
        assert np.linalg.norm(P @ B - B) < 1e-11 * np.linalg.norm(B)
        assert np.linalg.norm(plain.erasure_ @ B - B) > 0.02 * np.linalg.norm(B)  # the control
        assert model.rank_kept_ == np.linalg.matrix_rank(B, tol=1e-9 * np.linalg.norm(B)) > plain.rank_kept_ == 0
        assert model.displacement_ > plain.displacement_ * (1 + 1e-6)
        assert model.certificate_.is_optimal(1e-7)
        tiny = LEACE(keep=keep).fit(s.X * 2.0**-30, y, sensitive_features=s.groups)
        assert tiny.certificate_.is_optimal(1e-7)
        # With the symmetric root: onto V, which holds the target and what neither knows, along the groups.
        values_, vectors = np.linalg.eigh(X.T @ X / len(X))
        Q, roots = (part[..., values_ > 1e-12 * values_[-1]] for part in (vectors, np.sqrt(np.maximum(values_, 0.0))))
        z, both = linalg.orth((Q.T @ C) / roots[:, None], 1e-8), (Q.T @ np.hstack([C, B])) / roots[:, None]
        both = linalg.orth(both / np.linalg.norm(both, axis=0), 1e-8)
        V = np.hstack([linalg.orth((Q.T @ B) / roots[:, None], 1e-8), linalg.null_space(both.T, 1e-8)])
        U = linalg.null_space(z.T, 1e-8)
        onto = V @ np.linalg.solve(U.T @ V, U.T)
        printed = X @ (Q / roots) @ onto.T @ (roots[:, None] * Q.T)
        np.testing.assert_allclose(X @ P.T, printed, atol=1e-7 * size(s.X))
        rng, free = (
            np.random.default_rng(0),
            linalg.null_space(np.hstack([C / np.linalg.norm(C), B / np.linalg.norm(B)]).T, 1e-10),
        )
        for step in (1e-3, 1.0):  # no other feasible map passes the bound
            other = P + step * rng.normal(size=(d, free.shape[1])) @ free.T
            assert np.mean(np.sum((X - X @ other.T) ** 2, axis=1)) >= model.certificate_.dual * (1 - 1e-9)
        shorter = LEACE(1, keep=keep).fit(s.X, y, sensitive_features=s.groups)
        assert left(shorter.transform(s.X), indicators(s.groups), s.X) < 1e-12
        assert shorter.certificate_.feasibility < 1e-10


def test_quantities_beside_groups_and_a_target():
    s = draw()
    _, values, age = told(s)
    seen = pd.DataFrame({"colour": s.groups, "age": age})
    model = LEACE(keep="values", numeric_attributes=["age"]).fit(s.X, values, sensitive_features=seen)
    T = model.transform(s.X)
    assert (model.rank_removed_, model.rank_kept_) == (3, 2)
    assert max(left(T, Z, s.X) for Z in (indicators(s.groups), age[:, None])) < 1e-13 < 1e-2 < left(T, values, s.X)
    assert left(fitted(s).transform(s.X), age[:, None], s.X) > 1e-3  # groups alone leave the age
    alone = LEACE(keep="values", numeric_attributes="age").fit(s.X, values, sensitive_features=seen)
    np.testing.assert_array_equal(alone.erasure_, model.erasure_)  # a string is one name
    only = LEACE(numeric_attributes=[0]).fit(s.X, sensitive_features=age[:, None])  # and the unit of it means nothing
    tiny = LEACE(numeric_attributes=[0]).fit(s.X - 1e4, sensitive_features=1e-9 * age[:, None])
    np.testing.assert_allclose(tiny.erasure_, only.erasure_, atol=1e-8)


def test_what_cannot_be_kept_is_said():
    s = draw()
    classes, values, age = told(s)
    moments = GroupMoments.from_data(s.X, pd.DataFrame({"colour": s.groups, "y": classes}))

    def fit(keep, y, **options):
        return LEACE(keep=keep, **options).fit(s.X, y, sensitive_features=s.groups)

    for call, error, words in (
        (lambda: fit("classes", s.groups == "azure"), DataError,
         r"share a direction: .* target span 1 and .* groups 2 of 6 dimensions.* sine .*set keep=None"),
        (lambda: fit("values", s.X[:, :5]), DataError, "share a direction"),  # more than there are dimensions
        (lambda: fit("classes", None), DataError, "needs the target: call fit"),
        (lambda: fit("classes", values[:, 0]), DataError, "380 classes, and 6 feature.*set keep='values'"),
        (lambda: fit("values", classes), DataError, "y is not numeric.*Set keep='classes'"),
        (lambda: fit("values", np.where(age > 40, np.nan, age)), DataError, "y holds NaN"),
        (lambda: fit("classes", pd.Series(classes).where(age > 40)), DataError, "missing value"),
        (lambda: fit("classes", values), DataError, r"y has shape \(380, 2\); .*needs \(n,\) with n = 380"),
        (lambda: fit("values", age[:9]), DataError, r"y has shape \(9,\); .*or \(n, s\)"),
        (lambda: fit("target", classes), ConfigurationError, "keep='target'; needed is 'classes' or 'values', or None"),
        (lambda: LEACE(keep="classes").fit_moments(moments), ConfigurationError, "need the data themselves"),
        (lambda: LEACE(numeric_attributes=["x"]).fit_moments(moments), ConfigurationError, "need the data themselves"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
