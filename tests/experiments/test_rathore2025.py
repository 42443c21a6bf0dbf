"""The experiments on Rathore and Manwani (2025): the printed columns, and what they turn out to be."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles

from compendium.data import entry, whole_moments
from compendium.experiments import rathore2025_factorial as factorial
from compendium.experiments import rathore2025_origin as origin
from compendium.experiments import rathore2025_protocol as protocol
from compendium.experiments import rathore2025_tables as tables
from evenspan import JEVDPCA, DisparityFairPCA, GroupMoments, MinMaxFairPCA
from evenspan.core.errors import ConfigurationError
from evenspan.core.linalg import top_eigenspace
from evenspan.reconstruction.min_max import solve_min_max

EXACTLY_MATCHED = {"diabetes": 19, "obesity": 14, "lsac_bw": 11, "npha": 10}


@pytest.fixture(scope="module", params=["npha", "obesity"])
def rows(request) -> pd.DataFrame:
    return tables.run(request.param)


@pytest.mark.parametrize("dataset", EXACTLY_MATCHED)
def test_the_columns_standard_pca_are_the_centred_raw_data(dataset):
    found = tables.agreement(_some(dataset, "StandardPCA")).query("`printed column` == 'StandardPCA'")
    assert (found["equal"] == EXACTLY_MATCHED[dataset]).all()
    # Control: the same data with the sensitive column left out miss the printed distances of means.
    moments = protocol.without_sex(dataset, whole_moments(dataset))
    value = protocol.judged(moments, top_eigenspace(moments.scatter, 5)[1])["MMD^2"]
    assert abs(value - protocol.printed(dataset).loc[5, ("StandardPCA", "MMD^2")]) > protocol.HALF_DIGIT


def _some(dataset: str, method: str) -> pd.DataFrame:
    moments = protocol.women_first(dataset, whole_moments(dataset))
    answer = tables.METHODS[method](moments)
    found = []
    for k in range(1, protocol.table(dataset).largest + 1):
        found += protocol.rows(dataset, method, k, protocol.judged(moments, answer(k)))
    return protocol.frame(found)


def test_every_method_has_every_row_or_a_reason(rows):
    (dataset,) = rows["dataset"].unique()
    for name in tables.METHODS:
        some = rows[(rows["method"] == name) & rows["metric"].isin(protocol.PRINTED)]
        assert len(some) == 3 * protocol.table(dataset).largest
        bare = some["value"].isna()
        assert (some.loc[bare, "reason"] != "").all()
    published = rows[rows["method"].isin(protocol.PUBLISHED) & rows["metric"].isin(protocol.PRINTED)]
    assert published["value"].notna().all()


def test_no_method_has_a_worst_loss_below_the_certified_least(rows):
    excess = rows[rows["metric"] == "excess worst loss"]
    scale = rows.loc[rows["metric"] == "R.E.", "value"].max()
    assert (excess["value"] >= -1e-9 * scale).all()
    assert (excess.loc[excess["method"] == "FairPCA_SDP_LP", "value"] <= 1e-8 * scale).all()
    # Control: PCA does not reach it.
    assert excess.loc[excess["method"] == "StandardPCA", "value"].max() > 1e-4


def test_orthonormal_columns_cannot_beat_pca_and_raw_ones_can():
    rows = tables.run("npha")
    wide = rows[rows["metric"] == "V.E."].pivot(index="k", columns="method", values="value")
    orthonormal = [name for name in tables.METHODS if name not in tables.RAW]
    assert (wide[orthonormal].max(axis=1) <= wide["StandardPCA"] + 1e-12).all()
    assert (wide[tables.RAW[0]] > wide["StandardPCA"] + 1e-3).any()


def test_the_printed_jevd_column_of_obesity_is_a_pca_of_the_women():
    found = tables.agreement(_some("obesity", "PCA of the women"))
    assert found.loc[found["printed column"] == "JevdPCA", "equal"].sum() == 42
    # Controls: another printed column, and joint diagonalisation itself.
    assert found.loc[found["printed column"] == "StandardPCA", "equal"].sum() < 42
    itself = tables.agreement(_some("obesity", "JevdPCA"))
    assert itself.loc[itself["printed column"] == "JevdPCA", "equal"].sum() < 30


def test_every_printed_jevd_row_of_npha_is_one_set_of_the_womens_eigenvectors():
    moments = protocol.women_first("npha", whole_moments("npha"))
    S = protocol.matrices(moments, "global")
    women, men = (top_eigenspace(M, moments.d)[1] for M in S)
    assert origin.matching_sets("npha", moments, women, "JevdPCA") == [1] * 10
    assert sum(n > 0 for n in origin.matching_sets("npha", moments, men, "JevdPCA")) <= 3


def test_women_come_first_on_every_table():
    for name, table in protocol.TABLES.items():
        found, told = protocol.women_first(name, whole_moments(name)), entry(name)
        men = next(count for label, count in told.groups.items() if label != table.women)
        assert found.counts.tolist() == [told.groups[table.women], men]
        if told.group_names:
            assert told.group_names[table.women] == "women"


def test_losses_are_those_of_the_groups_they_name(npha_points):
    _, _, moments = npha_points
    S = protocol.matrices(moments, "global")
    found = protocol.fairness("npha", moments, top_eigenspace(S[0], 2)[1])  # the women's own components
    assert found["loss of women"] == pytest.approx(0.0, abs=1e-10)
    assert found["loss of men"] > 1e-3
    assert found["worst loss"] == found["loss of men"]
    shifted = protocol.fairness("npha", moments, top_eigenspace(S.sum(axis=0), 2)[1])
    assert shifted["loss gap"] == pytest.approx(abs(shifted["loss of women"] - shifted["loss of men"]))
    assert shifted["error gap"] == pytest.approx(abs(shifted["error of women"] - shifted["error of men"]))


def test_rows_of_the_tables_are_the_methods_that_they_name():
    moments = protocol.women_first("npha", whole_moments("npha"))
    named = {
        "covFairPCA": DisparityFairPCA(3, constrained=True, search="reference"),
        "FairPCA_SDP_LP": MinMaxFairPCA(3, center="global"),
        "JevdPCA": JEVDPCA(3, mode="paper", center="global"),
        "JevdPCA (orthogonal)": JEVDPCA(3, center="global"),
    }
    for name, method in named.items():
        V = method.fit_moments(moments).components_.T
        assert subspace_angles(tables.METHODS[name](moments)(3), V).max() < 1e-6, name


def test_the_min_max_column_of_lsac_is_that_of_uncentred_rows():
    found = tables.agreement(_some("lsac_bw", "FairPCA_SDP_LP (uncentred)"))
    assert found.loc[found["printed column"] == "FairPCA_SDP_LP", "equal"].sum() == 31
    centred = tables.agreement(_some("lsac_bw", "FairPCA_SDP_LP"))
    assert centred.loc[centred["printed column"] == "FairPCA_SDP_LP", "equal"].sum() < 12


def test_all_three_numbers_of_a_row_must_fit_a_set(npha_points):
    _, _, moments = npha_points
    V = top_eigenspace(moments.scatter, moments.d)[1]
    row = protocol.judged(moments, V[:, [0, 2]])
    assert (0, 2) in origin.explaining_sets(moments, V, 2, row)
    for metric in protocol.PRINTED:
        assert (0, 2) not in origin.explaining_sets(moments, V, 2, row | {metric: row[metric] + 0.05})


def test_candidates_are_what_their_names_say():
    moments = protocol.women_first("npha", whole_moments("npha"))
    found = dict(origin.candidates(moments))
    shares = moments.counts / moments.n
    S = {name: protocol.matrices(moments, name) for name in protocol.CENTRINGS}

    def leading(H):
        return top_eigenspace(H, 4)[1]

    wanted = {
        "PCA of equal weights about group means": leading(S["group"].mean(axis=0)),
        "PCA of all rows about group means": leading(np.einsum("g,gde->de", shares, S["group"])),
        "PCA of men about the origin": leading(S["none"][1]),
        "min-max loss, sums about the overall mean": solve_min_max(*(S["global"] * shares[:, None, None]), 4)[0],
        "min-max error, means about group means": solve_min_max(*S["group"], 4, "error")[0],
    }
    for name, V in wanted.items():
        assert subspace_angles(found[name](4), V).max() < 1e-6, name
    raw = found["JEVD (paper) from pooled eigenvectors, raw columns, about the overall mean"](4)
    assert np.abs(np.linalg.norm(raw, axis=0) - 1.0).max() > 1e-3


def test_a_row_counts_only_if_all_of_its_numbers_are_equal():
    equal = np.array([[True, True, True], [True, False, True], [False, False, True]])
    counts = {name: value for *_, name, value, _ in origin._rows("npha", "made", "JevdPCA", equal)}
    assert counts == {
        "R.E. as in JevdPCA": 2,
        "V.E. as in JevdPCA": 1,
        "MMD^2 as in JevdPCA": 3,
        "rows as in JevdPCA": 1,
    }
    rows = protocol.frame(
        origin._rows("npha", "better", "JevdPCA", equal) + origin._rows("npha", "worse", "JevdPCA", equal & equal[2])
    )
    assert origin.best_candidates(rows, "JevdPCA")["method"].tolist() == ["better", "worse"]


def test_the_summary_of_a_cell_has_signs_and_columns_right():
    theirs = pd.DataFrame({"R.E.": [2.0, 1.0], "V.E.": [0.5, 0.75], "MMD^2": [0.3, 0.6]})
    values, pca = np.array([[2.0, 0.5, 0.1], [1.0, 0.75, 0.2]]), np.array([[1.0, 0.6, 0.5], [1.0, 0.75, 0.4]])
    found = factorial._summary(values, pca, theirs, "in")
    assert found["mean advantage in MMD^2"] == pytest.approx(0.3)
    assert found["largest advantage in MMD^2"] == pytest.approx(0.4)
    assert found["mean excess R.E."] == pytest.approx(0.5)
    assert found["mean distance from printed MMD^2"] == pytest.approx(0.3)
    assert found["printed numbers given again"] == 4
    assert found["MMD^2 at the largest r"] == 0.2
    assert "printed numbers given again" not in factorial._summary(values, pca, theirs, "out")


def test_the_search_for_sets_finds_what_brute_force_finds():
    moments = protocol.women_first("npha", whole_moments("npha")).select(range(7))
    V = top_eigenspace(moments.scatter, 7)[1]
    values = protocol.judged(moments, V[:, [0, 2, 5]])
    row = {name: round(value, 2) for name, value in values.items()}
    found = origin.explaining_sets(moments, V, 3, row)
    assert (0, 2, 5) in found

    def fits(columns):
        other = protocol.judged(moments, V[:, list(columns)])
        return all(abs(other[name] - row[name]) <= protocol.HALF_DIGIT for name in row)

    assert found == [columns for columns in combinations(range(7), 3) if fits(columns)]


def test_a_general_solver_returns_eigenvectors_in_an_order_of_its_own():
    moments = protocol.women_first("npha", whole_moments("npha"))
    women = protocol.matrices(moments, "global")[0]
    for k in range(1, 11):
        places = origin.general_order(women, k)
        assert len(set(places)) == k
        assert max(places) < moments.d
    assert origin.general_order(np.diag([1.0, 3.0, 2.0]), 2) == (2, 0)  # a diagonal matrix is left as it stands


def test_literal_metrics_are_those_of_the_points(npha_points):
    X, groups, moments = npha_points
    W = np.random.default_rng(3).normal(size=(moments.d, 4)) * 0.4  # neither orthogonal nor of unit length
    centred = X - X.mean(axis=0)
    women = groups == 2
    literal = {
        "R.E.": ((centred - centred @ W @ W.T) ** 2).sum(axis=1).mean(axis=0),
        "V.E.": (centred @ W).var(axis=0).sum(axis=0) / centred.var(axis=0).sum(axis=0),
        "MMD^2": (((X[women].mean(axis=0) - X[~women].mean(axis=0)) @ W) ** 2).sum(axis=0),
    }
    assert protocol.judged(moments, W) == pytest.approx(literal, rel=1e-10)


@pytest.fixture
def npha_points():
    """Points with the moments of a made table: whole numbers, two groups of unequal size, one constant column."""
    rng = np.random.default_rng(11)
    X = rng.integers(1, 6, size=(60, 6)).astype(float)
    groups = np.where(rng.random(60) < 0.6, 2, 1)
    X[:, 2], X[:, 5] = groups, 2.0
    return X, groups, protocol.women_first("npha", GroupMoments.from_data(X, groups))


def test_the_advantage_in_mmd_is_gone_without_the_sensitive_column():
    left = factorial.what_is_left(factorial.run("npha"))
    grouped = left[left["centring"] == "group"]
    assert grouped["with"].min() > 0.1
    assert grouped["without"].abs().max() < 0.05 * grouped["with"].min() + 0.01


def test_cells_of_the_factorial_name_every_factor():
    found = factorial.table(factorial.run("npha"))
    assert set(found["sensitive column"]) == {"in", "out"}
    assert set(found["centring"]) == set(protocol.CENTRINGS)
    one = ["sensitive column", "centring", "method", "start", "order"]
    assert not found.duplicated(one).any()


@pytest.mark.parametrize("call", [tables.run, origin.run, factorial.run, protocol.printed])
def test_an_unknown_data_set_is_named_with_those_there_are(call):
    with pytest.raises(ConfigurationError, match=r"'adult'.*diabetes.*npha"):
        call("adult")
