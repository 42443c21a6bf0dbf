"""Erasure with the group at hand: equal means, or means and covariances, by the least change; LEACE as the control."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import linalg
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evenspan import LEACE, GroupMoments, OracleLEACE, StandardPCA
from evenspan.core.errors import ConfigurationError, FairError, GroupError, SingleGroupWarning
from evenspan.core.estimator import NotConvergedWarning
from evenspan.representation.oracle import aligned, barycentre, roots

from .samples import Sample, draw, group_gap, size

THREE = draw()
DEFICIENT = Sample(
    np.hstack([THREE.X, THREE.X @ np.random.default_rng(3).normal(size=(6, 3)), np.full((380, 1), 4.0)]), THREE.groups
)
SAMPLES = {
    "three groups": THREE,
    "two groups": draw(counts=(150, 70), names=("woman", "man"), d=5, seed=0),
    "dependent and constant features": DEFICIENT,
}
every_sample = pytest.mark.parametrize("s", SAMPLES.values(), ids=SAMPLES.keys())


def erased(s: Sample, **options) -> tuple[OracleLEACE, np.ndarray]:
    model = OracleLEACE(**options).fit(s.X, sensitive_features=s.groups)
    return model, model.transform(s.X, sensitive_features=s.groups)


def spread_gap(T, groups) -> float:
    """Largest distance of two group covariances, against their size."""
    found = np.array([np.cov(T[groups == label].T, ddof=0) for label in np.unique(groups)])
    return float(np.abs(found[:, None] - found[None]).max() / np.abs(found).max())


def moved(X, T) -> float:
    return float(np.mean(np.sum((X - T) ** 2, axis=1)))


@every_sample
def test_what_regression_on_the_group_leaves_is_the_least_change(s):
    model, T = erased(s)
    Z = (s.groups[:, None] == s.labels).astype(float)
    np.testing.assert_allclose(T, s.X - Z @ np.linalg.lstsq(Z, s.X, rcond=None)[0] + s.X.mean(axis=0), atol=1e-11)
    plain = LEACE().fit(s.X, sensitive_features=s.groups)
    assert group_gap(T, s.groups) < 1e-12 * size(s.X) < 0.2 * size(s.X) < group_gap(s.X, s.groups)
    assert model.displacement_ == pytest.approx(moved(s.X, T), rel=1e-12)
    assert model.displacement_ < 0.9 * plain.displacement_
    assert model.certificate_.is_optimal(1e-10)
    np.testing.assert_allclose(T.mean(axis=0), s.X.mean(axis=0), atol=1e-12 * size(s.X))
    rng = np.random.default_rng(0)
    for _ in range(5):  # any other change without covariance with the groups
        D = rng.normal(size=s.X.shape) * size(s.X) * rng.random() * 0.1
        other = T + D - Z @ np.linalg.lstsq(Z, D, rcond=None)[0]
        assert group_gap(other, s.groups) < 1e-12 * size(s.X)
        assert moved(s.X, other) > model.certificate_.dual
    assert spread_gap(T, s.groups) > 0.1  # what the next test removes as well


@every_sample
def test_means_and_covariances_are_equal_by_the_least_change(s):
    model, T = erased(s, match="covariance")
    plain, first = LEACE().fit_transform(s.X, sensitive_features=s.groups), erased(s)[1]
    assert group_gap(T, s.groups) < 1e-11 * size(s.X)
    assert spread_gap(T, s.groups) < 1e-11 < 0.1 < min(spread_gap(plain, s.groups), spread_gap(first, s.groups))
    assert model.displacement_ == pytest.approx(moved(s.X, T), rel=1e-10)
    assert model.displacement_ > erased(s)[0].displacement_
    assert model.converged_
    assert model.certificate_.gap <= 1e-10 * np.var(s.X, axis=0).sum()
    assert model.certificate_.feasibility < 1e-11
    for A in model.maps_:  # transport maps: symmetric, and not negative
        np.testing.assert_allclose(A, A.T, atol=1e-8 * np.abs(A).max())
        assert np.linalg.eigvalsh(A)[0] > 0
    moments = GroupMoments.from_data(s.X, s.groups)
    factors, rng = roots(moments)[1], np.random.default_rng(0)
    nearest = barycentre(factors, moments.counts / moments.n, 1e-9, 500)[0]
    for step in (1e-3, 1.0):  # any other covariance, by the maps that move least
        R = nearest @ (np.eye(len(nearest)) + step * rng.normal(size=nearest.shape))
        images = [R @ aligned(L, R)[0].T for L in factors]
        within = sum(
            w * np.sum((A - L) ** 2, axis=None) for w, A, L in zip(moments.counts, images, factors, strict=True)
        )
        assert within / moments.n + erased(s)[0].displacement_ > model.certificate_.dual


def test_features_in_any_units_get_one_covariance():
    units = 10.0 ** np.array([-3, 2, 0, 3, -2, -4])
    T = erased(Sample(THREE.X * units, THREE.groups), match="covariance")[1] / units
    assert spread_gap(T, THREE.groups) < 1e-9
    assert group_gap(T, THREE.groups) < 1e-9


def test_no_quadratic_reader_and_two_groups_in_closed_form():
    s = SAMPLES["two groups"]
    T = erased(s, match="covariance", tol=1e-13)[1]

    def quadratic_slope(T):
        T = (T - T.mean(axis=0)) / T.std(axis=0)
        products = np.einsum("ni,nj->nij", T, T).reshape(len(T), -1)
        return float(np.abs(np.cov(np.hstack([T, products]).T, s.groups == "man")[-1, :-1]).max())

    assert quadratic_slope(T) < 1e-12 < 0.02 < quadratic_slope(LEACE().fit_transform(s.X, sensitive_features=s.groups))
    A, B = (np.cov(s.rows(label).T, ddof=0) for label in s.labels)
    p, q = np.unique(s.groups, return_counts=True)[1] / len(s.X)
    root = np.real(linalg.sqrtm(A))
    across = np.linalg.solve(root, np.linalg.solve(root, np.real(linalg.sqrtm(root @ B @ root))).T).T
    middle = (p * np.eye(5) + q * across) @ A @ (p * np.eye(5) + q * across)
    np.testing.assert_allclose(np.cov(T.T, ddof=0), middle, atol=1e-6 * np.abs(middle).max())


def test_the_bound_holds_from_the_first_step_and_the_steps_close_it():
    moments = GroupMoments.from_data(THREE.X, THREE.groups)
    _, factors = roots(moments)
    bounds = [barycentre(factors, moments.counts / moments.n, 1e-12, steps)[2] for steps in (1, 4, 16, 200)]
    assert bounds == sorted(bounds)
    assert bounds[0] < 0.99 * bounds[-1]
    with pytest.warns(NotConvergedWarning, match=r"max_iter=2 steps: the gap is .*equal all the same"):
        model, T = erased(THREE, match="covariance", max_iter=2)
    assert not model.converged_
    assert model.n_iter_ == 2
    assert spread_gap(T, THREE.groups) < 1e-11
    assert model.certificate_.dual < erased(THREE, match="covariance")[0].displacement_ <= model.certificate_.primal


def test_quantities_and_attributes(crossed):
    X, groups = crossed
    rng = np.random.default_rng(0)
    age = 40.0 + X[:, 0] + rng.normal(size=len(X))
    table = pd.DataFrame(groups, columns=["one", "two"]).assign(age=age)
    model = OracleLEACE(numeric_attributes=["age"]).fit(X, sensitive_features=table)
    T = model.transform(X, sensitive_features=table)
    Z = np.column_stack([pd.get_dummies(table[["one", "two"]]).to_numpy(float), age])
    Z = Z - Z.mean(axis=0)
    np.testing.assert_allclose(T, X - Z @ np.linalg.lstsq(Z, X - X.mean(axis=0), rcond=1e-10)[0], atol=1e-9)
    assert np.abs(Z.T @ (T - T.mean(axis=0))).max() < 1e-10 * np.abs(Z.T @ X).max()
    assert model.certificate_.is_optimal(1e-10)
    named = pd.DataFrame(X, columns=list("abcdefgh")).assign(age=age)
    moments = GroupMoments.from_data(named, table[["one", "two"]])
    streamed = OracleLEACE(numeric_attributes=["age"]).fit_moments(moments)
    again = streamed.transform(named.drop(columns="age"), sensitive_features=table[["age", "two", "one"]])
    np.testing.assert_allclose(again, T, atol=1e-9)
    cells, joint = np.array(["/".join(row) for row in groups.tolist()]), OracleLEACE(attributes="intersection")
    T = joint.fit_transform(X, sensitive_features=groups)
    assert group_gap(T, cells) < 1e-11 * size(X)
    one = OracleLEACE().fit(X, sensitive_features=groups)  # a combination that was not seen, of values that were
    seen = np.flatnonzero(cells != "a/x")
    part = OracleLEACE().fit(X[seen], sensitive_features=groups[seen])
    assert np.isfinite(part.transform(X, sensitive_features=groups)).all()
    assert one.coefficients_.shape == (5, 8)
    both = OracleLEACE(match="covariance", attributes="intersection").fit_transform(X, sensitive_features=groups)
    assert spread_gap(both, cells) < 1e-11


@pytest.mark.parametrize("match", ["mean", "covariance"])
def test_what_must_not_change_the_answer(match):
    s, order = THREE, np.random.default_rng(0).permutation(380)
    model, T = erased(s, match=match)
    scale = size(s.X)
    parts = [(s.X[part], s.groups[part]) for part in np.array_split(np.argsort(s.groups, kind="stable"), 5)]
    streamed = OracleLEACE(match=match).fit_moments(GroupMoments.from_batches(parts))
    weights = np.random.default_rng(1).integers(1, 4, 380)
    weighted = OracleLEACE(match=match).fit(s.X, sensitive_features=s.groups, sample_weight=weights)
    rows = np.repeat(np.arange(380), weights)
    repeated = OracleLEACE(match=match).fit(s.X[rows], sensitive_features=s.groups[rows])
    turn = linalg.qr(np.random.default_rng(2).normal(size=(6, 6)))[0]
    names = np.array([{"azure": 7, "beige": -1, "crimson": 3}[label] for label in s.groups])
    pairs = {
        "order": (erased(Sample(s.X[order], s.groups[order]), match=match)[1], T[order]),
        "names": (erased(Sample(s.X, names), match=match)[1], T),
        "unit": (erased(Sample(1e6 * s.X, s.groups), match=match)[1] / 1e6, T),
        "origin": (erased(Sample(s.X + 1e4, s.groups), match=match)[1] - 1e4, T),
        "rotation": (erased(Sample(s.X @ turn, s.groups), match=match)[1], T @ turn),
        "streamed": (streamed.transform(s.X, sensitive_features=s.groups), T),
        "weights": (
            weighted.transform(s.X, sensitive_features=s.groups),
            repeated.transform(s.X, sensitive_features=s.groups),
        ),
    }
    for name, (found, expected) in pairs.items():
        assert np.abs(found - expected).max() < 1e-7 * scale, name
    single = np.vstack([model.transform(s.X[[i]], sensitive_features=s.groups[[i]]) for i in range(5)])
    np.testing.assert_allclose(single, T[:5], atol=1e-12 * scale)


def test_groups_are_routed_to_both_steps_and_frames_come_out():
    s = THREE
    X, y = pd.DataFrame(s.X, columns=list("abcdef")), (s.X[:, 0] > 0).astype(int)
    with sklearn.config_context(enable_metadata_routing=True):
        pipe = make_pipeline(StandardScaler().set_output(transform="pandas"), OracleLEACE(), LogisticRegression())
        pipe.fit(X, y, sensitive_features=s.groups)
        assert pipe.predict(X, sensitive_features=s.groups).shape == (380,)
        assert group_gap(pipe[:-1].transform(X, sensitive_features=s.groups), s.groups) < 1e-12
        with pytest.raises(TypeError, match="sensitive_features"):
            pipe.predict(X)
        scores = cross_val_score(pipe, X, y, cv=2, params={"sensitive_features": s.groups}, error_score="raise",
                                 scoring=lambda model, X, y=None, **_: 0.5)  # fmt: skip
        assert len(scores) == 2
    model = OracleLEACE(match="covariance").set_output(transform="pandas")
    out = model.fit_transform(X, sensitive_features=pd.Series(s.groups, name="colour"))
    assert out.columns.tolist() == list(model.get_feature_names_out()) == [f"oracleleace{j}" for j in range(6)]
    assert repr(clone(model)) == "OracleLEACE(match='covariance')"
    np.testing.assert_array_equal(model.inverse_transform(out), out)


def test_what_is_refused_is_said(crossed):
    s, (X, groups) = THREE, crossed
    few = np.flatnonzero((s.groups != "beige") | (np.cumsum(s.groups == "beige") <= 4))
    fitted = OracleLEACE().fit(s.X, sensitive_features=s.groups)
    paired = OracleLEACE(attributes="intersection").fit(
        X[groups[:, 0] != "c"], sensitive_features=groups[groups[:, 0] != "c"]
    )
    for call, error, words in (
        (lambda: OracleLEACE(match="covariance").fit(s.X[few], sensitive_features=s.groups[few]), GroupError,
         r"group 'beige' has 4 row\(s\) that vary in 3 of the 6 dimensions.*StandardPCA.*match='mean'"),
        (lambda: OracleLEACE(match="covariance").fit(X, sensitive_features=groups), ConfigurationError,
         "with several attributes; .*attributes='intersection'"),
        (lambda: OracleLEACE(match="covariance", numeric_attributes=[0]).fit(s.X, sensitive_features=s.X[:, :1]),
         ConfigurationError, "with numeric_attributes; .*cut quantities into groups"),
        (lambda: fitted.transform(s.X[:2], sensitive_features=["azure", "grey"]), GroupError,
         "group 'grey' was not in the fitting sample, whose groups were azure, beige, crimson"),
        (lambda: paired.transform(X, sensitive_features=groups), GroupError, "was not in the fitting sample"),
        (lambda: paired.transform(X, sensitive_features=groups[:, 0]), GroupError, "has the attributes .*and fit had"),
        (lambda: fitted.transform(s.X, sensitive_features=None), GroupError, "one group label for each row"),
        (lambda: fitted.transform(s.X, sensitive_features=s.groups[:9]), GroupError, "9 rows but X has 380"),
        (lambda: OracleLEACE().fit(s.X, sensitive_features=["all"] * 380), GroupError, "one group only"),
        (lambda: OracleLEACE().fit(s.X, sensitive_features=s.X[:, 0]), GroupError, "fractional"),
    ):  # fmt: skip
        with pytest.raises(error, match=words):
            call()
    for option in OracleLEACE._options:
        with pytest.raises(FairError, match=f"{option}=<object.*needed is"):
            OracleLEACE(**{option: object()}).fit(s.X, sensitive_features=s.groups)
    for match in ("mean", "covariance"):
        with pytest.warns(SingleGroupWarning, match="nothing for OracleLEACE to erase"):
            single = OracleLEACE(match=match, on_single_group="warn").fit(s.X, sensitive_features=["all"] * 380)
        np.testing.assert_allclose(single.transform(s.X, sensitive_features=["all"] * 380), s.X, atol=1e-12)
        assert single.displacement_ < 1e-20
    assert group_gap(StandardPCA(2).fit_transform(s.X), s.groups) > 0.2 * size(s.X)
