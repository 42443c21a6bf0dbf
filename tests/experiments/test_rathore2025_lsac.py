"""The search for the LSAC table: its parts by other routes, what it finds, and what it must not find."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from compendium import data as datasets
from compendium.papers.rathore2025 import lsac_search as search
from compendium.papers.rathore2025 import readings
from compendium.papers.rathore2025.protocol import judged
from compendium.records import whole
from evenspan import GroupMoments
from evenspan.reconstruction import StandardPCA


@pytest.fixture(scope="module")
def found(cells_of):
    results = cells_of("rathore2025-lsac")["results"]
    return results[results["protocol"] == "released"]


@pytest.fixture(scope="module")
def sample():
    """Covariance (7, 7) and difference of means of a made table; feature 2 tells the group."""
    rng = np.random.default_rng(8)
    A = rng.normal(size=(40, 7)) * [5, 3, 0.5, 1.2, 1, 0.7, 0.3]
    return np.cov(A.T), rng.normal(size=7) * [1, 0.2, 1, 0.1, 0.1, 0.1, 0.1]


def test_the_table_gives_every_number_of_pca_and_nearly_all_of_the_min_max_method(found):
    agreement = readings.table_4(found).set_index("method")
    assert agreement.loc["StandardPCA", "equal"] == agreement.loc["StandardPCA", "printed"] == 33
    assert agreement.loc["FairPCA_SDP_LP", "equal"] == 31
    codings = readings.coded(found)
    assert len(codings) == 12
    assert codings["min-max numbers equal"].max() <= 26
    assert (found.loc[found["metric"] == "PCA numbers equal", "value"] == 33).all()  # no code matters to it
    moments = datasets.group_moments("lsac_bw")
    ours = found[found["method"] == "StandardPCA"].pivot(index="k", columns="metric", values="value")
    for k in (1, 6, 11):
        expected = judged(moments, StandardPCA(k).fit_moments(moments).components_.T)
        assert ours.loc[k, list(expected)].to_dict() == pytest.approx(expected, rel=1e-9)
    sets = readings.eigenvectors(found)
    assert len(sets) == 9
    assert (sets["r with a set that agrees"] == 0).all()
    assert sets["sets of"].iloc[0] == "eigenvectors of women about the origin"


def test_sets_of_eigenvectors_are_recognised_where_they_are(monkeypatch):
    """Control: of a column that is made of women's eigenvectors in any order, every row is found."""
    moments = datasets.group_moments("lsac_bw")
    women = search.matrices(moments, "none")[0]
    order = np.random.default_rng(1).permutation(moments.d)
    V = np.linalg.eigh(women)[1][:, order]
    values = search.metrics(V, moments.scatter / moments.n, moments.means[0] - moments.means[1])
    monkeypatch.setattr(search, "printed", lambda method: values.round(2))
    rows = whole(search.eigenvector_sets(moments, "eigenvectors of women", women))
    assert (rows.loc[rows["metric"] == "sets that agree", "value"] >= 1).all()
    last = rows[(rows["k"] == 11) & (rows["metric"] == "nearest deviation")].iloc[0]
    left_out = set(range(12)) - {int(j) for j in last["reason"].removeprefix("eigenvectors ").split(", ")}
    assert left_out == {11 - int(order[-1])}


def test_all_sets_are_tried_where_there_are_few(sample):
    S, gap = sample
    tried, sets = search.column_sets(S, gap, 2, (3, 4))
    others = [0, 1, 3, 4, 5, 6]
    wanted = [tuple(sorted((2, *rest))) for size in (2, 3) for rest in combinations(others, size)]
    assert sorted(tuple(row) for index in sets for row in index.tolist()) == sorted(wanted)
    assert tried == len(wanted)


def test_the_bounds_leave_out_only_what_is_outside(sample, monkeypatch):
    """A target made from one set: with bounds the set is kept, and every set kept is inside them."""
    S, gap = sample
    target = [0, 2, 3, 5]
    values = np.linalg.eigvalsh(S[np.ix_(target, target)])[::-1]
    total = values.sum()
    errors = total - np.cumsum(values)[:3]
    made = np.column_stack([errors, 1 - errors / total, np.full(3, (gap[target] ** 2).sum())])
    monkeypatch.setattr(search, "printed", lambda method: made)
    monkeypatch.setattr(search, "ALL_UP_TO", 0)
    tried, sets = search.column_sets(S, gap, 2, (4,))
    assert tried == 20
    kept = [row for index in sets for row in index.tolist()]
    assert target in kept
    assert len(kept) < tried
    low, high = search.total_range()
    assert low < total < high
    for row in kept:
        assert low * (1 - search.TOTAL_SLACK) <= S[row, row].sum() <= high * (1 + search.TOTAL_SLACK)
        assert abs((gap[row] ** 2).sum() - made[0, 2]) <= search.GAP_SLACK + 1e-6
    squares = search.excess(S, np.array([target]))
    assert abs(squares[0]) < values[3] ** 2 + 1e-9


def test_codes_change_means_and_scatters_as_recoding_the_rows_does():
    rng = np.random.default_rng(2)
    names = ["race", "male", "fulltime", "pass_bar", "x"]
    table = pd.DataFrame(rng.integers(0, 2, size=(30, 5)).astype(float), columns=names).assign(x=rng.normal(size=30))
    table["fulltime"] += 1
    for said, other in search.codings(search.moments_of(table, "male")):
        name, _, rest = said.partition(" coded ")
        low, high = (int(text) for text in rest.partition(" instead")[0].split(", "))
        again = table.assign(**{name: np.where(table[name] == table[name].min(), low, high).astype(float)})
        direct = GroupMoments.from_data(again, table["male"].to_numpy())
        np.testing.assert_allclose(other.means, direct.means, atol=1e-12)
        np.testing.assert_allclose(other.scatters, direct.scatters, atol=1e-12)


def test_rules_for_rows():
    table = pd.DataFrame({"sex": [0, 1, 1, 0, np.nan, 1], "a": [1, np.nan, 3, 8, 5, 6], "b": [1, 2, 3, np.nan, 5, 6.0]})
    few = search.Pool(table, "sex", {"everybody": np.ones(6, bool), "some": np.arange(6) < 4})
    rules = {rule: few.rows(rule) for rule in few.rules()}
    assert [len(rows) for rows in rules.values()] == [3, 5, 5, 5, 2, 4, 4, 4]
    assert rules["everybody; gaps filled with the median"]["a"].tolist() == [1, 4.5, 3, 8, 6]
    assert rules["everybody; gaps filled with the zero"]["b"].tolist() == [1, 2, 3, 0, 6]
    assert len(few.rows("everybody; rows complete in these columns", ("sex", "b"))) == 4
    part = few.rows("everybody; gaps filled with the mean; train share 0.8, seed 1", ("sex", "a"))
    assert len(part) == 4
    assert set(part.index) <= {0, 1, 2, 3, 5}


def test_who_is_nearer_has_the_larger_score():
    exact = search.printed("StandardPCA")
    scores = [search.Candidate((), "", exact + off).score for off in (0.0, 0.1, 0.2)]
    assert [equal for equal, _ in scores] == [exact.size, 0, 0]
    assert scores == sorted(scores, reverse=True)
    assert len(set(scores)) == 3


@pytest.mark.raw
def test_the_search_finds_the_table_and_only_its_codings(raw, monkeypatch):
    raw("lsac_bw")
    monkeypatch.setattr(search, "DRAWS", 60)
    rows = whole(search.searched("lsac_clean"))
    (line,) = readings.searches(rows).to_dict("records")
    assert (line["best: PCA numbers equal"], line["best: min-max numbers equal"]) == (33, 31)
    assert line["sets of columns"] == line["sets decomposed"]
    assert line["most by random rows"] < 26
    best = readings.nearest(rows, 10)
    assert best["rows kept"].iloc[0] == "white and black"
    assert (best["PCA numbers equal"] == 33).sum() == 3  # white, black, or the code of race for the twelfth column
    assert best["PCA numbers equal"].iloc[3] < 26
    assert best["rows"].iloc[0] == datasets.entry("lsac_bw").rows
    pool = search.pool_of("lsac_clean")
    kept = pool.rows("white and black", tuple(best["columns"].iloc[0].split(", ")))
    moments, shipped = search.moments_of(kept, "male"), datasets.group_moments("lsac_bw")
    np.testing.assert_allclose(moments.scatters, shipped.scatters, rtol=1e-9, atol=1e-6)


@pytest.mark.raw
def test_the_pools_have_numbers_and_the_sex_of_everybody(raw):
    raw("lsac", "lsac_clean", "lsac_bar", "lsac_bw")
    for file in search.FILES:
        pool = search.pool_of(file)
        assert pool.table.dtypes.map(lambda kind: kind.kind).isin(["f", "i"]).all()
        assert pool.sex in pool.table
        assert pool.races["everybody"].all()
        assert all(kept.shape == (len(pool.table),) for kept in pool.races.values())
    with pytest.raises(KeyError):
        search.pool_of("adult")


def test_the_public_file_confirms_the_table_and_the_controls_do_not():
    shown = readings.public_file()
    found, file, *controls = shown.to_dict("records")
    assert found.pop("difference of moments") == "0"
    assert float(file.pop("difference of moments")) < 1e-10
    assert found.pop("table") != file.pop("table")
    assert found == file
    for control in controls:
        assert control["PCA numbers equal"] < found["PCA numbers equal"] == 33
        assert float(control["difference of moments"]) > 1e-3
