"""The explorer: its data against the judge and the solvers, and what its scripts compute against the estimators."""

import json
import re

import numpy as np
import pytest

from compendium import paths
from compendium.book import explorer
from compendium.papers.across.protocol import DATASETS, Evaluation, Parts, fit_all
from evenspan import DisparityFairPCA, JointRange, MinMaxFairPCA, RobustFairPCA, StandardPCA
from evenspan.core.errors import ConfigurationError
from evenspan.displays.method_looks import looks
from evenspan.methods import METHODS
from evenspan.reconstruction.group_errors import group_matrices

#: Few and many features; sets with and without equal errors; dependent columns; groups of very different sizes.
CASES = [("biodeg", 3), ("wine_quality", 3), ("german", 6), ("energy", 2), ("ecoli", 1), ("default_credit", 10)]
QUICK = ("PCA", "Min-max error", "u-FPCA", "Fair PCA", "LEACE", "Null-it-out PCA")
CORE = ("eigen", "range", "criteria", "optimum")
BYTES = 1_500_000


@pytest.fixture(scope="module")
def page(browser):
    """An empty page with the scripts that compute."""
    context = browser.new_context()
    page = context.new_page()
    page.set_content("<!doctype html><title>explorer</title>")
    for name in CORE:
        page.add_script_tag(path=paths.root() / "book" / "_static" / "explorer" / f"{name}.mjs")
    yield page
    context.close()


@pytest.fixture(scope="module")
def known():
    """Data sets as the page has them, with the points of the quick methods, made once."""
    return {name: explorer.data_set(name, QUICK) for name, _ in CASES}


@pytest.fixture
def joint(page, known):
    """Put a data set's joint range into the page as ``joint`` and return the one of the library."""

    def put(name: str, k: int) -> JointRange:
        page.evaluate(
            """([set, k]) => {
                const E = window.evenspanExplorer;
                window.set = set;
                window.joint = new E.JointRange(...set.matrices.map(lower => E.full(lower, set.d)), set.d, k);
                E.finish(joint.drawn());
            }""",
            [known[name], k],
        )
        return JointRange.from_moments(explorer.moments(name), k)

    return put


def test_every_data_set_of_the_comparison_is_there_or_left_out_with_a_reason():
    assert set(DATASETS) <= set(explorer.names()) | set(explorer.LEFT_OUT)
    assert not set(explorer.names()) & set(explorer.LEFT_OUT)
    for name in explorer.names():
        found = explorer.moments(name)
        assert found.G == 2
        assert found.d <= explorer.MOST_FEATURES
        np.testing.assert_allclose(np.diag(found.scatter) / found.n, 1.0, rtol=1e-9)
    with pytest.raises(ConfigurationError, match="adult"):
        explorer.moments("adult")


def test_the_largest_k_leaves_something_to_share():
    energy = explorer.moments("energy")
    k = explorer.most_components(energy)
    assert k < min(energy.d - 1, explorer.MOST_COMPONENTS)  # the control: its columns are dependent
    for name in ("energy", "wine_quality", "ecoli"):
        found = explorer.moments(name)
        k = explorer.most_components(found)
        assert StandardPCA(k).fit_moments(found).explained_variance_ratio_.sum(axis=0) < 1 - 1e-10


def test_numbers_keep_their_digits(known):
    for name, _ in CASES:
        found = explorer.moments(name)
        lower = np.tril_indices(found.d)
        stored = json.loads(json.dumps(known[name]["matrices"]))
        for M, told in zip(group_matrices(found), stored, strict=True):
            np.testing.assert_allclose(told, M[lower], rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("name", ["wine_quality", "biodeg"])
def test_points_are_those_that_the_judge_of_the_comparison_measures(name):
    found = explorer.moments(name)
    parts, k = Parts(found, found), 3
    judge = Evaluation(parts, k)
    points = explorer.method_points(found, [k], QUICK).set_index("method")
    for method in QUICK:
        judged = judge.judged(fit_all(method, (k,), parts, 0)[k].answer)
        q = points.loc[method, ["error_0", "error_1"]].to_numpy(float)
        np.testing.assert_allclose(np.ptp(q, axis=0), judged["error gap"], atol=1e-9)
        np.testing.assert_allclose(q.max(axis=0), judged["worst error"], rtol=1e-10)
        assert points.loc[method, "projection"] == (method != "LEACE")


def test_a_method_without_answer_keeps_its_reason():
    found = explorer.moments("ecoli")
    (row,) = explorer.method_points(found, [explorer.most_components(found)], ["Null-it-out PCA"]).itertuples()
    assert np.isnan(row.error_0)
    assert "n_components" in row.reason


def test_looks_are_those_of_the_book():
    names = [name for name, method in METHODS.items() if not method.points]
    for mark, (name, look) in zip(explorer.method_marks(), looks(names).items(), strict=True):
        assert (mark["name"], mark["colour"]) == (name, look.colour)
        assert re.fullmatch(r"(?:[MLCQ][-0-9. ]+|Z)+", mark["path"])
    paths_ = [mark["path"] for mark in explorer.method_marks()]
    assert len(set(paths_)) == len(paths_)


def test_the_page_is_safe_inside_html_and_small_enough(known):
    found = {"methods": explorer.method_marks(), "sets": [*known.values(), {"title": "</script><b>"}]}
    text = explorer.page(found).data
    assert "</script><b>" not in text
    (inside,) = re.findall(r'<script type="application/json" id="explorer-moments">(.*?)</script>', text, re.DOTALL)
    assert json.loads(inside) == json.loads(json.dumps(found))
    assert "http" not in re.sub(r"<script type.*?</script>", "", text, flags=re.DOTALL)
    assert "<noscript>" in text
    # Two numbers for each pair of features, and two for each method and k, at 20 characters each.
    size = sum(20 * (d * (d + 1) + 2 * 14 * 10 + 300) for d in (explorer.moments(n).d for n in explorer.names()))
    assert len(text) < size < BYTES


def test_scripts_are_named_and_hold_no_address():
    folder = paths.root() / "book" / "_static" / "explorer"
    assert {p.stem for p in folder.glob("*.mjs")} == set(explorer.SCRIPTS)
    for path in folder.glob("*.mjs"):
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "://" not in text, path.name
        assert len(text.splitlines()) <= 350, path.name


@pytest.mark.browser
@pytest.mark.parametrize("d", [1, 2, 3, 7, 40, 56])
def test_eigenvalues_and_vectors(page, d):
    rng = np.random.default_rng(d)
    B = rng.normal(size=(d, d))
    low = B[:, : max(d // 3, 1)] @ B[:, : max(d // 3, 1)].T  # many equal eigenvalues
    graded = np.diag(10.0 ** -np.arange(d)) + 1e-3 * (B + B.T)
    for A in (B + B.T, low, graded, np.eye(d), np.zeros((d, d)), np.diag(np.arange(d, 0.0, -1.0))):
        found = page.evaluate(
            "([A, d]) => Object.values(window.evenspanExplorer.symmetric(A, d)).map(found => [...found])",
            [A.ravel().tolist(), d],
        )
        values, V = np.array(found[0]), np.array(found[1]).reshape(d, d)
        scale = max(np.abs(A).max(axis=None), 1.0)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(A), rtol=0, atol=1e-12 * d * scale)
        np.testing.assert_allclose(V @ V.T, np.eye(d), atol=1e-12 * d)
        np.testing.assert_allclose(V @ A @ V.T, np.diag(values), atol=1e-12 * d * scale)


@pytest.mark.browser
@pytest.mark.parametrize(("name", "k"), CASES)
def test_boundary(page, joint, name, k):
    ours = joint(name, k)
    told = page.evaluate("() => [...joint.known.values()].map(s => [s.angle, s.value, ...s.ends.flat()])")
    assert len(told) > 200
    for angle, value, *ends in told:
        support = ours.support(angle)
        np.testing.assert_allclose(value, support.value, rtol=1e-9, atol=1e-12 * ours.scale)
        np.testing.assert_allclose(np.reshape(ends, (2, 2)), support.ends, rtol=1e-9, atol=1e-9 * ours.scale)
    np.testing.assert_allclose(page.evaluate("() => joint.extremeGaps()"), ours.extreme_gaps(), rtol=1e-9, atol=1e-12)
    own = [ours.support(0.0).value, ours.support(np.pi / 2).value]
    np.testing.assert_allclose(page.evaluate("() => joint.own()"), own, rtol=1e-9, atol=1e-12 * ours.scale)


@pytest.mark.browser
def test_a_straight_piece_has_both_of_its_ends(page):
    """Two diagonal matrices with a tie: the eigenvalue problem at 45 degrees has a segment of answers."""
    M0, M1 = np.diag([4.0, 1.0, 0.5, 0.1]), np.diag([1.0, 4.0, 0.5, 0.1])
    ends = page.evaluate(
        "([a, b]) => new window.evenspanExplorer.JointRange(a, b, 4, 1).support(Math.PI / 4).ends",
        [M0.ravel().tolist(), M1.ravel().tolist()],
    )
    np.testing.assert_allclose(ends, JointRange(M0, M1, 1).support(np.pi / 4).ends, atol=1e-12)
    assert np.ptp(np.array(ends), axis=0).min() > 2.9  # the control: they are not one point


def _solve(page, criterion: str, penalty: float = 1.0, radius: float = 0.1) -> dict:
    return page.evaluate(
        """([name, penalty, radius]) => {
            const E = window.evenspanExplorer, total = set.counts[0] + set.counts[1];
            const shares = set.counts.map(n => n / total);
            const given = {shares, counts: set.counts, own: joint.own(), penalty, radius};
            const f = E.CRITERIA[name].make(given);
            return {...E.finish(E.optimum(f, joint)), pca: f.value(set.points[joint.k][0].slice(1, 3))};
        }""",
        [criterion, penalty, radius],
    )


def _certified(found: dict, value: float, scale: float, ours: JointRange) -> None:
    """The optimum is the library's and attained, the bound is below it and close, and PCA is not better."""
    slacks = [np.cos(s.angle) * found["q"][0] + np.sin(s.angle) * found["q"][1] - s.value for s in ours.known()]
    assert len(slacks) > 7
    assert min(slacks) > -1e-9 * scale, "the point is outside of the set"
    assert found["dual"] <= found["primal"]
    np.testing.assert_allclose(found["primal"], value, rtol=1e-6, atol=1e-9 * scale)
    np.testing.assert_allclose(found["dual"], value, rtol=1e-6, atol=1e-9 * scale)
    assert found["primal"] <= found["pca"] + 1e-9 * scale


@pytest.mark.browser
@pytest.mark.parametrize(("name", "k"), CASES)
def test_optima(page, joint, name, k):
    ours, found = joint(name, k), explorer.moments(name)
    ours.boundary(90)
    scale, shares = float(ours._traces.max(axis=0)), found.counts / found.n
    pca = shares @ ours.pair(StandardPCA(k).fit_moments(found).components_.T)
    _certified(_solve(page, "average"), pca, scale, ours)
    for criterion in ("error", "loss"):
        fitted = MinMaxFairPCA(k, objective=criterion, center="global").fit_moments(found)
        _certified(_solve(page, criterion), fitted.certificate_.primal, scale, ours)
    for penalty, radius in ((0.0, 0.0), (0.2, 0.15), (1.0, 0.1), (1.0, 0.0), (5.0, 2.0), (0.35, 2.0)):
        fitted = RobustFairPCA(k, alpha=radius, penalty=penalty).fit_moments(found)
        _certified(_solve(page, "robust", penalty, radius), fitted.objective_, scale, ours)
        if radius == 0:
            _certified(_solve(page, "penalty", penalty), fitted.objective_, scale, ours)


@pytest.mark.browser
@pytest.mark.parametrize("criterion", ["average", "error", "loss", "penalty", "robust"])
def test_bounds_hold_long_before_they_are_tight(page, joint, criterion):
    """Stopped after a few directions, the bound is far below the value: it must be below the optimum, too."""
    joint("wine_quality", 3)
    coarse, fine = page.evaluate(
        """name => {
            const E = window.evenspanExplorer, total = set.counts[0] + set.counts[1];
            const given = {shares: set.counts.map(n => n / total), counts: set.counts, own: joint.own()};
            const f = E.CRITERIA[name].make({...given, penalty: 0.7, radius: 1.5});
            const fresh = () => new E.JointRange(joint.M0, joint.M1, joint.d, joint.k);
            return [0, 400].map(most => E.finish(E.optimum(f, fresh(), {most})));
        }""",
        criterion,
    )
    assert coarse["primal"] - coarse["dual"] > 1e-4 * coarse["primal"]  # the control: this one is not closed
    assert coarse["dual"] <= fine["primal"] * (1 + 1e-9)
    assert coarse["primal"] >= fine["dual"] * (1 - 1e-9)
    np.testing.assert_allclose(fine["dual"], fine["primal"], rtol=1e-8)


@pytest.mark.browser
@pytest.mark.parametrize(("name", "k"), CASES)
def test_smallest_gap(page, joint, name, k):
    ours, found = joint(name, k), explorer.moments(name)
    ours.boundary(90)
    scale, shares = float(ours._traces.max(axis=0)), found.counts / found.n
    fitted, told = DisparityFairPCA(k).fit_moments(found), _solve(page, "gap")
    _certified(told, fitted.gap_, scale, ours)
    np.testing.assert_allclose(told["mean"], shares @ fitted.group_errors_, rtol=1e-6)
    if fitted.smallest_gap_ == 0:
        assert told["meanBound"] <= told["mean"] <= told["meanBound"] * (1 + 1e-6)
    else:
        assert told["meanBound"] is None


@pytest.mark.browser
@pytest.mark.parametrize(("name", "k"), CASES)
def test_every_point_of_a_projection_is_in_the_set(page, joint, known, name, k):
    joint(name, k)
    lines = np.array(
        page.evaluate("() => [...joint.known.values()].map(s => [Math.cos(s.angle), Math.sin(s.angle), s.value])")
    )
    points = {method: q for method, *q in known[name]["points"][str(k)] if q[0] is not None}
    scale = np.abs(lines[:, 2]).max(axis=0)

    def slack(q) -> float:
        return float((lines[:, :2] @ q - lines[:, 2]).min(axis=0))

    for method, q in points.items():
        if method != "LEACE":
            assert slack(q[:2]) > -1e-9 * scale, method
    pca = np.array(points["PCA"][:2])
    assert slack(0.99 * pca) < -1e-6 * scale  # the control: no projection has a smaller average error
