"""The protocols of vu2022: theorems on real splits, published algorithms beside exact ones, claims that can fail."""

import numpy as np
import pandas as pd
import pytest

from compendium import data as datasets
from compendium.data import Dataset, protocol_splits
from compendium.experiments import (
    states,
    vu2022_claims,
    vu2022_components,
    vu2022_data,
    vu2022_descent,
    vu2022_methods,
    vu2022_pareto,
    vu2022_tables,
    vu2022_theorems,
    vu2022_toy,
)
from compendium.experiments import vu2022_protocol as protocol
from compendium.experiments.claim_rules import OPEN
from compendium.experiments.store import read_records
from compendium.experiments.vu2022_protocol import Answer, Method
from compendium.report import claims
from evenspan import GroupMoments
from evenspan.core.linalg import top_eigenspace


@pytest.fixture(scope="module")
def made():
    """Two groups of unequal size, mean and spread."""
    rng = np.random.default_rng(5)
    groups = np.repeat([0, 1], [70, 41])
    X = rng.normal(size=(111, 6)) * np.where(groups[:, None] == 0, [5, 4, 1, 1, 1, 1], [1, 1, 4, 3, 1, 1]) + 10
    X[groups == 1] += rng.normal(size=6)
    return Dataset("energy", X, groups.copy(), groups, tuple("abcdef"))


def test_the_judge_is_the_definition_on_the_points(made):
    """Moments and points give the same errors, also about training means and for an operator of full rank."""
    parts = protocol.measured(made, 3)
    _, raw, raw_test = protocol.folds_of(parts)
    train, test = (protocol.prepared(m, raw, scaled=True) for m in (raw, raw_test))
    points = protocol.test_points(made, 3)
    V = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 2)))[0]
    for answer, P in ((Answer(V), V @ V.T), (Answer(P=0.5 * V @ V.T), 0.5 * V @ V.T)):
        values = protocol.judged(answer, train, test)
        residual = points.X - points.X @ P
        by_group = [((residual[points.groups == g]) ** 2).sum(axis=1).mean(axis=0) for g in (0, 1)]
        assert values["ARE"] == pytest.approx((residual**2).sum(axis=1).mean(axis=0))
        assert values["ABDiff (overall mean)"] == pytest.approx(abs(by_group[0] - by_group[1]))
        assert values["worst error"] == pytest.approx(max(by_group))
        centred = [points.X[points.groups == g] - train.means[g] for g in (0, 1)]
        own = [((Y - Y @ P) ** 2).sum(axis=1).mean(axis=0) for Y in centred]
        assert values["ABDiff"] == pytest.approx(abs(own[0] - own[1]))


def test_shipped_moments_and_points_choose_and_judge_alike(raw):
    raw("ecoli")
    data = datasets.load("ecoli")
    method, found = vu2022_methods.METHODS["RFPCA (exact)"], []
    for parts in (protocol.shipped("ecoli", 2), protocol.measured(data, 2)):
        answer, chosen, train, test = protocol.fit_split(method, "ecoli", parts, 3, 2)
        found.append((chosen, protocol.judged(answer, train, test)))
    assert found[0][0] == found[1][0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-8)


def test_cross_validation_takes_the_first_smallest_and_passes_over_failures():
    def solve(problem, grid):
        V = top_eigenspace(problem.moments.scatter, problem.k)[1]
        worst = np.eye(problem.moments.d)[:, : problem.k]
        return [Answer(reason="none") if name == "fails" else Answer(V if name != "bad" else worst) for (name,) in grid]

    parts = protocol.shipped("energy", 0)
    method = Method(solve, ("name",), (("bad",), ("fails",), ("good",), ("same",)))
    answer, chosen, *_ = protocol.fit_split(method, "energy", parts, 3, 0)
    assert chosen == ("good",)
    assert not answer.failed
    never = Method(solve, ("name",), (("fails",), ("fails",)))
    answer, _, train, test = protocol.fit_split(never, "energy", parts, 3, 0)
    rows = [*protocol.judged_rows(never, answer, (), train, test)]
    assert len(rows) == 4
    assert all(np.isnan(row[2]) and "no point of the grid" in row[3] for row in rows)


def test_a_fold_is_scored_as_in_the_released_program(made):
    """On the points: the fold is standardised again, its group rows are not; all fits draw from one stream."""
    seen = []

    def solve(problem, grid):
        V = top_eigenspace(problem.moments.scatter, 2)[1]
        W = top_eigenspace(problem.about_groups.scatters.sum(axis=0), 2)[1]
        seen.append(problem.rng.normal())
        return [Answer(V), Answer(W)]

    rows = protocol_splits.fold_rows("energy", made.groups, 3)
    folds = [rows[f"fold{i}"] for i in range(3)]
    X = made.X - made.X[np.concatenate(folds)].mean(axis=0)
    X = X / X[np.concatenate(folds)].std(axis=0)
    expected = np.zeros((3, 2))
    for i, held_out in enumerate(folds):
        fit = np.concatenate([fold for j, fold in enumerate(folds) if j != i])
        mean, std = X[fit].mean(axis=0), X[fit].std(axis=0)
        train, validation = (X[fit] - mean) / std, (X[held_out] - mean) / std
        means = [X[fit][made.groups[fit] == g].mean(axis=0) for g in (0, 1)]
        centred = [X[fit][made.groups[fit] == g] - means[g] for g in (0, 1)]
        S = sum(C.T @ C for C in centred)
        for j, matrix in enumerate((train.T @ train, S)):
            P = (V := np.linalg.eigh(matrix)[1][:, -2:]) @ V.T
            gap = [
                ((Y - Y @ P) ** 2).sum(axis=1).mean(axis=0)
                for Y in (X[held_out][made.groups[held_out] == g] - means[g] for g in (0, 1))
            ]
            expected[i, j] = abs(gap[0] - gap[1]) + ((validation - validation @ P) ** 2).sum(axis=1).mean(axis=0)
    method = Method(solve, ("name",), (("whole",), ("own",)))
    parts = protocol.measured(made, 3)
    found = protocol.scores(method, "energy", parts, 2, np.random.RandomState(3))
    np.testing.assert_allclose(found, expected.mean(axis=0), rtol=1e-9)
    seen.clear()
    protocol.fit_split(method, "energy", parts, 2, 3)
    np.testing.assert_array_equal(seen, np.random.RandomState(3).normal(size=4))


def test_starts_are_the_released_ones_number_by_number():
    moments = datasets.whole_moments("energy").standardised()
    problem = protocol.Problem(moments, 3, 10, np.random.RandomState(5), released=True)
    starts, stream = vu2022_methods.released_starts(problem, 2), np.random.RandomState(5)
    assert starts.shape == (2, 1 + vu2022_methods.RESTARTS, 8, 3)
    pca = top_eigenspace(moments.scatter, 3)[1]
    for setting in starts:
        np.testing.assert_array_equal(setting[0], pca)
        for V in setting[1:]:
            U = np.linalg.qr(stream.randn(8, 5))[0]
            np.testing.assert_allclose(V.T @ V, np.eye(3), atol=1e-12)
            np.testing.assert_allclose(U.T @ V, 0.0, atol=1e-12)
    np.testing.assert_array_equal(problem.rng.randn(3), stream.randn(3))


def test_energy_comes_out_as_printed_and_the_exact_minimum_does_not():
    """RFPCA from the shipped moments with the published splits, folds and starts: four means over ten splits."""
    places = ("out-of-sample", "in-sample")
    printed = [vu2022_claims.printed(place, m).loc["Energy", "RFPCA"] for place in places for m in ("ABDiff", "ARE")]

    def means(name):
        rows = []
        for seed in protocol.SEEDS:
            method, parts = vu2022_methods.METHODS[name], protocol.shipped("energy", seed)
            answer, _, train, test = protocol.fit_split(method, "energy", parts, 3, seed)
            found = [protocol.judged(answer, train, sample) for sample in (test, train)]
            rows.append([one[metric] for one in found for metric in ("ABDiff", "ARE")])
        return np.mean(rows, axis=0)

    assert np.round(means("RFPCA"), 4).tolist() == printed
    assert np.round(means("RFPCA (exact)"), 4).tolist() != printed


@pytest.mark.parametrize("dataset", ["wine_quality", "ecoli"])
def test_exact_answers_are_never_above_the_published_descent(dataset):
    """The theorem of the exact solver, on the training part of a split, with plain PCA as what must be beaten."""
    parts = protocol.shipped(dataset, 0)
    _, raw, _ = protocol.folds_of(parts)
    train = raw.standardised()
    grid = [(0.1, 0.5), (0.15, 2.5)]
    problem = [protocol.Problem(train, 3, 200, np.random.default_rng(0)) for _ in range(2)]
    descent = vu2022_methods.published_descent(problem[0], grid)
    exact = vu2022_methods.robust_exact(problem[1], grid)
    for one, other in zip(descent, exact, strict=True):
        assert other.facts["objective"] <= one.facts["objective"] * (1 + 1e-9)
        assert other.facts["certificate gap"] <= 1e-8 * other.facts["objective"]
    pca = vu2022_methods.standard(problem[1], grid)[1]
    penalised = [np.ptp(a.errors(train), axis=0) for a in (exact[1], pca)]
    assert penalised[0] < penalised[1]


def test_exact_min_max_loss_beats_multiplicative_weights():
    _, raw, _ = protocol.folds_of(protocol.shipped("wine_quality", 1))
    problem = protocol.Problem(raw.standardised(), 3, 300, np.random.default_rng(0))
    (exact,) = vu2022_methods.METHODS["FairPCA (exact)"].solve(problem, [()])
    from evenspan.reconstruction.group_errors import group_matrices, losses

    matrices = group_matrices(problem.moments, "group")
    for answer in vu2022_methods.weights_truncated(problem, [(0.1,), (1.0,)]):
        assert losses(matrices, exact.V).max() <= losses(matrices, answer.V).max() + 1e-9
    assert np.ptp(losses(matrices, exact.V), axis=0) < 1e-7
    assert np.ptp(losses(matrices, vu2022_methods.standard(problem, [()])[0].V), axis=0) > 0.1
    full = vu2022_methods.weights_operator(problem, vu2022_methods.METHODS["FairPCA"].grid)
    assert max(answer.facts["operator rank"] for answer in full) > 3, "what is published is no projection on 3"


def test_families_cover_every_method_once():
    named = [name for family in vu2022_tables.FAMILIES.values() for name in family]
    assert sorted(named) == sorted(vu2022_methods.METHODS)
    assert len(vu2022_tables.tasks()) == 5 * 15 + 14  # one family is not for the faces
    assert set(vu2022_tables.SEPARATED) <= set(named)
    assert vu2022_tables.PUBLISHED == vu2022_claims.METHODS


def test_linear_separation_does_not_depend_on_the_basis(made):
    parts = protocol.measured(made, 0)
    answer, _, train, _ = protocol.fit_split(vu2022_methods.METHODS["PCA"], "energy", parts, 2, 0)
    points = protocol.test_points(made, 0)
    turned = Answer(answer.V @ np.linalg.qr(np.random.default_rng(3).normal(size=(2, 2)))[0])
    values = [
        [row[2] for row in protocol.separation_rows(a, 2, train, points, 0, baseline=False)] for a in (answer, turned)
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    # An operator of full rank is separated by its leading eigenvectors, as the released program does.
    P = 0.9 * answer.V @ answer.V.T + 0.1 * np.eye(6)
    rows = protocol.separation_rows(Answer(P=P), 2, train, points, 0, baseline=False)
    assert [row[2] for row in rows] == pytest.approx(values[0], abs=1e-12)


def test_table_2_and_the_printed_rule():
    found = vu2022_data.compared(vu2022_data.run(2)).set_index("data set")
    assert (found["N"] == found["N printed"]).all()
    assert (found["d"] == found["d printed"]).all()
    assert found.loc["Default Credit", "d by the printed rule"] == 9
    assert found.loc["German Credit", "d by the printed rule"] == 47


def test_toy_directions_are_those_of_the_population():
    found = vu2022_toy.angles(vu2022_toy.directions(), "population").set_index(["method", "parameter"])["angle"]
    expected = {0.0: 3.40, 0.2: 16.59, 0.25: 29.17, 1.0: 37.22}
    for penalty, angle in expected.items():
        assert found["RFPCA (exact)", penalty] == pytest.approx(angle, abs=0.005)
    assert found["FairPCA (exact)", ""] == pytest.approx(37.71, abs=0.005)


def test_the_radius_with_no_penalty_and_no_ball_is_pca(monkeypatch):
    monkeypatch.setattr(vu2022_toy, "PENALTY", 0.0)
    monkeypatch.setattr(vu2022_toy, "FIXED_RADIUS", 0.0)
    (value,) = vu2022_toy.radius(1, np.array([0.0]))["value"]
    X, groups = vu2022_toy.sample(vu2022_toy.TEST, np.random.default_rng((vu2022_toy.SEED, 0)))
    Y, z = vu2022_toy.sample(vu2022_toy.TRAIN, np.random.default_rng((vu2022_toy.SEED, 1, 0)))
    train = GroupMoments.from_data(Y, z)
    V = top_eigenspace(train.scatter, 1)[1]
    R = (X - train.mean) - (X - train.mean) @ V @ V.T
    e = [(R[groups == g] ** 2).sum(axis=1).mean(axis=0) for g in (0, 1)]
    assert value == pytest.approx((R**2).sum(axis=1).mean(axis=0) + abs(e[0] - e[1]))


def test_nothing_that_is_a_projection_lies_below_the_frontier():
    moments = datasets.whole_moments("biodeg").standardised()
    line = [answer.errors(moments) for answer in vu2022_pareto.frontier(moments, 3)]
    shares = moments.counts / moments.n
    average, gap = np.array([shares @ e for e in line]), np.array([abs(e[0] - e[1]) for e in line])
    assert (np.diff(average) >= -1e-9).all()
    assert (np.diff(gap[:-1]) <= 1e-9).all()
    rng = np.random.default_rng(0)
    pca = top_eigenspace(moments.scatter, 3)[1]
    for size in (0.01, 0.1, 0.3, 1.0):
        V = np.linalg.qr(pca + size * rng.normal(size=pca.shape))[0]
        e = Answer(V).errors(moments)
        mine = np.interp(shares @ e, average, gap)
        assert abs(e[0] - e[1]) >= mine - 1e-6 or shares @ e > average[-1]


def test_descent_and_exact_minimum_on_a_small_table():
    found = vu2022_descent.excess(vu2022_descent._compared("energy", datasets.whole_moments("energy"), 3))
    assert len(found) == 18
    assert (found["best"] > -1e-8).all()
    assert (found["worst"] >= found["best"]).all()
    assert found["gap"].max() < 1e-8


def test_components_stay_below_the_features():
    assert list(vu2022_components.components(7)) == [2, 4, 6]
    assert list(vu2022_components.components(40)) == list(range(2, 21, 2))
    rows = vu2022_components.run("ecoli")
    gaps = vu2022_components.gaps(rows)
    assert set(gaps["k"]) == {2, 4, 6}
    assert (gaps["gap"] >= 0).all()


def test_claims_are_counted_in_the_printed_tables(reads, monkeypatch):
    empty = pd.DataFrame(columns=["dataset", "method", "k", "split", "protocol", "metric", "value"])
    reads(vu2022_claims, empty)
    own = vu2022_claims.claims.keys() - vu2022_theorems.claims.keys()
    answers = {claim: vu2022_claims.claims[claim]() for claim in own}
    assert {claim: found.printed for claim, found in answers.items() if found.printed} == {
        "V14": "holds", "V15": "holds", "V16": "holds", "V17": "does not hold", "V18": "holds in part",
        "V19": "holds", "V20": "holds in part", "V21": "holds in part", "V22": "holds", "V23": "holds",
    }  # fmt: skip
    assert answers["V24"].here == answers["V14"].here == OPEN
    assert answers["V23"].here is None
    monkeypatch.setattr(vu2022_claims, "printed", lambda split, metric: printed(split, metric))
    assert vu2022_claims.claims["V14"]().printed == "holds in part", "on another number, but on more than the others"
    assert vu2022_claims.claims["V17"]().printed == "holds"
    assert vu2022_claims.claims["V20"]().printed == "does not hold"


def printed(split, metric):
    names = [*map(str, range(14)), "LFW"]
    return pd.DataFrame(1.0, index=names, columns=vu2022_claims.METHODS).assign(RFPCA=0.5)


def test_a_claim_inherits_the_state_of_the_rows_that_it_names(monkeypatch):
    def state_of(claim: str, name: str) -> str:
        every = {unit: states.Stored(unit, "changed" if unit == name else "current") for unit in stored}
        monkeypatch.setattr(states, "inspect", lambda experiment: every.values())
        return claims.claims([claim])["state"].item()

    stored = read_records("vu2022-tables")
    assert state_of("V14", "biodeg-k3-rfpca") == "changed"
    assert state_of("V14", "biodeg-k3-mu_as_meant") == state_of("V14", "lfw_24x24-k3-rfpca") == "current"


def test_claims_about_our_results_can_fail(reads):
    def frontier(gap):
        rows = [("biodeg", m, 3, "all", "in-sample", metric, 0, v, "") for m, a, g in gap for metric, v in
                (("ARE", a), ("ABDiff", g))]  # fmt: skip
        frame = pd.DataFrame(rows, columns=vu2022_pareto.COLUMNS)
        return pd.concat([frame, frame.assign(dataset="german_credit")])

    better = [("RFPCA", 1.0, 1.0), ("FairPCA", 2.0, 2.0), ("CFPCA-Mean Con.", 3.0, 1.5)]
    worse = [("RFPCA", 4.0, 4.0), *better[1:]]
    for points, answer in ((better, "holds"), (worse, "does not hold")):
        reads(vu2022_pareto, frontier(points))
        assert vu2022_pareto.robust_points_dominate().here == answer

    def band(values):
        rows = [("toy", "RFPCA (exact)", 1, s, "out-of-sample", "ARE + ABDiff", a, v) for s in range(6)
                for a, v in zip((0.0, 5.0, 10.0), values, strict=True)]  # fmt: skip
        return pd.DataFrame(rows, columns=vu2022_toy.COLUMNS)

    for values, answer in (((3, 2, 3), "holds"), ((1, 2, 3), "holds in part"), ((2, 2, 2), "does not hold")):
        reads(vu2022_toy, band(values))
        assert vu2022_toy.first_better_then_worse().here == answer

    def curves(robust):
        rows = [("biodeg", m, k, s, "out-of-sample", f"error of group {g}", e) for k in (2, 4) for s in (0, 1)
                for m, gap in (("PCA", 1.0), ("FairPCA", 2.0), ("RFPCA", robust))
                for g, e in ((0, 5.0), (1, 5.0 + gap))]  # fmt: skip
        return pd.DataFrame(rows, columns=vu2022_components.COLUMNS)

    for robust, answer in ((0.5, "holds"), (3.0, "does not hold")):
        reads(vu2022_components, curves(robust))
        assert vu2022_components.smaller_gap_over_k().here == answer


def test_the_protocol_claim_counts_what_comes_out_again(reads):
    printed = vu2022_claims.printed("out-of-sample", "ARE").loc["Energy"]

    def rows(factor):
        keys = [("energy", method, 3, split, "out-of-sample", "ARE") for method in printed.index for split in (0, 1)]
        columns = ["dataset", "method", "k", "split", "protocol", "metric"]
        return pd.DataFrame(keys, columns=columns).assign(value=[factor * printed[key[1]] for key in keys])

    for factor, answer in ((1.01, "holds"), (1.5, "does not hold")):
        reads(vu2022_claims, rows(factor))
        assert vu2022_claims.claims["V24"]().here == answer
    answer, evidence, _ = vu2022_claims.claims["V22"]()
    assert answer == "holds"
    assert "664,128" in evidence


def test_each_direction_of_the_toy_is_listed_once_whatever_its_source():
    built = pd.DataFrame(
        [("sample", "PCA", "", 3.0), ("sample", "RFPCA", "0.1", 9.0)],
        columns=["dataset", "method", "parameter", "value"],
    ).assign(metric="angle")
    stored = built.assign(parameter=[np.nan, "0.1"])
    found = vu2022_toy.angles(pd.concat([built, stored]), "sample")
    assert found["method"].tolist() == ["PCA", "RFPCA"]
    assert found["parameter"].tolist() == ["", "0.1"]
