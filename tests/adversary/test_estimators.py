"""The linear estimators that group moments determine, on tables of every kind: a right answer, or an error that says
why.

What is right is asked of the data themselves, in extended precision: means, variances, errors of reconstruction, the
mean constraint, and a bound that no better answer passes. One relation is tried on each draw besides: the table times a
power of two, moved, with its rows in another order or its groups under other names.
"""

import functools
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import strategies as st
from tests.core.every import fit, make
from tests.core.test_metamorphic import METHODS

from evenspan import GroupMoments, JointRange, OracleLEACE
from evenspan.core.errors import ComponentsError, ConfigurationError, DataError, FairError, GroupError, NotSolvedError
from evenspan.reconstruction.group_errors import group_matrices
from evenspan.reconstruction.joint_diagonalisation import joint_criterion, joint_diagonalise

from .strategies import DOUBLE, tables

#: Share of the total by which a number of an answer may differ from that of the data, and the answers of a relation.
RTOL, RELATED = 1e-9, 1e-6
#: Those that see two groups only; those of reconstruction errors, which need two groups and two features.
PAIRS = {"DisparityFairPCA", "ConvexFairPCA"}
RECONSTRUCTION = {*PAIRS, "MinMaxFairPCA", "RobustFairPCA", "JEVDPCA"}
SUBJECTS = (
    "StandardPCA",
    "FairPCA",
    "MinMaxFairPCA",
    "RobustFairPCA",
    "ConvexFairPCA",
    "DisparityFairPCA",
    "JEVDPCA",
    "LEACE",
    "OracleLEACE",
    "NullItOutPCA",
)
#: Those whose bound holds for the answer to the same data in another order too, whatever each chose of what ties.
BOUNDED = {"StandardPCA", "MinMaxFairPCA", "RobustFairPCA", "ConvexFairPCA", "JEVDPCA"}
#: Options beside those of the table of all methods.
FURTHER = {
    "FairPCA": [{"match": "covariance", "covariance_fraction": 1.0}, {"on_single_group": "warn"}],
    "MinMaxFairPCA": [
        {"objective": "nsw"},
        {"solver": "sdp", "mode": "k+1"},
        {"solver": "mw", "max_iter": 20, "scale_losses": False},
    ],
    "RobustFairPCA": [
        {"solver": "subgradient", "restarts": 1, "max_iter": 30},
        {"solver": "subgradient", "restarts": 1, "max_iter": 30, "retraction": "polar", "on_violation": "clip_lambda"},
    ],
    "ConvexFairPCA": [{"standardize": False}, {"covariance": True, "mu": 0.1, "max_iter": 500}],
    "DisparityFairPCA": [{"search": "reference"}],
    "JEVDPCA": [{"mode": "paper"}],
    "LEACE": [{"n_components": None}, {"on_single_group": "warn"}],
    "OracleLEACE": [{}, {"match": "covariance"}, {"attributes": "intersection"}, {"on_single_group": "warn"}],
    "NullItOutPCA": [{"removal": "balance", "n_gap_directions": 1}, {"constraint": "vanilla"}],
}


#: Steps of an iteration that ends where it is; more of them would try nothing else.
FEW = {"subgradient": 30, "mw": 20}


def variants(name: str) -> list[dict]:
    known = [{"options": _short(m.options), "supports": m.supports} for m in METHODS.values() if m.name == name]
    return known + [{"options": options, "supports": frozenset({"unit", "shift"})} for options in FURTHER.get(name, [])]


def _short(options: dict) -> dict:
    return options | ({"max_iter": FEW[options["solver"]]} if options.get("solver") in FEW else {})


def fitted(name: str, k: int, options: dict, X, table):
    if name == "OracleLEACE":
        return OracleLEACE(**options).fit(X, sensitive_features=table.groups)
    return fit(make(name, **{"size": k} | _sized(options)), X, table.groups, table.y)


def _sized(options: dict) -> dict:
    return {"size" if name == "n_components" else name: value for name, value in options.items()}


def excused(error: FairError, name: str, options: dict, table) -> bool:
    """Whether a table in general position may be refused by this method with these options."""
    several = len(np.unique(table.codes)) > 2
    if isinstance(error, GroupError):
        exact = name == "RobustFairPCA" and options.get("solver", "exact") == "exact"
        few = options.get("criterion") == "equal_opportunity" or options.get("match") == "covariance"
        return few or (several and (exact or name in PAIRS))
    if name == "OracleLEACE" and options.get("match") == "covariance":
        return isinstance(error, ConfigurationError)  # several attributes
    if name == "JEVDPCA" and options.get("mode") == "paper":
        return isinstance(error, ConfigurationError)  # columns of an iterate that nothing keeps independent
    if options.get("covariance"):
        return isinstance(error, NotSolvedError)  # stopped early here
    return options.get("keep") is not None and isinstance(error, DataError)


# -- what is right, from the data ---------------------------------------------------------------------------------


class Truth:
    """The data in extended precision, about their mean, in a unit in which they are near 1."""

    def __init__(self, table, options: dict, X: np.ndarray):
        self.X, self.codes, self.labels = X.astype(np.longdouble), table.codes, table.labels
        if options.get("criterion") == "equal_opportunity":
            chosen = table.y == 1
            self.X, self.codes = self.X[chosen], self.codes[chosen]
        self.mean = self.X.mean(axis=0)
        self.Z = self.X - self.mean
        self.Z -= self.Z.mean(axis=0)
        self.n = len(self.X)
        self.scale = np.ones(X.shape[1], dtype=np.longdouble)
        if options.get("standardize", False):
            deviation = np.sqrt((self.Z**2).mean(axis=0))
            self.scale = np.where(deviation <= 1e-12 * np.hypot(np.abs(self.mean), deviation), 1.0, deviation)
        self.Y = self.Z / self.scale
        # A mean of a group and that of all are numbers of 64 bits: of their difference an ulp of their size is lost.
        size = np.max([np.abs(self.X[g].mean(axis=0)) for g in self.groups()], axis=0)
        size[np.ptp(self.X, axis=0) == 0] = 0.0  # their means are exact
        self.ulps = 2.0 * np.finfo(float).eps * size / self.scale
        self.standardised = options.get("standardize", False)

    @functools.cached_property
    def total(self) -> float:
        return (self.Y**2).sum()

    @functools.cached_property
    def reach(self) -> float:
        """Sum of squares about zero: what rounding errors of centred numbers are measured by."""
        return self.total + ((self.mean / self.scale) ** 2).sum() * self.n

    @functools.cached_property
    def moved(self) -> float:
        """How far a deviation along a unit vector can move when means do by ``ulps``, and the unit with them."""
        return np.sqrt((self.ulps**2).sum()) + self.standardised * self.ulps.max() * np.sqrt(self.total / self.n)

    @functools.cached_property
    def lost(self) -> float:
        """Share of the total that can go with that."""
        moved = self.moved * np.sqrt(self.n / self.total) if self.total else 0.0
        return 2 * moved + moved**2

    def slack(self, V: np.ndarray, variances: np.ndarray, degrees: float) -> np.ndarray:
        """What a variance along each column of V, of any length, may be off by."""
        lengths = np.linalg.norm(V, axis=0)
        moved = self.moved * lengths * np.sqrt(self.n / degrees)
        rounding = RTOL + 8 * np.finfo(float).eps * lengths**2
        return rounding * self.total / degrees + 2 * moved * np.sqrt(variances) + moved**2

    def groups(self) -> list[np.ndarray]:
        return [self.codes == code for code in np.unique(self.codes)]


def near(found, true, size, what: str, rtol=RTOL) -> None:
    difference = np.abs(np.asarray(found, dtype=np.longdouble) - true).max(initial=0.0)
    share = difference / max(size, np.finfo(float).tiny)
    assert share <= rtol, f"{what}: {found} for {true}, off by {share} of {size}"


def require_finite(model, name: str, options: dict) -> None:
    for attribute, value in vars(model).items():
        if attribute.endswith("_") and np.asarray(value).dtype.kind == "f" and options.get("mode") != "paper":
            assert np.isfinite(value).all(), f"{attribute} is {value}"


def require_right(model, name: str, options: dict, truth: Truth, table) -> None:
    require_finite(model, name, options)
    V, certificate = (model.components_.T if name != "OracleLEACE" else np.eye(table.d)), model.certificate_
    k = V.shape[1]
    spread, noise = np.sqrt(truth.total), 1e-15 * np.sqrt(truth.reach)
    if options.get("center", True) is not False:
        near(model.mean_, truth.mean, np.abs(truth.X).max(), "mean", 1e-14)
    near(certificate.feasibility, 0.0, 1.0, "feasibility", 1e-6)
    if name == "OracleLEACE":
        T = model.transform(table.X, sensitive_features=table.groups)
        require_matched(T.astype(np.longdouble) - model.mean_, truth)
        return
    scores = truth.Y @ V
    if name != "LEACE":
        near(V.T @ V, np.eye(k), 1.0, "orthonormality", 1e-10)
        if options.get("standardize"):
            off = np.abs(model.subspace_.scale / truth.scale - 1.0)
            assert (off <= RTOL + truth.ulps + truth.ulps**2).all(), f"scale: {model.subspace_.scale}, off by {off}"
    degrees = max(truth.n - 1, 1)
    variances = (scores**2).sum(axis=0) / degrees
    total = truth.total / degrees
    slack = truth.slack(V, variances, degrees)
    off = np.abs(model.explained_variance_ - variances)
    assert (off <= np.maximum(slack, RTOL * noise**2)).all(), f"explained variance: {variances}, off by {off}"
    assert (model.explained_variance_ >= 0).all()
    assert model.explained_variance_ratio_.sum() <= 1 + 1e-9 or name == "LEACE"
    if truth.total > 0:
        ratios = variances / total
        off = np.abs(model.explained_variance_ratio_ - ratios)
        assert (off <= slack / total + (RTOL + truth.lost) * ratios).all(), f"ratio: {ratios}, off by {off}"
    weight = {"ConvexFairPCA": spread / np.sqrt(truth.n)}.get(name, truth.reach if "loss" not in name else truth.total)
    # Nearly equal errors ask for a multiplier that is large, and a bound on the mean gap is met to rounding of its own.
    slack = {"DisparityFairPCA": 1e-7, "ConvexFairPCA": 1e-6}.get(name, 1e-10)
    assert certificate.gap >= -slack * max(weight, abs(certificate.primal)), f"bound passed: {certificate}"
    if name == "FairPCA" or name == "LEACE" or (name == "NullItOutPCA" and matched(options)):
        require_matched(scores, truth, max(1.0, np.linalg.norm(V, ord=2)))
    if hasattr(model, "group_errors_") and options.get("mode") != "k+1":
        mine = [(truth.Y[g] ** 2).sum() / g.sum() - (scores[g] ** 2).sum() / g.sum() for g in truth.groups()]
        near(np.sort(model.group_errors_), np.sort(mine), truth.total, "errors of groups", RTOL + truth.lost)
        assert model.group_losses_.min() >= -1e-9 * truth.reach
    if name == "StandardPCA" and options.get("center", True):
        near(certificate.primal, variances.sum() * degrees, truth.total, "certificate", RTOL + truth.lost)
        values = np.linalg.eigvalsh((truth.Y.T @ truth.Y / (truth.total or 1)).astype(float))
        best = values[::-1][:k].sum() * truth.total
        near(variances.sum() * degrees, best, truth.total, "largest variance", RTOL + truth.lost)
    if name == "DisparityFairPCA":
        near(model.gap_, np.ptp(model.group_errors_), truth.total, "gap")
    if name == "ConvexFairPCA" and not options.get("covariance"):
        assert model.mean_distance_ <= options.get("delta", 0.0) + 1e-7 * spread + 1e3 * noise


def matched(options: dict) -> bool:
    return options.get("strength", 1.0) == 1.0 and options.get("constraint", "all") in ("all", "mean")


def require_matched(scores: np.ndarray, truth: Truth, stretch: float = 1.0) -> None:
    """The means of all groups coincide, for those of each attribute; of combinations where the rows are of one.

    To rounding, which oblique components ``stretch``.
    """
    if truth.labels in ("two attributes", "two in a frame"):
        return
    means = np.array([scores[g].mean(axis=0) for g in truth.groups()])
    size = np.sqrt(truth.total) + 1e-2 * np.sqrt(truth.reach)
    near(means, means[:1], stretch * size, "means of groups")


# -- what must not change -----------------------------------------------------------------------------------------


def related(relation: str, number: int, name: str, k: int, variant: dict, table, model, truth: Truth) -> None:
    options, X = variant["options"], np.asarray(table.numbers, dtype=np.float64)
    if relation == "scale":
        return scaled(number, name, k, variant, table, X)
    if relation == "shift" and "shift" in variant["supports"]:
        unit = np.abs(X).max() * 2.0**-20
        grid = np.round(X / unit) if unit else X
        before, after = (fitted(name, k, options, at, table) for at in (grid, grid + (number % 1024)))
        size = max(Truth(table, options, grid).total, 1e-300)
    elif relation in ("rows", "names"):
        order = np.random.default_rng(number).permutation(table.n)
        other = Reordered(table, order if relation == "rows" else np.arange(table.n), renamed=relation == "names")
        before, after = model, fitted(name, k, options, X[other.order], other)
        size = max(truth.reach, 1e-300)
    else:
        return None
    if name == "ConvexFairPCA":  # its objective grows as the features do, not as their squares
        size = np.sqrt(size)
    for one, two in zip(determined(before, name, options, table), determined(after, name, options, table), strict=True):
        assert abs(one - two) <= RELATED * size + RTOL * abs(one), f"{relation}: {one} became {two}, of {size}"
    if name in BOUNDED and getattr(before, "penalty_", None) == getattr(after, "penalty_", None):
        one, two = before.certificate_, after.certificate_
        for bound, value in ((one.dual, two.primal), (two.dual, one.primal)):
            beyond = value - bound if one.sense == "max" else bound - value
            assert beyond <= RELATED * size + RTOL * abs(value), (
                f"{relation}: {value} passes the bound {bound} of the other, of {size}"
            )
    return None


class Reordered:
    """The table with its rows in another order, or its groups under other names."""

    def __init__(self, table, order: np.ndarray, renamed: bool):
        self.order, self.y, self.codes = order, table.y[order], table.codes[order]
        given = table.groups
        if renamed and table.labels not in ("two attributes", "two in a frame"):
            self.groups = [f"renamed {-code % 7}" for code in table.codes]
        elif hasattr(given, "iloc"):
            self.groups = given.iloc[order]
        else:
            self.groups = given[order] if isinstance(given, np.ndarray) else [given[i] for i in order if i < len(given)]


def determined(model, name: str, options: dict, table) -> tuple[float, ...]:
    """Numbers of an answer that data determine, ties or not: bounds, and the value where the problem is solved."""
    certificate = model.certificate_
    if name == "DisparityFairPCA":
        return (model.smallest_gap_,)  # which group PCA serves worse can be a tie
    if name == "NullItOutPCA":
        return (np.abs(model.gap_eigenvalues_).sum(),)
    if name in ("JEVDPCA", "RobustFairPCA"):
        return (certificate.dual,) if len(np.unique(table.codes)) == 2 else ()
    if options.get("covariance") or options.get("solver") == "mw":
        return ()  # a point of an iteration
    if options.get("match") == "covariance" and options.get("covariance_fraction") != 1.0:
        return ()  # a choice between directions that can tie
    solved = name not in ("MinMaxFairPCA", "ConvexFairPCA")
    return (certificate.primal, certificate.dual) if solved else (certificate.dual,)


def scaled(number: int, name: str, k: int, variant: dict, table, X: np.ndarray) -> None:
    """Times a power of two everything is the same to the last bit, and what has a unit that many times as large."""
    options = dict(variant["options"])
    size = np.abs(X[X != 0]) if X.any() else np.ones(1)
    low, high = int(np.frexp(size.min())[1]), int(np.frexp(size.max())[1])
    power = number % 901 - 450
    if low + power < -470 or high + power > 480 or low < -470 or high > 480:
        return
    if "unit" not in variant["supports"] or (options.get("covariance") and not options.get("standardize", True)):
        if options.get("solver") == "subgradient" or "alpha" not in options:
            return
        options["alpha"] *= 4.0**power
    own_unit = name == "RobustFairPCA" and "alpha" not in options
    own_unit |= options.get("scale_losses") is False or options.get("search") == "reference"
    # Relaxed along a path of logarithms, then rounded.
    by_path = name == "MinMaxFairPCA" and (options.get("objective") == "nsw" or len(np.unique(table.codes)) > 2)
    if own_unit or by_path:
        return
    try:
        other = fitted(name, k, options, X * 2.0**power, table)
    except DataError as error:
        assert "does not fit 64-bit" in str(error)  # noqa: PT017 - what is learnt grows with a fourth power
        return
    plain = fitted(name, k, variant["options"], X, table)
    np.testing.assert_array_equal(other.mean_, plain.mean_ * 2.0**power)
    if name == "OracleLEACE":
        pairs = [(other.displacement_, plain.displacement_)]
    else:
        np.testing.assert_array_equal(other.components_, plain.components_)
        pairs = [(other.explained_variance_, plain.explained_variance_)]
        pairs += [(getattr(other, a), getattr(plain, a)) for a in ("group_errors_", "gap_") if hasattr(plain, a)]
        np.testing.assert_array_equal(other.explained_variance_ratio_, plain.explained_variance_ratio_)
    standardised = options.get("standardize", name == "ConvexFairPCA")
    for found, before in pairs if not standardised else []:
        np.testing.assert_array_equal(found, np.ldexp(before, 2 * power))
    if not standardised and name != "ConvexFairPCA":
        assert other.certificate_.primal == np.ldexp(plain.certificate_.primal, 2 * power)


# -- the attacks --------------------------------------------------------------------------------------------------


def cases(name: str):
    drawn = tables(d=st.integers(2, 6) | st.integers(1, 6))
    if name in RECONSTRUCTION:  # more of the draws with an answer; three groups and more have theirs by iteration
        given = {"d": st.sampled_from([2, 3, 4, 5, 6] * 4 + [1]), "n": st.sampled_from([*range(10, 31), 1, 2, 3, 4, 5])}
        given["G"] = st.sampled_from([2] * 14 + ([3, 1] if name in PAIRS else [3, 3, 3, 4, 1]))
        drawn = tables(**given) | tables(**given, kind="gaussian", dtype=st.sampled_from(DOUBLE), labels="text")
    return st.tuples(
        drawn,
        st.sampled_from(variants(name)),
        st.integers(1, 3),
        st.sampled_from(["scale", "shift", "rows", "names"]),
        st.integers(0, 10**6),
    )


@pytest.mark.parametrize("name", SUBJECTS)
def test_an_answer_is_right_or_a_refusal_says_why(attack, name):
    def body(case):
        table, variant, k, relation, number = case
        options = variant["options"]
        try:
            model = fitted(name, k, options, table.X, table)
        except ComponentsError as error:
            possible = re.search(r"at most (\d+) ", str(error))
            if not possible or int(possible[1]) < 1:
                raise
            k = int(possible[1])  # what the message says must do
            model = fitted(name, k, options, table.X, table)
        except FairError as error:
            if table.ordinary and not excused(error, name, options, table):
                raise AssertionError(f"an ordinary table was refused: {error}") from error
            raise
        X = np.asarray(table.numbers, dtype=np.float64)
        truth = Truth(table, options if name != "ConvexFairPCA" else {"standardize": True} | options, X)
        require_right(model, name, options, truth, table)
        related(relation, number, name, k, variant, table, model, truth)

    attack(name, "estimator", cases(name), body)


def test_joint_diagonalisation_is_right_or_says_why(attack):
    def body(case):
        table, number = case
        S, power = group_matrices(GroupMoments.from_data(table.X, table.groups)), 2 * (number % 201 - 100)
        found, other = joint_diagonalise(S), joint_diagonalise(np.ldexp(S, power))
        size = float((S.astype(np.longdouble) ** 2).sum())
        near(found.U.T @ found.U, np.eye(len(found.U)), 1.0, "orthonormality", 1e-10)
        near(found.criterion, joint_criterion(found.U, S), size, "criterion")
        near(found.path[-1], found.criterion, size, "path")
        assert all(b <= a * (1 + 1e-9) + 1e-12 * size for a, b in pairwise(found.path))
        near(other.U.T @ other.U, np.eye(len(found.U)), 1.0, "orthonormality", 1e-10)
        near(np.ldexp(other.criterion, -2 * power), found.criterion, size, "criterion in another unit")

    cases = st.tuples(tables(exponent=st.integers(-60, 60)), st.integers(0, 10**6))
    attack("joint_diagonalise", "estimator", cases, body)


def test_the_joint_range_is_right_or_says_why(attack):
    def body(case):
        table, k, number = case
        joint = JointRange.from_moments(GroupMoments.from_data(table.X, table.groups), k)
        rng = np.random.default_rng(number)
        angle, V = rng.uniform(-np.pi, np.pi), np.linalg.qr(rng.normal(size=(table.d, k)))[0]
        found, direction = joint.support(angle), np.array([np.cos(angle), np.sin(angle)])
        size = max(float(np.trace(joint.M0)), float(np.trace(joint.M1)))
        near(found.ends @ direction, found.value, size, "ends")
        assert direction @ joint.pair(V) >= found.value - 1e-9 * size
        least, most = joint.extreme_gaps()
        assert least - 1e-9 * size <= -np.diff(joint.pair(V))[0] <= most + 1e-9 * size
        for basis in (found.basis(0.0), found.basis(1.0)):
            near(basis.T @ basis, np.eye(k), 1.0, "orthonormality", 1e-10)
        power = number % 51 * (-1 if size > 1 else 1)
        other = JointRange(np.ldexp(joint.M0, 2 * power), np.ldexp(joint.M1, 2 * power), k).support(angle)
        near(np.ldexp(other.ends, -2 * power), found.ends, size, "ends in another unit")

    cases = st.tuples(tables(G=2, d=st.integers(2, 6)), st.integers(1, 3), st.integers(0, 10**6))
    attack("JointRange", "estimator", cases, body)
